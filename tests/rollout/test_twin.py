from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.inference.blocks import chosen_by_blocks, fill_blocks, holding, new_blocks
from ifthen.inference.rulebook import LIST, STRENGTH, Rulebook, chosen
from ifthen.jit import kernel
from ifthen.rollout.episodes import NULL, TERMINATED, TRUNCATED, Episodes
from ifthen.rollout.twin import play_twin, play_twin_policy, starts, step_twin
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins import Twin, twin_of, twin_step
from tests import naive_envs
from tests.envs import random_lists, task_of

CLASSIC = ("CartPole-v1", "MountainCar-v0", "Acrobot-v1")
SEEDS = np.array([3, 1, 4, 1_000_005])


def twin(task: EnvTask) -> Twin:
    """Return the twin of a task, which must have one."""
    found = twin_of(task)
    assert found is not None
    return found


def play(task: EnvTask, rules: Rulebook, seeds: NDArray[np.int64] = SEEDS, threads: int = 1) -> Episodes:
    """Play rules in the task's twin."""
    return play_twin(task, twin(task), rules, seeds, threads)


def random_strengths(task: EnvTask, n: int, rules: int = 5, seed: int = 0, ties: bool = False) -> Rulebook:
    """Return n random rulesets that choose by strength; with ties, all rules are equally strong."""
    lists = random_lists(task, n, rules, seed)
    learnt = np.random.default_rng(seed).normal(size=(n, rules, len(task.features) + 2))
    learnt[..., -1] **= 2
    return lists._replace(kind=STRENGTH, learnt=learnt * (not ties), x0=2.5)


def check_against_the_environment(task: EnvTask, rules: Rulebook) -> Episodes:
    """Compare episodes in the twin with episodes in the real environment; return them."""
    found = play(task, rules)
    choice = naive_envs.first_match if rules.kind == LIST else naive_envs.strongest
    for i in range(len(rules.actions)):
        for e, seed in enumerate(SEEDS.tolist()):
            alone = naive_envs.episode(task, partial(choice, rules, i), seed)
            assert found.returns[i, e] == alone.total
            assert found.steps[i, e] == len(alone.actions)
            assert found.endings[i, e] == alone.ending
    return found


@pytest.mark.parametrize("environment", CLASSIC)
def test_episodes_of_lists_are_those_of_the_environment(environment: str) -> None:
    task = task_of(environment, t_max=120)
    found = check_against_the_environment(task, random_lists(task, 6))
    assert len(np.unique(found.steps)) > 1


@pytest.mark.parametrize("environment", CLASSIC)
def test_episodes_of_strength_rules_are_those_of_the_environment(environment: str) -> None:
    task = task_of(environment, t_max=80)
    found = check_against_the_environment(task, random_strengths(task, 8, rules=2))
    assert len(np.unique(found.steps)) > 1


def test_rewards_are_discounted_and_plain_sums_are_exact() -> None:
    task = task_of("CartPole-v1", gamma=0.9)
    check_against_the_environment(task, random_lists(task, 6, gaps=False))
    plain = play(task_of("CartPole-v1"), random_lists(task, 6, gaps=False))
    np.testing.assert_array_equal(plain.returns, plain.steps)


def test_episodes_end_at_the_end_at_the_limit_and_where_no_rule_matches() -> None:
    task = task_of("CartPole-v1", t_max=9)
    found = check_against_the_environment(task, random_lists(task, 40))
    assert set(np.unique(found.endings)) == {TERMINATED, TRUNCATED, NULL}
    assert (found.steps[found.endings == TRUNCATED] == 9).all()


def test_the_environments_own_limit_holds_where_the_tasks_is_later() -> None:
    task = task_of("MountainCar-v0", t_max=1000)
    found = check_against_the_environment(task, random_lists(task, 2, gaps=False))
    assert (found.steps == 200).all()


def test_a_default_action_leaves_no_state_without_one() -> None:
    task = task_of("CartPole-v1")
    with_gaps, filled = random_lists(task, 20, rules=2), random_lists(task, 20, rules=2, default=1)
    assert (play(task, with_gaps).endings == NULL).any()
    assert not (check_against_the_environment(task, filled).endings == NULL).any()


