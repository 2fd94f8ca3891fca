"""How the rules that match one observation compared: the one that decides, and why the others lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ifthen.rules.arrays import Floats

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet

FEWEST_DIGITS = 3
"""Compared numbers are shown with at least this many digits."""
MOST_DIGITS = 17
"""Compared numbers are shown with at most this many digits, which tell any two floats apart."""


@dataclass(frozen=True)
class Lost:
    """A rule that matched and did not decide.

    Args:
        rule: its number, from 0.
        score: its strength, or the payoff it predicts; None in a decision list, where nothing is compared.
        why: why it lost.
        ruleset: the rules it is one of.
    """

    rule: int
    score: float | None
    why: str
    ruleset: RuleSet = field(repr=False, compare=False)

    @property
    def words(self) -> str:
        """The rule: IF … THEN … ."""
        return self.ruleset.rule_in_words(self.rule)

    @property
    def action(self) -> str:
        """The action it speaks for."""
        return self.ruleset.action_of(self.rule)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {name: getattr(self, name) for name in ("rule", "words", "action", "score", "why")}


@dataclass(frozen=True)
class Comparison:
    """How the rules that match one observation compared.

    Args:
        rule: the rule that decides, from 0.
        reason: why it decides.
        others: the other rules that match, the nearest rival first.
        scores: the number behind each action: its strongest rule's strength, or its predicted payoff.
    """

    rule: int
    reason: str
    others: tuple[Lost, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)


def distinct_texts(*values: float) -> tuple[str, ...]:
    """Return numbers as texts, with the fewest digits that give different numbers different texts."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        texts = tuple(f"{value + 0.0:.{digits}g}" for value in values)
        if len(set(texts)) == len(set(values)):
            break
    return texts


class Scoring(NamedTuple):
    """A linear score for every rule, and how scores make a choice.

    The score of rule r at a point s is `constants[r] + slopes[r] · s − deductions[r]`, added up from left to
    right. Without `votes` the matching rule with the highest score decides. With `votes` the scores of
    matching rules with the same action are averaged, weighted by `votes`, and the action with the highest
    average is taken; where it `adds`, weighted scores are added up and not averaged. Of equals, the lowest
    action index wins.
    """

    constants: Floats
    """`(rules,)`."""
    slopes: Floats
    """`(rules, features)`."""
    deductions: Floats
    """`(rules,)`, not negative."""
    votes: Floats | None = None
    """`(rules,)`, positive; None where one rule decides alone."""
    adds: bool = False
    """Whether weighted scores are added up rather than averaged."""

    @classmethod
    def of(
        cls, weights: Floats, x0: float, deductions: Floats, votes: Floats | None = None, adds: bool = False
    ) -> Self:
        """Return the scores of rules that predict w·x, given w, `(rules, features + 1)`, and x0."""
        with np.errstate(over="ignore"):  # what cannot be multiplied is infinite
            return cls(weights[:, 0] * x0, weights[:, 1:], deductions, votes, adds)
