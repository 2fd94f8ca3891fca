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
PAPERS_REFERENCE = "PPL-ST"
ALPHA = 0.05
ABSOLUTE = {"fraction": "performance", "exact_fraction": "exact_performance"}
MEASURES = {"fraction": "on z, of OTP", "exact_fraction": "exact, of the optimum"}
SIZES = {
    "rules": ("xcs_rules", "pplst_rules"),
    "best_action_rules": ("xcs_best_action_rules", "pplst_best_action_rules"),
}

Measure = Literal["fraction", "exact_fraction"]
NOTHING = "–"


def samples_of(results: Results, task: str, measure: Measure) -> dict[str, list[float]]:
    """Return the values of every system on a task: absolute ones where fractions mean nothing there."""
    column = measure if results.relative(task) else ABSOLUTE[measure]
    return {system.name: results.values(system.name, task, column) for system in results.plan.systems}


def performance_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return final performance, mean ± sd, of every system on every task, beside the paper's (its Table 1).

    Args:
        results: the study's.
        measure: performance on z as a fraction of OTP, or exact as a fraction of the optimum.
    """
    rows = []
    for task in results.plan.tasks_by_name():
        for name, values in samples_of(results, task, measure).items():
            summary = summarise(values, results.failures(name, task))
            paper = papers_performance().get((name, task)) if measure == "fraction" else None
            rows.append((task, name, str(summary.n), _mean_sd(summary), *_beside_the_paper(summary, paper)))
    return Grid(
        f"Final performance {MEASURES[measure]}, mean ± sd over trials",
        ("task", "system", "n", "mean ± sd", "paper", "s.e. apart"),
        tuple(rows),
        _notes(results),
    )


def spread_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return medians, interquartile means with bootstrap intervals, and tests of normality."""
    rows = []
    for task in results.plan.tasks_by_name():
        for name, values in samples_of(results, task, measure).items():
            summary = summarise(values)
            low, high = summary.iqm_interval or (None, None)
            interval = NOTHING if low is None or high is None else f"{low:.3f} … {high:.3f}"
            shapiro = NOTHING if summary.shapiro_p is None else f"{summary.shapiro_p:.2g}"
            rows.append((task, name, _number(summary.median), _number(summary.iqm), interval, shapiro))
    return Grid(
        f"Final performance {MEASURES[measure]}: medians and interquartile means",
        ("task", "system", "median", "IQM", "95 % interval", "Shapiro–Wilk p"),
        tuple(rows),
        _notes(results),
    )


def verdicts_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return how the reference compares with every other system on every task, as in the paper's Table 1."""
    plan = results.plan
    reference = plan.reference or plan.systems[0].name
    rows = []
    for task in plan.tasks_by_name():
        for name, cells in _verdicts(samples_of(results, task, measure), reference).items():
            paper = papers_performance().get((name, task)) if reference == PAPERS_REFERENCE else None
            rows.append((task, name, *cells[:2], NOTHING if paper is None else paper[2], *cells[2:]))
    return Grid(
        f"{reference} against the others, final performance {MEASURES[measure]}",
        ("task", "against", "by mean", "by A12", "paper", "p", "method", "Holm p", "A12"),
        tuple(rows),
        (
            "Two-sided Mann–Whitney U tests; >, =, < say whether it is better, not told apart or worse at "
            f"{ALPHA:g} after Bonferroni's correction within the task, going by the larger mean, and by A12.",
            *_notes(results),
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
    return Grid("Sizes of final rulesets, mean over trials", headings, tuple(rows), _notes(results))


def _verdicts(samples: dict[str, list[float]], reference: str) -> dict[str, tuple[str, ...]]:
    """Return, for every system but the reference, both verdicts, p, its method, Holm's p and A12 as texts."""
    others = [name for name in samples if name != reference]
    comparisons: list[Comparison] = [compare(samples[reference], samples[name]) for name in others]
    ps = [comparison.p for comparison in comparisons]
    found: dict[str, tuple[str, ...]] = {}
    for name, comparison, p, holms in zip(others, comparisons, bonferroni(ps), holm(ps), strict=True):
        found[name] = (
            verdict(comparison, p, ALPHA) or NOTHING,
            verdict_by_effect(comparison, p, ALPHA) or NOTHING,
            NOTHING if comparison.p is None else f"{comparison.p:.2g}",
            comparison.method or NOTHING,
            NOTHING if holms is None else f"{holms:.2g}",
            _number(comparison.a12),
        )
    return found


def _beside_the_paper(summary: Summary, paper: tuple[float, float, str] | None) -> tuple[str, str]:
    """Return the paper's mean ± sd, and how many standard errors ours is away."""
    if paper is None:
        return (NOTHING, NOTHING)
    mean, sd, _ = paper
    apart = NOTHING
    if summary.mean is not None and summary.sd is not None:
        distance = standard_errors_apart(summary.mean, summary.sd, summary.n, mean, sd)
        apart = "0" if distance is None else f"{distance:.1f}"
    return (f"{mean:.3f} ± {sd:.3f}", apart)


def _notes(results: Results) -> tuple[str, ...]:
    """Return sentences on what a reader could take wrongly, if there is any."""
    absolute = [task for task in results.plan.tasks_by_name() if not results.relative(task)]
    notes = [f"Absolute, not as a fraction, because returns can be negative: {', '.join(absolute)}."]
    missing = f"Not in the table: {len(results.failed)} failed and {len(results.missing)} unfinished trials."
    return (*(notes if absolute else ()), *((missing,) if results.failed or results.missing else ()))


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
