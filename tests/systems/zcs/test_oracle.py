"""The kernels of ZCS against plain Python: the same rules, strengths and counters, number for number."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import ZCS, TabularTask, env_task, frozen_lake, maze
from ifthen.simulate.table_noise import plan
from ifthen.systems.learning import NEVER, Goal
from ifthen.systems.zcs.breed import breed, cover, spin
from ifthen.systems.zcs.zcs_population import COVERINGS, GA_INVOCATIONS, STEPS, Learning, packed
from ifthen.systems.zcs.zcs_steps import act, clip, is_too_low, match_set, settle
from tests import naive
from tests.naive_zcs import NaiveZCS, Rule, clipped, spun

pytestmark = pytest.mark.oracle
GOAL = Goal("epochs", 1)


class TableWorld:
    """A table as the oracle plays it."""

    def __init__(self, task: TabularTask, key: Any) -> None:
        self.task, self.key, self.state = task, key, 0

    def seen(self) -> list[float]:
        return [float(x) for x in self.task.dynamics.points[self.state]]

    def begin(self, episode: int) -> list[float]:
        starts = self.task.dynamics.starts
        self.state = int(starts[naive.below(naive.fold(self.key, 0), episode, len(starts))])
        return self.seen()

    def step(self, action: int, step: int) -> tuple[list[float], float, bool]:
        model = self.task.dynamics
        u = naive.uniform(naive.fold(naive.fold(self.key, 1), step), 2)
        k = int(np.searchsorted(plan(self.task).cuts[:-1], u, side="right"))
        follows, reward = (
            int(model.next_state[self.state, action, k]),
            float(model.reward[self.state, action, k]),
        )
        self.state = max(follows, 0)
        return self.seen(), reward, follows < 0


class EnvWorld:
    """An environment as the oracle plays it."""

    def __init__(self, task: Any, key: Any) -> None:
        self.task, self.key, self.env = task, key, gymnasium.make(task.environment)

    def begin(self, episode: int) -> list[float]:
        pool = self.task.pool
        seen, _ = self.env.reset(seed=int(pool[naive.below(naive.fold(self.key, 0), episode, len(pool))]))
        return [float(x) for x in seen]

    def step(self, action: int, step: int) -> tuple[list[float], float, bool]:
        seen, reward, terminated, _, _ = self.env.step(action)
        return [float(x) for x in seen], float(reward), bool(terminated)


def plain(system: ZCS) -> NaiveZCS:
    """Return the oracle of a system, before anything."""
    learning = system._learning(system.begin(GOAL)[0])
    features = list(
        zip(
            learning.lows.tolist(),
            learning.highs.tolist(),
            learning.reach.tolist(),
            learning.real.tolist(),
            strict=True,
        )
    )
    found = NaiveZCS(int(system._key), features, learning.settings._asdict())
    found.fill(system.parameters.s0)
    return found


def rules_of(learning: Learning) -> list[Rule]:
    n = learning.settings.rules
    parts = learning.bounds[:n].tolist(), learning.action[:n].tolist(), learning.strength[:n].tolist()
    return [Rule([tuple(ends) for ends in box], a, s) for box, a, s in zip(*parts, strict=True)]


SMALL: dict[str, Any] = {"pop_limit": 30, "rho": 1.0, "mu": 0.2, "threads": 1}


@pytest.mark.parametrize(
    ("task", "options"),
    [
        (maze("Woods1", coding="bits"), {"s0": 5.0}),
        (maze("Maze4"), {"phi": 3.0, "rho_counts": "calls"}),
        (frozen_lake(4, 0.3, t_max=30), {"p_any": 0.5}),
        (frozen_lake(4, 0.3, t_max=30).replaced(reward=-frozen_lake(4, 0.3).reward), {"p_any": 0.4}),
    ],
)
def test_learning_on_a_table_is_the_oracles(task: TabularTask, options: dict[str, Any]) -> None:
    system = ZCS(task, seed=5, **{**SMALL, **options})
    oracle, learning = plain(system), system._learning(system.begin(GOAL)[0])
    assert rules_of(learning) == oracle.rules
    for steps, episodes in ((NEVER, 6), (60, NEVER)):
        system._play(learning, steps, episodes)
        oracle.run(TableWorld(task, int(system._key)), task.t_max, steps, episodes)
        assert rules_of(learning) == oracle.rules
        assert learning.clock[[STEPS, GA_INVOCATIONS, COVERINGS]].tolist() == [
            oracle.steps,
            oracle.invocations,
            oracle.coverings,
        ]
        assert packed(learning).recent[: len(oracle.lengths)].tolist() == oracle.lengths
    assert oracle.invocations > 5
    assert oracle.coverings > 0 or "p_any" in options


@pytest.mark.parametrize("player", ["twin", "sync"])
def test_learning_in_an_environment_is_the_oracles(player: Any) -> None:
    task = env_task("CartPole-v1", player=player, t_max=40)
    system = ZCS(task, seed=2, **SMALL)
    oracle, learning = plain(system), system._learning(system.begin(GOAL)[0])
    system._play(learning, NEVER, 6)
    oracle.run(EnvWorld(task, int(system._key)), task.t_max, NEVER, 6)
    assert rules_of(learning) == oracle.rules
    assert learning.clock[STEPS] == oracle.steps


@given(st.floats(0, 1, exclude_max=True), st.lists(st.floats(0, 1e6), min_size=1, max_size=9))
def test_a_wheel_is_spun_as_the_oracle_does(u: float, shares: list[float]) -> None:
    assert spin(u, len(shares), np.array(shares)) == spun(u, shares)


def test_single_steps_are_the_oracles() -> None:
    system = ZCS(maze("Maze4"), seed=1, **SMALL)
    oracle, learning = plain(system), system._learning(system.begin(GOAL)[0])
    point = [-1.0, 0.0, 1.0, 2.0, 3.0, 1.0, 0.0, 1.0]
    learning.observation[0] = point
    clip(learning)
    seen = clipped(point, oracle.whole)
    assert learning.observation[0].tolist() == seen
    found = [rules_of(learning)[r] for r in learning.members[: match_set(learning)]]
    assert found == oracle.matching(seen)
    cover(np.uint64(3), 7.0, learning)
    oracle.cover(3, seen, 7.0)
    assert act(np.uint64(system._key), learning) == oracle.act(seen)
    settle(np.uint64(system._key), 1000.0, True, False, learning)
    oracle.settle(1000.0, True, False)
    breed(np.uint64(9), learning)
    oracle.breed(9)
    assert rules_of(learning) == oracle.rules
    assert sorted(np.flatnonzero(learning.action_set)) == [
        r for r, rule in enumerate(oracle.rules) if any(rule is b for b in oracle.before)
    ]


@pytest.mark.parametrize("least", [0.0, -1.0, -1 / 3])
def test_rewards_that_are_too_low_are_the_oracles(least: float) -> None:
    system = ZCS(maze("Woods1"), least_reward=least, **SMALL)
    oracle, learning = plain(system), system._learning(system.begin(GOAL)[0])
    for reward in (least, least - 1e-12, least - 1e-6, least + 1e-6, 5.0, -5.0):
        assert is_too_low(reward, learning) == oracle.is_too_low(reward)
