from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import PPLDL, PPLST, Feature, System, evaluate, frozen_lake, load
from ifthen.environments.from_table import table_task
from ifthen.errors import ParameterError
from ifthen.evolve.alleles import alleles_of
from ifthen.systems.pittsburgh import Population, Variation, breed, empty_population, random_rules
from ifthen.tables import paper_suite
from tests import naive_evolve
from tests.evolve.populations import FEATURES, N_ACTIONS, RANGES, random_population
from tests.naive_evolve import individuals
from tests.systems.contract import make, saved_bytes
from tests.worlds import random_task

KEYS = st.integers(0, 2**64 - 1)
HISTORY = (
    "epoch",
    "best_fitness",
    "mean_fitness",
    "median_fitness",
    "performance",
    "exact_performance",
    "truncated_share",
    "failed_share",
    "episodes",
    "steps",
    "ga_invocations",
)
both_systems = pytest.mark.parametrize("system", [PPLDL, PPLST])


@pytest.mark.oracle
@given(KEYS, st.integers(1, 4), st.integers(1, 4))
def test_first_alleles_are_drawn_as_by_the_oracle(key: int, n: int, rules: int) -> None:
    found = empty_population(n, rules, len(FEATURES), 3)
    random_rules(np.uint64(key), alleles_of(FEATURES), N_ACTIONS, found)
    expected = naive_evolve.random_rules(key, n, rules, RANGES, N_ACTIONS, 3)
    assert individuals(*found[:3]) == expected


def test_first_alleles_are_uniform_over_their_ranges() -> None:
    found = empty_population(50, 40, len(FEATURES), 0)
    random_rules(np.uint64(3), alleles_of(FEATURES), N_ACTIONS, found)
    for values, size in (
        (found.bounds[:, :, 0] + 3, 8),
        (found.bounds[:, :, 1], 7),
        (found.actions, N_ACTIONS),
    ):
        shares = np.bincount(values.ravel(), minlength=size) / values.size
        np.testing.assert_allclose(shares, 1 / size, atol=5 * (1 / size / values.size) ** 0.5)


@pytest.mark.oracle
@pytest.mark.parametrize("ragged", [False, True])
@given(
    KEYS,
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([0.0, 0.7, 1.0]),
    st.sampled_from([0.01, 0.3]),
)
def test_breeding_rounds_give_the_oracles_children(
    ragged: bool, key: int, seed: int, whole_rules: bool, p_cross: float, p_mut: float
) -> None:
    parents = Population(*random_population(seed, n=6, ragged=ragged))
    children = bred(key, parents, whole_rules, p_cross, p_mut, [(0, 3)])
    expected: list[naive_evolve.Individual] = []
    parameters = SimpleNamespace(tourn_size=3, p_cross=p_cross, p_swap=0.5, p_mut=p_mut)
    before, fitness = individuals(*parents[:3], parents.lengths), parents.fitness.tolist()
    for number in range(3):
        expected += naive_evolve.breed_round(
            key, number, before, fitness, RANGES, N_ACTIONS, parameters, whole_rules
        )
    assert individuals(*children[:3], children.lengths) == expected
    assert children.lengths.tolist() == [len(child.actions) for child in expected]


@given(KEYS, st.integers(0, 10**6), st.booleans())
def test_breeding_in_any_slices_gives_the_same_children_and_leaves_the_parents_alone(
    key: int, seed: int, whole_rules: bool
) -> None:
    parents = Population(*random_population(seed, n=8))
    before = individuals(*parents[:3])
    whole = bred(key, parents, whole_rules, 0.7, 0.2, [(0, 4)])
    parts = bred(key, parents, whole_rules, 0.7, 0.2, [(3, 4), (0, 1), (1, 3)])
    assert individuals(*whole[:3]) == individuals(*parts[:3])
    assert individuals(*parents[:3]) == before


def bred(
    key: int,
    parents: Population,
    whole_rules: bool,
    p_cross: float,
    p_mut: float,
    slices: list[tuple[int, int]],
) -> Population:
    n, rules, features, _ = parents.bounds.shape
    children = empty_population(n, rules, features, parents.learnt.shape[2])
    how = Variation(3, p_cross, 0.5, p_mut, whole_rules, alleles_of(FEATURES), N_ACTIONS)
    for first, last in slices:
        breed(first, last, np.uint64(key), parents, how, children)
    return children


@both_systems
def test_sizes_left_open_are_the_papers_on_its_tasks(system: Any) -> None:
    sizes = [(p.idv_size, p.pop_size) for p in (system(task).parameters for task in paper_suite())]
    assert sizes == [(7, 112)] * 4 + [(21, 336)] * 4 + [(42, 672)] * 4


