"""Environments in modules of one's own, trained by `module:Id-v0` and opened again; what an id would use."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest

from ifthen import load
from ifthen.cli.terminal import MOST_RULES
from ifthen.digits import in_units
from ifthen.errors import IfthenWarning
from ifthen.explanation.read_ruleset import read_ruleset
from ifthen.runs import run_folder as files
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
    assert f"ifthen verify run --task {TYPED}" in done.out
    assert f"ifthen systems --task {TYPED}" in done.out
    forget()
    for command in ("evaluate", "explain", "prune", "verify"):
        refused(ifthen(command, "run"), "'TankWalk-v0' cannot be made", f"give --task {TYPED}")
    refused(ifthen("resume", "run"), f"give --task {TYPED}")
    shutil.copy(here / "run" / files.MODEL, here / "model.zip")
    refused(ifthen("evaluate", "model.zip"), "give --task PACKAGE:TankWalk-v0")
    assert "tank_walks" not in sys.modules
    at = ifthen("explain", "run", "--at", "f0=0,f1=1")  # what plays nothing needs no environment
    assert at.code == 0, at.err
    measured = ifthen("evaluate", "run", "--task", TYPED, "--threads", "1")
    assert measured.code == 0, measured.err
    rows = {line.split()[0]: line.split()[1:] for line in measured.out.splitlines() if line}
    assert rows["episodes"][1] == "3"
    assert rows["performance"][1] == in_units(load("run/model.zip").history["performance"][-1])
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
    assert not [line for line in lake.splitlines() if line.split()[:1] == ["epsilon"] and "*" in line]


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
    row = next(line for line in done.out.splitlines() if "on 50 training seeds" in line)
    assert "a state without a rule in" in row
    assert "of 50 episodes" in row


ROOM = """
import gymnasium
import numpy as np


