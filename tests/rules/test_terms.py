"""Terms: sums of features that a ruleset defines, in conditions like any feature."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import PPLDL, DecisionList, Feature, StrengthRules, frozen_lake, parse_rules, term
from ifthen.errors import ParameterError, RuleError, TaskError
from ifthen.rules.batch import (
    NO_TERMS,
    Intervals,
    RuleBatch,
    batch_of,
    choose_lanes,
    chosen,
    put_terms,
    stacked,
)
from ifthen.rules.blocks import chosen_by_blocks, fill_blocks, new_blocks
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.term import formula, ranges_of
from ifthen.rules.text.rules_text import rules_text
from tests import naive_envs

X = Feature("x", -2.0, 3.0, "real", "m", clips=True)
SPEED = Feature("x speed", -1.0, 1.5, "real", clips=True)
N = Feature("n", 0, 4, clips=True)
FEATURES = (X, SPEED, N)
ACTIONS = ("Left", "Right", "Wait")
COEFFICIENTS = st.sampled_from([1.0, -1.0, 0.5, -2.0, 0.1, 3.0, 1e-7, -1 / 3])


@st.composite
def terms(draw: st.DrawFn, features: tuple[Feature, ...] = FEATURES, names: bool = True) -> Feature:
    """Draw a term, with a name of its own or without."""
    parts = draw(st.lists(st.sampled_from(features), min_size=1, max_size=3, unique_by=lambda f: f.name))
    of = {part.name: draw(COEFFICIENTS) for part in parts}
    assume(list(of.values()) != [1.0])  # its formula is the name of a feature
    name = draw(st.none() | st.sampled_from(["tilt error", "a - b", "sum", 'q"1', "=", "let", "x + n"]))
    return term(name if names else None, of, features, draw(st.sampled_from(["", "", "m/s"])))


@st.composite
def lists_with_terms(draw: st.DrawFn, features: tuple[Feature, ...] = FEATURES) -> DecisionList:
    """Draw a decision list with up to three terms, some of which no rule may speak of."""
    own = draw(st.lists(terms(features), max_size=3, unique_by=lambda t: (t.name, t.of)))
    own = list({t.of: t for t in {t.name: t for t in own}.values()}.values())
    everything, rules = (*features, *own), []
    for _ in range(draw(st.integers(1, 5))):
        box = []
        for feature in everything:
            inside = (
                st.integers(feature.low, feature.high)
                if feature.is_integer
                else st.floats(feature.low, feature.high)
            )
            ends = st.lists(inside, min_size=2, max_size=2)
            box.append(draw(st.just([feature.low, feature.high]) | ends))
        rules.append(box)
    actions = draw(st.lists(st.integers(0, 2), min_size=len(rules), max_size=len(rules)))
    return DecisionList(rules, actions, everything, ACTIONS)


def points(n: int = 40, seed: int = 0) -> NDArray[np.float64]:
    """Return points, some beyond the ranges of features that clip."""
    drawn = np.random.default_rng(seed).uniform([-3, -2, 0], [4, 2, 4], (n, 3))
    drawn[:, 2] = np.round(drawn[:, 2])
    return drawn


def example() -> DecisionList:
    own = (term("error", {"n": -1, "x": 0.5}, FEATURES), term(None, {"x": 1, "x speed": 2}, FEATURES))
    text = "IF error >= -1 AND x + 2*x speed <= 0.5 THEN Left\nIF error >= 0 THEN Right\nOTHERWISE Wait"
    return parse_rules(text, (*FEATURES, *own), ACTIONS)  # type: ignore[return-value]  # a list unless said


def test_a_term_has_its_features_in_their_order_and_the_range_that_follows_from_theirs() -> None:
    made = term("error", {"n": -1, "x": 0.5}, FEATURES)
    assert made.of == (("x", 0.5), ("n", -1.0))
    assert (made.low, made.high, made.kind, made.clips) == (-5.0, 1.5, "real", True)
    assert made.is_term
    assert not X.is_term


@pytest.mark.parametrize(
    ("of", "name"),
    [
        ({"x": 0.5, "x speed": 1}, "0.5·x + x speed"),
        ({"x": 1, "n": -2}, "x − 2·n"),
        ({"n": 1, "x": -1}, "−x + n"),
        ({"n": -0.1}, "−0.1·n"),
    ],
)
def test_a_term_without_a_name_is_called_by_its_formula(of: dict[str, float], name: str) -> None:
    assert term(None, of, FEATURES).name == name


@given(terms(), st.integers(0, 1000))
def test_no_value_of_a_term_leaves_its_range(made: Feature, seed: int) -> None:
    rules = DecisionList([[[f.low, f.high] for f in (*FEATURES, made)]], [0], (*FEATURES, made), ACTIONS)
    edges = [[f.low, f.high, (f.low + f.high) / 3] for f in FEATURES]
    grid = np.stack(np.meshgrid(*edges), -1).reshape(-1, 3)
    found = rules.with_terms(rules.checked_observations(np.concatenate([grid, points(seed=seed)])))[:, -1]
    assert found.min() == made.low
    assert found.max() == made.high
    low, high = ranges_of(np.array([[dict(made.of).get(f.name, 0.0) for f in FEATURES]]), *edges_of())
    assert (low[0], high[0]) == (made.low, made.high)


def edges_of() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.array([f.low for f in FEATURES], float), np.array([f.high for f in FEATURES], float)


def test_rules_are_asked_with_what_is_observed_and_work_terms_out() -> None:
    rules = example()
    assert [f.name for f in rules.observed_features] == ["x", "x speed", "n"]
    assert [f.name for f in rules.terms] == ["error", "x + 2·x speed"]
    assert rules.predict([2.0, -1.0, 2]) == 0  # error −1, sum 0
    assert rules.predict([2.0, 1.0, 1]) == 1  # error 0, sum 4
    assert rules.predict([2.0, 1.0, 2]) == 2
    assert rules.predict([50.0, 1.0, 1]) == 1  # x counts as 3
    assert rules.matches([2.0, -1.0, 2]).tolist() == [True, False, True]


def test_rules_speak_of_terms_and_tell_what_named_ones_are() -> None:
    assert str(example()) == (
        "LET error = 0.5·x − n\n"
        "1. IF error ≥ -1 AND x + 2·x speed ≤ 0.5 THEN Left\n"
        "2. IF error ≥ 0 THEN Right\n"
        "3. OTHERWISE Wait"
    )


@given(lists_with_terms())
def test_text_with_terms_reads_back_to_an_equal_ruleset(ruleset: DecisionList) -> None:
    text = rules_text(ruleset)
    assert parse_rules(text) == ruleset
    assert rules_text(parse_rules(text)) == text


@given(lists_with_terms())
def test_plain_data_with_terms_reads_back_to_an_equal_ruleset(ruleset: DecisionList) -> None:
    assert RuleSet.from_dict(json.loads(json.dumps(ruleset.to_dict()))) == ruleset


ODD = tuple(Feature(n, -1.0, 1.0, "real", clips=True) for n in ("x", "x - y", "y", "2*y", "if", "x velocity"))


@given(lists_with_terms(ODD))
def test_odd_names_of_features_read_back_in_sums(ruleset: DecisionList) -> None:
    assert parse_rules(rules_text(ruleset)) == ruleset


def test_plain_data_of_a_term_need_not_say_its_range() -> None:
    data = example().to_dict()
    data["features"][3] = {"name": "error", "of": {"n": -1, "x": 0.5}}
    assert RuleSet.from_dict(data) == example()


def test_files_without_terms_are_as_before() -> None:
    plain = DecisionList([[[0.0, 1.0], [0.0, 1.0], [0.0, 4.0]]], [0], FEATURES, ACTIONS)
    assert "of" not in json.dumps(plain.to_dict())
    assert "LET" not in rules_text(plain)


@pytest.mark.parametrize(
    "text",
    [
        "IF 0.5*x - n >= 0 THEN Right\nOTHERWISE Wait",
        "IF 0.5 × x − n ≥ 0 THEN Right\nOTHERWISE Wait",
        "if -n + 0.5·x >= 0 then Right\nelse Wait",
        "IF 0 <= 0.5*x - n THEN Right\nOTHERWISE Wait",
        "IF 0 <= .5*X - N <= 1.5 THEN Right\nOTHERWISE Wait",
        "LET 0.5*x - n\nIF 0.5*x - n in [0, 1.5] THEN Right\nOTHERWISE Wait",
    ],
)
def test_sums_in_conditions_are_terms(text: str) -> None:
    rules = parse_rules(text, FEATURES, ACTIONS)
    assert [t.name for t in rules.terms] == ["0.5·x − n"]
    assert rules.rule_in_words(0) == "IF 0.5·x − n ≥ 0 THEN Right"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("IF 0.5*y - n >= 0 THEN Left", "a sum adds up features"),
        ("IF x - 3 >= 0 THEN Left", "a sum adds up features"),
        ("IF x - x >= 0 THEN Left", "every feature once"),
        ("IF 0*x + n >= 0 THEN Left", "is 0"),
        ("IF x + n >= 100 THEN Left", "leaves the range"),
        ("LET x = n\nALWAYS Left", "two features called 'x'"),
        ("LET e = x + n\nLET e = x - n\nALWAYS Left", "two features called 'e'"),
        ("LET e = x + n\nLET f = e + n\nALWAYS Left", "a sum adds up features"),
        ("LET e = x + n m\nALWAYS Left", "expected"),
        ("LET\nALWAYS Left", "expected a name and a sum"),
        ("ALWAYS Left\nLET e = x + n", "before the first rule"),
    ],
)
def test_sums_that_cannot_be_read_are_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        parse_rules(text, FEATURES, ACTIONS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: term("e", {"y": 1}, FEATURES), "not observed"),
        (lambda: term("e", {"x": 0}, FEATURES), "is 0"),
        (lambda: term("e", {"x": np.inf}, FEATURES), "must be a number"),
        (lambda: term("e", {"x": 1e300, "n": 1e300}, FEATURES), "must be a number"),
        (lambda: term("e", {}, FEATURES), "needs coefficients"),
        (lambda: Feature("e", 0, 1, of=(("x", 1.0),)), "kind must be 'real'"),
        (lambda: Feature("e", 0, 1, "real", clips=True, of=(("x", 1.0), ("x", 2.0))), "different features"),
        (lambda: Feature("e", 0, 1, "real", clips=True, of="x"), "coefficients by feature"),  # type: ignore[arg-type]  # refused
        (lambda: DecisionList([], [], (term("e", {"x": 1}, FEATURES), *FEATURES), ACTIONS), "come after"),
    ],
)
def test_terms_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        make()


def test_a_ruleset_has_a_bounded_number_of_terms() -> None:
    data = example().to_dict()
    data["features"] += [{"name": f"t{i}", "of": {"x": i + 1}} for i in range(99)]
    with pytest.raises(RuleError, match="at most 100 terms, not 101"):
        RuleSet.from_dict(data)
    sums = "\n".join(f"IF {i}*x <= 0 THEN Left" for i in range(2, 103))
    with pytest.raises(RuleError, match="more than 100 different sums"):
        parse_rules(sums, FEATURES, ACTIONS)


def test_names_of_observed_features_differ() -> None:
    data = example().to_dict()
    data["features"][1]["name"] = "x"
    with pytest.raises(RuleError, match="must differ"):
        RuleSet.from_dict(data)


def test_tasks_have_no_terms_and_systems_start_without() -> None:
    lake = frozen_lake(4)
    rules = parse_rules("IF x + y <= 3 THEN Down\nOTHERWISE Right", task=lake)
    with pytest.raises(TaskError, match="terms belong to a ruleset"):
        lake.replaced(features=rules.features)
    with pytest.raises(ParameterError, match="starts from rules over single features"):
        PPLDL(lake, start=rules)


def test_rules_with_weights_refuse_terms() -> None:
    made = term("e", {"x": 1, "n": 1}, FEATURES)
    box = [[f.low, f.high] for f in (*FEATURES, made)]
    with pytest.raises(RuleError, match="only decision lists may have terms"):
        StrengthRules([box], [0], (*FEATURES, made), ACTIONS, np.zeros((1, 5)), [0.0])


def test_comparisons_are_counted() -> None:
    assert example().tests == 3
    text = "IF n = 2 AND x in [0, 1] THEN Left\nIF n = 0 THEN Left\nIF n <= 3 THEN Left\nALWAYS Left"
    assert parse_rules(text, FEATURES, ACTIONS).tests == 5


def test_terms_that_no_rule_speaks_of_can_be_dropped() -> None:
    rules = example()
    assert rules.without_unused_terms() is rules
    fewer = rules.subset([1, 2]).without_unused_terms()
    assert [t.name for t in fewer.terms] == ["error"]
    assert fewer.predict(points()).tolist() == rules.subset([1, 2]).predict(points()).tolist()
    assert not rules.subset([2]).without_unused_terms().terms


def random_batch(n: int, rules: int, seed: int) -> RuleBatch:
    """Return lists with two terms each; every third has one only."""
    draws = np.random.default_rng(seed)
    coefficients = draws.choice([0.0, 1.0, -1.0, 0.5, 0.1, -1 / 3], (n, 2, 3))
    coefficients[::3, 1] = 0.0
    lows, highs = edges_of()
    ends = [
        np.concatenate([np.broadcast_to(e, (n, 3)), own], 1)
        for e, own in zip((lows, highs), ranges_of(coefficients, lows, highs), strict=True)
    ]
    drawn = draws.random((n, rules, 5, 2)) * (ends[1] - ends[0])[:, None, :, None] + ends[0][:, None, :, None]
    whole = np.broadcast_to(np.stack(ends, -1)[:, None], drawn.shape)
    bounds = np.where(draws.random((n, rules, 5, 1)) < 0.6, whole, drawn)
    bounds[..., 2, :] = np.round(bounds[..., 2, :])
    bounds[::3, :, 4] = -np.inf, np.inf
    actions = draws.integers(0, 3, (n, rules)).astype(np.int32)
    lengths = np.full(n, rules, dtype=np.int64)
    return RuleBatch(0, bounds, actions, np.zeros((n, rules, 0)), lengths, terms=coefficients)


@pytest.mark.oracle
@pytest.mark.parametrize("rules", [1, 8, 11])
def test_kernels_choose_as_the_oracle_and_as_rulesets_do(rules: int) -> None:
    batch = random_batch(6, rules, rules)
    laid_out, asked, seen = Intervals.of(batch, FEATURES), points(60), set()
    blocks, wide = new_blocks(laid_out), np.concatenate([asked, np.zeros((60, 2))], 1)
    for i in range(6):
        fill_blocks(laid_out, i, blocks)
        for lane, point in enumerate(asked.tolist()):
            put_terms(laid_out, i, wide, lane)
            assert wide[lane, 3:].tolist() == [
                naive_envs.summed(c, FEATURES, point) for c in batch.terms[i].tolist()
            ]
            own = batch.bounds[i], batch.actions[i].tolist(), batch.terms[i]
            action = naive_envs.list_with_terms(*own, FEATURES, point)
            assert chosen(laid_out, i, asked, lane) == action
            assert chosen_by_blocks(laid_out, i, blocks, wide, lane) == action
            seen.add(action)
    assert len(seen) > 1


@given(st.lists(lists_with_terms(), min_size=1, max_size=4), st.integers(0, 99))
def test_a_batch_of_rulesets_with_different_terms_chooses_as_each_alone(
    rulesets: list[DecisionList], seed: int
) -> None:
    batch, asked = stacked(rulesets), points(20, seed)
    out = np.empty(len(asked), dtype=np.int64)
    for i, ruleset in enumerate(rulesets):
        choose_lanes(Intervals.of(batch, FEATURES), np.full(len(asked), i), asked, out)
        assert out.tolist() == ruleset.predict(asked).tolist()
        alone = batch_of(ruleset)
        assert alone is not None
        choose_lanes(Intervals.of(alone, FEATURES), np.zeros(len(asked), np.int64), asked, out)
        assert out.tolist() == ruleset.predict(asked).tolist()


def test_batches_take_and_tell_apart_rulesets_by_their_terms() -> None:
    batch = random_batch(4, 3, 0)
    assert np.array_equal(batch.take(np.array([2, 0])).terms, batch.terms[[2, 0]])
    other = batch._replace(terms=batch.terms + (batch.terms != 0))
    assert len({*batch.digests(), *other.digests()}) == 8
    plain = stacked([DecisionList([[[0.0, 1.0], [0.0, 1.0], [0.0, 4.0]]], [0], FEATURES, ACTIONS)])
    assert plain.terms is NO_TERMS is plain.take(np.array([0])).terms


def test_formulas_are_the_same_for_the_same_term() -> None:
    one, other = term(None, {"x": 1, "n": -2}, FEATURES), term(None, {"n": -2, "x": 1}, FEATURES)
    assert one == other
    assert formula(one) == one.name