@both_systems
def test_the_other_defaults_are_the_papers(system: Any) -> None:
    p = system(paper_suite()[0]).parameters
    assert (p.tourn_size, p.p_cross, p.p_swap, p.p_mut) == (3, 0.7, 0.5, 0.01)
    assert (p.fitness, p.noise) == ("sampled", "aligned")


def test_the_defaults_of_reinforcement_are_the_papers() -> None:
    p = PPLST(paper_suite()[0]).parameters
    assert (p.num_reinf_rollouts, p.eta, p.x0, p.payoff) == (10, 0.1, 10.0, "return")


@pytest.mark.parametrize(("states", "rules"), [(6, 7), (48, 15), (500, 64)])
def test_sizes_left_open_grow_with_the_decision_states_of_other_tasks(states: int, rules: int) -> None:
    env = {48: "CliffWalking-v1", 500: "Taxi-v4"}
    task = random_task(0) if states == 6 else table_task(gymnasium.make(env[states]))
    p: Any = PPLDL(task).parameters
    assert (p.idv_size, p.pop_size) == (rules, 16 * rules)
    assert p.idv_size == min(max(round(0.4 * len(task.decision_states)), 7), 64)


@both_systems
@pytest.mark.parametrize("pop_size", [3, 7, 113])
def test_an_odd_population_is_refused_with_an_even_one_suggested(system: Any, pop_size: int) -> None:
    with pytest.raises(ParameterError, match=f"must be even .* Give for example pop_size={pop_size + 1}"):
        system(paper_suite()[0], pop_size=pop_size)


@both_systems
def test_the_smallest_population_of_single_rules_learns(system: Any) -> None:
    trained = make(system.name, pop_size=2, idv_size=1).learn(epochs=2)
    assert len(trained.ruleset) == 1


@both_systems
def test_history_has_the_columns_of_both_systems(system: Any) -> None:
    history = make(system.name).learn(epochs=2).history
    assert tuple(history.columns) == HISTORY
    assert history["ga_invocations"].to_list() == [0, 8, 16]
    assert (history["mean_fitness"] <= history["best_fitness"]).all()
    assert (history["median_fitness"] <= history["best_fitness"]).all()
    assert history["failed_share"].is_between(0, 1).all()
    assert history["truncated_share"].is_between(0, 1).all()


def test_a_rule_over_many_features_and_more_than_64_rules_learns() -> None:
    task = table_task(gymnasium.make("Taxi-v4"), t_max=10, initial_states=[1, 2])
    system = PPLST(task, idv_size=70, pop_size=4, num_reinf_rollouts=1, threads=1).learn(epochs=1)
    assert system.ruleset.weights.shape == (70, 5)


def test_a_feature_of_a_single_value_keeps_it() -> None:
    states = np.array([[-1, 5], [0, 5], [1, 5]] * 2, dtype=np.int32)
    task = random_task(0, features=(Feature("u", -1, 1), Feature("v", 5, 5)), state_features=states)
    ruleset = PPLDL(task, idv_size=3, pop_size=4, threads=1, p_mut=1.0).learn(epochs=2).ruleset
    assert (ruleset.bounds[:, 1] == 5).all()


@both_systems
@pytest.mark.parametrize(
    ("fitness", "noise"), [("sampled", "aligned"), ("sampled", "stream"), ("exact", "aligned")]
)
def test_the_best_fitness_is_the_performance_of_the_ruleset(
    system: type[System], fitness: Any, noise: Any
) -> None:
    trained = make(system.name, fitness=fitness, noise=noise).learn(epochs=6)
    last = trained.history.row(-1, named=True)
    assert last["best_fitness"] == evaluate(trained.ruleset, trained.task, fitness, noise).performance
    assert trained.watched == last["best_fitness"]
    assert trained.history["best_fitness"].n_unique() > 1  # else there was nothing to tell apart


@both_systems
@pytest.mark.parametrize("seed", range(4))
def test_learning_in_parts_gives_the_bytes_of_one_go_with_exact_fitness_too(
    system: type[System], seed: int, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"fitness": "exact", "pop_size": 4, "idv_size": 25, "seed": seed}
    task = frozen_lake(8, 0.3)
    whole = saved_bytes(make(system.name, task=task, **settings).learn(epochs=8), tmp_path)
    make(system.name, task=task, **settings).learn(epochs=4).save(tmp_path / "half.zip")
    assert saved_bytes(load(tmp_path / "half.zip", threads=1).learn(epochs=4), tmp_path) == whole
