"""The command `ifthen tune`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import Runner

pytest.importorskip("optuna")

SMALL = ("--set", "pop_size=8", "--set", "idv_size=4", "--repeats", "1", "--final", "2", "--finalists", "1")


def test_a_tuning_ends_in_settings_that_train_takes(ifthen: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "tuned"
    command = ("tune", "PPL-DL", "FrozenLake-4-0", "--trials", "3", "--epochs", "3", "--workers", "1", *SMALL)
    found = ifthen(*command, "--search", "p_mut=0.01..0.2", "--only", "--out", folder)
    assert found.code == 0, found.err
    assert "Final scores" in found.out
    for name in ("tune.toml", "trials.parquet", "best.toml", "report.html"):
        assert (folder / name).exists()
    again = ifthen(*command, "--search", "p_mut=0.01..0.2", "--only", "--out", folder)
    assert again.out == found.out[found.out.index("\n3 settings") + 1 :]  # no training is run again
    trained = ifthen("train", "--config", folder / "best.toml", "--out", tmp_path / "run")
    assert trained.code == 0, trained.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--search", "p_mut"), "--search takes name=LOW..HIGH"),
        (("--search", "p_mutt=0.1..0.2"), "no parameter 'p_mutt'"),
        (("--set", "p_mut=7"), "less than or equal to 1"),
        (("--epochs", "3", "--steps", "100"), "not both"),
        (("--pruner", "best"), "'median', 'halving' or 'none'"),
        (("--engine", "slurm"), "no engine 'slurm'"),
    ],
)
def test_bad_input_is_refused_before_work_starts(
    options: tuple[str, ...], words: str, ifthen: Runner, tmp_path: Path
) -> None:
    found = ifthen("tune", "PPL-DL", "FrozenLake-4-0", *options, "--out", tmp_path / "none")
    assert found.code == 2
    assert words in found.err
    assert not (tmp_path / "none").exists()
