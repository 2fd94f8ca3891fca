"""The reinforcement update of PPL-ST (paper, section "PPL-ST"), the same for tables and environments.

A trajectory is walked backwards. Each of its steps has a payoff P, and every rule in the step's action set
(the matching rules that advocate the action taken) moves its prediction towards P:

    ε = P − w·x;   w += η/‖x‖² · ε · x;   var = (1 − η)·var + η·(w·x after − P)²

Moving w by η/‖x‖² · ε · x moves w·x by ηε, so that the error left is (1 − η)ε.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ifthen.jit import kernel, lean_kernel
from ifthen.randomness import below, fold
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import Intervals, chosen, is_inside
from ifthen.rules.strength import prediction
from ifthen.simulate.simulator import Reinforcement
from ifthen.simulate.twin_play import Starts, is_finite
from ifthen.tasks.twin import call_step


@lean_kernel
def fill_payoffs(length: int, rewards: Floats, gamma: float, paper_payoff: bool, out: Floats) -> None:
    """Write the payoff P of each of a trajectory's `length` steps.

    P is the discounted return, or the paper's γ^j · Σ r over the rest of the trajectory, j steps from its
    end. The two agree where reward comes only at the end.
    """
    discounted_return, reward_sum, discount = 0.0, 0.0, 1.0
    for t in range(length - 1, -1, -1):
        reward_sum += rewards[t]
        discounted_return = rewards[t] + gamma * discounted_return
        out[t] = discount * reward_sum if paper_payoff else discounted_return
        discount *= gamma


@lean_kernel
def learning_rate(x0: float, points: Floats, s: int, eta: float) -> float:
    """Return η/‖x‖² at point s."""
    norm = x0 * x0
    for d in range(points.shape[1]):
        norm += points[s, d] * points[s, d]
    return eta / norm


@lean_kernel
def reinforce_rule(
    learnt: Floats,
    r: int,
    payoff: float,
    eta: float,
    rate: float,
    x0: float,
    points: Floats,
    s: int,
    axes: tuple[int, ...],
) -> None:
    """Move w and var of rule r of one ruleset towards the payoff P at point s; `rate` is η/‖x‖²."""
    features = len(axes)
    error = payoff - prediction(learnt, r, x0, points, s, axes)
    learnt[r, 0] += rate * error * x0
    for d in range(features):
        learnt[r, d + 1] += rate * error * points[s, d]
    remaining_error = (1 - eta) * error
    learnt[r, features + 1] = (1 - eta) * learnt[r, features + 1] + eta * remaining_error * remaining_error


@kernel
def draw_starts(key: np.uint64, rollout: int, n_starts: int, out: Ints) -> None:
    """Draw where the rollout of every ruleset starts, `(n,)`."""
    for i in range(len(out)):
        out[i] = below(fold(fold(key, i), rollout), 0, n_starts)


@kernel
def reinforce_episode(
    rules: Intervals, i: int, length: int, points: Floats, actions: Ints, payoffs: Floats, eta: float
) -> None:
    """Walk an episode of ruleset i backwards; `points` are clipped to the features' ranges."""
    learnt = rules.learnt[i]
    for t in range(length - 1, -1, -1):
        axes = points[t]  # its length is all that a prediction asks for
        rate = learning_rate(rules.x0, points, t, eta)
        for r in range(rules.lengths[i]):
            if rules.actions[i, r] == actions[t] and is_inside(rules, i, r, points, t):
                reinforce_rule(learnt, r, payoffs[t], eta, rate, rules.x0, points, t, axes)


class Rollout(NamedTuple):
    """Memory for one rollout in a twin, used over and over."""

    state: Floats
    """`(1, state_size)`: the state."""
    observed: Floats
    """`(1, features)`: what is observed."""
    reward: Floats
    """`(1,)`: the last reward."""
    points: Floats
    """`(t_max, features)`: what was observed, clipped to the features' ranges."""
    actions: Ints
    """`(t_max,)`."""
    rewards: Floats
    """`(t_max,)`."""
    payoffs: Floats
    """`(t_max,)`."""


@kernel
def reinforce_in_twin(
    i: int,
    rules: Intervals,
    lesson: Reinforcement,
    address: int,
    starts: Starts,
    gamma: float,
    scratch: Rollout,
    out_bad: Ints,
    out_last: Floats,
) -> int:
    """Let ruleset i learn from its rollouts, played by a twin; return the steps, −1 for a bad number.

    Where a number is not finite, `out_bad` gets the start and the step, and `out_last` what was observed.
    """
    features, key, n_steps = starts.points.shape[1], fold(lesson.key, i), 0
    observed, reward = scratch.observed, scratch.reward
    for rollout in range(lesson.rollouts):
        start = below(fold(key, rollout), 0, len(starts.states))
        for d in range(scratch.state.shape[1]):
            scratch.state[0, d] = starts.states[start, d]
        for d in range(features):
            observed[0, d] = starts.points[start, d]
        length, ended = 0, False
        while length < starts.t_max and not ended:
            a = chosen(rules, i, observed, 0)
            if a < 0:
                break
            for d in range(features):
                scratch.points[length, d] = min(max(observed[0, d], rules.floors[d]), rules.ceilings[d])
            scratch.actions[length] = a
            ended = call_step(address, scratch.state, 0, a, observed, reward)
            scratch.rewards[length] = reward[0]
            length += 1
            if not is_finite(observed, 0) or not math.isfinite(reward[0]):
                out_bad[i, 0], out_bad[i, 1] = start, length
                for d in range(features):
                    out_last[i, d] = observed[0, d]
                out_last[i, features] = reward[0]
                return -1
        fill_payoffs(length, scratch.rewards, gamma, lesson.paper_payoff, scratch.payoffs)
        reinforce_episode(rules, i, length, scratch.points, scratch.actions, scratch.payoffs, lesson.eta)
        n_steps += length
    return n_steps


@kernel
def reinforce_on_twin(
    first: int,
    last: int,
    rules: Intervals,
    lesson: Reinforcement,
    address: int,
    starts: Starts,
    gamma: float,
    out_steps: Ints,
    out_bad: Ints,
    out_last: Floats,
) -> None:
    """Let rulesets `first` to `last − 1` learn from their rollouts, played by a twin."""
    t_max, features = starts.t_max, starts.points.shape[1]
    scratch = Rollout(
        np.empty((1, starts.states.shape[1])),
        np.empty((1, features)),
        np.empty(1),
        np.empty((t_max, features)),
        np.empty(t_max, dtype=np.int64),
        np.empty(t_max),
        np.empty(t_max),
    )
    for i in range(first, last):
        out_steps[i] = reinforce_in_twin(i, rules, lesson, address, starts, gamma, scratch, out_bad, out_last)
        if out_steps[i] < 0:
            return
