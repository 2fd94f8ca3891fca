"""Proving that no shorter decision list exists, by a few states that alone take as many rules.

A list for all states is also one for some of them, so a lower bound for some states holds for all. The states
are found by trying: a list of k rules that is right on those chosen so far is wrong on others, one of which
is added, until no list of k rules is right on the chosen ones. That is then proven exhaustively.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ifthen.randomness import stream
from ifthen.rules.arrays import Ints, Mask
from ifthen.rules.box import WORD
from ifthen.simplify.shortest.annealing import improved
from ifthen.simplify.shortest.bits import Bits, Words, greedy_list, packed, unpacked
from ifthen.simplify.shortest.facts import (
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

WORK_OF_A_MOVE = 100
"""What a move of annealing takes, in boxes looked at."""
MOVES = 20_000
"""Moves of annealing that look for a list before a proof is tried that there is none."""


class Bound(NamedTuple):
    """What could be proven of the number of rules."""

    rules: int
    """No list has fewer rules."""
    core: tuple[int, ...]
    """States that alone take `rules` rules."""
    boxes: Ints | None = None
    """The boxes of a list shorter than the one known before, where one turned up."""


def decided(bits: Bits, boxes: Ints, preferred: Mask | None = None) -> tuple[Ints, Ints, Mask]:
    """Return what a list of boxes does when every rule has its best action.

    Actions are right in as many of the states `preferred` `(D,)` as can be, then in as many of all.

    Returns:
        The boxes, one more behind them that holds everything where every state has an allowed action; the
        actions; and the states `(D,)` in which the action is not allowed, or in which one is missing.
    """
    size = len(bits.ranks)
    allowed, silent = unpacked(bits.allowed, size), unpacked(bits.silent, size)
    weights = 1 + (size + 1) * (
        np.zeros(size, dtype=np.int64) if preferred is None else preferred.astype(np.int64)
    )
    rules = boxes if silent.any() else np.concatenate([boxes, bits.whole[None]])
    undecided, actions, right = np.ones(size, dtype=np.bool_), [], silent.copy()
    for box in rules:
        inside = bits.held(box) & undecided
        actions.append(int(((allowed & inside) * weights).sum(axis=1).argmax()))
        undecided &= ~inside
        right[inside] = allowed[actions[-1], inside]
    return rules, np.array(actions, dtype=np.int64), ~right


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
    """The states chosen so far, and the facts about them."""

    def __init__(self, bits: Bits, most: int, work: int, seed: int) -> None:
        self.bits, self.work, self.seed = bits, work, seed
        self.facts: Facts = no_facts(min(most, WORD))  # 64 states never need more than 64 rules
        self.chosen: list[int] = []
        self.few: Few | None = None
        self.tally = np.zeros(len(bits.ranks), dtype=np.int64)
        self.closed = False

    def list_of(self, rules: int) -> Ints | None:
        """Return the boxes of a list of `rules` rules, or None; `closed` says whether that is proven."""
        self.closed = False
        while self.facts.work[0] < self.work:
            chosen = np.isin(np.arange(len(self.tally)), self.chosen)
            mask = packed(chosen)
            chosen_bits = self.bits._replace(everything=mask, silent=self.bits.silent & mask)
            boxes = self._right_on_chosen(chosen_bits, rules)
            if boxes is None:
                return None
            if self.bits.open_ended and not chosen_bits.open_ended:
                boxes = np.concatenate([boxes, self.bits.whole[None]])
            _, _, wrong = decided(self.bits, boxes, chosen)
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

    def _right_on_chosen(self, chosen_bits: Bits, rules: int) -> Ints | None:
        """Return boxes of a list that is right on the chosen states, or None; `closed` if there is none."""
        boxes, enough = greedy_list(chosen_bits), rules if chosen_bits.open_ended else rules - 1
        if len(boxes) > enough:
            key = stream(self.seed, "counterexample", rules, len(self.chosen))
            shorter = improved(chosen_bits, boxes, key, MOVES, enough)
            boxes = boxes if shorter is None else shorter
            self.facts.work[0] += MOVES * WORK_OF_A_MOVE
        return boxes if len(boxes) <= enough else self._searched(rules)

    def _searched(self, rules: int) -> Ints | None:
        """Return what exhaustive search finds on the chosen states."""
        assert self.few is not None  # no list is longer than enough for no states
        remaining = np.zeros(rules + 1, dtype=np.uint64)
        everything = packed(np.ones(len(self.chosen), dtype=np.bool_))[0]
        answer = decide_with(self.few, self.facts, everything, rules, self.work, remaining)
        self.closed = answer == IMPOSSIBLE
        return None if answer in (IMPOSSIBLE, OUT_OF_BUDGET) else self._boxes_of(remaining)

    def _boxes_of(self, remaining: Words) -> Ints:
        """Return the boxes that lead from each set of undecided states to the next."""
        few = self.few
        assert few is not None
        exact = 1 if few.silent else min(2, len(remaining) - 1)
        steps = [remaining[j] & ~remaining[j - 1] for j in range(len(remaining) - 1, exact, -1)]
        last = remaining[exact]
        if few.silent:
            steps.append(last & ~few.silent)
        elif exact == 2:
            outside = [last & ~allowed for allowed in few.allowed]
            steps += [states for states in outside if one_rule(few, np.uint64(hull(few, states)) & last)][:1]
        steps = [step for step in steps if step]
        ranks = self.bits.ranks[self.chosen]
        boxes = np.empty((len(steps), ranks.shape[1], 2), dtype=np.int64)
        for box, step in zip(boxes, steps, strict=True):
            inside = ranks[unpacked(np.array([step]), len(ranks))]
            box[:, 0], box[:, 1] = inside.min(axis=0), inside.max(axis=0)
        return boxes

    def core(self, rules: int) -> tuple[int, ...]:
        """Return a few states that `rules` rules cannot decide."""
        sets = self.facts.sets[rules, : self.facts.counts[rules]]
        if not len(sets):
            return tuple(sorted(self.chosen))
        smallest = int(sets[np.bitwise_count(sets).argmin()])
        return tuple(sorted(s for i, s in enumerate(self.chosen) if smallest >> i & 1))
