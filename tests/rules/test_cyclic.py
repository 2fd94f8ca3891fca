"""Cyclic features: intervals that wrap mean the same in words, files, kernels, proofs and exports."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import (
    DecisionList,
    Feature,
    PredictionArrayRules,
    RuleSet,
    StrengthRules,
    StrengthSumRules,
    explain,
    load,
    parse_rules,
    prune,
    verify,
)
from ifthen.environments.make import env_task
from ifthen.errors import RuleError
from ifthen.explanation.counterfactual import distance, nearest_in_list
from ifthen.exports import export
from ifthen.exports.decision_tree import decision_tree
from ifthen.rules.batch import Intervals, batch_of, choose_lanes, chosen
from ifthen.rules.blocks import chosen_by_blocks, fill_blocks, new_blocks
from ifthen.rules.box import centres, decode, inside, match_masks
from ifthen.rules.boxes.cover import coverage
from ifthen.rules.boxes.list_analysis import compare, first_match, overlaps
from ifthen.rules.text.rules_text import rules_text
from ifthen.simplify.lossless import lossless
from ifthen.systems.ppl_dl import PPLDL
from tests import naive
from tests.explanation.policies import names_of, tree_choices
from tests.exports.test_export_code import needs_compiler, run_c, run_python
from tests.exports.test_export_lists import Table, run_sql
from tests.exports.test_export_tables import valid
from tests.worlds import chain

COURSE, STEP, HOUR = (
    Feature("course", 0, 7, unit="°", cyclic=True),
    Feature("x", 0, 2),
    Feature("hour", 1, 4, cyclic=True),
)
FEATURES, ACTIONS = (COURSE, STEP, HOUR), ("Left", "Down", "Right")
ANGLE = Feature("angle", 0.0, 1.0, "real", clips=True, cyclic=True)
STATES = np.array(list(itertools.product(*(range(f.low, f.high + 1) for f in FEATURES))), dtype=np.int32)
POINTS = STATES.astype(np.float64)
ROUND_TRIP = chain(
    name="round trip",
    features=FEATURES,
    action_names=ACTIONS,
    state_features=STATES,
    next_state=np.roll(np.arange(len(STATES), dtype=np.int32), -1)[:, None, None].repeat(3, axis=1),
    reward=np.ones((len(STATES), 3, 1)),
    done=np.zeros((len(STATES), 3, 1), dtype=np.bool_),
    probability=np.ones(1),
    initial_states=np.array([0], dtype=np.int32),
)


ALONE: tuple[type[RuleSet], ...] = (DecisionList, StrengthRules)
KINDS: tuple[type[RuleSet], ...] = (*ALONE, PredictionArrayRules, StrengthSumRules)


@st.composite
def rulesets(draw: st.DrawFn, kinds: tuple[type[RuleSet], ...] = KINDS) -> RuleSet:
    """Draw rules of one of the kinds, about half of whose intervals wrap."""
    n = draw(st.integers(1, 5))
    pairs = [
        st.just([f.low, f.high]) | st.tuples(*2 * [st.integers(f.low, f.high)]).map(list) for f in FEATURES
    ]
    bounds = draw(st.lists(st.tuples(*pairs).map(list), min_size=n, max_size=n))
    actions = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    kind, own = draw(st.sampled_from(kinds)), (bounds, actions, FEATURES, ACTIONS)
    if kind is DecisionList:
        return DecisionList(*own)
    votes = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    if kind is StrengthSumRules:
        return StrengthSumRules(*own, votes)
    weights = draw(
        st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5]), min_size=4, max_size=4), min_size=n, max_size=n)
    )
    if kind is StrengthRules:
        return StrengthRules(*own, weights, [0.0] * n, 1.0)
    return PredictionArrayRules(*own, weights, votes, [0.0] * n, [1] * n, [0] * n, 1.0)


LISTS = rulesets((DecisionList,))


def matching(ruleset: RuleSet) -> NDArray[np.bool_]:
    """Return which rules match in which state, going round from an interval's first end to its last."""
    found = np.ones((len(STATES), len(ruleset)), dtype=np.bool_)
    for (r, box), (d, f) in itertools.product(enumerate(ruleset.bounds.tolist()), enumerate(FEATURES)):
        first, last = box[d] if f.cyclic else sorted(box[d])
        found[:, r] &= np.isin(STATES[:, d], list(naive.way_round(first, last, f.low, f.high)))
    return found


