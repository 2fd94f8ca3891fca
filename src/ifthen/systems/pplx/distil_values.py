"""Distillation: action values at many points become short lists, of several sizes at once.

The points are those that the lists themselves visit, gathered round by round (DAgger: Ross, Gordon and
Bagnell 2011), and all sizes share them. Trees compare features, and sums of two features: terms.
"""

from __future__ import annotations

import math

import numpy as np

from ifthen.parallel import for_slices
from ifthen.rules.arrays import Floats
from ifthen.rules.term import with_terms
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.pplx.action_costs import ActionCosts
from ifthen.systems.pplx.bench import MOST_VISITED, Bench
from ifthen.systems.pplx.drafts import Draft, draft_of_tree, tidy
from ifthen.systems.pplx.fit import fitted, regret
from ifthen.systems.pplx.imitation_tree import grow_tree
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.memory import single_precision
from ifthen.systems.pplx.scoring import FEWEST_PLAYED, with_candidates
from ifthen.systems.pplx.spreads import spreads_of
from ifthen.systems.pplx.value_learning import learn_on

SIZES = (4, 6, 9, 13)
"""Trees with these numbers of leaves become lists."""
PLAIN_SIZES = (6,)
"""Trees without terms have these numbers of leaves, where others use terms. With a teacher, they have all."""
SHORT_SIZES = (2, 3)
"""With a teacher, trees with these numbers of leaves are grown too, for the shortest lists."""
VARIANTS = 2
"""A round grows this many trees of each size with different terms, and keeps the one with the least cost."""
NEW_TERMS = 60
"""A round tries this many new terms, besides those that trees have used."""
ROUND_FACTORS = np.array([1.0, 2.0, 5.0, 10.0])
"""A round number is one of these times a power of ten."""
FACTORS = np.array([0.25, 0.5, 1.0, 2.0, 4.0])
"""In a new term, one feature weighs as much as the other times one of these factors."""
OFTEN = 3.0
"""Features that trees use are drawn this many times more often for terms."""
OF_MANY = 0.1
"""With many features, they are drawn this share of the number of features more often. Among hundreds they
would hardly ever be drawn otherwise."""
FROM_AN_EPISODE = 250
"""An episode adds at most this many points, so that long episodes do not outnumber others."""
IMITATED = 10
"""The first round begins with the points of this many episodes of the teacher or the network."""
ROUND_EPISODES = 5
"""A list plays at most this many episodes in a round."""
TRIED = 2
"""This many lists of a round may be kept. With a teacher all may: the best list of every size is wanted."""
FITTED_ON = 3000
"""Lists are fitted on at most this many points."""
CHANGES = 20_000
"""Fitting a list tries this many changes."""


def distil(bench: Bench, known: Knowledge, first: bool, terms: bool) -> Knowledge:
    """Go through one round: grow trees, read lists off them, and go where they lead.

    Args:
        bench: plays.
        known: what is known.
        first: whether this is the first round.
        terms: whether to look for sums of features to compare, besides those that the user gave.
    """
    if first:
        known = imitated_states(bench, known)
    sizes = SIZES if bench.teacher is None else SHORT_SIZES + SIZES
    drafts = drafts_from_trees(bench, known, terms, sizes)
    used_terms = np.unique(np.vstack([draft.terms for draft in drafts]), axis=0)
    return visit(bench, known._replace(useful=used_terms), drafts)


def drafts_from_trees(
    costing: ActionCosts, known: Knowledge, terms: bool, sizes: tuple[int, ...]
) -> list[Draft]:
    """Return lists read off trees and fitted, at the points that are known.

    Args:
        costing: random numbers, and what actions cost.
        known: what is known.
        terms: whether to look for sums of features to compare, besides those that the user gave.
        sizes: leaves of the trees.
    """
    points, costs = costing.labelled(known, known.states)
    given_terms = costing.given_terms
    plain_sizes = PLAIN_SIZES if terms and costing.teacher is None else sizes
    plain_drafts = distilled(points, costs, given_terms, plain_sizes)
    drafts = fitted_drafts(costing, "fit plain", plain_drafts, given_terms, points, costs)
    if terms:
        weights, known_terms = feature_weights(plain_drafts), np.vstack([known.useful, given_terms])
        term_drafts = best_distilled(costing, points, costs, weights, known_terms, sizes)
        new_terms = random_terms(costing.rng, spreads_of(points), weights, NEW_TERMS)
        extra_terms = np.vstack([known_terms, new_terms])
        drafts += fitted_drafts(costing, "fit", term_drafts, extra_terms, points, costs)
    readable = [costing.readable(draft, known) for draft in drafts]
    return list({draft.key(): draft for draft in readable}.values())


def fitted_drafts(
    costing: ActionCosts,
    purpose: str,
    drafts: list[Draft],
    extra_terms: Floats,
    points: Floats,
    costs: Floats,
) -> list[Draft]:
    """Return lists once they are fitted to action values at some of the points; see `fitted`."""
    rows = costing.sample(np.arange(len(points)), FITTED_ON)
    points, costs, results = points[rows], costs[rows], list(drafts)

    def fit(first: int, last: int) -> None:
        for i in range(first, last):
            key = costing.key(purpose, i)
            results[i] = fitted(key, drafts[i], extra_terms, points, costs, CHANGES, costing.given_terms)

    for_slices(fit, len(drafts), costing.threads)
    return results


