from __future__ import annotations

import ast
import keyword
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules
from ifthen.exports import export
from ifthen.exports.parts import one_line
from tests.explanation.policies import (
    INTEGER_RULES,
    many_points,
    many_rules,
    names_of,
    real_rules,
    telling_points,
)
from tests.rulesets import all_states

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler called cc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
MAIN = r"""
#include <stdio.h>
int main(void)
{
    static double s[IFTHEN_FEATURES * 4096];
    static int out[4096];
    size_t n, i;
    while ((n = fread(s, sizeof(double) * IFTHEN_FEATURES, 4096, stdin)) > 0) {
        for (i = 0; i < n; i++)
            out[i] = ifthen_action(s + i * IFTHEN_FEATURES);
        fwrite(out, sizeof(int), n, stdout);
    }
    return 0;
}
"""


def python_module(ruleset: RuleSet) -> dict[str, Any]:
    """Return the names in the exported module, which may not import anything."""
    source = export(ruleset, "python")
    assert not any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in ast.walk(ast.parse(source)))
    names: dict[str, Any] = {}
    exec(compile(source, "policy.py", "exec"), names)
    return names


def run_python(ruleset: RuleSet, points: NDArray[Any]) -> list[int]:
    action = python_module(ruleset)["action"]
    return [-1 if (a := action(*point)) is None else a for point in points.tolist()]


def run_c(ruleset: RuleSet, points: NDArray[np.float64], folder: Path, *options: str) -> list[int]:
    (folder / "policy.c").write_text(export(ruleset, "c") + MAIN, encoding="utf-8")
    assert COMPILER is not None
    program = str(folder / "policy")
    subprocess.run([COMPILER, *FLAGS, *options, str(folder / "policy.c"), "-o", program], check=True)
    data = np.ascontiguousarray(points, dtype=np.float64).tobytes()
    answer = subprocess.run([program], input=data, stdout=subprocess.PIPE, check=True).stdout
    return [int(action) for action in np.frombuffer(answer, dtype=np.int32)]


@given(INTEGER_RULES)
@settings(max_examples=60)
def test_python_chooses_the_same_in_every_integer_state(ruleset: RuleSet) -> None:
    states = all_states()
    assert run_python(ruleset, states) == ruleset.predict(states).tolist()


@given(real_rules())
@settings(max_examples=30)
def test_python_chooses_the_same_at_interval_ends_and_next_to_them(ruleset: RuleSet) -> None:
    points = telling_points(ruleset, 1_000)
    assert run_python(ruleset, points) == ruleset.predict(points).tolist()


@given(real_rules())
@settings(max_examples=10)
def test_the_python_policy_gives_names(ruleset: RuleSet) -> None:
    points = telling_points(ruleset, 50)
    module = python_module(ruleset)
    assert [module["policy"](*p) for p in points.tolist()] == names_of(ruleset, ruleset.predict(points))
    assert module["FEATURES"] == tuple(f.name for f in ruleset.features)
    assert module["ACTIONS"] == ruleset.action_names


@pytest.mark.parametrize("kind", [DecisionList, StrengthRules, PredictionArrayRules])
def test_many_points_get_the_same_action_in_python(kind: type[RuleSet]) -> None:
    ruleset, points = many_rules(kind, 12), many_points(100_000)
    expected = ruleset.predict(points)
    assert len(np.unique(expected)) == 4
    assert run_python(ruleset, points) == expected.tolist()


def test_python_and_c_answer_nothing_outside_the_ranges(tmp_path: Path) -> None:
    ruleset = DecisionList([[[0, 7]]], [0], [Feature("x", 0, 7)], ["a"])
    outside = np.array([[-1.0], [8.0], [np.nan], [np.inf]])
    assert run_python(ruleset, outside) == [-1] * 4
    assert run_python(ruleset, np.array([[0], [7]])) == [0, 0]
    if COMPILER is not None:
        assert run_c(ruleset, np.array([[0.0], [7.0], *outside]), tmp_path) == [0, 0, -1, -1, -1, -1]


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5, unique=True))
@settings(max_examples=60)
def test_any_names_become_arguments_that_python_takes(names: list[str]) -> None:
    features = [Feature(name, 0, 1) for name in names]
    ruleset = DecisionList([[[0, 1]] * len(names)], [0], features, names)
    assert run_python(ruleset, np.zeros((1, len(names)))) == [0]
    assert python_module(ruleset)["ACTIONS"] == tuple(names)


def test_keywords_and_our_own_names_are_no_arguments() -> None:
    names = [
        *keyword.kwlist,
        "action",
        "policy",
        "ACTIONS",
        "FEATURES",
        "best",
        "top",
        "number",
        "len",
        "range",
    ]
    features = [Feature(name, 0, 3) for name in names]
    bounds, weights = [[[0, 3]] * len(names)], [[1.0] * (len(names) + 1)]
    for ruleset in (
        DecisionList(bounds, [0], features, ["go"]),
        StrengthRules(bounds, [0], features, ["go"], weights, [0.0]),
        PredictionArrayRules(bounds, [0], features, ["go"], weights, [1], [0], [1], [0]),
    ):
        assert run_python(ruleset, np.ones((1, len(names)))) == [0]


