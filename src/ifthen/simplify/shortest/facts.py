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
    chosen_bits = bits_of(bits.ranks[chosen], unpacked(bits.allowed, len(bits.ranks))[:, chosen].T)
    up_to, boxes = chosen_bits.up_to[..., 0], chosen_bits.everything
    for d in range(len(up_to)):
        ends = np.unique(up_to[d])
        intervals = np.unique(ends[:, None] & ~ends[None, :])
        if len(boxes) * len(intervals) > 100 * MOST_BOXES:
            return None
        boxes = np.unique(boxes[:, None] & intervals[None, :])
        if len(boxes) > MOST_BOXES:
            return None
    boxes = boxes[np.argsort(-np.bitwise_count(boxes).astype(np.int64), kind="stable")]
    return Few(chosen_bits.ranks, up_to, chosen_bits.allowed[:, 0], chosen_bits.silent[0], boxes[boxes != 0])


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
        remaining = states
        while remaining != ZERO:
            rank = few.ranks[lowest_bit(remaining), d]
            low, high = min(low, rank), max(high, rank)
            remaining &= remaining - ONE
        mask &= few.up_to[d, high + 1] & ~few.up_to[d, low]
    return mask


@kernel
def one_rule(few: Few, undecided: np.uint64) -> bool:
    """Return whether a single rule decides all of `undecided` but the silent states."""
    inside = hull(few, undecided & ~few.silent) & undecided
    for a in range(len(few.allowed)):  # noqa: SIM110  # kernels loop
        if inside & ~few.allowed[a] == ZERO:
            return True
    return False


@kernel
def two_rules(few: Few, undecided: np.uint64) -> bool:
    """Return whether two rules decide all of `undecided`, which holds no silent states.

    The last one always matches; the other must hold all in which the last one's action is not allowed.
    """
    for a in range(len(few.allowed)):
        if one_rule(few, hull(few, undecided & ~few.allowed[a]) & undecided):
            return True
    return False


@kernel
def impossible(few: Few, facts: Facts, undecided: np.uint64, rules: int) -> bool:
    """Return whether it is known that `rules` rules cannot decide `undecided`.

    The answer is exact for one rule, and for two where no state is silent.
    """
    if rules == 0:
        return bool(undecided & ~few.silent != ZERO)
    if rules == 1:
        return not one_rule(few, undecided)
    if rules == 2 and few.silent == ZERO:
        return not two_rules(few, undecided)
    for more in range(rules, len(facts.counts)):
        for i in range(facts.counts[more]):
            fact = facts.sets[more, i]
            if fact & ~undecided == ZERO:
                # A fact that was just used is soon used again: it moves forward.
                facts.sets[more, i] = facts.sets[more, i // 2]
                facts.sets[more, i // 2] = fact
                facts.work[0] += i
                return True
        facts.work[0] += facts.counts[more]
    return False


@kernel
def widest_steps(few: Few, facts: Facts, undecided: np.uint64, out: Words) -> int:
    """Write the sets of states that one rule can decide next and that lie in no other; return how many."""
    n = 0
    for a in range(len(few.allowed)):
        wrong = undecided & ~few.allowed[a]
        for box in few.boxes:
            step = box & undecided
            if box & wrong != ZERO or step == ZERO:
                continue
            inside_another = False
            for i in range(n):
                if step & ~out[i] == ZERO:
                    inside_another = True
                    break
            if inside_another:
                continue
            n_kept = 0
            for i in range(n):
                if out[i] & ~step != ZERO:
                    out[n_kept] = out[i]
                    n_kept += 1
            out[n_kept] = step
            n = n_kept + 1
    facts.work[0] += len(few.boxes) * len(few.allowed)
    return n


@kernel
def follows(few: Few, facts: Facts, undecided: np.uint64, rules: int, steps: Words) -> bool:
    """Return whether it follows from facts, for every first rule, that `rules` rules cannot decide these."""
    if undecided & ~few.silent == ZERO:
        return False
    for i in range(widest_steps(few, facts, undecided, steps)):
        if not impossible(few, facts, undecided & ~steps[i], rules - 1):
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
def learn(few: Few, facts: Facts, undecided: np.uint64, rules: int, steps: Words) -> None:
    """Note that `rules` rules cannot decide `undecided`, without the states that this does not depend on.

    States of few facts are taken out first, so that facts gather on the same states.
    """
    untried = undecided
    while untried != ZERO:
        bit = rarest(facts.seen, untried)
        untried &= ~bit
        if follows(few, facts, undecided & ~bit, rules, steps):
            undecided &= ~bit
    n_kept = 0
    for i in range(facts.counts[rules]):
        if undecided & ~facts.sets[rules, i] != ZERO:
            facts.sets[rules, n_kept] = facts.sets[rules, i]
            n_kept += 1
    facts.sets[rules, n_kept] = undecided
    facts.counts[rules] = n_kept + 1
    while undecided != ZERO:
        facts.seen[lowest_bit(undecided)] += 1
        undecided &= undecided - ONE


@kernel
def decide_with(few: Few, facts: Facts, everything: np.uint64, rules: int, budget: int, out: Words) -> int:
    """Return whether `rules` rules decide everything: SOLVABLE, IMPOSSIBLE, or OUT_OF_BUDGET.

    Where they do, `out` `(rules + 1,)` holds at index j what is left when j rules are left, down to the j for
    which an exact answer is known.
    """
    if impossible(few, facts, everything, rules):
        return IMPOSSIBLE
    exact = 2 if few.silent == ZERO else 1
    for n_left in range(rules + 1):
        out[n_left] = everything
    if rules <= exact or everything & ~few.silent == ZERO:
        return SOLVABLE
    steps = np.empty((rules + 1, len(few.boxes) * len(few.allowed)), dtype=np.uint64)
    count, tried = np.zeros(rules + 1, dtype=np.int64), np.zeros(rules + 1, dtype=np.int64)
    n_left = rules
    count[n_left] = widest_steps(few, facts, everything, steps[n_left])
    while n_left <= rules:
        if facts.work[0] > budget or facts.counts[n_left] + 1 >= facts.sets.shape[1]:
            return OUT_OF_BUDGET
        if tried[n_left] == count[n_left]:
            learn(few, facts, out[n_left], n_left, steps[0])
            n_left += 1
            continue
        undecided = out[n_left] & ~steps[n_left, tried[n_left]]
        tried[n_left] += 1
        if not impossible(few, facts, undecided, n_left - 1):
            n_left -= 1
            for later in range(n_left + 1):
                out[later] = undecided
            if n_left == exact or undecided & ~few.silent == ZERO:
                return SOLVABLE
            tried[n_left], count[n_left] = 0, widest_steps(few, facts, undecided, steps[n_left])
    return IMPOSSIBLE
