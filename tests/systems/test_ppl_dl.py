from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ifthen import PPLDL, DecisionList, TabularTask
from ifthen.simulate.table import optimal_performance
from tests import naive_evolve
from tests.systems.contract import make, meadow, table_of
from tests.worlds import small_lake


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("task", "options"),
    [
        (meadow(), {"noise": "aligned"}),
        (meadow(), {"noise": "stream"}),
        (meadow(), {"fitness": "exact"}),
        (small_lake(0.1), {"idv_size": 7, "pop_size": 20}),
        (small_lake(0.0), {"idv_size": 7, "pop_size": 20, "tourn_size": 1, "p_cross": 1.0}),
    ],
)
def test_three_epochs_are_the_oracles(task: TabularTask, options: dict[str, Any]) -> None:
    system = PPLDL(task, seed=7, threads=2, **{"idv_size": 5, "pop_size": 16, "p_mut": 0.05, **options})
    expected = naive_evolve.run_system(task, system.parameters, 7, 3, strength=False)
    steps = 0
    for epoch, generation in enumerate(expected):
        population = system.learn(epochs=min(epoch, 1)).now.population
        found = naive_evolve.individuals(population.bounds, population.actions, population.learnt)
        assert found == generation.population
        np.testing.assert_allclose(population.fitness, generation.fitness, rtol=1e-11, atol=1e-12)
        steps += generation.steps
        assert system.history["steps"][-1] == steps
        assert system.history["best_fitness"][-1] == population.fitness.max()
    assert population.fitness.max() > 0


def test_the_ruleset_is_the_fittest_decision_list() -> None:
    system = make("PPL-DL").learn(epochs=4)
    population = system.now.population
    best = int(population.fitness.argmax())
    assert isinstance(system.ruleset, DecisionList)
    assert (system.ruleset.bounds == np.sort(population.bounds[best], axis=-1)).all()
    assert (system.ruleset.actions == population.actions[best]).all()


def test_rules_carry_nothing_they_learnt() -> None:
    assert make("PPL-DL").learn(epochs=1).now.population.learnt.shape == (16, 5, 0)


def test_the_4x4_lake_without_slipping_is_nearly_solved_in_40_epochs() -> None:
    system = PPLDL(small_lake(0.0), seed=1).learn(epochs=40)
    assert system.history["best_fitness"][-1] > 0.9 * optimal_performance(table_of(system), "sampled")
