"""Rules with terms: what is written for other programs works terms out as the rules do."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray

from ifthen import DecisionList, RuleSet
from ifthen.exports import export
from ifthen.exports.decision_tree import decision_tree
from tests.explanation.policies import names_of, tree_choices
from tests.exports.test_export_code import needs_compiler, python_module, run_c, run_python
from tests.exports.test_export_lists import Table, run_sql
from tests.exports.test_export_tables import valid
from tests.exports.test_export_trees import follow, read_dot, read_mermaid
from tests.rules.test_terms import example, lists_with_terms, points


def telling(rules: DecisionList, most: int = 400) -> NDArray[np.float64]:
    """Return points at the ends of intervals, of terms too, next to them, beyond ranges, and anywhere."""
    asked = [points(most)]
    for place, feature in enumerate(rules.features[3:], start=3):
        (name, coefficient), *_ = feature.of
        d = [f.name for f in rules.observed_features].index(name)
        if not rules.features[d].is_integer:
            some = points(most, seed=place)
            ends = np.resize(rules.bounds[:, place].ravel(), most)
            now = rules.with_terms(rules.checked_observations(some))[:, place]
            some[:, d] += (ends - now) / coefficient
            asked += [some, np.nextafter(some, np.inf), np.nextafter(some, -np.inf)]
    found = np.concatenate(asked)
    found[:, 2] = np.round(found[:, 2])
    return found


@given(lists_with_terms())
@settings(max_examples=30)
def test_python_sql_and_dmn_choose_as_rules_with_terms_do(rules: DecisionList) -> None:
    asked = telling(rules, 60)
    chosen = rules.predict(asked)
    assert run_python(rules, asked) == chosen.tolist()
    assert run_sql(rules, asked) == names_of(rules, chosen)
    for format in ("dmn", "dmn-priority"):
        assert Table(export(rules, format)).actions(asked) == names_of(rules, chosen)


@needs_compiler
@given(rules=lists_with_terms())
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_c_chooses_as_rules_with_terms_do(rules: DecisionList, tmp_path: Path) -> None:
    asked = telling(rules)
    assert run_c(rules, asked, tmp_path, "-O2") == rules.predict(asked).tolist()


@given(lists_with_terms())
@settings(max_examples=30)
def test_trees_ask_about_terms(rules: DecisionList) -> None:
    asked = rules.checked_observations(telling(rules, 60))
    tree, chosen = decision_tree(rules), rules.predict(asked)
    assert tree_choices(tree, rules.with_terms(asked)).tolist() == chosen.tolist()


@pytest.mark.parametrize(("format", "read"), [("dot", read_dot), ("mermaid", read_mermaid)])
def test_drawn_trees_ask_about_terms_and_tell_what_named_ones_are(format: str, read: object) -> None:
    rules = example()
    text = export(rules, format)
    assert "LET error = 0.5·x − n" in text
    kept = "\n".join(line for line in text.splitlines() if "LET" not in line) + "\n"
    labels, edges = read(kept)  # type: ignore[operator]  # one of two functions
    asked = rules.checked_observations(telling(rules, 60))
    names = [f.name for f in rules.features]
    found = [follow(labels, edges, names, point) for point in rules.with_terms(asked).tolist()]
    assert found == names_of(rules, rules.predict(asked))


@given(lists_with_terms())
@settings(max_examples=20)
def test_json_with_terms_fits_the_schema_and_reads_back(rules: DecisionList) -> None:
    data = json.loads(export(rules, "json"))
    assert valid(data)
    assert RuleSet.from_dict(data) == rules


def test_modules_take_what_is_observed() -> None:
    module = python_module(example())
    assert module["FEATURES"] == ("x", "x speed", "n")
    assert "error = 0.5 * x - n" in export(example(), "python")
    assert "t[0] = 0.5 * s[0] - s[2]; /* error */" in export(example(), "c")


def test_tables_tell_what_terms_are() -> None:
    header = next(csv.reader(io.StringIO(export(example(), "csv"))))
    assert header[7:11] == [
        "error = 0.5·x − n_low",
        "error = 0.5·x − n_high",
        *(f"x + 2·x speed_{e}" for e in ("low", "high")),
    ]
    assert "LET error = 0.5·x − n" in export(example(), "markdown")
    assert "LET error = 0.5·x − n" in export(example(), "latex")
