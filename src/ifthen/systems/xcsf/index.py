"""Which rules match: the action set of every state and action, kept as a bit mask.

Bit r stands for slot r. A rule enters the masks of the states it matches when it is inserted and leaves them
when it is deleted. On a tabular task no match set is ever searched for: a step reads one mask per action, and
the states that a rule matches are themselves found by bit masks, from the states that have a feature "up to"
a value. An environment has no list of states: there are masks of two live rows, the state before and the
present one, and all rules are asked once when a new state arrives (see `xcsf_on_env.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel, lean_kernel
from ifthen.randomness import GOLDEN, mix
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit
from ifthen.systems.xcsf.xcsf_parameters import Reach, Settings
from ifthen.systems.xcsf.xcsf_population import NURSERY, Bounds, Classifiers, Records

HELD, ACTING = np.int64(0), np.int64(1)  # not literals: a function would be compiled for each


class Space(NamedTuple):
    """What is derived from a population, and memory that is used over and over."""

    masks: NDArray[np.uint64]
    """`(D, A, words)`: the action set of every state and action; D = 2 where rows are live."""
    up_to: NDArray[np.uint64]
    """`(features, widest + 1, state words)`: states whose feature is below each value;
    `(0, 0, 1)` where rows are live."""
    live: Floats
    """`(2, features)`: the states in live rows, NaN before there is one; `(0, features)` in tabular tasks."""
    sets: NDArray[np.uint64]
    """`(2, words)`: the action set that waits for its payoff (HELD), and the present one (ACTING)."""
    used: NDArray[np.uint64]
    """`(words,)`: the slots in use."""
    members: Ints
    """`(capacity,)`: slots of the set at hand."""
    numbers: Floats
    """`(capacity,)`: accuracies or votes of the rules at hand."""
    inputs: Floats
    """`(D, features + 1)`: x = (x0, s)."""
    array: Floats
    """`(A,)`: the prediction array of the present state."""
    gains: Floats
    """`(features + 1,)`: scratch of RLS."""


class Learning(NamedTuple):
    """All that a step of learning reads and writes."""

    model: Any
    """Where rules meet states: a table's `Dynamics`, or `Live` rows."""
    classifiers: Classifiers
    space: Space
    settings: Settings
    """A record array of one."""
    reach: Reach


