from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules, frozen_lake
from ifthen.errors import RuleError, TaskError
from ifthen.explanation.read_ruleset import parse_rules, read_ruleset
from ifthen.exports import export, rules_text
from tests.explanation.policies import INTEGER_RULES, real_rules

X, Y = Feature("x", 0, 7), Feature("y", 0, 7)
ANGLE = Feature("angle", -0.42, 0.42, "real", "rad")
MOVES = ("Left", "Down", "Right", "Up")
EXAMPLE = """# ifthen rules
kind: decision-list
task: FrozenLake-8-0.3
feature x: 0 to 7
feature y: 0 to 7
actions: Left, Down, Right, Up

1. IF x ≤ 3 AND y in [2, 7] THEN Down
2. IF x >= 4 and 2 <= y <= 5 THEN Right
3. OTHERWISE Left
"""


def one(condition: str, *features: Feature) -> list[list[float]]:
    """Return the bounds that a typed condition is read as."""
    rules = parse_rules(f"IF {condition} THEN Up", features or (X, Y, ANGLE), MOVES)
    assert rules.actions.tolist() == [3]
    return rules.bounds[0].tolist()  # type: ignore[no-any-return]  # NumPy cannot say


def error(text: str, **given: Any) -> str:
    """Return the message that a text is refused with."""
    with pytest.raises(RuleError) as caught:
        parse_rules(text, **{"features": (X, Y, ANGLE), "action_names": MOVES, **given})
    return str(caught.value)


@given(INTEGER_RULES | real_rules(), st.none() | st.text(min_size=1, max_size=12))
@settings(max_examples=150)
def test_what_is_written_reads_back_equal(rules: RuleSet, task: str | None) -> None:
    text = rules_text(rules, task)
    assert parse_rules(text) == rules
    assert rules_text(parse_rules(text), task) == text


LETTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])


@given(
    st.lists(st.text(LETTERS, min_size=1, max_size=9), min_size=2, max_size=4, unique=True),
    st.lists(st.text(LETTERS, max_size=9), min_size=1, max_size=4, unique=True),
    st.text(LETTERS, max_size=5),
    st.data(),
)
@settings(max_examples=200)
def test_any_names_and_units_read_back_equal(
    names: list[str], actions: list[str], unit: str, data: st.DataObject
) -> None:
    kind: Any = data.draw(st.sampled_from(["integer", "real"]))
    features = [Feature(name, -3, 4, kind, unit) for name in names]
    pair = st.lists(st.integers(-3, 4), min_size=2, max_size=2)
    bounds = data.draw(
        st.lists(st.lists(pair, min_size=len(names), max_size=len(names)), min_size=1, max_size=3)
    )
    chosen = data.draw(st.lists(st.integers(0, len(actions) - 1), min_size=len(bounds), max_size=len(bounds)))
    rules = DecisionList(bounds, chosen, features, actions)
    assert parse_rules(rules_text(rules)) == rules


@pytest.mark.parametrize("unit", ["AND", "and", "Then", ",", "]", ", s", "->", "&", "|", ";", ".."])
def test_a_unit_that_stands_in_rules_for_something_else_reads_back_equal(unit: str) -> None:
    features = [Feature("u", -3, 4, "real", unit), Feature("v", -3, 4, "real", unit)]
    rules = DecisionList([[[-1, 2], [0, 1]], [[-3, 1], [-3, 4]]], [0, 1], features, ["a", "b"])
    assert parse_rules(rules_text(rules)) == rules


NASTY = [
    "if",
    "AND",
    "a and b",
    "then do",
    "x in",
    "in",
    "3",
    "-1",
    "x, y",
    "a|b",
    '"',
    "#",
    "x",
    "X",
    "x y",
    "x:",
]


@given(st.permutations(NASTY), st.data())
@settings(max_examples=100)
def test_names_like_words_and_marks_of_the_text_read_back_equal(
    names: list[str], data: st.DataObject
) -> None:
    features = [Feature(name, 0, 2) for name in names[:5]]
    interval: st.SearchStrategy[Any] = st.sampled_from([[0, 1], [1, 1], [1, 2]])
    bounds = [[data.draw(interval) for _ in features] for _ in range(3)]
    rules = DecisionList(bounds, [0, 5, 9], features, names)
    assert parse_rules(rules_text(rules)) == rules


