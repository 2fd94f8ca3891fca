"""Why a rule won: what every kind of ruleset compares, in words with the numbers that were compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules
from ifthen.rules.ruleset import RuleSet

FEWEST_DIGITS, MOST_DIGITS = 3, 17  # 17 decimal digits tell any two floats apart


@dataclass(frozen=True)
class Lost:
    """A rule that matched and did not decide.

    Args:
        rule: its number, from 0.
        words: IF … THEN …
        action: the action it speaks for.
        score: its strength, or the payoff it predicts; None in a decision list, where nothing is compared.
        why: why it lost.
    """

    rule: int
    words: str
    action: str
    score: float | None
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Contest:
    """How the matching rules of one state compared.

    Args:
        reason: why the deciding rule decided.
        others: the matching rules that did not, the nearest rival first.
        scores: what each action has for it: its strongest rule's strength, or its predicted payoff.
    """

    reason: str
    others: tuple[Lost, ...]
    scores: dict[str, float]


Words = Callable[[int], str]
Judge = Callable[[int, int], Contest]


def apart(*values: float) -> tuple[str, ...]:
    """Return numbers in as few digits as tell those that differ apart."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        texts = tuple(f"{value + 0.0:.{digits}g}" for value in values)
        if len(set(texts)) == len(set(values)):
            break
    return texts


def judge_of(
    ruleset: RuleSet, matching: NDArray[np.bool_], observations: NDArray[np.float64], words: Words
) -> Judge:
    """Return what tells, for state i of a batch and the rule that decides there, how its rules compared.

    Args:
        ruleset: the rules.
        matching: which rules match each observation, `(n, rules)`.
        observations: the batch, `(n, features)`.
        words: gives a rule's words.
    """
    if isinstance(ruleset, DecisionList):
        return lambda i, winner: by_order(ruleset, np.flatnonzero(matching[i]), winner, words)
    if isinstance(ruleset, StrengthRules):
        strengths = ruleset.strengths(observations)
        return lambda i, winner: by_strength(
            ruleset, np.flatnonzero(matching[i]), winner, strengths[i], words
        )
    if isinstance(ruleset, PredictionArrayRules):
        arrays, predicted = ruleset.prediction_array(observations), ruleset.predictions(observations)
        return lambda i, winner: by_vote(
            ruleset, np.flatnonzero(matching[i]), winner, arrays[i], predicted[i], words
        )
    raise RuleError(f"how {ruleset.kind!r} rules choose cannot be explained: {ruleset!r}.")


def by_order(ruleset: RuleSet, matching: NDArray[np.int64], winner: int, words: Words) -> Contest:
    """Return how a decision list's rules compared: the first that matches decides."""
    reason = f"rule {winner + 1} is the {'first that' if len(matching) > 1 else 'only one that'} matches"
    others = tuple(
        Lost(r, words(r), _action(ruleset, r), None, f"comes after rule {winner + 1}")
        for r in matching.tolist()
        if r != winner
    )
    return Contest(reason, others, {})


def by_strength(
    ruleset: StrengthRules,
    matching: NDArray[np.int64],
    winner: int,
    strengths: NDArray[np.float64],
    words: Words,
) -> Contest:
    """Return how strength rules compared: the strongest decides, of equals the lowest action."""
    ranking = matching[np.lexsort((matching, ruleset.actions[matching], -strengths[matching]))].tolist()
    best, own = float(strengths[winner]), int(ruleset.actions[winner])
    others: list[Lost] = []
    scores: dict[str, float] = {}
    for r in ranking:
        action, score = _action(ruleset, r), float(strengths[r])
        scores.setdefault(action, score)
        if r == winner:
            continue
        less, more = apart(score, best)
        why = f"weaker: {less} < {more}" if score < best else f"equal strength ({more})"
        if ruleset.actions[r] == own:
            why += ", and speaks for the same action"
        elif score == best:
            why += ", the lower action index wins"
        others.append(Lost(r, words(r), action, score, why))
    return Contest(strength_reason(ruleset, winner, best, others), tuple(others), scores)


def strength_reason(ruleset: RuleSet, winner: int, best: float, others: list[Lost]) -> str:
    """Return why the strongest rule decides, given the others in order."""
    if not others:
        return f"rule {winner + 1} is the only one that matches"
    own = _action(ruleset, winner)
    tied = [lost for lost in others if lost.score == best]
    rival = next((lost for lost in tied if lost.action != own), others[0])
    own_score, other_score = apart(best, rival.score or 0.0)
    if not tied:
        following = f"next is rule {rival.rule + 1} with {other_score}"
        return f"rule {winner + 1} is the strongest: {own_score}, {following}"
    both = f"rules {winner + 1} and {rival.rule + 1} have equal strength, {own_score}"
    if rival.action == own:
        return f"{both}, and speak for the same action"
    return f"{both}: with equal strength, the lower action index wins, {own} before {rival.action}"


def by_vote(
    ruleset: PredictionArrayRules,
    matching: NDArray[np.int64],
    winner: int,
    array: NDArray[np.float64],
    predicted: NDArray[np.float64],
    words: Words,
) -> Contest:
    """Return how voting rules compared: the action predicted to pay most is taken."""
    names, own = ruleset.action_names, int(ruleset.actions[winner])
    advocated = [a for a in np.argsort(-array, kind="stable").tolist() if not np.isnan(array[a])]
    places = np.argsort(advocated + [a for a in range(len(names)) if a not in advocated])
    fitness, actions = ruleset.fitness, ruleset.actions
    ranking = matching[np.lexsort((matching, -fitness[matching], places[actions[matching]]))].tolist()
    reasons = {a: _vote_lost(names[a], float(array[a]), float(array[own])) for a in advocated if a != own}
    others = tuple(
        Lost(
            r,
            words(r),
            names[actions[r]],
            float(predicted[r]),
            reasons.get(int(actions[r])) or _less_fit(float(fitness[r]), float(fitness[winner])),
        )
        for r in ranking
        if r != winner
    )
    reason = vote_reason(names, array, advocated)
    speakers = int((actions[matching] == own).sum())
    if speakers > 1:
        reason += f"; rule {winner + 1} is the fittest of the {speakers} that speak for {names[own]}"
    return Contest(reason, others, {names[a]: float(array[a]) for a in advocated})


def vote_reason(names: tuple[str, ...], array: NDArray[np.float64], advocated: list[int]) -> str:
    """Return why the action is taken; `advocated` are the actions with votes, the best first."""
    first, *rest = advocated
    if not rest:
        (payoff,) = apart(float(array[first]))
        return f"{names[first]} is predicted to pay {payoff}, and no matching rule speaks for another action"
    own, other = apart(float(array[first]), float(array[rest[0]]))
    if array[first] == array[rest[0]]:
        both = f"{names[first]} and {names[rest[0]]} are predicted to pay the same, {own}"
        return f"{both}: of equals, the lower action index wins"
    return f"{names[first]} is predicted to pay {own}, next {names[rest[0]]} {other}"


def _vote_lost(name: str, payoff: float, best: float) -> str:
    less, more = apart(payoff, best)
    if payoff == best:
        return f"{name} is predicted to pay as much, {more}: of equals, the lower action index wins"
    return f"{name} is predicted to pay less: {less} < {more}"


def _less_fit(fitness: float, best: float) -> str:
    less, more = apart(fitness, best)
    return "speaks for the same action, " + (
        f"less fit: {less} < {more}" if fitness < best else f"equally fit ({more})"
    )


def _action(ruleset: RuleSet, rule: int) -> str:
    return ruleset.action_names[int(ruleset.actions[rule])]
