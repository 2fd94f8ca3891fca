"""Shorter policies from one that is there: the front from a policy's own rules down to one.

On a table everything is exact (`ifthen.simplify.shortening`). In an environment rules are first pruned by
playing, without loss. From there two ways lead down, one rule less or one test less at a time, each step at
the least cost of return. All this is played from the pruning seeds: measure the front on others.

Where steps are expensive, fewer seeds are played on the way down, so that it takes about as long everywhere.
What is found is scored on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ifthen.errors import RuleError
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.decision_list import constant_lists
from ifthen.rules.feature import whole_box
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.by_play import (
    FEW_SEEDS,
    FINALISTS,
    MOST_STEPS,
    Contest,
    a_rule_less,
    down,
    pruned_by_play,
)
from ifthen.simplify.lossless import with_condition
from ifthen.simplify.shortening import Progress, one_test_less, shortened_on_table
from ifthen.simulate.evaluate import evaluate, is_cheap
from ifthen.simulate.scope import environment, tabular, visited_states
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.systems.front import Front, Point
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.task import Task

KNEE = 0.01
"""The marked policy of a front gives up at most this share of the best one's lead on the first."""
SHORT = 24
"""Down to this many rules, several are dropped at once."""
APART = 0.75
"""Each step leaves this share of many rules."""


def shortened(
    ruleset: RuleSet, task: Task, seeds: Ints | None, polish: bool, threads: int, progress: Progress
) -> Front:
    """Return the front from a policy's own rules down to one.

    Args:
        ruleset: rules of any kind.
        task: the task.
        seeds: in an environment, the reset seeds to play from: the pruning seeds; None on a table.
        polish: on a table, whether to tune the rules that are left.
        threads: how many threads or worker processes to use; results do not depend on it.
        progress: called with the number of rules that are left after every step.
    """
    if seeds is None:
        table = tabular(task, "shortening without play")
        points = shortened_on_table(ruleset, table, polish, threads, progress)
        return Front.of(points, "exact performance", optimal_performance(table))
    env = environment(task, "shortening by play")
    shorter = dict.fromkeys(shortened_by_play(ruleset, env, seeds, threads, progress))
    points = list(answering(shorter, task, seeds, threads))
    if not points:
        raise RuleError(
            f"{ruleset!r} visits states of {task.name} in which no rule matches, and so do fewer "
            "of its rules: there is nothing to compare. Train it longer."
        )
    if all(point.rules > 1 for point in points):
        points += answering(constant_lists(task.features, task.action_names), task, seeds, threads)
    return Front.of(points, "return on the pruning seeds")


def answering(rulesets: Iterable[RuleSet], task: Task, seeds: Ints, threads: int) -> Iterator[Point]:
    """Yield rulesets that have an answer in every state visited from some seeds, with their mean returns."""
    for rules in rulesets:
        evaluation = evaluate(rules, task, threads=threads, seeds=seeds)
        if not evaluation.failed:
            yield Point(rules, evaluation.performance, evaluation.deviation, evaluation.episodes)


def shortened_by_play(
    original: RuleSet, task: EnvTask, seeds: Ints, threads: int, progress: Progress
) -> Iterator[RuleSet]:
    """Yield shorter and shorter rules, each the best that was found by playing."""
    budget = MOST_STEPS[is_cheap(task)]
    start = pruned_by_play(original, task, seeds, threads, 0.0, progress, budget)
    yield start
    points = visited_states(start, task, seeds).points
    if start.votes:
        yield from fewer_votes(start, points)
        return
    contest = Contest(task, seeds[: affordable(start, task, len(points) / len(seeds), budget)], threads)
    rules = with_a_rule_for_the_rest(start, contest)
    while len(rules) > SHORT and (fewer := contest.best([most_used(rules, points)], rules, points)):
        rules = fewer
        progress(len(rules))
        yield rules
    for one_less in (a_rule_less, one_test_less):
        yield from down(rules, one_less, contest, progress)


def affordable(rules: RuleSet, task: EnvTask, length: float, budget: int) -> int:
    """Return how many seeds may be played per candidate on the way down, in episodes of some length."""
    n = min(len(rules), SHORT)
    candidates = n**2 + 3 * rules.tests if is_cheap(task) else FINALISTS
    return max(FEW_SEEDS, int(budget / (length * (n + rules.tests + 1) * (candidates + 1))))


def with_a_rule_for_the_rest(rules: RuleSet, contest: Contest) -> RuleSet:
    """Return rules with one that matches everything, so that fewer of them still have an answer everywhere.

    A decision list has one already. Of other rules, the one is made general that this harms least.
    """
    everything = whole_box(rules.features)
    if rules.ordered or (rules.bounds == everything).all(axis=(1, 2)).any():
        return rules
    general = [with_condition(rules, r, everything) for r in range(len(rules))]
    return contest.best(general, rules, contest.visited(rules)) or rules


def most_used(rules: RuleSet, points: Floats) -> RuleSet:
    """Return the rules without the quarter that decides least at points; a rule for the rest stays."""
    used = np.bincount(rules.choose(points)[1], minlength=len(rules)).astype(np.float64)
    used[(rules.bounds == whole_box(rules.features)).all(axis=(1, 2))] = np.inf
    return rules.subset(np.sort(np.argsort(-used, kind="stable")[: int(APART * len(rules))]))


def fewer_votes(rules: RuleSet, points: Floats) -> Iterator[RuleSet]:
    """Yield fewer and fewer of the rules of an XCSF, which vote: those that speak for most of its choices.

    Each next rule speaks for the action taken at most of the points for which none did before.
    """
    sampled = points[:: len(points) // 4_000 + 1]
    speaks = rules.matches(sampled) & (rules.actions == rules.best_actions(sampled)[:, None])
    order: list[int] = []
    unspoken = np.ones(len(sampled), dtype=np.bool_)
    while len(order) < len(rules):
        gains = speaks[unspoken].sum(axis=0).astype(np.float64)
        gains[order] = -1.0
        best = int(gains.argmax())
        if gains[best] <= 0:  # all are spoken for: once more, for what is left of the rules
            if not speaks[:, [r for r in range(len(rules)) if r not in order]].any():
                break
            unspoken[:] = True
            continue
        order.append(best)
        unspoken &= ~speaks[:, best]
    n = len(order)
    while n >= 1:
        yield rules.subset(np.sort(order[:n]))
        n = min(n - 1, int(APART * n))
