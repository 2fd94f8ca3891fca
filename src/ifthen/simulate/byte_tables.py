"""Policies as tables of bytes, for a GPU: small enough for the memory near its processors.

In a table where only the last step of an episode carries reward, a policy needs no rewards to be played. What
an episode gains is known from its length and from the kind of its end. So an entry of a policy's table of
`block` steps is one byte:
- below D, the state after the block;
- from D on, an end: D + kind · block + j, where step j = 0, 1, … of the block ends the episode. The last kind
  is that of a state without a rule.

Noise has two bits for each outcome. A word holds the outcomes of a group of steps and of the group after it.
So it has those of any block that begins in the group, and of the block after that: the next word can be on
its way from memory while this one is used.

Results have the bits of `ifthen.simulate.table_play`, whatever `block` is here: gains are looked up in a
table that is worked out as its episodes are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import inlined_kernel, kernel
from ifthen.rules.arrays import Floats
from ifthen.simulate.table_play import Plan, outcome, plan
from ifthen.tasks.tabular_task import TabularTask

BYTES_EACH = 2048
"""The most bytes of a policy's table. Larger tables take fewer look-ups, but fewer policies fit at a time."""
OUTCOME_BITS = 2
GROUP_SHIFT = 3
"""A group has 2**3 steps: two groups fill a word of 32 bits."""
GROUP = 2**GROUP_SHIFT
LONGEST, LONGEST_OF_ONE = GROUP // 2, GROUP
"""The most steps of a look-up, in general and where every step has but one outcome."""
Short = Any
"""A whole number of 32 bits: a GPU takes two instructions for one of 64."""


