"""Prediction arrays of rules given as arrays, as histories and rulesets use them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import XCSF, Feature
from ifthen.rules.prediction_array import PredictionArrayRules, prediction_arrays
from tests import naive
from tests.naive_xcsf import NaiveXCSF
from tests.rulesets import all_states, bounds_of
from tests.systems.contract import meadow

pytestmark = pytest.mark.oracle

STATES = all_states().astype(np.float64)


@given(st.integers(1, 12).flatmap(bounds_of), st.integers(0, 10**6))
def test_prediction_arrays_are_the_oracles_in_every_state(bounds: list[list[list[int]]], seed: int) -> None:
    rng, n = np.random.default_rng(seed), len(bounds)
    actions, fitness = rng.integers(0, 3, n).astype(np.int32), rng.uniform(1e-6, 1, n)
    weights, out = rng.normal(size=(n, 3)), np.empty((len(STATES), 3))
    matching = np.array([[naive.matches(box, state) for box in bounds] for state in STATES.tolist()])
    prediction_arrays(matching, actions, fitness, weights, 10.0, STATES, (0, 1), out)
    for state, found in zip(STATES.tolist(), out, strict=True):
        expected = naive.prediction_array(
            bounds, actions.tolist(), fitness.tolist(), weights.tolist(), 10.0, state, 3
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_a_trained_systems_ruleset_predicts_what_the_plain_one_does() -> None:
    task = meadow()
    system = XCSF(task, seed=4, pop_limit=40, theta_ga=10).learn(steps=400)
    plain = NaiveXCSF(task, system.parameters, 4)
    plain.run(400)
    for s in task.decision_states.tolist():
        matching = plain.match_set(s)
        found = system.ruleset.prediction_array(task.state_features[s])
        for a in {rule.action for rule in matching}:
            np.testing.assert_allclose(found[a], plain.predicted(a, matching, s), rtol=1e-9, atol=1e-12)


@given(
    st.integers(1, 12).flatmap(bounds_of),
    st.integers(0, 10**6),
    st.booleans(),
    st.tuples(st.booleans(), st.booleans()),
)
def test_the_best_actions_are_those_of_the_largest_predictions(
    bounds: list[list[list[int]]], seed: int, real: bool, cyclic: tuple[bool, bool]
) -> None:
    rng, n = np.random.default_rng(seed), len(bounds)
    lows, highs = STATES.min(axis=0).astype(int), STATES.max(axis=0).astype(int)
    features = [
        Feature(f"f{d}", low, high, "real" if real else "integer", cyclic=cyclic[d])
        for d, (low, high) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True))
    ]
    rules = PredictionArrayRules(
        bounds,
        rng.integers(0, 3, n),
        features,
        ("a", "b", "c"),
        rng.integers(-2, 3, (n, 3)).astype(np.float64),  # so that some predictions are equal
        rng.choice([0.25, 0.5], n),
        np.zeros(n),
        np.ones(n),
        np.zeros(n),
    )
    carried = rules.actions.tolist(), rules.fitness.tolist(), rules.weights.tolist()
    arrays = [
        naive.prediction_array(bounds, *carried, rules.x0, state, 3, cyclic) for state in STATES.tolist()
    ]
    assert rules.best_actions(STATES).tolist() == [naive.best_predicted(array) for array in arrays]
    assert rules.best_actions(STATES).tolist() == rules.predict(STATES).tolist()
    assert rules.best_actions(STATES[:0]).tolist() == []
