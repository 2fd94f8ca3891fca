"""What an epoch of learning in an environment works with: episodes that are counted, and random numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.randomness import stream
from ifthen.rules.arrays import Floats, Ints
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.pplx import drafts as lists
from ifthen.systems.pplx.counted_table import CountModel, Lookup
from ifthen.systems.pplx.drafts import Draft
from ifthen.systems.pplx.env_plan import PlanSettings, settings_for
from ifthen.systems.pplx.fit import regret
from ifthen.systems.pplx.knowledge import UNPLAYED, Knowledge, single_precision
from ifthen.systems.pplx.q_network import Scale, action_values, explore
from ifthen.systems.pplx.spreads import spreads_of
from ifthen.systems.pplx.teacher import Teacher, costs_of
from ifthen.tasks.gym_task import BLOCK

LEARNT_ON = 1000
"""Lists and values are learnt from this many reset seeds."""
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
SCREENED = (5, 2, 1)
"""A list plays a fifth of the episodes, then half, then all, and stops when it cannot be good enough."""
MOST_STATES = 12_000
"""At most this many visited points are kept."""
KEPT = 60
"""At most this many lists are kept, beside those of a single rule."""


Policy = NDArray[np.float32] | Draft | Lookup | Teacher | None


@dataclass(frozen=True)
class Explorer:
    """A policy with random actions now and then, that can be sent to other processes."""

    policy: Policy
    scale: Scale | None
    ranges: tuple[Floats, Floats]
    n_actions: int
    epsilon: float
    key: np.uint64
    step_counts: Ints
    held_actions: Ints

    def __call__(self, episodes: Ints, points: Floats, out: Ints) -> None:
        """Write actions `(m,)`, given the numbers of episodes `(m,)` and points `(m, features)`."""
        if self.policy is None:
            q = np.zeros((len(points), self.n_actions), np.float32)
        elif isinstance(self.policy, Draft):
            actions = lists.actions_at(self.policy, np.clip(points, *self.ranges))
            q = np.eye(self.n_actions, dtype=np.float32)[actions]
        elif isinstance(self.policy, Lookup):
            q = self.policy.at(points)
        elif isinstance(self.policy, Teacher):
            q = np.eye(self.n_actions, dtype=np.float32)[np.maximum(self.policy.actions(points), 0)]
        else:
            assert self.scale is not None
            q = action_values(self.policy, self.scale, points, self.n_actions)
        explore(self.key, q, self.epsilon, episodes, self.step_counts, self.held_actions, out)


@dataclass(frozen=True)
class ListsInTurn:
    """Lists that play the same seeds, one list after the other: it can be sent to other processes."""

    drafts: list[Draft]
    n_seeds: int
    ranges: tuple[Floats, Floats]

    def __call__(self, episodes: Ints, points: Floats, out: Ints) -> None:
        """Write actions `(m,)`, given the numbers of episodes `(m,)` and points `(m, features)`."""
        draft_indices, clipped = episodes // self.n_seeds, np.clip(points, *self.ranges)
        for i in np.unique(draft_indices[episodes >= 0]):
            plays = draft_indices == i
            out[plays] = lists.actions_at(self.drafts[i], clipped[plays])


class Bench:
    """Plays, and counts what it plays.

    Args:
        simulator: what plays.
        seed: the system's seed.
        epoch: the epoch, which gives the random numbers.
        quota: the steps that the epoch may take.
        episode_factor: how many times as many episodes as usual are played, because they are short.
        given_terms: `(terms, features)`: the coefficients of terms that the user gave; none where None.
        teacher: what lists imitate in place of the network, if anything.
        imitates: whether lists are scored by how well they imitate the teacher, and not by their returns.
    """

    def __init__(
        self,
        simulator: EnvSimulator,
        seed: int,
        epoch: int,
        quota: float,
        episode_factor: int = 1,
        given_terms: Floats | None = None,
        teacher: Teacher | None = None,
        imitates: bool = False,
    ) -> None:
        self.teacher, self.imitates = teacher, imitates
        self.simulator, self.task = simulator, simulator.task
        self.quota, self.episode_factor = quota, episode_factor
        self._seed, self._epoch = seed, epoch
        self.rng = np.random.default_rng(int(stream(seed, "PPL-X", epoch)))
        self.n_steps, self.n_episodes = 0, 0
        self.count_model: CountModel | None = None  # in place of the network, where there is one
        self.keeps_episodes = False  # whether the episodes of lists that are scored are kept
        self.kept_episodes = list[Trajectory]()
        self._feature_spreads: tuple[NDArray[np.float32], Floats] | None = None
        no_terms = np.zeros((0, len(self.task.features)))
        self.given_terms = no_terms if given_terms is None else given_terms
        self._is_integer = np.array([feature.is_integer for feature in self.task.features])

    def key(self, purpose: str, *numbers: int) -> np.uint64:
        """Return a stream of random numbers for kernels."""
        return stream(self._seed, purpose, self._epoch, *numbers)

    @property
    def steps_left(self) -> float:
        """The steps that the epoch may still take."""
        return self.quota - self.n_steps

    def seeds(self, n: int) -> Ints:
        """Return n reset seeds to learn from; none that lists are chosen on."""
        pool = self.task.learning(self.episode_factor * LEARNT_ON)
        return pool[self.rng.choice(len(pool), n, replace=n > len(pool))]

    def fresh_seeds(self, n: int) -> Ints:
        """Return n reset seeds to count steps from: the same seed over again would count its luck twice."""
        return self.task.learning(1) + self.rng.choice(BLOCK, n, replace=False)

    def play(self, drafts: list[Draft], seeds: Ints) -> Floats:
        """Return the returns of lists from reset seeds, `(n, k)`; keep the episodes if `keeps_episodes`."""
        if self.keeps_episodes and len(drafts) and len(seeds):
            players = ListsInTurn(drafts, len(seeds), self.task.ranges)
            episodes = self._count(self.simulator.record_each(players, np.tile(seeds, len(drafts))))
            self.kept_episodes += episodes
            returns = [episode.discounted(self.task.gamma) for episode in episodes]
            return np.array(returns).reshape(len(drafts), len(seeds))
        result = self.simulator.play(lists.batch(drafts, self.task), seeds)
        self.n_steps += int(result.steps.sum())
        self.n_episodes += result.steps.size
        return result.returns

    def record(self, draft: Draft, seeds: Ints) -> list[Trajectory]:
        """Return the episodes of a list step by step."""
        return self.explore(draft, 0.0, seeds, np.uint64(0))

    def explore(
        self,
        policy: Policy,
        epsilon: float,
        seeds: Ints,
        key: np.uint64,
        scale: Scale | None = None,
        alone: bool = False,
    ) -> list[Trajectory]:
        """Return episodes with a share of random actions, step by step.

        Args:
            policy: a network, a list, values by observation, a teacher, or None for random actions alone.
            epsilon: how often a random action begins.
            seeds: where episodes begin.
            key: the stream that random actions are drawn from.
            scale: how a network's points are scaled.
            alone: whether this process plays all of them, as it always does for teachers.
        """
        if not len(seeds):
            return []
        step_counts, held_actions = np.zeros(len(seeds), np.int64), np.zeros((len(seeds), 2), np.int64)
        ranges, n_actions = self.task.ranges, self.task.n_actions
        explorer = Explorer(policy, scale, ranges, n_actions, epsilon, key, step_counts, held_actions)
        alone = alone or isinstance(policy, Teacher)
        record = self.simulator.record_alone if alone else self.simulator.record_each
        return self._count(record(explorer, seeds))

    def _count(self, episodes: list[Trajectory]) -> list[Trajectory]:
        self.n_steps += sum(len(episode.actions) for episode in episodes)
        self.n_episodes += len(episodes)
        return episodes

    def mean_return(self, episodes: list[Trajectory]) -> float:
        """Return the mean return of episodes, discounted as `play` does it."""
        return float(np.mean([episode.discounted(self.task.gamma) for episode in episodes]))

    def clipped(self, points: NDArray[Any]) -> Floats:
        """Return points as lists see them: within the ranges of the features, in the precision they have."""
        return np.clip(points, *(ends.astype(points.dtype) for ends in self.task.ranges)).astype(np.float64)

    def labelled(self, known: Knowledge, points: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return points as lists see them, and the cost of each action at the points themselves.

        What actions are worth may depend on how far a point lies beyond the ranges. Lists cannot tell, so
        that they weigh all such points.
        """
        return self.clipped(points), self.costs(known, points.astype(np.float64))

    def readable(self, draft: Draft, known: Knowledge) -> Draft:
        """Return a list with short numbers."""
        spreads = self.feature_spreads(known)
        return lists.readable(draft, spreads, self._is_integer, given_terms=self.given_terms)

    def feature_spreads(self, known: Knowledge) -> Floats:
        """Return by how much each feature varies where lists go, `(features,)`."""
        if self._feature_spreads is None or self._feature_spreads[0] is not known.states:
            self._feature_spreads = known.states, spreads_of(self.clipped(known.states))
        return self._feature_spreads[1]

    def sample(self, rows: NDArray[Any], max_rows: int) -> NDArray[Any]:
        """Return some of the rows at random, in their order."""
        return rows if len(rows) <= max_rows else rows[np.sort(self.rng.permutation(len(rows))[:max_rows])]

    def settings(self, known: Knowledge) -> PlanSettings:
        """Return what the plan does in its own way, as it is short or not."""
        return settings_for(known.budget, self.teacher is not None)

    def with_episodes(self, known: Knowledge, episodes: list[Trajectory]) -> Knowledge:
        """Return what is known after more episodes."""
        return known.with_episodes(episodes, self.settings(known).latest_weight)

    def with_states(self, known: Knowledge, points: Floats) -> Knowledge:
        """Return what is known with more points that were visited; of too many, some go at random."""
        states = np.vstack([known.states, single_precision(points)])
        return known._replace(states=self.sample(states, MOST_STATES))

    @staticmethod
    def affordable_episodes(steps: float, episode_length: float, min_episodes: int, max_episodes: int) -> int:
        """Return how many episodes of a length a number of steps pays for, within limits."""
        return int(np.clip(round(steps / episode_length), min_episodes, max_episodes))

    def costs(self, known: Knowledge, points: Floats) -> Floats:
        """Return the cost of each action at points, by teacher or network, `(n, actions)`; see `fit`."""
        if self.teacher is not None:
            return self.teacher.costs(points, partial(self._action_values, known))
        return costs_of(self._action_values(known, points))

    def _action_values(self, known: Knowledge, points: Floats) -> Floats:
        """Return the action values at points by counts or by the best network, `(n, actions)`."""
        if self.count_model is not None:
            return self.count_model.lookup(self.count_model.solved).at(points).astype(np.float64)
        q = action_values(known.nets[-1], known.scaling, points, self.task.n_actions)
        return q.astype(np.float64)

    def with_scores(self, known: Knowledge) -> Knowledge:
        """Return what is known once all lists have played on the seeds for choosing.

        Where actions are many and episodes long, some lists of a single rule, drawn at random, do not play.
        """
        if self.imitates:
            return self._with_imitation_scores(known, known.drafts)
        unscored = np.flatnonzero(~np.isfinite(known.scores))
        if not len(unscored):
            return known
        steps, is_single = FIRST_TAKES * known.budget, known.lengths[unscored] == 1
        n_paid = self.affordable_episodes(steps, known.episode_length, FEWEST_SCORED, LEARNT_ON)
        if n_paid < len(unscored):
            singles = self.rng.permutation(unscored[is_single])
            unscored = np.concatenate([unscored[~is_single], singles])[:n_paid]
        fitness, drafts = known.fitness.copy(), known.drafts
        score_bars, steps_each = np.full(len(unscored), -np.inf), steps / len(unscored)
        playing = [drafts[i] for i in unscored]
        fitness[unscored] = self._screened(known, playing, score_bars, steps_each)[1]
        return known._replace(fitness=fitness)

    def with_candidates(self, known: Knowledge, candidates: list[Draft]) -> Knowledge:
        """Return what is known with more lists, if they may be as good as any that is as short."""
        drafts = known.drafts
        keys = {draft.key() for draft in drafts}
        new_drafts = list({draft.key(): draft for draft in candidates if draft.key() not in keys}.values())
        if self.imitates:
            return trimmed(self._with_imitation_scores(known, [*drafts, *new_drafts]))
        if not new_drafts:
            return known
        score_bars = np.array([_score_to_beat(known, draft) for draft in new_drafts])
        new_drafts, fitness = self._screened(known, new_drafts, score_bars)
        return trimmed(known.with_drafts([*drafts, *new_drafts], [*known.fitness, *fitness]))

    def fitness_on_same_seeds(
        self,
        drafts: list[Draft],
        fitness: Floats,
        episode_length: float,
        max_episodes: int | None = None,
        n_needed: int | None = None,
    ) -> Floats:
        """Return the fitness of lists on the same seeds for choosing, as many as the steps pay for.

        All play a few episodes first. Their length tells how many more the steps allow.

        Args:
            drafts: n lists.
            fitness: `(n, 3)`: what is known of them. A list that was scored before plays the other seeds, and
                none if it has played more than the steps allow the others.
            episode_length: the mean length of an episode.
            max_episodes: the most episodes of a list; as many as usual where None.
            n_needed: this many lists play the few first episodes whatever they take, fewer where steps are
                few. The others are left as they are once no steps are left. All play where None.
        """
        seeds = self.task.choosing(max_episodes or self.episode_factor * CHOSEN_ON)
        steps_before, episodes_before = self.n_steps, self.n_episodes
        fitness, min_episodes = fitness.copy(), FEWEST_PLAYED
        if n_needed is not None:
            min_episodes = self.affordable_episodes(
                self.steps_left / n_needed, episode_length, FIRST_PLAYED, FEWEST_PLAYED
            )
        for i in range(len(drafts)):
            if n_needed is None or i < n_needed or self.steps_left > 0:
                fitness[[i]] = self._fitness_up_to(min_episodes, [drafts[i]], fitness[[i]], seeds)
        if self.steps_left <= 0:
            return fitness
        if self.n_episodes > episodes_before:
            mean_length = (self.n_steps - steps_before) / (self.n_episodes - episodes_before)
            episode_length = max(episode_length, mean_length)
        n_played = fitness[:, 2].astype(np.int64)
        n_missing = np.maximum(np.arange(len(seeds) + 1)[:, None] - n_played, 0).sum(axis=1)
        n_paid = int(np.searchsorted(n_missing, self.steps_left / episode_length, side="right")) - 1
        return self._fitness_up_to(max(n_paid, min_episodes), drafts, fitness, seeds)

    def played_more(self, drafts: list[Draft], fitness: Floats, n_episodes: int) -> Floats:
        """Return the fitness of lists once each has played more seeds for choosing, behind those so far.

        Args:
            drafts: n lists.
            fitness: `(n, 3)`: what is known of them.
            n_episodes: how many more each plays.
        """
        fitness, n_played = fitness.copy(), fitness[:, 2].astype(np.int64)
        for first in np.unique(n_played):
            rows = np.flatnonzero(n_played == first)
            returns = self.play([drafts[i] for i in rows], self.task.choosing(n_episodes, int(first)))
            fitness[rows] = pooled(fitness[rows], fitness_of(returns))
        return fitness

    def _fitness_up_to(self, n_episodes: int, drafts: list[Draft], fitness: Floats, seeds: Ints) -> Floats:
        """Return the fitness of lists once each has played the first seeds, `n_episodes` at least."""
        fitness = fitness.copy()
        n_played = np.nan_to_num(fitness[:, 2]).astype(np.int64)
        for i, draft in enumerate(drafts):
            if n_played[i] < n_episodes:
                new_fitness = fitness_of(self.play([draft], seeds[n_played[i] : n_episodes]))
                fitness[i] = (pooled(fitness[[i]], new_fitness) if n_played[i] else new_fitness)[0]
        return fitness

    def _screened(
        self, known: Knowledge, drafts: list[Draft], score_bars: Floats, steps_each: float = math.inf
    ) -> tuple[list[Draft], Floats]:
        """Play lists on the seeds for choosing; return those that may reach their bars, and their fitness.

        Args:
            known: what is known.
            drafts: n lists.
            score_bars: `(n,)`.
            steps_each: a list plays one episode at least, and more as long as it takes no more steps.
        """
        seeds, playing = self.task.choosing(self.episode_factor * CHOSEN_ON), np.arange(len(drafts))
        steps_before, n_first, min_episodes = self.n_steps, FIRST_PLAYED, FEWEST_PLAYED
        has_limit = self.keeps_episodes or math.isfinite(steps_each)
        if has_limit and len(drafts) * n_first * known.episode_length > FIRST_TAKES * known.budget:
            n_first = min_episodes = 1
        returns = self.play(drafts, seeds[:n_first])
        episode_length = max(known.episode_length, (self.n_steps - steps_before) / returns.size)
        n_episodes = self.affordable_episodes(
            min(steps_each, CHOOSING_TAKES * known.budget), episode_length, min_episodes, len(seeds)
        )
        for n_seeds in sorted({max(n_first, n_episodes // divisor) for divisor in SCREENED}):
            if n_seeds > n_first:
                new_returns = self.play([drafts[i] for i in playing], seeds[returns.shape[1] : n_seeds])
                returns = np.hstack([returns, new_returns])
            hopeful = returns.mean(axis=1) + returns.std(axis=1) / np.sqrt(n_seeds) >= score_bars[playing]
            playing, returns = playing[hopeful], returns[hopeful]
            if not len(playing):
                break
        return [drafts[i] for i in playing], fitness_of(returns)

    def _with_imitation_scores(self, known: Knowledge, drafts: list[Draft]) -> Knowledge:
        """Return what is known with these lists, scored by how well they imitate where lists have gone.

        A score is 1 − the list's cost, as a share of the cost of the worst actions. These points change, so
        that all lists are scored again.
        """
        points, costs = self.labelled(known, known.states)
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
