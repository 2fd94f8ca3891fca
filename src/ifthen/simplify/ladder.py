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
from ifthen.errors import ParameterError
from ifthen.parallel import checked_threads
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import lows_and_highs
from ifthen.simplify.lossless import decision_list_of, hull_of, with_condition
from ifthen.simulate.scope import AnyTask, ruleset_of, tabular
from ifthen.simulate.table import optimal_performance, policy_table
from ifthen.tasks.solve import exact_performances
from ifthen.tasks.table import TabularTask

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


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


@dataclass(frozen=True)
class Ladder:
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

        return polars.DataFrame(
            {
                "rules": [len(rung.ruleset) for rung in self.rungs],
                "performance": [rung.performance for rung in self.rungs],
                "fraction": [rung.fraction for rung in self.rungs],
                "states_changed": [rung.changed for rung in self.rungs],
            }
        )

    def __str__(self) -> str:
        lines = [f"{self.before} rules on {self.task}; the optimum is {self.optimum:.4f}"]
        lines.append(f"{'rules':>5}  {'performance':>11}  {'of optimum':>10}  {'states changed':>14}")
        for rung in self.rungs:
            share = "–" if np.isnan(rung.fraction) else f"{rung.fraction:.1%}"
            numbers = f"{rung.performance:>11.4f}  {share:>10}  {rung.changed:>14}"
            lines.append(f"{len(rung.ruleset):>5}  {numbers}")
        return "\n".join(lines)

    def figure(self) -> Figure:
        """Draw performance against the number of rules."""
        from ifthen.explanation.pictures.charts import ladder_figure

        return ladder_figure(self)


def ladder(
    policy: Any,
    task: AnyTask | None = None,
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
    ruleset = ruleset_of(policy)
    known = getattr(policy, "task", None) if task is None else task
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
        return Rung(rules, performance, fraction, int((table[0] != self.given).sum()))


def one_rule_less(rules: DecisionList) -> Iterator[DecisionList]:
    """Yield every list in which a rule is dropped, or made one with another for the same action.

    Where the last rule is dropped and it matched everything, the one before it comes to match everything.
    """
    n, whole = len(rules), np.stack(lows_and_highs(rules.features), axis=1)
    catch_all = bool((rules.bounds[-1] == whole).all())
    for r in range(n):
        fewer = rules.subset(np.delete(np.arange(n), r))
        yield with_condition(fewer, -1, whole) if catch_all and r == n - 1 else fewer
    for i, j in itertools.permutations(range(n), 2):
        if rules.actions[i] == rules.actions[j]:
            merged = with_condition(rules, i, hull_of(rules.bounds[[i, j]]))
            yield merged.subset(np.delete(np.arange(n), j))


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
    for r, (d, feature) in itertools.product(range(len(rules)), enumerate(rules.features)):
        low, high = rules.bounds[r, d].tolist()
        ends = {(low + step, high) for step in (-1, 1)} | {(low, high + step) for step in (-1, 1)}
        for first, last in sorted(ends | {(feature.low, high), (low, feature.high)}):
            if feature.low <= first <= last <= feature.high and (first, last) != (low, high):
                yield with_condition(rules, (r, d), (first, last))
