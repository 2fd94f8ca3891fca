"""The command line: what it writes, what it refuses, and that nothing is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ifthen import RuleSet, __version__, load, prune, read_ruleset
from ifthen.cli.terminal import MOST_RULES
from ifthen.explanation.reading import readable
from ifthen.runs import run_folder as files
from tests.commands import Finished, Runner, start_command

SMALL = ("--set", "idv_size=3", "--set", "pop_size=8")


def refused(finished: Finished, *parts: str) -> None:
    """Assert that a command ended with one clear error that holds all `parts`."""
    assert finished.code == 2
    assert "Traceback" not in finished.err
    words = " ".join(finished.err.split())
    assert words.startswith("error: ")
    for part in parts:
        assert part in words


@pytest.mark.parametrize("system", ["PPL-DL", "PPL-ST"])
def test_train_prints_rules_and_writes_every_file(ifthen: Runner, tmp_path: Path, system: str) -> None:
    done = ifthen("train", system, "FrozenLake-4-0.1", "--epochs", "3", "--out", tmp_path / "run", *SMALL)
    assert done.code == 0, done.err
    pruned, _ = read_ruleset(tmp_path / "run" / files.PRUNED_RULESET)
    assert len(re.findall(" THEN |ALWAYS |OTHERWISE ", done.out)) == len(pruned) <= 3
    written = {path.name for path in (tmp_path / "run").iterdir()}
    assert written == set(files.FILES) - {files.CHECKPOINT}
    trained = load(tmp_path / "run" / files.MODEL)
    assert (trained.name, trained.epoch, len(trained.ruleset)) == (system, 3, 3)
    for name in (files.RULES, files.RULESET):
        assert read_ruleset(tmp_path / "run" / name) == (trained.ruleset, "FrozenLake-4-0.1")
    assert len((tmp_path / "run" / files.HISTORY).read_text().splitlines()) == 5


def test_pruning_that_leaves_out_no_rule_is_said_to_leave_out_none(ifthen: Runner, tmp_path: Path) -> None:
    command = ("train", "PPL-DL", "FrozenLake-4-0", "--epochs", "1", "--set", "pop_size=8")
    done = ifthen(*command, "--set", "idv_size=1", "--out", tmp_path / "whole")
    assert "Nothing can be left out: 1 rule stays as before." in done.out
    assert "pruned" not in done.out
    assert not (tmp_path / "whole" / files.PRUNED).exists()
    assert "pruned" not in (tmp_path / "whole" / files.REPORT).read_text()
    done = ifthen(*command, "--set", "idv_size=2", "--seed", "1", "--out", tmp_path / "part")
    assert "2 rules: none can be left out or merged, only conditions changed." in done.out
    assert (tmp_path / "part" / files.PRUNED).exists()
    assert "pruned from" not in (tmp_path / "part" / files.REPORT).read_text()


def test_evaluate_says_on_which_episodes_a_table_was_played(ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("IF y = 3 THEN Right\nOTHERWISE Down\n")
    said = ifthen("evaluate", tmp_path / "mine.txt", "--task", "FrozenLake-4-0").out
    assert "on training episodes" in " ".join(said.split())
    assert "on z" not in said


def test_a_folder_that_holds_a_run_is_replaced_only_when_asked(ifthen: Runner, tmp_path: Path) -> None:
    command = ("train", "PPL-DL", "FrozenLake-4-0", "--epochs", "1", "--out", tmp_path, *SMALL)
    (tmp_path / "notes.txt").write_text("mine")
    assert ifthen(*command).code == 0
    before = (tmp_path / files.MODEL).read_bytes()
    refused(ifthen(*command, "--seed", "5"), "already holds a run", "--overwrite")
    assert (tmp_path / files.MODEL).read_bytes() == before
    assert ifthen(*command, "--seed", "5", "--overwrite").code == 0
    assert (tmp_path / files.MODEL).read_bytes() != before
    assert (tmp_path / "notes.txt").read_text() == "mine"


XCSF = ("train", "XCSF", "FrozenLake-4-0", "--epochs", "3")


def shown_rules(finished: Finished) -> int:
    """Return how many rules a command printed."""
    assert finished.code == 0, finished.err
    return len(re.findall(" THEN |ALWAYS |OTHERWISE ", finished.out))


@pytest.mark.parametrize(("task", "long"), [("FrozenLake-4-0", False), ("FrozenLake-8-0", True)])
def test_training_an_xcsf_prints_the_rules_that_matter_and_writes_all(
    ifthen: Runner, tmp_path: Path, task: str, long: bool
) -> None:
    run = tmp_path / "run"
    done = ifthen("train", "XCSF", task, "--epochs", "3", "--out", run)
    assert {path.name for path in run.iterdir()} == set(files.FILES) - {files.CHECKPOINT}
    trained = load(run / files.MODEL)
    assert (trained.name, trained.epoch) == ("XCSF", 3)
    fewer, every = prune(trained).ruleset, len(trained.ruleset)
    assert shown_rules(done) == len(fewer) < every
    assert f"{every} rules became {len(fewer)}" in done.out
    whole = ifthen("train", "XCSF", task, "--epochs", "3", "--out", tmp_path / "whole", "--no-prune")
    some = readable(trained.ruleset, trained.task)
    assert shown_rules(whole) == min(len(some), MOST_RULES)
    assert (f"{len(some)} of {every}" in whole.out) == long
    assert (f"these choose the same as all {every} in {files.RULES}" in whole.out) == long
    assert read_ruleset(run / files.RULES) == (trained.ruleset, task)
    assert RuleSet.from_dict(json.loads((run / files.RULESET).read_text())) == trained.ruleset
    header, *rows = (run / files.HISTORY).read_text().splitlines()
    assert header.startswith("epoch,performance,exact_performance,q_error,macros,micros")
    assert [row.split(",")[0] for row in rows] == ["0", "1", "2", "3"]


def test_show_compacts_the_rules_of_an_xcsf_as_asked_and_writes_those_shown(
    ifthen: Runner, tmp_path: Path
) -> None:
    assert ifthen(*XCSF, "--out", tmp_path / "run", "--no-prune").code == 0
    trained = load(tmp_path / "run" / files.MODEL)
    ruleset, task, fewer = trained.ruleset, trained.task, tmp_path / "fewer.json"
    for arguments, expected in (
        ((), readable(ruleset, task)),
        (("--all",), ruleset),
        (("--compact", "greedy"), prune(ruleset, task, method="greedy").ruleset),
        (("--compact", "gnmc"), prune(ruleset, task, method="gnmc").ruleset),
        (("--compact", "gnmc", "--rho", "0.3"), prune(ruleset, task, method="gnmc", rho=0.3).ruleset),
    ):
        shown = ifthen("show", tmp_path / "run", *arguments, "--json", fewer)
        most = len(ruleset) if "--all" in arguments else MOST_RULES
        assert shown_rules(shown) == min(len(expected), most)
        assert (f"{len(expected)} of {len(ruleset)}" in shown.out) == (len(expected) < len(ruleset))
        assert f"writtento{fewer}" in "".join(shown.out.split())  # a long path is wrapped
        assert "★" in shown.out
        assert RuleSet.from_dict(json.loads(fewer.read_text())) == expected
    sizes = [len(prune(ruleset, task, method="gnmc", rho=rho).ruleset) for rho in (0.1, 0.3)]
    assert len(ruleset) > sizes[0] > sizes[1]  # else the rest of this shows little


def test_all_rules_and_fewer_of_them_are_not_asked_for_together(ifthen: Runner, tmp_path: Path) -> None:
    assert ifthen("train", "PPL-DL", "FrozenLake-4-0", "--epochs", "1", "--out", tmp_path, *SMALL).code == 0
    show = ("show", tmp_path, "--compact", "greedy", "--all", "--json", tmp_path / "fewer.json")
    refused(ifthen(*show), "--compact", "--all", "give one of them")
    assert not (tmp_path / "fewer.json").exists()


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a file is there while the process goes on."""
    for _ in range(1200):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    pytest.fail(f"{path} did not appear within a minute")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_was_stopped_and_resumed_ends_with_the_same_bytes(
    ifthen: Runner, tmp_path: Path, how: signal.Signals
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(
        'system = "PPL-ST"\ntask = "FrozenLake-4-0.1"\nepochs = 800\ncheckpoint_every = 50\n'
        "[parameters]\nidv_size = 7\npop_size = 112\n"
    )
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    process = start_command("train", "--config", settings, "--out", stopped)
    wait_for(stopped / files.CHECKPOINT, process)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert not (stopped / files.MODEL).exists(), "the run ended before it could be stopped"
    if how is not signal.SIGKILL:
        assert process.returncode == 130
        assert "ifthen resume" in err
        assert "Traceback" not in err
    refused(ifthen("train", "--config", settings, "--out", stopped), "unfinished", "ifthen resume")
    assert ifthen("resume", stopped).code == 0
    assert ifthen("train", "--config", settings, "--out", whole).code == 0
    for name in set(files.FILES) - {files.CHECKPOINT}:
        assert (stopped / name).read_bytes() == (whole / name).read_bytes(), name


def test_resume_refuses_a_checkpoint_of_other_settings_and_names_the_difference(
    ifthen: Runner, tmp_path: Path
) -> None:
    assert ifthen("train", "PPL-ST", "FrozenLake-4-0", "--epochs", "1", "--out", tmp_path, *SMALL).code == 0
    text = (tmp_path / files.SETTINGS).read_text()
    (tmp_path / files.SETTINGS).write_text(text.replace("pop_size = 8", "pop_size = 10"))
    refused(ifthen("resume", tmp_path), "pop_size = 8", "10")


def test_resume_refuses_a_task_that_was_changed(ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "pond.toml").write_text(
        'system = "PPL-DL"\nepochs = 1\n[task]\ndesc = ["SFF", "FFG"]\n'
        "[parameters]\nidv_size = 3\npop_size = 8\n"
    )
    run = tmp_path / "run"
    assert ifthen("train", "--config", tmp_path / "pond.toml", "--out", run).code == 0
    text = (run / files.SETTINGS).read_text()
    for old, new, part in (("FFG", "FHG", "layout"), ("gamma = 0.95", "gamma = 0.5", "gamma")):
        assert old in text
        (run / files.SETTINGS).write_text(text.replace(old, new))
        refused(ifthen("resume", run), part)


def test_resume_of_a_folder_without_a_run_is_refused(ifthen: Runner, tmp_path: Path) -> None:
    refused(ifthen("resume", tmp_path), "holds no run")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("PPL-SD", "FrozenLake-4-0"), ("unknown system 'PPL-SD'", "Did you mean")),
        (("PPL-ST", "FrozenLak-8-0.3"), ("unknown task", "Did you mean 'FrozenLake-8-0.3'?")),
        (("PPL-ST", "FrozenLake-9-0.3"), ("built-in map for sizes 4, 8, 12", "FrozenLake-9-SLIP-map0")),
        (("PPL-ST", "FrozenLake-4-1.5"), ("p_slip must be a number from 0 to 1",)),
        (("PPL-ST", "Pendulum-v1"), ("the action space must be Discrete",)),
        (("PPL-ST", "FrozenLake-4-0", "--epochs", "0"), ("epochs",)),
        (("PPL-ST", "FrozenLake-4-0", "--seed", "-1"), ("seed must be a whole number",)),
        (("PPL-ST", "FrozenLake-4-0", "--threads", "0"), ("threads must be",)),
        (("PPL-ST", "FrozenLake-4-0", "--set", "pop_size=7"), ("pop_size must be even",)),
        (("PPL-ST", "FrozenLake-4-0", "--set", "pmut=0.1"), ("unknown parameter 'pmut'", "'p_mut'")),
        (("PPL-DL", "FrozenLake-4-0", "--rules", "5"), ("Only PPL-X", "ifthen prune RUN --rules 5")),
        (("XCSF", "FrozenLake-4-0", "--tests", "3"), ("Only PPL-X", "ifthen prune RUN --tests 3")),
        (("PPL-DL", "CartPole-v1", "--term", "lean = pole angle"), ("Only PPL-X takes terms",)),
        (("PPL-ST", "FrozenLake-4-0", "--set", "p_mut=lots"), ("p_mut", "lots")),
        (("PPL-ST", "FrozenLake-4-0", "--set", "p_mut"), ("--set takes name=value",)),
        (("PPL-ST", "FrozenLake-4-0", "--set", "seed=3"), ("unknown parameter 'seed'",)),
        (("PPL-ST", "FrozenLake-4-0", "--set", "pop_size=1000000", "--set", "idv_size=10000"), ("GiB",)),
        (("PPL-ST",), ("'task' is missing",)),
        (("PPL-ST", "FrozenLake-4-0", "--config", "nowhere.toml"), ("cannot read nowhere.toml",)),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    ifthen: Runner, tmp_path: Path, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    refused(ifthen("train", *arguments, "--out", tmp_path / "run"), *parts)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('sytem = "PPL-DL"\ntask = "FrozenLake-4-0"', ("unknown setting 'sytem'", "'system'")),
        ('system = "PPL-DL"\n[task]\nsize = 4\np_slp = 0.1', ("task.p_slp", "'p_slip'")),
        ('system = "PPL-DL"\ntask = "FrozenLake-4-0"\nepochs = "many"', ("epochs", "many")),
        ('system = "PPL-DL"\n[task]\ndesc = ["SF", "FFG"]', ("same length",)),
        ('system = "PPL-DL"\n[task]\ndesc = ["SHG"]', ("no path from the start",)),
        ("system = ", ("not valid TOML",)),
        ('system = "PPL-DL"\n[task]\nname = "Taxi-v4"', ("needs size or desc", 'task = "Taxi-v4"')),
        ('system = "PPL-DL"\ntask = "FrozenLake-4-0"\nparameters = 3', ("parameters",)),
    ],
)
def test_a_bad_configuration_is_refused_by_name(
    ifthen: Runner, tmp_path: Path, text: str, parts: tuple[str, ...]
) -> None:
    (tmp_path / "run.toml").write_text(text)
    refused(ifthen("train", "--config", tmp_path / "run.toml", "--out", tmp_path / "run"), *parts)
    assert not (tmp_path / "run").exists()


