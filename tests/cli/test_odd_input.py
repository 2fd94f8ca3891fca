"""Odd files and names: one clear error, nothing that controls a terminal, no formulas in tables."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars
import pytest

from ifthen import PPLST, Feature, env_task, export, frozen_lake, load, parse_rules
from ifthen.cli import terminal
from ifthen.errors import RuleError, TaskError
from ifthen.store import read_archive, write_archive
from ifthen.study.histories import read_log
from ifthen.study.study_folder import LOG, write_log
from ifthen.study.study_plan import Trial
from ifthen.study.trial import Ended
from ifthen.systems.system import System
from ifthen.text_table import TextTable, csv_cell, csv_of, csv_text, harmless
from tests.cli.test_environments import refused
from tests.commands import Runner
from tests.systems.contract import make

PLAN = 'name = "odd"\ntrials = 1\nepochs = 1\ntasks = [{}]\n[[systems]]\nname = "PPL-DL"\n'
NINES = "9" * 5_000


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 2_000,
        "a = " + "{a=" * 2_000,
        f"epochs = {NINES}",
        f"epochs = 0x{NINES}",
        f'system = "PPL-DL"\ntask = "FrozenLake-4-0"\n[parameters]\np_mut = 0x{NINES}',
        'system = "PPL-DL"\n[task]\nsize = 4\np_slip = nan',
        'system = "PPL-DL"\n[task]\nsize = 4\ngamma = inf',
        'system = "PPL-DL"\n[task]\nsize = 0x' + NINES,
        'system = "PPL-DL"\n[task]\nenvironment = "CartPole-v1"\noptions = {x = nan}',
        'system = "PPL-DL"\n[task]\nenvironment = "CartPole-v1"\nepisodes = 0x' + NINES,
        "tasks = [" + "0," * 300_000 + "]",
        "#" * 2**21,
    ],
)
def test_hostile_settings_are_refused(text: str, ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text(text)
    done = ifthen("train", "--config", tmp_path / "odd.toml", "--out", tmp_path / "run")
    refused(done)
    assert len(done.err) < 10_000
    refused(ifthen("study", "plan", tmp_path / "odd.toml"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "task",
    [
        "{size = 4, p_slip = nan}",
        "{size = 4, gamma = inf}",
        '{environment = "CartPole-v1", gamma = nan}',
        '{environment = "CartPole-v1", options = {x = inf}}',
    ],
)
def test_tasks_of_a_study_have_finite_numbers(task: str, ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.format(task))
    refused(ifthen("study", "plan", tmp_path / "plan.toml"), "finite number")
    refused(ifthen("study", "run", tmp_path / "plan.toml", "--out", tmp_path / "s"), "finite number")


@pytest.mark.parametrize("value", [NINES, f"0x{NINES}", "[" * 3_000, "1e999", "nan"])
def test_odd_values_of_parameters_are_refused(value: str, ifthen: Runner, tmp_path: Path) -> None:
    done = ifthen(
        *("train", "PPL-DL", "FrozenLake-4-0", "--set", f"p_mut={value}", "--out", tmp_path / "run")
    )
    refused(done, "p_mut")
    assert len(done.err) < 2_000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model.zip"
    make("PPL-DL").learn(epochs=2).save(path)
    return path


@pytest.mark.parametrize("name", ["state_features", "next_state", "reward", "probability", "initial_states"])
def test_an_array_of_a_task_that_lacks_its_dimensions_is_refused(
    name: str, model: Path, tmp_path: Path
) -> None:
    manifest, arrays = read_archive(model)
    arrays[f"task/{name}"] = arrays[f"task/{name}"].ravel()[0]
    write_archive(tmp_path / "odd.zip", manifest, arrays)
    with pytest.raises(ValueError, match="must have shape"):
        load(tmp_path / "odd.zip")


def test_numbers_that_no_column_can_hold_are_refused(model: Path, tmp_path: Path) -> None:
    manifest, arrays = read_archive(model)
    manifest["history"]["best_fitness"][1] = 10**400
    write_archive(tmp_path / "odd.zip", manifest, arrays)
    with pytest.raises(ValueError, match=r"history\.'best_fitness'\.1: expected a number"):
        load(tmp_path / "odd.zip")


def test_whole_numbers_among_others_are_read_as_others(model: Path, tmp_path: Path) -> None:
    manifest, arrays = read_archive(model)
    manifest["history"]["best_fitness"][1] = 0
    write_archive(tmp_path / "odd.zip", manifest, arrays)
    assert load(tmp_path / "odd.zip").history["best_fitness"][1] == 0.0


class Rich(gymnasium.Env[Any, Any]):
    """Gives more than numbers can hold."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        seen = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return seen, 1e300, self.steps > 5, False, {}


def test_rewards_that_strengths_cannot_hold_are_refused_while_training() -> None:
    system = PPLST(env_task(Rich, episodes=2), threads=1, pop_size=8, idv_size=4)
    with pytest.raises(TaskError, match="too large to learn strengths from"):
        system.learn(epochs=3)


