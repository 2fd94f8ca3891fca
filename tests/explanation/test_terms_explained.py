"""Policies with terms: why they act, what would change it, pruning, play and pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import (
    DecisionList,
    RuleSet,
    evaluate,
    explain,
    frozen_lake,
    parse_rules,
    prune,
    read_rules,
    verify,
)
from ifthen.environments.twin_registry import twin_of
from ifthen.explanation.pictures.planes import regions
from ifthen.rules.batch import stacked
from ifthen.rules.term import coefficients
from ifthen.simulate.scope import choose_at
from ifthen.simulate.table_rules import policy_tables
from ifthen.simulate.table_simulator import TableSimulator, policy_table
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.simulate.vector_simulator import VectorSimulator
from tests import naive_envs
from tests.explanation.env_policies import a_task
from tests.rules.test_terms import example, lists_with_terms, points

POLE = """
LET tilt = pole angle + 0.5*pole velocity
LET needless = cart position + cart velocity
1. IF tilt >= 0.1 THEN push right
2. IF tilt <= -0.1 THEN push left
3. IF cart position + 2*cart velocity - pole angle >= 0.3 THEN push right
4. IF tilt >= 0 THEN push right
5. OTHERWISE push left
"""


def pole() -> RuleSet:
    return parse_rules(POLE, task=a_task("CartPole-v1"))


def test_an_explanation_says_how_the_values_of_terms_come_about() -> None:
    found = explain(pole(), [0.1, -0.2, 0.02, 0.3])
    assert found.terms["tilt"] == 0.02 + 0.5 * 0.3
    assert "  tilt = pole angle + 0.5·pole velocity = 0.02 + 0.5·0.3 = 0.17\n" in str(found)
    assert "cart position + 2·cart velocity − pole angle = 0.1 + 2·(-0.2) − 0.02 = -0.32\n" in str(found)
    assert "with pole velocity just below -0.04 rad/s instead of 0.3 rad/s" in str(found)
    assert found.to_dict()["terms"] == found.terms
    assert (
        "terms"
        not in explain(
            pole().without_unused_terms().subset([4]).without_unused_terms(), [0, 0, 0, 0]
        ).to_dict()
    )


@given(lists_with_terms(), st.integers(0, 99))
@settings(max_examples=40)
def test_what_would_change_the_action_does(rules: DecisionList, seed: int) -> None:
    for point in points(4, seed):
        found = explain(rules, point)
        if found.counterfactual is not None:
            there = list(found.counterfactual.observation.values())
            assert rules.predict(there) != rules.predict(point)


def test_readings_say_what_named_terms_are() -> None:
    assert "LET tilt = pole angle + 0.5·pole velocity." in read_rules(pole()).heading


@given(lists_with_terms())
@settings(max_examples=15)
def test_lossless_pruning_keeps_every_action_and_drops_unused_terms(rules: DecisionList) -> None:
    found = prune(rules).ruleset
    assert found.predict(points(500)).tolist() == rules.predict(points(500)).tolist()
    assert found.without_unused_terms() is found
    assert len(found) <= len(rules)


def test_pruning_by_play_keeps_the_terms_that_it_needs() -> None:
    found = prune(pole(), a_task("CartPole-v1"), episodes=5)
    assert [term.name for term in found.ruleset.terms] == ["tilt"]
    assert str(found.ruleset).endswith("IF tilt ≥ 0 THEN push right\n2. OTHERWISE push left")


@pytest.mark.oracle
def test_episodes_of_rules_with_terms_are_those_of_the_environment_step_by_step() -> None:
    task = a_task("CartPole-v1")
    others = [
        parse_rules(
            f"IF pole angle + {c}*pole velocity >= 0.01 THEN push right\nOTHERWISE push left", task=task
        )
        for c in (0.1, 0.3, 1)
    ]
    rulesets, seeds, twin = [pole(), *others, pole().subset([4])], np.arange(4), twin_of(task)
    assert twin is not None
    compiled = TwinSimulator(task, twin).play(stacked(rulesets), seeds)
    side_by_side = VectorSimulator(task).play(stacked(rulesets), seeds)
    for one, other in zip(compiled, side_by_side, strict=True):
        np.testing.assert_array_equal(one, other)
    for i, rules in enumerate(rulesets):
        for k, seed in enumerate(seeds.tolist()):

            def choose(point: list[float], rules: RuleSet = rules) -> int:
                terms = coefficients(rules.features)
                own = rules.bounds, rules.actions.tolist(), terms, rules.observed_features
                return naive_envs.list_with_terms(*own, point)

            alone = naive_envs.episode(task, choose, seed)
            assert (compiled.returns[i, k], compiled.steps[i, k]) == (alone.total, len(alone.actions))


def test_policy_tables_of_rules_with_terms_are_those_of_asking_in_every_state() -> None:
    task = frozen_lake(4, p_slip=0.1)
    texts = [
        "IF x + y <= 2 THEN Down\nIF x - y >= 1 THEN Up\nOTHERWISE Right",
        "OTHERWISE Right",
        "IF 2*x - y = 1 THEN Left",
    ]
    rulesets = [parse_rules(text, task=task) for text in texts]
    found = policy_tables(task, stacked(rulesets))
    for table, rules in zip(found, rulesets, strict=True):
        assert table.tolist() == policy_table(rules, task).tolist()
    measured = TableSimulator(task, 1, "exact").fitness(stacked(rulesets))
    assert measured.performance.tolist() == [evaluate(rules, task, "exact").performance for rules in rulesets]
    assert verify(rulesets[0], task, "complete")
    assert prune(rulesets[0], task).ruleset.predict(task.dynamics.points).tolist() == found[0].tolist()
    short = prune(rulesets[0], task, to="list").ruleset
    assert short.predict(task.dynamics.points).tolist() == found[0].tolist()


def test_regions_of_a_picture_are_fine_along_slanted_borders() -> None:
    rules = example()
    plane = regions(rules, (0, 1), np.array([0.0, 0.0, 1.0]))
    assert len(plane.across) > 100
    assert plane.deciders.ravel().tolist() == choose_at(rules, plane.points)[1].tolist()


def test_sums_are_those_of_the_oracle() -> None:
    rules = example()
    for point in points(20):
        values = rules.with_terms(rules.checked_observations(point))[0, 3:].tolist()
        assert values == [
            naive_envs.summed(
                [dict(t.of).get(f.name, 0.0) for f in rules.observed_features],
                rules.observed_features,
                point.tolist(),
            )
            for t in rules.terms
        ]
