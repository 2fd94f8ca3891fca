"""One episode: every step with the rule behind it, as text for a terminal, a table and plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ifthen.digits import counted, percent
from ifthen.simulate.scope import Number, column_of
from ifthen.text_table import GAP, fitting_rows, folded, least_widths, prose

if TYPE_CHECKING:
    import polars

Ending = Literal["goal", "hole", "ended", "terminated", "truncated", "stopped", "no rule"]
ENDINGS: dict[Ending, str] = {
    "goal": "reached the goal",
    "hole": "fell into a hole",
    "ended": "ended",
    "terminated": "ended by the environment",
    "truncated": "truncated",
    "stopped": "stopped",
    "no rule": "no rule matches",
}
OWN_COLUMNS = ("step", "rule", "words", "action", "reward", "slipped", "return_so_far")
SHOWN_FIRST, SHOWN_LAST = 20, 5
"""The text shows this many rows at the beginning and at the end of a long episode."""
STRETCHES_FIRST, STRETCHES_LAST = 16, 4
"""The text names this many stretches at the beginning and at the end of a long episode."""


@dataclass(frozen=True)
class Step:
    """One step of an episode.

    Args:
        step: its number, from 0.
        features: the observation before the step, as the task gives it, also beyond a feature's range.
        rule: the deciding rule, from 0; None for a policy without rules.
        words: that rule in words.
        action: the action taken.
        reward: the reward.
        next_features: the observation after the step.
        return_so_far: the discounted return, this step's reward included.
        done: whether the step ended the episode.
        state: the number of the state before the step; None in an environment.
        next_state: the number of the state after the step; None in an environment.
        expected_next: the number of the likeliest next state; None where several are equally likely, and in
            an environment.
        slipped: whether the step led neither to the likeliest next state nor where the likeliest single
            outcome leads; None in an environment.
    """

    step: int
    features: dict[str, Number]
    rule: int | None
    words: str
    action: str
    reward: float
    next_features: dict[str, Number]
    return_so_far: float
    done: bool
    state: int | None = None
    next_state: int | None = None
    expected_next: int | None = None
    slipped: bool | None = None


class Stretch(NamedTuple):
    """The steps from `first` to `last`, both included and from 0, in which the same rule decides."""

    first: int
    last: int
    rule: int

    def __str__(self) -> str:
        first, last = self.first + 1, self.last + 1
        return f"{f'step {first}' if first == last else f'steps {first}–{last}'}: rule {self.rule + 1}"


@dataclass(frozen=True)
class Trace:
    """One episode.

    Args:
        task: the task's name.
        episode: its number among the training episodes, from 0; None for any other episode.
        start: the first observation.
        steps: the steps.
        last: the last observation.
        ending: how the episode ended.
        ending_in_words: the same as a sentence.
        total: the discounted return.
        seed: the reset seed; None in a task with a table of states.
        slip_word: the word for a step that `slipped`: "slipped" on a map, "unlikely" elsewhere.
    """

    task: str
    episode: int | None
    start: dict[str, Number]
    steps: tuple[Step, ...]
    last: dict[str, Number]
    ending: Ending
    ending_in_words: str
    total: float
    seed: int | None = None
    slip_word: str = "slipped"

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The steps in order, neighbours in which the same rule decides together; none without rules."""
        found, first = [], 0
        for rule, same in groupby(step.rule for step in self.steps if step.rule is not None):
            length = len(list(same))
            found.append(Stretch(first, first + length - 1, rule))
            first += length
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain data; steps, rules and episodes are numbered from 0."""
        return asdict(self)

    def to_table(self) -> polars.DataFrame:
        """Return one row per step, without columns that do not apply; steps and rules count from 1."""
        import polars

        columns: dict[str, Any] = {"step": [s.step + 1 for s in self.steps]}
        columns |= {
            column_of(name, OWN_COLUMNS): [s.features[name] for s in self.steps] for name in self.start
        }
        rules = [None if s.rule is None else s.rule + 1 for s in self.steps]
        columns["rule"] = polars.Series(rules, dtype=polars.Int64)
        columns |= {name: [getattr(s, name) for s in self.steps] for name in ("words", "action", "reward")}
        columns |= {f"next_{name}": [s.next_features[name] for s in self.steps] for name in self.start}
        if self.seed is None:
            columns["slipped"] = [s.slipped for s in self.steps]
        columns["return_so_far"] = [s.return_so_far for s in self.steps]
        return polars.DataFrame(columns)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """Return the episode for a terminal of `width` characters; no line is longer.

        Steps that repeat the step before are counted. Of a long episode the first and the last steps are
        shown, with a summary of which rule decided when.
        """
        name = "An episode" if self.episode is None else f"Episode {self.episode + 1} of z"
        start = f"from {in_words(self.start)}" if self.seed is None else f"reset seed {self.seed}"
        heading = prose(f"{name} in {self.task}, {start}:", width)
        ending = prose(f"{self.ending_in_words} Last observation: {in_words(self.last)}.", width)
        if not self.steps:
            return f"{heading}\n{ending}"
        runs = runs_of(self.steps)
        left_out = len(runs) - SHOWN_FIRST - SHOWN_LAST
        shown = [*runs[:SHOWN_FIRST], *runs[-SHOWN_LAST:]] if left_out > 1 else runs
        header, *rows = step_rows([run[0] for run in shown], self.slip_word, width)
        lines = [row if len(run) == 1 else _repeats(run) for run, row in zip(shown, rows, strict=True)]
        if left_out > 1:
            missing = len(self.steps) - sum(map(len, shown))
            lines.insert(SHOWN_FIRST, f"… {missing:,} more steps …")
        summary = _summary(self, width, left_out > 1) if self.steps[0].rule is not None else ()
        return "\n".join([heading, header, *lines, ending, *summary])


def step_rows(steps: Sequence[Step], slip_word: str, width: int) -> list[str]:
    """Return steps as lines below a header: a column per feature, or one for all where there is no room."""
    names, notes = list(steps[0].features), any(step.slipped for step in steps)
    ruled = steps[0].rule is not None
    tails = [
        [
            *([str(step.rule + 1)] if step.rule is not None else []),
            step.action,
            f"{step.reward:.4g}",
            f"{step.return_so_far:.4g}",
            *[slip_word if step.slipped else ""] * notes,
        ]
        for step in steps
    ]
    header = [*["rule"] * ruled, "action", "reward", "return", *[""] * notes]
    align = "r" * ruled + "lrr" + "l" * notes
    numbered = [[str(step.step + 1), *(f"{value:.3g}" for value in step.features.values())] for step in steps]
    rows = [["step", *names, *header]]
    rows += [[*head, *tail] for head, tail in zip(numbered, tails, strict=True)]
    if sum(least_widths(rows)) + len(GAP) * (len(rows[0]) - 1) <= width:
        return fitting_rows(rows, "r" * (len(names) + 1) + align, width)
    rows = [["step", "state", *header]]
    rows += [[str(s.step + 1), in_words(s.features), *tail] for s, tail in zip(steps, tails, strict=True)]
    return fitting_rows(rows, "rl" + align, width)


def runs_of(steps: Sequence[Step]) -> list[Sequence[Step]]:
    """Return the steps in order; two or more steps that repeat the step before them form one run."""
    runs: list[Sequence[Step]] = []
    for _, same in groupby(steps, lambda step: replace(step, step=0, return_so_far=0.0)):
        first, *again = same
        runs += [[first], again] if len(again) > 1 else [[step] for step in (first, *again)]
    return runs


def in_words(features: Mapping[str, Number]) -> str:
    """Return an observation in words, its numbers with four digits."""
    return ", ".join(f"{name} = {value:.4g}" for name, value in features.items())


def _repeats(run: Sequence[Step]) -> str:
    first, last = run[0], run[-1]
    steps = f"{first.step + 1}–{last.step + 1}"
    return f"{steps}  the same, {len(run):,} times; return {last.return_so_far:.4g}"


def _summary(trace: Trace, width: int, when: bool) -> Iterator[str]:
    """Yield how often each rule decided and, where `when` is set, when."""
    rules = [step.rule for step in trace.steps if step.rule is not None]
    words = {step.rule: step.words for step in trace.steps}
    yield "\nHow often each rule decided:"
    for rule, count in Counter(rules).most_common():
        said = f"{counted(count, 'step')} ({percent(count / len(trace.steps))})"
        first, *more = folded(f"{said}: rule {rule + 1}. {words[rule]}", width - 4)
        yield "\n".join([f"  {first}", *(f"    {line}" for line in more)])
    if not when:
        return
    said_when = [str(stretch) for stretch in trace.stretches]
    left_out = len(said_when) - STRETCHES_FIRST - STRETCHES_LAST
    if left_out > 1:
        said_when[STRETCHES_FIRST:-STRETCHES_LAST] = [f"… {left_out:,} more stretches …"]
    yield prose(f"When: {', '.join(said_when)}.", width)
