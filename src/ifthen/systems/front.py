"""A front: the best policy found for each size, from short to good.

One policy is a choice between short and good. A front leaves that choice to the reader. What was chosen, was
chosen by the scores. Measures come afterwards, from seeds that nothing was chosen on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ifthen.checks import one_of, real_number, whole_number
from ifthen.digits import in_units, interval_in_words, percent, plural
from ifthen.errors import ParameterError
from ifthen.notebook import Part, Shown
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.simulator import Evaluation
from ifthen.text_table import TextTable

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

MOST = 1_000_000
MOST_GIVEN_UP = 0.1
"""A list within a standard error of the best may give up at most this share of its lead."""
LONG_LIST_GAIN = 0.025
"""A list with more rules than the soft limit is the knee only if it gains this share of the lead."""
BETTER = 1e-9
"""A score is better from this share on: less is rounding."""
Size = Literal["rules", "tests", "nodes"]
SIZES: dict[Size, str] = {"rules": "rules", "tests": "tests", "nodes": "nodes of the equivalent tree"}
"""How the size of a policy is counted, in words."""


@dataclass(frozen=True, eq=False)
class Point:
    """One policy of a front.

    Args:
        ruleset: its rules.
        score: what it was chosen by: a value by a model, an exact performance, or a mean return.
        deviation: the standard deviation of the returns behind the score; None for a value by a model.
        episodes: how many returns those are; None likewise.
        measured: how well it does where nothing was chosen: exactly on a table, else on test seeds. None
            where it was not measured.
        nodes: questions and leaves of an equivalent tree; None where it was not built, or is too large.
    """

    ruleset: RuleSet
    score: float
    deviation: float | None = None
    episodes: int | None = None
    measured: Evaluation | None = None
    nodes: int | None = None

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

    @property
    def value(self) -> float:
        """What it was measured at; its score where it was not measured."""
        return self.score if self.measured is None else self.measured.performance

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean return on test seeds; None where there is none."""
        return None if self.measured is None else self.measured.interval

    @property
    def steady(self) -> bool:
        """Whether no two returns behind the score differ."""
        return not self.deviation

    def value_in_words(self, like: float | None = None) -> str:
        """Return what it was measured at, or in how many episodes no rule matched."""
        if self.measured is not None and self.measured.failed:
            share = self.measured.failed_share
            return "no rule somewhere" if share is None else f"no rule in {percent(share)}"
        return in_units(self.value, like)

    @property
    def scored_in_words(self) -> str:
        """Its length and its score, with the episodes behind it."""
        words = f"{plural(self.rules, 'rule')} got {in_units(self.score)}"
        if self.episodes is None:
            return words
        return f"{words} {'in each' if self.steady else 'on average'} of {plural(self.episodes, 'episode')}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, with its rules in words."""
        low, high = self.interval or (None, None)
        numbers = {"rules": self.rules, "tests": self.tests, "nodes": self.nodes, "score": self.score}
        numbers |= {"deviation": self.deviation, "episodes": self.episodes}
        performance = None if self.measured is None else self.measured.performance
        words = [self.ruleset.rule_in_words(r) for r in range(self.rules)]
        return {**numbers, "performance": performance, "low": low, "high": high, "words": words}


