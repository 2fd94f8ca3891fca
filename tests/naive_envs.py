"""Plain-Python oracles of what plays environments: one section per part of the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

# Lanes: observations as rows, and episodes one after the other.


def flatten(space: Any, observation: Any) -> list[float]:
    """Return the numbers of an observation, one after the other."""
    if isinstance(space, spaces.Dict):
        return [number for key in space for number in flatten(space[key], observation[key])]
    if isinstance(space, spaces.Tuple):
        return [n for inner, part in zip(space, observation, strict=True) for n in flatten(inner, part)]
    if isinstance(space, spaces.Discrete):
        return [float(observation)]
    return [float(number) for number in np.asarray(observation).ravel().tolist()]


def first_match(rules: Any, individual: int, point: Sequence[float]) -> int:
    """Return the action of a decision list at a point, or its default."""
    for r in range(rules.lengths[individual]):
        lows, highs = rules.lows[individual, r], rules.highs[individual, r]
        if all(low <= value <= high for low, value, high in zip(lows, point, highs, strict=True)):
            return int(rules.actions[individual, r])
    return int(rules.default)


class Played(NamedTuple):
    """An episode that was played alone."""

    total: float
    ending: int
    points: list[list[float]]
    actions: list[int]
    rewards: list[float]
    last: list[float]


def episode(task: Any, choose: Callable[[list[float]], int], seed: int) -> Played:
    """Play one episode in a fresh environment: the oracle of `settle` and of all that plays lanes."""
    env = task.make()
    space = env.observation_space
    observation, _ = env.reset(seed=int(seed))
    here = flatten(space, observation)
    total, weight, ending = 0.0, 1.0, None
    points: list[list[float]] = []
    actions: list[int] = []
    rewards: list[float] = []
    while ending is None:
        action = choose(here)
        if action < 0:
            ending = 2
            break
        observation, reward, terminated, truncated, _ = env.step(action + int(env.action_space.start))
        points.append(here)
        actions.append(action)
        rewards.append(float(reward))
        here = flatten(space, observation)
        total += weight * float(reward)
        weight *= task.gamma
        if terminated:
            ending = 0
        elif truncated or len(points) >= task.t_max:
            ending = 1
    env.close()
    return Played(total, ending, points, actions, rewards, here)


# Twins: the real environment, and rules as one reads them.


def strongest(rules: Any, individual: int, point: Sequence[float]) -> int:
    """Return the action of the strongest rule that matches at a point, ties to the lowest; or the default."""
    clipped = [
        min(max(p, low), high) for p, low, high in zip(point, rules.floors, rules.ceilings, strict=True)
    ]
    claims = []
    for r in range(rules.lengths[individual]):
        lows, highs = rules.lows[individual, r], rules.highs[individual, r]
        if all(low <= value <= high for low, value, high in zip(lows, point, highs, strict=True)):
            *weights, variance = rules.learnt[individual, r].tolist()
            total = weights[0] * rules.x0
            for weight, value in zip(weights[1:], clipped, strict=True):
                total += weight * value
            claims.append((-(total - float(np.sqrt(variance))), int(rules.actions[individual, r])))
    return min(claims)[1] if claims else int(rules.default)


class Steps(NamedTuple):
    """What some actions led to, step by step."""

    states: list[list[float]]
    points: list[list[float]]
    rewards: list[float]
    ends: list[bool]


def real_steps(env: Any, actions: Sequence[int], seed: int) -> Steps:
    """Take actions in the real environment after a reset, until it terminates: the oracle of twins' steps."""
    env.reset(seed=seed)
    found = Steps([], [], [], [])
    for action in actions:
        observation, reward, terminated, _, _ = env.step(int(action))
        found.states.append([float(number) for number in env.state])
        found.points.append([float(number) for number in observation])
        found.rewards.append(float(reward))
        found.ends.append(terminated)
        if terminated:
            break
    return found


# Rules as one reads them: intervals in any order, and points clipped to the features' ranges.


def clipped(features: Sequence[Any], point: Sequence[float]) -> list[float]:
    """Return a point with values beyond a feature's range put at its edge."""
    return [min(max(value, f.low), f.high) for f, value in zip(features, point, strict=True)]


def inside(bounds: Any, features: Sequence[Any], point: Sequence[float]) -> bool:
    """Return whether a condition `(features, 2)`, its ends in any order, holds the clipped point."""
    pairs = zip(bounds.tolist(), clipped(features, point), strict=True)
    return all(min(ends) <= value <= max(ends) for ends, value in pairs)