def visit(bench: Bench, known: Knowledge, drafts: list[Draft]) -> Knowledge:
    """Play lists, remember where they go, and keep the best."""
    half, length = bench.quota / 2, known.episode_length
    n_seeds = bench.affordable_episodes(half / len(drafts), length, 1, bench.episode_factor * ROUND_EPISODES)
    n_playing = bench.affordable_episodes(half / n_seeds, length, 1, len(drafts))
    seeds, points, returns, played = bench.seeds(n_seeds), list[Floats](), list[float](), list[Trajectory]()
    playing = bench.sample(np.arange(len(drafts)), n_playing).tolist()
    for i in playing:
        episodes = bench.record(drafts[i], seeds)
        points += [bench.sample(episode.points, FROM_AN_EPISODE) for episode in episodes]
        played += episodes
        returns.append(bench.mean_return(episodes))
    n_candidates = TRIED if bench.teacher is None else len(drafts)
    if bench.settings(known).saves_steps:  # scores take steps that the last choice needs
        steps_each = bench.steps_left / FEWEST_PLAYED
        n_candidates = bench.affordable_episodes(steps_each, length, 0, n_candidates)
    best_first = np.argsort(returns, kind="stable")[::-1]
    candidates = [drafts[playing[i]] for i in best_first[:n_candidates]]
    known = learn_on(bench, bench.with_states(known, np.vstack(points)), played)
    return with_candidates(bench, known, candidates)


def imitated_states(bench: Bench, known: Knowledge) -> Knowledge:
    """Return what is known with the points that the teacher or the best network visits, and no others."""
    policy = known.nets[-1] if bench.teacher is None else bench.teacher
    max_episodes = bench.episode_factor * IMITATED
    n_episodes = bench.affordable_episodes(bench.quota / 2, known.episode_length, 1, max_episodes)
    episodes = bench.explore(policy, 0.0, bench.seeds(n_episodes), np.uint64(0), known.scaling)
    points = single_precision(np.vstack([episode.points for episode in episodes]))
    if n_latest := bench.settings(known).latest_points:
        points = np.vstack([points, known.points[known.moves >= 0][-n_latest:]])
    known = known._replace(states=bench.sample(points, MOST_VISITED))
    if bench.teacher is None and np.isfinite(known.network_return):
        return known
    return known.with_clock(network_return=bench.mean_return(episodes))


def distilled(points: Floats, costs: Floats, terms: Floats, sizes: tuple[int, ...]) -> list[Draft]:
    """Return lists of several sizes with little cost.

    Args:
        points: `(n, features)`.
        costs: `(n, actions)`: the cost of each action at each point; see `fit`.
        terms: `(terms, features)`: sums that may be compared, besides features.
        sizes: leaves of the trees that lists are read off.
    """
    trees = grow_tree(with_terms(terms, points), costs, max(sizes))
    leaf_counts = sorted({min(size, len(trees)) for size in sizes})
    return [tidy(draft_of_tree(trees[n - 1], terms, points.shape[1])) for n in leaf_counts]


def best_distilled(
    costing: ActionCosts,
    points: Floats,
    costs: Floats,
    weights: Floats,
    terms: Floats,
    sizes: tuple[int, ...],
) -> list[Draft]:
    """Return for each size the list with the least cost, of several with different terms to choose from.

    Args:
        costing: random numbers.
        points: `(n, features)`.
        costs: `(n, actions)`.
        weights: `(features,)`: how often each feature should be drawn for a term.
        terms: `(terms, features)`: terms that trees have used or the user gave, which all may use.
        sizes: leaves of the trees that lists are read off.
    """
    variants = []
    for _ in range(VARIANTS):
        new_terms = random_terms(costing.rng, spreads_of(points), weights, NEW_TERMS)
        all_terms = np.unique(np.vstack([new_terms, terms]), axis=0)
        variants.append(distilled(points, costs, all_terms, sizes))
    same_size = zip(*variants, strict=False)
    return [min(drafts, key=lambda draft: regret(draft, points, costs)) for drafts in same_size]


def feature_weights(drafts: list[Draft]) -> Floats:
    """Return how often each feature should be drawn for a term, `(features,)`."""
    n_features = drafts[0].terms.shape[1]
    weights = np.ones(n_features)
    for draft in drafts:
        weights += max(OFTEN, OF_MANY * n_features) * draft.limits[:, :n_features].any(axis=0)
    return weights


def random_terms(rng: np.random.Generator, spreads: Floats, weights: Floats, n: int) -> Floats:
    """Return n sums of two features, with round coefficients by which both weigh about the same.

    Args:
        rng: random numbers.
        spreads: `(features,)`: how much each feature varies; those that do not are left out.
        weights: `(features,)`: how likely each feature is drawn.
        n: how many, `(n, features)`.
    """
    weights, n_features = np.where(spreads > 0, weights, 0.0), len(spreads)
    terms = np.zeros((n, n_features))
    if np.count_nonzero(weights) < 2:
        return terms[:0]
    for term in terms:
        i, j = sorted(rng.choice(n_features, 2, replace=False, p=weights / weights.sum()))
        coefficient = round_number(spreads[i] / spreads[j] * rng.choice(FACTORS))
        term[i], term[j] = 1.0, coefficient * rng.choice([-1.0, 1.0])
    return terms


def round_number(value: float) -> float:
    """Return the nearest of the numbers 0.1, 0.2, 0.5, 1, 2, 5, 10 and so on."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(power * ROUND_FACTORS[np.abs(np.log(ROUND_FACTORS * power / value)).argmin()])