def test_the_command_line_wins_over_the_configuration(ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        'system = "PPL-DL"\nepochs = 9\nseed = 3\n[task]\ndesc = ["SFF", "FHG"]\np_slip = 0.2\n'
        "[parameters]\nidv_size = 4\npop_size = 8\n"
    )
    arguments = ("--config", tmp_path / "run.toml", "--epochs", "2", "--set", "pop_size=6")
    assert ifthen("train", *arguments, "--out", tmp_path / "run").code == 0
    trained = load(tmp_path / "run" / files.MODEL)
    assert (trained.epoch, trained.seed, trained.task.layout) == (2, 3, ("SFF", "FHG"))
    assert (trained.parameters.idv_size, trained.parameters.pop_size) == (4, 6)


def test_evaluate_and_show_take_a_folder_or_a_file(ifthen: Runner, tmp_path: Path) -> None:
    assert ifthen("train", "PPL-ST", "FrozenLake-4-0", "--epochs", "20", "--out", tmp_path).code == 0
    for model in (tmp_path, tmp_path / files.MODEL):
        measured = ifthen("evaluate", model, "--noise", "stream")
        assert measured.code == 0
        assert "0.8761" in measured.out  # the optimum of FrozenLake-4-0
        shown = ifthen("show", model, "--png", tmp_path / "policy.png")
        assert shown.code == 0
        found = len(re.findall(" THEN |ALWAYS |OTHERWISE ", shown.out))
        assert found == 7 if model.suffix else found < 7
        assert "★" in shown.out
        assert (tmp_path / "policy.png").read_bytes().startswith(b"\x89PNG")
    other = ifthen("evaluate", tmp_path, "--task", "FrozenLake-4-0.5")
    assert "0.3602" in other.out  # the optimum of FrozenLake-4-0.5
    refused(ifthen("evaluate", tmp_path, "--task", "FrozenLake-8-0"), "x in [0, 7]")
    refused(ifthen("evaluate", tmp_path, "--noise", "loud"), "noise must be 'aligned' or 'stream'")


