"""Drafts: decision lists while they are being searched for.

A draft keeps its conditions as intervals with open ends, over the features and over terms of its own. The
last rule holds everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ifthen.rules import box
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.batch import LIST, RuleBatch
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.term import coefficients, ranges_of, term, with_terms
from ifthen.systems.pplx.imitation_tree import Tree, rules_of_tree

DIGITS = 3
"""Thresholds have this many digits of their column's spread."""


class Subject(Protocol):
    """What lists are about: a task, or a log."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """What rules compare."""

    @property
    def action_names(self) -> tuple[str, ...]:
        """What rules may do."""


class Draft(NamedTuple):
    """A decision list."""

    lows: Floats
    """`(rules, columns)`: −∞ where an interval is open below. Columns are features, then terms."""
    highs: Floats
    """`(rules, columns)`."""
    actions: NDArray[np.int32]
    """`(rules,)`."""
    terms: Floats
    """`(terms, features)`: coefficients."""

    @property
    def tests(self) -> int:
        """How many one-sided comparisons the rules make."""
        return int(np.isfinite(self.lows).sum() + np.isfinite(self.highs).sum())

    @property
    def size(self) -> tuple[int, int]:
        """Rules and tests."""
        return len(self.actions), self.tests

    @property
    def limits(self) -> Mask:
        """Which columns the condition of each rule speaks of, `(rules, columns)`."""
        return np.isfinite(self.lows) | np.isfinite(self.highs)

    def key(self) -> bytes:
        """Return bytes that only equal drafts share."""
        return b"".join(np.ascontiguousarray(array).tobytes() for array in self)


def deciders(draft: Draft, points: Floats) -> Ints:
    """Return which rule decides at each of points `(n, features)`."""
    columns = with_terms(draft.terms, points)
    decider = np.full(len(points), len(draft.actions) - 1)
    undecided = np.ones(len(points), np.bool_)
    for r in range(len(draft.actions)):
        inside = undecided.copy()
        for c in np.flatnonzero(draft.limits[r]):
            inside &= (columns[:, c] >= draft.lows[r, c]) & (columns[:, c] <= draft.highs[r, c])
        decider[inside] = r
        undecided &= ~inside
    return decider


def actions_at(draft: Draft, points: Floats) -> NDArray[np.int32]:
    """Return the action at each of points `(n, features)`."""
    return draft.actions[deciders(draft, points)]


def draft_of_tree(tree: Tree, terms: Floats, features: int) -> Draft:
    """Return a tree over features and terms `(terms, features)` as a draft with the terms that it uses."""
    rules = rules_of_tree(tree)
    used = sorted({test[0] - features for tests, _ in rules for test in tests if test[0] >= features})
    column_of = {features + t: features + i for i, t in enumerate(used)} | {c: c for c in range(features)}
    lows = np.full((len(rules), features + len(used)), -np.inf)
    highs = np.full_like(lows, np.inf)
    for r, (tests, _) in enumerate(rules):
        for column, side, threshold in tests:
            if side == 0:
                highs[r, column_of[column]] = min(highs[r, column_of[column]], threshold)
            else:
                lows[r, column_of[column]] = max(lows[r, column_of[column]], threshold)
    actions = np.array([action for _, action in rules], np.int32)
    return Draft(lows, highs, actions, terms[used].reshape(len(used), features))


def without_rule(draft: Draft, r: int) -> Draft:
    """Return a draft without rule r."""
    keep = np.arange(len(draft.actions)) != r
    return tidy(draft._replace(lows=draft.lows[keep], highs=draft.highs[keep], actions=draft.actions[keep]))


def without_test(draft: Draft, r: int, c: int, upper: bool) -> Draft:
    """Return a draft whose rule r does not compare column c with its upper end, or with its lower one."""
    lows, highs = draft.lows.copy(), draft.highs.copy()
    if upper:
        highs[r, c] = np.inf
    else:
        lows[r, c] = -np.inf
    return tidy(draft._replace(lows=lows, highs=highs))


def shorter_by_one(draft: Draft) -> list[Draft]:
    """Return the lists with one rule or one test less."""
    shorter = [without_rule(draft, r) for r in range(len(draft.actions) - 1)]
    shorter += [without_test(draft, r, c, upper=False) for r, c in np.argwhere(np.isfinite(draft.lows))]
    return shorter + [without_test(draft, r, c, upper=True) for r, c in np.argwhere(np.isfinite(draft.highs))]


def tidy(draft: Draft) -> Draft:
    """Return the same list without rules behind one that holds everywhere, and without unused terms.

    The last rule loses its condition, and rules before it that do the same go.
    """
    lows, highs, actions, terms = draft
    unconditional = np.flatnonzero(~draft.limits.any(axis=1))
    n_rules = int(unconditional[0]) + 1 if len(unconditional) else len(actions)
    while n_rules > 1 and actions[n_rules - 2] == actions[n_rules - 1]:
        n_rules -= 1
    lows, highs, actions = lows[:n_rules].copy(), highs[:n_rules].copy(), actions[:n_rules].copy()
    lows[-1], highs[-1] = -np.inf, np.inf
    features = terms.shape[1]
    used = np.flatnonzero(Draft(lows, highs, actions, terms).limits.any(axis=0))
    used_terms = used[used >= features]
    columns = np.concatenate([np.arange(features), used_terms])
    return Draft(lows[:, columns], highs[:, columns], actions, terms[used_terms - features])


def rounded_to(value: float, spread: float) -> float:
    """Return a number rounded to a few digits of its spread."""
    if spread <= 0 or not math.isfinite(value):
        return value
    places = DIGITS - 1 - math.floor(math.log10(spread))
    return round(value, places) + 0.0


def are_given(terms: Floats, given_terms: Floats | None) -> Mask:
    """Return which of terms `(terms, features)` the user gave: their coefficients stay as they are.

    Args:
        terms: of a list.
        given_terms: `(given, features)`: those that the user gave; None for none.
    """
    if given_terms is None:
        return np.zeros(len(terms), np.bool_)
    same: Mask = (terms[:, None] == given_terms[None]).all(axis=2).any(axis=1)
    return same


def readable(draft: Draft, spreads: Floats, is_integer: Mask, given_terms: Floats | None = None) -> Draft:
    """Return a draft with short numbers; the first coefficient of each term becomes 1.

    Args:
        draft: the list.
        spreads: `(features,)`: how much each feature varies.
        is_integer: `(features,)`: which features are whole numbers.
        given_terms: `(given, features)`: terms that stay as they are.
    """
    terms, lows, highs = draft.terms.copy(), draft.lows.copy(), draft.highs.copy()
    for t in np.flatnonzero(~are_given(terms, given_terms)):
        used, column = np.flatnonzero(terms[t]), len(spreads) + t
        leading = terms[t, used[0]]
        terms[t, used] = [float(f"{coefficient:.2g}") for coefficient in terms[t, used] / leading]
        low, high = lows[:, column] / leading, highs[:, column] / leading
        lows[:, column], highs[:, column] = (low, high) if leading > 0 else (high, low)
    column_spreads = np.concatenate([spreads, np.sqrt((terms**2 * spreads**2).sum(axis=1))])
    for ends, is_lower in ((lows, True), (highs, False)):
        for r, c in np.argwhere(np.isfinite(ends)):
            if c < len(spreads) and is_integer[c]:
                ends[r, c] = math.ceil(ends[r, c]) if is_lower else math.floor(ends[r, c])
            else:
                ends[r, c] = rounded_to(ends[r, c], column_spreads[c])
    return without_twins(Draft(lows, highs, draft.actions, terms))


def without_twins(draft: Draft) -> Draft:
    """Return the same list in which no two terms are equal, as they can be once they are rounded."""
    lows, highs, actions, terms = draft
    features, kept = terms.shape[1], list[int]()
    for t, row in enumerate(terms):
        twin = next((k for k in kept if (terms[k] == row).all()), None)
        if twin is None:
            kept.append(t)
            continue
        kept_column, twin_column = features + twin, features + t
        lows[:, kept_column] = np.maximum(lows[:, kept_column], lows[:, twin_column])
        highs[:, kept_column] = np.minimum(highs[:, kept_column], highs[:, twin_column])
    columns = [*range(features), *(features + t for t in kept)]
    return Draft(lows[:, columns], highs[:, columns], actions, terms[kept])


def batch(drafts: Sequence[Draft], subject: Subject) -> RuleBatch:
    """Return drafts ready to play, without rules that hold nowhere within the ranges of the features."""
    floors = np.array([float(feature.low) for feature in subject.features])
    ceilings = np.array([float(feature.high) for feature in subject.features])
    n_features, n = len(floors), len(drafts)
    n_rules = max(len(draft.actions) for draft in drafts)
    n_terms = max(len(draft.terms) for draft in drafts)
    bounds = np.zeros((n, n_rules, n_features + n_terms, 2))
    actions = np.zeros((n, n_rules), np.int32)
    weights, lengths = np.zeros((n, n_terms, n_features)), np.zeros(n, np.int64)
    for i, draft in enumerate(drafts):
        own_terms = len(draft.terms)
        weights[i, :own_terms] = draft.terms
        term_lows, term_highs = ranges_of(weights[i], floors, ceilings)
        lower, upper = np.concatenate([floors, term_lows]), np.concatenate([ceilings, term_highs])
        bounds[i, :, :, 0], bounds[i, :, :, 1] = lower, upper
        columns = slice(0, n_features + own_terms)
        inside = (draft.lows <= upper[columns]) & (draft.highs >= lower[columns])
        holds = (inside & (draft.lows <= draft.highs)).all(axis=1)
        n_kept = lengths[i] = int(holds.sum())
        bounds[i, :n_kept, columns, 0] = np.clip(draft.lows[holds], lower[columns], upper[columns])
        bounds[i, :n_kept, columns, 1] = np.clip(draft.highs[holds], lower[columns], upper[columns])
        actions[i, :n_kept] = draft.actions[holds]
    return RuleBatch(LIST, bounds, actions, np.zeros((n, n_rules, 0)), lengths, terms=weights)


def ruleset(draft: Draft, subject: Subject, given_terms: Sequence[Feature] = ()) -> DecisionList:
    """Return a draft as a ruleset.

    Args:
        draft: the list.
        subject: what it is about.
        given_terms: terms that the user gave, which keep their names and units.
    """
    packed = batch([draft], subject)
    n_rules = packed.lengths[0]
    names = [feature.name for feature in subject.features]
    given_by_row = {
        row.tobytes(): given_term
        for row, given_term in zip(coefficients((*subject.features, *given_terms)), given_terms, strict=True)
    }
    terms = [
        given_by_row.get(row.tobytes())
        or term(None, {names[d]: float(row[d]) for d in np.flatnonzero(row)}, subject.features)
        for row in draft.terms
    ]
    features = (*subject.features, *terms)
    return DecisionList(
        packed.bounds[0, :n_rules], packed.actions[0, :n_rules], features, subject.action_names
    )


def draft_from(ruleset: RuleSet) -> Draft:
    """Return a decision list without terms as a draft; its last rule loses its condition."""
    lows, highs = lows_and_highs(ruleset.features)
    ends = box.decode(ruleset.bounds).astype(np.float64)
    low, high = np.where(ends[..., 0] <= lows, -np.inf, ends[..., 0]), ends[..., 1]
    actions, terms = ruleset.actions.astype(np.int32), np.zeros((0, len(lows)))
    return tidy(Draft(low, np.where(high >= highs, np.inf, high), actions, terms))


def pack(drafts: Sequence[Draft]) -> dict[str, Any]:
    """Return drafts as arrays, by name.

    They are bounds `(n, rules, columns, 2)`, actions `(n, rules)`, lengths `(n,)`, and terms
    `(n, terms, features)` with rows of zeros behind a draft's own.
    """
    n, features = len(drafts), drafts[0].terms.shape[1]
    n_rules = max(len(draft.actions) for draft in drafts)
    n_terms = max(len(draft.terms) for draft in drafts)
    bounds = np.empty((n, n_rules, features + n_terms, 2))
    bounds[..., 0], bounds[..., 1] = -np.inf, np.inf
    actions, sums = np.zeros((n, n_rules), np.int32), np.zeros((n, n_terms, features))
    for i, draft in enumerate(drafts):
        n_own, columns = draft.lows.shape
        bounds[i, :n_own, :columns, 0], bounds[i, :n_own, :columns, 1] = draft.lows, draft.highs
        actions[i, :n_own], sums[i, : len(draft.terms)] = draft.actions, draft.terms
    lengths = np.array([len(draft.actions) for draft in drafts], np.int64)
    return {"bounds": bounds, "actions": actions, "lengths": lengths, "terms": sums}


def unpack(*arrays: NDArray[Any]) -> list[Draft]:
    """Return the drafts that arrays hold: bounds, actions, lengths and terms, as in `pack`."""
    drafts = []
    for bounds, actions, n_rules, terms in zip(*arrays, strict=True):
        used_terms = terms[(terms != 0).any(axis=1)]
        columns = terms.shape[1] + len(used_terms)
        drafts.append(
            Draft(
                bounds[:n_rules, :columns, 0].copy(),
                bounds[:n_rules, :columns, 1].copy(),
                actions[:n_rules].copy(),
                used_terms.copy(),
            )
        )
    return drafts
