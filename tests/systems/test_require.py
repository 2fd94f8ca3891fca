"""Requirements given to training: a list that breaks one is never handed out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ifthen import PPLX, DecisionList, RuleSet, env_task, load, prune, verify
from ifthen.errors import ModelFileError, ParameterError
from ifthen.rules.constraint import breach, shielded
from ifthen.rules.text.constraint_text import constraint_in
from ifthen.simulate.scope import recorded_episodes
from ifthen.systems.registry import SYSTEMS
from tests.archives import members, npy, write
from tests.envs import Walk
from tests.systems.contract import make

LISTS = sorted(name for name, kind in SYSTEMS.items() if kind.gives_lists)
NEVER = ["never Right when x >= 1", "always Up when y = 2 and x = 0"]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_breaks_a_requirement_is_never_handed_out(name: str, tmp_path: Path) -> None:
    system = make(name, require=NEVER)
    handed_out: list[RuleSet] = []
    system.learn(epochs=3, callback=lambda learner: handed_out.append(learner.ruleset))
    handed_out += [point.ruleset for point in system.front.points] if system.front else []
    handed_out.append(prune(system).ruleset)
    for rules in handed_out:
        assert all(breach(rules, each).equal is True for each in system.shields.constraints)
    exact = verify(system, require=NEVER).properties["performance"]
    assert system.history["exact_performance"][-1] == pytest.approx(exact)
    system.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert again.require == NEVER
    assert again.ruleset == system.ruleset
    told = system.shield_in_words(system.ruleset)
    assert ("from the requirements given to training" in told) is (system.shield_of(system.ruleset) > 0)


def test_a_model_with_requirements_is_read_without_its_environment(tmp_path: Path) -> None:
    require = ["never 0 when f0 >= -1", "never 1 when f0 <= 2", "never 2 when f0 >= 3"]
    system = PPLX(Walk(), steps=1000, seed=0, threads=1, require=require).learn(epochs=2)
    front = [(own.ruleset, own.score, own.deviation, own.episodes) for own in system.front.points]
    assert system.shield_of(system.ruleset) > 0
    system.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert again.front is not None
    assert [(own.ruleset, own.score, own.deviation, own.episodes) for own in again.front.points] == front
    assert again.predict([0.0, 0.0]) == system.predict([0.0, 0.0])
    again.save(tmp_path / "again.zip")
    assert load(tmp_path / "again.zip").ruleset == system.ruleset


def test_a_model_whose_scores_do_not_fit_its_lists_is_refused(tmp_path: Path) -> None:
    system = PPLX(Walk(), steps=1000, seed=0, threads=1, require="never 2 when f0 >= -1").learn(epochs=0)
    system.save(tmp_path / "model.zip")
    parts = members(tmp_path / "model.zip")
    for wrong in (np.zeros((9, 3)), np.zeros((1, 3)), np.ones((1, 2)), np.ones((1, 3), dtype=np.float32)):
        write(tmp_path / "wrong.zip", {**parts, "population/kept.npy": npy(wrong)})
        with pytest.raises(ModelFileError, match="kept must hold a score for each list"):
            load(tmp_path / "wrong.zip")


@pytest.mark.parametrize("action", [0, 1, 2])
def test_the_front_begins_with_the_best_action_that_may_always_be_taken(action: int) -> None:
    walk = PPLX(Walk(), steps=1000, seed=0, threads=1, require=f"never {action} when f0 >= -1").learn(
        epochs=0
    )
    names = make("PPL-X").task.action_names
    lake = make("PPL-X", require=f"never {names[action]} when x = 0").learn(epochs=1)
    for system in (walk, lake):
        assert isinstance(system, PPLX)
        shortest = system.front.points[0]
        assert shortest.rules == 1
        assert all(breach(shortest.ruleset, each).equal is True for each in system.shields.constraints)
        constants = system.learner.constants(system.now.population)
        assert shortest.score >= max(own.score for own in constants if own.ruleset.actions[0] != action)
        assert sorted(int(own.ruleset.actions[0]) for own in constants) == list(range(system.task.n_actions))


def test_nothing_changes_where_the_list_keeps_the_requirement_by_itself() -> None:
    plain = make("PPL-DL").learn(epochs=2)
    unused = next(
        f"never {name} when x = {x} and y = {y}"
        for name in plain.task.action_names
        for x in range(3)
        for y in range(3)
        if plain.task.action_names[plain.ruleset.predict([x, y])] != name
    )
    kept = make("PPL-DL", require=unused).learn(epochs=2)
    assert kept.ruleset == plain.ruleset
    assert kept.history.equals(plain.history)


def test_systems_without_lists_and_contradictions_are_refused_before_training() -> None:
    for name in sorted(set(SYSTEMS) - set(LISTS)):
        with pytest.raises(ParameterError, match="hands out none: use PPL-X, PPL-DL or SAMUEL"):
            make(name, require=NEVER)
    with pytest.raises(ParameterError, match="contradict each other at x = 1, y = 0"):
        make("PPL-DL", require=["never Right when x = 1", "always Right when y = 0"])
    with pytest.raises(ParameterError, match="not about rules alone"):
        make("PPL-DL", require="return >= 0.5")


def test_a_shielded_policy_never_breaks_its_constraint_in_play() -> None:
    pole = env_task("CartPole-v1", episodes=5, t_max=200)
    bounds = np.array([[[f.low, f.high] for f in pole.features]] * 2)
    bounds[0, 3, 1] = 0.2
    text = "never push left when pole angle >= 0.02 and cart position <= 1"
    constraint = constraint_in(text, pole.features, pole.action_names)
    rules = DecisionList(bounds, [0, 1], pole.features, pole.action_names)
    acts: dict[bool, list[Any]] = {}
    for has_shield, own in ((False, rules), (True, shielded(rules, [constraint]).ruleset)):
        episodes = recorded_episodes(own, pole, pole.test_seeds())
        points = np.clip(np.concatenate([each.points for each in episodes]), *pole.ranges)
        inside = constraint.where.matches(points).any(axis=1)
        acts[has_shield] = np.concatenate([each.actions for each in episodes])[inside].tolist()
    assert 0 in acts[False]  # the list alone breaks it
    assert set(acts[True]) == {1}
