"""A study's tables: final performance with verdicts, sizes of rulesets, and times (the paper's 1 and A1).

Beside our numbers stand the paper's, wherever a study does what the paper did: XCSF is the paper's XCS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars

from ifthen.study.grid import Grid
from ifthen.study.paper import SIZES, TRIALS, is_papers, papers_performance, papers_size
from ifthen.study.results import Results
from ifthen.study.statistics import Summary, standard_errors_apart, summarise
from ifthen.study.verdicts import ALPHA, Judged, Measure, judge, samples_of

MEASURES = {"fraction": "on z, of OTP", "exact_fraction": "exact, of the optimum"}
NOTHING = "–"
PAPERS_COLUMNS = ("paper", "s.e. apart")
ROUNDING = 0.05
"""Of the paper's sizes, given to one digit."""


def all_tables(results: Results) -> dict[str, Grid]:
    """Return every table of a study, by the name of its file; the paper's numbers only where it has any."""
    tables = {
        "performance": performance_table(results),
        "verdicts": verdicts_table(results),
        "tests": u_tests_table(results),
        "spread": spread_table(results),
        "performance-exact": performance_table(results, "exact_fraction"),
        "verdicts-exact": verdicts_table(results, "exact_fraction"),
        "tests-exact": u_tests_table(results, "exact_fraction"),
        "sizes": sizes_table(results),
    }
    times = times_table(results)
    tables |= {} if times is None else {"times": times}
    return {name: _without_empty(grid) for name, grid in tables.items() if grid.rows}


def _without_empty(grid: Grid) -> Grid:
    """Return a table without the columns of the paper's numbers that are empty."""
    columns = list(zip(*grid.rows, strict=True))
    kept = [
        i
        for i, heading in enumerate(grid.headings)
        if heading not in PAPERS_COLUMNS or set(columns[i]) != {NOTHING}
    ]
    rows = tuple(tuple(row[i] for i in kept) for row in grid.rows)
    return replace(grid, headings=tuple(grid.headings[i] for i in kept), rows=rows)


@dataclass(frozen=True)
class Performance:
    """What a system got on a task, and what it got in the paper.

    Args:
        system: its name in the study.
        summary: of our trials.
        paper: mean and sd; None where the paper did not do the same.
        apart: how many standard errors lie between the means; None where there is no such unit.
    """

    system: str
    summary: Summary
    paper: tuple[float, float] | None
    apart: float | None


def performances(results: Results, task: str, measure: Measure) -> list[Performance]:
    """Return the final performance of every system on a task."""
    found = []
    for system, values in samples_of(results, task, measure).items():
        summary = summarise(values, results.failures(system, task))
        paper = apart = None
        if measure == "fraction" and is_papers(results.plan, system, task):
            mean, sd, _ = papers_performance()[system, task]
            paper = (mean, sd)
            if summary.mean is not None and summary.sd is not None:
                apart = standard_errors_apart(summary.mean, summary.sd, summary.n, mean, sd, TRIALS)
        found.append(Performance(system, summary, paper, apart))
    return found


def performance_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return final performance, mean ± sd, of every system on every task, beside the paper's (its Table 1).

    Args:
        results: the study's.
        measure: performance on z as a fraction of OTP, or exact as a fraction of the optimum.
    """
    rows = []
    for task in results.plan.tasks_by_name():
        for one in performances(results, task, measure):
            paper = NOTHING if one.paper is None else "{:.3f} ± {:.3f}".format(*one.paper)
            same = one.paper is not None and one.summary.sd is not None and one.apart is None
            apart = "0" if same else NOTHING if one.apart is None else f"{one.apart:.1f}"
            rows.append((task, one.system, _count(one.summary), _mean_sd(one.summary), paper, apart))
    return Grid(
        f"Final performance {MEASURES[measure]}, mean ± sd over trials",
        ("task", "system", "n", "mean ± sd", *PAPERS_COLUMNS),
        tuple(rows),
        _notes(results),
    )


def spread_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return medians, interquartile means with bootstrap intervals, and tests of normality."""
    rows, whys = [], []
    for task in results.plan.tasks_by_name():
        for one in performances(results, task, measure):
            summary = one.summary
            low, high = summary.iqm_interval or (None, None)
            interval = NOTHING if low is None or high is None else f"{low:.3f} … {high:.3f}"
            shapiro = NOTHING if summary.shapiro_p is None else f"{summary.shapiro_p:.2g}"
            rows.append((task, one.system, _number(summary.median), _number(summary.iqm), interval, shapiro))
            whys += [summary.why] if summary.why else []
    return Grid(
        f"Final performance {MEASURES[measure]}: medians and interquartile means",
        ("task", "system", "median", "IQM", "95 % interval", "Shapiro–Wilk p"),
        tuple(rows),
        (*dict.fromkeys(whys), *_notes(results)),
    )


def verdicts_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return how the reference compares with every other system on every task, as in the paper's Table 1."""
    judged = judge(results, measure)
    rows = [
        (one.by_mean or NOTHING, one.by_effect or NOTHING, one.paper or NOTHING, _number(one.comparison.a12))
        for one in judged
    ]
    notes = (
        "Two-sided Mann–Whitney U tests; >, =, < say whether it is better, not told apart or worse at "
        f"{ALPHA:g} after Bonferroni's correction within the task, going by the larger mean, and by A12.",
        *dict.fromkeys(one.why for one in judged if one.why),
        *_notes(results),
    )
    return _comparison_grid(judged, "", measure, ("by mean", "by A12", "paper", "A12"), rows, notes)


