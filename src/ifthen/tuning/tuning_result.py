"""What a tuning found: the best settings, all that was tried, and how the best compare with the defaults."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ifthen.digits import duration, in_units, interval_in_words, mean_in_words, percent, plural
from ifthen.notebook import Part, Shown
from ifthen.runs.settings import RunSettings, toml_value
from ifthen.study.statistics import Comparison, compare, summarise
from ifthen.text_table import TextTable
from ifthen.tuning.propose import Tried, importance, optuna_study
from ifthen.tuning.search_space import Space
from ifthen.tuning.tuning_plan import TunePlan

if TYPE_CHECKING:
    import polars

MOST_SHOWN = 10
"""At most this many of the settings that were tried are printed."""
NO_DIFFERENCE = 0.05
"""A larger p means that the scores do not tell the settings apart."""


@dataclass(frozen=True)
class TuneResult(Shown):
    """What a tuning found."""

    plan: TunePlan
    space: Space
    defaults: Mapping[str, Any]
    """The default values of the searched parameters on this task."""
    tried: Sequence[Tried]
    finalists: Mapping[int, Sequence[float]]
    """Scores of the best settings in the comparison, by the number of the trial; 0 are the defaults."""
    finals: Mapping[int, Sequence[float]]
    """Final scores of the chosen settings and of the defaults."""
    chosen: int
    """The number of the chosen settings."""
    steps: int
    """The environment steps of every training."""
    task: str
    seconds: float
    """How long the search took."""

    @property
    def best(self) -> dict[str, Any]:
        """The best values of the searched parameters."""
        return dict(self.tried[self.chosen].parameters)

    @property
    def settings(self) -> RunSettings:
        """The settings of a run with the best values, as best.toml has them."""
        parameters = self.best if self.chosen else {}
        return self.plan.settings(parameters, 0, self.steps).model_copy(update={"prune": True})

    @cached_property
    def table(self) -> polars.DataFrame:
        """All that was tried, one row each: number, state, score, steps, rules, and every parameter."""
        import polars

        rows = [
            {
                "number": trial.number,
                "state": trial.state,
                "score": trial.score,
                "steps": trial.steps,
                "rules": trial.rules,
                "reached": max(trial.curve, default=0.0),
                **trial.parameters,
            }
            for trial in self.tried
        ]
        return polars.DataFrame(rows, infer_schema_length=None, strict=False)

    @cached_property
    def importance(self) -> dict[str, float]:
        """How much each parameter matters, most important first; nothing where too few trials finished."""
        return importance(self.space, self.tried)

    @property
    def comparison(self) -> Comparison | None:
        """How the final scores of the chosen settings differ from those of the defaults; None for both."""
        return compare(self.finals[self.chosen], self.finals[0]) if self.chosen else None

    def to_optuna(self) -> Any:
        """Return an Optuna study, in memory, with all that was tried, for Optuna's own figures."""
        return optuna_study(self.space, self.tried)

    @property
    def lead(self) -> str:
        """What was done, in a sentence."""
        counts = {state: sum(trial.state == state for trial in self.tried) for state in ("pruned", "failed")}
        endings = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
        return (
            f"{plural(len(self.tried), 'setting')} of {self.plan.kind().name} tried on {self.task} in "
            f"{duration(self.seconds)}{f' ({endings})' if endings else ''}, {self.steps:,} steps each."
        )

    @property
    def verdict(self) -> str:
        """What the final scores say, in words."""
        scores = {number: _mean(values) for number, values in self.finals.items()}
        if not self.chosen:
            return f"No settings did better than the defaults in the comparison. Final score: {scores[0]}."
        comparison, seeds = self.comparison, len(self.finals[0])
        assert comparison is not None
        sentence = (
            f"Tuned {scores[self.chosen]}, defaults {scores[0]}, over {plural(seeds, 'training')} each."
        )
        if comparison.p is None or comparison.mean_difference is None or comparison.a12 is None:
            return f"{sentence} One training says nothing about chance: give --final 5 or more."
        direction = "better" if comparison.mean_difference > 0 else "worse"
        if comparison.p > NO_DIFFERENCE:
            return f"{sentence} The difference could be chance (p = {comparison.p:.2g}, Mann–Whitney)."
        share = percent(comparison.a12 if direction == "better" else 1 - comparison.a12)
        return (
            f"{sentence} Tuned settings are {direction} in {share} of pairs "
            f"(p = {comparison.p:.2g}, Mann–Whitney)."
        )

    def best_table(self) -> TextTable:
        """Return the searched parameters: values tried, the default, the best, and how much each matters."""
        order = sorted(self.space, key=lambda name: -self.importance.get(name, 0.0))
        rows = tuple(
            (
                name,
                str(self.space[name].search),
                toml_value(self.defaults[name]),
                toml_value(self.best[name]),
                percent(self.importance[name]) if name in self.importance else "–",
            )
            for name in order
        )
        return TextTable("Best settings", ("parameter", "tried", "default", "best", "importance"), rows)

    def finalists_table(self) -> TextTable:
        """Return the scores of the finalists, the best first."""
        means = {number: statistics.fmean(scores) for number, scores in self.finalists.items() if scores}
        rows = []
        for number in sorted(means, key=lambda n: (-means[n], n)):
            scores, name = self.finalists[number], "defaults" if number == 0 else f"trial {number}"
            mark = "chosen" if number == self.chosen else ""
            search = in_units(self.tried[number].score)
            rows.append(
                (name, search, in_units(means[number]), in_units(min(scores)), in_units(max(scores)), mark)
            )
        headings = ("settings", "in the search", "mean", "least", "largest", "")
        return TextTable(
            f"The best few, trained {plural(self.plan.repeats, 'time')} more", headings, tuple(rows)
        )

    def final_table(self) -> TextTable:
        """Return the final scores with intervals."""
        rows = tuple(
            (
                "defaults" if number == 0 else f"tuned (trial {number})",
                in_units(statistics.fmean(scores)),
                interval_in_words(summarise(scores).mean_interval, statistics.fmean(scores)) or "–",
                *(in_units(value) for value in (min(scores), max(scores))),
                str(len(scores)),
            )
            for number, scores in self.finals.items()
            if scores
        )
        headings = ("settings", "mean", "95 % interval", "least", "largest", "trainings")
        return TextTable("Final scores, on test seeds or exact", headings, rows, (self.verdict,))

    def shown_parts(self) -> list[Part]:
        """Return what a notebook shows."""
        return [self.lead, self.best_table(), self.finalists_table(), self.final_table()]


def _mean(scores: Sequence[float]) -> str:
    """Return a mean with its interval over trainings; a dash for no scores."""
    if not scores:
        return "–"
    summary = summarise(scores)
    assert summary.mean is not None
    ends = summary.mean_interval
    return in_units(summary.mean) if ends is None or ends[0] == ends[1] else mean_in_words(summary.mean, ends)
