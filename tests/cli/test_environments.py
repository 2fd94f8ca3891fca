"""The command line on Gymnasium environments: train, resume, evaluate, show, and what is refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from ifthen import cli, evaluate, load, prune, read_ruleset
from ifthen.errors import ModelFileError
from ifthen.runs import run_folder as files
from ifthen.runs.settings import read_settings
from ifthen.store import read_archive, write_archive
from ifthen.tasks.gym_task import EnvTask
from tests.commands import Finished, Runner
from tests.golden.old_files import FOLDER

SMALL = ("--set", "pop_size=8", "--set", "idv_size=4", "--task-set", "episodes=3")
CART = ("train", "PPL-DL", "CartPole-v1", *SMALL)


def refused(finished: Finished, *parts: str) -> None:
    """Assert that a command ended with one clear error that holds all `parts`."""
    assert finished.code == 2
    words = " ".join(finished.err.split())
    assert words.startswith("error: ")
    for part in parts:
        assert part in words


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small run that has finished."""
    folder = tmp_path_factory.mktemp("runs") / "cart"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["ifthen", *CART, "--epochs", "3", "--out", str(folder)])
        with pytest.raises(SystemExit, match="0"):
            cli.run()
    return folder


def test_train_writes_every_file(run: Path) -> None:
    written = {path.name for path in run.iterdir()}
    assert written == set(files.FILES) - {files.CHECKPOINT}
    trained = load(run / files.MODEL)
    assert isinstance(trained.task, EnvTask)
    assert (trained.task.environment, trained.task.episodes, trained.epoch) == ("CartPole-v1", 3, 3)
    assert read_ruleset(run / files.RULESET) == (trained.ruleset, "CartPole-v1")
    assert "unseen_performance" in (run / files.HISTORY).read_text().splitlines()[0]
    assert read_settings(run / files.SETTINGS)["task"] == {"environment": "CartPole-v1", "episodes": 3}


def test_the_report_tells_unseen_seeds_ranges_and_the_command(run: Path) -> None:
    page = (run / files.REPORT).read_text(encoding="utf-8")
    trained = load(run / files.MODEL)
    for rule in range(len(trained.ruleset)):
        assert trained.ruleset.condition_in_words(rule).split(" AND ")[0].split("≤")[0].split("≥")[0] in page
    assert "2,000,000 to 2,000,099" in page
    assert "known for this environment" in page
    assert "Rules see a value beyond a range as its edge" in page
    assert "--task-set episodes=3" in page
    assert "<svg" in page
    for nonsense in ("optimum", "exact", "nan"):
        assert nonsense not in page.split("</style>")[1].split("<svg")[0].lower()


def test_evaluate_shows_test_seeds_first_and_training_seeds_beside_them(ifthen: Runner, run: Path) -> None:
    trained = load(run / files.MODEL)
    done = ifthen("evaluate", run, "--episodes", "7")
    assert done.code == 0, done.err
    rows = {line.split()[0]: line.split()[1:] for line in reversed(done.out.splitlines()) if line}
    assert isinstance(trained.task, EnvTask)
    pruned, _ = read_ruleset(run / files.PRUNED_RULESET)
    unseen = evaluate(pruned, trained.task, seeds=trained.task.test_seeds(7))
    assert rows["episodes"] == ["7", "3"]
    assert "95 % interval" in done.out
    assert rows["steps"][0] == f"{unseen.steps:,}"
    assert "on test seeds" in done.out
    chosen = ifthen("evaluate", run, "--seeds", "5000-5004")
    assert "on seeds 5000-5004" in chosen.out


