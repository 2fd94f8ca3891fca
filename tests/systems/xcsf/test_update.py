"""What an action set learns, by hand, by the oracle, by batch least squares, and over very many updates."""

from __future__ import annotations

import copy
import os
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import Feature, TabularTask
from ifthen.systems.xcsf.update import LEAST, accuracy, learn_nlms, learn_rls, update_set
from tests import naive_xcsf
from tests.naive_xcsf import Rule
from tests.systems.contract import meadow
from tests.systems.xcsf.populations import World, rule, whole, world

EVERYWHERE = [[0, 2], [2, 0]]
PLACE = 3  # among meadow's decision states: x = 0, y = 1
MANY = 20_000 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 2_000_000
AXES = (0, 1)


def two(**options: Any) -> list[Rule]:
    """Return two rules that match everywhere, the first of which stands for 3 microclassifiers."""
    return [rule(EVERYWHERE, numerosity=3, **options), rule(EVERYWHERE, **options)]


def updated(rules: list[Rule], *payoffs: float, place: int = PLACE, **parameters: Any) -> World:
    """Return what becomes of an action set that gets some payoffs in one place."""
    made = world(meadow(), rules, **{"pop_limit": 20, "niche_error": False, **parameters})
    made.space.members[: len(rules)] = range(len(rules))
    for payoff in payoffs:
        update_set(len(rules), place, payoff, made.own)
    return made


def column(made: World, name: str, n: int = 2) -> list[Any]:
    values: list[Any] = made.column(name, n)
    return values


def test_the_place_is_where_these_tests_think_it_is() -> None:
    assert meadow().dynamics.states[PLACE].tolist() == [0, 1]


def test_a_first_update_by_hand() -> None:
    # Both predict 0, P = 1: error 1, action-set size 4. Both are as accurate, so fitness moves from 0.001
    # towards 3/4 and 1/4 with rate 0.1.
    made = updated(two(), 1.0)
    assert column(made, "experience") == [1, 1]
    assert column(made, "error") == pytest.approx([1.0, 1.0], rel=1e-14)
    assert column(made, "set_size") == [4.0, 4.0]
    assert column(made, "fitness") == pytest.approx([0.0009 + 0.075, 0.0009 + 0.025], rel=1e-12)
    assert column(made, "niche_error") == [1e-3, 1e-3]


def test_two_updates_by_nlms_by_hand() -> None:
    # x = (10, 0, 1), ‖x‖² = 101, η = 0.2: w = 0.2/101·x predicts 0.2. Then P = −0.8 is off by 1: w is 0.
    once = updated(two(), 1.0, prediction="nlms")
    assert column(once, "weights") == [pytest.approx([2 / 101, 0, 0.2 / 101], rel=1e-14)] * 2
    twice = updated(two(), 1.0, -0.8, prediction="nlms")
    assert column(twice, "weights") == [pytest.approx([0, 0, 0], abs=1e-15)] * 2
    assert column(twice, "error") == pytest.approx([1, 1], rel=1e-12)  # the mean of 1 and 1


def test_a_first_update_by_rls_by_hand() -> None:
    # Covariance 10·I: gains 10·x, size 0.999 + 10·101 = 1010.999; w = 10·x/1010.999.
    made = updated(two(), 1.0)
    share = 10 / 1010.999
    assert column(made, "weights") == [pytest.approx([10 * share, 0, share], rel=1e-14)] * 2
    x = np.array([10.0, 0.0, 1.0])
    expected = (10 * np.eye(3) - np.outer(10 * x, 10 * x) / 1010.999) / 0.999
    np.testing.assert_allclose(whole(column(made, "covariance")[0], 3), expected, rtol=1e-12)


def test_rates_are_those_of_a_mean_until_one_over_beta_updates() -> None:
    # Predictions stay 0 with weights that hardly move; sizes go from 1 towards 4.
    for experience, rate in (
        (0, Fraction(1)),
        (1, Fraction(1, 2)),
        (8, Fraction(1, 9)),
        (9, Fraction(1, 10)),
    ):
        made = updated(two(experience=experience, error=0.5), 2.0)
        assert column(made, "set_size")[0] == pytest.approx(float(1 + rate * 3), rel=1e-14)
        assert column(made, "error")[0] == pytest.approx(float(Fraction(1, 2) + rate * Fraction(3, 2)))
    for experience in (10, 11, 500):
        made = updated(two(experience=experience, error=0.5), 2.0)
        assert column(made, "set_size")[0] == pytest.approx(1.3, rel=1e-14)
        assert column(made, "error")[0] == pytest.approx(0.65, rel=1e-14)


