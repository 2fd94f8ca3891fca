"""A front is a sequence of its points, and the folder of a run is read as its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from ifthen import load
from ifthen.errors import ModelFileError
from tests.systems.contract import make


def test_a_front_yields_its_points_and_a_folder_of_a_run_is_its_model(tmp_path: Path) -> None:
    system = make("PPL-X").learn(epochs=1)
    front = system.front
    assert front is not None
    assert tuple(front) == front.points
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)
    system.save(tmp_path / "model.zip")
    assert load(tmp_path).ruleset == system.ruleset
