from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from ifthen import ZCS, StrengthSumRules, env_task, evaluate, load, maze, prune
from ifthen.errors import ModelFileError, ParameterError, TaskError
from ifthen.systems.learning import Goal
from ifthen.systems.zcs.zcs_population import STEPS, TIME
from ifthen.systems.zcs.zcs_steps import act, settle
from tests.archives import with_array

GOAL = Goal("epochs", 1)


def woods(**options: Any) -> ZCS:
    return ZCS(maze("Woods1", coding="bits"), **{"threads": 1, **options})


def test_defaults_are_wilsons() -> None:
    p = woods().parameters
    assert (p.pop_limit, p.p_any, p.s0, p.beta, p.gamma, p.tau) == (400, 0.33, 20.0, 0.2, 0.71, 0.1)
    assert (p.chi, p.mu, p.rho, p.phi) == (0.5, 0.002, 0.25, 0.5)


def test_over_bits_a_condition_is_zero_one_or_open_and_a_third_is_open() -> None:
    population, _ = woods().begin(GOAL)
    assert set(map(tuple, population.bounds.reshape(-1, 2).tolist())) == {(0, 0), (1, 1), (0, 1)}
    open_ones = (population.bounds[:, :, 0] < population.bounds[:, :, 1]).mean()
    assert open_ones == pytest.approx(0.33, abs=0.02)
    assert (population.strength == 20).all()


@pytest.mark.parametrize(("counts", "share"), [("rules", 0.125), ("calls", 0.25)])
def test_both_readings_of_rho(counts: Any, share: float) -> None:
    system = woods(rho_counts=counts, seed=3).learn(episodes=400)
    row = system.history.row(-1, named=True)
    assert row["ga_invocations"] / row["steps"] == pytest.approx(share, rel=0.15)


def test_a_step_moves_strength_as_published() -> None:
    """S(A) changes by −βS(A) + βr, and the set before gains βγS(A)."""
    system = woods(rho=0.0, tau=0.25, phi=0.0)
    learning, key = system._learning(system.begin(GOAL)[0]), np.uint64(4)
    learning.observation[0] = system.task.dynamics.points[0]  # type: ignore[attr-defined]  # a table
    learning.action_set[:3] = True  # the set before
    before = learning.strength.copy()
    action = act(key, learning)
    acting = learning.action_set.copy()
    n = int(acting.sum())
    assert n > 0
    paid = 0.2 * before[:-2][acting].sum()
    expected = before[:-2].copy()
    expected[acting] *= 0.8
    losers = np.array(
        [r for r in learning.members.tolist() if learning.action[r] != action and learning.strength[r] < 20]
    )
    expected[losers] *= 0.75
    expected[:3] += 0.71 * paid / 3
    assert learning.strength[:-2] == pytest.approx(expected)
    settle(key, 1000.0, True, True, learning)
    expected[acting] += 0.2 * 1000 / n
    assert learning.strength[:-2] == pytest.approx(expected)
    assert not learning.action_set.any()
    assert learning.clock[[STEPS, TIME]].tolist() == [1, 0]


def test_woods1_is_learnt_to_the_published_plateau() -> None:
    system = woods(seed=1).learn(episodes=4000)
    assert max(system.history["mean_steps"].to_list()[-10:]) < 3.5
    assert system.history["mean_steps"][1] > 4
    found = evaluate(system).mean_steps
    assert found is not None
    assert found < 3


class Toll(gymnasium.Env[Any, Any]):
    """Pays −2 in every step; nothing else happens."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return int(action), -2.0, False, False, {}


def test_a_reward_below_the_least_one_that_is_known_is_refused() -> None:
    task = env_task(Toll, t_max=5, gamma=1.0)
    with pytest.raises(TaskError, match=r"pays -2 in a step.*\(0\).*give least_reward=-2"):
        ZCS(task, pop_limit=20).learn(episodes=3)
    told = ZCS(task, pop_limit=20, least_reward=-2.0).learn(episodes=3)
    known = ZCS(env_task(Toll, t_max=5, gamma=1.0, floor=-11.0), pop_limit=20).learn(episodes=3)
    assert told.ruleset == known.ruleset


def test_a_twins_reward_below_the_least_one_that_is_known_is_refused() -> None:
    with pytest.raises(TaskError, match=r"pays -1 in a step.*\(-0.75\)"):
        ZCS(env_task("MountainCar-v0", gamma=0.5, floor=-2.5), pop_limit=20).learn(episodes=1)
    ZCS("MountainCar-v0", pop_limit=20).learn(episodes=1)


def test_the_ga_runs_at_most_once_in_a_step() -> None:
    with pytest.raises(ParameterError, match="rho must be at most 1, not"):
        woods(rho=1.5, rho_counts="calls")
    assert woods(rho=1.5).parameters.rho == 1.5


def test_equal_rules_are_one_rule_with_all_their_strength() -> None:
    system = woods(seed=1).learn(episodes=500)
    rules, population = system.ruleset, system.now.population
    assert isinstance(rules, StrengthSumRules)
    assert rules.fitness.sum() == pytest.approx(population.strength.sum())
    points = system.task.dynamics.points  # type: ignore[attr-defined]  # a table
    sums = np.zeros((len(points), 8))
    for box, action, strength in zip(population.bounds, population.action, population.strength, strict=True):
        inside = ((points >= box[:, 0]) & (points <= box[:, 1])).all(axis=1)
        sums[inside, action] += strength
    assert rules.predict(points).tolist() == sums.argmax(axis=1).tolist()
    short = prune(rules, system.task)
    assert short.ruleset.predict(points).tolist() == rules.predict(points).tolist()
    assert len(short.ruleset) < len(rules) / 2


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("strength", lambda a: a * 0 - 1, "strengths must be"),
        ("strength", lambda a: a * 1e200, "strengths must be"),
        ("clock", lambda a: a + 1, "the clock counts"),
        ("recent", lambda a: a + 100, "the last problems"),
        ("bounds", lambda a: a + 0.5, "leave the ranges|whole numbers"),
        ("bounds", lambda a: a[:, :, ::-1].copy(), "lower bound"),
        ("action", lambda a: a + 8, "actions do not exist"),
        ("action", lambda a: a[1:], "must be int32 of shape"),
    ],
)
def test_a_file_that_could_not_have_been_written_is_refused(
    name: str, change: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.zip"
    woods(pop_limit=20).learn(episodes=3).save(path)
    changed = with_array(path, tmp_path, f"population/{name}", change)
    with pytest.raises(ModelFileError, match=message):
        load(changed)
