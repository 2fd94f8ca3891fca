"""Contests: which of many rulesets, all a little shorter than one, play best in an environment.

Candidates are laid out as one population, those with fewer rules filled up with rules that match nothing, and
played from the same reset seeds. In a compiled twin all are played from all seeds. Elsewhere steps are
dear: those that change the fewest actions in states met are played from a few seeds, and the best of these
from all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.fewer.ladder import one_rule_less
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.rulebook import Rulebook
from ifthen.rollout.env_fitness import individual_keys, summed
from ifthen.rollout.players import play_rules
from ifthen.rollout.score import rulebook_of
from ifthen.rules.features import lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins import twin_of

NEAREST, FEW_SEEDS, FINALISTS = 16, 10, 4
"""Without a twin: candidates that are played, seeds that they are played from, those played from all."""
LOOKS = 4_000  # states met at which candidates are compared with the rules that they come from
AS_GOOD = 1e-9  # relative: what rounding makes of a mean is no loss


class Contest:
    """Performance of many rulesets in an environment, each different one played once.

    Args:
        task: the task.
        seeds: reset seeds to play from, `(k,)`.
        threads: how many threads or worker processes to use; results do not depend on it.
        least: the lowest performance that a ruleset may have.
    """

    def __init__(self, task: EnvTask, seeds: NDArray[np.int64], threads: int, least: float = -np.inf) -> None:
        self.task, self.seeds, self.threads, self.least = task, seeds, threads, least
        self._known: dict[tuple[bytes, int], float] = {}

    def performances(self, rulesets: Sequence[RuleSet], seeds: int | None = None) -> NDArray[np.float64]:
        """Return the mean returns `(n,)` from the first so many seeds, or all; the floor for failures."""
        rules, k = rulebook_of_all(rulesets), len(self.seeds) if seeds is None else seeds
        keys = [(key, k) for key in individual_keys(rules)]
        fresh = {key: i for i, key in enumerate(keys) if key not in self._known}
        if fresh:
            own = rules.take(np.array(list(fresh.values()), dtype=np.int64))
            found = summed(self.task, play_rules(self.task, own, self.seeds[:k], self.threads))
            self._known |= dict(zip(fresh, found.performance.tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def best(self, rulesets: Iterable[RuleSet], rules: RuleSet, met: NDArray[np.float64]) -> RuleSet | None:
        """Return the one that plays best, the shortest among equals; None where all are below the least.

        Args:
            rulesets: the candidates.
            rules: those that they come from.
            met: states that these have met, `(n, features)`.
        """
        candidates = list(rulesets)
        if twin_of(self.task) is None:
            candidates = self._promising(candidates, rules, met)
        if not candidates:
            return None
        found = self.performances(candidates)
        sizes = np.array([size_of(each) for each in candidates])
        order = np.lexsort((*sizes.T[::-1], -found))
        return candidates[order[0]] if self.is_enough(found[order[0]]) else None

    def _promising(
        self, candidates: list[RuleSet], rules: RuleSet, met: NDArray[np.float64]
    ) -> list[RuleSet]:
        """Return the few candidates that are worth to be played from all seeds."""
        if len(candidates) > FINALISTS:
            points = met[:: len(met) // LOOKS + 1]
            actions = rules.choose(points)[0]
            changed = [(each.choose(points)[0] != actions).sum() for each in candidates]
            candidates = [candidates[i] for i in np.argsort(changed, kind="stable")[:NEAREST]]
        if len(candidates) > FINALISTS and len(self.seeds) > FEW_SEEDS:
            few = self.performances(candidates, FEW_SEEDS)
            candidates = [candidates[i] for i in np.argsort(-few, kind="stable")[:FINALISTS]]
        return candidates

    def is_enough(self, performance: float) -> bool:
        """Return whether a performance is not below the least, and not that of a failure."""
        margin = AS_GOOD * max(1.0, abs(self.least))
        return bool(performance > self.task.floor and performance >= self.least - margin)


def size_of(rules: RuleSet) -> tuple[int, int, int]:
    """Return the numbers of rules, of conditions on single features, and of their ends inside the range."""
    lows, highs = lows_and_highs(rules.features)
    ends = np.stack([rules.bounds[..., 0] > lows, rules.bounds[..., 1] < highs])
    return len(rules), int(ends.any(axis=0).sum()), int(ends.sum())


def rulebook_of_all(rulesets: Sequence[RuleSet]) -> Rulebook:
    """Return rulesets of one kind as one population; shorter ones end with rules that match nothing."""
    books = [book for book in map(rulebook_of, rulesets) if book is not None]
    longest = max(book.actions.shape[1] for book in books)

    def stacked(name: str, filler: float) -> NDArray[np.float64]:
        columns = [getattr(book, name)[0] for book in books]
        out = np.full((len(books), longest, *columns[0].shape[1:]), filler, dtype=columns[0].dtype)
        for i, column in enumerate(columns):
            out[i, : len(column)] = column
        return out

    return books[0]._replace(
        lows=stacked("lows", np.inf),
        highs=stacked("highs", -np.inf),
        actions=stacked("actions", 0).astype(np.int32),
        learnt=stacked("learnt", 0.0),
    )


def with_rest(rules: RuleSet) -> RuleSet:
    """Return a decision list whose last rule reads OTHERWISE; other rulesets as they are.

    Nothing changes where one of the rules matches.
    """
    if not isinstance(rules, DecisionList):
        return rules
    bounds = rules.bounds.copy()
    bounds[-1] = np.stack(lows_and_highs(rules.features), axis=1)
    return rules.with_bounds(bounds)


def a_rule_less(rules: RuleSet) -> Iterator[RuleSet]:
    """Yield rulesets with one rule less: dropped or, in a decision list, made one with another."""
    if len(rules) == 1:
        return
    if isinstance(rules, DecisionList):
        yield from map(with_rest, one_rule_less(rules))
        return
    for r in range(len(rules)):
        yield rules.subset([q for q in range(len(rules)) if q != r])


def a_condition_less(rules: RuleSet) -> Iterator[RuleSet]:
    """Yield rulesets in which one interval ends, at one side or both, at the edge of its feature."""
    edges = np.stack(lows_and_highs(rules.features), axis=1)
    for r in range(len(rules)):
        for d, edge in enumerate(edges):
            moved = {tuple(edge), (edge[0], rules.bounds[r, d, 1]), (rules.bounds[r, d, 0], edge[1])}
            for pair in sorted(moved - {tuple(rules.bounds[r, d])}):
                bounds = rules.bounds.copy()
                bounds[r, d] = pair
                yield rules.with_bounds(bounds)
