"""Searching on the return itself: lists are shortened by playing, and their numbers are tuned by CMA-ES."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ifthen.systems.pplx.bench import Bench, fitness_of
from ifthen.systems.pplx.drafts import Draft, tidy, without_rule, without_test
from ifthen.systems.pplx.fit import polished, regret
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.tune import drawn, new_cma, numbers_of, read, updated, written

Floats = NDArray[np.float64]
LOST = 0.3
"""A list is not shortened further by a step that loses this share of what lists gain over a single rule."""
BEST = 4
"""The number of good lists of which one is shortened next."""
SHORTEST = 2
"""The number of rules at which shortening ends."""
EPISODES, TAKES = 20, 0.01
"""The episodes in which lists are compared, and the share of the plan that one list may take."""
SCREENED = 4
"""All shorter lists play one part in four of these episodes."""
SINGLE, CHAIN, FINALISTS = 4, 4, 3
"""Lists with one thing less and lists with several that play a few episodes, and those that play all."""
FREE = 0.01
"""A loss of this share of what lists gain over a single rule counts as none."""
POLISHED_ON, POLISHES = 2000, 100
RESERVED = 0.3
"""The share of the steps for trying the lists that were found."""
FROM_A_LIST = 1000
"""The points of each list that later trees are grown on."""
TUNED_ON = 5
"""Episodes of each candidate in tuning; the same for all of a generation."""
SIGMA = 0.15
"""How far the first candidates are from the list, as a share of what numbers vary by."""
FEWEST_GENERATIONS = 2
WIDE = 0.3
"""Lists that get this share less than the best gains over a single rule may still be tuned."""
CANDIDATES, STAGES = (2, 16), 4
"""The fewest and the most lists to choose from in the end, and how often the worse half of them drops out."""
LEAST_EPISODES, MOST_EPISODES = 5, 200
"""The episodes of each in between."""


def shorten(bench: Bench, known: Knowledge, first: bool) -> Knowledge:
    """Shorten the list at hand, step by step, and begin again with another one when it is done.

    Args:
        bench: plays.
        known: what is known; the list at hand is its first one.
        first: whether to begin with another one.
    """
    current, passed = known.drafts[0], list[Draft]()
    if first or len(current.actions) <= SHORTEST:
        current = one_of_the_best(bench, known)
    while bench.left > RESERVED * bench.quota and len(current.actions) > SHORTEST:
        current, loses, points = shortened(bench, known, current)
        known = bench.seen(known, bench.some(points, FROM_A_LIST))
        passed.append(current)
        if loses > LOST * known.gain:
            current = one_of_the_best(bench, known)
            break
    return bench.tried(known, passed).put_first(current)


def one_of_the_best(bench: Bench, known: Knowledge) -> Draft:
    """Return the best list, or now and then one that is nearly as good."""
    order = [i for i in np.argsort(-known.scores, kind="stable") if known.scores[i] >= known.near]
    return known.drafts[int(order[bench.draws.integers(min(len(order), BEST))])]


def shortened(bench: Bench, known: Knowledge, draft: Draft) -> tuple[Draft, float, Floats]:
    """Return a list without what is missed least, how much less it gets, and the points that the list visits.

    Values tell what may be dropped where the list itself goes, and put numbers right; playing decides. Of
    lists that lose nothing to speak of, the shortest is returned.
    """
    k = bench.affordable(TAKES * known.budget, known.length, 3, bench.plenty * EPISODES)
    seeds, few = bench.seeds(k), max(2, k // SCREENED)
    episodes = bench.watch(draft, seeds)
    visited = bench.clipped(np.vstack([episode.points for episode in episodes]))
    tried = candidates(bench, known, draft, bench.some(visited, POLISHED_ON))
    returns = bench.play(tried, seeds[:few])
    going = np.argsort(-returns.mean(axis=1), kind="stable")[:FINALISTS]
    finalists = [tried[i] for i in going]
    means = np.hstack([returns[going], bench.play(finalists, seeds[few:])]).mean(axis=1)
    lost = bench.mean_return(episodes) - means
    free = [i for i in range(len(finalists)) if lost[i] <= FREE * known.gain]
    best = min(free, key=lambda i: finalists[i].size) if free else int(lost.argmin())
    return finalists[best], float(lost[best]), visited


def candidates(bench: Bench, known: Knowledge, draft: Draft, points: Floats) -> list[Draft]:
    """Return the shorter lists that give away least at points: with one thing less, and with several."""
    costs, before, shorter, chain = bench.costs(known, points), bench.steps, draft, list[Draft]()
    given = bench.given_terms
    first: list[Draft] = []
    while len(chain) < CHAIN and len(shorter.actions) > SHORTEST:
        polishes = (
            polished(bench.key("shorten", before, len(chain), i), fewer, points, costs, POLISHES, given)
            for i, fewer in enumerate(drops(shorter))
        )
        ordered = sorted((tidy(own) for own in polishes), key=lambda own: regret(own, points, costs))
        first = first or ordered[1 : 1 + SINGLE]
        shorter = ordered[0]
        chain.append(shorter)
    readable = [bench.readable(own, known) for own in [*chain, *first]]
    return list({own.key(): own for own in readable}.values())


def drops(draft: Draft) -> list[Draft]:
    """Return the lists with one rule or one test less."""
    found = [without_rule(draft, r) for r in range(len(draft.actions) - 1)]
    found += [without_test(draft, r, c, upper=False) for r, c in np.argwhere(np.isfinite(draft.lows))]
    return found + [without_test(draft, r, c, upper=True) for r, c in np.argwhere(np.isfinite(draft.highs))]


def tune(bench: Bench, known: Knowledge, turn: int) -> Knowledge:
    """Tune a list of the front: in turn the shortest of the good ones, the best, and one between them.

    Args:
        bench: plays.
        known: what is known.
        turn: whose turn it is.
    """
    least = known.best_score - WIDE * known.gain
    good = [i for i in known.front if known.scores[i] >= least]
    return bench.tried(
        known, [tuned(bench, known, known.drafts[(good[0], good[-1], good[len(good) // 2])[turn % 3]])]
    )


def tuned(bench: Bench, known: Knowledge, draft: Draft) -> Draft:
    """Return a list with better thresholds and coefficients, as far as the steps go."""
    at = numbers_of(draft, bench.spreads(known), bench.given_terms)
    x = read(draft, at)
    if not len(x):
        return draft
    state, size = new_cma(x, SIGMA / math.sqrt(len(x))), 4 + int(3 * math.log(len(x)))
    episodes = bench.plenty * TUNED_ON
    generations = int(bench.left / (size * episodes * known.length))
    if generations < FEWEST_GENERATIONS:
        return draft
    late = []
    for g in range(generations):
        candidates = drawn(state, bench.draws.standard_normal((size, len(x))))
        tried = [bench.readable(written(draft, at, each), known) for each in candidates]
        returns = bench.play(tried, bench.seeds(episodes))
        state = updated(state, candidates, returns.mean(axis=1))
        if 2 * g >= generations:
            late.append(state.mean)
    return bench.readable(written(draft, at, np.mean(late, axis=0)), known)


def choose(bench: Bench, known: Knowledge) -> Knowledge:
    """Return what is known once the good lists have played more episodes, the better half of them ever more.

    The best of many scores flatters its list. More episodes put that right where it matters.
    """
    order, stage = np.argsort(-known.scores, kind="stable"), bench.quota / STAGES
    candidates = bench.affordable(stage / LEAST_EPISODES, known.length, *CANDIDATES)
    going = [int(i) for i in order if known.scores[i] >= known.near][:candidates]
    fitness, drafts = known.fitness.copy(), known.drafts
    for _ in range(STAGES):
        k = bench.affordable(stage / len(going), known.length, 1, bench.plenty * MOST_EPISODES)
        returns = bench.play([drafts[i] for i in going], bench.seeds(k))
        fitness[going] = pooled(fitness[going], fitness_of(returns))
        going = sorted(going, key=lambda i: -fitness[i, 0])[: max(1, len(going) // 2)]
    return known._replace(fitness=fitness)


def pooled(first: Floats, second: Floats) -> Floats:
    """Return mean, deviation and number `(n, 3)` of two sets of returns together, given those of each."""
    numbers = first[:, 2] + second[:, 2]
    share = first[:, 2] / numbers
    mean = share * first[:, 0] + (1 - share) * second[:, 0]
    squares = [(own[:, :2] ** 2).sum(axis=1) for own in (first, second)]
    variance = share * squares[0] + (1 - share) * squares[1] - mean**2
    return np.stack([mean, np.sqrt(np.maximum(0.0, variance)), numbers], axis=1)
