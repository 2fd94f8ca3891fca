"""What an action set learns from a payoff P (paper, section "XCS"; Butz and Wilson 2002, Wilson 2002).

Per rule, in this order: experience; the least error μ of its niches (Lanzi and Colombetti 1999, where the
task is stochastic); error ε; prediction w·x; action-set size; then fitness F from accuracy κ relative to the
set. Rates follow MAM: a mean over the first 1/β updates, β from then on.

RLS (Lanzi, Loiacono, Wilson and Goldberg 2006) forgets by dividing its covariance by λ at every update, so in
a direction that the rule's states do not span it would grow without end, until rounding ruins the rest.
Where the trace reaches a limit, it therefore forgets in the direction of x only (Kulhavý 1987): along x the
covariance goes where plain forgetting would take it, elsewhere it stays.

A constant prediction moves at the rate of errors. By gradient (Butz, Goldberg and Lanzi 2005) it moves less,
in proportion to the rule's share of the set's fitness; rules that are still taking a mean are left out of
this, which is our choice.
"""

from __future__ import annotations

import numpy as np

from ifthen.jit import lean_kernel
from ifthen.rules.arrays import Floats
from ifthen.rules.strength import prediction
from ifthen.systems.xcsf.index import Learning
from ifthen.systems.xcsf.xcsf_parameters import Settings

LEAST = 1e-100  # of accuracy, so that fitness, by which predictions are weighted, is never 0


@lean_kernel
def reset_covariance(covariance: Floats, r: int, n: int, delta: float) -> None:
    """Make the covariance of rule r, n by n, that of a new rule."""
    at = 0
    for i in range(n):
        covariance[r, at] = delta
        for j in range(at + 1, at + n - i):
            covariance[r, j] = 0.0
        at += n - i


@lean_kernel
def learn_rls(
    weights: Floats,
    covariance: Floats,
    r: int,
    inputs: Floats,
    s: int,
    error: float,
    settings: Settings,
    gains: Floats,
    axes: tuple[int, ...],
) -> None:
    """Move the weights of rule r by recursive least squares, given its error P − w·x in state s."""
    n = len(axes) + 1
    for i in range(n):
        gains[i] = 0.0
    at = 0
    for i in range(n):
        gains[i] += covariance[r, at] * inputs[s, i]
        at += 1
        for j in range(i + 1, n):
            gains[i] += covariance[r, at] * inputs[s, j]
            gains[j] += covariance[r, at] * inputs[s, i]
            at += 1
    spread, trace, at = 0.0, 0.0, 0
    for i in range(n):
        spread += gains[i] * inputs[s, i]
        trace += covariance[r, at]
        at += n - i
    if not spread > 0.0:  # rounding has ruined the covariance, which can happen where features are huge
        reset_covariance(covariance, r, n, settings.delta_rls)
        spread, trace = 0.0, n * settings.delta_rls
        for i in range(n):
            gains[i] = settings.delta_rls * inputs[s, i]
            spread += gains[i] * inputs[s, i]
    lambda_rls = settings.lambda_rls
    move = shrink = 1.0 / (lambda_rls + spread)
    scale = settings.forgetting
    if trace * scale > settings.rls_limit:
        move, scale = 1.0 / (1.0 + spread), 1.0
        shrink = (lambda_rls - (1.0 - lambda_rls) / spread) / (lambda_rls * (1.0 + spread))
    at = 0
    for i in range(n):
        weights[r, i] += move * gains[i] * error
        for j in range(i, n):
            covariance[r, at] = (covariance[r, at] - shrink * gains[i] * gains[j]) * scale
            at += 1


@lean_kernel
def learn_nlms(
    weights: Floats, r: int, inputs: Floats, s: int, error: float, eta: float, axes: tuple[int, ...]
) -> None:
    """Move the weights of rule r by normalised least mean squares, given its error P − w·x in state s."""
    norm = 0.0
    for i in range(len(axes) + 1):
        norm += inputs[s, i] * inputs[s, i]
    step = eta * error / norm
    for i in range(len(axes) + 1):
        weights[r, i] += step * inputs[s, i]


@lean_kernel
def accuracy(error: float, settings: Settings) -> float:
    """Return κ: 1 below ε0, falling as a power of the error above."""
    if error < settings.epsilon_0:
        return 1.0
    ratio = settings.epsilon_0 / error
    power: float = settings.alpha
    for _ in range(settings.nu):
        power *= ratio
    return power if power > LEAST else LEAST


@lean_kernel
def update_set(n: int, s: int, payoff: float, learning: Learning) -> None:
    """Update the action set in the first `n` of `space.members`, met in state s, towards the payoff P."""
    model, classifiers, space, settings = (
        learning.model,
        learning.classifiers,
        learning.space,
        learning.settings[0],
    )
    rules, members, kappas = classifiers.rules, space.members, space.numbers
    weights, covariance, axes = classifiers.weights, classifiers.covariance, model.axes
    set_micros, least_error = 0, np.inf
    for i in range(n):
        rule = rules[members[i]]
        set_micros += rule.numerosity
        least_error = min(least_error, rule.error)
    total_accuracy, set_fitness = 0.0, 0.0
    if settings.gradient:
        for i in range(n):
            set_fitness += rules[members[i]].fitness
    for i in range(n):
        r = members[i]
        rule = rules[r]
        rule.experience += 1
        mean_rate = 1.0 / rule.experience
        rate = max(settings.beta, mean_rate)
        error = payoff - prediction(weights, r, settings.x0, model.points, s, axes)
        deviation = abs(error)
        if settings.niche_error:
            rule.niche_error += max(settings.beta_epsilon, mean_rate) * (least_error - rule.niche_error)
            deviation -= rule.niche_error
            if deviation < 0:
                deviation = settings.epsilon_0
        rule.error = deviation if rate == 1.0 else rule.error + rate * (deviation - rule.error)
        if settings.rls:
            learn_rls(weights, covariance, r, space.inputs, s, error, settings, space.gains, axes)
        elif settings.nlms:
            learn_nlms(weights, r, space.inputs, s, error, settings.eta, axes)
        else:
            share = rule.fitness / set_fitness if settings.gradient and rate == settings.beta else 1.0
            weights[r, 0] += rate * share * error / settings.x0
        rule.set_size += rate * (set_micros - rule.set_size)
        kappas[i] = accuracy(rule.error, settings) * rule.numerosity
        total_accuracy += kappas[i]
    step = settings.beta / total_accuracy
    for i in range(n):
        rule = rules[members[i]]
        rule.fitness = (1 - settings.beta) * rule.fitness + kappas[i] * step
