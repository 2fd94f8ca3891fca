"""The commands that question a policy or make something else of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ifthen import DecisionList, diff, evaluate, front, load, prune, read_rules, read_ruleset, trace, verify
from ifthen.exports import FORMATS, export
from ifthen.simulate.table_simulator import policy_table
from tests.commands import Runner
from tests.tables import table_named
from tests.verification.verified import HOLDS

TASK = "FrozenLake-4-0.1"
LAKE = table_named(TASK)
MINE = """
task: FrozenLake-4-0.1
1. IF x >= 1 and y = 2 THEN Down
2. IF x = 1 THEN Right
3. IF y >= 2 THEN Right
4. IF x <= 2 THEN Down
5. OTHERWISE Left
"""
HOLEY = "task: FrozenLake-4-0.1\nIF x <= 1 THEN Down\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.txt").write_text(MINE)
    return tmp_path / "mine.txt"


@pytest.fixture
def holey(tmp_path: Path) -> Path:
    (tmp_path / "holey.md").write_text(HOLEY)
    return tmp_path / "holey.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small run."""
    folder = tmp_path_factory.mktemp("run") / "st"
    command = ["train", "PPL-ST", TASK, "--epochs", "3", "--out", str(folder), "--set", "pop_size=20"]
    subprocess.run([sys.executable, "-m", "ifthen.cli", *command], check=True, capture_output=True)
    return folder


def test_explain_prints_rules_and_verification_of_a_run(ifthen: Runner, run: Path) -> None:
    done = ifthen("explain", run)
    ruleset = prune(load(run / "model.zip")).ruleset
    assert done.code == 0, done.err
    assert read_rules(ruleset, LAKE).to_text(200) in done.out
    assert str(verify(ruleset, LAKE)).splitlines()[0] in done.out


def test_explain_at_a_state_says_what_the_ruleset_does(ifthen: Runner, mine: Path) -> None:
    done = ifthen("explain", mine, "--at", "y=2, x=1")
    assert done.code == 0, done.err
    assert done.out.startswith("At x = 1, y = 2 the action is Down: rule 1 is the first that matches.")


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("x=1", "y is missing"),
        ("x=1,z=2", "by name, as in x=3,y=2. Known: x, y"),
        ("x=1,y=two", "y must be a number"),
        ("x=1,y=9", "y of an observation must be from 0 to 3"),
    ],
)
def test_impossible_observations_are_refused(ifthen: Runner, mine: Path, at: str, message: str) -> None:
    done = ifthen("explain", mine, "--at", at)
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_several_missing_values_are_named(ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "pole.txt").write_text("task: CartPole-v1\nALWAYS push left\n")
    done = ifthen("explain", tmp_path / "pole.txt", "--at", "cart position=0,pole angle=0")
    assert "cart velocity, pole velocity are missing." in " ".join(done.err.split())


def test_an_episode_is_shown_step_by_step(ifthen: Runner, mine: Path) -> None:
    done = ifthen("explain", mine, "--episode", "3")
    ruleset, _ = read_ruleset(mine)
    assert done.code == 0, done.err
    assert done.out.rstrip("\n") == trace(ruleset, LAKE, episode=2).to_text(200)