@pytest.mark.parametrize("threads", [2, 4])
def test_the_number_of_threads_cannot_be_seen_in_results(threads: int) -> None:
    task = task_of("Acrobot-v1")
    for rules in (random_lists(task, 13), random_strengths(task, 13)):
        alone, together = play(task, rules), play(task, rules, threads=threads)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rules", [1, 7, 8, 9, 16, 30])
@pytest.mark.parametrize("kind", ["list", "strength", "ties"])
def test_blocks_choose_as_the_rulebook_does(kind: str, rules: int) -> None:
    task = task_of("Acrobot-v1")
    book = (
        random_lists(task, 4, rules)
        if kind == "list"
        else random_strengths(task, 4, rules, ties=kind == "ties")
    )
    lows, highs = task.ranges
    points = np.random.default_rng(1).uniform(1.2 * lows, 1.2 * highs, (50, len(lows)))
    naive = naive_envs.first_match if kind == "list" else naive_envs.strongest
    blocks, seen = new_blocks(book), set()
    for i in range(4):
        fill_blocks(book, i, blocks)
        for lane in range(len(points)):
            action = chosen_by_blocks(book, i, blocks, points, lane)
            assert action == chosen(book, i, points, lane) == naive(book, i, points[lane].tolist())
            seen.add(action)
    assert len(seen) > 1


@kernel
def held(lows: NDArray[np.float64], highs: NDArray[np.float64], first: int, value: float) -> int:
    return holding(lows, highs, first, value)


def test_intervals_hold_both_their_ends_and_never_nan() -> None:
    lows = np.array([9.0, 0.0, -np.inf, 1.0, np.nextafter(1, 2), np.inf, -np.inf, -1.0, 0.0])
    highs = np.array([9.0, 1.0, 1.0, 1.0, 2.0, -np.inf, np.inf, np.nextafter(1, 0), 2.0])
    inside = [low <= 1.0 <= high for low, high in zip(lows[1:], highs[1:], strict=True)]
    bits = sum(bit << r for r, bit in enumerate(inside))
    assert held(lows, highs, 1, 1.0) == holding(lows, highs, 1, 1.0) == bits
    assert held(lows, highs, 1, np.nan) == holding(lows, highs, 1, np.nan) == 0


