from __future__ import annotations

import re
import sqlite3
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import PPLST, XCSF, DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules
from ifthen.errors import ParameterError, RuleError, TaskError
from ifthen.exports import FORMATS, export
from ifthen.exports.code import identifier, number_literal
from ifthen.exports.decision_tree import decision_tree
from ifthen.exports.dmn import NAMESPACE, action_order
from ifthen.exports.parts import identifiers
from tests.explanation.policies import (
    MIXED,
    ODD_ACTIONS,
    decision_lists,
    many_points,
    many_rules,
    names_of,
    real_rules,
    telling_points,
    tree_choices,
)
from tests.rulesets import ACTIONS, all_states
from tests.worlds import small_lake

DMN = {"dmn": NAMESPACE}
REAL_LISTS = real_rules(kinds=(DecisionList,))


def run_sql(ruleset: RuleSet, points: NDArray[Any], task: Any = None) -> list[str | None]:
    """Return what the exported expression gives for a table of points."""
    columns = ", ".join(identifier(f.name) for f in ruleset.observed_features)
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE t ({columns})")
        marks = ", ".join("?" * len(ruleset.observed_features))
        database.executemany(f"INSERT INTO t VALUES ({marks})", points.tolist())
        rows = database.execute(
            f"SELECT {export(ruleset, 'sql', task)} AS action FROM t ORDER BY rowid"
        ).fetchall()
    database.close()
    return [row[0] for row in rows]


class Table:
    """A small DMN engine: reads a decision table and applies its hit policy."""

    def __init__(self, text: str) -> None:
        root = ElementTree.fromstring(text)
        ids = [e.get("id") for e in root.iter() if e.get("id") is not None]
        assert len(ids) == len(set(ids))
        assert all(re.fullmatch(r"[A-Za-z_][\w.-]*", i or "") for i in ids)
        assert all(e.tag.startswith("{" + NAMESPACE + "}") for e in root.iter())
        wanted = {e.get("href") for e in root.iterfind(".//dmn:requiredInput", DMN)}
        assert wanted == {f"#{e.get('id')}" for e in root.iterfind("dmn:inputData", DMN)}
        table = root.find(".//dmn:decisionTable", DMN)
        assert table is not None
        self.policy = table.get("hitPolicy")
        self.inputs = [e.text for e in table.iterfind("dmn:input/dmn:inputExpression/dmn:text", DMN)]
        variables = [e.get("name") for e in root.iterfind("dmn:inputData/dmn:variable", DMN)]
        assert self.inputs[: len(variables)] == variables
        self.sums = [compile(text or "", "sum", "eval") for text in self.inputs[len(variables) :]]
        values = table.findtext("dmn:output/dmn:outputValues/dmn:text", namespaces=DMN) or ""
        self.values = [feel_text(v) for v in re.findall(r'"(?:[^"\\]|\\.)*"', values)]
        self.rules = [
            (
                [e.text or "" for e in rule.iterfind("dmn:inputEntry/dmn:text", DMN)],
                feel_text(rule.findtext("dmn:outputEntry/dmn:text", namespaces=DMN) or ""),
            )
            for rule in table.iterfind("dmn:rule", DMN)
        ]

    def action(self, point: list[float], reverse: bool = False) -> str | None:
        own = self.with_sums(point)
        hits = [out for tests, out in self.rules if all(map(holds, tests, own))]
        if not hits:
            return None
        if self.policy == "FIRST":
            return hits[0]
        assert self.policy == "PRIORITY"
        return min(hits[::-1] if reverse else hits, key=self.values.index)

    def with_sums(self, point: list[float]) -> list[float]:
        """Return a point with the values of the inputs that are sums; min, max and signs mean as in FEEL."""
        names = {str(name): value for name, value in zip(self.inputs, point, strict=False)}
        return [*point, *(eval(code, {"min": min, "max": max}, names) for code in self.sums)]

    def actions(self, points: NDArray[np.float64]) -> list[str | None]:
        """Return the action at every point, `(n, features)`, as `action` gives it for one."""
        points = np.array([self.with_sums(point) for point in points.tolist()])
        ranks, answers = np.full(len(points), len(self.rules)), [*(out for _, out in self.rules), None]
        order = list(range(len(self.rules)))
        if self.policy == "PRIORITY":
            order.sort(key=lambda r: self.values.index(self.rules[r][1]))
        for r in reversed(order):
            hit = np.ones(len(points), dtype=np.bool_)
            for test, column in zip(self.rules[r][0], points.T, strict=True):
                hit &= holds(test, column)
            ranks[hit] = r
        return [answers[r] for r in ranks.tolist()]


