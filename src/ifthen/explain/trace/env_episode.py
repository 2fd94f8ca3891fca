"""Episodes in environments for reading: what happened at every step, as text, a table and plain data.

Episodes can be long and hardly two observations are equal. So the text shows the first and the last steps,
how often each rule decided, and stretches in which the same rule decided all the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ifthen.explain.points import Number, column_of
from ifthen.explain.words.typeset import GAP, fitting_rows, folded, least_widths, percent, prose

if TYPE_CHECKING:
    import polars

EnvEnding = Literal["terminated", "truncated", "no rule", "stopped"]
OWN_COLUMNS = ("step", "rule", "words", "action", "reward", "return_so_far")
SHOWN_FIRST, SHOWN_LAST = 12, 5
"""How many steps of a long episode the text shows at its beginning and at its end,"""
STRETCHES_FIRST, STRETCHES_LAST = 16, 4
"""and how many of its stretches."""


@dataclass(frozen=True)
class EnvStep:
    """One step of an episode in an environment.

    Args:
        step: its number, from 0.
        features: what is observed before it, as the environment gives it, also beyond a feature's range.
        rule: the rule that decides, from 0.
        words: that rule in words.
        action: what is done.
        reward: what it brings.
        return_so_far: the discounted return up to here, this step's reward included.
    """

    step: int
    features: dict[str, Number]
    rule: int
    words: str
    action: str
    reward: float
    return_so_far: float


class Stretch(NamedTuple):
    """Steps from `first` to `last`, both included and from 0, in which the same rule decides."""

    first: int
    last: int
    rule: int

    def __str__(self) -> str:
        steps = (
            f"step {self.first + 1}" if self.first == self.last else f"steps {self.first + 1}–{self.last + 1}"
        )
        return f"{steps}: rule {self.rule + 1}"


@dataclass(frozen=True)
class EnvTrace:
    """One episode in an environment.

    Args:
        task: the task's name.
        episode: its number in z, from 0; None where it is none of z.
        seed: its reset seed.
        start: what is observed first.
        steps: what happened.
        last: what is observed at the end.
        ending: how it ended.
        ending_in_words: the same as a sentence.
        total: the discounted return.
    """

    task: str
    episode: int | None
    seed: int
    start: dict[str, Number]
    steps: tuple[EnvStep, ...]
    last: dict[str, Number]
    ending: EnvEnding
    ending_in_words: str
    total: float

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The steps in order, neighbours in which the same rule decides together."""
        return tuple(stretches_of([step.rule for step in self.steps]))

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
        columns["rule"] = polars.Series([s.rule + 1 for s in self.steps], dtype=polars.Int64)
        names = ("words", "action", "reward", "return_so_far")
        columns |= {name: [getattr(s, name) for s in self.steps] for name in names}
        return polars.DataFrame(columns)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """Return the episode for a terminal of `width` characters; the middle of a long one is summed up."""
        name = "An episode" if self.episode is None else f"Episode {self.episode + 1} of z"
        heading = prose(f"{name} in {self.task}, reset seed {self.seed}:", width)
        ending = prose(f"{self.ending_in_words} Last seen: {in_words(self.last)}.", width)
        if not self.steps:
            return f"{heading}\n{ending}"
        shown, left_out = self.steps, len(self.steps) - SHOWN_FIRST - SHOWN_LAST
        if left_out > 1:
            shown = (*self.steps[:SHOWN_FIRST], *self.steps[-SHOWN_LAST:])
        header, *lines = table_of(shown, width)
        if left_out > 1:
            lines.insert(SHOWN_FIRST, f"… {left_out:,} more steps …")
        return "\n".join([heading, header, *lines, ending, "", *self._summary(width, left_out > 1)])

    def _summary(self, width: int, when: bool) -> Iterator[str]:
        """Yield which rules decided how often and, where wanted, when."""
        yield "How often each rule decided:"
        words = {step.rule: step.words for step in self.steps}
        for rule, count in Counter(step.rule for step in self.steps).most_common():
            steps = f"{count:,} step{'' if count == 1 else 's'} ({percent(count / len(self.steps))})"
            first, *more = folded(f"{steps}: rule {rule + 1}. {words[rule]}", width - 4)
            yield "\n".join([f"  {first}", *(f"    {line}" for line in more)])
        if not when:
            return
        said = [str(stretch) for stretch in self.stretches]
        left_out = len(said) - STRETCHES_FIRST - STRETCHES_LAST
        if left_out > 1:
            said[STRETCHES_FIRST:-STRETCHES_LAST] = [f"… {left_out:,} more stretches …"]
        yield prose(f"When: {', '.join(said)}.", width)


def stretches_of(rules: Sequence[int]) -> Iterator[Stretch]:
    """Yield stretches of equal neighbours."""
    first = 0
    for rule, same in groupby(rules):
        length = len(list(same))
        yield Stretch(first, first + length - 1, rule)
        first += length


def table_of(steps: Sequence[EnvStep], width: int) -> list[str]:
    """Return steps as lines below a header, a column per feature; in words where there is too little room."""
    names, tails = list(steps[0].features), [_tail(step) for step in steps]
    rows = [["step", *names, "rule", "action", "reward", "return"]]
    rows += [
        [str(step.step + 1), *(f"{value:.3g}" for value in step.features.values()), *tail]
        for step, tail in zip(steps, tails, strict=True)
    ]
    if sum(least_widths(rows)) + len(GAP) * (len(rows[0]) - 1) <= width:
        return fitting_rows(rows, "r" * (len(names) + 2) + "lrr", width)
    rows = [["step", "state", "rule", "action", "reward", "return"]]
    rows += [
        [str(step.step + 1), in_words(step.features), *tail] for step, tail in zip(steps, tails, strict=True)
    ]
    return fitting_rows(rows, "rlrlrr", width)


def in_words(features: Mapping[str, Number]) -> str:
    """Return an observation in words, its numbers with four digits."""
    return ", ".join(f"{name} = {value:.4g}" for name, value in features.items())


def _tail(step: EnvStep) -> list[str]:
    return [str(step.rule + 1), step.action, f"{step.reward:.4g}", f"{step.return_so_far:.4g}"]
