"""Rules that decide in no step of many episodes: without them every one of these episodes is the same.

A rule that never decided was never tried. What it would do is not known to be good, and a reader asks what it
is for. So it goes, unless a requirement needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ifthen.rules.arrays import Ints
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.by_play import with_otherwise
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.scope import choose_at
from ifthen.tasks.gym_task import EnvTask

EPISODES = 1000
"""This many episodes are played, if steps allow: then a rule that never decided does so in at most 0.3 % of
all episodes, with 95 % confidence."""
FEWEST = 100
"""After fewer episodes than this every rule stays: they would say too little."""
AT_ONCE = 50
"""Episodes that are recorded at a time, to bound the memory that they take."""


class Decisions(NamedTuple):
    """How often each rule decided in some episodes."""

    counts: Ints
    """`(rules,)`."""
    episodes: int
    steps: int


def decisions(rules: RuleSet, task: EnvTask, most: int, threads: int = 1) -> Decisions:
    """Count the steps that each rule decides, in up to 1,000 episodes from training and pruning seeds.

    Args:
        rules: a decision list.
        task: the environment.
        most: about how many steps to play at most.
        threads: how many threads or worker processes to use; results do not depend on it.
    """
    simulator, counts = environment_simulator(task, threads), np.zeros(len(rules), dtype=np.int64)
    seeds, n_played, steps = task.pruning_seeds(EPISODES)[:EPISODES], 0, 0
    while n_played < len(seeds) and steps < most:
        trajectories = simulator.episodes(rules, seeds[n_played : n_played + AT_ONCE])
        points = np.concatenate([episode.asked for episode in trajectories])
        deciders = choose_at(rules, np.clip(points, *task.ranges))[1]
        counts += np.bincount(deciders[deciders >= 0], minlength=len(rules))
        n_played, steps = n_played + len(trajectories), steps + len(points)
    return Decisions(counts, n_played, steps)


def without_unused(
    rules: RuleSet, counted: Decisions, shield: int, keeps: Callable[[RuleSet], bool]
) -> RuleSet:
    """Return a decision list without the rules that never decided; those of requirements stay.

    Where the last rule goes, which reads OTHERWISE, the one before it comes to read so.

    Args:
        rules: the list.
        counted: how often each rule decided.
        shield: how many rules at the top come from requirements.
        keeps: whether a list keeps all requirements.
    """
    if counted.episodes < FEWEST:
        return rules
    complete = not rules.condition_in_words(len(rules) - 1)
    remaining, kept_rules = rules, list(range(len(rules)))
    for r in reversed(np.flatnonzero(counted.counts == 0).tolist()):
        other_rules = [q for q in kept_rules if q != r]
        if r < shield or not other_rules or (complete and other_rules[-1] < shield):
            continue
        fewer = with_otherwise(rules.subset(other_rules)) if complete else rules.subset(other_rules)
        if keeps(fewer):
            remaining, kept_rules = fewer, other_rules
    return remaining.without_unused_terms()
