"""States, boxes and allowed actions as bit masks, and a first list: the largest box, again and again.

Only the order of a feature's values matters to a box, so every feature is replaced by ranks: 0 for the
smallest value that a state has, and so on. A set of states is a row of 64-bit words; bit s means state
s. The states inside a box are the AND over features of "rank up to the upper end" and "not below the lower".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError
from ifthen.jit import kernel, lean_kernel
from ifthen.rules.arrays import Ints, Mask
from ifthen.rules.box import ONE, WORD, ZERO, words_for

Words = NDArray[np.uint64]
"""Sets of states, one bit for each."""
PAIRS, FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
EIGHTS, BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
NO_LIMIT = 2**31
TWO, FOUR, TOP_BYTE = np.uint64(2), np.uint64(4), np.uint64(56)


class Bits(NamedTuple):
    """D states as bit masks of W words, ready for kernels."""

    ranks: Ints
    """`(D, features)`: each state's value of each feature, as a rank."""
    sizes: Ints
    """`(features,)`: the number of ranks."""
    up_to: Words
    """`(features, largest size + 1, W)`: the states whose rank is below the index."""
    allowed: Words
    """`(A, W)`: the states in which each action may be taken."""
    silent: Words
    """`(W,)`: the states that no rule may match, because no action is allowed in them."""
    everything: Words
    """`(W,)`: all states."""

    @property
    def open_ended(self) -> bool:
        """Whether some states must stay unmatched, so that the last rule cannot match everywhere."""
        return bool(self.silent.any())

    @property
    def whole(self) -> Ints:
        """The box that holds everything, `(features, 2)`."""
        return np.stack([np.zeros_like(self.sizes), self.sizes - 1], axis=-1)

    def held(self, box: Ints) -> Mask:
        """Return which states lie inside a box `(features, 2)`, `(D,)`."""
        return np.asarray(((self.ranks >= box[:, 0]) & (self.ranks <= box[:, 1])).all(axis=1))


def merged(points: NDArray[Any], table: Mask) -> tuple[NDArray[Any], Mask, Ints]:
    """Return the states that differ, what is allowed in all that look like them, and the first of each."""
    different, first_index, group = np.unique(points, axis=0, return_index=True, return_inverse=True)
    in_common = np.ones((len(different), table.shape[1]), dtype=np.bool_)
    np.logical_and.at(in_common, group.ravel(), table)
    has_action = np.zeros(len(different), dtype=np.bool_)
    np.logical_or.at(has_action, group.ravel(), table.any(axis=1))
    torn = has_action & ~in_common.any(axis=1)
    if torn.any():
        raise RuleError(
            f"states that all have the features {different[torn][0].tolist()} allow no action in common: no "
            "rules over these features can tell them apart."
        )
    return different, in_common, first_index


def bits_of(states: NDArray[Any], allowed: Mask) -> Bits:
    """Return states `(D, features)` with their allowed actions `(D, A)` as bit masks."""
    columns = [np.unique(column, return_inverse=True) for column in states.T]
    ranks = np.stack([rank for _, rank in columns], axis=1).astype(np.int64)
    sizes = np.array([len(values) for values, _ in columns], dtype=np.int64)
    steps = np.arange(sizes.max() + 1)
    below = np.less(ranks.T[:, None, :], steps[None, :, None])
    return Bits(
        ranks,
        sizes,
        packed(below),
        packed(np.ascontiguousarray(allowed.T)),
        packed(np.logical_not(allowed.any(axis=1))),
        packed(np.ones(len(states), dtype=np.bool_)),
    )


def packed(members: Mask) -> Words:
    """Return sets of states `(…, D)` as masks `(…, W)`."""
    size = members.shape[-1]
    padded = np.zeros((*members.shape[:-1], words_for(size) * WORD), dtype=np.bool_)
    padded[..., :size] = members
    return np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64)


def unpacked(words: Words, size: int) -> Mask:
    """Return masks `(…, W)` as sets of states `(…, size)`."""
    octets = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=size, bitorder="little").astype(np.bool_)


@lean_kernel
def count_bits(mask: np.uint64) -> int:
    """Return how many bits of a word are set."""
    mask = mask - ((mask >> ONE) & PAIRS)
    mask = (mask & FOURS) + ((mask >> TWO) & FOURS)
    mask = (mask + (mask >> FOUR)) & EIGHTS
    return np.int64((mask * BYTES) >> TOP_BYTE)  # type: ignore[return-value]  # an int, as Numba sees it


