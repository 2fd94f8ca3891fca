"""XCSF on an environment, one step at a time: what was observed goes in, an action comes out.

The state before and the present one are in two live rows, in turns. When a new one arrives, all rules are
asked once whether they match it; from then on its masks follow rules that come and go, as a table's do.
Python environments and compiled twins share `live_step`, so that both give the same bytes.

In live rows the prediction is linear in x = (x0, (s − centre) / half): every feature is scaled from its range
to [−1, 1], so that angles and speeds count alike. Rulesets speak of s itself, so their weights are turned
back (`EnvLearner.raw`); what they predict is the same.

The state of a running environment cannot be saved. Learning therefore stops between episodes only: an epoch
ends with the episode in which its GA invocations were reached, and `learn(steps=…)` finishes the episode.
"""

from __future__ import annotations

import math
import weakref
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError
from ifthen.jit import lean_kernel
from ifthen.randomness import fold
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit
from ifthen.simulate.environment import EnvSimulator
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.lanes import Lane
from ifthen.simulate.twin import TwinSimulator
from ifthen.simulate.twin_play import Starts, is_finite, step_twin
from ifthen.store import SIZE_LIMIT
from ifthen.systems.records import Record
from ifthen.systems.xcsf.index import Learning, matches_live
from ifthen.systems.xcsf.learner import Learner, Places
from ifthen.systems.xcsf.parameters import XCSFParameters
from ifthen.systems.xcsf.population import CLOCK, RULE, Population, triangle
from ifthen.systems.xcsf.run import act, begin_episode, follow
from ifthen.tasks.gym_task import EnvTask

INVOCATIONS_PER_EPOCH = 1000
"""An epoch ends with a measure of the rules in whole episodes, which must not take longer than learning."""
LEARNING_GAMMA = 0.99
"""Discount where the task has none: payoffs of endless episodes would have no bound."""
UNROLLED = 16
"""The most features whose loops are unrolled; kernels are compiled for every number of features up to it."""


class Live(NamedTuple):
    """The live rows of an environment, in the place of a table's states."""

    states: NDArray[np.float64]
    """`(2, features)`: the features of the state before and of the present one, in turns."""
    points: NDArray[np.float64]
    """`(2, features)`: the same scaled to [−1, 1]."""
    axes: Any
    """The features' numbers: a tuple as in `Dynamics` where they are few, else an array."""
    centres: NDArray[np.float64]
    """`(features,)`: the middle of each feature's range,"""
    halves: NDArray[np.float64]
    """`(features,)`: and half its width, 1 where it has none."""


def live_rows(task: EnvTask) -> Live:
    """Return the live rows of a task, empty yet."""
    lows, highs = task.ranges
    features = len(task.features)
    halves = np.where(highs > lows, (highs - lows) / 2, 1.0)
    nothing = np.full((2, features), np.nan)
    axes = tuple(range(features)) if features <= UNROLLED else np.arange(features)
    return Live(nothing, nothing.copy(), axes, (lows + highs) / 2, halves)


