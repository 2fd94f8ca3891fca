"""Learning action values from remembered steps: a compiled double Q-network.

Several networks learn from the same targets, in which an action is worth the mean of their values (Anschel,
Baram and Shimkin 2017 and Liang and others 2022 average networks in this way). With few steps this makes
values far better.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel, lean_kernel
from ifthen.randomness import below, fold
from ifthen.rules.arrays import Ints
from ifthen.systems.pplx.matrices import multiply
from ifthen.systems.pplx.memory import TERMINAL, Memory
from ifthen.systems.pplx.q_network import HIDDEN, Floats32, Layers, Scale, layers, scaled, weights_of

BATCH = 64
"""An update learns from this many steps."""
LOOKAHEAD = 3
"""A target is the sum of this many rewards and the value of the state that follows."""
AVERAGING = np.float32(0.005)
"""With each update, the target network moves this share of the way to the network."""
KEEP_SLOPE = np.float32(0.9)
"""Adam's β₁."""
KEEP_SQUARE = np.float32(0.999)
"""Adam's β₂."""
TINY = np.float32(1e-5)
"""Adam's ε."""
LARGEST_ERROR = 10.0
"""Errors beyond this, in units of the spread of returns, count linearly (Huber's loss). With a smaller limit,
networks would learn medians: losses that are rare and heavy would hardly count."""
NO_ADVICE = np.zeros(0, np.int16)
"""For `train`: the best action follows everywhere."""


@kernel
def rectify(units: Floats32, bias: Floats32) -> None:
    """Add biases to units `(n, hidden)`, and make negative ones 0."""
    for i in range(units.shape[0]):
        for j in range(units.shape[1]):
            units[i, j] = max(units[i, j] + bias[j], np.float32(0.0))


@kernel
def forward(network: Layers, x: Floats32, h1: Floats32, h2: Floats32, q: Floats32) -> None:
    """Write the hidden units and the action values of scaled points `(n, features)`."""
    multiply(x, network.w1, h1)
    rectify(h1, network.b1)
    multiply(h1, network.w2, h2)
    rectify(h2, network.b2)
    multiply(h2, network.w3, q)
    for i in range(q.shape[0]):
        for a in range(q.shape[1]):
            q[i, a] += network.b3[a]


@kernel
def draw_batch(
    key: np.uint64,
    memory: Memory,
    n_rows: int,
    scale: Scale,
    gamma: float,
    x: Floats32,
    y: Floats32,
    actions: Ints,
    next_rows: Ints,
    rewards: Floats32,
    factors: Floats32,
) -> None:
    """Draw steps: the scaled points before and after, the action, the row after, the rewards, and a factor.

    The factor of what follows is γ to the number of steps between, and 0 where the episode ended for good.
    """
    for i in range(len(actions)):
        first_row = below(key, i, n_rows)
        first_row -= int(memory.moves[first_row] < 0)
        total, factor, row = 0.0, 1.0, first_row
        for _ in range(LOOKAHEAD):
            total += factor * memory.rewards[row]
            factor *= gamma
            row += 1
            if memory.moves[row] < 0:
                break
        for d in range(x.shape[1]):
            x[i, d] = scaled(memory.points[first_row, d], scale.centre[d], scale.spread[d])
            y[i, d] = scaled(memory.points[row, d], scale.centre[d], scale.spread[d])
        actions[i], next_rows[i], rewards[i] = memory.moves[first_row], row, total * scale.reward
        factors[i] = 0.0 if memory.moves[row] == TERMINAL else factor


@kernel
def step_down(
    net: Floats32, slope: Floats32, mean: Floats32, square: Floats32, rate: float, decay: float
) -> None:
    """Change weights against their slopes, by Adam; they shrink by a share `rate · decay` besides.

    The correction of Adam's means for having begun at 0 is left out.
    """
    one, shrink = np.float32(1.0), np.float32(1.0 - rate * decay)
    for i in range(len(net)):
        mean[i] += (one - KEEP_SLOPE) * (slope[i] - mean[i])
        square[i] += (one - KEEP_SQUARE) * (slope[i] * slope[i] - square[i])
        net[i] = shrink * net[i] - np.float32(rate) * mean[i] / (np.float32(math.sqrt(square[i])) + TINY)


@lean_kernel
def clear_idle(outputs: Floats32, slopes: Floats32) -> None:
    """Set the slopes of hidden units to 0 where the units give 0."""
    for i in range(slopes.shape[0]):
        for j in range(slopes.shape[1]):
            if outputs[i, j] <= 0.0:
                slopes[i, j] = 0.0


@kernel
def backward(
    network: Layers,
    slopes: Layers,
    x: Floats32,
    h1: Floats32,
    h2: Floats32,
    dq: Floats32,
    g1: Floats32,
    g2: Floats32,
) -> None:
    """Write the slopes of the loss, given those of the action values `(n, actions)`."""
    multiply(h2.T, dq, slopes.w3)
    multiply(dq, network.w3.T.copy(), g2)
    clear_idle(h2, g2)
    multiply(h1.T, g2, slopes.w2)
    multiply(g2, network.w2.T.copy(), g1)
    clear_idle(h1, g1)
    multiply(x.T, g1, slopes.w1)
    slopes.b1[:], slopes.b2[:], slopes.b3[:] = 0.0, 0.0, 0.0
    for i in range(len(dq)):
        for j in range(HIDDEN):
            slopes.b1[j] += g1[i, j]
            slopes.b2[j] += g2[i, j]
        for a in range(dq.shape[1]):
            slopes.b3[a] += dq[i, a]


