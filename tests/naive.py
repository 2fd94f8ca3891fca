"""Plain-Python oracles: what every kernel must compute, written down as the paper and SplitMix64 say it.

Slow and simple on purpose: lists, loops and whole numbers of any size. Nothing here imports ifthen.
A state is a sequence of features; a condition is one (bound, bound) pair per feature; a policy is the
action of every state, −1 for none; a task is anything with a TabularTask's transition arrays.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

NULL = -1
BITS = 2**64 - 1

State = Sequence[float]
Condition = Sequence[Sequence[int]]


# Randomness: SplitMix64 at any position, and named streams.


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


def draw(key: int, position: int) -> int:
    state = key
    state = (state + (position + 1) * 0x9E3779B97F4A7C15) & BITS
    return mix(state)


def uniform(key: int, position: int) -> float:
    return (draw(key, position) >> 11) / 2**53


def below(key: int, position: int, n: int) -> int:
    return math.floor(uniform(key, position) * n)


def normal(key: int, position: int) -> float:
    u, v = uniform(key, position), uniform(key, position + 1)
    return math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)


def fold(key: int, value: int) -> int:
    scrambled = mix((value * 0x94D049BB133111EB + 0x9E3779B97F4A7C15) & BITS)
    return mix(mix((key + 0x9E3779B97F4A7C15) & BITS) ^ scrambled)


def stream(seed: int, purpose: str, *numbers: int) -> int:
    name = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=7).digest(), "little")
    key = 0
    for number in (seed, name, *numbers):
        key = fold(key, number)
    return key


# Rules: unordered bounds, match sets, and match sets as bits.


def matches(condition: Condition, state: State, cyclic: Sequence[bool] = ()) -> bool:
    for d, ((first, last), value) in enumerate(zip(condition, state, strict=True)):
        if first > last and d < len(cyclic) and cyclic[d]:
            if last < value < first:
                return False
        elif not min(first, last) <= value <= max(first, last):
            return False
    return True


def contains(outer: Condition, inner: Condition) -> bool:
    return all(matches(outer, corner) for corner in itertools.product(*inner))


def match_set(conditions: Sequence[Condition], state: State, cyclic: Sequence[bool] = ()) -> list[int]:
    return [r for r, condition in enumerate(conditions) if matches(condition, state, cyclic)]


def match_words(conditions: Sequence[Condition], state: State) -> list[int]:
    whole = sum(2**r for r in match_set(conditions, state))
    return [(whole >> 64 * word) & BITS for word in range(math.ceil(len(conditions) / 64))]


def lowest_bit(mask: int) -> int:
    return next(bit for bit in range(64) if mask & 2**bit)


# Inference: the first matching rule; the strongest, advocated action by action; or a mean of predictions.


def first_match(conditions: Sequence[Condition], actions: Sequence[int], state: State) -> tuple[int, int]:
    matching = match_set(conditions, state)
    return (actions[matching[0]], matching[0]) if matching else (NULL, -1)


def prediction(weights: Sequence[float], x0: float, state: State) -> float:
    total = weights[0] * x0
    for weight, value in zip(weights[1:], state, strict=True):
        total += weight * value
    return total


def strength(learnt: Sequence[float], x0: float, state: State) -> float:
    *weights, variance = learnt
    return prediction(weights, x0, state) - math.sqrt(variance)


def double_max(matching: Sequence[int], actions: Sequence[int], strengths: Sequence[float]) -> int:
    advocated: dict[int, float] = {}
    for r in matching:
        advocated[actions[r]] = max(strengths[r], advocated.get(actions[r], -math.inf))
    return min(advocated, key=lambda action: (-advocated[action], action), default=NULL)


def strongest_action(
    conditions: Sequence[Condition],
    actions: Sequence[int],
    learnt: Sequence[Sequence[float]],
    x0: float,
    state: State,
) -> int:
    strengths = [strength(row, x0, state) for row in learnt]
    return double_max(match_set(conditions, state), actions, strengths)


def prediction_array(
    conditions: Sequence[Condition],
    actions: Sequence[int],
    fitness: Sequence[float],
    weights: Sequence[Sequence[float]],
    x0: float,
    state: State,
    n_actions: int,
    cyclic: Sequence[bool] = (),
) -> list[float]:
    """Return the mean prediction of every action, weighted by fitness; NaN where no rule advocates it."""
    means = []
    for action in range(n_actions):
        voters = [r for r in match_set(conditions, state, cyclic) if actions[r] == action]
        total = sum(fitness[r] for r in voters)
        weighted = sum(fitness[r] * prediction(weights[r], x0, state) for r in voters)
        means.append(weighted / total if voters else math.nan)
    return means


def best_predicted(array: Sequence[float]) -> int:
    """Return the action with the highest prediction, the lowest among equals."""
    known = [action for action, value in enumerate(array) if not math.isnan(value)]
    return min(known, key=lambda action: (-array[action], action), default=NULL)


# Compaction: rules are dropped one by one where no action changes.


def drop_rules(
    order: Sequence[int],
    matching: Sequence[Sequence[int]],
    actions: Sequence[int],
    fitness: Sequence[float],
    predictions: Sequence[Sequence[float]],
    policy: Sequence[int],
    kept: set[int],
) -> set[int]:
    """Return which rules are left after one attempt to drop each in the given order.

    `matching` holds the match set of every state, `predictions` what every rule predicts there.
    """

    def chosen(s: int, rules: set[int]) -> int:
        array = []
        for action in range(max(actions) + 1):
            voters = [r for r in matching[s] if r in rules and actions[r] == action]
            weighted = total = 0.0
            for r in voters:
                weighted += fitness[r] * predictions[s][r]
                total += fitness[r]
            array.append(weighted / total if voters else math.nan)
        return best_predicted(array)

    for r in order:
        fewer = kept - {r}
        if all(chosen(s, fewer) == action for s, action in enumerate(policy)):
            kept = fewer
    return kept


# Rollouts over z, step by step.


@dataclass
class Played:
    performance: float
    steps: int
    truncated: int


def outcome(key: int, probability: Sequence[float], position: int) -> int:
    u = uniform(key, position)
    for k, end in enumerate(itertools.accumulate(probability)):
        if u < end:
            return k
    return len(probability) - 1


def play(task: Any, policy: Sequence[int], noise: str) -> Played | None:
    """Return the performance of a policy on z; None where a null action is met."""
    key = stream(task.noise_seed, "z")
    probability = task.probability.tolist()
    total, steps, truncated = 0.0, 0, 0
    for episode, start in enumerate(task.z.tolist()):
        first = episode * task.t_max if noise == "aligned" else steps
        state, done, t, discount = start, False, 0, 1.0
        while not done and t < task.t_max:
            action = policy[state]
            if action == NULL:
                return None
            k = outcome(key, probability, first + t)
            total += discount * float(task.reward[state, action, k])
            done = bool(task.done[state, action, k])
            state = int(task.next_state[state, action, k])
            discount *= task.gamma
            t += 1
        steps += t
        truncated += not done
    return Played(total / len(task.z), steps, truncated)


@dataclass
class Trajectory:
    states: list[int]
    actions: list[int]
    outcomes: list[int]
    rewards: list[float]
    ending: int


def trajectory(task: Any, policy: Sequence[int], number: int) -> Trajectory:
    """Play episode `number` of z with aligned noise; endings: 0 by itself, 1 by time, 2 without a rule."""
    key, probability = stream(task.noise_seed, "z"), task.probability.tolist()
    found = Trajectory([int(task.z[number])], [], [], [], 1)
    while len(found.actions) < task.t_max:
        state = found.states[-1]
        action = policy[state]
        if action == NULL:
            found.ending = 2
            break
        k = outcome(key, probability, number * task.t_max + len(found.actions))
        found.actions.append(action)
        found.outcomes.append(k)
        found.rewards.append(float(task.reward[state, action, k]))
        found.states.append(int(task.next_state[state, action, k]))
        if task.done[state, action, k]:
            found.ending = 0
            break
    return found


# Exact values.


def policy_values(task: Any, policy: Sequence[int]) -> list[float]:
    """Return V^π of every state by solving the linear system; NaN where a null action can be met."""
    n, outcomes = len(task.next_state), range(len(task.probability))
    doomed = {s for s in range(n) if policy[s] == NULL}
    for _ in range(n):
        for s in range(n):
            follows = [
                int(task.next_state[s, policy[s], k])
                for k in outcomes
                if policy[s] != NULL and not task.done[s, policy[s], k]
            ]
            if doomed.intersection(follows):
                doomed.add(s)
    matrix, rewards = np.eye(n), np.zeros(n)
    for s in set(range(n)) - doomed:
        for k in outcomes:
            a, p = policy[s], task.probability[k]
            rewards[s] += p * task.reward[s, a, k]
            if not task.done[s, a, k]:
                matrix[s, task.next_state[s, a, k]] -= p * task.gamma
    values = np.linalg.solve(matrix, rewards).tolist()
    return [math.nan if s in doomed else values[s] for s in range(n)]


def finite_values(task: Any, policy: Sequence[int], steps: int) -> list[float]:
    """Return the expected return of `steps` steps under a policy without null actions, of every state."""
    values = [0.0] * len(task.next_state)
    for _ in range(steps):
        values = [
            sum(
                p * (r + (0.0 if done else task.gamma * values[n]))
                for p, r, done, n in zip(
                    task.probability,
                    task.reward[s, policy[s]],
                    task.done[s, policy[s]],
                    task.next_state[s, policy[s]],
                    strict=True,
                )
            )
            for s in range(len(values))
        ]
    return values


def value_iteration(task: Any) -> tuple[list[float], list[list[float]]]:
    """Return V* and Q* of a discounted task, swept until nothing moves by 1e-12."""
    n, n_actions, outcomes = task.next_state.shape
    values, change = [0.0] * n, math.inf
    while change > 1e-12:
        q = [
            [
                sum(
                    task.probability[k]
                    * (
                        task.reward[s, a, k]
                        + task.gamma * (0.0 if task.done[s, a, k] else values[task.next_state[s, a, k]])
                    )
                    for k in range(outcomes)
                )
                for a in range(n_actions)
            ]
            for s in range(n)
        ]
        change = max(abs(max(row) - value) for row, value in zip(q, values, strict=True))
        values = [float(max(row)) for row in q]
    return values, q


def marginals(outcomes: Sequence[tuple[float, int, float, bool]]) -> dict[tuple[int, float, bool], float]:
    """Return the probability of every distinct (next state, reward, done) of one state and action."""
    total: dict[tuple[int, float, bool], float] = {}
    for p, state, reward, done in outcomes:
        if p > 0:
            where = (int(state), float(reward), bool(done))
            total[where] = total.get(where, 0.0) + float(p)
    return total


# Statistics of samples, in fractions.


def interquartile_mean(values: Sequence[float]) -> Fraction:
    copies = sorted(Fraction(float(value)) for value in values for _ in range(4))
    middle = copies[len(values) : 3 * len(values)]
    return sum(middle, Fraction(0)) / len(middle)


# Cyclic features: an interval is what is met on the way round from its first end to its last one.


def way_round(first: int, last: int, low: int, high: int) -> set[int]:
    met = {first}
    while first != last:
        first = low if first == high else first + 1
        met.add(first)
    return met