def test_the_example_is_read(tmp_path: Path) -> None:
    bounds: Any = [[[0, 3], [2, 7]], [[4, 7], [2, 5]], [[0, 7], [0, 7]]]
    expected = DecisionList(bounds, [1, 2, 0], [X, Y], MOVES)
    assert parse_rules(EXAMPLE) == expected
    for name in ("rules.txt", "rules.md", "RULES.TXT"):
        (tmp_path / name).write_text(EXAMPLE, encoding="utf-8")
        assert read_ruleset(tmp_path / name) == (expected, "FrozenLake-8-0.3")


def test_the_text_of_a_ruleset_is_pleasant_to_read() -> None:
    bounds: Any = [[[0, 3], [-0.1, 0.42]], [[0, 7], [-0.42, 0.42]]]
    rules = DecisionList(bounds, [1, 0], [X, ANGLE], MOVES)
    assert rules_text(rules, "my lake") == (
        "# ifthen rules\n"
        "kind: decision-list\n"
        "task: my lake\n"
        "feature x: 0 to 7\n"
        "feature angle: -0.42 to 0.42 real, rad\n"
        "actions: Left, Down, Right, Up\n"
        "\n"
        "1. IF x ≤ 3 AND angle ≥ -0.1 THEN Down\n"
        "2. OTHERWISE Left\n"
    )


def test_the_last_rule_reads_in_files_as_it_does_on_the_screen() -> None:
    for typed in ("ALWAYS Up", "IF x = 1 THEN Up\nOTHERWISE Down", "ALWAYS Up\nOTHERWISE Down"):
        rules = parse_rules(typed, (X,), MOVES)
        lines = rules_text(rules).splitlines()[-len(rules) :]
        assert lines == [f"{r + 1}. {rules.rule_in_words(r)}" for r in range(len(rules))]
        assert parse_rules("\n".join(lines), (X,), MOVES).to_dict() == rules.to_dict()


ANY, WIDE = [0, 7], [-0.42, 0.42]


@pytest.mark.parametrize(
    ("typed", "x", "y", "angle"),
    [
        ("x <= 3", [0, 3], ANY, WIDE),
        ("x=<3", [0, 3], ANY, WIDE),
        ("x≤3", [0, 3], ANY, WIDE),
        ("X < 4", [0, 3], ANY, WIDE),
        ("x > 4", [5, 7], ANY, WIDE),
        ("x >= 4", [4, 7], ANY, WIDE),
        ("x = 4", [4, 4], ANY, WIDE),
        ("x == 4.0", [4, 4], ANY, WIDE),
        ("4 = x", [4, 4], ANY, WIDE),
        ("3 >= x", [0, 3], ANY, WIDE),
        ("3 < x", [4, 7], ANY, WIDE),
        ("2 <= x <= 5", [2, 5], ANY, WIDE),
        ("2 < x < 5", [3, 4], ANY, WIDE),
        ("5 ≥ x ≥ 2", [2, 5], ANY, WIDE),
        ("x in [2,5]", [2, 5], ANY, WIDE),
        ("x IN [ 2 , 5 ]", [2, 5], ANY, WIDE),
        ("x in 2 to 5", [2, 5], ANY, WIDE),
        ("x between 2 and 5", [2, 5], ANY, WIDE),
        ("x from 2 to 5, y = 1", [2, 5], [1, 1], WIDE),
        ("x ≤ 3, and y >= 2", [0, 3], [2, 7], WIDE),
        ("x ≤ 3 && y >= 2", [0, 3], [2, 7], WIDE),
        ("x >= 2 AND x <= 5", [2, 5], ANY, WIDE),
        ("x >= 2 and x >= 4", [4, 7], ANY, WIDE),
        ("angle <= 0.1 rad", ANY, ANY, [-0.42, 0.1]),
        ("angle <= .1rad and x = 1", [1, 1], ANY, [-0.42, 0.1]),
        ("angle in [-1e-1, 0.1] rad", ANY, ANY, [-0.1, 0.1]),
        ("angle in [−0.1 rad, +0.1 rad]", ANY, ANY, [-0.1, 0.1]),
        ("-0.1 rad <= angle ≤ 0.1 rad", ANY, ANY, [-0.1, 0.1]),
        ("angle = 0", ANY, ANY, [0, 0]),
        ('"x" <= 3', [0, 3], ANY, WIDE),
        ("angle <= 0.2 rad", ANY, ANY, [-0.42, 0.2]),
        ("(x >= 2) AND y = 1", [2, 7], [1, 1], WIDE),
        ("( x >= 2 ) AND (y in [1, 3])", [2, 7], [1, 3], WIDE),
        ("((x >= 2) and (2 <= y <= 3))", [2, 7], [2, 3], WIDE),
        ("(x <= 3 AND (angle <= 0.1 rad))", [0, 3], ANY, [-0.42, 0.1]),
    ],
)
def test_conditions_are_read_as_people_type_them(typed: str, x: Any, y: Any, angle: Any) -> None:
    assert one(typed) == [x, y, angle]


