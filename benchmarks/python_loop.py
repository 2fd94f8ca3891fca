"""Sampled evaluation of one policy in plain Python, as a first draft would have it."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ifthen import TabularTask
from ifthen.tasks.task import Noise


def walk(
    task: TabularTask, outcomes: NDArray[np.uint8], policy: NDArray[np.int16], noise: Noise, episodes: int
) -> tuple[float, int, float]:
    """Play the first `episodes` of z.

    Args:
        task: the task.
        outcomes: the outcome of every step of the stream, `(|z| · t_max,)`.
        policy: the action in every decision state, `(D,)`; none may be missing.
        noise: "aligned" or "stream".
        episodes: how many episodes to play.

    Returns:
        mean discounted return, steps, and the seconds they took.
    """
    next_state, reward = task.dynamics.next_state.tolist(), task.dynamics.reward.tolist()
    starts, actions = task.dynamics.starts.tolist(), policy.tolist()
    drawn = outcomes[: episodes * task.t_max].tolist()
    total, steps = 0.0, 0
    began = time.perf_counter()
    for episode in range(episodes):
        first_step = steps if noise == "stream" else episode * task.t_max
        s, t, discount = starts[episode % len(starts)], 0, 1.0
        while t < task.t_max and s >= 0:
            a, k = actions[s], drawn[first_step + t]
            total += discount * reward[s][a][k]
            s = next_state[s][a][k]
            discount *= task.gamma
            t += 1
        steps += t
    return total / episodes, steps, time.perf_counter() - began
