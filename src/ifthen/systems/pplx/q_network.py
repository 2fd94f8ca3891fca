"""A small network of action values: what it is, and what it says. `q_training.py` improves it.

It says what each action is worth at a point, so that rules are sought where they pay off. A network is one
flat array of weights: two hidden layers of rectified units, then one value per action.

There may be several networks, one behind the other in the same array. What an action is worth is then the
mean of their values.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel, lean_kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats, Ints

Floats32 = NDArray[np.float32]
HIDDEN = 64
"""Each hidden layer has this many units."""
FAR = np.float32(30.0)
"""Networks see features up to this many spreads from the centre as they are, and by logarithms beyond."""
FARTHEST = np.float32(1e38)
"""Larger distances from the centre, in spreads, count as this one."""
FIRST_OUTPUT = 0.1
"""The last layer begins small, so that all actions begin alike."""


class Scale(NamedTuple):
    """How points and rewards become numbers around 1."""

    centre: Floats32
    """`(features,)`."""
    spread: Floats32
    """`(features,)`."""
    reward: float
    """What rewards are multiplied by."""


class Layers(NamedTuple):
    """A network's weights by layer: views of the flat array."""

    w1: Floats32
    """`(features, hidden)`."""
    b1: Floats32
    w2: Floats32
    """`(hidden, hidden)`."""
    b2: Floats32
    w3: Floats32
    """`(hidden, actions)`."""
    b3: Floats32


@kernel
def weights_of(features: int, actions: int) -> int:
    """Return how many weights a network has."""
    return (features + 1) * HIDDEN + (HIDDEN + 1) * HIDDEN + (HIDDEN + 1) * actions


@kernel
def layers(net: Floats32, features: int, actions: int) -> Layers:
    """Return the layers of a network."""
    a = features * HIDDEN
    b = a + HIDDEN
    c = b + HIDDEN * HIDDEN
    d = c + HIDDEN
    e = d + HIDDEN * actions
    return Layers(
        net[:a].reshape((features, HIDDEN)),
        net[a:b],
        net[b:c].reshape((HIDDEN, HIDDEN)),
        net[c:d],
        net[d:e].reshape((HIDDEN, actions)),
        net[e:],
    )


@kernel
def fill_network(key: np.uint64, features: int, actions: int, net: Floats32) -> None:
    """Write random weights, uniform in ±√(3/inputs); biases are 0."""
    net[:] = 0.0
    network = layers(net, features, actions)
    for layer, weights in enumerate((network.w1, network.w2, network.w3)):
        limit = math.sqrt(3.0 / weights.shape[0]) * (FIRST_OUTPUT if layer == 2 else 1.0)
        for i in range(weights.shape[0]):
            for j in range(weights.shape[1]):
                position = i * weights.shape[1] + j
                weights[i, j] = limit * (2.0 * uniform(fold(key, layer), position) - 1.0)


@kernel
def one_layer(x: Floats32, weights: Floats32, bias: Floats32, out: Floats32) -> None:
    """Write the sums of a layer at one point, in an order that does not depend on other points."""
    for j in range(len(out)):
        out[j] = bias[j]
    for i in range(len(x)):
        for j in range(len(out)):
            out[j] += x[i] * weights[i, j]


@kernel
def values_at(network: Layers, x: Floats32, h1: Floats32, h2: Floats32, q: Floats32) -> None:
    """Write the action values of one network at one scaled point."""
    one_layer(x, network.w1, network.b1, h1)
    for j in range(HIDDEN):
        h1[j] = max(h1[j], np.float32(0.0))
    one_layer(h1, network.w2, network.b2, h2)
    for j in range(HIDDEN):
        h2[j] = max(h2[j], np.float32(0.0))
    one_layer(h2, network.w3, network.b3, q)


@lean_kernel
def scaled(value: float, centre: np.float32, spread: np.float32) -> np.float32:
    """Return how many spreads a value is from the centre; what lies beyond FAR is compressed."""
    x = (np.float32(value) - centre) / spread
    if x > FAR:
        return FAR + np.float32(math.log1p(min(x - FAR, FARTHEST)))
    if x < -FAR:
        return -FAR - np.float32(math.log1p(min(-x - FAR, FARTHEST)))
    return x


@kernel
def action_values(nets: Floats32, scale: Scale, points: Floats, actions: int) -> Floats32:
    """Return the action values `(n, actions)` at points `(n, features)`, each as if it were alone.

    Args:
        nets: one network, or several behind each other: the values are their mean.
        scale: how points are scaled.
        points: `(n, features)`.
        actions: the number of actions.
    """
    n, features = points.shape
    size = weights_of(features, actions)
    q, network_q = np.zeros((n, actions), np.float32), np.empty(actions, np.float32)
    x, h1, h2 = np.empty(features, np.float32), np.empty(HIDDEN, np.float32), np.empty(HIDDEN, np.float32)
    n_networks = len(nets) // size
    for m in range(n_networks):
        network = layers(nets[m * size : (m + 1) * size], features, actions)
        for i in range(n):
            for d in range(features):
                x[d] = scaled(points[i, d], scale.centre[d], scale.spread[d])
            values_at(network, x, h1, h2, network_q)
            for a in range(actions):
                q[i, a] += network_q[a] / np.float32(n_networks)
    return q


@kernel
def explore(
    key: np.uint64,
    q: Floats32,
    epsilon: float,
    episodes: Ints,
    step_counts: Ints,
    held_actions: Ints,
    out: Ints,
) -> None:
    """Write actions: the best by `q`, `(m, actions)`, or a random one that is held for 1, 1, 2 or 4 steps.

    Args:
        key: the stream that random actions are drawn from.
        q: action values.
        epsilon: how often a random action begins.
        episodes: the number of each lane's episode, `(m,)`.
        step_counts: `(k,)`: how many steps each episode has taken; counts on.
        held_actions: `(k, 2)`: the action that an episode holds, and for how many steps.
        out: `(m,)`.
    """
    for lane in range(len(episodes)):
        episode = episodes[lane]
        if episode < 0:
            continue
        lane_key = fold(fold(key, episode), step_counts[episode])
        step_counts[episode] += 1
        if held_actions[episode, 1] == 0 and uniform(lane_key, 0) < epsilon:
            held_actions[episode, 0] = below(lane_key, 1, q.shape[1])
            held_actions[episode, 1] = 1 << max(0, below(lane_key, 2, 4) - 1)
        if held_actions[episode, 1] > 0:
            held_actions[episode, 1] -= 1
            out[lane] = held_actions[episode, 0]
        else:
            best_action = 0
            for a in range(1, q.shape[1]):
                if q[lane, a] > q[lane, best_action]:
                    best_action = a
            out[lane] = best_action
