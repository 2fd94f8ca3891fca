"""Scores of lists in an environment: their returns on the seeds for choosing, or how well they imitate."""

from __future__ import annotations

import math

import numpy as np

from ifthen.rules.arrays import Floats, Ints
from ifthen.systems.pplx.bench import LEARNT_ON, Bench
from ifthen.systems.pplx.drafts import Draft
from ifthen.systems.pplx.fit import regret
from ifthen.systems.pplx.knowledge import UNPLAYED, Knowledge

CHOSEN_ON = 80
"""A list's score is a mean over at most this many episodes."""
CHOOSING_TAKES = 0.02
"""Scoring one list takes at most this share of the plan's steps."""
FIRST_PLAYED = 3
"""Each list first plays this many episodes. Their length tells how many more the steps allow."""
FIRST_TAKES = 0.15
"""In short plans, lists first play one episode each where more would take this share of the plan's steps.
Scoring the lists of a single rule takes about this share at most, in all plans."""
FEWEST_SCORED = 3
"""At least this many lists are scored, even where the steps pay for fewer."""
FEWEST_PLAYED = 5
"""A list's score is a mean over at least this many episodes, but for plans of very few episodes."""
SCREENING_DIVISORS = (5, 2, 1)
"""A list plays a fifth of the episodes, then half, then all, and stops when it cannot be good enough."""
KEPT = 60
"""At most this many lists are kept, beside those of a single rule."""


def with_scores(bench: Bench, known: Knowledge) -> Knowledge:
    """Return what is known once all lists have played on the seeds for choosing.

    Where actions are many and episodes long, some lists of a single rule, drawn at random, do not play.
    """
    if bench.imitates:
        return with_imitation_scores(bench, known, known.drafts)
    unscored = np.flatnonzero(~np.isfinite(known.scores))
    if not len(unscored):
        return known
    steps, is_single = FIRST_TAKES * known.budget, known.lengths[unscored] == 1
    n_paid = bench.affordable_episodes(steps, known.episode_length, FEWEST_SCORED, LEARNT_ON)
    if n_paid < len(unscored):
        singles = bench.rng.permutation(unscored[is_single])
        unscored = np.concatenate([unscored[~is_single], singles])[:n_paid]
    fitness, drafts = known.fitness.copy(), known.drafts
    score_bars, steps_each = np.full(len(unscored), -np.inf), steps / len(unscored)
    playing = [drafts[i] for i in unscored]
    fitness[unscored] = screened(bench, known, playing, score_bars, steps_each)[1]
    return known._replace(fitness=fitness)


def with_candidates(bench: Bench, known: Knowledge, candidates: list[Draft]) -> Knowledge:
    """Return what is known with more lists, if they may be as good as any that is as short."""
    drafts, new_drafts = known.drafts, unlisted(known, candidates)
    if bench.imitates:
        return trimmed(with_imitation_scores(bench, known, [*drafts, *new_drafts]))
    if not new_drafts:
        return known
    score_bars = np.array([_score_to_beat(known, draft) for draft in new_drafts])
    new_drafts, fitness = screened(bench, known, new_drafts, score_bars)
    return trimmed(known.with_drafts([*drafts, *new_drafts], [*known.fitness, *fitness]))


def fitness_on_same_seeds(
    bench: Bench,
    drafts: list[Draft],
    fitness: Floats,
    episode_length: float,
    max_episodes: int | None = None,
    n_needed: int | None = None,
) -> Floats:
    """Return the fitness of lists on the same seeds for choosing, as many as the steps pay for.

    All play a few episodes first. Their length tells how many more the steps allow.

    Args:
        bench: plays.
        drafts: n lists.
        fitness: `(n, 3)`: what is known of them. A list that was scored before plays the other seeds, and
            none if it has played more than the steps allow the others.
        episode_length: the mean length of an episode.
        max_episodes: the most episodes of a list; as many as usual where None.
        n_needed: this many lists play the few first episodes whatever they take, fewer where steps are
            few. The others are left as they are once no steps are left. All play where None.
    """
    seeds = bench.task.choosing(max_episodes or bench.episode_factor * CHOSEN_ON)
    steps_before, episodes_before = bench.n_steps, bench.n_episodes
    fitness, min_episodes = fitness.copy(), FEWEST_PLAYED
    if n_needed is not None:
        min_episodes = bench.affordable_episodes(
            bench.steps_left / n_needed, episode_length, FIRST_PLAYED, FEWEST_PLAYED
        )
    for i in range(len(drafts)):
        if n_needed is None or i < n_needed or bench.steps_left > 0:
            fitness[[i]] = fitness_up_to(bench, min_episodes, [drafts[i]], fitness[[i]], seeds)
    if bench.steps_left <= 0:
        return fitness
    if bench.n_episodes > episodes_before:
        mean_length = (bench.n_steps - steps_before) / (bench.n_episodes - episodes_before)
        episode_length = max(episode_length, mean_length)
    n_played = fitness[:, 2].astype(np.int64)
    n_missing = np.maximum(np.arange(len(seeds) + 1)[:, None] - n_played, 0).sum(axis=1)
    n_paid = int(np.searchsorted(n_missing, bench.steps_left / episode_length, side="right")) - 1
    return fitness_up_to(bench, max(n_paid, min_episodes), drafts, fitness, seeds)


def played_more(bench: Bench, drafts: list[Draft], fitness: Floats, n_episodes: int) -> Floats:
    """Return the fitness of lists once each has played more seeds for choosing, behind those so far.

    Args:
        bench: plays.
        drafts: n lists.
        fitness: `(n, 3)`: what is known of them.
        n_episodes: how many more each plays.
    """
    fitness, n_played = fitness.copy(), fitness[:, 2].astype(np.int64)
    for first in np.unique(n_played):
        rows = np.flatnonzero(n_played == first)
        returns = bench.play([drafts[i] for i in rows], bench.task.choosing(n_episodes, int(first)))
        fitness[rows] = pooled(fitness[rows], fitness_of(returns))
    return fitness


