"""A state in which two policies do different things, and what each of them does there."""

from __future__ import annotations

from dataclasses import dataclass

from ifthen.explain.points import Number


@dataclass(frozen=True)
class Deed:
    """What one policy does in a state.

    Args:
        action: None where no rule matches.
        rule: the rule that decides, from 0; None for a policy without rules too.
        words: that rule in words.
        value: Q*, the value of the action if all else is optimal; None without a task.
    """

    action: str | None
    rule: int | None
    words: str
    value: float | None

    @property
    def short(self) -> str:
        """The action and the number of its rule, from 1."""
        return (self.action or "nothing") + ("" if self.rule is None else f" (rule {self.rule + 1})")


@dataclass(frozen=True)
class DifferentState:
    """A state in which two policies do different things.

    Args:
        features: the state's features.
        state: its number in the task; None without one.
        a: what the first policy does.
        b: what the second does.
        better: the name of the policy whose action has the higher Q*; "" where they are equal or not known.
        visits: how often the second policy is expected to visit the state in an episode, discounted.
        carries: how much of the difference in performance is due to this state.
    """

    features: dict[str, Number]
    state: int | None
    a: Deed
    b: Deed
    better: str
    visits: float | None
    carries: float | None
