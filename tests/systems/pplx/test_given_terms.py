"""Terms that the user gives: read by the grammar of rule files, compared as they are, kept in files."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import PPLX, evaluate, explain, export, load, parse_rules, verify
from ifthen.environments.frozen_lake import frozen_lake
from ifthen.errors import ParameterError
from ifthen.rules.text.terms import terms_in
from ifthen.runs.settings import checked_settings
from ifthen.study.study_plan import checked_plan
from ifthen.systems.pplx.cma_es import numbers_of
from ifthen.systems.pplx.drafts import are_given, readable, ruleset
from tests.systems.contract import saved_bytes
from tests.systems.pplx.lists import FEATURES, haystack, some_draft, task

SUM = "balance [N] = 0.123456789*f3 + 0.12*f17"
WHOLE = np.zeros(FEATURES, np.bool_)


pytestmark = pytest.mark.usefixtures("few_updates")


def seeker(**given: Any) -> PPLX:
    return PPLX(haystack(), **{"seed": 1, "threads": 1, "steps": 6_000, "given_terms": [SUM], **given})


@functools.cache
def learnt() -> PPLX:
    """Return a system with the given term alone; not to be changed."""
    system = seeker(terms=False).learn()
    assert isinstance(system, PPLX)
    return system


def test_a_given_term_is_found_useful_and_keeps_name_unit_and_coefficients() -> None:
    rules = learnt().ruleset
    (term,) = rules.terms
    assert (term.name, term.unit) == ("balance", "N")
    assert term.of == (("f3", 0.123456789), ("f17", 0.12))
    assert evaluate(rules, haystack(), seeds=haystack().test_seeds()).performance > 1.85
    words = str(rules)
    assert "LET balance = 0.123456789·f3 + 0.12·f17" in words
    assert " N THEN" in words


def test_without_found_terms_rules_compare_the_given_ones_alone() -> None:
    used = {term.name for point in learnt().front.points for term in point.ruleset.terms}
    assert used == {"balance"}


def test_given_terms_stand_beside_those_that_are_found() -> None:
    system = seeker().learn(epochs=30)
    known: Any = system.now.population
    term = np.zeros(25)
    term[[3, 17]] = 0.123456789, 0.12
    assert any((draft.terms == term).all(axis=1).any() for draft in known.drafts)
    assert len(known.useful) > 1


def test_a_given_term_is_shown_exported_explained_and_verified() -> None:
    rules = learnt().ruleset
    assert parse_rules(export(rules, "text")) == rules
    for format in ("python", "c", "sql", "dmn", "json", "csv", "mermaid"):
        assert "balance" in export(rules, format), format
    point = np.zeros(25)
    assert "balance = 0.123456789·f3 + 0.12·f17" in str(explain(rules, point))
    assert verify(rules).properties["complete"] is True


def test_given_terms_come_back_from_files_and_learning_goes_on_with_them(tmp_path: Path) -> None:
    system = seeker(terms=False).learn(epochs=24)
    path = tmp_path / "model.zip"
    system.save(path)
    again = load(path, threads=1)
    assert again.parameters.model_dump()["given_terms"] == [SUM]
    assert again.ruleset == system.ruleset
    assert saved_bytes(again.learn(epochs=2), tmp_path) == saved_bytes(system.learn(epochs=2), tmp_path)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["e = f3 + f99"], r"given_terms: the term 'e = f3 \+ f99': a sum adds up features"),
        (["e = f3 + f3"], "a sum has every feature once"),
        (["e = 0*f3 + f4"], "is 0: leave out its feature"),
        (["e = f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8 + f9"], "1 to 8 different features"),
        (["e = f1 + f2", "e = f1 - f2"], "two features called 'e'"),
        (["e = f1 + f2", "d = f2 + f1"], "'e' is the same sum"),
        (["f4 = f1 + f2"], "two features called 'f4'"),
        (["f1 - f2 = f1 + f2"], r"its name is a sum too, and it is f1 \+ f2"),
        (["a, b = f1 + f2"], "expected one name, not a, b"),
        (["e [N] = f1 + f2, kg"], "expected"),
        (["e = f1 * f2"], "expected"),
        (["e ="], "expected a name and a sum of features"),
        ([""], "expected a name and a sum of features"),
        (["e = 1e300*f1 + 1e300*f2"], "term"),
        ("e = f1 + f2", "valid list"),
        ([3], "valid string"),
    ],
)
def test_terms_that_make_no_sense_are_refused_before_any_work(terms: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        seeker(given_terms=terms)


def test_tables_take_no_given_terms() -> None:
    with pytest.raises(ParameterError, match="rules compare single features: leave out given_terms"):
        PPLX(frozen_lake(4, 0.1), given_terms=["e = x + y"])


def test_a_term_may_have_no_name_a_unit_at_the_end_or_let_before_it() -> None:
    read = [terms_in([text], task().features)[0] for text in ("e [m] = a - 2*b", "LET e = a - 2·b, m")]
    assert read[0] == read[1]
    (plain,) = terms_in(["a - 2*b"], task().features)
    assert (plain.name, plain.unit) == ("a − 2·b", "")


def test_settings_of_runs_and_studies_take_given_terms() -> None:
    settings = checked_settings(
        {"system": "PPL-X", "task": "CartPole-v1", "parameters": {"given_terms": ["t = pole angle"]}}
    )
    assert 'given_terms = ["t = pole angle"]' in settings.to_toml()
    assert settings.make_system(1).parameters.model_dump()["given_terms"] == ["t = pole angle"]
    system = {"name": "PPL-X", "parameters": {"given_terms": ["t = pole angle + cart"]}}
    plan = checked_plan({"name": "s", "systems": [system], "tasks": ["CartPole-v1"], "trials": 1})
    with pytest.raises(ParameterError, match="a sum adds up features"):
        plan.trials_to_run()


@given(st.integers(0, 10_000), st.integers(1, 3), st.booleans())
def test_numbers_of_given_terms_are_neither_rounded_nor_tuned(seed: int, terms: int, first: bool) -> None:
    draft, spreads = some_draft(seed, 4, terms), np.ones(FEATURES)
    draft.terms[0, draft.terms[0] != 0] = 0.123456, 0.98765
    own = draft.terms[:1] if first else draft.terms[:0]
    short = readable(draft, spreads, WHOLE, given_terms=own)
    assert are_given(short.terms, draft.terms[:1]).any() == first
    tuned = numbers_of(draft, spreads, own).terms[:, 0].tolist()
    assert (0 not in tuned) == first
    assert sorted(set(tuned)) == list(range(int(first), terms))


def test_a_list_takes_the_names_of_given_terms_and_makes_those_of_others() -> None:
    draft = some_draft(3, 3, 2)
    draft.terms[:] = [[1.0, 0.5, 0.0], [0.0, 1.0, 2.0]]
    terms = terms_in(["lean [rad] = a + 0.5*b"], task().features)
    draft.lows[:, 2], draft.highs[:, 2] = -np.inf, np.inf  # no fraction of the whole feature
    made = ruleset(draft, task(), terms)
    assert [(term.name, term.unit) for term in made.terms] == [("lean", "rad"), ("b + 2·c", "")]
