"""Verdicts: whether one system is better than another on a task, beside what the paper found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ifthen.study.paper import PAPERS_REFERENCE, papers_performance
from ifthen.study.results import Results
from ifthen.study.statistics import (
    Comparison,
    Verdict,
    bonferroni,
    compare,
    holm,
    verdict,
    verdict_by_effect,
)

ALPHA = 0.05
MEANINGS = {">": "better", "=": "not told apart", "<": "worse", "?": "not tested"}
ABSOLUTE = {"fraction": "performance", "exact_fraction": "exact_performance"}

Measure = Literal["fraction", "exact_fraction"]


@dataclass(frozen=True)
class Judged:
    """How one system compares with another on one task.

    Args:
        task: the task.
        system: the one that may be better (>), not told apart (=) or worse (<).
        other: the one it is compared with.
        comparison: the test and its effect size.
        by_mean: the verdict, its direction by the larger mean; None where there are too few trials.
        by_effect: the verdict, its direction by A12.
        bonferroni_p: p corrected for the tests of the same system on the same task.
        holm_p: the same by Holm's method.
        paper: the paper's verdict; None where it has none.
    """

    task: str
    system: str
    other: str
    comparison: Comparison
    by_mean: Verdict | None
    by_effect: Verdict | None
    bonferroni_p: float | None
    holm_p: float | None
    paper: str | None


def samples_of(results: Results, task: str, measure: Measure) -> dict[str, list[float]]:
    """Return the values of every system on a task: absolute ones where fractions mean nothing there."""
    column = measure if results.relative(task) else ABSOLUTE[measure]
    return {system.name: results.values(system.name, task, column) for system in results.plan.systems}


def judge(results: Results, measure: Measure = "fraction") -> list[Judged]:
    """Return how the systems compare that the plan wants compared, task by task."""
    judged = []
    for task in results.plan.tasks_by_name():
        samples = samples_of(results, task, measure)
        for system, others in results.plan.compared().items():
            judged += _family(task, system, others, samples)
    return judged


def _family(task: str, system: str, others: list[str], samples: dict[str, list[float]]) -> list[Judged]:
    """Return how one system compares with the others on one task; the tests are corrected together."""
    comparisons = [compare(samples[system], samples[other]) for other in others]
    ps = [comparison.p for comparison in comparisons]
    return [
        Judged(
            task,
            system,
            other,
            comparison,
            verdict(comparison, p, ALPHA),
            verdict_by_effect(comparison, p, ALPHA),
            p,
            holms,
            papers_verdict(system, other, task),
        )
        for other, comparison, p, holms in zip(others, comparisons, bonferroni(ps), holm(ps), strict=True)
    ]


def papers_verdict(system: str, other: str, task: str) -> str | None:
    """Return the paper's verdict on two systems; it compares PPL-ST with the others only."""
    row = papers_performance().get((other, task)) if system == PAPERS_REFERENCE else None
    return row[2] if row and row[2] else None


@dataclass(frozen=True)
class Tally:
    """How often a system is better than, not told apart from and worse than another.

    Args:
        system: the one.
        other: the other.
        counts: of tasks, by verdict, "?" where there are too few trials for one.
        compared: on how many tasks there is a verdict, and one of the paper's.
        agree: on how many of these it is the same.
    """

    system: str
    other: str
    counts: dict[str, int]
    compared: int
    agree: int

    def __str__(self) -> str:
        counts = [f"{MEANINGS[sign]} on {number}" for sign, number in self.counts.items()]
        text = f"{self.system} against {self.other}: {', '.join(counts)} of {sum(self.counts.values())} tasks"
        if self.compared:
            text += f"; the paper's verdict is the same on {self.agree} of {self.compared}"
        return text


def tallies(judged: list[Judged]) -> list[Tally]:
    """Return, for each pair of systems, how often which verdict came out, by the larger mean."""
    found = []
    for system, other in dict.fromkeys((one.system, one.other) for one in judged):
        own = [one for one in judged if (one.system, one.other) == (system, other)]
        verdicts: list[str] = [one.by_mean or "?" for one in own]
        counts = {sign: verdicts.count(sign) for sign in MEANINGS if sign in verdicts or sign != "?"}
        with_paper = [one for one in own if one.paper and one.by_mean]
        agree = sum(one.by_mean == one.paper for one in with_paper)
        found.append(Tally(system, other, counts, len(with_paper), agree))
    return found
