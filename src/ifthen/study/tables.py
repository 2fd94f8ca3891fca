"""A study's tables: final performance with verdicts, sizes of rulesets, and times (the paper's 1 and A1).

Beside our numbers stand the paper's, wherever a study does what the paper did: XCSF is the paper's XCS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ifthen.digits import in_units, mean_and_sd
from ifthen.study.grid import Grid
from ifthen.study.notes import NO_RULE, NOTHING, PAPERS_COLUMNS, notes_on
from ifthen.study.paper import TRIALS, is_papers, papers_performance
from ifthen.study.results import Results
from ifthen.study.sizes import sizes_table, times_table
from ifthen.study.statistics import Summary, standard_errors_apart, summarise
from ifthen.study.trial_history import UNSEEN
from ifthen.study.unseen import pruned_table, unseen_table
from ifthen.study.verdicts import ALPHA, Judged, Measure, judge, samples_of


def all_tables(results: Results) -> dict[str, Grid]:
    """Return every table of a study, by the name of its file; the paper's numbers only where it has any."""
    second = second_name(results)
    tables = {
        "unseen": unseen_table(results),
        "pruned": pruned_table(results),
        "performance": performance_table(results),
        "verdicts": verdicts_table(results),
        "tests": u_tests_table(results),
        "spread": spread_table(results),
        f"performance-{second}": performance_table(results, "exact_fraction"),
        f"verdicts-{second}": verdicts_table(results, "exact_fraction"),
        f"tests-{second}": u_tests_table(results, "exact_fraction"),
        "sizes": sizes_table(results),
    }
    if results.only_environments:  # whose first tables have all of that
        tables |= {"spread": spread_table(results, "exact_fraction")}
        for name in ("performance", f"performance-{second}", "sizes"):
            tables.pop(name)
    times = times_table(results)
    tables |= {} if times is None else {"times": times}
    return {name: _without_empty(grid) for name, grid in tables.items() if grid.rows}


def second_name(results: Results) -> str:
    """Return what the second measure is called in the names of files."""
    return "unseen" if results.only_environments else "exact"


def words(results: Results, measure: Measure) -> str:
    """Return what a measure is."""
    on_z, exact = "on z, of OTP", "exact, of the optimum"
    if results.only_environments:
        on_z, exact = "on z", f"on {UNSEEN} unseen reset seeds"
    elif results.environments:
        exact += f" (environments: on {UNSEEN} unseen reset seeds)"
    return on_z if measure == "fraction" else exact


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
        no_rule: how many trials met a state of an environment with no rule: they are not in the summary.
    """

    system: str
    summary: Summary
    paper: tuple[float, float] | None
    apart: float | None
    no_rule: int = 0


def performances(results: Results, task: str, measure: Measure) -> list[Performance]:
    """Return the final performance of every system on a task."""
    found = []
    for system, values in samples_of(results, task, measure).items():
        counted = results.counted(task, values)
        summary, no_rule = summarise(counted, results.failures(system, task)), len(values) - len(counted)
        if no_rule and not counted:
            summary = replace(summary, why="Where all trials met a state with no rule there is no mean.")
        paper = apart = None
        if measure == "fraction" and is_papers(results.plan, system, task):
            mean, sd, _ = papers_performance()[system, task]
            paper = (mean, sd)
            if summary.mean is not None and summary.sd is not None:
                apart = standard_errors_apart(summary.mean, summary.sd, summary.n, mean, sd, TRIALS)
        found.append(Performance(system, summary, paper, apart, no_rule))
    return found


def performance_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return final performance, mean ± sd, of every system on every task, beside the paper's (its Table 1).

    Args:
        results: the study's.
        measure: performance on z as a fraction of OTP, or exact as a fraction of the optimum.
    """
    rows, found = [], []
    for task in results.plan.tasks_by_name():
        for one in performances(results, task, measure):
            found.append(one)
            paper = NOTHING if one.paper is None else "{:.3f} ± {:.3f}".format(*one.paper)
            same = one.paper is not None and one.summary.sd is not None and one.apart is None
            apart = "0" if same else NOTHING if one.apart is None else f"{one.apart:.1f}"
            rows.append((task, one.system, _count(one), shown_spread(one.summary), paper, apart))
    return Grid(
        f"Final performance {words(results, measure)}, mean ± sd over trials",
        ("task", "system", "n", "mean ± sd", *PAPERS_COLUMNS),
        tuple(rows),
        (*_on_no_rule(found), *notes_on(results)),
    )