class ByteGame(NamedTuple):
    """What all policies of a task share that are played as tables of bytes."""

    steps: NDArray[np.uint8]
    """`(D, A, width)`: the entry of one step. Outcomes that there are not have 0."""
    noise: NDArray[np.uint32]
    """`(groups,)`: the outcomes of z, the earliest the lowest bits."""
    bits: int
    """Bits of an outcome in entries: 2, or 0 where there is but one outcome."""
    block: int
    """Steps of a look-up."""
    mask: int
    """The bits of a block's outcomes."""
    t_max: int
    """Steps until truncation."""
    gains: Floats
    """`(kinds, t_max + 1)`: what an episode of t steps gains, for each kind of end but the last."""
    starts: NDArray[np.int32]
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
    n_states, n_actions, outcomes = model.next_state.shape
    ends = model.next_state < 0
    rewards = np.unique(np.append(model.reward[ends], 0.0))
    bits = 0 if outcomes == 1 else OUTCOME_BITS
    block = byte_block(n_states, bits, len(rewards) + 1, z.t_max)
    if not z.sparse or z.row < z.t_max or outcomes > 2**OUTCOME_BITS or block == 0:
        return None
    steps = np.zeros((n_states, n_actions, 2**bits), dtype=np.uint8)
    kinds = np.searchsorted(rewards, model.reward)
    steps[:, :, :outcomes] = np.where(ends, n_states + kinds * block, model.next_state)
    noise = np.empty((len(z.memo) + block) // GROUP + 2, dtype=np.uint32)
    pack_outcomes(z.key, z.cuts, noise)
    gains, mask = gains_of(z, rewards), 2 ** (bits * block) - 1
    return ByteGame(steps, noise, bits, block, mask, z.t_max, gains, z.starts, streamed)


def byte_block(n_states: int, bits: int, kinds: int, t_max: int) -> int:
    """Return how many steps a look-up in a table of bytes has; 0 where there can be no such table."""
    block, most = 0, min(t_max, LONGEST if bits else LONGEST_OF_ONE)
    while (
        block < most
        and n_states << bits * (block + 1) <= BYTES_EACH
        and n_states + kinds * (block + 1) <= 256
    ):
        block += 1
    return block


def gains_of(z: Plan, rewards: Floats) -> Floats:
    """Return what episodes that end with a reward gain, `(rewards, t_max + 1)`, by their length."""
    before = np.maximum(np.arange(z.t_max + 1) - 1, 0)
    first = before // z.block * z.block
    in_block = z.discounts[first] * (z.discounts[before - first] * rewards[:, None])
    # Steps that do not fill a block are played one by one.
    return np.where(first + z.block <= z.t_max, in_block, z.discounts[before] * rewards[:, None])


@kernel
def pack_outcomes(key: np.uint64, cuts: Floats, out: NDArray[np.uint32]) -> None:
    """Write the outcomes of z as words of two groups each, the earliest the lowest bits."""
    for word in range(len(out)):
        packed = 0
        for j in range(2 * GROUP):
            packed |= outcome(key, cuts, word * GROUP + j) << OUTCOME_BITS * j
        out[word] = packed


@inlined_kernel
def outcomes_in(word: Any, at: Short, game: ByteGame) -> Short:
    """Return the outcomes of the block that begins with step number `at` of a word of noise."""
    return np.int32(word >> np.uint32(OUTCOME_BITS * at & 31)) & np.int32(game.mask)


@inlined_kernel
def first_byte(item: int, actions: NDArray[np.int16], game: ByteGame) -> int:
    """Return entry number `item` of a policy's table of one step."""
    s, k = item >> game.bits, item & (1 << game.bits) - 1
    a = actions[s]
    if a < 0:
        return len(actions) + game.gains.shape[0] * game.block
    return int(game.steps[s, a, k])


@inlined_kernel
def byte_of_block(entry: int, firsts: NDArray[np.uint8], n_states: int, game: ByteGame) -> int:
    """Return an entry of a policy's table of blocks, given its table of one step."""
    s, one = entry >> game.bits * game.block, (1 << game.bits) - 1
    for j in range(game.block):
        s = int(firsts[(s << game.bits) | (entry >> game.bits * j & one)])
        if s >= n_states:
            return s + j
    return s


@inlined_kernel
def new_lane(game: ByteGame) -> Lane:
    """Return where a policy begins."""
    nothing, none = np.int32(0), 0.0
    return Lane(game.starts[0], nothing, np.int32(game.t_max), nothing, nothing, nothing, none, none)


@inlined_kernel
def play_on(
    lane: Lane, look_ups: int, at: int, tables: NDArray[np.uint8], n_states: int, game: ByteGame
) -> Lane:
    """Play a policy for some look-ups, or to its end.

    Args:
        lane: where it is.
        look_ups: how many.
        at: where in `tables` the policy's table begins.
        tables: policies' tables of blocks, one after the other.
        n_states: D.
        game: what all policies share.
    """
    # All numbers have 32 bits, and shifts are known when this is compiled: a GPU is slow at others.
    s, position, end, episode, steps, truncated, total, last = lane
    kinds, episodes = np.int32(game.gains.shape[0]), np.int32(len(game.starts))
    block, t_max, states = np.int32(game.block), np.int32(game.t_max), np.int32(n_states)
    width, first, left = np.int32(game.mask + 1), np.int32(at), np.int32(look_ups)
    following = game.starts[min(episode + 1, episodes - 1)]
    word, begins = game.noise[np.uint32(position >> GROUP_SHIFT)], position & -GROUP
    code = outcomes_in(word, position - begins, game)
    while left > 0:
        left = np.int32(left - 1)
        entry = np.int32(tables[np.uint32(first + s * width + code)])
        position = np.int32(position + block)
        if (entry >= states) | (position >= end):
            t, kind, after = t_max, np.int32(0), np.int32(entry - states)
            if entry >= states:
                while after >= block:
                    after = np.int32(after - block)
                    kind = np.int32(kind + 1)
                t = np.int32(position - block + after + 1 - (end - t_max))
            total += last
            last = 0.0
            if (entry < states) | (t > t_max):
                t = t_max
                truncated = np.int32(truncated + 1)
            elif kind == kinds:
                episode = np.int32(-1)
                break
            else:
                last = game.gains[np.uint32(kind), np.uint32(t)]
            steps = np.int32(steps + t)
            episode = np.int32(episode + 1)
            if episode == episodes:
                total += last
                break
            s = following
            following = game.starts[np.uint32(min(episode + 1, episodes - 1))]
            position = steps if game.streamed else np.int32(episode * t_max)
            end = np.int32(position + t_max)
            if not game.streamed:
                word, begins = game.noise[np.uint32(position >> GROUP_SHIFT)], position & -GROUP
        else:
            s = entry
        code = outcomes_in(word, position - begins, game)
        word, begins = game.noise[np.uint32(position >> GROUP_SHIFT)], position & -GROUP
    return Lane(s, position, end, episode, steps, truncated, total, last)
