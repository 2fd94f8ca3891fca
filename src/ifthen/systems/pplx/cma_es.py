"""CMA-ES (Hansen 2016) for the numbers of a list: thresholds, and the coefficients of its terms."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ifthen.rules.arrays import Floats, Ints
from ifthen.systems.pplx.drafts import Draft, are_given
from ifthen.systems.pplx.matrices import eigenvectors, product


class Cma(NamedTuple):
    """A normal distribution from which candidates are drawn, and what its changes need."""

    mean: Floats
    """`(d,)`."""
    covariance: Floats
    """`(d, d)`."""
    sigma: float
    path: Floats
    """`(d,)`: where the mean has been going."""
    sigma_path: Floats
    """`(d,)`: the same, as if all directions were alike."""
    generation: int


def new_cma(mean: Floats, sigma: float) -> Cma:
    """Return a distribution to begin with."""
    d = len(mean)
    return Cma(mean, np.eye(d), sigma, np.zeros(d), np.zeros(d), 0)


def drawn(state: Cma, normal: Floats) -> Floats:
    """Return candidates, given standard normal numbers `(candidates, d)`."""
    values, vectors = eigenvectors(state.covariance)
    steps = product(normal * np.sqrt(np.maximum(values, 1e-20)), vectors.T)
    return state.mean + state.sigma * steps


def updated(state: Cma, candidates: Floats, scores: Floats) -> Cma:
    """Return the distribution after candidates `(n, d)` got scores `(n,)`, higher being better.

    Hansen's term δ(hσ), which makes up for a path that stands still, is left out of the covariance.
    """
    n, d = candidates.shape
    mu = n // 2
    weights = np.array([math.log(mu + 0.5) - math.log(rank) for rank in range(1, mu + 1)])
    weights /= weights.sum()
    effective = 1 / (weights**2).sum()
    c_sigma = (effective + 2) / (d + effective + 5)
    damping = 1 + 2 * max(0.0, math.sqrt((effective - 1) / (d + 1)) - 1) + c_sigma
    c_path = (4 + effective / d) / (d + 4 + 2 * effective / d)
    c_one = 2 / ((d + 1.3) ** 2 + effective)
    c_mu = min(1 - c_one, 2 * (effective - 2 + 1 / effective) / ((d + 2) ** 2 + effective))
    expected = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
    order = np.argsort(-scores, kind="stable")[:mu]
    steps = (candidates[order] - state.mean) / state.sigma
    step = product(weights[None], steps)[0]
    values, vectors = eigenvectors(state.covariance)
    white = product(product(step[None], vectors) / np.sqrt(np.maximum(values, 1e-20)), vectors.T)[0]
    sigma_path = (1 - c_sigma) * state.sigma_path + math.sqrt(c_sigma * (2 - c_sigma) * effective) * white
    length = math.sqrt((sigma_path**2).sum())
    g = state.generation + 1
    fast = length / math.sqrt(1 - (1 - c_sigma) ** (2 * g)) < (1.4 + 2 / (d + 1)) * expected
    path = (1 - c_path) * state.path + (math.sqrt(c_path * (2 - c_path) * effective) * step if fast else 0.0)
    covariance = (1 - c_one - c_mu) * state.covariance
    covariance = covariance + c_one * np.outer(path, path) + c_mu * product(steps.T * weights, steps)
    sigma = state.sigma * math.exp(min(1.0, (c_sigma / damping) * (length / expected - 1)))
    return Cma(state.mean + state.sigma * step, covariance, sigma, path, sigma_path, g)


class Numbers(NamedTuple):
    """Where the numbers of a draft stand, and by how much each varies."""

    lows: Ints
    """`(a, 2)`: rule and column of each lower end."""
    highs: Ints
    """`(b, 2)`: of each upper end."""
    terms: Ints
    """`(c, 2)`: term and feature of each coefficient."""
    scales: Floats
    """`(a + b + c,)`."""


def numbers_of(draft: Draft, spreads: Floats, given: Floats | None = None) -> Numbers:
    """Return the numbers that can be tuned: thresholds, and all but the first coefficient of each term.

    Those of columns that do not vary cannot, nor the coefficients of given terms `(given, features)`.
    """
    wide = np.concatenate([spreads, np.sqrt((draft.terms**2 * spreads**2).sum(axis=1))])
    lows, highs = (np.argwhere(np.isfinite(ends) & (wide > 0)) for ends in (draft.lows, draft.highs))
    free = np.flatnonzero(~are_given(draft.terms, given)).tolist()
    places = [(t, d) for t in free for d in np.flatnonzero(draft.terms[t])[1:] if spreads[d] > 0]
    terms = np.array(places, np.int64).reshape(len(places), 2)
    ratio = [wide[len(spreads) + t] / spreads[d] / math.sqrt(2) for t, d in places]
    return Numbers(lows, highs, terms, np.concatenate([wide[lows[:, 1]], wide[highs[:, 1]], ratio]))


def read(draft: Draft, at: Numbers) -> Floats:
    """Return the numbers of a draft, in units of what they vary by."""
    own = (draft.lows[tuple(at.lows.T)], draft.highs[tuple(at.highs.T)], draft.terms[tuple(at.terms.T)])
    return np.concatenate(own) / at.scales


def written(draft: Draft, at: Numbers, values: Floats) -> Draft:
    """Return a draft with other numbers."""
    lows, highs, terms = draft.lows.copy(), draft.highs.copy(), draft.terms.copy()
    real = values * at.scales
    a, b = len(at.lows), len(at.lows) + len(at.highs)
    lows[tuple(at.lows.T)], highs[tuple(at.highs.T)], terms[tuple(at.terms.T)] = real[:a], real[a:b], real[b:]
    return Draft(lows, highs, draft.actions, terms)
