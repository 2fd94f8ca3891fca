"""The paper's tables from a study's results: final performance with verdicts, and sizes of rulesets.

Beside our numbers stand the paper's, for its systems on its tasks: XCSF is the paper's XCS.
"""

from __future__ import annotations

import polars

from ifthen.study.grid import Grid
from ifthen.study.paper import SIZES, papers_performance, papers_size
from ifthen.study.results import Results
from ifthen.study.statistics import Summary, standard_errors_apart, summarise
from ifthen.study.verdicts import ALPHA, Judged, Measure, judge, samples_of

MEASURES = {"fraction": "on z, of OTP", "exact_fraction": "exact, of the optimum"}
NOTHING = "–"


def all_tables(results: Results) -> dict[str, Grid]:
    """Return every table of a study, by the name of its file."""
    tables = {
        "performance": performance_table(results),
        "verdicts": verdicts_table(results),
        "spread": spread_table(results),
        "performance-exact": performance_table(results, "exact_fraction"),
        "verdicts-exact": verdicts_table(results, "exact_fraction"),
        "sizes": sizes_table(results),
    }
    times = times_table(results)
    return tables if times is None else {**tables, "times": times}


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
    judged = judge(results, measure)
    systems = dict.fromkeys(one.system for one in judged)
    only = next(iter(systems)) if len(systems) == 1 else None
    headings = ("against", "by mean", "by A12", "paper", "p", "method", "Holm p", "A12")
    return Grid(
        f"{only or 'One'} against the others, final performance {MEASURES[measure]}",
        ("task", *(() if only else ("system",)), *headings),
        tuple(
            (one.task, *(() if only else (one.system,)), one.other, *_verdict_cells(one)) for one in judged
        ),
        (
            "Two-sided Mann–Whitney U tests; >, =, < say whether it is better, not told apart or worse at "
            f"{ALPHA:g} after Bonferroni's correction within the task, going by the larger mean, and by A12.",
            *_notes(results),
        ),
    )


def _verdict_cells(one: Judged) -> tuple[str, ...]:
    """Return both verdicts, the paper's, p, its method, Holm's p and A12 as texts."""
    comparison = one.comparison
    return (
        one.by_mean or NOTHING,
        one.by_effect or NOTHING,
        one.paper or NOTHING,
        NOTHING if comparison.p is None else f"{comparison.p:.2g}",
        comparison.method or NOTHING,
        NOTHING if one.holm_p is None else f"{one.holm_p:.2g}",
        _number(comparison.a12),
    )


def times_table(results: Results) -> Grid | None:
    """Return how long each system took on each task, and how much it played in that time.

    None where the study has no log; trials taken over from another study have no times.
    """
    if results.log is None:
        return None
    seconds = results.log.group_by("system", "task", "seed").agg(polars.col("processor_seconds").sum())
    timed = results.finals.join(seconds, on=["system", "task", "seed"])
    rows = []
    for system in results.plan.systems:
        for task in [*results.plan.tasks_by_name(), None]:
            own = timed.filter(polars.col("system") == system.name)
            own = own if task is None else own.filter(polars.col("task") == task)
            if len(own):
                rows.append((system.name, task or "all tasks", *_time_cells(own)))
    headings = ("system", "task", "trials", "processor minutes", "s per trial", "episodes", "steps")
    return Grid(
        "Processor time of the trials, and what they played in it",
        (*headings, "million episodes per s", "million steps per s"),
        tuple(rows),
        ("One thread each. What equal policies play is worked out once and counts each time.",),
    )


def _time_cells(own: polars.DataFrame) -> tuple[str, ...]:
    seconds, episodes, steps = (float(own[name].sum()) for name in ("processor_seconds", "episodes", "steps"))
    return (
        str(len(own)),
        f"{seconds / 60:.1f}",
        f"{seconds / len(own):.2f}",
        f"{episodes:.3g}",
        f"{steps:.3g}",
        f"{episodes / seconds / 1e6:.2f}",
        f"{steps / seconds / 1e6:.1f}",
    )


def sizes_table(results: Results) -> Grid:
    """Return the sizes of final rulesets and of their best action maps (the paper's Table A1)."""
    rows = []
    for task in results.plan.tasks_by_name():
        for system in results.plan.systems:
            cells: tuple[str, ...] = ()
            for column in SIZES:
                mean = summarise(results.values(system.name, task, column)).mean
                paper = papers_size(system.name, task, column)
                cells += tuple(NOTHING if size is None else f"{size:.1f}" for size in (mean, paper))
            rows.append((task, system.name, *cells))
    headings = ("task", "system", "rules", "paper", "rules of the best action map", "paper")
    return Grid("Sizes of final rulesets, mean over trials", headings, tuple(rows), _notes(results))


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
