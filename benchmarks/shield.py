"""A shielded policy never breaks its constraint: a million steps of play, list by list.

    python benchmarks/shield.py [STEPS]

Random decision lists play CartPole and Acrobot with a shield on top, from new seeds each time. At every step
the action is compared with the constraint, at the point as rules see it. The lists without a shield play,
too, so that it can be seen how often they would have broken it. Every shielded list is also proved to keep
its constraint, box by box. Exits with 1 where a constraint was ever broken.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from ifthen import DecisionList, env_task
from ifthen.rules.constraint import Constraint, breach, shielded
from ifthen.rules.text.constraint_text import constraints_in
from ifthen.simulate.evaluate import simulator_of

STEPS, EPISODES, RULES = 1_000_000, 100, 5
CASES = {
    "CartPole-v1": [
        "never push left when pole angle >= 0.05",
        "never push right when cart position >= 1 and pole angle <= 0",
        "always push right when cart position <= -1.5 and pole velocity >= 0.5",
    ],
    "Acrobot-v1": [
        "never 0 when velocity θ2 >= 2",
        "never 2 when velocity θ2 <= -2 or velocity θ1 >= 3",
        "always 1 when velocity θ1 in [-0.1, 0.1] and velocity θ2 in [-1, 1]",
    ],
}


def random_list(task: Any, rng: np.random.Generator) -> DecisionList:
    """Return a random list whose last rule matches everything."""
    lows, highs = (np.array([getattr(f, end) for f in task.features]) for end in ("low", "high"))
    shares = np.sort(rng.random((RULES, len(task.features), 2)), axis=2)
    bounds = lows[:, None] + shares * (highs - lows)[:, None]
    free = rng.random((RULES, len(task.features))) < 0.6
    free[-1] = True
    bounds = np.where(free[..., None], np.stack([lows, highs], axis=1), bounds)
    return DecisionList(bounds, rng.integers(0, task.n_actions, RULES), task.features, task.action_names)


def broken_at(actions: Any, points: Any, constraints: list[Constraint]) -> int:
    """Return at how many of some points actions break a constraint."""
    number = 0
    for constraint in constraints:
        inside = constraint.where.matches(points).any(axis=1)
        taken = actions == constraint.action
        number += int((inside & (taken if constraint.never else ~taken)).sum())
    return number


def played(rules: DecisionList, task: Any, seeds: Any, constraints: list[Constraint]) -> tuple[int, int]:
    """Return the steps of some episodes, and how many break a constraint."""
    steps = broken = 0
    for episode in simulator_of(task).episodes(rules, seeds):
        points = np.clip(episode.points, *task.ranges)
        steps += len(points)
        broken += broken_at(episode.actions, points, constraints)
    return steps, broken


def main(steps: int) -> int:
    """Play both environments, half of the steps each; return how many steps broke a constraint."""
    worst = 0
    for name, texts in CASES.items():
        task = env_task(name, episodes=5)
        constraints = constraints_in(texts, task.features, task.action_names)
        rng, begin, lists = np.random.default_rng(0), time.perf_counter(), 0
        totals = {True: [0, 0], False: [0, 0]}
        while totals[True][0] < steps // len(CASES):
            rules, seeds = random_list(task, rng), 10_000_000 + EPISODES * lists + np.arange(EPISODES)
            shielded_list = shielded(rules, constraints).ruleset
            if not all(breach(shielded_list, constraint).equal is True for constraint in constraints):
                raise SystemExit(f"not proved: {shielded_list}")
            for has_shield, ruleset in ((True, shielded_list), (False, rules)):
                counts = played(ruleset, task, seeds, constraints)
                totals[has_shield] = [a + b for a, b in zip(totals[has_shield], counts, strict=True)]
            lists += 1
        (shield_steps, shield_broken), (bare_steps, bare_broken) = totals[True], totals[False]
        print(
            f"{name}: {lists} random lists, {len(constraints)} requirements, "
            f"{time.perf_counter() - begin:.0f} s\n"
            f"  with a shield:    {shield_broken:>9,} of {shield_steps:,} steps break one\n"
            f"  without a shield: {bare_broken:>9,} of {bare_steps:,} steps break one"
        )
        worst = max(worst, shield_broken)
    return worst


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS) else 0)
