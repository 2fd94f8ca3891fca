"""Model files of XCSF with one thing wrong: each is refused naming it, before a kernel could see it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import XCSF, IfthenError, load
from ifthen.errors import ModelFileError
from ifthen.systems.xcsf.xcsf_population import COUNTERS, Population, clock_of
from tests.archives import members, npy, poke, with_array, with_manifest, write
from tests.systems.contract import make, table_of

BOUNDS, NUMEROSITY, FLOATS = (
    "bounds",
    "numerosity",
    ("fitness", "error", "niche_error", "set_size", "weights"),
)
Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small XCSF in the middle of an episode, with free slots and rules held."""
    system = make("XCSF", theta_ga=2).learn(epochs=3)
    while True:
        population = system.now.population
        clock = clock_of(population)
        if clock["before"] >= 0 and population.held.any() and population.numerosity[0] == 0:
            break
        system.learn(steps=1)
    assert clock["explore"] in (0, 1)
    path = tmp_path_factory.mktemp("models") / "model.zip"
    system.save(path)
    return path


def tick(name: str, value: Any) -> Change:
    """Return what changes one number of the clock."""
    return lambda clock: poke(clock, value, COUNTERS.index(name))


def last(value: Any) -> Change:
    """Return what changes the last number: that of a rule, for the last slot is never free."""
    return lambda array: poke(array, value, -1)


def test_the_model_has_a_free_slot_rules_held_and_an_episode_running(model: Path) -> None:
    population = load(model).now.population
    assert population.numerosity[0] == 0 < population.numerosity[-1]
    assert population.held.any()
    assert clock_of(population)["state"] >= 0


def test_a_model_rewritten_without_change_loads_and_goes_on_alike(model: Path, tmp_path: Path) -> None:
    again = load(with_array(model, tmp_path, "population/clock", lambda a: a), threads=1)
    assert isinstance(again, XCSF)
    again.learn(steps=100).save(tmp_path / "again.zip")
    load(model, threads=1).learn(steps=100).save(tmp_path / "whole.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "whole.zip").read_bytes()


@pytest.mark.parametrize("name", Population._fields)
def test_an_array_of_another_shape_or_type_is_refused_by_name(name: str, model: Path, tmp_path: Path) -> None:
    # Where numerosities are fewer, the others are too many.
    named = r"\w+" if name == NUMEROSITY else name
    changes: list[Change] = [
        lambda a: a[:-1],
        lambda a: np.concatenate([a, a]),
        lambda a: a[None],
        lambda a: a[:0],
        lambda a: a.astype(np.float32),
        lambda a: a.astype(np.uint64),
        lambda a: a.astype(">i4"),
    ]
    for change in changes:
        path = with_array(model, tmp_path, f"population/{name}", change)
        with pytest.raises(ModelFileError, match=rf"{named} must be \w+ of shape"):
            load(path)


@pytest.mark.parametrize("name", Population._fields)
def test_an_array_that_is_a_single_number_is_refused(name: str, model: Path, tmp_path: Path) -> None:
    named = r"\w+" if name == NUMEROSITY else name
    path = with_array(model, tmp_path, f"population/{name}", lambda a: a.flat[0])
    with pytest.raises(ModelFileError, match=f"{named} must be"):
        load(path)


@pytest.mark.parametrize("name", Population._fields)
def test_a_population_without_one_of_its_arrays_is_refused(name: str, model: Path, tmp_path: Path) -> None:
    contents = members(model)
    del contents[f"population/{name}.npy"]
    path = write(tmp_path / "less.zip", contents)
    with pytest.raises(ModelFileError, match="a XCSF population has"):
        load(path)


def test_a_population_with_one_array_more_is_refused(model: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "more.zip", {**members(model), "population/key.npy": npy(np.zeros(3))})
    with pytest.raises(ModelFileError, match=r"'population/key\.npy' does not belong in one"):
        load(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bounds", last(-1), "conditions leave the ranges"),
        ("bounds", last(3), "conditions leave the ranges"),
        ("bounds", last(2**31 - 1), "conditions leave the ranges"),
        ("bounds", last(-(2**31)), "conditions leave the ranges"),
        ("action", last(4), "actions do not exist"),
        ("action", last(-1), "actions do not exist"),
        ("action", lambda a: poke(a, 4), "actions do not exist"),  # of a free slot
        ("numerosity", lambda a: poke(a, -1), "numerosities must not be negative"),
        ("numerosity", last(-5), "the last slot must hold a rule|numerosities must not be negative"),
        ("numerosity", last(0), "the last slot must hold a rule"),
        ("numerosity", last(81), "numerosities .* more than 80"),
        ("numerosity", last(2**31 - 1), "numerosities .* more than 80"),
        ("numerosity", lambda a: np.full_like(a, 2**31 - 1), "numerosities .* more than 80"),
        ("fitness", last(0.0), "(fitness|set_size) of rules must be from"),
        ("fitness", last(-1.0), "(fitness|set_size) of rules must be from"),
        ("set_size", last(0.0), "(fitness|set_size) of rules must be from"),
        ("set_size", last(-3.0), "(fitness|set_size) of rules must be from"),
        ("error", last(-0.1), "(error|experience) of rules must be from 0 to"),
        ("experience", last(-1), "(error|experience) of rules must be from 0 to"),
        ("stamp", last(-1), "(stamp|experience) of rules must be from 0 to"),
        ("stamp", last(10**9), "(stamp|experience) of rules must be from 0 to"),
        ("held", lambda a: poke(a, True), "free slots cannot be in an action set"),
        *[
            (name, last(value), "NaN")
            for name in (*FLOATS, "covariance", "pending")
            for value in (np.nan, np.inf)
        ],
    ],
)
def test_rules_with_one_number_wrong_are_refused_naming_it(
    name: str, change: Change, message: str, model: Path, tmp_path: Path
) -> None:
    path = with_array(model, tmp_path, f"population/{name}", change)
    with pytest.raises(ModelFileError, match=message):
        load(path)