def decided(ruleset: RuleSet) -> list[int]:
    """Return the first rule that matches in each state, −1 for none."""
    return [next((r for r, hit in enumerate(row) if hit), -1) for row in matching(ruleset).tolist()]


@pytest.mark.oracle
@given(rulesets())
def test_rules_match_on_the_way_round(ruleset: RuleSet) -> None:
    found = matching(ruleset)
    np.testing.assert_array_equal(ruleset.matches(POINTS), found)
    assert (inside(ruleset.bounds, POINTS[:, None]).all(axis=2) == found).all()
    words = np.empty((len(STATES), 1), dtype=np.uint64)
    scratch, lows = np.empty((3, 8, 1), dtype=np.uint64), np.array([0, 0, 1], dtype=np.int32)
    cyclic = np.array([0, 2])
    match_masks(ruleset.bounds[None], 0, len(ruleset), STATES, lows, cyclic, scratch, words)
    assert words[:, 0].tolist() == [sum(int(hit) << r for r, hit in enumerate(row)) for row in found.tolist()]


@given(rulesets())
def test_rules_of_every_kind_choose_by_the_rules_that_match(ruleset: RuleSet) -> None:
    expected = ruleset.decide(matching(ruleset), POINTS)[0].tolist()
    assert ruleset.predict(POINTS).tolist() == expected
    assert ruleset.best_actions(POINTS).tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=30)
def test_pruned_rules_of_every_kind_choose_the_same_in_every_state(
    kind: type[RuleSet], data: st.DataObject
) -> None:
    ruleset = data.draw(rulesets((kind,)))
    if not matching(ruleset).any():
        return
    found = prune(ruleset, ROUND_TRIP)
    assert len(found.ruleset) <= len(ruleset)
    np.testing.assert_array_equal(found.ruleset.predict(POINTS), ruleset.predict(POINTS))


@pytest.mark.oracle
@given(rulesets(ALONE))
def test_kernels_choose_as_the_rules_do(ruleset: RuleSet) -> None:
    batch = batch_of(ruleset)
    assert batch is not None
    laid_out, out = Intervals.of(batch, FEATURES), np.empty(len(POINTS), dtype=np.int64)
    expected = ruleset.decide(matching(ruleset), POINTS)[0].tolist()
    choose_lanes(laid_out, np.zeros(len(POINTS), dtype=np.int64), POINTS, out)
    blocks = new_blocks(laid_out)
    fill_blocks(laid_out, 0, blocks)
    assert out.tolist() == expected
    assert [chosen(laid_out, 0, POINTS, lane) for lane in range(len(POINTS))] == expected
    assert [chosen_by_blocks(laid_out, 0, blocks, POINTS, lane) for lane in range(len(POINTS))] == expected
    parts, origins = ruleset.unwrapped()
    assert (parts.bounds[..., 0] <= parts.bounds[..., 1]).all()
    actions, deciders = parts.choose(POINTS)
    assert actions.tolist() == expected
    known = np.where(deciders < 0, -1, origins[deciders])
    assert known.tolist() == ruleset.choose(POINTS)[1].tolist()


def test_rules_that_wrap_have_other_digests_than_those_that_do_not() -> None:
    batches = [batch_of(DecisionList([[ends]], [0], [COURSE], ACTIONS)) for ends in ([2, 5], [5, 2])]
    one, other = (batch.digests([COURSE]) for batch in batches if batch is not None)
    assert one != other


@given(rulesets())
def test_rules_are_the_same_after_words_plain_data_and_files(ruleset: RuleSet) -> None:
    text = rules_text(ruleset)
    assert parse_rules(text) == ruleset
    assert RuleSet.from_dict(ruleset.to_dict()) == ruleset
    assert valid(ruleset.to_dict())
    conditions = [str(ruleset.condition_in_words(r)) for r in range(len(ruleset))]
    again = "\n".join(f"IF {c} THEN Left" if c else "ALWAYS Left" for c in conditions)
    read = parse_rules(again, features=FEATURES, action_names=ACTIONS)
    np.testing.assert_array_equal(read.bounds, ruleset.bounds)