def summed(coefficients: Sequence[float], features: Sequence[Any], point: Sequence[float]) -> float:
    """Return the value of a term at the clipped point: its products, added up in the order of features."""
    products = [c * value for c, value in zip(coefficients, clipped(features, point), strict=True) if c]
    total = products[0] if products else 0.0
    for product in products[1:]:
        total += product
    return total


def list_with_terms(
    bounds: Any, actions: Sequence[int], terms: Any, features: Sequence[Any], point: Sequence[float]
) -> int:
    """Return the action of the first rule `(rules, features + terms, 2)` that holds a point and its terms."""
    values = [*clipped(features, point), *(summed(term, features, point) for term in terms.tolist())]
    for box, action in zip(bounds.tolist(), actions, strict=True):
        if all(min(ends) <= value <= max(ends) for ends, value in zip(box, values, strict=True)):
            return int(action)
    return -1


def foretold(learnt: Sequence[float], x0: float, features: Sequence[Any], point: Sequence[float]) -> float:
    """Return w·x of a rule at the clipped point."""
    total = learnt[0] * x0
    for weight, value in zip(learnt[1:-1], clipped(features, point), strict=True):
        total += weight * value
    return total


class Individual(NamedTuple):
    """The rules of one individual, as a population holds them."""

    bounds: Any
    actions: Any
    learnt: Any
    features: Sequence[Any]
    x0: float = 1.0
    default: int = -1


def list_choice(rules: Individual, point: Sequence[float]) -> int:
    """Return the action of the first rule that holds a point."""
    for bounds, action in zip(rules.bounds, rules.actions.tolist(), strict=True):
        if inside(bounds, rules.features, point):
            return int(action)
    return rules.default


def strength_choice(rules: Individual, point: Sequence[float]) -> int:
    """Return the action of the strongest rule that holds a point; of equals the least action."""
    claims = []
    for bounds, action, learnt in zip(
        rules.bounds, rules.actions.tolist(), rules.learnt.tolist(), strict=True
    ):
        if inside(bounds, rules.features, point):
            strength = foretold(learnt, rules.x0, rules.features, point) - learnt[-1] ** 0.5
            claims.append((-strength, int(action)))
    return min(claims)[1] if claims else rules.default


# PPL-ST's reinforcement, in the real environment.


def payoffs(rewards: Sequence[float], gamma: float, paper: bool) -> list[float]:
    """Return the payoff of every step: the return from there on, or the paper's γ^(T − 1 − t) Σ r."""
    found, returned, summed, discount = [], 0.0, 0.0, 1.0
    for reward in reversed(rewards):
        returned = reward + gamma * returned
        summed += reward
        found.append(discount * summed if paper else returned)
        discount *= gamma
    return found[::-1]


def reinforce_at(rules: Individual, point: Sequence[float], action: int, payoff: float, eta: float) -> None:
    """Move w and var of the rules in the action set of a step towards its payoff; `learnt` changes."""
    x = [rules.x0, *clipped(rules.features, point)]
    norm = 0.0
    for value in x:
        norm += value * value
    for r, advocated in enumerate(rules.actions.tolist()):
        if advocated == action and inside(rules.bounds[r], rules.features, point):
            error = payoff - foretold(rules.learnt[r].tolist(), rules.x0, rules.features, point)
            for d, value in enumerate(x):
                rules.learnt[r, d] += eta / norm * error * value
            left = (1 - eta) * error
            rules.learnt[r, -1] = (1 - eta) * rules.learnt[r, -1] + eta * left * left


def reinforced(
    task: Any, rules: Individual, seeds: Sequence[int], eta: float, paper: bool
) -> tuple[int, Any]:
    """Let an individual learn from an episode per reset seed; return the steps, and what was learnt."""
    steps, own = 0, rules._replace(learnt=rules.learnt.copy())
    for seed in seeds:
        played = episode(task, lambda point: strength_choice(own, point), seed)
        paid = payoffs(played.rewards, task.gamma, paper)
        for t in reversed(range(len(paid))):
            reinforce_at(own, played.points[t], played.actions[t], paid[t], eta)
        steps += len(paid)
    return steps, own.learnt


# Fitness: mean returns, one episode after the other.


def performance(task: Any, choose: Callable[[list[float]], int], seeds: Sequence[int]) -> float:
    """Return the mean return over reset seeds; the floor where a state without an action was met."""
    played = [episode(task, choose, seed) for seed in seeds]
    if any(one.ending == 2 for one in played):
        return float(task.floor)
    return sum(one.total for one in played) / len(played)
