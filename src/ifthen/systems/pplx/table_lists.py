"""Decision lists over the states of a table: which states each rule holds in, as bits, and who decides.

With a word for 64 states, a list of n rules is decided in n operations a word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.rules.arrays import Ints
from ifthen.rules.box import ONE, WORD, ZERO, words_for

EVERY = ~ZERO


class Rules(NamedTuple):
    """A decision list over whole numbers; the last rule holds everywhere."""

    lows: Ints
    """`(n, features)`."""
    highs: Ints
    """`(n, features)`."""
    actions: Ints
    """`(n,)`."""
    masks: NDArray[np.uint64]
    """`(n, words)`: the states that each rule holds in, a bit each."""


def rules_over(points: Ints, lows: Ints, highs: Ints, actions: Ints) -> Rules:
    """Return a list over states `(D, features)`, in arrays of its own."""
    masks = np.zeros((len(actions), words_for(len(points))), np.uint64)
    rules = Rules(lows.astype(np.int64), highs.astype(np.int64), actions.astype(np.int64), masks)
    for r in range(len(actions)):
        match_states(points, rules, r)
    return rules


def copied(rules: Rules) -> Rules:
    """Return the same list in arrays of its own."""
    return Rules(rules.lows.copy(), rules.highs.copy(), rules.actions.copy(), rules.masks.copy())


def picked(rules: Rules, numbers: Ints) -> Rules:
    """Return some of the rules, by number, in the order given."""
    return Rules(rules.lows[numbers], rules.highs[numbers], rules.actions[numbers], rules.masks[numbers])


@kernel
def copy_list(rules: Rules, out: Rules) -> None:
    """Write a list over another of the same length."""
    for r in range(len(rules.actions)):
        copy_rule(rules, r, out, r)


@kernel
def copy_rule(rules: Rules, r: int, out: Rules, target: int) -> None:
    """Write rule r of a list over a rule of another, or of the same."""
    for d in range(rules.lows.shape[1]):
        out.lows[target, d], out.highs[target, d] = rules.lows[r, d], rules.highs[r, d]
    for w in range(rules.masks.shape[1]):
        out.masks[target, w] = rules.masks[r, w]
    out.actions[target] = rules.actions[r]


@kernel
def match_states(points: Ints, rules: Rules, r: int) -> None:
    """Write the states `(D, features)` that rule r holds in."""
    for w in range(rules.masks.shape[1]):
        word = ZERO
        for s in range(WORD * w, min(WORD * (w + 1), len(points))):
            inside = True
            for d in range(points.shape[1]):
                inside = inside and rules.lows[r, d] <= points[s, d] <= rules.highs[r, d]
            if inside:
                word |= ONE << np.uint64(s - WORD * w)
        rules.masks[r, w] = word


@kernel
def decide(rules: Rules, chosen: NDArray[np.uint64]) -> None:
    """Write the states in which each action is taken, `(A, words)`."""
    for w in range(chosen.shape[1]):
        for a in range(len(chosen)):
            chosen[a, w] = ZERO
        undecided = EVERY
        for r in range(len(rules.actions)):
            chosen[rules.actions[r], w] |= undecided & rules.masks[r, w]
            undecided &= ~rules.masks[r, w]


@kernel
def decider(rules: Rules, s: int) -> int:
    """Return the first rule that holds in state s."""
    r = 0
    while not (rules.masks[r, s // WORD] >> np.uint64(s % WORD)) & ONE:
        r += 1
    return r


@kernel
def differ(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> bool:
    """Return whether two choices `(A, words)` differ in a state."""
    for a in range(len(first)):
        for w in range(first.shape[1]):
            if first[a, w] != second[a, w]:
                return True
    return False


@kernel
def widen(points: Ints, rules: Rules, lows: Ints, highs: Ints) -> None:
    """Open every end of an interval, up to `lows` and `highs`, that makes no difference in any state."""
    n_actions, n_words = 1, rules.masks.shape[1]
    for a in rules.actions:
        n_actions = max(n_actions, a + 1)
    shape = n_actions, n_words
    chosen_before, chosen_after = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    decide(rules, chosen_before)
    for r in range(len(rules.actions) - 2, -1, -1):
        for d in range(len(lows)):
            for ends, end in ((rules.lows, lows[d]), (rules.highs, highs[d])):
                old_end, ends[r, d] = ends[r, d], end
                match_states(points, rules, r)
                decide(rules, chosen_after)
                if differ(chosen_before, chosen_after):
                    ends[r, d] = old_end
                    match_states(points, rules, r)
