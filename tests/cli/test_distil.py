"""The command `ifthen distil`: teachers of every kind, what it prints, and what it leaves behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ifthen as package
from ifthen.runs import run_folder as files
from ifthen.systems.pplx import value_learning as values
from tests.cli.test_environments import refused
from tests.commands import Runner

MODULE = """
from tests.envs import Haystack

def sign(observation):
    return int(observation[3] + observation[17] > 0)

def pilot(env, observation):
    return sign(observation)

number = 3
"""
TASK = "hay_teachers:Haystack"
QUICK = ("--steps", "2000", "--threads", "1", "--episodes", "20", "--no-tune")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current folder, which has a module in it and is not on the path of imports."""
    monkeypatch.setattr(values, "MOST_PER_STEP", 1.0)
    monkeypatch.setattr(values, "FEW_UPDATES", 20)
    (tmp_path / "hay_teachers.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [part for part in sys.path if part not in ("", str(tmp_path))])
    yield tmp_path
    sys.modules.pop("hay_teachers", None)


def test_a_function_becomes_rules_with_returns_fidelity_and_a_folder(ifthen: Runner, here: Path) -> None:
    (here / "run").mkdir()
    (here / "run" / files.REQUIREMENTS).write_text("rules<=5\n")
    done = ifthen("distil", "hay_teachers:sign", TASK, *QUICK, "--out", "run", "--json", "said.json")
    assert done.code == 0, done.err
    assert "requirements.txt is not from this run" in done.out
    for part in ("mean return on 20 test seeds", "sign", "Fidelity of", "by cost", "The best list of each"):
        assert part in done.out
    assert "IF " in done.out
    for name in (files.MODEL, files.RULES, files.RULESET, files.REPORT, files.HISTORY):
        assert (here / "run" / name).exists()
    assert '"teacher": "sign"' in (here / "said.json").read_text()
    report = (here / "run" / files.REPORT).read_text()
    assert "ifthen distil hay_teachers:sign" in report
    learner = package.load(here / "run" / files.MODEL)
    assert isinstance(learner, package.PPLX)
    assert learner.taught is not None
    refused(ifthen("distil", "hay_teachers:sign", TASK, "--out", "run"), "already holds a run", "--overwrite")
    again = ifthen("distil", "run", TASK, *QUICK)  # the rules are a teacher themselves
    assert again.code == 0, again.err
    assert "a ruleset of" in again.out
    shown = ifthen("show", "run", "--task", TASK)
    assert shown.code == 0, shown.err


def test_a_function_of_environment_and_observation_in_a_file_is_a_teacher(ifthen: Runner, here: Path) -> None:
    done = ifthen("distil", "./hay_teachers.py:pilot", TASK, *QUICK, "--rules", "2", "--no-terms")
    assert done.code == 0, done.err
    assert "Fidelity of 2 rules" in done.out or "Fidelity of 1 rule" in done.out


def test_teachers_that_cannot_be_found_are_refused(ifthen: Runner, here: Path) -> None:
    refused(ifthen("distil", "nothing", TASK), "there is no file nothing", "module:function")
    refused(ifthen("distil", "nowhere:sign", TASK), "the module 'nowhere' cannot be imported")
    refused(ifthen("distil", "hay_teachers:number", TASK), "has no function 'number'")
    refused(ifthen("distil", "hay_teachers:nobody", TASK), "has no function 'nobody'")
    refused(ifthen("distil", "hay_teachers:sign", "FrozenLake-4-0"), "teachers are for environments")
    refused(ifthen("distil", "hay_teachers:Haystack", TASK), "a teacher must be")
    assert not (here / "run").exists()


def test_settings_and_requirements_are_taken_as_train_takes_them(ifthen: Runner, here: Path) -> None:
    wanted = "never action 1 when f3 >= 0.5"
    changes = ("--task-set", "t_max=1", "--set", "knee=0.5", "--set", "rules=3", "--rules", "2")
    quick = [part for part in QUICK if part != "--no-tune"]
    done = ifthen("distil", "hay_teachers:sign", TASK, *quick, *changes, "--require", wanted, "--out", "run")
    assert done.code == 0, done.err
    assert f"✓ {wanted}" in done.out
    system = package.load(here / "run" / files.MODEL)
    assert system.task.t_max == 1
    assert system.require == [wanted]
    assert (system.parameters.model_dump()["knee"], system.parameters.model_dump()["rules"]) == (0.5, 2)
    assert (here / "run" / files.REQUIREMENTS).read_text().strip().endswith(wanted)
    report = (here / "run" / files.REPORT).read_text()
    assert "--task-set t_max=1" in report
    assert "--set knee=0.5" in report
    assert "Beside its teacher" in report


def test_settings_and_requirements_that_do_not_fit_are_refused(ifthen: Runner, here: Path) -> None:
    distil = ("distil", "hay_teachers:sign", TASK, *QUICK)
    refused(ifthen(*distil, "--set", "seed=3"), "unknown parameter 'seed'")
    refused(ifthen(*distil, "--set", "imitate=true"), "--no-tune")
    refused(ifthen(*distil, "--task-set", "height=3"), "unknown setting 'task.height'")
    refused(ifthen(*distil, "--require", "never action 1 when f3 >= 0.5"), "leave out require")
    refused(ifthen(*distil, "--require", "never fly when f3 >= 0.5"), "fly")
    (here / "run").mkdir()
    (here / "run" / files.REQUIREMENTS).write_text("rules<=5\n")
    refused(ifthen(*distil, "--require", "rules<=4", "--out", "run"), "other requirements", "--overwrite")
    assert (here / "run" / files.REQUIREMENTS).read_text() == "rules<=5\n"
