"""Searching on the return itself: lists are shortened by playing, and their numbers are tuned by CMA-ES."""

from __future__ import annotations

import math

import numpy as np

from ifthen.rules.arrays import Floats
from ifthen.systems.pplx.bench import Bench, fitness_of, pooled, unplayed
from ifthen.systems.pplx.cma_es import drawn, new_cma, numbers_of, read, updated, written
from ifthen.systems.pplx.drafts import Draft, tidy, without_rule, without_test
from ifthen.systems.pplx.fit import polished, regret
from ifthen.systems.pplx.knowledge import Knowledge

LOST = 0.3
"""Shortening a list stops once a step loses this share of the gain. The gain is what the best list gets more
than the best single rule."""
BEST = 4
"""The next list to shorten is drawn from this many of the best lists."""
SHORTEST = 2
"""Lists are not shortened below this many rules."""
EPISODES = 20
"""Shorter lists are compared in at most this many episodes."""
TAKES = 0.01
"""Comparing one list takes at most this share of the plan's steps."""
SCREENED = 4
"""All shorter lists play a quarter of these episodes. Only the best play the rest."""
SINGLE = 4
"""This many lists with one rule or test less play."""
CHAIN = 4
"""This many lists with ever more rules or tests less play."""
FINALISTS = 3
"""This many of the shorter lists play all episodes."""
FREE = 0.01
"""A loss of up to this share of the gain counts as none."""
POLISHED_ON = 2000
"""The numbers of shorter lists are fitted on at most this many points."""
POLISHES = 100
"""Fitting the numbers of a shorter list tries this many changes."""
RESERVED = 0.3
"""This share of an epoch's steps is reserved for scoring the shorter lists."""
FROM_A_LIST = 1000
"""Each shortened list adds at most this many of its visited points for later trees."""
TUNED_ON = 5
"""In tuning, each candidate plays this many episodes, the same for all of a generation."""
SIGMA = 0.15
"""The first candidates of tuning lie this far from the list, in units of each number's spread."""
FEWEST_GENERATIONS = 2
"""A list is not tuned where the steps allow fewer generations than this."""
WIDE = 0.3
"""A list may be tuned if its score is at most this share of the gain below the best."""
CANDIDATES = (2, 16)
"""The last choice begins with at least two and at most sixteen lists."""
STAGES = 4
"""The last choice has this many stages. The worse half of the lists drops out after each."""
LEAST_EPISODES = 5
"""The last choice begins with fewer lists where the steps allow each less than this many episodes a stage."""
WORTH = 0.03
"""In short plans, a longer list must cost this share less by the values."""
PARED = 0.01
"""In short plans, rules and tests are dropped as long as all of them together cost at most this share of what
the best single rule costs, by the values."""
MOST_CHOSEN = 6
"""In short plans, values choose at most this many lists to play in the end."""
NEEDED = 2
"""In short plans, this many of them play in the end although no steps are left: the one that costs least by
the values, and the same without what values do not miss."""
MOST_EPISODES = 200
"""In a stage of the last choice, a list plays at most this many episodes."""


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
    """Return the shorter lists with the least cost at points: with one part less, and with several."""
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
        turn: the number of this turn, from 0.
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
    drafts, stage = known.drafts, bench.quota / STAGES
    candidates = bench.affordable(stage / LEAST_EPISODES, known.length, *CANDIDATES)
    good = [i for i in range(len(drafts)) if known.scores[i] >= known.near]
    going = sorted(good, key=lambda i: (-known.scores[i], drafts[i].size))[:candidates]
    fitness = known.fitness.copy()
    for _ in range(STAGES):
        k = bench.affordable(stage / len(going), known.length, 1, bench.plenty * MOST_EPISODES)
        returns = bench.play([drafts[i] for i in going], bench.seeds(k))
        fitness[going] = pooled(fitness[going], fitness_of(returns))
        going = sorted(going, key=lambda i: -fitness[i, 0])[: max(1, len(going) // 2)]
    return known._replace(fitness=fitness)


def choose_by_values(bench: Bench, known: Knowledge, new: list[Draft]) -> Knowledge:
    """Return what is known with the lists that values speak for, scored on the same seeds.

    Where steps are few, the best of many lists that have played a few episodes each is mostly a lucky one. So
    values choose here: of each size, the list that costs least where lists go, if it costs less than all
    shorter ones. The last of them without what values do not miss, the best list so far and the best single
    rule play beside them.

    Args:
        bench: plays.
        known: what is known.
        new: more lists to choose from.
    """
    best, points = int(np.nanargmax(known.scores)), known.visited
    known = with_unplayed(known, new)
    costs, drafts, chosen, least = bench.costs(known, points), known.drafts, list[int](), math.inf
    for i in sorted(range(len(drafts)), key=lambda i: drafts[i].size):
        cost = regret(drafts[i], points, costs)
        if cost < (1 - WORTH) * least:
            chosen, least = [*chosen, i], cost
    singles = [i for i in range(len(drafts)) if len(drafts[i].actions) == 1]
    steady = {best, max(singles, key=lambda i: known.scores[i])}
    most = bench.affordable(bench.quota / LEAST_EPISODES, known.length, 1, MOST_CHOSEN)
    shorter = pared(bench, known, drafts[chosen[-1]], PARED * float(costs.mean(axis=0).min()))
    known = with_unplayed(known, [shorter])
    drafts = known.drafts
    same = next(i for i in range(len(drafts)) if drafts[i].key() == shorter.key())
    going = list(dict.fromkeys([same, chosen[-1], best, *steady, *reversed(chosen[-most:])]))
    own, fitness = [drafts[i] for i in going], known.fitness.copy()
    fitness[going] = bench.scored_alike(own, fitness[going], known.length, needed=NEEDED)
    staying = sorted(i for i in {*going, *singles} if np.isfinite(fitness[i, 0]))
    return known.with_drafts([drafts[i] for i in staying], fitness[staying])


def with_unplayed(known: Knowledge, new: list[Draft]) -> Knowledge:
    """Return what is known with more lists behind the others, those that are not among them yet."""
    keys = {draft.key() for draft in known.drafts}
    fresh = list({draft.key(): draft for draft in new if draft.key() not in keys}.values())
    return known.with_drafts([*known.drafts, *fresh], [*known.fitness, *unplayed(fresh)])


def pared(bench: Bench, known: Knowledge, draft: Draft, most: float) -> Draft:
    """Return a list without the rules and tests that matter least by the values.

    Args:
        bench: random numbers, and what actions cost.
        known: what is known.
        draft: the list.
        most: by how much its mean cost where lists go may rise.
    """
    points = bench.some(known.visited, POLISHED_ON)
    costs, turn = bench.costs(known, points), 0
    allowed = regret(draft, points, costs) + most
    while len(draft.actions) > SHORTEST:
        fewer = min((tidy(own) for own in drops(draft)), key=lambda own: regret(own, points, costs))
        key = bench.key("pare", turn, len(draft.actions), draft.tests)
        fewer = bench.readable(polished(key, fewer, points, costs, POLISHES, bench.given_terms), known)
        if regret(fewer, points, costs) > allowed:
            return draft
        draft, turn = fewer, turn + 1
    return draft
