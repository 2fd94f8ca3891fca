"""XCSF in environments: the oracle's steps, twins and Python alike, files between episodes, and learning."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import XCSF, load
from ifthen.environments.make import env_task
from ifthen.errors import ModelFileError, ParameterError, TaskError
from ifthen.simulate.vector_simulator import VectorSimulator
from ifthen.systems.xcsf.xcsf_on_env import EnvLearner
from ifthen.systems.xcsf.xcsf_parameters import kernel_reach
from ifthen.systems.xcsf.xcsf_population import COUNTERS, clock_of
from ifthen.tasks.gym_task import EnvTask
from tests.archives import poke, with_array, with_manifest
from tests.envs import ENDLESS
from tests.naive_xcsf import NaiveEnvXCSF
from tests.systems.contract import saved_bytes
from tests.systems.xcsf.populations import COUNTS, walk
from tests.systems.xcsf.test_follow import assert_same

PLAIN: dict[str, Any] = {"pop_limit": 60, "epsilon": 0.5, "truncation": "end"}
BUSY: dict[str, Any] = {**PLAIN, "theta_ga": 8, "theta_del": 10, "theta_sub": 10, "mu": 0.2}
LAX = {**BUSY, "epsilon_0": 1.0}
SMALL = {**BUSY, "ga_per_epoch": 8}
CUT: dict[str, Any] = {"environment": ENDLESS, "t_max": 12}


@pytest.fixture(scope="module", autouse=True)
def few_seeds() -> Iterator[None]:
    """Let histories measure few unseen seeds: most tests here do not look at them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ifthen.tasks.gym_task.VALIDATION", 3)
        yield


def make(task: EnvTask | None = None, **parameters: Any) -> Any:
    """Return a small XCSF in an environment."""
    where = walk() if task is None else task
    return XCSF(where, **{"seed": 7, "threads": 1, **SMALL, **parameters})


def follow(task: EnvTask, seed: int, pauses: list[int], **parameters: Any) -> NaiveEnvXCSF:
    """Compare compiled and plain XCSF after so many episodes each; return the plain one."""
    system = XCSF(task, seed=seed, threads=1, **parameters)
    naive = NaiveEnvXCSF(task, system.parameters, seed)
    for pause in pauses:
        system.learn(episodes=pause)
        naive.run_episodes(pause)
        assert_same(system.now.population, naive)
    return naive


@pytest.mark.parametrize(
    ("task", "parameters", "happens"),
    [
        pytest.param(walk(), LAX, {"ga_subsumptions"}, id="walk", marks=pytest.mark.oracle),
        pytest.param(walk(), PLAIN, set(), id="defaults"),
        pytest.param(walk(kind="box", features=None), BUSY, set(), id="real features"),
        pytest.param(walk(kind="integers", features=None), BUSY, set(), id="integer features"),
        pytest.param(walk(start=5), {**BUSY, "prediction": "nlms", "gamma": 0.5}, set(), id="NLMS"),
        pytest.param(walk(gamma=0.9), {**BUSY, "selection": "roulette"}, set(), id="roulette"),
        pytest.param(walk(), {**BUSY, "equality": "alleles", "niche_error": False}, set(), id="alleles"),
        pytest.param(walk(), {**LAX, "set_subsumption": True}, {"set_subsumptions"}, id="set subsumption"),
        pytest.param(walk(**CUT), {**BUSY, "truncation": "bootstrap"}, {"truncations"}, id="bootstrap"),
        pytest.param(walk(**CUT), BUSY, {"truncations"}, id="truncation"),
        pytest.param(
            walk(), {**BUSY, "r0_share": 0.02, "m0_share": 1.0, "r0": 0, "m0": 3}, set(), id="other reaches"
        ),
    ],
)
def test_the_compiled_xcsf_follows_the_plain_one_in_environments(
    task: EnvTask, parameters: dict[str, Any], happens: set[str]
) -> None:
    naive = follow(task, 3, [1] * 20 + [10, 30], **parameters)
    assert naive.episodes == 60
    for name in {"ga_invocations", "coverings", "insertions", "deletions"} | happens:
        assert naive.counts[name] > 0, name


@pytest.mark.oracle
def test_the_compiled_xcsf_follows_the_plain_one_on_a_twin() -> None:
    task = env_task("CartPole-v1", player="twin", t_max=25, episodes=3)
    naive = follow(task, 3, [1, 2, 5], **BUSY)
    assert naive.counts["ga_invocations"] > 0


# Twins.


def assert_alike(one: Any, other: Any) -> None:
    """Fail where two systems do not stand at the same bytes."""
    for name, array in one.now.population._asdict().items():
        assert array.tobytes() == getattr(other.now.population, name).tobytes(), name
    assert one.now.records == other.now.records


