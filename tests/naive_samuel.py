"""Plain oracles of SAMUEL's play: match sets, bids, credit and whole episodes, rule by rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.naive import below, fold, outcome, uniform
from tests.naive_envs import flatten

Point = Sequence[float]


@dataclass
class Rule:
    """A rule with what it has learnt; values beyond a feature's range count as its edge."""

    intervals: list[tuple[float, float]]
    action: int
    mean: float
    variance: float
    strength: float


@dataclass
class Play:
    """An episode: its points, actions and rewards, and the rules that became active."""

    points: list[list[float]] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    active: set[int] = field(default_factory=set)


def match_set(rules: Sequence[Rule], ranges: Sequence[tuple[float, float]], point: Point) -> list[int]:
    """Return the numbers of the rules that match most conditions."""
    seen = [min(max(value, low), high) for value, (low, high) in zip(point, ranges, strict=True)]
    scores = [
        sum(low <= value <= high for value, (low, high) in zip(seen, rule.intervals, strict=True))
        for rule in rules
    ]
    return [r for r, score in enumerate(scores) if score == max(scores)]


def winner(rules: Sequence[Rule], members: Sequence[int], lesson: Any, n_actions: int, u: float) -> int:
    """Return the action that a match set chooses."""
    bids = {
        a: max(rules[r].strength for r in members if rules[r].action == a)
        for a in sorted({rules[r].action for r in members})
    }
    top = max(bids.values())
    if lesson.greedy:
        return min(a for a, bid in bids.items() if bid == top)
    if lesson.power >= 10:
        odds = {a: float(bid == top) for a, bid in bids.items()}
    elif top <= 0:
        odds = dict.fromkeys(bids, 1.0)
    else:
        odds = {a: (max(bid, 0.0) / top) ** lesson.power for a, bid in bids.items()}
    odds = {a: odd for a, odd in odds.items() if odd > 0}
    left = u * sum(odds.values())
    for a, odd in odds.items():
        left -= odd
        if left < 0:
            return a
    return max(odds)


def credited(rules: Sequence[Rule], active: set[int], payoff: float, lesson: Any) -> None:
    """Let the active rules learn from a payoff."""
    target = (payoff - lesson.low) * lesson.scale if lesson.scale > 0 else 0.5
    for r in active if lesson.rate > 0 else ():
        rule = rules[r]
        rule.variance = (1 - lesson.rate) * rule.variance + lesson.rate * (rule.mean - target) ** 2
        rule.mean = (1 - lesson.rate) * rule.mean + lesson.rate * target
        rule.strength = rule.mean - lesson.caution * math.sqrt(rule.variance)


def payoff_of(rewards: Sequence[float], discount: float) -> float:
    """Return an episode's payoff."""
    return sum(discount**t * reward for t, reward in enumerate(rewards))


def kept(length: int, most: int) -> list[int]:
    """Return the steps of an episode that are kept."""
    count = min(length, most)
    return [j * length // count for j in range(count)]


def played(
    rules: Sequence[Rule],
    ranges: Sequence[tuple[float, float]],
    lesson: Any,
    n_actions: int,
    choices: int,
    point: list[float],
    step: Callable[[int, int], tuple[list[float], float, bool]],
    t_max: int,
) -> Play:
    """Return an episode that begins at a point; `step` takes a step's number and its action."""
    play, done = Play(), False
    while len(play.actions) < t_max and not done:
        t = len(play.actions)
        members = match_set(rules, ranges, point)
        action = winner(rules, members, lesson, n_actions, uniform(choices, t))
        play.active |= {r for r in members if rules[r].action == action}
        play.points.append(point)
        play.actions.append(action)
        point, reward, done = step(t, action)
        play.rewards.append(reward)
    return play


def in_table(task: Any, rules: Sequence[Rule], plan: int, episode: int, lesson: Any) -> Play:
    """Return an episode of a plan in a table."""
    noise = fold(int(lesson.key), episode)
    starts = [int(s) for s in task.initial_states]
    state = starts[below(noise, 0, len(starts))]

    def step(t: int, action: int) -> tuple[list[float], float, bool]:
        nonlocal state
        k = outcome(noise, task.probability.tolist(), t + 1)
        now, state = state, int(task.next_state[state, action, k])
        point = task.state_features[state].tolist()
        return point, float(task.reward[now, action, k]), bool(task.done[now, action, k])

    first, ranges = task.state_features[state].tolist(), [(f.low, f.high) for f in task.features]
    return played(rules, ranges, lesson, task.n_actions, fold(noise, plan), first, step, task.t_max)


def in_environment(task: Any, rules: Sequence[Rule], plan: int, episode: int, lesson: Any) -> Play:
    """Return an episode of a plan in the real environment."""
    noise = fold(int(lesson.key), episode)
    env = task.make()
    seen, _ = env.reset(seed=int(task.pool[below(noise, 0, len(task.pool))]))

    def step(t: int, action: int) -> tuple[list[float], float, bool]:
        seen, reward, terminated, truncated, _ = env.step(action + task.action_start)
        return flatten(env.observation_space, seen), float(reward), terminated or truncated

    first, ranges = flatten(env.observation_space, seen), [(f.low, f.high) for f in task.features]
    found = played(rules, ranges, lesson, task.n_actions, fold(noise, plan), first, step, task.t_max)
    env.close()
    return found
