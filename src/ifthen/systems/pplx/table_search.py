"""The search for the best list of each length on a learnt table.

Every length begins with the best of three lists: the one of that length, the next longer one without its
least missed rule, and the next shorter one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.parallel import for_slices
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
FEWEST_CANDIDATES = 5_000
"""A search tries this many lists and CANDIDATES_PER_STATE more for each state."""
CANDIDATES_PER_STATE = 150
"""See FEWEST_CANDIDATES."""
MOST_CANDIDATES = 25_000
"""A search tries at most this many lists."""
CHAINS = 2
"""This many lists are annealed side by side. The best one is kept."""
LONGER = 4
"""The first search tries four times as many lists, because it has the most to find."""
HOT = 0.03
"""The first searches and every second chain begin at this temperature, in units of a state's mean value."""
WARM = 0.003
"""The other chains begin at this temperature."""
COLD = 0.0001
"""All chains end at this temperature."""


class Lists(NamedTuple):
    """The population: what was counted, and the best list of each length."""

    counts: Ints
    """`(D, A, K)`: how often each outcome of each action followed."""
    bounds: NDArray[np.int32]
    """`(N, N, features, 2)`: row n − 1 has the list of n rules; the rest of the row is not used."""
    actions: NDArray[np.int32]
    """`(N, N)`."""
    fitness: Floats
    """`(N,)`: the mean value of the starts, by the model."""

    def rules(self, n: int, points: Ints) -> Rules:
        """Return a copy of the list of n rules, over states `(D, features)`."""
        lows, highs = np.moveaxis(self.bounds[n - 1, :n], 2, 0)
        return rules_over(points, lows, highs, self.actions[n - 1, :n].astype(np.int64))

    def put(self, rules: Rules, fitness: float) -> None:
        """Write a list over the one of its length."""
        n = len(rules.actions)
        self.bounds[n - 1, :n] = np.stack([rules.lows, rules.highs], axis=2)
        self.actions[n - 1, :n], self.fitness[n - 1] = rules.actions, fitness

    def copied(self) -> Lists:
        """Return the same lists in arrays of their own."""
        counts, bounds, actions, fitness = self
        return Lists(counts.copy(), bounds.copy(), actions.copy(), fitness.copy())


class Known(NamedTuple):
    """What the counts say."""

    table: LearntTable
    values: Floats
    """`(D,)`: the optimal values by the model."""
    q: Floats
    """`(D, A)`: the optimal action values by the model."""

    @property
    def optimum(self) -> float:
        """The mean value of the starts under an optimal policy."""
        return float(self.table.starts @ self.values)

    @property
    def unit(self) -> float:
        """What temperatures are measured in: the mean size of a state's value."""
        return float(np.abs(self.values).mean()) or 1.0


def known_of(table: LearntTable) -> Known:
    """Return what a table says, with its optimal values."""
    states, actions, _ = table.next_state.shape
    known = Known(table, np.zeros(states), np.zeros((states, actions)))
    solve(table, known.values, known.q)
    return known


def rules_for(states: int, actions: int) -> int:
    """Return the length of the longest list, for a number of states and actions."""
    fewest = max(round(RULES_PER_ACTION * actions), FEWEST_RULES)
    return min(max(round(RULES_PER_STATE * states), fewest), MOST_RULES)


def candidates_for(states: int) -> int:
    """Return how many lists a search tries, for a number of states."""
    return min(FEWEST_CANDIDATES + CANDIDATES_PER_STATE * states, MOST_CANDIDATES)


def first_lists(known: Known, counts: Ints, first: Rules) -> Lists:
    """Return a list, and what is left of it with fewer rules."""
    n, features = first.lows.shape
    bounds = np.zeros((n, n, features, 2), np.int32)
    bounds[:] = known.table.lows[:, None]
    lists = Lists(counts, bounds, np.zeros((n, n), np.int32), np.full(n, -np.inf))
    lists.put(first, float(list_value(known.table, first)))
    shorten(known, lists)
    return lists


def random_rules(keys: list[int], table: LearntTable) -> Rules:
    """Return a list with a rule for each key: random actions in random states, the last one everywhere."""
    states, actions, _ = table.next_state.shape
    places = np.array([key % states for key in keys])
    does = np.array([key // states % actions for key in keys])
    return total(table, table.points[places], table.points[places], does)


def search_length(
    keys: list[np.uint64], n: int, known: Known, lists: Lists, candidates: int, first: bool, threads: int
) -> None:
    """Anneal lists of n rules and keep the best, if it is better than the one there is.

    Args:
        keys: a stream for each chain.
        n: how many rules.
        known: the table.
        lists: the best list of each length so far; changes.
        candidates: how many lists each chain tries.
        first: whether all chains begin hot.
        threads: how many threads to use.
    """
    table, unit = known.table, known.unit
    begin = best_of(neighbours(lists, n, known), table)
    if n == 1:
        lists.put(begin, float(list_value(table, begin)))
        return
    found, values = [copied(begin) for _ in keys], np.empty(len(keys))

    def work(first_chain: int, last_chain: int) -> None:
        for c in range(first_chain, last_chain):
            hot = HOT if first or c % 2 else WARM
            values[c] = anneal(keys[c], table, candidates, unit * hot, unit * COLD, copied(begin), found[c])

    for_slices(work, len(keys), threads)
    best = int(values.argmax())
    if values[best] > lists.fitness[n - 1]:
        widen(table.points, found[best], table.lows, table.highs)
        lists.put(found[best], float(values[best]))


def total(table: LearntTable, lows: NDArray[Any], highs: NDArray[Any], actions: NDArray[Any]) -> Rules:
    """Return a list whose last rule holds everywhere, whatever its condition was."""
    lows, highs = np.array(lows), np.array(highs)
    lows[-1], highs[-1] = table.lows, table.highs
    return rules_over(table.points, lows, highs, actions)


def neighbours(lists: Lists, n: int, known: Known) -> list[Rules]:
    """Return the lists to begin a search of n rules with: the present one, a longer and a shorter one.

    For one rule they are all lists there are.
    """
    table, actions = known.table, known.q.shape[1]
    if n == 1:
        return [total(table, table.lows[None], table.highs[None], np.array([a])) for a in range(actions)]
    twice = np.maximum(np.arange(n) - 1, 0)  # the shorter one's first rule comes twice
    found = [lists.rules(n, table.points), picked(lists.rules(n - 1, table.points), twice)]
    if n < len(lists.fitness):
        longer, order = lists.rules(n + 1, table.points), np.zeros(1, np.int64)
        drop_least_missed(table, copied(longer), DRIFT * known.unit, order, np.zeros(1))
        found.append(picked(longer, np.delete(np.arange(n + 1), order)))
    return found


def best_of(candidates: list[Rules], table: LearntTable) -> Rules:
    """Return the list that is worth most; the first of several."""
    return max(candidates, key=lambda rules: float(list_value(table, rules)))


def shorten(known: Known, lists: Lists) -> None:
    """Write for every length what the longest list leaves without its least missed rules."""
    n, table = len(lists.fitness), known.table
    longest, order, values = lists.rules(n, table.points), np.zeros(n - 1, np.int64), np.zeros(n - 1)
    drop_least_missed(table, copied(longest), DRIFT * known.unit, order, values)
    for gone in range(1, n):
        rest = picked(longest, np.setdiff1d(np.arange(n), order[:gone]))
        lists.put(rest, float(values[gone - 1]))