def test_explain_writes_page_words_verification_and_pictures(
    ifthen: Runner, run: Path, mine: Path, tmp_path: Path
) -> None:
    done = ifthen("explain", mine, "--compare", run, "--ladder", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    pictures = ("policy", "who-decides", "density", "values", "advantages", "visits", "usage", "front")
    assert written == {
        *("explain.html", "rules.txt", "rules.md", "rules.tex", "rules.csv"),
        *("verification.md", "verification.json", "front.csv", "episode.txt"),
        *(f"pictures/{name}.{form}" for name in pictures for form in ("png", "pdf", "svg")),
    }
    ruleset, _ = read_ruleset(mine)
    assert read_ruleset(tmp_path / "out" / "rules.txt") == (ruleset, TASK)
    assert json.loads((tmp_path / "out" / "verification.json").read_text()) == json.loads(
        json.dumps(verify(ruleset, LAKE).to_dict())
    )
    assert str(mine) in (tmp_path / "out" / "explain.html").read_text()
    assert front(ruleset, LAKE).text_table().to_text(200) in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--at", "1,2", "--episode", "1"), "give one of them"),
        (("--episode", "1", "--out", "x"), "only print"),
        (("--episode", "0"), "from 1 to"),
        (("--at", "x=1,x=2"), "two values for x"),
        (("--out", __file__), "is a file, not a folder"),
    ],
)
def test_impossible_questions_are_refused(
    ifthen: Runner, mine: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = ifthen("explain", mine, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.split())


def test_what_another_policy_left_in_the_folder_is_removed(
    ifthen: Runner, mine: Path, holey: Path, tmp_path: Path
) -> None:
    assert ifthen("explain", mine, "--ladder", "--out", tmp_path / "out").code == 0
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert ifthen("explain", holey, "--out", tmp_path / "out").code == 0
    assert not (tmp_path / "out" / "front.csv").exists()
    assert not (tmp_path / "out" / "pictures" / "front.png").exists()
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_policies_for_two_tasks_are_compared_only_in_one_that_is_named(
    ifthen: Runner, mine: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.txt"
    other.write_text(MINE.replace("FrozenLake-4-0.1", "FrozenLake-4-0.3"))
    done = ifthen("diff", mine, other)
    assert done.code == 2
    assert "give --task" in " ".join(done.err.split())
    assert ifthen("diff", mine, other, "--task", TASK).code == 0


def test_two_policies_are_compared_on_a_page_only(ifthen: Runner, run: Path, mine: Path) -> None:
    done = ifthen("explain", mine, "--compare", run)
    assert done.code == 2
    assert "give --out, or use 'ifthen diff'" in done.err


def test_rules_without_a_task_are_explained_over_all_observations(ifthen: Runner, tmp_path: Path) -> None:
    rules = "feature a: 0 to 1 real\nactions: Go, Stop\nIF a <= 0.5 THEN Go\n"
    (tmp_path / "any.txt").write_text(rules)
    done = ifthen("explain", tmp_path / "any.txt", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert not (tmp_path / "out" / "explain.html").exists()
    assert (tmp_path / "out" / "pictures" / "slices.png").exists()
    refused = ifthen("prune", tmp_path / "any.txt", "--ladder")
    assert refused.code == 2
    assert "give --task" in refused.err


def test_a_task_with_too_many_states_for_a_page_gets_everything_else(
    ifthen: Runner, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ifthen.pages.states.MOST_STATES", 15)
    done = ifthen("explain", mine, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "without a page" in done.out
    assert not (tmp_path / "out" / "explain.html").exists()
    assert (tmp_path / "out" / "pictures" / "policy.svg").exists()


def test_verify_exits_with_1_when_and_only_when_a_requirement_is_not_met(
    ifthen: Runner, mine: Path, holey: Path, tmp_path: Path
) -> None:
    for path in (mine, holey):
        assert ifthen("verify", path).code == 0
        ruleset, _ = read_ruleset(path)
        for name in HOLDS:
            found = verify(ruleset, LAKE, name)
            done = ifthen("verify", path, "--require", name, "--json", tmp_path / "v.json")
            assert done.code == (0 if found.passed else 1), (name, done.out)
            assert json.loads((tmp_path / "v.json").read_text())["passed"] == found.passed
    assert ifthen("verify", mine, "--require", "complete,optimal", "--require", "rules<=5").code == 0
    assert ifthen("verify", mine, "--require", "complete,rules<5").code == 1


@pytest.mark.parametrize(("text", "message"), [("", "empty"), (" , ", "empty"), ("performance", "quotes")])
def test_a_requirement_that_requires_nothing_is_refused(
    ifthen: Runner, mine: Path, text: str, message: str
) -> None:
    done = ifthen("verify", mine, "--require", text)
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_an_unknown_requirement_is_refused_before_the_model_is_read(ifthen: Runner) -> None:
    done = ifthen("verify", "nowhere.zip", "--require", "compleet")
    assert done.code == 2
    assert "complete" in done.err
    assert "nowhere" not in done.err


def test_diff_says_where_policies_differ_and_by_how_much(
    ifthen: Runner, run: Path, mine: Path, tmp_path: Path
) -> None:
    model = run / "model.zip"
    done = ifthen("diff", model, mine, "--json", tmp_path / "d.json")
    found = diff(load(model), read_ruleset(mine)[0], LAKE, (str(model), str(mine)))
    assert done.code == 0, done.err
    assert str(found).splitlines()[0] in done.out
    assert json.loads((tmp_path / "d.json").read_text()) == json.loads(json.dumps(found.to_dict()))


def test_prune_says_the_same_with_fewer_rules_and_writes_them(
    ifthen: Runner, run: Path, tmp_path: Path
) -> None:
    ruleset = load(run / "model.zip").ruleset
    simpler, listed = (prune(ruleset, LAKE, to=to).ruleset for to in (None, "list"))
    for extra, expected in (((), simpler), (("--list",), listed)):
        for suffix in ("txt", "json"):
            file = tmp_path / f"short.{suffix}"
            done = ifthen("prune", run, *extra, "--out", file)
            assert done.code == 0, done.err
            assert f"{len(ruleset)} rules became" in done.out
            assert read_ruleset(file) == (expected, TASK)
            assert (policy_table(expected, LAKE) == policy_table(ruleset, LAKE)).all()


def test_prune_trades_performance_for_rules_and_draws_the_front(
    ifthen: Runner, mine: Path, tmp_path: Path
) -> None:
    steps = front(read_ruleset(mine)[0], LAKE)
    done = ifthen("prune", mine, "--ladder", "--plot", tmp_path / "front.svg")
    assert steps.text_table().to_text(200) in done.out
    assert "<svg" in (tmp_path / "front.svg").read_text()
    done = ifthen("prune", mine, "--rules", "3", "--out", tmp_path / "three.json")
    three, _ = read_ruleset(tmp_path / "three.json")
    assert done.code == 0, done.err
    assert len(three) <= 3
    assert evaluate(three, LAKE, "exact").performance == pytest.approx(steps.at(rules=3).score)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "x.zip"), ".json or .txt"),
        (("--rules", "2", "--performance", "0.3"), "give one of them"),
        (("--plot", "x.gif"), ".png, .pdf or .svg"),
        (("--intervals", "long"), "'short' or 'tight' or 'keep'"),
        (("--list", "--effort", "huge"), "effort"),
        (("--effort", "normal"), "--effort belongs to --list"),
        (("--performance", "7"), "no policy of the front reaches 7"),
        (("--performance", "nan"), "performance must be a number"),
        (("--rules", "0"), "rules must be a whole number from 1"),
        (("--tests", "-1"), "tests must be a whole number from 0"),
        (("--tests", "2", "--list"), "give one of them"),
        (("--ladder", "--list"), "leave one of them out"),
        (("--ladder", "--out", "x.txt"), "say which with --rules, --tests or --performance"),
    ],
)
def test_impossible_prunings_are_refused(
    ifthen: Runner, mine: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = ifthen("prune", mine, *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_shortest_prints_a_list_for_an_optimal_policy_and_its_proof(ifthen: Runner, tmp_path: Path) -> None:
    done = ifthen("shortest", TASK, "--effort", "quick", "--out", tmp_path / "best.txt")
    found, task = read_ruleset(tmp_path / "best.txt")
    assert done.code == 0, done.err
    assert (len(found), task) == (5, TASK)
    assert isinstance(found, DecisionList)
    assert verify(found, LAKE, "complete,optimal").passed
    assert "no decision list has fewer" in done.out


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_export_prints_or_writes_every_format(ifthen: Runner, mine: Path, tmp_path: Path, name: str) -> None:
    expected = export(read_ruleset(mine)[0], name, LAKE)
    printed = ifthen("export", mine, "--to", name)
    assert printed.out.rstrip("\n") == expected.rstrip("\n")
    assert ifthen("export", mine, "--to", name, "--out", tmp_path / "exported").code == 0
    assert (tmp_path / "exported").read_text() == expected


def test_training_begins_with_the_given_rules_and_resumes_with_them(
    ifthen: Runner, mine: Path, tmp_path: Path
) -> None:
    small = ("--epochs", "2", "--set", "pop_size=20")
    command = ("train", "PPL-DL", TASK, "--start", mine, *small)
    assert ifthen(*command, "--out", tmp_path / "whole").code == 0
    assert "--start start.json" in (tmp_path / "whole" / "report.html").read_text()
    first = load(tmp_path / "whole" / "model.zip").history["best_fitness"][0]
    assert first == pytest.approx(evaluate(read_ruleset(mine)[0], LAKE, "sampled").performance)
    shutil.copytree(tmp_path / "whole", tmp_path / "again")
    (tmp_path / "again" / "model.zip").unlink()
    mine.unlink()  # the run's own folder has all that it needs
    assert ifthen("resume", tmp_path / "again").code == 0
    again, whole = (tmp_path / name / "model.zip" for name in ("again", "whole"))
    assert again.read_bytes() == whole.read_bytes()


def test_a_start_that_does_not_fit_is_refused_before_anything_is_written(
    ifthen: Runner, mine: Path, tmp_path: Path
) -> None:
    command = ("train", "PPL-DL", TASK, "--start", mine, "--out", tmp_path / "run")
    done = ifthen(*command, "--set", "idv_size=3")
    assert done.code == 2
    assert "start has 5 rules, but idv_size is 3" in " ".join(done.err.split())
    assert not (tmp_path / "run").exists()


def test_rules_for_another_task_are_refused(ifthen: Runner, run: Path) -> None:
    done = ifthen("verify", run, "--task", "FrozenLake-8-0.1")
    assert done.code == 2
    assert "FrozenLake-8-0.1" in done.err


def test_a_task_that_no_name_makes_is_said_and_left_out(ifthen: Runner, tmp_path: Path) -> None:
    text = "task: pond\nfeature x: 0 to 1\nfeature y: 0 to 1\nactions: a, b\nALWAYS a\n"
    (tmp_path / "pond.txt").write_text(text)
    done = ifthen("verify", tmp_path / "pond.txt", "--require", "complete")
    assert done.code == 0, done.err
    assert "is for 'pond', which is no known task" in " ".join(done.err.split())