class EnvLearner(Learner[EnvTask]):
    """Learns in an environment."""

    measured = ("performance", "unseen_performance")
    number = np.float64
    whole_episodes = True

    @staticmethod
    def suited(task: EnvTask) -> dict[str, float]:
        """Return GA invocations and discount."""
        gamma = LEARNING_GAMMA if task.gamma == 1 else task.gamma
        return {"ga_per_epoch": INVOCATIONS_PER_EPOCH, "gamma": gamma}

    @staticmethod
    def check(parameters: XCSFParameters, task: EnvTask) -> None:
        """Raise where the rules would take too much memory, or cannot learn as asked."""
        if parameters.teletransport:
            raise ParameterError(
                f"teletransport needs a task with a list of states; {task.name} is an environment, whose "
                "episodes begin where it resets to. Leave it out."
            )
        inputs, limit = len(task.features) + 1, parameters.pop_limit or 0
        numbers = 3 * inputs + (triangle(inputs) if parameters.prediction == "rls" else 0)
        size = (limit + 1) * (8 * numbers + RULE.itemsize) + CLOCK.itemsize
        if size > SIZE_LIMIT:
            raise ParameterError(
                f"pop_limit={limit:,} rules over {inputs - 1:,} features would take {size / 2**30:.1f} GiB; "
                f"at most {SIZE_LIMIT / 2**30:.0f} GiB are allowed. Give a smaller pop_limit, or "
                "prediction='nlms', which needs no covariance."
            )

    @cached_property
    def simulator(self) -> EnvSimulator:
        """What plays and measures the rules."""
        return environment_simulator(self.task)

    @cached_property
    def env(self) -> Lane:
        """The environment that is learnt in, closed with the learner; every episode resets it with a seed."""
        lane = Lane(self.task)
        weakref.finalize(self, lane.close)
        return lane

    @property
    def places(self) -> Places:
        """Live rows, empty yet."""
        model = live_rows(self.task)
        inputs = np.full((len(model.states), len(self.task.features) + 1), self.parameters.x0)
        return model, inputs, np.zeros((0, 0, 1), dtype=np.uint64), model.states

    def run(self, own: Learning, invocations: int, steps: int, episodes: int) -> None:
        """Play an episode or, in a twin, as many as the limits ask for; the last one is finished."""
        if isinstance(self.simulator, TwinSimulator):
            self._run_twin(self.simulator, invocations, steps, episodes, own)
        else:
            self._play_episode(own)

    def _play_episode(self, own: Learning) -> None:
        """Play an episode in the environment itself, and learn from every step."""
        task, env, key = self.task, self.env, self.key
        seed = int(task.pool[begin_episode(key, len(task.pool), own)])
        seen = np.empty((1, len(task.features)))
        seen[0], _ = env.reset(seed=seed)
        self._check(seen, 0.0, 0, seed)
        action, steps = live_step(key, seen, 0.0, False, False, own), 0
        while action >= 0:
            seen[0], number, terminated, truncated, _ = env.step(action)
            steps += 1
            self._check(seen, number, steps, seed)
            action = live_step(key, seen, number, bool(terminated), bool(truncated), own)

    def _check(self, seen: NDArray[np.float64], reward: float, steps: int, seed: int) -> None:
        """Raise where an observation or a reward is not finite."""
        if not isfinite(seen.sum() + reward):  # quicker than asking each number
            self.simulator.refuse_number(seen, reward, steps, seed)

    def _run_twin(
        self, twins: TwinSimulator, invocations: int, steps: int, episodes: int, own: Learning
    ) -> None:
        """Play episodes in the twin."""
        clock, pool = own.classifiers.clock[0], self.task.pool
        _, seen, reward = lane = (
            np.empty((1, twins.twin.state_size)),
            np.empty((1, len(self.task.features))),
            np.empty(1),
        )
        twin = twins.twin.step, twins.starts(pool), lane
        strange = run_twin(self.key, invocations, steps, episodes, *twin, own)
        if strange >= 0:
            self._check(seen, float(reward[0]), int(clock["time"]), int(pool[strange]))

    def nothing_learnt(self) -> Record:
        """Return what an empty population measures."""
        return dict.fromkeys(self.measured, self.task.floor)

    def measures(self, own: Learning, population: Population) -> Record:
        """Return how well the rules do on z, and on the seeds of validation."""
        return self.simulator.ruleset_measures(self.ruleset(population))

    def wrong_action_set(self, population: Population) -> str | None:
        """Return what says that an episode is running, if anything."""
        if population.held.any() or population.pending[0] != 0:
            return "models of environments are saved between episodes: no action set can wait for its payoff"
        return None

    def raw(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights `(rules, features + 1)` of scaled features as those of the features themselves."""
        live = live_rows(self.task)
        raw: NDArray[np.float64] = weights / np.concatenate([[1.0], live.halves])
        raw[:, 0] -= raw[:, 1:] @ live.centres / self.parameters.x0
        return raw


@lean_kernel
def arrive(row: int, seen: NDArray[np.float64], own: Learning) -> None:
    """Put what was observed, the first row of `seen`, into a live row, and find the rules that match it."""
    rules, bounds = own.classifiers.rules, own.classifiers.bounds
    model, space, reach = own.model, own.space, own.reach
    for d in range(seen.shape[1]):
        value = min(max(seen[0, d], reach.lows[d]), reach.highs[d])
        space.live[row, d] = value
        model.points[row, d] = space.inputs[row, d + 1] = (value - model.centres[d]) / model.halves[d]
    for word in range(len(space.used)):
        for a in range(space.masks.shape[1]):
            space.masks[row, a, word] = ZERO
        bits = space.used[word]
        while bits != ZERO:
            r = word * WORD + lowest_bit(bits)
            if matches_live(r, row, bounds, space.live):
                space.masks[row, rules[r].action, word] |= bits & (~bits + ONE)
            bits &= bits - ONE


@lean_kernel
def live_step(
    key: np.uint64,
    seen: NDArray[np.float64],
    reward: float,
    terminated: bool,
    truncated: bool,
    own: Learning,
) -> int:
    """Learn from what followed the last action; return the next one, −1 where the episode is over.

    In the first call of an episode `seen` is what it begins with, and there is no reward yet.
    """
    clock, by_step = own.classifiers.clock[0], fold(key, 1)
    if clock.state < 0:
        clock.state = 0
        arrive(0, seen, own)
    else:
        follows = -1 if terminated else 1 - clock.state
        if follows >= 0:
            arrive(follows, seen, own)
        over = truncated or clock.time >= own.settings[0].t_max
        follow(by_step, follows, over, reward, own)
    return act(by_step, own) if clock.state >= 0 else -1


@lean_kernel
def run_twin(
    key: np.uint64,
    invocations: int,
    steps: int,
    episodes: int,
    address: int,
    begin: Starts,
    lane: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    own: Learning,
) -> int:
    """Play whole episodes in a twin up to a total number of GA invocations, steps or episodes.

    `lane` is memory for the twin's state `(1, state size)`, what is seen `(1, features)` and the reward.
    Returns −1. If an observation or a reward is not finite, returns the number of the start that led there;
    nothing is learnt from that step.
    """
    clock = own.classifiers.clock[0]
    state, seen, reward = lane
    while clock.ga_invocations < invocations and clock.steps < steps and clock.episodes < episodes:
        e = begin_episode(key, len(begin.states), own)
        for i in range(state.shape[1]):
            state[0, i] = begin.states[e, i]
        for d in range(seen.shape[1]):
            seen[0, d] = begin.points[e, d]
        a = live_step(key, seen, 0.0, False, False, own)
        while a >= 0:
            terminated, truncated = step_twin(address, state, 0, a, seen, reward), clock.time >= begin.t_max
            if not (is_finite(seen, 0) and math.isfinite(reward[0])):
                return e
            a = live_step(key, seen, reward[0], terminated, truncated, own)
    return -1
