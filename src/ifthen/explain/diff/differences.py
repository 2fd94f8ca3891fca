"""Differences for reading: where two policies do different things, as text, a table and plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ifthen.explain.diff.played import PlayedDiff
from ifthen.explain.diff.states import Deed, DifferentState
from ifthen.explain.diff.table import columns_in_words, state_table
from ifthen.explain.points import column_of
from ifthen.explain.words.typeset import folded, prose

if TYPE_CHECKING:
    import polars

SHOWN = 20
"""How many states, and how many rules of each policy, the text shows."""
ROUNDING = 1e-12  # relative: performances that differ by less are taken as equal


OWN_COLUMNS = (
    *(f"{name}_{label}" for name in ("action", "rule", "words", "q") for label in ("a", "b")),
    *("better", "visits", "carries"),
)


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
        rules_note: why the text does not list these rules; "" where it does.
        played: how they differ when they are played; in environments only.
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
    rules_note: str = ""
    played: PlayedDiff | None = None

    @property
    def difference(self) -> float | None:
        """The second performance less the first, in an environment on z."""
        if self.played is not None:
            return self.played.performances[1] - self.played.performances[0]
        return None if self.performances is None else self.performances[1] - self.performances[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the differences as plain data; rules are numbered from 0."""
        return {**asdict(self), "difference": self.difference}

    def to_table(self) -> polars.DataFrame:
        """Return one row per state in which the policies differ; rules are numbered from 1."""
        import polars

        names = list(self.states[0].features) if self.states else []
        columns: dict[str, Any] = {
            column_of(name, OWN_COLUMNS): [s.features[name] for s in self.states] for name in names
        }
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
        """Return the differences for a terminal of `width` characters; no line is longer."""
        parts = [prose(self.heading, width)]
        if self.states:
            parts.append("\n".join(self._state_lines(width)))
        if self.rules_note:
            parts.append(prose(self.rules_note, width))
        for name, rules in zip(self.names, (self.only_a, self.only_b), strict=True):
            if rules and not self.rules_note:
                more = [f"  and {len(rules) - SHOWN:,} more"] if len(rules) > SHOWN else []
                lines = [prose(f"Rules that only {name} has:", width)]
                for rule in rules[:SHOWN]:
                    first, *rest = folded(rule, width - 5)
                    lines += [f"  {first}", *(f"     {line}" for line in rest)]
                parts.append("\n".join([*lines, *more]))
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
        elif self.played is not None:
            said = f"{first} and {second} differ."
        else:
            said = f"{first} and {second} differ, for instance here:"
        playing = [] if self.played is None else self.played.lines(self.names)
        playing += ["For instance here:"] if playing and self.states and not self.listed else []
        return "\n".join([said, *self._performance_lines(), *playing])

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
        values, carries = self.performances is not None, self.states[0].carries is not None
        names, lines = state_table(self.states[:SHOWN], self.names, values, carries, width)
        if names != self.names:
            called = (f"{short} is {name}" for short, name in zip(names, self.names, strict=True))
            lines.insert(0, prose(f"{', '.join(called)}.", width))
        more = len(self.states) - SHOWN
        lines += [f"and {more:,} more"] if more > 0 else []
        said = [columns_in_words(names, values, carries), f"({self.note})" if self.note else ""]
        return [*lines, *(prose(text, width) for text in said if text)]
