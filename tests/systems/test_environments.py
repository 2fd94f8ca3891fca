"""The contract of systems on tasks that are environments; a new system joins by its entry in SMALL."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars.testing
import pytest

from ifthen import PPLDL, PPLST, RuleSet, System, evaluate, load
from ifthen.environments.known_environments import presets_of
from ifthen.environments.make import env_task
from ifthen.errors import ModelFileError, ParameterError, TaskError
from ifthen.systems import pittsburgh
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.presets import ANY
from ifthen.systems.registry import SYSTEMS
from ifthen.tasks.gym_task import EnvTask
from tests.archives import members, npy, poke, with_array, with_manifest, write
from tests.envs import WALK, Walk, task_of
from tests.naive_envs import episode
from tests.systems.contract import SMALL, every_system, make, saved_bytes

EPOCHS = 3
PITTSBURGH = ("PPL-DL", "PPL-ST")


@functools.cache
def tasks() -> dict[str, EnvTask]:
    """Return small tasks: with a twin, with integer features, with real and integer ones from a Dict."""
    return {
        "cart pole": env_task("CartPole-v1", episodes=6, t_max=60),
        "integers": env_task(WALK, options={"kind": "integers"}, episodes=6),
        "dict": env_task(WALK, options={"kind": "dict", "start": 2}, episodes=6),
    }


NAMES = ("cart pole", "integers", "dict")
every_task = pytest.mark.parametrize("where", NAMES)
every_pittsburgh = pytest.mark.parametrize("name", PITTSBURGH)


@functools.cache
def learnt(name: str, where: str) -> System:
    """Return a system that has learnt; not to be changed."""
    return make(name, task=tasks()[where]).learn(epochs=EPOCHS)


@functools.cache
def saved(name: str, where: str, folder: Path) -> bytes:
    return saved_bytes(learnt(name, where), folder)


def measured_on(system: System) -> int | None:
    """Return on how many seeds the history measures: all but in PPL-X, by the plan's steps."""
    known = system.now.population
    if not isinstance(known, Knowledge):
        return None
    return min(100, max(1, round(0.005 * known.budget / known.episode_length)))


# Learning


@every_system
@every_task
def test_the_history_ends_with_the_performance_of_the_ruleset(name: str, where: str) -> None:
    system, task = learnt(name, where), tasks()[where]
    history = system.history
    assert history["epoch"].to_list() == list(range(EPOCHS + 1))
    last, k = history.row(-1, named=True), measured_on(system)
    assert last["performance"] == pytest.approx(evaluate(system, task, seeds=task.z[:k]).performance)
    unseen = evaluate(system, task, seeds=task.validation[:k]).performance
    assert last["unseen_performance"] == pytest.approx(unseen)
    for column in ("episodes", "steps", *(() if name == "PPL-X" else ("ga_invocations",))):
        assert history[column].is_sorted()
        assert history[column][-1] > history[column][0]
    later = {"network_return", "value_error"} if name == "PPL-X" else set()  # once there is a network
    assert not any(history[column].has_nulls() for column in set(history.columns) - later)


@every_system
@every_task
def test_the_ruleset_speaks_of_the_tasks_features_and_comes_back_from_data(name: str, where: str) -> None:
    system, task = learnt(name, where), tasks()[where]
    ruleset = system.ruleset
    assert (ruleset.observed_features, ruleset.action_names) == (task.features, task.action_names)
    assert all(feature.clips for feature in ruleset.features)
    assert RuleSet.from_dict(json.loads(json.dumps(ruleset.to_dict()))) == ruleset


@every_system
@every_task
def test_raw_observations_are_answered_alone_and_in_batches(name: str, where: str) -> None:
    system, task = learnt(name, where), tasks()[where]
    envs = gymnasium.vector.SyncVectorEnv([task.make] * 3)
    batch, _ = envs.reset(seed=3)
    env = task.make()
    each = [env.reset(seed=seed)[0] for seed in (3, 4, 5)]
    together, memory = system.predict(batch, state="kept")
    assert memory == "kept"
    alone = [system.predict(observation)[0] for observation in each]
    assert together.tolist() == alone
    chosen = system.ruleset.predict(np.array([task.features_of(observation) for observation in each]))
    assert together.tolist() == [int(a) + task.action_start if a >= 0 else -1 for a in chosen]
    envs.close()