@pytest.mark.parametrize(
    "line",
    [
        "if x <= 3 then Down",
        "IF x <= 3, THEN DOWN",
        "1) If x <= 3 Then down.",
        "7: IF x <= 3 -> Down",
        "- IF x <= 3 → Down",
        "* else if x <= 3 then do Down",
        '  12.   IF x <= 3 THEN "Down"  ',
        "IF x <= 3 THEN Down # as far as the hole",
        'IF "x" <= 3 THEN Down\t# "left',
    ],
)
def test_rules_are_read_as_people_type_them(line: str) -> None:
    rules = parse_rules(f"```\n{line}\n```\n\n", (X,), MOVES)
    assert rules == DecisionList([[[0, 3]]], [1], [X], MOVES)


@pytest.mark.parametrize("word", ["OTHERWISE", "always", "Else:", "default", "else then", "2. ELSE"])
def test_rules_without_a_condition_always_match(word: str) -> None:
    rules = parse_rules(f"{word} Up", (X,), MOVES)
    assert rules == DecisionList([[[0, 7]]], [3], [X], MOVES)


def test_rules_after_one_that_always_matches_are_allowed() -> None:
    assert len(parse_rules("ALWAYS Up\nIF x = 1 THEN Down", (X,), MOVES)) == 2


def test_names_of_several_words_need_no_quotation_marks() -> None:
    features = [Feature("cart position", 0, 9), Feature("cart", 0, 9)]
    rules = parse_rules("IF cart <= 1 AND Cart Position >= 2 THEN push left", features, ["push", "push left"])
    assert rules.bounds[0].tolist() == [[2, 9], [0, 1]]
    assert rules.actions.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("IF x <= 3 THEN Down\n\nIF z = 1 THEN Up", r"line 3: unknown feature 'z'"),
        ("IF angel <= 0.1 THEN Up", r"line 1: unknown feature 'angel'. Did you mean 'angle'?"),
        ("IF x <= 3 THEN Dwon", r"line 1: unknown action 'Dwon'. Did you mean 'Down'?"),
        ('IF x <= 3 THEN "Dwon"', r"line 1: unknown action 'Dwon'. Did you mean 'Down'?"),
        ("IF x <= 3 THEN", "line 1: a rule must end with its action: THEN and one of Left, Down, Right, Up."),
        ("IF x <= 3 THEN Down now", "expected the end of the rule after 'Down', not 'now'"),
        ("IF x <= 3", "expected AND or THEN, not the end of the line"),
        ("IF x <= 3 OR y = 1 THEN Up", "for OR, write two rules"),
        ("IF x <= THEN Up", "expected a number, not 'THEN Up'"),
        ("IF x <= nan THEN Up", "expected a number, not 'nan THEN Up'"),
        ("IF x <= 1e999 THEN Up", "1e999 is too large a number"),
        ("IF angle <= 1e300 THEN Up", "angle <= 1e+300 leaves the range of angle, -0.42 to 0.42"),
        ("IF x <= 8 THEN Up", "x <= 8 leaves the range of x, 0 to 7"),
        ("IF x < 0 THEN Up", "x < 0 leaves the range"),
        ("IF x <= 2.5 THEN Up", "x takes whole numbers, not 2.5"),
        ("IF x != 2 THEN Up", "x ≠ 2 takes two rules"),
        ("IF angle < 0.1 THEN Up", "have their ends: write <= 0.1"),
        ("IF x >= 5 AND x <= 3 THEN Up", "no x can be ≥ 5 and ≤ 3"),
        ("IF x in [2 THEN Up", "expected two numbers, as in x in [2, 5], not 'THEN Up'"),
        ("IF x in [2, 5 THEN Up", "expected ], not 'THEN Up'"),
        ("IF x THEN Up", "expected ≤, ≥, = or in after x, not 'THEN Up'"),
        ("IF 3 THEN Up", "expected a feature (x, y, angle)"),
        ("IF 3 <= THEN Up", "expected a feature (x, y, angle)"),
        ("IF 3 kg <= x THEN Up", "expected <=, not 'kg <= x"),
        ("WHEN x = 1 THEN Up", "a rule begins with IF, ALWAYS or OTHERWISE, not 'WHEN x = 1 THEN Up'"),
        ("IF x >= 2: Up", "line 1: THEN is missing before 'Up'."),
        ("IF x >= 2 Up", "THEN is missing before 'Up'."),
        ("IF x >= 2, Up", "THEN is missing before 'Up'."),
        ("IF x >= 2: Dwon", "expected AND or THEN, not ': Dwon'"),
        ("IF (x >= 2 THEN Up", "a ( is not closed before THEN"),
        ("IF (x >= 2)) THEN Up", "there is no ( for ') THEN Up'"),
        ("IF x in (2, 5) THEN Up", "write [2, 5], not '(2, 5) THEN Up'"),
        ("IF x between (3 and 5) THEN Up", "write [2, 5], not '(3 and 5)"),
        ("IF x <= 3 THEN # Up", "a rule must end with its action"),
        ("knd: strength", "line 1: unknown word 'knd' in the head. Did you mean 'kind'?"),
        ("kind: strenght\nALWAYS Up", "line 1: unknown kind of ruleset 'strenght'. Did you mean 'strength'?"),
        ("ALWAYS Up\nkind: strength", "line 2: 'kind' belongs in the head, before the first rule"),
        ("ALWAYS Up | weights 1 2", "line 1: a rule of kind 'decision-list' has no 'weights'"),
        (
            "kind: strength\nx0: 1\nALWAYS Up",
            "line 3: a rule of kind 'strength' needs '| weights' with 4 numbers",
        ),
        ("kind: strength\nx0: 1\nALWAYS Up | weights 1 2 3 4", "needs '| variance' with 1 number after"),
        ("kind: strength\nx0: 1\nALWAYS Up | weights 1 2 3", "with 4 numbers after its action, not 3"),
        ("kind: strength\nx0: 1\nALWAYS Up | weights 1 two", "expected a number, not 'two'"),
        ("kind: strength\nALWAYS Up | weights 1 2 3 4 | variance 0", "needs 'x0'"),
        (
            "kind: strength\nx0: 1\nALWAYS Up | weights 1 2 3 4 | variance -1",
            "variances must not be negative",
        ),
        ("x0: 1 2\nALWAYS Up", "line 1: expected one number, not also '2'"),
        ("kind: strength\nKind: strength", "line 2: 'kind' was said before"),
        ("", "there is no rule"),
        ("# nothing\n\n", "there is no rule"),
        ("feature x: 0 to 9\nALWAYS Up", "the text says other features than were given"),
        ("feature x: 0\nALWAYS Up", "line 1: expected 'to' and the largest value"),
        ("feature x: 0 to 9.5", "line 1: x has whole numbers unless 'real' is said"),
        ("feature x: 9 to 0", "low (9) must not exceed high (0)"),
        ("feature x: 0 to 1e12", "high of feature 'x' must be a whole number"),
        (
            "feature x: 0 to 9 complex",
            "expected 'real', 'clipped', 'cyclic', or a comma and a unit, not 'complex'",
        ),
        ("actions: a, , b", "line 1: expected a name"),
        ('actions: "a" b', "line 1: expected a comma between names, not 'b'"),
        ('actions: "\\q"', "an escape that cannot be read"),
    ],
)
def test_mistakes_are_named_with_their_line_and_what_was_expected(text: str, message: str) -> None:
    assert message in error(text)


