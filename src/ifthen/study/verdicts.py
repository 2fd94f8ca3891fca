"""Verdicts: whether one system is better than another on a task, beside what the paper found."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ifthen.study.paper import PAPERS_REFERENCE, is_papers, papers_performance
from ifthen.study.statistics import Comparison, Verdict, bonferroni, compare, holm, verdict
from ifthen.study.study_plan import StudyPlan
from ifthen.study.study_results import Measure, Results

ALPHA = 0.05
MEANINGS = {">": "better", "=": "not told apart", "<": "worse", "?": "not to be told yet"}
DIGITS = 12
"""Values are rounded to this many digits, so that rounding errors do not break ties."""


@dataclass(frozen=True)
class Judged:
    """How a system compares with another on one task: better (>), not told apart (=) or worse (<)."""

    task: str
    system: str
    other: str
    comparison: Comparison
    by_mean: Verdict | None
    """The verdict, its direction by the larger mean; None where no outcome could be significant."""
    by_effect: Verdict | None
    """The verdict, its direction by A12."""
    bonferroni_p: float | None
    """Corrected for the tests of the same system on the same task."""
    holm_p: float | None
    paper: str | None
    """The paper's verdict; None where it has none."""
    why: str = ""
    """Why there is no verdict; empty where there is one."""


def samples_of(results: Results, task: str, measure: Measure) -> dict[str, list[float]]:
    """Return the values of every system on a task: absolute ones where fractions mean nothing there."""
    column = results.column(task, measure)
    return {
        system.name: [round(value, DIGITS) for value in results.values(system.name, task, column)]
        for system in results.plan.systems
    }


def measures(results: Results) -> dict[Measure, str]:
    """Return both measures in short words, the main one first: on z, as in the paper, or on test seeds."""
    if not results.environments:
        return {"fraction": "on z", "exact_fraction": "exact"}
    prefix = "" if results.only_environments else "exact or "
    return {
        "exact_fraction": f"{prefix}on test seeds",
        "fraction": "on training seeds" if results.only_environments else "on z or training seeds",
    }


def second_name(results: Results) -> str:
    """Return what the second measure is called in the names of files."""
    return "training" if results.environments else "exact"


def judge(results: Results, measure: Measure = "fraction") -> list[Judged]:
    """Return how the systems compare that the plan wants compared, task by task."""
    judged = []
    for task in results.plan.tasks_by_name():
        samples = samples_of(results, task, measure)
        for system, others in results.plan.compared().items():
            judged += _family(results.plan, task, system, others, samples)
    return judged


def _family(
    plan: StudyPlan, task: str, system: str, others: list[str], samples: dict[str, list[float]]
) -> list[Judged]:
    """Return how one system compares with the others on one task; the tests are corrected together."""
    comparisons = [compare(samples[system], samples[other]) for other in others]
    p_values = [comparison.p for comparison in comparisons]
    judged = []
    for other, comparison, bonferroni_p, holm_p in zip(
        others, comparisons, bonferroni(p_values), holm(p_values), strict=True
    ):
        reason = comparison.why if comparison.p is None else _too_few(comparison, len(others))
        by_mean = None if reason else verdict(comparison.mean_difference, bonferroni_p, ALPHA)
        by_effect = (
            None if reason or comparison.a12 is None else verdict(comparison.a12 - 0.5, bonferroni_p, ALPHA)
        )
        paper = papers_verdict(plan, system, other, task)
        judged.append(
            Judged(task, system, other, comparison, by_mean, by_effect, bonferroni_p, holm_p, paper, reason)
        )
    return judged


def _too_few(comparison: Comparison, tests: int) -> str:
    """Return why no outcome of a test could be significant; nothing where one could."""
    smallest_p = 2 * tests / math.comb(comparison.n_a + comparison.n_b, comparison.n_a)
    if smallest_p <= ALPHA:
        return ""
    trials = f"{comparison.n_a} and {comparison.n_b} trials"
    return (
        f"With {trials} and {tests} tests no difference can be significant: p is at least {smallest_p:.2g}."
    )


def papers_verdict(plan: StudyPlan, system: str, other: str, task: str) -> str | None:
    """Return the paper's verdict on two systems, where a study compares them as it did."""
    if system != PAPERS_REFERENCE or not all(is_papers(plan, name, task) for name in (system, other)):
        return None
    return papers_performance()[other, task][2] or None


@dataclass(frozen=True)
class Tally:
    """How often a system is better than, not told apart from and worse than another."""

    system: str
    other: str
    counts: dict[str, int]
    """The number of tasks by verdict; "?" stands for too few trials."""
    compared: int
    """The number of tasks with a verdict here and in the paper."""
    agree: int
    """The number of these tasks on which both verdicts are the same."""
    agree_by_effect: int
    """The same number, with the direction of verdicts by A12."""

    def __str__(self) -> str:
        counts = [f"{MEANINGS[sign]} on {number}" for sign, number in self.counts.items()]
        sentence = (
            f"{self.system} against {self.other}: {', '.join(counts)} of {sum(self.counts.values())} tasks"
        )
        if self.compared:
            sentence += f"; the paper's verdict is the same on {self.agree} of {self.compared}"
            if self.agree_by_effect != self.agree:
                sentence += f" (on {self.agree_by_effect} if A12 names the direction)"
        return sentence


def tallies(judged: list[Judged]) -> list[Tally]:
    """Return, for each pair of systems, how often which verdict came out, by the larger mean."""
    pair_tallies = []
    for system, other in dict.fromkeys((judgement.system, judgement.other) for judgement in judged):
        pair_judged = [
            judgement for judgement in judged if (judgement.system, judgement.other) == (system, other)
        ]
        verdicts: list[str] = [judgement.by_mean or "?" for judgement in pair_judged]
        counts = {sign: verdicts.count(sign) for sign in MEANINGS if sign in verdicts or sign != "?"}
        with_paper = [judgement for judgement in pair_judged if judgement.paper and judgement.by_mean]
        agree = sum(judgement.by_mean == judgement.paper for judgement in with_paper)
        by_effect = sum(judgement.by_effect == judgement.paper for judgement in with_paper)
        pair_tallies.append(Tally(system, other, counts, len(with_paper), agree, by_effect))
    return pair_tallies
