"""The front of a policy, choosing from that of a trained PPL-X, and terms given on the command line."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from ifthen import PPLX, evaluate, front, load, read_ruleset
from ifthen.cli.train import default_folder
from ifthen.runs import run_folder as files
from ifthen.runs.run_folder import RunFolder
from ifthen.runs.run_report import write_finished
from ifthen.runs.settings import read_settings
from tests.browser import needs_browser, opened
from tests.commands import Runner

QUICK = ("--set", "collect=500", "--set", "candidates=300", "--no-prune")
TERM = "lean [rad] = pole angle + 0.123456*pole velocity"


@pytest.fixture
def lake(ifthen: Runner, tmp_path: Path) -> Path:
    """Return the folder of a small run."""
    assert ifthen("train", "PPL-X", "FrozenLake-4-0.1", *QUICK, "--out", tmp_path / "lake").code == 0
    return tmp_path / "lake"


def test_lists_of_the_front_are_listed_and_taken_by_rules_or_tests(
    ifthen: Runner, lake: Path, tmp_path: Path
) -> None:
    front = load(lake / files.MODEL).front
    assert front is not None
    listed = ifthen("show", lake, "--front").out
    assert all(row in listed for row in front.text_table().to_text(200).splitlines()[2:])
    two = front.at(rules=2)
    shown = ifthen("show", lake, "--rules", "2").out
    assert "the list of 2 rules" in shown
    assert all(two.ruleset.rule_in_words(r) in shown for r in range(2))
    by_tests = front.at(tests=two.tests)
    written = tmp_path / "rules.txt"
    assert ifthen("export", lake, "--to", "text", "--tests", str(two.tests), "--out", written).code == 0
    assert by_tests.ruleset.rule_in_words(0) in written.read_text().replace("<=", "≤").replace(">=", "≥")
    assert ifthen("evaluate", lake, "--rules", "2").code == 0
    assert "2 rules" in ifthen("explain", lake, "--rules", "2").out
    assert "2 rules" in ifthen("verify", lake, "--rules", "2").out


def test_the_front_is_printed_drawn_and_written(ifthen: Runner, lake: Path, tmp_path: Path) -> None:
    system = load(lake / files.MODEL)
    found, out = front(system), tmp_path / "out"
    done = ifthen("front", lake, "--plot", tmp_path / "f.svg", "--json", tmp_path / "f.json", "--out", out)
    assert done.code == 0, done.err
    assert all(row in done.out for row in found.text_table().to_text(200).splitlines()[1:])
    assert "<svg" in (tmp_path / "f.svg").read_text()
    data = json.loads((tmp_path / "f.json").read_text())
    assert [point["rules"] for point in data["front"]] == [own.rules for own in found.points]
    assert data == json.loads((out / "front.json").read_text())
    for own in found.points:
        written = read_ruleset(out / f"rules-{own.rules}-tests-{own.tests}.txt")[0]
        assert evaluate(written, system.task, "exact").performance == pytest.approx(own.value)
    assert (out / "front.csv").read_text().startswith("rules,tests,nodes,score")
    assert (out / "front.png").exists()


def test_what_training_found_is_taken_by_prune(ifthen: Runner, lake: Path, tmp_path: Path) -> None:
    two = front(load(lake / files.MODEL)).at(rules=2)
    done = ifthen("prune", lake, "--rules", "2", "--out", tmp_path / "two.txt")
    assert done.code == 0, done.err
    written = read_ruleset(tmp_path / "two.txt")[0]
    assert len(written) <= 2
    assert evaluate(written, "FrozenLake-4-0.1", "exact").performance >= two.value - 1e-12
    assert "2 rules with" in done.out or "1 rule with" in done.out


def test_other_rules_have_a_front_of_shortening(ifthen: Runner, tmp_path: Path) -> None:
    rules = tmp_path / "mine.txt"
    rules.write_text(
        "task: MountainCar-v0\n1. IF velocity <= -0.001 THEN push left\n2. OTHERWISE push right\n"
    )
    done = ifthen("front", rules, "--episodes", "5", "--threads", "1")
    assert done.code == 0, done.err
    assert "return on 5 test seeds" in done.out
    assert [line.split()[:3] for line in done.out.splitlines() if line.strip()[:1].isdigit()] == [
        ["1", "0", "1"],
        ["2", "1", "3"],
    ]
    short = ifthen("prune", rules, "--tests", "0", "--episodes", "5", "--out", tmp_path / "one.txt")
    assert short.code == 0, short.err
    assert len(read_ruleset(tmp_path / "one.txt")[0]) == 1


def test_a_task_is_trained_on_once(ifthen: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trained = []

    def quick(system: str, task: str, threads: int | None) -> None:
        trained.append((system, task))
        learner = PPLX(task, collect=500, candidates=300).learn()
        folder = RunFolder(default_folder(system, task, 0))
        with folder.claimed(None, False):
            write_finished(folder, learner, "")

    monkeypatch.setattr(sys.modules["ifthen.cli.front"], "train", quick)
    first, second = ifthen("front", "FrozenLake-4-0"), ifthen("front", "FrozenLake-4-0")
    assert (first.code, second.code) == (0, 0), first.err
    assert trained == [("PPL-X", "FrozenLake-4-0")]
    assert "there is a run in runs/PPL-X-FrozenLake-4-0-seed0 already" in second.out
    page = (tmp_path / "runs" / "PPL-X-FrozenLake-4-0-seed0" / files.EXPLAINED).read_text()
    assert "ifthen prune runs/PPL-X-FrozenLake-4-0-seed0 --rules" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.zip",), "nowhere.zip"),
        (("FrozenLake-4-0", "--task-set", "t_max=5"), "train first"),
        (("FrozenLak-4-0",), "FrozenLake-4-0"),
        (("mine.txt", "--plot", "x.gif"), ".png, .pdf or .svg"),
        (("mine.txt", "--by", "leaves"), "'rules' or 'tests' or 'nodes'"),
        (("mine.txt", "--episodes", "1"), "whole number from 2"),
        (("mine.txt", "--out", __file__), "is a file, not a folder"),
    ],
)
def test_impossible_fronts_are_refused_before_work(
    ifthen: Runner, arguments: tuple[str, ...], message: str
) -> None:
    done = ifthen("front", *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_a_list_that_is_too_short_or_a_model_without_a_front_is_refused_in_words(
    ifthen: Runner, lake: Path, tmp_path: Path
) -> None:
    assert "rules must be a whole number from 1" in ifthen("show", lake, "--rules", "0").err
    assert "leave one out" in ifthen("show", lake, "--rules", "1", "--front").err
    small = ("--set", "pop_size=4", "--set", "idv_size=3", "--epochs", "1", "--no-prune")
    assert ifthen("train", "PPL-DL", "FrozenLake-4-0", *small, "--out", tmp_path / "other").code == 0
    for model in (tmp_path / "other", lake / files.RULES):
        for option in (("--rules", "2"), ("--tests", "2"), ("--front",)):
            done = ifthen("show", model, *option)
            assert done.code == 2
            assert "holds one ruleset" in done.err


def test_terms_on_the_command_line_reach_the_settings_the_model_and_the_report(
    ifthen: Runner, tmp_path: Path
) -> None:
    run = ("PPL-X", "CartPole-v1", "--set", "steps=1000", "--epochs", "1", "--out", tmp_path / "pole")
    assert ifthen("train", *run, "--term", TERM, "--term", "pole angle - cart position").code == 0
    terms = [TERM, "pole angle - cart position"]
    assert load(tmp_path / "pole" / files.MODEL).parameters.model_dump()["given_terms"] == terms
    assert read_settings(tmp_path / "pole" / files.SETTINGS)["parameters"]["given_terms"] == terms
    page = (tmp_path / "pole" / files.REPORT).read_text().replace("&#39;", "'").replace("&#34;", '"')
    command = next(line for line in page.splitlines() if "ifthen train PPL-X" in line)
    assert any(TERM in word for word in shlex.split(command.split("<code>")[1].split("</code>")[0]))


def test_terms_that_cannot_be_used_are_refused_before_training(ifthen: Runner, tmp_path: Path) -> None:
    for arguments, message in (
        (("PPL-X", "CartPole-v1", "--term", "e = pole + 2*cart"), "a sum adds up features"),
        (("PPL-X", "FrozenLake-4-0", "--term", "e = x + y"), "leave out given_terms (--term)"),
        (("PPL-DL", "CartPole-v1", "--term", TERM), "unknown parameter 'given_terms'"),
    ):
        done = ifthen("train", *arguments, "--out", tmp_path / "none")
        assert done.code == 2
        assert message in " ".join(done.err.split())
        assert not (tmp_path / "none").exists()


@needs_browser
@pytest.mark.parametrize("width", [1280, 900, 700, 400])
def test_no_heading_of_the_front_in_the_report_is_cut(width: int, ifthen: Runner, tmp_path: Path) -> None:
    run = ("PPL-X", "CartPole-v1", "--set", "steps=1000", "--epochs", "1", "--out", tmp_path / "pole")
    assert ifthen("train", *run).code == 0
    with opened(tmp_path / "pole" / files.REPORT, width) as page:
        hidden = page.evaluate("(box => box.scrollWidth - box.clientWidth)(document.querySelector('.front'))")
        assert hidden <= 0