def fitness_up_to(bench: Bench, n_episodes: int, drafts: list[Draft], fitness: Floats, seeds: Ints) -> Floats:
    """Return the fitness of lists once each has played the first seeds, `n_episodes` at least."""
    fitness = fitness.copy()
    n_played = np.nan_to_num(fitness[:, 2]).astype(np.int64)
    for i, draft in enumerate(drafts):
        if n_played[i] < n_episodes:
            new_fitness = fitness_of(bench.play([draft], seeds[n_played[i] : n_episodes]))
            fitness[i] = (pooled(fitness[[i]], new_fitness) if n_played[i] else new_fitness)[0]
    return fitness


def screened(
    bench: Bench, known: Knowledge, drafts: list[Draft], score_bars: Floats, steps_each: float = math.inf
) -> tuple[list[Draft], Floats]:
    """Play lists on the seeds for choosing; return those that may reach their bars, and their fitness.

    Args:
        bench: plays.
        known: what is known.
        drafts: n lists.
        score_bars: `(n,)`.
        steps_each: a list plays one episode at least, and more as long as it takes no more steps.
    """
    seeds, playing = bench.task.choosing(bench.episode_factor * CHOSEN_ON), np.arange(len(drafts))
    steps_before, n_first, min_episodes = bench.n_steps, FIRST_PLAYED, FEWEST_PLAYED
    has_limit = bench.keeps_episodes or math.isfinite(steps_each)
    if has_limit and len(drafts) * n_first * known.episode_length > FIRST_TAKES * known.budget:
        n_first = min_episodes = 1
    returns = bench.play(drafts, seeds[:n_first])
    episode_length = max(known.episode_length, (bench.n_steps - steps_before) / returns.size)
    n_episodes = bench.affordable_episodes(
        min(steps_each, CHOOSING_TAKES * known.budget), episode_length, min_episodes, len(seeds)
    )
    for n_seeds in sorted({max(n_first, n_episodes // divisor) for divisor in SCREENING_DIVISORS}):
        if n_seeds > n_first:
            new_returns = bench.play([drafts[i] for i in playing], seeds[returns.shape[1] : n_seeds])
            returns = np.hstack([returns, new_returns])
        hopeful = returns.mean(axis=1) + returns.std(axis=1) / np.sqrt(n_seeds) >= score_bars[playing]
        playing, returns = playing[hopeful], returns[hopeful]
        if not len(playing):
            break
    return [drafts[i] for i in playing], fitness_of(returns)


def with_imitation_scores(bench: Bench, known: Knowledge, drafts: list[Draft]) -> Knowledge:
    """Return what is known with these lists, scored by how well they imitate where lists have gone.

    A score is 1 − the list's cost, as a share of the cost of the worst actions. These points change, so
    that all lists are scored again.
    """
    points, costs = bench.labelled(known, known.states)
    worst_cost = float(costs.max(axis=1).mean()) or 1.0
    scores = [1 - regret(draft, points, costs) / worst_cost for draft in drafts]
    return known.with_drafts(drafts, [[score, 0.0, 1.0] for score in scores])


def trimmed(known: Knowledge) -> Knowledge:
    """Return what is known without lists beyond KEPT: the first one, the best and those of one rule stay."""
    front, drafts = known.front_indices, known.drafts
    off_front = [int(i) for i in np.argsort(-known.scores, kind="stable") if i not in front]
    single_indices = [int(i) for i in np.flatnonzero(known.lengths == 1)][:KEPT]
    kept_indices = {0, *front[:1], *single_indices, *[*reversed(front), *off_front][: KEPT - 1]}
    order = [0, *(i for i in [*front, *off_front] if i != 0 and i in kept_indices)]
    return known.with_drafts([drafts[i] for i in order], known.fitness[order])


def fitness_of(returns: Floats) -> Floats:
    """Return mean, deviation and number of returns `(n, k)`: `(n, 3)`."""
    n, k = returns.shape
    return np.stack([returns.mean(axis=1), returns.std(axis=1), np.full(n, float(k))], axis=1)


def _score_to_beat(known: Knowledge, draft: Draft) -> float:
    """Return the best score of a list that is as short."""
    scored_drafts = zip(known.drafts, known.scores, strict=True)
    return float(np.nanmax([-np.inf, *(score for other, score in scored_drafts if other.size <= draft.size)]))


def unlisted(known: Knowledge, drafts: list[Draft]) -> list[Draft]:
    """Return the lists that are not known yet, each once."""
    keys = {draft.key() for draft in known.drafts}
    return list({draft.key(): draft for draft in drafts if draft.key() not in keys}.values())


def unplayed(drafts: list[Draft]) -> list[Floats]:
    """Return the fitness of lists that have not played yet."""
    return [UNPLAYED] * len(drafts)


def pooled(first: Floats, second: Floats) -> Floats:
    """Return mean, deviation and number `(n, 3)` of two sets of returns together, given those of each."""
    counts = first[:, 2] + second[:, 2]
    share = first[:, 2] / counts
    mean = share * first[:, 0] + (1 - share) * second[:, 0]
    squares = [(fitness[:, :2] ** 2).sum(axis=1) for fitness in (first, second)]
    variance = share * squares[0] + (1 - share) * squares[1] - mean**2
    return np.stack([mean, np.sqrt(np.maximum(0.0, variance)), counts], axis=1)
