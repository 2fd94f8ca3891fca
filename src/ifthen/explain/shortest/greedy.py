"""A first decision list to start the search from: the largest box that can be had, again and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.shortest.bits import Bits, count_bits, states_inside
from ifthen.jit import kernel
from ifthen.rules.box import ONE, WORD, ZERO

MOST_SEEDS = 64
"""How many undecided states are tried as the seed of a box."""


def greedy_list(bits: Bits) -> NDArray[np.int64]:
    """Return the boxes `(n, features, 2)` of a list that decides every state rightly."""
    features, size = len(bits.sizes), len(bits.ranks)
    out = np.empty((size, features, 2), dtype=np.int64)
    return out[: peel(bits, bits.open_ended, bits.everything.copy(), out)].copy()


@kernel
def has_wrong(inside: NDArray[np.uint64], left: NDArray[np.uint64], right: NDArray[np.uint64]) -> bool:
    """Return whether a state of `inside` and `left` is not in `right`."""
    for word in range(len(inside)):  # noqa: SIM110  # kernels loop
        if inside[word] & left[word] & ~right[word] != ZERO:
            return True
    return False


@kernel
def grow(
    bits: Bits,
    left: NDArray[np.uint64],
    right: NDArray[np.uint64],
    first: int,
    box: NDArray[np.int64],
    inside: NDArray[np.uint64],
) -> None:
    """Widen a box whose states of `left` are all in `right` while that stays so, feature `first` first."""
    features = len(box)
    for turn in range(features):
        d = (first + turn) % features
        for end in range(2):
            step, last = (-1, 0) if end == 0 else (1, bits.sizes[d] - 1)
            good, reach = box[d, end], abs(last - box[d, end])
            sure = 0  # the end can go so far; halving finds how far, between this and `reach`
            while sure < reach:
                far = (sure + reach + 1) // 2
                box[d, end] = good + step * far
                states_inside(box, bits.up_to, inside)
                if has_wrong(inside, left, right):
                    reach = far - 1
                else:
                    sure = far
            box[d, end] = good + step * sure
    states_inside(box, bits.up_to, inside)


@kernel
def one_action_left(bits: Bits, open_ended: bool, left: NDArray[np.uint64]) -> bool:
    """Return whether the boxes suffice: a last rule that always matches, or none, can do the rest."""
    if open_ended:
        return not has_wrong(bits.everything, left, bits.silent)
    for a in range(len(bits.allowed)):  # noqa: SIM110  # kernels loop
        if not has_wrong(bits.everything, left, bits.allowed[a]):
            return True
    return False


@kernel
def largest(bits: Bits, left: NDArray[np.uint64], out: NDArray[np.int64]) -> None:
    """Write the box, grown around some undecided state, that decides most states rightly and none wrongly."""
    states, features = bits.ranks.shape
    box, inside = np.empty((features, 2), dtype=np.int64), np.empty_like(left)
    most = 0
    undecided = 0
    for word in range(len(left)):
        undecided += count_bits(left[word] & ~bits.silent[word])
    stride, seen = max(1, undecided // MOST_SEEDS), 0
    for s in range(states):
        word, bit = s // WORD, ONE << np.uint64(s % WORD)
        if left[word] & ~bits.silent[word] & bit == ZERO:
            continue
        seen += 1
        if seen % stride != 0:
            continue
        for a in range(len(bits.allowed)):
            if bits.allowed[a, word] & bit == ZERO:
                continue
            for first in range(features):
                for d in range(features):
                    box[d, 0] = bits.ranks[s, d]
                    box[d, 1] = bits.ranks[s, d]
                grow(bits, left, bits.allowed[a], first, box, inside)
                gain = 0
                for w in range(len(left)):
                    gain += count_bits(inside[w] & left[w])
                if gain > most:
                    most = gain
                    for d in range(features):
                        out[d, 0] = box[d, 0]
                        out[d, 1] = box[d, 1]


@kernel
def peel(bits: Bits, open_ended: bool, left: NDArray[np.uint64], out: NDArray[np.int64]) -> int:
    """Write the boxes of a list that decides all of `left` rightly, and return how many."""
    n, inside = 0, np.empty_like(left)
    while not one_action_left(bits, open_ended, left):
        largest(bits, left, out[n])
        states_inside(out[n], bits.up_to, inside)
        for word in range(len(left)):
            left[word] &= ~inside[word]
        n += 1
    return n
