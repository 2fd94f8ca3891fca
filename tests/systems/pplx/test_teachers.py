"""Teachers: what can be one, what they are asked, and what PPL-X learns from them."""

from __future__ import annotations

import functools
import re
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ifthen
from ifthen import PPLX, DecisionList, evaluate, load
from ifthen.environments.make import env_task
from ifthen.errors import ModelFileError, ParameterError, TaskError
from ifthen.systems.pplx import value_learning as values
from ifthen.systems.pplx.env_plan import DISTIL, SEARCH, VALUES
from ifthen.systems.pplx.pplx_on_env import OnEnvironment
from ifthen.systems.pplx.teacher import PROBES, Teacher, as_teacher, is_sb3_file
from ifthen.tasks.gym_task import EnvTask
from tests.archives import with_manifest
from tests.envs import HAYSTACK, task_of
from tests.systems.contract import meadow, saved_bytes

STEPS = 3_000


@pytest.fixture(scope="module", autouse=True)
def few_updates() -> Iterator[None]:
    """Learn with fewer updates of the network, which take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "MOST_PER_STEP", 2.0)
        patch.setattr(values, "FEW_UPDATES", 50)
        yield


@functools.cache
def haystack() -> EnvTask:
    return env_task(HAYSTACK, episodes=10)


def sign(observation: Any) -> int:
    """Do what is right in a haystack."""
    return int(observation[3] + observation[17] > 0)


def margins(observations: Any) -> Any:
    """Say what the actions are worth there, for one observation or many."""
    total = np.asarray(observations)[..., 3] + np.asarray(observations)[..., 17]
    return np.stack([-total, total], axis=-1)


def pupil(teacher: Any = margins, **given: Any) -> PPLX:
    return PPLX(haystack(), teacher=teacher, **{"seed": 1, "threads": 1, "steps": STEPS, **given})


@functools.cache
def taught(by_values: bool) -> PPLX:
    """Return a system after its whole plan; not to be changed."""
    return pupil(margins if by_values else sign).learn()


def walks(kind: str = "box", **given: Any) -> EnvTask:
    return task_of(kind=kind, **given)


POINTS = np.array([[-2.0, 0.0], [0.3, 1.0], [3.0, 2.0]])


# What can be a teacher


def test_a_function_of_an_observation_gives_actions_as_the_environment_numbers_them() -> None:
    for start in (0, 4):
        teacher = as_teacher(lambda o, start=start: start + (o[0] < 1) + (o[0] < 0), walks(start=start))
        assert not teacher.has_values
        assert teacher.actions(POINTS).tolist() == [2, 1, 0]
        assert teacher.actions(POINTS[:0]).tolist() == []


def test_a_function_of_an_observation_gives_values() -> None:
    teacher = as_teacher(lambda o: [0.0, o[0], 1.0], walks())
    assert teacher.has_values
    assert teacher.values(POINTS).tolist() == [[0, -2, 1], [0, 0.3, 1], [0, 3, 1]]
    assert teacher.actions(POINTS).tolist() == [2, 2, 1]


def test_a_function_that_takes_many_observations_is_asked_once() -> None:
    asked = []

    def many(observations: Any) -> Any:
        asked.append(np.shape(observations))
        return np.stack([np.asarray(observations)[..., 0]] * 3, axis=-1)

    teacher = as_teacher(many, walks())
    asked.clear()
    assert teacher.values(POINTS).shape == (3, 3)
    assert asked == [(3, 2)]


def test_a_function_that_answers_many_observations_otherwise_is_asked_one_by_one() -> None:
    def first(observations: Any) -> Any:  # many observations give as many numbers, but wrong ones
        flat = np.ravel(observations)
        return 0 if flat.size == 2 else np.ones(PROBES, np.int64)

    assert as_teacher(first, walks()).actions(POINTS).tolist() == [0, 0, 0]


def test_a_function_of_environment_and_observation_gets_both() -> None:
    def heuristic(env: Any, observation: Any) -> int:
        assert env.unwrapped.kind == "box"
        return int(observation[0] < 0) * 2

    assert as_teacher(heuristic, walks()).actions(POINTS).tolist() == [2, 0, 0]


@pytest.mark.parametrize("kind", ["integers", "state", "multi", "bits", "tuple", "dict"])
def test_a_function_gets_whole_observations_of_any_space(kind: str) -> None:
    task = walks(kind)
    made = task.make()

    def careful(observation: Any) -> int:
        assert made.observation_space.contains(observation)
        return 1

    points = np.clip(np.ones((2, len(task.features))), *task.ranges)
    assert as_teacher(careful, task).actions(points).tolist() == [1, 1]


def test_an_object_that_predicts_is_a_teacher() -> None:
    class Policy:
        def predict(self, observation: Any) -> tuple[Any, None]:
            return np.array(int(observation[0] > 0)), None

    assert as_teacher(Policy(), walks()).actions(POINTS).tolist() == [0, 1, 1]


def test_tables_are_teachers_where_a_state_is_a_number() -> None:
    task = walks("state")
    points = np.array([[-20.0], [0.0], [20.0]])
    actions = np.arange(41) % 3
    assert as_teacher(actions, task).actions(points).tolist() == [0, 2, 1]
    assert as_teacher(actions.tolist(), task).actions(points).tolist() == [0, 2, 1]
    table = np.eye(3)[actions]
    teacher = as_teacher(table, task)
    assert teacher.has_values
    assert teacher.values(points).tolist() == table[[0, 20, 40]].tolist()
    for wrong in (actions[:40], table[:, :2], ["left"] * 41, np.full(41, 3), [[0], [0, 1]]):
        with pytest.raises(ParameterError, match=r"41 states|from 0 to 2"):
            as_teacher(wrong, task)
    with pytest.raises(ParameterError, match="a state is one whole number"):
        as_teacher(actions, walks())


def test_rules_are_teachers_and_have_no_opinion_where_none_matches() -> None:
    task = walks()
    text = "IF f0 <= -1 THEN a2\nIF f0 >= 1 THEN a0"
    rules = ifthen.parse_rules(text, task=task)
    teacher = as_teacher(rules, task)
    assert teacher.actions(POINTS).tolist() == [2, -1, 0]
    costs = teacher.costs(POINTS, lambda points: np.array([[1.0, 2.0, 3.0]] * 3))
    assert costs[1].tolist() == [0, 0, 0]
    assert costs[0, 2] == costs[2, 0] == 0
    assert (costs[0, :2] > 0).all()
    assert (costs[2, 1:] > 0).all()  # a mistake costs something even if the learnt values say otherwise
    with pytest.raises(TaskError, match="the ruleset speaks of"):
        as_teacher(rules, haystack())


def test_systems_and_their_files_are_teachers(tmp_path: Path) -> None:
    system = taught(by_values=True)
    points = np.random.default_rng(0).uniform(-1, 1, (50, 25))
    expected = system.ruleset.best_actions(points).tolist()
    system.save(tmp_path / "model.zip")
    for given in (system, system.ruleset, tmp_path / "model.zip", str(tmp_path / "model.zip"), tmp_path):
        assert as_teacher(given, haystack()).actions(points).tolist() == expected


# Wrong teachers


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda o: 3, "whole numbers from 0 to 2, not array"),
        (lambda o: -1, "whole numbers from 0 to 2, not array"),
        (lambda o: 1.0, "must return an action, a whole number from 0 to 2, or the values of all 3"),
        (lambda o: [1.0, 2.0], "it returned \\[1.0, 2.0\\]"),
        (lambda o: None, "it returned None"),
        (lambda o: o["place"], "failed: IndexError"),
        (lambda: 0, "failed: TypeError"),
        (lambda o: 0 if o[1] else [0.0, 1.0, 2.0], "gives an action at times, and values at others"),
        (3, "a teacher must be a ruleset"),
        (None.__class__, "a teacher must be a ruleset"),
        ("nowhere.zip", "there is no file nowhere.zip"),
    ],
)
def test_what_cannot_teach_is_refused_before_anything_is_learnt(given: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        as_teacher(given, walks())


def test_values_that_are_not_finite_are_refused() -> None:
    teacher = as_teacher(lambda o: [0.0, 1.0, np.inf if o[0] > 2.9 else 0.0], walks())
    with pytest.raises(TaskError, match="not finite"):
        teacher.values(POINTS)


def test_answers_of_another_shape_are_refused() -> None:
    with pytest.raises(TaskError, match="must give values of shape \\(3, 3\\)"):
        Teacher("odd", lambda points: np.zeros(2), 3, True).values(POINTS)
    with pytest.raises(TaskError, match="must give actions from 0 to 2 of shape \\(3,\\)"):
        Teacher("odd", lambda points: np.full(3, 7), 3, False).actions(POINTS)


def test_a_teacher_needs_whole_observations() -> None:
    task = env_task(HAYSTACK, episodes=5, leave_out=["f4"])
    with pytest.raises(TaskError, match=r"needs whole observations of .* was left out in part"):
        as_teacher(sign, task)


def test_files_of_rules_are_read_by_their_reader(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("OTHERWISE 0")
    with pytest.raises(ParameterError, match="read the rules first"):
        as_teacher(tmp_path / "rules.txt", walks())


def test_tables_of_states_take_no_teacher() -> None:
    with pytest.raises(ParameterError, match=r"teachers are for environments, .* start=…"):
        PPLX(meadow(), teacher=lambda o: 0)
    with pytest.raises(ParameterError, match="PPL-DL takes no teacher: use PPL-X"):
        ifthen.PPLDL(haystack()).set_teacher(sign)


def test_the_call_that_the_refusal_of_a_table_names_makes_a_list() -> None:
    task = meadow()
    with pytest.raises(ParameterError) as refused:
        PPLX(task, teacher=lambda o: 0)
    (call,) = re.findall(r"ifthen\.\w+\(.*?\)", str(refused.value))
    policy = ifthen.PPLST(task, seed=0, pop_size=4).learn(epochs=1)
    result = eval(call, {"ifthen": ifthen, "policy": policy, "task": task})
    assert isinstance(result.ruleset, ifthen.DecisionList)


class Trap:
    """Raises when it is unpickled."""

    def __reduce__(self) -> Any:
        return (_sprung, ())


def _sprung() -> None:
    raise AssertionError("a pickle was opened")


def sb3_archive(path: Path, **settings: Any) -> Path:
    """Write an archive that looks like one of Stable-Baselines3, with a trap in it."""
    import json
    import pickle

    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps(settings))
        archive.writestr("policy.pth", pickle.dumps(Trap()))
    return path


def test_an_archive_of_stable_baselines3_is_told_apart_without_opening_what_is_in_it(tmp_path: Path) -> None:
    file = sb3_archive(tmp_path / "ppo.zip", clip_range=0.2)
    assert is_sb3_file(file)
    assert not is_sb3_file(tmp_path / "nothing.zip")
    taught(by_values=True).save(tmp_path / "model.zip")
    assert not is_sb3_file(tmp_path / "model.zip")
    with pytest.raises(ModelFileError):
        load(file)  # our own reader never opens a pickle
    sb3_archive(tmp_path / "run" / "model.zip", clip_range=0.2)
    with pytest.raises(ModelFileError):
        as_teacher(tmp_path / "run", haystack())  # nor does anyone a file that was not named itself


def test_a_model_of_stable_baselines3_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    file = sb3_archive(tmp_path / "ppo.zip", clip_range=0.2)
    with pytest.raises(ParameterError, match="not installed: pip install stable-baselines3"):
        as_teacher(file, walks())
    unknown = sb3_archive(tmp_path / "sac.zip", target_entropy=1)
    with pytest.raises(ParameterError, match="an algorithm that is not known here"):
        as_teacher(unknown, walks())
    with zipfile.ZipFile(tmp_path / "broken.zip", "w") as archive:
        archive.writestr("data", "{")
        archive.writestr("policy.pth", "")
    with pytest.raises(ParameterError, match="is no model of Stable-Baselines3"):
        as_teacher(tmp_path / "broken.zip", walks())


# Learning


@pytest.mark.parametrize("by_values", [True, False])
def test_lists_do_what_the_teacher_does(by_values: bool) -> None:
    system = taught(by_values)
    assert evaluate(system, haystack(), seeds=haystack().test_seeds()).performance > 1.8
    points = np.random.default_rng(0).uniform(-1, 1, (1000, 25))
    assert system.teacher is not None
    assert (system.ruleset.best_actions(points) == system.teacher.actions(points)).mean() > 0.9
    (term,) = system.ruleset.terms
    assert {name for name, _ in term.of} == {"f3", "f17"}


def test_a_teacher_saves_the_phases_that_it_makes_needless() -> None:
    assert set(taught(by_values=True).history["phase"]) == {0, DISTIL, SEARCH}
    assert set(taught(by_values=False).history["phase"]) == {0, VALUES, DISTIL, SEARCH}
    for system in (pupil(margins), pupil(sign), PPLX(haystack())):
        learner = system.learner
        assert isinstance(learner, OnEnvironment)
        spent = [learner.plan.quota(epoch, 1e5) for epoch in range(1, learner.epochs + 1)]
        assert sum(spent) == pytest.approx(1e5)
        assert learner.plan.phase(learner.imitation)[0] == DISTIL
        assert learner.plan.phase(learner.imitation + 1) == (SEARCH, 0)


def test_lists_that_only_imitate_are_scored_by_that() -> None:
    def wrong(observation: Any) -> Any:  # what it says is worth most is worth least
        return -margins(observation)

    system = pupil(wrong, imitate=True).learn()
    assert set(system.history["phase"]) == {0, DISTIL}
    assert evaluate(system, haystack(), seeds=haystack().test_seeds()).performance < 0.3
    scores = [point.score for point in system.front.points]
    assert scores == sorted(scores)
    assert 0.9 < scores[-1] <= 1
    learner, budget = system.learner, 5e4
    assert isinstance(learner, OnEnvironment)
    spent = [learner.plan.quota(e, budget) for e in range(1, 15)]
    assert sum(spent) == pytest.approx(budget)
    assert system.learn(epochs=2).now.records[-1]["phase"] == DISTIL
    with pytest.raises(ParameterError, match="imitate=True needs a teacher"):
        PPLX(haystack(), imitate=True, threads=1).learn(epochs=0)


def test_the_learnt_values_are_those_of_the_teachers_policy() -> None:
    # The teacher is wrong in every second state: so is the value of what follows, never the best one.
    def wrong(observation: Any) -> int:
        return 1 - sign(observation)

    system = pupil(wrong).learn(epochs=20)
    known = system.now.population
    right = known.rewards[known.moves >= 0]
    assert 0.05 < right.mean() < 0.4  # only random actions are right
    points = np.random.default_rng(0).uniform(-1, 1, (500, 25))
    values = system.learner.bench(0, 0.0)._action_values(known, points)  # type: ignore[attr-defined]  # of environments
    own = np.array([wrong(point) for point in points])
    rows = np.arange(len(points))
    more = (values[rows, 1 - own] - values[rows, own]) / known.scaling.reward
    assert 0.5 < more.mean() < 1.5  # acting right once gets 1 more


def test_advice_is_asked_for_once_per_point() -> None:
    asked = []

    def counted(points: Any) -> Any:
        asked.append(len(points))
        return (points[:, 0] > 0).astype(np.int64)

    teacher = Teacher("counted", counted, 2, False)
    points = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32)
    for n in (10, 30, 30):
        assert teacher.advice(points[:n]).tolist() == (points[:n, 0] > 0).tolist()
    assert asked == [10, 20]
    assert teacher.advice(points[5:]).tolist() == (points[5:, 0] > 0).tolist()  # the first ones are gone


# Files


@pytest.mark.parametrize(("teacher", "epoch"), [(margins, 3), (sign, 3), (sign, 25)])
def test_learning_goes_on_to_the_same_bytes_once_the_teacher_is_given_again(
    tmp_path: Path, teacher: Any, epoch: int
) -> None:
    path = tmp_path / "half.zip"
    pupil(teacher).learn(epochs=epoch).save(path)
    whole = pupil(teacher, threads=2).learn(epochs=epoch + 3)
    rest = load(path, teacher=teacher, threads=1).learn(epochs=3)
    assert saved_bytes(whole, tmp_path) == saved_bytes(rest, tmp_path)


def test_without_its_teacher_a_model_predicts_and_is_measured_but_does_not_learn(tmp_path: Path) -> None:
    system = taught(by_values=True)
    system.save(tmp_path / "model.zip")
    alone = load(tmp_path / "model.zip")
    assert isinstance(alone, PPLX)
    assert alone.ruleset == system.ruleset
    seen = np.zeros(25)
    assert alone.predict(seen) == system.predict(seen)
    assert evaluate(alone, seeds=[1]).performance == evaluate(system, seeds=[1]).performance
    with pytest.raises(ParameterError, match=r"was taught by margins, .* ifthen.load\(path, teacher=…\)"):
        alone.learn(epochs=1)
    assert saved_bytes(alone, tmp_path) == saved_bytes(system, tmp_path)
    with pytest.raises(ParameterError, match="gives action values, and sign gives actions only"):
        load(tmp_path / "model.zip", teacher=sign)
    with pytest.raises(ParameterError, match="has learnt without a teacher so far"):
        PPLX(haystack(), steps=STEPS, threads=1).learn(epochs=0).set_teacher(margins)
    alone.set_teacher(margins)
    alone.set_env(HAYSTACK)
    assert alone.learn(epochs=1).epoch == system.epoch + 1


def put_teacher(wrong: Any, about: dict[str, Any]) -> None:
    about["teacher"] = wrong


def test_a_file_that_is_wrong_about_its_teacher_is_refused(tmp_path: Path) -> None:
    taught(by_values=True).save(tmp_path / "model.zip")
    wrong_ones: list[Any] = [{"name": "x"}, {"name": 3, "values": True}, "x"]
    for wrong in [*wrong_ones, {"name": "x", "values": True, "code": "y"}]:
        changed = with_manifest(tmp_path / "model.zip", tmp_path, partial(put_teacher, wrong))
        with pytest.raises(ModelFileError, match="teacher"):
            load(changed)


def test_a_taught_list_is_a_list() -> None:
    assert isinstance(taught(by_values=True).ruleset, DecisionList)
