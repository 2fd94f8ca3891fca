"""Deciding whether a few states can be decided by k rules: exhaustive search that learns from what fails.

Take a set R of undecided states. A rule decides the states N of R inside its box, if its action is allowed in
all of them. R takes k rules if for some such N the rest R − N takes k − 1. Only N inside no other N need be
tried, as fewer states never take more rules. For the same reason a failure is a fact about every larger set:
when all ways from R fail, states are taken out of R as long as the failure still follows from known facts,
and what is left is noted as a set that k rules cannot decide. From then on every R that contains it fails at
once.

At most 64 states are looked at, so that a set of states is one word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ifthen.jit import kernel
from ifthen.rules.arrays import Ints
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit
from ifthen.simplify.shortest.bits import Bits, Words, bits_of, unpacked

MOST_BOXES = 20_000
MOST_FACTS = 1 << 17
SOLVABLE, IMPOSSIBLE, OUT_OF_BUDGET = 1, 0, -1


class Few(NamedTuple):
    """At most 64 states, their allowed actions, and all boxes around them."""

    ranks: Ints
    """`(n, features)`."""
    up_to: Words
    """`(features, largest size + 1)`: the states whose rank is below the index."""
    allowed: Words
    """`(A,)`: the states in which each action may be taken."""
    silent: np.uint64
    """The states that no rule may match."""
    boxes: Words
    """`(B,)`: every set of states that a box can hold, the largest first."""


class Facts(NamedTuple):
    """Sets of states that a number of rules cannot decide."""

    sets: Words
    """`(most rules + 1, MOST_FACTS)`: at index j, sets that j rules cannot decide."""
    counts: Ints
    """`(most rules + 1,)`: how many there are."""
    seen: Ints
    """`(64,)`: in how many facts each state stood when it was found."""
    work: Ints
    """`(1,)`: how many boxes and facts have been looked at."""


def few_states(bits: Bits, chosen: list[int]) -> Few | None:
    """Return some states with all boxes around them, or None where there are too many boxes."""
    some = bits_of(bits.ranks[chosen], unpacked(bits.allowed, len(bits.ranks))[:, chosen].T)
    up_to, boxes = some.up_to[..., 0], some.everything
    for d in range(len(up_to)):
        ends = np.unique(up_to[d])
        intervals = np.unique(ends[:, None] & ~ends[None, :])
        if len(boxes) * len(intervals) > 100 * MOST_BOXES:
            return None
        boxes = np.unique(boxes[:, None] & intervals[None, :])
        if len(boxes) > MOST_BOXES:
            return None
    boxes = boxes[np.argsort(-np.bitwise_count(boxes).astype(np.int64), kind="stable")]
    return Few(some.ranks, up_to, some.allowed[:, 0], some.silent[0], boxes[boxes != 0])


def no_facts(most_rules: int) -> Facts:
    """Return an empty store of facts about lists of up to `most_rules` rules."""
    sets = np.zeros((most_rules + 1, MOST_FACTS), dtype=np.uint64)
    counts = np.zeros(most_rules + 1, dtype=np.int64)
    return Facts(sets, counts, np.zeros(WORD, dtype=np.int64), np.zeros(1, dtype=np.int64))


@kernel
def hull(few: Few, states: np.uint64) -> np.uint64:
    """Return the states inside the smallest box around a set of states; none around none."""
    if states == ZERO:
        return ZERO
    mask = ~ZERO
    for d in range(few.ranks.shape[1]):
        low, high = few.up_to.shape[1], -1
        rest = states
        while rest != ZERO:
            rank = few.ranks[lowest_bit(rest), d]
            low, high = min(low, rank), max(high, rank)
            rest &= rest - ONE
        mask &= few.up_to[d, high + 1] & ~few.up_to[d, low]
    return mask


@kernel
def one_rule(few: Few, left: np.uint64) -> bool:
    """Return whether a single rule decides all of `left` but the silent states."""
    inside = hull(few, left & ~few.silent) & left
    for a in range(len(few.allowed)):  # noqa: SIM110  # kernels loop
        if inside & ~few.allowed[a] == ZERO:
            return True
    return False


@kernel
def two_rules(few: Few, left: np.uint64) -> bool:
    """Return whether two rules decide all of `left`, which holds no silent states.

    The last one always matches; the other must hold all in which the last one's action is not allowed.
    """
    for a in range(len(few.allowed)):  # noqa: SIM110  # kernels loop
        if one_rule(few, hull(few, left & ~few.allowed[a]) & left):
            return True
    return False


@kernel
def impossible(few: Few, facts: Facts, left: np.uint64, rules: int) -> bool:
    """Return whether it is known that `rules` rules cannot decide `left`.

    The answer is exact for one rule, and for two where no state is silent.
    """
    if rules == 0:
        return bool(left & ~few.silent != ZERO)
    if rules == 1:
        return not one_rule(few, left)
    if rules == 2 and few.silent == ZERO:
        return not two_rules(few, left)
    for more in range(rules, len(facts.counts)):
        for i in range(facts.counts[more]):
            fact = facts.sets[more, i]
            if fact & ~left == ZERO:
                # A fact that was just used is soon used again: it moves forward.
                facts.sets[more, i] = facts.sets[more, i // 2]
                facts.sets[more, i // 2] = fact
                facts.work[0] += i
                return True
        facts.work[0] += facts.counts[more]
    return False


@kernel
def widest_steps(few: Few, facts: Facts, left: np.uint64, out: Words) -> int:
    """Write the sets of states that one rule can decide next and that lie in no other; return how many."""
    n = 0
    for a in range(len(few.allowed)):
        wrong = left & ~few.allowed[a]
        for box in few.boxes:
            step = box & left
            if box & wrong != ZERO or step == ZERO:
                continue
            inside_another = False
            for i in range(n):
                if step & ~out[i] == ZERO:
                    inside_another = True
                    break
            if inside_another:
                continue
            kept = 0
            for i in range(n):
                if out[i] & ~step != ZERO:
                    out[kept] = out[i]
                    kept += 1
            out[kept] = step
            n = kept + 1
    facts.work[0] += len(few.boxes) * len(few.allowed)
    return n


@kernel
def follows(few: Few, facts: Facts, left: np.uint64, rules: int, steps: Words) -> bool:
    """Return whether it follows from facts, for every first rule, that `rules` rules cannot decide `left`."""
    if left & ~few.silent == ZERO:
        return False
    for i in range(widest_steps(few, facts, left, steps)):
        if not impossible(few, facts, left & ~steps[i], rules - 1):
            return False
    return True


@kernel
def rarest(seen: Ints, states: np.uint64) -> np.uint64:
    """Return the bit of the state that was seen least of some states, the first among equals."""
    best = lowest_bit(states)
    while states != ZERO:
        s = lowest_bit(states)
        if seen[s] < seen[best]:
            best = s
        states &= states - ONE
    return ONE << np.uint64(best)


@kernel
def learn(few: Few, facts: Facts, left: np.uint64, rules: int, steps: Words) -> None:
    """Note that `rules` rules cannot decide `left`, without the states that this does not depend on.

    States of few facts are taken out first, so that facts gather on the same states.
    """
    untried = left
    while untried != ZERO:
        bit = rarest(facts.seen, untried)
        untried &= ~bit
        if follows(few, facts, left & ~bit, rules, steps):
            left &= ~bit
    kept = 0
    for i in range(facts.counts[rules]):
        if left & ~facts.sets[rules, i] != ZERO:
            facts.sets[rules, kept] = facts.sets[rules, i]
            kept += 1
    facts.sets[rules, kept] = left
    facts.counts[rules] = kept + 1
    while left != ZERO:
        facts.seen[lowest_bit(left)] += 1
        left &= left - ONE


@kernel
def decide_with(few: Few, facts: Facts, everything: np.uint64, rules: int, budget: int, out: Words) -> int:
    """Return whether `rules` rules decide everything: SOLVABLE, IMPOSSIBLE, or OUT_OF_BUDGET.

    Where they do, `out` `(rules + 1,)` holds at index j what is left when j rules are left, down to the j for
    which an exact answer is known.
    """
    if impossible(few, facts, everything, rules):
        return IMPOSSIBLE
    exact = 2 if few.silent == ZERO else 1
    for at in range(rules + 1):
        out[at] = everything
    if rules <= exact or everything & ~few.silent == ZERO:
        return SOLVABLE
    steps = np.empty((rules + 1, len(few.boxes) * len(few.allowed)), dtype=np.uint64)
    count, tried = np.zeros(rules + 1, dtype=np.int64), np.zeros(rules + 1, dtype=np.int64)
    at = rules
    count[at] = widest_steps(few, facts, everything, steps[at])
    while at <= rules:
        if facts.work[0] > budget or facts.counts[at] + 1 >= facts.sets.shape[1]:
            return OUT_OF_BUDGET
        if tried[at] == count[at]:
            learn(few, facts, out[at], at, steps[0])
            at += 1
            continue
        left = out[at] & ~steps[at, tried[at]]
        tried[at] += 1
        if not impossible(few, facts, left, at - 1):
            at -= 1
            for later in range(at + 1):
                out[later] = left
            if at == exact or left & ~few.silent == ZERO:
                return SOLVABLE
            tried[at], count[at] = 0, widest_steps(few, facts, left, steps[at])
    return IMPOSSIBLE
