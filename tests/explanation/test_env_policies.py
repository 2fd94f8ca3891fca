"""Policies of environments, verified, compared and explained: what needs a table of states is left out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import (
    PPLDL,
    DecisionList,
    diff,
    env_task,
    evaluate,
    front,
    parse_rules,
    prune,
    shortest_decision_list,
    verify,
)
from ifthen.errors import ParameterError, RuleError, TaskError
from ifthen.explanation.reading import read_rules, readable
from ifthen.explanation.why import explain
from ifthen.exports import FORMATS, export
from ifthen.simulate.scope import listed, tabular, visited_states
from ifthen.tables import best_action_map
from ifthen.verification.case import grounds
from ifthen.verification.properties import names_for
from tests.envs import task_of
from tests.explanation.env_policies import some_rules
from tests.simplify.test_by_play import blackjack, cart_pole, random_list, random_strengths, votes
from tests.worlds import small_lake

GOOD = """
1. IF pole velocity <= -0.1 THEN push left
2. IF pole velocity >= 0.3 THEN push right
3. IF pole angle >= -0.01 THEN push right
4. OTHERWISE push left
"""
HOLEY = "IF pole angle >= 0 THEN push right"


def rules_of(text: str) -> DecisionList:
    rules = parse_rules(text, task=cart_pole())
    assert isinstance(rules, DecisionList)
    return rules


@given(st.integers(0, 10_000))
@settings(max_examples=8)
def test_rules_are_verified_on_the_whole_space_and_measured_by_playing(seed: int) -> None:
    rules, task = random_list(cart_pole(), seed), cart_pole()
    found, everywhere = verify(rules, task), verify(rules)
    shared = {name: found.properties[name] for name in everywhere.properties}
    assert shared == dict(everywhere.properties)
    assert set(found.properties) == set(names_for(grounds(task)))
    assert found.properties["performance"] == evaluate(rules, task).performance
    trained = evaluate(rules, task, seeds="training").performance
    assert found.properties["training-performance"] == trained
    left = next(finding for finding in found.findings if finding.kind == "left-out")
    assert left.data["properties"] == [
        *("goal-reachable", "goal-certain", "safe", "optimal", "fraction", "goal-probability")
    ]
    assert "An environment has none" in found.to_text(10_000)
    assert "**left-out**" in found.to_markdown()
    json.dumps(found.to_dict())


def test_rules_that_decide_in_no_state_met_are_named() -> None:
    text = GOOD.replace("1. ", "1. IF cart position >= 2.3 THEN push left\n1. ")
    found = verify(rules_of(text), cart_pole())
    (idle,) = (finding for finding in found.findings if finding.kind == "never-met")
    assert idle.rules == (0,)
    assert idle.data["decided"][0] == 0
    assert sum(idle.data["decided"]) == idle.data["states"]
    assert not [f for f in verify(rules_of(GOOD), cart_pole()).findings if f.kind == "never-met"]


def test_a_state_met_without_a_rule_is_the_witness_of_the_floor() -> None:
    rules, task = rules_of(HOLEY), cart_pole()
    found = verify(rules, task, "performance>=0")
    assert not found
    for name in ("performance", "training-performance"):
        (finding,) = (finding for finding in found.findings if finding.kind == name)
        assert (finding.severity, found.properties[name]) == ("problem", task.floor)
        assert finding.witness is not None
        assert rules.predict(list(finding.witness.values())) == -1


def test_what_is_required_in_an_environment_must_make_sense_there() -> None:
    rules, task = rules_of(GOOD), cart_pole()
    assert verify(rules, task, "complete,performance>=40,training-performance>=40,rules<=4")
    assert not verify(rules, task, "performance>80")
    with pytest.raises(ParameterError, match=r"'safe' needs a table of states.*training-performance"):
        verify(rules, task, "safe")
    lake = small_lake()
    always = DecisionList([[[0, 3], [0, 3]]], [0], lake.features, lake.action_names)
    with pytest.raises(ParameterError, match="is for environments"):
        verify(always, lake, "training-performance>=1")
    with pytest.raises(ParameterError, match="needs a task"):
        verify(rules, None, "performance>=1")


def test_a_requirement_on_a_mean_says_how_sure_it_is() -> None:
    task = env_task("MountainCar-v0", episodes=5, t_max=200)
    text = "1. IF velocity <= -0.0005 THEN push left\n2. IF position >= -0.52 THEN push right\n"
    rules = parse_rules(f"{text}3. OTHERWISE push right\n", task=task)
    score = evaluate(rules, task)
    assert score.interval is not None
    low, high = score.interval
    assert low < score.performance < high
    for wanted, sure in ((low - 1, True), ((low + score.performance) / 2, False)):
        (required,) = verify(rules, task, f"performance>={wanted}").requirements
        assert required.passed
        assert ("the whole interval is above" in required.why) is sure
        assert ("met by the mean" in required.why) is not sure
        assert ("lies inside the interval" in required.why) is not sure
        assert "not sure" not in required.why
        assert "test seeds" in required.why
        assert "95 % interval" in required.why
    (missed,) = verify(rules, task, f"performance>={(high + score.performance) / 2}").requirements
    assert not missed.passed
    assert "missed by the mean" in missed.why


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=10)
def test_two_policies_are_compared_in_the_states_that_they_meet(seed: int, strengths: bool) -> None:
    task = cart_pole()
    a, b = random_list(task, seed), random_list(task, seed + 1)
    if strengths:
        a, b = random_strengths(task, seed), random_strengths(task, seed + 1)  # type: ignore[assignment]
    found = diff(a, b, task)
    assert found.visited is not None
    assert found.differ is not None
    assert found.performances is not None
    assert found.training_performances is not None
    for i, rules in enumerate((a, b)):
        points = visited_states(rules, task, task.z).points
        assert found.visited[i] == len(points)
        assert found.differ[i] == int((a.predict(points) != b.predict(points)).sum())
        assert found.performances[i] == evaluate(rules, task).performance
        trained = evaluate(rules, task, seeds="training").performance
        assert found.training_performances[i] == trained
    assert found.difference == found.performances[1] - found.performances[0]
    for state in found.states:
        point = list(state.features.values())
        chosen = [rules.predict(point) for rules in (a, b)]
        assert chosen[0] != chosen[1]
        assert [state.a.action, state.b.action] == [task.action_names[action] for action in chosen]
    assert found.equal is (False if found.states else None if strengths else True)
    json.dumps(found.to_dict())
    assert len(found.to_table()) == len(found.states)
    assert all(len(line) <= 70 for line in found.to_text(70).splitlines())


def test_lists_that_do_the_same_everywhere_are_proved_to() -> None:
    same = GOOD.replace("4. ", "4. IF cart position >= 1 THEN push left\n5. ")
    found = diff(rules_of(GOOD), rules_of(same), cart_pole(), ("mine", "yours"))
    assert found.equal is True
    assert "mine and yours do the same in every observation of CartPole-v1." in str(found)
    elsewhere = GOOD.replace("1. ", "1. IF cart position >= 2.39 and pole angle >= 0.2 THEN push left\n2. ")
    found = diff(rules_of(GOOD), rules_of(elsewhere), cart_pole())
    assert found.equal is False  # nobody gets there, yet there they differ
    assert found.differ == (0, 0)
    assert len(found.states) == 1


def test_strengths_that_no_state_met_tells_apart_are_not_known_to_differ() -> None:
    rules = random_strengths(cart_pole(), 3)
    found = diff(rules, rules, cart_pole())
    assert found.equal is None
    assert "no visited state tells them apart" in str(found)


def test_observations_that_can_be_listed_are() -> None:
    task = blackjack()
    stick, hit = (f'"{name}"' for name in task.action_names)
    text = f'1. IF "{task.features[0].name}" <= 16 THEN {hit}\n2. OTHERWISE {stick}'
    a, b = (parse_rules(each, task=task) for each in (text, text.replace("16", "17")))
    found = diff(a, b, task)
    scope = listed(a, task)
    assert scope is not None
    points = scope.points
    assert found.listed
    assert len(found.states) == int((a.predict(points) != b.predict(points)).sum()) > 0
    strengths = random_strengths(task, 1)
    made = prune(strengths, task, to="list").ruleset
    assert made.predict(points).tolist() == strengths.predict(points).tolist()


def test_an_observation_is_explained_without_values_and_clipped() -> None:
    rules = rules_of(GOOD)
    found = explain(rules, [0, 0, 0, 99], cart_pole())
    assert (found.action, found.rule, found.standing.optimal, found.standing.best) == (
        "push right",
        1,
        None,
        (),
    )
    assert found.observation["pole velocity"] == cart_pole().features[3].high
    assert found.counterfactual is not None
    assert rules.predict(list(found.counterfactual.observation.values())) == 0
    assert found == explain(rules, [0, 0, 0, 99])


def test_pruning_without_a_task_and_making_a_list_change_nothing_anywhere() -> None:
    rules = random_list(cart_pole(), 7)
    assert diff(rules, prune(rules).ruleset).equal
    listed = prune(rules, cart_pole(), to="list")
    assert "every observation of CartPole-v1" in str(listed)
    assert diff(rules, listed.ruleset).equal


def test_strengths_without_an_order_are_not_made_a_list_everywhere() -> None:
    rules = random_strengths(cart_pole(), 3)
    with pytest.raises(RuleError, match="cannot be made a decision list everywhere"):
        prune(rules, cart_pole(), to="list")
    constant = random_strengths(cart_pole(), 3, slope=0.0)
    made = prune(constant, cart_pole(), to="list").ruleset
    points = visited_states(made, cart_pole(), np.arange(3)).points
    assert made.predict(points).tolist() == constant.predict(points).tolist()


@pytest.mark.parametrize("rules", [rules_of(GOOD), random_strengths(cart_pole(), 2), votes(cart_pole(), 2)])
def test_shares_are_of_the_states_met(rules: Any) -> None:
    task = cart_pole()
    points = visited_states(rules, task, task.z).points
    _, deciders = rules.choose(points)
    counts = np.bincount(deciders, minlength=len(rules)).tolist()
    reading = read_rules(rules, task)
    assert {rule.rule: rule.decides for rule in reading.rules} == dict(enumerate(counts))
    assert f"the {len(points):,} visited states of 4 episodes of CartPole-v1" in reading.heading
    assert [rule.decides for rule in reading.in_order] == counts


def test_the_readable_rules_of_an_xcsf_choose_the_same_in_the_states_met() -> None:
    rules, task = votes(cart_pole(), 4, 200), cart_pole()
    found = readable(rules, task)
    points = visited_states(rules, task, task.z).points
    assert len(found) < 200
    assert found.predict(points).tolist() == rules.predict(points).tolist()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_written_for_an_environment(format: str) -> None:
    text = export(rules_of(GOOD), format, cart_pole())
    assert text == export(rules_of(GOOD), format, cart_pole())
    if format not in ("csv", "markdown", "latex"):
        assert "CartPole-v1" in text


@pytest.mark.parametrize(
    "ask",
    [
        lambda task: front(rules_of(GOOD), task, polish=True),
        lambda task: prune(votes(task, 1), task, method="greedy"),
        lambda task: best_action_map(rules_of(GOOD), task),
        lambda task: tabular(task, "this"),
    ],
)
def test_what_needs_a_table_of_states_says_so(ask: Any) -> None:
    with pytest.raises(
        TaskError, match="needs a table of states, which CartPole-v1, an environment, does not have"
    ):
        ask(cart_pole())


def test_optimal_policies_of_environments_are_not_known() -> None:
    with pytest.raises(TaskError, match="needs a table of states"):
        shortest_decision_list(cart_pole())


def test_rules_about_something_else_are_refused() -> None:
    lake = small_lake()
    rules = DecisionList([[[0, 3], [0, 3]]], [0], lake.features, lake.action_names)
    for ask in (verify, prune, read_rules, lambda r, t: explain(r, [0, 0], t), lambda r, t: diff(r, r, t)):
        with pytest.raises(TaskError, match="the ruleset speaks of x"):
            ask(rules, cart_pole())
    with pytest.raises(TaskError, match="the ruleset speaks of x"):
        export(rules, "json", cart_pole())


def test_a_system_takes_features_by_name_and_shows_values_beyond_a_range_as_given() -> None:
    system = PPLDL(cart_pole(), pop_size=4, idv_size=3).learn(epochs=1)
    values = {"cart position": 2.5, "cart velocity": 0.1, "pole angle": 0.02, "pole velocity": 0.3}
    by_name, by_row = explain(system, values), explain(system, np.array(list(values.values()), np.float32))
    assert (by_name.action, by_name.rule) == (by_row.action, by_row.rule)
    for said in map(str, (by_name, by_row)):
        assert said.startswith(
            "At cart position = 2.5 (counts as 2.4), cart velocity = 0.1, pole angle = 0.02 "
        )
    with pytest.raises(RuleError, match="Did you mean 'cart position'"):
        explain(system, {**values, "cart positon": 1.0})
    with pytest.raises(RuleError, match="leaves out pole velocity"):
        explain(system, {name: values[name] for name in list(values)[:3]})


def test_a_dictionary_of_the_environments_own_is_still_an_observation() -> None:
    task = task_of(kind="dict")
    system = PPLDL(task, pop_size=4, idv_size=3).learn(epochs=1)
    env = task.make()
    observation, _ = env.reset(seed=3)
    env.close()
    expected = dict(zip((f.name for f in task.features), task.features_of(observation).tolist(), strict=True))
    assert explain(system, observation).observation == expected
    assert explain(system, expected).observation == expected


def test_only_rules_that_are_proven_idle_are_said_never_to_decide() -> None:
    rules = rules_of(
        "1. IF pole angle >= -0.15 THEN push right\n"
        "2. IF pole angle >= 0.1 THEN push left\n"  # behind rule 1
        "3. IF cart position >= 2.3 AND pole angle <= -0.2 THEN push left\n"  # where no episode gets
        "4. OTHERWISE push left\n"
    )
    said = [rule.decides_in_words for rule in read_rules(rules, cart_pole()).rules]
    assert said[1:3] == ["never decides", "not visited"]
    n = 60
    many = some_rules("prediction-array", cart_pole(), n)
    reading = read_rules(many, cart_pole())
    assert not any(rule.never for rule in reading.rules)
    assert "in none of the visited states (but may vote)" in reading.to_text()
    assert "never decide" not in reading.to_text(everything=True)
