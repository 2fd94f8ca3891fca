from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.rules.batch import Intervals, RuleBatch
from ifthen.simulate.game import Running, settle
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Episodes
from ifthen.simulate.vector_simulator import VectorSimulator
from ifthen.tasks.gym_task import EnvTask
from tests import naive_envs
from tests.envs import ENDLESS, KINDS, LIMIT, WALK, Walk, choosers, random_lists, task_of

SEEDS = np.array([3, 1, 4, 1_000_005, 9])


def play(task: EnvTask, rules: RuleBatch, seeds: NDArray[np.int64]) -> Episodes:
    """Play rules in lanes."""
    return VectorSimulator(task).play(rules, seeds)


def check_against_single_episodes(task: EnvTask, rules: RuleBatch, seeds: NDArray[np.int64]) -> Episodes:
    """Compare a play of lanes with episodes played one after the other; returns it."""
    found = play(task, rules, seeds)
    n = len(rules.actions)
    assert found.returns.shape == found.steps.shape == found.endings.shape == (n, len(seeds))
    for i, choose in enumerate(choosers(task, rules)):
        for k, seed in enumerate(seeds):
            alone = naive_envs.episode(task, choose, int(seed))
            assert found.returns[i, k] == alone.total
            assert found.steps[i, k] == len(alone.actions)
            assert found.endings[i, k] == alone.ending
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_are_those_of_single_environments_whatever_is_observed(kind: str) -> None:
    task = task_of(kind=kind)
    found = check_against_single_episodes(task, random_lists(task, 12), SEEDS)
    assert len(np.unique(found.returns)) > 5


