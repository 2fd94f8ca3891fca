"""The commands show and explain, for policies in environments."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ifthen import read_ruleset, trace
from ifthen.environments.make import env_task
from ifthen.simulate.scope import visited_states
from tests.commands import Runner

RULES = """
task: MountainCar-v0
IF velocity >= 0.0003 THEN push right
IF velocity <= -0.002 THEN push left
OTHERWISE coast
"""


@pytest.fixture
def car(tmp_path: Path) -> Path:
    (tmp_path / "car.txt").write_text(RULES)
    return tmp_path / "car.txt"


def test_show_prints_rules_with_shares_of_the_states_met_and_draws_them(ifthen: Runner, car: Path) -> None:
    picture = car.with_name("car.png")
    shown = ifthen("show", car, "--png", picture)
    assert shown.code == 0
    ruleset, _ = read_ruleset(car)
    for r, share in enumerate(visited_states(ruleset, env_task("MountainCar-v0")).shares.tolist()):
        line = next(
            line for line in shown.out.splitlines() if ruleset.rule_in_words(r).split(" ", 1)[1] in line
        )
        assert f"({share:.0%})" in line
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "drawn to" in shown.out
    assert "no grid" not in shown.out


def test_explain_prints_an_episode(ifthen: Runner, car: Path) -> None:
    shown = ifthen("explain", car, "--episode", "2")
    assert shown.code == 0
    ruleset, _ = read_ruleset(car)
    found = trace(ruleset, env_task("MountainCar-v0"), episode=1)
    assert found.to_text(200) in shown.out
    assert ifthen("explain", car, "--episode", "51").code != 0


def test_explain_writes_page_words_pictures_and_an_episode(ifthen: Runner, car: Path) -> None:
    folder = car.parent / "explained"
    shown = ifthen("explain", car, "--out", folder)
    assert shown.code == 0
    assert f"open {folder / 'explain.html'}" in shown.out.replace("\n", "")
    assert "3 rules on MountainCar-v0" in (folder / "explain.html").read_text()
    assert (
        (folder / "episode.txt").read_text().startswith("Training episode 1 in MountainCar-v0, reset seed 0:")
    )
    names = {path.name for path in (folder / "pictures").iterdir()}
    assert names == {
        f"{name}.{form}" for name in ("policy", "usage", "episode") for form in ("png", "pdf", "svg")
    }
    assert read_ruleset(folder / "rules.txt")[0] == read_ruleset(car)[0]


def test_what_needs_a_table_of_states_is_refused(ifthen: Runner, car: Path) -> None:
    shown = ifthen("show", car, "--compact", "greedy")
    assert shown.code != 0
    assert "table of states" in shown.err


@pytest.mark.parametrize("settings", [[], ["--task-set", "gamma=0.9"]], ids=["stock", "changed"])
@pytest.mark.parametrize("file", ["ruleset.json", "rules.txt"])
def test_rules_of_a_task_with_settings_are_not_measured_in_another(
    ifthen: Runner, tmp_path: Path, settings: list[str], file: str
) -> None:
    small = ["--set", "pop_size=4", "--set", "idv_size=3", "--task-set", "episodes=3", "--epochs", "1"]
    trained = ifthen("train", "PPL-DL", "CartPole-v1", *small, *settings, "--out", tmp_path / "run")
    assert trained.code == 0, trained.err
    whole = ifthen("evaluate", tmp_path / "run" / "model.zip")
    inside = ifthen("evaluate", tmp_path / "run" / file)  # beside the model, which knows the task
    assert inside.out.splitlines()[1:] == whole.out.splitlines()[1:]
    shutil.copy(tmp_path / "run" / file, tmp_path / file)
    done = ifthen("evaluate", tmp_path / file)
    said = " ".join(done.err.split())
    if not settings:
        assert done.code == 0, said
        return
    assert done.code == 2
    assert "is for 'CartPole-v1 with other gamma" in said
    assert "Name the environment with --task: module:Class, or a run's folder" in said
    given = ifthen("evaluate", tmp_path / file, "--task", tmp_path / "run")
    assert given.out.splitlines()[1:] == whole.out.splitlines()[1:]
