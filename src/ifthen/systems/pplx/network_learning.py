"""Learning from a network in an environment: what each epoch of the plan does with its values.

Where few observations are distinct, counts take the network's place (`count_learning.py`).
"""

from __future__ import annotations

from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.distil_values import distil
from ifthen.systems.pplx.drafts import Draft
from ifthen.systems.pplx.env_plan import (
    CHOOSING,
    DISTIL,
    DISTILLING,
    EPOCHS,
    SCRATCH,
    SHORTENING,
    TUNING,
    VALUES,
    Work,
)
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.last_choice import choose_by_scores, last_choice
from ifthen.systems.pplx.policy_search import shorten, tune
from ifthen.systems.pplx.scoring import with_candidates
from ifthen.systems.pplx.scratch import evolve
from ifthen.systems.pplx.value_learning import learn_values


def network_epoch(
    bench: Bench, known: Knowledge, work: Work, terms: bool, start_drafts: list[Draft]
) -> tuple[Knowledge, float | None]:
    """Go one epoch on where a network says what actions are worth; return its values' error, too.

    Args:
        bench: plays.
        known: what is known.
        work: what the epoch does.
        terms: whether rules may compare sums of two features.
        start_drafts: the list to start from, if there is one.
    """
    if work.phase == VALUES:
        return learn_values(bench, known, work.phase_epoch, EPOCHS[VALUES])
    if work.phase == SCRATCH:
        return from_scratch(bench, known, start_drafts, last=work.ends_phase), None
    if work.phase == DISTIL:
        return distilling_epoch(bench, known, work, terms, start_drafts), None
    return search_epoch(bench, known, work, terms), None


def from_scratch(bench: Bench, known: Knowledge, start_drafts: list[Draft], last: bool) -> Knowledge:
    """Seek lists at random, beside the one to start from."""
    return with_candidates(bench, evolve(bench, known, last=last), start_drafts)


def distilling_epoch(
    bench: Bench, known: Knowledge, work: Work, terms: bool, start_drafts: list[Draft]
) -> Knowledge:
    """Imitate the values. Where there are none, seek lists at random with the steps of the whole phase.

    There are none where rewards mislead: every way to the goal costs something that doing nothing saves.
    """
    if work.begins_phase and bench.teacher is None and known.learnt_nothing:
        bench.quota *= EPOCHS[DISTIL]
        return from_scratch(bench, known, start_drafts, last=True)
    return distil(bench, known, first=work.begins_phase, terms=terms)


def search_epoch(bench: Bench, known: Knowledge, work: Work, terms: bool) -> Knowledge:
    """Imitate the values once more, tune lists, shorten them, or choose among them."""
    if known.by_counts:  # the plan is over, and nothing is counted any more
        return choose_by_scores(bench, known)
    if work.activity == DISTILLING:
        return distil(bench, known, first=False, terms=terms)
    if work.activity == TUNING:
        return tune(bench, known, work.before.count(TUNING))
    if work.activity == CHOOSING:
        return last_choice(bench, known, terms)
    return shorten(bench, known, first=work.before[-1:] != (SHORTENING,))
