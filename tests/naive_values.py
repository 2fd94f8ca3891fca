"""Plain-Python oracles of what PPL-X learns in environments: a network of action values, trees, fitting.

A network is a list of numbers, and a layer is (weights by input, biases). All arithmetic is in double
precision, one product after the other, where kernels work in single precision. They draw the same random
numbers as the kernels.
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
FitRule = tuple[list[Test], int]

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


def eigenvalues_of_two(matrix: Matrix) -> list[float]:
    """The eigenvalues of a symmetric matrix of two rows, by the formula for quadratic equations."""
    (a, b), (_, d) = matrix
    middle, away = (a + d) / 2, math.hypot((a - d) / 2, b)
    return [middle - away, middle + away]


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


def scaled(value: float, centre: float, spread: float) -> float:
    """How far a value is from the centre, in spreads; beyond 30 of them, distances grow like logarithms."""
    distance = (value - centre) / spread
    return distance if abs(distance) <= 30 else math.copysign(30 + math.log(abs(distance) - 29), distance)


def scaled_point(point: Any, scale: Any) -> list[float]:
    """A point as networks see it."""
    own = zip(point, scale.centre, scale.spread, strict=True)
    return [scaled(float(x), float(c), float(s)) for x, c, s in own]


def networks_of(nets: Any, features: int, actions: int, hidden: int) -> list[list[float]]:
    """The numbers of each network, where several stand behind each other."""
    numbers, size = [float(x) for x in nets], weights_of(features, actions, hidden)
    return [numbers[i : i + size] for i in range(0, len(numbers), size)]


def values_at(net: list[Layer], x: list[float]) -> list[float]:
    """The action values of one network at one scaled point."""
    return forward(net, [x])[2][0]


def summed(nets: list[list[float]], x: Matrix, actions: int, hidden: int) -> Matrix:
    """The action values of several networks added up."""
    found = [forward(layers(net, len(x[0]), actions, hidden), x)[2] for net in nets]
    return [[sum(own[i][a] for own in found) for a in range(actions)] for i in range(len(x))]


def action_values(nets: Any, scale: Any, points: Any, actions: int, hidden: int) -> Matrix:
    """The action values of points, on average over the networks."""
    own = networks_of(nets, len(points[0]), actions, hidden)
    total = summed(own, [scaled_point(point, scale) for point in points], actions, hidden)
    return [[value / len(own) for value in row] for row in total]


def goals(
    ahead: Matrix, worth: Matrix, advice: Any, after: list[int], rewards: list[float], factors: list[float]
) -> list[float]:
    """What values should be: rewards, and what follows under the best or the advised action."""
    found = []
    for i, row in enumerate(after):
        action = ahead[i].index(max(ahead[i]))
        if len(advice) and advice[row] >= 0:
            action = int(advice[row])
        found.append(rewards[i] + factors[i] * worth[i][action])
    return found


def backward(net: list[Layer], x: Matrix, dq: Matrix) -> list[Layer]:
    """The slopes of all weights by the chain rule, given those of the action values."""
    h1, h2, _ = forward(net, x)
    found, slope = [], dq
    for (weights, _), inputs in ((net[2], h2), (net[1], h1), (net[0], x)):
        found.append(
            (product(transposed(inputs), slope), [sum(column) for column in zip(*slope, strict=True)])
        )
        slope = without_idle(inputs, product(slope, transposed(weights)))
    return found[::-1]


def without_idle(outputs: Matrix, slopes: Matrix) -> Matrix:
    """The slopes of units, 0 where a unit gives 0."""
    return [
        [d if unit > 0 else 0.0 for d, unit in zip(row, own, strict=True)]
        for row, own in zip(slopes, outputs, strict=True)
    ]


def cautioned(caution: float, q: Matrix, taken: list[int], dq: Matrix) -> Matrix:
    """The slopes of action values with those of `caution` times log Σ exp q less q of the action taken."""
    found = []
    for values, action, row in zip(q, taken, dq, strict=True):
        total = sum(math.exp(value) for value in values)
        shares = [math.exp(value) / total for value in values]
        found.append(
            [
                d + caution * (s - (a == action)) / len(q)
                for a, (d, s) in enumerate(zip(row, shares, strict=True))
            ]
        )
    return found


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
    net: list[float],
    slope: list[float],
    mean: list[float],
    square: list[float],
    rate: float,
    decay: float,
    settings: Any,
) -> tuple[list[float], list[float], list[float]]:
    """Weights, mean slopes and mean squares after a step down."""
    keep, squares = float(settings.KEEP_SLOPE), float(settings.KEEP_SQUARE)
    mean = [keep * m + (1 - keep) * g for m, g in zip(mean, slope, strict=True)]
    square = [squares * s + (1 - squares) * g * g for s, g in zip(square, slope, strict=True)]
    tiny = float(settings.TINY)
    kept = 1 - rate * decay
    net = [kept * w - rate * m / (math.sqrt(s) + tiny) for w, m, s in zip(net, mean, square, strict=True)]
    return net, mean, square


def trained(
    key: int,
    memory: Any,
    known: int,
    scale: Any,
    gamma: float,
    rate: float,
    decay: float,
    updates: int,
    actions: int,
    nets: Any,
    advice: Any,
    caution: float,
    settings: Any,
) -> tuple[list[list[float]], float]:
    """The networks, their targets, slopes and squares after updates, and the mean absolute error."""
    features, missed, hidden = memory.points.shape[1], [], settings.HIDDEN
    net, target, mean, square = (networks_of(row, features, actions, hidden) for row in nets)
    share, most = float(settings.AVERAGING), settings.LARGEST_ERROR
    for update in range(updates):
        own = naive.fold(key, update)
        steps = [drawn_step(own, i, memory, known, gamma, settings.LOOKAHEAD) for i in range(settings.BATCH)]
        x = [scaled_point(memory.points[s], scale) for s, _, _, _ in steps]
        y = [scaled_point(memory.points[after], scale) for _, after, _, _ in steps]
        ahead = summed(net, y, actions, hidden)
        worth = [[value / len(net) for value in row] for row in summed(target, y, actions, hidden)]
        _, after, rewards, factors = zip(*steps, strict=True)
        wanted = goals(ahead, worth, advice, list(after), [r * scale.reward for r in rewards], list(factors))
        for m in range(len(net)):
            present = layers(net[m], features, actions, hidden)
            q, dq = forward(present, x)[2], [[0.0] * actions for _ in steps]
            for i, (s, _, _, _) in enumerate(steps):
                error = q[i][memory.moves[s]] - wanted[i]
                missed.append(abs(error))
                dq[i][memory.moves[s]] = max(-most, min(most, error)) / settings.BATCH
            dq = cautioned(caution, q, [memory.moves[s] for s, _, _, _ in steps], dq)
            slope = flat(backward(present, x, dq))
            net[m], mean[m], square[m] = adam(net[m], slope, mean[m], square[m], rate, decay, settings)
            target[m] = [(1 - share) * t + share * w for t, w in zip(target[m], net[m], strict=True)]
    found = [[x for own in row for x in own] for row in (net, target, mean, square)]
    return found, sum(missed) / max(len(missed), 1)


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


# Fitting: a list is [(tests, action), …], a test is (column, upper, threshold)


def holds(tests: list[Test], values: list[float]) -> bool:
    """Whether values pass all tests."""
    return all(values[c] <= end if upper else values[c] >= end for c, upper, end in tests)


def term_values(coefficients: list[float], points: Matrix) -> list[float]:
    """The sum of products at each point."""
    return [sum((c * x for c, x in zip(coefficients, point, strict=True) if c != 0), 0.0) for point in points]


def columns_of(points: Matrix, terms: Matrix) -> Matrix:
    """The values of features and terms, point by point."""
    sums = [term_values(row, points) for row in terms]
    return [[*point, *(own[i] for own in sums)] for i, point in enumerate(points)]


def deciders(rules: list[FitRule], rows: Matrix) -> list[int]:
    """The first rule that holds at each point."""
    return [next(r for r, (tests, _) in enumerate(rules) if holds(tests, row)) for row in rows]


def total_cost(rules: list[FitRule], rows: Matrix, costs: Matrix) -> float:
    """The cost of the first rule that holds, at all points together."""
    total = 0.0
    for i, r in enumerate(deciders(rules, rows)):
        total += costs[i][rules[r][1]]
    return total


def count_tests(rules: list[FitRule]) -> int:
    """How many tests there are."""
    return sum(len(tests) for tests, _ in rules)


def drawn_test(key: int, rows: Matrix, i: int, tries: int) -> Test | None:
    """A test that holds at point i and not at another."""
    for k in range(tries):
        own = naive.fold(key, k)
        c, j = naive.below(own, 0, len(rows[0])), naive.below(own, 1, len(rows))
        here, there = rows[i][c], rows[j][c]
        if here != there:
            return c, there > here, here + (0.1 + 0.8 * naive.uniform(own, 2)) * (there - here)
    return None


def move(key: int, reach: float) -> float:
    """How far a number moves."""
    return reach * math.exp(-4 * naive.uniform(key, 0)) * (2 * naive.uniform(key, 1) - 1)


def moved_number(
    key: int, rules: list[FitRule], terms: Matrix, r: int, ground: Any, reach: float
) -> tuple[list[FitRule], Matrix] | None:
    """Rules with another threshold in rule r, or terms with another coefficient."""
    spreads, fixed, (tests, action) = ground.spreads.tolist(), ground.fixed.tolist(), rules[r]
    features = len(spreads) - len(fixed)
    t, size = naive.below(key, 0, len(tests)), move(naive.fold(key, 1), reach)
    column, upper, end = tests[t]
    if column < features or fixed[column - features] or naive.uniform(key, 2) >= 0.4:
        moved = [*tests[:t], (column, upper, end + size * spreads[column]), *tests[t + 1 :]]
        return [*rules[:r], (moved, action), *rules[r + 1 :]], terms
    d, row = naive.below(key, 3, features), list(terms[column - features])
    if row[d] == 0 or spreads[d] == 0:
        return None
    row[d] += size * spreads[column] / spreads[d]
    place = column - features
    return (rules, [*terms[:place], row, *terms[place + 1 :]]) if row[d] != 0 else None


def replaced_rule(
    key: int, rules: list[FitRule], r: int, rows: Matrix, costs: Matrix, settings: Any
) -> list[FitRule] | None:
    """Rules without rule r, and with one that is right where much is given away."""
    some = [naive.below(naive.fold(key, 0), k, len(rows)) for k in range(settings.WORST_OF)]
    does = deciders(rules, rows)
    i = max(some, key=lambda j: costs[j][rules[does[j]][1]])
    place = naive.below(key, 1, len(rules) - 1)
    tests = [drawn_test(naive.fold(key, 2), rows, i, settings.TRIES)]
    if tests[0] is not None and naive.uniform(key, 3) < 0.5:
        tests.append(drawn_test(naive.fold(key, 4), rows, i, settings.TRIES))
    found = [test for test in tests if test is not None]
    if len(found) < len(tests):
        return None
    kept = [*rules[:r], *rules[r + 1 :]]
    return [*kept[:place], (found, costs[i].index(min(costs[i]))), *kept[place:]]


def changed_rules(
    key: int,
    rules: list[FitRule],
    terms: Matrix,
    rows: Matrix,
    costs: Matrix,
    ground: Any,
    settings: Any,
    numbers_only: bool,
) -> tuple[list[FitRule], Matrix] | None:
    """Rules and terms after one change; None where there is nothing to change."""
    n, actions = len(costs), len(costs[0])
    kind, own = (0.0 if numbers_only else naive.uniform(key, 0)), naive.fold(key, 1)
    r = naive.below(key, 2, len(rules) - 1)
    tests, action = rules[r]

    def with_tests(new: list[Test]) -> tuple[list[FitRule], Matrix]:
        return [*rules[:r], (new, action), *rules[r + 1 :]], terms

    if kind < 0.4:
        return moved_number(own, rules, terms, r, ground, settings.REACH)
    if kind < 0.52 or 0.86 <= kind < 0.93:
        adds = kind >= 0.86
        if adds and len(tests) >= settings.MOST_TESTS:
            return None
        test = drawn_test(own, rows, naive.below(key, 3, n), settings.TRIES)
        t = len(tests) if adds else naive.below(key, 4, len(tests))
        return None if test is None else with_tests([*tests[:t], test, *tests[t + 1 :]])
    if kind < 0.6:
        q = naive.below(key, 3, len(rules))
        other = (rules[q][1] + 1 + naive.below(key, 4, actions - 1)) % actions
        return [*rules[:q], (rules[q][0], other), *rules[q + 1 :]], terms
    if kind < 0.68:
        q = naive.below(key, 3, len(rules) - 1)
        swapped = list(rules)
        swapped[q], swapped[r] = rules[r], rules[q]
        return swapped, terms
    if kind < 0.86:
        made = replaced_rule(own, rules, r, rows, costs, settings)
        return None if made is None else (made, terms)
    if len(tests) < 2:
        return None
    t = naive.below(key, 3, len(tests))
    return with_tests([*tests[:t], *tests[t + 1 :]])


def fitted_rules(
    key: int,
    candidates: int,
    heat: tuple[float, float],
    price: float,
    rules: list[FitRule],
    points: Matrix,
    terms: Matrix,
    costs: Matrix,
    ground: Any,
    settings: Any,
    rounding: float,
    numbers_only: bool,
) -> tuple[list[FitRule], Matrix, float]:
    """The best rules and terms that changes lead to, and their cost."""
    n, (hot, cold) = len(points), heat
    now = total_cost(rules, columns_of(points, terms), costs) + n * price * count_tests(rules)
    best, least = (rules, terms), now
    for k in range(candidates):
        own = naive.fold(key, k)
        warm = hot * (cold / hot) ** (k / candidates) if hot > 0 else 0.0
        bound = now - n * warm * math.log(1 - naive.uniform(own, 0))
        rows = columns_of(points, terms)
        made = changed_rules(naive.fold(own, 1), rules, terms, rows, costs, ground, settings, numbers_only)
        if made is None:
            continue
        given, tests = (
            total_cost(made[0], columns_of(points, made[1]), costs),
            n * price * count_tests(made[0]),
        )
        if given <= bound - tests + rounding * bound:
            (rules, terms), now = made, given + tests
            if now < least:
                best, least = made, now
    return *best, least / n
