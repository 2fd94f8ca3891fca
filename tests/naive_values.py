"""Plain-Python oracles of what PPL-X learns in environments: a network of action values, trees, polishing.

A network is a list of numbers, and a layer is (weights by input, biases). All arithmetic is in double
precision, one product after the other, where kernels work in single precision and call BLAS. They draw the
same random numbers as the kernels.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests import naive

Matrix = list[list[float]]
Layer = tuple[Matrix, list[float]]
Test = tuple[int, bool, float]
"""A column, whether the value must be at most the threshold rather than at least, and the threshold."""

# The network


def weights_of(features: int, actions: int, hidden: int) -> int:
    """A weight for each pair of units in neighbouring layers, and a bias for each unit but the inputs."""
    widths = [features, hidden, hidden, actions]
    return sum(a * b + b for a, b in itertools.pairwise(widths))


def layers(net: Any, features: int, actions: int, hidden: int) -> list[Layer]:
    """Read a network number by number: the weights of each input unit in turn, then the biases."""
    numbers = iter([float(x) for x in net])
    found = []
    for inputs, outputs in ((features, hidden), (hidden, hidden), (hidden, actions)):
        weights = [[next(numbers) for _ in range(outputs)] for _ in range(inputs)]
        found.append((weights, [next(numbers) for _ in range(outputs)]))
    assert next(numbers, None) is None
    return found


def first_weights(key: int, features: int, actions: int, settings: Any) -> list[float]:
    """Uniform numbers of variance 1/inputs; those of the last layer are smaller, and biases are 0."""
    found: list[float] = []
    hidden = settings.HIDDEN
    for k, (inputs, outputs) in enumerate(((features, hidden), (hidden, hidden), (hidden, actions))):
        own = naive.fold(key, k)
        far = math.sqrt(3 / inputs) * (settings.FIRST_OUTPUT if k == 2 else 1)
        found += [far * (2 * naive.uniform(own, i) - 1) for i in range(inputs * outputs)] + [0.0] * outputs
    return found


def rectified(units: Matrix, bias: list[float]) -> Matrix:
    """Sums with biases; 0 where they are negative."""
    return [[max(x + b, 0.0) for x, b in zip(row, bias, strict=True)] for row in units]


def product(a: Matrix, b: Matrix) -> Matrix:
    """The product of two matrices."""
    columns = list(zip(*b, strict=True))
    return [[sum(map(float.__mul__, row, column)) for column in columns] for row in a]


def transposed(a: Matrix) -> Matrix:
    """Rows become columns."""
    return [list(row) for row in zip(*a, strict=True)]


def forward(net: list[Layer], x: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The units of both hidden layers, and the action values."""
    (w1, b1), (w2, b2), (w3, b3) = net
    h1 = rectified(product(x, w1), b1)
    h2 = rectified(product(h1, w2), b2)
    return h1, h2, [[q + b for q, b in zip(row, b3, strict=True)] for row in product(h2, w3)]


def one_layer(x: list[float], layer: Layer) -> list[float]:
    """The sums of a layer at one point."""
    weights, bias = layer
    return [b + sum(map(float.__mul__, x, column)) for b, *column in zip(bias, *weights, strict=True)]


def scaled(point: Any, scale: Any) -> list[float]:
    """How far a point is from the centre, in spreads."""
    own = zip(point, scale.centre, scale.spread, strict=True)
    return [(float(x) - float(c)) / float(s) for x, c, s in own]


def action_values(net: Any, scale: Any, points: Any, actions: int, hidden: int) -> Matrix:
    """The action values of points."""
    x = [scaled(point, scale) for point in points]
    return forward(layers(net, len(points[0]), actions, hidden), x)[2]


def backward(net: list[Layer], x: Matrix, dq: Matrix) -> list[Layer]:
    """The slopes of all weights by the chain rule, given those of the action values."""
    h1, h2, _ = forward(net, x)
    found, slope = [], dq
    for (weights, _), inputs in ((net[2], h2), (net[1], h1), (net[0], x)):
        found.append(
            (product(transposed(inputs), slope), [sum(column) for column in zip(*slope, strict=True)])
        )
        before = product(slope, transposed(weights))
        slope = [
            [d if unit > 0 else 0.0 for d, unit in zip(row, own, strict=True)]
            for row, own in zip(before, inputs, strict=True)
        ]
    return found[::-1]