def test_errors_of_the_first_updates_are_their_mean() -> None:
    made = updated(two(), *[3.0, 1.0, 2.0, 6.0], prediction="nlms", eta=1e-6)
    assert column(made, "error") == pytest.approx([3.0, 3.0], rel=1e-5)


def test_fitness_moves_towards_relative_accuracy_by_hand() -> None:
    # P = 0 is predicted right, β = 0.1: errors go from 0.005 to 0.0045 (accurate: κ = 1) and from 0.02/0.9 to
    # 0.02 = 2·ε0: κ = 0.1/2⁵ = 0.003125. Three microclassifiers against one.
    rules = two(experience=50, fitness=0.5)
    rules[0].error, rules[1].error = 0.005, 0.02 / 0.9
    made = updated(rules, 0.0)
    assert column(made, "error") == pytest.approx([0.0045, 0.02], rel=1e-12)
    assert column(made, "fitness") == pytest.approx(
        [0.45 + 0.1 * 3 / 3.003125, 0.45 + 0.1 * 0.003125 / 3.003125], rel=1e-11
    )


def test_the_least_error_of_the_set_is_the_niches_by_hand() -> None:
    # Least error before the update: 0.1. μ moves there with rate 1 (first update) and 0.05 (experienced):
    # 0.1 and 0.2 − 0.05·0.1 = 0.195. |P − 0| = 1 counts as 0.9 and 0.805.
    rules = two(niche_error=0.2)
    rules[0].error, rules[1].error, rules[1].experience = 0.3, 0.1, 30
    made = updated(rules, -1.0, niche_error=True)
    assert column(made, "niche_error") == pytest.approx([0.1, 0.195], rel=1e-14)
    assert column(made, "error") == pytest.approx([0.9, 0.1 + 0.1 * (0.805 - 0.1)], rel=1e-14)


def test_an_error_below_that_of_the_niche_counts_as_epsilon_0() -> None:
    rules = two(experience=99, niche_error=0.2, error=0.2)
    made = updated(rules, 0.1, niche_error=True)
    assert column(made, "niche_error") == pytest.approx([0.2, 0.2], rel=1e-14)
    assert column(made, "error") == pytest.approx([0.2 + 0.1 * (0.01 - 0.2)] * 2, rel=1e-14)


def test_accuracy_is_one_below_epsilon_0_and_falls_as_a_power_above() -> None:
    settings = world(meadow(), [], pop_limit=20).settings
    assert accuracy(0.00999, settings) == 1.0
    assert accuracy(0.01, settings) == pytest.approx(0.1)
    assert accuracy(0.02, settings) == pytest.approx(0.1 / 32)
    assert accuracy(0.1, settings) == pytest.approx(1e-6)
    assert accuracy(1e200, settings) == LEAST == naive_xcsf.LEAST_ACCURACY


def random_rules(seed: int) -> list[Rule]:
    """Return rules of one action set with all kinds of pasts."""
    rng = np.random.default_rng(seed)
    rules = []
    for _ in range(int(rng.integers(1, 6))):
        root = rng.normal(size=(3, 3))
        own = rule(
            EVERYWHERE,
            numerosity=int(rng.integers(1, 9)),
            experience=int(rng.choice([0, 1, 8, 9, 10, 19, 20, 300])),
            fitness=float(rng.uniform(1e-3, 1)),
            error=float(rng.choice([0.0, 1e-3, 0.5])),
            niche_error=float(rng.choice([0.0, 0.1, 0.9])),
            set_size=float(rng.uniform(1, 9)),
        )
        own.weights = rng.normal(size=3).tolist()
        own.covariance = (root @ root.T + np.eye(3)).tolist()
        rules.append(own)
    return rules


