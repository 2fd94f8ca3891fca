"""States, boxes and allowed actions as bit masks, on which shortest lists are searched and proven.

Only the order of a feature's values matters to a box, so every feature is replaced by ranks: 0 for the
smallest value that a state has, and so on. A set of states is a row of 64-bit words, bit s standing for state
s. The states inside a box are the AND over features of "rank up to the upper end" and "not below the lower".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import RuleError
from ifthen.jit import lean_kernel
from ifthen.rules.box import ONE, WORD, ZERO, words_for

PAIRS, FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
EIGHTS, BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
NO_LIMIT = 2**31
TWO, FOUR, TOP_BYTE = np.uint64(2), np.uint64(4), np.uint64(56)


class Bits(NamedTuple):
    """D states as bit masks of W words, ready for kernels."""

    ranks: NDArray[np.int64]
    """`(D, features)`: each state's value of each feature, as a rank."""
    sizes: NDArray[np.int64]
    """`(features,)`: the number of ranks."""
    up_to: NDArray[np.uint64]
    """`(features, largest size + 1, W)`: the states whose rank is below the index."""
    allowed: NDArray[np.uint64]
    """`(A, W)`: the states in which each action may be taken."""
    silent: NDArray[np.uint64]
    """`(W,)`: the states that no rule may match, because no action is allowed in them."""
    everything: NDArray[np.uint64]
    """`(W,)`: all states."""

    @property
    def open_ended(self) -> bool:
        """Whether some states must stay unmatched, so that the last rule cannot match everywhere."""
        return bool(self.silent.any())


def checked_table(states: ArrayLike, allowed: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return states `(D, features)` and allowed actions `(D, A)` as arrays, or raise."""
    points, table = np.asarray(states), np.asarray(allowed)
    if points.ndim != 2 or points.dtype.kind not in "iuf" or not points.size or not np.isfinite(points).all():
        raise RuleError(f"states must be finite numbers of shape (D, features), not {states!r}.")
    if table.dtype != np.bool_ or table.ndim != 2 or len(table) != len(points):
        raise RuleError(
            f"allowed actions must be truth values of shape ({len(points)}, A), one row for each state, "
            f"not {table.dtype} of {table.shape}."
        )
    if not table.any():
        raise RuleError("no action is allowed in any state: there is nothing that a rule could say.")
    return points.astype(np.float64), table


def merged(
    points: NDArray[np.float64], table: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return the states that differ, what is allowed in all that look like them, and the first of each."""
    different, first, group = np.unique(points, axis=0, return_index=True, return_inverse=True)
    together = np.ones((len(different), table.shape[1]), dtype=np.bool_)
    np.logical_and.at(together, group.ravel(), table)
    spoken = np.zeros(len(different), dtype=np.bool_)
    np.logical_or.at(spoken, group.ravel(), table.any(axis=1))
    torn = spoken & ~together.any(axis=1)
    if torn.any():
        raise RuleError(
            f"states that all have the features {different[torn][0].tolist()} allow no action in common: no "
            "rules over these features can tell them apart."
        )
    return different, together, first


def bits_of(states: NDArray[Any], allowed: NDArray[np.bool_]) -> Bits:
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


def packed(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return sets of states `(…, D)` as masks `(…, W)`."""
    size = members.shape[-1]
    words = np.zeros((*members.shape[:-1], words_for(size)), dtype=np.uint64)
    for s in range(size):
        words[..., s // WORD] |= members[..., s].astype(np.uint64) << np.uint64(s % WORD)
    return words


def unpacked(words: NDArray[np.uint64], size: int) -> NDArray[np.bool_]:
    """Return masks `(…, W)` as sets of states `(…, size)`."""
    at = np.arange(size)
    bits = words[..., at // WORD] >> (at % WORD).astype(np.uint64)
    return (bits & ONE).astype(np.bool_)


@lean_kernel
def count_bits(mask: np.uint64) -> int:
    """Return how many bits of a word are set."""
    mask = mask - ((mask >> ONE) & PAIRS)
    mask = (mask & FOURS) + ((mask >> TWO) & FOURS)
    mask = (mask + (mask >> FOUR)) & EIGHTS
    return np.int64((mask * BYTES) >> TOP_BYTE)  # type: ignore[return-value]  # an int, as Numba sees it


@lean_kernel
def states_inside(box: NDArray[np.int64], up_to: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Write the mask of the states inside a box of ranks `(features, 2)`, smaller end first."""
    for word in range(len(out)):
        mask = ~ZERO
        for d in range(len(box)):
            mask &= up_to[d, box[d, 1] + 1, word] & ~up_to[d, box[d, 0], word]
        out[word] = mask


@lean_kernel
def fewest_wrong(
    allowed: NDArray[np.uint64], inside: NDArray[np.uint64], left: NDArray[np.uint64]
) -> tuple[int, int]:
    """Return how many states of `inside` and `left` the best action is wrong for, and that action."""
    fewest, best = NO_LIMIT, 0
    for a in range(len(allowed)):
        wrong = 0
        for word in range(len(left)):
            wrong += count_bits(inside[word] & left[word] & ~allowed[a, word])
        if wrong < fewest:
            fewest, best = wrong, a
            if wrong == 0:
                break
    return fewest, best