def u_tests_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return the tests behind the verdicts: p, corrected in two ways, and how it was found."""
    judged = judge(results, measure)
    rows = []
    for one in judged:
        ps = (one.comparison.p, one.bonferroni_p, one.holm_p)
        cells = [NOTHING if p is None else f"{p:.3g}" for p in ps]
        rows.append((*cells, one.comparison.method or NOTHING))
    headings = ("p", "Bonferroni p", "Holm p", "method")
    return _comparison_grid(judged, ": U tests", measure, headings, rows, _notes(results))


def _comparison_grid(
    judged: list[Judged],
    what: str,
    measure: Measure,
    headings: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    notes: tuple[str, ...],
) -> Grid:
    """Return a table with a row per comparison, naming the system only where there are several."""
    systems = dict.fromkeys(one.system for one in judged)
    only = next(iter(systems)) if len(systems) == 1 else None
    names = [(one.task, *([] if only else [one.system]), one.other) for one in judged]
    return Grid(
        f"{only or 'One'} against the others{what}, final performance {MEASURES[measure]}",
        ("task", *(() if only else ("system",)), "against", *headings),
        tuple((*name, *row) for name, row in zip(names, rows, strict=True)),
        notes,
    )


def sizes_table(results: Results) -> Grid:
    """Return the sizes of final rulesets and of their best action maps (the paper's Table A1)."""
    rows = []
    for task in results.plan.tasks_by_name():
        for system in results.plan.systems:
            cells: tuple[str, ...] = ()
            for column in SIZES:
                summary = summarise(results.values(system.name, task, column))
                ours = is_papers(results.plan, system.name, task)
                cells += _size_cells(summary, papers_size(system.name, task, column) if ours else None)
            rows.append((task, system.name, *cells))
    headings = ("rules", *PAPERS_COLUMNS, "in the best action map", *PAPERS_COLUMNS)
    return Grid(
        "Sizes of final rulesets, mean ± sd over trials",
        ("task", "system", *headings),
        tuple(rows),
        ("The paper gives no deviations of sizes: distances are in our standard errors.", *_notes(results)),
    )


def _size_cells(summary: Summary, paper: float | None) -> tuple[str, str, str]:
    """Return a size, the paper's, and how many of our standard errors lie between them."""
    ours = NOTHING if summary.mean is None else f"{summary.mean:.1f}"
    if summary.sd:
        ours += f" ± {summary.sd:.1f}"
    if paper is None or summary.mean is None or summary.sd is None:
        return ours, NOTHING if paper is None else f"{paper:.1f}", NOTHING
    distance = abs(summary.mean - paper)
    unit = summary.sd / math.sqrt(summary.n)
    apart = f"{distance / unit:.1f}" if unit else "0" if distance <= ROUNDING else NOTHING
    return ours, f"{paper:.1f}", apart


def times_table(results: Results) -> Grid | None:
    """Return how long each system took on each task, and how much it played in that time.

    None where the study has no log; trials taken over from another study have no times.
    """
    if results.log is None:
        return None
    seconds = results.log.group_by("system", "task", "seed").agg(polars.col("processor_seconds").sum())
    timed = results.finals.join(seconds.filter(polars.col("processor_seconds") > 0), on=seconds.columns[:3])
    rows = []
    for system in results.plan.systems:
        own = timed.filter(polars.col("system") == system.name)
        for task in results.plan.tasks_by_name():
            on_task = own.filter(polars.col("task") == task)
            rows += [(system.name, task, *_time_cells(on_task))] if len(on_task) else []
        rows += [(system.name, "all tasks", *_time_cells(own))] if len(own) else []
    headings = ("system", "task", "trials", "processor minutes", "s per trial, median", "episodes", "steps")
    return Grid(
        "Processor time of the trials, and what they played in it",
        (*headings, "million episodes per s, median", "million steps per s, median"),
        tuple(rows),
        (
            "One thread each. What equal policies play is worked out once and counts each time. The first "
            "trials of a process also compile, which counts in the minutes and hardly in the medians.",
        ),
    )


def _time_cells(own: polars.DataFrame) -> tuple[str, ...]:
    """Return how many trials there are, how long they took, and how much they played per second."""
    seconds = own["processor_seconds"]
    rates = [float((own[name] / seconds).median()) / 1e6 for name in ("episodes", "steps")]  # type: ignore[arg-type]
    total, middle = float(seconds.sum()), float(seconds.median())  # type: ignore[arg-type]  # not empty
    played = [f"{own[name].sum():.3g}" for name in ("episodes", "steps")]
    return (str(len(own)), f"{total / 60:.1f}", f"{middle:.2f}", *played, *(f"{rate:,.2f}" for rate in rates))


def _notes(results: Results) -> tuple[str, ...]:
    """Return sentences on what a reader could take wrongly, if there is any."""
    plan = results.plan
    absolute = [task for task in plan.tasks_by_name() if not results.relative(task)]
    notes = [f"Absolute, not as a fraction, because returns can be negative: {', '.join(absolute)}."]
    missing = f"Not in the table: {len(results.failed)} failed and {len(results.missing)} unfinished trials."
    return (*(notes if absolute else ()), *((missing,) if results.failed or results.missing else ()))


def _count(summary: Summary) -> str:
    return f"{summary.n} ({summary.failed} failed)" if summary.failed else str(summary.n)


def _mean_sd(summary: Summary) -> str:
    if summary.mean is None:
        return NOTHING
    return f"{summary.mean:.3f}" if summary.sd is None else f"{summary.mean:.3f} ± {summary.sd:.3f}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