@pytest.mark.oracle
@given(
    st.integers(0, 10**6),
    st.integers(0, 6),
    st.floats(-5, 5),
    st.fixed_dictionaries(
        {
            "niche_error": st.booleans(),
            "prediction": st.sampled_from(["rls", "nlms", "constant"]),
            "beta": st.sampled_from([0.1, 0.3, 1.0]),
            "rls_limit": st.sampled_from([5.0, 1e6]),
            "nu": st.sampled_from([1, 5]),
        }
    ),
)
def test_any_set_is_updated_as_by_the_oracle(
    seed: int, place: int, payoff: float, parameters: dict[str, Any]
) -> None:
    rules = random_rules(seed)
    if parameters["prediction"] == "constant":
        parameters["gradient"] = seed % 2 == 0
        for own in rules:
            own.weights[1:] = [0.0] * (len(own.weights) - 1)  # a constant has no weights of features
    made = updated(rules, payoff, place=place, delta_rls=1.0, **parameters)
    expected = copy.deepcopy(rules)
    state = made.model.points[place].tolist()
    naive_xcsf.update_set(expected, state, payoff, made.parameters)
    n = len(rules)
    for name in ("experience", "error", "niche_error", "set_size", "fitness", "weights"):
        wanted = [getattr(own, name) for own in expected]
        np.testing.assert_allclose(column(made, name, n), wanted, rtol=1e-10, atol=1e-13, err_msg=name)
    if parameters["prediction"] == "rls":
        found = [whole(row, 3) for row in column(made, "covariance", n)]
        np.testing.assert_allclose(found, [own.covariance for own in expected], rtol=1e-9, atol=1e-12)


# Least squares.


def flat(size: int = 5) -> TabularTask:
    """Return a task of size × size states; only its features matter here."""
    grid = np.stack(np.meshgrid(range(size), range(size), indexing="ij"), axis=-1).reshape(-1, 2)
    n = len(grid)
    return TabularTask(
        name="flat",
        features=(Feature("u", 0, size - 1), Feature("v", 0, size - 1)),
        action_names=("Go",),
        state_features=grid.astype(np.int32),
        next_state=np.roll(np.arange(n, dtype=np.int32), -1)[:, None, None],
        reward=np.zeros((n, 1, 1)),
        done=np.zeros((n, 1, 1), dtype=np.bool_),
        probability=np.ones(1),
        initial_states=np.zeros(1, dtype=np.int32),
        enumerations=1,
        gamma=0.9,
        t_max=50,
    )


@numba.njit
def learn_often(
    weights: Any, covariance: Any, inputs: Any, payoffs: Any, times: int, settings: Any, gains: Any, axes: Any
) -> None:
    """Learn by RLS from inputs and payoffs, over and over, so many times in all."""
    for i in range(times):
        s = i % len(inputs)
        error = payoffs[s] - (weights[0] * inputs[s]).sum()
        learn_rls(weights, covariance, 0, inputs, s, error, settings, gains, axes)


def learnt(inputs: Any, payoffs: Any, times: int, **parameters: Any) -> tuple[Any, Any]:
    """Return weights and whole covariance of a rule that learnt from (x0, u, v) so many times."""
    made = world(flat(), [rule([[0, 4], [0, 4]])], pop_limit=20, **parameters)
    weights, covariance = made.classifiers.weights[:1], made.classifiers.covariance[:1]
    x, y = np.array(inputs, dtype=np.float64), np.array(payoffs, dtype=np.float64)
    learn_often(weights, covariance, x, y, times, made.settings, made.space.gains, AXES)
    return weights[0], whole(covariance[0], 3)


