"""Python functions that people write become decision lists that choose as they do; nothing is run."""

from __future__ import annotations

import itertools
import sys
import textwrap
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import ifthen
from ifthen import DecisionList, Feature, IfthenWarning, env_task, from_function, read_ruleset
from ifthen.errors import RuleError
from ifthen.rules.programs.python_code import chosen_function, parsed, rules_of_function

FEATURES = (
    Feature("x", -2.0, 2.0, "real"),
    Feature("y", 0, 5),
    Feature("z", -1.0, 1.0, "real", clips=True),
)
ACTIONS = ("left", "stay", "right")
NUMBERS = (0.0, 0.5, 0.3, -0.7, 1.0, 0.1, 2.0, 3.0)
RELATIONS = ("<", "<=", ">", ">=", "==", "!=")


def read(source: str, features: tuple[Feature, ...] = FEATURES) -> tuple[DecisionList, list[str]]:
    module = parsed(textwrap.dedent(source))
    return rules_of_function(module, chosen_function(module, None), features, ACTIONS)


def run(source: str, points: NDArray[np.float64]) -> list[int]:
    names: dict[str, Any] = {}
    exec(compile(textwrap.dedent(source), "policy.py", "exec"), names)
    found = [names["act"](point) for point in points.tolist()]
    return [-1 if a is None else ACTIONS.index(a) if isinstance(a, str) else int(a) for a in found]


