"""Decision lists: the first matching rule gives the action (paper, section "PPL-DL")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.rules.box import WORD, ZERO, lowest_bit, match_masks, words_for
from ifthen.rules.ruleset import NULL_ACTION, RuleSet


class DecisionList(RuleSet):
    """Rules in order; the first whose condition matches decides.

    Args:
        bounds: the conditions, `(rules, features, 2)`; the two bounds in any order, both included.
        actions: the actions, `(rules,)`, as indices into `action_names`.
        features: name and range of each feature.
        action_names: one name per action of the task.
    """

    kind = "decision-list"

    def decide(
        self, matching: NDArray[np.bool_], observations: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the action and the number of the first matching rule, −1 where none matches."""
        deciders = np.where(matching.any(axis=1), matching.argmax(axis=1), -1)
        return np.where(deciders >= 0, self.actions[deciders], NULL_ACTION), deciders


@kernel
def decision_tables(
    first: int,
    last: int,
    bounds: NDArray[np.int32],
    actions: NDArray[np.int32],
    states: NDArray[np.int32],
    lows: NDArray[np.int32],
    widest: int,
    out: NDArray[np.int16],
) -> None:
    """Write the policy tables `(n, states)` of the decision lists `first` to `last − 1`."""
    words = words_for(bounds.shape[1])
    value_masks = np.empty((states.shape[1], widest, words), dtype=np.uint64)
    masks = np.empty((states.shape[0], words), dtype=np.uint64)
    for i in range(first, last):
        match_masks(bounds, i, states, lows, value_masks, masks)
        for s in range(states.shape[0]):
            out[i, s] = NULL_ACTION
            for word in range(words):
                if masks[s, word] != ZERO:
                    out[i, s] = actions[i, word * WORD + lowest_bit(masks[s, word])]
                    break
