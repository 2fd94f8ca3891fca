"""Files of version 0.1 load, choose as they did, and learn on to the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ifthen import PPLDL, RuleSet, env_task, evaluate, load, read_ruleset
from ifthen.errors import ParameterError
from tests.archives import manifest, members, with_manifest
from tests.golden.old_files import EPOCHS, FOLDER, REMOVED, digests, known, new_systems, points_of

FILES = tuple(known())
LEARNING = tuple(name for name in FILES if "digests" in known()[name])
REMOVED_FILE = FOLDER / "PPL-DL-removed.zip"
every_file = pytest.mark.parametrize("name", FILES)


def said(ruleset: RuleSet, points: np.ndarray) -> str:
    """Return a ruleset's actions at points, a digit each."""
    return "".join("-" if action < 0 else str(action) for action in ruleset.predict(points))


def test_every_file_is_known_and_there_is_one_of_every_system_and_kind_of_task() -> None:
    assert {path.stem for path in FOLDER.glob("*.zip")} == set(FILES)
    assert len(FILES) == 8
    assert manifest(members(FOLDER / "PPL-DL-native.zip"))["task"]["player"] == "native"


@every_file
def test_models_choose_as_they_did(name: str) -> None:
    system = load(FOLDER / f"{name}.zip")
    assert said(system.ruleset, points_of(system.task)) == known()[name]["actions"]


@pytest.mark.parametrize("name", LEARNING)
def test_models_learn_on_to_the_same_bytes(name: str) -> None:
    system = load(FOLDER / f"{name}.zip", threads=1).learn(epochs=EPOCHS)
    found, expected = digests(system), known()[name]["digests"]
    assert {part: found[part] for part in expected} == expected


@pytest.mark.parametrize("name", [name for name in LEARNING if name != "PPL-DL-native"])
def test_the_same_training_gives_the_same_bytes_from_the_start(name: str) -> None:
    system = new_systems()[name].learn(epochs=2 * EPOCHS)
    found, expected = digests(system), known()[name]["digests"]
    assert {part: found[part] for part in expected} == expected


@pytest.mark.parametrize(
    "path", sorted([*FOLDER.glob("PPL*.json"), *FOLDER.glob("XCSF*.json")]), ids=lambda path: path.name
)
def test_ruleset_files_choose_as_they_did(path: Path) -> None:
    task: Any = load(FOLDER / f"{path.stem}.zip").task
    ruleset, _ = read_ruleset(path, task)
    assert said(ruleset, points_of(task)) == known()[path.stem]["actions"]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.name)
def test_rules_as_text_choose_as_they_did(path: Path) -> None:
    task: Any = load(FOLDER / f"{path.stem}.zip").task
    ruleset, _ = read_ruleset(path, task)
    assert said(ruleset, points_of(task)) == known()[path.stem]["actions"]


# Parameters that came later, and that are gone


def test_a_file_that_does_not_name_a_parameter_has_its_default_whatever_suits_the_task(
    tmp_path: Path,
) -> None:
    def older(data: Any) -> None:
        assert data["parameters"].pop("p_any") == 0.7

    model = with_manifest(FOLDER / "PPL-DL-cartpole.zip", tmp_path, older)
    assert load(model).parameters.model_dump()["p_any"] == 0.0


def test_a_model_with_parameters_that_are_gone_plays_but_does_not_learn_on() -> None:
    system = load(REMOVED_FILE, threads=1)
    assert evaluate(system, seeds="training").performance == system.history["performance"][-1]
    with pytest.raises(ParameterError, match=r"trained with mirror = '-cart .* rehearsal = 2, which"):
        system.learn(epochs=1)
    system.set_env("CartPole-v1")
    with pytest.raises(ParameterError, match=r"It predicts as before, but cannot learn on"):
        system.learn(epochs=0)
    assert PPLDL(system.task, start=system.ruleset, idv_size=4, pop_size=8).learn(epochs=1).epoch == 1


def test_such_a_model_is_saved_with_them_and_others_without(tmp_path: Path) -> None:
    for name, kept in (("PPL-DL-removed", REMOVED), ("PPL-DL-cartpole", {})):
        assert manifest(members(FOLDER / f"{name}.zip"))["parameters"].keys() > REMOVED.keys()
        load(FOLDER / f"{name}.zip").save(tmp_path / "again.zip")
        saved = manifest(members(tmp_path / "again.zip"))["parameters"]
        assert {key: saved[key] for key in REMOVED if key in saved} == kept


def test_they_are_refused_where_a_user_gives_them() -> None:
    given: dict[str, Any] = REMOVED
    with pytest.raises(ParameterError, match=r"parameter 'mirror'. Earlier versions had it: leave it out"):
        PPLDL(env_task("CartPole-v1", episodes=3), **given)
