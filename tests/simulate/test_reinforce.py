"""Reinforcement of rules: the paper's update, on tables, in twins and in lanes, against the plain oracles."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import PPLST, TabularTask
from ifthen.environments.twin_registry import register_twin, twin_of
from ifthen.errors import TaskError
from ifthen.evolve.alleles import alleles_of
from ifthen.randomness import stream
from ifthen.rules.batch import STRENGTH, Intervals, RuleBatch
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.reinforce import (
    draw_starts,
    fill_payoffs,
    learning_rate,
    reinforce_episode,
    reinforce_rule,
)
from ifthen.simulate.simulator import Reinforcement
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_rules import new_workspace, reinforce_action_set, reinforce_rules
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.systems.pittsburgh import empty_population, random_rules
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.tabular_task import Dynamics
from ifthen.tasks.twin import Twin, twin_step
from tests import naive, naive_envs, naive_evolve
from tests.envs import individuals, random_strengths, task_of
from tests.naive_envs import Individual
from tests.rulesets import learnt_of
from tests.worlds import random_task

Floats = NDArray[np.float64]
ETA, X0, ROLLOUTS = 0.2, 2.5, 3
KEY = stream(5, "reinforce", 2)
TASKS = {
    "cart pole": task_of("CartPole-v1", t_max=40, gamma=0.97),
    "mountain car": task_of("MountainCar-v0", t_max=25, gamma=0.9),
    "walk": task_of(gamma=0.95),
    "dict": task_of(kind="dict", start=3),
    "blackjack": task_of("Blackjack-v1"),
}


# The update


def updated(
    learnt: Floats, members: list[int], state: list[float], payoff: float, eta: float = 0.1
) -> Floats:
    """Return what the rules have learnt after an update of the action set `members` at `state`."""
    model = Dynamics(
        next_state=np.full((1, 2, 1), -1, dtype=np.int32),
        reward=np.zeros((1, 2, 1)),
        probability=np.ones(1),
        starts=np.zeros(1, dtype=np.int32),
        states=np.array([state], dtype=np.int32),
        points=np.array([state]),
        lows=np.zeros(len(state), dtype=np.int32),
        cyclic=np.zeros(0, dtype=np.int64),
        widest=1,
        axes=tuple(range(len(state))),
    )
    space, out = new_workspace(len(learnt), 1, eta, 10.0, model), learnt.copy()
    space.masks[:], space.action_masks[:] = 0, 0
    for r in members:
        space.masks[0, r // 64] |= np.uint64(1 << r % 64)
        space.action_masks[1, r // 64] |= np.uint64(1 << r % 64)
    reinforce_action_set(0, 1, payoff, eta, 10.0, out, model, space)
    return out


def test_an_update_by_hand() -> None:
    # x = (10, 3, 4), ‖x‖² = 125, P = 1: ε = 1, w = 0.1/125·x, prediction 0.1, var = 0.1·0.9².
    once = updated(np.zeros((1, 4)), [0], [3.0, 4.0], 1.0)
    np.testing.assert_allclose(once[0], [0.008, 0.0024, 0.0032, 0.081], rtol=1e-14)
    # Then P = 0: ε = −0.1, w = 0.9 times as much, prediction 0.09, var = 0.9·0.081 + 0.1·0.09².
    twice = updated(once, [0], [3.0, 4.0], 0.0)
    np.testing.assert_allclose(twice[0], [0.0072, 0.00216, 0.00288, 0.07371], rtol=1e-14)


@pytest.mark.oracle
@given(
    learnt_of(70),
    st.lists(st.integers(0, 69), unique=True, max_size=10),
    st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
    st.floats(-10, 10),
    st.sampled_from([0.01, 0.1, 1.0]),
)
def test_updates_are_those_of_the_paper_with_both_predictions(
    learnt: Floats, members: list[int], state: tuple[int, int], payoff: float, eta: float
) -> None:
    values = [float(value) for value in state]
    expected = learnt.tolist()
    naive_evolve.update_action_set(expected, members, payoff, values, eta, 10.0)
    found = updated(learnt, members, values, payoff, eta)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    others = sorted(set(range(70)) - set(members))
    assert found[others].tolist() == learnt[others].tolist()


@pytest.mark.oracle
@given(learnt_of(3), st.floats(-10, 10), st.sampled_from([0.01, 0.1, 1.0]))
def test_one_rule_moves_as_by_the_oracle_and_the_others_stay(
    learnt: Floats, payoff: float, eta: float
) -> None:
    points = np.array([[9.0, 9.0], [-3.0, 4.0]])
    rate = learning_rate(10.0, points, 1, eta)
    assert rate == pytest.approx(eta / 125)
    expected = learnt.tolist()
    naive_evolve.update_action_set(expected, [1], payoff, [-3.0, 4.0], eta, 10.0)
    reinforce_rule(learnt, 1, payoff, eta, rate, 10.0, points, 1, (0, 1))
    np.testing.assert_allclose(learnt, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.oracle
@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=9),
    st.sampled_from([0.5, 0.97, 1.0]),
    st.booleans(),
    st.integers(0, 3),
)
def test_payoffs_are_the_oracles(rewards: list[float], gamma: float, paper: bool, behind: int) -> None:
    """Args beyond the trajectory's length are neither read nor written."""
    out = np.full(len(rewards) + behind, 7.0)
    fill_payoffs(len(rewards), np.array(rewards + [1e9] * behind), gamma, paper, out)
    expected = naive_envs.payoffs(rewards, gamma, paper)
    np.testing.assert_allclose(out[: len(rewards)], expected, rtol=1e-12, atol=1e-12)
    assert (out[len(rewards) :] == 7).all()


