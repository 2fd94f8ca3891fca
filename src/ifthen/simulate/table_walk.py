"""Blocks of steps that a GPU walks step by step, where it has no room for tables of them.

A GPU has no room near its processors for tables of blocks with rewards. Where only ends carry rewards, it
plays tables of bytes (`ifthen.simulate.byte_tables`). Elsewhere a block is walked step by step, with the
results of `ifthen.simulate.table_play`: its rewards are added up as the entries of the block table are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import inlined_kernel, kernel
from ifthen.rules.arrays import Floats
from ifthen.simulate.table_noise import Plan, outcome
from ifthen.simulate.table_play import NULL


class Walk(NamedTuple):
    """The noise of z, for blocks that are walked step by step."""

    codes: NDArray[np.uint16]
    """`(|z| · row,)`: as `Plan.memo`, with `bits` bits for each outcome, the earliest the lowest."""
    bits: int
    """Bits of an outcome."""


def walk(plan: Plan) -> Walk:
    """Return the noise of a plan for blocks that are walked."""
    outcomes, bits = len(plan.cuts), (len(plan.cuts) - 1).bit_length()
    packed = np.zeros(plan.width, dtype=np.uint16)
    digits = np.arange(plan.width)
    for j in range(plan.block - 1, -1, -1):
        packed |= (digits % outcomes << bits * j).astype(np.uint16)
        digits //= outcomes
    return Walk(packed[plan.memo], bits)


@inlined_kernel
def walk_block(s: int, code: int, plan: Plan, bits: int, step_next: NDArray[np.int16]) -> int:
    """Return where a block of steps leads from s, as the block table says, but states by their numbers."""
    outcomes, bit_mask = len(plan.cuts), (1 << bits) - 1
    for j in range(plan.block):
        if s >= 0:
            s = step_next[s * outcomes + (code & bit_mask)]
            s = s if s >= 0 else -1 - j if s == -1 else NULL
        code >>= bits
    return s


@kernel
def walk_gain(
    s: int,
    code: int,
    bits: int,
    actions: NDArray[np.int16],
    plan: Plan,
    next_state: NDArray[np.int32],
    reward: Floats,
) -> float:
    """Return the reward of a block of steps from s, discounted to its first, as the block table says."""
    bit_mask, so_far = (1 << bits) - 1, 0.0
    for j in range(plan.block):
        gained = 0.0
        if s >= 0:
            a, k = actions[s], code & bit_mask
            if a >= 0:
                gained = reward[s, a, k]
            s = next_state[s, a, k] if a >= 0 else NULL
        so_far = so_far + plan.discounts[j] * gained if j > 0 else gained
        code >>= bits
    return so_far


@kernel
def walk_on(
    s: int,
    t: int,
    gained: float,
    memo_at: int,
    remembered: int,
    position: int,
    actions: NDArray[np.int16],
    plan: Plan,
    noise: Walk,
    next_state: NDArray[np.int32],
    reward: Floats,
    step_next: NDArray[np.int16],
) -> tuple[float, int, int]:
    """Play the next block of an episode, or its next step where its noise is not in the memo.

    Args:
        s: the state.
        t: the steps of the episode so far.
        gained: what they gained.
        memo_at: where in the memo the episode's noise begins.
        remembered: how many of its steps the memo covers.
        position: where in the stream its noise begins.
        actions: the policy, `(D,)`.
        plan: what all rollouts share.
        noise: the memo.
        next_state: of the task, `(D, A, K)`.
        reward: of the task, `(D, A, K)`.
        step_next: the policy's table of one step, `(D · K,)`: next state, −1 for the end, −2 for `NULL`.

    Returns gain, steps, last entry (≥ 0: the state).
    """
    if t + plan.block <= remembered:
        code = int(noise.codes[memo_at + t])
        next_entry = walk_block(s, code, plan, noise.bits, step_next)
        if next_entry < 0 or not plan.sparse:
            block_reward = walk_gain(s, code, noise.bits, actions, plan, next_state, reward)
            gained += plan.discounts[t] * block_reward
        return gained, t - next_entry if next_entry < 0 else t + plan.block, next_entry
    k = outcome(plan.key, plan.cuts, position + t)
    a = actions[s]
    if a < 0:
        return gained, t + 1, NULL
    return gained + plan.discounts[t] * reward[s, a, k], t + 1, next_state[s, a, k]


@inlined_kernel
def fill_short_table(
    actions: NDArray[np.int16], next_state: NDArray[np.int32], out: NDArray[np.int16]
) -> None:
    """Write a policy's table of one step as `walk_on` takes it."""
    outcomes = next_state.shape[2]
    for s in range(len(actions)):
        a = actions[s]
        for k in range(outcomes):
            out[s * outcomes + k] = next_state[s, a, k] if a >= 0 else -2
