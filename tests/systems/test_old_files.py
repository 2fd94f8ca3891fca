"""Files of version 0.1 load, choose as they did, and learn on to the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ifthen import RuleSet, load, read_ruleset
from tests.archives import manifest, members
from tests.golden.old_files import EPOCHS, FOLDER, digests, known, new_systems, points_of

FILES = tuple(known())
every_file = pytest.mark.parametrize("name", FILES)


def said(ruleset: RuleSet, points: np.ndarray) -> str:
    """Return a ruleset's actions at points, a digit each."""
    return "".join("-" if action < 0 else str(action) for action in ruleset.predict(points))


def test_every_file_is_known_and_there_is_one_of_every_system_and_kind_of_task() -> None:
    assert {path.stem for path in FOLDER.glob("*.zip")} == set(FILES)
    assert len(FILES) == 7
    assert manifest(members(FOLDER / "PPL-DL-native.zip"))["task"]["player"] == "native"


@every_file
def test_models_choose_as_they_did(name: str) -> None:
    system = load(FOLDER / f"{name}.zip")
    assert said(system.ruleset, points_of(system.task)) == known()[name]["actions"]


@every_file
def test_models_learn_on_to_the_same_bytes(name: str) -> None:
    system = load(FOLDER / f"{name}.zip", threads=1).learn(epochs=EPOCHS)
    found, expected = digests(system), known()[name]["digests"]
    assert {part: found[part] for part in expected} == expected


@pytest.mark.parametrize("name", [name for name in FILES if name != "PPL-DL-native"])
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
