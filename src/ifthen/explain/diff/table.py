"""The states in which two policies differ, as a table that fits into a terminal.

Where it is too wide, the policies are called A and B, a state's features are named in the header only, and at
last Q* is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ifthen.explain.diff.states import DifferentState
from ifthen.explain.words.typeset import GAP, fitting_rows, least_widths
from ifthen.rules.features import number_in_words

SHORT = 12  # characters of a name that can stand in every row
LETTERS = ("A", "B")


@dataclass(frozen=True)
class Layout:
    """What a table shows.

    Args:
        names: what the policies are called in it.
        spelt: whether a state's features are named in every row.
        values: whether Q* and the better policy by it are shown.
        only_better: whether Q* itself is left out.
        carries: whether what a state carries is shown.
    """

    names: tuple[str, str]
    spelt: bool
    values: bool
    only_better: bool
    carries: bool

    @property
    def align(self) -> str:
        """How the columns are aligned."""
        return "lll" + ("" if not self.values else "l" if self.only_better else "rrl") + "l" * self.carries

    def rows(self, states: Sequence[DifferentState]) -> list[list[str]]:
        """Return the headers and a row per state."""
        first, second = self.names
        values = ["better"] if self.only_better else [f"Q* {first}", f"Q* {second}", "better"]
        state = "state" if self.spelt else ", ".join(states[0].features)
        carries = [f"carries for {second}"] * self.carries
        return [[state, first, second, *values * self.values, *carries], *map(self._row, states)]

    def _row(self, state: DifferentState) -> list[str]:
        named = (
            f"{name} = {number_in_words(value)}" if self.spelt else number_in_words(value)
            for name, value in state.features.items()
        )
        a, b = state.a.value, state.b.value
        better = self.names[a < b] if state.better and a is not None and b is not None else "–"
        values = [better] if self.only_better else [_number(a), _number(b), better]
        carries = ["" if state.carries is None else _gain(state.carries)] * self.carries
        return [", ".join(named), state.a.short, state.b.short, *values * self.values, *carries]


def layouts(names: tuple[str, str], values: bool, carries: bool) -> list[Layout]:
    """Return the ways to show states, the fullest first."""
    own = [names] if max(map(len, names)) <= SHORT and names[0] != names[1] else []
    forms = [(called, spelt) for spelt in (True, False) for called in (*own, LETTERS)]
    wide = [Layout(called, spelt, values, False, carries) for called, spelt in forms]
    return [*wide, *([Layout(LETTERS, False, True, True, carries)] if values else [])]


def state_table(
    states: Sequence[DifferentState], names: tuple[str, str], values: bool, carries: bool, width: int
) -> tuple[tuple[str, str], list[str]]:
    """Return what the policies are called in the table, and its rows, none longer than `width`.

    Args:
        states: the states to show, one at least.
        names: of the policies.
        values: whether Q* is known.
        carries: whether it is known what states carry.
        width: of the terminal, in characters.
    """
    ways = layouts(names, values, carries)
    fitting = (way for way in ways if _least(way.rows(states)) <= width)
    layout = next(fitting, ways[-1])
    return layout.names, fitting_rows(layout.rows(states), layout.align, width)


def columns_in_words(names: tuple[str, str], values: bool, carries: bool) -> str:
    """Return what the columns say, and why they can disagree."""
    first, second = names
    said = ["Q*, and better by it: what the action is worth if all went optimally afterwards."] * values
    if carries:
        said.append(
            f"carries: what changing the action here does on the way from {first} to {second}, as both "
            f"really act ({second} comes here, {first} goes on): a gain or a loss for {second}, and all of "
            "them add up to the difference."
        )
    if values and carries:
        said.append("So the better action can be a loss.")
    return " ".join(said)


def _least(rows: list[list[str]]) -> int:
    widths = least_widths(rows)
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _gain(carries: float) -> str:
    return "0" if carries == 0 else f"{carries:+.2g} {'gain' if carries > 0 else 'loss'}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
