"""Proving that no shorter decision list exists, by a few states that alone take as many rules.

A list for all states is also one for some of them, so a lower bound for some states holds for all. The states
are found by trying: a list of k rules that is right on those chosen so far is wrong on others, one of which
is added, until no list of k rules is right on the chosen ones. That is then proven exhaustively.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.shortest.bits import Bits, packed, unpacked
from ifthen.explain.shortest.facts import (
    IMPOSSIBLE,
    OUT_OF_BUDGET,
    Facts,
    Few,
    decide_with,
    few_states,
    hull,
    no_facts,
    one_rule,
)
from ifthen.explain.shortest.greedy import greedy_list
from ifthen.explain.shortest.search import improved
from ifthen.randomness import stream
from ifthen.rules.box import WORD

WORK_OF_A_MOVE = 100
"""What a move of annealing takes, in boxes looked at."""
MOVES = 20_000
"""Moves of annealing that look for a list before a proof is tried that there is none."""


class Bound(NamedTuple):
    """What could be proven of the number of rules."""

    rules: int
    """No list has fewer rules."""
    core: tuple[int, ...]
    """States that alone take so many rules."""
    boxes: NDArray[np.int64] | None = None
    """The boxes of a list shorter than the one known before, where one turned up."""


class Decided(NamedTuple):
    """What a list of boxes does when every rule has its best action."""

    actions: NDArray[np.int64]
    """`(n,)`, one more for the rule behind the boxes where every state has an allowed action."""
    deciders: NDArray[np.int64]
    """`(D,)`: the place of the rule that decides each state, −1 for none."""
    wrong: NDArray[np.bool_]
    """`(D,)`: the states in which the action is not allowed, or in which one is missing."""


def decided(bits: Bits, boxes: NDArray[np.int64], first: NDArray[np.bool_] | None = None) -> Decided:
    """Return what a list does; actions are right in as many of the states `first` as can be, then of all."""
    size, ranks = len(bits.ranks), bits.ranks
    allowed, silent = unpacked(bits.allowed, size), unpacked(bits.silent, size)
    weights = 1 + (size + 1) * (np.zeros(size, dtype=np.int64) if first is None else first.astype(np.int64))
    deciders, actions = np.full(size, -1), []
    rules = boxes if silent.any() else with_rule_for_all(bits, boxes)
    for place, box in enumerate(rules):
        inside = ((ranks >= box[:, 0]) & (ranks <= box[:, 1])).all(axis=1) & (deciders < 0)
        deciders[inside] = place
        actions.append(int(((allowed & inside) * weights).sum(axis=1).argmax()))
    chosen = np.array(actions, dtype=np.int64)
    taken = np.append(chosen, 0)[deciders]
    right = np.where(deciders < 0, silent, allowed[taken, np.arange(size)])
    return Decided(chosen, deciders, ~right)


def with_rule_for_all(bits: Bits, boxes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the boxes and one more that holds everything."""
    whole = np.stack([np.zeros_like(bits.sizes), bits.sizes - 1], axis=-1)
    return np.concatenate([boxes, whole[None]])


def lower_bound(bits: Bits, most: int, work: int, seed: int) -> Bound:
    """Return what can be proven of the number of rules with some amount of work.

    Args:
        bits: the states.
        most: the length of a list that is known; a bound of as many rules ends the work.
        work: how many boxes and facts may be looked at.
        seed: of the random numbers with which lists are looked for.
    """
    proof = _Proof(bits, most, work, seed)
    bound = Bound(1, ())
    while bound.rules < most:
        boxes = proof.list_of(bound.rules)
        if boxes is not None:
            return bound._replace(boxes=boxes)
        if not proof.closed:
            break
        bound = Bound(bound.rules + 1, proof.core(bound.rules))
    return bound


