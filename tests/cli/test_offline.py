"""The command `ifthen offline`: rules from a table of steps, and what it refuses."""

from __future__ import annotations

import inspect
from pathlib import Path

import polars
import pytest

from ifthen.cli.offline import offline
from ifthen.systems.pplx import distil_values, offline_learning
from tests.cli.test_environments import refused
from tests.commands import Runner
from tests.runs.test_learn_offline import signs


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a log in the current folder."""
    monkeypatch.setattr(offline_learning, "UPDATES", 1000)
    monkeypatch.setattr(offline_learning, "ESTIMATE_UPDATES", 1000)
    monkeypatch.setattr(offline_learning, "ROUNDS", 1)
    monkeypatch.setattr(distil_values, "CHANGES", 1000)
    monkeypatch.chdir(tmp_path)
    steps = signs()
    points = {name: steps["observations"][:, i] for i, name in enumerate(("load", "level", "heat"))}
    actions = [["open", "shut"][action] for action in steps["actions"].tolist()]
    columns = {**points, "action": actions, "reward": steps["rewards"], "terminated": [1] * len(actions)}
    polars.DataFrame(columns).write_csv("steps.csv")
    return tmp_path / "steps.csv"


def test_a_table_of_steps_becomes_rules_with_its_own_names(ifthen: Runner, log: Path) -> None:
    done = ifthen("offline", "steps.csv", "--out", "rules.json", "--no-terms", "--threads", "1")
    assert done.code == 0, done.err
    for part in ("as logged", "chosen", "estimated discounted return", "level", "shut", "rules.json"):
        assert part in done.out
    assert "Actions by number: 0 open, 1 shut." in done.out
    options = ("--action-names", "shut,open", "--leave-out", "heat", "--rules", "1", "--threads", "1")
    renumbered = ifthen("offline", "steps.csv", *options)
    assert "Actions by number: 0 shut, 1 open." in renumbered.out, renumbered.err
    shown = ifthen("show", "rules.json")
    assert shown.code == 0, shown.err
    assert "level" in shown.out


def test_the_default_caution_is_the_functions() -> None:
    assert inspect.signature(offline).parameters["caution"].default == offline_learning.CAUTION


def test_what_is_no_log_is_refused_before_anything_is_learnt(ifthen: Runner, log: Path) -> None:
    refused(ifthen("offline", "nothing.csv"), "there is no file nothing.csv")
    refused(ifthen("offline", "steps.csv", "--out", "rules.pdf"), "rules.pdf")
    refused(
        ifthen("offline", "steps.csv", "--task", "CartPole-v1"),
        "observes 4 numbers",
        "3 features: load, level, heat",
    )
    refused(ifthen("offline", "steps.csv", "--task-set", "t_max=3"), "--task-set", "--task")
