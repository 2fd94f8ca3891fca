from __future__ import annotations

import json
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.commands import Runner, start_command
from tests.study.studies import contents, small_plan

PLAN = """
name = "small"
trials = 2
epochs = 3
tasks = ["FrozenLake-4-0"]

[[systems]]
name = "few rules"
system = "PPL-DL"
parameters = { idv_size = 5, pop_size = 16 }

[[systems]]
name = "XCSF"
parameters = { pop_limit = 80, ga_per_epoch = 8 }
"""


SOON = ("--set", "checkpoint_seconds=0.1")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def test_a_study_runs_once_and_then_there_is_nothing_left(plan: Path, ifthen: Runner, tmp_path: Path) -> None:
    first = ifthen("study", "run", "plan.toml", "--out", "results", "--workers", "1")
    assert first.code == 0, first.err
    assert "0 of 4 trials are finished" in first.out
    assert "few rules on FrozenLake-4-0, seed 1: finished" in first.out
    assert "all 4 trials are in results" in first.out
    files = contents(tmp_path / "results")
    assert len([path for path in files if path.endswith(".parquet")]) == 4
    shown = ifthen("study", "tables", "results", "--write")
    assert shown.code == 0, shown.err
    assert "few rules" in shown.out
    assert {path.suffix for path in (tmp_path / "results" / "tables").iterdir()} == {".csv", ".md", ".tex"}
    for part in ("tables", "data"):
        shutil.rmtree(tmp_path / "results" / part)
    again = ifthen("study", "run", "plan.toml", "--out", "results")
    assert "4 of 4 trials are finished" in again.out
    assert contents(tmp_path / "results") == files


def test_a_study_is_reported_packed_and_taken_over(plan: Path, ifthen: Runner, tmp_path: Path) -> None:
    assert "no trial of the study in results has finished" in refused(ifthen, plan, "report", "results")
    assert ifthen("study", "run", "plan.toml", "--out", "results", "--workers", "1").code == 0
    packed = ifthen("study", "pack", "results", "--out", "packed")
    assert packed.code == 0, packed.err
    assert "4 trials are packed in packed" in packed.out
    for folder in ("results", "packed"):
        shown = ifthen("study", "report", folder)
        assert shown.code == 0, shown.err
        assert "few rules against XCSF: " in shown.out
        assert "of 1 tasks" in shown.out
    ours, theirs = (
        {path.relative_to(tmp_path / folder): path.read_bytes() for path in shown_files(tmp_path / folder)}
        for folder in ("results", "packed")
    )
    assert ours == theirs  # the same page, tables and figures
    more = ("--set", "trials=3", "--workers", "1", "--reuse", "results", "--out", "more")
    again = ifthen("study", "run", "plan.toml", *more)
    assert again.code == 0, again.err
    assert "4 trials are taken from results" in again.out
    assert "4 of 6 trials are finished" in again.out


def refused(ifthen: Runner, plan: Path, *arguments: str) -> str:
    """Return the error of a study command that cannot do what is asked, on a study without trials."""
    (plan.parent / "results").mkdir()
    (plan.parent / "results" / "study.json").write_text(small_plan().to_json())
    done = ifthen("study", *arguments)
    assert done.code == 2
    shutil.rmtree(plan.parent / "results")
    return " ".join(done.err.split())


def shown_files(folder: Path) -> list[Path]:
    """Return the files that a report writes."""
    beside = [path for part in ("tables", "figures") for path in (folder / part).iterdir()]
    return [folder / "report.html", *beside]


def test_the_plan_is_shown_with_an_estimate(plan: Path, ifthen: Runner, tmp_path: Path) -> None:
    shown = ifthen("study", "plan", "plan.toml", "--set", "trials=30")
    assert shown.code == 0, shown.err
    assert "60 trials of 3 epochs" in shown.out
    assert re.search(r"about \d+ seconds in \d+ processes", shown.out.replace("\n", " "))
    assert list(tmp_path.iterdir()) == [plan]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan.toml", "--set", "trails=3"), "unknown setting 'trails'"),
        (("plan.toml", "--set", "XCSF.chy=1"), "the system 'XCSF': unknown parameter 'chy'"),
        (("plan.toml", "--set", "systems=3", "--set", "XCSF.chi=1"), "the study has no system 'XCSF'"),
        (("plan.toml", "--set", 'name="a\\nb"'), "printable"),
        (("plan.toml", "--reuse", "nowhere"), "nowhere holds no study"),
        (("nowhere.toml",), "cannot read nowhere.toml"),
        (("plan.toml", "--workers", "0"), "workers must be a whole number"),
        (("plan.toml", "--engine", "dusk"), "no engine 'dusk'. Did you mean 'dask'?"),
        (("plan.toml", "--address", "tcp://127.0.0.1:1"), "give --engine dask with --address"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_written(
    arguments: tuple[str, ...], message: str, plan: Path, ifthen: Runner, tmp_path: Path
) -> None:
    done = ifthen("study", "run", *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert list(tmp_path.iterdir()) == [plan]


def test_another_plan_is_refused_naming_the_difference(plan: Path, ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "study.json").write_text(small_plan().to_json())
    done = ifthen("study", "run", "plan.toml", "--out", "results")
    assert done.code == 2
    assert "holds a study with systems" in " ".join(done.err.split())
    assert json.loads((tmp_path / "results" / "study.json").read_text())["trials"] == 3


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="no signals on this system")
@pytest.mark.parametrize("number", [signal.SIGINT])
def test_a_signal_stops_a_study_and_the_same_command_goes_on(
    number: signal.Signals, plan: Path, tmp_path: Path
) -> None:
    options = ("--out", "results", "--workers", "1", "--set", "epochs=100000", "--set", "trials=1", *SOON)
    with start_command("study", "run", "plan.toml", *options) as child:
        while not list(tmp_path.glob("results/trials/*/*/0.checkpoint.zip")):
            assert child.poll() is None
        child.send_signal(number)
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "goes on from here" in errors
    assert list(tmp_path.glob("results/trials/*/*/0.checkpoint.zip"))
    assert not list(tmp_path.glob("results/**/*.attempts"))
