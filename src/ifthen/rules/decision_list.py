"""Decision lists: the first matching rule gives the action (paper, section "PPL-DL")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.comparison import Comparison, Lost
from ifthen.rules.feature import Feature, whole_box
from ifthen.rules.ruleset import NULL_ACTION, RuleSet


class DecisionList(RuleSet):
    """Rules in order; the first whose condition matches decides. Arguments are those of `RuleSet`."""

    kind = "decision-list"
    how = "The first rule that matches decides."
    ordered = True
    wins = "comes first"
    overlap = "Overlaps are normal in a decision list: the earlier rule goes first."

    def decide(self, matching: Mask, observations: Floats) -> tuple[Ints, Ints]:
        """Return the action and the number of the first matching rule, −1 where none matches."""
        deciders = np.where(matching.any(axis=1), matching.argmax(axis=1), -1)
        return np.where(deciders >= 0, self.actions[deciders], NULL_ACTION), deciders

    def beats(self, rule: int, matching: Mask, observations: Floats) -> Mask:
        """Return which matching rules come before `rule`."""
        return matching & (np.arange(len(self)) < rule)

    def _compared(self, matching: Ints, winner: int, point: Floats) -> Comparison:
        """Say that the first rule decides and the others come after it."""
        position = "first" if len(matching) > 1 else "only one"
        why = f"comes after rule {winner + 1}"
        others = tuple(Lost(r, None, why, self) for r in matching.tolist() if r != winner)
        return Comparison(winner, f"rule {winner + 1} is the {position} that matches", others)


def constant_lists(features: Sequence[Feature], action_names: Sequence[str]) -> list[DecisionList]:
    """Return the shortest lists: for each action, one rule that always takes it."""
    full_box = whole_box(tuple(features))[None]
    return [DecisionList(full_box, [action], features, action_names) for action in range(len(action_names))]
