"""Pruning by playing: fewer rules for an environment, with as good a mean return.

An environment has no table of states, so pruning rests on episodes from fixed reset seeds. First go rules and
bounds without which no action changes: anywhere, by reasoning about boxes, and then in any visited state.
Then goes, one at a time, the rule, and after these the condition, without which the rules play best, as long
as their mean return does not fall below that of the given rules by more than a given loss. The bounds that
are left are rounded to as few digits as that allows: "pole angle ≤ 0.03" rather than 0.0287. The last rule of
a decision list comes to read OTHERWISE, so that the list has an answer everywhere. Rules of which nothing can
go stay as they are.

All candidates are played from the same reset seeds. Where the environment has a compiled twin, all are played
from all seeds, even if the task's `player` leaves it out. Elsewhere steps are expensive: the candidates that
change the fewest actions in visited states are played from a few seeds, and the best of these from all.

Where only so many steps may be played, pruning stops after them with the rules that it has then. Counting
steps rather than seconds gives the same rules on every machine.

The result holds on the seeds that were played. Measure it on others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ifthen.errors import RuleError
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import stacked
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, lows_and_highs, number_in_words, whole_box
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.compact import compact_at
from ifthen.simplify.lossless import Draft, list_by_score, lossless, shorten, with_condition
from ifthen.simplify.shortening import Progress, one_condition_less, one_rule_less
from ifthen.simulate.env_simulator import means
from ifthen.simulate.evaluate import environment_simulator, is_cheap
from ifthen.simulate.scope import visited_states
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.task import Task


class NothingToPruneError(RuleError):
    """Rules that cannot be pruned: they visit a state in which none of them matches, and get the floor."""


def pruned_by_play(
    original: RuleSet,
    task: EnvTask,
    seeds: Ints,
    threads: int,
    loss: float,
    progress: Progress,
    steps: int | None = None,
) -> RuleSet:
    """Return fewer and shorter rules that play as well, or nearly so, after about `steps` steps of playing.

    Strength rules become a decision list where that chooses the same everywhere; otherwise they stay what
    they are. Rules of an XCSF, which vote, only lose rules, and choose the same in all visited states, or in
    some of these where steps are counted.
    """
    if original.votes:
        points = visited_states(original, task, seeds).points
        stride = 1 if steps is None else 1 + len(original) * len(points) // MOST_MATCHES
        return compact_at(original, points[::stride])
    contest = Contest(task, seeds, threads, steps=math.inf if steps is None else steps)
    rules = completed = _completed(original, contest)
    contest.least = float(contest.performances([rules])[0]) - loss
    rules = _without_needless(list_by_score(rules) or rules, contest)
    progress(len(rules))
    size = None
    while size != size_of(rules) and contest.steps > 0:  # a condition less can make a rule needless
        size = size_of(rules)
        for fewer in (a_rule_less, one_condition_less):
            *_, rules = rules, *down(rules, fewer, contest, progress)
        rules = _without_needless(rounded_bounds(rules, contest), contest)
        progress(len(rules))
    same_size = type(rules) is type(original) and size_of(rules) == size_of(original)
    return original if completed is original and same_size else rules


def _without_needless(rules: RuleSet, contest: Contest) -> RuleSet:
    """Return the rules without what makes no difference: anywhere, in decision lists, and where they go."""
    shorter = lossless(rules, intervals="keep").ruleset if rules.ordered else rules
    return same_at(shorter, contest.visited(shorter))


def _completed(original: RuleSet, contest: Contest) -> RuleSet:
    """Return the rules or, where a visited state has none, the list with the best rule for the rest."""
    if contest.performances([original])[0] > contest.task.floor:
        return original
    if not original.ordered:
        raise NothingToPruneError(
            f"{original!r} visits states of {contest.task.name} in which no rule matches: its performance is "
            "the floor, and there is nothing to lose. Train it longer, or give other seeds."
        )
    everything = whole_box(original.features)
    bounds = np.concatenate([original.bounds, everything[None]])
    names = original.features, original.action_names
    actions = range(len(original.action_names))
    lists = [DecisionList(bounds, np.append(original.actions, a), *names) for a in actions]
    best = contest.best(lists, original, contest.visited(original))
    assert best is not None  # with a rule for the rest none fails
    return best


def down(
    rules: RuleSet, fewer: Callable[[RuleSet], Iterator[RuleSet]], contest: Contest, progress: Progress
) -> Iterator[RuleSet]:
    """Yield the rules after each step of the least cost, as long as they play well enough."""
    points = contest.visited(rules)
    while contest.steps > 0:
        best = contest.best(map(with_otherwise, fewer(rules)), rules, points)
        if best is None:
            return
        points = contest.visited(best)
        rules = same_at(best, points)
        progress(len(rules))
        yield rules


def same_at(rules: RuleSet, points: Floats) -> RuleSet:
    """Return the rules without what makes no difference at points `(n, features)`."""
    draft = Draft(rules, points)
    shorten(draft, widen=True)
    return with_otherwise(draft.rules_left()).without_unused_terms()


NEAREST = 16
"""Without a twin: the number of candidates that are played from a few seeds."""
FEW_SEEDS = 10
"""Without a twin: the number of these seeds."""
FINALISTS = 4
"""Without a twin: the number of candidates that are played from all seeds."""
LOOKS = 4_000  # visited states at which candidates are compared with the rules that they come from
AS_GOOD = 1e-9  # a relative difference of means that rounding can make is no loss


class Contest:
    """Plays candidates in an environment, each different one once.

    Args:
        task: the environment.
        seeds: reset seeds to play from, `(k,)`.
        threads: how many threads or worker processes to use; results do not depend on it.
        least: the lowest performance that a candidate may have.
        steps: how many steps are left to be played; those of a candidate that was begun are always played.
    """

    def __init__(
        self, task: EnvTask, seeds: Ints, threads: int, least: float = -np.inf, steps: float = math.inf
    ) -> None:
        self.task, self.seeds, self.least, self.steps = task, seeds, least, steps
        self.simulator, self.is_cheap = environment_simulator(task, threads), is_cheap(task)
        self._known: dict[tuple[bytes, int], float] = {}

    def performances(self, rulesets: Sequence[RuleSet], seeds: int | None = None) -> Floats:
        """Return the mean returns `(n,)` from the first `seeds` seeds, or all; the floor for failures."""
        rules, k = stacked(rulesets), len(self.seeds) if seeds is None else seeds
        keys = [(key, k) for key in rules.digests(rulesets[0].features)]
        fresh = {key: i for i, key in enumerate(keys) if key not in self._known}
        if fresh:
            new_rules = rules.take(np.array(list(fresh.values()), dtype=np.int64))
            result = means(self.task, self.simulator.play(new_rules, self.seeds[:k]))
            self.steps -= int(result.steps.sum())
            self._known |= dict(zip(fresh, result.performance.tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def visited(self, rules: RuleSet) -> Floats:
        """Return the states that rules visit from all seeds, `(n, features)`."""
        points = visited_states(rules, self.task, self.seeds).points
        self.steps -= len(points)
        return points

    def best(self, rulesets: Iterable[RuleSet], rules: RuleSet, visited: Floats) -> RuleSet | None:
        """Return the one that plays best, the shortest among equals; None where all are below the least.

        Args:
            rulesets: the candidates.
            rules: the rules that they come from.
            visited: states that these have visited, `(n, features)`.
        """
        candidates = list(rulesets)
        if not self.is_cheap:
            candidates = self._promising(candidates, rules, visited)
        if not candidates:
            return None
        performances = self.performances(candidates)
        sizes = np.array([size_of(candidate) for candidate in candidates])
        order = np.lexsort((*sizes.T[::-1], -performances))
        return candidates[order[0]] if self.is_enough(performances[order[0]]) else None

    def _promising(self, candidates: list[RuleSet], rules: RuleSet, visited: Floats) -> list[RuleSet]:
        """Return the few candidates that are worth playing from all seeds."""
        if len(candidates) > FINALISTS:
            points = visited[:: len(visited) // LOOKS + 1]
            actions = rules.choose(points)[0]
            changed = [(candidate.choose(points)[0] != actions).sum() for candidate in candidates]
            candidates = [candidates[i] for i in np.argsort(changed, kind="stable")[:NEAREST]]
        if len(candidates) > FINALISTS and len(self.seeds) > FEW_SEEDS:
            few = self.performances(candidates, FEW_SEEDS)
            candidates = [candidates[i] for i in np.argsort(-few, kind="stable")[:FINALISTS]]
        return candidates

    def is_enough(self, performance: float) -> bool:
        """Return whether a performance is not below the least, and not that of a failure."""
        margin = AS_GOOD * max(1.0, abs(self.least))
        return bool(performance > self.task.floor and performance >= self.least - margin)


MOST_MATCHES = 20_000_000
"""Where steps are counted, votes are compared at so few states that there are no more pairs of both."""
SHARE = 4
"""Pruning at the end of training plays at most this part of the steps that training took."""
MOST_STEPS = {True: 2_000_000_000, False: 2_000_000}
"""And at most this many: where steps cost next to nothing, and elsewhere. Both take about a minute."""


def fair_steps(task: Task, training: int) -> int | None:
    """Return the number of steps to prune with after so many steps of training; None where none are played.

    It does not depend on the machine.
    """
    if task.pruning_seeds() is None:
        return None
    return min(training // SHARE, MOST_STEPS[is_cheap(task)])


def size_of(rules: RuleSet) -> tuple[int, int, int, int]:
    """Return the numbers of rules, of conditions, of their ends inside the features' ranges, and of terms."""
    lows, highs = lows_and_highs(rules.features)
    ends = np.stack([rules.bounds[..., 0] > lows, rules.bounds[..., 1] < highs])
    return len(rules), int(ends.any(axis=0).sum()), int(ends.sum()), len(rules.terms)


