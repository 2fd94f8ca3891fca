"""Rehearsal on a stand-in, and mirrors, in whole systems."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from ifthen import PPLDL, Feature, ParameterError, TaskError, evaluate, frozen_lake, load
from ifthen.environments.lunar_lander import STAND_IN, LunarLander
from ifthen.environments.make import env_task
from ifthen.environments.rebind import stand_in_task
from ifthen.evolve.mirror import mirror_of, put_images
from ifthen.simulate import workers
from ifthen.simulate.twin import TwinSimulator
from ifthen.simulate.workers import WorkerSimulator
from ifthen.systems import pittsburgh
from ifthen.systems.pittsburgh import Population, first_population, next_generation
from ifthen.systems.presets import preset
from ifthen.tasks.gym_task import EnvTask
from tests.archives import with_manifest
from tests.envs import ENDLESS, WALK, Walk
from tests.systems.contract import saved_bytes

MIRROR = "-cart position, -cart velocity, -pole angle, -pole velocity, push left = push right"
BOTH_SIDES = {"cart velocity": (-2.0, 2.0), "pole velocity": (-3.0, 3.0)}
LUNAR = LunarLander.presets["PPL-DL"]


@functools.cache
def cart_pole(**given: Any) -> EnvTask:
    """Return a small task with a twin."""
    return env_task("CartPole-v1", ranges=BOTH_SIDES, **{"episodes": 6, "t_max": 60, **given})


@functools.cache
def walk() -> EnvTask:
    """Return a small task that is played in Python; ENDLESS is another one with the same spaces."""
    return env_task(WALK, episodes=3, ranges={"f0": (-5, 5), "f1": (0, 2)})


def small(task: Any, threads: int = 1, **given: Any) -> PPLDL:
    """Return a small fresh PPL-DL."""
    usual = {"idv_size": 4, "pop_size": 10, "p_mut": 0.2, "seed": 3}
    return PPLDL(task, threads=threads, **{**usual, **given})


def same(one: PPLDL, other: PPLDL) -> bool:
    """Return whether two systems have the same population, to the bit, and the same history."""
    pairs = zip(one.now.population, other.now.population, strict=True)
    return all(a.tobytes() == b.tobytes() for a, b in pairs) and one.now.records == other.now.records


def forbidden(*_: Any, **__: Any) -> Any:
    """Stand for what must not be called."""
    raise AssertionError("this must not be done")


# The last rule


@pytest.mark.parametrize("mirror", ["", MIRROR])
def test_the_last_rule_matches_everywhere_in_every_generation_where_that_is_asked(mirror: str) -> None:
    system = small(cart_pole(), otherwise=True, mirror=mirror, elites=2)
    everything = [[feature.low, feature.high] for feature in cart_pole().features]
    for _ in range(4):
        bounds = np.sort(system.learn(epochs=0 if not system.started else 1).now.population.bounds, axis=-1)
        last = bounds[:, -2] if mirror else bounds[:, -1]
        assert (last == everything).all()
        assert (bounds[:, 0] != everything).any()
    actions = system.now.population.actions[:, -2 if mirror else -1]
    assert set(actions.tolist()) == {0, 1}  # evolved, not given
    assert not any(row["failed_share"] for row in system.now.records)


def test_without_it_rules_are_as_they_were_drawn() -> None:
    plain, last = small(cart_pole()).learn(epochs=0), small(cart_pole(), otherwise=True).learn(epochs=0)
    assert (plain.now.population.bounds[:, :-1] == last.now.population.bounds[:, :-1]).all()
    assert (plain.now.population.bounds[:, -1] != last.now.population.bounds[:, -1]).any()


# Rehearsal


def test_a_rehearsal_can_be_stopped_between_generations() -> None:
    answers = iter([False, False, False, True])
    system = small(cart_pole(), stand_in="CartPole-v1", rehearsal=1000)
    system.asked_to_stop = lambda: next(answers)
    with pytest.raises(KeyboardInterrupt):
        system.learn(epochs=1)
    assert next(answers, "all were asked for") == "all were asked for"
    assert not system.started


@pytest.mark.parametrize("budget", [{}, {"windows": 2}, {"first_episodes": 2, "double_every": 2}])
@pytest.mark.parametrize("mirror", ["", MIRROR])
def test_a_rehearsal_is_so_many_generations_on_the_stand_in(budget: dict[str, Any], mirror: str) -> None:
    task = cart_pole()
    system = small(task, stand_in="CartPole-v1", rehearsal=3, elites=2, mirror=mirror, **budget).learn(
        epochs=0
    )
    p = system.parameters
    simulator = system.simulator_in(dataclasses.replace(task))

    def with_images(population: Population) -> Population:
        if mirror:
            images = mirror_of(mirror, task.features, task.action_names)
            put_images(images, population.bounds, population.actions)
        return population

    population = with_images(first_population(p, task, system.seed, 0))
    for epoch in range(3):
        worth = simulator.fitness(system.batch(population), epoch).performance
        parents = population._replace(fitness=worth)
        children = next_generation(p, task, system.seed, epoch + 1, 1, parents, False, "rehearse")
        population = with_images(children)
    now = system.now.population
    assert now.bounds.tobytes() == population.bounds.tobytes()
    assert now.actions.tobytes() == population.actions.tobytes()


@pytest.mark.parametrize("task", [cart_pole, walk])
def test_histories_are_of_the_environment_alone(task: Callable[[], EnvTask]) -> None:
    real = task()
    stand_in = ENDLESS if real.environment == WALK else "CartPole-v1"
    system = small(real, stand_in=stand_in, rehearsal=4).learn(epochs=0)
    row = system.history.row(0, named=True)
    measured = system.simulator_in(real).fitness(system.batch(system.now.population), 0)
    assert system.now.population.fitness.tobytes() == measured.performance.tobytes()
    assert (row["steps"], row["episodes"]) == (measured.steps.sum(), measured.episodes.sum())
    assert (row["epoch"], row["ga_invocations"]) == (0, 0)
    assert row["performance"] == pytest.approx(evaluate(system, real, seeds="training").performance)
    assert system.learn(epochs=2).history["epoch"].to_list() == [0, 1, 2]
    assert system.history["ga_invocations"].to_list() == [0, 5, 10]


def test_rehearsal_and_learning_do_not_share_random_numbers() -> None:
    """One generation of rehearsal on the environment itself is not its first generation of learning."""
    rehearsed = small(cart_pole(), stand_in="CartPole-v1", rehearsal=1).learn(epochs=0)
    learnt = small(cart_pole()).learn(epochs=1)
    assert rehearsed.now.population.bounds.tobytes() != learnt.now.population.bounds.tobytes()


def test_two_threads_rehearse_to_the_bytes_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pittsburgh, "ROUNDS_PER_SLICE", 1)
    monkeypatch.setattr("ifthen.simulate.twin.STEPS_PER_SLICE", 1)
    given: dict[str, Any] = {"stand_in": "CartPole-v1", "rehearsal": 3, "mirror": MIRROR}
    one, two = (small(cart_pole(), threads=threads, **given).learn(epochs=2) for threads in (1, 2))
    assert saved_bytes(one, tmp_path) == saved_bytes(two, tmp_path)


def test_a_saved_rehearsal_goes_on_to_the_bytes_of_one_go(tmp_path: Path) -> None:
    given: dict[str, Any] = {"stand_in": "CartPole-v1", "rehearsal": 3, "mirror": MIRROR}
    in_one_go = saved_bytes(small(cart_pole(), **given).learn(epochs=2), tmp_path)
    small(cart_pole(), **given).learn(epochs=0).save(tmp_path / "first.zip")
    rest = load(tmp_path / "first.zip", threads=1).learn(epochs=2)
    assert saved_bytes(rest, tmp_path) == in_one_go


def test_loading_makes_no_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = small(cart_pole(), stand_in="CartPole-v1", rehearsal=1).learn(epochs=1)
    system.save(tmp_path / "m.zip")
    monkeypatch.setattr(gymnasium, "make", forbidden)
    assert load(tmp_path / "m.zip").ruleset == system.ruleset


def test_what_was_rehearsed_needs_its_stand_in_no_more(tmp_path: Path) -> None:
    gymnasium.register("ifthen_tests/Gone-v0", entry_point="tests.envs:Walk", max_episode_steps=30)
    system = small(walk(), stand_in="ifthen_tests/Gone-v0", rehearsal=1).learn(epochs=0)
    system.save(tmp_path / "m.zip")
    del gymnasium.registry["ifthen_tests/Gone-v0"]
    again = load(tmp_path / "m.zip", threads=1)
    assert same(again.learn(epochs=1), system.learn(epochs=1))  # type: ignore[arg-type]


def test_a_file_that_knows_no_mirror_has_none(tmp_path: Path) -> None:
    """What suits an environment today is not what a file of yesterday was made with."""
    flown = dataclasses.replace(stand_in_task(lunar_task(), STAND_IN), environment="LunarLander-v3")
    small(flown, otherwise=False, mirror="", stand_in="", rehearsal=0).learn(epochs=0).save(
        tmp_path / "m.zip"
    )

    def older(manifest: Any) -> None:
        for name in ("otherwise", "mirror", "stand_in", "rehearsal"):
            del manifest["parameters"][name]

    parameters: Any = load(with_manifest(tmp_path / "m.zip", tmp_path, older)).parameters
    assert (parameters.mirror, parameters.stand_in, parameters.rehearsal) == ("", "", 0)
    assert parameters.otherwise is False


def test_a_stand_in_without_rehearsal_changes_nothing() -> None:
    assert same(
        small(cart_pole(), stand_in="CartPole-v1").learn(epochs=2), small(cart_pole()).learn(epochs=2)
    )


def test_rehearsing_makes_the_first_population_better() -> None:
    task = cart_pole(t_max=200)
    worth = [
        small(task, stand_in="CartPole-v1", rehearsal=n, pop_size=40, idv_size=6).learn(epochs=0).history
        for n in (0, 15)
    ]
    for column in ("best_fitness", "unseen_performance"):
        assert worth[1][column][0] > 1.5 * worth[0][column][0]


def test_a_rehearsal_begins_with_the_rules_to_start_from() -> None:
    first = small(cart_pole()).learn(epochs=2).ruleset
    system = small(cart_pole(), start=first, stand_in="CartPole-v1", rehearsal=1, elites=9).learn(epochs=0)
    kept = [np.sort(bounds, axis=-1).tolist() for bounds in system.now.population.bounds]
    assert first.bounds.tolist() in kept


def test_a_stand_in_has_the_features_and_limits_of_the_task() -> None:
    task = dataclasses.replace(walk(), t_max=50, gamma=0.9)
    other = stand_in_task(task, ENDLESS)
    assert other.environment == ENDLESS
    for name in ("features", "action_names", "episodes", "gamma", "floor", "t_max", "default_action"):
        assert getattr(other, name) == getattr(task, name)
    assert other.z.tolist() == task.z.tolist()
    assert stand_in_task(task, WALK).make().spec.max_episode_steps == 50


@pytest.fixture
def _hasty_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(workers, "START_SECONDS", 0.0)
    monkeypatch.setattr(workers, "SPREAD_SECONDS", 0.0)
    yield
    workers.end_workers()


@pytest.mark.usefixtures("_hasty_workers")
def test_workers_know_stand_ins_that_only_their_parent_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Calm(Walk):
        def step(self, action: Any) -> Any:
            observation, reward, *rest = super().step(action)
            return observation, reward / 2, *rest

    spread: list[str] = []
    real = WorkerSimulator.play_spread

    def watched(self: WorkerSimulator, *given: Any) -> Any:
        spread.append(self.task.environment)
        return real(self, *given)

    monkeypatch.setattr(WorkerSimulator, "play_spread", watched)
    calm: Any = Calm
    gymnasium.register("ifthen_tests/Calm-v0", entry_point=calm, max_episode_steps=30)
    given: dict[str, Any] = {"stand_in": "ifthen_tests/Calm-v0", "rehearsal": 2, "pop_size": 16}
    try:
        assert same(small(walk(), **given).learn(epochs=0), small(walk(), threads=2, **given).learn(epochs=0))
    finally:
        del gymnasium.registry["ifthen_tests/Calm-v0"]
    assert "ifthen_tests/Calm-v0" in spread


# Mirrors


@pytest.mark.parametrize(("default_action", "otherwise"), [(None, False), (None, True), ("push left", False)])
def test_every_second_rule_is_an_image_in_every_generation(
    default_action: str | None, otherwise: bool
) -> None:
    task = cart_pole(default_action=default_action)
    mirror = mirror_of(MIRROR, task.features, task.action_names)
    system = small(task, mirror=MIRROR, stand_in="CartPole-v1", rehearsal=2, otherwise=otherwise)
    for epochs in (0, 1, 2):
        now = system.learn(epochs=epochs).now.population
        bounds, actions = now.bounds.copy(), now.actions.copy()
        put_images(mirror, bounds, actions)
        assert (bounds.tobytes(), actions.tobytes()) == (now.bounds.tobytes(), now.actions.tobytes())


def test_a_mirror_changes_what_is_learnt_and_none_does_not() -> None:
    plain = small(cart_pole()).learn(epochs=1)
    assert same(small(cart_pole(), mirror="").learn(epochs=1), plain)
    assert not same(small(cart_pole(), mirror=MIRROR).learn(epochs=1), plain)


def test_elites_stay_as_they_are_in_a_mirror() -> None:
    system = small(cart_pole(), mirror=MIRROR, elites=3, racing=False).learn(epochs=1)
    before = system.now.population
    after = system.learn(epochs=1).now.population
    fittest = np.argsort(-before.fitness, kind="stable")[:3]
    assert after.bounds[-3:].tobytes() == before.bounds[fittest].tobytes()
    assert after.fitness[-3:].tobytes() == before.fitness[fittest].tobytes()


# What is refused


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"rehearsal": 3}, ParameterError, r"rehearsal needs .*: give stand_in"),
        ({"stand_in": "Nowhere-v0", "rehearsal": 1}, TaskError, r"'Nowhere-v0' cannot be made"),
        (
            {"stand_in": WALK, "rehearsal": 1},
            TaskError,
            rf"{WALK} observes 2 numbers and has 3 actions; to stand in for CartPole-v1 it needs 4 and 2",
        ),
        ({"stand_in": "Pendulum-v1", "rehearsal": 1}, TaskError, r"Discrete"),
        (
            {"stand_in": "tests.envs:CartPole-v1", "rehearsal": 1},
            ParameterError,
            r"an id without a module, not 'tests.envs:CartPole-v1': import the module first",
        ),
        ({"rehearsal": -1, "stand_in": "CartPole-v1"}, ParameterError, r"rehearsal: .* not -1"),
        ({"mirror": MIRROR, "idv_size": 5}, ParameterError, r"must be even, not 5. Give idv_size=6, or"),
        ({"mirror": "-cart place"}, ParameterError, r"mirror has '-cart place'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_played(
    given: dict[str, Any], error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TwinSimulator, "play", forbidden)
    with pytest.raises(error, match=message):
        small(cart_pole(), **given).learn(epochs=0)


def test_a_mirror_takes_no_rules_to_start_from() -> None:
    first = small(cart_pole()).learn(epochs=0).ruleset
    with pytest.raises(ParameterError, match=r"mirror would overwrite every second one.* Give mirror=''"):
        small(cart_pole(), mirror=MIRROR, start=first)


@pytest.mark.parametrize("given", [{}, {"rehearsal": 1}])
def test_stand_ins_are_for_environments(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"are for environments; FrozenLake-4-0 is a table"):
        small(frozen_lake(4), stand_in="CartPole-v1", **given)


def test_tables_have_a_last_rule_that_matches_everywhere_too() -> None:
    system = small(frozen_lake(4), otherwise=True).learn(epochs=2)
    assert (np.sort(system.now.population.bounds[:, -1], axis=-1) == [0, 3]).all()
    assert not any(row["failed_share"] for row in system.now.records)


# LunarLander


def lunar_task() -> EnvTask:
    """Return a task as LunarLander-v3 is one, whose environment is not made."""
    features = tuple(
        Feature(f.name, f.low, f.high, "integer" if f.is_integer else "real", clips=True)
        for f in LunarLander.features
    )
    return EnvTask("LunarLander-v3", features, LunarLander.actions, "LunarLander-v3", 8, 200, -1e12)


def test_the_parameters_for_lunar_lander_exist_and_fit_it() -> None:
    system = PPLDL(lunar_task(), threads=1)
    for name, value in LUNAR.items():
        assert getattr(system.parameters, name) == value
    mirror = mirror_of(LUNAR["mirror"], system.task.features, system.task.action_names)
    assert mirror.turns.tolist() == [True, False, True, False, True, True, False, False]
    assert mirror.actions.tolist() == [0, 3, 2, 1]


@pytest.mark.parametrize(
    ("changes", "given", "left_out"),
    [
        ({}, {}, set()),
        ({}, {"idv_size": 16}, set()),
        ({}, {"idv_size": 15}, {"mirror"}),
        ({}, {"stand_in": ""}, {"stand_in", "rehearsal"}),
        ({"default_action": 0}, {}, {"otherwise"}),
        ({"options": {"max_episode_steps": 200}}, {}, set()),
        ({"options": {"gravity": -2.0}}, {}, {"stand_in", "rehearsal"}),
        ({"features": (Feature("tilt", -1.0, 2.0, "real"), *lunar_task().features[1:])}, {}, {"mirror"}),
    ],
)
def test_what_the_user_gives_wins_over_what_suits_lunar_lander(
    changes: dict[str, Any], given: dict[str, Any], left_out: set[str]
) -> None:
    task = dataclasses.replace(lunar_task(), **changes)
    suited = preset("PPL-DL", task, given)
    assert LUNAR.keys() - suited.keys() == left_out
    assert PPLDL(task, threads=1, **given).parameters.p_mut == LUNAR["p_mut"]


def test_rules_to_start_from_take_the_place_of_mirror_and_last_rule_that_suit() -> None:
    task = lunar_task()
    first = PPLDL(dataclasses.replace(stand_in_task(task, STAND_IN)), idv_size=4, pop_size=4).learn(epochs=0)
    begun = PPLDL(task, threads=1, start=first.ruleset).parameters
    assert (begun.mirror, begun.otherwise, begun.stand_in, begun.rehearsal) == ("", False, "", 0)
    with pytest.raises(ParameterError, match=r"mirror would overwrite every second one"):
        PPLDL(task, threads=1, start=first.ruleset, mirror=LUNAR["mirror"])


def test_a_last_action_is_evolved_or_fixed() -> None:
    with pytest.raises(ParameterError, match=r"default_action fixes it: give one of them"):
        small(cart_pole(default_action=1), otherwise=True)


def test_the_stand_in_for_lunar_lander_is_known_and_fits_it() -> None:
    assert LUNAR["stand_in"] == STAND_IN == "ifthen/LunarLander-v0"
    stand_in = stand_in_task(lunar_task(), STAND_IN)
    assert (len(stand_in.flat.leaves), stand_in.make().action_space.n) == (8, 4)


def test_lunar_lander_is_learnt_after_a_rehearsal() -> None:
    pytest.importorskip("Box2D")
    task = env_task("LunarLander-v3", episodes=4, t_max=100)
    system = PPLDL(task, threads=1, pop_size=4, rehearsal=2).learn(epochs=1)
    assert system.history["epoch"].to_list() == [0, 1]
    assert system.parameters.mirror == LUNAR["mirror"]
