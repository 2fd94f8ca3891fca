from __future__ import annotations

import copy
import csv
import io
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ifthen import DecisionList, Feature, RuleSet, StrengthRules
from ifthen.errors import RuleError
from ifthen.explanation.reading import read_rules
from ifthen.exports import export, schema
from ifthen.text_table import latex_text
from tests.explanation.policies import INTEGER_RULES, ODD_ACTIONS, real_rules

KEYWORDS = {
    *("$schema", "$ref", "$defs", "title", "description", "type", "const", "oneOf", "properties", "required"),
    *("additionalProperties", "items", "minItems", "maxItems", "uniqueItems", "minLength"),
    *("minimum", "maximum", "exclusiveMinimum", "minProperties", "maxProperties", "not"),
}
TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool}


def fits(data: Any, part: Any, whole: dict[str, Any]) -> bool:
    """Return whether data is valid by a JSON Schema of the keywords above; others fail the test."""
    if isinstance(part, bool):
        return part
    assert set(part) <= KEYWORDS, set(part) - KEYWORDS
    if "$ref" in part:
        assert part["$ref"].startswith("#/$defs/")
        return fits(data, whole["$defs"][part["$ref"].removeprefix("#/$defs/")], whole)
    numeric = isinstance(data, (int, float)) and not isinstance(data, bool)
    kind = part.get("type")
    if kind in TYPES and not isinstance(data, TYPES[kind]):
        return False
    if kind in ("number", "integer") and not (numeric and (kind == "number" or data == int(data))):
        return False
    checks = [
        "const" not in part or (data == part["const"] and type(data) is type(part["const"])),
        "oneOf" not in part or sum(fits(data, option, whole) for option in part["oneOf"]) == 1,
        not numeric or data >= part.get("minimum", -np.inf),
        not numeric or data <= part.get("maximum", np.inf),
        not numeric or data > part.get("exclusiveMinimum", -np.inf),
        "not" not in part or not fits(data, part["not"], whole),
        not isinstance(data, str) or len(data) >= part.get("minLength", 0),
    ]
    if isinstance(data, list):
        checks += [part.get("minItems", 0) <= len(data) <= part.get("maxItems", np.inf)]
        checks += [not part.get("uniqueItems") or len({json.dumps(item) for item in data}) == len(data)]
        checks += [fits(item, part.get("items", True), whole) for item in data]
    if isinstance(data, dict):
        known = part.get("properties", {})
        checks += [part.get("minProperties", 0) <= len(data) <= part.get("maxProperties", np.inf)]
        checks += [name in data for name in part.get("required", [])]
        checks += [
            fits(value, known.get(name, part.get("additionalProperties", True)), whole)
            for name, value in data.items()
        ]
    return all(checks)


def valid(data: Any) -> bool:
    return fits(data, schema(), schema())


@given(INTEGER_RULES | real_rules())
@settings(max_examples=60)
def test_json_of_every_kind_fits_the_schema_and_reads_back(rules: RuleSet) -> None:
    data = json.loads(export(rules, "json"))
    assert valid(data)
    assert RuleSet.from_dict(data) == rules