def _on_no_rule(found: list[Performance]) -> tuple[str, ...]:
    """Return a sentence on trials that are in no mean, where there are any."""
    told = f"In environments an episode may meet a state with no rule. {NO_RULE}"
    return (told,) if any(one.no_rule for one in found) else ()


def spread_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return medians, interquartile means with bootstrap intervals, and tests of normality."""
    rows, whys, found = [], [], []
    for task in results.plan.tasks_by_name():
        for one in performances(results, task, measure):
            summary = one.summary
            found.append(one)
            low, high = summary.iqm_interval or (None, None)
            interval = (
                NOTHING if low is None or high is None else f"{shown_number(low)} … {shown_number(high)}"
            )
            shapiro = NOTHING if summary.shapiro_p is None else f"{summary.shapiro_p:.2g}"
            middles = shown_number(summary.median), shown_number(summary.iqm)
            rows.append((task, one.system, *middles, interval, shapiro))
            whys += [summary.why] if summary.why else []
    return Grid(
        f"Final performance {words(results, measure)}: medians and interquartile means",
        ("task", "system", "median", "IQM", "95 % interval", "Shapiro–Wilk p"),
        tuple(rows),
        (*dict.fromkeys(whys), *_on_no_rule(found), *notes_on(results)),
    )


def verdicts_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return how the reference compares with every other system on every task, as in the paper's Table 1."""
    judged = judge(results, measure)
    rows = [
        (
            one.by_mean or NOTHING,
            one.by_effect or NOTHING,
            one.paper or NOTHING,
            shown_number(one.comparison.a12),
        )
        for one in judged
    ]
    notes = (
        "Two-sided Mann–Whitney U tests; >, =, < say whether it is better, not told apart or worse at "
        f"{ALPHA:g} after Bonferroni's correction within the task, going by the larger mean, and by A12.",
        *dict.fromkeys(one.why for one in judged if one.why),
        *notes_on(results),
    )
    about = words(results, measure)
    return _comparison_grid(judged, "", about, ("by mean", "by A12", "paper", "A12"), rows, notes)


def u_tests_table(results: Results, measure: Measure = "fraction") -> Grid:
    """Return the tests behind the verdicts: p, corrected in two ways, and how it was found."""
    judged = judge(results, measure)
    rows = []
    for one in judged:
        ps = (one.comparison.p, one.bonferroni_p, one.holm_p)
        cells = [NOTHING if p is None else f"{p:.3g}" for p in ps]
        rows.append((*cells, one.comparison.method or NOTHING))
    headings = ("p", "Bonferroni p", "Holm p", "method")
    about = words(results, measure)
    return _comparison_grid(judged, ": U tests", about, headings, rows, notes_on(results))


def _comparison_grid(
    judged: list[Judged],
    what: str,
    measured: str,
    headings: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    notes: tuple[str, ...],
) -> Grid:
    """Return a table with a row per comparison, naming the system only where there are several."""
    systems = dict.fromkeys(one.system for one in judged)
    only = next(iter(systems)) if len(systems) == 1 else None
    names = [(one.task, *([] if only else [one.system]), one.other) for one in judged]
    return Grid(
        f"{only or 'One'} against the others{what}, final performance {measured}",
        ("task", *(() if only else ("system",)), "against", *headings),
        tuple((*name, *row) for name, row in zip(names, rows, strict=True)),
        notes,
    )


def _count(one: Performance) -> str:
    beside = [f"{one.summary.failed} failed"] if one.summary.failed else []
    beside += [f"no rule: {one.no_rule}"] if one.no_rule else []
    return f"{one.summary.n} ({', '.join(beside)})" if beside else str(one.summary.n)


def shown_spread(summary: Summary) -> str:
    """Return mean ± sd: fractions with three digits after the point, returns of many steps with fewer."""
    if summary.mean is None:
        return NOTHING
    if summary.sd is None:
        return shown_number(summary.mean)
    if max(abs(summary.mean), summary.sd) >= 100:
        return mean_and_sd(summary.mean, summary.sd)
    return f"{summary.mean:.3f} ± {summary.sd:.3f}"


def shown_number(value: float | None) -> str:
    """Return a performance: fractions with three digits after the point, returns of many steps with fewer."""
    if value is None:
        return NOTHING
    return f"{value:.3f}" if abs(value) < 100 else in_units(value)
