"""Episodes for reading: what happened at every step, as text, a table and plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ifthen.explain.points import Number
from ifthen.explain.words.typeset import text_rows

if TYPE_CHECKING:
    import polars

Ending = Literal["goal", "hole", "ended", "truncated", "stopped", "no rule"]
SHOWN_FIRST, SHOWN_LAST = 30, 5
"""How many steps of a long episode the text shows at its beginning and at its end."""


@dataclass(frozen=True)
class Step:
    """One step of an episode.

    Args:
        step: its number, from 0.
        state: the number of the state that it starts in.
        features: that state's features.
        rule: the rule that decides, from 0; None for a policy without rules.
        words: that rule in words.
        action: what is done.
        reward: what it brings.
        next_state: the number of the state that it leads to.
        next_features: that state's features.
        expected_next: the number of the likeliest next state; None where several are equally likely.
        slipped: whether it led elsewhere than the likeliest outcome, and elsewhere than to `expected_next`.
        return_so_far: the discounted return up to here, this step's reward included.
        done: whether it ended the episode.
    """

    step: int
    state: int
    features: dict[str, Number]
    rule: int | None
    words: str
    action: str
    reward: float
    next_state: int
    next_features: dict[str, Number]
    expected_next: int | None
    slipped: bool
    return_so_far: float
    done: bool


@dataclass(frozen=True)
class Trace:
    """One episode.

    Args:
        task: the task's name.
        episode: its number in z, from 0; None where it is none of z.
        start: the features of the state that it starts in.
        steps: what happened.
        ending: how it ended.
        ending_in_words: the same as a sentence.
        total: the discounted return.
        on_grid: whether the task has a map, on which one slips.
    """

    task: str
    episode: int | None
    start: dict[str, Number]
    steps: tuple[Step, ...]
    ending: Ending
    ending_in_words: str
    total: float
    on_grid: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain data; steps, rules and episodes are numbered from 0."""
        return asdict(self)

    def to_table(self) -> polars.DataFrame:
        """Return one row per step; steps and rules are numbered from 1."""
        import polars

        columns: dict[str, Any] = {"step": [s.step + 1 for s in self.steps]}
        columns |= {name: [s.features[name] for s in self.steps] for name in self.start}
        numbers = [None if s.rule is None else s.rule + 1 for s in self.steps]
        columns["rule"] = polars.Series(numbers, dtype=polars.Int64)
        columns |= {name: [getattr(s, name) for s in self.steps] for name in ("words", "action", "reward")}
        columns |= {f"next_{name}": [s.next_features[name] for s in self.steps] for name in self.start}
        columns |= {name: [getattr(s, name) for s in self.steps] for name in ("slipped", "return_so_far")}
        return polars.DataFrame(columns)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """Return the episode for a terminal of `width` characters; the middle of a long one is left out."""
        name = "An episode" if self.episode is None else f"Episode {self.episode + 1} of z"
        heading = f"{name} in {self.task}, from {_in_words(self.start)}:"
        if not self.steps:
            return f"{heading}\n{self.ending_in_words}"
        rows = [["step", "state", "rule", "", "return"], *(self._row(step) for step in self.steps)]
        header, *lines = text_rows(rows, "rlllr", width, flexible=2)
        left_out = len(lines) - SHOWN_FIRST - SHOWN_LAST
        if left_out > 1:
            lines[SHOWN_FIRST:-SHOWN_LAST] = [f"… {left_out:,} more steps …"]
        return "\n".join([heading, header, *lines, self.ending_in_words])

    def _row(self, step: Step) -> list[str]:
        rule = step.words or step.action
        came = "stays" if step.next_state == step.state else f"→ {_in_words(step.next_features)}"
        notes = [("slipped" if self.on_grid else "unlikely")] if step.slipped else []
        notes += [f"reward {step.reward:g}"] if step.reward else []
        came += f" ({', '.join(notes)})" if notes else ""
        number = "" if step.rule is None else f"{step.rule + 1}. "
        return [
            str(step.step + 1),
            _in_words(step.features),
            number + rule,
            came,
            f"{step.return_so_far:.4g}",
        ]


def _in_words(features: Mapping[str, Number]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in features.items())
