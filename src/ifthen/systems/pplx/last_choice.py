"""The last choice in an environment: which lists may be handed out, and which scores speak for them.

The best of many scores flatters its list. So a few lists play more episodes in the end. How they are chosen
depends on what is known:
- by their scores, in plans that are not short: the good ones play, the better half of them ever more.
- by action values, in short plans: there the best of many lists that have played a few episodes each is
  mostly a lucky one.
- by counts, where these take the network's place: the best of many expected returns on the same counts
  flatters its list, too.
"""

from __future__ import annotations

import math

import numpy as np

from ifthen.rules.arrays import Floats
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.distil_values import SHORT_SIZES, SIZES, drafts_from_trees
from ifthen.systems.pplx.drafts import Draft, shorter_by_one, tidy
from ifthen.systems.pplx.fit import polished, regret
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.policy_search import LEAST_RULES, POLISHED_ON, POLISHES
from ifthen.systems.pplx.scoring import (
    fitness_on_same_seeds,
    played_more,
    unlisted,
    unplayed,
    with_scores,
)

CANDIDATES = (2, 16)
"""By scores, the choice begins with at least two and at most sixteen lists."""
STAGES = 4
"""The choice by scores has this many stages. The worse half of the lists drops out after each."""
LEAST_EPISODES = 5
"""Fewer lists play where the steps allow each less than this many episodes, by scores in a stage."""
MOST_EPISODES = 200
"""In a stage, a list plays at most this many episodes."""
CHEAPER = 0.03
"""By values, a longer list must cost this share less than all shorter ones."""
PARED = 0.01
"""By values, rules and tests are dropped as long as all of them together cost at most this share of what the
best single rule costs."""
MOST_BY_VALUES = 6
"""Values choose at most this many lists to play."""
PLAY_ANYWAY = 2
"""This many of them play although no steps are left: the one that costs least by the values, and the same
without what values do not miss."""
WORTH_MORE = 0.01
"""By counts, a longer list must be worth this share of the lead more than all shorter ones."""
MOST_BY_COUNTS = 8
"""Counts choose at most this many lists to play."""
MOST_EPISODES_BY_COUNTS = 100_000
"""Each of them plays at most this many episodes."""


def last_choice(bench: Bench, known: Knowledge, terms: bool) -> Knowledge:
    """Return what is known once the lists that may be handed out have played, where a network has learnt.

    Args:
        bench: plays.
        known: what is known.
        terms: whether rules may compare sums of two features.
    """
    if not bench.settings(known).values_choose:
        return choose_by_scores(bench, known)
    return choose_by_values(bench, known, drafts_from_trees(bench, known, terms, SHORT_SIZES + SIZES))


def choose_by_scores(bench: Bench, known: Knowledge) -> Knowledge:
    """Return what is known once the good lists have played more episodes, the better half of them ever more.

    More episodes put flattering scores right where it matters. They begin with seeds for choosing that the
    list has not played.
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

    Of each size that is the list that costs least where lists go, if it costs less than all shorter ones. The
    last of them without what values do not miss, the best list so far and the best single rule play, too.

    Args:
        bench: plays.
        known: what is known.
        new_drafts: more lists to choose from.
    """
    best_index, (points, costs) = int(np.nanargmax(known.scores)), bench.labelled(known, known.states)
    known = with_unplayed(known, new_drafts)
    drafts = known.drafts
    single_indices = [i for i in range(len(drafts)) if len(drafts[i].actions) == 1]
    best_single = max(single_indices, key=lambda i: known.scores[i])
    cheapest = cheapest_indices(drafts, points, costs)
    n_longest = bench.affordable_episodes(
        bench.quota / LEAST_EPISODES, known.episode_length, 1, MOST_BY_VALUES
    )
    shorter = pared(bench, known, drafts[cheapest[-1]], PARED * float(costs.mean(axis=0).min()))
    known = with_unplayed(known, [shorter])
    pared_index = [draft.key() for draft in known.drafts].index(shorter.key())
    playing = [pared_index, cheapest[-1], best_index, best_single, *reversed(cheapest[-n_longest:])]
    return played_out(bench, known, list(dict.fromkeys(playing)), single_indices, n_needed=PLAY_ANYWAY)


def choose_by_counts(bench: Bench, known: Knowledge) -> Knowledge:
    """Return what is known once the lists that counts speak for, and the single rules, have played.

    Counts choose which lists play, and playing says what these get.

    Args:
        bench: plays.
        known: what is known; scores are expected returns on the counts.
    """
    drafts, scores, gain = known.drafts, known.scores, known.gain
    chosen: list[int] = []
    for i in known.front_indices:
        if not chosen or scores[i] > scores[chosen[-1]] + WORTH_MORE * gain:
            chosen.append(i)
    playing = chosen[-MOST_BY_COUNTS:]
    singles = [i for i in range(len(drafts)) if len(drafts[i].actions) == 1 and i not in playing]
    fitness: Floats = np.full((len(drafts), 3), np.nan)
    if singles:
        unplayed_singles = known.with_drafts([drafts[i] for i in singles], fitness[singles])
        fitness[singles] = with_scores(bench, unplayed_singles).fitness
    known = known._replace(fitness=fitness)
    return played_out(bench, known, playing, singles, max_episodes=MOST_EPISODES_BY_COUNTS)


def played_out(
    bench: Bench,
    known: Knowledge,
    playing: list[int],
    single_indices: list[int],
    max_episodes: int | None = None,
    n_needed: int | None = None,
) -> Knowledge:
    """Return what is known of lists that play the same seeds in the end, and of single rules; others go.

    Args:
        bench: plays.
        known: what is known.
        playing: the lists that play, by number.
        single_indices: the lists of a single rule; those with a score stay.
        max_episodes: see `fitness_on_same_seeds`.
        n_needed: see there.
    """
    drafts, fitness = known.drafts, known.fitness.copy()
    fitness[playing] = fitness_on_same_seeds(
        bench,
        [drafts[i] for i in playing],
        fitness[playing],
        known.episode_length,
        max_episodes,
        n_needed,
    )
    kept_indices = sorted(i for i in {*playing, *single_indices} if np.isfinite(fitness[i, 0]))
    return known.with_drafts([drafts[i] for i in kept_indices], fitness[kept_indices])


def cheapest_indices(drafts: list[Draft], points: Floats, costs: Floats) -> list[int]:
    """Return which lists cost clearly less at points than all shorter ones, short ones first."""
    cheapest, least_cost = list[int](), math.inf
    for i in sorted(range(len(drafts)), key=lambda i: drafts[i].size):
        cost = regret(drafts[i], points, costs)
        if cost < (1 - CHEAPER) * least_cost:
            cheapest, least_cost = [*cheapest, i], cost
    return cheapest


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
    while len(draft.actions) > LEAST_RULES:
        candidate_drafts = [tidy(shorter) for shorter in shorter_by_one(draft)]
        reduced = min(candidate_drafts, key=lambda shorter: regret(shorter, points, costs))
        key = bench.key("pare", n_pared, len(draft.actions), draft.tests)
        reduced = bench.readable(polished(key, reduced, points, costs, POLISHES, bench.given_terms), known)
        if regret(reduced, points, costs) > max_cost:
            return draft
        draft, n_pared = reduced, n_pared + 1
    return draft