@pytest.mark.parametrize(("forgetting", "times"), [(0.999, 300), (0.9, 100), (1.0, 300), (0.999, 5)])
def test_rls_is_weighted_least_squares_with_a_ridge(forgetting: float, times: int) -> None:
    # It minimises Σ λ^(m−i) (P_i − w·x_i)² + λ^m/δ·‖w‖², and its covariance is the inverse of that form.
    rng = np.random.default_rng(times)
    inputs = np.column_stack([np.full(times, 10.0), rng.integers(0, 5, (times, 2))])
    payoffs = rng.normal(size=times)
    weights, covariance = learnt(inputs, payoffs, times, lambda_rls=forgetting, rls_limit=1e12)
    ages = forgetting ** np.arange(times - 1, -1, -1)
    rows = np.vstack([inputs * np.sqrt(ages)[:, None], np.sqrt(forgetting**times / 10) * np.eye(3)])
    target = np.concatenate([payoffs * np.sqrt(ages), np.zeros(3)])
    expected = np.linalg.lstsq(rows, target, rcond=None)[0]
    np.testing.assert_allclose(weights, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(covariance, np.linalg.inv(rows.T @ rows), rtol=1e-6, atol=1e-10)


def plane(x: Any) -> Any:
    """Return the payoffs 0.5 + 0.25·u − 0.125·v at inputs (10, u, v)."""
    return np.asarray(x) @ [0.05, 0.25, -0.125]


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param([[10, 3, 4]], id="one state"),
        pytest.param([[10, u, 2] for u in range(5)], id="a line of states"),
        pytest.param([[10, u, u] for u in range(5)], id="a slanted line"),
        pytest.param([[10, u, v] for u in range(5) for v in range(5)], id="all states"),
    ],
)
def test_millions_of_updates_leave_rls_sound_and_right(inputs: list[list[int]]) -> None:
    weights, covariance = learnt(inputs, plane(inputs), MANY)
    assert np.isfinite(covariance).all()
    assert np.isfinite(weights).all()
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert np.trace(covariance) <= 1e6 * (1 + 1e-9)
    np.testing.assert_allclose(np.array(inputs) @ weights, plane(inputs), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("inputs", "share", "within"),
    [
        pytest.param([[10, 3, 4]], 0.632, 0.02, id="one state"),
        pytest.param([[10, u, 2] for u in range(5)], 0.632, 0.15, id="a line of states"),
    ],
)
def test_rls_at_its_limit_still_follows_payoffs_that_change(
    inputs: list[list[int]], share: float, within: float
) -> None:
    # It forgets with rate 1 − λ = 1/1000: of a change in one state, 1 − 1/e is learnt in 1,000 updates, and
    # nearly as much where five states share them.
    made = world(flat(), [rule([[0, 4], [0, 4]])], pop_limit=20)
    weights, covariance = made.classifiers.weights[:1], made.classifiers.covariance[:1]
    x = np.array(inputs, dtype=np.float64)

    def predicted_after(payoff: float, times: int) -> Any:
        payoffs = np.full(len(x), payoff)
        learn_often(weights, covariance, x, payoffs, times, made.settings, made.space.gains, AXES)
        return x @ weights[0]

    limit = made.settings.rls_limit
    np.testing.assert_allclose(predicted_after(0.0, 20_000), 0.0, atol=1e-9)
    assert np.trace(whole(covariance[0], 3)) > 0.9 * limit  # else this is plain forgetting
    np.testing.assert_allclose(predicted_after(1.0, 1_000), share, atol=within)
    np.testing.assert_allclose(predicted_after(1.0, 9_000), 1.0, atol=0.01)
    np.testing.assert_allclose(predicted_after(-1.0, 1_000), 1 - 2 * share, atol=2 * within)
    assert np.trace(whole(covariance[0], 3)) <= limit * (1 + 1e-9)


def test_noise_over_millions_of_updates_leaves_a_mean() -> None:
    rng = np.random.default_rng(0)
    payoffs = rng.normal(size=1000)
    weights, covariance = learnt([[10, 3, 4]] * 1000, payoffs, MANY)
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert abs(weights @ [10, 3, 4] - payoffs.mean()) < 0.1


def test_nlms_moves_a_share_eta_of_the_way() -> None:
    weights, x = np.zeros((1, 3)), np.array([10.0, 3.0, 4.0])
    inputs = np.array([[1.0, 1.0, 1.0], x])
    for left in (0.8, 0.64, 0.512):  # of the error 1, with η = 0.2
        learn_nlms(weights, 0, inputs, 1, 1.0 - float(weights[0] @ x), 0.2, AXES)
        assert 1 - weights[0] @ x == pytest.approx(left, rel=1e-13)
    np.testing.assert_allclose(weights[0], 0.488 / 125 * x, rtol=1e-13)
