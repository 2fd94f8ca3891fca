"""The simulator of any environment: many episodes side by side through Gymnasium's vector API."""

from __future__ import annotations

import weakref
from functools import cached_property

import numpy as np

from ifthen.randomness import below, fold
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import Intervals, RuleBatch, choose_lanes
from ifthen.simulate.bids import Bidding, Bids, bid_lanes, finish
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.game import Game
from ifthen.simulate.lanes import Lanes
from ifthen.simulate.reinforce import draw_starts, fill_payoffs, reinforce_episode
from ifthen.simulate.simulator import Choose, Reinforcement
from ifthen.simulate.trajectories import Actions, Episodes, Log, Trajectory


class VectorSimulator(EnvSimulator):
    """Plays rules in lanes of an environment, which are made once and used again.

    It takes what `EnvSimulator` takes, and plays in one process: see `ifthen.simulate.workers` for more.
    """

    is_compiled = False

    @cached_property
    def _lanes(self) -> Lanes:
        lanes = Lanes(self.task)
        weakref.finalize(self, lanes.close)
        return lanes

    def play(self, rules: RuleBatch, seeds: Ints) -> Episodes:
        """Play each of n rulesets from each of k reset seeds."""
        n, k = len(rules.lengths), len(seeds)
        jobs = np.repeat(np.arange(n), k), np.tile(np.asarray(seeds, dtype=np.int64), n)
        played = self.play_jobs(Intervals.of(rules, self.task.features), *jobs)
        return played.reshaped(n, k)

    def play_jobs(self, rules: Intervals, rulesets: Ints, seeds: Ints) -> Episodes:
        """Play one episode per pair of a ruleset and a reset seed: arrays `(m,)`."""
        return self._played(rulesets, seeds, actions_of(rules))

    def play_policy(self, choose: Choose, seeds: Ints) -> Episodes:
        """Play any policy from k reset seeds."""
        played = self._played(np.zeros(len(seeds), dtype=np.int64), seeds, self._checked(choose))
        return played.reshaped(1, len(seeds))

    def record_each(self, act: Actions, seeds: Ints) -> list[Trajectory]:
        """Play k episodes by a policy that is told which of them a point is from."""
        return self.record_numbered(act, np.arange(len(seeds)), seeds)

    def record_numbered(self, act: Actions, numbers: Ints, seeds: Ints) -> list[Trajectory]:
        """Play k episodes that the policy knows by other numbers."""
        return self._recorded(np.append(numbers, -1), seeds, act)  # lanes that rest ask for the last one

    def reinforce(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let rules learn from rollouts that start from the seeds for learning."""
        task, learner_numbers = self.task, np.arange(lesson.learners)
        laid_out, start_indices, steps = Intervals.of(rules, task.features), np.empty_like(learner_numbers), 0
        for rollout in range(lesson.rollouts):
            draw_starts(lesson.key, rollout, len(task.pool), start_indices)
            for i, episode in enumerate(
                self._recorded(learner_numbers, task.pool[start_indices], actions_of(laid_out))
            ):
                length = len(episode.actions)
                payoffs, points = np.empty(length), np.clip(episode.points, *task.ranges)
                fill_payoffs(length, episode.rewards, task.gamma, lesson.paper_payoff, payoffs)
                reinforce_episode(laid_out, i, length, points, episode.actions, payoffs, lesson.eta)
                steps += length
        return steps

    def play_bids(self, rules: RuleBatch, lesson: Bidding) -> Bids:
        """Let plans play by bids, from the seeds for learning: an episode of all plans at a time."""
        task, n = self.task, len(rules.lengths)
        laid_out = Intervals.of(rules, task.features)
        out = Bids.empty(n, rules.actions.shape[1], len(task.features), lesson)
        plan_numbers = np.append(np.arange(n), -1)  # lanes that rest ask for the last one
        for episode_number in range(lesson.episodes):
            seed = task.pool[below(np.uint64(fold(lesson.key, episode_number)), 0, len(task.pool))]
            act = bidders(laid_out, lesson, episode_number, task.n_actions, out)
            for i, episode in enumerate(self._recorded(plan_numbers, np.full(n, seed), act)):
                columns = episode.points, episode.actions, episode.rewards
                finish(laid_out, i, episode_number, len(episode.actions), *columns, lesson, out)
        return out

    def _recorded(self, rulesets: Ints, seeds: Ints, choose: Actions) -> list[Trajectory]:
        """Play one episode per pair of a ruleset and a reset seed, and keep every step."""
        if not len(seeds):
            return []
        log = Log(len(seeds), len(self.task.features))
        return log.trajectories(self._played(rulesets, seeds, choose, log))

    def _played(self, rulesets: Ints, seeds: Ints, choose: Actions, log: Log | None = None) -> Episodes:
        """Play jobs in this process; all arrays are `(m,)`."""
        m = len(seeds)
        episodes = Episodes(np.zeros(m), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int8))
        if m:
            try:
                game = Game(self, self._lanes, rulesets, np.asarray(seeds, dtype=np.int64), log)
                while game.has_lanes:
                    game.step(choose, episodes)
            except BaseException:
                self._lanes.close()  # episodes may be in the middle of anything
                raise
        return episodes


def actions_of(rules: Intervals) -> Actions:
    """Return how the rulesets of a batch choose, as one compiled call for all lanes."""

    def write(rulesets: Ints, points: Floats, out: Ints) -> None:
        choose_lanes(rules, rulesets, points, out)

    return write


def bidders(rules: Intervals, lesson: Bidding, episode_number: int, n_actions: int, out: Bids) -> Actions:
    """Return how plans bid in the episode with this number, as one compiled call for all lanes."""
    steps = np.zeros(len(rules.lengths), dtype=np.int64)

    def write(plans: Ints, points: Floats, actions: Ints) -> None:
        bid_lanes(rules, lesson, episode_number, plans, points, steps, n_actions, out.active, actions)

    return write
