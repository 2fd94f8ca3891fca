"""Explanations name the rule that decides, true numbers, and the state that is truly nearest."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import replace
from fractions import Fraction
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
    TabularTask,
    frozen_lake,
)
from ifthen.errors import RuleError, TaskError
from ifthen.explanation import counterfactual as search
from ifthen.explanation.counterfactual import nearest_alone
from ifthen.explanation.read_ruleset import parse_rules
from ifthen.explanation.why import SHOWN, explain, explain_all
from ifthen.tasks.solve import value_iteration
from tests.rulesets import ACTIONS, FEATURES, all_states, learnt_of, rules, rulesets, voting_rules
from tests.tables import table_named
from tests.worlds import chain, random_policies, random_task, small_lake

STATES = all_states().tolist()
Drawn = tuple[NDArray[np.int32], NDArray[np.int32]]
SPANS = [f.high - f.low for f in FEATURES]


def order_from(state: list[int]) -> list[list[int]]:
    """Return all states, the nearest first: by distance, features changed, values."""

    def key(other: list[int]) -> tuple[Fraction, int, list[int]]:
        steps = [abs(a - b) for a, b in zip(state, other, strict=True)]
        far = sum((Fraction(step, span) for step, span in zip(steps, SPANS, strict=True)), Fraction(0))
        return far, sum(step > 0 for step in steps), other

    return sorted(STATES, key=key)


@given(rulesets(), st.sampled_from(STATES))
def test_the_action_and_the_rule_are_those_that_the_ruleset_chooses(
    ruleset: RuleSet, state: list[int]
) -> None:
    found = explain(ruleset, state)
    actions, deciders = ruleset.choose(np.array([state], dtype=np.float64))
    assert found.observation == dict(zip(("u", "v"), state, strict=True))
    assert found.action == (None if actions[0] < 0 else ACTIONS[actions[0]])
    assert found.rule == (None if actions[0] < 0 else deciders[0])
    matching = set(np.flatnonzero(ruleset.matches(state)).tolist())
    assert {lost.rule for lost in found.others} == matching - {found.rule}
    assert len(found.others) == len(matching) - (found.rule is not None)
    json.dumps(found.to_dict(), allow_nan=False)


@given(st.one_of(rulesets(), voting_rules()), st.sampled_from(STATES))
def test_no_state_nearer_than_the_counterfactual_changes_the_action(
    ruleset: RuleSet, state: list[int]
) -> None:
    action = ruleset.predict(state)
    expected = next((other for other in order_from(state) if ruleset.predict(other) != action), None)
    found = explain(ruleset, state).counterfactual
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert list(found.observation.values()) == expected
        changed = ruleset.predict(expected)
        assert found.action == (None if changed < 0 else ACTIONS[changed])
        assert set(found.changes) == {n for n, a, b in zip("uv", state, expected, strict=True) if a != b}


@given(rules(), st.sampled_from(STATES))
def test_box_reasoning_finds_the_same_nearest_state_as_listing_all(drawn: Drawn, state: list[int]) -> None:
    ruleset = DecisionList(*drawn, FEATURES, ACTIONS)
    action = ruleset.predict(state)
    expected = next((other for other in order_from(state) if ruleset.predict(other) != action), None)
    found, note = search.nearest_in_list(ruleset, state, action)
    assert found == expected
    assert (note == "") == (expected is not None)


REALS = (Feature("h", 0, 1, kind="real", unit="m"), Feature("n", 0, 3))
EDGES = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.0])


@st.composite
def real_lists(draw: st.DrawFn) -> DecisionList:
    n = draw(st.integers(1, 6))
    bounds: Any = [
        [[draw(EDGES), draw(EDGES)], [draw(st.integers(0, 3)), draw(st.integers(0, 3))]] for _ in range(n)
    ]
    return DecisionList(bounds, [draw(st.integers(0, 1)) for _ in range(n)], REALS, ("Up", "Down"))


@given(real_lists(), st.floats(0, 1), st.integers(0, 3))
def test_over_real_features_no_edge_and_no_number_beside_one_is_nearer(
    ruleset: DecisionList, h: float, n: int
) -> None:
    # Between its own value, the edges and their neighbours, moving further only adds distance.
    edges = [0.0, 0.1, 0.3, 0.5, 0.7, 1.0]
    beside = [float(np.nextafter(e, to)) for e in edges for to in (-1.0, 2.0)]
    values = sorted({h, *edges, *(b for b in beside if 0 <= b <= 1)})
    action = ruleset.predict([h, n])
    other = [p for p in itertools.product(values, range(4)) if ruleset.predict(p) != action]
    found = explain(ruleset, [h, n])
    if not other:
        assert found.counterfactual is None
        assert found.counterfactual_note == "every state gets the same answer"
    else:
        nearest = min(abs(Fraction(a) - Fraction(h)) + Fraction(abs(b - n), 3) for a, b in other)
        assert found.counterfactual is not None
        a, b = found.counterfactual.observation.values()
        assert abs(Fraction(a) - Fraction(h)) + Fraction(abs(int(b) - n), 3) == nearest
        assert ruleset.predict([a, b]) != action


def low_or_high() -> DecisionList:
    bounds: Any = [[[0.0, 0.3], [0, 3]], [[0, 1], [0, 3]]]
    return DecisionList(bounds, [0, 1], REALS, ("Up", "Down"))


def test_a_value_beside_an_edge_is_said_as_just_above_it() -> None:
    ruleset = low_or_high()
    text = str(explain(ruleset, {"h": 0.25, "n": 1}))
    assert "At h = 0.25 m, n = 1 the action is Up" in text
    assert "with h just above 0.3 m instead of 0.25 m, the action would be Down" in text
    assert "2. OTHERWISE Down" in text


def test_a_search_that_gives_up_says_what_it_knows() -> None:
    ruleset = low_or_high()
    found, note = search.nearest_in_list(ruleset, [0.0, 0.0], 0, budget=2)
    assert found is None
    assert note == "given up after 2 boxes: no state nearer than 0.3 changes the action"


def test_strength_rules_over_real_features_are_asked_one_feature_at_a_time_and_say_so() -> None:
    names = ("Up", "Down")
    alone = StrengthRules([[[0, 1], [0, 3]]], [0], REALS, names, [[1, 0, 0]], [0])
    found = explain(alone, [0.5, 1])
    assert found.counterfactual is None
    assert found.counterfactual_note.startswith("no change of one feature alone was found")
    assert "give a task" not in str(found)
    bounds: Any = [[[0, 1], [0, 3]], [[0.75, 1], [0, 3]]]
    two = StrengthRules(bounds, [0, 1], REALS, names, [[1, 0, 0], [2, 0, 0]], [0, 0])
    changed = explain(two, [0.5, 1]).counterfactual
    assert changed is not None
    assert (changed.changes, changed.action) == ({"h": (0.5, 0.75)}, "Down")
    assert "only one feature was changed at a time" in str(explain(two, [0.5, 1]))


def test_rules_that_change_places_between_their_ends_are_found() -> None:
    whole = [[0, 1], [0, 3]]
    crossing = StrengthRules(
        [whole, whole], [0, 1], REALS, ("Up", "Down"), [[0, 0, 0], [-1, 2, 0]], [0, 0], 1.0
    )
    changed = explain(crossing, [0.2, 1]).counterfactual
    assert changed is not None
    assert changed.action == "Down"
    assert changed.observation["h"] == pytest.approx(0.505)  # the first of 200 steps beyond 0.5


@given(voting_rules(), st.data())
def test_what_is_found_for_one_feature_alone_does_change_the_action(
    ruleset: RuleSet, data: st.DataObject
) -> None:
    start = [data.draw(st.integers(f.low, f.high)) for f in ruleset.features]
    (action,) = ruleset.choose(np.array([start], dtype=np.float64))[0].tolist()
    grid = all_states().astype(np.float64)
    alone = grid[(grid != start).sum(axis=1) == 1]
    spans = np.array([f.high - f.low for f in ruleset.features])
    far = (np.abs(alone - start) / spans).sum(axis=1)[ruleset.choose(alone)[0] != action]
    found = nearest_alone(ruleset, start, action)
    assert (found is None) == (len(far) == 0)
    if found is not None:  # of whole numbers all are tried, so that the nearest is found
        assert (np.abs(np.array(found) - start) / spans).sum() == pytest.approx(far.min())


def test_a_value_beyond_a_range_is_shown_with_what_it_counts_as() -> None:
    place = Feature("place", -2.4, 2.4, "real", "m", clips=True)
    ruleset = DecisionList([[[0.3, 2.4]], [[-2.4, 2.4]]], [0, 1], [place], ("Up", "Down"))
    found = explain(ruleset, {"place": 2.5})
    assert str(found).startswith("At place = 2.5 m (counts as 2.4 m) the action is Up")
    assert found.observation == {"place": 2.4}
    assert str(explain(ruleset, [2.4])).startswith("At place = 2.4 m the action is Up")


def test_values_have_as_few_digits_as_no_rule_can_tell_apart() -> None:
    place = Feature("place", -2.4, 2.4, "real")
    ruleset = DecisionList([[[0.3, 2.4]], [[-2.4, 2.4]]], [0, 1], [place], ("Up", "Down"))
    assert "At place = 0.4123 " in str(explain(ruleset, [0.41231231231231]))
    below = float(np.float32(0.29999998))
    assert "At place = 0.29999998 the action is Down" in str(explain(ruleset, [below]))
    assert "At place = -0.0003 the" in str(explain(ruleset, [-0.0003]))


@given(rules(), st.data())
def test_strengths_that_are_named_are_those_that_were_compared(drawn: Drawn, data: st.DataObject) -> None:
    learnt = data.draw(learnt_of(len(drawn[1])))
    ruleset = StrengthRules(*drawn, FEATURES, ACTIONS, learnt[:, :3], learnt[:, 3], 1.0)
    state = data.draw(st.sampled_from(STATES))
    found, strengths = explain(ruleset, state), ruleset.strengths(np.array([state], dtype=np.float64))[0]
    for lost in found.others:
        assert found.rule is not None
        assert lost.score == strengths[lost.rule] <= strengths[found.rule]
        tied = lost.score == strengths[found.rule]
        assert tied == ("equal strength" in lost.why)
        assert ("same action" in lost.why) == (lost.action == found.action)
        if not tied:
            less, more = lost.why.removeprefix("weaker: ").split(",")[0].split(" < ")
            assert float(less) < float(more)
    matching = ruleset.matches(state)
    assert found.scores == {
        ACTIONS[a]: strengths[matching & (ruleset.actions == a)].max()
        for a in set(ruleset.actions[matching].tolist())
    }
    assert found.scores.get(found.action or "", -np.inf) == max(found.scores.values(), default=-np.inf)


@given(voting_rules(), st.sampled_from(STATES))
def test_payoffs_that_are_named_are_the_prediction_array(
    ruleset: PredictionArrayRules, state: list[int]
) -> None:
    found, array = explain(ruleset, state), ruleset.prediction_array(state)
    assert found.scores == {ACTIONS[a]: array[a] for a in range(3) if not np.isnan(array[a])}
    predicted = ruleset.predictions(np.array([state], dtype=np.float64))[0]
    assert all(lost.score == predicted[lost.rule] for lost in found.others)
    for lost in found.others:
        assert ("same action" in lost.why) == (lost.action == found.action)


def strength_rules(*strengths: float, actions: list[int]) -> StrengthRules:
    n = len(strengths)
    weights = [[strength, 0, 0] for strength in strengths]
    return StrengthRules([[[-3, 4], [0, 6]]] * n, actions, FEATURES, ACTIONS, weights, [0] * n, 1.0)


@pytest.mark.parametrize(
    ("ruleset", "reason"),
    [
        (strength_rules(0.71, actions=[0]), "rule 1 is the only one that matches"),
        (
            strength_rules(0.65, 0.71, actions=[0, 1]),
            "rule 2 is the strongest: 0.71, next is rule 1 with 0.65",
        ),
        (
            strength_rules(0.71, 0.70999, actions=[1, 0]),
            "rule 1 is the strongest: 0.71, next is rule 2 with 0.70999",
        ),
        (
            strength_rules(0.71, 0.71, actions=[1, 0]),
            "rules 2 and 1 have equal strength, 0.71: with equal strength, the lower action index wins, "
            "Left before Down",
        ),
        (
            strength_rules(0.71, 0.71, actions=[1, 1]),
            "rules 1 and 2 have equal strength, 0.71, and speak for the same action",
        ),
        (
            DecisionList([[[-3, 4], [0, 6]]] * 2, [1, 0], FEATURES, ACTIONS),
            "rule 1 is the first that matches",
        ),
    ],
)
def test_the_reason_is_one_sentence_with_the_numbers(ruleset: RuleSet, reason: str) -> None:
    assert explain(ruleset, [0, 0]).reason == reason


def voters(payoffs: list[float], actions: list[int], fitness: list[float]) -> PredictionArrayRules:
    n = len(payoffs)
    weights, zeros = [[payoff, 0, 0] for payoff in payoffs], [0] * n
    whole = [[[-3, 4], [0, 6]]] * n
    return PredictionArrayRules(
        whole, actions, FEATURES, ACTIONS, weights, fitness, zeros, [1] * n, zeros, 1.0
    )


def test_voting_rules_are_explained_by_payoffs_and_the_fittest_rule() -> None:
    found = explain(voters([0.7, 0.72, 0.65], [1, 1, 2], [0.25, 0.25, 0.5]), [0, 0])
    assert (found.action, found.rule) == ("Down", 0)
    assert found.reason == (
        "Down is predicted to pay 0.71, next Right 0.65; rule 1 is the fittest of the 2 that speak for Down"
    )
    assert [lost.why for lost in found.others] == [
        "speaks for the same action, equally fit (0.25)",
        "Right is predicted to pay less: 0.65 < 0.71",
    ]
    tie = explain(voters([0.5, 0.5], [2, 1], [1, 1]), [0, 0])
    assert (
        tie.reason
        == "Down and Right are predicted to pay the same, 0.5: of equals, the lower action index wins"
    )
    alone = explain(voters([0.5], [2], [1]), [0, 0])
    assert "no matching rule speaks for another action" in alone.reason


def test_where_no_rule_matches_the_nearest_state_that_has_one_is_given() -> None:
    ruleset = DecisionList([[[2, 4], [0, 6]]], [1], FEATURES, ACTIONS)
    found = explain(ruleset, [0, 3])
    assert (found.action, found.rule, found.reason) == (None, None, "no rule matches")
    assert found.counterfactual is not None
    assert found.counterfactual.changes == {"u": (0, 2)}
    assert str(found).splitlines() == [
        "At u = 0, v = 3 nothing is done: no rule matches.",
        "What would change it: with u = 2 instead of 0, the action would be Down (distance 0.286).",
        "  1. IF u ≥ 2 THEN Down",
    ]
    assert "no rule would match" in str(explain(ruleset, [2, 3]))


@given(st.integers(0, 20), st.integers(0, 5))
@settings(max_examples=25)
def test_with_a_task_only_its_decision_states_are_looked_at(seed: int, which: int) -> None:
    task = random_task(seed)
    rng = np.random.default_rng(seed)
    bounds = np.stack([rng.integers(-1, 2, (5, 2)), rng.integers(5, 10, (5, 2))], axis=1)
    ruleset = DecisionList(bounds, rng.integers(0, 3, 5), task.features, task.action_names)
    points = task.dynamics.points
    found = explain(ruleset, points[which % len(points)], task)
    other = [p for p in points.tolist() if ruleset.predict(p) != ruleset.predict(points[which % len(points)])]
    if not other:
        assert found.counterfactual is None
        assert found.counterfactual_note == f"all decision states of random-{seed} get the same answer"
    else:
        assert found.counterfactual is not None
        assert list(found.counterfactual.observation.values()) in other
        start = points[which % len(points)]
        nearest = min((np.abs(np.array(p) - start) / (2, 4)).sum() for p in other)
        assert found.counterfactual.distance == pytest.approx(nearest, abs=1e-12)


def test_long_explanations_are_cut_in_the_text_and_whole_in_the_data() -> None:
    ruleset = DecisionList([[[-3, 4], [0, 6]]] * 20, [0] * 20, FEATURES, ACTIONS)
    found = explain(ruleset, [0, 0])
    assert len(found.others) == 19
    assert f"and {19 - SHOWN} more" in str(found)
    assert "What would change it: all states get the same answer." in str(found)


def test_all_states_of_a_lake_are_explained_as_one_by_one() -> None:
    task = small_lake()
    table = random_policies(task, 1, 3)[0]
    ruleset = DecisionList(
        np.repeat(task.dynamics.states[:, :, None], 2, axis=2), table, task.features, task.action_names
    )
    found = explain_all(ruleset, task.dynamics.points, task)
    assert found == [explain(ruleset, point, task) for point in task.dynamics.points]


def test_the_states_of_a_large_lake_are_explained_in_well_under_a_second() -> None:
    rng, n = np.random.default_rng(0), 42
    grid = (Feature("x", 0, 11), Feature("y", 0, 11))
    ruleset = StrengthRules(
        rng.integers(0, 12, (n, 2, 2)),
        rng.integers(0, 3, n),
        grid,
        ACTIONS,
        rng.normal(size=(n, 3)),
        np.ones(n),
    )
    points = list(itertools.product(range(12), range(12)))
    explain_all(ruleset, points[:1])
    start = time.perf_counter()
    explain_all(ruleset, points)
    assert time.perf_counter() - start < 1.0


def one_action(task: TabularTask, action: int) -> DecisionList:
    whole = [[f.low, f.high] for f in task.features]
    return DecisionList([whole], [action], task.features, task.action_names)


@pytest.mark.parametrize(
    ("state", "place"),
    [({"x": 1, "y": 1}, "a hole of FrozenLake-4-0.3"), ({"x": 3, "y": 3}, "a goal of FrozenLake-4-0.3")],
)
def test_where_the_policy_is_never_asked_it_says_so(state: dict[str, float], place: str) -> None:
    found = explain(one_action(small_lake(), 2), state, small_lake())
    at = f"x = {state['x']}, y = {state['y']}"
    assert not found.asked
    assert str(found).splitlines()[:3] == [
        f"At {at} is {place}: the policy is never asked there.",
        "Its rules would say Right: rule 1 is the only one that matches.",
        "  1. ALWAYS Right",
    ]
    assert (found.to_dict()["asked"], found.to_dict()["place"], found.to_dict()["optimal"]) == (
        False,
        place,
        None,
    )
    assert "optimal" not in str(found)
    assert explain(one_action(small_lake(), 2), state).asked


def test_what_a_task_without_a_map_never_asks_about_is_an_ending_or_no_state_or_never_reached() -> None:
    taxi, cliff = table_named("Taxi-v4"), table_named("CliffWalking-v1")
    for task, point, place in (
        (taxi, [0, 0, 0, 0], "an ending of Taxi-v4"),
        (taxi, [2, 2, 0, 0], "a state of Taxi-v4 that is never reached"),
        (cliff, [11, 3], "a goal of CliffWalking-v1"),
        (cliff, [5, 3], "a state of CliffWalking-v1 that is never reached"),
    ):
        found = explain(one_action(task, 1), point, task)
        assert (found.asked, found.standing.place) == (False, place)
    lake = frozen_lake(desc=["SFG"])
    wider = replace(lake, features=(Feature("x", 0, 3), Feature("y", 0, 0)), layout=None)
    none = DecisionList([[[0, 0], [0, 0]]], [0], wider.features, wider.action_names)
    found = explain(none, [3, 0], wider)
    assert found.standing.place == f"no state of {lake.name}"
    assert "Its rules would do nothing: no rule matches." in str(found)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_in_decision_states_the_action_is_called_optimal_or_its_cost_is_named(seed: int) -> None:
    task = random_task(seed)
    best, vectors = value_iteration(task), task.state_features.tolist()
    for action in range(3):
        for state, found in zip(
            task.decision_states,
            explain_all(one_action(task, action), task.dynamics.points, task),
            strict=True,
        ):
            alike = [s for s in task.decision_states if vectors[s] == vectors[state]]
            standing, good = found.standing, [bool(best.optimal_actions[s, action]) for s in alike]
            assert standing.optimal == all(good)
            if len(alike) > 1:
                assert standing.loss is None
                assert f"optimal in {sum(good)} of the {len(alike)} states that look like this." in str(found)
                continue
            optimal = np.flatnonzero(best.optimal_actions[state])
            assert standing.best == tuple(task.action_names[a] for a in optimal)
            loss = best.values[state] - best.action_values[state, action]
            assert standing.loss == pytest.approx(loss, abs=1e-9)
            said = f" would be worth {loss:.3g} more." if loss > 1e-6 else "\nIt is optimal.\n"
            assert said in str(found)


def test_what_would_be_optimal_is_said_where_no_rule_matches_and_of_how_many_steps_without_discount() -> None:
    task = chain()
    nothing = DecisionList([[[1, 1]]], [0], task.features, task.action_names)
    assert "\nOptimal would be Go.\n" in str(explain(nothing, [0], task))
    endless = chain(gamma=1.0)
    waits = str(explain(one_action(endless, 1), [1], endless))
    assert f" with all {endless.t_max} steps left." in waits


def test_where_states_look_the_same_it_is_said_in_how_many_the_action_is_optimal() -> None:
    task = frozen_lake(desc=["SFG"])
    alike = replace(task, state_features=np.zeros((3, 2), dtype=np.int32), layout=None)
    left = explain(one_action(alike, 0), [0, 0], alike)
    right = explain(one_action(alike, 2), [0, 0], alike)
    assert "It is optimal in 0 of the 2 states that look like this." in str(left)
    assert (left.standing.optimal, right.standing.optimal, right.standing.loss) == (False, True, None)


def test_what_cannot_be_explained_is_refused() -> None:
    ruleset = DecisionList([[[-3, 4], [0, 6]]], [0], FEATURES, ACTIONS)
    for observation, message in (
        ([0.5, 0], "must be whole"),
        ([[0, 0]], "explain_all takes many"),
        ({"u": 0}, "leaves out v"),
        ({"u": 0, "w": 0}, "no feature 'w'"),
        ([9, 0], "must be from"),
    ):
        with pytest.raises(RuleError, match=message):
            explain(ruleset, observation)
    with pytest.raises(RuleError, match="a RuleSet or a trained system"):
        explain("rules", [0, 0])  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(TaskError, match="the ruleset speaks of"):
        explain(ruleset, [0, 0], small_lake())


def test_a_change_too_small_to_measure_is_said_to_be_at_the_edge() -> None:
    level = Feature("level", 0.0, 10.0, "real")
    valve = parse_rules("IF level <= 5 THEN open\nOTHERWISE close", (level,), ("open", "close"))
    said = str(explain(valve, [5.0]))
    assert "with level just above 5 instead of 5, the action would be close (right at the edge)" in said
