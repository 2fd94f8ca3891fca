"""The steps that were taken in an environment, as action values are learnt from them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats
from ifthen.simulate.trajectories import TERMINATED, Trajectory

TERMINAL = -1
"""Stands for an action behind the last step of an episode that terminated."""
CUT = -2
"""Stands for an action behind the last step of an episode that was truncated."""
LARGEST = 1e38
"""Larger numbers are cut to this one in single precision."""
MOST_NUMBERS = 20_000_000
"""The points in memory hold at most this many numbers together."""


class Memory(NamedTuple):
    """Steps of whole episodes, one after the other; behind each stands a row with the last observation."""

    points: NDArray[np.float32]
    """`(N, features)`."""
    moves: NDArray[np.int16]
    """`(N,)`: the action taken; TERMINAL or CUT in the row behind an episode."""
    rewards: NDArray[np.float32]
    """`(N,)`: the reward of the action."""


def longest_cut(moves: NDArray[np.int16]) -> float:
    """Return the steps of the longest remembered episode that was cut; infinity if none was."""
    ends = np.flatnonzero(moves < 0)
    episode_lengths = np.diff(ends, prepend=-1) - 1
    return float(max(episode_lengths[moves[ends] == CUT], default=math.inf))


def single_precision(numbers: Floats) -> NDArray[np.float32]:
    """Return numbers in single precision; those beyond LARGEST become LARGEST."""
    return np.clip(numbers, -LARGEST, LARGEST).astype(np.float32)


def remembered(memory: Memory, episodes: list[Trajectory]) -> Memory:
    """Return a memory with more episodes."""
    points, moves, rewards = [memory.points], [memory.moves], [memory.rewards]
    for episode in episodes:
        end = TERMINAL if episode.ending == TERMINATED else CUT
        points += [single_precision(episode.points), single_precision(episode.last[None])]
        moves += [episode.actions.astype(np.int16), np.array([end], np.int16)]
        rewards += [single_precision(episode.rewards), np.zeros(1, np.float32)]
    return within_limits(Memory(np.concatenate(points), np.concatenate(moves), np.concatenate(rewards)))


def within_limits(memory: Memory) -> Memory:
    """Return a memory without its oldest episodes, where it holds too many numbers."""
    max_rows = MOST_NUMBERS // memory.points.shape[1]
    if len(memory.moves) <= max_rows:
        return memory
    ends = np.flatnonzero(memory.moves < 0)[:-1]
    dropped_ends = ends[ends >= len(memory.moves) - max_rows - 1]
    first = int(dropped_ends[0] if len(dropped_ends) else ends[-1]) + 1 if len(ends) else 0
    return Memory._make(column[first:] for column in memory)
