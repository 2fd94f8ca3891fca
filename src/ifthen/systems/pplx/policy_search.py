"""Searching on the return itself: lists are shortened by playing, and their numbers are tuned by CMA-ES."""

from __future__ import annotations

import math

import numpy as np

from ifthen.rules.arrays import Floats
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.cma_es import drawn, new_cma, numbers_of, read_numbers, updated, with_numbers
from ifthen.systems.pplx.drafts import Draft, shorter_by_one, tidy
from ifthen.systems.pplx.fit import polished, regret
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.scoring import with_candidates

LOST = 0.3
"""Shortening a list stops once a step loses this share of the gain. The gain is what the best list gets more
than the best single rule."""
BEST = 4
"""The next list to shorten is drawn from this many of the best lists."""
LEAST_RULES = 2
"""Lists are not shortened below this many rules."""
COMPARED_ON = 20
"""Shorter lists are compared in at most this many episodes."""
COMPARING_TAKES = 0.01
"""Comparing one list takes at most this share of the plan's steps."""
SCREENED = 4
"""All shorter lists play a quarter of these episodes. Only the best play the rest."""
SINGLE_DROPS = 4
"""This many lists with one rule or test less play."""
CHAIN = 4
"""This many lists with ever more rules or tests less play."""
FINALISTS = 3
"""This many of the shorter lists play all episodes."""
HARMLESS = 0.01
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


def shorten(bench: Bench, known: Knowledge, first: bool) -> Knowledge:
    """Shorten the list at hand, step by step, and begin again with another one when it is done.

    Args:
        bench: plays.
        known: what is known; the list at hand is its first one.
        first: whether to begin with another one.
    """
    current, shortened_drafts = known.drafts[0], list[Draft]()
    if first or len(current.actions) <= LEAST_RULES:
        current = one_of_the_best(bench, known)
    while bench.steps_left > RESERVED * bench.quota and len(current.actions) > LEAST_RULES:
        current, loss, points = shortened(bench, known, current)
        known = bench.with_states(known, bench.sample(points, FROM_A_LIST))
        shortened_drafts.append(current)
        if loss > LOST * known.gain:
            current = one_of_the_best(bench, known)
            break
    return with_candidates(bench, known, shortened_drafts).with_first(current)


def one_of_the_best(bench: Bench, known: Knowledge) -> Draft:
    """Return the best list, or now and then one that is nearly as good."""
    good_indices = [
        i for i in np.argsort(-known.scores, kind="stable") if known.scores[i] >= known.near_best_score
    ]
    return known.drafts[int(good_indices[bench.rng.integers(min(len(good_indices), BEST))])]


def shortened(bench: Bench, known: Knowledge, draft: Draft) -> tuple[Draft, float, Floats]:
    """Return a list without what is missed least, how much less it gets, and the points that the list visits.

    Values tell what may be dropped where the list itself goes, and put numbers right; playing decides. Of
    lists that lose nothing to speak of, the shortest is returned.
    """
    n_episodes = bench.affordable_episodes(
        COMPARING_TAKES * known.budget, known.episode_length, 3, bench.episode_factor * COMPARED_ON
    )
    seeds, n_screened = bench.seeds(n_episodes), max(2, n_episodes // SCREENED)
    episodes = bench.record(draft, seeds)
    visited = np.vstack([episode.points for episode in episodes])
    shorter_drafts = candidates(bench, known, draft, bench.sample(visited, POLISHED_ON))
    returns = bench.play(shorter_drafts, seeds[:n_screened])
    finalist_rows = np.argsort(-returns.mean(axis=1), kind="stable")[:FINALISTS]
    finalists = [shorter_drafts[i] for i in finalist_rows]
    means = np.hstack([returns[finalist_rows], bench.play(finalists, seeds[n_screened:])]).mean(axis=1)
    losses = bench.mean_return(episodes) - means
    harmless = [i for i in range(len(finalists)) if losses[i] <= HARMLESS * known.gain]
    best_index = min(harmless, key=lambda i: finalists[i].size) if harmless else int(losses.argmin())
    return finalists[best_index], float(losses[best_index]), visited


def candidates(bench: Bench, known: Knowledge, draft: Draft, visited: Floats) -> list[Draft]:
    """Return the shorter lists with the least cost at points: with one part less, and with several."""
    points, costs = bench.labelled(known, visited)
    steps_before, shorter, chain, single_drops = bench.n_steps, draft, list[Draft](), list[Draft]()
    while len(chain) < CHAIN and len(shorter.actions) > LEAST_RULES:
        polished_drafts = []
        for i, reduced in enumerate(shorter_by_one(shorter)):
            key = bench.key("shorten", steps_before, len(chain), i)
            polished_drafts.append(tidy(polished(key, reduced, points, costs, POLISHES, bench.given_terms)))
        ordered_drafts = sorted(polished_drafts, key=lambda candidate: regret(candidate, points, costs))
        single_drops = single_drops or ordered_drafts[1 : 1 + SINGLE_DROPS]
        shorter = ordered_drafts[0]
        chain.append(shorter)
    readable = [bench.readable(candidate, known) for candidate in [*chain, *single_drops]]
    return list({candidate.key(): candidate for candidate in readable}.values())


def tune(bench: Bench, known: Knowledge, turn: int) -> Knowledge:
    """Tune a list of the front: in turn the shortest of the good ones, the best, and one between them.

    Args:
        bench: plays.
        known: what is known.
        turn: the number of this turn, from 0.
    """
    lowest_score = known.best_score - WIDE * known.gain
    good_indices = [i for i in known.front_indices if known.scores[i] >= lowest_score]
    shortest, best, middle = good_indices[0], good_indices[-1], good_indices[len(good_indices) // 2]
    draft = known.drafts[(shortest, best, middle)[turn % 3]]
    return with_candidates(bench, known, [tuned(bench, known, draft)])


def tuned(bench: Bench, known: Knowledge, draft: Draft) -> Draft:
    """Return a list with better thresholds and coefficients, as far as the steps go."""
    numbers = numbers_of(draft, bench.feature_spreads(known), bench.given_terms)
    x = read_numbers(draft, numbers)
    if not len(x):
        return draft
    state, n_candidates = new_cma(x, SIGMA / math.sqrt(len(x))), 4 + int(3 * math.log(len(x)))
    n_episodes = bench.episode_factor * TUNED_ON
    n_generations = int(bench.steps_left / (n_candidates * n_episodes * known.episode_length))
    if n_generations < FEWEST_GENERATIONS:
        return draft
    late_means = []
    for generation in range(n_generations):
        vectors = drawn(state, bench.rng.standard_normal((n_candidates, len(x))))
        drafts = [bench.readable(with_numbers(draft, numbers, vector), known) for vector in vectors]
        returns = bench.play(drafts, bench.seeds(n_episodes))
        state = updated(state, vectors, returns.mean(axis=1))
        if 2 * generation >= n_generations:
            late_means.append(state.mean)
    return bench.readable(with_numbers(draft, numbers, np.mean(late_means, axis=0)), known)