@every_task
def test_predicted_actions_play_the_environment_as_it_was_measured(where: str) -> None:
    system, task = learnt("PPL-DL", where), tasks()[where]
    score = evaluate(system, task, seeds="training")
    env = task.make()
    assert score.seeds is not None
    assert score.returns is not None
    for seed, expected in zip(score.seeds.tolist(), score.returns.tolist(), strict=True):
        observation, _ = env.reset(seed=seed)
        total, weight = 0.0, 1.0
        for _ in range(task.t_max):
            action, _ = system.predict(observation)
            if action == -1:
                break
            observation, reward, terminated, truncated, _ = env.step(action)
            total += weight * float(reward)
            weight *= task.gamma
            if terminated or truncated:
                break
        assert total == pytest.approx(expected)


@pytest.mark.parametrize("name", PITTSBURGH)
def test_learning_gets_better(name: str) -> None:
    task = env_task("CartPole-v1", episodes=5, t_max=200)
    system = SYSTEMS[name](task, seed=1, threads=1, idv_size=6, pop_size=60).learn(epochs=8)
    best = system.history["best_fitness"]
    assert best[-1] > 1.5 * best[0]
    returns = evaluate(system, task, seeds=task.test_seeds()).returns
    assert returns is not None
    assert returns.mean() > 20


# Files


@every_system
@every_task
def test_learning_in_parts_across_files_gives_the_bytes_of_one_go(
    name: str, where: str, tmp_path: Path
) -> None:
    in_one_go = saved(name, where, tmp_path)
    system = make(name, task=tasks()[where])
    for epochs in (0, 1, 2):
        content = saved_bytes(system.learn(epochs=epochs), tmp_path)
        system = load(tmp_path / "saved.zip", threads=1)
    assert content == in_one_go
    assert saved_bytes(system, tmp_path) == content


@every_system
@every_task
def test_two_threads_give_the_bytes_of_one(
    name: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pittsburgh, "ROUNDS_PER_SLICE", 1)
    monkeypatch.setattr("ifthen.simulate.twin_simulator.STEPS_PER_SLICE", 1)
    two = make(name, task=tasks()[where], threads=2).learn(epochs=EPOCHS)
    assert saved_bytes(two, tmp_path) == saved(name, where, tmp_path)


@every_system
def test_the_players_give_the_same_population(name: str) -> None:
    twin = learnt(name, "cart pole")
    task = dataclasses.replace(tasks()["cart pole"], player="sync")
    other = make(name, task=task).learn(epochs=EPOCHS)
    for one, same in zip(twin.now.population, other.now.population, strict=True):
        assert one.tobytes() == same.tobytes()
    polars.testing.assert_frame_equal(other.history, twin.history)


