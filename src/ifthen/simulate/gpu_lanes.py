"""Policy tables played on a GPU, each by one thread through all of z.

With one stream of noise each step needs the one before, through all episodes. So a policy is one thread, and
what counts is how soon a step is taken:
- the policy's table of one step stands in the fast memory of the block of threads (`walk_on` plays with it);
- threads of a group of 32 go on in step with each other. Each takes a step of its own episode, whichever
  that is, and another policy when its own has played. So none waits for the longest episode among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda as _cuda
from numba import int16
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Ints
from ifthen.simulate.gpu import PROCESSORS, GpuStream, Repeated, gpu_kernel, lanes_in_block, n_blocks
from ifthen.simulate.table_noise import Plan
from ifthen.simulate.table_play import NULL, Played, put_result
from ifthen.simulate.table_walk import Walk, fill_short_table, walk_on

cuda: Any = _cuda  # a part of Numba without types
POLICIES_EACH = 4
"""Policies that a thread plays one after the other, where there are enough of them."""


class Lanes(NamedTuple):
    """Policies to play, in the memory of the GPU."""

    policies: NDArray[np.int16]
    """`(n, D)`."""
    next_state: NDArray[np.int32]
    reward: Floats
    plan: Plan
    noise: Walk
    streamed: bool
    taken: Ints
    """`(slots,)`: how many policies have been taken by threads, 0 at first."""
    played: Played
    """Each `(slots, n)`."""


@gpu_kernel
def play_lanes(work: Lanes, slot: int) -> None:
    """Play z with policy after policy; what they got goes to a slot of `work.played`."""
    lane, lanes = cuda.threadIdx.x, cuda.blockDim.x
    step_next = cuda.shared.array(0, int16)[lane::lanes]
    out = Played(
        work.played.performance[slot],
        work.played.steps[slot],
        work.played.truncated[slot],
        work.played.failed[slot],
    )
    z, starts, n = work.plan, work.plan.starts, work.policies.shape[0]
    memo_length = len(work.noise.codes) if z.row == z.t_max else 0
    is_playing, i, e, s, t, steps, truncated = False, 0, 0, 0, 0, 0, 0
    total, gained = 0.0, 0.0
    while True:
        if not is_playing:
            i = cuda.atomic.add(work.taken, slot, 1)
            if i >= n:
                break
            failed = False
            for start in range(z.distinct_starts):
                failed = failed or work.policies[i, starts[start]] < 0
            if failed:
                put_result(i, 0.0, 0, 0, True, z, out)
                continue
            fill_short_table(work.policies[i], work.next_state, step_next)
            is_playing, e, s, t, steps, truncated, total, gained = True, 0, starts[0], 0, 0, 0, 0.0, 0.0
        if work.streamed:
            memo_at, remembered, position = steps, min(z.t_max, memo_length - steps), steps
        else:
            memo_at, remembered, position = e * z.row, z.row, e * z.t_max
        gained, t, s = walk_on(
            s,
            t,
            gained,
            memo_at,
            remembered,
            position,
            work.policies[i],
            z,
            work.noise,
            work.next_state,
            work.reward,
            step_next,
        )
        if s == NULL:
            put_result(i, 0.0, 0, 0, True, z, out)
            is_playing = False
        elif s < 0 or t >= z.t_max:
            truncated += s >= 0
            total += gained
            steps += t
            e += 1
            if e == len(starts):
                put_result(i, total, steps, truncated, False, z, out)
                is_playing = False
            else:
                s, t, gained = starts[e], 0, 0.0


def lanes_launch(work: Lanes, stream: GpuStream) -> Repeated:
    """Return the launch that plays policies, given a slot; no more threads than keep the device busy."""
    n, n_states = work.policies.shape
    outcomes = work.next_state.shape[2]
    threads = lanes_in_block(n_states, outcomes)
    blocks = min(n_blocks(n, threads), max(PROCESSORS // 2, n_blocks(n, threads * POLICIES_EACH)))
    n_bytes = 2 * n_states * outcomes * threads
    return Repeated(play_lanes, blocks, threads, work, stream=stream, shared_bytes=n_bytes)
