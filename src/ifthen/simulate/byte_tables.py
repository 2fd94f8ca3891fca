"""Policies as tables of bytes, for a GPU: small enough for the memory near its processors.

In a table where only the last step of an episode carries reward, a policy needs no rewards to be played. What
an episode gains is known from its length and from the kind of its end. So an entry of a policy's table of
`block` steps is one byte:
- below D, the state after the block;
- from D on, an end: D + kind · block + j, where step j = 0, 1, … of the block ends the episode. The last kind
  is that of a state without a rule.

Noise has two bits for each outcome. A word holds the outcomes of a group of steps and of the group after it.
So it has those of any block that begins in the group, and of the block after that: the next word can be on
its way from memory while this one is used. In entries of tables, outcomes are digits in base 3.

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

BYTES_EACH = 4096
"""The most bytes of a policy's table. Larger tables take fewer look-ups, but fewer policies fit at a time."""
OUTCOME_BITS = 2
GROUP_SHIFT = 3
"""A group has 2**3 steps: two groups fill a word of 32 bits."""
GROUP = 2**GROUP_SHIFT
BASE = np.uint32(3)
LONGEST, LONGEST_OF_ONE = GROUP // 2, GROUP
"""The most steps of a look-up, in general and where every step has but one outcome."""
Short = Any
"""A whole number of 32 bits: a GPU takes two instructions for one of 64."""


