"""Fewer rules for less performance: the whole ladder from a policy's own rules down to one.

Each step down takes away one rule. The rule is dropped, or merged with another for the same action: the step
with the highest exact performance is taken, among equals the one that changes fewer states. Polishing then
moves bounds and changes actions of the rules that are left as long as that raises the exact performance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import plural
from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, lows_and_highs
from ifthen.simplify.lossless import Rules, decision_list_of, hull_of, with_condition
from ifthen.simulate.scope import policy_and_task, tabular
from ifthen.simulate.table import optimal_performance, policy_table
from ifthen.tasks.solve import exact_performances
from ifthen.tasks.table import TabularTask
from ifthen.text_table import TextTable, fitting_rows

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


Ends = tuple[float, float]


@dataclass(frozen=True)
class Rung:
    """The policy with one number of rules.

    Args:
        ruleset: its rules.
        performance: its exact performance; the task's floor where a state with no rule can be met.
        fraction: that as a fraction of the optimum; NaN where returns can be negative.
        changed: how many decision states have another action than in the policy that was given.
    """

    ruleset: DecisionList
    performance: float
    fraction: float
    changed: int

    def __str__(self) -> str:
        share = "" if np.isnan(self.fraction) else f" ({self.fraction:.1%} of the optimum)"
        return (
            f"{plural(len(self.ruleset), 'rule')}: performance {self.performance:.4f}{share}, another action "
            f"in {plural(self.changed, 'state')} than before."
        )


@dataclass(frozen=True, repr=False)
class Ladder(Shown):
    """Policies with fewer and fewer rules.

    Args:
        task: the name of the task.
        before: how many rules the policy had that was given.
        performance: its exact performance.
        optimum: the exact performance of an optimal policy.
        rungs: from the most rules, which choose exactly as the policy does unless polished, to one.
    """

    task: str
    before: int
    performance: float
    optimum: float
    rungs: tuple[Rung, ...]

    def with_rules(self, most: int) -> Rung:
        """Return the best rung with at most `most` rules; the policy as it was given where it fits.

        Among rungs that perform the same it is the one that changes fewest states, then has fewest rules.
        """
        fits = [rung for rung in self.rungs if len(rung.ruleset) <= most]
        if not fits:
            raise ParameterError(f"every policy has at least one rule: ask for 1 or more, not {most}.")
        if fits[0].changed == 0:
            return fits[0]
        return max(fits, key=lambda rung: (rung.performance, -rung.changed, -len(rung.ruleset)))

    def with_performance(self, least: float) -> Rung:
        """Return the rung with the fewest rules whose performance is at least `least`."""
        fits = [rung for rung in self.rungs if rung.performance >= least]
        if not fits:
            best = max(rung.performance for rung in self.rungs)
            raise ParameterError(f"no rung performs at {least:g} or better: the best has {best:.6g}.")
        return min(fits, key=lambda rung: (len(rung.ruleset), -rung.performance))

    def to_table(self) -> polars.DataFrame:
        """Return one row per rung."""
        import polars

        names = "rules", "performance", "fraction", "states_changed"
        rows = [(len(rung.ruleset), rung.performance, rung.fraction, rung.changed) for rung in self.rungs]
        return polars.DataFrame(rows, schema=names, orient="row")

    def __str__(self) -> str:
        table = self._text_table()
        return "\n".join([table.title, *fitting_rows([table.headings, *table.rows], "rrrr", 80)])

    def shown_parts(self) -> list[Part]:
        """Return a row per rung."""
        return [self._text_table()]

    def _text_table(self) -> TextTable:
        rows = []
        for rung in self.rungs:
            share = "–" if np.isnan(rung.fraction) else f"{rung.fraction:.1%}"
            rows.append((str(len(rung.ruleset)), f"{rung.performance:.4f}", share, str(rung.changed)))
        title = f"{self.before} rules on {self.task}; the optimum is {self.optimum:.4f}"
        return TextTable(title, ("rules", "performance", "of optimum", "states changed"), tuple(rows))

    def figure(self) -> Figure:
        """Draw the exact performance of every rung, of the policy as it was given and of an optimal one."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        from ifthen.figure_style import BLUE, COLUMN_WIDTH, GREY, MEDIUM, ORANGE, SMALL, bare

        figure = Figure(figsize=(1.4 * COLUMN_WIDTH, COLUMN_WIDTH), layout="constrained")
        axes = figure.subplots()
        axes.axhline(self.optimum, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        axes.annotate(
            "optimum", (1, self.optimum), (-2, 2), ("axes fraction", "data"), "offset points", ha="right",
            va="bottom", fontsize=SMALL, color="0.35",
        )  # fmt: skip
        rules, values = zip(*((len(rung.ruleset), rung.performance) for rung in self.rungs), strict=True)
        axes.plot(rules, values, color=BLUE, marker="o", markersize=3.5, linewidth=1.2, label="fewer rules")
        given: dict[str, Any] = {"color": ORANGE, "marker": "D", "markersize": 5, "linestyle": "none"}
        axes.plot([self.before], [self.performance], label=f"as given ({self.before} rules)", **given)
        axes.set_xlabel("rules", fontsize=MEDIUM)
        axes.set_ylabel("exact performance", fontsize=MEDIUM)
        axes.set_title(self.task, loc="left", fontsize=MEDIUM, parse_math=False)
        axes.legend(loc="lower right", frameon=False, fontsize=SMALL)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(y=0.12)
        bare(axes)
        return figure


def ladder(
    policy: Any,
    task: TaskLike | None = None,
    polish: bool = False,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ladder:
    """Return policies with fewer and fewer rules, as decision lists, and what each performs.

    Args:
        policy: a ruleset of any kind, or a trained system.
        task: the task in which performance is measured, exactly; a trained system's own where None.
        polish: whether to tune the rules that are left on every rung; it takes longer, and the policy may
            then come to act otherwise, and better, than the one that was given.
        threads: how many threads to use, all cores where None; results do not depend on it.
        progress: called with the number of rules after every rung.
    """
    ruleset, known = policy_and_task(policy, task)
    table = tabular(known, "the ladder of exact performances", ": prune by playing, with a loss")
    given = policy_table(ruleset, table)
    optimum = optimal_performance(table)
    rules, _ = decision_list_of(ruleset, table)
    measure = Measure(table, given, checked_threads(threads))
    rungs = []
    while True:
        if polish:
            rules = polished(rules, measure)
        rungs.append(measure.rung(rules, optimum))
        if progress is not None:
            progress(len(rules))
        if len(rules) == 1:
            break
        rules = measure.best(one_rule_less(rules))
    return Ladder(table.name, len(ruleset), measure.performances(given[None])[0], optimum, tuple(rungs))


class Measure:
    """Exact performance of many decision lists in one task.

    Args:
        task: the task.
        given: the action in every decision state, `(D,)`, that changes are counted from.
        threads: how many threads to use.
    """

    def __init__(self, task: TabularTask, given: NDArray[np.int16], threads: int) -> None:
        self.task, self.given, self.threads = task, given, threads

    def performances(self, tables: NDArray[np.int16]) -> list[float]:
        """Return the exact performance of policy tables `(n, D)`, each different one measured once."""
        different, where = np.unique(tables, axis=0, return_inverse=True)
        found = exact_performances(self.task, different, self.threads)
        filled = np.where(np.isnan(found), self.task.floor, found)
        performances: list[float] = filled[where.reshape(-1)].tolist()
        return performances

    def tables(self, rulesets: list[DecisionList]) -> NDArray[np.int16]:
        """Return the policy tables of decision lists, `(n, D)`."""
        return np.stack([rules.choose(self.task.dynamics.points)[0] for rules in rulesets]).astype(np.int16)

    def best(self, rulesets: Iterable[DecisionList]) -> DecisionList:
        """Return the one that performs best; among equals the one that changes fewest states."""
        candidates = list(rulesets)
        tables = self.tables(candidates)
        changed = (tables != self.given).sum(axis=1)
        order = np.lexsort((changed, -np.array(self.performances(tables))))
        return candidates[int(order[0])]

    def rung(self, rules: DecisionList, optimum: float) -> Rung:
        """Return a rung of the ladder."""
        table = self.tables([rules])
        performance = self.performances(table)[0]
        fraction = performance / optimum if optimum > 0 and self.task.floor == 0 else float("nan")
        return Rung(rules.without_unused_terms(), performance, fraction, int((table[0] != self.given).sum()))


def one_rule_less(rules: Rules) -> Iterator[Rules]:
    """Yield the rules without each in turn and, of a decision list, with two for the same action as one.

    Where the last rule of a list is dropped and it matched everything, the one before it comes to do so.
    """
    n, whole = len(rules), np.stack(lows_and_highs(rules.features), axis=1)
    catch_all = rules.ordered and bool((rules.bounds[-1] == whole).all())
    for r in range(n):
        fewer = rules.subset(np.delete(np.arange(n), r))
        yield with_condition(fewer, -1, whole) if catch_all and r == n - 1 else fewer
    for i, j in itertools.permutations(range(n if rules.ordered else 0), 2):
        if rules.actions[i] == rules.actions[j]:
            merged = with_condition(rules, i, hull_of(rules.bounds[[i, j]], rules.features))
            yield merged.subset(np.delete(np.arange(n), j))


def other_intervals(rules: Rules, wanted: Callable[[float, float, Feature], set[Ends]]) -> Iterator[Rules]:
    """Yield the rules with one interval changed to each that is wanted in place of its ends and feature."""
    for r, (d, feature) in itertools.product(range(len(rules)), enumerate(rules.features)):
        low, high = rules.bounds[r, d].tolist()
        for first, last in sorted(wanted(low, high, feature) - {(low, high)}):
            if feature.low <= first <= last <= feature.high:
                yield with_condition(rules, (r, d), (first, last))


def polished(rules: DecisionList, measure: Measure) -> DecisionList:
    """Return the list after the best small change was made again and again while that raised performance."""
    performance = measure.performances(measure.tables([rules]))[0]
    while True:
        better = measure.best([rules, *small_changes(rules)])
        reached = measure.performances(measure.tables([better]))[0]
        if reached <= performance:
            return rules
        rules, performance = better, reached


def small_changes(rules: DecisionList) -> Iterator[DecisionList]:
    """Yield every list with another action of one rule, or one bound a step away or at the edge."""
    for r, action in itertools.product(range(len(rules)), range(len(rules.action_names))):
        if action != rules.actions[r]:
            actions = rules.actions.copy()
            actions[r] = action
            yield DecisionList(rules.bounds, actions, rules.features, rules.action_names)

    def moved(low: float, high: float, edge: Feature) -> set[Ends]:
        ends = {(low - 1, high), (low + 1, high), (low, high - 1), (low, high + 1)}
        return ends | {(edge.low, high), (low, edge.high)}

    yield from other_intervals(rules, moved)
