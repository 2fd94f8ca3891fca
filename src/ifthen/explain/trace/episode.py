"""Episodes for reading: what happened at every step, as text, a table and plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from ifthen.explain.points import Number, column_of
from ifthen.explain.words.typeset import GAP, fitting_rows, folded, least_widths, prose

if TYPE_CHECKING:
    import polars

Ending = Literal["goal", "hole", "ended", "truncated", "stopped", "no rule"]
OWN_COLUMNS = ("step", "rule", "words", "action", "reward", "slipped", "return_so_far")
SHOWN_FIRST, SHOWN_LAST = 30, 5
"""How many rows of a long episode the text shows at its beginning and at its end."""
RULE = 2  # the column of the rules
LEAST_ROOM = 30  # characters below which rules are better read under their row


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
        columns |= {
            column_of(name, OWN_COLUMNS): [s.features[name] for s in self.steps] for name in self.start
        }
        numbers = [None if s.rule is None else s.rule + 1 for s in self.steps]
        columns["rule"] = polars.Series(numbers, dtype=polars.Int64)
        columns |= {name: [getattr(s, name) for s in self.steps] for name in ("words", "action", "reward")}
        columns |= {f"next_{name}": [s.next_features[name] for s in self.steps] for name in self.start}
        columns |= {name: [getattr(s, name) for s in self.steps] for name in ("slipped", "return_so_far")}
        return polars.DataFrame(columns)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """Return the episode for a terminal of `width` characters; no line is longer.

        Steps that repeat the one before are counted, and the middle of a long episode is left out.
        """
        name = "An episode" if self.episode is None else f"Episode {self.episode + 1} of z"
        heading = prose(f"{name} in {self.task}, from {_in_words(self.start)}:", width)
        ending = prose(self.ending_in_words, width)
        if not self.steps:
            return f"{heading}\n{ending}"
        runs = runs_of(self.steps)
        shown, left_out = runs, 0
        if len(runs) - SHOWN_FIRST - SHOWN_LAST > 1:
            shown = [*runs[:SHOWN_FIRST], *runs[-SHOWN_LAST:]]
            left_out = len(self.steps) - sum(map(len, shown))
        header, *lines = self._table([self._row(run) for run in shown], width)
        if left_out:
            lines.insert(SHOWN_FIRST, f"… {left_out:,} more steps …")
        return "\n".join([heading, header, *lines, ending])

    def _table(self, rows: list[list[str]], width: int) -> list[str]:
        """Return rows as lines; rules stand under them where there is too little room beside."""
        rows = [["step", "state", "rule", "", "return"], *rows]
        widths = least_widths(rows)
        room = width - sum(widths) + widths[RULE] - len(GAP) * (len(widths) - 1)
        if room >= min(widths[RULE], LEAST_ROOM):
            return fitting_rows(rows, "rlllr", width)
        blocks = fitting_rows([row[:RULE] + row[RULE + 1 :] for row in rows], "rllr", width)
        indent = " " * (widths[0] + len(GAP))
        under = [folded(row[RULE], width - len(indent)) if row[RULE] else [] for row in rows]
        return [
            "\n".join([block, *(indent + line for line in lines)])
            for block, lines in zip(blocks, [[], *under[1:]], strict=True)
        ]

    def _row(self, run: Sequence[Step]) -> list[str]:
        """Return a row for one step, or for several that are as the one before."""
        step, gained = run[0], f"{run[-1].return_so_far:.4g}"
        if len(run) > 1:
            return [f"{step.step + 1}–{run[-1].step + 1}", f"the same, {len(run):,} times", "", "", gained]
        changed = {name: v for name, v in step.next_features.items() if v != step.features[name]}
        came = f"→ {_in_words(changed) or 'a state that looks the same'}"
        notes = [("slipped" if self.on_grid else "unlikely")] if step.slipped else []
        notes += [f"reward {step.reward:g}"] if step.reward else []
        came = "stays" if step.next_state == step.state else came
        came += f" ({', '.join(notes)})" if notes else ""
        number = "" if step.rule is None else f"{step.rule + 1}. "
        return [
            str(step.step + 1),
            _in_words(step.features),
            number + (step.words or step.action),
            came,
            gained,
        ]


def runs_of(steps: Sequence[Step]) -> list[Sequence[Step]]:
    """Return the steps in order, each by itself, but all that repeat the one before, if several, together."""
    runs: list[Sequence[Step]] = []
    for _, same in groupby(steps, _what_happened):
        first, *again = same
        runs += [[first], again] if len(again) > 1 else [[step] for step in (first, *again)]
    return runs


def _what_happened(step: Step) -> tuple[object, ...]:
    return step.state, step.rule, step.action, step.next_state, step.reward, step.slipped, step.done


def _in_words(features: Mapping[str, Number]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in features.items())
