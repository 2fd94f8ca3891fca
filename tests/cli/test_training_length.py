from __future__ import annotations

import sys
from pathlib import Path

import polars
import pytest

from ifthen import load
from ifthen.errors import ParameterError
from ifthen.runs import run_folder as files
from ifthen.runs.settings import checked_settings, read_settings
from tests.commands import Runner

SMALL = ("--set", "pop_size=10", "--set", "idv_size=4")
LAKE = ("PPL-DL", "FrozenLake-4-0")
GROWING = ("PPL-DL", "FrozenLake-4-0.1", "--set", "pop_size=40", "--set", "p_mut=0.02")


def performances(folder: Path) -> list[float]:
    return polars.read_csv(folder / files.HISTORY)["performance"].to_list()


def test_training_lasts_so_many_steps(ifthen: Runner, tmp_path: Path) -> None:
    done = ifthen("train", "XCSF", "FrozenLake-4-0", "--steps", "3000", "--out", tmp_path)
    assert done.code == 0
    assert "of 3,000 steps, performance" in done.out
    assert load(tmp_path / files.MODEL).history["steps"][-1] == 3000
    settings = read_settings(tmp_path / files.SETTINGS)
    assert settings["steps"] == 3000
    assert "epochs" not in settings
    assert "--steps 3000 --seed 0" in (tmp_path / files.REPORT).read_text()


def test_a_run_by_steps_is_resumed_to_the_bytes_of_one_go(ifthen: Runner, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert ifthen("train", "XCSF", "FrozenLake-4-0", "--steps", "3000", "--out", whole).code == 0
    assert ifthen("train", "XCSF", "FrozenLake-4-0", "--steps", "1700", "--out", part).code == 0
    text = (part / files.SETTINGS).read_text()
    (part / files.SETTINGS).write_text(text.replace("steps = 1700", "steps = 3000"))
    resumed = ifthen("resume", part)
    assert "1700 of 3000 steps are done" in resumed.out
    for name in (files.MODEL, files.HISTORY):
        assert (part / name).read_bytes() == (whole / name).read_bytes()
    assert "3000 of 3000 steps are done: finished" in ifthen("resume", part).out


def test_training_stops_at_a_score_and_stays_stopped(ifthen: Runner, tmp_path: Path) -> None:
    full, short = tmp_path / "full", tmp_path / "short"
    assert ifthen("train", *GROWING, "--epochs", "25", "--out", full).code == 0
    curve = performances(full)
    score = max(curve)
    stop = next(epoch for epoch, value in enumerate(curve) if value >= score)
    assert 0 < stop < 25
    arguments = ("--epochs", "25", "--stop-at", repr(score), "--out", short)
    assert ifthen("train", *GROWING, *arguments).code == 0
    assert performances(short) == curve[: stop + 1]
    model = (short / files.MODEL).read_bytes()
    resumed = ifthen("resume", short)
    assert resumed.code == 0
    assert f"{stop} of 25 epochs are done: finished" in resumed.out
    assert (short / files.MODEL).read_bytes() == model
    assert "--stop-at" in (short / files.REPORT).read_text()


def test_a_score_that_the_first_population_has_needs_no_epoch(ifthen: Runner, tmp_path: Path) -> None:
    assert ifthen("train", *LAKE, "--stop-at", "-1", "--out", tmp_path, *SMALL).code == 0
    assert len(performances(tmp_path)) == 1


def test_epochs_and_steps_together_are_refused(ifthen: Runner, tmp_path: Path) -> None:
    done = ifthen("train", *LAKE, "--epochs", "5", "--steps", "50", "--out", tmp_path)
    assert done.code != 0
    assert "epochs or steps say how long to learn, not both" in done.err
    assert not (tmp_path / files.SETTINGS).exists()
    with pytest.raises(ParameterError, match="not both"):
        checked_settings({"system": "XCSF", "task": "FrozenLake-4-0", "epochs": 250, "steps": 9})


def test_a_length_on_the_command_line_wins_over_the_other_unit_in_the_file(
    ifthen: Runner, tmp_path: Path
) -> None:
    config = tmp_path / "run.toml"
    config.write_text('system = "PPL-DL"\ntask = "FrozenLake-4-0"\nsteps = 100000\n')
    arguments = ("--config", config, "--epochs", "1", "--out", tmp_path / "run", *SMALL)
    assert ifthen("train", *arguments).code == 0
    assert load(tmp_path / "run" / files.MODEL).epoch == 1


@pytest.mark.parametrize("wrong", [("--steps", "0"), ("--steps", "many"), ("--stop-at", "nan")])
def test_impossible_lengths_are_refused_before_learning(
    ifthen: Runner, tmp_path: Path, wrong: tuple[str, str]
) -> None:
    assert ifthen("train", *LAKE, *wrong, "--out", tmp_path / "run").code != 0
    assert not (tmp_path / "run").exists()


def test_curves_without_their_package_are_refused_before_learning(
    ifthen: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    done = ifthen("train", *LAKE, "--tensorboard", tmp_path / "curves", "--out", tmp_path / "run")
    assert done.code != 0
    assert "pip install tensorboardX" in done.err
    assert not (tmp_path / "run").exists()
