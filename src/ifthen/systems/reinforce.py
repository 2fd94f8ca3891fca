"""Reinforcement of PPL-ST's rules in environments (paper, section "PPL-ST"; notation as in `ppl_st`).

A trajectory starts from a reset seed drawn from the task's pool. What was observed is kept, and walking it
backwards the rules of each action set are found by matching again: points have no numbers, and no masks.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.inference.rulebook import Rulebook, chosen, is_inside, predicted
from ifthen.jit import kernel
from ifthen.parallel import for_slices
from ifthen.randomness import below, fold
from ifthen.rollout.lanes import collect
from ifthen.rollout.twin import is_finite, step_twin
from ifthen.rollout.twin_starts import Beginnings, beginnings
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins import Twin, twin_of


def reinforce_in_env(
    task: EnvTask,
    rules: Rulebook,
    learners: int,
    key: np.uint64,
    rollouts: int,
    eta: float,
    paper_payoff: bool,
    threads: int,
) -> int:
    """Let individuals learn from `rollouts` trajectories each; `rules.learnt` changes. Return their steps.

    Args:
        task: the task.
        rules: the rules of all individuals.
        learners: how many of them learn: the first so many.
        key: the stream that start states are drawn from.
        rollouts: trajectories per individual, each acted by what was learnt from those before.
        eta: the learning rate η.
        paper_payoff: whether payoffs are by the paper's formula rather than discounted returns.
        threads: how many threads to use; results do not depend on it.
    """
    twin = twin_of(task)
    if twin is not None:
        return _with_twin(task, twin, rules, learners, key, rollouts, eta, paper_payoff, threads)
    steps, who, drawn = 0, np.arange(learners), np.empty(learners, dtype=np.int64)
    for rollout in range(rollouts):
        draw_starts(key, rollout, len(task.pool), drawn)
        for i, lesson in enumerate(collect(task, rules, who, task.pool[drawn])):
            length = len(lesson.actions)
            reinforce(
                rules, i, length, lesson.points, lesson.actions, lesson.rewards, task.gamma, eta, paper_payoff
            )
            steps += length
    return steps


def _with_twin(
    task: EnvTask,
    twin: Twin,
    rules: Rulebook,
    learners: int,
    key: np.uint64,
    rollouts: int,
    eta: float,
    paper_payoff: bool,
    threads: int,
) -> int:
    begin = beginnings(task, twin, task.pool)
    steps, strange = np.zeros(learners, dtype=np.int64), np.full((learners, 2), -1, dtype=np.int64)
    last = np.zeros((learners, len(task.features) + 1))

    def work(first: int, end: int) -> None:
        reinforce_on_twin(
            first,
            end,
            key,
            rules,
            twin.step,
            begin,
            rollouts,
            task.gamma,
            eta,
            paper_payoff,
            steps,
            strange,
            last,
        )

    for_slices(work, learners, threads)
    for i in np.flatnonzero(strange[:, 0] >= 0)[:1]:
        where = f" at step {strange[i, 1]} after reset with seed {task.pool[strange[i, 0]]}"
        task.check_points(last[i : i + 1, :-1], where)
        raise TaskError(
            f"{task.name} gave the reward {last[i, -1]}{where}; returns need finite numbers. "
            f"Mend the twin of {twin.name}, which must give some."
        )
    return int(steps.sum())


@kernel
def draw_starts(key: np.uint64, rollout: int, n_starts: int, out: NDArray[np.int64]) -> None:
    """Draw where the trajectory of every individual begins, `(n,)`."""
    for i in range(len(out)):
        out[i] = below(fold(fold(key, i), rollout), 0, n_starts)


@kernel
def update_action_set_at(
    rules: Rulebook, i: int, points: NDArray[np.float64], t: int, a: int, payoff: float, eta: float
) -> None:
    """Move w and var of individual i's rules in the action set of (point, a) towards the payoff P."""
    norm = rules.x0 * rules.x0
    for d in range(points.shape[1]):
        value = min(max(points[t, d], rules.floors[d]), rules.ceilings[d])
        norm += value * value
    rate = eta / norm
    for r in range(rules.actions.shape[1]):
        if rules.actions[i, r] != a or not is_inside(rules, i, r, points, t):
            continue
        error = payoff - predicted(rules, i, r, points, t)
        rules.learnt[i, r, 0] += rate * error * rules.x0
        for d in range(points.shape[1]):
            value = min(max(points[t, d], rules.floors[d]), rules.ceilings[d])
            rules.learnt[i, r, d + 1] += rate * error * value
        left = (1 - eta) * error
        rules.learnt[i, r, -1] = (1 - eta) * rules.learnt[i, r, -1] + eta * left * left


@kernel
def reinforce(
    rules: Rulebook,
    i: int,
    length: int,
    points: NDArray[np.float64],
    actions: NDArray[np.int64],
    rewards: NDArray[np.float64],
    gamma: float,
    eta: float,
    paper_payoff: bool,
) -> None:
    """Walk a trajectory of individual i backwards and reinforce the action set of each of its steps."""
    returned, summed, discount = 0.0, 0.0, 1.0
    for t in range(length - 1, -1, -1):
        summed += rewards[t]
        returned = rewards[t] + gamma * returned
        payoff = discount * summed if paper_payoff else returned
        update_action_set_at(rules, i, points, t, actions[t], payoff, eta)
        discount *= gamma


@kernel
def reinforce_on_twin(
    first: int,
    last: int,
    key: np.uint64,
    rules: Rulebook,
    address: int,
    begin: Beginnings,
    rollouts: int,
    gamma: float,
    eta: float,
    paper_payoff: bool,
    out_steps: NDArray[np.int64],
    out_strange: NDArray[np.int64],
    out_last: NDArray[np.float64],
) -> None:
    """Let individuals `first` to `last − 1` learn from `rollouts` trajectories each, played by a twin.

    Where a number is not finite, `out_strange` says which start and step, and `out_last` what was observed.
    """
    features = begin.points.shape[1]
    state, now = np.empty((1, begin.states.shape[1])), np.empty((1, features))
    reward = np.empty(1)
    points, rewards = np.empty((begin.t_max, features)), np.empty(begin.t_max)
    actions = np.empty(begin.t_max, dtype=np.int64)
    for i in range(first, last):
        own = fold(key, i)
        for rollout in range(rollouts):
            begun = below(fold(own, rollout), 0, len(begin.states))
            state[0] = begin.states[begun]
            now[0] = begin.points[begun]
            length, ended = 0, False
            while length < begin.t_max and not ended:
                a = chosen(rules, i, now, 0)
                if a < 0:
                    break
                points[length] = now[0]
                actions[length] = a
                ended = step_twin(address, state, 0, a, now, reward)
                rewards[length] = reward[0]
                length += 1
                if not is_finite(now, 0) or not math.isfinite(reward[0]):
                    out_strange[i, 0], out_strange[i, 1] = begun, length
                    out_last[i, :features] = now[0]
                    out_last[i, features] = reward[0]
                    return
            reinforce(rules, i, length, points, actions, rewards, gamma, eta, paper_payoff)
            out_steps[i] += length
