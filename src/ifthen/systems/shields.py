"""Requirements that a system keeps while it learns: rules on top of its decision lists."""

from __future__ import annotations

from collections.abc import Sequence

from ifthen.digits import plural
from ifthen.rules.constraint import Shielded, leading, shielded
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.text.constraint_text import constraints_in

KEPT = 200
"""This many lists are remembered with their shields."""


class Shields:
    """Puts rules that keep requirements on top of lists.

    Args:
        require: the requirements, one text each.
        features: the task's.
        action_names: one name per action.
        default_action: the task's action where no rule matches; None for none.
    """

    def __init__(
        self,
        require: list[str],
        features: Sequence[Feature],
        action_names: Sequence[str],
        default_action: int | None,
    ) -> None:
        self.require, self.default_action = require, default_action
        self.constraints = constraints_in(require, features, action_names)
        self._known: dict[RuleSet, Shielded] = {}

    def put_on(self, ruleset: DecisionList) -> DecisionList:
        """Return a list with rules on top that keep the requirements; the same where it needs none."""
        if not self.constraints:
            return ruleset
        if ruleset not in self._known:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[ruleset] = shielded(ruleset, self.constraints, self.default_action)
        return self._known[ruleset].ruleset

    def count(self, ruleset: RuleSet, learnt: RuleSet) -> int:
        """Return how many rules at the top of a list come from requirements.

        Args:
            ruleset: the list as learnt, or one that was made of it.
            learnt: the list as learnt, with its shield.
        """
        added = next((known.added for known in self._known.values() if known.ruleset == learnt), 0)
        return added if not added or ruleset == learnt else leading(ruleset, self.constraints)

    def in_words(self, added: int) -> str:
        """Return where the first `added` rules of a list come from; "" without requirements."""
        if not self.require:
            return ""
        requirements = "; ".join(self.require)
        noun = "requirement" if len(self.require) == 1 else "requirements"
        if not added:
            return f"The rules keep the {noun} given to training: {requirements}."
        first = "The first rule comes" if added == 1 else f"The first {plural(added, 'rule')} come"
        return f"{first} from the {noun} given to training: {requirements}."