@pytest.mark.parametrize("lanes", [1, 2, 7, 64])
def test_the_number_of_lanes_cannot_be_seen_in_results(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ifthen.simulate.lanes.MOST_LANES", lanes)
    task = task_of()
    found = check_against_single_episodes(task, random_lists(task, 8), SEEDS)
    assert set(np.unique(found.endings)) == {TERMINATED, TRUNCATED, NO_RULE}


def test_an_episode_depends_on_its_individual_and_seed_alone() -> None:
    task = task_of()
    rules = random_lists(task, 6)
    found = play(task, rules, SEEDS)
    order = np.array([4, 0, 5, 2, 1, 3])
    again = play(task, rules.take(order), SEEDS[::-1])
    np.testing.assert_array_equal(found.returns[order][:, ::-1], again.returns)
    np.testing.assert_array_equal(found.steps[order][:, ::-1], again.steps)
    np.testing.assert_array_equal(found.endings[order][:, ::-1], again.endings)


@pytest.mark.parametrize("start", [-1, 1, 7])
def test_actions_count_from_where_the_space_begins(start: int) -> None:
    task = task_of(start=start)
    check_against_single_episodes(task, random_lists(task, 6), SEEDS)
    moved = play(task, random_lists(task, 6), SEEDS)
    np.testing.assert_array_equal(moved.returns, play(task_of(), random_lists(task, 6), SEEDS).returns)


def test_rewards_are_discounted_by_gamma() -> None:
    task = task_of(gamma=0.9)
    found = check_against_single_episodes(task, random_lists(task, 6), SEEDS)
    assert (found.returns < 0).any()


def test_an_environment_without_an_end_is_truncated_after_t_max() -> None:
    task = task_of(ENDLESS, t_max=70)
    found = check_against_single_episodes(task, random_lists(task, 4, gaps=False), SEEDS)
    assert (found.steps == 70).all()
    assert (found.endings == TRUNCATED).all()


def test_the_environments_own_limit_truncates_where_it_comes_first() -> None:
    still = random_lists(task_of(), 1, gaps=False)._replace(actions=np.ones((1, 4), dtype=np.int32))
    found = check_against_single_episodes(task_of(t_max=500), still, np.arange(40))
    assert found.steps[found.endings == TRUNCATED].tolist() == [LIMIT] * int(
        (found.endings == TRUNCATED).sum()
    )
    assert {TERMINATED, TRUNCATED} == set(np.unique(found.endings))
    short = play(task_of(t_max=3), still, np.arange(40))
    assert (short.steps[short.endings == TRUNCATED] == 3).all()


def test_an_end_at_the_last_step_is_an_end() -> None:
    right = random_lists(task_of(), 1, gaps=False)._replace(actions=np.full((1, 4), 2, dtype=np.int32))
    free = play(task_of(), right, SEEDS)
    steps = int(free.steps[0, 0])
    assert play(task_of(t_max=steps), right, SEEDS).endings[0, 0] == TERMINATED


def test_a_null_action_ends_the_episode_without_a_step() -> None:
    task = task_of()
    rules = random_lists(task, 3)
    none = rules._replace(bounds=np.full_like(rules.bounds, 4.9))
    found = play(task, none, SEEDS)
    assert (found.endings == NO_RULE).all()
    assert not found.steps.any()
    assert not found.returns.any()
    assert (play(task, none._replace(default=1), SEEDS).endings != NO_RULE).all()


@pytest.mark.parametrize(
    ("wrong", "at", "words"),
    [
        ("nan", 5, r"observed nan for f0 at step 5 of the episode with reset seed 3"),
        ("nan", 0, r"observed nan for f0 at step 0 of the episode with reset seed 3"),
        ("infinite", 2, r"observed inf for f0 at step 2 of the episode with reset seed 3"),
        ("reward", 4, r"gave the reward inf at step 4 of the episode with reset seed 3"),
        ("crash", 4, r"raised RuntimeError in step \(step 4 of the episode with reset seed 3\): a wheel"),
        ("reset", 0, r"raised RuntimeError in reset \(step 0 of the episode with reset seed 3\): no way"),
    ],
)
def test_what_goes_wrong_is_told_with_feature_step_and_seed(wrong: str, at: int, words: str) -> None:
    task = task_of(ENDLESS, wrong=wrong, wrong_at=at)
    rules, simulator = random_lists(task, 2, gaps=False), VectorSimulator(task)
    for _ in range(2):  # nothing is left over from the first time
        with pytest.raises(TaskError, match=words):
            simulator.play(rules, SEEDS)


def test_nothing_to_play_is_no_error() -> None:
    task = task_of()
    assert play(task, random_lists(task, 3), np.empty(0, dtype=np.int64)).returns.shape == (3, 0)
    assert play(task, random_lists(task, 3).take(slice(0, 0)), SEEDS).returns.shape == (0, 5)


def middle(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Go to the middle, and nowhere from near there on the right side."""
    return np.where((points[:, 0] > 1) & (points[:, 0] < 1.5), -1, np.where(points[:, 0] > 0, 0, 2))


def test_any_policy_is_played_as_its_single_episodes() -> None:
    task = task_of(gamma=0.95)
    seeds = np.arange(90)
    found = VectorSimulator(task).play_policy(middle, seeds)
    recorded = VectorSimulator(task).record(middle, seeds)
    assert found.returns.shape == (1, 90)
    assert len(np.unique(found.endings)) > 1
    for k, seed in enumerate(seeds):
        alone = naive_envs.episode(task, lambda point: int(middle(np.array([point]))[0]), int(seed))
        assert (found.returns[0, k], found.endings[0, k]) == (alone.total, alone.ending)
        points, actions, rewards, ending, last, *others = recorded[k]
        assert others == [None, None, None]
        assert points.reshape(-1).tolist() == [number for point in alone.points for number in point]
        assert actions.tolist() == alone.actions
        assert rewards.tolist() == alone.rewards
        assert (ending, last.tolist()) == (alone.ending, alone.last)


def test_jobs_are_the_episodes_of_their_pairs() -> None:
    task = task_of("CartPole-v1", player="sync")
    rules = random_lists(task, 8, rules=6)
    draws = np.random.default_rng(1)
    individuals, seeds = draws.integers(0, 8, 100), draws.integers(0, 1000, 100)
    found = VectorSimulator(task).play_jobs(Intervals.of(rules, task.features), individuals, seeds)
    choose = choosers(task, rules)
    for job, (i, seed) in enumerate(zip(individuals.tolist(), seeds.tolist(), strict=True)):
        alone = naive_envs.episode(task, choose[i], seed)
        assert (found.returns[job], found.steps[job]) == (alone.total, len(alone.actions))
        assert found.endings[job] == alone.ending


@pytest.mark.parametrize("answer", [np.zeros(3, dtype=np.int64), np.full(5, 3), np.full(5, -2), np.zeros(5)])
def test_a_policy_that_returns_no_actions_is_refused(answer: NDArray[Any]) -> None:
    with pytest.raises(TaskError, match="must return 5 whole numbers from -1"):
        VectorSimulator(task_of()).play_policy(lambda points: answer, SEEDS)


def test_environments_are_made_once_and_closed_with_their_simulator() -> None:
    made: list[weakref.ref[Walk]] = []
    closed: list[int] = []

    class Counted(Walk):
        def __init__(self) -> None:
            super().__init__()
            made.append(weakref.ref(self))

        def close(self) -> None:
            closed.append(1)

    task = task_of(WALK, factory=Counted, t_max=20)
    rules = random_lists(task, 3)
    simulator = VectorSimulator(task)
    first = simulator.play(rules, SEEDS)
    count, before = len(made), len(closed)  # the task looks at the spaces of one, and closes it
    second = simulator.play(rules, SEEDS)
    assert len(made) == count
    np.testing.assert_array_equal(first.returns, second.returns)
    simulator.play(rules.take(slice(0, 1)), SEEDS[:2])  # fewer lanes than before
    np.testing.assert_array_equal(first.returns, simulator.play(rules, SEEDS).returns)
    assert (len(made), len(closed)) == (count, before)
    del simulator
    gc.collect()
    assert len(closed) == count


def test_settling_adds_rewards_and_tells_how_lanes_end() -> None:
    running = Running(np.array([0, 1, -1, 3, 4]), np.ones(5), np.full(5, 0.5), np.array([7, 9, 0, 2, 2]))
    ended = np.zeros(5, dtype=np.bool_)
    terminated, truncated = ended.copy(), ended.copy()
    terminated[0] = truncated[0] = truncated[3] = True
    actions = np.array([1, 1, -1, 1, -1])
    endings = np.empty(5, dtype=np.int8)
    points, rewards = np.zeros((5, 2)), np.full(5, -2.0)
    points[2], rewards[2] = np.nan, np.nan  # of a lane that rests
    bad = settle(points, rewards, terminated, truncated, actions, 0.9, 10, running, endings)
    assert bad == -1
    assert endings.tolist() == [TERMINATED, TRUNCATED, -1, TRUNCATED, NO_RULE]
    assert running.totals.tolist() == [0.0, 0.0, 1.0, 0.0, 1.0]
    assert running.weights.tolist() == [0.45, 0.45, 0.5, 0.45, 0.5]
    assert running.steps.tolist() == [8, 10, 0, 3, 2]
    points[3, 1] = np.inf
    assert settle(points, rewards, terminated, truncated, actions, 0.9, 10, running, endings) == 3
