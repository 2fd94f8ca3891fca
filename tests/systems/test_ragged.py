"""Populations whose rulesets differ in length are measured, bred, saved and resumed as any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ifthen import evaluate, load
from ifthen.environments.make import env_task
from ifthen.errors import ModelFileError
from ifthen.systems.pittsburgh import Population
from tests import naive, naive_evolve
from tests.archives import members, npy, with_array, write
from tests.systems.contract import make, meadow, saved_bytes

TASKS: dict[str, Callable[[], Any]] = {
    "lake": meadow,
    "cart pole": lambda: env_task("CartPole-v1", episodes=3, t_max=40),
}
every_system = pytest.mark.parametrize("name", ["PPL-DL", "PPL-ST"])
every_task = pytest.mark.parametrize("where", TASKS)


def ragged(name: str, where: str = "lake", **given: Any) -> Any:
    """Return a system whose population was cut to rulesets of one to five rules after its first epoch."""
    return cut(make(name, task=TASKS[where](), **given).learn(epochs=1))


def cut(system: Any) -> Any:
    """Cut the rulesets of a system to different lengths."""
    population: Population = system.now.population
    n, rules = population.actions.shape
    lengths = np.random.default_rng(1).integers(1, rules + 1, n)
    system._now = system.now._replace(population=population._replace(lengths=lengths))
    return system


@every_task
@every_system
def test_learning_goes_on_after_saving_to_the_same_bytes(name: str, where: str, tmp_path: Path) -> None:
    system = ragged(name, where, elites=2)
    system.save(tmp_path / "ragged.zip")
    again = load(tmp_path / "ragged.zip", threads=1)
    assert again.now.population.lengths.tolist() == system.now.population.lengths.tolist()
    assert saved_bytes(again, tmp_path) == saved_bytes(system, tmp_path)
    in_one_go = saved_bytes(system.learn(epochs=3), tmp_path)
    assert saved_bytes(again.learn(epochs=3), tmp_path) == in_one_go
    assert len(set(system.now.population.lengths.tolist())) > 1


@every_task
@every_system
def test_two_threads_give_the_bytes_of_one(
    name: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ifthen.systems.pittsburgh.ROUNDS_PER_SLICE", 1)
    monkeypatch.setattr("ifthen.tasks.tabular_task.STATES_PER_SLICE", 1)
    one, two = (ragged(name, where, threads=threads).learn(epochs=2) for threads in (1, 2))
    assert saved_bytes(one, tmp_path) == saved_bytes(two, tmp_path)


@every_task
@every_system
def test_the_ruleset_has_the_rules_of_the_fittest_and_its_performance(name: str, where: str) -> None:
    system = ragged(name, where).learn(epochs=1)
    population = system.now.population
    best = int(population.fitness.argmax())
    assert len(system.ruleset) == population.lengths[best]
    assert evaluate(system, seeds="training").performance == pytest.approx(system.history["performance"][-1])


@every_system
def test_a_generation_is_the_oracles(name: str) -> None:
    system = ragged(name)
    task, p, strong = system.task, system.parameters, name == "PPL-ST"
    before: Population = system.now.population
    parents = naive_evolve.individuals(*before[:3], before.lengths)
    ranges, children = [(f.low, f.high) for f in task.features], list[naive_evolve.Individual]()
    for number in range(len(parents) // 2):
        key = naive.stream(system.seed, "breed", 2)
        known = before.fitness.tolist(), ranges, task.n_actions, p, strong
        children += naive_evolve.breed_round(key, number, parents, *known)
    options = SimpleNamespace(**{"x0": 10.0, **p.model_dump()})
    expected = naive_evolve._measured(task, options, system.seed, 2, children, strong)
    after: Population = system.learn(epochs=1).now.population
    found = naive_evolve.individuals(*after[:3], after.lengths)
    assert [each.bounds for each in found] == [each.bounds for each in expected.population]
    assert [each.actions for each in found] == [each.actions for each in expected.population]
    for one, other in zip(found, expected.population, strict=True):
        np.testing.assert_allclose(one.learnt, other.learnt, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(after.fitness, expected.fitness, rtol=1e-11, atol=1e-12)


@every_system
def test_elites_keep_their_lengths(name: str) -> None:
    system = ragged(name, "cart pole", elites=3)
    before = system.now.population
    after = system.learn(epochs=1).now.population
    fittest = np.argsort(-before.fitness, kind="stable")[:3]
    assert after.lengths[-3:].tolist() == before.lengths[fittest].tolist()


def test_the_last_rule_of_each_matches_everywhere_where_that_is_asked() -> None:
    system = ragged("PPL-DL", "cart pole", otherwise=True)
    after = system.learn(epochs=1).now.population
    everything = [[feature.low, feature.high] for feature in system.task.features]
    for bounds, length in zip(np.sort(after.bounds, axis=-1), after.lengths, strict=True):
        assert bounds[length - 1].tolist() == everything
    assert len(set(after.lengths.tolist())) > 1
    assert system.history["failed_share"][-1] == 0


# Files


@every_system
def test_lengths_are_in_the_file_only_where_they_differ(name: str, tmp_path: Path) -> None:
    saved_bytes(make(name).learn(epochs=1), tmp_path)
    assert "population/lengths.npy" not in members(tmp_path / "saved.zip")
    saved_bytes(ragged(name), tmp_path)
    assert "population/lengths.npy" in members(tmp_path / "saved.zip")


@every_system
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a * 0, "lengths must be from 1 to 5, the rules of a row"),
        (lambda a: a + 5, "lengths must be from 1 to 5, the rules of a row"),
        (lambda a: a - 9, "lengths must be from 1 to 5, the rules of a row"),
        (lambda a: a[:-1], r"lengths must be int64 of shape \(16,\)"),
        (lambda a: a.astype(np.int32), "lengths must be int64 of shape"),
        (lambda a: a.astype(float), "lengths must be int64 of shape"),
    ],
)
def test_lengths_that_are_wrong_are_refused(
    name: str, change: Callable[[Any], Any], message: str, tmp_path: Path
) -> None:
    ragged(name).save(tmp_path / "m.zip")
    with pytest.raises(ModelFileError, match=message):
        load(with_array(tmp_path / "m.zip", tmp_path, "population/lengths", change))


def test_lengths_do_not_belong_into_a_file_of_xcsf(tmp_path: Path) -> None:
    make("XCSF").learn(epochs=1).save(tmp_path / "m.zip")
    more = {**members(tmp_path / "m.zip"), "population/lengths.npy": npy(np.ones(3, dtype=np.int64))}
    with pytest.raises(ModelFileError, match="population has"):
        load(write(tmp_path / "more.zip", more))
