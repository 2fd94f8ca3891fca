"""Two processes never mix in one folder, and what a killed one leaves is taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from ifthen.runs import run_folder as files
from ifthen.store import alone
from tests.cli.test_environments import refused
from tests.commands import Runner

TRAIN = ("train", "PPL-DL", "FrozenLake-4-0", "--set", "pop_size=8", "--threads", "1")


def test_a_run_that_goes_on_is_not_overwritten(ifthen: Runner, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    run = tmp_path / "run"
    assert ifthen(*TRAIN, "--epochs", "1", "--out", run).code == 0
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with alone(run):
        for more in (("--overwrite",), ()):
            done = ifthen(*TRAIN, "--epochs", "2", "--out", run, *more)
            refused(done, "another process is training in", "wait for it, or end it")
        refused(ifthen("resume", run), "another process is training in")
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    assert ifthen(*TRAIN, "--epochs", "2", "--out", run, "--overwrite").code == 0


def test_half_written_files_of_a_killed_run_are_gone_after_resume(ifthen: Runner, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert ifthen(*TRAIN, "--epochs", "2", "--out", run).code == 0
    (run / f".{files.CHECKPOINT}.abc12345").write_bytes(b"half")
    (run / f".{files.MODEL}.abc12345").write_bytes(b"half")
    (run / ".mine").write_text("stays")
    assert ifthen("resume", run).code == 0
    assert {path.name for path in run.iterdir() if path.name.startswith(".")} == {".mine"}