def feel_text(literal: str) -> str:
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', literal)
    return re.sub(r"\\(.)", r"\1", literal[1:-1])


def holds(test: str, value: Any) -> Any:
    """Return whether a value passes a FEEL unary test, or which of several do."""
    if test == "-":
        return True
    number = r"-?\d+(?:\.\d+)?"
    if re.fullmatch(number, test):
        return value == float(test)
    one_sided = re.fullmatch(rf"(<=|>=|<|>) ({number})", test)
    if one_sided:
        compare = {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater}
        return compare[one_sided[1]](value, float(one_sided[2]))
    found = re.fullmatch(rf"([\[(])({number})\.\.({number})([\])])", test)
    assert found, test
    low, high = float(found[2]), float(found[3])
    above = value > low if found[1] == "(" else value >= low
    return above & (value < high if found[4] == ")" else value <= high)


@given(decision_lists())
@settings(max_examples=80)
def test_sql_chooses_the_same_in_every_integer_state(rules: DecisionList) -> None:
    states = all_states()
    assert run_sql(rules, states) == names_of(rules, rules.predict(states))


@given(REAL_LISTS)
@settings(max_examples=50)
def test_sql_chooses_the_same_at_interval_ends_and_next_to_them(rules: RuleSet) -> None:
    points = telling_points(rules)
    assert run_sql(rules, points) == names_of(rules, rules.predict(points))


@given(st.floats(-1e300, 1e300))
@settings(max_examples=500)
def test_sqlite_reads_every_number_exactly(number: float) -> None:
    literal = number_literal(number)
    with sqlite3.connect(":memory:") as database:
        (found,) = database.execute(f"SELECT {literal}").fetchone()
    database.close()
    assert float(found) == number


def test_sql_gives_null_outside_the_ranges_and_for_null() -> None:
    rules = DecisionList([[[0, 7]]], [0], [Feature("x", 0, 7)], ["a"])
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (x)")
        database.executemany("INSERT INTO t VALUES (?)", [(-1,), (8,), (None,), (7,)])
        found = database.execute(f"SELECT {export(rules, 'sql')} FROM t").fetchall()
    database.close()
    assert found == [(None,), (None,), (None,), ("a",)]


@given(st.text(min_size=1, max_size=9), st.text(max_size=9))
@settings(max_examples=100)
def test_sql_takes_any_names(feature: str, action: str) -> None:
    if "\0" in feature + action or re.search("[\ud800-\udfff]", feature + action):
        return  # databases hold neither
    rules = DecisionList([[[0, 1]]], [0], [Feature(feature, 0, 2)], [action])
    assert run_sql(rules, np.array([[0], [2]])) == [action, None]


@given(decision_lists(), st.sampled_from(["dmn", "dmn-priority"]))
@settings(max_examples=80)
def test_dmn_chooses_the_same_in_every_integer_state(rules: DecisionList, format: str) -> None:
    table, states = Table(export(rules, format)), all_states()
    assert table.policy == {"dmn": "FIRST", "dmn-priority": "PRIORITY"}[format]
    expected = names_of(rules, rules.predict(states))
    assert [table.action(s) for s in states.tolist()] == expected
    assert sorted(table.values) == sorted(rules.action_names)
    if format == "dmn":
        assert len(table.rules) == len(rules)


@given(decision_lists())
@settings(max_examples=60)
def test_rows_of_a_priority_table_have_no_order(rules: DecisionList) -> None:
    table, states = Table(export(rules, "dmn-priority")), all_states().tolist()
    table_turned = Table(export(rules, "dmn-priority"))
    table_turned.rules.reverse()
    assert [table.action(s) for s in states] == [table_turned.action(s) for s in states]


