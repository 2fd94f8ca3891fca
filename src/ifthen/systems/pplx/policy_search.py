"""Searching on the return itself: lists are shortened by playing, and their numbers are tuned by CMA-ES."""

from __future__ import annotations

import math

import numpy as np

from ifthen.rules.arrays import Floats
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.cma_es import drawn, new_cma, numbers_of, read_numbers, updated, with_numbers
from ifthen.systems.pplx.drafts import Draft, tidy, without_rule, without_test
from ifthen.systems.pplx.fit import polished, regret
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.scoring import (
    fitness_on_same_seeds,
    played_more,
    unlisted,
    unplayed,
    with_candidates,
)

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
    current, shortened_drafts = known.drafts[0], list[Draft]()
    if first or len(current.actions) <= SHORTEST:
        current = one_of_the_best(bench, known)
    while bench.steps_left > RESERVED * bench.quota and len(current.actions) > SHORTEST:
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
        TAKES * known.budget, known.episode_length, 3, bench.episode_factor * EPISODES
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
    harmless = [i for i in range(len(finalists)) if losses[i] <= FREE * known.gain]
    best_index = min(harmless, key=lambda i: finalists[i].size) if harmless else int(losses.argmin())
    return finalists[best_index], float(losses[best_index]), visited


def candidates(bench: Bench, known: Knowledge, draft: Draft, visited: Floats) -> list[Draft]:
    """Return the shorter lists with the least cost at points: with one part less, and with several."""
    points, costs = bench.labelled(known, visited)
    steps_before, shorter, chain, single_drops = bench.n_steps, draft, list[Draft](), list[Draft]()
    while len(chain) < CHAIN and len(shorter.actions) > SHORTEST:
        polished_drafts = []
        for i, reduced in enumerate(shorter_by_one(shorter)):
            key = bench.key("shorten", steps_before, len(chain), i)
            polished_drafts.append(tidy(polished(key, reduced, points, costs, POLISHES, bench.given_terms)))
        ordered_drafts = sorted(polished_drafts, key=lambda candidate: regret(candidate, points, costs))
        single_drops = single_drops or ordered_drafts[1 : 1 + SINGLE]
        shorter = ordered_drafts[0]
        chain.append(shorter)
    readable = [bench.readable(candidate, known) for candidate in [*chain, *single_drops]]
    return list({candidate.key(): candidate for candidate in readable}.values())


def shorter_by_one(draft: Draft) -> list[Draft]:
    """Return the lists with one rule or one test less."""
    shorter = [without_rule(draft, r) for r in range(len(draft.actions) - 1)]
    shorter += [without_test(draft, r, c, upper=False) for r, c in np.argwhere(np.isfinite(draft.lows))]
    return shorter + [without_test(draft, r, c, upper=True) for r, c in np.argwhere(np.isfinite(draft.highs))]


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


def choose(bench: Bench, known: Knowledge) -> Knowledge:
    """Return what is known once the good lists have played more episodes, the better half of them ever more.

    The best of many scores flatters its list. More episodes put that right where it matters. They begin with
    seeds for choosing that the list has not played.
    """
    drafts, stage_steps = known.drafts, bench.quota / STAGES
    n_candidates = bench.affordable_episodes(stage_steps / LEAST_EPISODES, known.episode_length, *CANDIDATES)
    good_indices = [i for i in range(len(drafts)) if known.scores[i] >= known.near_best_score]
    playing = sorted(good_indices, key=lambda i: (-known.scores[i], drafts[i].size))[:n_candidates]
    fitness = known.fitness.copy()
    for _ in range(STAGES):
        n_episodes = bench.affordable_episodes(
            stage_steps / len(playing), known.episode_length, 1, bench.episode_factor * MOST_EPISODES
        )
        fitness[playing] = played_more(bench, [drafts[i] for i in playing], fitness[playing], n_episodes)
        playing = sorted(playing, key=lambda i: -fitness[i, 0])[: max(1, len(playing) // 2)]
    return known._replace(fitness=fitness)


def choose_by_values(bench: Bench, known: Knowledge, new_drafts: list[Draft]) -> Knowledge:
    """Return what is known with the lists that values speak for, scored on the same seeds.

    Where steps are few, the best of many lists that have played a few episodes each is mostly a lucky one. So
    values choose here: of each size, the list that costs least where lists go, if it costs less than all
    shorter ones. The last of them without what values do not miss, the best list so far and the best single
    rule play beside them.

    Args:
        bench: plays.
        known: what is known.
        new_drafts: more lists to choose from.
    """
    best_index, (points, costs) = int(np.nanargmax(known.scores)), bench.labelled(known, known.states)
    known = with_unplayed(known, new_drafts)
    drafts = known.drafts
    chosen_indices, least_cost = list[int](), math.inf
    for i in sorted(range(len(drafts)), key=lambda i: drafts[i].size):
        cost = regret(drafts[i], points, costs)
        if cost < (1 - WORTH) * least_cost:
            chosen_indices, least_cost = [*chosen_indices, i], cost
    single_indices = [i for i in range(len(drafts)) if len(drafts[i].actions) == 1]
    baselines = {best_index, max(single_indices, key=lambda i: known.scores[i])}
    n_longest = bench.affordable_episodes(bench.quota / LEAST_EPISODES, known.episode_length, 1, MOST_CHOSEN)
    shorter = pared(bench, known, drafts[chosen_indices[-1]], PARED * float(costs.mean(axis=0).min()))
    known = with_unplayed(known, [shorter])
    drafts = known.drafts
    pared_index = next(i for i in range(len(drafts)) if drafts[i].key() == shorter.key())
    longest = reversed(chosen_indices[-n_longest:])
    playing = list(dict.fromkeys([pared_index, chosen_indices[-1], best_index, *baselines, *longest]))
    playing_drafts, fitness = [drafts[i] for i in playing], known.fitness.copy()
    fitness[playing] = fitness_on_same_seeds(
        bench, playing_drafts, fitness[playing], known.episode_length, n_needed=NEEDED
    )
    kept_indices = sorted(i for i in {*playing, *single_indices} if np.isfinite(fitness[i, 0]))
    return known.with_drafts([drafts[i] for i in kept_indices], fitness[kept_indices])


def with_unplayed(known: Knowledge, new_drafts: list[Draft]) -> Knowledge:
    """Return what is known with more lists behind the others, those that are not among them yet."""
    new_drafts = unlisted(known, new_drafts)
    return known.with_drafts([*known.drafts, *new_drafts], [*known.fitness, *unplayed(new_drafts)])


def pared(bench: Bench, known: Knowledge, draft: Draft, max_cost_rise: float) -> Draft:
    """Return a list without the rules and tests that matter least by the values.

    Args:
        bench: random numbers, and what actions cost.
        known: what is known.
        draft: the list.
        max_cost_rise: by how much its mean cost where lists go may rise.
    """
    points, costs = bench.labelled(known, bench.sample(known.states, POLISHED_ON))
    n_pared = 0
    max_cost = regret(draft, points, costs) + max_cost_rise
    while len(draft.actions) > SHORTEST:
        candidate_drafts = [tidy(shorter) for shorter in shorter_by_one(draft)]
        reduced = min(candidate_drafts, key=lambda shorter: regret(shorter, points, costs))
        key = bench.key("pare", n_pared, len(draft.actions), draft.tests)
        reduced = bench.readable(polished(key, reduced, points, costs, POLISHES, bench.given_terms), known)
        if regret(reduced, points, costs) > max_cost:
            return draft
        draft, n_pared = reduced, n_pared + 1
    return draft
