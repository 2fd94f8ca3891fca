"""How much features vary: as most of their values say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.systems.pplx.drafts import Draft, readable
from ifthen.systems.pplx.fit import fit_points
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.memory import TERMINAL
from ifthen.systems.pplx.q_network import action_values
from ifthen.systems.pplx.spreads import centres_and_spreads, spreads_of
from ifthen.systems.pplx.value_learning import scale_of
from tests.systems.pplx.test_network import SCALE, network

NO_TERMS = np.zeros((0, 1))


def sentinel(share: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return distances from 0 to 100, a share of which is 1e6 for "nothing in sight"."""
    values = np.random.default_rng(0).uniform(0, 100, (4000, 1))
    values[: int(share * 4000)] = 1e6
    return values


@pytest.mark.parametrize("kind", ["normal", "uniform", "laplace", "logistic", "flags", "constant", "rare"])
def test_a_spread_is_the_standard_deviation_where_no_value_is_wild(kind: str) -> None:
    rng = np.random.default_rng(1)
    points = {
        "flags": rng.integers(0, 2, (2000, 2)),
        "constant": np.full((2000, 2), 7.5),
        "rare": rng.random((2000, 2)) < 0.03,
    }.get(kind)
    points = getattr(rng, kind)(size=(2000, 2)) if points is None else points
    centres, spreads = centres_and_spreads(points.astype(np.float64))
    assert spreads.tobytes() == points.std(axis=0, dtype=np.float64).tobytes()
    assert centres.tobytes() == points.mean(axis=0, dtype=np.float64).tobytes()


@given(st.sampled_from([0.001, 0.05, 0.1, 0.14]))
def test_wild_values_do_not_hide_the_others(share: float) -> None:
    (centre,), (spread,) = centres_and_spreads(sentinel(share))
    assert 40 < centre < 65
    assert 20 < spread < 120


def test_thresholds_keep_their_digits_beside_wild_values() -> None:
    draft = Draft(
        np.full((2, 1), -np.inf), np.array([[35.2], [np.inf]]), np.array([0, 1], np.int32), NO_TERMS
    )
    rounded = readable(draft, spreads_of(sentinel(0.1)), np.array([False]))
    assert rounded.highs[0, 0] == pytest.approx(35.2, abs=0.01)


def test_thresholds_move_by_what_most_values_vary() -> None:
    points = sentinel(0.1)
    assert fit_points(NO_TERMS, points, np.ones((len(points), 2)), None).spreads[0] < 120


def scale_at(points: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Knowledge:
    """Return what is known of one long episode through points."""
    moves, rewards = np.zeros(len(points), np.int16), np.ones(len(points), np.float32)
    moves[-1] = TERMINAL
    rest = [np.zeros(0)] * (len(Knowledge._fields) - 3)
    return Knowledge(points, moves, rewards, *rest)  # type: ignore[arg-type]  # the rest is not looked at


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1.0, 1e9])
def test_networks_see_features_of_every_size(size: float) -> None:
    values = (size * np.random.default_rng(0).normal(size=(500, 1))).astype(np.float32)
    scale = scale_of(scale_at(values), 0.9)
    assert scale[1] == pytest.approx(values.astype(np.float64).std(), rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 1e-40, -3e-9, 7.25e7])
def test_constant_features_are_not_blown_up(value: float) -> None:
    scale = scale_of(scale_at(np.full((500, 1), value, np.float32)), 0.9)
    assert scale[1] == 1.0


def test_networks_see_what_varies_beside_wild_values() -> None:
    scale = scale_of(scale_at(sentinel(0.1).astype(np.float32)), 0.9)
    assert 40 < scale[0] < 65
    assert 20 < scale[1] < 120


def test_a_feature_that_was_constant_and_varies_widely_later_leaves_values_of_a_reasonable_size() -> None:
    near = action_values(network(1), SCALE, np.zeros((1, 3)), 4)
    far = action_values(network(1), SCALE, np.full((1, 3), 1e5), 4)
    assert np.abs(far).max() < 100 * np.abs(near).max() + 1
