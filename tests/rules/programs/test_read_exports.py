"""What `ifthen export` writes as code and tables is read back as the same ruleset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ifthen import DecisionList, Feature, RuleSet, env_task, export, parse_rules, read_ruleset
from ifthen.errors import RuleError
from tests.explanation.policies import decision_lists, many_rules, names_of, real_rules, telling_points
from tests.exports.test_export_terms import telling
from tests.rules.test_terms import lists_with_terms
from tests.rulesets import all_states, rulesets

SUFFIX = {"python": ".py", "c": ".c", "dmn": ".dmn", "dmn-priority": ".dmn", "json": ".json", "text": ".txt"}
SAME = ("python", "c", "dmn", "json", "text")
in_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def again(ruleset: RuleSet, format: str, folder: Path) -> RuleSet:
    file = folder / f"policy{SUFFIX[format]}"
    file.write_text(export(ruleset, format), encoding="utf-8")
    return read_ruleset(file)[0]


@given(ruleset=decision_lists())
@in_folder
def test_lists_over_whole_numbers_come_back_the_same(ruleset: DecisionList, tmp_path: Path) -> None:
    for format in SAME:
        assert again(ruleset, format, tmp_path) == ruleset, format
    other = again(ruleset, "dmn-priority", tmp_path)
    assert other.predict(all_states()).tolist() == ruleset.predict(all_states()).tolist()


@given(ruleset=real_rules((DecisionList,)))
@in_folder
def test_lists_over_real_numbers_choose_the_same_at_every_edge(ruleset: RuleSet, tmp_path: Path) -> None:
    points = telling_points(ruleset)
    chosen = ruleset.predict(points)
    for format in ("python", "c", "dmn", "dmn-priority"):
        read = again(ruleset, format, tmp_path)
        assert read.predict(points).tolist() == chosen.tolist(), format
        assert np.array_equal(read.bounds, ruleset.bounds) or format == "dmn-priority"
    assert again(ruleset, "python", tmp_path) == ruleset


@given(rules=lists_with_terms())
@in_folder
def test_lists_with_terms_choose_the_same_at_every_edge(rules: DecisionList, tmp_path: Path) -> None:
    points = telling(rules, 60)
    chosen = names_of(rules, rules.predict(points))
    for format in ("python", "c", "dmn", "dmn-priority"):
        read = again(rules, format, tmp_path)
        assert names_of(read, read.predict(points)) == chosen, format


def test_a_named_term_keeps_its_name(tmp_path: Path) -> None:
    text = "LET tilt error = pole angle + 0.5*pole velocity\nIF tilt error >= 0.1 THEN push right\n"
    rules = parse_rules(text + "OTHERWISE push left", task=env_task("CartPole-v1"))
    for format in ("python", "c", "dmn"):
        assert again(rules, format, tmp_path) == rules, format


def test_intervals_that_wrap_come_back(tmp_path: Path) -> None:
    heading = Feature("heading", 0.0, 360.0, "real", "°", cyclic=True)
    rules = DecisionList([[[300, 60]], [[0, 360]]], [1, 0], (heading,), ("ahead", "turn"))
    for format in ("python", "c"):
        assert again(rules, format, tmp_path) == rules
    points = np.arange(0.0, 361.0)[:, None]
    assert again(rules, "dmn", tmp_path).predict(points).tolist() == rules.predict(points).tolist()


def test_long_lists_come_back(tmp_path: Path) -> None:
    rules = many_rules(DecisionList, 1_500)
    for format in ("python", "c", "dmn"):
        assert np.array_equal(again(rules, format, tmp_path).bounds, rules.bounds)


@given(ruleset=rulesets())
@in_folder
def test_rules_with_strengths_are_refused_as_code(ruleset: RuleSet, tmp_path: Path) -> None:
    for format in ("python", "c"):
        if ruleset.ordered:
            assert again(ruleset, format, tmp_path) == ruleset
        else:
            with pytest.raises(RuleError, match=r"line \d+: .*JSON"):
                again(ruleset, format, tmp_path)


def test_files_that_leave_features_out_need_the_task(tmp_path: Path) -> None:
    features = tuple(Feature(f"f{i}", 0.0, 1.0, "real", clips=True) for i in range(300))
    bounds = np.tile([0.0, 1.0], (2, 300, 1))
    bounds[0, 7] = 0.0, 0.5
    rules = DecisionList(bounds, [1, 0], features, ("a", "b"))
    for format in ("python", "c", "dmn"):
        file = tmp_path / f"many{SUFFIX[format]}"
        file.write_text(export(rules, format), encoding="utf-8")
        with pytest.raises(RuleError, match="give the task"):
            read_ruleset(file)

        class Task:
            pass

        task = Task()
        task.features, task.action_names = features, ("a", "b")  # type: ignore[attr-defined]
        assert read_ruleset(file, task)[0] == rules  # type: ignore[arg-type]


def changed(folder: Path, format: str, old: str, new: str) -> RuleSet:
    rules = DecisionList(
        [[[0.0, 0.5], [0.0, 3.0]], [[0.0, 1.0], [0.0, 3.0]]],
        [1, 0],
        (Feature("x", 0.0, 1.0, "real"), Feature("n", 0, 3)),
        ("left", "right"),
    )
    text = export(rules, format)
    assert old in text
    file = folder / f"policy{SUFFIX[format]}"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return read_ruleset(file)[0]


@pytest.mark.parametrize(
    ("format", "old", "new", "said"),
    [
        ("python", "return 1", "return 7", r"line 16: expected the return of an action's number, 0 to 1"),
        ("python", "if x <= 0.5:", "while x <= 0.5:", "line 15: this is not as ifthen exports"),
        ("python", "0.0 <= x <= 1.0", "0.0 <= x <= 2.0", "line 12: x has another range"),
        ("python", "if x <= 0.5:", "if x <= 0.5 or n == 2:", "line 15: expected an interval"),
        ("python", "if x <= 0.5:", "if x <= print(1):", r"line 15: .*print\(1\).* cannot be read"),
        ("c", "return IFTHEN_RIGHT;", "system(s);", r"line \d+: 'system\(s\);' is not as ifthen exports"),
        ("c", "s[0] <= 0.5", "s[0] <= f(0.5)", r"line \d+: 'f\(0.5\)' is not as ifthen exports"),
        ("c", "written by ifthen", "by hand", "line 1: C is read where ifthen export wrote it"),
        ("dmn", "[0..0.5]", "x * 2", r"line \d+: 'x \* 2' is not as ifthen exports"),
        ("dmn", 'hitPolicy="FIRST"', 'hitPolicy="COLLECT"', r"line \d+: expected a table with hit policy"),
        ("dmn", "</decision>", "", r"line \d+: this is not XML: mismatched tag"),
    ],
)
def test_what_ifthen_does_not_write_is_refused_with_its_line(
    format: str, old: str, new: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(RuleError, match=said):
        changed(tmp_path, format, old, new)


def test_entities_of_xml_are_refused(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(9))
    bomb = f'<!DOCTYPE d [<!ENTITY a0 "ha">{laughs}]>\n<definitions'
    with pytest.raises(RuleError, match="line 2: <!DOCTYPE> and entities are refused"):
        changed(tmp_path, "dmn", "<definitions", bomb)
    outer = '<!DOCTYPE d SYSTEM "file:///etc/passwd">\n<definitions'
    with pytest.raises(RuleError, match="refused"):
        changed(tmp_path, "dmn", "<definitions", outer)
    with pytest.raises(RuleError, match="more than 50 others"):
        changed(tmp_path, "dmn", "<decision ", "<a>" * 100 + "<decision ")


def test_xml_is_read_as_utf_8_whatever_encoding_it_names(tmp_path: Path) -> None:
    assert len(changed(tmp_path, "dmn", 'encoding="UTF-8"', 'encoding="U-8"')) == 2
