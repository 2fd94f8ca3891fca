from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from ifthen import DecisionList, Feature, RuleSet, StrengthRules
from ifthen.errors import RuleError
from ifthen.exports import decision_tree as tree_module
from ifthen.exports import export
from ifthen.exports.decision_tree import Cut, DecisionTree, Split, decision_tree
from tests.explanation.policies import (
    INTEGER_RULES,
    MIXED,
    ODD_ACTIONS,
    decision_lists,
    names_of,
    real_rules,
    telling_points,
    tree_choices,
)
from tests.rulesets import all_states
from tests.worlds import small_lake

REAL_LISTS = real_rules(kinds=(DecisionList,))


def leaves(tree: DecisionTree) -> int:
    return sum(1 for _ in tree.boxes())


@given(INTEGER_RULES)
@settings(max_examples=80)
def test_the_tree_chooses_the_same_in_every_integer_state(rules: RuleSet) -> None:
    states = all_states()
    assert tree_choices(decision_tree(rules), states).tolist() == rules.predict(states).tolist()


@given(REAL_LISTS)
@settings(max_examples=80)
def test_the_tree_chooses_the_same_at_interval_ends_and_next_to_them(rules: RuleSet) -> None:
    points = telling_points(rules)
    assert tree_choices(decision_tree(rules), points).tolist() == rules.predict(points).tolist()


@given(REAL_LISTS | decision_lists())
@settings(max_examples=60)
def test_a_tree_grown_by_rules_chooses_the_same_where_cells_cannot_be_listed(rules: RuleSet) -> None:
    points = telling_points(rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_module, "CELL_LIMIT", 0)
        assert tree_choices(decision_tree(rules), points).tolist() == rules.predict(points).tolist()


@given(REAL_LISTS | decision_lists())
@settings(max_examples=60)
def test_the_boxes_of_a_tree_hold_every_point_once(rules: RuleSet) -> None:
    tree, points = decision_tree(rules), telling_points(rules, 500)
    held, actions = np.zeros(len(points), dtype=int), np.full(len(points), -2)
    for box, action in tree.boxes():
        inside = np.ones(len(points), dtype=bool)
        for d, span in enumerate(box):
            inside &= points[:, d] > span.low if span.low_open else points[:, d] >= span.low
            inside &= points[:, d] < span.high if span.high_open else points[:, d] <= span.high
        held += inside
        actions[inside] = action
    assert held.tolist() == [1] * len(points)
    assert actions.tolist() == rules.predict(points).tolist()


def test_a_tree_for_a_task_need_only_be_right_in_its_states() -> None:
    task = small_lake()
    rng = np.random.default_rng(3)
    bounds = rng.integers(0, 4, (12, 2, 2))
    rules = DecisionList(bounds, rng.integers(0, 4, 12), task.features, task.action_names)
    tree, points = decision_tree(rules, task), task.dynamics.points
    assert tree_choices(tree, points).tolist() == rules.predict(points).tolist()
    assert leaves(tree) < leaves(decision_tree(rules))


def test_rules_whose_cells_are_too_many_to_list_make_a_tree() -> None:
    features = [Feature(name, 0, 400) for name in "uvw"]
    bounds = [[[10 * i, 10 * i + 8]] * 3 for i in range(40)]
    rules = DecisionList(bounds, [i % 3 for i in range(40)], features, "abc")
    tree, rng = decision_tree(rules), np.random.default_rng(4)
    points = rng.integers(0, 401, (9_000, 3)).astype(float)
    points[::2] = points[::2, :1] + rng.integers(-5, 6, (4_500, 3))
    points = points.clip(0, 400)
    assert len(np.unique(rules.predict(points))) == 4
    assert tree_choices(tree, points).tolist() == rules.predict(points).tolist()
    assert leaves(tree) <= 40 * 7


def test_one_question_is_enough_where_one_is() -> None:
    rules = DecisionList([[[0, 3]], [[0, 7]]], [1, 0], [Feature("x", 0, 7)], ["a", "b"])
    assert decision_tree(rules).root == Split(0, Cut(3.0), 1, 0)
    always = DecisionList([[[0, 7]]], [0], [Feature("x", 0, 7)], ["a"])
    assert decision_tree(always).root == 0


def test_an_interval_of_a_real_feature_is_cut_before_its_low_end_and_after_its_high_end() -> None:
    rules = DecisionList([[[0.25, 0.5]]], [0], [Feature("x", 0, 1, "real", "m")], ["a"])
    tree = decision_tree(rules)
    assert sorted(tree.in_words(node) for node in questions(tree.root)) == ["x < 0.25 m", "x ≤ 0.5 m"]


