from __future__ import annotations

import json
from pathlib import Path

from ifthen import load
from ifthen.exports import export
from tests.commands import Runner
from tests.robustness.test_stress import POLE, upright


def rules_in(folder: Path) -> Path:
    path = folder / "pole.json"
    path.write_text(export(upright(POLE), "json", POLE))
    return path


def test_stress_prints_a_table_writes_a_folder_and_fails_where_a_requirement_does(
    ifthen: Runner, tmp_path: Path
) -> None:
    rules, out = rules_in(tmp_path), tmp_path / "stressed"
    given: list[str | Path] = [
        "stress",
        rules,
        "--task",
        "CartPole-v1",
        "--episodes",
        "5",
        "--disturb",
        "noise=0.01,0.5",
    ]
    done = ifthen(*given, "--require", "performance>=450", "--out", out, "--json", tmp_path / "found.json")
    assert done.code == 1
    assert "noise: holds at 0.01, broken at 0.5" in done.out
    assert (out / "stress.html").exists()
    assert json.loads((tmp_path / "found.json").read_text())["sweeps"][0]["name"] == "noise"
    assert ifthen(*given).code == 0


def test_a_parameter_is_varied_alone(ifthen: Runner, tmp_path: Path) -> None:
    rules = rules_in(tmp_path)
    done = ifthen(
        *("stress", rules, "--task", "CartPole-v1", "--episodes", "2", "--vary", "unwrapped.gravity=9,10")
    )
    assert done.code == 0, done.err
    assert "unwrapped.gravity" in done.out
    assert "delay" not in done.out


def test_the_worst_start_is_shown_step_by_step(ifthen: Runner, tmp_path: Path) -> None:
    given: list[str | Path] = ["stress", rules_in(tmp_path), "--task", "CartPole-v1", "--worst-start"]
    done = ifthen(*given)
    assert done.code == 0, done.err
    assert "All starts that were tried got the same" in " ".join(done.out.split())
    assert "How often each rule decided" in done.out
    refused = ifthen(*given, "--disturb", "noise")
    assert refused.code == 2
    assert "sweeps nothing" in refused.err


def test_evaluate_says_how_a_policy_behaves(ifthen: Runner, tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    given: list[str | Path] = [
        "evaluate",
        rules_in(tmp_path),
        "--task",
        "CartPole-v1",
        "--episodes",
        "5",
        "--behaviour",
    ]
    done = ifthen(*given, "--json", found)
    assert "return lost without it" in done.out
    assert json.loads(found.read_text())["behaviour"]["longest"] > 0


def test_training_under_disturbances_is_remembered_by_its_files(ifthen: Runner, tmp_path: Path) -> None:
    out = tmp_path / "run"
    small = ["--set", "pop_size=8", "--set", "idv_size=3", "--epochs", "1", "--no-prune", "--threads", "1"]
    done = ifthen(
        *("train", "PPL-DL", "CartPole-v1", "--robust", "noise=0.05,t_max=600", "--task-set", "episodes=2"),
        *small,
        *("--out", out),
    )
    assert done.code == 0, done.err
    assert "with noise 0.05" in done.out
    task = load(out / "model.zip").task
    assert (task.t_max, task.disturbances) == (600, {"noise": 0.05})
    assert 'disturbances = {"noise" = 0.05}' in (out / "run.toml").read_text()
    assert "with noise 0.05 between rules" in (out / "report.html").read_text()
    plain = ifthen("evaluate", out, "--task-set", "disturbances.noise=0", "--episodes", "2")
    assert "noise" not in plain.out
    lake = ifthen("train", "PPL-DL", "FrozenLake-4-0", "--robust", "noise=0.05", "--out", tmp_path / "no")
    assert lake.code != 0
    assert "disturbances are for environments" in lake.err
    wrong = ifthen("train", "PPL-DL", "CartPole-v1", "--robust", "nois=0.05", "--out", tmp_path / "no")
    assert wrong.code == 2
    assert "Did you mean 'noise'" in wrong.err