def flat(net: list[Layer]) -> list[float]:
    """The numbers of a network in a row."""
    return [x for weights, bias in net for x in [*(w for row in weights for w in row), *bias]]


# Learning


def episodes_of(memory: Any) -> list[tuple[int, int, bool]]:
    """The first step of each episode, the row behind its last one, and whether it ended for good."""
    found, first = [], 0
    for row, move in enumerate(memory.moves):
        if move < 0:
            found.append((first, row, int(move) == -1))
            first = row + 1
    return found


def drawn_step(
    key: int, i: int, memory: Any, known: int, gamma: float, lookahead: int
) -> tuple[int, int, float, float]:
    """A step, the row some steps later in its episode, the rewards between, the factor of what follows."""
    row = naive.below(key, i, known)
    first, end, ended = next(e for e in episodes_of(memory) if e[0] <= row <= e[1])
    s = min(row, end - 1)
    assert s >= first
    after = min(s + lookahead, end)
    rewards = sum(gamma**k * float(memory.rewards[s + k]) for k in range(after - s))
    return s, after, rewards, 0.0 if after == end and ended else gamma ** (after - s)


def adam(
    net: list[float], slope: list[float], mean: list[float], square: list[float], rate: float, settings: Any
) -> tuple[list[float], list[float], list[float]]:
    """Weights, mean slopes and mean squares after a step down."""
    keep, squares = float(settings.KEEP_SLOPE), float(settings.KEEP_SQUARE)
    mean = [keep * m + (1 - keep) * g for m, g in zip(mean, slope, strict=True)]
    square = [squares * s + (1 - squares) * g * g for s, g in zip(square, slope, strict=True)]
    tiny = float(settings.TINY)
    net = [w - rate * m / (math.sqrt(s) + tiny) for w, m, s in zip(net, mean, square, strict=True)]
    return net, mean, square


def trained(
    key: int,
    memory: Any,
    known: int,
    scale: Any,
    gamma: float,
    rate: float,
    updates: int,
    actions: int,
    nets: Any,
    settings: Any,
) -> tuple[list[list[float]], float]:
    """The network, its target, slopes and squares after updates, and the mean absolute error."""
    net, target, mean, square = ([float(x) for x in row] for row in nets)
    features, missed = memory.points.shape[1], []
    for update in range(updates):
        own = naive.fold(key, update)
        steps = [drawn_step(own, i, memory, known, gamma, settings.LOOKAHEAD) for i in range(settings.BATCH)]
        x = [scaled(memory.points[s], scale) for s, _, _, _ in steps]
        y = [scaled(memory.points[after], scale) for _, after, _, _ in steps]
        present = layers(net, features, actions, settings.HIDDEN)
        q, ahead = forward(present, x)[2], forward(present, y)[2]
        worth = forward(layers(target, features, actions, settings.HIDDEN), y)[2]
        dq = [[0.0] * actions for _ in steps]
        for i, (s, _, rewards, factor) in enumerate(steps):
            follows = worth[i][ahead[i].index(max(ahead[i]))]
            error = q[i][memory.moves[s]] - (rewards * scale.reward + factor * follows)
            missed.append(abs(error))
            most = settings.LARGEST_ERROR
            dq[i][memory.moves[s]] = max(-most, min(most, error)) / settings.BATCH
        net, mean, square = adam(net, flat(backward(present, x, dq)), mean, square, rate, settings)
        share = float(settings.AVERAGING)
        target = [(1 - share) * t + share * w for t, w in zip(target, net, strict=True)]
    return [net, target, mean, square], sum(missed) / max(len(missed), 1)


