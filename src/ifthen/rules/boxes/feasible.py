"""Cells of a space with terms: is there an observation in a box of features and terms?

A term follows from its features, so that most boxes of both are empty. That a box is empty is known where the
ends of its features alone keep a term out, which holds to the last bit (`ifthen.rules.term`), or where a
linear program says so by a clear margin. That it is not empty is only ever said with an observation in it,
whose terms were worked out. Between these two, where sides of a box just touch, rounding decides, and the
answer is that it is not known.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ifthen.digits import plural
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.term import ranges_of, with_terms

CLEARLY = 1e-6
"""Differences of at least this share of a term's range are neither rounding nor the solver's tolerance."""
DIGITS = range(1, 18)
STEPS = 80
"""The number of halvings that shrink any interval of floats to two neighbours."""
Answer = Floats | Literal["empty", "unknown"]


def observation_in(box: Floats, terms: Floats, is_integer: Mask) -> Answer:
    """Return an observation `(features,)` in a box, or whether there is none or none is known.

    Args:
        box: closed intervals of features and terms, `(features + terms, 2)`.
        terms: coefficients, `(terms, features)`.
        is_integer: which features are integer, `(features,)`.
    """
    n = len(is_integer)
    lows, highs = ranges_of(terms, *box[:n].T)
    if (box[n:, 0] > highs).any() or (box[n:, 1] < lows).any():
        return "empty"
    restricts = (box[n:, 0] > lows) | (box[n:, 1] < highs)
    asked_box = np.concatenate([box[:n], box[n:][restricts]])
    middle = box[:n].mean(axis=1)
    point = _rounded(middle, asked_box, terms[restricts], is_integer)
    if point is None and restricts.any():
        best, margin = _deepest(asked_box, terms[restricts], (lows[restricts], highs[restricts]), is_integer)
        if margin < -CLEARLY:
            return "empty"
        point = _rounded(best, asked_box, terms[restricts], is_integer)
        point = _moved(best, asked_box, terms[restricts], is_integer) if point is None else point
    return "unknown" if point is None else point


def by_rounding(boxes: int) -> str:
    """Return in words that rounding decides whether a number of boxes are empty; "" for none."""
    return f"at {plural(boxes, 'facet')} only the rounding of sums decides" if boxes else ""


def _inside(points: Floats, box: Floats, terms: Floats) -> Mask:
    """Return which points `(m, features)` are in a box of features and terms."""
    values = with_terms(terms, points)
    return np.asarray(((box[:, 0] <= values) & (values <= box[:, 1])).all(axis=1))


def _rounded(point: Floats, box: Floats, terms: Floats, is_integer: Mask) -> Floats | None:
    """Return a point in as few digits as keep it in the box; None where no number of digits does."""
    n = len(is_integer)
    rounded = np.array([[float(f"{value:.{digits}g}") for value in point] for digits in DIGITS])
    candidates = np.clip(np.where(is_integer, np.rint(rounded), rounded), box[:n, 0], box[:n, 1]) + 0.0
    inside = np.flatnonzero(_inside(candidates, box, terms))
    return candidates[inside[0]] if len(inside) else None


def _deepest(
    box: Floats, terms: Floats, ranges: tuple[Floats, Floats], is_integer: Mask
) -> tuple[Floats, float]:
    """Return the point whose terms lie as far inside as they can, and how far, as a part of their ranges.

    It lies outside where that is negative.
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]  # scipy has no stubs

    n, term_box = len(is_integer), box[len(is_integer) :]
    # Features count from 0 to 1, so that the solver's tolerances are parts of their ranges.
    widths = np.where(is_integer, 1.0, box[:n, 1] - box[:n, 0])
    scale = np.maximum(ranges[1] - ranges[0], np.finfo(float).tiny)[:, None]
    slopes, start = terms * widths / scale, (terms @ box[:n, 0])[:, None] / scale
    depth = np.ones((len(terms), 1))
    matrix = np.concatenate([np.hstack([slopes, depth]), np.hstack([-slopes, depth])])
    limits = np.concatenate([term_box[:, [1]] / scale - start, start - term_box[:, [0]] / scale]).ravel()
    upper = np.where(is_integer, box[:n, 1] - box[:n, 0], 1.0)
    solution: Any = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=matrix,
        b_ub=limits,
        bounds=[*((0.0, limit) for limit in upper), (None, None)],
        integrality=np.append(is_integer, False).astype(int),
        method="highs",
    )
    if solution.x is None:  # never for such programs, unless numbers are extreme
        return box[:n].mean(axis=1), 0.0
    point = np.clip(box[:n, 0] + solution.x[:n] * widths, box[:n, 0], box[:n, 1])
    return np.where(is_integer, np.rint(point), point), float(solution.x[n])


def _moved(point: Floats, box: Floats, terms: Floats, is_integer: Mask) -> Floats | None:
    """Return a point in the box that differs from `point` in one real feature; None where none is found.

    A term rises or falls all along a feature, so that halving finds the value at which it enters the box.
    """
    n = len(is_integer)
    for t, d in np.argwhere((terms != 0) & ~is_integer).tolist():
        low, high = box[d]
        for _ in range(STEPS):
            candidate = point.copy()
            candidate[d] = low / 2 + high / 2
            if _inside(candidate[None], box, terms)[0]:
                return candidate
            value = with_terms(terms, candidate[None])[0, n + t]
            too_high = value > box[n + t, 1]
            if too_high == (terms[t, d] > 0):
                high = candidate[d]
            else:
                low = candidate[d]
    return None