@given(st.floats(-100, 100), st.integers(1, 9))
def test_both_payoffs_agree_where_reward_comes_at_the_end(last: float, steps: int) -> None:
    rewards, paper, plain = np.zeros(steps), np.empty(steps), np.empty(steps)
    rewards[-1] = last
    fill_payoffs(steps, rewards, 0.9, True, paper)
    fill_payoffs(steps, rewards, 0.9, False, plain)
    np.testing.assert_allclose(paper, plain, rtol=1e-12)


# Tables


def lesson(learners: int, paper: bool, rollouts: int = 5, eta: float = 0.1, key: Any = KEY) -> Reinforcement:
    """Return how rules learn."""
    return Reinforcement(key, learners, rollouts, eta, paper)


def table_batch(task: TabularTask, seed: int, ragged: bool) -> RuleBatch:
    """Return four random rulesets of up to 70 rules that know nothing; only their own rules may be read."""
    population = empty_population(4, 70, len(task.features), len(task.features) + 2)
    random_rules(stream(seed, "initial"), alleles_of(task.features), task.n_actions, population)
    if ragged:
        population.lengths[:] = np.random.default_rng(seed).integers(1, 71, 4)
        for i, length in enumerate(population.lengths):
            population.learnt[i, length:] = 1e9
    return population.batch(STRENGTH, 10.0)


def naive_rules(rules: RuleBatch) -> list[naive_evolve.Individual]:
    """Return the rulesets for the oracle."""
    return naive_evolve.individuals(rules.bounds, rules.actions, rules.learnt, rules.lengths)


@pytest.mark.oracle
@pytest.mark.parametrize("ragged", [False, True])
@given(st.integers(0, 10**6), st.sampled_from(["paper", "return"]))
def test_individuals_learn_as_by_the_oracle_where_every_step_is_rewarded(
    ragged: bool, seed: int, payoff: str
) -> None:
    task, key = random_task(seed), stream(seed, "reinforce", 0)
    rules = table_batch(task, seed, ragged)
    expected = naive_rules(rules)
    found = TableSimulator(task).reinforce(rules, lesson(4, payoff == "paper", key=key))
    parameters = SimpleNamespace(num_reinf_rollouts=5, eta=0.1, x0=10.0, payoff=payoff)
    steps = [naive_evolve.reinforce(int(key), i, each, task, parameters) for i, each in enumerate(expected)]
    assert found == sum(steps)
    for i, individual in enumerate(expected):
        own = rules.learnt[i, : rules.lengths[i]]
        np.testing.assert_allclose(own, individual.learnt, rtol=1e-9, atol=1e-12)
        assert (rules.learnt[i, rules.lengths[i] :] == 1e9).all()


def test_reinforcement_in_any_slices_gives_the_same_bytes() -> None:
    task = random_task(1)
    cuts, found = plan(task).cuts, []
    for slices in ([(0, 4)], [(2, 4), (0, 1), (1, 2)]):
        rules, steps = table_batch(task, 1, True), np.full(4, -1, dtype=np.int64)
        for first, last in slices:
            own = rules, lesson(4, False), task.dynamics, cuts, task.gamma, task.t_max
            reinforce_rules(first, last, *own, steps)
        found.append((rules.learnt.tobytes(), steps.tolist()))
    assert found[0] == found[1]


# Environments


def reinforced(
    task: EnvTask,
    learners: int = 6,
    paper: bool = False,
    threads: int = 1,
    rollouts: int = ROLLOUTS,
    ragged: bool = False,
) -> tuple[int, Floats]:
    """Reinforce; return steps, and what was learnt."""
    rules = random_strengths(task, 6, seed=1, ragged=ragged)
    steps = environment_simulator(task, threads).reinforce(rules, lesson(learners, paper, rollouts, ETA))
    return steps, rules.learnt


def drawn(task: EnvTask, i: int) -> list[int]:
    """Return the reset seeds that individual i learns from."""
    own = naive.fold(int(KEY), i)
    return [int(task.pool[naive.below(naive.fold(own, j), 0, len(task.pool))]) for j in range(ROLLOUTS)]