@pytest.mark.parametrize("name", COUNTERS)
def test_counters_out_of_range_are_refused_by_name(name: str, model: Path, tmp_path: Path) -> None:
    states = table_of(load(model)).dynamics.states
    where = name in ("state", "before")
    for value in (-2, len(states) if where else -1, 2**53 + 1, 2**63 - 1, -(2**63)):
        path = with_array(model, tmp_path, "population/clock", tick(name, value))
        with pytest.raises(ModelFileError, match=f"the clock's {name} must be from"):
            load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (tick("micros", 0), "the clock counts 0 microclassifiers, but there are"),
        (tick("micros", 81), "the clock counts 81 microclassifiers"),
        (tick("time", 25), "25 steps of an episode that has at most 25"),
        (tick("time", 10**6), "steps of an episode that has at most 25"),
        (tick("steps", 0), "(stamp|experience) of rules must be from 0 to"),
    ],
)
def test_a_clock_that_contradicts_the_rest_is_refused(
    change: Change, message: str, model: Path, tmp_path: Path
) -> None:
    path = with_array(model, tmp_path, "population/clock", change)
    with pytest.raises(ModelFileError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("name", "value"), [("ga_invocations", 0), ("ga_invocations", 10**6), ("steps", 10**6), ("episodes", 0)]
)
def test_a_clock_that_contradicts_the_history_is_refused(
    name: str, value: int, model: Path, tmp_path: Path
) -> None:
    path = with_array(model, tmp_path, "population/clock", tick(name, value))
    with pytest.raises(ModelFileError, match=name):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: m["history"].update({c: v[1:] for c, v in m["history"].items()}),
            "a row for each of epochs 0 to",
        ),
        (
            lambda m: m["history"].update({c: v[-1:] for c, v in m["history"].items()}),
            "a row for each of epochs 0 to",
        ),
        (
            lambda m: m["history"].update({c: v * 2 for c, v in m["history"].items()}),
            "a row for each of epochs 0 to",
        ),
        (lambda m: m["history"]["epoch"].__setitem__(1, 0), "a row for each of epochs 0 to"),
        (lambda m: m["history"].update({c: v[:2] for c, v in m["history"].items()}), "up to epoch"),
        (lambda m: m.update(epoch=99), "up to epoch 99"),
        (lambda m: m["history"].pop("macros"), "numbers in columns epoch, performance"),
        (lambda m: m["history"]["steps"].__setitem__(1, None), "numbers in columns epoch, performance"),
        (lambda m: m["parameters"].update(pop_limit=3), "pop_limit must be at least the number of actions"),
        (lambda m: m["parameters"].update(pop_limit=40), "at most 40|more than 40"),
        (lambda m: m["parameters"].update(prediction="nlms"), "covariance must be float64 of shape"),
        (lambda m: m["parameters"].update(chi=1.5), "chi"),
        (lambda m: m["parameters"].update(selection="lottery"), "selection"),
        (lambda m: m["parameters"].update(x00=1.0), "unknown parameter 'x00'"),
        (lambda m: m["task"].update(t_max=1), "steps of an episode that has at most 1"),
        (lambda m: m.update(system="PPL-ST"), "unknown parameter"),
    ],
)
def test_a_manifest_with_one_thing_wrong_is_refused_naming_it(
    change: Change, message: str, model: Path, tmp_path: Path
) -> None:
    path = with_manifest(model, tmp_path, change)
    with pytest.raises(ModelFileError, match=message):
        load(path)


def assert_refused_or_learns(path: Path) -> None:
    """Load a file and learn on: either it is refused in words, or the population stays sound."""
    try:
        system = load(path, threads=1)
        system.learn(steps=300)
    except IfthenError:
        return
    population, clock = system.now.population, clock_of(system.now.population)
    assert len(population.numerosity) <= 80
    assert population.numerosity.min() >= 0
    assert population.numerosity.sum() == clock["micros"] <= 80
    assert population.action.min() >= 0
    assert population.action.max() < 4
    system.predict(table_of(system).state_features)


WHOLE = st.sampled_from([-(2**31), -1, 0, 1, 2, 3, 79, 80, 2**31 - 1])
REAL = st.sampled_from([-1e6, -1.0, 0.0, 1e-100, 0.5, 1e6, 1e100])


@settings(max_examples=60)
@given(st.sampled_from(Population._fields), st.data())
@pytest.mark.filterwarnings("ignore")
def test_numbers_changed_anywhere_are_refused_or_do_no_harm(
    model: Path, name: str, data: st.DataObject
) -> None:
    def change(array: Any) -> Any:
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, array.size - 1))
            poke(array, data.draw(REAL if array.dtype.kind == "f" else WHOLE), at)
        return array

    with tempfile.TemporaryDirectory() as folder:
        assert_refused_or_learns(with_array(model, Path(folder), f"population/{name}", change))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("set_size", 1.7e308),
        ("fitness", 5e-324),
        ("fitness", 1.7e308),
        ("error", 1.7e308),
        ("niche_error", -1.7e308),
        ("weights", 1e308),
        ("covariance", -1e300),
    ],
)
def test_numbers_so_extreme_that_votes_or_predictions_overflow_are_refused(
    name: str, value: float, model: Path, tmp_path: Path
) -> None:
    path = with_array(model, tmp_path, f"population/{name}", lambda a: np.where(a != 0, value, a))
    with pytest.raises(ModelFileError, match=rf"{name} of rules must be from|no number that was learnt"):
        load(path)