def test_words_say_the_way_round() -> None:
    assert COURSE.interval_in_words(6, 2) == "course from 6 through 0 to 2 °"
    assert COURSE.interval_in_words(6, 0) == "course from 6 through 7 to 0 °"
    assert COURSE.interval_in_words(7, 0) == "course from 7 to 0 °"
    assert COURSE.interval_in_words(3, 2) == ""
    assert HOUR.interval_in_words(4, 2) == "hour from 4 through 1 to 2"
    assert COURSE.interval_in_words(2, 6) == "course in [2, 6] °"
    assert ANGLE.interval_in_words(0.75, 0.25) == "angle from 0.75 through 0 to 0.25"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("IF course from 6 through 3 to 2 THEN Left", "does not go through 3"),
        ("IF course from 6 to 2 AND course <= 1 THEN Left", "no other test"),
        ("IF course <= 1 AND course from 6 to 2 THEN Left", "no other test"),
        ("IF course from 9 to 2 THEN Left", "leaves the range"),
        ("IF x from 2 to 1 THEN Left", "never matches"),
    ],
)
def test_what_cannot_be_an_interval_is_refused(text: str, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        parse_rules(text, features=FEATURES, action_names=ACTIONS)


def test_centres_of_intervals_that_wrap_lie_on_the_way_round() -> None:
    bounds = np.array([[[6, 1], [0, 2], [1, 4]], [[5, 4], [1, 1], [4, 2]], [[7, 4], [0, 0], [3, 1]]])
    assert centres(bounds, FEATURES).tolist() == [[0.0, 1.0, 2.5], [0.5, 1.0, 1.0], [1.5, 0.0, 4.0]]
    assert centres(np.array([[[0.9, 0.2]]]), (ANGLE,))[0, 0] == pytest.approx(0.05)


@given(rulesets((PredictionArrayRules,)))
def test_notes_hold_every_payoff_that_a_rule_predicts(ruleset: Any) -> None:
    met = matching(ruleset)
    for rule in range(len(ruleset)):
        payoffs = ruleset.weights[rule, 0] * ruleset.x0 + POINTS[met[:, rule]] @ ruleset.weights[rule, 1:]
        low, high = map(float, ruleset.rule_notes(rule).split(" ± ")[0].split("…"))
        assert low - 0.006 <= payoffs.min() <= payoffs.max() <= high + 0.006


def test_the_order_of_bounds_counts_for_cyclic_features_only() -> None:
    turned = DecisionList([[[6, 2], [2, 1], [1, 4]]], [0], FEATURES, ACTIONS)
    assert turned.bounds.tolist() == [[[6, 2], [1, 2], [1, 4]]]
    whole = DecisionList([[[3, 2], [0, 2], [2, 1]]], [0], FEATURES, ACTIONS)
    assert whole.bounds.tolist() == [[[0, 7], [0, 2], [1, 4]]]
    assert decode(np.array([[[6, 2]]])).tolist() == [[[2, 6]]]


def test_a_sum_cannot_be_cyclic_and_old_features_are_not() -> None:
    with pytest.raises(RuleError, match="cannot be cyclic"):
        Feature("sum", 0.0, 1.0, "real", clips=True, of=(("x", 2.0),), cyclic=True)
    with pytest.raises(RuleError, match="true or false"):
        Feature("x", 0, 1, cyclic=1)  # type: ignore[arg-type]  # what is refused
    assert not Feature.from_dict({"name": "x", "kind": "integer", "low": 0, "high": 3}).cyclic
    assert "cyclic" not in STEP.to_dict()


@given(LISTS, LISTS)
def test_proofs_about_lists_hold_in_every_state(a: RuleSet, b: RuleSet) -> None:
    hits, deciders = matching(a), decided(a)
    found = coverage(a.bounds, FEATURES)
    assert found.complete is (-1 not in deciders)
    assert round(found.uncovered_share * len(STATES)) == deciders.count(-1)
    for reach in first_match(a):
        assert reach.decides is (reach.rule in deciders)
        assert reach.share is not None
        assert round(reach.share * len(STATES)) == deciders.count(reach.rule)
        if reach.witness is not None:
            assert a.choose([reach.witness])[1][0] == reach.rule
        else:
            assert hits[hits[:, reach.rule]][:, list(reach.shadowed_by)].any(axis=1).all()
    pairs = itertools.combinations(range(len(a)), 2)
    both = {(r, q) for r, q in pairs if a.actions[r] != a.actions[q] and (hits[:, r] & hits[:, q]).any()}
    assert set(overlaps(a)) == both
    difference = compare(a, b)
    assert difference.equal is bool((a.predict(POINTS) == b.predict(POINTS)).all())
    if difference.witness is not None:
        assert a.predict(difference.witness) != b.predict(difference.witness)


@given(LISTS)
@settings(max_examples=30)
def test_verification_and_counterfactuals_are_right_in_every_state(ruleset: RuleSet) -> None:
    actions = ruleset.predict(POINTS)
    report = verify(ruleset)
    assert report.properties["complete"] is bool((actions >= 0).all())
    start = POINTS[5].tolist()
    found, _ = nearest_in_list(ruleset, start, int(actions[5]))
    others = [distance(FEATURES, start, p) for p in POINTS[actions != actions[5]].tolist()]
    assert (None if found is None else distance(FEATURES, start, found)) == min(others, default=None)
    assert explain(ruleset, start).action == names_of(ruleset, actions)[5]


@given(rulesets())
@settings(max_examples=40)
def test_exports_choose_the_same_in_every_state(ruleset: RuleSet) -> None:
    actions = ruleset.predict(POINTS)
    assert run_python(ruleset, POINTS) == actions.tolist()
    assert run_sql(ruleset, POINTS) == names_of(ruleset, actions)
    assert tree_choices(decision_tree(ruleset), POINTS).tolist() == actions.tolist()
    if ruleset.ordered:
        for format in ("dmn", "dmn-priority"):
            table = Table(export(ruleset, format))
            assert [table.action(point) for point in POINTS.tolist()] == names_of(ruleset, actions)
    for format in ("dot", "markdown", "latex", "csv"):
        assert export(ruleset, format)


@needs_compiler
def test_c_chooses_the_same_in_every_state(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    lows, highs = np.array([[f.low, f.high] for f in FEATURES]).T
    bounds = random.integers(lows[:, None], highs[:, None] + 1, (12, 3, 2))
    ruleset = DecisionList(bounds, random.integers(0, 3, 12), FEATURES, ACTIONS)
    assert (ruleset.bounds[..., 0] > ruleset.bounds[..., 1]).sum() > 3
    assert run_c(ruleset, POINTS, tmp_path) == ruleset.predict(POINTS).tolist()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(-0.5, 1.5))
def test_real_intervals_wrap_too(first: float, last: float, value: float) -> None:
    ruleset = DecisionList([[[first, last]]], [0], [ANGLE], ACTIONS)
    clipped = min(max(value, 0.0), 1.0)
    matches = clipped >= first or clipped <= last if first > last else first <= clipped <= last
    assert ruleset.predict([value]) == (0 if matches else -1)
    assert run_python(ruleset, np.array([[value]])) == [0 if matches else -1]
    assert parse_rules(rules_text(ruleset)) == ruleset
    batch = batch_of(ruleset)
    assert batch is not None
    assert chosen(Intervals.of(batch, [ANGLE]), 0, np.array([[value]]), 0) == (0 if matches else -1)


@given(LISTS)
@settings(max_examples=30)
def test_simpler_rules_choose_the_same(ruleset: RuleSet) -> None:
    shorter = lossless(ruleset).ruleset
    assert len(shorter) <= len(ruleset)
    np.testing.assert_array_equal(shorter.predict(POINTS), ruleset.predict(POINTS))


def test_ppl_dl_learns_rules_that_wrap_and_keeps_them_in_files(tmp_path: Path) -> None:
    task = env_task("ifthen/Evasion-v0", episodes=20)
    assert [f.name for f in task.features if f.cyclic] == ["last turn", "bearing", "heading"]
    system: Any = PPLDL(task, seed=2, pop_size=20, idv_size=10)
    system.learn(epochs=3)
    rules = system.ruleset
    assert (rules.bounds[..., 0] > rules.bounds[..., 1]).any()
    system.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert again.ruleset == rules
    assert again.task.features == task.features
    pruned = prune(rules, task).ruleset
    assert len(pruned) <= len(rules)
