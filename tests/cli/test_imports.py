"""Nothing that is read from a file or a folder has a package imported; what the user types does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from ifthen import load
from ifthen.errors import TaskError
from ifthen.runs import run_folder as files
from ifthen.store import read_archive, write_archive
from ifthen.study.read_results import read_results
from tests.cli.test_environments import refused
from tests.commands import Runner

EVIL = "evil_poles"
MODULE = """
from pathlib import Path
Path("imported").touch()
import gymnasium
pole = "gymnasium.envs.classic_control:CartPoleEnv"
gymnasium.register("EvilPole-v0", entry_point=pole, max_episode_steps=9)
"""
RUN = 'system = "PPL-DL"\nepochs = 2\nseed = 0\n'
SMALL = {"pop_size": 8, "idv_size": 4}
STUDY = {
    "name": "evil",
    "systems": [{"name": "PPL-DL", "parameters": SMALL}],
    "trials": 1,
    "epochs": 1,
    "prune": False,
}


class Shim(CartPoleEnv):
    """Makes another environment, as those do that have ids of an older Gym."""

    def __init__(self, env_id: str = "CartPole-v1", **options: object) -> None:
        gymnasium.make(env_id)
        super().__init__()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current folder, on the path of imports, with a module that tells when it is imported."""
    (tmp_path / f"{EVIL}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    gymnasium.register("Shim-v0", entry_point=Shim, max_episode_steps=9)
    yield tmp_path
    for name in ("Shim-v0", "EvilPole-v0"):
        gymnasium.registry.pop(name, None)
    sys.modules.pop(EVIL, None)


def nothing_was_imported(here: Path) -> None:
    assert EVIL not in sys.modules
    assert not (here / "imported").exists()


TASKS = [
    (f"{EVIL}:CartPole-v1", f"{EVIL}:CartPole-v1"),
    ({"environment": f"{EVIL}:CartPole-v1"}, f"{EVIL}:CartPole-v1"),
    ({"environment": f"{EVIL}:EvilPole-v0", "episodes": 2}, f"{EVIL}:EvilPole-v0"),
    ({"environment": "Shim-v0", "options": {"env_id": f"{EVIL}:EvilPole-v0"}}, f"{EVIL}:EvilPole-v0"),
]


@pytest.mark.parametrize(("task", "text"), TASKS)
def test_the_folder_of_a_run_imports_nothing(task: object, text: str, ifthen: Runner, here: Path) -> None:
    (here / "r").mkdir()
    inner = task if isinstance(task, dict) else {}
    table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in inner.items() if key != "options")
    table += "".join(f"options.{key} = {json.dumps(v)}\n" for key, v in inner.get("options", {}).items())
    head = f"task = {json.dumps(task)}\n" if isinstance(task, str) else ""
    (here / "r" / files.SETTINGS).write_text(head + RUN + (f"[task]\n{table}" if inner else ""))
    refused(ifthen("resume", "r"), f"give --task {text}")
    refused(ifthen("resume", "r", "--task", "other:CartPole-v1"), f"give --task {text}")
    for command in ("show", "evaluate", "explain", "verify", "prune"):
        assert ifthen(command, "r").code != 0
    nothing_was_imported(here)
    done = ifthen("resume", "r", "--task", text, "--threads", "1")
    assert done.code == 0, done.err
    assert (here / "imported").exists()


@pytest.mark.parametrize(("task", "text"), TASKS)
def test_the_folder_of_a_study_imports_nothing(task: object, text: str, ifthen: Runner, here: Path) -> None:
    (here / "s").mkdir()
    (here / "s" / "study.json").write_text(json.dumps({**STUDY, "tasks": [task]}))
    for command in (("report", "s"), ("tables", "s"), ("pack", "s", "--out", "p")):
        refused(ifthen("study", *command), f"give --task {text}")
    (here / "plan.toml").write_text(
        'name = "mine"\ntasks = ["FrozenLake-4-0"]\ntrials = 1\nepochs = 1\n[[systems]]\nname = "PPL-DL"\n'
    )
    assert ifthen("study", "run", "plan.toml", "--out", "s").code == 2
    assert ifthen("study", "run", "plan.toml", "--out", "mine", "--reuse", "s").code == 2
    assert not (here / "mine").exists()
    nothing_was_imported(here)
    named = ifthen("study", "tables", "s", "--task", text)
    refused(named, "no trial of the study in s has finished yet")
    assert (here / "imported").exists()
    with pytest.raises(OSError, match="no trial"):
        read_results(here / "s")  # nothing is left to import


def test_the_plan_that_a_user_gives_may_name_packages(ifthen: Runner, here: Path) -> None:
    plan = 'name = "mine"\ntrials = 1\nepochs = 1\nprune = false\n'
    plan += f'tasks = [{{environment = "{EVIL}:EvilPole-v0", episodes = 3}}]\n'
    plan += '[[systems]]\nname = "PPL-DL"\nparameters = {pop_size = 8, idv_size = 4}\n'
    (here / "plan.toml").write_text(plan)
    done = ifthen("study", "run", "plan.toml", "--out", "s", "--workers", "1")
    assert done.code == 0, done.err
    again = ifthen("study", "run", "plan.toml", "--out", "s", "--workers", "1")
    assert again.code == 0, again.err
    sys.modules.pop(EVIL, None)
    (here / "imported").unlink()
    refused(ifthen("study", "tables", "s"), f"give --task {EVIL}:EvilPole-v0")
    nothing_was_imported(here)
    shown = ifthen("study", "tables", "s", "--task", f"{EVIL}:EvilPole-v0")
    assert shown.code == 0, shown.err
    both = ("--task", f"{EVIL}:EvilPole-v0", "--task", "Other-v0")
    refused(ifthen("study", "tables", "s", *both), f"give --task {EVIL}:EvilPole-v0, not 'Other-v0'")


def test_a_model_imports_nothing_by_its_options(ifthen: Runner, here: Path) -> None:
    small = ("--set", "pop_size=8", "--set", "idv_size=4", "--epochs", "1", "--threads", "1")
    assert ifthen("train", "PPL-DL", "Shim-v0", "--task-set", "episodes=2", *small, "--out", "r").code == 0
    manifest, arrays = read_archive(here / "r" / files.MODEL)
    manifest["task"]["options"]["env_id"] = f"{EVIL}:EvilPole-v0"
    write_archive(here / "bad.zip", manifest, arrays)
    model = load("bad.zip")
    assert model.predict([0.0, 0.0, 0.0, 0.0])[0] in (0, 1, -1)
    with pytest.raises(TaskError, match="could import a package"):
        model.learn(epochs=1)
    refused(ifthen("evaluate", "bad.zip"), "could import a package")
    refused(ifthen("evaluate", "bad.zip", "--task", "Shim-v0"), "could import a package")
    nothing_was_imported(here)
    assert load("bad.zip", env="Shim-v0").learn(epochs=1).epoch == 2


def test_rules_import_nothing(ifthen: Runner, here: Path) -> None:
    head = "feature f0: 0 to 1 real\nactions: a, b\n"
    (here / "rules.txt").write_text(f'task: "{EVIL}:EvilPole-v0"\n{head}ALWAYS a\n')
    for command in ("show", "evaluate", "explain", "verify", "prune"):
        ifthen(command, "rules.txt")
    (here / "bare.txt").write_text(f'task: "{EVIL}:EvilPole-v0"\nALWAYS a\n')
    assert ifthen("show", "bare.txt").code == 2
    nothing_was_imported(here)
