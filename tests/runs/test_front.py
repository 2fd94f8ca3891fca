"""The front of a policy: where it comes from, what is measured, and how much a report may play for it."""

from __future__ import annotations

import numpy as np
import pytest

from ifthen import PPLX, DecisionList, evaluate, front, plot, prune
from ifthen.exports.decision_tree import decision_tree
from ifthen.runs.measured_front import nodes_of
from ifthen.runs.run_report import affordable
from tests.systems.contract import meadow
from tests.worlds import small_lake


@pytest.fixture(scope="module")
def system() -> PPLX:
    return PPLX(small_lake(), seed=0, collect=300, candidates=200, threads=1).learn()


def test_a_system_with_a_front_of_its_own_keeps_it_and_gets_it_measured(system: PPLX) -> None:
    found = front(system)
    assert [own.ruleset for own in found.points] == [own.ruleset for own in system.front.points]
    assert [own.score for own in found.points] == [own.score for own in system.front.points]
    for own in found.points:
        assert own.value == evaluate(own.ruleset, system.task, "exact").performance
    assert found.marked is not None
    assert found.marked.ruleset == system.ruleset
    assert "<table>" in found._repr_html_()
    assert plot(found).axes[0].get_ylabel() == "exact performance"


def test_pruning_takes_from_the_front_of_training_by_exact_performance(system: PPLX) -> None:
    for most in (1, 2, 3):
        taken = prune(system, rules=most)
        exact = [own.value for own in front(system).points if own.rules <= most]
        assert len(taken.ruleset) <= most
        assert taken.performance == pytest.approx(max(exact))


def test_nodes_are_the_questions_and_leaves_of_an_equivalent_tree() -> None:
    task = meadow()
    whole = np.array([[0, 2], [0, 2]])
    one, two = whole.copy(), whole.copy()
    one[0, 1], two[1, 1] = 0, 0
    names = task.features, task.action_names
    always = DecisionList([whole], [0], *names)
    asks = DecisionList([one, whole], [0, 1], *names)
    both = DecisionList([one, two, whole], [0, 1, 0], *names)
    assert [nodes_of(rules, task) for rules in (always, asks, both)] == [1, 3, 5]
    assert len(list(decision_tree(both, task).boxes())) == 3  # leaves


def test_a_report_plays_a_tenth_of_the_steps_of_training_for_a_front_where_steps_are_expensive() -> None:
    assert affordable(1_000_000, 250 * 8) == 50
    assert affordable(10_000_000, 250 * 8) == 100
    assert affordable(1_000, 250 * 8) == 20
