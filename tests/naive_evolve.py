"""Plain-Python oracles of what evolves and learns: GA operators, reinforcement, and both PPL systems.

Written like `tests/naive.py`: from the paper, with lists and loops, importing nothing of ifthen.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests import naive

Range = tuple[Any, Any]
"""Two whole numbers for integer features, two floats for real ones."""


@dataclass
class Individual:
    bounds: list[list[list[Any]]]
    actions: list[int]
    learnt: list[list[float]]


def individuals(bounds: Any, actions: Any, learnt: Any, lengths: Any = None) -> list[Individual]:
    """Return the population that arrays hold, one object per individual; all its rules without lengths."""
    counts = [None] * len(actions) if lengths is None else lengths.tolist()
    columns = (bounds.tolist(), actions.tolist(), learnt.tolist())
    return [Individual(*(rows[:n] for rows in row)) for n, *row in zip(counts, *columns, strict=True)]


# GA operators.


def rounded(value: float, scale: float) -> float:
    return round(value * scale) / scale + 0.0


def decimal_scale(low: float, high: float) -> float:
    scale = 1.0
    while high > low and (high - low) * scale < 200:
        scale *= 10
    return scale


def random_allele(key: int, any_key: int, at: int, end: int, range_: Range, p_any: float) -> float:
    low, high = range_
    if naive.uniform(any_key, at) < p_any:
        return float((low, high)[end])
    if isinstance(low, int):
        return float(low + naive.below(key, at, high - low + 1))
    drawn = rounded(low + naive.uniform(key, at) * (high - low), decimal_scale(low, high))
    return float(max(low, min(high, drawn)))


def random_rules(
    key: int,
    n: int,
    rules: int,
    ranges: Sequence[Range],
    n_actions: int,
    learns: int,
    p_any: float = 0.0,
) -> list[Individual]:
    population = []
    for i in range(n):
        own, at = naive.fold(key, i), 0
        any_key = naive.fold(own, 0)
        individual = Individual([], [], [[0.0] * learns for _ in range(rules)])
        for _ in range(rules):
            condition = []
            for range_ in ranges:
                pair = [random_allele(own, any_key, at + end, end, range_, p_any) for end in range(2)]
                condition.append(pair)
                at += 2
            individual.bounds.append(condition)
            individual.actions.append(naive.below(own, at, n_actions))
            at += 1
        population.append(individual)
    return population


def tournament(key: int, fitness: Sequence[float], size: int) -> int:
    drawn = [naive.below(key, draw, len(fitness)) for draw in range(size)]
    return max(drawn, key=lambda i: fitness[i])  # max keeps the first of equals


def shared_rules(one: Individual, other: Individual) -> range:
    """Return the numbers of the rules that both have."""
    return range(min(len(one.actions), len(other.actions)))


def swap_alleles(key: int, p_swap: float, one: Individual, other: Individual) -> None:
    at = 0
    for r in shared_rules(one, other):
        for d in range(len(one.bounds[r])):
            for end in range(2):
                if naive.uniform(key, at) < p_swap:
                    a, b = one.bounds[r][d], other.bounds[r][d]
                    a[end], b[end] = b[end], a[end]
                at += 1
        if naive.uniform(key, at) < p_swap:
            one.actions[r], other.actions[r] = other.actions[r], one.actions[r]
        at += 1


def swap_rules(key: int, p_swap: float, one: Individual, other: Individual) -> None:
    for r in shared_rules(one, other):
        if naive.uniform(key, r) < p_swap:
            one.bounds[r], other.bounds[r] = other.bounds[r], one.bounds[r]
            one.actions[r], other.actions[r] = other.actions[r], one.actions[r]
            one.learnt[r], other.learnt[r] = other.learnt[r], one.learnt[r]


def swap_bounds(key: int, p_swap: float, one: list[list[int]], other: list[list[int]]) -> None:
    alleles = [(d, end) for d in range(len(one)) for end in range(2)]
    for at, (d, end) in enumerate(alleles):
        if naive.uniform(key, at) < p_swap:
            one[d][end], other[d][end] = other[d][end], one[d][end]


def geometric(u: float, p_geo: float, width: int = 0) -> int:
    if width > 10_000:
        return max(1, math.ceil(math.log(u) / math.log(1 - p_geo))) if u > 0 else width
    k = 1
    while u < (1 - p_geo) ** k:
        k += 1
    return k


def p_geo(width: int) -> float:
    return 1 - math.pow(0.01, 1 / max(1, math.floor(width / 2)))


def moved(key: int, at: int, value: float, far: float, low: float, high: float) -> float:
    sign = -1 if naive.uniform(key, at + 1) < 0.5 else 1
    return max(low, min(high, value + sign * far))


def mutate_action(key: int, at: int, p_mut: float, action: int, n_actions: int) -> int:
    others = [a for a in range(n_actions) if a != action]
    if others and naive.uniform(key, at) < p_mut:
        return others[naive.below(key, at + 1, len(others))]
    return action


def moved_allele(
    key: int, at: int, value: float, end: int, share: float, range_: Range, sigma: float, p_any: float
) -> float:
    low, high = range_
    if share < p_any:
        return float((low, high)[end])
    if isinstance(low, int):
        width = high - low + 1
        far = geometric(naive.uniform(key, at + 2), p_geo(width), width)
        return moved(key, at, value, far, low, high)
    shifted = value + sigma * (high - low) * naive.normal(key, at + 1)
    return float(max(low, min(high, rounded(shifted, decimal_scale(low, high)))))


def mutate(
    key: int,
    p_mut: float,
    individual: Individual,
    ranges: Sequence[Range],
    n_actions: int,
    sigma: float = 0.1,
    p_any: float = 0.0,
) -> None:
    at = 0
    for r in range(len(individual.actions)):
        for d, range_ in enumerate(ranges):
            for end in range(2):
                u, bounds = naive.uniform(key, at), individual.bounds[r][d]
                if u < p_mut:
                    bounds[end] = moved_allele(key, at, bounds[end], end, u / p_mut, range_, sigma, p_any)
                at += 3
        individual.actions[r] = mutate_action(key, at, p_mut, individual.actions[r], n_actions)
        at += 3


def shift_bounds(
    key: int, p_mut: float, bounds: list[list[Any]], ranges: Sequence[Range], reach: Sequence[int]
) -> None:
    at = 0
    for pair, (low, high), furthest in zip(bounds, ranges, reach, strict=True):
        for end in range(2):
            if naive.uniform(key, at) < p_mut:
                far = 1 + naive.below(key, at + 2, furthest)
                pair[end] = moved(key, at, pair[end], far, low, high)
            at += 3


def breed_round(
    key: int,
    number: int,
    parents: Sequence[Individual],
    fitness: Sequence[float],
    ranges: Sequence[Range],
    n_actions: int,
    parameters: Any,
    whole_rules: bool,
) -> tuple[Individual, Individual]:
    own = naive.fold(key, number)
    size = parameters.tourn_size
    one = copy.deepcopy(parents[tournament(naive.fold(own, 0), fitness, size)])
    other = copy.deepcopy(parents[tournament(naive.fold(own, 1), fitness, size)])
    if naive.uniform(naive.fold(own, 2), 0) < parameters.p_cross:
        swap = swap_rules if whole_rules else swap_alleles
        swap(naive.fold(own, 3), parameters.p_swap, one, other)
    mutate(naive.fold(own, 4), parameters.p_mut, one, ranges, n_actions)
    mutate(naive.fold(own, 5), parameters.p_mut, other, ranges, n_actions)
    return one, other


# Reinforcement.


def update_action_set(
    learnt: list[list[float]],
    action_set: Sequence[int],
    payoff: float,
    state: naive.State,
    eta: float,
    x0: float,
) -> None:
    """The paper's updateActionSet, with the prediction before and the prediction after."""
    x = [x0, *state]
    norm = sum(value * value for value in x)
    for r in action_set:
        *weights, variance = learnt[r]
        error = payoff - sum(w * v for w, v in zip(weights, x, strict=True))
        weights = [w + eta / norm * error * v for w, v in zip(weights, x, strict=True)]
        after = sum(w * v for w, v in zip(weights, x, strict=True))
        learnt[r] = [*weights, (1 - eta) * variance + eta * (after - payoff) ** 2]


