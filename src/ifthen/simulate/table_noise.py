"""What all rollouts of a table share: its initial states, and the noise that they meet in turn.

Every policy of a task meets the same noise: step number j of the task's stream has outcome
`outcome(key, j)`, a pure function. With noise "aligned", step t of episode e uses j = e · t_max + t; with
noise "stream" (the paper's), j counts the steps played so far, episode after episode.

Outcomes are kept in a table of bytes, as far as `MEMO_BYTES` go; later ones are drawn when needed. A byte
stands for the outcomes of `block` steps, as one look-up plays so many (`ifthen.simulate.table_play`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import stream, uniform
from ifthen.rules.arrays import Floats
from ifthen.tasks.tabular_task import TabularTask

MEMO_BYTES = 64 * 2**20
BLOCK_ENTRIES = 4096
LONGEST_BLOCK = 8


class Plan(NamedTuple):
    """What the rollouts of one task share."""

    starts: NDArray[np.int32]
    """`(|z|,)`: z as decision states."""
    distinct_starts: int
    """|S_I|: the first |S_I| of `starts` are all of them."""
    key: np.uint64
    """Stream of the common random numbers."""
    cuts: Floats
    """`(K,)`: cumulative outcome probabilities."""
    t_max: int
    """Steps until truncation."""
    block: int
    """Steps per look-up."""
    width: int
    """K**block, the entries per state in a table of `block` steps."""
    row: int
    """How many steps of each episode the memo covers when noise is aligned."""
    memo: NDArray[np.uint8]
    """`(|z| · row,)`: the next `block` outcomes as one number, for each step that is remembered."""
    discounts: Floats
    """`(t_max + 1,)`: γ^t."""
    sparse: bool
    """Whether only the last step of an episode can carry reward."""
    floor: float
    """The performance of a policy that meets a null action."""


def block_length(n_states: int, outcomes: int, episodes: int) -> int:
    """Return how many steps one look-up plays: as many as keep the table small and the noise a byte.

    Every policy has its own table: one with more entries than there are episodes takes longer to fill
    than it saves.
    """
    block = 1
    while (
        block < LONGEST_BLOCK
        and outcomes ** (block + 1) <= 256
        and n_states * outcomes ** (block + 1) <= min(BLOCK_ENTRIES, episodes)
    ):
        block += 1
    return block


@lru_cache(maxsize=4)
def plan(task: TabularTask) -> Plan:
    """Return what the rollouts of a task share, made once per task."""
    model = task.dynamics
    outcomes = len(model.probability)
    block = min(block_length(len(model.states), outcomes, len(task.z)), task.t_max)
    row = max(1, min(task.t_max, MEMO_BYTES // len(task.z)))
    memo = np.empty(len(task.z) * row, dtype=np.uint8)
    key = stream(task.noise_seed, "z")
    cuts = np.cumsum(model.probability)
    remember_outcomes(key, cuts, task.t_max, row, block, memo)
    factors = np.full(task.t_max + 1, task.gamma)
    factors[0] = 1.0
    return Plan(
        starts=np.tile(model.starts, task.enumerations),
        distinct_starts=len(model.starts),
        key=key,
        cuts=cuts,
        t_max=task.t_max,
        block=block,
        width=outcomes**block,
        row=row,
        memo=memo,
        discounts=np.cumprod(factors),
        sparse=not model.reward[model.next_state >= 0].any(),
        floor=task.floor,
    )


@kernel
def outcome(key: np.uint64, cuts: Floats, position: int) -> int:
    """Return the outcome 0 … K − 1 at `position` of the stream `key`."""
    u = uniform(key, position)
    k = 0
    while k < len(cuts) - 1 and u >= cuts[k]:
        k += 1
    return k


@kernel
def remember_outcomes(
    key: np.uint64, cuts: Floats, t_max: int, row: int, block: int, out: NDArray[np.uint8]
) -> None:
    """Write, for the first `row` steps of every episode, the next `block` outcomes as one number.

    Outcomes are digits in base K, the earliest the most significant. Where `row` is `t_max`, position i of
    `out` is also position i of the stream.
    """
    outcomes = len(cuts)
    width = outcomes**block
    for e in range(len(out) // row):
        code = 0
        for t in range(1 - block, row):
            code = (code * outcomes + outcome(key, cuts, e * t_max + t + block - 1)) % width
            if t >= 0:
                out[e * row + t] = code