def test_several_mistakes_are_told_together_each_with_its_line() -> None:
    text = "kind: strenght\n\nIF z = 1 THEN Up | weights 1\nIF x = 1 THEN Up\nIF x = 1 THEN Dwon"
    assert error(text) == (
        "3 mistakes:\n"
        "  line 1: unknown kind of ruleset 'strenght'. Did you mean 'strength'?\n"
        "  line 3: unknown feature 'z'. Known: x, y, angle.\n"
        "  line 5: unknown action 'Dwon'. Did you mean 'Down'?"
    )


def test_no_more_than_five_mistakes_are_told() -> None:
    for line in ("IF z = 1 THEN Up\n", "knd: strength\n"):
        told = error(line * 100_000)
        assert told.startswith("5 mistakes, and reading stopped there:\n  line 1: ")
        assert [text.split(":")[0] for text in told.splitlines()[1:]] == [f"  line {n}" for n in range(1, 6)]


def test_a_mistake_about_features_is_not_repeated_for_every_rule() -> None:
    text = "feature x: 0 to\nactions: Up\nIF x = 1 THEN Up\nIF x = 2 THEN Up"
    assert error(text, features=None, action_names=None).startswith("line 1: expected a number")


def test_a_line_that_is_no_rule_does_not_end_the_head() -> None:
    assert error("My rules\nkind: decision-list\nIF x = 1 THEN Up") == (
        "line 1: a rule begins with IF, ALWAYS or OTHERWISE, not 'My rules'."
    )


