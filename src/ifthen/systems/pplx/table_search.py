"""The search for the best list of each length on a learnt table.

Every length begins with the better of two lists: the one of that length, and the next longer one without its
least missed rule.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Ints
from ifthen.systems.pplx.anneal import DRIFT, anneal, drop_least_missed
from ifthen.systems.pplx.learnt_table import LearntTable, solve
from ifthen.systems.pplx.list_value import list_value
from ifthen.systems.pplx.table_lists import Rules, copied, picked, rules_over, widen

RULES_PER_STATE = 0.3
"""The longest list has this many rules per state, within the limits that follow."""
RULES_PER_ACTION = 1.5
"""The longest list has at least this many rules per action."""
FEWEST_RULES = 6
"""The longest list has at least this many rules."""
MOST_RULES = 40
"""The longest list has at most this many rules."""
FEWEST_CANDIDATES = 30_000
"""A search tries this many lists and CANDIDATES_PER_STATE more for each state."""
CANDIDATES_PER_STATE = 200
"""See FEWEST_CANDIDATES."""
MOST_CANDIDATES = 50_000
"""A search tries at most this many lists."""
HOT = 0.03
"""A search begins at this temperature, in units of a state's mean value."""
COLD = 0.0001
"""A search ends at this temperature."""


class Lists(NamedTuple):
    """The population: what was counted, and the best list of each length."""

    counts: Ints
    """`(D, A, K)`: how often each outcome of each action followed."""
    bounds: NDArray[np.int32]
    """`(N, N, features, 2)`: row n − 1 has the list of n rules; the rest of the row is not used."""
    actions: NDArray[np.int32]
    """`(N, N)`."""
    fitness: Floats
    """`(N,)`: the weighted mean value of the states, by the model; `LearntTable.starts` has the weights."""

    def rules(self, n_rules: int, points: Ints) -> Rules:
        """Return a copy of the list of n rules, over states `(D, features)`."""
        lows, highs = np.moveaxis(self.bounds[n_rules - 1, :n_rules], 2, 0)
        return rules_over(points, lows, highs, self.actions[n_rules - 1, :n_rules].astype(np.int64))

    def put(self, rules: Rules, fitness: float) -> None:
        """Write a list over the one of its length."""
        n_rules = len(rules.actions)
        self.bounds[n_rules - 1, :n_rules] = np.stack([rules.lows, rules.highs], axis=2)
        self.actions[n_rules - 1, :n_rules], self.fitness[n_rules - 1] = rules.actions, fitness

    def copied(self) -> Lists:
        """Return the same lists in arrays of their own."""
        counts, bounds, actions, fitness = self
        return Lists(counts.copy(), bounds.copy(), actions.copy(), fitness.copy())


class SolvedTable(NamedTuple):
    """What the counts say."""

    table: LearntTable
    values: Floats
    """`(D,)`: the optimal values by the model."""
    q: Floats
    """`(D, A)`: the optimal action values by the model."""

    @property
    def optimum(self) -> float:
        """The weighted mean value of the states under an optimal policy."""
        return float(self.table.starts @ self.values)

    @property
    def unit(self) -> float:
        """What temperatures are measured in: the mean size of a state's value."""
        return float(np.abs(self.values).mean()) or 1.0


def solved_table(table: LearntTable) -> SolvedTable:
    """Return what a table says, with its optimal values."""
    n_states, n_actions, _ = table.next_state.shape
    solved = SolvedTable(table, np.zeros(n_states), np.zeros((n_states, n_actions)))
    solve(table, solved.values, solved.q)
    return solved


def rules_for(n_states: int, n_actions: int) -> int:
    """Return the length of the longest list, for a number of states and actions."""
    fewest = max(round(RULES_PER_ACTION * n_actions), FEWEST_RULES)
    return min(max(round(RULES_PER_STATE * n_states), fewest), MOST_RULES)


def candidates_for(n_states: int) -> int:
    """Return how many lists a search tries, for a number of states."""
    return min(FEWEST_CANDIDATES + CANDIDATES_PER_STATE * n_states, MOST_CANDIDATES)


def first_lists(solved: SolvedTable, counts: Ints, first: Rules) -> Lists:
    """Return a list, and what is left of it with fewer rules."""
    n_rules, n_features = first.lows.shape
    bounds = np.zeros((n_rules, n_rules, n_features, 2), np.int32)
    bounds[:] = solved.table.lows[:, None]
    lists = Lists(counts, bounds, np.zeros((n_rules, n_rules), np.int32), np.full(n_rules, -np.inf))
    lists.put(first, float(list_value(solved.table, first)))
    fill_shorter(solved, lists)
    return lists


def random_rules(keys: list[int], table: LearntTable) -> Rules:
    """Return a list with a rule for each key: random actions in random states, the last one everywhere."""
    n_states, n_actions, _ = table.next_state.shape
    rule_states = np.array([key % n_states for key in keys])
    rule_actions = np.array([key // n_states % n_actions for key in keys])
    return total(table, table.points[rule_states], table.points[rule_states], rule_actions)


def search_length(key: np.uint64, n: int, solved: SolvedTable, lists: Lists, candidates: int) -> None:
    """Anneal a list of n rules and keep the best, if it is better than the one there is.

    Args:
        key: the stream that changes are drawn from.
        n: how many rules.
        solved: the table.
        lists: the best list of each length so far; changes.
        candidates: how many lists to try.
    """
    table, unit = solved.table, solved.unit
    start = max(starts(lists, n, solved), key=lambda rules: float(list_value(table, rules)))
    if n == 1:
        lists.put(start, float(list_value(table, start)))
        return
    best = copied(start)
    value = anneal(key, table, candidates, HOT * unit, COLD * unit, start, best)
    if value > lists.fitness[n - 1]:
        widen(table.points, best, table.lows, table.highs)
        lists.put(best, float(value))


def total(table: LearntTable, lows: NDArray[Any], highs: NDArray[Any], actions: NDArray[Any]) -> Rules:
    """Return a list whose last rule holds everywhere, whatever its condition was."""
    lows, highs = np.array(lows), np.array(highs)
    lows[-1], highs[-1] = table.lows, table.highs
    return rules_over(table.points, lows, highs, actions)


def starts(lists: Lists, n: int, solved: SolvedTable) -> list[Rules]:
    """Return the lists that a search of n rules may begin with: the present one, and a longer one shortened.

    For one rule they are all lists there are.
    """
    table, n_actions = solved.table, solved.q.shape[1]
    if n == 1:
        return [total(table, table.lows[None], table.highs[None], np.array([a])) for a in range(n_actions)]
    rules = [lists.rules(n, table.points)]
    if n < len(lists.fitness):
        longer, order = lists.rules(n + 1, table.points), np.zeros(1, np.int64)
        drop_least_missed(table, copied(longer), DRIFT * solved.unit, order, np.zeros(1))
        rules.append(picked(longer, np.delete(np.arange(n + 1), order)))
    return rules


def fill_shorter(solved: SolvedTable, lists: Lists) -> None:
    """Write for every length what the longest list leaves without its least missed rules."""
    n, table = len(lists.fitness), solved.table
    longest, order, values = lists.rules(n, table.points), np.zeros(n - 1, np.int64), np.zeros(n - 1)
    drop_least_missed(table, copied(longest), DRIFT * solved.unit, order, values)
    for n_dropped in range(1, n):
        shorter = picked(longest, np.setdiff1d(np.arange(n), order[:n_dropped]))
        lists.put(shorter, float(values[n_dropped - 1]))