@every_system
@every_task
def test_the_task_comes_back_in_every_field_and_loading_makes_no_environment(
    name: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved_bytes(learnt(name, where), tmp_path)

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("loading must run nothing")

    with monkeypatch.context() as patch:
        patch.setattr(gymnasium, "make", forbidden)
        patch.setattr(importlib, "import_module", forbidden)
        again = load(tmp_path / "saved.zip")
        assert again.ruleset == learnt(name, where).ruleset
    task = tasks()[where]
    for field in dataclasses.fields(EnvTask):
        if field.name != "factory":
            assert getattr(again.task, field.name) == getattr(task, field.name)
    assert isinstance(again.task, EnvTask)
    assert again.task.factory is None


def test_a_task_with_every_field_set_comes_back(tmp_path: Path) -> None:
    three: Any = np.int64(3)
    task = env_task(
        "CartPole-v1",
        name="mine",
        feature_names=["a", "b", "c", "d"],
        ranges={"b": (-1.25, 2)},
        action_names=["l", "r"],
        episodes=three,
        gamma=0.5,
        t_max=20,
        floor=-7,
        default_action=three - 2,
        noise_seed=12,
        player="sync",
        options={"sutton_barto_reward": True, "max_episode_steps": 30},
    )
    make("PPL-DL", task=task).learn(epochs=0).save(tmp_path / "m.zip")
    again = load(tmp_path / "m.zip").task
    for field in dataclasses.fields(EnvTask):
        one, other = getattr(task, field.name), getattr(again, field.name)
        assert one == other
        assert type(one) is type(other)


def test_a_system_of_a_function_is_saved_and_asks_for_the_function_again(tmp_path: Path) -> None:
    task = env_task(Walk, episodes=3, t_max=20)
    system = make("PPL-DL", task=task).learn(epochs=1)
    in_one_go = saved_bytes(make("PPL-DL", task=task).learn(epochs=2), tmp_path)
    system.save(tmp_path / "m.zip")
    again = load(tmp_path / "m.zip", threads=1)
    assert again.ruleset == system.ruleset
    assert again.predict([0.0, 0.0])[0] == system.predict([0.0, 0.0])[0]
    with pytest.raises(TaskError, match=r"made by a function or copied from an environment.*env="):
        again.learn(epochs=1)
    again = load(tmp_path / "m.zip", threads=1, env=Walk)
    assert again.predict([0.0, 0.0])[0] == system.predict([0.0, 0.0])[0]
    assert saved_bytes(again.learn(epochs=1), tmp_path) == in_one_go


@pytest.fixture(scope="module", params=PITTSBURGH)
def model(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small system that learnt in CartPole."""
    path = tmp_path_factory.mktemp("models") / "model.zip"
    learnt(request.param, "cart pole").save(path)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(kind="table"), "in the manifest, task"),
        (lambda t: t.update(kind="tabular"), "in the manifest, task"),
        (lambda t: t.update(kind=["environment"]), "in the manifest, task"),
        (lambda t: t.pop("kind"), r"in the manifest, task\.\w+"),
        (lambda t: t.update(environment="os:CartPole-v1"), "id without a module"),
        (lambda t: t.update(environment="ifthen.evil:Env-v0"), "id without a module"),
        (lambda t: t.update(environment=None), r"in the manifest, task\.environment: "),
        (lambda t: t.update(player="fast"), "player"),
        (lambda t: t.update(factory="os.system"), "factory"),
        (lambda t: t.update(episodes=10**9), "episodes must be a whole number"),
        (lambda t: t.update(episodes=0), "episodes must be a whole number"),
        (lambda t: t.update(t_max=10**12), "t_max must be a whole number"),
        (lambda t: t.update(noise_seed=2**62), "noise_seed must be a whole number"),
        (lambda t: t.update(gamma=0.0), "gamma must be a number"),
        (lambda t: t.update(floor=float("nan")), "floor|NaN"),
        (lambda t: t.update(floor=float("-inf")), "floor|Infinity"),
        (lambda t: t.update(default_action=2), "default_action must be a whole number"),
        (lambda t: t.update(action_names=["a"]), "some actions do not exist|impossible"),
        (lambda t: t.update(action_names=["a", "a"]), "must differ"),
        (lambda t: t.update(features=[]), "impossible task"),
        (lambda t: t["features"].pop(), "is said to hold 4 numbers for 3 features"),
        (lambda t: (t["features"].pop(), t.pop("observed")), "bounds must be float64 of shape"),
        (lambda t: t["observed"][0].update(dtype="O"), "a part of an observation cannot be"),
        (lambda t: t["observed"][0].update(shape=[-4]), "a part of an observation cannot be"),
        (lambda t: t.update(lanes=-1), "lanes must be"),
        (lambda t: t["features"][0].update(high=float("nan")), "high|NaN"),
        (lambda t: t["features"][0].update(low=9.0), "must not exceed"),
        (lambda t: t["features"][0].update(clips="yes"), "clips"),
        (lambda t: t["features"][0].update(high=2.0), "leave the ranges"),
        (lambda t: t["features"][0].update(name="pole angle"), "must differ"),
        (lambda t: t.update(options={"x": {"y": 1}}), "options"),
        (lambda t: t.update(options=[1]), "options"),
        (lambda t: t.update(origin={"x": [1]}), "origin"),
        (lambda t: t.pop("gamma"), "task.*gamma"),
    ],
)
def test_a_task_with_one_thing_wrong_is_refused_naming_it(
    change: Callable[[dict[str, Any]], Any], message: str, model: Path, tmp_path: Path
) -> None:
    path = with_manifest(model, tmp_path, lambda m: change(m["task"]))
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_a_file_of_strengths_with_a_default_action_is_refused(tmp_path: Path) -> None:
    learnt("PPL-ST", "cart pole").save(tmp_path / "m.zip")
    path = with_manifest(tmp_path / "m.zip", tmp_path, lambda m: m["task"].update(default_action=1))
    with pytest.raises(ModelFileError, match="default action is the last rule"):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["history"].pop("performance"), "must have numbers in columns"),
        (lambda m: m["parameters"].update(windows=7), "windows must be at most the number of training seeds"),
        (lambda m: m["parameters"].update(elites=16), "elites must be fewer than pop_size"),
        (lambda m: m["parameters"].update(fitness="exact"), "no table of states"),
        (lambda m: m["parameters"].update(noise="stream"), "no table of states"),
        (lambda m: m["parameters"].update(sigma=0.0), "sigma"),
        (lambda m: m["parameters"].update(p_any=2), "p_any"),
        (lambda m: m["parameters"].update(racing="yes"), "racing"),
    ],
)
def test_a_manifest_with_one_thing_wrong_is_refused_naming_it(
    change: Callable[[dict[str, Any]], Any], message: str, model: Path, tmp_path: Path
) -> None:
    with pytest.raises((ModelFileError, ParameterError), match=message) as refused:
        load(with_manifest(model, tmp_path, change))
    assert isinstance(refused.value, ModelFileError)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("population/bounds", lambda a: poke(a, np.nan), "NaN"),
        ("population/bounds", lambda a: poke(a, np.inf), "infinite"),
        ("population/bounds", lambda a: poke(a, -99.0), "conditions leave the ranges"),
        ("population/bounds", lambda a: a.astype(np.float32), "bounds must be float64"),
        ("population/bounds", lambda a: a.astype(np.int32), "bounds must be float64"),
        ("population/actions", lambda a: poke(a, 2), "actions do not exist"),
        ("population/fitness", lambda a: poke(a, np.nan), "NaN"),
        ("population/learnt", lambda a: a[:-1], "learnt must be float64 of shape"),
    ],
)
def test_an_array_with_one_thing_wrong_is_refused_naming_it(
    name: str, change: Callable[[Any], Any], message: str, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match=message):
        load(with_array(model, tmp_path, name, change))


def test_half_of_an_integer_features_bound_is_refused(tmp_path: Path) -> None:
    learnt("PPL-DL", "dict").save(tmp_path / "m.zip")
    whole = next(d for d, feature in enumerate(tasks()["dict"].features) if feature.is_integer)

    def halve(bounds: Any) -> Any:
        bounds = bounds.copy()
        bounds[3, 2, whole, 0] = 0.5
        return bounds

    path = with_array(tmp_path / "m.zip", tmp_path, "population/bounds", halve)
    with pytest.raises(ModelFileError, match="whole"):
        load(path)


def test_a_file_with_the_arrays_of_a_table_beside_an_environment_is_refused(
    model: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "more.zip", {**members(model), "task/reward.npy": npy(np.zeros(3))})
    with pytest.raises(ModelFileError, match="belong"):
        load(path)


def test_an_environment_that_is_not_here_is_missed_only_when_it_is_played(
    model: Path, tmp_path: Path
) -> None:
    path = with_manifest(model, tmp_path, lambda m: m["task"].update(environment="Elsewhere-v3"))
    system = load(path)
    assert len(system.ruleset) == SMALL[system.name]["idv_size"]
    with pytest.raises(
        TaskError, match=r"'Elsewhere-v3' cannot be made: .*Import the package that registers"
    ):
        system.learn(epochs=1)


# Elites, defaults, budgets


@every_pittsburgh
@pytest.mark.parametrize("where", ["cart pole", "dict"])  # a twin, and a vector environment
@pytest.mark.parametrize("racing", [False, True])
def test_elites_keep_the_best_so_the_best_fitness_never_falls(name: str, where: str, racing: bool) -> None:
    system = make(name, task=tasks()[where], elites=2, p_mut=0.3, racing=racing).learn(epochs=8)
    best = system.history["best_fitness"].to_list()
    assert best == sorted(best)
    assert system.history["performance"].to_list() == pytest.approx(best)


@every_pittsburgh
def test_elites_are_taken_over_as_they_are(name: str) -> None:
    system = make(name, task=tasks()["cart pole"], elites=3, racing=False).learn(epochs=1)
    before = system.now.population
    after = system.learn(epochs=1).now.population
    fittest = np.argsort(-before.fitness, kind="stable")[:3]
    for part in ("bounds", "actions", "learnt", "fitness"):
        assert getattr(after, part)[-3:].tobytes() == getattr(before, part)[fittest].tobytes()


def test_elites_of_tables_are_not_reinforced_either() -> None:
    system = make("PPL-ST", elites=2).learn(epochs=1)
    before = system.now.population
    after = system.learn(epochs=1).now.population
    fittest = np.argsort(-before.fitness, kind="stable")[:2]
    assert after.learnt[-2:].tobytes() == before.learnt[fittest].tobytes()
    episodes = system.history["episodes"]
    plain = make("PPL-ST", elites=0).learn(epochs=2).history["episodes"]
    assert episodes[1] - episodes[0] <= plain[1] - plain[0]


@every_pittsburgh
def test_without_elites_the_best_can_be_lost(name: str) -> None:
    system = make(name, task=tasks()["cart pole"], elites=0, p_mut=0.5).learn(epochs=12)
    best = system.history["best_fitness"].to_list()
    assert best != sorted(best)


def test_the_default_action_is_the_last_rule() -> None:
    task = env_task("CartPole-v1", episodes=4, t_max=40, default_action="push right")
    system = make("PPL-DL", task=task).learn(epochs=2)
    ruleset = system.ruleset
    assert len(ruleset) == SMALL["PPL-DL"]["idv_size"] + 1
    assert ruleset.actions[-1] == 1
    assert ruleset.bounds[-1].tolist() == [[f.low, f.high] for f in task.features]
    assert system.history["failed_share"].to_list() == [0.0] * 3
    assert evaluate(system, task, seeds="training").performance == pytest.approx(
        system.history["performance"][-1]
    )
    for seed in task.z.tolist():
        assert episode(task, lambda p: int(ruleset.predict(p)), seed).ending != 2
    with pytest.raises(ParameterError, match=r"default action is the last rule of a decision list"):
        PPLST(task)


@every_pittsburgh
@pytest.mark.parametrize(
    "budget",
    [
        {"windows": 3},
        {"first_episodes": 2, "double_every": 1},
        {"racing": True},
        {"windows": 2, "first_episodes": 1, "double_every": 2, "racing": True},
    ],
)
def test_a_budget_saves_episodes_and_resumes_to_the_same_bytes(
    name: str, budget: dict[str, Any], tmp_path: Path
) -> None:
    system = make(name, task=tasks()["cart pole"], **budget).learn(epochs=3)
    content = saved_bytes(system, tmp_path)
    part = make(name, task=tasks()["cart pole"], **budget).learn(epochs=1)
    part.save(tmp_path / "part.zip")
    assert saved_bytes(load(tmp_path / "part.zip", threads=1).learn(epochs=2), tmp_path) == content
    rollouts = SMALL[name].get("num_reinf_rollouts", 0) * (16 + 3 * 15)
    assert system.history["episodes"][-1] < 4 * 16 * 6 + rollouts
    assert system.history["performance"][-1] == pytest.approx(
        evaluate(system, system.task, seeds="training").performance
    )


@every_pittsburgh
def test_episodes_of_all_of_z_are_counted_with_those_of_reinforcement(name: str) -> None:
    history = make(name, task=tasks()["cart pole"], racing=False).learn(epochs=EPOCHS).history
    rollouts = SMALL[name].get("num_reinf_rollouts", 0)
    first = 16 * 6 + 16 * rollouts
    each = 16 * 6 + 15 * rollouts  # an elite is not reinforced
    assert history["episodes"].to_list() == [first, first + each, first + 2 * each, first + 3 * each]
    assert history["ga_invocations"].to_list() == [0, 8, 16, 24]


# Parameters


def test_environments_have_parameters_that_suit_them_and_those_given_win() -> None:
    task = tasks()["cart pole"]
    for kind in (PPLDL, PPLST):
        suited = kind(task).parameters
        own = presets_of(kind.name, task.environment)
        for parameter, value in {**ANY[kind.name], **own}.items():
            assert getattr(suited, parameter) == value
        assert suited.idv_size == 12
        given = kind(task, p_any=0.0, elites=0, p_mut=0.01, idv_size=3, pop_size=48).parameters
        assert (given.p_any, given.p_mut, given.elites, given.pop_size) == (0.0, 0.01, 0, 48)
    lake = make("PPL-DL").parameters
    assert (lake.p_any, lake.elites) == (0.0, 0)


@every_pittsburgh
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"windows": 7}, r"windows must be at most the number of training seeds \(6 in CartPole-v1\), not 7"),
        ({"fitness": "exact"}, "its fitness can only be 'sampled'"),
        ({"noise": "stream"}, "its noise 'aligned'"),
        ({"elites": 16}, r"elites must be fewer than pop_size \(16\)"),
    ],
)
def test_parameters_that_make_no_sense_in_an_environment_are_refused(
    name: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        make(name, task=tasks()["cart pole"], **given)


@every_pittsburgh
@pytest.mark.parametrize("given", [{"windows": 2}, {"first_episodes": 1}, {"racing": True}])
def test_budgets_are_for_environments(name: str, given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"save episodes of environments; .* is a table"):
        make(name, **given)


@every_pittsburgh
def test_rules_of_an_environment_can_be_started_from(name: str) -> None:
    task = tasks()["cart pole"]
    first = learnt("PPL-DL", "cart pole").ruleset
    system = make(name, task=task, start=first).learn(epochs=0)
    assert first.bounds.tolist() == np.sort(system.now.population.bounds[0], axis=-1).tolist()


@every_system
def test_an_environment_is_as_good_as_its_id_or_its_task(name: str) -> None:
    for given in ("MountainCar-v0", gymnasium.make("MountainCar-v0"), env_task("MountainCar-v0")):
        system = make(name, task=given)
        assert system.task.name == "MountainCar-v0"
        assert isinstance(system.task, EnvTask)


@every_system
def test_a_return_below_the_floor_is_refused_with_what_to_do(name: str) -> None:
    task = task_of("MountainCar-v0", episodes=2, t_max=30, floor=-10.0)
    if name == "PPL-X":  # whose lists always do something, so that none ever gets the floor
        assert make(name, task=task).learn(epochs=4).history["performance"].to_list() == [-30.0] * 5
        return
    with pytest.raises(TaskError, match=r"not above the floor -10 .*Give a lower floor"):
        make(name, task=task).learn(epochs=4)
