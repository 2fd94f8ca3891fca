"""Requirements on the command line: in training, beside a run, and by the exit code of `verify`."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ifthen.runs import run_folder as files
from ifthen.runs.run_folder import RunFolder
from ifthen.runs.settings import RunSettings
from ifthen.store import write_text
from ifthen.systems import model_file
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


@pytest.mark.parametrize("files_written", [0, 1, 2])
def test_a_run_that_was_killed_while_it_took_another_list_resumes_to_the_same_bytes(
    files_written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ifthen: Runner
) -> None:
    monkeypatch.chdir(tmp_path)
    train = ["train", "PPL-X", "FrozenLake-4-0.1", "--set", "collect=500", "--set", "candidates=300"]
    train += ["--require", "rules<=2", "--threads", "1", "--out", "run"]
    written: list[Path] = []

    def write(write_one: Callable[..., None], path: Path, *contents: Any) -> None:
        if len(written) == files_written:
            raise KeyboardInterrupt
        written.append(path)
        write_one(path, *contents)

    def killed(folder: RunFolder, *arguments: Any) -> RunSettings:
        with monkeypatch.context() as patched:
            patched.setattr(model_file, "write", partial(write, model_file.write))
            patched.setattr(files, "write_text", partial(write, write_text))
            take(folder, *arguments)
        raise KeyboardInterrupt

    whole = ifthen(*train)
    assert "is taken, with a score" in whole.out
    Path("run").rename("whole")
    take = RunFolder.take
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "take", killed)
        ifthen(*train)
    assert len(written) == files_written
    assert not Path("run", files.REPORT).exists()
    resumed = ifthen("resume", "run", "--threads", "1")
    assert resumed.code == whole.code == 0, resumed.err
    for path in Path("whole").iterdir():
        assert Path("run", path.name).read_bytes() == path.read_bytes(), path.name
