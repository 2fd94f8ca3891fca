from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray

from ifthen import PPLST
from ifthen.errors import TaskError
from ifthen.inference.rulebook import STRENGTH, Rulebook
from ifthen.randomness import stream
from ifthen.systems.reinforce import draw_starts, reinforce, reinforce_in_env, update_action_set_at
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins import Twin, register_twin, twin_of, twin_step
from tests import naive, naive_envs
from tests.envs import random_lists, task_of
from tests.naive_envs import Individual

ETA, X0, ROLLOUTS = 0.2, 3.0, 3
KEY = stream(5, "reinforce", 2)
TASKS = {
    "cart pole": task_of("CartPole-v1", t_max=40, gamma=0.97),
    "mountain car": task_of("MountainCar-v0", t_max=25, gamma=0.9),
    "walk": task_of(gamma=0.95),
    "dict": task_of(kind="dict", start=3),
    "blackjack": task_of("Blackjack-v1"),
}


def population(task: EnvTask, n: int = 6, rules: int = 5, seed: int = 1) -> tuple[Any, Any, Any]:
    """Return bounds (half of the individuals with gaps), actions, and something learnt before."""
    draws = np.random.default_rng(seed)
    book, (lows, highs) = random_lists(task, n, rules, seed), task.ranges
    bounds = np.stack([np.clip(book.lows, lows, highs), np.clip(book.highs, lows, highs)], -1)
    whole = np.array([feature.is_integer for feature in task.features])
    bounds[..., whole, :] = np.round(bounds[..., whole, :])
    learnt = draws.normal(size=(n, rules, len(task.features) + 2))
    learnt[..., -1] **= 2
    return bounds, book.actions, learnt


def learn(
    task: EnvTask, learners: int = 6, paper: bool = False, threads: int = 1, rollouts: int = ROLLOUTS
) -> tuple[int, NDArray[np.float64]]:
    """Reinforce; return steps, and what was learnt."""
    bounds, actions, learnt = population(task)
    rules = Rulebook.of(STRENGTH, bounds, actions, learnt, task.features, X0)
    steps = reinforce_in_env(task, rules, learners, KEY, rollouts, ETA, paper, threads)
    assert rules.learnt is learnt
    return steps, learnt


def drawn(task: EnvTask, i: int) -> list[int]:
    """Return the reset seeds that individual i learns from."""
    own = naive.fold(int(KEY), i)
    return [int(task.pool[naive.below(naive.fold(own, j), 0, len(task.pool))]) for j in range(ROLLOUTS)]


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("name", TASKS)
def test_reinforcement_is_that_of_the_oracle_in_the_real_environment(name: str, paper: bool) -> None:
    task = TASKS[name]
    steps, learnt = learn(task, paper=paper)
    bounds, actions, before = population(task)
    total = 0
    for i in range(6):
        own = Individual(bounds[i], actions[i], before[i], task.features, X0)
        taken, expected = naive_envs.reinforced(task, own, drawn(task, i), ETA, paper)
        np.testing.assert_allclose(learnt[i], expected, rtol=1e-9, atol=1e-12)
        total += taken
    assert steps == total > 0
    assert not np.array_equal(learnt, before)


def test_individuals_and_rollouts_begin_from_different_seeds_of_the_pool() -> None:
    task = TASKS["walk"]
    every = [seed for i in range(6) for seed in drawn(task, i)]
    assert len(set(every)) > 12
    assert set(every) <= set(task.pool.tolist())
    starts = np.empty((ROLLOUTS, 6), dtype=np.int64)
    for j in range(ROLLOUTS):
        draw_starts(KEY, j, len(task.pool), starts[j])
    assert task.pool[starts].T.ravel().tolist() == every


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("name", ["cart pole", "mountain car"])
def test_the_twin_and_the_lanes_teach_the_same_to_the_last_bit(name: str, paper: bool) -> None:
    task = TASKS[name]
    assert twin_of(task) is not None
    steps, learnt = learn(task, paper=paper)
    for player in ("sync", "native"):
        if player == "sync" or name == "cart pole":
            other: Any = dataclasses.replace(task, player=player)
            assert twin_of(other) is None
            other_steps, other_learnt = learn(other, paper=paper)
            assert other_steps == steps
            assert other_learnt.tobytes() == learnt.tobytes()


def test_the_twin_stops_where_the_environment_itself_does() -> None:
    task = task_of("CartPole-v1", max_episode_steps=6, t_max=400)
    steps, learnt = learn(task)
    other_steps, other_learnt = learn(dataclasses.replace(task, player="sync"))
    assert steps == other_steps <= 6 * 6 * ROLLOUTS
    assert learnt.tobytes() == other_learnt.tobytes()


@pytest.mark.parametrize("name", ["cart pole", "walk"])
def test_threads_change_nothing(name: str) -> None:
    one, two = learn(TASKS[name]), learn(TASKS[name], threads=2)
    assert one[0] == two[0]
    assert one[1].tobytes() == two[1].tobytes()


