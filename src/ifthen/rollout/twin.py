"""Playing rules in compiled twins: whole episodes in one kernel, and any policy step by step.

Episodes are played one after another; an item is one episode of one individual, number i · k + e for reset
seed e of k. They begin in the states and observations that the real environment has after `reset(seed=…)`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.inference.blocks import Blocks, chosen_by_blocks, fill_blocks, new_blocks
from ifthen.inference.rulebook import Rulebook, choose_lanes
from ifthen.jit import inlined_kernel, kernel, lean_kernel
from ifthen.parallel import for_slices
from ifthen.rollout.episodes import NULL, TERMINATED, TRUNCATED, Episodes, checked_actions
from ifthen.rollout.twin_starts import Beginnings, beginnings, starts
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins.twin import Twin, call_step

__all__ = ["play_twin", "play_twin_policy", "starts", "step_lanes", "step_twin"]

STRANGE = 3
"""Ending of an episode with an observation that is not finite; never handed out."""
STEPS_PER_SLICE = 4000
"""The fewest steps, if all episodes last, that are worth handing to a thread."""


def play_twin(
    task: EnvTask, twin: Twin, rules: Rulebook, seeds: NDArray[np.int64], threads: int = 1
) -> Episodes:
    """Play every individual from every reset seed in the task's twin.

    Args:
        task: the task.
        twin: its twin.
        rules: the rules of n individuals.
        seeds: k reset seeds.
        threads: how many threads to use; results do not depend on it.
    """
    begin, shape = beginnings(task, twin, seeds), (len(rules.actions), len(seeds))
    played = Episodes(np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.int8))
    flat = Episodes(played.returns.reshape(-1), played.steps.reshape(-1), played.endings.reshape(-1))
    address = twin.step

    def work(first: int, last: int) -> None:
        play_items(first, last, address, rules, begin, task.gamma, flat)

    for_slices(work, shape[0] * shape[1], threads, max(1, STEPS_PER_SLICE // begin.t_max))
    _check_played(task, twin, rules, seeds, begin, played)
    return played


def _check_played(
    task: EnvTask,
    twin: Twin,
    rules: Rulebook,
    seeds: NDArray[np.int64],
    begin: Beginnings,
    played: Episodes,
) -> None:
    """Raise TaskError where an observation or a reward was not finite."""
    for i, e in np.argwhere(played.endings == STRANGE)[:1].tolist():
        states, points = begin.states[e : e + 1].copy(), begin.points[e : e + 1].copy()
        action, reward, end = np.empty(1, np.int64), np.empty(1), np.empty(1, np.bool_)
        for _ in range(played.steps[i, e]):
            choose_lanes(rules, np.array([i]), points, action)
            step_lanes(twin.step, states, action, points, reward, end)
        task.check_points(points, f" at step {played.steps[i, e]} after reset with seed {seeds[e]}")
    for _, e in np.argwhere(~np.isfinite(played.returns))[:1].tolist():
        raise TaskError(
            f"the rewards of {task.name} after reset with seed {seeds[e]} have no finite sum. Mend the "
            f"twin of {twin.name}, which must give finite rewards."
        )


def play_twin_policy(
    task: EnvTask,
    twin: Twin,
    choose: Callable[[NDArray[np.float64]], NDArray[np.int64]],
    seeds: NDArray[np.int64],
) -> Episodes:
    """Play any policy from every reset seed in the task's twin, all episodes side by side.

    Args:
        task: the task.
        twin: its twin.
        choose: points `(m, features)`, clipped to the features' ranges, in; actions `(m,)` out, −1 for none.
        seeds: k reset seeds.

    Returns:
        What was got, in arrays `(1, k)`.
    """
    begin, k, factor = beginnings(task, twin, seeds), len(seeds), 1.0
    states, points, lanes = begin.states.copy(), begin.points.copy(), np.arange(k)
    played = Episodes(np.zeros((1, k)), np.zeros((1, k), np.int64), np.full((1, k), TRUNCATED, np.int8))
    for t in range(begin.t_max):
        actions = checked_actions(choose(np.clip(points, *task.ranges)), len(points), task.n_actions)
        rewards, ends = np.zeros(len(lanes)), np.zeros(len(lanes), np.bool_)
        step_lanes(twin.step, states, actions, points, rewards, ends)
        null = actions < 0
        played.returns[0, lanes] += factor * rewards
        played.steps[0, lanes] += ~null
        played.endings[0, lanes[ends]] = TERMINATED
        played.endings[0, lanes[null]] = NULL
        odd = np.flatnonzero(~np.isfinite(points).all(axis=1))
        for row in odd[:1]:
            where = f" at step {t + 1} after reset with seed {seeds[lanes[row]]}"
            task.check_points(points[row : row + 1], where)
        going = ~(ends | null)
        factor *= task.gamma
        if not going.all():
            states, points, lanes = states[going], points[going], lanes[going]
        if not len(lanes):
            break
    return played


@inlined_kernel
def step_twin(
    address: int,
    states: NDArray[np.float64],
    lane: int,
    action: int,
    points: NDArray[np.float64],
    rewards: NDArray[np.float64],
) -> bool:
    """Take a step in row `lane` of states, points and rewards; return whether the episode terminated."""
    return call_step(address, states, lane, action, points, rewards) != 0


@lean_kernel
def step_lanes(
    address: int,
    states: NDArray[np.float64],
    actions: NDArray[np.int64],
    points: NDArray[np.float64],
    rewards: NDArray[np.float64],
    ends: NDArray[np.bool_],
) -> None:
    """Take a step in every row `(m, …)` whose action is not −1, and write which episodes terminated."""
    for lane in range(len(actions)):
        if actions[lane] >= 0:
            ends[lane] = step_twin(address, states, lane, actions[lane], points, rewards)


@inlined_kernel
def is_finite(points: NDArray[np.float64], lane: int) -> bool:
    """Return whether all numbers of a row are finite."""
    # Zero times infinity, and times NaN, is NaN, and stays so: one comparison for all.
    total = 0.0
    for d in range(points.shape[1]):
        total += 0.0 * points[lane, d]
    return total == 0.0


@lean_kernel
def play_episode(
    address: int,
    rules: Rulebook,
    i: int,
    blocks: Blocks,
    t_max: int,
    gamma: float,
    states: NDArray[np.float64],
    points: NDArray[np.float64],
    rewards: NDArray[np.float64],
) -> tuple[float, int, int]:
    """Play individual i on from row 0 of states and points; return its gain, steps and ending."""
    gained, factor = 0.0, 1.0
    for t in range(t_max):
        action = chosen_by_blocks(rules, i, blocks, points, 0)
        if action < 0:
            return gained, t, NULL
        end = step_twin(address, states, 0, action, points, rewards)
        gained += factor * rewards[0]
        factor *= gamma
        if not is_finite(points, 0):
            return gained, t + 1, STRANGE
        if end:
            return gained, t + 1, TERMINATED
    return gained, t_max, TRUNCATED


@kernel
def play_items(
    first: int,
    last: int,
    address: int,
    rules: Rulebook,
    begin: Beginnings,
    gamma: float,
    out: Episodes,
) -> None:
    """Play the items `first` to `last − 1` and write what they got; `out` is `(n · k,)`."""
    k = len(begin.states)
    states, points, rewards = np.empty_like(begin.states[:1]), np.empty_like(begin.points[:1]), np.empty(1)
    blocks, present = new_blocks(rules), -1
    for item in range(first, last):
        i, e = item // k, item % k
        if i != present:
            fill_blocks(rules, i, blocks)
            present = i
        states[0], points[0] = begin.states[e], begin.points[e]
        gained, steps, ending = play_episode(
            address, rules, i, blocks, begin.t_max, gamma, states, points, rewards
        )
        out.returns[item], out.steps[item], out.endings[item] = gained, steps, ending