@given(REAL_LISTS, st.sampled_from(["dmn", "dmn-priority"]))
@settings(max_examples=40)
def test_dmn_chooses_the_same_at_interval_ends_and_next_to_them(rules: RuleSet, format: str) -> None:
    table, points = Table(export(rules, format)), telling_points(rules, 800)
    assert [table.action(p) for p in points.tolist()] == names_of(rules, rules.predict(points))


def boxes(*rows: tuple[int, int, int]) -> DecisionList:
    return DecisionList([[[a, b]] for a, b, _ in rows], [c for _, _, c in rows], [Feature("x", 0, 9)], "abc")


def test_many_points_get_the_same_action_in_sql_in_dmn_and_from_the_tree() -> None:
    rules, points = many_rules(DecisionList, 12), many_points(100_000)
    chosen = rules.predict(points)
    expected = names_of(rules, chosen)
    assert run_sql(rules, points) == expected
    assert tree_choices(decision_tree(rules), points).tolist() == chosen.tolist()
    for format in ("dmn", "dmn-priority"):
        table = Table(export(rules, format))
        assert table.actions(points) == expected
        assert table.actions(points[:99]) == [table.action(point) for point in points[:99].tolist()]


def test_a_list_whose_actions_can_be_ordered_stays_as_it_is_in_a_priority_table() -> None:
    rules = boxes((0, 3, 2), (2, 6, 0), (0, 9, 1))
    assert action_order(rules) == [2, 0, 1]
    table = Table(export(rules, "dmn-priority"))
    assert (len(table.rules), table.values) == (3, ["c", "a", "b"])


def test_a_list_whose_actions_overrule_each_other_becomes_boxes_that_do_not_overlap() -> None:
    rules = boxes((0, 1, 0), (0, 5, 1), (0, 9, 0))
    assert action_order(rules) is None
    assert len(Table(export(rules, "dmn-priority")).rules) == 3


def test_numbers_in_dmn_have_no_exponents() -> None:
    rules = DecisionList([[[1e-9, 1e22]]], [0], [Feature("x", 0, 1e30, "real")], ["a"])
    assert "[0.000000001..10000000000000000000000]" in export(rules, "dmn")


SMALL = (Feature("u", 0, 3), Feature("v", -1, 2))
CORNERS: Any = [[[0, 2], [-1, 1]], [[1, 3], [0, 2]], [[0, 1], [-1, 2]]]
WEIGHTS = [[0.1, 0.5, 0.0], [0.1, 0.0, 0.7], [0.0, -1.0, 1.0]]
HALVES = np.full(3, 0.5)
OF_EVERY_KIND = [
    DecisionList(CORNERS, [0, 1, 2], SMALL, ACTIONS),
    StrengthRules(CORNERS, [0, 1, 2], SMALL, ACTIONS, WEIGHTS, HALVES, 1.0),
    PredictionArrayRules(
        CORNERS, [0, 1, 2], SMALL, ACTIONS, WEIGHTS, HALVES, HALVES, 2 * HALVES, HALVES, 1.0
    ),
]
"""Rules that overlap, leave a corner out and choose all three actions."""


@pytest.mark.parametrize("rules", OF_EVERY_KIND)
def test_rules_with_strengths_become_lists_that_choose_the_same(rules: RuleSet) -> None:
    states = telling_points(rules)
    expected = names_of(rules, rules.predict(states))
    assert len(set(expected)) == 4
    assert run_sql(rules, states) == expected
    for format in ("dmn", "dmn-priority"):
        table = Table(export(rules, format))
        assert [table.action(s) for s in states.tolist()] == expected


@pytest.mark.parametrize("system", [PPLST, XCSF])
def test_trained_systems_are_written_for_the_states_of_their_task(system: Any) -> None:
    task = small_lake()
    trained = system(task, seed=1, threads=1).learn(epochs=3)
    points = task.dynamics.points
    expected = names_of(trained.ruleset, trained.ruleset.predict(points))
    assert run_sql(trained.ruleset, points, task) == expected
    for format in ("dmn", "dmn-priority"):
        table = Table(export(trained, format, task))
        assert [table.action(p) for p in points.tolist()] == expected


def described(text: str) -> str:
    """Return what a file in SQL or DMN says of itself."""
    if text.startswith("--"):
        return " ".join(line for line in text.splitlines() if line.startswith("--"))
    return ElementTree.fromstring(text).findtext("dmn:description", namespaces=DMN) or ""