def spoilt(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the data with one thing wrong at a time."""
    out: list[tuple[str, dict[str, Any]]] = []

    def add(label: str, change: Any) -> None:
        other = copy.deepcopy(data)
        change(other)
        out.append((label, other))

    for name in data:
        add(f"no {name}", lambda d, name=name: d.pop(name))
        add(f"{name} of another type", lambda d, name=name: d.update({name: {}}))
    add("more", lambda d: d.update(more=1))
    add("another kind", lambda d: d.update(kind="tree"))
    add("another version", lambda d: d.update(version=2))
    add("no rules", lambda d: d.update(rules=[]))
    add("no features", lambda d: d.update(features=[]))
    add("twice the same action", lambda d: d.update(actions=["a", "a"]))
    for name in data["rules"][0]:
        add(f"rule without {name}", lambda d, name=name: d["rules"][0].pop(name))
        add(f"rule with wrong {name}", lambda d, name=name: d["rules"][0].update({name: None}))
    add("rule with more", lambda d: d["rules"][0].update(more=1))
    add("half an interval", lambda d: d["rules"][0]["if"].update(u=[1]))
    add("an interval of words", lambda d: d["rules"][0]["if"].update(u=["0", "1"]))
    for name in ("name", "kind", "low", "high"):
        add(f"feature without {name}", lambda d, name=name: d["features"][0].pop(name))
    add("feature with a broken bound", lambda d: d["features"][0].update(kind="integer", low=0.5))
    add("feature of another kind", lambda d: d["features"][0].update(kind="complex"))
    add("feature without a name", lambda d: d["features"][0].update(name=""))
    for name, wrong in (
        ("variance", -1),
        ("fitness", 0),
        ("error", -1),
        ("numerosity", 0),
        ("experience", -1),
    ):
        if name in data["rules"][0]:
            add(f"{name} out of range", lambda d, name=name, wrong=wrong: d["rules"][0].update({name: wrong}))
    return out


@given(INTEGER_RULES)
@settings(max_examples=15)
def test_the_schema_refuses_what_reading_refuses(rules: RuleSet) -> None:
    for label, data in spoilt(rules.to_dict()):
        assert not valid(data), label
        with pytest.raises(RuleError):
            RuleSet.from_dict(data)


def test_a_feature_may_be_left_out_of_a_condition() -> None:
    data = DecisionList([[[0, 1]]], [0], [Feature("x", 0, 1)], ["a"]).to_dict()
    data["rules"][0]["if"] = {}
    assert valid(data)


@given(INTEGER_RULES | real_rules())
@settings(max_examples=40)
def test_csv_holds_every_number_exactly(rules: RuleSet) -> None:
    rows = list(csv.DictReader(io.StringIO(export(rules, "csv"))))
    assert [int(row["rule"]) for row in rows] == list(range(1, len(rules) + 1))
    assert [row["action"] for row in rows] == [rules.action_names[a] for a in rules.actions]
    ends = [
        [[float(row[f"{f.name}_{end}"]) for end in ("low", "high")] for f in rules.features] for row in rows
    ]
    assert np.array_equal(ends, rules.bounds)
    for name, column in rules.extra_columns().items():
        labels = [name] if column.ndim == 1 else [f"{name}_{i}" for i in range(column.shape[1])]
        found = np.array([[float(row[label]) for label in labels] for row in rows])
        assert np.array_equal(found, column.reshape(len(rules), -1))


@given(INTEGER_RULES | real_rules())
@settings(max_examples=40)
def test_markdown_has_a_row_per_rule_in_order_and_no_cell_too_many(rules: RuleSet) -> None:
    lines = [line for line in export(rules, "markdown").splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    assert len({len(row) for row in cells}) == 1
    assert [row[0].strip() for row in cells[2:]] == [str(r + 1) for r in range(len(rules))]


def test_markdown_escapes_what_would_be_a_mark() -> None:
    rules = DecisionList([[[0, 1]]], [0], [Feature("a|b", 0, 2)], ["<b>*x*\n"])
    assert r"| 1 | a\|b ≤ 1 | &lt;b&gt;\*x\* | 67% |" in export(rules, "markdown").splitlines()


def test_latex_writes_conditions_as_formulas() -> None:
    features = [Feature("x", 0, 9), Feature("cart_v", -1, 1, "real", "m/s")]
    bounds: Any = [[[0, 3], [1e-7, 0.5]], [[2, 2], [-1, 0.25]], [[4, 9], [-1, 1]], [[0, 9], [-1, 1]]]
    lines = export(DecisionList(bounds, [0, 1, 0, 1], features, ["50 %", "B&W"]), "latex").splitlines()
    assert lines[1].startswith(r"\begin{tabular}{rll")
    assert [lines[2], lines[4]] == [r"\toprule", r"\midrule"]
    speed = r"\text{cart\_v}"
    unit = r"\,m/s"
    assert [line.removesuffix(r" \\").split(" & ")[:3] for line in [lines[3], *lines[5:9]]] == [
        [r"\#", "if", "then"],
        ["1", rf"$x \le 3$ and ${speed} \in [1 \cdot 10^{{-7}}, 0.5]${unit}", r"50 \%"],
        ["2", rf"$x = 2$ and ${speed} \le 0.25${unit}", r"B\&W"],
        ["3", r"$x \ge 4$", r"50 \%"],
        ["4", "otherwise", r"B\&W"],
    ]
    assert lines[9:] == [r"\bottomrule", r"\end{tabular}"]


@pytest.mark.parametrize("format", ["markdown", "latex"])
@given(rules=INTEGER_RULES)
@settings(max_examples=25)
def test_tables_for_people_are_the_reading_in_the_rules_own_order(rules: RuleSet, format: str) -> None:
    reading = read_rules(rules)
    read = {"markdown": reading.to_markdown(), "latex": reading.to_latex()}[format].splitlines()
    written = export(rules, format).splitlines()

    def rows(lines: list[str]) -> list[tuple[int, str]]:
        numbered = ((re.match(r"(?:\| )?(\d+) [&|]", line), line) for line in lines)
        return [(int(found[1]), line) for found, line in numbered if found]

    assert rows(written) == sorted(rows(read))
    assert len(rows(written)) == len(rules)
    others = [line for line in written if line not in dict(rows(written)).values()]
    assert others[format == "latex" :] == [line for line in read if line not in dict(rows(read)).values()]


@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_tables_for_people_round_what_rules_have_learnt(format: str) -> None:
    third = 1 / 3
    rules = StrengthRules([[[0, 1]]], [0], [Feature("x", 0, 7)], ["a"], [[third, third]], [third])
    assert not re.search(r"\d\.\d{5}", export(rules, format))
    assert repr(third) in export(rules, "csv")


def test_latex_escapes_every_special_character() -> None:
    assert latex_text("\\{}~^&%$#_") == (r"\textbackslash{}\{\}\textasciitilde{}\textasciicircum{}\&\%\$\#\_")
    rules = DecisionList([[[0, 1]]], [1], [Feature("x\n%", 0, 1)], ["a", *ODD_ACTIONS])
    assert export(rules, "latex").count("\n") == 8


@given(INTEGER_RULES | real_rules())
@settings(max_examples=20)
def test_latex_rows_have_as_many_cells_as_columns(rules: RuleSet) -> None:
    text = export(rules, "latex")
    columns = len(re.search(r"\{tabular\}\{(\w+)\}", text)[1])  # type: ignore[index]  # it is there
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == len(rules) + 1
    assert all(len(re.findall(r"(?<!\\)&", row)) == columns - 1 for row in rows)
