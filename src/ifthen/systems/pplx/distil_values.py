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
from ifthen.systems.pplx.bench import FEWEST_PLAYED, MOST_STATES, Bench
from ifthen.systems.pplx.drafts import Draft, draft_of, tidy
from ifthen.systems.pplx.fit import fitted, regret
from ifthen.systems.pplx.imitation_tree import grow_tree
from ifthen.systems.pplx.knowledge import Knowledge
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
STEPS = np.array([1.0, 2.0, 5.0, 10.0])
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
EPISODES = 5
"""A list plays at most this many episodes in a round."""
TRIED = 2
"""This many lists of a round may be kept. With a teacher all may: the best list of every size is wanted."""
LATEST = 6000
"""In short plans, the first round also begins with this many of the latest steps. They were taken to learn
the values, mostly by the network. Lists that are fitted at few points do badly elsewhere."""
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
    made = grown(bench, known, terms, SIZES if bench.teacher is None else SHORT_SIZES + SIZES)
    useful = np.unique(np.vstack([draft.terms for draft in made]), axis=0)
    return visit(bench, known._replace(useful=useful), made)


def grown(bench: Bench, known: Knowledge, terms: bool, sizes: tuple[int, ...]) -> list[Draft]:
    """Return lists read off trees and fitted, at the points that are known.

    Args:
        bench: random numbers, and what actions cost.
        known: what is known.
        terms: whether to look for sums of features to compare, besides those that the user gave.
        sizes: leaves of the trees.
    """
    points = known.visited
    costs = bench.costs(known, points)
    given = bench.given_terms
    plain_sizes = PLAIN_SIZES if terms and bench.teacher is None else sizes
    plain = distilled(points, costs, given, plain_sizes)
    made = fits(bench, "fit plain", plain, given, points, costs)
    if terms:
        often, known_terms = usefulness(plain), np.vstack([known.useful, given])
        own = best_distilled(bench, points, costs, often, known_terms, sizes)
        new = random_terms(bench.draws, points.std(axis=0), often, NEW_TERMS)
        made += fits(bench, "fit", own, np.vstack([known_terms, new]), points, costs)
    return list({draft.key(): draft for draft in (bench.readable(d, known) for d in made)}.values())


def fits(
    bench: Bench, purpose: str, drafts: list[Draft], pool: Floats, points: Floats, costs: Floats
) -> list[Draft]:
    """Return lists once they are fitted to action values at some of the points; see `fitted`."""
    some = bench.some(np.arange(len(points)), FITTED_ON)
    own = points[some], costs[some], CHANGES, bench.given_terms
    found = list(drafts)

    def fit(first: int, last: int) -> None:
        for i in range(first, last):
            found[i] = fitted(bench.key(purpose, i), drafts[i], pool, *own)

    for_slices(fit, len(drafts), bench.simulator.threads)
    return found


def visit(bench: Bench, known: Knowledge, made: list[Draft]) -> Knowledge:
    """Play lists, remember where they go, and keep the best."""
    k = bench.affordable(bench.quota / 2 / len(made), known.length, 1, bench.plenty * EPISODES)
    playing = bench.affordable(bench.quota / 2 / k, known.length, 1, len(made))
    seeds, points, returns, played = bench.seeds(k), list[Floats](), list[float](), list[Trajectory]()
    chosen = bench.some(np.arange(len(made)), playing).tolist()
    for i in chosen:
        episodes = bench.watch(made[i], seeds)
        points += [bench.clipped(bench.some(episode.points, FROM_AN_EPISODE)) for episode in episodes]
        played += episodes
        returns.append(bench.mean_return(episodes))
    tried = TRIED if bench.teacher is None else len(made)
    if known.is_short and bench.teacher is None:  # scores take steps that the last choice needs
        tried = bench.affordable(bench.left / FEWEST_PLAYED, known.length, 0, tried)
    best = [made[chosen[i]] for i in np.argsort(returns, kind="stable")[::-1][:tried]]
    known = learn_on(bench, bench.seen(known, np.vstack(points)), played)
    return bench.tried(known, best)


def imitated_states(bench: Bench, known: Knowledge) -> Knowledge:
    """Return what is known with the points that the teacher or the best network visits, and no others."""
    policy = known.nets[-1] if bench.teacher is None else bench.teacher
    k = bench.affordable(bench.quota / 2, known.length, 1, bench.plenty * IMITATED)
    episodes = bench.explore(policy, 0.0, bench.seeds(k), np.uint64(0), known.scaling)
    points = bench.clipped(np.vstack([episode.points for episode in episodes]))
    if known.is_short and bench.teacher is None:
        latest = known.points[known.moves >= 0][-LATEST:]
        points = np.vstack([points, bench.clipped(latest)])
    known = known._replace(states=bench.some(points, MOST_STATES).astype(np.float32))
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
    leaves = sorted({min(size, len(trees)) for size in sizes})
    return [tidy(draft_of(trees[n - 1], terms, points.shape[1])) for n in leaves]


def best_distilled(
    bench: Bench, points: Floats, costs: Floats, useful: Floats, terms: Floats, sizes: tuple[int, ...]
) -> list[Draft]:
    """Return for each size the list with the least cost, of several with different terms to choose from.

    Args:
        bench: random numbers.
        points: `(n, features)`.
        costs: `(n, actions)`.
        useful: `(features,)`: how often each feature should be drawn for a term.
        terms: `(terms, features)`: terms that trees have used or the user gave, which all may use.
        sizes: leaves of the trees that lists are read off.
    """
    found = []
    for _ in range(VARIANTS):
        tried = random_terms(bench.draws, points.std(axis=0), useful, NEW_TERMS)
        found.append(distilled(points, costs, np.unique(np.vstack([tried, terms]), axis=0), sizes))
    same_size = zip(*found, strict=False)
    return [min(own, key=lambda draft: regret(draft, points, costs)) for own in same_size]


def usefulness(drafts: list[Draft]) -> Floats:
    """Return how often each feature should be drawn for a term, `(features,)`."""
    features = drafts[0].terms.shape[1]
    often = np.ones(features)
    for draft in drafts:
        often += max(OFTEN, OF_MANY * features) * draft.limits[:, :features].any(axis=0)
    return often


def random_terms(draws: np.random.Generator, spreads: Floats, useful: Floats, n: int) -> Floats:
    """Return n sums of two features, with round coefficients by which both weigh about the same.

    Args:
        draws: random numbers.
        spreads: `(features,)`: how much each feature varies; those that do not are left out.
        useful: `(features,)`: how likely each feature is drawn.
        n: how many, `(n, features)`.
    """
    likely, features = np.where(spreads > 0, useful, 0.0), len(spreads)
    found = np.zeros((n, features))
    if np.count_nonzero(likely) < 2:
        return found[:0]
    for row in found:
        i, j = sorted(draws.choice(features, 2, replace=False, p=likely / likely.sum()))
        size = round_number(spreads[i] / spreads[j] * draws.choice(FACTORS))
        row[i], row[j] = 1.0, size * draws.choice([-1.0, 1.0])
    return found


def round_number(value: float) -> float:
    """Return the nearest of the numbers 0.1, 0.2, 0.5, 1, 2, 5, 10 and so on."""
    size = 10.0 ** math.floor(math.log10(value))
    return float(size * STEPS[np.abs(np.log(STEPS * size / value)).argmin()])