@pytest.mark.oracle
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("name", TASKS)
def test_reinforcement_is_that_of_the_oracle_in_the_real_environment(
    name: str, paper: bool, ragged: bool
) -> None:
    task = TASKS[name]
    steps, learnt = reinforced(task, paper=paper, ragged=ragged)
    before = random_strengths(task, 6, seed=1, ragged=ragged)
    total = 0
    for i, own in enumerate(individuals(task, before)):
        taken, expected = naive_envs.reinforced(task, own, drawn(task, i), ETA, paper)
        np.testing.assert_allclose(learnt[i, : len(own.actions)], expected, rtol=1e-9, atol=1e-12)
        assert (learnt[i, len(own.actions) :] == 1e9).all()
        total += taken
    assert steps == total > 0
    assert not np.array_equal(learnt, before.learnt)


@pytest.mark.oracle
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
    steps, learnt = reinforced(task, paper=paper, ragged=True)
    other = dataclasses.replace(task, player="sync")
    assert twin_of(other) is None
    other_steps, other_learnt = reinforced(other, paper=paper, ragged=True)
    assert other_steps == steps
    assert other_learnt.tobytes() == learnt.tobytes()


def test_the_twin_stops_where_the_environment_itself_does() -> None:
    task = task_of("CartPole-v1", max_episode_steps=6, t_max=400)
    steps, learnt = reinforced(task)
    other_steps, other_learnt = reinforced(dataclasses.replace(task, player="sync"))
    assert steps == other_steps <= 6 * 6 * ROLLOUTS
    assert learnt.tobytes() == other_learnt.tobytes()


@pytest.mark.parametrize("name", ["cart pole", "walk"])
def test_threads_change_nothing(name: str) -> None:
    one, two = reinforced(TASKS[name]), reinforced(TASKS[name], threads=2)
    assert one[0] == two[0]
    assert one[1].tobytes() == two[1].tobytes()


@pytest.mark.parametrize("name", ["cart pole", "walk"])
def test_only_the_first_learn_where_others_are_to_stay_as_they_are(name: str) -> None:
    task = TASKS[name]
    before = random_strengths(task, 6, seed=1).learnt
    _, all_learnt = reinforced(task)
    _, some_learnt = reinforced(task, learners=4)
    assert some_learnt[:4].tobytes() == all_learnt[:4].tobytes()
    assert some_learnt[4:].tobytes() == before[4:].tobytes()
    steps, none_learnt = reinforced(task, learners=0)
    assert steps == 0
    assert none_learnt.tobytes() == before.tobytes()
    assert reinforced(task, rollouts=0)[0] == 0


def test_one_update_moves_the_prediction_towards_the_payoff_by_eta() -> None:
    task = TASKS["walk"]
    everywhere, learnt = np.broadcast_to(np.array([-5.0, 5.0]), (1, 2, 2, 2)), np.zeros((1, 2, 4))
    batch = RuleBatch(STRENGTH, everywhere, np.array([[0, 1]], np.int32), learnt, np.array([2]), X0)
    rules, points = Intervals.of(batch, task.features), np.array([[5.0, 2.0]])
    reinforce_episode(rules, 0, 1, points, np.array([1]), np.array([8.0]), 0.25)
    assert learnt[0, 0].tolist() == [0, 0, 0, 0]
    assert learnt[0, 1, :3] @ [X0, 5.0, 2.0] == pytest.approx(2.0)
    assert learnt[0, 1, 3] == pytest.approx(0.25 * 6.0**2)


def test_trajectories_are_walked_backwards_with_the_payoffs_of_their_steps() -> None:
    task = TASKS["walk"]
    batch = random_strengths(task, 2, seed=1)
    rules, learnt = Intervals.of(batch, task.features), batch.learnt
    own = Individual(batch.bounds[1], batch.actions[1], learnt[1].copy(), task.features, X0)
    draws = np.random.default_rng(0)
    points, paid = np.clip(draws.normal(0, 4, (7, 2)), *task.ranges), draws.normal(size=7)
    taken, untouched = draws.integers(0, 3, 7), learnt[0].copy()
    reinforce_episode(rules, 1, 7, points, taken, paid, ETA)
    for t in reversed(range(7)):
        naive_envs.reinforce_at(own, points[t].tolist(), int(taken[t]), float(paid[t]), ETA)
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
        monkeypatch.setattr("ifthen.environments.twin_registry.compare", lambda *_: None)
        assert twin_of(task) is not None
    everywhere = np.stack([np.stack(task.ranges, -1)] * 2)[None]
    own = everywhere, np.zeros((1, 2), np.int32), np.zeros((1, 2, 4)), np.array([2])
    with pytest.raises(TaskError, match=message):
        environment_simulator(task).reinforce(RuleBatch(STRENGTH, *own), lesson(1, False))
    system = PPLST(task, idv_size=2, pop_size=2, num_reinf_rollouts=1, threads=1, p_any=1.0, elites=0)
    with pytest.raises(TaskError, match=message):
        system.learn(epochs=1)
