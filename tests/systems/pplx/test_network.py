"""The network of action values, beside its oracles and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.randomness import stream
from ifthen.simulate.trajectories import TERMINATED, TRUNCATED, Trajectory
from ifthen.systems.pplx import memory as step_memory
from ifthen.systems.pplx import q_network, q_training
from ifthen.systems.pplx.memory import CUT, TERMINAL, Memory, remembered
from ifthen.systems.pplx.q_network import (
    HIDDEN,
    Layers,
    Scale,
    action_values,
    explore,
    fill_network,
    layers,
    one_layer,
    scaled,
    values_at,
    weights_of,
)
from ifthen.systems.pplx.q_training import (
    LOOKAHEAD,
    NO_ADVICE,
    add_caution,
    add_values,
    backward,
    clear_idle,
    draw_batch,
    fill_goals,
    forward,
    rectify,
    step_down,
    train,
)
from tests import naive_values

FEATURES, ACTIONS = 3, 4
numbers = st.integers(0, 10_000)


def key_of(seed: int) -> np.uint64:
    return stream(5, "pplx network tests", seed)


def network(seed: int) -> Any:
    """Return random weights, biases among them."""
    draws = np.random.default_rng(seed)
    return (0.3 * draws.normal(size=weights_of(FEATURES, ACTIONS))).astype(np.float32)


def plain(own: Layers) -> list[naive_values.Layer]:
    """Return layers as the oracles take them."""
    return [
        (weights.tolist(), bias.tolist())
        for weights, bias in ((own.w1, own.b1), (own.w2, own.b2), (own.w3, own.b3))
    ]


def units(n: int, width: int) -> Any:
    return np.full((n, width), np.nan, np.float32)


def episodes(seed: int, n: int = 6) -> list[Trajectory]:
    """Return episodes whose points say which episode and which step they are: (episode, step, random)."""
    draws, found = np.random.default_rng(seed), []
    for e in range(n):
        t = int(draws.integers(1, 9))
        points = np.column_stack([np.full(t + 1, e), np.arange(t + 1), draws.normal(size=t + 1)])
        ending = TERMINATED if draws.random() < 0.5 else TRUNCATED
        actions = draws.integers(0, ACTIONS, t)
        found.append(Trajectory(points[:-1], actions, draws.normal(size=t), ending, points[-1]))
    return found


def empty() -> Memory:
    return Memory(np.zeros((0, FEATURES), np.float32), np.zeros(0, np.int16), np.zeros(0, np.float32))


def memory_of(seed: int) -> Memory:
    return remembered(empty(), episodes(seed))


SCALE = Scale(np.array([1.0, 2.0, 0.5], np.float32), np.array([2.0, 0.5, 1.5], np.float32), 0.25)


@pytest.mark.oracle
@pytest.mark.parametrize(("features", "actions"), [(1, 1), (3, 4), (25, 2)])
def test_a_network_is_its_layers_one_after_the_other_and_begins_random_and_nearly_alike(
    features: int, actions: int
) -> None:
    n = weights_of(features, actions)
    assert n == naive_values.weights_of(features, actions, HIDDEN)
    net = np.arange(n, dtype=np.float32)
    own = layers(net, features, actions)
    assert plain(own) == naive_values.layers(net, features, actions, HIDDEN)
    own.w2[3, 5] = -1.0
    assert net[features * HIDDEN + HIDDEN + 3 * HIDDEN + 5] == -1.0  # a view, not a copy
    fill_network(key_of(n), features, actions, net)
    expected = naive_values.first_weights(int(key_of(n)), features, actions, q_network)
    assert net == pytest.approx(expected, rel=1e-6)


@pytest.mark.oracle
@given(numbers, st.integers(1, 5))
def test_units_and_action_values_are_the_oracles(seed: int, n: int) -> None:
    draws, net = np.random.default_rng(seed), network(seed)
    own = layers(net, FEATURES, ACTIONS)
    x = draws.normal(size=(n, FEATURES)).astype(np.float32)
    h1, h2, q = units(n, HIDDEN), units(n, HIDDEN), units(n, ACTIONS)
    forward(own, x, h1, h2, q)
    for made, expected in zip((h1, h2, q), naive_values.forward(plain(own), x.tolist()), strict=True):
        np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)
    raw = draws.normal(size=(n, HIDDEN)).astype(np.float32)
    expected = naive_values.rectified(raw.tolist(), own.b1.tolist())
    rectify(raw, own.b1)
    np.testing.assert_allclose(raw, expected, rtol=1e-5, atol=1e-6)
    sums = np.full(HIDDEN, np.nan, np.float32)
    one_layer(x[0], own.w1, own.b1, sums)
    assert sums == pytest.approx(naive_values.one_layer(x[0].tolist(), plain(own)[0]), rel=1e-4, abs=1e-5)
    values_at(own, x[0], h1[0], h2[0], q[0])
    assert q[0] == pytest.approx(naive_values.values_at(plain(own), x[0].tolist()), rel=1e-4, abs=1e-5)


@pytest.mark.oracle
@given(st.floats(-1e6, 1e6, width=32), st.floats(-100, 100, width=32), st.floats(0.125, 100, width=32))
def test_values_far_from_the_centre_are_compressed(value: float, centre: float, spread: float) -> None:
    found = scaled(value, np.float32(centre), np.float32(spread))
    assert found == pytest.approx(naive_values.scaled(value, centre, spread), rel=1e-4, abs=1e-4)
    assert abs(found) < 50


def test_scaled_values_keep_their_order_and_are_finite() -> None:
    values = [-1e300, -1e38, -1e5, -31.0, -30.0, -1.0, 0.0, 3.0, 30.0, 30.5, 1e5, 1e38]
    found = [float(scaled(value, np.float32(0), np.float32(1))) for value in values]
    assert np.isfinite(found).all()
    assert found == sorted(found)
    assert found[4:9] == values[4:9]
    assert len(set(found[1:])) == len(values) - 1


@pytest.mark.oracle
@given(numbers, st.integers(1, 5), st.integers(1, 3))
def test_action_values_are_the_mean_of_all_networks(seed: int, n: int, members: int) -> None:
    nets = np.concatenate([network(seed + m) for m in range(members)])
    points = 3.0 * np.random.default_rng(seed).normal(size=(n, FEATURES))
    values = action_values(nets, SCALE, points, ACTIONS)
    expected = naive_values.action_values(nets, SCALE, points, ACTIONS, HIDDEN)
    np.testing.assert_allclose(values, expected, rtol=1e-3, atol=1e-4)
    for i in range(n):  # to the last bit, so that it does not matter which points are asked for together
        assert values[i].tobytes() == action_values(nets, SCALE, points[[i]], ACTIONS)[0].tobytes()


@pytest.mark.oracle
@given(numbers, st.integers(1, 3))
def test_goals_are_rewards_and_what_follows_by_all_networks(seed: int, members: int) -> None:
    draws, n = np.random.default_rng(seed), 7
    nets = np.concatenate([network(seed + m) for m in range(members)])
    y = draws.normal(size=(n, FEATURES)).astype(np.float32)
    total, one = units(n, ACTIONS), units(n, ACTIONS)
    add_values(nets, ACTIONS, y, units(n, HIDDEN), units(n, HIDDEN), one, total)
    apart = naive_values.networks_of(nets, FEATURES, ACTIONS, HIDDEN)
    assert len(apart) == members
    expected = naive_values.summed(apart, y.tolist(), ACTIONS, HIDDEN)
    np.testing.assert_allclose(total, expected, rtol=1e-3, atol=1e-4)
    advice = draws.integers(-1, ACTIONS, n).astype(np.int16) if seed % 2 else NO_ADVICE
    after, made = draws.permutation(n), np.full(n, np.nan, np.float32)
    rewards, factors = draws.normal(size=(2, n)).astype(np.float32)
    worth = draws.normal(size=(n, ACTIONS)).astype(np.float32)
    fill_goals(total, worth, advice, after, rewards, factors, made)
    own = total.tolist(), worth.tolist(), advice, after.tolist(), rewards.tolist(), factors.tolist()
    assert made == pytest.approx(naive_values.goals(*own), rel=1e-4, abs=1e-5)


def slopes_by(seed: int, n: int) -> tuple[Any, Any, Any, Any]:
    """Return a network, points, slopes of their action values, and those of all weights."""
    draws, net = np.random.default_rng(seed), network(seed)
    own, slope = layers(net, FEATURES, ACTIONS), np.full(len(net), np.nan, np.float32)
    x = draws.normal(size=(n, FEATURES)).astype(np.float32)
    dq = draws.normal(size=(n, ACTIONS)).astype(np.float32)
    h1, h2, q = units(n, HIDDEN), units(n, HIDDEN), units(n, ACTIONS)
    forward(own, x, h1, h2, q)
    backward(own, layers(slope, FEATURES, ACTIONS), x, h1, h2, dq, units(n, HIDDEN), units(n, HIDDEN))
    return net, x, dq, slope


@pytest.mark.oracle
@given(numbers, st.integers(1, 5))
def test_slopes_follow_the_chain_rule(seed: int, n: int) -> None:
    net, x, dq, slope = slopes_by(seed, n)
    own = naive_values.layers(net, FEATURES, ACTIONS, HIDDEN)
    expected = naive_values.flat(naive_values.backward(own, x.tolist(), dq.tolist()))
    np.testing.assert_allclose(slope, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.oracle
@given(numbers, st.integers(1, 5))
def test_slopes_of_idle_units_are_cleared_as_by_the_oracle(seed: int, n: int) -> None:
    draws = np.random.default_rng(seed)
    outputs = np.maximum(draws.normal(size=(n, 7)), 0.0).astype(np.float32)
    slopes = draws.normal(size=(n, 7)).astype(np.float32)
    expected = naive_values.without_idle(outputs.tolist(), slopes.tolist())
    clear_idle(outputs, slopes)
    assert slopes.tolist() == expected


@pytest.mark.oracle
@given(numbers, st.integers(1, 5), st.floats(0.0, 2.0))
def test_caution_lowers_actions_that_were_not_taken(seed: int, n: int, caution: float) -> None:
    draws = np.random.default_rng(seed)
    q, dq = (3 * draws.normal(size=(2, n, ACTIONS))).astype(np.float32)
    taken, before = draws.integers(0, ACTIONS, n), dq.copy()
    expected = naive_values.cautioned(caution, q.tolist(), taken.tolist(), dq.tolist())
    add_caution(caution, q, taken, dq)
    np.testing.assert_allclose(dq, expected, rtol=1e-4, atol=1e-5)
    rows = np.arange(n)
    assert (dq[rows, taken] <= before[rows, taken]).all()
    assert dq.sum() == pytest.approx(before.sum(), abs=1e-4)  # what one action loses, the others gain


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_what_finite_differences_say(seed: int) -> None:
    net, x, dq, slope = slopes_by(seed, 3)

    def loss(weights: Any) -> float:
        q = naive_values.forward(naive_values.layers(weights, FEATURES, ACTIONS, HIDDEN), x.tolist())[2]
        return float((dq * np.array(q)).sum())

    draws, step = np.random.default_rng(seed), 1e-5
    for place in [*draws.integers(0, len(net), 40).tolist(), *range(len(net) - ACTIONS, len(net))]:
        up, down = net.astype(np.float64), net.astype(np.float64)
        up[place] += step
        down[place] -= step
        assert slope[place] == pytest.approx((loss(up) - loss(down)) / (2 * step), rel=1e-2, abs=1e-3)


def drawn(seed: int, memory: Memory, n: int, gamma: float = 0.9) -> tuple[Any, ...]:
    """Return what a batch of n steps holds."""
    x, y, taken, after = units(n, FEATURES), units(n, FEATURES), np.zeros(n, np.int64), np.zeros(n, np.int64)
    rewards, factors = np.zeros(n, np.float32), np.zeros(n, np.float32)
    draw_batch(key_of(seed), memory, len(memory.moves), SCALE, gamma, x, y, taken, after, rewards, factors)
    return x, y, taken, after, rewards, factors


@pytest.mark.oracle
@given(numbers)
def test_batches_are_drawn_as_by_the_oracle(seed: int) -> None:
    memory, n = memory_of(seed), 20
    x, y, taken, after, rewards, factors = drawn(seed, memory, n)
    for i in range(n):
        own = int(key_of(seed)), i, memory, len(memory.moves), 0.9, LOOKAHEAD
        s, later, total, factor = naive_values.drawn_step(*own)
        assert x[i] == pytest.approx(naive_values.scaled_point(memory.points[s], SCALE), abs=1e-5)
        assert y[i] == pytest.approx(naive_values.scaled_point(memory.points[later], SCALE), abs=1e-5)
        assert (taken[i], after[i]) == (memory.moves[s], later)
        assert (rewards[i], factors[i]) == pytest.approx((total * SCALE.reward, factor), abs=1e-5)


@given(numbers, st.integers(0, 2))
def test_steps_are_remembered_whole_and_no_batch_crosses_episodes(seed: int, parts: int) -> None:
    played, memory = episodes(seed), empty()
    for part in np.array_split(np.arange(len(played)), parts + 1):
        memory = remembered(memory, [played[i] for i in part])
    assert len(memory.moves) == sum(len(e.actions) + 1 for e in played)
    ends = memory.moves[memory.moves < 0].tolist()
    assert ends == [TERMINAL if e.ending == TERMINATED else CUT for e in played]
    x, y, taken, _, _, factors = drawn(seed, memory, 200)
    assert (taken >= 0).all()
    (episode, step), (same, later) = (
        np.round(part[:, :2] * SCALE.spread[:2] + SCALE.centre[:2]).astype(int).T for part in (x, y)
    )
    lengths = np.array([len(e.actions) for e in played])[episode]
    ended = np.array([e.ending == TERMINATED for e in played])[episode]
    assert (episode == same).all()
    assert (later == np.minimum(step + LOOKAHEAD, lengths)).all()
    assert (step < lengths).all()
    assert factors == pytest.approx(np.where(ended & (later == lengths), 0, 0.9 ** (later - step)), abs=1e-5)


@pytest.mark.oracle
@given(numbers, st.sampled_from([0.0, 0.5, 20.0]))
def test_weights_step_down_as_by_adam_and_shrink(seed: int, decay: float) -> None:
    draws = np.random.default_rng(seed)
    net, slope, mean, square = draws.normal(size=(4, 30)).astype(np.float32)
    square **= 2
    expected = naive_values.adam(
        net.tolist(), slope.tolist(), mean.tolist(), square.tolist(), 1e-3, decay, q_training
    )
    step_down(net, slope, mean, square, 1e-3, decay)
    for made, own in zip((net, mean, square), expected, strict=True):
        np.testing.assert_allclose(made, own, rtol=1e-4, atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("advised", "members", "decay", "caution"),
    [
        (False, 1, 0.0, 0.0),
        (True, 1, 0.0, 0.0),
        (False, 3, 0.0, 0.0),
        (False, 2, 5.0, 0.0),
        (False, 2, 0.0, 0.3),
    ],
)
def test_updates_go_the_oracles_way(advised: bool, members: int, decay: float, caution: float) -> None:
    memory, nets = memory_of(3), np.zeros((4, members * weights_of(FEATURES, ACTIONS)), np.float32)
    nets[0], nets[1] = (np.concatenate([network(k + m) for m in range(0, 20 * members, 20)]) for k in (1, 2))
    own = memory, len(memory.moves), SCALE, 0.95, 1e-3, decay, 3, ACTIONS
    some = np.random.default_rng(1).integers(-1, ACTIONS, len(memory.moves)).astype(np.int16)
    advice = some if advised else NO_ADVICE
    expected, missed = naive_values.trained(int(key_of(1)), *own, nets, advice, caution, q_training)
    assert train(key_of(1), *own, nets, advice, caution) == pytest.approx(missed, rel=1e-3)
    # Adam makes much of tiny slopes: those that differ by rounding may move a weight by a full step.
    np.testing.assert_allclose(nets[0], expected[0], atol=3 * 1e-3)
    assert np.abs(nets[0] - expected[0]).mean() < 1e-5
    for made, wanted in zip(nets[1:], expected[1:], strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-3, atol=1e-4)
    assert train(key_of(1), *own[:-2], 0, ACTIONS, nets, advice, caution) == 0.0


def test_updates_find_the_values_of_a_chain() -> None:
    # Three steps to the end with a reward of 1 at last; the other action ends at once with 0.2.
    way = np.eye(3)
    right = Trajectory(way, np.zeros(3, np.int64), np.array([0.0, 0.0, 1.0]), TERMINATED, np.zeros(3))
    leave = [
        Trajectory(way[[i]], np.ones(1, np.int64), np.array([0.2]), TERMINATED, np.zeros(3)) for i in range(3)
    ]
    memory = remembered(empty(), [right, *leave])
    nets = np.zeros((4, weights_of(FEATURES, 2)), np.float32)
    fill_network(key_of(0), FEATURES, 2, nets[0])
    nets[1] = nets[0]
    plain_scale = Scale(np.zeros(3, np.float32), np.ones(3, np.float32), 1.0)
    train(key_of(0), memory, len(memory.moves), plain_scale, 0.5, 1e-3, 0.0, 1500, 2, nets, NO_ADVICE, 0.0)
    q = action_values(nets[0], plain_scale, way, 2)
    assert q == pytest.approx(np.array([[0.25, 0.2], [0.5, 0.2], [1.0, 0.2]]), abs=0.05)


@pytest.mark.oracle
@given(numbers, st.sampled_from([0.0, 0.4, 1.0]))
def test_random_actions_are_held_as_by_the_oracle(seed: int, share: float) -> None:
    draws, n = np.random.default_rng(seed), 5
    clocks, held = np.zeros(n, np.int64), np.zeros((n, 2), np.int64)
    own_clocks, own_held = [0] * n, [(0, 0)] * n
    for _ in range(12):
        lanes = draws.permutation(np.array([*range(n), -1, -1]))[:4]
        q = draws.normal(size=(4, ACTIONS)).astype(np.float32)
        out = np.full(4, -7)
        explore(key_of(seed), q, share, lanes, clocks, held, out)
        expected = naive_values.explored(
            int(key_of(seed)), q.tolist(), share, lanes.tolist(), own_clocks, own_held
        )
        assert out.tolist() == [expected.get(lane, -7) for lane in range(4)]
        assert clocks.tolist() == own_clocks
        if share == 0.0:
            assert (out[lanes >= 0] == q.argmax(axis=1)[lanes >= 0]).all()


@given(numbers, st.integers(1, 60))
def test_of_too_many_numbers_the_oldest_episodes_are_forgotten_whole(seed: int, most: int) -> None:
    whole = memory_of(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_memory, "MOST_NUMBERS", most * FEATURES)
        left = step_memory.within_limits(whole)
    rows = len(left.moves)
    assert left.points.tobytes() == whole.points[len(whole.moves) - rows :].tobytes()
    assert rows == len(whole.moves) or whole.moves[len(whole.moves) - rows - 1] < 0  # begins with an episode
    kept = int((left.moves < 0).sum())
    assert rows <= most or kept == 1  # the last one stays, however long it is
    assert kept >= 1


def test_values_are_means_also_where_losses_are_rare_and_heavy() -> None:
    draws = np.random.default_rng(0)
    rewards = np.where(draws.random(4000) < 0.1, -20.0, 1.0)
    points = np.zeros((2, 1))
    played = [
        Trajectory(points[:1], np.array([1]), np.array([reward]), TERMINATED, points[1]) for reward in rewards
    ]
    nothing = Memory(points[:0].astype(np.float32), np.zeros(0, np.int16), np.zeros(0, np.float32))
    memory = remembered(nothing, played)
    spread = float(rewards.std())
    scale = Scale(np.zeros(1, np.float32), np.ones(1, np.float32), 1 / spread)
    nets = np.zeros((4, weights_of(1, 2)), np.float32)
    fill_network(key_of(0), 1, 2, nets[0])
    nets[1] = nets[0]
    for rate in (3e-3, 3e-4):
        train(key_of(1), memory, len(memory.moves), scale, 0.99, rate, 0.0, 1500, 2, nets, NO_ADVICE, 0.0)
    value = action_values(nets[1], scale, points[:1], 2)[0, 1] * spread
    assert value == pytest.approx(rewards.mean(), abs=0.4)
    assert value < 0 < np.median(rewards)