@lean_kernel
def states_inside(box: Ints, up_to: Words, out: Words) -> None:
    """Write the mask of the states inside a box of ranks `(features, 2)`, smaller end first."""
    for word in range(len(out)):
        mask = ~ZERO
        for d in range(len(box)):
            mask &= up_to[d, box[d, 1] + 1, word] & ~up_to[d, box[d, 0], word]
        out[word] = mask


@lean_kernel
def fewest_wrong(allowed: Words, inside: Words, undecided: Words) -> int:
    """Return how many states of `inside` and `undecided` the best action is wrong for."""
    fewest = NO_LIMIT
    for a in range(len(allowed)):
        wrong = 0
        for word in range(len(undecided)):
            wrong += count_bits(inside[word] & undecided[word] & ~allowed[a, word])
        if wrong < fewest:
            fewest = wrong
            if wrong == 0:
                break
    return fewest


MOST_SEEDS = 64
"""How many undecided states are tried as the seed of a box."""


def greedy_list(bits: Bits) -> Ints:
    """Return the boxes `(n, features, 2)` of a list that decides every state rightly."""
    features, size = len(bits.sizes), len(bits.ranks)
    out = np.empty((size, features, 2), dtype=np.int64)
    return out[: peel(bits, bits.open_ended, bits.everything.copy(), out)].copy()


@kernel
def has_wrong(inside: Words, undecided: Words, right: Words) -> bool:
    """Return whether a state of `inside` and `undecided` is not in `right`."""
    for word in range(len(inside)):  # noqa: SIM110  # kernels loop
        if inside[word] & undecided[word] & ~right[word] != ZERO:
            return True
    return False


@kernel
def grow(bits: Bits, undecided: Words, right: Words, first_feature: int, box: Ints, inside: Words) -> None:
    """Widen a box whose undecided states are all in `right` while that stays so, `first_feature` first."""
    features = len(box)
    for turn in range(features):
        d = (first_feature + turn) % features
        for end in range(2):
            step, last = (-1, 0) if end == 0 else (1, bits.sizes[d] - 1)
            start, reach = box[d, end], abs(last - box[d, end])
            sure = 0  # the end can go so far; halving finds how far, between this and `reach`
            while sure < reach:
                middle = (sure + reach + 1) // 2
                box[d, end] = start + step * middle
                states_inside(box, bits.up_to, inside)
                if has_wrong(inside, undecided, right):
                    reach = middle - 1
                else:
                    sure = middle
            box[d, end] = start + step * sure
    states_inside(box, bits.up_to, inside)


@kernel
def one_action_left(bits: Bits, open_ended: bool, undecided: Words) -> bool:
    """Return whether the boxes suffice: a last rule that always matches, or none, can do the rest."""
    if open_ended:
        return not has_wrong(bits.everything, undecided, bits.silent)
    for a in range(len(bits.allowed)):  # noqa: SIM110  # kernels loop
        if not has_wrong(bits.everything, undecided, bits.allowed[a]):
            return True
    return False


@kernel
def largest(bits: Bits, undecided: Words, out: Ints) -> None:
    """Write the box, grown around some undecided state, that decides most states rightly and none wrongly."""
    states, features = bits.ranks.shape
    box, inside = np.empty((features, 2), dtype=np.int64), np.empty_like(undecided)
    most = 0
    n_undecided = 0
    for word in range(len(undecided)):
        n_undecided += count_bits(undecided[word] & ~bits.silent[word])
    stride, n_seen = max(1, n_undecided // MOST_SEEDS), 0
    for s in range(states):
        word, bit = s // WORD, ONE << np.uint64(s % WORD)
        if undecided[word] & ~bits.silent[word] & bit == ZERO:
            continue
        n_seen += 1
        if n_seen % stride != 0:
            continue
        for a in range(len(bits.allowed)):
            if bits.allowed[a, word] & bit == ZERO:
                continue
            for first_feature in range(features):
                for d in range(features):
                    box[d, 0] = bits.ranks[s, d]
                    box[d, 1] = bits.ranks[s, d]
                grow(bits, undecided, bits.allowed[a], first_feature, box, inside)
                gain = 0
                for w in range(len(undecided)):
                    gain += count_bits(inside[w] & undecided[w])
                if gain > most:
                    most = gain
                    for d in range(features):
                        out[d, 0] = box[d, 0]
                        out[d, 1] = box[d, 1]


@kernel
def peel(bits: Bits, open_ended: bool, undecided: Words, out: Ints) -> int:
    """Write the boxes of a list that decides all of `undecided` rightly, and return how many."""
    n, inside = 0, np.empty_like(undecided)
    while not one_action_left(bits, open_ended, undecided):
        largest(bits, undecided, out[n])
        states_inside(out[n], bits.up_to, inside)
        for word in range(len(undecided)):
            undecided[word] &= ~inside[word]
        n += 1
    return n
