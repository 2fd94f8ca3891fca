"""Choosing from the front of a trained PPL-X, and terms given on the command line."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ifthen import load
from ifthen.runs import folder as files
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