@pytest.mark.parametrize("truncation", ["end", "bootstrap"])
def test_twins_and_python_give_the_same_bytes(truncation: Any) -> None:
    players: tuple[Any, Any] = "twin", "sync"
    systems = [
        XCSF(
            env_task("CartPole-v1", player=player, t_max=40, episodes=3),
            seed=1,
            threads=1,
            ga_per_epoch=30,
            truncation=truncation,
        ).learn(epochs=3)
        for player in players
    ]
    assert systems[0].now.records[-1]["episodes"] > 20
    assert_alike(*systems)


def test_the_environments_own_limit_cuts_twins_too() -> None:
    task = env_task("CartPole-v1", episodes=2, options={"max_episode_steps": 5})
    for t_max in (5, 1000):  # no pole falls within 5 steps
        system = XCSF(dataclasses.replace(task, t_max=t_max), seed=1, threads=1, pop_limit=50)
        assert system.learn(episodes=2).now.records[-1]["steps"] == 10


# Where learning stops.


def test_every_row_of_the_history_adds_up() -> None:
    system = make(ga_per_epoch=5).learn(epochs=12)
    rows = list(system.history.iter_rows(named=True))
    assert tuple(rows[0]) == ("epoch", *EnvLearner.measured, *COUNTS)
    assert rows[0]["performance"] == rows[0]["unseen_performance"] == system.task.floor
    assert [row["epoch"] for row in rows] == list(range(13))
    for before, row in itertools.pairwise(rows):
        assert row["ga_invocations"] - before["ga_invocations"] >= 5
        assert row["episodes"] > before["episodes"]
        assert 0 < row["macros"] <= row["micros"] <= 60
        assert 0 < row["mean_generality"] <= 1
    last, ruleset = rows[-1], system.ruleset
    widths = ruleset.bounds[:, :, 1] - ruleset.bounds[:, :, 0]
    shares = (widths[:, 0] + 1) / 9 * widths[:, 1] / 6
    assert last["mean_generality"] == pytest.approx(np.average(shares, weights=ruleset.numerosity))


def test_the_performances_are_those_of_the_ruleset() -> None:
    system = make().learn(epochs=6)

    def choose(points: Any) -> Any:
        return system.ruleset.best_actions(np.clip(points, *system.task.ranges))

    for seeds, name in ((system.task.z, "performance"), (system.task.validation, "unseen_performance")):
        played = VectorSimulator(system.task).play_policy(choose, seeds)
        assert (played.endings < 2).all()
        assert system.now.records[-1][name] == pytest.approx(played.returns.mean(), rel=1e-12)


def test_steps_finish_the_episode_and_episodes_are_counted_exactly() -> None:
    system = make().learn(steps=1)
    assert system.now.records[-1]["episodes"] == 1
    system.learn(episodes=7)
    assert system.now.records[-1]["episodes"] == 8
    before = system.now.records[-1]["steps"]
    system.learn(steps=2)
    assert system.now.records[-1]["steps"] >= before + 2
    assert clock_of(system.now.population)["state"] == clock_of(system.now.population)["before"] == -1
    assert not system.now.population.held.any()


@functools.cache
def after(episodes: int) -> bytes:
    """Return the file of a small XCSF that learnt so many episodes in one go."""
    with tempfile.TemporaryDirectory() as folder:
        return saved_bytes(make().learn(episodes=episodes), Path(folder))


PARTS = st.one_of(
    st.tuples(st.just("steps"), st.integers(0, 40)),
    st.tuples(st.just("episodes"), st.integers(0, 8)),
    st.tuples(st.just("epochs"), st.integers(0, 2)),
)


