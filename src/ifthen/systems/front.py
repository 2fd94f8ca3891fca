"""A front: the best list of each size, from short to good.

One policy is a choice between short and good. A front leaves that choice to the reader.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ifthen.checks import real_number, whole_number
from ifthen.digits import in_units, plural
from ifthen.errors import ParameterError
from ifthen.notebook import Part, Shown
from ifthen.rules.decision_list import DecisionList
from ifthen.text_table import TextTable

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

MOST = 1_000_000
BETTER = 1e-9
"""A score is better from this share on: less is rounding."""


@dataclass(frozen=True, eq=False)
class Point:
    """One list of a front.

    Args:
        ruleset: the list.
        score: what it is worth: the mean value of the starts by the model, or a mean return.
        deviation: the standard deviation of the returns behind the score; None for a value by a model.
        episodes: how many returns those are; None likewise.
    """

    ruleset: DecisionList
    score: float
    deviation: float | None = None
    episodes: int | None = None

    @property
    def error(self) -> float:
        """The standard error of the score; 0 for a value by a model."""
        return 0.0 if self.deviation is None else self.deviation / math.sqrt(self.episodes or 1)

    @property
    def rules(self) -> int:
        """The number of its rules."""
        return len(self.ruleset)

    @property
    def tests(self) -> int:
        """The number of comparisons in all its rules: see `RuleSet.tests`."""
        return self.ruleset.tests


@dataclass(frozen=True, repr=False, eq=False)
class Front(Shown):
    """The best list of each size; a longer one is listed only where it is better.

    Args:
        points: sorted by rules, then by tests.
        scored: what the scores are, in words.
    """

    points: tuple[Point, ...]
    scored: str

    @classmethod
    def of(cls, points: Iterable[Point], scored: str) -> Front:
        """Return the front of lists of any sizes: those that no list with as few rules and tests equals."""
        kept: list[Point] = []
        for point in sorted(points, key=lambda own: (own.rules, own.tests, -own.score)):
            shorter = (own.score + BETTER * abs(own.score) for own in kept if own.tests <= point.tests)
            if all(point.score > score for score in shorter):
                kept.append(point)
        if not kept:
            raise ParameterError("a front needs one list at least.")
        return cls(tuple(kept), scored)

    @property
    def best(self) -> Point:
        """The list with the highest score; of equal ones the shortest."""
        return max(self.points, key=lambda point: point.score)

    def knee(self, share: float, within_error: bool = False) -> Point:
        """Return the shortest list that gives up at most this share of the best one's lead on the first.

        Args:
            share: from 0, which is the best list, to 1.
            within_error: whether it may give up a standard error of the best one's score, too, if that is
                more. The episodes played cannot tell such lists apart, and the shorter one is preferred
                (the rule by which Breiman and others 1984 prune trees).
        """
        best = self.best.score
        lost = real_number("share", share, 0, 1) * (best - self.points[0].score)
        least = best - max(lost, self.best.error if within_error else 0.0)
        return next(point for point in self.points if point.score >= least)

    def at(self, rules: int | None = None, tests: int | None = None) -> Point:
        """Return the best list with at most this many rules and tests.

        Args:
            rules: the most rules; any number where None.
            tests: the most comparisons in all rules together (`RuleSet.tests`); any number where None.
        """
        most_rules = MOST if rules is None else whole_number("rules", rules, 1, MOST)
        most_tests = MOST if tests is None else whole_number("tests", tests, 0, MOST)
        fits = [point for point in self.points if point.rules <= most_rules and point.tests <= most_tests]
        if not fits:
            least = self.points[0]
            raise ParameterError(
                f"no list of the front is that short: the shortest has {plural(least.rules, 'rule')} and "
                f"{plural(least.tests, 'test')}."
            )
        return max(fits, key=lambda point: point.score)

    def __len__(self) -> int:
        return len(self.points)

    def to_table(self) -> polars.DataFrame:
        """Return one row per list."""
        import polars

        rows = [(own.rules, own.tests, own.score, own.deviation, own.episodes) for own in self.points]
        names = ("rules", "tests", "score", "deviation", "episodes")
        types = (polars.Int64, polars.Int64, polars.Float64, polars.Float64, polars.Int64)
        return polars.DataFrame(rows, schema=list(zip(names, types, strict=True)), orient="row")

    def __str__(self) -> str:
        return self.text_table().to_text()

    def shown_parts(self) -> list[Part]:
        """Return a row per list."""
        return [self.text_table()]

    def text_table(self) -> TextTable:
        """Return one row per list: rules, tests, score, and the score as a share of the best."""
        best, rows = self.best.score, []
        for point in self.points:
            share = f"{point.score / best:.1%}" if best > 0 and self.points[0].score >= 0 else ""
            spread = "" if point.deviation is None else in_units(point.deviation, point.score)
            rows.append((str(point.rules), str(point.tests), in_units(point.score, best), spread, share))
        headings = "rules", "tests", self.scored, "standard deviation", "of the best"
        return TextTable("", headings, tuple(rows)).without_empty([""])

    def figure(self, chosen: Point | None = None) -> Figure:
        """Draw scores against rules.

        Args:
            chosen: a list to mark.
        """
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        from ifthen.figure_style import BLUE, COLUMN_WIDTH, MEDIUM, ORANGE, SMALL, bare

        figure = Figure(figsize=(1.6 * COLUMN_WIDTH, COLUMN_WIDTH), layout="constrained")
        axes = figure.subplots()
        ever_better = [own for own in self.points if own is self.at(rules=own.rules)]
        rules = np.array([point.rules for point in ever_better])
        scores = np.array([point.score for point in ever_better])
        spread = np.array([point.deviation or 0.0 for point in ever_better])
        if spread.any():
            axes.fill_between(rules, scores - spread, scores + spread, color=BLUE, alpha=0.12, linewidth=0)
        axes.plot(rules, scores, color=BLUE, marker="o", markersize=3.5, linewidth=1.2)
        if chosen is not None:
            label = f"chosen: {chosen.rules} rules"
            axes.plot([chosen.rules], [chosen.score], "D", color=ORANGE, markersize=6, label=label)
            axes.legend(loc="lower right", frameon=False, fontsize=SMALL)
        axes.set_xlabel("rules", fontsize=MEDIUM)
        axes.set_ylabel(self.scored, fontsize=MEDIUM)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(y=0.12)
        bare(axes)
        return figure
