"""Requirements about what happens when rules are played.

    switches at most 5 per 100 steps       no 100 steps of an episode have more than 5 changes of the action
    return >= 400 at 95 %                  the mean return, by a one-sided bound of 95 % confidence
    never reaches x >= 2.4                 no state of an episode meets the condition, whatever is read of it

On a table they are decided by the model: by all transitions that the policy can make, and by exact
evaluation. In an environment they are decided by playing on test seeds. If none of n episodes breaks a
requirement, the share of all episodes that do is below 1 − (1 − confidence)^(1/n) at that confidence (Clopper
and Pearson 1934). The bound of a mean return is Student's t, and never better than if this share of episodes,
which play did not show, got the least return that there can be: spread alone says nothing where all returns
are equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ifthen.digits import at_most, in_units, plural
from ifthen.errors import ParameterError, RuleError, shown
from ifthen.rules.arrays import Mask
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import INTEGER_LIMIT, Feature
from ifthen.rules.text.constraint_text import condition_in, region_of
from ifthen.rules.text.rule import RuleReader
from ifthen.rules.text.scan import Scanner
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.scope import recorded_episodes
from ifthen.simulate.simulator import Evaluation, t_margin, unseen_share
from ifthen.simulate.trajectories import Trajectory
from ifthen.verification.case import Case
from ifthen.verification.findings import Decided, decided, not_met, number, part, vector_in_words
from ifthen.verification.graph import Model
from ifthen.verification.properties import compares

SURE = 95.0
"""The default confidence, in percent."""
FARTHEST = 1e150
"""Real features are looked at up to this value: episodes may leave the ranges that rules tell apart."""
LONGEST = 1_000_000
"""The largest number of switches or of steps that a requirement may name."""
BY_MODEL = "by the model"
NEVER_REACHES, SWITCHES, RETURN, PER, STEPS, AT, PERCENT, RELATION = (
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"never\s+reaches\b",
        r"switches\s+at\s+most\b",
        r"return\b",
        r"per\b",
        r"steps?\b",
        r"at\b",
        r"%|percent\b",
        r">=|<=|>|<|≥|≤",
    )
)
SAME = {"≥": ">=", "≤": "<="}


class BehaviourRequirement(NamedTuple):
    """A requirement about behaviour: one of three forms, whose other fields are None."""

    text: str
    sure: float
    """The confidence in percent where it is decided by play."""
    switches: tuple[int, int] | None = None
    """The most switches, and the number of steps that they are counted in."""
    returns: tuple[str, float] | None = None
    """A relation and a number."""
    reaches: DecisionList | None = None
    """The region that must not be reached."""


def behaviour_in(text: str, features: Sequence[Feature], action_names: Sequence[str]) -> BehaviourRequirement:
    """Return the requirement that a text says, or raise saying what was expected.

    Args:
        text: such as "never reaches x >= 2.4 at 99 %".
        features: that are observed.
        action_names: one name per action.
    """
    scanner = Scanner(text)
    try:
        requirement = _read(text, scanner, features, action_names)
        sure = SURE
        if scanner.take(AT):
            sure = scanner.number()
            scanner.take(PERCENT)
        if scanner.following():
            raise RuleError(f"expected 'at 95 %' or the end, not {scanner.rest()}.")
        if not 50 <= sure < 100:
            raise RuleError(f"a confidence is from 50 % to less than 100 %, not {sure:g} %.")
    except RuleError as problem:
        raise ParameterError(f"cannot require {shown(text)}: {problem}") from None
    return requirement._replace(sure=sure)


def _read(
    text: str, scanner: Scanner, features: Sequence[Feature], action_names: Sequence[str]
) -> BehaviourRequirement:
    if scanner.take(NEVER_REACHES):
        reader = RuleReader([_unbounded(feature) for feature in features], action_names)
        boxes = condition_in(scanner, reader)
        return BehaviourRequirement(text, SURE, reaches=region_of(boxes, 0, reader.features, action_names))
    if scanner.take(SWITCHES):
        most = _whole(scanner, 0)
        if not scanner.take(PER):
            raise RuleError(
                f"expected 'per' and a number of steps, as in 'per 100 steps', not {scanner.rest()}."
            )
        steps = _whole(scanner, 1)
        scanner.take(STEPS)
        return BehaviourRequirement(text, SURE, switches=(most, steps))
    if scanner.take(RETURN):
        relation = scanner.take(RELATION)
        if relation is None:
            raise RuleError(f"expected >= or <= and a number, as in 'return >= 400', not {scanner.rest()}.")
        return BehaviourRequirement(text, SURE, returns=(SAME.get(relation, relation), scanner.number()))
    raise RuleError("expected 'switches at most 5 per 100 steps', 'return >= 400' or 'never reaches x >= 2'.")


def _whole(scanner: Scanner, least: int) -> int:
    """Return the whole number that must stand here."""
    start, value = scanner.at, scanner.number()
    if value != math.floor(value) or not least <= value <= LONGEST:
        scanner.at = start
        raise RuleError(f"expected a whole number from {least} to {LONGEST:,}, not {scanner.rest()}.")
    return int(value)


def _unbounded(feature: Feature) -> Feature:
    """Return a feature without the limits of what rules tell apart: episodes may go beyond."""
    if feature.cyclic or feature.labels or not feature.clips:
        return feature
    limit = INTEGER_LIMIT if feature.is_integer else FARTHEST
    return replace(feature, low=-limit, high=limit)


def behaviour_kept(required: BehaviourRequirement, case: Case) -> Decided:
    """Decide a requirement about behaviour: by the model of a table, or by play in an environment."""
    if required.returns is not None:
        return _returns(required, *required.returns, case)
    if "table" in case.grounds:
        decide = _reached_in_model if required.switches is None else _switches_in_model
        return decide(required, case.model)
    first_breach = _reached if required.switches is None else _switched
    return _by_play(required, case, [first_breach(required, episode) for episode in _played(case)])


def _played(case: Case) -> Sequence[Trajectory]:
    return recorded_episodes(case.ruleset, case.environment, case.played_seeds)


def _reached(required: BehaviourRequirement, episode: Trajectory) -> tuple[int, str] | None:
    """Return the first step of an episode at which the region is reached, and what to say of it."""
    assert required.reaches is not None
    inside = required.reaches.matches(episode.true_points).any(axis=1)
    return (int(inside.argmax()), "") if inside.any() else None


def _switched(required: BehaviourRequirement, episode: Trajectory) -> tuple[int, str] | None:
    """Return the first step after which there are too many changes of the action, and how many."""
    assert required.switches is not None
    most, steps = required.switches
    changes = np.concatenate([[0], np.cumsum(np.diff(episode.actions) != 0)])
    earlier = np.concatenate([np.zeros(steps, dtype=np.int64), changes])[: len(changes)]
    within = changes - earlier
    if not len(within) or within.max() <= most:
        return None
    step = int((within > most).argmax())
    return step, f" with {most + 1} switches in the last {plural(min(steps, step + 1), 'step')}"


def _by_play(
    required: BehaviourRequirement, case: Case, breaches: Sequence[tuple[int, str] | None]
) -> Decided:
    """Return whether any episode breaks a requirement, and what share of episodes can."""
    n, failing = len(breaches), [i for i, breach in enumerate(breaches) if breach is not None]
    how = f"by play at {required.sure:g} % confidence"
    if not failing:
        share = at_most(unseen_share(n, required.sure / 100))
        why = (
            f"by play: broken in none of {plural(n, 'episode')} from test seeds; at {required.sure:g} % "
            f"confidence it is broken in at most {share} of all episodes"
        )
        return decided(required.text, True, why, how)
    first_failing = failing[0]
    breach = breaches[first_failing]
    assert breach is not None
    step, note = breach
    seed, episode = int(case.played_seeds[first_failing]), _played(case)[first_failing]
    point = episode.true_points[step]
    features = case.ruleset.observed_features
    witness = {feature.name: float(value) for feature, value in zip(features, point, strict=True)}
    rounded = {name: float(f"{value:.4g}") for name, value in witness.items()}
    tested = (*case.ruleset.tested, *(() if required.reaches is None else required.reaches.tested))
    why = (
        f"by play: broken in {part(len(failing), n, 'episode')} from test seeds, first with seed {seed:,} at "
        f"step {step:,}{note} ({vector_in_words(rounded, features, tested)})"
    )
    data = {"episodes": n, "broken": len(failing), "seed": seed, "step": step}
    return not_met(required.text, why, how, witness, data)


def _returns(required: BehaviourRequirement, relation: str, wanted: float, case: Case) -> Decided:
    """Compare the mean return with a number: exactly on a table, else by a one-sided bound."""
    task = case.task
    assert task is not None
    seeds = None if "table" in case.grounds else case.played_seeds
    evaluation = evaluate(case.ruleset, task, task.best_method, threads=1, seeds=seeds)
    if evaluation.method == "exact":
        met = not evaluation.failed and compares(evaluation.performance, relation, wanted)
        failed = ": a state without a rule can be met" if evaluation.failed else ""
        why = f"by the model: the mean return is exactly {number(evaluation.performance)}{failed}"
        return decided(required.text, met, why, BY_MODEL)
    how, below = f"by play at {required.sure:g} % confidence", relation[0] == ">"
    if evaluation.failed:
        why = f"by play: a state without a rule was reached from {evaluation.episodes:,} test seeds"
        return decided(required.text, False, why, how)
    bound = one_sided_bound(
        evaluation, required.sure / 100, case.environment.least_return if below else None, below
    )
    met = bound is not None and compares(bound, relation, wanted)
    why = f"by play: {_bound_in_words(evaluation, required.sure, bound, below)}"
    if not met and compares(evaluation.performance, relation, wanted):
        why += ": not sure enough (--episodes plays more)"
    return decided(required.text, met, why, how)


def _bound_in_words(evaluation: Evaluation, sure: float, bound: float | None, below: bool) -> str:
    """Return what was played, and what it says of the mean return."""
    side, beyond = ("least", "less") if below else ("most", "more")
    mean, confidence = in_units(evaluation.performance), f"at {sure:g} % confidence"
    episodes = f"{plural(evaluation.episodes, 'episode')} from test seeds"
    if evaluation.least != evaluation.most:
        return (
            f"the mean return over {episodes} is {mean}, and {confidence} it is at {side} "
            f"{in_units(bound, evaluation.performance)}"
        )
    share = at_most(unseen_share(evaluation.episodes, sure / 100))
    finding = f"all {episodes} got {mean}; {confidence} at most {share} of "
    if bound is None:
        missing = " (--task-set floor=NUMBER gives it)" if below else ""
        return f"{finding}all episodes get {beyond}, and how much is not known{missing}"
    least = in_units(bound, evaluation.performance)
    return f"{finding}all episodes get less, and the mean return is at least {least}"


def one_sided_bound(evaluation: Evaluation, sure: float, least: float | None, below: bool) -> float | None:
    """Return a bound of the mean return, below or above, at a confidence.

    It is Student's t, and below never better than if the share of episodes that play can miss got the least
    return. None where all returns are equal and no such limit is known.

    Args:
        evaluation: what was played.
        sure: the confidence, from 0 to 1.
        least: a number below every return; None where it is not known.
        below: whether a bound below is wanted.
    """
    assert evaluation.returns is not None
    mean, margin = float(evaluation.returns.mean()), t_margin(evaluation.returns, sure)
    if least is None:
        return None if evaluation.least == evaluation.most else mean - margin if below else mean + margin
    missed = unseen_share(len(evaluation.returns), sure)
    return min(mean - margin if evaluation.least != evaluation.most else mean, mean - missed * (mean - least))


def _reached_in_model(required: BehaviourRequirement, model: Model) -> Decided:
    """Decide whether a state of the region can be reached, endings included."""
    assert required.reaches is not None
    task, reach = model.task, model.reach
    inside: Mask = np.asarray(required.reaches.matches(task.state_features.astype(np.float64)).any(axis=1))
    acting = np.flatnonzero(model.table >= 0)
    outcomes = np.zeros(model.next_state.shape, dtype=np.bool_)
    outcomes[acting] = inside[task.next_state[task.decision_states[acting], model.table[acting]]]
    in_region, one_step_away = inside[task.decision_states], np.asarray(outcomes.any(axis=1))
    nearest, nearest_entry = reach.nearest(in_region), reach.nearest(one_step_away)
    if nearest < 0 or (nearest_entry >= 0 and reach.distance[nearest_entry] + 1 < reach.distance[nearest]):
        nearest = nearest_entry
    if nearest < 0:
        visited = part(int(reach.reached.sum()), model.size, "decision state")
        why = f"by the model: none of the states that can be reached ({visited}, and endings) meets it"
        return decided(required.text, True, why, BY_MODEL)
    path = reach.path(nearest)
    vector, entering = model.scope.vector(nearest), ""
    if not in_region[nearest]:
        vector, _, entering = model.entered(nearest, outcomes[nearest])
    why = f"by the model: it can be reached: {model.way(path)}{entering}"
    data = {"path": model.path(path), "entered": vector}
    return not_met(required.text, why, BY_MODEL, vector, data)


def _switches_in_model(required: BehaviourRequirement, model: Model) -> Decided:
    """Decide whether a path of the given length can have too many changes of the action."""
    assert required.switches is not None
    most, steps = required.switches
    source, target = model.edges
    possible = model.reach.reached[source] & (model.table[target] >= 0)
    source, target = source[possible], target[possible]
    change = (model.table[source] != model.table[target]).astype(np.int64)
    counts, length = np.zeros(model.size, dtype=np.int64), 0
    while length < min(steps, model.task.t_max) and counts.max() <= most:
        next_counts = np.zeros_like(counts)
        np.maximum.at(next_counts, source, change + counts[target])
        counts, length = next_counts, length + 1
    worst = int(counts.argmax())
    if counts[worst] <= most:
        why = f"by the model: at most {int(counts[worst])} in any {steps:,} steps that can be taken"
        return decided(required.text, True, why, BY_MODEL)
    why = (
        f"by the model: {int(counts[worst])} switches are possible in {plural(length, 'step')} from "
        f"({model.state(worst)})"
    )
    data = {"switches": int(counts[worst]), "steps": length}
    return not_met(required.text, why, BY_MODEL, model.scope.vector(worst), data)