def with_otherwise(rules: RuleSet) -> RuleSet:
    """Return a decision list whose last rule reads OTHERWISE; other rulesets as they are.

    Nothing changes where one of the rules matches.
    """
    if not rules.ordered:
        return rules
    return with_condition(rules, -1, whole_box(rules.features))


def a_rule_less(rules: RuleSet) -> Iterator[RuleSet]:
    """Yield rulesets with one rule less: dropped or, in a decision list, made one with another."""
    return map(with_otherwise, one_rule_less(rules)) if len(rules) > 1 else iter(())


MOST_DIGITS = 17
"""The number of roundings that are tried for a bound where the environment has a compiled twin."""
FEW_DIGITS = 4
"""The number of roundings that are tried elsewhere, where playing is expensive."""


def rounded_bounds(rules: RuleSet, contest: Contest) -> RuleSet:
    """Return the rules with every bound inside a real feature's range rounded as far as the loss allows.

    Bounds are taken one after the other; of each, all roundings are played at once.
    """
    lows, highs = lows_and_highs(rules.features)
    n_tried = MOST_DIGITS if contest.is_cheap else FEW_DIGITS
    for r, (d, feature), end in itertools.product(range(len(rules)), enumerate(rules.features), (0, 1)):
        value, other_end = float(rules.bounds[r, d, end]), rules.bounds[r, d, 1 - end]
        if feature.is_integer or value in (lows[d], highs[d]) or contest.steps <= 0:
            continue
        rounded = roundings(feature, value, n_tried)
        wraps = bool(rules.bounds[r, d, 0] > rules.bounds[r, d, 1])
        values = [
            number
            for number in rounded
            if (number <= other_end if end == 0 else number >= other_end) != wraps
        ]
        candidates = [with_condition(rules, (r, d, end), number) for number in values]
        enough = [contest.is_enough(number) for number in contest.performances(candidates)] if values else []
        rules = candidates[enough.index(True)] if any(enough) else rules
    return rules


def roundings(feature: Feature, value: float, most: int = MOST_DIGITS) -> list[float]:
    """Return the value rounded to more and more decimals, inside the feature's range and shorter to write.

    The coarsest step is a tenth to the whole of the range. At most `most` steps are tried, each a tenth of
    the one before.
    """
    width = float(feature.high) - float(feature.low)
    first_decimals = math.ceil(-math.log10(width))
    rounded: list[float] = []
    for decimals in range(first_decimals, first_decimals + most):
        number = round(value, decimals) + 0.0
        if number == value:
            break
        shorter = len(number_in_words(number)) < len(number_in_words(value))
        if feature.low < number < feature.high and number not in rounded and shorter:
            rounded.append(number)
    return rounded
