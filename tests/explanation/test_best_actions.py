"""The rules that speak for what is done, by hand and by law; and which rules are shown to a reader."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given

from ifthen import (
    NULL_ACTION,
    XCSF,
    DecisionList,
    Feature,
    PredictionArrayRules,
    RuleSet,
    StrengthRules,
    frozen_lake,
    prune,
)
from ifthen.errors import RuleError, TaskError
from ifthen.explanation.reading import LONGEST_READING, readable
from ifthen.tables import best_action_map
from ifthen.tasks.tabular_task import TabularTask
from tests import naive
from tests.rulesets import voting_rules
from tests.systems.contract import meadow
from tests.worlds import chain, random_task

LINE = frozen_lake(desc=["SFFFG"])  # four decision states, x = 0 … 3, y = 0
# Rules 0 and 1 go right on the left, 2 goes left in the middle, 3 goes right at x = 2, 4 is at the goal.
BOUNDS = [[[0, 1], [0, 0]], [[0, 0], [0, 0]], [[1, 2], [0, 0]], [[2, 2], [0, 0]], [[4, 4], [0, 0]]]
LEFT, RIGHT = 0, 2
ACTIONS = [RIGHT, RIGHT, LEFT, RIGHT, RIGHT]
PAYOFFS = [[0.1, 0, 0], [0.2, 0, 0], [0.15, 0, 0], [0.3, 0, 0], [0.1, 0, 0]]


def made(kind: type[RuleSet], what: tuple[Any, ...], weights: Any) -> RuleSet:
    """Return a ruleset of the given kind with bounds, actions and names as said, and all else alike."""
    n, make_rules = len(weights), cast(Callable[..., RuleSet], functools.partial(kind, *what))
    if kind is DecisionList:
        return make_rules()
    if kind is StrengthRules:
        return make_rules(weights=weights, variances=[0.0] * n)
    same: dict[str, Any] = {"fitness": [0.5] * n, "errors": [0] * n, "numerosity": [1] * n}
    return make_rules(weights=weights, experience=[1] * n, **same)


def ruleset_of(kind: type[RuleSet]) -> RuleSet:
    """Return the rules as a ruleset of the given kind."""
    what = (BOUNDS, ACTIONS, LINE.features, LINE.action_names)
    return made(kind, what, PAYOFFS)


@pytest.mark.parametrize(
    ("kind", "actions", "sets"),
    [
        # The first that matches decides; others that say the same belong to the set all the same.
        (DecisionList, [RIGHT, RIGHT, LEFT, NULL_ACTION], [[0, 1], [0], [2], []]),
        # Payoffs at x = 1: 1 to the right, 1.5 to the left; at x = 2: 1.5 to the left, 3 to the right.
        (StrengthRules, [RIGHT, LEFT, RIGHT, NULL_ACTION], [[0, 1], [2], [3], []]),
        (PredictionArrayRules, [RIGHT, LEFT, RIGHT, NULL_ACTION], [[0, 1], [2], [3], []]),
    ],
)
def test_the_map_by_hand_for_every_kind_of_ruleset(
    kind: type[RuleSet], actions: list[int], sets: list[list[int]]
) -> None:
    found = best_action_map(ruleset_of(kind), LINE)
    assert found.actions.tolist() == actions
    assert [np.flatnonzero(row).tolist() for row in found.sets] == sets
    together = sorted({r for members in sets for r in members})
    assert found.rules.tolist() == together
    assert len(found) == len(together)
    assert found.density.tolist() == [len(members) for members in sets]


@given(voting_rules(20, random_task(3).features, random_task(3).action_names))
def test_the_map_holds_the_matching_rules_whose_action_is_taken(ruleset: PredictionArrayRules) -> None:
    task = random_task(3)
    found = best_action_map(ruleset, task)
    for s, state in enumerate(task.dynamics.points.tolist()):
        matching = naive.match_set(ruleset.bounds.tolist(), state)
        action = ruleset.predict(state)
        assert found.actions[s] == action
        assert np.flatnonzero(found.sets[s]).tolist() == [r for r in matching if ruleset.actions[r] == action]
        assert (found.density[s] == 0) == (action == NULL_ACTION) == (not matching)
    assert found.density.sum() == found.sets.sum()
    assert len(found) <= len(ruleset)


def test_rules_about_another_task_are_refused() -> None:
    other = DecisionList([[[0, 9]]], [0], (Feature("heat", 0, 9),), ("Left", "Right"))
    with pytest.raises(TaskError, match="heat"):
        best_action_map(other, chain())


# What is shown to a reader.


def many(n: int, kind: type[RuleSet] = PredictionArrayRules, place: int = 0) -> RuleSet:
    """Return n rules on the chain that say the same."""
    task = chain()
    what = ([[[place, 2]]] * n, [0] * n, task.features, task.action_names)
    return made(kind, what, np.zeros((n, 2)))


def shown(ruleset: RuleSet, task: TabularTask | None = None) -> RuleSet:
    return readable(ruleset, task or chain())


def test_long_rulesets_of_an_xcsf_are_shown_by_the_rules_that_choose_the_same() -> None:
    long = many(LONGEST_READING + 1)
    assert len(shown(long)) == 1
    assert shown(long) == prune(long, chain(), method="greedy").ruleset


def test_rulesets_that_are_short_enough_are_shown_whole() -> None:
    short = many(LONGEST_READING)
    assert shown(short) is short


@pytest.mark.parametrize("kind", [DecisionList, StrengthRules])
def test_other_kinds_are_shown_whole_however_long(kind: type[RuleSet]) -> None:
    long = many(LONGEST_READING + 1, kind)
    assert shown(long) is long


def test_a_long_ruleset_that_matches_no_state_is_shown_whole() -> None:
    nowhere = many(LONGEST_READING + 1, place=2)
    assert shown(nowhere) is nowhere


def test_a_trained_system_is_as_good_as_its_ruleset() -> None:
    system = XCSF(meadow(), seed=0, threads=1, pop_limit=80).learn(steps=500)
    found = best_action_map(system, system.task)
    assert (found.sets == best_action_map(system.ruleset, system.task).sets).all()
    assert (
        prune(system, method="greedy").ruleset == prune(system.ruleset, system.task, method="greedy").ruleset
    )
    with pytest.raises(RuleError, match="must be a RuleSet or a trained system"):
        best_action_map([0, 1], system.task)  # type: ignore[arg-type]  # that is what is tested