@pytest.mark.parametrize("rules", OF_EVERY_KIND[1:])
def test_what_is_written_as_a_list_says_how_long_it_is_and_where_it_holds(rules: RuleSet) -> None:
    everywhere = "the same for every observation with u from 0 to 3, v from -1 to 2"
    sql = export(rules, "sql")
    length = len(re.findall("WHEN|ELSE", sql)) - 1  # the first asks for the ranges
    assert f"the equivalent decision list of {length} rules; {everywhere}" in described(sql)
    table = export(rules, "dmn")
    length = len(Table(table).rules)
    assert f"the equivalent decision list of {length} rules; {everywhere}" in described(table)
    assert everywhere in described(export(rules, "dmn-priority"))


def test_rows_that_stand_for_a_list_say_where_they_hold() -> None:
    text = export(boxes((0, 1, 0), (0, 5, 1), (0, 9, 0)), "dmn-priority")
    assert described(text).endswith(
        "the equivalent table of 3 rows; the same for every observation with x from 0 to 9"
    )


def test_files_for_a_task_name_the_states_in_which_they_hold() -> None:
    task = small_lake()
    box = [[f.low, f.high] for f in task.features]
    rules = StrengthRules([box], [0], task.features, task.action_names, [[0, 0, 0]], [0])
    states = f"the same in the {len(task.decision_states)} decision states of {task.name}"
    for format in ("sql", "dmn", "dmn-priority"):
        text = described(export(rules, format, task))
        assert f"1 rule (strength) for {task.name}" in text
        assert f"the equivalent decision list of 1 rule; {states}" in text


@pytest.mark.parametrize("format", ["sql", "dmn", "dmn-priority"])
def test_a_decision_list_is_written_as_it_is_for_every_observation(format: str) -> None:
    text = described(export(boxes((0, 3, 2), (2, 6, 0), (0, 9, 1)), format))
    assert "exactly these rules, for every observation in the features' ranges" in text


@pytest.mark.parametrize("format", ["sql", "dmn", "dmn-priority"])
def test_strengths_over_real_features_are_refused_with_what_to_use(format: str) -> None:
    box = [[[f.low, f.high] for f in MIXED]]
    rules = StrengthRules(box, [0], MIXED, ODD_ACTIONS, [[0, 0, 0, 1]], [0])
    with pytest.raises(RuleError, match=f"cannot write '{format}': .*real features.*Use 'python' or 'c'"):
        export(rules, format)


def test_an_unknown_format_is_refused_with_the_nearest() -> None:
    rules = boxes((0, 1, 0))
    with pytest.raises(ParameterError, match=r"unknown format 'latx'\. Did you mean 'latex'"):
        export(rules, "latx")
    with pytest.raises(ParameterError, match="unknown format"):
        export(rules, 3)  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(RuleError, match="must be a RuleSet"):
        export("rules", "json")  # type: ignore[arg-type]  # that is what is tested


@pytest.mark.parametrize("format", ["python", "c", "text"])
def test_weights_that_overflow_are_refused(format: str) -> None:
    rules = StrengthRules([[[0, 1]]], [0], [Feature("x", 0, 1)], ["a"], [[1e308, 0.0]], [0.0])
    with pytest.raises(RuleError, match="too large"):
        export(rules, format)


def test_a_task_with_other_features_is_refused() -> None:
    with pytest.raises(TaskError, match="the ruleset speaks of x"):
        export(boxes((0, 1, 0)), "sql", small_lake())
    with pytest.raises(TaskError, match=r"the ruleset speaks of x .* but task FrozenLake-4-0 has"):
        export(boxes((0, 1, 0)), "sql", "FrozenLake-4-0")


@pytest.mark.parametrize("rules", OF_EVERY_KIND)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_writes_every_kind_of_ruleset_the_same_each_time(rules: RuleSet, name: str) -> None:
    assert export(rules, name).endswith("\n")
    assert export(rules, name) == export(rules, name)


def test_names_become_different_identifiers() -> None:
    assert identifiers(["a b", "a_b", "é", "1x", "λ", "if"], "f", ["if"]) == [
        "a_b",
        "a_b_2",
        "e",
        "f_1x",
        "f_5",
        "if_2",
    ]
