"""What an epoch of learning in an environment works with: it plays, and counts the steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Ints
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.pplx import drafts as lists
from ifthen.systems.pplx.action_costs import ActionCosts
from ifthen.systems.pplx.counted_table import Lookup
from ifthen.systems.pplx.drafts import Draft
from ifthen.systems.pplx.env_plan import PlanSettings, settings_for
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.memory import single_precision
from ifthen.systems.pplx.q_network import Scale, action_values, explore
from ifthen.systems.pplx.teacher import Teacher
from ifthen.tasks.gym_task import BLOCK

LEARNT_ON = 1000
"""Lists and values are learnt from this many reset seeds."""
MOST_VISITED = 12_000
"""At most this many visited points are kept."""

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


class Bench(ActionCosts):
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
        features, n_actions = simulator.task.features, simulator.task.n_actions
        super().__init__(features, n_actions, seed, epoch, simulator.threads, given_terms, teacher)
        self.simulator, self.task, self.imitates = simulator, simulator.task, imitates
        self.quota, self.episode_factor = quota, episode_factor
        self.n_steps, self.n_episodes = 0, 0
        self.keeps_episodes = False  # whether the episodes of lists that are scored are kept
        self.kept_episodes = list[Trajectory]()

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

    def settings(self, known: Knowledge) -> PlanSettings:
        """Return what the plan does in its own way, as it is short or not."""
        return settings_for(known.budget, self.teacher is not None)

    def with_episodes(self, known: Knowledge, episodes: list[Trajectory]) -> Knowledge:
        """Return what is known after more episodes."""
        return known.with_episodes(episodes, self.settings(known).latest_weight)

    def with_states(self, known: Knowledge, points: Floats) -> Knowledge:
        """Return what is known with more points that were visited; of too many, some go at random."""
        states = np.vstack([known.states, single_precision(points)])
        return known._replace(states=self.sample(states, MOST_VISITED))

    @staticmethod
    def affordable_episodes(steps: float, episode_length: float, min_episodes: int, max_episodes: int) -> int:
        """Return how many episodes of a length a number of steps pays for, within limits."""
        return int(np.clip(round(steps / episode_length), min_episodes, max_episodes))
