"""Environments in modules of one's own, trained by `module:Id-v0` and opened again; what an id would use."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest

from ifthen import load
from ifthen.cli.terminal import MOST_RULES
from ifthen.digits import in_units
from ifthen.runs import folder as files
from tests.cli.test_environments import refused
from tests.commands import Runner

MODULE = """
import gymnasium
from tests.envs import Walk

gymnasium.register("TankWalk-v0", entry_point=Walk, max_episode_steps=20)
"""
TYPED = "tank_walks:TankWalk-v0"
TRAIN = ("train", "PPL-DL", TYPED, "--epochs", "2", "--set", "pop_size=8", "--threads", "1")
SET = ("--task-set", "episodes=3", "--task-set", "gamma=0.9", "--task-set", "options.start=4")


def forget() -> None:
    """Take away what importing the module left."""
    gymnasium.registry.pop("TankWalk-v0", None)
    sys.modules.pop("tank_walks", None)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current folder, which has a module in it and is not on the path of imports."""
    (tmp_path / "tank_walks.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [part for part in sys.path if part not in ("", str(tmp_path))])
    yield tmp_path
    forget()


def test_a_run_of_ones_own_environment_is_opened_by_naming_its_package_and_keeps_its_settings(
    ifthen: Runner, here: Path
) -> None:
    done = ifthen(*TRAIN, *SET, "--out", "run")
    assert done.code == 0, done.err
    assert f"ifthen prune run --task {TYPED}" in done.out
    assert f"ifthen systems --task {TYPED}" in done.out
    forget()
    for command in ("evaluate", "show", "explain", "prune", "verify"):
        refused(ifthen(command, "run"), "'TankWalk-v0' cannot be made", f"give --task {TYPED}")
    refused(ifthen("resume", "run"), f"give --task {TYPED}")
    shutil.copy(here / "run" / files.MODEL, here / "model.zip")
    refused(ifthen("show", "model.zip"), "give --task PACKAGE:TankWalk-v0")
    assert "tank_walks" not in sys.modules
    at = ifthen("explain", "run", "--at", "f0=0,f1=1")  # what plays nothing needs no environment
    assert at.code == 0, at.err
    measured = ifthen("evaluate", "run", "--task", TYPED, "--threads", "1")
    assert measured.code == 0, measured.err
    rows = {line.split()[0]: line.split()[1:] for line in measured.out.splitlines() if line}
    assert rows["episodes"][0] == "3"
    assert rows["performance"][0] == in_units(load("run/model.zip").history["performance"][-1])
    for command in ("show", "explain", "verify"):
        opened = ifthen(command, "run", "--task", TYPED)
        assert opened.code == 0, opened.err
    again = ifthen("resume", "run", "--task", TYPED, "--threads", "1")
    assert again.code == 0, again.err
    refused(ifthen("resume", "run", "--task", "other:TankWalk-v0"), f"give --task {TYPED}")


def test_another_task_that_is_named_is_played_as_it_is(ifthen: Runner, here: Path) -> None:
    assert ifthen(*TRAIN, *SET, "--out", "run").code == 0
    other = ifthen("evaluate", "run", "--task", "CartPole-v1")
    refused(other, "the ruleset speaks of f0")


def test_the_console_script_finds_a_module_in_the_current_folder(here: Path) -> None:
    program = "import sys; sys.path[:] = [p for p in sys.path if p]; from ifthen.cli import run; run()"
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (here / "bare.py").write_text(
        "import gymnasium\nfrom gymnasium.envs.classic_control import CartPoleEnv\n"
    )
    with (here / "bare.py").open("a") as file:
        file.write("gymnasium.register('Bare-v0', entry_point=CartPoleEnv, max_episode_steps=9)\n")
    command = [sys.executable, "-c", program, *TRAIN[:2], "bare:Bare-v0", *TRAIN[3:], "--out", "bare-run"]
    done = subprocess.run(command, capture_output=True, text=True, env=plain, cwd=here, check=False)
    assert done.returncode == 0, done.stderr


def test_help_tells_of_modules_in_the_current_folder(ifthen: Runner) -> None:
    said = " ".join(ifthen("train", "--help").out.split())
    assert "a module in the current folder" in said
    assert "--task package:Id-v0" in said


@pytest.mark.parametrize("name", ["Nope-v0", "ALE/Pong-v5"])
def test_unknown_ids_are_said_to_be_missing_and_how_to_have_them(ifthen: Runner, name: str) -> None:
    done = ifthen("train", "PPL-DL", name)
    refused(done, "Gymnasium has no such environment here", "may be missing", f"'package:{name}' imports one")
    assert "FrozenLake" not in done.err


def test_systems_tell_what_a_task_would_use(ifthen: Runner) -> None:
    listed = ifthen("systems", "--task", "CartPole-v1").out
    first = listed.split("PPL-ST")[0].splitlines()
    rows = {line.split()[0]: re.split(" {2,}", line)[1:3] for line in first if line}
    assert rows["p_any"] == ["0.0", "0.7*"]  # a preset
    assert rows["idv_size"] == ["by task", "12*"]  # filled in
    assert rows["tourn_size"] == ["3", "3"]
    assert "for CartPole-v1" not in ifthen("systems").out
    lake = ifthen("systems", "--task", "FrozenLake-4-0").out
    assert "0.7 " in lake
    assert "0.1*" not in lake


def test_train_names_the_parameters_that_suit_the_environment(ifthen: Runner, tmp_path: Path) -> None:
    short = ("--epochs", "1", "--set", "pop_size=8", "--set", "p_mut=0.3", "--threads", "1")
    done = ifthen(
        "train", "PPL-DL", "CartPole-v1", *short, "--task-set", "episodes=2", "--out", tmp_path / "c"
    )
    (line,) = [
        line for line in done.out.splitlines() if line.startswith("parameters that suit CartPole-v1: ")
    ]
    assert "p_any=0.7" in line
    assert "idv_size=12" in line
    assert "p_mut" not in line
    assert "pop_size" not in line
    assert line.endswith("'ifthen systems --task CartPole-v1'")
    lake = ifthen("train", "PPL-DL", "FrozenLake-4-0", *short, "--out", tmp_path / "lake")
    assert "parameters that suit" not in lake.out


def test_an_xcsf_shows_the_rules_that_decide_most_and_counts_the_rest(ifthen: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "xcsf"
    trained = ifthen(
        *("train", "XCSF", "CartPole-v1", "--steps", "1500", "--task-set", "episodes=3"),
        *("--out", folder, "--threads", "1"),
    )
    assert trained.code == 0, trained.err
    assert f"'ifthen show {folder} --all' shows them" in " ".join(trained.out.split())
    shown = ifthen("show", folder)
    assert len(re.findall(r"^ *\d+  ", shown.out, re.MULTILINE)) == MOST_RULES
    assert "more rules, each of which decides no more states (--all shows them)" in shown.out
    counts = [int(number) for number in re.findall(r"(\d+) \(\d+%\)", shown.out)]
    assert counts == sorted(counts, reverse=True)
    everything = ifthen("show", folder, "--all").out
    assert everything.count("THEN") + everything.count("ALWAYS") >= len(load(folder / files.MODEL).ruleset)


def test_prune_says_where_a_state_without_a_rule_was_met(ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "holey.txt").write_text("task: MountainCar-v0\nIF velocity <= 0.001 THEN push left\n")
    done = ifthen("prune", tmp_path / "holey.txt", "--episodes", "2")
    assert done.code == 0, done.err
    row = next(line for line in done.out.splitlines() if "mean return on 50 training seeds" in line)
    assert "a state without a rule in" in row
    assert "of 50 episodes" in row