def reinforce(key: int, number: int, individual: Individual, task: Any, parameters: Any) -> int:
    """Reinforce one individual by the paper's reinforceRules; return the steps it took."""
    own, taken = naive.fold(key, number), 0
    starts, probability = task.initial_states.tolist(), task.probability.tolist()
    vectors = task.state_features.tolist()
    for rollout in range(parameters.num_reinf_rollouts):
        noise = naive.fold(own, rollout)
        state, done = starts[naive.below(noise, 0, len(starts))], False
        trajectory: list[tuple[int, int, float]] = []
        while not done and len(trajectory) < task.t_max:
            action = naive.strongest_action(
                individual.bounds, individual.actions, individual.learnt, parameters.x0, vectors[state]
            )
            if action == naive.NULL:
                break
            k = naive.outcome(noise, probability, len(trajectory) + 1)
            trajectory.append((state, action, float(task.reward[state, action, k])))
            done = bool(task.done[state, action, k])
            state = int(task.next_state[state, action, k])
        taken += len(trajectory)
        r_sum = returned = 0.0
        for j, (s, a, reward) in enumerate(reversed(trajectory)):
            r_sum += reward
            returned = reward + task.gamma * returned
            payoff = task.gamma**j * r_sum if parameters.payoff == "paper" else returned
            matching = naive.match_set(individual.bounds, vectors[s])
            action_set = [r for r in matching if individual.actions[r] == a]
            update_action_set(
                individual.learnt, action_set, payoff, vectors[s], parameters.eta, parameters.x0
            )
    return taken


