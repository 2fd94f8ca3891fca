from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray

from ifthen.environments.twin_registry import twin_of
from ifthen.errors import TaskError
from ifthen.jit import kernel
from ifthen.rules.batch import Intervals, RuleBatch, chosen
from ifthen.rules.blocks import chosen_by_blocks, fill_blocks, holding, new_blocks
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Episodes
from ifthen.simulate.twin_play import step_lanes
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.twin import Twin, call_step, twin_step
from tests import naive_envs
from tests.envs import choosers, random_lists, random_strengths, task_of

CLASSIC = ("CartPole-v1", "MountainCar-v0", "Acrobot-v1")
SEEDS = np.array([3, 1, 4, 1_000_005])


def twin(task: EnvTask) -> Twin:
    """Return the twin of a task, which must have one."""
    found = twin_of(task)
    assert found is not None
    return found


def player(task: EnvTask, threads: int = 1) -> TwinSimulator:
    """Return what plays a task in its twin."""
    return TwinSimulator(task, twin(task), threads)


def play(task: EnvTask, rules: RuleBatch, seeds: NDArray[np.int64] = SEEDS, threads: int = 1) -> Episodes:
    """Play rules in the task's twin."""
    return player(task, threads).play(rules, seeds)


def check_against_the_environment(task: EnvTask, rules: RuleBatch) -> Episodes:
    """Compare episodes in the twin with episodes in the real environment; return them."""
    found = play(task, rules)
    for i, choose in enumerate(choosers(task, rules)):
        for e, seed in enumerate(SEEDS.tolist()):
            alone = naive_envs.episode(task, choose, seed)
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


@pytest.mark.oracle
def test_episodes_end_at_the_end_at_the_limit_and_where_no_rule_matches() -> None:
    task = task_of("CartPole-v1", t_max=9)
    found = check_against_the_environment(task, random_lists(task, 40))
    assert set(np.unique(found.endings)) == {TERMINATED, TRUNCATED, NO_RULE}
    assert (found.steps[found.endings == TRUNCATED] == 9).all()


def test_the_environments_own_limit_holds_where_the_tasks_is_later() -> None:
    task = task_of("MountainCar-v0", t_max=1000)
    found = check_against_the_environment(task, random_lists(task, 2, gaps=False))
    assert (found.steps == 200).all()


def test_a_default_action_leaves_no_state_without_one() -> None:
    task = task_of("CartPole-v1")
    with_gaps, filled = random_lists(task, 20, rules=2), random_lists(task, 20, rules=2, default=1)
    assert (play(task, with_gaps).endings == NO_RULE).any()
    assert not (check_against_the_environment(task, filled).endings == NO_RULE).any()


@pytest.mark.parametrize("threads", [2, 4])
def test_the_number_of_threads_cannot_be_seen_in_results(threads: int) -> None:
    task = task_of("Acrobot-v1")
    for rules in (random_lists(task, 13), random_strengths(task, 13)):
        alone, together = play(task, rules), play(task, rules, threads=threads)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.oracle
@pytest.mark.parametrize("rules", [1, 7, 8, 9, 16, 30])
@pytest.mark.parametrize("kind", ["list", "strength", "ties"])
@pytest.mark.parametrize("ragged", [False, True])
def test_blocks_choose_as_intervals_do(kind: str, rules: int, ragged: bool) -> None:
    task = task_of("Acrobot-v1")
    batch = (
        random_lists(task, 4, rules, ragged=ragged)
        if kind == "list"
        else random_strengths(task, 4, rules, ties=kind == "ties", ragged=ragged)
    )
    book = Intervals.of(batch, task.features)
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
    return holding(lows, highs, first, value, ())


@kernel
def held_round(lows: NDArray[np.float64], highs: NDArray[np.float64], first: int, value: float) -> int:
    return holding(lows, highs, first, value, (True,))


def test_intervals_hold_both_their_ends_and_never_nan() -> None:
    lows = np.array([9.0, 0.0, -np.inf, 1.0, np.nextafter(1, 2), np.inf, -np.inf, -1.0, 0.0])
    highs = np.array([9.0, 1.0, 1.0, 1.0, 2.0, -np.inf, np.inf, np.nextafter(1, 0), 2.0])
    inside = [low <= 1.0 <= high for low, high in zip(lows[1:], highs[1:], strict=True)]
    bits = sum(bit << r for r, bit in enumerate(inside))
    for hold in (held, held_round, partial(holding, wrap=())):
        assert hold(lows, highs, 1, 1.0) == bits
        assert hold(lows, highs, 1, np.nan) == 0


def test_intervals_that_wrap_hold_what_lies_beyond_their_ends() -> None:
    lows, highs = (
        np.array([3.0, 3.0, 1.0, 1.0, 5.0, 2.0, np.inf, 0.0]),
        np.array([1.0] * 4 + [4.0] * 3 + [9.0]),
    )
    for value in (0.0, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 9.0):
        inside = (value >= lows) & (value <= highs) | (lows > highs) & ((value >= lows) | (value <= highs))
        bits = sum(int(bit) << r for r, bit in enumerate(inside))
        assert held_round(lows, highs, 0, value) == holding(lows, highs, 0, value, (True,)) == bits