@pytest.mark.parametrize("name", ["FrozenLake 8 0.3", "frozenlake-8-03"])
def test_an_unknown_task_in_the_head_is_named_with_the_nearest(name: str) -> None:
    told = error(f"# mine\ntask: {name}\nALWAYS Up", features=None, action_names=None)
    assert told.startswith(f"line 2: unknown task {name!r}. Did you mean 'FrozenLake-8-0.3'?")
    assert len(parse_rules(f"task: {name}\nALWAYS Up", (X,), MOVES)) == 1  # a task of one's own


def test_comments_end_a_line_of_the_head_but_not_a_name_in_quotation_marks() -> None:
    text = (
        "kind: decision-list # the usual one\n"
        'feature "pole # 2": 0 to 7, m # its end\n'
        'actions: Left, "# Up" # two\n'
        'IF "pole # 2" <= 3 THEN "# Up" # and that is all'
    )
    feature = Feature("pole # 2", 0, 7, unit="m")
    assert parse_rules(text) == DecisionList([[[0, 3]]], [1], [feature], ["Left", "# Up"])


def test_units_like_comments_read_back_equal() -> None:
    rules = DecisionList([[[0, 3]]], [0], [Feature("x", 0, 7, unit="# per s")], ["a"])
    assert parse_rules(rules_text(rules)) == rules


def test_what_the_documents_show_can_be_read() -> None:
    text = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    first, second, third = re.findall("```\n(.*?)```", text.split("## Rules")[1].split("\n## ")[0], re.DOTALL)
    lake = frozen_lake(8, 0.3)
    bounds: Any = [[[0, 3], [2, 5]], [[0, 7], [7, 7]], [[0, 7], [0, 7]]]
    assert parse_rules(first) == DecisionList(bounds, [1, 2, 0], lake.features, lake.action_names)
    sky = Feature("sky", 0, 2, labels=("clear", "grey", "wet"))
    features = [X, Feature("speed", -0.07, 0.07, "real", "m/s"), sky]
    bounds = [[[0, 3], [0.02, 0.07], [0, 2]], [[0, 7], [-0.07, 0.07], [0, 2]]]
    assert parse_rules(second) == DecisionList(bounds, [1, 0], features, MOVES)
    for line in re.findall("the same: (.*)", first)[0].split(", "):
        assert parse_rules(f"IF {line} THEN Left", task=lake).features == lake.features
    assert parse_rules(third).terms_in_words() == ["LET tilt = pole angle + 0.5·pole velocity"]


