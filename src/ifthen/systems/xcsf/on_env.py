"""XCSF on an environment, one step at a time: what was observed goes in, an action comes out.

The state before and the present one stand in two live rows, in turns. When a new one arrives, all rules are
asked once whether they match it; from then on its masks follow rules that come and go, as a table's do.
Python environments and compiled twins share `live_step`, so that both give the same bytes.

The state of a running environment cannot be saved. Learning therefore stops between episodes only: an epoch
ends with the episode in which its GA invocations were reached, and `learn(steps=…)` finishes the episode.
"""

from __future__ import annotations

import math
import weakref
from functools import cached_property, partial
from math import isfinite
from typing import Any

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
from ifthen.systems.system import Goal, Record
from ifthen.systems.xcsf.index import Learning, Space, matches_live, new_space
from ifthen.systems.xcsf.learner import Learner, Patience, ruleset_of
from ifthen.systems.xcsf.parameters import XCSFParameters
from ifthen.systems.xcsf.population import CLOCK, RULE, Classifiers, Population, packed, triangle, unpacked
from ifthen.systems.xcsf.run import act, begin_episode, follow
from ifthen.systems.xcsf.settings import Live, live_rows, raw_weights
from ifthen.tasks.gym_task import EnvTask

PIECE = 100_000
INVOCATIONS_PER_EPOCH = 1000
"""An epoch ends with a measure of the rules in whole episodes, which must not take longer than learning."""
LEARNING_GAMMA = 0.99
"""Discount where the task has none: payoffs of endless episodes would have no bound."""


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
        if task.default_action is not None:
            raise ParameterError(
                "a default action is the last rule of a decision list, and XCSF's rules have no order: use "
                "PPL-DL, or leave default_action out."
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

    @property
    def n_states(self) -> int:
        """None are numbered."""
        return 0

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

    def space(self, classifiers: Classifiers, model: Live) -> Space:
        """Return the index of a population over live rows."""
        inputs = np.full((len(model.states), len(self.task.features) + 1), self.parameters.x0)
        nobody = np.zeros(len(classifiers.rules), dtype=np.bool_)
        up_to = np.zeros((0, 0, 1), dtype=np.uint64)
        by_box, n_actions = self.parameters.equality == "box", self.task.n_actions
        return new_space(classifiers, nobody, by_box, inputs, up_to, model.states, self.reach.lows, n_actions)

    def learn(self, population: Population, invocations: int, goal: Goal) -> tuple[Population, Record]:
        """Learn up to a total number of GA invocations, or until the goal's steps or episodes.

        The episode in which that happens is finished.
        """
        p, twins = self.parameters, self.simulator
        assert p.pop_limit is not None
        classifiers, model = unpacked(population, p.pop_limit), live_rows(self.task)
        space, clock = self.space(classifiers, model), classifiers.clock[0]
        own = Learning(model, classifiers, space, self.settings, self.reach)
        patience = Patience(classifiers, p, goal)
        most = goal.limit("steps"), goal.limit("episodes")
        while clock["ga_invocations"] < invocations and clock["steps"] < most[0]:
            if clock["episodes"] >= most[1]:
                break
            if isinstance(twins, TwinSimulator):
                self._run_twin(twins, invocations, most, own)
            else:
                self._play_episode(own)
            patience.check()
        following = packed(classifiers)
        return following, self.measures(following)

    def _play_episode(self, own: Learning) -> None:
        """Play an episode in the environment itself, and learn from every step."""
        task, env, key = self.task, self.env, self.key
        seed = int(task.pool[next_start(key, len(task.pool), own)])
        seen = np.empty((1, len(task.features)))
        seen[0], _ = env.reset(seed=seed)
        self._check(seen, 0.0, 0, seed)
        action, steps = next_action(key, seen, 0.0, False, False, own), 0
        while action >= 0:
            seen[0], number, terminated, truncated, _ = env.step(action)
            steps += 1
            self._check(seen, number, steps, seed)
            action = next_action(key, seen, number, bool(terminated), bool(truncated), own)

    def _check(self, seen: NDArray[np.float64], reward: float, steps: int, seed: int) -> None:
        """Raise where an observation or a reward is not finite."""
        if not isfinite(seen.sum() + reward):  # quicker than asking each number
            self.simulator.refuse_number(seen, reward, steps, seed)

    def _run_twin(self, twins: TwinSimulator, invocations: int, most: tuple[int, int], own: Learning) -> None:
        """Play some episodes in the twin; between two calls Python sees the signals of users who stop it."""
        clock, pool = own.classifiers.clock[0], self.task.pool
        steps = min(most[0], int(clock["steps"]) + PIECE)
        _, seen, reward = lane = (
            np.empty((1, twins.twin.state_size)),
            np.empty((1, len(self.task.features))),
            np.empty(1),
        )
        twin = twins.twin.step, twins.starts(pool), lane
        strange = run_twin(self.key, invocations, steps, most[1], *twin, own)
        if strange >= 0:
            self._check(seen, float(reward[0]), int(clock["time"]), int(pool[strange]))

    def nothing_learnt(self) -> Record:
        """Return what an empty population measures."""
        return dict.fromkeys(self.measured, self.task.floor)

    def measures(self, population: Population) -> Record:
        """Return how well the rules do on z, and on the seeds of validation."""
        task, weights = self.task, self.raw(population.weights)
        rules = ruleset_of(population, task, weights, self.parameters.x0)
        return self.simulator.measures_of(partial(self.simulator.play_ruleset, rules))

    def wrong_action_set(self, population: Population) -> str | None:
        """Return what says that an episode is running, if anything."""
        if population.held.any() or population.pending[0] != 0:
            return "models of environments are saved between episodes: no action set can wait for its payoff"
        return None

    def shares(self, bounds: NDArray[Any]) -> NDArray[np.float64]:
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
    clock = own.classifiers.clock[0]
    if clock.state < 0:
        clock.state = 0
        arrive(0, seen, own)
    else:
        follows = -1 if terminated else 1 - clock.state
        if follows >= 0:
            arrive(follows, seen, own)
        over = truncated or clock.time >= own.settings[0].t_max
        follow(key, follows, over, reward, own)
    return act(key, own) if clock.state >= 0 else -1


@lean_kernel
def next_start(key: np.uint64, starts: int, own: Learning) -> int:
    """Begin an episode; return which of so many reset seeds it has."""
    return begin_episode(fold(key, 0), starts, own.classifiers.clock[0], own.settings[0].p_explore)


@lean_kernel
def next_action(
    key: np.uint64,
    seen: NDArray[np.float64],
    reward: float,
    terminated: bool,
    truncated: bool,
    own: Learning,
) -> int:
    """Do what `live_step` does, for Python."""
    return live_step(fold(key, 1), seen, reward, terminated, truncated, own)


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
    Returns −1 or, where what is seen or the reward is not finite, which of the beginnings led there; nothing
    is learnt from that step.
    """
    clock, p_explore = own.classifiers.clock[0], own.settings[0].p_explore
    by_episode, by_step = fold(key, 0), fold(key, 1)
    state, seen, reward = lane
    while clock.ga_invocations < invocations and clock.steps < steps and clock.episodes < episodes:
        e = begin_episode(by_episode, len(begin.states), clock, p_explore)
        for i in range(state.shape[1]):
            state[0, i] = begin.states[e, i]
        for d in range(seen.shape[1]):
            seen[0, d] = begin.points[e, d]
        a = live_step(by_step, seen, 0.0, False, False, own)
        while a >= 0:
            terminated, truncated = step_twin(address, state, 0, a, seen, reward), clock.time >= begin.t_max
            if not (is_finite(seen, 0) and math.isfinite(reward[0])):
                return e
            a = live_step(by_step, seen, reward[0], terminated, truncated, own)
    return -1
