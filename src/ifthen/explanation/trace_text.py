"""An episode as text: its steps in columns, what repeats counted, and how often each rule decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from ifthen.digits import percent, plural, values_in_words, worth_showing
from ifthen.rules.feature import Feature
from ifthen.simulate.scope import Number
from ifthen.text_table import GAP, fitting_rows, folded, least_widths, prose

if TYPE_CHECKING:
    from ifthen.explanation.trace import Step, Trace

SHOWN_FIRST = 20
"""The text shows this many rows at the beginning of a long episode."""
SHOWN_LAST = 5
"""The text shows this many rows at the end of a long episode."""
STRETCHES_FIRST = 16
"""The text names this many stretches at the beginning of a long episode."""
STRETCHES_LAST = 4
"""The text names this many stretches at the end of a long episode."""


def text_of(trace: Trace, width: int) -> str:
    """Return an episode for a terminal of `width` characters; no line is longer."""
    name = "An episode" if trace.episode is None else f"Training episode {trace.episode + 1}"
    tested, named = trace.tested, trace.named
    start = (
        f"from {in_words(trace.start, tested, named)}" if trace.seed is None else f"reset seed {trace.seed}"
    )
    heading = prose(f"{name} in {trace.task}, {start}:", width)
    ending = prose(f"{trace.ending_in_words} Last observation: {in_words(trace.last, tested, named)}.", width)
    if not trace.steps:
        return f"{heading}\n{ending}"
    runs = runs_of(trace.steps)
    left_out = len(runs) - SHOWN_FIRST - SHOWN_LAST
    shown = [*runs[:SHOWN_FIRST], *runs[-SHOWN_LAST:]] if left_out > 1 else runs
    header, *rows = step_rows([run[0] for run in shown], trace.slip_word, width, tested, named)
    lines = [
        row
        if len(run) == 1
        else f"{run[0].step + 1}–{run[-1].step + 1}  the same, {len(run):,} times; "
        f"return {run[-1].return_so_far:.4g}"
        for run, row in zip(shown, rows, strict=True)
    ]
    if left_out > 1:
        missing = len(trace.steps) - sum(map(len, shown))
        lines.insert(SHOWN_FIRST, f"… {missing:,} more steps …")
    summary = _summary(trace, width, left_out > 1) if trace.steps[0].rule is not None else ()
    return "\n".join([heading, header, *lines, ending, *summary])


def step_rows(
    steps: Sequence[Step],
    slip_word: str,
    width: int,
    tested: Collection[str] = (),
    named: Sequence[Feature] = (),
) -> list[str]:
    """Return steps as lines below a header: a column per feature, or one for all where there is no room.

    Of many features, those that rules test are shown.
    """
    names, notes = worth_showing(steps[0].features, tested), any(step.slipped for step in steps)
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
    numbered = [[str(step.step + 1), *(f"{step.features[name]:.3g}" for name in names)] for step in steps]
    rows = [["step", *names, *header]]
    rows += [[*head, *tail] for head, tail in zip(numbered, tails, strict=True)]
    if not named and sum(least_widths(rows)) + len(GAP) * (len(rows[0]) - 1) <= width:
        return fitting_rows(rows, "r" * (len(names) + 1) + align, width)
    rows = [["step", "state", *header]]
    shown = [in_words({name: step.features[name] for name in names}, (), named) for step in steps]
    rows += [
        [str(s.step + 1), state_words, *tail]
        for s, state_words, tail in zip(steps, shown, tails, strict=True)
    ]
    return fitting_rows(rows, "rl" + align, width)


def runs_of(steps: Sequence[Step]) -> list[Sequence[Step]]:
    """Return the steps in order; two or more steps that repeat the step before them form one run."""
    runs: list[Sequence[Step]] = []
    for _, group in groupby(steps, lambda step: replace(step, step=0, return_so_far=0.0)):
        first, *again = group
        runs += [[first], again] if len(again) > 1 else [[step] for step in (first, *again)]
    return runs


def in_words(
    features: Mapping[str, Number], tested: Collection[str] = (), named: Sequence[Feature] = ()
) -> str:
    """Return an observation in words, its numbers with four digits; of many features, those tested.

    Values of the features `named` are called by their labels.
    """
    words = {name: f"{value:.4g}" for name, value in features.items()}
    words |= {f.name: f.value_in_words(features[f.name]) for f in named if f.name in features}
    return values_in_words(words, tested)


def _summary(trace: Trace, width: int, with_stretches: bool) -> Iterator[str]:
    """Yield how often each rule decided and, where `when` is set, when."""
    rules = [step.rule for step in trace.steps if step.rule is not None]
    words = {step.rule: step.words for step in trace.steps}
    yield "\nHow often each rule decided:"
    for rule, count in Counter(rules).most_common():
        frequency = f"{plural(count, 'step')} ({percent(count / len(trace.steps))})"
        first, *more = folded(f"{frequency}: rule {rule + 1}. {words[rule]}", width - 4)
        yield "\n".join([f"  {first}", *(f"    {line}" for line in more)])
    if not with_stretches:
        return
    stretches = [str(stretch) for stretch in trace.stretches]
    left_out = len(stretches) - STRETCHES_FIRST - STRETCHES_LAST
    if left_out > 1:
        stretches[STRETCHES_FIRST:-STRETCHES_LAST] = [f"… {left_out:,} more stretches …"]
    yield prose(f"When: {', '.join(stretches)}.", width)