def test_a_crash_in_compiled_code_says_where_it_was(tmp_path: Path) -> None:
    program = (
        "import sys, ctypes\nfrom ifthen import cli\nfrom ifthen.cli import doctor\n"
        "cli.app.command('crash')(lambda: ctypes.string_at(0))\nsys.argv = ['ifthen', 'crash']\ncli.run()\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode < 0
    assert "Segmentation fault" in done.stderr
    assert "string_at" in done.stderr


BELL = "\x1b]0;mine\x07\x1b[31m"


def test_names_do_not_control_the_terminal(ifthen: Runner, tmp_path: Path) -> None:
    head = f"feature {json.dumps('x' + BELL)}: 0 to 7\nactions: {json.dumps('a' + BELL)}, b\n"
    (tmp_path / "rules.txt").write_text(f"{head}ALWAYS {json.dumps('a' + BELL)}\n")
    shown = ifthen("explain", tmp_path / "rules.txt")
    assert shown.code == 0, shown.err
    assert "a\\x1b]0;mine\\x07\\x1b[31m" in shown.out
    for done in (shown, ifthen("show", tmp_path / f"{BELL[:4]}.zip")):
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err
    assert harmless("a\tb\nc") == "a\tb\nc"


def test_exports_to_a_terminal_are_harmless_and_to_a_file_are_whole(
    ifthen: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = parse_rules("feature x: 0 to 7\nactions: a, b\nALWAYS a")
    named = type(rules)(rules.bounds, rules.actions, rules.features, ("a" + BELL, "b"))
    (tmp_path / "rules.json").write_text(export(named, "json"))
    assert "\x1b" in ifthen("export", tmp_path / "rules.json", "--to", "csv").out
    monkeypatch.setattr(type(terminal.out), "is_terminal", True)
    assert "\x1b" not in ifthen("export", tmp_path / "rules.json", "--to", "csv").out


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "@SUM(A1)", "+cmd", "-2+3+cmd|x", "=1+1"])
def test_names_are_no_formulas_in_tables(name: str, tmp_path: Path) -> None:
    assert csv_cell(name) == f"'{name}"
    assert csv_text(csv_cell(name)) == name
    rules = parse_rules("feature x: 0 to 7\nactions: a, b\nIF x <= 3 THEN a\nALWAYS b")
    odd = type(rules)(rules.bounds, rules.actions, (Feature(name, -7, 7),), (name, "b"))
    rows = list(csv.reader(io.StringIO(export(odd, "csv"))))
    assert rows[0][1].startswith("'")
    assert rows[1][-1] == f"'{name}"
    table = TextTable("t", ("a", name), ((name, "-1.5"), ("b", "-1.5 ± 0.2")))
    assert list(csv.reader(io.StringIO(table.to_csv())))[1:] == [[f"'{name}", "-1.5"], ["b", "-1.5 ± 0.2"]]
    assert csv_of(polars.DataFrame({name: [-1.5], "b": [name]})).startswith(
        f"{_quoted(csv_cell(name))},b\n-1.5,"
    )
    write_log(tmp_path, Trial(name, "'=x", 0), Ended("finished", ""))
    log = read_log(tmp_path / LOG)
    assert log is not None
    assert log.row(0)[1:4] == (name, "'=x", 0)
    assert f"'{name}" in list(csv.reader(io.StringIO((tmp_path / LOG).read_text())))[1]


def _quoted(cell: str) -> str:
    return f'"{cell}"' if set(cell) & set(',"') else cell


@pytest.mark.parametrize(
    "number", ["-1.5", "+3", "-1e-05", "-99.8 ± 0.5", "-", "–", "3", "", "-1.5 (2)", "-50%"]
)
def test_numbers_stay_numbers_in_tables(number: str) -> None:
    assert csv_cell(number) == number
    assert csv_text(number) == number


def test_names_have_no_nul() -> None:
    with pytest.raises(RuleError, match="NUL"):
        Feature("x\0", 0, 1)
    with pytest.raises(RuleError, match="NUL"):
        Feature("x", 0, 1, unit="\0")
    rules = parse_rules("feature x: 0 to 7\nactions: a, b\nALWAYS a")
    with pytest.raises(RuleError, match="NUL"):
        type(rules)(rules.bounds, rules.actions, rules.features, ("a\0", "b"))
    with pytest.raises(TaskError, match="NUL"):
        frozen_lake(4, name="lake\0")


def test_long_histories_are_saved_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    saved: list[int] = []

    def save(system: System, path: Any) -> None:
        clock[0] += system.epoch / 100  # as long as the history is
        saved.append(system.epoch)

    monkeypatch.setattr("ifthen.systems.progress.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(System, "save", save)

    def epoch(system: System) -> None:
        clock[0] += 0.1

    make("PPL-DL").learn(epochs=300, callback=epoch, checkpoint=tmp_path / "c.zip", checkpoint_every=1)
    assert saved[:26] == list(range(26))
    assert len(saved) < 50
    assert saved[-1] == 300


def test_a_history_grows_without_being_copied(tmp_path: Path) -> None:
    system = make("PPL-DL").learn(epochs=2)
    before = system.now.records
    rows = list(before)
    system.learn(epochs=2)
    assert list(before) == rows == system.now.records[:3]
    assert before._columns["epoch"] is system.now.records._columns["epoch"]
    other = before.followed_by({**rows[-1], "epoch": 77, "more": 1})
    assert [row["epoch"] for row in other] == [0, 1, 2, 77]
    assert other.column("more") == [None, None, None, 1]
    assert [row["epoch"] for row in system.now.records] == [0, 1, 2, 3, 4]