# Whole systems.


@dataclass
class Generation:
    population: list[Individual]
    fitness: list[float]
    steps: int


def run_system(task: Any, parameters: Any, seed: int, epochs: int, strength: bool) -> list[Generation]:
    """Run PPL-ST (`strength`) or PPL-DL; return the initial population and every generation."""
    ranges = [(f.low, f.high) for f in task.features]
    n_actions = len(task.action_names)
    learns = len(ranges) + 2 if strength else 0
    population = random_rules(
        naive.stream(seed, "initial"), parameters.pop_size, parameters.idv_size, ranges, n_actions, learns
    )
    generations = [_measured(task, parameters, seed, 0, population, strength)]
    for epoch in range(1, epochs + 1):
        before, key = generations[-1], naive.stream(seed, "breed", epoch)
        children: list[Individual] = []
        for number in range(parameters.pop_size // 2):
            children += breed_round(
                key, number, before.population, before.fitness, ranges, n_actions, parameters, strength
            )
        generations.append(_measured(task, parameters, seed, epoch, children, strength))
    return generations


def policy_of(individual: Individual, task: Any, x0: float | None) -> list[int]:
    """Return the action of every state: of the strongest rule, or of the first where x0 is None."""
    bounds, actions = individual.bounds, individual.actions
    if x0 is None:
        return [naive.first_match(bounds, actions, s)[0] for s in task.state_features.tolist()]
    learnt = individual.learnt
    return [naive.strongest_action(bounds, actions, learnt, x0, s) for s in task.state_features.tolist()]


def _measured(
    task: Any, parameters: Any, seed: int, epoch: int, population: list[Individual], strength: bool
) -> Generation:
    fitness, steps = [], 0
    for number, individual in enumerate(population):
        if strength:
            key = naive.stream(seed, "reinforce", epoch)
            steps += reinforce(key, number, individual, task, parameters)
        policy = policy_of(individual, task, parameters.x0 if strength else None)
        if parameters.fitness == "exact":
            values = naive.policy_values(task, policy)
            mean = sum(values[s] for s in task.initial_states) / len(task.initial_states)
            fitness.append(0.0 if math.isnan(mean) else mean)
        else:
            played = naive.play(task, policy, parameters.noise)
            fitness.append(0.0 if played is None else played.performance)
            steps += 0 if played is None else played.steps
    return Generation(population, fitness, steps)
