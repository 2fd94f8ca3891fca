"""Searching short decision lists: annealing a list of boxes until no state is decided wrongly.

A candidate is a number of boxes in order, their actions left out: the best action of a box is the one that is
allowed in most of the states it newly decides. The cost is the number of states that get a wrong action.
Annealing moves an end of an interval, a box, or a rule's place in the order. When the cost is 0 the list is
noted, the rule that is missed least is dropped, and the same run goes on with one rule fewer.

Where every state has an allowed action, one more rule that always matches stands behind the boxes, unwritten.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ifthen.jit import lean_kernel
from ifthen.randomness import below, uniform
from ifthen.rules.arrays import Ints
from ifthen.simplify.shortest.bits import NO_LIMIT, Bits, Words, count_bits, fewest_wrong, states_inside

HOT = 0.18
"""The first temperature: a move with one more wrong state is accepted once in 260."""
COLD = 0.08
"""The last temperature: such a move is accepted once in 270,000."""
TRADED = 12
"""A move is a number below 100. Below this one, two rules trade places."""
PLACED = 25
"""From TRADED up to this number, a move puts a rule elsewhere."""
NUDGED = 55
"""From PLACED up to this number, a move moves an end of an interval by one."""
SET = 85
"""From NUDGED up to this number, a move puts an end of an interval anywhere."""
SHIFTED = 93
"""From SET up to this number, a move shifts an interval. Larger ones draw a new box."""
EDGE = 1e-300  # so that no logarithm of 0 is asked for


class Candidate(NamedTuple):
    """A list of boxes under change, with the undecided states and the cost at every place."""

    bounds: Ints
    """`(n, features, 2)`: boxes of ranks, in no order."""
    masks: Words
    """`(n, W)`: the states inside each."""
    order: Ints
    """`(n,)`: the box at each place of the list."""
    undecided: Words
    """`(n + 1, W)`: the states that are undecided before each place."""
    costs: Ints
    """`(n + 1,)`: how many states are decided wrongly before each place."""


def improved(bits: Bits, boxes: Ints, key: np.uint64, moves: int, enough: int = 0) -> Ints | None:
    """Return the boxes of the shortest right list of one run of annealing, or None where none was right.

    Args:
        bits: the states.
        boxes: the boxes to start from, `(n, features, 2)`.
        key: the stream of random numbers.
        moves: how many moves are tried.
        enough: a right list of this many boxes ends the run.
    """
    out = np.empty_like(boxes)
    current, trial = _candidate(bits, boxes), _candidate(bits, boxes)
    # One move more than asked for looks at the last one's outcome.
    length = anneal(bits, bits.open_ended, current, trial, key, moves + 1, enough, out)
    return None if length < 0 else out[:length].copy()


def _candidate(bits: Bits, boxes: Ints) -> Candidate:
    """Return the boxes, in the order given, as a list to be changed."""
    n, words = len(boxes), len(bits.everything)
    masks, undecided = np.empty((n, words), dtype=np.uint64), np.zeros((n + 1, words), dtype=np.uint64)
    for box, mask in zip(boxes, masks, strict=True):
        states_inside(box, bits.up_to, mask)
    undecided[0] = bits.everything
    return Candidate(boxes.copy(), masks, np.arange(n), undecided, np.zeros(n + 1, dtype=np.int64))


@lean_kernel
def price(bits: Bits, open_ended: bool, list_: Candidate, first_place: int, length: int, limit: int) -> int:
    """Return the cost of a list, looked at from `first_place` on; some number above `limit` if it is above.

    What is known of the places behind it is written anew.
    """
    cost = int(list_.costs[first_place])
    for place in range(first_place, length):
        rule = list_.order[place]
        inside, undecided = list_.masks[rule], list_.undecided[place]
        cost += fewest_wrong(bits.allowed, inside, undecided)
        if cost > limit:
            return cost
        for word in range(len(undecided)):
            list_.undecided[place + 1, word] = undecided[word] & ~inside[word]
        list_.costs[place + 1] = cost
    if not open_ended:
        return cost + fewest_wrong(bits.allowed, bits.everything, list_.undecided[length])
    for word in range(len(bits.silent)):
        cost += count_bits(list_.undecided[length, word] & ~bits.silent[word])
    return cost


@lean_kernel
def put(order: Ints, source: int, target: int) -> None:
    """Move the rule at place `source` to place `target`."""
    rule = order[source]
    step = 1 if source < target else -1
    for place in range(source, target, step):
        order[place] = order[place + step]
    order[target] = rule


@lean_kernel
def renew(bits: Bits, box: Ints, key: np.uint64, draw: int) -> None:
    """Make a box anew around a random state."""
    s = below(key, draw, len(bits.ranks))
    for d in range(len(box)):
        rank = bits.ranks[s, d]
        draws = draw + 1 + 3 * d
        kind = below(key, draws, 4)
        box[d, 0] = rank if kind % 2 == 0 else below(key, draws + 1, rank + 1)
        box[d, 1] = rank if kind < 2 else rank + below(key, draws + 2, bits.sizes[d] - rank)


@lean_kernel
def reshape(bits: Bits, box: Ints, move: int, key: np.uint64, draw: int) -> bool:
    """Move an end of an interval or the interval; return whether that was possible."""
    d = below(key, draw, len(box))
    end, step = below(key, draw + 1, 2), 2 * below(key, draw + 2, 2) - 1
    if move >= SET:
        if box[d, 0] + step < 0 or box[d, 1] + step >= bits.sizes[d]:
            return False
        box[d, 0] += step
        box[d, 1] += step
        return True
    value = box[d, end] + step if move < NUDGED else below(key, draw + 3, bits.sizes[d])
    if value < 0 or value >= bits.sizes[d]:
        return False
    box[d, end] = value
    if box[d, 0] > box[d, 1]:
        box[d, 0], box[d, 1] = box[d, 1], box[d, 0]
    return True


@lean_kernel
def propose(bits: Bits, list_: Candidate, length: int, key: np.uint64, draw: int) -> tuple[int, int]:
    """Change the list by a random move; return the first place that changed and the changed box, −1 for none.

    The first place is −1 where the move was not possible.
    """
    move, source, target = (
        below(key, draw + 1, 100),
        below(key, draw + 2, length),
        below(key, draw + 3, length),
    )
    first_place = min(source, target)
    if move < PLACED:
        if source == target:
            return -1, -1
        if move < TRADED:
            rule = list_.order[source]
            list_.order[source], list_.order[target] = list_.order[target], rule
        else:
            put(list_.order, source, target)
        return first_place, -1
    rule = list_.order[source]
    if move < SHIFTED:
        if not reshape(bits, list_.bounds[rule], move, key, draw + 4):
            return -1, -1
        first_place = source
    else:
        renew(bits, list_.bounds[rule], key, draw + 4)
        put(list_.order, source, target)
    states_inside(list_.bounds[rule], bits.up_to, list_.masks[rule])
    return first_place, rule


@lean_kernel
def drop_least(bits: Bits, open_ended: bool, list_: Candidate, length: int) -> None:
    """Put the rule that is missed least to the end of the list, of which it is then no longer a part."""
    best, least = length - 1, NO_LIMIT
    for place in range(length - 1, -1, -1):
        put(list_.order, place, length - 1)
        cost = price(bits, open_ended, list_, place, length - 1, least)
        if cost < least:
            best, least = place, cost
        put(list_.order, length - 1, place)
        price(bits, open_ended, list_, place, length, NO_LIMIT)
    put(list_.order, best, length - 1)


@lean_kernel
def copy_from(source: Candidate, target: Candidate, first_place: int, length: int, rule: int) -> None:
    """Make `target` equal to `source`, which differ from `first_place` on and in one box, −1 for none."""
    for place in range(first_place, length + 1):
        if place < length:
            target.order[place] = source.order[place]
        target.costs[place] = source.costs[place]
        for word in range(source.undecided.shape[1]):
            target.undecided[place, word] = source.undecided[place, word]
    if rule >= 0:
        for word in range(source.masks.shape[1]):
            target.masks[rule, word] = source.masks[rule, word]
        for d in range(source.bounds.shape[1]):
            target.bounds[rule, d, 0] = source.bounds[rule, d, 0]
            target.bounds[rule, d, 1] = source.bounds[rule, d, 1]


@lean_kernel
def anneal(
    bits: Bits,
    open_ended: bool,
    current: Candidate,
    trial: Candidate,
    key: np.uint64,
    moves: int,
    enough: int,
    out: Ints,
) -> int:
    """Write the boxes of the shortest right list, in order, and return how many; −1 where none was right.

    `current` and `trial` are two equal lists with their masks; a list of `enough` boxes ends the run.
    """
    length, best_length, draws_per_move = len(current.order), -1, 8 + 3 * current.bounds.shape[1]
    cost = price(bits, open_ended, current, 0, length, NO_LIMIT)
    copy_from(current, trial, 0, length, -1)
    for move in range(moves):
        while cost == 0:
            best_length = length
            for place in range(length):
                for d in range(out.shape[1]):
                    out[place, d, 0] = current.bounds[current.order[place], d, 0]
                    out[place, d, 1] = current.bounds[current.order[place], d, 1]
            if length <= enough or length == 0:
                return best_length
            drop_least(bits, open_ended, current, length)
            length -= 1
            cost = price(bits, open_ended, current, 0, length, NO_LIMIT)
            copy_from(current, trial, 0, length, -1)
        if length == 0:
            return best_length
        temperature = HOT * (COLD / HOT) ** (move / moves)
        draw = move * draws_per_move
        limit = cost + int(-temperature * math.log(uniform(key, draw) + EDGE))
        first_place, rule = propose(bits, trial, length, key, draw)
        if first_place < 0:
            continue
        price_now = price(bits, open_ended, trial, first_place, length, limit)
        if price_now <= limit:
            cost = price_now
            copy_from(trial, current, first_place, length, rule)
        else:
            copy_from(current, trial, first_place, length, rule)
    return best_length
