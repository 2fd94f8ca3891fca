"""What lists are made with where nothing is played: costs of actions, readable numbers, random numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.randomness import stream
from ifthen.rules.arrays import Floats
from ifthen.rules.feature import Feature, lows_and_highs
from ifthen.systems.pplx import drafts as lists
from ifthen.systems.pplx.counted_table import CountModel
from ifthen.systems.pplx.drafts import Draft
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.q_network import action_values
from ifthen.systems.pplx.spreads import spreads_of
from ifthen.systems.pplx.teacher import Teacher, costs_of


class ActionCosts:
    """Says what actions cost at points, and rounds the numbers of lists.

    Args:
        features: what lists compare.
        n_actions: how many actions there are.
        seed: the system's seed.
        epoch: the epoch, which gives the random numbers.
        threads: threads that lists are fitted on.
        given_terms: `(terms, features)`: the coefficients of terms that the user gave; none where None.
        teacher: what lists imitate in place of the network, if anything.
    """

    def __init__(
        self,
        features: tuple[Feature, ...],
        n_actions: int,
        seed: int,
        epoch: int,
        threads: int,
        given_terms: Floats | None = None,
        teacher: Teacher | None = None,
    ) -> None:
        self.n_features, self.n_actions = len(features), n_actions
        self.threads, self.teacher = threads, teacher
        self._seed, self._epoch = seed, epoch
        self.rng = np.random.default_rng(int(stream(seed, "PPL-X", epoch)))
        self.count_model: CountModel | None = None  # in place of the network, where there is one
        self._feature_spreads: tuple[NDArray[np.float32], Floats] | None = None
        self.given_terms = np.zeros((0, len(features))) if given_terms is None else given_terms
        self.ranges = lows_and_highs(features)
        self._is_integer = np.array([feature.is_integer for feature in features])

    def key(self, purpose: str, *numbers: int) -> np.uint64:
        """Return a stream of random numbers for kernels."""
        return stream(self._seed, purpose, self._epoch, *numbers)

    def clipped(self, points: NDArray[Any]) -> Floats:
        """Return points as lists see them: within the ranges of the features, in the precision they have."""
        return np.clip(points, *(ends.astype(points.dtype) for ends in self.ranges)).astype(np.float64)

    def labelled(self, known: Knowledge, points: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return points as lists see them, and the cost of each action at the points themselves.

        What actions are worth may depend on how far a point lies beyond the ranges. Lists cannot tell, so
        that they weigh all such points.
        """
        return self.clipped(points), self.costs(known, points.astype(np.float64))

    def readable(self, draft: Draft, known: Knowledge) -> Draft:
        """Return a list with short numbers."""
        spreads = self.feature_spreads(known)
        return lists.readable(draft, spreads, self._is_integer, given_terms=self.given_terms)

    def feature_spreads(self, known: Knowledge) -> Floats:
        """Return by how much each feature varies where lists go, `(features,)`."""
        if self._feature_spreads is None or self._feature_spreads[0] is not known.states:
            self._feature_spreads = known.states, spreads_of(self.clipped(known.states))
        return self._feature_spreads[1]

    def sample(self, rows: NDArray[Any], max_rows: int) -> NDArray[Any]:
        """Return some of the rows at random, in their order."""
        return rows if len(rows) <= max_rows else rows[np.sort(self.rng.permutation(len(rows))[:max_rows])]

    def costs(self, known: Knowledge, points: Floats) -> Floats:
        """Return the cost of each action at points, by teacher or network, `(n, actions)`; see `fit`."""
        if self.teacher is not None:
            return self.teacher.costs(points, partial(self._action_values, known))
        return costs_of(self._action_values(known, points))

    def _action_values(self, known: Knowledge, points: Floats) -> Floats:
        """Return the action values at points by counts or by the best network, `(n, actions)`."""
        if self.count_model is not None:
            return self.count_model.lookup(self.count_model.solved).at(points).astype(np.float64)
        q = action_values(known.nets[-1], known.scaling, points, self.n_actions)
        return q.astype(np.float64)
