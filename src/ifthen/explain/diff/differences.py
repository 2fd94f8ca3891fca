"""Differences for reading: where two policies do different things, as text, a table and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ifthen.explain.points import Number
from ifthen.explain.words.typeset import text_rows
from ifthen.rules.features import number_in_words

if TYPE_CHECKING:
    import polars

SHOWN = 20
"""How many states, and how many rules of each policy, the text shows."""
ROUNDING = 1e-12  # relative: performances that differ by less are taken as equal


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


@dataclass(frozen=True)
class PolicyDiff:
    """How two policies differ.

    Args:
        names: of the two policies.
        where: what was looked at, in words.
        equal: whether they do the same everywhere there; None where the search gave up.
        states: where they differ: those that carry most first; one of them only where they cannot be listed.
        listed: whether `states` are all that there are.
        performances: the exact performance of both; nothing without a task.
        failed: which of the two can meet a state without a rule, so that its performance is the task's floor.
        optimum: that of an optimal policy.
        note: what is left out, and why; "" where nothing is.
        only_a: the rules, in words, that only the first has.
        only_b: the rules, in words, that only the second has.
    """

    names: tuple[str, str]
    where: str
    equal: bool | None
    states: tuple[DifferentState, ...]
    listed: bool
    performances: tuple[float, float] | None
    failed: tuple[bool, bool]
    optimum: float | None
    note: str
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def difference(self) -> float | None:
        """The second performance less the first."""
        return None if self.performances is None else self.performances[1] - self.performances[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the differences as plain data; rules are numbered from 0."""
        return {**asdict(self), "difference": self.difference}

    def to_table(self) -> polars.DataFrame:
        """Return one row per state in which the policies differ; rules are numbered from 1."""
        import polars

        names = list(self.states[0].features) if self.states else []
        columns: dict[str, Any] = {name: [s.features[name] for s in self.states] for name in names}
        for label in ("a", "b"):
            deeds: list[Deed] = [getattr(state, label) for state in self.states]
            rules = [None if deed.rule is None else deed.rule + 1 for deed in deeds]
            columns[f"action_{label}"] = polars.Series([deed.action for deed in deeds], dtype=polars.String)
            columns[f"rule_{label}"] = polars.Series(rules, dtype=polars.Int64)
            columns[f"words_{label}"] = polars.Series([deed.words for deed in deeds], dtype=polars.String)
            columns[f"q_{label}"] = polars.Series([deed.value for deed in deeds], dtype=polars.Float64)
        columns["better"] = polars.Series([state.better for state in self.states], dtype=polars.String)
        for name in ("visits", "carries"):
            columns[name] = polars.Series([getattr(s, name) for s in self.states], dtype=polars.Float64)
        return polars.DataFrame(columns)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """Return the differences for a terminal of `width` characters."""
        parts = [self.heading]
        if self.states:
            parts.append("\n".join([*self._state_lines(width), *([f"({self.note})"] if self.note else [])]))
        for name, rules in zip(self.names, (self.only_a, self.only_b), strict=True):
            if rules:
                more = [f"  and {len(rules) - SHOWN} more"] if len(rules) > SHOWN else []
                lines = [f"Rules that only {name} has:", *(f"  {rule}" for rule in rules[:SHOWN]), *more]
                parts.append("\n".join(lines))
        return "\n\n".join(parts)

    @property
    def heading(self) -> str:
        """Whether and where the policies differ, and how well they do."""
        first, second = self.names
        if self.equal:
            said = f"{first} and {second} do the same in {self.where}."
        elif self.equal is None:
            said = f"Whether {first} and {second} differ in {self.where} is not known: {self.note}."
        elif self.listed:
            said = f"{first} and {second} differ in {len(self.states):,} of {self.where}."
        else:
            said = f"{first} and {second} differ, for instance here:"
        return "\n".join([said, *self._performance_lines()])

    def _performance_lines(self) -> list[str]:
        if self.performances is None or self.optimum is None or self.difference is None:
            return []
        (first, second), (a, b) = self.names, self.performances
        winner = second if self.difference > 0 else first
        equal = abs(self.difference) <= ROUNDING * max(abs(a), abs(b))
        said = "no difference" if equal else f"{winner} is better by {abs(self.difference):.4g}"
        lines = [f"Exact performance: {first} {a:.4f}, {second} {b:.4f}: {said}; optimum {self.optimum:.4f}."]
        lines += [
            f"{name} can meet a state in which none of its rules matches: it has the task's floor."
            for name, failed in zip(self.names, self.failed, strict=True)
            if failed
        ]
        return lines

    def _state_lines(self, width: int) -> list[str]:
        first, second = self.names
        headers = ["state", first, second]
        with_values = self.performances is not None
        with_carries = self.states[0].carries is not None
        if with_values:
            headers += [f"Q* {first}", f"Q* {second}", "better"]
        if with_carries:
            headers += ["carries*"]
        rows = [headers, *(_row(state, with_values, with_carries) for state in self.states[:SHOWN])]
        align = "lll" + "rrl" * with_values + "r" * with_carries
        lines, more = text_rows(rows, align, width, flexible=0), len(self.states) - SHOWN
        lines += [f"and {more:,} more"] if more > 0 else []
        return [*lines, *(["* the part of the difference that is due to the state"] if with_carries else [])]


def _row(state: DifferentState, with_values: bool, with_carries: bool) -> Sequence[str]:
    at = ", ".join(f"{name} = {number_in_words(value)}" for name, value in state.features.items())
    values = [_number(state.a.value), _number(state.b.value), state.better or "–"]
    carries = ["" if state.carries is None else f"{state.carries:+.2g}"]
    return [at, state.a.short, state.b.short, *values * with_values, *carries * with_carries]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
