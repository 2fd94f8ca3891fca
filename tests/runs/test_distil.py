"""Distillation: what a list gets beside its teacher, and how faithful it is."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ifthen
from ifthen import evaluate
from ifthen.environments.make import env_task
from ifthen.errors import ParameterError
from ifthen.results import DistilResult
from ifthen.runs.distil import Fidelity, evaluation, fidelity
from ifthen.simulate.evaluate import environment_simulator
from ifthen.systems.pplx import value_learning as values
from ifthen.systems.pplx.env_plan import DISTIL
from ifthen.systems.pplx.teacher import Teacher
from ifthen.tasks.gym_task import EnvTask
from tests.envs import HAYSTACK, task_of
from tests.systems.contract import meadow


@pytest.fixture(scope="module", autouse=True)
def few_updates() -> Iterator[None]:
    """Learn with fewer updates of the network, which take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "MOST_PER_STEP", 1.0)
        patch.setattr(values, "FEW_UPDATES", 20)
        yield


@functools.cache
def haystack() -> EnvTask:
    return env_task(HAYSTACK, episodes=10)


def margins(observations: Any) -> Any:
    """Say what the actions are worth in a haystack, for one observation or many."""
    total = np.asarray(observations)[..., 3] + np.asarray(observations)[..., 17]
    return np.stack([-total, total], axis=-1)


@functools.cache
def result(tune: bool = True) -> DistilResult:
    return ifthen.distil(margins, haystack(), steps=3_000, seed=1, threads=1, tune=tune, episodes=50)


def test_a_list_is_measured_beside_its_teacher_on_test_seeds() -> None:
    found = result()
    seeds = haystack().test_seeds(50)
    own = evaluate(found.ruleset, haystack(), seeds=seeds)
    assert own.returns is not None
    assert found.chosen.evaluation.performance == pytest.approx(own.performance)
    assert found.chosen.evaluation.returns == pytest.approx(own.returns)
    assert found.teacher_evaluation.performance == 2.0
    assert found.teacher == "margins"
    assert found.chosen.point.ruleset == found.ruleset == found.system.ruleset


def test_the_front_has_fidelity_beside_returns() -> None:
    found = result()
    assert [own.point.rules for own in found.imitations] == [point.rules for point in found.front.points]
    for own in found.imitations:
        for part in (own.on_own, own.on_teachers):
            assert 0 <= part.same <= 1
            assert 0 <= part.kept <= 1
    assert found.chosen.on_own.same > 0.85
    assert found.chosen.on_own.kept >= found.chosen.on_own.same  # mistakes are made where they cost little


def test_tables_html_and_plain_data_say_the_same() -> None:
    found, text = result(), str(result())
    assert "mean return on 50 test seeds" in text
    assert "margins" in text
    assert f"{found.chosen.on_own.kept:.1%}" in text
    html = found._repr_html_()
    assert "Fidelity of 2 rules to the teacher" in html
    assert "f3" in html
    data = found.to_dict()
    assert data["teacher's return"] == 2.0
    assert data["chosen"]["fidelity on its own states"]["same"] == found.chosen.on_own.same
    assert len(data["front"]) == len(found.front)


def test_a_list_that_acts_unlike_its_teacher_comes_with_a_note() -> None:
    found = result()
    assert found.note == ""
    unlike = replace(found.chosen, on_teachers=Fidelity(0.05, 0.1))
    worse = replace(found.teacher_evaluation, performance=-1.0)
    told = "These rules act differently from the teacher in 95% of its states"
    better = replace(found, chosen=unlike, teacher_evaluation=worse)
    assert better.note.startswith(f"{told} and get more: ")
    assert "tune=False (--no-tune) only imitates it" in str(better).replace("\n", " ")
    assert better.to_dict()["note"] == better.note
    best = replace(found.teacher_evaluation, performance=9.0)
    assert replace(found, chosen=unlike, teacher_evaluation=best).note.startswith(f"{told} and get less: ")
    same = found.chosen.evaluation
    assert replace(found, chosen=unlike, teacher_evaluation=same).note.startswith(f"{told}: ")
    plain = result(tune=False)
    assert "More rules or steps" in replace(plain, chosen=unlike).note


def test_without_tuning_lists_only_imitate() -> None:
    assert result(tune=False).system.now.records[-1]["phase"] == DISTIL


def test_fidelity_weighs_mistakes_by_their_costs() -> None:
    task = task_of()
    rules: Any = ifthen.parse_rules("IF f0 <= 0 THEN a0\nOTHERWISE a1", task=task)
    points = np.array([[-1.0, 0], [1.0, 0], [2.0, 0], [9.0, 0]])  # the last one is beyond the range
    worth = np.array([[1.0, 0, 0], [0, 2, 0], [3, 0, 1], [1, 0, 0]])
    teacher = Teacher("table", lambda p: worth[: len(p)], 3, True)
    costs = worth.max(axis=1, keepdims=True) - worth
    assert fidelity(rules, task, teacher, points, costs) == Fidelity(0.5, 1 - (3 + 1) / (1 + 2 + 3 + 1))
    assert fidelity(rules, task, teacher, points, 0 * costs) == Fidelity(0.5, 1.0)


def test_returns_are_discounted_and_a_state_without_a_rule_is_a_failure() -> None:
    task = task_of(gamma=0.9)
    simulator, seeds = environment_simulator(task), task.test_seeds(5)
    whole: Any = ifthen.parse_rules("IF f0 <= 0 THEN a2\nOTHERWISE a0", task=task)
    found = evaluation(task, simulator.episodes(whole, seeds), seeds)
    expected = evaluate(whole, task, seeds=seeds)
    assert found.returns == pytest.approx(expected.returns)
    for name in ("performance", "steps", "truncated_share", "deviation", "least", "most", "interval"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name))
    gap: Any = ifthen.parse_rules("IF f0 <= 0 THEN a2", task=task)
    failed = evaluation(task, simulator.episodes(gap, seeds), seeds)
    assert failed.failed
    assert failed.performance == task.floor


def test_rules_in_a_file_are_a_teacher(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("IF f3 >= 0 THEN action 1\nOTHERWISE action 0\n")
    found = ifthen.distil(tmp_path / "mine.txt", haystack(), steps=2_000, threads=1, tune=False, episodes=20)
    assert found.teacher == "a ruleset of 2 rules"
    assert found.chosen.on_teachers.same > 0.8


def test_what_cannot_be_distilled_is_refused_at_once() -> None:
    with pytest.raises(ParameterError, match="episodes must be a whole number"):
        ifthen.distil(margins, haystack(), episodes=0)
    with pytest.raises(ParameterError, match="teachers are for environments"):
        ifthen.distil(lambda o: 0, meadow())
    with pytest.raises(ParameterError, match="there is no file"):
        ifthen.distil("nothing.zip", haystack())