class ByteGame(NamedTuple):
    """What all policies of a task share that are played as tables of bytes."""

    steps: NDArray[np.uint8]
    """`(D, A, base)`: the entry of one step. Outcomes that there are not have 0."""
    noise: NDArray[np.uint32]
    """`(groups,)`: the outcomes of z, the earliest the lowest bits."""
    mask: int
    """The bits of a block's outcomes in the noise."""
    block: int
    """Steps of a look-up."""
    share: int
    """256 / block, rounded up: multiplying is faster than dividing by `block`."""
    base: int
    """3, or 1 where every step has but one outcome."""
    width: int
    """base**block, the entries of a state."""
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
    n_states, n_actions, outcomes = model.next_state.shape
    ends = model.next_state < 0
    rewards = np.unique(np.append(model.reward[ends], 0.0))
    base = 1 if outcomes == 1 else 3
    block = byte_block(n_states, base, len(rewards) + 1, z.t_max)
    if not z.sparse or z.row < z.t_max or outcomes > 3 or block == 0:
        return None
    steps = np.zeros((n_states, n_actions, base), dtype=np.uint8)
    kinds = np.searchsorted(rewards, model.reward)
    steps[:, :, :outcomes] = np.where(ends, n_states + kinds * block, model.next_state)
    noise = np.empty((len(z.memo) + block) // GROUP + 2, dtype=np.uint32)
    pack_outcomes(z.key, z.cuts, noise)
    mask = 0 if base == 1 else 2 ** (OUTCOME_BITS * block) - 1
    share, gains, starts = (
        -(-256 // block),
        gains_of(z, rewards).ravel(),
        z.starts.astype(np.uint8),
    )
    shape = block, share, base, base**block
    return ByteGame(steps, noise, mask, *shape, z.t_max, len(rewards), gains, starts, streamed)


def byte_block(n_states: int, base: int, kinds: int, t_max: int) -> int:
    """Return how many steps a look-up in a table of bytes has; 0 where there can be no such table."""
    block, most = 0, min(t_max, LONGEST_OF_ONE if base == 1 else LONGEST)
    while (
        block < most
        and n_states * base ** (block + 1) <= BYTES_EACH
        and n_states + kinds * (block + 1) <= 256
        and kinds * (block + 1) <= 64  # so far a share gives the bits of a quotient
    ):
        block += 1
    return block


def gains_of(z: Plan, rewards: Floats) -> Floats:
    """Return what episodes gain by their length, `(rewards + 1, t_max + 1)`; 0 in the last row."""
    before = np.maximum(np.arange(z.t_max + 1) - 1, 0)
    first = before // z.block * z.block
    in_block = z.discounts[first] * (z.discounts[before - first] * rewards[:, None])
    # Steps that do not fill a block are played one by one.
    gains = np.where(first + z.block <= z.t_max, in_block, z.discounts[before] * rewards[:, None])
    return np.vstack([gains, np.zeros(z.t_max + 1)])


@kernel
def pack_outcomes(key: np.uint64, cuts: Floats, out: NDArray[np.uint32]) -> None:
    """Write the outcomes of z as words of two groups each, the earliest the lowest bits."""
    for word in range(len(out)):
        packed = 0
        for j in range(2 * GROUP):
            packed |= outcome(key, cuts, word * GROUP + j) << OUTCOME_BITS * j
        out[word] = packed


@inlined_kernel
def outcomes_in(word: Any, at: Short, mask: Short) -> Short:
    """Return the outcomes of the block that begins with step number `at` of a word, as a number in base 3."""
    packed = np.int32(word >> np.uint32(OUTCOME_BITS * at & 31)) & mask
    # From base 4: 3**i = 4**i − (4**(i − 1) + 3 · 4**(i − 2) + 9 · 4**(i − 3) + …)
    return np.int32(packed - (packed >> 2) - 3 * (packed >> 4) - 9 * (packed >> 6))


@inlined_kernel
def first_byte(item: int, actions: NDArray[np.int16], game: ByteGame) -> int:
    """Return entry number `item` of a policy's table of one step."""
    s = np.uint32(item) // np.uint32(game.base)
    k = np.uint32(item) - s * np.uint32(game.base)
    a = actions[s]
    if a < 0:
        return len(actions) + game.kinds * game.block
    return int(game.steps[s, a, k])


@inlined_kernel
def byte_of_block(entry: int, firsts: NDArray[np.uint8], n_states: int, game: ByteGame) -> Short:
    """Return an entry of a policy's table of blocks, given its table of one step."""
    s: Any = np.uint32(entry) // np.uint32(game.width)
    rest: Any = np.uint32(np.uint32(entry) - s * np.uint32(game.width))
    for j in range(game.block):
        byte = firsts[np.uint32(np.uint32(s * np.uint32(game.base)) + rest % BASE)]
        if byte >= n_states:
            return np.int32(np.int32(byte) + j)
        s, rest = np.uint32(byte), np.uint32(rest // BASE)
    return np.int32(s)


@inlined_kernel
def new_lane(game: ByteGame) -> Lane:
    """Return where a policy begins."""
    nothing, none = np.int32(0), 0.0
    return Lane(
        np.int32(game.starts[0]), nothing, np.int32(game.t_max), nothing, nothing, nothing, none, none
    )


@inlined_kernel
def play_on(lane: Lane, look_ups: int, table: NDArray[np.uint8], n_states: int, game: ByteGame) -> Lane:
    """Play a policy for some look-ups, or to its end.

    Args:
        lane: where it is.
        look_ups: how many.
        table: its table of blocks.
        n_states: D.
        game: what all policies share.
    """
    # Numbers have 32 bits, and ends are handled without branches: a GPU is slow at others.
    s, position, end, episode, steps, truncated, total, last = lane
    kinds, episodes = np.int32(game.kinds), np.int32(len(game.starts))
    block, t_max, states = np.int32(game.block), np.int32(game.t_max), np.int32(n_states)
    width, mask, left = np.int32(game.width), np.int32(game.mask), np.int32(look_ups)
    word, begins = game.noise[np.uint32(position >> GROUP_SHIFT)], position & -GROUP
    code = outcomes_in(word, position - begins, mask)
    while left > 0:
        left = np.int32(left - 1)
        entry = np.int32(table[np.uint32(np.int32(s * width) + code)])
        position = np.int32(position + block)
        ahead = outcomes_in(word, position - begins, mask)  # need not wait for the entry
        if (entry >= states) | (position >= end):
            after = np.int32(entry - states)
            kind = np.int32(after * np.int32(game.share) >> 8)
            t = np.int32(np.int32(position - end + t_max) - block + 1 + after - np.int32(kind * block))
            cut = (entry < states) | (t > t_max)
            if (kind == kinds) & (not cut):
                episode = np.int32(-1)
                break
            t, kind = (t_max, kinds) if cut else (t, kind)
            truncated = np.int32(truncated + (1 if cut else 0))
            total += last
            last = game.gains[np.uint32(np.int32(kind * np.int32(t_max + 1)) + t)]
            steps = np.int32(steps + t)
            episode = np.int32(episode + 1)
            if episode == episodes:
                total += last
                break
            s = np.int32(game.starts[np.uint32(episode)])
            came_to = position
            position = steps if game.streamed else np.int32(episode * t_max)
            end = np.int32(position + t_max)
            if not game.streamed:
                word, begins = game.noise[np.uint32(position >> GROUP_SHIFT)], position & -GROUP
            own = outcomes_in(word, position - begins, mask)
            code = ahead if position == came_to else own
        else:
            s, code = entry, ahead
        word, begins = game.noise[np.uint32(position >> GROUP_SHIFT)], position & -GROUP
    return Lane(s, position, end, episode, steps, truncated, total, last)
