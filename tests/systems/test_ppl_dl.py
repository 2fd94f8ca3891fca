from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ifthen import PPLDL, DecisionList, TabularTask, env_task
from ifthen.errors import ParameterError
from ifthen.simulate.table_simulator import optimal_performance
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


# An open last rule

TASKS: list[Callable[[], Any]] = [meadow, lambda: env_task("CartPole-v1", episodes=3, t_max=40)]


@pytest.mark.parametrize("task", TASKS)
def test_the_last_rule_matches_everywhere_in_every_generation_where_that_is_asked(
    task: Callable[[], Any],
) -> None:
    system = make("PPL-DL", task=task(), otherwise=True, elites=2, p_mut=0.2)
    everything = [[feature.low, feature.high] for feature in system.task.features]
    for epochs in (0, 1, 1):
        bounds = np.sort(system.learn(epochs=epochs).now.population.bounds, axis=-1)
        assert (bounds[:, -1] == everything).all()
        assert (bounds[:, 0] != everything).any()
    assert len(set(system.now.population.actions[:, -1].tolist())) > 1  # evolved, not given
    assert not any(row["failed_share"] for row in system.now.records)


def test_without_it_rules_are_as_they_were_drawn() -> None:
    plain, last = (make("PPL-DL", **own).learn(epochs=0).now.population for own in ({}, {"otherwise": True}))
    assert (plain.bounds[:, :-1] == last.bounds[:, :-1]).all()
    assert (plain.bounds[:, -1] != last.bounds[:, -1]).any()


def test_a_last_action_is_evolved_or_fixed() -> None:
    with pytest.raises(ParameterError, match=r"default_action fixes it: give one of them"):
        PPLDL(env_task("CartPole-v1", episodes=3, default_action=1), otherwise=True)


def test_an_open_last_rule_takes_no_rules_to_start_from() -> None:
    first = make("PPL-DL").learn(epochs=0).ruleset
    with pytest.raises(ParameterError, match=r"overwrite the last one. Give otherwise=False"):
        make("PPL-DL", start=first, otherwise=True)