@dataclass(frozen=True, repr=False, eq=False)
class Front(Shown):
    """The best policy of each size; a longer one is listed only where its score is better.

    Args:
        points: sorted by rules, then by tests.
        scored: what the scores are, in words.
        marked: the one that was chosen: where nobody chooses, the knee.
        mark: what it is called: "knee", or "chosen" where a size was asked for.
        optimum: the performance of an optimal policy, where it is known.
    """

    points: tuple[Point, ...]
    scored: str
    marked: Point | None = None
    optimum: float | None = None
    mark: str = "knee"

    @classmethod
    def of(cls, points: Iterable[Point], scored: str, optimum: float | None = None) -> Front:
        """Return the front of policies of any sizes: those that none with as few rules and tests equals."""
        kept: list[Point] = []
        for point in sorted(points, key=lambda point: (point.rules, point.tests, -point.score)):
            shorter = [other.score for other in kept if other.tests <= point.tests]
            if all(point.score > score + BETTER * abs(score) for score in shorter):
                kept.append(point)
        if not kept:
            raise ParameterError("a front needs one list at least.")
        return cls(tuple(kept), scored, optimum=optimum)

    @property
    def best(self) -> Point:
        """The one with the highest score; of equal ones the shortest."""
        return max(self.points, key=lambda point: point.score)

    def knee(self, share: float, within_error: bool = False, soft_limit: int | None = None) -> Point:
        """Return the shortest list that gives up at most this share of the best one's lead on the first.

        Args:
            share: from 0, which is the best list, to 1.
            within_error: whether it may give up a standard error of the best one's score, too, if that is
                more, but no more than a tenth of the lead. The episodes played cannot tell such lists apart,
                and the shorter one is preferred (the rule by which Breiman and others 1984 prune trees).
                Where the best list got the same in every episode, so must the shorter one.
            soft_limit: a number of rules. A longer list is the knee only if it gains 2.5 % of the lead over
                the best list within the limit, or if only longer lists got the same in every episode.
        """
        best = self.best
        lead = best.score - self.points[0].score
        lost = real_number("share", share, 0, 1) * lead
        least = best.score - max(lost, min(best.error, MOST_GIVEN_UP * lead) if within_error else 0.0)
        steady = within_error and best.steady
        fits = [point for point in self.points if point.steady or not steady]
        knee = next(point for point in fits if point.score >= least)
        short = [point for point in fits if soft_limit is None or point.rules <= soft_limit]
        if knee in short or not short:
            return knee
        best_short = max(point.score for point in short)
        if knee.score - best_short >= LONG_LIST_GAIN * lead:
            return knee
        return replace(self, points=tuple(short)).knee(share, within_error)

    def at(self, rules: int | None = None, tests: int | None = None) -> Point:
        """Return the best one with at most this many rules and tests.

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

    def reaching(self, score: float) -> Point:
        """Return the shortest one with at least this score."""
        fits = [point for point in self.points if point.score >= score]
        if not fits:
            raise ParameterError(
                f"no policy of the front reaches {score:g}: the best has {self.best.score:.6g}."
            )
        return fits[0]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    @property
    def valued(self) -> str:
        """What the values are, in words: the measures, or the scores where nothing was measured."""
        measured = self.points[0].measured
        if measured is None:
            return self.scored
        return "exact performance" if not measured.episodes else f"return on {measured.episodes} test seeds"

    def to_table(self) -> polars.DataFrame:
        """Return one row per policy."""
        import polars

        rows = [{**point.to_dict(), "words": "\n".join(point.to_dict()["words"])} for point in self.points]
        real = ("score", "deviation", "performance", "low", "high")
        types = {name: polars.Float64 if name in real else polars.Int64 for name in rows[0]}
        return polars.DataFrame(rows, schema={**types, "words": polars.String})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; `knee` is the place of the marked one."""
        place = None if self.marked is None else self.points.index(self.marked)
        data = {"scored": self.scored, "measured": self.valued, "optimum": self.optimum, "knee": place}
        return {**data, "front": [point.to_dict() for point in self.points]}

    def shown_parts(self) -> list[Part]:
        """Return a row per policy."""
        return [self.text_table()]

    @property
    def choice(self) -> str:
        """Why the knee is longer than a policy with as high a measure, in words; "" where none is shorter."""
        knee = self.marked
        if knee is None or knee.measured is None:
            return ""
        shorter = [point for point in self.points[: self.points.index(knee)] if point.value >= knee.value]
        if not shorter:
            return ""
        rival = max(shorter, key=lambda point: point.score)
        verdict = "gets as much" if rival.value == knee.value else "gets more"
        where = "here" if knee.measured.method == "exact" else "on test seeds"
        return (
            f"Policies were chosen by the {self.scored}: there {knee.scored_in_words}, and "
            f"{rival.scored_in_words}. That the shorter one {verdict} {where} was not known then."
        )

    def text_table(self, title: str = "", policy: RuleSet | None = None) -> TextTable:
        """Return one row per policy: its sizes, its value with its interval, and its share of the best.

        Args:
            title: what stands above.
            policy: the row of these rules is marked, too.
        """
        best, rows = max(point.value for point in self.points), []
        whole, of = (best, "best") if self.optimum is None else (self.optimum, "optimum")
        shares = whole > 0 and self.points[0].value >= 0
        for point in self.points:
            spread = "" if point.deviation is None else in_units(point.deviation, point.score)
            interval = interval_in_words(point.interval, best) if point.measured is not None else spread
            sizes = str(point.rules), str(point.tests), "" if point.nodes is None else str(point.nodes)
            share = f"{point.value / whole:.1%}" if shares else ""
            marks = {self.mark: point is self.marked, "this policy": point.ruleset == policy}
            mark = ", ".join(name for name, is_so in marks.items() if is_so)
            rows.append((*sizes, point.value_in_words(best), interval, share, mark))
        spread = "standard deviation" if self.points[0].measured is None else "95 % interval"
        headings = "rules", "tests", "tree nodes", self.valued, spread, f"of the {of}", ""
        notes = (self.choice,) if self.choice else ()
        return TextTable(title, headings, tuple(rows), notes).without_empty([""])

    def figure(self, by: Size = "rules", title: str = "") -> Figure:
        """Draw values against sizes, with their intervals; steps show the best of at most each size.

        Args:
            by: what sizes are: rules, tests, or nodes of the equivalent tree.
            title: what stands above.
        """
        from ifthen.figure_style import BLUE, MEDIUM, line_at, mark_policy, scores_by_size

        one_of("by", by, get_args(Size))
        sized = [(size, point) for point in self.points if (size := getattr(point, by)) is not None]
        if not sized:
            raise ParameterError(f"the {SIZES[by]} are not known here: use ifthen.front, which counts them.")
        best: list[tuple[int, Point]] = []
        for size, point in sorted(sized, key=lambda pair: (pair[0], -pair[1].score)):
            if not best or point.score > best[-1][1].score:
                best.append((size, point))
        sizes, values = zip(*((size, point.value) for size, point in best), strict=True)
        figure, axes = scores_by_size(sizes, values, SIZES[by], self.valued)
        for size, point in sized:
            spread = point.deviation or 0
            low, high = point.interval or (point.value - spread, point.value + spread)
            axes.plot([size, size], [low, high], color=BLUE, alpha=0.35, linewidth=2.2, zorder=1)
        others = [(size, point.value) for size, point in sized if point not in [shown for _, shown in best]]
        if others:
            axes.plot(*np.array(others).T, "o", color=BLUE, alpha=0.45, markersize=3, zorder=2)
        if self.optimum is not None:
            line_at(axes, self.optimum, "optimum")
        if (at := next((size for size, point in sized if point is self.marked), None)) is not None:
            assert self.marked is not None
            mark_policy(axes, at, self.marked.value, f"{self.mark}: {plural(self.marked.rules, 'rule')}")
        axes.set_title(title, loc="left", fontsize=MEDIUM, parse_math=False)
        return figure