@settings(max_examples=12)
@given(st.lists(PARTS, min_size=1, max_size=5), st.booleans(), st.integers(1, 2))
def test_learning_in_any_parts_gives_the_bytes_of_one_go(
    parts: list[tuple[str, int]], across_files: bool, threads: int
) -> None:
    system = make(threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        for unit, more in parts:
            system.learn(**{unit: more})
            content = saved_bytes(system, Path(folder))
            if across_files:
                system = load(Path(folder) / "saved.zip", threads=threads)
    assert content == after(system.now.records[-1]["episodes"])


# Files.


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small XCSF after three epochs, with free slots."""
    system = make()
    while not system.started or system.epoch < 3 or system.now.population.numerosity.all():
        system.learn(epochs=1)
    path = tmp_path_factory.mktemp("models") / "model.zip"
    system.save(path)
    return path


def tick(name: str, value: int) -> Callable[[Any], Any]:
    """Return what changes one number of the clock."""
    return lambda clock: poke(clock, value, COUNTERS.index(name))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bounds", lambda a: a.astype(np.int32), "bounds must be float64 of shape"),
        *[
            ("bounds", lambda a, v=value: poke(a, v, -1), "conditions leave the ranges|NaN or infinite")
            for value in (np.nan, np.inf, -np.inf, 3.5, -3.1)
        ],
        ("bounds", lambda a: poke(a, 1.5, -3), "bounds of integer features must be whole"),
        ("bounds", lambda a: poke(a, -0.0, -1), "zero must not be written"),
        ("action", lambda a: poke(a, 3, -1), "actions do not exist"),
        ("held", lambda a: poke(a, True, -1), "saved between episodes"),
        ("pending", lambda a: poke(a, 1.0), "saved between episodes"),
        ("clock", tick("state", 0), "the clock's state must be from -1 to -1"),
        ("clock", tick("before", 1), "the clock's before must be from -1 to -1"),
        ("clock", tick("ga_invocations", 10**6), "ga_invocations"),
        ("clock", tick("steps", 10**6), "steps"),
        ("weights", lambda a: poke(a, 1e101, -1), "no number that was learnt"),
    ],
)
def test_populations_with_one_number_wrong_are_refused_naming_it(
    name: str, change: Callable[[Any], Any], message: str, model: Path, tmp_path: Path
) -> None:
    path = with_array(model, tmp_path, f"population/{name}", change)
    with pytest.raises(ModelFileError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["history"].pop("performance"), "numbers in columns epoch, performance"),
        (lambda m: m["history"]["ga_invocations"].__setitem__(1, 3), "does not have 8 GA invocations"),
        (lambda m: m["history"]["steps"].__setitem__(1, 0), "does not have 8 GA invocations"),
        (lambda m: m["parameters"].update(ga_per_epoch=100), "does not have 100 GA invocations"),
        (lambda m: m["parameters"].update(teletransport=True), "teletransport"),
        (lambda m: m["parameters"].update(gamma=1.5), "gamma"),
        (lambda m: m["parameters"].update(pop_limit=5), "at most 5"),
    ],
)
def test_a_manifest_with_one_thing_wrong_is_refused_naming_it(
    change: Callable[[Any], Any], message: str, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match=message):
        load(with_manifest(model, tmp_path, change))


# Parameters, and what has no answer.


def test_what_is_left_to_an_environment_is_filled_in() -> None:
    assert XCSF(walk()).parameters.gamma == 0.99  # without discount, payoffs would have no bound
    assert XCSF(walk(gamma=0.9)).parameters.gamma == 0.9
    assert XCSF(walk(), gamma=1.0).parameters.gamma == 1.0
    assert XCSF(walk()).parameters.niche_error is True
    assert XCSF(walk()).parameters.ga_per_epoch == 1000
    reach = kernel_reach(XCSF(walk(), r0=3, m0=1, r0_share=0.5, m0_share=0.1).parameters, walk(), np.float64)
    assert reach.r0.tolist() == [3, 3.0]
    assert reach.m0.tolist() == [1, pytest.approx(0.6)]


def test_what_environments_cannot_do_is_refused() -> None:
    with pytest.raises(ParameterError, match="teletransport needs a task with a list of states"):
        make(teletransport=True)
    with pytest.raises(ParameterError, match="pop_limit must be at least the number of actions"):
        make(pop_limit=2)


def test_populations_too_large_for_memory_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ifthen.systems.xcsf.xcsf_on_env.SIZE_LIMIT", 2**20)
    with pytest.raises(ParameterError, match=r"pop_limit=10,000 rules over 2 features would take"):
        make(pop_limit=10_000)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("nan", "observed nan for .* at step 5 of the episode"),
        ("infinite", "observed inf for"),
        ("reward", "gave the reward inf at step 5"),
    ],
)
def test_numbers_that_are_not_finite_stop_learning_with_the_name_of_what_gave_them(
    wrong: str, message: str
) -> None:
    system = make(walk(kind="box", wrong=wrong, features=None))
    with pytest.raises(TaskError, match=message):
        system.learn(epochs=3)
    assert system.epoch == 0


# The ruleset, and what is learnt.


def test_rulesets_of_environments_have_readable_bounds_and_raw_weights() -> None:
    system = make().learn(epochs=10)
    ruleset, population = system.ruleset, system.now.population
    assert ruleset.bounds.dtype == np.float64
    assert (ruleset.bounds[:, 0] == np.rint(ruleset.bounds[:, 0])).all()
    np.testing.assert_array_equal(ruleset.bounds[:, 1], np.round(ruleset.bounds[:, 1], 2))
    rules = population.numerosity > 0
    expected = population.weights[rules] @ [system.parameters.x0, 3 / 4, -1.5 / 3]
    np.testing.assert_allclose(ruleset.predictions(np.array([[3.0, -1.5]]))[0], expected, rtol=1e-9)
    assert (
        XCSF(walk(kind="integers", features=None), seed=1, **SMALL).learn(epochs=1).ruleset.bounds.dtype
        == np.int32
    )


def test_it_learns_to_balance_a_pole_better_than_chance() -> None:
    parameters: dict[str, Any] = {"epsilon_0": 5.0, "epsilon": 0.1, "gamma": 0.95, "truncation": "bootstrap"}
    system = XCSF("CartPole-v1", seed=1, threads=1, **parameters).learn(epochs=8)
    assert max(row["performance"] for row in system.now.records) > 150  # at random: 22