def test_a_task_gives_features_and_actions_by_name_or_itself() -> None:
    lake, rules = frozen_lake(4, 0.0), "IF x = 3 THEN Down\nELSE Right"
    expected = DecisionList([[[3, 3], [0, 3]], [[0, 3], [0, 3]]], [1, 2], lake.features, lake.action_names)
    assert parse_rules(f"task: FrozenLake-4-0\n{rules}") == expected
    assert parse_rules(rules, task=lake) == expected
    assert parse_rules(f"task: my lake\n{rules}", task=lake) == expected
    own = parse_rules("task: FrozenLake-4-0\nactions: a, b\nIF x = 3 THEN b")
    assert (own.features, own.action_names) == (lake.features, ("a", "b"))


def test_a_task_that_is_given_in_another_way_is_refused_with_the_right_one() -> None:
    lake: Any = frozen_lake(4, 0.0)
    with pytest.raises(TaskError, match=r"parse_rules\(text, task=task\)"):
        parse_rules("ALWAYS Up", lake)
    with pytest.raises(TaskError, match="not both"):
        parse_rules("ALWAYS Up", lake.features, task=lake)
    with pytest.raises(TaskError, match="must be a Task, such as"):
        parse_rules("ALWAYS Up", task="FrozenLake-4-0")  # type: ignore[arg-type]  # that is tested


def test_features_and_actions_must_come_from_somewhere() -> None:
    assert "'feature x: 0 to 7' in the head, or give a task" in error("ALWAYS Up", features=None)
    assert "'actions: Left, Right' in the head" in error("ALWAYS Up", action_names=None)
    assert "must be given as a text, not bytes" in error(b"ALWAYS Up")  # type: ignore[arg-type]  # that is tested


def test_a_kind_can_be_given_and_must_agree_with_the_head() -> None:
    rules = parse_rules("x0: 5\nALWAYS Up | variance 0.5 | weights 1, 2", (X,), MOVES, "strength")
    assert rules == StrengthRules([[[0, 7]]], [3], [X], MOVES, [[1, 2]], [0.5], 5)
    assert "other kind" in error("kind: strength\nALWAYS Up", kind="decision-list")


def test_rules_that_vote_carry_all_their_numbers() -> None:
    rules = PredictionArrayRules([[[0, 1]]], [0], [X], MOVES, [[0.1, -0.0]], [0.3], [1e-9], [2], [70], 0.1)
    line = rules_text(rules).splitlines()[-1]
    assert (
        line
        == "1. IF x ≤ 1 THEN Left | weights 0.1 -0 | fitness 0.3 | error 1e-09 | numerosity 2 | experience 70"
    )


@pytest.mark.parametrize("size", [100_001, 10 * 2**20])
def test_a_huge_line_is_refused_at_once(size: int) -> None:
    message = error("IF x <= 3 THEN Down\nIF " + "x" * size)
    assert "characters; at most" in message
    assert len(message) < 200


def test_a_line_as_long_as_may_be_is_read_quickly() -> None:
    began = time.perf_counter()
    assert "with 4 numbers" in error("kind: strength\nx0: 1\nALWAYS Up | weights" + " 1" * 49_000)
    assert "of the real feature" in error("IF " + "x >= 0 and " * 9_000 + "angle < 0.1 THEN Up")
    assert "a rule begins with IF" in error('"' + '\\"' * 49_000 + "\\")
    assert time.perf_counter() - began < 5


@given(st.text(alphabet=st.sampled_from('IFANDTHEN x<=>≤[],."|:#0123456789-e\n\\ALWYSfeatur'), max_size=60))
@settings(max_examples=300)
def test_any_text_is_read_or_refused_as_a_rule_error(text: str) -> None:
    problem = None
    try:
        rules = parse_rules(text, (X, Y), MOVES)
    except RuleError as refused:
        problem = str(refused)
    if problem is None:
        assert parse_rules(rules_text(rules)) == rules
    else:
        assert len(problem) < 1_500