class _Proof:
    """The states chosen so far, and what is known of them."""

    def __init__(self, bits: Bits, most: int, work: int, seed: int) -> None:
        self.bits, self.work, self.seed = bits, work, seed
        self.facts: Facts = no_facts(min(most, WORD))  # so many states never need more
        self.chosen: list[int] = []
        self.few: Few | None = None
        self.tally = np.zeros(len(bits.ranks), dtype=np.int64)
        self.closed = False

    def list_of(self, rules: int) -> NDArray[np.int64] | None:
        """Return the boxes of a list of so many rules, or None; `closed` tells whether there is none."""
        self.closed = False
        while self.facts.work[0] < self.work:
            some = self._some_of_the_states()
            boxes = self._right_on_chosen(some, rules)
            if boxes is None:
                return None
            if self.bits.open_ended and not some.open_ended:
                boxes = with_rule_for_all(self.bits, boxes)
            first = np.isin(np.arange(len(self.tally)), self.chosen)
            wrong = decided(self.bits, boxes, first).wrong
            if not wrong.any():
                return boxes
            self.tally += wrong
            if len(self.chosen) == WORD:
                return None
            self.chosen.append(int((self.tally * wrong).argmax()))
            self.few = few_states(self.bits, self.chosen)
            if self.few is None:
                return None
        return None

    def _right_on_chosen(self, some: Bits, rules: int) -> NDArray[np.int64] | None:
        """Return boxes of a list that is right on the chosen states, or None; `closed` if there is none."""
        boxes, enough = greedy_list(some), rules if some.open_ended else rules - 1
        if len(boxes) > enough:
            key = stream(self.seed, "counterexample", rules, len(self.chosen))
            found = improved(some, boxes, key, MOVES, enough)
            boxes = boxes if found is None else found
            self.facts.work[0] += MOVES * WORK_OF_A_MOVE
        return boxes if len(boxes) <= enough else self._searched(rules)

    def _some_of_the_states(self) -> Bits:
        chosen = np.zeros(len(self.bits.ranks), dtype=np.bool_)
        chosen[self.chosen] = True
        mask = packed(chosen)
        return self.bits._replace(everything=mask, silent=self.bits.silent & mask)

    def _searched(self, rules: int) -> NDArray[np.int64] | None:
        """Return what exhaustive search finds on the chosen states."""
        assert self.few is not None  # no list is longer than enough for no states
        left = np.zeros(rules + 1, dtype=np.uint64)
        everything = packed(np.ones(len(self.chosen), dtype=np.bool_))[0]
        answer = decide_with(self.few, self.facts, everything, rules, self.work, left)
        self.closed = answer == IMPOSSIBLE
        return None if answer in (IMPOSSIBLE, OUT_OF_BUDGET) else self._boxes_of(left)

    def _boxes_of(self, left: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the boxes that lead from each set of undecided states to the next."""
        few = self.few
        assert few is not None
        exact = 1 if few.silent else min(2, len(left) - 1)
        steps = [left[at] & ~left[at - 1] for at in range(len(left) - 1, exact, -1)]
        last = left[exact]
        if few.silent:
            steps.append(last & ~few.silent)
        elif exact == 2:
            outside = [last & ~allowed for allowed in few.allowed]
            steps += [each for each in outside if one_rule(few, np.uint64(hull(few, each)) & last)][:1]
        steps = [step for step in steps if step]
        boxes = np.empty((len(steps), few.ranks.shape[1], 2), dtype=np.int64)
        for box, step in zip(boxes, steps, strict=True):
            inside = few.ranks[unpacked(np.array([step]), len(few.ranks))]
            box[:, 0], box[:, 1] = inside.min(axis=0), inside.max(axis=0)
        return boxes

    def core(self, rules: int) -> tuple[int, ...]:
        """Return states that so many rules cannot decide, few of them."""
        sets = self.facts.sets[rules, : self.facts.counts[rules]]
        if not len(sets):
            return tuple(sorted(self.chosen))
        smallest = int(sets[np.bitwise_count(sets).argmin()])
        return tuple(sorted(s for i, s in enumerate(self.chosen) if smallest >> i & 1))
