"""Compaction: what must stay, what may go, and that no more can go."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ifthen import (
    XCSF,
    DecisionList,
    Feature,
    PredictionArrayRules,
    StrengthRules,
    TabularTask,
    frozen_lake,
    prune,
)
from ifthen.errors import ParameterError, RuleError, TaskError
from ifthen.simplify.compact import compact
from ifthen.simulate.table_simulator import policy_table
from tests import naive
from tests.rulesets import voting_rules
from tests.worlds import chain, random_task, small_lake

TASKS = [chain(), small_lake(), random_task(0), random_task(5)]
Case = tuple[PredictionArrayRules, TabularTask]


def jittered(ruleset: PredictionArrayRules, seed: int) -> PredictionArrayRules:
    """Return the rules with weights and fitness that are no round numbers."""
    rng, n = np.random.default_rng(seed), len(ruleset)
    return PredictionArrayRules(
        ruleset.bounds,
        ruleset.actions,
        ruleset.features,
        ruleset.action_names,
        ruleset.weights + rng.normal(size=ruleset.weights.shape),
        ruleset.fitness * rng.uniform(0.01, 1, n),
        ruleset.errors,
        ruleset.numerosity,
        ruleset.experience,
        ruleset.x0,
    )


@st.composite
def cases(draw: st.DrawFn, largest: int = 25, round_only: bool = False) -> Case:
    """Draw rules and a task of which they match some state."""
    task = draw(st.sampled_from(TASKS))
    ruleset = draw(voting_rules(largest, task.features, task.action_names))
    if not round_only and draw(st.booleans()):
        ruleset = jittered(ruleset, draw(st.integers(0, 999)))
    assume(ruleset.matches(task.dynamics.points).any())
    return ruleset, task


@functools.cache
def trained() -> Case:
    """Return the population of an XCSF that has learnt the small lake, and the lake."""
    task = frozen_lake(4, 0.0)
    return XCSF(task, seed=1, threads=1).learn(epochs=30).ruleset, task


def voters(**columns: Any) -> PredictionArrayRules:
    """Return rules on the chain, by default four for Go that match both of its decision states."""
    n = len(columns["fitness"])
    defaults: dict[str, Any] = {
        "bounds": [[[0, 2]]] * n,
        "actions": [0] * n,
        "features": chain().features,
        "action_names": chain().action_names,
        "weights": np.zeros((n, 2)),
        "errors": [0] * n,
        "numerosity": [1] * n,
        "experience": [1] * n,
    }
    return PredictionArrayRules(**{**defaults, **columns})


def is_part_of(fewer: PredictionArrayRules, ruleset: PredictionArrayRules) -> bool:
    """Return whether the rules are some of those of the other, unchanged and in the same order."""
    rest = iter(ruleset.to_dict()["rules"])
    same = {**ruleset.to_dict(), "rules": fewer.to_dict()["rules"]} == fewer.to_dict()
    return same and all(rule in rest for rule in fewer.to_dict()["rules"])


# Greedy.


def assert_nothing_more_can_go(fewer: PredictionArrayRules, task: TabularTask) -> None:
    """Fail where a single rule could be dropped and every action stay."""
    policy = policy_table(fewer, task).tolist()
    for dropped in range(len(fewer)):
        left = [r for r in range(len(fewer)) if r != dropped]
        assert not left or policy_table(fewer.subset(left), task).tolist() != policy, dropped


@given(cases())
def test_greedy_keeps_the_action_in_every_state_and_states_without_one_stay_so(case: Case) -> None:
    ruleset, task = case
    fewer = compact(ruleset, task)
    assert policy_table(fewer, task).tolist() == policy_table(ruleset, task).tolist()
    assert is_part_of(fewer, ruleset)


@given(cases())
def test_no_rule_that_greedy_leaves_can_be_dropped(case: Case) -> None:
    fewer = compact(*case)
    assert_nothing_more_can_go(fewer, case[1])
    assert compact(fewer, case[1]) == fewer


@pytest.mark.oracle
@given(cases(round_only=True))
def test_greedy_drops_what_the_oracle_drops(case: Case) -> None:
    ruleset, task = case
    states = task.dynamics.points.tolist()
    actions, fitness = ruleset.actions.tolist(), ruleset.fitness.tolist()
    matching = [naive.match_set(ruleset.bounds.tolist(), s) for s in states]
    predictions = [[naive.prediction(w, ruleset.x0, s) for w in ruleset.weights.tolist()] for s in states]
    policy = ruleset.predict(states).tolist()
    # First those that never speak for the action taken, then the narrowest, the least fit among equals.
    speaks = [
        sum(r in matching[s] and actions[r] == policy[s] for s in range(len(states)))
        for r in range(len(ruleset))
    ]
    order = sorted(range(len(ruleset)), key=lambda r: (speaks[r], fitness[r], r))
    kept, before = set(order), None
    while kept != before:
        before = kept
        order = [r for r in order if r in kept]
        kept = naive.drop_rules(order, matching, actions, fitness, predictions, policy, kept)
    assert compact(ruleset, task) == ruleset.subset(sorted(kept))


def test_greedy_by_hand() -> None:
    # Go pays 10·0.3 and 10·0.1 by the first two rules, Wait 10·0.2 by the third; the fourth is nowhere met.
    # Wait never wins; then either rule for Go would do, and the less fit one goes.
    ruleset = voters(
        bounds=[[[0, 1]], [[0, 1]], [[0, 2]], [[2, 2]]],
        actions=[0, 0, 1, 0],
        weights=[[0.3, 0], [0.1, 0], [0.2, 0], [9.0, 0]],
        fitness=[0.9, 0.1, 0.5, 1.0],
    )
    assert compact(ruleset, chain()) == ruleset.subset([0])


def test_greedy_shortens_what_an_xcsf_has_learnt_to_a_handful() -> None:
    ruleset, task = trained()
    fewer = compact(ruleset, task)
    assert len(fewer) < len(ruleset) / 4
    assert policy_table(fewer, task).tolist() == policy_table(ruleset, task).tolist()
    assert_nothing_more_can_go(fewer, task)
    assert is_part_of(fewer, ruleset)


# Greedy niche mass compaction.


@pytest.mark.parametrize(
    ("rho", "kept"),
    [
        (0.0, [0, 1, 2, 3, 4]),
        (0.1, [0, 2, 3, 4]),  # 0.5 + 0.25 + 0.1875 of 1 are more than 0.9
        (0.25, [0, 2, 4]),  # just enough
        (0.3, [0, 2, 4]),
        (0.5, [2, 4]),  # just enough
        (1.0, [2, 4]),  # one rule per niche
    ],
)
def test_niches_keep_their_fittest_rules_by_hand(rho: float, kept: list[int]) -> None:
    # Go has 0.25, 0.0625, 0.5 and 0.1875 in both states, Wait one rule in the second; none speaks elsewhere.
    ruleset = voters(
        bounds=[[[0, 2]]] * 4 + [[[1, 2]], [[2, 2]]],
        actions=[0, 0, 0, 0, 1, 1],
        fitness=[0.25, 0.0625, 0.5, 0.1875, 0.01, 1.0],
    )
    assert compact(ruleset, chain(), "gnmc", rho) == ruleset.subset(kept)


def test_equally_fit_rules_are_kept_in_their_order() -> None:
    ruleset = voters(fitness=[0.5, 0.5, 0.5, 0.5])
    assert compact(ruleset, chain(), "gnmc", 0.5) == ruleset.subset([0, 1])


@given(cases())
def test_with_rho_0_every_rule_that_matches_a_state_is_kept(case: Case) -> None:
    ruleset, task = case
    met = np.flatnonzero(ruleset.matches(task.dynamics.points).any(axis=0))
    assert compact(ruleset, task, "gnmc", 0.0) == ruleset.subset(met)


def test_with_rho_0_rules_that_are_hardly_fit_are_kept_too() -> None:
    ruleset = voters(fitness=[1.0, 1e-20])
    assert compact(ruleset, chain(), "gnmc", 0.0) == ruleset


@given(cases(), st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_a_larger_rho_never_keeps_more_rules_and_none_that_a_smaller_one_drops(
    case: Case, rhos: list[float]
) -> None:
    more, fewer = (compact(*case, "gnmc", rho) for rho in sorted(rhos))
    assert is_part_of(fewer, more)
    assert is_part_of(more, case[0])


@given(cases(), st.floats(0, 1))
def test_every_niche_keeps_its_share_of_fitness_and_at_least_one_rule(case: Case, rho: float) -> None:
    ruleset, task = case
    fewer = compact(ruleset, task, "gnmc", rho)
    for state in task.dynamics.points:
        for action in range(task.n_actions):
            before, after = (
                rules.fitness[rules.matches(state) & (rules.actions == action)] for rules in (ruleset, fewer)
            )
            assert (len(after) > 0) == (len(before) > 0)
            assert math.fsum(after) >= (1 - rho) * math.fsum(before) * (1 - 1e-12)


def test_niche_mass_compaction_of_a_trained_xcsf_keeps_predictions_near() -> None:
    ruleset, task = trained()
    fewer = compact(ruleset, task, "gnmc", 0.1)
    assert len(compact(ruleset, task)) < len(fewer) < len(ruleset)
    before, after = (r.prediction_array(task.dynamics.points) for r in (ruleset, fewer))
    assert (np.isnan(before) == np.isnan(after)).all()
    assert np.nanmean(np.abs(before - after)) < 0.02


# What is refused.


@pytest.mark.parametrize("rho", [-0.01, 1.01, math.nan, "half", None])
@pytest.mark.parametrize("method", ["gnmc", "greedy"])
def test_a_rho_outside_0_to_1_is_refused_by_name(rho: Any, method: Any) -> None:
    with pytest.raises(ParameterError, match="rho must be a number from 0 to 1"):
        prune(voters(fitness=[1.0]), chain(), method=method, rho=rho)


def test_an_unknown_method_is_refused_with_those_there_are() -> None:
    method: Any = "gready"
    with pytest.raises(ParameterError, match="method must be 'greedy' or 'gnmc'"):
        prune(voters(fitness=[1.0]), chain(), method=method)


def test_other_kinds_of_rulesets_are_refused() -> None:
    task = chain()
    listed = DecisionList([[[0, 2]]], [0], task.features, task.action_names)
    strong = StrengthRules([[[0, 2]]], [0], task.features, task.action_names, [[0.0, 0.0]], [0.0])
    for ruleset in (listed, strong):
        with pytest.raises(RuleError, match="only rulesets of XCSF and ZCS can be compacted"):
            compact(ruleset, task)


@pytest.mark.parametrize("method", ["greedy", "gnmc"])
def test_rules_that_match_no_state_are_refused(method: Any) -> None:
    nowhere = voters(bounds=[[[2, 2]]], fitness=[1.0])  # the end, where nothing is to be decided
    with pytest.raises(TaskError, match="matches any state of chain"):
        compact(nowhere, chain(), method)


@pytest.mark.parametrize("method", ["greedy", "gnmc"])
def test_rules_about_another_task_are_refused(method: Any) -> None:
    other = voters(fitness=[1.0], features=(Feature("place", 0, 3),))
    with pytest.raises(TaskError, match="place"):
        compact(other, chain(), method)