def test_json_reads_back(tmp_path: Path) -> None:
    rules = DecisionList([[[0, 3]]], [1], [X], MOVES)
    (tmp_path / "rules.json").write_text(export(rules, "json"), encoding="utf-8")
    assert read_ruleset(str(tmp_path / "rules.json")) == (rules, None)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b"{", "not valid JSON"),
        ("a.json", b'{"format": NaN}', "NaN is not allowed"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.json", b"[]", "must be an object with format"),
        ("a.txt", b"\xff\xfe", "not text in UTF-8"),
        ("a.txt", b"task: FrozenLake-4-0\n\0", "line 2: a rule begins with IF"),
        (
            "a.txt",
            b"task: FrozenLake-9999-0-map1\nALWAYS Up",
            "line 1: unknown task 'FrozenLake-9999-0-map1'",
        ),
        ("a.txt", b"#" * (2 * 2**20 + 1), "larger than 2,097,152 bytes"),
        ("a.csv", b"", "files that end with .json, .txt, .md, .py, .c, .dmn, not 'a.csv'"),
        ("a.txt", b"task: FrozenLake-4-0\nIF z = 1 THEN Up", "line 2: unknown feature 'z'"),
    ],
)
def test_hostile_files_are_refused_with_their_name(
    name: str, data: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RuleError) as caught:
        read_ruleset(tmp_path / name)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_numbers_beyond_floats_in_json_are_refused(tmp_path: Path) -> None:
    data = DecisionList([[[0, 0.5]]], [0], [Feature("a", 0, 1, "real")], ["go"]).to_dict()
    data["rules"][0]["if"]["a"][0] = 10**400
    (tmp_path / "a.json").write_text(json.dumps(data))
    with pytest.raises(RuleError, match=r"a\.json"):
        read_ruleset(tmp_path / "a.json")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="cannot read"):
        read_ruleset(tmp_path / "none.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(RuleError, match="cannot read"):
        read_ruleset(tmp_path / "folder.txt")


def test_features_come_from_the_task_that_the_text_names_or_that_is_given(tmp_path: Path) -> None:
    task = frozen_lake(4, 0.0)
    (tmp_path / "named.txt").write_text("task: FrozenLake-4-0\nIF x = 3 THEN Down\nELSE Right")
    (tmp_path / "bare.txt").write_text("IF x = 3 THEN Down\nELSE Right")
    rules, name = read_ruleset(tmp_path / "named.txt")
    assert name == "FrozenLake-4-0"
    assert rules.features == task.features
    assert read_ruleset(tmp_path / "bare.txt", task) == (rules, None)
    assert np.unique(rules.predict(task.state_features)).tolist() == [1, 2]
    with pytest.raises(RuleError, match="give a task"):
        read_ruleset(tmp_path / "bare.txt")


def test_a_table_for_reading_is_told_from_rules(tmp_path: Path) -> None:
    rules = DecisionList([[[0, 3], [0, 7]]], [0], (X, Y), MOVES)
    (tmp_path / "rules.md").write_text(export(rules, "markdown"))
    with pytest.raises(RuleError, match="a table to look at"):
        read_ruleset(tmp_path / "rules.md")


@pytest.mark.parametrize(
    ("line", "where"),
    [("IF x <= 3 AND THEN Up", "before THEN"), ("IF AND x <= 3 THEN Up", "before AND"), ("IF", "at the end")],
)
def test_a_condition_that_was_forgotten_is_named_as_missing(line: str, where: str) -> None:
    with pytest.raises(RuleError, match=f"a condition such as 'x <= 3' is missing {where}"):
        parse_rules(line, (X, Y), MOVES)


def test_reading_takes_time_in_proportion_to_the_text() -> None:
    blanks = "feature" + " " * 99_000
    started = time.perf_counter()
    with pytest.raises(RuleError):
        parse_rules(blanks)
    names = [f"feature number {i}" for i in range(20_000)]
    head = "\n".join(f"feature {name}: 0 to 9" for name in names)
    rules = "\n".join(f"IF {name} <= 3 AND {names[0]} = 2 THEN a" for name in names[:2])
    text = f"{head}\nactions: a, b\n{rules}\n"
    ruleset = parse_rules(text)
    assert RuleSet.from_dict(ruleset.to_dict()) == ruleset
    assert time.perf_counter() - started < 30  # two minutes where names are looked up one by one
