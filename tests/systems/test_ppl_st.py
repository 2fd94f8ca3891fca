from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import PPLST, Feature, StrengthRules, TabularTask
from ifthen.evolve.alleles import alleles_of
from ifthen.randomness import stream
from ifthen.rollout.tabular import plan
from ifthen.systems.pittsburgh import empty_population, random_rules
from ifthen.systems.ppl_st import reinforce_rules, update_action_set
from tests import naive, naive_evolve
from tests.rulesets import learnt_of
from tests.systems.contract import make, meadow
from tests.worlds import random_task, small_lake

Floats = NDArray[np.float64]


def updated(
    learnt: Floats, members: list[int], state: list[float], payoff: float, eta: float = 0.1
) -> Floats:
    """Return what the rules have learnt after an update of the action set `members` at `state`."""
    words = (len(learnt) + 63) // 64
    masks, action_masks = np.zeros((1, words), dtype=np.uint64), np.zeros((2, words), dtype=np.uint64)
    for r in members:
        masks[0, r // 64] |= np.uint64(1 << r % 64)
        action_masks[1, r // 64] |= np.uint64(1 << r % 64)
    out: Floats = learnt.copy()
    rate, axes = eta / (100.0 + sum(value * value for value in state)), tuple(range(len(state)))
    update_action_set(masks, action_masks, 0, 1, payoff, eta, rate, 10.0, np.array([state]), axes, out)
    return out


def test_an_update_by_hand() -> None:
    # x = (10, 3, 4), ‖x‖² = 125, P = 1: ε = 1, w = 0.1/125·x, prediction 0.1, var = 0.1·0.9².
    once = updated(np.zeros((1, 4)), [0], [3.0, 4.0], 1.0)
    np.testing.assert_allclose(once[0], [0.008, 0.0024, 0.0032, 0.081], rtol=1e-14)
    # Then P = 0: ε = −0.1, w = 0.9 times as much, prediction 0.09, var = 0.9·0.081 + 0.1·0.09².
    twice = updated(once, [0], [3.0, 4.0], 0.0)
    np.testing.assert_allclose(twice[0], [0.0072, 0.00216, 0.00288, 0.07371], rtol=1e-14)


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


def reinforced(task: TabularTask, seed: int, paper: bool, slices: list[tuple[int, int]]) -> Any:
    """Return four random individuals of 70 rules before and after reinforcement, and the steps taken."""
    population = empty_population(4, 70, len(task.features), len(task.features) + 2)
    random_rules(stream(seed, "initial"), alleles_of(task.features), task.n_actions, population)
    before = naive_evolve.individuals(*population[:3])
    shared, steps = plan(task), np.full(4, -1, dtype=np.int64)
    for first, last in slices:
        reinforce_rules(
            first,
            last,
            stream(seed, "reinforce", 0),
            population.bounds,
            population.actions,
            population.learnt,
            task.dynamics,
            shared.cuts,
            shared.discounts,
            5,
            0.1,
            10.0,
            paper,
            steps,
        )
    return before, population, steps


@given(st.integers(0, 10**6), st.sampled_from(["paper", "return"]))
def test_individuals_learn_as_by_the_oracle_where_every_step_is_rewarded(seed: int, payoff: str) -> None:
    task = random_task(seed)
    expected, population, steps = reinforced(task, seed, payoff == "paper", [(0, 4)])
    parameters = SimpleNamespace(num_reinf_rollouts=5, eta=0.1, x0=10.0, payoff=payoff)
    key = naive.stream(seed, "reinforce", 0)
    for i, individual in enumerate(expected):
        assert naive_evolve.reinforce(key, i, individual, task, parameters) == steps[i]
        np.testing.assert_allclose(population.learnt[i], individual.learnt, rtol=1e-9, atol=1e-12)


def test_reinforcement_in_any_slices_gives_the_same_bytes() -> None:
    task = random_task(1)
    _, whole, steps = reinforced(task, 1, False, [(0, 4)])
    _, parts, other_steps = reinforced(task, 1, False, [(2, 4), (0, 1), (1, 2)])
    assert whole.learnt.tobytes() == parts.learnt.tobytes()
    assert steps.tolist() == other_steps.tolist()


@pytest.mark.parametrize(
    ("task", "options"),
    [
        (meadow(), {"noise": "aligned"}),
        (meadow(), {"noise": "stream", "payoff": "paper"}),
        (meadow(), {"fitness": "exact"}),
        (meadow(), {"num_reinf_rollouts": 0}),
        (small_lake(0.1), {"idv_size": 7, "pop_size": 20}),
    ],
)
def test_three_epochs_are_the_oracles(task: TabularTask, options: dict[str, Any]) -> None:
    small = {"idv_size": 5, "pop_size": 16, "p_mut": 0.05, "num_reinf_rollouts": 3}
    system = PPLST(task, seed=7, threads=2, **{**small, **options})
    expected = naive_evolve.run_system(task, system.parameters, 7, 3, strength=True)
    steps = 0
    for epoch, generation in enumerate(expected):
        population = system.learn(min(epoch, 1)).now.population
        found = naive_evolve.individuals(population.bounds, population.actions, population.learnt)
        for one, other in zip(found, generation.population, strict=True):
            assert (one.bounds, one.actions) == (other.bounds, other.actions)
            np.testing.assert_allclose(one.learnt, other.learnt, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(population.fitness, generation.fitness, rtol=1e-11, atol=1e-12)
        steps += generation.steps
        assert system.history["steps"][-1] == steps
    assert population.fitness.max() > 0


@pytest.mark.parametrize("p_slip", [0.0, 0.3])
def test_the_papers_payoff_is_the_discounted_return_where_reward_comes_at_the_end(p_slip: float) -> None:
    learnt = [
        PPLST(small_lake(p_slip), seed=2, pop_size=20, payoff=payoff).learn(4).now.population.learnt
        for payoff in ("paper", "return")
    ]
    assert learnt[0].any()
    assert learnt[0].tobytes() == learnt[1].tobytes()


def two_rewards() -> TabularTask:
    """Return states 0 → 1 → end with reward 1 on both steps, and a single action."""
    return TabularTask(
        name="two rewards",
        features=(Feature("place", 0, 1),),
        action_names=("Go",),
        state_features=np.array([[0], [1], [1]], dtype=np.int32),
        next_state=np.array([[[1]], [[2]], [[2]]], dtype=np.int32),
        reward=np.array([[[1.0]], [[1.0]], [[0.0]]]),
        done=np.array([[[False]], [[True]], [[True]]]),
        probability=np.ones(1),
        initial_states=np.zeros(1, dtype=np.int32),
        enumerations=1,
        gamma=0.5,
        t_max=9,
    )


@pytest.mark.parametrize(("payoff", "first_step"), [("paper", 0.5 * 2), ("return", 1 + 0.5)])
def test_the_two_payoffs_differ_where_every_step_is_rewarded(payoff: str, first_step: float) -> None:
    options: dict[str, Any] = {"idv_size": 1, "pop_size": 64, "num_reinf_rollouts": 1, "payoff": payoff}
    population = PPLST(two_rewards(), threads=1, **options).learn(0).now.population
    covers = (np.sort(population.bounds[:, 0, 0], axis=1) == [0, 1]).all(axis=1)
    # Backwards: P = 1 at x = (10, 1), ‖x‖² = 101; then P = first_step at x = (10, 0), ‖x‖² = 100.
    w = np.array([10.0, 1.0]) * 0.1 / 101
    error = first_step - 10 * w[0]
    variance = 0.9 * (0.1 * 0.9**2) + 0.1 * (0.9 * error) ** 2
    expected = [w[0] + 0.1 / 100 * error * 10, w[1], variance]
    assert covers.any()
    for row in population.learnt[covers, 0]:
        np.testing.assert_allclose(row, expected, rtol=1e-12)


def test_the_ruleset_is_the_fittest_with_all_it_learnt() -> None:
    system = make("PPL-ST").learn(4)
    population = system.now.population
    best = int(population.fitness.argmax())
    assert isinstance(system.ruleset, StrengthRules)
    assert (system.ruleset.weights == population.learnt[best, :, :-1]).all()
    assert (system.ruleset.variances == population.learnt[best, :, -1]).all()
    assert system.ruleset.weights.any()


def test_variances_never_become_negative() -> None:
    population = PPLST(random_task(5), idv_size=6, pop_size=20, seed=3).learn(10).now.population
    assert (population.learnt[:, :, -1] >= 0).all()
    assert population.learnt[:, :, -1].any()


def test_the_4x4_lake_without_slipping_is_nearly_solved_in_30_epochs() -> None:
    system = PPLST(small_lake(0.0), seed=1).learn(30)
    assert system.history["best_fitness"][-1] > 0.9 * system.task.optimal_performance("sampled")