@pytest.mark.parametrize("environment", CLASSIC)
def test_any_policy_plays_all_seeds_side_by_side(environment: str) -> None:
    task = task_of(environment, t_max=100, gamma=0.97)
    rules = random_lists(task, 3)
    laid_out = Intervals.of(rules, task.features)

    def choose(i: int, points: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.array([chosen(laid_out, i, points, lane) for lane in range(len(points))])

    found = play(task, rules)
    for i in range(3):
        alone = player(task).play_policy(partial(choose, i), SEEDS)
        for name in Episodes._fields:
            np.testing.assert_array_equal(getattr(alone, name)[0], getattr(found, name)[i])


@pytest.mark.oracle
@pytest.mark.parametrize("environment", CLASSIC)
def test_steps_of_all_lanes_are_those_of_the_environment(environment: str) -> None:
    task = task_of(environment)
    states, points = (array.copy() for array in player(task).starts(SEEDS)[:2])
    rewards, ends, still = np.zeros(len(SEEDS)), np.zeros(len(SEEDS), dtype=np.bool_), states[0].copy()
    actions = [1, 0, 1, 1]
    for action in actions:
        lanes = np.full(len(SEEDS), action)
        lanes[0] = -1  # this lane takes no step
        step_lanes(twin(task).step, states, lanes, points, rewards, ends)
    for lane, seed in list(enumerate(SEEDS.tolist()))[1:]:
        real = naive_envs.real_steps(task.make().unwrapped, actions, seed)
        assert states[lane].tolist() == real.states[-1]
        assert points[lane].tolist() == real.points[-1]
        assert (rewards[lane], ends[lane]) == (real.rewards[-1], real.ends[-1])
    assert (states[0] == still).all()
    assert (rewards[0], ends[0]) == (0, False)


def test_rulesets_see_values_inside_the_features_ranges() -> None:
    task = task_of("MountainCar-v0")
    narrow = replace(task.features[1], low=-0.001, high=0.001)
    task = replace(task, features=(task.features[0], narrow))
    rules = random_strengths(task, 3)
    assert (player(task).record(lambda points: np.full(len(points), 2), SEEDS)[0].points[:, 1] > 0.001).any()
    check_against_the_environment(task, rules)


def test_starts_are_what_the_environment_has_after_reset() -> None:
    task = task_of("Acrobot-v1")
    states, points, t_max = player(task).starts(SEEDS)
    assert t_max == 500
    env = task.make()
    for e, seed in enumerate(SEEDS.tolist()):
        observation, _ = env.reset(seed=seed)
        np.testing.assert_array_equal(states[e], env.unwrapped.state)
        np.testing.assert_array_equal(points[e], observation)
    again = player(task).starts(SEEDS[::-1])
    np.testing.assert_array_equal(again.states, states[::-1])


def test_each_seed_is_reset_once() -> None:
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
    simulator = player(task)
    resets.clear()
    for seeds in ([5, 6, 5], [6, 7], [5, 6, 5], [7, 5]):
        simulator.starts(np.array(seeds))
    assert resets == [5, 6, 7]


@pytest.mark.parametrize("n", [0, 1])
def test_no_individuals_and_no_seeds_are_no_work(n: int) -> None:
    task = task_of("CartPole-v1")
    found = play(task, random_lists(task, 1).take(slice(0, n)), np.arange(1 - n))
    assert found.returns.shape == (n, 1 - n)


class Leak(gymnasium.Env[Any, Any]):
    """Counts its steps, and has a number that action 1 makes larger until it is infinite."""

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
        return self.state.copy(), 0.0, False, False, {}


@twin_step
def leak(state: Any, action: int, observation: Any, reward: Any) -> int:
    state[0] += 1.0
    if action == 1:
        state[1] *= 1e100
    observation[0] = state[0]
    observation[1] = state[1]
    reward[0] = np.inf if state[0] == 5 and state[1] > 1e250 else 0.0
    return 0


gymnasium.register("ifthen_tests/Leak-v0", entry_point="tests.simulate.test_twin:Leak", max_episode_steps=9)
LEAK = Twin("Leak", 2, leak)


def test_observations_that_are_not_finite_are_named_with_seed_step_and_feature() -> None:
    task = task_of("ifthen_tests/Leak-v0")
    rules, simulator = random_lists(task, 3, rules=1, gaps=False), TwinSimulator(task, LEAK)
    rules.actions[:] = [[0], [1], [0]]
    message = r"observed inf for f1 at step 4 of the episode with reset seed 3;.*finite"
    with pytest.raises(TaskError, match=message):
        simulator.play(rules, SEEDS)
    with pytest.raises(TaskError, match=message):
        simulator.play_policy(lambda points: np.ones(len(points), np.int64), SEEDS)


def test_rewards_that_are_not_finite_are_named_with_seed_and_step() -> None:
    task = task_of("ifthen_tests/Leak-v0")
    rules, simulator = random_lists(task, 1, rules=2, gaps=False), TwinSimulator(task, LEAK)
    rules.bounds[0, 0, 0], rules.bounds[0, 0, 1] = [-5, 2], [-5, 5]  # f0 counts the steps
    rules.actions[:] = [[1, 0]]
    message = r"gave the reward inf at step 5 of the episode with reset seed 3;.*finite"
    with pytest.raises(TaskError, match=message):
        simulator.play(rules, SEEDS)
    with pytest.raises(TaskError, match=message):
        simulator.play_policy(lambda points: (points[:, 0] <= 2).astype(np.int64), SEEDS)


@kernel
def two_steps(
    address: int, states: NDArray[np.float64], points: NDArray[np.float64], rewards: NDArray[np.float64]
) -> bool:
    first = call_step(address, states, 1, 1, points, rewards)
    return first or call_step(address, states, 1, 0, points, rewards)


@pytest.mark.oracle
def test_other_kernels_can_take_steps_in_a_lane_of_their_own() -> None:
    task = task_of("CartPole-v1")
    states, points = (array.copy() for array in player(task).starts(SEEDS)[:2])
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
        player(task).play_policy(lambda points: answer, SEEDS)
