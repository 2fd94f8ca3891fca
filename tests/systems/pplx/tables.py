"""Small learnt tables and lists for the tests of PPL-X."""

from __future__ import annotations

import numpy as np

from ifthen.randomness import stream
from ifthen.systems.pplx.learnt_table import LearntTable
from ifthen.systems.pplx.table_lists import Rules, rules_over
from tests.naive_pplx import Rule

WIDTH, HEIGHT, ACTIONS, OUTCOMES = 4, 3, 3, 2
KEY = stream(5, "pplx tests")


def table(seed: int = 0, gamma: float = 0.9) -> LearntTable:
    """Return a table with random outcomes and rewards, in which no two policies are worth the same."""
    rng, states = np.random.default_rng(seed), WIDTH * HEIGHT
    shares = rng.random((states, ACTIONS, OUTCOMES)) + 0.1
    shares /= shares.sum(axis=2, keepdims=True)
    reward = rng.random((states, ACTIONS, OUTCOMES)) - 0.3
    starts = rng.random(states)
    return LearntTable(
        rng.integers(-1, states, (states, ACTIONS, OUTCOMES)).astype(np.int32),
        reward,
        shares,
        (shares * reward).sum(axis=2),
        starts / starts.sum(),
        np.array([(x, y) for y in range(HEIGHT) for x in range(WIDTH)]),
        np.array([0, 0]),
        np.array([WIDTH - 1, HEIGHT - 1]),
        gamma,
    )


def some_rules(seed: int, n: int = 5) -> list[Rule]:
    """Return a random list, the last rule of which holds everywhere."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n - 1):
        xs, ys = np.sort(rng.integers(0, WIDTH, 2)).tolist(), np.sort(rng.integers(0, HEIGHT, 2)).tolist()
        found.append(([xs[0], ys[0]], [xs[1], ys[1]], int(rng.integers(ACTIONS))))
    return [*found, ([0, 0], [WIDTH - 1, HEIGHT - 1], int(rng.integers(ACTIONS)))]


def as_rules(rules: list[Rule]) -> Rules:
    """Return a list as kernels take it."""
    lows, highs, actions = (np.array(part) for part in zip(*rules, strict=True))
    return rules_over(table().points, lows, highs, actions)


def plain(rules: Rules) -> list[Rule]:
    """Return a list as the oracles take it; its masks must fit its boxes."""
    found = list(zip(rules.lows.tolist(), rules.highs.tolist(), rules.actions.tolist(), strict=True))
    assert as_rules(found).masks.tolist() == rules.masks.tolist()
    return found
