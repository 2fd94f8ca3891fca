"""ZCS in plain Python: rules are objects, sets are lists. What `ifthen.systems.zcs` is tested against."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tests.naive import below, fold, uniform

LEAST = 1e-100
Interval = tuple[float, float]


@dataclass
class Rule:
    condition: list[Interval]
    action: int
    strength: float


def clipped(seen: list[float], whole: list[Interval]) -> list[float]:
    return [low if x < low else high if x > high else x for x, (low, high) in zip(seen, whole, strict=True)]


def added(numbers: Iterable[float]) -> float:
    """Return the sum from left to right; Python's own may be more exact."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def spun(u: float, shares: list[float]) -> int:
    """Return the share that a number in [0, 1) falls on."""
    point, so_far = u * added(shares), 0.0
    for i, share in enumerate(shares):
        so_far += share
        if point < so_far:
            return i
    return len(shares) - 1


class NaiveZCS:
    """A ZCS; `features` are (low, high, reach, whether it is real), `p` the parameters by name."""

    def __init__(
        self, key: Any, features: list[tuple[float, float, float, bool]], p: dict[str, float]
    ) -> None:
        self.key, self.features, self.p = key, features, p
        self.whole = [(low, high) for low, high, _, _ in features]
        self.rules: list[Rule] = []
        self.before: list[Rule] = []
        self.steps = self.invocations = self.coverings = 0
        self.lengths: list[int] = []

    def interval(self, key: Any, at: int, d: int, value: float) -> Interval:
        low, high, reach, real = self.features[d]
        if real:
            far = uniform(key, at) * reach, uniform(key, at + 1) * reach
        else:
            far = float(below(key, at, int(reach) + 1)), float(below(key, at + 1, int(reach) + 1))
        return max(low, value - far[0]), min(high, value + far[1])

    def value(self, u: float, d: int) -> float:
        low, high, _, real = self.features[d]
        return low + u * (high - low) if real else low + math.floor(u * (high - low + 1))

    def new_rule(self, key: Any, seen: list[float] | None, strength: float) -> Rule:
        condition = []
        for d in range(len(self.features)):
            interval = self.whole[d]
            if uniform(key, 4 * d) >= self.p["p_any"]:
                value = self.value(uniform(key, 4 * d + 1), d) if seen is None else seen[d]
                interval = self.interval(key, 4 * d + 2, d, value)
            condition.append(interval)
        return Rule(condition, below(key, 4 * len(self.features), int(self.p["actions"])), strength)

    def fill(self, s0: float) -> None:
        key = fold(self.key, 2)
        self.rules = [self.new_rule(fold(key, r), None, s0) for r in range(int(self.p["rules"]))]

    def matching(self, seen: list[float]) -> list[Rule]:
        return [
            rule
            for rule in self.rules
            if all(low <= x <= high for x, (low, high) in zip(seen, rule.condition, strict=True))
        ]

    def weak(self, u: float, spared: Rule | None = None) -> int:
        return spun(u, [0.0 if rule is spared else 1 / rule.strength for rule in self.rules])

    def put(self, place: int, rule: Rule) -> None:
        """Put a rule in the place of another, which leaves the action set."""
        self.before = [member for member in self.before if member is not self.rules[place]]
        self.rules[place] = rule

    def cover(self, key: Any, seen: list[float], mean: float) -> None:
        rule = self.new_rule(fold(key, 0), seen, mean)
        self.put(self.weak(uniform(key, 0)), rule)
        self.coverings += 1

    def mutated(self, key: Any, rule: Rule) -> Rule:
        condition = list(rule.condition)
        for d, (low, high) in enumerate(rule.condition):
            if uniform(key, 5 * d) >= self.p["mu"]:
                continue
            if (low, high) != self.whole[d] and uniform(key, 5 * d + 1) < 0.5:
                condition[d] = self.whole[d]
                continue
            value = self.value(uniform(key, 5 * d + 2), d)
            least, largest, _, real = self.features[d]
            if not real and largest - least == 1 and low == high:
                value = largest if low == least else least
            condition[d] = self.interval(key, 5 * d + 3, d, value)
        at, action = 5 * len(self.features), rule.action
        if self.p["actions"] > 1 and uniform(key, at) < self.p["mu"]:
            others = [a for a in range(int(self.p["actions"])) if a != action]
            action = others[below(key, at + 1, len(others))]
        return replace(rule, condition=condition, action=action)

    def breed(self, key: Any) -> None:
        shares = [rule.strength for rule in self.rules]
        parents = [self.rules[spun(uniform(key, i), shares)] for i in range(2)]
        children = []
        for parent in parents:
            parent.strength = max(parent.strength / 2, LEAST)
            children.append(replace(parent))
        if uniform(key, 2) < self.p["chi"]:
            cut = 1 + below(key, 3, len(self.features))
            one, other = children
            mean = (one.strength + other.strength) / 2
            children = [
                Rule(one.condition[:cut] + other.condition[cut:], other.action, mean),
                Rule(other.condition[:cut] + one.condition[cut:], one.action, mean),
            ]
        children = [self.mutated(fold(key, i), child) for i, child in enumerate(children)]
        self.put(self.weak(uniform(key, 4)), children[0])
        self.put(self.weak(uniform(key, 5), children[0]), children[1])
        self.invocations += 1

    def act(self, seen: list[float]) -> int:
        step = fold(fold(self.key, 1), self.steps)
        matching = self.matching(seen)
        mean = added(rule.strength for rule in self.rules) / len(self.rules)
        if not matching or added(rule.strength for rule in matching) < self.p["phi"] * mean:
            self.cover(fold(step, 0), seen, mean)
            matching = self.matching(seen)
        action = matching[spun(uniform(step, 0), [rule.strength for rule in matching])].action
        acting = [rule for rule in matching if rule.action == action]
        bucket = added(self.p["beta"] * rule.strength for rule in acting)
        for rule in matching:
            share = self.p["beta"] if rule.action == action else self.p["tau"]
            rule.strength = max((1 - share) * rule.strength, LEAST)
        for rule in self.before:
            rule.strength += self.p["gamma"] * bucket / len(self.before)
        self.before, self.steps = acting, self.steps + 1
        return action

    def is_too_low(self, reward: float) -> bool:
        return bool(reward + self.p["raised"] < -1e-9 * max(1.0, self.p["raised"]))

    def settle(self, reward: float, terminated: bool, over: bool) -> None:
        payoff = reward + self.p["raised"]
        if terminated:
            payoff += self.p["gamma"] * self.p["raised"] / (1 - self.p["gamma"])
        for rule in self.before:
            rule.strength += self.p["beta"] * max(self.p["scale"] * payoff, 0) / len(self.before)
        if over:
            self.before = []
        step = fold(fold(self.key, 1), self.steps - 1)
        if uniform(step, 1) < self.p["ga_rate"]:
            self.breed(fold(step, 1))

    def run(self, world: Any, t_max: int, steps: int, episodes: int) -> None:
        """Learn in a world: `begin(e)` gives what is seen, `step(a, t)` that, reward and whether it ended."""
        while len(self.lengths) < episodes and self.steps < steps:
            seen, time, over = clipped(world.begin(len(self.lengths)), self.whole), 0, False
            while not over:
                seen, reward, terminated = world.step(self.act(seen), self.steps - 1)
                seen, time = clipped(seen, self.whole), time + 1
                over = terminated or time >= t_max
                self.settle(reward, terminated, over)
            self.lengths.append(time)
