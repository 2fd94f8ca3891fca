"""Features that clip: what is written for other programs takes values beyond a range as the rules do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray

from ifthen import DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules, parse_rules
from ifthen.exports import export, rules_text
from ifthen.exports.decision_tree import decision_tree
from tests.explanation.policies import MIXED, many_rules, names_of, real_rules, telling_points, tree_choices
from tests.exports.test_export_code import needs_compiler, run_c, run_python
from tests.exports.test_export_lists import Table, run_sql
from tests.exports.test_export_tables import valid
from tests.exports.test_export_trees import follow, read_dot, read_mermaid

KINDS = (DecisionList, StrengthRules, PredictionArrayRules)


def clipping(rules: RuleSet, which: Any = (True, True, True)) -> RuleSet:
    """Return the rules over the same features, of which some clip."""
    data = rules.to_dict()
    for feature, clips in zip(data["features"], which, strict=True):
        feature["clips"] = bool(clips)
    return RuleSet.from_dict(data)


def beyond(rules: RuleSet, most: int = 3_000) -> NDArray[np.float64]:
    """Return points at interval ends and next to them, each with some values moved beyond their ranges."""
    inside = telling_points(rules, most)
    rng = np.random.default_rng(len(inside))
    points = inside.copy()
    for d, feature in enumerate(rules.features):
        if feature.clips:
            low, high = float(feature.low), float(feature.high)
            steps = [1.0, 7.0, 1e6] if feature.is_integer else [1e-9, 0.3, 1e9]
            far = [low - step for step in steps] + [high + step for step in steps]
            if not feature.is_integer:
                far += [np.nextafter(low, -np.inf), np.nextafter(high, np.inf)]
            moved = rng.random(len(points)) < 0.5
            points[moved, d] = rng.choice(far, moved.sum())
    return np.concatenate([inside, points])


def random_points(n: int) -> NDArray[np.float64]:
    """Return random points in ranges three times as wide as those of MIXED."""
    rng = np.random.default_rng(8)
    points = np.column_stack([rng.uniform(2 * f.low - f.high, 2 * f.high - f.low, n) for f in MIXED])
    points[:, 1] = np.rint(points[:, 1])
    return points


@given(real_rules())
@settings(max_examples=30)
def test_python_takes_values_beyond_a_range_as_its_ends(rules: RuleSet) -> None:
    clips = clipping(rules)
    points = beyond(clips, 500)
    assert run_python(clips, points) == clips.predict(points).tolist()


@needs_compiler
@given(rules=real_rules())
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_c_takes_values_beyond_a_range_as_its_ends(rules: RuleSet, tmp_path: Path) -> None:
    clips = clipping(rules)
    points = beyond(clips)
    assert run_c(clips, points, tmp_path) == clips.predict(points).tolist()


@given(real_rules(kinds=(DecisionList,)))
@settings(max_examples=40)
def test_sql_dmn_and_the_tree_take_values_beyond_a_range_as_its_ends(rules: RuleSet) -> None:
    clips = clipping(rules)
    points = beyond(clips, 300)
    chosen = clips.predict(points)
    expected = names_of(clips, chosen)
    assert run_sql(clips, points) == expected
    assert tree_choices(decision_tree(clips), points).tolist() == chosen.tolist()
    for format in ("dmn", "dmn-priority"):
        assert Table(export(clips, format)).actions(points) == expected


@pytest.mark.parametrize(("format", "read"), [("dot", read_dot), ("mermaid", read_mermaid)])
@given(rules=real_rules(kinds=(DecisionList,)))
@settings(max_examples=15)
def test_drawn_trees_take_values_beyond_a_range_as_its_ends(rules: RuleSet, format: str, read: Any) -> None:
    clips = clipping(rules)
    points = beyond(clips, 100)
    labels, edges = read(export(clips, format))
    names = [f.name for f in clips.features]
    found = [follow(labels, edges, names, point) for point in points.tolist()]
    assert found == names_of(clips, clips.predict(points))


def test_two_hundred_thousand_points_in_and_beyond_the_ranges_get_the_same_action(tmp_path: Path) -> None:
    points = random_points(200_000)
    outside = [(points[:, d] < f.low) | (points[:, d] > f.high) for d, f in enumerate(MIXED)]
    assert np.mean(np.logical_or.reduce(outside)) > 0.8
    for kind in KINDS:
        rules = clipping(many_rules(kind, 12))
        expected = rules.predict(points).tolist()
        assert len(set(expected)) == 4
        assert run_python(rules, points) == expected
        if needs_compiler.args[0] is False:
            assert run_c(rules, points, tmp_path) == expected
    rules = clipping(many_rules(DecisionList, 12))
    chosen = rules.predict(points)
    expected_names = names_of(rules, chosen)
    assert run_sql(rules, points) == expected_names
    assert tree_choices(decision_tree(rules), points).tolist() == chosen.tolist()
    for format in ("dmn", "dmn-priority"):
        assert Table(export(rules, format)).actions(points) == expected_names


@needs_compiler
def test_only_features_that_clip_take_values_beyond_their_range(tmp_path: Path) -> None:
    features = [Feature("x", 0, 7, clips=True), Feature("y", 0.0, 1.0, "real")]
    rules = DecisionList([[[7, 7], [0, 1]], [[0, 7], [0, 1]]], [1, 0], features, ["a", "b"])
    points = np.array([[9.0, 0.5], [7.0, 0.5], [-3.0, 1.0], [9.0, 1.5], [9.0, np.nan], [np.nan, 0.5]])
    expected = [1, 1, 0, -1, -1, -1]
    assert run_python(rules, points) == expected
    assert run_c(rules, points, tmp_path) == expected
    assert run_sql(rules, points[:4]) == names_of(rules, np.array(expected[:4]))
    assert run_sql(rules, np.array([[None, 0.5], [9, None]])) == [None, None]
    assert [Table(export(rules, "dmn")).action(p) for p in points[:3].tolist()] == ["b", "b", "a"]
    assert "inputValues" in export(rules, "dmn")  # of the feature that does not clip
    assert "input_values_1" not in export(rules, "dmn")


@given(real_rules())
@settings(max_examples=30)
def test_text_and_json_say_which_features_clip(rules: RuleSet) -> None:
    clips = clipping(rules, (True, False, True))
    assert parse_rules(rules_text(clips)) == clips
    assert [line.split(",")[0].endswith(" clipped") for line in rules_text(clips).splitlines()[2:5]] == [
        *(True, False, True)
    ]
    data = json.loads(export(clips, "json"))
    assert valid(data)
    assert RuleSet.from_dict(data) == clips
    assert [feature.get("clips", False) for feature in data["features"]] == [True, False, True]
    assert not valid({**data, "features": [{**f, "clips": 1} for f in data["features"]]})


@given(real_rules())
@settings(max_examples=20)
def test_clipping_changes_no_rule_and_no_choice_inside_the_ranges(rules: RuleSet) -> None:
    clips = clipping(rules)
    points = telling_points(rules, 500)
    assert clips.predict(points).tolist() == rules.predict(points).tolist()
    assert clips.choose(points)[1].tolist() == rules.choose(points)[1].tolist()
    texts = [rules_text(given) for given in (clips, rules)]
    read = [parse_rules(text) for text in texts]
    assert read == [clips, rules]
    assert read[0].bounds.tolist() == read[1].bounds.tolist()


@given(real_rules())
@settings(max_examples=20)
def test_choosing_beyond_the_ranges_is_predicting(rules: RuleSet) -> None:
    clips = clipping(rules)
    points = beyond(clips, 200)
    assert clips.choose(points)[0].tolist() == clips.predict(points).tolist()