@pytest.mark.parametrize("environment", CLASSIC)
def test_any_policy_plays_all_seeds_side_by_side(environment: str) -> None:
    task = task_of(environment, t_max=100, gamma=0.97)
    rules = random_lists(task, 3)

    def choose(i: int, points: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.array([chosen(rules, i, points, lane) for lane in range(len(points))])

    found = play(task, rules)
    for i in range(3):
        alone = play_twin_policy(task, twin(task), partial(choose, i), SEEDS)
        for name in Episodes._fields:
            np.testing.assert_array_equal(getattr(alone, name)[0], getattr(found, name)[i])


def test_policies_see_values_inside_the_features_ranges() -> None:
    task = task_of("MountainCar-v0")
    narrow = task.features[1]
    features = (task.features[0], replace(narrow, low=-0.001, high=0.001))
    task = replace(task, features=features)
    speeds = []

    def choose(points: NDArray[np.float64]) -> NDArray[np.int64]:
        speeds.append(points[:, 1].copy())
        return np.full(len(points), 2)

    play_twin_policy(task, twin(task), choose, SEEDS)
    assert {min(s.min() for s in speeds), max(s.max() for s in speeds)} == {-0.001, 0.001}


def test_starts_are_what_the_environment_has_after_reset() -> None:
    task = task_of("Acrobot-v1")
    states, points = starts(task, twin(task), SEEDS)
    env = task.make()
    for e, seed in enumerate(SEEDS.tolist()):
        observation, _ = env.reset(seed=seed)
        np.testing.assert_array_equal(states[e], env.unwrapped.state)
        np.testing.assert_array_equal(points[e], observation)
    again, _ = starts(task, twin(task), SEEDS[::-1])
    np.testing.assert_array_equal(again, states[::-1])


def test_each_seed_is_reset_once_and_forgotten_with_the_task() -> None:
    resets: list[int] = []

    def made() -> Any:
        env: Any = gymnasium.make("CartPole-v1")
        real = env.unwrapped.reset

        def reset(*, seed: int | None = None, options: Any = None) -> Any:
            resets.append(-1 if seed is None else seed)
            return real(seed=seed, options=options)

        env.unwrapped.reset = reset
        return env

    task = task_of("CartPole-v1", factory=made)
    own = twin(task)
    resets.clear()
    for seeds in ([5, 6, 5], [6, 7], [5, 6, 5], [7, 5]):
        starts(task, own, np.array(seeds))
    assert resets == [5, 6, 7]
    memory = weakref.ref(task)
    del task
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize("n", [0, 1])
def test_no_individuals_and_no_seeds_are_no_work(n: int) -> None:
    task = task_of("CartPole-v1")
    found = play(task, random_lists(task, 1).take(slice(0, n)), np.arange(1 - n))
    assert found.returns.shape == (n, 1 - n)


class Leak(gymnasium.Env[Any, Any]):
    """A number that doubles or grows by one; it becomes infinite after a while."""

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = spaces.Discrete(2)
        self.state = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.state = np.array([0.0, float(self.np_random.uniform(1, 2))])
        return self.state.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.state = self.state + np.array([1.0, 0.0])
        if action == 1:
            self.state[1] *= 1e100
        return self.state.copy(), float(self.state[1] > 1e250) * np.inf, False, False, {}


@twin_step
def leak(state: Any, action: int, observation: Any, reward: Any) -> int:
    state[0] += 1.0
    if action == 1:
        state[1] *= 1e100
    observation[0] = state[0]
    observation[1] = state[1]
    reward[0] = np.inf if state[1] > 1e250 else 0.0
    return 0


gymnasium.register("ifthen_tests/Leak-v0", entry_point="tests.rollout.test_twin:Leak", max_episode_steps=9)
LEAK = Twin("Leak", 2, leak)


def test_observations_that_are_not_finite_are_named_with_seed_step_and_feature() -> None:
    task = task_of("ifthen_tests/Leak-v0")
    rules = random_lists(task, 3, rules=1, gaps=False)
    rules.actions[:] = [[0], [1], [0]]
    with pytest.raises(TaskError, match=r"observed inf for f1 at step 4 after reset with seed 3;.*finite"):
        play_twin(task, LEAK, rules, SEEDS)
    with pytest.raises(TaskError, match=r"observed inf for f1 at step 4 after reset with seed 3;.*finite"):
        play_twin_policy(task, LEAK, lambda points: np.ones(len(points), np.int64), SEEDS)


def test_rewards_that_are_not_finite_are_refused() -> None:
    task = task_of("ifthen_tests/Leak-v0", t_max=3)
    rules = random_lists(task, 1, rules=1, gaps=False)
    rules.actions[:] = 1
    with pytest.raises(
        TaskError, match="rewards of ifthen_tests/Leak-v0 after reset with seed 3 have no finite sum"
    ):
        play_twin(task, LEAK, rules, SEEDS)


@kernel
def two_steps(
    address: int, states: NDArray[np.float64], points: NDArray[np.float64], rewards: NDArray[np.float64]
) -> bool:
    first = step_twin(address, states, 1, 1, points, rewards)
    return first or step_twin(address, states, 1, 0, points, rewards)


def test_other_kernels_can_take_steps_in_a_lane_of_their_own() -> None:
    task = task_of("CartPole-v1")
    states, points = (array.copy() for array in starts(task, twin(task), SEEDS))
    before, rewards = states.copy(), np.zeros(len(SEEDS))
    assert not two_steps(twin(task).step, states, points, rewards)
    real = naive_envs.real_steps(task.make().unwrapped, [1, 0], int(SEEDS[1]))
    assert states[1].tolist() == real.states[-1]
    assert points[1].tolist() == real.points[-1]
    assert rewards.tolist() == [0, 1, 0, 0]
    np.testing.assert_array_equal(np.delete(states, 1, 0), np.delete(before, 1, 0))


@pytest.mark.parametrize("answer", [np.zeros(3, dtype=np.int64), np.full(4, 2), np.full(4, -2), np.zeros(4)])
def test_a_policy_that_returns_no_actions_is_refused(answer: NDArray[Any]) -> None:
    task = task_of("CartPole-v1")
    with pytest.raises(TaskError, match="must return 4 whole numbers from -1"):
        play_twin_policy(task, twin(task), lambda points: answer, SEEDS)
