from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ifthen import PPLST, Feature, StrengthRules, TabularTask
from ifthen.simulate.table_simulator import optimal_performance
from tests import naive_evolve
from tests.systems.contract import make, meadow, table_of
from tests.worlds import random_task, small_lake


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
        population = system.learn(epochs=min(epoch, 1)).now.population
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
        PPLST(small_lake(p_slip), seed=2, pop_size=20, payoff=payoff).learn(epochs=4).now.population.learnt
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
    population = PPLST(two_rewards(), threads=1, **options).learn(epochs=0).now.population
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
    system = make("PPL-ST").learn(epochs=4)
    population = system.now.population
    best = int(population.fitness.argmax())
    assert isinstance(system.ruleset, StrengthRules)
    assert (system.ruleset.weights == population.learnt[best, :, :-1]).all()
    assert (system.ruleset.variances == population.learnt[best, :, -1]).all()
    assert system.ruleset.weights.any()


def test_variances_never_become_negative() -> None:
    population = PPLST(random_task(5), idv_size=6, pop_size=20, seed=3).learn(epochs=10).now.population
    assert (population.learnt[:, :, -1] >= 0).all()
    assert population.learnt[:, :, -1].any()


def test_the_4x4_lake_without_slipping_is_nearly_solved_in_30_epochs() -> None:
    system = PPLST(small_lake(0.0), seed=1).learn(epochs=30)
    assert system.history["best_fitness"][-1] > 0.9 * optimal_performance(table_of(system), "sampled")
