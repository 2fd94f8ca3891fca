"""Shorter policies on a table: fewer rules or fewer tests, each at the least cost of exact performance.

Going down by rules, each step takes away one rule. The rule is dropped, or merged with another for the same
action: the step with the highest exact performance is taken, among equals the one that changes fewer states.
Polishing then moves bounds and changes actions of the rules that are left as long as that raises the exact
performance. Going down by tests, each step takes away a test, or a rule with its tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.decision_list import DecisionList, constant_lists
from ifthen.rules.feature import Feature, whole_box
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.lossless import Rules, as_list, decision_list_of, hull_of, lossless, with_condition
from ifthen.simulate.table_simulator import policy_table
from ifthen.systems.front import Point
from ifthen.tasks.solve import exact_performances
from ifthen.tasks.tabular_task import TabularTask

Ends = tuple[float, float]
Progress = Callable[[int], None]
"""Called with the number of rules that are left after every step."""


def shortened_on_table(
    ruleset: RuleSet, task: TabularTask, polish: bool, threads: int, progress: Progress
) -> list[Point]:
    """Return decision lists from one that does the same down to one rule, with their exact performances.

    Args:
        ruleset: rules of any kind.
        task: the task.
        polish: whether to tune the rules that are left after every step that takes a rule; it takes longer,
            and the lists may then do better than the rules that were given.
        threads: how many threads to use.
        progress: called after every step.
    """
    measure = Measure(task, policy_table(ruleset, task), threads)
    start, _ = decision_list_of(ruleset, task)
    lists: list[DecisionList] = []
    for rules in itertools.chain(down_by_rules(start, measure, polish), down_by_tests(start, measure)):
        lists += [rules, shortest_words(rules, task)]
        progress(len(rules))
    lists += constant_lists(task.features, task.action_names)
    performances = measure.performances(measure.tables(lists))
    return [
        Point(candidate.without_unused_terms(), score)
        for candidate, score in zip(lists, performances, strict=True)
    ]


def shortest_words(rules: RuleSet, task: TabularTask) -> DecisionList:
    """Return a list without the rules and tests that make no difference in any decision state."""
    return as_list(lossless(rules, task).ruleset)


def down_by_rules(rules: DecisionList, measure: Measure, polish: bool = False) -> Iterator[DecisionList]:
    """Yield the list, and lists with one rule less each, down to one rule."""
    while True:
        rules = polished(rules, measure) if polish else rules
        yield rules
        if len(rules) == 1:
            return
        rules = measure.best(one_rule_less(rules))


def down_by_tests(rules: DecisionList, measure: Measure) -> Iterator[DecisionList]:
    """Yield lists with fewer tests each, down to none."""
    rules = shortest_words(rules, measure.task)
    while rules.tests:
        rules = shortest_words(measure.best(one_test_less(rules)), measure.task)
        yield rules


class Measure:
    """Exact performance of many decision lists in one task.

    Args:
        task: the task.
        original: the action in every decision state, `(D,)`, that changes are counted from.
        threads: how many threads to use.
    """

    def __init__(self, task: TabularTask, original: NDArray[np.int16], threads: int) -> None:
        self.task, self.original, self.threads = task, original, threads

    def performances(self, tables: NDArray[np.int16]) -> list[float]:
        """Return the exact performance of policy tables `(n, D)`, each different one measured once."""
        different, inverse = np.unique(tables, axis=0, return_inverse=True)
        exact = exact_performances(self.task, different, self.threads)
        filled = np.where(np.isnan(exact), self.task.floor, exact)
        performances: list[float] = filled[inverse.reshape(-1)].tolist()
        return performances

    def tables(self, rulesets: list[DecisionList]) -> NDArray[np.int16]:
        """Return the policy tables of decision lists, `(n, D)`."""
        return np.stack([rules.choose(self.task.dynamics.points)[0] for rules in rulesets]).astype(np.int16)

    def best(self, rulesets: Iterable[DecisionList]) -> DecisionList:
        """Return the one that performs best; among equals the one that changes fewest states."""
        candidates = list(rulesets)
        tables = self.tables(candidates)
        changed = (tables != self.original).sum(axis=1)
        order = np.lexsort((changed, -np.array(self.performances(tables))))
        return candidates[int(order[0])]


def one_rule_less(rules: Rules) -> Iterator[Rules]:
    """Yield the rules without each in turn and, of a decision list, with two for the same action as one.

    Where the last rule of a list is dropped and it matched everything, the one before it comes to do so.
    """
    n, everything = len(rules), whole_box(rules.features)
    catch_all = rules.ordered and bool((rules.bounds[-1] == everything).all())
    for r in range(n):
        fewer = rules.subset(np.delete(np.arange(n), r))
        yield with_condition(fewer, -1, everything) if catch_all and r == n - 1 else fewer
    for i, j in itertools.permutations(range(n if rules.ordered else 0), 2):
        if rules.actions[i] == rules.actions[j]:
            merged = with_condition(rules, i, hull_of(rules.bounds[[i, j]], rules.features))
            yield merged.subset(np.delete(np.arange(n), j))


def other_intervals(rules: Rules, wanted: Callable[[float, float, Feature], set[Ends]]) -> Iterator[Rules]:
    """Yield the rules with one interval changed to each that is wanted in place of its ends and feature."""
    for r, (d, feature) in itertools.product(range(len(rules)), enumerate(rules.features)):
        low, high = rules.bounds[r, d].tolist()
        for new_low, new_high in sorted(wanted(low, high, feature) - {(low, high)}):
            if feature.low <= new_low <= new_high <= feature.high:
                yield with_condition(rules, (r, d), (new_low, new_high))


def one_condition_less(rules: Rules) -> Iterator[Rules]:
    """Yield the rules with one interval that ends, at one side or both, at the edge of its feature."""
    return other_intervals(
        rules, lambda low, high, edge: {(edge.low, edge.high), (edge.low, high), (low, edge.high)}
    )


def one_test_less(rules: Rules) -> Iterator[Rules]:
    """Yield the rules with fewer tests: without one or both ends of an interval, or without a rule."""
    fewer = itertools.chain(one_condition_less(rules), one_rule_less(rules) if len(rules) > 1 else ())
    return (candidate for candidate in fewer if candidate.tests < rules.tests)


def polished(rules: DecisionList, measure: Measure) -> DecisionList:
    """Return the list after the best small change was made again and again while that raised performance."""
    performance = measure.performances(measure.tables([rules]))[0]
    while True:
        better = measure.best([rules, *small_changes(rules)])
        new_performance = measure.performances(measure.tables([better]))[0]
        if new_performance <= performance:
            return rules
        rules, performance = better, new_performance


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
