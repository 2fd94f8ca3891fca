"""Policies as tables of bytes, for a GPU: small enough for the memory near its processors.

In a table where only the last step of an episode carries reward, a policy needs no rewards to be played. What
an episode gains is known from its length and from the kind of its end. So an entry of a policy's table of
`block` steps is one byte:
- below D, the state after the block;
- from D on, an end: D + kind · block + j, where step j = 0, 1, … of the block ends the episode. The last kind
  is that of a state without a rule.

The row of an end has nothing but that end. So a round of four look-ups needs no branches: an episode that has
ended stays where it is, and how many of the look-ups began before the end tells when that was.

A look-up needs the outcomes of its block as one number. Those of the next round are loaded during a round:
where the episode goes on, its place in the noise is known before.

Results have the bits of `ifthen.simulate.table_play`, whatever `block` is here: gains are looked up in a
table that is worked out as its episodes are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import inlined_kernel
from ifthen.rules.arrays import Floats
from ifthen.simulate.table_noise import Plan, plan, remember_outcomes
from ifthen.tasks.tabular_task import TabularTask

BYTES_EACH = 4096
"""The most bytes of a policy's table. Larger tables take fewer look-ups, but fewer policies fit at a time."""
LONGEST = 8
"""The most steps of a look-up."""
ROUND = 4
"""Look-ups of a round, as written out in `play_on`."""
Short = Any
"""A whole number of 32 bits: a GPU takes two instructions for one of 64."""


class ByteGame(NamedTuple):
    """What all policies of a task share that are played as tables of bytes."""

    steps: NDArray[np.uint8]
    """`(D, A, K)`: the entry of one step."""
    memo: NDArray[np.uint8]
    """`(|z| · t_max + 2 · ROUND · block,)`: as `Plan.memo`, for `block` steps, and zeros: rounds end late."""
    numbers: NDArray[np.int32]
    """`(7,)`: D, block, width, t_max, kinds, share and |z|. In memory, as a GPU works with such numbers
    faster than with those that it gets with a launch. `share` is 256 / block, rounded up: multiplying by it
    is faster than dividing by `block`."""
    block: int
    """Steps of a look-up."""
    width: int
    """K**block, the entries of a row."""
    rows: int
    """The states and the ends, each of which has a row of a policy's table."""
    t_max: int
    """Steps until truncation."""
    kinds: int
    """How many kinds of ends there are, but for that of a state without a rule."""
    gains: Floats
    """`((kinds + 1) · (t_max + 1),)`: what an episode of t steps gains, for each kind of end; 0 for the last
    kind, which stands for truncated episodes here."""
    starts: NDArray[np.uint8]
    """`(|z|,)`: z as decision states."""
    streamed: bool
    """Whether noise runs on from episode to episode."""


class Lane(NamedTuple):
    """A policy that is being played."""

    state: Short
    position: Short
    """Where in the noise it is."""
    end: Short
    """Where in the noise its episode is truncated."""
    episode: Short
    """The number of its episode; |z| where it has played all, −1 where it met a state without a rule."""
    steps: Short
    """Steps of the episodes before."""
    truncated: Short
    total: float
    """What the episodes before the last one gained."""
    last: float
    """What the last one gained. It is added later: nobody need wait until it has been looked up."""