class Room(gymnasium.Env):
    steps = 0

    def __init__(self, warmth=0.0, render_mode=None, breaks=0):
        ends = np.array([40, 30, 24, np.inf], dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(-ends, ends)
        self.action_space = gymnasium.spaces.Discrete(3)
        self.warmth, self.render_mode, self.breaks = warmth, render_mode, breaks

    def seen(self):
        return np.array([self.room, self.outside, self.hour, self.room / 40], dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room, self.outside, self.hour = self.np_random.uniform(10, 25) + self.warmth, 5.0, 0
        return self.seen(), {}

    def step(self, action):
        Room.steps += 1
        if Room.steps == self.breaks:
            raise RuntimeError("the valve is stuck")
        self.room += 0.1 * (self.outside - self.room) / 5 + 0.5 * int(action)
        self.hour += 1
        return self.seen(), -abs(self.room - 21), False, self.hour >= 24, {}


def make_room():
    return Room(1.0)


class Sized(Room):
    def __init__(self, size):
        super().__init__(size)


class Told(Room):
    def __init__(self):
        super().__init__()
        words = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(3))
        self.observation_space = gymnasium.spaces.Dict({"room": self.observation_space, "past": words})

    def seen(self):
        return {"room": super().seen(), "past": (1, 2)}


size = 3
"""
CLASS = "rooms:Room"
NAMES = (
    *("--task-set", 'feature_names=["room", "outside", "hour", "share"]'),
    *("--task-set", 'action_names=["off", "low", "high"]', "--task-set", "episodes=4"),
)
SMALL = ("--epochs", "2", "--set", "pop_size=8", "--threads", "1")


@pytest.fixture
def rooms(here: Path) -> Iterator[Path]:
    """Return the current folder with a module that registers nothing."""
    (here / "rooms.py").write_text(ROOM)
    yield here
    sys.modules.pop("rooms", None)


def measured(text: str, row: str = "performance") -> str:
    return next(line.split()[len(row.split())] for line in text.splitlines() if line.startswith(row))


def test_a_class_that_nobody_registers_goes_through_all_commands(ifthen: Runner, rooms: Path) -> None:
    task = ("--task", CLASS)
    done = ifthen("train", "PPL-DL", CLASS, *SMALL, *NAMES, "--out", "run")
    assert done.code == 0, done.err
    assert f"ifthen verify run --task {CLASS}" in done.out
    sys.modules.pop("rooms")
    refused(ifthen("evaluate", "run"), f"give --task {CLASS}")
    assert "rooms" not in sys.modules
    assert ifthen("prune", "run", *task, "--out", "short.txt", "--episodes", "5").code == 0
    assert ifthen("export", "run", *task, "--to", "json", "--out", "rules.json").code == 0
    for rules in ("run", "short.txt", "rules.json"):
        for command in ("verify", "evaluate", "explain", "show", "prune"):
            done = ifthen(command, rules, *task)
            assert done.code == 0, (command, rules, done.err)
        assert ifthen("export", rules, *task, "--to", "c").code == 0
    assert ifthen("diff", "run", "short.txt", *task).code == 0
    again = ifthen("resume", "run", *task, "--threads", "1")
    assert again.code == 0, again.err


def test_pplx_keeps_a_requirement_in_a_class_that_nobody_registers(ifthen: Runner, rooms: Path) -> None:
    task, required = ("--task", CLASS), ("--require", "never high when room >= -40")
    plan = ("--epochs", "1", "--set", "steps=1000", "--threads", "1")
    done = ifthen("train", "PPL-X", CLASS, *plan, *NAMES, *required, "--out", "run")
    assert done.code == 0, done.err
    assert ifthen("verify", "run", *task, *required).code == 0
    shown = " ".join(ifthen("front", "run", *task, "--episodes", "2").out.split())
    assert f"'ifthen prune run --task {CLASS} --rules N'" in shown
    for page in (files.EXPLAINED, files.REPORT):
        assert f"ifthen prune run --task {CLASS} --rules " in (rooms / "run" / page).read_text()
    assert ifthen("explain", "run", *task, "--out", "explained").code == 0
    assert f"ifthen prune run --task {CLASS} --rules " in (rooms / "explained/explain.html").read_text()
    sys.modules.pop("rooms")
    refused(ifthen("report", "run", "--dossier"), f"give --task {CLASS}")
    for command in (("show", "run", "--front"), ("show", "run"), ("export", "run", "--to", "c")):
        done = ifthen(*command)
        assert done.code == 0, (command, done.err)


def test_what_was_learnt_is_kept_where_the_environment_fails(ifthen: Runner, rooms: Path) -> None:
    broken = ("--task-set", "options.breaks=6000")
    done = ifthen("train", "PPL-DL", CLASS, "--epochs", "99", *SMALL[2:], *broken, "--out", "run")
    assert done.code == 2
    assert re.search(rf"saved at epoch \d+: .*'ifthen resume run --task {CLASS}' goes on\s+error: ", done.err)
    assert load("run/checkpoint.zip").epoch > 0


def test_a_function_in_a_module_makes_the_environment(ifthen: Runner, rooms: Path) -> None:
    assert ifthen("train", "PPL-DL", "rooms:make_room", *SMALL, "--out", "run").code == 0
    warm = ifthen("train", "PPL-DL", CLASS, *SMALL, "--task-set", "options.warmth=1.0", "--out", "warm")
    assert warm.code == 0, warm.err
    assert measured(warm.out) == measured(ifthen("evaluate", "run", "--task", "rooms:make_room").out)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rooms:Rooom", "'rooms' registers no environment 'Rooom', and has no class or function"),
        ("rooms:size", "has no class or function of that name"),
        ("rooms:Nope-v0", "'rooms' registers no environment 'Nope-v0'"),
        ("romms:Room", "'romms', which is neither installed here nor a module in the current folder"),
        ("rooms:gymnasium", "has no class or function"),
        ("rooms:Sized", "options={'size': …}, or --task-set options.size=…"),
        ("rooms:Told", "leave_out=['past']), or --task-set leave_out=past"),
    ],
)
def test_names_that_make_nothing_are_told_in_a_sentence(
    ifthen: Runner, rooms: Path, name: str, told: str
) -> None:
    refused(ifthen("train", "PPL-DL", name), told)


def test_the_task_is_named_by_the_folder_of_a_run(ifthen: Runner, rooms: Path) -> None:
    assert ifthen("train", "PPL-DL", CLASS, *SMALL, *NAMES, "--out", "run").code == 0
    (rooms / "mine.txt").write_text("IF room <= 20.5 THEN high\nOTHERWISE off\n")
    sys.modules.pop("rooms")
    refused(ifthen("evaluate", "mine.txt", "--task", "run"), f"give --task {CLASS} too")
    at = ifthen("explain", "mine.txt", "--task", "run", "--at", "30,5,0,0.5")  # plays nothing
    assert "the action is off" in at.out, at.err
    assert "rooms" not in sys.modules
    both = ifthen("evaluate", "mine.txt", "--task", "run", "--task", CLASS)
    assert both.code == 0, both.err
    assert measured(both.out, "episodes") == "100"  # on test seeds
    refused(ifthen("evaluate", "mine.txt", "--task", CLASS), "unknown feature 'room'")
    refused(ifthen("evaluate", "mine.txt", "--task", "run", "--task", "CartPole-v1"), "--task takes one task")
    (rooms / "empty").mkdir()
    refused(ifthen("evaluate", "mine.txt", "--task", "empty"), "a folder without a run")


def test_a_runs_folder_is_enough_for_an_environment_of_gymnasiums(ifthen: Runner, here: Path) -> None:
    trained = ifthen(
        "train", "PPL-DL", "CartPole-v1", *SMALL, "--task-set", "episodes=3", *("--out", "CartPole")
    )
    assert trained.code == 0, trained.err
    (here / "mine.txt").write_text("IF pole angle <= 0 THEN push left\nOTHERWISE push right\n")
    done = ifthen("evaluate", "mine.txt", "--task", "CartPole")
    assert done.code == 0, done.err
    assert measured(done.out, "reset seeds") == "2,000,000"
    model = ifthen("evaluate", "mine.txt", "--task", f"CartPole/{files.MODEL}")
    assert model.out == done.out


def test_names_and_ranges_written_above_rules_are_those_of_the_environments_numbers(
    ifthen: Runner, rooms: Path
) -> None:
    head = ["feature room: -10 to 40 real", "feature outside: -30 to 30 real", "feature hour: 0 to 24"]
    head += ["feature share: -1 to 1 real", "actions: off, low, high"]
    rules = ["IF room <= 20.5 THEN high", "OTHERWISE off"]
    (rooms / "mine.txt").write_text("\n".join([*head, *rules]))
    refused(ifthen("evaluate", "mine.txt", "--task", CLASS), "write 'feature hour: 0 to 24 real'")
    head[2] += " real"
    (rooms / "mine.txt").write_text("\n".join([*head, *rules]))
    done = ifthen("evaluate", "mine.txt", "--task", CLASS)
    assert done.code == 0, done.err
    (rooms / "plain.txt").write_text("IF f0 <= 20.5 THEN action 2\nOTHERWISE action 0\n")
    assert measured(done.out) == measured(ifthen("evaluate", "plain.txt", "--task", CLASS).out)
    refused(ifthen("evaluate", "mine.txt", "--task", "CartPole-v1"), "the ruleset speaks of room")


def test_rules_that_name_the_numbers_in_another_order_are_refused(ifthen: Runner, rooms: Path) -> None:
    head = [f"feature {name}: -10 to 40 real" for name in ("f1", "f0", "f2", "f3")]
    rules = [*head, "actions: action 0, action 1, action 2", "ALWAYS action 0"]
    (rooms / "mine.txt").write_text("\n".join(rules))
    refused(ifthen("evaluate", "mine.txt", "--task", CLASS), "the ruleset speaks of f1")


def test_settings_of_the_task_are_changed_to_measure_rules(ifthen: Runner, here: Path) -> None:
    (here / "mine.txt").write_text(
        "task: CartPole-v1\nIF pole angle <= 0.017 AND pole velocity <= 0.4 THEN push left\n"
        "OTHERWISE push right\n"
    )
    long = ("--task-set", "t_max=5000")
    done = ifthen("evaluate", "mine.txt", *long)
    assert done.code == 0, done.err
    assert measured(done.out, "largest return") == "5,000"
    assert measured(done.out, "truncated episodes") != "100.0%"
    few = ("--task-set", "episodes=2", *long)
    for command in (("verify", "--require", "performance>=501"), ("explain",), ("prune", "--episodes", "2")):
        changed = ifthen(command[0], "mine.txt", *few, *command[1:])
        assert changed.code == 0, changed.err
    assert "2 episodes" in ifthen("diff", "mine.txt", "mine.txt", *few).out
    refused(ifthen("evaluate", "mine.txt", "--task-set", "tmax=5"), "Did you mean 't_max'")
    refused(ifthen("evaluate", "mine.txt", "--task-set", "t_max=long"), "t_max")
    (here / "lake.txt").write_text("task: FrozenLake-4-0.1\nALWAYS Down\n")
    slippery = ifthen("evaluate", "lake.txt", "--task-set", "p_slip=0.3").out
    assert measured(slippery) == measured(ifthen("evaluate", "lake.txt", "--task", "FrozenLake-4-0.3").out)


def test_a_model_of_ones_own_environment_is_measured_with_changed_settings(
    ifthen: Runner, rooms: Path
) -> None:
    assert ifthen("train", "PPL-DL", CLASS, *SMALL, *NAMES, "--out", "run").code == 0
    done = ifthen("evaluate", "run", "--task", CLASS, "--task-set", "t_max=5")
    assert done.code == 0, done.err
    assert measured(done.out, "steps") == "500"  # of 100 test episodes
    sys.modules.pop("rooms")
    refused(ifthen("evaluate", "run", "--task-set", "t_max=5"), f"give --task {CLASS}")
    assert "rooms" not in sys.modules


def test_files_never_have_a_function_called(ifthen: Runner, rooms: Path) -> None:
    (rooms / "run").mkdir()
    (rooms / "run" / files.SETTINGS).write_text(
        'system = "PPL-DL"\ntask = "os:getcwd"\nepochs = 2\nseed = 0\n'
    )
    refused(ifthen("resume", "run"), "opening a file never imports your code: give --task os:getcwd")
    refused(ifthen("resume", "run", "--task", "os:getcwd"), "must make a Gymnasium environment")


def test_several_seeds_are_trained_as_a_study_with_its_report(ifthen: Runner, rooms: Path) -> None:
    many = ("train", "PPL-DL", CLASS, *SMALL, "--task-set", "episodes=2", "--seeds", "2")
    done = ifthen(*many, "--out", "two")
    assert done.code == 0, done.err
    assert "mean ± sd over 2 trials" in done.out
    assert "open two/report.html" in done.out
    assert (rooms / "two" / "report.html").exists()
    steps = ("train", "PPL-DL", CLASS, "--seeds", "2", "--steps", "900")
    refused(ifthen(*steps), "--seeds does not go with --steps")
    refused(ifthen(*many, "--start", "x.txt", "--overwrite"), "not go with --start and --overwrite")
    refused(ifthen("train", "PPL-DL", CLASS, "--seeds", "0"), "trials")


def test_each_of_several_seeds_is_pruned_and_the_best_is_shown_with_the_score_of_its_pruned_rules(
    ifthen: Runner, rooms: Path
) -> None:
    few = ("train", "PPL-DL", CLASS, *SMALL, "--task-set", "episodes=2")
    done = ifthen(*few, "--seeds", "2", "--out", "two")
    assert done.code == 0, done.err
    kept = {seed: rooms / f"two/trials/PPL-DL/Room/{seed}.pruned.json" for seed in (0, 1)}
    for seed, path in kept.items():  # as one run of this seed prunes them
        assert ifthen(*few, "--seed", str(seed), "--out", f"one{seed}").code == 0
        alone = read_ruleset(rooms / f"one{seed}" / files.PRUNED_RULESET)[0]
        assert read_ruleset(path)[0].to_dict() == alone.to_dict()
    (said,) = re.findall(
        r"The best of 2 by validation seeds: PPL-DL on Room, seed (\d), "
        r"pruned from 12 rules to (\d+)\. It gets (\S+) on test seeds\.",
        " ".join(done.out.split()),
    )
    listed = done.out.partition("The best of 2")[2].partition("ifthen verify")[0]
    numbers = [int(number) for number in re.findall(r"^ *(\d+)  (?=IF|OTHERWISE|ALWAYS)", listed, re.M)]
    assert numbers == list(range(1, int(said[1]) + 1))
    assert "decides (visited states)" in " ".join(listed.split())
    path = kept[int(said[0])]
    scored = measured(ifthen("evaluate", path, "--task", CLASS).out)
    assert float(said[2]) == pytest.approx(float(scored), rel=1e-3)
    assert f"'ifthen verify {path.relative_to(rooms)} --task {CLASS}' checks these rules" in done.out
    page = (rooms / "two" / "report.html").read_text()
    assert f"seed {said[0]}, pruned: {said[2]}" in page
    assert "pruned from 12" in page
    assert ifthen(*few, "--seeds", "2", "--no-prune", "--out", "not").code == 0
    assert not list((rooms / "not").rglob("*.pruned.json"))


def test_tables_say_a_footnote_once(ifthen: Runner, rooms: Path) -> None:
    two = ("--set", "idv_size=1", "--task-set", "episodes=2", "--no-prune", "--seeds", "2", "--out", "two")
    assert ifthen("train", "PPL-ST", CLASS, *SMALL, *two).code == 0
    done = ifthen("study", "tables", "two", "--task", CLASS)
    notes = [line for line in done.out.splitlines() if line.endswith(".")]
    assert any("counted (no rule: n)" in line for line in notes), done.out
    assert len(set(notes)) == len(notes)


@pytest.mark.parametrize("command", ["show", "export"])
def test_rules_are_shown_and_written_without_their_environment(
    ifthen: Runner, rooms: Path, command: str
) -> None:
    assert ifthen("train", "PPL-DL", CLASS, *SMALL, *NAMES, "--out", "run").code == 0
    sys.modules.pop("rooms")
    for model in ("run", "run/model.zip"):
        done = ifthen(command, model, *(["--to", "c"] if command == "export" else []))
        assert done.code == 0, done.err
        assert "low" in done.out or "high" in done.out or "off" in done.out
    assert "rooms" not in sys.modules
    if command == "show":
        assert "nothing was played" in done.out
        refused(ifthen("show", "run", "--png", "x.png"), f"give --task {CLASS}")


@pytest.mark.parametrize("name", ["../rooms:Room", "../rooms.py:Room", "{}/rooms:Room"])
def test_a_class_in_a_file_of_another_folder_is_named_by_its_path(
    ifthen: Runner, rooms: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (rooms / "inside").mkdir()
    monkeypatch.chdir(rooms / "inside")
    named = name.format(rooms)
    done = ifthen("train", "PPL-DL", named, *SMALL, "--task-set", "episodes=2", "--out", "run")
    assert done.code == 0, done.err
    assert f"ifthen verify run --task {CLASS}" in done.out
    assert ifthen("evaluate", "run", "--task", named).code == 0
    assert ifthen("check", named).code == 0


def test_a_path_to_no_module_is_told_with_what_to_do(ifthen: Runner, rooms: Path) -> None:
    refused(ifthen("check", "../nothing:Room"), "no file ../nothing.py", "FOLDER/module:Class")
    (rooms / "random.py").write_text(ROOM)
    refused(ifthen("check", "./random:Room"), "random.py has the same name", "Rename the file")


@pytest.mark.parametrize("names", ["a,b,c,d", "a, b, c, d", "[a, b, c, d]", '["a", "b", "c", "d"]'])
def test_names_are_listed_with_or_without_brackets(ifthen: Runner, rooms: Path, names: str) -> None:
    done = ifthen("check", CLASS, "--task-set", f"feature_names={names}", "--task-set", "action_names=x,y,z")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines() if "declared" in line] == ["a", "c"]
    assert "never changed in random episodes: b." in done.out
    assert "Actions: x, y, z." in done.out
    assert "Names of your own" not in done.out
    assert "Names of your own: --task-set feature_names=" in ifthen("check", CLASS).out


def test_verify_says_at_which_step_episodes_were_cut(ifthen: Runner, rooms: Path) -> None:
    (rooms / "mine.txt").write_text("IF f0 <= 20.5 THEN action 2\nOTHERWISE action 0\n")
    for changes, step in (((), 24), (("--task-set", "t_max=7"), 7)):
        said = " ".join(ifthen("verify", "mine.txt", "--task", CLASS, *changes).out.split())
        assert f"a time limit ended all of them at step {step}: nothing is known of later steps" in said


def test_steps_that_are_too_few_are_noted(ifthen: Runner, rooms: Path) -> None:
    few = ("--steps", "9", "--set", "pop_size=8", "--threads", "1", "--out", "few")
    with warnings.catch_warnings():
        warnings.simplefilter("default", IfthenWarning)
        done = ifthen("train", "PPL-DL", CLASS, *few)
    assert done.code == 0, done.err
    assert "note: nothing was learnt" in done.err


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "--episodes", "3"),
        ("verify", "--require", "complete"),
        ("stress", "--episodes", "3", "--disturb", "noise=0.05"),
        ("front", "--episodes", "3"),
        ("report", "--quick", "--episodes", "3"),
        ("export", "--to", "c"),
    ],
)
def test_rules_may_use_names_that_task_set_gives(
    ifthen: Runner, here: Path, command: tuple[str, ...]
) -> None:
    (here / "rules.txt").write_text("IF place <= 2 THEN go\nOTHERWISE come\n")
    names = ("--task-set", "feature_names=place,speed", "--task-set", "action_names=come,stay,go")
    done = ifthen(command[0], here / "rules.txt", *command[1:], "--task", TYPED, *names)
    assert done.code == 0, done.err