def test_a_run_shows_its_pruned_rules_and_keeps_those_that_were_learnt(ifthen: Runner, run: Path) -> None:
    trained = load(run / files.MODEL)
    pruned, _ = read_ruleset(run / files.PRUNED_RULESET)
    assert read_ruleset(run / files.PRUNED, trained.task)[0] == pruned
    expected = prune(trained, steps=trained.now.records[-1]["steps"] // 4)
    assert pruned == expected.ruleset
    assert len(pruned) < len(trained.ruleset)
    page = (run / files.REPORT).read_text(encoding="utf-8")
    listed = page.index("Its rules")
    learnt = page.index("The rules as learnt, before pruning")
    assert page.count('<td class="rule">', listed, learnt) == len(pruned)
    assert page.count('<td class="rule">', learnt) == len(trained.ruleset)
    assert 'href="explain.html"' in page
    assert "as learnt, before pruning" in page
    assert f"{len(pruned)} rule" in ifthen("verify", run).out.splitlines()[0]
    assert f"{len(trained.ruleset)} rule" in ifthen("verify", run / files.MODEL).out.splitlines()[0]


def test_pruning_can_be_left_out(ifthen: Runner, tmp_path: Path) -> None:
    done = ifthen(*CART, "--epochs", "1", "--no-prune", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert not (tmp_path / "run" / files.PRUNED).exists()
    assert "as learnt" not in (tmp_path / "run" / files.REPORT).read_text(encoding="utf-8")
    assert "prune = false" in (tmp_path / "run" / files.SETTINGS).read_text()
    assert ifthen("resume", tmp_path / "run").code == 0
    assert not (tmp_path / "run" / files.PRUNED).exists()


def test_evaluate_refuses_what_makes_no_sense(ifthen: Runner, run: Path, tmp_path: Path) -> None:
    refused(ifthen("evaluate", run, "--noise", "stream"), "--noise is for tables of states: leave it out")
    refused(ifthen("evaluate", run, "--seeds", "9-1"), "such as 5000-5099", "'9-1'")
    refused(ifthen("evaluate", run, "--seeds", "1-5", "--episodes", "3"), "leave --episodes out")
    rules = tmp_path / "list.txt"
    rules.write_text("# ifthen rules\nkind: decision-list\ntask: FrozenLake-4-0\n\n1. ALWAYS Left\n")
    refused(ifthen("evaluate", rules, "--episodes", "3"), "--episodes is for environments: leave it out")


def test_show_prints_the_rules_with_what_they_decide_on_z(ifthen: Runner, run: Path) -> None:
    done = ifthen("show", run)
    assert done.code == 0, done.err
    assert "Rules of PPL-DL, pruned, on CartPole-v1" in done.out
    assert "%)" in done.out


def test_settings_of_a_task_are_checked_before_training(ifthen: Runner, tmp_path: Path) -> None:
    def train(*settings: str) -> Finished:
        given = [part for setting in settings for part in ("--task-set", setting)]
        return ifthen("train", "PPL-DL", "CartPole-v1", *given, "--out", tmp_path / "no")

    refused(train("epsodes=3"), "task.epsodes", "Did you mean 'episodes'?")
    refused(train("default_action=left"), "Did you mean 'push left'?")
    refused(train("ranges.speed=[0, 1]"), "'speed', which is no feature")
    refused(train("ranges.cart velocity=[0]"), "least and its largest")
    refused(train("episodes"), "--task-set takes name=value")
    refused(ifthen("train", "PPL-DL", "Taxi-v4", "--task-set", "episodes=3"), "has a transition table")
    refused(ifthen("train", "PPL-DL", "Pendulum-v1"), "Discrete", "Box(-2.0, 2.0")
    refused(ifthen("train", "PPL-DL", "CartPole-v0000"), "unknown task", "CartPole-v1")
    assert not (tmp_path / "no").exists()


def test_a_missing_package_is_named_with_what_installs_it(
    ifthen: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise gymnasium.error.DependencyNotInstalled("Box2D is not installed")

    monkeypatch.setattr(gymnasium, "make", missing)
    refused(ifthen("train", "PPL-DL", "LunarLander-v3"), "pip install 'gymnasium[box2d]'")
    listed = ifthen("tasks")
    assert listed.code == 0
    assert "pip install 'gymnasium[box2d]'" in listed.out


def test_tasks_lists_environments_with_ranges_and_twins(ifthen: Runner) -> None:
    listed = ifthen("tasks").out
    assert "CartPole-v1: 100 training seeds, t_max = 500, has a twin" in listed
    assert "Blackjack-v1: 5000 training seeds, t_max = 1,000" in listed
    assert any("cart velocity" in line and "known" in line for line in listed.splitlines())
    assert any("position" in line and "declared" in line for line in listed.splitlines())
    assert "actions: push left, push right" in listed


def test_what_needs_a_table_says_so(ifthen: Runner) -> None:
    refused(ifthen("shortest", "CartPole-v1"), "CartPole-v1")


OWN = """
import gymnasium
from tests.envs import Walk

gymnasium.register("OwnWalk-v0", entry_point=Walk, max_episode_steps=20)
"""


def test_a_package_of_ones_own_is_imported_where_the_user_names_it_and_only_then(
    ifthen: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_walks.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    rules = {"task": "own_walks:OwnWalk-v0", "kind": "decision-list"}
    rules["features"] = [{"name": "f0", "low": 0, "high": 1}]  # type: ignore[assignment]
    rules["action_names"] = ["a", "b"]  # type: ignore[assignment]
    rules["rules"] = [{"condition": {}, "action": "a"}]  # type: ignore[assignment]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    assert ifthen("show", tmp_path / "rules.json").code != 0
    assert "own_walks" not in sys.modules
    try:
        command = ("train", "PPL-DL", "own_walks:OwnWalk-v0", *SMALL, "--epochs", "2")
        done = ifthen(*command, "--out", tmp_path / "run", "--threads", "1")
        assert done.code == 0, done.err
        assert load(tmp_path / "run" / files.MODEL).task.environment == "OwnWalk-v0"
        again = ifthen("resume", tmp_path / "run", "--threads", "1")
        assert again.code == 0, again.err
    finally:
        gymnasium.registry.pop("OwnWalk-v0", None)
        sys.modules.pop("own_walks", None)
    refused(ifthen("evaluate", tmp_path / "run"), "OwnWalk-v0", "cannot be made")


def test_a_model_file_cannot_have_a_package_imported(run: Path, tmp_path: Path) -> None:
    manifest, arrays = read_archive(run / files.MODEL)
    manifest["task"]["environment"] = "antigravity:CartPole-v1"
    write_archive(tmp_path / "bad.zip", manifest, arrays)
    with pytest.raises(ModelFileError, match="without a module"):
        load(tmp_path / "bad.zip")
    assert "antigravity" not in sys.modules


def test_a_run_with_parameters_that_are_gone_is_shown_and_not_resumed(ifthen: Runner, tmp_path: Path) -> None:
    shutil.copy(FOLDER / "PPL-DL-removed.zip", tmp_path / files.MODEL)
    settings = 'system = "PPL-DL"\ntask = "CartPole-v1"\nepochs = 2\nseed = 3\n'
    (tmp_path / files.SETTINGS).write_text(settings)
    assert "push right" in ifthen("show", tmp_path).out
    assert ifthen("evaluate", tmp_path, "--episodes", "3").code == 0
    refused(ifthen("resume", tmp_path), "was trained with mirror = ", "cannot learn on")
    (tmp_path / files.SETTINGS).write_text(f"{settings}[parameters]\nrehearsal = 2\n")
    refused(ifthen("resume", tmp_path), "unknown parameter 'rehearsal'. Earlier versions had it")


def test_check_prints_what_rules_see_and_writes_it(ifthen: Runner, tmp_path: Path) -> None:
    done = ifthen("check", "CartPole-v1", "--json", tmp_path / "check.json")
    assert done.code == 0
    assert "CartPole-v1 can be trained on." in done.out
    data = json.loads((tmp_path / "check.json").read_text())
    assert [feature["name"] for feature in data["features"]][2] == "pole angle"
    assert data["steps_per_second"] > 0


def test_evaluate_writes_what_it_measured(run: Path, ifthen: Runner, tmp_path: Path) -> None:
    done = ifthen("evaluate", run, "--episodes", "5", "--json", tmp_path / "score.json")
    assert done.code == 0
    data = json.loads((tmp_path / "score.json").read_text())
    tested = data["on test seeds"]
    assert len(tested["returns"]) == len(tested["seeds"]) == 5
    assert tested["performance"] == pytest.approx(sum(tested["returns"]) / 5)
    assert "optimum" not in tested
    assert data["on training seeds"]["episodes"] == 3