@needs_compiler
@given(INTEGER_RULES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_c_chooses_the_same_in_every_integer_state(tmp_path: Path, ruleset: RuleSet) -> None:
    states = all_states()
    assert run_c(ruleset, states.astype(np.float64), tmp_path) == ruleset.predict(states).tolist()


@needs_compiler
@given(real_rules())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_c_chooses_the_same_at_interval_ends_and_next_to_them(tmp_path: Path, ruleset: RuleSet) -> None:
    points = telling_points(ruleset, 100_000)
    assert run_c(ruleset, points, tmp_path) == ruleset.predict(points).tolist()


@needs_compiler
@pytest.mark.parametrize("kind", [DecisionList, StrengthRules, PredictionArrayRules])
def test_a_million_points_get_the_same_action_in_c(kind: type[RuleSet], tmp_path: Path) -> None:
    ruleset, points = many_rules(kind, 12), many_points(1_000_000)
    assert run_c(ruleset, points, tmp_path, "-O2") == ruleset.predict(points).tolist()


@needs_compiler
def test_the_actions_of_c_have_names_whatever_they_are_called(tmp_path: Path) -> None:
    names = ["", "none", "None", "a*/b", "1", "é", "e", "int", "??/", "\\", "actions", "\u2028"]
    names += ["*\\", "/*", "/*/", "???/", "**//", "?\\?"]
    ruleset = DecisionList([[[0, 1]]], [3], [Feature("x\\", 0, 1)], names)
    assert run_c(ruleset, np.zeros((1, 1)), tmp_path, "-Wno-unused-macros") == [3]
    assert "IFTHEN_A_B = 3" in export(ruleset, "c")


def test_exported_code_is_pleasant_to_read() -> None:
    features = [Feature("x", 0, 7), Feature("speed", -1, 1, "real", "m/s")]
    bounds: Any = [[[0, 3], [-0.1, 0.25]], [[4, 7], [-1, 1]], [[0, 7], [-1, 1]]]
    ruleset = DecisionList(bounds, [1, 0, 1], features, ["Left", "Go right"])
    assert export(ruleset, "python").splitlines()[11:22] == [
        "    if not (0 <= x <= 7 and -1.0 <= speed <= 1.0):",
        "        return None",
        "    # 1. IF x <= 3 AND speed in [-0.1, 0.25] m/s THEN Go right",
        "    if x <= 3 and -0.1 <= speed <= 0.25:",
        "        return 1  # Go right",
        "    # 2. IF x >= 4 THEN Left",
        "    if x >= 4:",
        "        return 0  # Left",
        "    # 3. OTHERWISE Go right",
        "    return 1  # Go right",
        "",
    ]
    assert (
        "    /* 1. IF x <= 3 AND speed in [-0.1, 0.25] m/s THEN Go right */\n"
        "    if (s[0] <= 3.0 && s[1] >= -0x1.999999999999ap-4 && s[1] <= 0.25)\n"
        "        return IFTHEN_GO_RIGHT;\n"
    ) in export(ruleset, "c")


@pytest.mark.parametrize("format", ["python", "c"])
@given(real_rules())
@settings(max_examples=20)
def test_code_has_every_rule_in_words_in_front_of_its_test(format: str, ruleset: RuleSet) -> None:
    mark = {"python": "    # ", "c": "    /* "}[format]
    lines = export(ruleset, format).splitlines()
    body = lines[
        next(
            i
            for i, line in enumerate(lines)
            if line.endswith("action(cart_position, y, pole_s_angle):") or line == "{"
        ) :
    ]
    at = [i for i, line in enumerate(body) if line.startswith(mark)]
    assert [body[i].removeprefix(mark).split(".")[0] for i in at] == [str(r + 1) for r in range(len(ruleset))]
    assert all(body[i + 1].startswith(("    if ", "    return ")) for i in at)


@pytest.mark.parametrize("kind", [DecisionList, StrengthRules, PredictionArrayRules])
@pytest.mark.parametrize("format", ["python", "c"])
def test_code_says_that_it_is_exact_everywhere(format: str, kind: type[RuleSet]) -> None:
    about = export(many_rules(kind, 3), format).splitlines()[1]
    assert "exactly these rules, for every observation in the features' ranges" in about


@given(st.text(alphabet=st.sampled_from("*/\\?-#a \n"), max_size=12))
def test_nothing_in_a_comment_can_end_it(text: str) -> None:
    assert not re.search(r"\*/|/\*|\?\?|--|\\|\n", one_line(text))
