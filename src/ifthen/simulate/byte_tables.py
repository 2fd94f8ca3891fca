"""Policies as tables of bytes, for a GPU: small enough for the memory near its processors.

In a table where only the last step of an episode carries reward, a policy needs no rewards to be played. What
an episode gains is known from its length and from the kind of its end. So an entry of a policy's table of
`block` steps is one byte:
- below D, the state after the block;
- from D on, an end: D + kind · block + j, where step j = 0, 1, … of the block ends the episode. The last kind
  is that of a state without a rule.

Noise has a few bits for each outcome. A word holds the outcomes of a group of steps and of the group after
it, so that one word has those of any block that begins in the group.

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
LONGEST = 8
WORD_BITS = 32
Short = Any
"""A whole number of 32 bits: a GPU takes two instructions for one of 64."""


class ByteGame(NamedTuple):
    """What all policies of a task share that are played as tables of bytes."""

    steps: NDArray[np.uint8]
    """`(D, A, 2**bits)`: the entry of one step. Outcomes that there are not have 0."""
    noise: NDArray[np.uint32]
    """`(groups,)`: the outcomes of z, the earliest the lowest bits."""
    bits: int
    """Bits of an outcome."""
    shift: int
    """A group has 2**shift steps."""
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
    bits = (outcomes - 1).bit_length()
    shift = (WORD_BITS // 2 // max(bits, 2)).bit_length() - 1
    block = byte_block(n_states, bits, len(rewards) + 1, min(z.t_max, 2**shift))
    if not z.sparse or z.row < z.t_max or block == 0:
        return None
    steps = np.zeros((n_states, n_actions, 2**bits), dtype=np.uint8)
    kinds = np.searchsorted(rewards, model.reward)
    steps[:, :, :outcomes] = np.where(ends, n_states + kinds * block, model.next_state)
    noise = np.empty((len(z.memo) + block >> shift) + 2, dtype=np.uint32)
    pack_outcomes(z.key, z.cuts, bits, 2**shift, noise)
    gains = gains_of(z, rewards)
    mask = 2 ** (bits * block) - 1
    return ByteGame(steps, noise, bits, shift, block, mask, z.t_max, gains, z.starts, streamed)


def byte_block(n_states: int, bits: int, kinds: int, most: int) -> int:
    """Return how many steps a look-up in a table of bytes has; 0 where there can be no such table."""
    block = 0
    while (
        block < min(LONGEST, most)
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
def pack_outcomes(key: np.uint64, cuts: Floats, bits: int, group: int, out: NDArray[np.uint32]) -> None:
    """Write the outcomes of z as words of two groups each."""
    for word in range(len(out)):
        packed = 0
        for j in range(2 * group):
            packed |= outcome(key, cuts, word * group + j) << bits * j
        out[word] = packed


@inlined_kernel
def outcomes_at(position: Short, game: ByteGame) -> Short:
    """Return the outcomes of the block of steps that begins at a position of the noise."""
    word: Any = game.noise[np.uint32(position >> game.shift)]
    return np.int32((word >> np.uint32(game.bits * (position & (1 << game.shift) - 1))) & game.mask)


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
    s, position, end, episode, steps, truncated, total, last = lane
    width, kinds, n_episodes = game.bits * game.block, game.gains.shape[0], len(game.starts)
    code = outcomes_at(position, game)
    for _ in range(look_ups):
        entry = np.int32(tables[np.uint32(at + ((s << width) | code))])
        position = np.int32(position + game.block)
        code = outcomes_at(position, game)  # for the next look-up, which need not wait for this one
        if entry < n_states and position < end:
            s = entry
            continue
        kind, t = kinds, game.t_max
        if entry >= n_states:
            t = position - game.block + 1 - (end - game.t_max) + (entry - n_states)
            kind = 0
            while t > position - (end - game.t_max):
                t -= game.block
                kind += 1
        total += last
        last = 0.0
        if entry < n_states or t > game.t_max:
            t = game.t_max
            truncated = np.int32(truncated + 1)
        elif kind == kinds:
            episode = np.int32(-1)
            break
        else:
            last = game.gains[kind, t]
        steps = np.int32(steps + t)
        episode = np.int32(episode + 1)
        if episode == n_episodes:
            total += last
            break
        s = game.starts[episode]
        position = steps if game.streamed else np.int32(episode * game.t_max)
        end = np.int32(position + game.t_max)
        code = outcomes_at(position, game)
    return Lane(s, position, end, episode, steps, truncated, total, last)
