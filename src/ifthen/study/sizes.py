"""Tables of sizes and times: how many rules there are in the end, and how long it took."""

from __future__ import annotations

import math

import polars

from ifthen.study.grid import Grid
from ifthen.study.notes import NOTHING, PAPERS_COLUMNS, notes_on
from ifthen.study.paper import SIZES, is_papers, papers_size
from ifthen.study.results import Results
from ifthen.study.statistics import Summary, summarise

ROUNDING = 0.05
"""Of the paper's sizes, given to one digit."""


def sizes_table(results: Results) -> Grid:
    """Return the sizes of final rulesets and of their best action maps (the paper's Table A1)."""
    rows = []
    for task in (name for name in results.plan.tasks_by_name() if name not in results.environments):
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
        ("The paper gives no deviations of sizes: distances are in our standard errors.", *notes_on(results)),
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
