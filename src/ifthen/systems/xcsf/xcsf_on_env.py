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
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ifthen.errors import ParameterError
from ifthen.jit import lean_kernel
from ifthen.randomness import fold
from ifthen.rules.arrays import Floats
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.twin_play import Starts, is_finite
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.store import SIZE_LIMIT
from ifthen.systems.records import Record
from ifthen.systems.xcsf.index import Learning, matches_live
from ifthen.systems.xcsf.xcsf_learner import Learner, Places
from ifthen.systems.xcsf.xcsf_parameters import XCSFParameters
from ifthen.systems.xcsf.xcsf_population import CLOCK, RULE, Population, triangle
from ifthen.systems.xcsf.xcsf_steps import act, begin_episode, follow
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.twin import call_step

INVOCATIONS_PER_EPOCH = 1000
"""An epoch has this many GA invocations. It ends with a measure of the rules in whole episodes, which must
not take longer than learning."""
LEARNING_GAMMA = 0.99
"""The discount factor where the task has none. Without one, payoffs of endless episodes have no bound."""
UNROLLED = 16
"""The most features whose loops are unrolled in a twin: kernels are compiled for every number of features up
to it. In other environments, whose own steps take longer, kernels are compiled once for any number."""


class Live(NamedTuple):
    """The live rows of an environment, in the place of a table's states."""

    states: Floats
    """`(2, features)`: the features of the state before and of the present one, in turns."""
    points: Floats
    """`(2, features)`: the same scaled to [−1, 1]."""
    axes: Any
    """The features' numbers: a tuple as in `Dynamics` where they are few, else an array."""
    centres: Floats
    """`(features,)`: the middle of each feature's range."""
    halves: Floats
    """`(features,)`: half the width of each feature's range, or 1 where it has none."""


def live_rows(task: EnvTask, unrolled: bool) -> Live:
    """Return the live rows of a task, empty yet; loops over few features may be unrolled."""
    lows, highs = task.ranges
    n_features = len(task.features)
    halves = np.where(highs > lows, (highs - lows) / 2, 1.0)
    blank = np.full((2, n_features), np.nan)
    axes = tuple(range(n_features)) if unrolled and n_features <= UNROLLED else np.arange(n_features)
    return Live(blank, blank.copy(), axes, (lows + highs) / 2, halves)


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
        n_inputs, pop_limit = len(task.features) + 1, parameters.pop_limit or 0
        numbers_per_rule = 3 * n_inputs + (triangle(n_inputs) if parameters.prediction == "rls" else 0)
        size = (pop_limit + 1) * (8 * numbers_per_rule + RULE.itemsize) + CLOCK.itemsize
        if size > SIZE_LIMIT:
            raise ParameterError(
                f"pop_limit={pop_limit:,} rules over {n_inputs - 1:,} features would take "
                f"{size / 2**30:.1f} GiB; at most {SIZE_LIMIT / 2**30:.0f} GiB are allowed. Give a smaller "
                "pop_limit, or prediction='nlms', which needs no covariance."
            )

    @cached_property
    def simulator(self) -> EnvSimulator:
        """What plays and measures the rules."""
        return environment_simulator(self.task)

    @property
    def places(self) -> Places:
        """Live rows, empty yet."""
        model = live_rows(self.task, unrolled=self.simulator.is_compiled)
        inputs = np.full((len(model.states), len(self.task.features) + 1), self.parameters.x0)
        return model, inputs, np.zeros((0, 0, 1), dtype=np.uint64), model.states

    def run(self, learning: Learning, invocations: int, steps: int, episodes: int) -> None:
        """Play an episode or, in a twin, as many as the limits ask for; the last one is finished."""
        self.simulator.let_learn(self, learning, invocations, steps, episodes)

    def in_lane(self, simulator: EnvSimulator, learning: Learning, *_: int) -> None:
        """Play an episode in the environment itself, and learn from every step."""
        task, key = self.task, self.key
        observation = np.empty((1, len(task.features)))
        observation[0] = simulator.begin_episode(int(task.pool[begin_episode(key, len(task.pool), learning)]))
        action = live_step(key, observation, 0.0, False, False, learning)
        while action >= 0:
            observation[0], reward, terminated, truncated = simulator.take_step(action)
            action = live_step(key, observation, reward, terminated, truncated, learning)

    def in_twin(
        self, simulator: TwinSimulator, learning: Learning, invocations: int, steps: int, episodes: int
    ) -> None:
        """Play episodes in the twin."""
        clock, pool = learning.classifiers.clock[0], self.task.pool
        _, observation, reward = lane = (
            np.empty((1, simulator.twin.state_size)),
            np.empty((1, len(self.task.features))),
            np.empty(1),
        )
        twin_arguments = simulator.twin.step, simulator.starts(pool), lane
        bad_start = run_twin(self.key, invocations, steps, episodes, *twin_arguments, learning)
        if bad_start >= 0:
            simulator.refuse_number(observation, float(reward[0]), int(clock["time"]), int(pool[bad_start]))

    def nothing_learnt(self) -> Record:
        """Return what an empty population measures."""
        return dict.fromkeys(self.measured, self.task.floor)

    def measures(self, learning: Learning, population: Population) -> Record:
        """Return how well the rules do on z, and on the seeds of validation."""
        return self.simulator.ruleset_measures(self.ruleset(population))

    def wrong_action_set(self, population: Population) -> str | None:
        """Return what says that an episode is running, if anything."""
        if population.held.any() or population.pending[0] != 0:
            return "models of environments are saved between episodes: no action set can wait for its payoff"
        return None

    def raw(self, weights: Floats) -> Floats:
        """Return weights `(rules, features + 1)` of scaled features as those of the features themselves."""
        live = live_rows(self.task, unrolled=False)
        raw: Floats = weights / np.concatenate([[1.0], live.halves])
        raw[:, 0] -= raw[:, 1:] @ live.centres / self.parameters.x0
        return raw


