"""The paper's tables from a study's results: final performance with verdicts, and sizes of rulesets.

Beside our numbers stand the paper's, for its systems on its tasks: XCSF is the paper's XCS.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Literal

from ifthen.study.grid import Grid
from ifthen.study.results import Results
from ifthen.study.statistics import (
    Comparison,
    Summary,
    bonferroni,
    compare,
    holm,
    standard_errors_apart,
    summarise,
    verdict,
    verdict_by_effect,
)

PAPER = Path(__file__).parent / "paper"
PAPERS_NAMES = {"XCSF": "XCS"}
ALPHA = 0.05
MEASURES = {"fraction": "on z, of OTP", "exact_fraction": "exact, of the optimum"}
SIZES = {
    "rules": ("xcs_rules", "pplst_rules"),
    "best_action_rules": ("xcs_best_action_rules", "pplst_best_action_rules"),
}

Measure = Literal["fraction", "exact_fraction"]
NOTHING = "–"


def performance_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return final performance, mean ± sd, of every system on every task, with verdicts (paper's Table 1).

    Args:
        results: the study's.
        measure: performance on z as a fraction of OTP, or exact as a fraction of the optimum.
    """
    plan = results.plan
    reference = plan.reference or plan.systems[0].name
    rows = []
    for task in plan.tasks_by_name():
        samples = {system.name: results.values(system.name, task, measure) for system in plan.systems}
        verdicts = _verdicts(samples, reference)
        for name, values in samples.items():
            summary = summarise(values, results.failures(name, task))
            paper = papers_performance().get((name, task))
            numbers = (_mean_sd(summary), _number(summary.median), _number(summary.iqm))
            tests = verdicts.get(name, (NOTHING,) * 5)
            beside = _beside_the_paper(summary, paper, measure)
            rows.append((task, name, str(summary.n), *numbers, *tests, *beside))
    tested = (f"{reference} against it", "by A12", "p", "A12", "Holm p")
    return Grid(
        f"Final performance {MEASURES[measure]}, mean ± sd over trials",
        (
            "task",
            "system",
            "n",
            "mean ± sd",
            "median",
            "IQM",
            *tested,
            "paper",
            "paper's verdict",
            "s.e. apart",
        ),
        tuple(rows),
        (
            f"Two-sided Mann–Whitney U tests of {reference} against each other system; >, =, < say which is "
            f"better at {ALPHA:g} after Bonferroni's correction within the task, by the larger mean, and by "
            "effect size A12.",
            *_unfinished_note(results),
        ),
    )


def sizes_table(results: Results) -> Grid:
    """Return the sizes of final rulesets and of their best action maps (the paper's Table A1)."""
    rows = []
    for task in results.plan.tasks_by_name():
        for system in results.plan.systems:
            cells: tuple[str, ...] = ()
            for column in SIZES:
                mean = summarise(results.values(system.name, task, column)).mean
                cells += (NOTHING if mean is None else f"{mean:.1f}", papers_size(system.name, task, column))
            rows.append((task, system.name, *cells))
    headings = ("task", "system", "rules", "paper", "rules of the best action map", "paper")
    return Grid("Sizes of final rulesets, mean over trials", headings, tuple(rows), _unfinished_note(results))


def _verdicts(samples: dict[str, list[float]], reference: str) -> dict[str, tuple[str, ...]]:
    """Return, for every system but the reference, both verdicts, p, A12 and Holm's p as texts."""
    others = [name for name in samples if name != reference]
    comparisons: list[Comparison] = [compare(samples[reference], samples[name]) for name in others]
    ps = [comparison.p for comparison in comparisons]
    found: dict[str, tuple[str, ...]] = {}
    for name, comparison, p, holms in zip(others, comparisons, bonferroni(ps), holm(ps), strict=True):
        found[name] = (
            verdict(comparison, p, ALPHA) or NOTHING,
            verdict_by_effect(comparison, p, ALPHA) or NOTHING,
            NOTHING if comparison.p is None else f"{comparison.p:.2g} ({comparison.method or 'all equal'})",
            _number(comparison.a12),
            NOTHING if holms is None else f"{holms:.2g}",
        )
    return found


def _beside_the_paper(
    summary: Summary, paper: tuple[float, float, str] | None, measure: Measure
) -> tuple[str, str, str]:
    """Return the paper's mean ± sd, its verdict, and how many standard errors ours is away."""
    if paper is None or measure != "fraction":
        return (NOTHING, NOTHING, NOTHING)
    mean, sd, said = paper
    apart = NOTHING
    if summary.mean is not None and summary.sd is not None:
        distance = standard_errors_apart(summary.mean, summary.sd, summary.n, mean, sd)
        apart = "0" if distance is None else f"{distance:.1f}"
    return (f"{mean:.3f} ± {sd:.3f}", said or NOTHING, apart)


def _unfinished_note(results: Results) -> tuple[str, ...]:
    """Return a sentence on trials that are not in the table, if there are any."""
    if not results.failed and not results.missing:
        return ()
    return (f"Not in the table: {len(results.failed)} failed and {len(results.missing)} unfinished trials.",)


def _mean_sd(summary: Summary) -> str:
    if summary.mean is None:
        return NOTHING
    return f"{summary.mean:.3f}" if summary.sd is None else f"{summary.mean:.3f} ± {summary.sd:.3f}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


@cache
def papers_performance() -> dict[tuple[str, str], tuple[float, float, str]]:
    """Return the paper's mean, sd and verdict of PPL-ST against the system, by system and task."""
    ours = {paper: name for name, paper in PAPERS_NAMES.items()}
    with (PAPER / "table1.csv").open(encoding="utf-8") as file:
        return {
            (ours.get(row["system"], row["system"]), _task_name(row)): (
                float(row["mean"]),
                float(row["std"]),
                row["pplst_versus"],
            )
            for row in csv.DictReader(file)
        }


def papers_size(system: str, task: str, column: str) -> str:
    """Return a size from the paper's Table A1 as a text, a dash where it has none."""
    for_xcs, for_pplst = SIZES[column]
    with (PAPER / "tableA1.csv").open(encoding="utf-8") as file:
        rows = {_task_name(row): row for row in csv.DictReader(file)}
    wanted = {"XCSF": for_xcs, "PPL-ST": for_pplst}.get(system)
    return rows[task][wanted] if wanted and task in rows else NOTHING


def _task_name(row: dict[str, str]) -> str:
    return f"FrozenLake-{row['grid_size']}-{float(row['p_slip']):g}"
