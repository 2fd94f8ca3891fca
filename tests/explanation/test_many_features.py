"""With many features, texts, tables and pages show those that rules test, and count the others."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from numpy.typing import NDArray

from ifthen import DecisionList, diff, explain, export, term, trace, verify
from ifthen.digits import MANY, values_in_words, worth_showing
from ifthen.environments.make import env_task
from ifthen.explanation.pictures.slices import slice_figure
from ifthen.explanation.reading import read_rules
from ifthen.exports.decision_tree import decision_tree
from ifthen.pages.explain_page import explain_page
from ifthen.rules.strength import StrengthRules
from ifthen.tasks.gym_task import EnvTask
from tests.envs import CROWD
from tests.exports.test_export_code import needs_compiler, run_c, run_python

FEATURES = 200
OTHERS = f"{FEATURES - 3} other features"


@functools.cache
def crowd() -> EnvTask:
    return env_task(CROWD, episodes=6)


@functools.cache
def rules(shift: float = 0.0) -> DecisionList:
    """Return the rules that solve it: they test one feature, and the difference of two others."""
    task = crowd()
    gap = term("gap", {"f100": 1, "f199": -1}, task.features)
    bounds = np.tile([-1.0, 1.0], (3, FEATURES + 1, 1))
    bounds[:, -1] = -2.0, 2.0
    bounds[0, 0, 0], bounds[1, -1, 0] = 0.3, shift
    return DecisionList(bounds, [2, 1, 0], (*task.features, gap), task.action_names)


def test_features_that_rules_test_themselves_or_in_a_term_are_known() -> None:
    assert rules().tested == ("f0", "f100", "f199")
    plain = np.tile([-1.0, 1.0], (1, FEATURES, 1))
    same = DecisionList(plain, [0], crowd().features, crowd().action_names)
    assert same.tested == ()
    weights, task = np.zeros((1, FEATURES + 1)), crowd()
    voting = StrengthRules(plain, [0], task.features, task.action_names, weights, [0.0])
    assert len(voting.tested) == FEATURES  # every feature has a weight


@pytest.mark.parametrize("n", [1, MANY, MANY + 1, 500])
def test_a_few_features_are_all_shown_and_of_many_those_that_matter(n: int) -> None:
    names = [f"x{i}" for i in range(n)]
    shown = worth_showing(names, ["x0", "y"])
    assert shown == (names if n <= MANY else ["x0"])
    assert worth_showing(names, []) == names[:MANY]
    words = values_in_words(dict.fromkeys(names, "1"), ["x0"])
    assert words.startswith("x0 = 1")
    assert ("other feature" in words) == (n > MANY)


def test_texts_name_the_features_that_rules_test_and_count_the_others() -> None:
    task, point = crowd(), np.zeros(FEATURES)
    texts = {
        "explanation": str(explain(rules(), point)),
        "verification": verify(rules(), task).to_text(80),
        "reading": read_rules(rules()).to_text(80),
        "episode": trace(rules(), task, episode=0).to_text(80),
    }
    for name, text in texts.items():
        assert OTHERS in re.sub(r"\s+", " ", text), name
        assert len(text.splitlines()) < 60, name
        assert "f100" in text, name
        assert "f55" not in text, name
    between = diff(rules(), rules(0.5)).to_text(80)
    assert "f55" not in between
    assert "f199" in between
    assert len(repr(rules())) < 300
    assert len(repr(task)) < 300


@pytest.mark.parametrize(
    ("format", "lines"), [("csv", 4), ("dmn", 100), ("dmn-priority", 100), ("dot", 30), ("mermaid", 30)]
)
def test_tables_and_trees_have_the_features_that_rules_test(format: str, lines: int) -> None:
    text = export(rules(), format)
    assert len(text.splitlines()) <= lines
    assert "f0" in text
    assert "f55" not in text


@pytest.mark.parametrize("format", ["python", "c", "sql"])
def test_the_head_of_code_describes_the_features_that_rules_test(format: str) -> None:
    text = export(rules(), format)
    described = re.findall(r"(f\d+): -1 to 1", text)
    assert described == ["f0", "f100", "f199"]
    assert f"{OTHERS} that no rule tests" in text


def points() -> NDArray[np.float64]:
    """Return points in and beyond the ranges."""
    return np.random.default_rng(1).uniform(-1.2, 1.2, (500, FEATURES))


def test_exported_python_and_trees_of_many_features_choose_as_the_rules_do() -> None:
    finite = points()
    assert run_python(rules(), finite) == rules().predict(finite).tolist()
    assert {action for _, action in decision_tree(rules()).boxes()} == {0, 1, 2}
    lines = export(rules(), "python").splitlines()
    assert len(lines) < 40  # features that no rule tests are not clipped one by one
    unknown = np.zeros((1, FEATURES))
    unknown[0, 55] = np.nan
    assert run_python(rules(), unknown) == [-1]  # a value that is no number has no action, as ever


@needs_compiler
def test_exported_c_of_many_features_chooses_as_the_rules_do(tmp_path: Path) -> None:
    finite, unknown = points(), np.zeros((1, FEATURES))
    unknown[0, 55] = np.nan
    assert run_c(rules(), finite, tmp_path) == rules().predict(finite).tolist()
    assert run_c(rules(), unknown, tmp_path) == [-1]
    assert len(export(rules(), "c").splitlines()) < 50


def test_the_page_folds_the_features_that_no_rule_tests() -> None:
    page = explain_page(rules(), crowd())
    first, rest = page.split(f"<summary>{OTHERS}, which no rule tests</summary>")
    rows = re.findall(r'<th scope="row">(f\d+)', first)
    assert rows == ["f0", "f100", "f199"]
    assert len(re.findall(r'<th scope="row">(f\d+)', rest)) == FEATURES - 3


def test_pictures_tell_where_the_features_that_rules_test_are_fixed() -> None:
    figure = slice_figure(rules(), crowd())
    said = " ".join(text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))
    assert "f55" not in said
    assert "f0" in said