def test_show_says_so_where_a_task_has_no_grid(ifthen: Runner, tmp_path: Path) -> None:
    assert ifthen("train", "PPL-DL", "Taxi-v4", "--epochs", "1", "--out", tmp_path, *SMALL).code == 0
    shown = ifthen("show", tmp_path)
    assert shown.code == 0
    assert "passenger " in shown.out
    assert "no grid" in shown.out


def test_files_that_are_no_models_are_refused(ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "notes.zip").write_text("not a model")
    for command in ("evaluate", "show"):
        refused(ifthen(command, tmp_path / "notes.zip"), "not a model")
        refused(ifthen(command, tmp_path / "missing.zip"), "there is no file")
        refused(ifthen(command, tmp_path), "there is no file")


@pytest.mark.parametrize("name", ["a[/b]", "a[red]b", "x" * 300])
def test_odd_folder_names_are_taken_as_they_are_or_refused(ifthen: Runner, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    done = ifthen("train", "PPL-DL", "FrozenLake-4-0", "--epochs", "1", "--out", out, *SMALL)
    if len(name) > 255:
        refused(done, "too long")
    else:
        assert done.code == 0
        assert str(out) in done.out


def test_odd_maps_and_names_are_drawn_and_reported(ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text(
        'system = "PPL-DL"\nepochs = 2\n[task]\ndesc = ["S", "F", "G"]\nname = "$\\\\odd$ [/name]"\n'
    )
    done = ifthen("train", "--config", tmp_path / "odd.toml", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert r"$\odd$ [/name]" in done.out


def test_a_task_whose_optimum_is_negative_is_reported_without_a_fraction(
    ifthen: Runner, tmp_path: Path
) -> None:
    done = ifthen("train", "PPL-DL", "CliffWalking-v1", "--epochs", "3", "--out", tmp_path / "run", *SMALL)
    assert done.code == 0
    assert "fraction" not in done.out
    assert "from the optimum, exact" in (tmp_path / "run" / files.REPORT).read_text()


def test_clearing_the_cache_leaves_other_files_alone(
    ifthen: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IFTHEN_CACHE_DIR", str(tmp_path))
    (tmp_path / "precious").mkdir()
    (tmp_path / ("0" * 16)).mkdir()
    assert ifthen("doctor", "--clear-cache").code == 0
    assert (tmp_path / "precious").exists()
    assert not (tmp_path / ("0" * 16)).exists()


def test_pictures_that_cannot_be_made_are_refused(ifthen: Runner, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert ifthen("train", "PPL-DL", "Taxi-v4", "--epochs", "1", "--out", run, *SMALL).code == 0
    refused(ifthen("show", run, "--png", tmp_path / "policy.png"), "no grid")
    refused(ifthen("show", run, "--png", tmp_path / "policy.pdf"), "ends in .png")
    shown = ifthen("show", run / files.PRUNED_RULESET)
    assert shown.code == 0
    assert shown.out.split("\n", 1)[1] == ifthen("show", run).out.split("\n", 1)[1]
    assert list(tmp_path.iterdir()) == [run]


def test_two_processes_cannot_train_in_one_folder(ifthen: Runner, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start_command("train", "PPL-ST", "FrozenLake-8-0.3", "--epochs", "100000", "--out", run)
    wait_for(run / files.CHECKPOINT, process)
    refused(ifthen("resume", run), "another process is training")
    refused(ifthen("show", run), "not finished")
    process.kill()
    process.communicate(timeout=60)


def test_a_terminal_that_knows_only_ascii_is_no_reason_to_fail(tmp_path: Path) -> None:
    arguments = ["train", "PPL-DL", "FrozenLake-4-0", "--epochs", "1", "--out", str(tmp_path), *SMALL]
    done = subprocess.run(
        [sys.executable, "-m", "ifthen.cli", *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
        timeout=120,
    )
    assert b" THEN " in done.stdout


def test_the_version_is_shown(ifthen: Runner) -> None:
    assert ifthen("--version").out.strip() == f"ifthen {__version__}"


def test_tasks_systems_and_doctor_list_what_there_is(ifthen: Runner) -> None:
    assert ifthen("tasks").out.count("FrozenLake-12-") == 4
    listed = ifthen("systems").out
    for word in ("PPL-DL", "PPL-ST", "XCSF", "num_reinf_rollouts", "theta_ga", "0.01"):
        assert word in listed
    assert "worked" in ifthen("doctor").out


@pytest.mark.parametrize("command", ["train", "resume", "evaluate", "show", "tasks", "systems", "doctor"])
def test_the_help_of_every_command_has_an_example(ifthen: Runner, command: str) -> None:
    helped = ifthen(command, "--help")
    assert helped.code == 0
    assert f"ifthen {command}" in helped.out.split("For example:")[1]


def test_help_does_not_wait_for_slow_imports() -> None:
    program = (
        "import sys\nfrom ifthen import cli\nsys.argv = ['ifthen', '--help']\n"
        "try:\n    cli.run()\nexcept SystemExit:\n    pass\n"
        "slow = {'numba', 'polars', 'matplotlib', 'jinja2', 'pydantic'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60)