def points_of(rules: DecisionList, beyond: bool = False) -> NDArray[np.float64]:
    """Return points at all ends of intervals, beside them, and elsewhere."""
    sides = []
    for d, feature in enumerate(rules.observed_features):
        ends = np.unique([feature.low, feature.high, *rules.bounds[:, d].ravel(), 0.01, -0.4, *NUMBERS])
        beside = np.concatenate([ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
        low, high = FEATURES[d].low, FEATURES[d].high
        if beyond and feature.clips:
            low, high = -50.0, 50.0
            beside = np.append(beside, [-40.0, 40.0])
        values = np.arange(0.0, 6.0) if feature.is_integer else beside
        sides.append(np.unique(values[(values >= low) & (values <= high)]))
    points = np.array(list(itertools.product(*sides)))
    return points[:: len(points) // 3_000 + 1]


SINGLE = st.builds(
    "{} * obs[{}]".format, st.sampled_from((1.0, -1.0, 0.5, 3.0, -0.3, 0.1)), st.sampled_from((0, 1, 2))
) | st.sampled_from(("obs[0]", "obs[1]", "obs[2]", "-obs[0]", "abs(obs[0])", "min(obs[0], obs[2])", "a", "b"))
SUMS = st.sampled_from(("obs[0] + obs[2]", "0.3 * obs[0] - obs[1]", "c", "obs[2] - 0.7 * obs[0]"))
VALUES = st.sampled_from([repr(n) for n in NUMBERS])


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.sampled_from(("single", "single", "sum", "between", "and", "or", "not", "both", "name")))
    if depth == 0 or kind == "single":
        return f"{draw(SINGLE)} {draw(st.sampled_from(RELATIONS))} {draw(VALUES)}"
    if kind == "sum":
        return f"{draw(VALUES)} {draw(st.sampled_from(RELATIONS))} {draw(SUMS)}"
    if kind == "between":
        return f"{draw(VALUES)} <= {draw(SINGLE)} < {draw(VALUES)}"
    if kind == "both":
        return f"{draw(SINGLE)} {draw(st.sampled_from(RELATIONS[:4]))} obs[{draw(st.sampled_from((0, 1)))}]"
    if kind == "name":
        return draw(st.sampled_from(("flag", "obs[1]", "not flag")))
    inner = conditions(depth - 1)
    return f"not ({draw(inner)})" if kind == "not" else f"({draw(inner)} {kind} {draw(inner)})"


RETURNS = ("return 0", "return 1", "return 'right'", "return None", "return out", "return")


@st.composite
def blocks(draw: st.DrawFn, depth: int = 2) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(("if", "if", "else", "elif", "return", "set", "ternary", "boolean")))
        if kind == "set":
            lines.append(
                draw(st.sampled_from(("a = 0.5 * obs[0]", "out = 2", "b = obs[2]", "flag = a > 0.1")))
            )
        elif kind == "ternary":
            lines.append(f"out = 0 if {draw(conditions(1))} else 1")
        elif kind == "boolean" or depth == 0:
            lines.append(f"return 1 if {draw(conditions(1))} else 0")
        elif kind == "return":
            lines.append(draw(st.sampled_from(RETURNS)))
        else:
            lines += [f"if {draw(conditions())}:", *_below(draw(blocks(depth - 1)))]
            if kind == "elif":
                lines += [f"elif {draw(conditions())}:", *_below(draw(blocks(depth - 1)))]
            if kind != "if":
                lines += ["else:", *_below(draw(blocks(depth - 1)))]
    return lines


def _below(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def functions(draw: st.DrawFn) -> str:
    start = ["a, b, out, flag = obs[0], -0.5 * obs[2], 1, obs[0] < 0.3", "c = obs[0] + 0.5 * obs[2]"]
    return "\n".join(["def act(obs):", *_below(start + draw(blocks())), "    return 2"])


@given(functions())
def test_rules_choose_as_the_function_does_at_every_edge(source: str) -> None:
    try:
        rules, notes = read(source)
    except RuleError as problem:
        assume("never returns" not in str(problem) and "more than" not in str(problem))
        raise
    assume(not any("another order" in note for note in notes))
    points = points_of(rules)
    assert rules.predict(points).tolist() == run(source, points)


@given(conditions().filter(lambda text: "c" not in text and "+" not in text and "obs[2] - " not in text))
def test_tests_of_single_features_hold_beyond_their_ranges(text: str) -> None:
    source = f"def act(obs):\n    a, b, flag = obs[0], 3 * obs[2], obs[2] > 7\n    return 1 if {text} else 0"
    rules, notes = read(source)
    assume(not notes)
    points = points_of(rules, beyond=True)
    assert rules.predict(points).tolist() == run(source, points)


def test_lists_are_as_short_as_the_code() -> None:
    rules, _ = read(
        """
        EDGE = 0.3

        def act(self, obs):
            "A policy."
            x, y, z = obs
            if x <= EDGE and y >= 2:
                return "left"
            elif z <= 0:
                return "stay"
            return 2
        """
    )
    assert [rules.rule_in_words(r) for r in range(len(rules))] == [
        "IF x ≤ 0.3 AND y ≥ 2 THEN left",
        "IF z ≤ 0 THEN stay",
        "OTHERWISE right",
    ]


def test_arguments_may_be_the_features() -> None:
    rules, _ = read("def act(a, b, c):\n    return 0 if a <= 0.5 else 1")
    assert str(rules) == "1. IF x ≤ 0.5 THEN left\n2. OTHERWISE stay"


def test_sums_with_names_become_terms() -> None:
    rules, notes = read("def act(o):\n    my_lean = o[0] + 0.5 * o[1]\n    return int(my_lean <= 0.1)")
    assert str(rules).startswith("LET my lean = x + 0.5·y\n1. IF my lean ≤ 0.1 THEN stay")
    assert not notes


def test_a_number_beyond_a_range_that_clips_makes_it_wider() -> None:
    rules, _ = read("def act(o):\n    return int(o[2] > 4)")
    assert rules.predict([[0.0, 0, 3.9], [0.0, 0, 4.0], [0.0, 0, 4.1], [0.0, 0, 99.0]]).tolist() == [
        0,
        0,
        1,
        1,
    ]


def test_notes_say_what_is_not_the_same_to_the_last_bit() -> None:
    assert "another order" in read("def act(o):\n    return int(o[1] + o[0] + 0.1 < 0)")[1][0]
    assert "beyond the ranges of z" in read("def act(o):\n    return int(o[0] + o[2] < 0)")[1][0]
    assert not read("def act(o):\n    return int(o[0] > o[1])")[1]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return o[0] * o[1] > 1", r"line 2: 'o\[0\] \* o\[1\]' multiplies features"),
        ("return 1 / o[0] > 1", "line 2: .* divides by a feature"),
        ("return o[0] ** 2 > 1", "line 2: .* of operators, only"),
        ("for i in o: pass", "line 2: 'for' cannot be read as rules"),
        ("return math.sin(o[0]) > 0", "line 2: .* of functions, only abs, min"),
        ("return open('x').read()", "line 2: .* of functions, only abs"),
        ("return 3", r"line 2: 3 is no action: the actions are 0 to 2 \(left, stay, right\)"),
        ("return 'up'", "line 2: unknown action 'up'"),
        ("return o[0]", "line 2: a feature or sum is returned here"),
        ("return o[3] > 0", r"line 2: 'o\[3\]' is beyond the 3 features"),
        ("return w > 0", "line 2: 'w' is not known here"),
        ("a, b = o\n    return 0", "line 2: expected 3 names to the left of =, not 2"),
        ("return o[0] in (1, 2)", "line 2: .* expected <, <=, >"),
        ("return o[0] / 0 > 1", "line 2: this divides by 0"),
        ("return 1e400 > o[0]", "line 2: inf is no finite number"),
        ("return [a for a in o]", "line 2: .* cannot be read as rules"),
        ("if o[0] > 0:\n        with o: pass\n    return 1", "line 3: 'with' cannot be read"),
        ("pass", "this never returns an action"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(body: str, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        read(f"def act(o):\n    {body}")


def test_the_function_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    file, task = tmp_path / "policy.py", env_task("CartPole-v1")
    file.write_text(
        "raise SystemExit('this was run')\n"
        "class Agent:\n    def act(self, obs):\n        return int(obs[2] > 0)\n"
        "def other(obs):\n    return 0\n"
    )
    assert str(read_ruleset(f"{file}:Agent.act", task)[0]).startswith(
        "1. IF pole angle ≤ 0 rad THEN push left"
    )
    with pytest.raises(RuleError, match=r"as in policy.py:act. There are: Agent.act, other"):
        read_ruleset(file, task)
    with pytest.raises(RuleError, match=r"no function 'Agent.ac'. Did you mean 'Agent.act'"):
        read_ruleset(f"{file}:Agent.ac", task)
    with pytest.raises(RuleError, match="give the task"):
        read_ruleset(f"{file}:other")
    file.write_text("def act(obs:\n")
    with pytest.raises(RuleError, match="line 1: this is not Python"):
        read_ruleset(file, task)


def test_functions_are_read_and_never_called() -> None:
    def policy(obs: Any) -> int:
        if obs[2] + obs[3] > 0:
            return 1
        return 0

    with pytest.warns(IfthenWarning, match="beyond the ranges of pole angle, pole velocity"):
        rules = from_function(policy, "CartPole-v1")
    assert ifthen.evaluate(rules, "CartPole-v1", seeds=range(5)).performance > 150
    with pytest.raises(RuleError, match="cannot be found"):
        from_function(len, "CartPole-v1")


HOSTILE = {
    "brackets": "return " + "(" * 50_000,
    "signs": "return " + "-" * 50_000 + "1",
    "sum": "return 0 < " + "+".join(["o[0]"] * 20_000),
    "not": "return " + "not " * 20_000 + "o[0]",
    "paths": "".join(f"if o[0] > {i / 100}: a{i} = o[0] + {i}\n    " for i in range(60)) + "return 0",
    "products": "return " + " and ".join(f"(o[0] > {i} or o[1] < {i})" for i in range(40)),
    "number": "return o[0] > " + "9" * 4_000,
    "digits": "return o[0] > " + "9" * 400_000,
    "elif": "if o[0] > 1: return 0\n" + "".join(f"    elif o[0] > {-i}: return 1\n" for i in range(5_000)),
    "ifs": "".join(f"if o[0] > {-i / 9}: return 1\n    " for i in range(5_000)) + "return 0",
    "deep": "".join(" " * (4 + i) + "if o[0] > 1:\n" for i in range(95)).strip()
    + "\n"
    + " " * 99
    + "return 0",
    "ternaries": "return " + "".join(f"0 if o[0] > {i} else " for i in range(3_000)) + "1",
    "abs": "return o[0] > " + "+".join(["abs(o[0])"] * 40),
    "minima": "a = o[0]\n    " + "a = max(a + o[1], -a)\n    " * 60 + "return a > 0",
    "squares": "a = 1e9\n    " + "a = a * a\n    " * 60 + "return o[0] > a",
    "zero": "\0",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code_is_read_or_refused_soon(name: str) -> None:
    began, said = time.process_time(), ""
    try:
        read(f"def act(o):\n    {HOSTILE[name]}\n")
    except RuleError as problem:
        said = str(problem)
    assert len(said) < 1_000
    assert time.process_time() - began < 10
    assert sys.getrecursionlimit() <= 3_000


def test_reading_warns_of_nothing_else() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read("def act(o):\n    return int(o[0] <= 0.5)")