@kernel
def add_values(
    nets: Floats32,
    actions: int,
    y: Floats32,
    g1: Floats32,
    g2: Floats32,
    network_q: Floats32,
    total: Floats32,
) -> None:
    """Write the sum of the action values of all networks at scaled points `(n, features)`."""
    features = y.shape[1]
    size = weights_of(features, actions)
    total[:] = 0.0
    for m in range(len(nets) // size):
        forward(layers(nets[m * size : (m + 1) * size], features, actions), y, g1, g2, network_q)
        for i in range(len(total)):
            for a in range(actions):
                total[i, a] += network_q[i, a]


@kernel
def fill_goals(
    online_q: Floats32,
    target_q: Floats32,
    advice: NDArray[np.int16],
    next_rows: Ints,
    rewards: Floats32,
    factors: Floats32,
    goals: Floats32,
) -> None:
    """Write what values should be: rewards, and `target_q` of the best action by `online_q`."""
    for i in range(len(goals)):
        best_action = 0
        for a in range(1, online_q.shape[1]):
            if online_q[i, a] > online_q[i, best_action]:
                best_action = a
        if len(advice) > 0 and advice[next_rows[i]] >= 0:
            best_action = int(advice[next_rows[i]])
        goals[i] = rewards[i] + factors[i] * target_q[i, best_action]


@kernel
def add_caution(caution: float, q: Floats32, taken: Ints, dq: Floats32) -> None:
    """Add the slopes of `caution · (log Σ exp q − q of the action taken)` to those of action values."""
    for i in range(len(q)):
        highest = q[i].max()
        total = np.float32(0.0)
        for a in range(q.shape[1]):
            total += np.float32(math.exp(q[i, a] - highest))
        for a in range(q.shape[1]):
            share = np.float32(math.exp(q[i, a] - highest)) / total
            dq[i, a] += np.float32(caution) * (share - np.float32(a == taken[i])) / len(q)


@kernel
def train(
    key: np.uint64,
    memory: Memory,
    n_rows: int,
    scale: Scale,
    gamma: float,
    rate: float,
    decay: float,
    updates: int,
    actions: int,
    nets: Floats32,
    advice: NDArray[np.int16],
    caution: float,
) -> float:
    """Improve networks by updates on steps drawn at random; return the mean absolute error.

    Args:
        key: the stream that steps are drawn from.
        memory: steps taken.
        n_rows: how many rows of the memory are filled.
        scale: how points and rewards are scaled.
        gamma: the discount factor.
        rate: the learning rate.
        decay: with each update, weights shrink by this share of the learning rate.
        updates: how many.
        actions: the number of actions.
        nets: `(4, networks · weights)`: the networks, the targets that value what follows, Adam's slopes and
            squares.
        advice: `(known,)`: the action that follows in each row; the best one where it is negative, and
            everywhere where the array is empty.
        caution: how strongly actions that were not taken are made to look worse.
    """
    features, size = memory.points.shape[1], weights_of(memory.points.shape[1], actions)
    n_networks, slope = nets.shape[1] // size, np.zeros(size, np.float32)
    slopes = layers(slope, features, actions)
    x, y = np.empty((BATCH, features), np.float32), np.empty((BATCH, features), np.float32)
    h1, h2 = np.empty((BATCH, HIDDEN), np.float32), np.empty((BATCH, HIDDEN), np.float32)
    g1, g2 = np.empty((BATCH, HIDDEN), np.float32), np.empty((BATCH, HIDDEN), np.float32)
    q, online_q = np.empty((BATCH, actions), np.float32), np.empty((BATCH, actions), np.float32)
    target_q, dq = np.empty((BATCH, actions), np.float32), np.empty((BATCH, actions), np.float32)
    rewards, factors = np.empty(BATCH, np.float32), np.empty(BATCH, np.float32)
    taken, next_rows, error_sum = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64), 0.0
    goals = np.empty(BATCH, np.float32)
    for update in range(updates):
        batch_key = fold(key, update)
        draw_batch(batch_key, memory, n_rows, scale, gamma, x, y, taken, next_rows, rewards, factors)
        add_values(nets[0], actions, y, g1, g2, q, online_q)
        add_values(nets[1], actions, y, g1, g2, q, target_q)
        target_q /= np.float32(n_networks)
        fill_goals(online_q, target_q, advice, next_rows, rewards, factors, goals)
        for start in range(0, n_networks * size, size):
            network = layers(nets[0, start : start + size], features, actions)
            forward(network, x, h1, h2, q)
            dq[:] = 0.0
            for i in range(BATCH):
                error = q[i, taken[i]] - goals[i]
                error_sum += abs(error)
                dq[i, taken[i]] = min(max(error, -LARGEST_ERROR), LARGEST_ERROR) / BATCH
            if caution > 0.0:
                add_caution(caution, q, taken, dq)
            backward(network, slopes, x, h1, h2, dq, g1, g2)
            weights = slice(start, start + size)
            step_down(nets[0, weights], slope, nets[2, weights], nets[3, weights], rate, decay)
        for i in range(nets.shape[1]):
            nets[1, i] += AVERAGING * (nets[0, i] - nets[1, i])
    return float(error_sum / max(updates * BATCH * n_networks, 1))