@pytest.mark.parametrize("name", ["cart pole", "walk"])
def test_only_the_first_learn_where_others_are_to_stay_as_they_are(name: str) -> None:
    task = TASKS[name]
    _, all_learnt = learn(task)
    _, some_learnt = learn(task, learners=4)
    assert some_learnt[:4].tobytes() == all_learnt[:4].tobytes()
    assert some_learnt[4:].tobytes() == population(task)[2][4:].tobytes()
    steps, none_learnt = learn(task, learners=0)
    assert steps == 0
    assert none_learnt.tobytes() == population(task)[2].tobytes()
    assert learn(task, rollouts=0)[0] == 0


def test_one_update_moves_the_prediction_towards_the_payoff_by_eta() -> None:
    task = TASKS["walk"]
    everywhere = np.broadcast_to(np.array([-5.0, 5.0]), (1, 2, 2, 2))
    learnt = np.zeros((1, 2, 4))
    rules = Rulebook.of(STRENGTH, everywhere, np.array([[0, 1]], np.int32), learnt, task.features, X0)
    points = np.array([[100.0, 2.0]])  # clipped to 5
    update_action_set_at(rules, 0, points, 0, 1, 8.0, 0.25)
    assert learnt[0, 0].tolist() == [0, 0, 0, 0]
    assert learnt[0, 1, :3] @ [X0, 5.0, 2.0] == pytest.approx(2.0)
    assert learnt[0, 1, 3] == pytest.approx(0.25 * 6.0**2)


@pytest.mark.parametrize("paper", [False, True])
def test_trajectories_are_walked_backwards_with_the_payoffs_of_their_steps(paper: bool) -> None:
    task = TASKS["walk"]
    bounds, actions, learnt = population(task, n=2)
    rules = Rulebook.of(STRENGTH, bounds, actions, learnt, task.features, X0)
    own = Individual(bounds[1], actions[1], learnt[1].copy(), task.features, X0)
    draws = np.random.default_rng(0)
    points, rewards = draws.normal(0, 4, (7, 2)), draws.normal(size=7)
    taken = draws.integers(0, 3, 7)
    untouched = learnt[0].copy()
    reinforce(rules, 1, 7, points, taken, rewards, 0.9, ETA, paper)
    paid = naive_envs.payoffs(rewards.tolist(), 0.9, paper)
    for t in reversed(range(7)):
        naive_envs.reinforce_at(own, points[t].tolist(), int(taken[t]), paid[t], ETA)
    np.testing.assert_allclose(learnt[1], own.learnt, rtol=1e-12)
    np.testing.assert_array_equal(learnt[0], untouched)


# Numbers that are not finite


class Broken(gymnasium.Env[Any, Any]):
    """Goes wrong at step 4, as its twin does."""

    def __init__(self, wrong: str = "nan") -> None:
        self.observation_space = spaces.Box(-10, 10, (2,), np.float64)
        self.action_space = spaces.Discrete(2)
        self.wrong, self.state = wrong, np.zeros(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.state = np.array([float(self.np_random.uniform()), 0.0])
        return self.state.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.state[1] += 1
        seen = self.state.copy()
        if self.state[1] == 4:
            seen[1] = {"nan": np.nan, "infinite": np.inf}.get(self.wrong, seen[1])
        return seen, np.inf if self.wrong == "reward" and self.state[1] == 4 else 1.0, False, False, {}


def broken_step(wrong: float, wrong_reward: float) -> Any:
    @twin_step
    def step(state: Any, action: int, observation: Any, reward: Any) -> int:
        state[1] += 1
        observation[0] = state[0]
        observation[1] = state[1]
        reward[0] = 1.0
        if state[1] == 4:
            observation[1] = state[1] + wrong
            reward[0] = 1.0 + wrong_reward
        return 0

    return step


@pytest.mark.filterwarnings("ignore:.*twin of .* is not equal")
@pytest.mark.parametrize("player", ["auto", "sync"])
@pytest.mark.parametrize(
    ("wrong", "numbers", "message"),
    [
        ("nan", (np.nan, 0.0), r"observed nan for f1 at step 4 .*seed \d+"),
        ("infinite", (np.inf, 0.0), r"observed inf for f1 at step 4 .*seed \d+"),
        ("reward", (0.0, np.inf), r"gave the reward inf at step 4 .*seed \d+"),
    ],
)
def test_numbers_that_are_not_finite_are_caught_in_twin_and_lanes(
    wrong: str, numbers: tuple[float, float], message: str, player: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"ifthen_tests/Broken-{wrong}-v0"
    if name not in gymnasium.registry:
        broken: Any = Broken
        gymnasium.register(name, entry_point=broken, kwargs={"wrong": wrong}, disable_env_checker=True)
    task = task_of(name, t_max=9, player=player)
    if player == "auto":
        register_twin(name, Twin(wrong, 2, broken_step(*numbers)))
        monkeypatch.setattr("ifthen.tasks.twins.find.compare", lambda *_: None)
        assert twin_of(task) is not None
    everywhere = np.stack([np.stack(task.ranges, -1)] * 2)[None]
    rules = Rulebook.of(STRENGTH, everywhere, np.zeros((1, 2), np.int32), np.zeros((1, 2, 4)), task.features)
    with pytest.raises(TaskError, match=message):
        reinforce_in_env(task, rules, 1, KEY, 2, ETA, False, 1)
    system = PPLST(task, idv_size=2, pop_size=2, num_reinf_rollouts=1, threads=1, p_any=1.0, elites=0)
    with pytest.raises(TaskError, match=message):
        system.learn(1)
