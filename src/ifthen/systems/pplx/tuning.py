"""Tuning: CMA-ES improves the thresholds and coefficients of a list by the returns that it gets."""

from __future__ import annotations

import math

import numpy as np

from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.cma_es import drawn, new_cma, numbers_of, read_numbers, updated, with_numbers
from ifthen.systems.pplx.drafts import Draft
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.scoring import with_candidates

TUNED_ON = 5
"""In tuning, each candidate plays this many episodes, the same for all of a generation."""
SIGMA = 0.15
"""The first candidates of tuning lie this far from the list, in units of each number's spread."""
FEWEST_GENERATIONS = 2
"""A list is not tuned where the steps allow fewer generations than this."""
WIDE = 0.3
"""A list may be tuned if its score is at most this share of the gain below the best."""


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