def explored(
    key: int,
    q: Matrix,
    share: float,
    episodes: list[int],
    clocks: list[int],
    held: list[tuple[int, int]],
) -> dict[int, int]:
    """The action of each lane that has an episode; clocks and what is held change."""
    found = {}
    for lane, e in enumerate(episodes):
        if e < 0:
            continue
        own = naive.fold(naive.fold(key, e), clocks[e])
        clocks[e] += 1
        action, left = held[e]
        if left == 0 and naive.uniform(own, 0) < share:
            action, left = naive.below(own, 1, len(q[lane])), (1, 1, 2, 4)[naive.below(own, 2, 4)]
        held[e] = (action, max(left - 1, 0))
        found[lane] = action if left else q[lane].index(max(q[lane]))
    return found


# Trees


def bin_of(value: float, edges: list[float]) -> int:
    """How many edges lie below a value."""
    return sum(edge < value for edge in edges)


def purity(members: list[int], labels: list[int], weights: list[float]) -> float:
    """The weight of members that would keep its label if labels were drawn from among them."""
    total = sum(weights[i] for i in members)
    by_label: dict[int, float] = {}
    for i in members:
        by_label[labels[i]] = by_label.get(labels[i], 0.0) + weights[i]
    return sum(w * w for w in by_label.values()) / total if total > 0 else 0.0


def best_split(
    bins: list[list[int]], members: list[int], labels: list[int], weights: list[float], least: int
) -> tuple[float, int, int]:
    """The gain, the column and the last bin on the left of the first split that gains most; −1 if none."""
    top = (0.0, -1, 0)
    for c, own in enumerate(bins):
        for cut in sorted({own[i] for i in members})[:-1]:
            left = [i for i in members if own[i] <= cut]
            right = [i for i in members if own[i] > cut]
            if min(len(left), len(right)) < least:
                continue
            if min(sum(weights[i] for i in side) for side in (left, right)) <= 0:
                continue
            gain = sum(purity(side, labels, weights) for side in (left, right))
            gain -= purity(members, labels, weights)
            if gain > top[0] * (1 + 1e-9):
                top = gain, c, cut
    return top


# Polishing


def holds(tests: list[Test], values: list[float]) -> bool:
    """Whether values pass all tests."""
    return all(values[c] <= end if upper else values[c] >= end for c, upper, end in tests)


def term_values(coefficients: list[float], points: Matrix) -> list[float]:
    """The sum of products at each point."""
    return [sum((c * x for c, x in zip(coefficients, point, strict=True) if c != 0), 0.0) for point in points]


def given_away(
    rules: list[list[Test]], actions: list[int], points: Matrix, terms: Matrix, costs: Matrix
) -> float:
    """The mean cost of the first rule that holds."""
    total = 0.0
    sums = [term_values(row, points) for row in terms]
    for i, point in enumerate(points):
        values = [*point, *(own[i] for own in sums)]
        total += costs[i][next(a for rule, a in zip(rules, actions, strict=True) if holds(rule, values))]
    return total / len(points)


def moved_numbers(
    key: int,
    candidates: int,
    rules: list[list[Test]],
    actions: list[int],
    points: Matrix,
    terms: Matrix,
    costs: Matrix,
    spreads: list[float],
    reach: float,
) -> tuple[list[list[Test]], Matrix, float]:
    """The tests and the terms after moves, and what is given away then."""
    features, best = len(points[0]), given_away(rules, actions, points, terms, costs)
    places = [(r, t) for r, tests in enumerate(rules) for t in range(len(tests))]
    for c in range(candidates if places else 0):
        own = naive.fold(key, c)
        size = reach * math.exp(-4 * naive.uniform(own, 1)) * (2 * naive.uniform(own, 2) - 1)
        r, t = places[naive.below(own, 0, len(places))]
        column, upper, end = rules[r][t]
        new_rules, new_terms = [list(tests) for tests in rules], [list(row) for row in terms]
        if column >= features and naive.uniform(own, 3) < 0.4:
            d, row = naive.below(own, 4, features), new_terms[column - features]
            if row[d] == 0 or spreads[d] == 0:
                continue
            row[d] += size * spreads[column] / spreads[d]
            if row[d] == 0:
                continue
        else:
            new_rules[r][t] = column, upper, end + size * spreads[column]
        now = given_away(new_rules, actions, points, new_terms, costs)
        if now <= best:
            rules, terms, best = new_rules, new_terms, now
    return rules, terms, best