def byte_game(task: TabularTask, streamed: bool) -> ByteGame | None:
    """Return how a task is played with tables of bytes; None where it cannot be.

    Args:
        task: the task.
        streamed: whether noise is one stream through all episodes.
    """
    z, model = plan(task), task.dynamics
    n_states, _, outcomes = model.next_state.shape
    is_end = model.next_state < 0
    rewards = np.unique(np.append(model.reward[is_end], 0.0))
    block = byte_block(n_states, outcomes, len(rewards) + 1, z.t_max)
    if not z.sparse or z.row < z.t_max or block == 0:
        return None
    kinds = np.searchsorted(rewards, model.reward)
    steps = np.where(is_end, n_states + kinds * block, model.next_state).astype(np.uint8)
    memo = np.zeros(len(z.memo) + 2 * ROUND * block, dtype=np.uint8)
    remember_outcomes(z.key, z.cuts, z.t_max, z.t_max, block, memo[: len(z.memo)])
    width, share, n_kinds, starts = outcomes**block, -(-256 // block), len(rewards), z.starts.astype(np.uint8)
    numbers = np.array([n_states, block, width, z.t_max, n_kinds, share, len(starts)], dtype=np.int32)
    sizes = block, width, n_states + (n_kinds + 1) * block, z.t_max, n_kinds
    return ByteGame(steps, memo, numbers, *sizes, gains_of(z, rewards).ravel(), starts, streamed)


def byte_block(n_states: int, outcomes: int, kinds: int, t_max: int) -> int:
    """Return how many steps a look-up in a table of bytes has; 0 where there can be no such table."""
    block = 0
    while (
        block < min(LONGEST, t_max)
        and outcomes ** (block + 1) <= 256
        and (n_states + kinds * (block + 1)) * outcomes ** (block + 1) <= BYTES_EACH
        and n_states + kinds * (block + 1) <= 256
        and kinds * (block + 1) <= 64  # so far a share gives the bits of a quotient
    ):
        block += 1
    return block


def gains_of(z: Plan, rewards: Floats) -> Floats:
    """Return what episodes gain by their length, `(rewards + 1, t_max + 1)`; 0 in the last row."""
    last_step = np.maximum(np.arange(z.t_max + 1) - 1, 0)
    block_start = last_step // z.block * z.block
    in_block = z.discounts[block_start] * (z.discounts[last_step - block_start] * rewards[:, None])
    # Steps that do not fill a block are played one by one.
    gains = np.where(block_start + z.block <= z.t_max, in_block, z.discounts[last_step] * rewards[:, None])
    return np.vstack([gains, np.zeros(z.t_max + 1)])


@inlined_kernel
def first_byte(item: int, actions: NDArray[np.int16], game: ByteGame) -> Short:
    """Return entry number `item` of a policy's table of one step."""
    outcomes: Any = np.uint32(game.steps.shape[2])
    s = np.uint32(item) // outcomes
    a = actions[s]
    if a < 0:
        return np.int32(len(actions) + game.kinds * game.block)
    return np.int32(game.steps[s, a, np.uint32(item) - s * outcomes])


@inlined_kernel
def byte_of_block(entry: int, firsts: NDArray[np.uint8], n_states: int, game: ByteGame) -> Short:
    """Return an entry of a policy's table of blocks, given its table of one step."""
    outcomes: Any = np.uint32(game.steps.shape[2])
    scale: Any = np.uint32(game.width)
    s: Any = np.uint32(entry) // scale
    remainder: Any = np.uint32(np.uint32(entry) - s * scale)
    if s >= n_states:
        return np.int32(s)
    for j in range(game.block):
        scale = np.uint32(scale // outcomes)
        digit = np.uint32(remainder // scale)
        byte = firsts[np.uint32(np.uint32(s * outcomes) + digit)]
        if byte >= n_states:
            return np.int32(np.int32(byte) + j)
        s, remainder = np.uint32(byte), np.uint32(remainder - digit * scale)
    return np.int32(s)


@inlined_kernel
def new_lane(game: ByteGame) -> Lane:
    """Return where a policy begins."""
    zero, no_gain = np.int32(0), 0.0
    return Lane(np.int32(game.starts[0]), zero, np.int32(game.t_max), zero, zero, zero, no_gain, no_gain)


@inlined_kernel
def play_on(lane: Lane, rounds: int, table: NDArray[np.uint8], game: ByteGame) -> Lane:
    """Play a policy for some rounds of look-ups, or to its end.

    Args:
        lane: where it is.
        rounds: how many.
        table: its table of blocks.
        game: what all policies share.
    """
    # Numbers have 32 bits, and ends are handled almost without branches: a GPU is slow at others.
    s, position, end, episode, steps, truncated, total, last = lane
    numbers, memo = game.numbers, game.memo
    states, block, width, t_max = numbers[0], numbers[1], numbers[2], numbers[3]
    kinds, share, episodes, remaining = numbers[4], numbers[5], numbers[6], np.int32(rounds)
    ahead = np.int32(ROUND * block)
    code1, code2, code3, code4 = codes_at(position, block, memo)
    while remaining > 0:
        remaining = np.int32(remaining - 1)
        arrived_at = np.int32(position + ahead)
        next1, next2, next3, next4 = codes_at(arrived_at, block, memo)  # need not wait for the entries
        entry1 = np.int32(table[np.uint32(np.int32(s * width) + code1)])
        entry2 = np.int32(table[np.uint32(np.int32(entry1 * width) + code2)])
        entry3 = np.int32(table[np.uint32(np.int32(entry2 * width) + code3)])
        s = np.int32(table[np.uint32(np.int32(entry3 * width) + code4)])
        if (s >= states) | (arrived_at >= end):
            went_on = np.int32(
                np.int32(entry1 < states) + np.int32(entry2 < states) + np.int32(entry3 < states)
            )
            end_code = np.int32(s - states)
            kind = np.int32(np.int32(end_code * share) >> 8)
            block_start = np.int32(np.int32(position - end + t_max) + np.int32(went_on * block))
            t = np.int32(block_start + 1 + end_code - np.int32(kind * block))
            is_truncated = (s < states) | (t > t_max)
            if (kind == kinds) & (not is_truncated):
                episode = np.int32(-1)
                break
            t, kind = (t_max, kinds) if is_truncated else (t, kind)
            truncated = np.int32(truncated + (1 if is_truncated else 0))
            total += last
            last = game.gains[np.uint32(np.int32(kind * np.int32(t_max + 1)) + t)]
            steps = np.int32(steps + t)
            episode = np.int32(episode + 1)
            if episode == episodes:
                total += last
                break
            s = np.int32(game.starts[np.uint32(episode)])
            position = steps if game.streamed else np.int32(episode * t_max)
            end = np.int32(position + t_max)
            # Asking whether they differ keeps the compiler from loading codes only when they are needed.
            is_there = position == arrived_at
            start1, start2, start3, start4 = codes_at(position, block, memo)
            code1, code2 = next1 if is_there else start1, next2 if is_there else start2
            code3, code4 = next3 if is_there else start3, next4 if is_there else start4
        else:
            position, code1, code2, code3, code4 = arrived_at, next1, next2, next3, next4
    return Lane(s, position, end, episode, steps, truncated, total, last)


@inlined_kernel
def codes_at(position: Short, block: Short, memo: NDArray[np.uint8]) -> tuple[Short, Short, Short, Short]:
    """Return the outcomes of the next blocks of a round."""
    second = np.int32(position + block)
    third = np.int32(second + block)
    return (
        np.int32(memo[np.uint32(position)]),
        np.int32(memo[np.uint32(second)]),
        np.int32(memo[np.uint32(third)]),
        np.int32(memo[np.uint32(np.int32(third + block))]),
    )