@lean_kernel
def arrive(row: int, observation: Floats, learning: Learning) -> None:
    """Put the first row of `observation` into a live row, and find the rules that match it."""
    rules, bounds = learning.classifiers.rules, learning.classifiers.bounds
    model, space, reach = learning.model, learning.space, learning.reach
    for d in range(observation.shape[1]):
        value = min(max(observation[0, d], reach.lows[d]), reach.highs[d])
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
    key: np.uint64, observation: Floats, reward: float, terminated: bool, truncated: bool, learning: Learning
) -> int:
    """Learn from what followed the last action; return the next one, −1 where the episode is over.

    In the first call of an episode `observation` is what it begins with, and there is no reward yet.
    """
    clock, steps_key = learning.classifiers.clock[0], fold(key, 1)
    if clock.state < 0:
        clock.state = 0
        arrive(0, observation, learning)
    else:
        next_row = -1 if terminated else 1 - clock.state
        if next_row >= 0:
            arrive(next_row, observation, learning)
        is_truncated = truncated or clock.time >= learning.settings[0].t_max
        follow(steps_key, next_row, is_truncated, reward, learning)
    return act(steps_key, learning) if clock.state >= 0 else -1


@lean_kernel
def run_twin(
    key: np.uint64,
    invocations: int,
    steps: int,
    episodes: int,
    address: int,
    starts: Starts,
    lane: tuple[Floats, Floats, Floats],
    learning: Learning,
) -> int:
    """Play whole episodes in a twin up to a total number of GA invocations, steps or episodes.

    `lane` is memory for the twin's state `(1, state size)`, what is observed `(1, features)` and the reward.
    Returns −1. If an observation or a reward is not finite, returns the number of the start that led there;
    nothing is learnt from that step.
    """
    clock = learning.classifiers.clock[0]
    state, observation, reward = lane
    while clock.ga_invocations < invocations and clock.steps < steps and clock.episodes < episodes:
        start = begin_episode(key, len(starts.states), learning)
        for i in range(state.shape[1]):
            state[0, i] = starts.states[start, i]
        for d in range(observation.shape[1]):
            observation[0, d] = starts.points[start, d]
        a = live_step(key, observation, 0.0, False, False, learning)
        while a >= 0:
            terminated = call_step(address, state, 0, a, observation, reward)
            truncated = clock.time >= starts.t_max
            if not (is_finite(observation, 0) and math.isfinite(reward[0])):
                return start
            a = live_step(key, observation, reward[0], terminated, truncated, learning)
    return -1
