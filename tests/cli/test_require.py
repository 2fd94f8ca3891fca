"""Requirements on the command line: in training, beside a run, and by the exit code of `verify`."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

from tests.commands import Runner


def test_a_run_keeps_its_requirements_beside_its_policy(
    ifthen: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--set", "idv_size=5", "--set", "pop_size=16", "--epochs", "2"]
    task = ["PPL-DL", "FrozenLake-4-0"]
    text = "never Right when x >= 1"
    done = ifthen("train", *task, *small, "--out", "run", "--require", f"{text},return >= 2")
    assert done.code == 1
    assert "error: the policy does not meet 'return >= 2'. The run is kept in run" in done.err
    assert f"✓ {text}: checked" in done.out
    assert "✗ return >= 2: by the model" in done.out
    folder = tmp_path / "run"
    assert (folder / "requirements.txt").read_text().splitlines()[1:] == [text, "return >= 2"]
    page = html.unescape((folder / "report.html").read_text())
    assert f"--require '{text}'" in page
    assert "the requirement given to training: " + text in page
    assert ifthen("verify", "run", "--quiet").code == 1
    (folder / "requirements.txt").write_text(f"# only this\n{text}\n")
    met = ifthen("verify", "run", "--quiet")
    assert met.code == 0
    assert f"✓ {text}" in met.out
    assert ifthen("prune", "run", "--out", "short.json").code == 0
    assert ifthen("verify", "short.json", "--task", "run", "--require-file", "run/requirements.txt").code == 0
    refused = ifthen("train", *task, "--out", "no", "--require", "never Right,always Right when x = 1")
    assert refused.code != 0
    assert "contradict each other" in refused.err
    assert not (tmp_path / "no").exists()


def test_requirements_that_a_run_was_not_given_are_told(ifthen: Runner, tmp_path: Path) -> None:
    small = ["--set", "idv_size=5", "--set", "pop_size=16", "--epochs", "1", "--no-prune"]
    train = ["train", "PPL-DL", "FrozenLake-4-0", *small, "--out", str(tmp_path / "run")]
    assert ifthen(*train, "--require", "rules>=1").code == 0
    again = ifthen(*train, "--overwrite")
    assert again.code == 0
    assert "requirements.txt" not in again.out
    assert "with the requirements in" not in ifthen("verify", tmp_path / "run", "--quiet").out
    (tmp_path / "run" / "requirements.txt").write_text("rules>=1\n")
    again = ifthen(*train, "--overwrite")
    assert again.code == 0
    assert "requirements.txt is not from this run: 'ifthen verify', 'prune' and 'export' use it" in again.out
    assert "with the requirements in" in ifthen("verify", tmp_path / "run", "--quiet").out
