"""Commands that question and shorten policies of environments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ifthen import DecisionList, evaluate, prune, read_ruleset, task_by_name
from ifthen.digits import in_units
from ifthen.tasks.gym_task import EnvTask
from tests.commands import Runner

TASK = task_by_name("MountainCar-v0")
MINE = """
task: MountainCar-v0
1. IF velocity <= -0.00123 THEN push left
2. IF position >= 0.3 and velocity >= 0.0312 THEN push right
3. IF velocity >= 0.05 THEN push right
4. OTHERWISE push right
"""
WORSE = "task: MountainCar-v0\nALWAYS push right\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.txt").write_text(MINE)
    return tmp_path / "mine.txt"


@pytest.fixture
def worse(tmp_path: Path) -> Path:
    (tmp_path / "worse.txt").write_text(WORSE)
    return tmp_path / "worse.txt"


def test_prune_plays_and_writes_what_is_left(ifthen: Runner, mine: Path, tmp_path: Path) -> None:
    done = ifthen("prune", mine, "--episodes", "6", "--loss", "2", "--out", tmp_path / "short.txt")
    assert done.code == 0, done.err
    assert isinstance(TASK, EnvTask)
    given, written = read_ruleset(mine)[0], read_ruleset(tmp_path / "short.txt")
    seeds = np.concatenate([TASK.z, TASK.pruning(6)])
    found = prune(given, TASK, loss=2.0, seeds=seeds)
    assert written == (found.ruleset, "MountainCar-v0")
    assert str(found) in " ".join(done.out.split())
    for rules in (given, found.ruleset):
        for own in (TASK.z, seeds, TASK.test_seeds(100)):
            assert in_units(evaluate(rules, TASK, seeds=own).performance) in done.out
    assert f"{len(TASK.z) + 6} pruning seeds" in done.out


def test_prune_ends_after_so_many_steps(ifthen: Runner, mine: Path, tmp_path: Path) -> None:
    for name, limit in (("all", ()), ("few", ("--steps", "1"))):
        done = ifthen("prune", mine, "--episodes", "6", *limit, "--out", tmp_path / f"{name}.txt")
        assert done.code == 0, done.err
    assert "-0.00123" in (tmp_path / "few.txt").read_text()
    assert "-0.00123" not in (tmp_path / "all.txt").read_text()  # rounding plays


@pytest.mark.parametrize(
    "option",
    [
        ["--list"],
        ["--polish"],
        ["--intervals", "keep"],
        ["--effort", "normal"],
    ],
)
def test_options_that_need_states_are_refused(ifthen: Runner, mine: Path, option: list[str]) -> None:
    done = ifthen("prune", mine, *option)
    assert done.code == 2
    assert "needs a table of states" in done.err


@pytest.mark.parametrize("option", [["--loss", "1"], ["--episodes", "5"], ["--steps", "9"]])
def test_options_of_environments_are_refused_elsewhere(
    ifthen: Runner, tmp_path: Path, option: list[str]
) -> None:
    (tmp_path / "lake.txt").write_text("task: FrozenLake-4-0.1\nALWAYS Down\n")
    done = ifthen("prune", tmp_path / "lake.txt", *option)
    assert done.code == 2
    assert "in an environment" in done.err


def test_verify_ends_with_1_where_test_episodes_pay_too_little(
    ifthen: Runner, mine: Path, worse: Path, tmp_path: Path
) -> None:
    demand = ("--require", "complete,performance>=-150")
    done = ifthen("verify", mine, *demand, "--json", tmp_path / "found.json")
    assert done.code == 0, done.err
    data = json.loads((tmp_path / "found.json").read_text())
    assert isinstance(TASK, EnvTask)
    assert data["properties"]["performance"] == evaluate(read_ruleset(mine)[0], TASK).performance
    assert "need a table of states" in done.out
    assert ifthen("verify", worse, *demand, "--quiet").code == 1
    refused = ifthen("verify", mine, "--require", "goal-reachable")
    assert refused.code == 2
    assert "needs a table of states" in refused.err


def test_diff_says_how_often_policies_differ_and_what_they_get(
    ifthen: Runner, mine: Path, worse: Path
) -> None:
    done = ifthen("diff", mine, worse)
    assert done.code == 0, done.err
    assert f"{mine} and {worse} differ." in done.out.replace("\n", " ")
    assert "Mean return over 100 episodes from" in done.out
    assert "-200" in done.out


def test_explain_at_an_observation_needs_no_values(ifthen: Runner, mine: Path) -> None:
    done = ifthen("explain", mine, "--at", "position=-0.5,velocity=-9")
    assert done.code == 0, done.err
    assert "the action is push left: rule 1 is the first that matches" in done.out
    assert "optimal" not in done.out


def test_export_writes_for_an_environment(ifthen: Runner, mine: Path) -> None:
    done = ifthen("export", mine, "--to", "python")
    assert done.code == 0, done.err
    names: dict[str, object] = {}
    exec(done.out, names)
    action = names["action"]
    rules = read_ruleset(mine)[0]
    assert isinstance(rules, DecisionList)
    for point in ([-0.5, -9.0], [0.5, 0.06], [-3.0, 0.0]):
        assert action(*point) == rules.predict(point)  # type: ignore[operator]  # a function
