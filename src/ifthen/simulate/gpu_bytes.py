"""Policies played on a GPU as tables of bytes (`ifthen.simulate.byte_tables`).

With one stream of noise each step needs the one before, through all episodes. So a policy is one thread, and
what counts is how many policies play at the same time, and how soon each has its next state. Tables of bytes
stand in the fast memory of a block of few threads, which lay them out together. A thread whose policy has
played takes another. Threads look for others after `ROUNDS` rounds of look-ups, so that they need not ask at
each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda as _cuda
from numba import int32, uint8
from numpy.typing import NDArray

from ifthen.rules.arrays import Ints
from ifthen.simulate.byte_tables import ByteGame, byte_of_block, first_byte, new_lane, play_on
from ifthen.simulate.gpu import PROCESSORS, GpuStream, Repeated, gpu_kernel, n_blocks, simulated
from ifthen.simulate.table_noise import Plan
from ifthen.simulate.table_play import Played, put_result

cuda: Any = _cuda  # a part of Numba without types
LANES = 2 if simulated() else 4
"""Threads of a block that play. An end of an episode keeps all of them, so they are fewer than a group of 32.
The others help to lay out tables."""
TOGETHER = 4 if simulated() else 32
"""Threads of a block."""
ROUNDS = 64
POLICIES_EACH = 2
"""Policies that a thread plays one after the other, where there are enough of them."""


class ByteLanes(NamedTuple):
    """Policies to play, in the memory of the GPU."""

    policies: NDArray[np.int16]
    """`(n, D)`."""
    plan: Plan
    game: ByteGame
    taken: Ints
    """`(slots,)`: how many policies have been taken by threads, 0 at first."""
    played: Played
    """Each `(slots, n)`."""
    lanes: int
    """Threads of a block that play."""


@gpu_kernel
def play_bytes(work: ByteLanes, slot: int) -> None:
    """Play z with policy after policy; what they got goes to a slot of `work.played`."""
    thread, threads, lanes = cuda.threadIdx.x, cuda.blockDim.x, work.lanes
    new_policies = cuda.shared.array(TOGETHER, int32)
    tables = cuda.shared.array(0, uint8)
    game, z = work.game, work.plan
    n, n_states = work.policies.shape
    size, step_entries = game.rows * game.width, n_states * game.steps.shape[2]
    firsts = tables[lanes * size :]
    table = tables[thread * size :]
    out = Played(
        work.played.performance[slot],
        work.played.steps[slot],
        work.played.truncated[slot],
        work.played.failed[slot],
    )
    is_playing, i, lane = False, 0, new_lane(game)
    while True:
        new_policies[thread] = -1
        while thread < lanes and not is_playing and i < n:
            i = cuda.atomic.add(work.taken, slot, 1)
            if i < n:
                is_playing = True
                for start in range(z.distinct_starts):
                    is_playing = is_playing and work.policies[i, z.starts[start]] >= 0
                if is_playing:
                    new_policies[thread] = i
                    lane = new_lane(game)
                else:
                    put_result(i, 0.0, 0, 0, True, z, out)
        cuda.syncthreads()
        for lane_number in range(lanes):
            policy = new_policies[lane_number]
            if policy >= 0:
                for item in range(thread, step_entries, threads):
                    firsts[item] = first_byte(item, work.policies[policy], game)
                cuda.syncthreads()
                for entry in range(thread, size, threads):
                    tables[lane_number * size + entry] = byte_of_block(entry, firsts, n_states, game)
                cuda.syncthreads()
        if not cuda.syncthreads_or(int(is_playing)):
            break
        if is_playing:
            lane = play_on(lane, ROUNDS, table, game)
            if lane.episode < 0:
                put_result(i, 0.0, 0, 0, True, z, out)
                is_playing = False
            elif lane.episode == len(game.starts):
                put_result(i, lane.total, lane.steps, lane.truncated, False, z, out)
                is_playing = False


def byte_launch(work: ByteLanes, stream: GpuStream) -> Repeated:
    """Return the launch that plays policies, given a slot; no more threads than keep the device busy."""
    n, n_states = work.policies.shape
    blocks = min(n_blocks(n, LANES), max(PROCESSORS // 2, n_blocks(n, LANES * POLICIES_EACH)))
    n_bytes = LANES * work.game.rows * work.game.width + n_states * work.game.steps.shape[2]
    return Repeated(play_bytes, blocks, TOGETHER, work, stream=stream, shared_bytes=n_bytes)
