"""XCSF on an environment: in a loop that is compiled where the task has a twin, else driven by Python.

The state of a running environment cannot be saved. Learning therefore stops between episodes only: an epoch
ends with the episode in which its GA invocations were reached, and `learn(steps=…)` finishes the episode.
"""

from __future__ import annotations

import weakref
from functools import cached_property
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.randomness import stream
from ifthen.rollout.env_fitness import summed
from ifthen.rollout.episodes import Episodes
from ifthen.rollout.players import play_policy
from ifthen.rollout.twin_starts import beginnings
from ifthen.rollout.vector_envs import Lane
from ifthen.systems.base import Goal, Record
from ifthen.systems.xcsf.extract import ruleset_of
from ifthen.systems.xcsf.index import Space, new_space
from ifthen.systems.xcsf.live import next_action, next_start, run_twin
from ifthen.systems.xcsf.parameters import XCSFParameters
from ifthen.systems.xcsf.pieces import Patience
from ifthen.systems.xcsf.places import Live, live_rows, raw_weights
from ifthen.systems.xcsf.population import Classifiers, Population, packed, unpacked
from ifthen.systems.xcsf.settings import kernel_reach, kernel_settings
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins import Twin, twin_of

PIECE = 100_000


class EnvLearner:
    """Learns in an environment.

    Args:
        task: the task.
        parameters: the parameters, filled.
        seed: the system's.
    """

    measured = ("performance", "unseen_performance")

    def __init__(self, task: EnvTask, parameters: XCSFParameters, seed: int) -> None:
        self.task, self.parameters, self.key = task, parameters, stream(seed, "xcsf")
        self.settings, self.reach = kernel_settings(parameters, task), kernel_reach(parameters, task)

    @cached_property
    def env(self) -> Lane:
        """The environment that is learnt in, closed with the learner; every episode resets it with a seed."""
        lane = Lane(self.task)
        weakref.finalize(self, lane.close)
        return lane

    def space(self, classifiers: Classifiers, model: Live) -> Space:
        """Return the index of a population over live rows."""
        inputs = np.full((len(model.states), len(self.task.features) + 1), self.parameters.x0)
        nobody = np.zeros(len(classifiers.rules), dtype=np.bool_)
        up_to = np.zeros((0, 0, 1), dtype=np.uint64)
        by_box, n_actions = self.parameters.equality == "box", self.task.n_actions
        return new_space(classifiers, nobody, by_box, inputs, up_to, model.states, self.reach.lows, n_actions)

    def learn(self, population: Population, invocations: int, goal: Goal) -> tuple[Population, Record]:
        """Learn until there were so many GA invocations in all, or the goal's steps or episodes.

        The episode in which that happens is finished.
        """
        p, twin = self.parameters, twin_of(self.task)
        assert p.pop_limit is not None
        classifiers, model = unpacked(population, p.pop_limit), live_rows(self.task)
        space, clock = self.space(classifiers, model), classifiers.clock[0]
        patience = Patience(classifiers, p, goal)
        most = goal.limit("steps"), goal.limit("episodes")
        while clock["ga_invocations"] < invocations and clock["steps"] < most[0]:
            if clock["episodes"] >= most[1]:
                break
            if twin is None:
                self._play_episode(model, classifiers, space)
            else:
                self._run_twin(twin, invocations, most, model, classifiers, space)
            patience.check()
        following = packed(classifiers)
        return following, self.measures(following)

    def _play_episode(self, model: Live, classifiers: Classifiers, space: Space) -> None:
        """Play an episode in the environment itself, and learn from every step."""
        task, env, key, settings = self.task, self.env, self.key, self.settings
        seed = int(task.pool[next_start(key, len(task.pool), classifiers, settings)])
        learner = model, classifiers, space, settings, self.reach
        seen = np.empty((1, len(task.features)))
        seen[0], _ = env.reset(seed=seed)
        self._check(seen, 0.0, 0, seed)
        action, steps = next_action(key, seen, 0.0, False, False, *learner), 0
        while action >= 0:
            seen[0], number, terminated, truncated, _ = env.step(action)
            steps += 1
            if not isfinite(seen.sum() + number):  # which is quicker than to ask each of them
                self._check(seen, number, steps, seed)
            action = next_action(key, seen, number, bool(terminated), bool(truncated), *learner)

    def _check(self, seen: NDArray[np.float64], reward: float, steps: int, seed: int) -> None:
        """Raise where an observation or a reward is not finite."""
        where = f" at step {steps} of the episode with reset seed {seed}"
        self.task.check_points(seen, where)
        if not isfinite(reward):
            raise TaskError(
                f"{self.task.name} gave the reward {reward}{where}; payoffs need finite numbers. "
                "Mend the environment, or wrap it so that it gives some."
            )

    def _run_twin(
        self,
        twin: Twin,
        invocations: int,
        most: tuple[int, int],
        model: Live,
        classifiers: Classifiers,
        space: Space,
    ) -> None:
        """Play some episodes in the twin; between two calls Python sees the signals of users who stop it."""
        clock, pool = classifiers.clock[0], self.task.pool
        steps = min(most[0], int(clock["steps"]) + PIECE)
        _, seen, reward = lane = (
            np.empty((1, twin.state_size)),
            np.empty((1, len(self.task.features))),
            np.empty(1),
        )
        strange = run_twin(
            self.key,
            invocations,
            steps,
            most[1],
            twin.step,
            beginnings(self.task, twin, pool),
            lane,
            model,
            classifiers,
            space,
            self.settings,
            self.reach,
        )
        if strange >= 0:
            self._check(seen, float(reward[0]), int(clock["time"]), int(pool[strange]))

    def nothing_learnt(self) -> Record:
        """Return what an empty population measures."""
        return dict.fromkeys(self.measured, self.task.floor)

    def measures(self, population: Population) -> Record:
        """Return how well the rules do on z, and on the seeds of validation."""
        task, weights = self.task, self.raw(population.weights)
        rules = ruleset_of(population, task, weights, self.parameters.x0)
        played = play_policy(
            task,
            lambda points: rules.best_actions(np.clip(points, *task.ranges)),
            np.concatenate([task.z, task.validation]),
        )
        parts = slice(0, len(task.z)), slice(len(task.z), None)
        returns, steps, endings = played
        scores = [
            summed(task, Episodes(returns[:, part], steps[:, part], endings[:, part])).performance[0]
            for part in parts
        ]
        return dict(zip(self.measured, map(float, scores), strict=True))

    def shares(self, bounds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of the feature space that each box matches, `(slots,)`."""
        lows, highs = self.task.ranges
        whole = np.where(self.reach.real, 0.0, 1.0)  # values of an integer feature are counted
        lengths, ranges = np.abs(bounds[:, :, 0] - bounds[:, :, 1]) + whole, highs - lows + whole
        shares = np.where(ranges > 0, lengths / np.where(ranges > 0, ranges, 1), 1.0)
        product: NDArray[np.float64] = shares.prod(axis=1)
        return product

    def raw(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights as rulesets have them: of the features as they are, not scaled."""
        return raw_weights(weights, live_rows(self.task), self.parameters.x0)
