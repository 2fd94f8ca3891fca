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
    n_numbers = len(mean)
    return Cma(mean, np.eye(n_numbers), sigma, np.zeros(n_numbers), np.zeros(n_numbers), 0)


def drawn(state: Cma, normal: Floats) -> Floats:
    """Return candidates, given standard normal numbers `(candidates, d)`."""
    eigenvalues, axes = eigenvectors(state.covariance)
    steps = product(normal * np.sqrt(np.maximum(eigenvalues, 1e-20)), axes.T)
    return state.mean + state.sigma * steps


def updated(state: Cma, candidates: Floats, scores: Floats) -> Cma:
    """Return the distribution after candidates `(n, d)` got scores `(n,)`, higher being better.

    Hansen's term δ(hσ), which makes up for a path that stands still, is left out of the covariance.
    """
    n, d = candidates.shape
    mu = n // 2
    weights = np.array([math.log(mu + 0.5) - math.log(rank) for rank in range(1, mu + 1)])
    weights /= weights.sum()
    mu_eff = 1 / (weights**2).sum()
    c_sigma = (mu_eff + 2) / (d + mu_eff + 5)
    damping = 1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (d + 1)) - 1) + c_sigma
    c_path = (4 + mu_eff / d) / (d + 4 + 2 * mu_eff / d)
    c_one = 2 / ((d + 1.3) ** 2 + mu_eff)
    c_mu = min(1 - c_one, 2 * (mu_eff - 2 + 1 / mu_eff) / ((d + 2) ** 2 + mu_eff))
    expected_norm = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
    order = np.argsort(-scores, kind="stable")[:mu]
    steps = (candidates[order] - state.mean) / state.sigma
    step = product(weights[None], steps)[0]
    eigenvalues, axes = eigenvectors(state.covariance)
    white = product(product(step[None], axes) / np.sqrt(np.maximum(eigenvalues, 1e-20)), axes.T)[0]
    sigma_path = (1 - c_sigma) * state.sigma_path + math.sqrt(c_sigma * (2 - c_sigma) * mu_eff) * white
    norm = math.sqrt((sigma_path**2).sum())
    generation = state.generation + 1
    h_sigma = norm / math.sqrt(1 - (1 - c_sigma) ** (2 * generation)) < (1.4 + 2 / (d + 1)) * expected_norm
    path = (1 - c_path) * state.path + (math.sqrt(c_path * (2 - c_path) * mu_eff) * step if h_sigma else 0.0)
    covariance = (1 - c_one - c_mu) * state.covariance
    covariance = covariance + c_one * np.outer(path, path) + c_mu * product(steps.T * weights, steps)
    sigma = state.sigma * math.exp(min(1.0, (c_sigma / damping) * (norm / expected_norm - 1)))
    return Cma(state.mean + state.sigma * step, covariance, sigma, path, sigma_path, generation)


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


def numbers_of(draft: Draft, spreads: Floats, given_terms: Floats | None = None) -> Numbers:
    """Return the numbers that can be tuned: thresholds, and all but the first coefficient of each term.

    Those of columns that do not vary cannot, nor the coefficients of given terms `(given, features)`.
    """
    column_spreads = np.concatenate([spreads, np.sqrt((draft.terms**2 * spreads**2).sum(axis=1))])
    varies = column_spreads > 0
    lows, highs = (np.argwhere(np.isfinite(ends) & varies) for ends in (draft.lows, draft.highs))
    tunable = np.flatnonzero(~are_given(draft.terms, given_terms)).tolist()
    places = [(t, d) for t in tunable for d in np.flatnonzero(draft.terms[t])[1:] if spreads[d] > 0]
    terms = np.array(places, np.int64).reshape(len(places), 2)
    coefficients = [column_spreads[len(spreads) + t] / spreads[d] / math.sqrt(2) for t, d in places]
    scales = np.concatenate([column_spreads[lows[:, 1]], column_spreads[highs[:, 1]], coefficients])
    return Numbers(lows, highs, terms, scales)


def read_numbers(draft: Draft, numbers: Numbers) -> Floats:
    """Return the numbers of a draft, in units of what they vary by."""
    lows, highs = draft.lows[tuple(numbers.lows.T)], draft.highs[tuple(numbers.highs.T)]
    return np.concatenate([lows, highs, draft.terms[tuple(numbers.terms.T)]]) / numbers.scales


def with_numbers(draft: Draft, numbers: Numbers, values: Floats) -> Draft:
    """Return a draft with other numbers."""
    lows, highs, terms = draft.lows.copy(), draft.highs.copy(), draft.terms.copy()
    cuts = len(numbers.lows), len(numbers.lows) + len(numbers.highs)
    new_lows, new_highs, new_terms = np.split(values * numbers.scales, cuts)
    lows[tuple(numbers.lows.T)], highs[tuple(numbers.highs.T)] = new_lows, new_highs
    terms[tuple(numbers.terms.T)] = new_terms
    return Draft(lows, highs, draft.actions, terms)