def questions(node: Any) -> list[Split]:
    return [node, *questions(node.yes), *questions(node.no)] if isinstance(node, Split) else []


def test_strengths_over_real_features_have_no_tree() -> None:
    rules = StrengthRules([[[f.low, f.high] for f in MIXED]], [0], MIXED, ODD_ACTIONS, [[0, 0, 0, 1]], [0])
    with pytest.raises(RuleError, match=r"cannot write 'dot': .*integer features with few values, or a task"):
        export(rules, "dot")


@pytest.mark.parametrize("cells", [0, 200_000])
def test_a_tree_that_nobody_could_read_is_refused(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "CELL_LIMIT", cells)
    monkeypatch.setattr(tree_module, "LEAF_LIMIT", 40)
    stripes = [[[i, i]] for i in range(0, 100, 2)]
    rules = DecisionList(stripes, [0] * len(stripes), [Feature("x", 0, 100)], ["a"])
    with pytest.raises(RuleError, match="more than 40 leaves"):
        decision_tree(rules)


def test_a_tree_too_deep_to_be_built_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "CELL_LIMIT", 0)
    stripes = [[[i, i]] for i in range(0, 4_000, 2)]
    rules = DecisionList(stripes, [0] * len(stripes), [Feature("x", 0, 4_000)], ["a"])
    with pytest.raises(RuleError, match="too deep"):
        decision_tree(rules)


def follow(
    labels: dict[str, str], edges: dict[tuple[str, str], str], names: list[str], point: list[float]
) -> Any:
    """Return where the questions of a drawn tree lead to."""
    node = "n0"
    while (node, "yes") in edges:
        question = labels[node]
        name = max((n for n in names if question.startswith(f"{n} ")), key=len)
        relation, number, *_ = question[len(name) :].split()
        value = point[names.index(name)]
        holds = {"≤": value <= float(number), "<": value < float(number)}[relation]
        node = edges[node, "yes" if holds else "no"]
    return None if labels[node] == "no rule" else labels[node]


def read_dot(text: str) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    nodes = re.findall(r'^  (n\d+) \[label="((?:[^"\\]|\\.)*)"(?:, style=rounded)?\];$', text, re.MULTILINE)
    edges = re.findall(r'^  (n\d+) -> (n\d+) \[label="(yes|no)"\];$', text, re.MULTILINE)
    assert len(nodes) + len(edges) + 5 == len(text.splitlines())
    return {n: re.sub(r"\\(.)", r"\1", label) for n, label in nodes}, {(a, w): b for a, b, w in edges}


def read_mermaid(text: str) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    nodes = re.findall(r'^  (n\d+)[\[(]"([^"]*)"[\])]$', text, re.MULTILINE)
    edges = re.findall(r"^  (n\d+) -->\|(yes|no)\| (n\d+)$", text, re.MULTILINE)
    assert len(nodes) + len(edges) + 3 == len(text.splitlines())
    plain = {n: re.sub(r"#(\d+);", lambda m: chr(int(m[1])), label) for n, label in nodes}
    return plain, {(a, w): b for a, w, b in edges}


@pytest.mark.parametrize(("format", "read"), [("dot", read_dot), ("mermaid", read_mermaid)])
@given(rules=REAL_LISTS | INTEGER_RULES)
@settings(max_examples=40)
def test_drawn_trees_lead_to_the_same_actions(rules: RuleSet, format: str, read: Any) -> None:
    points: NDArray[np.float64] = telling_points(rules, 300)
    labels, edges = read(export(rules, format))
    names = [f.name for f in rules.features]
    found = [follow(labels, edges, names, point) for point in points.tolist()]
    assert found == names_of(rules, rules.predict(points))


@pytest.mark.parametrize(("format", "mark"), [("dot", "// "), ("mermaid", "%% ")])
def test_drawn_trees_say_where_they_do_what_the_rules_do(format: str, mark: str) -> None:
    task = small_lake()
    rules = DecisionList([[[0, 1], [0, 3]], [[0, 3], [0, 3]]], [0, 1], task.features, task.action_names)
    states = f"in the {len(task.decision_states)} decision states of {task.name}"
    everywhere = "for every observation with x from 0 to 3, y from 0 to 3"
    for of, where in ((task, states), (None, everywhere)):
        about = f"the equivalent decision tree of 1 question; the same {where}"
        assert export(rules, format, of).splitlines()[1] == mark + about


def test_marks_of_mermaid_in_names_stay_out_of_its_comments() -> None:
    rules = DecisionList([[[0, 1]]], [0], [Feature("%%{init: {}}%%", 0, 1)], ["a"])
    assert not re.search("[{}]", "".join(export(rules, "mermaid").splitlines()[:2]))