@kernel
def states_up_to(
    states: NDArray[np.int32], lows: NDArray[np.int32], widest: int, out: NDArray[np.uint64]
) -> None:
    """Write `Space.up_to`, into zeros, for states `(D, features)`."""
    for s in range(states.shape[0]):
        for d in range(states.shape[1]):
            for value in range(states[s, d] - lows[d] + 1, widest + 1):
                out[d, value, s // WORD] |= ONE << np.uint64(s % WORD)


@kernel
def new_space(
    classifiers: Classifiers,
    held: Mask,
    by_box: bool,
    inputs: Floats,
    up_to: NDArray[np.uint64],
    live: Floats,
    lows: Bounds,
    n_actions: int,
) -> Space:
    """Return the space of a population, its index built; `held` is the set that waits for its payoff."""
    rules = classifiers.rules
    capacity, n_features, _ = classifiers.bounds.shape
    n_states, n_words = len(inputs), (capacity - NURSERY) // WORD
    space = Space(
        np.zeros((n_states, n_actions, n_words), dtype=np.uint64),
        up_to,
        live,
        np.zeros((2, n_words), dtype=np.uint64),
        np.zeros(n_words, dtype=np.uint64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.float64),
        inputs,
        np.empty(n_actions, dtype=np.float64),
        np.empty(n_features + 1, dtype=np.float64),
    )
    for r in range(len(held)):
        if rules[r].numerosity > 0:
            enter(r, classifiers, space, by_box, lows)
            if held[r]:
                space.sets[HELD, r // WORD] |= ONE << np.uint64(r % WORD)
    return space


@lean_kernel
def bits_of(value: float) -> np.uint64:
    """Return the bits of a number as a real one; equal numbers have the same, for there is no −0."""
    return np.float64(value).view(np.uint64)


@lean_kernel
def rule_key(r: int, rules: Records, bounds: Bounds, by_box: bool) -> np.uint64:
    """Return a number for the condition and action of rule r that equal rules share."""
    key = mix(np.uint64(rules[r].action + 1))
    for d in range(bounds.shape[1]):
        bound_a, bound_b = bounds[r, d, 0], bounds[r, d, 1]
        if by_box and bound_a > bound_b:
            bound_a, bound_b = bound_b, bound_a
        key = mix(key ^ (bits_of(bound_a) + GOLDEN * bits_of(bound_b)))
    return key


@lean_kernel
def matches_live(r: int, row: int, bounds: Bounds, live: Floats) -> bool:
    """Return whether rule r matches the state in a live row; none matches NaN."""
    for d in range(bounds.shape[1]):
        bound_a, bound_b, value = bounds[r, d, 0], bounds[r, d, 1], live[row, d]
        if not (min(bound_a, bound_b) <= value <= max(bound_a, bound_b)):
            return False
    return True


@lean_kernel
def matched_live(r: int, bounds: Bounds, live: Floats) -> np.uint64:
    """Return which live rows rule r matches."""
    matched = ZERO
    for row in range(len(live)):
        if matches_live(r, row, bounds, live):
            matched |= ONE << np.uint64(row)
    return matched


@lean_kernel
def matched_states(
    r: int, word: int, bounds: Bounds, up_to: NDArray[np.uint64], live: Floats, lows: Bounds
) -> np.uint64:
    """Return which of the 64 states of a word of states, or of the live rows, rule r matches."""
    if len(live) > 0:
        return matched_live(r, bounds, live)
    matched = ~ZERO
    for d in range(bounds.shape[1]):
        bound_a, bound_b = int(bounds[r, d, 0] - lows[d]), int(bounds[r, d, 1] - lows[d])
        matched &= up_to[d, max(bound_a, bound_b) + 1, word] & ~up_to[d, min(bound_a, bound_b), word]
    return matched


@lean_kernel
def flip_bits(r: int, classifiers: Classifiers, space: Space, lows: Bounds) -> None:
    """Flip the bit of rule r in the masks of all the states that it matches."""
    word, bit, a = r // WORD, ONE << np.uint64(r % WORD), classifiers.rules[r].action
    for w in range(space.up_to.shape[2]):
        matched = matched_states(r, w, classifiers.bounds, space.up_to, space.live, lows)
        while matched != ZERO:
            s = w * WORD + lowest_bit(matched)
            matched &= matched - ONE
            space.masks[s, a, word] ^= bit


@lean_kernel
def enter(r: int, classifiers: Classifiers, space: Space, by_box: bool, lows: Bounds) -> None:
    """Enter rule r into the index."""
    space.used[r // WORD] |= ONE << np.uint64(r % WORD)
    classifiers.rules[r].key = rule_key(r, classifiers.rules, classifiers.bounds, by_box)
    flip_bits(r, classifiers, space, lows)


@lean_kernel
def remove(r: int, classifiers: Classifiers, space: Space, lows: Bounds) -> None:
    """Free the slot of rule r, and take the rule out of every set."""
    word, all_but_r = r // WORD, ~(ONE << np.uint64(r % WORD))
    flip_bits(r, classifiers, space, lows)
    classifiers.rules[r].numerosity = 0
    classifiers.rules[r].fitness = 0.0
    space.used[word] &= all_but_r
    space.sets[HELD, word] &= all_but_r
    space.sets[ACTING, word] &= all_but_r


@lean_kernel
def free_slot(used: NDArray[np.uint64]) -> int:
    """Return the lowest free slot."""
    word = 0
    while word < len(used) - 1 and used[word] == ~ZERO:
        word += 1
    return word * WORD + lowest_bit(~used[word])


@lean_kernel
def same_rule(r: int, child: int, rules: Records, bounds: Bounds, by_box: bool) -> bool:
    """Return whether two rules have the same action and the same box, or the same alleles."""
    for d in range(bounds.shape[1]):
        equal = bounds[r, d, 0] == bounds[child, d, 0] and bounds[r, d, 1] == bounds[child, d, 1]
        mirrored = bounds[r, d, 0] == bounds[child, d, 1] and bounds[r, d, 1] == bounds[child, d, 0]
        if not (equal or (by_box and mirrored)):
            return False
    return bool(rules[r].action == rules[child].action)


@lean_kernel
def equal_rule(child: int, classifiers: Classifiers, space: Space, by_box: bool, lows: Bounds) -> int:
    """Return the slot of the rule with the condition and action of `child`, −1 where there is none.

    A rule equal to the child matches every state that the child does, so it is looked for in one of their
    masks; only a child that matches no state, or none that is live, is compared with every rule.
    """
    rules, bounds = classifiers.rules, classifiers.bounds
    key, a = rule_key(child, rules, bounds, by_box), rules[child].action
    s = -1
    for w in range(space.up_to.shape[2]):
        matched = matched_states(child, w, bounds, space.up_to, space.live, lows)
        if matched != ZERO:
            s = w * WORD + lowest_bit(matched)
            break
    for word in range(len(space.used)):
        mask = space.masks[s, a, word] if s >= 0 else space.used[word]
        while mask != ZERO:
            r = word * WORD + lowest_bit(mask)
            mask &= mask - ONE
            if rules[r].key == key and same_rule(r, child, rules, bounds, by_box):
                return r
    return -1


@lean_kernel
def list_members(sets: NDArray[np.uint64], set_index: np.int64, out: Ints) -> int:
    """Write the slots of set number `set_index` in increasing order; return how many there are."""
    n = 0
    for word in range(sets.shape[1]):
        bits = sets[set_index, word]
        while bits != ZERO:
            out[n] = word * WORD + lowest_bit(bits)
            bits &= bits - ONE
            n += 1
    return n


@lean_kernel
def mark_members(sets: NDArray[np.uint64], set_index: np.int64, out: Mask) -> None:
    """Write which slots are in set number `set_index`."""
    for r in range(len(out)):
        out[r] = (sets[set_index, r // WORD] >> np.uint64(r % WORD)) & ONE != ZERO
