"""PPL-ST: evolves rules that learn their strength by Monte Carlo rollouts (paper, section "PPL-ST").

Bishop, Gallagher and Browne, "Pittsburgh learning classifier systems for explainable reinforcement
learning: comparing with XCS", GECCO 2022. Notation: w weights, var variance, x = (x0, s), P payoff,
η learning rate.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ifthen.errors import ModelFileError
from ifthen.inference.strength import StrengthRules, prediction, strength_tables, strongest_action
from ifthen.jit import kernel
from ifthen.parallel import for_slices
from ifthen.randomness import below, fold, stream
from ifthen.rollout.fitness import Fitness
from ifthen.rollout.tabular import outcome, plan
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit, match_masks
from ifthen.systems.base import Record, System
from ifthen.systems.model_file import Model
from ifthen.systems.pittsburgh import (
    PittsburghParameters,
    Population,
    fill_sizes,
    first_population,
    history_row,
    next_generation,
    population_of,
)
from ifthen.tasks.tabular import Dynamics


class PPLSTParameters(PittsburghParameters):
    """Parameters of PPL-ST; the defaults are the paper's."""

    num_reinf_rollouts: int = Field(
        default=10,
        ge=0,
        le=100_000,
        description="Rollouts that reinforce each ruleset before its fitness is measured.",
    )
    eta: float = Field(default=0.1, gt=0, le=1, description="Learning rate η of predictions and variances.")
    x0: float = Field(
        default=10.0, gt=0, le=1e6, description="Constant put before the state in the linear prediction."
    )
    payoff: Literal["return", "paper"] = Field(
        default="return",
        description="Payoff P of a step: its discounted return, or the paper's formula "
        "(the same where reward comes only at the end).",
    )


class PPLST(System):
    """Evolves unordered rules: the strongest matching rule decides; strengths are learnt from rollouts.

    Args:
        task: a TabularTask, or a Gymnasium environment with a transition table `P`.
        seed: seed of everything random in training.
        threads: how many threads to use, all cores where None; results do not depend on it.
        parameters: by name; see `PPLSTParameters`.
    """

    name = "PPL-ST"
    summary = "Evolves rules with learnt strengths (the strongest matching rule decides)."
    Parameters = PPLSTParameters

    def __init__(self, task: Any, *, seed: int = 0, threads: int | None = None, **parameters: Any) -> None:
        super().__init__(task, seed=seed, threads=threads, **parameters)
        p = self.parameters
        self._fitness = Fitness(self.task, p.fitness, p.noise, self.threads)

    def fill_parameters(self, parameters: PPLSTParameters) -> PPLSTParameters:
        """Fill in the sizes left to the task."""
        return fill_sizes(parameters, self.task)

    @property
    def _learns(self) -> int:
        """How many numbers a rule learns: w (one per feature and x0's) and var."""
        return len(self.task.features) + 2

    def begin(self) -> tuple[Population, Record]:
        """Return random rulesets that know nothing yet, reinforced once."""
        population = first_population(self.parameters, self.task, self.seed, self._learns)
        return self._reinforced_and_measured(population, None)

    def advance(self, population: Population, before: Record) -> tuple[Population, Record]:
        """Breed, exchanging whole rules with what they have learnt; reinforce; measure."""
        children = next_generation(
            self.parameters,
            self.task,
            self.seed,
            int(before["epoch"]) + 1,
            self.threads,
            population,
            whole_rules=True,
        )
        return self._reinforced_and_measured(children, before)

    def _reinforced_and_measured(
        self, population: Population, before: Record | None
    ) -> tuple[Population, Record]:
        """Reinforce a new population, then return it with its fitness, and the history's row."""
        epoch = 0 if before is None else int(before["epoch"]) + 1
        p, model, shared = self.parameters, self.task.dynamics, plan(self.task)
        n = len(population.bounds)
        key = stream(self.seed, "reinforce", epoch)
        steps = np.empty(n, dtype=np.int64)
        policies = np.empty((n, len(model.states)), dtype=np.int16)

        def work(first: int, last: int) -> None:
            reinforce_rules(
                first,
                last,
                key,
                population.bounds,
                population.actions,
                population.learnt,
                model,
                shared.cuts,
                shared.discounts,
                p.num_reinf_rollouts,
                p.eta,
                p.x0,
                p.payoff == "paper",
                steps,
            )
            strength_tables(
                first,
                last,
                population.bounds,
                population.actions,
                population.learnt,
                p.x0,
                model.states,
                model.points,
                model.lows,
                model.widest,
                policies,
            )

        for_slices(work, n, self.threads)
        measured = self._fitness.measure(policies)
        trained = (n * p.num_reinf_rollouts, int(steps.sum()))
        row = history_row(self.task, policies, measured, self._fitness, trained, before)
        return population._replace(fitness=measured.performance), row

    @property
    def ruleset(self) -> StrengthRules:
        """The fittest ruleset of the present population."""
        population = self.now.population
        best = int(population.fitness.argmax())
        return StrengthRules(
            population.bounds[best],
            population.actions[best],
            self.task.features,
            self.task.action_names,
            population.learnt[best, :, :-1],
            population.learnt[best, :, -1],
            self.parameters.x0,
        )

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds."""
        population = population_of(model, self.parameters, self.task, self._learns)
        if (population.learnt[:, :, -1] < 0).any():
            raise ModelFileError(f"{model.path}: some variances are negative.")
        return population


@kernel
def update_action_set(
    masks: NDArray[np.uint64],
    action_masks: NDArray[np.uint64],
    s: int,
    a: int,
    i: int,
    payoff: float,
    eta: float,
    x0: float,
    points: NDArray[np.float64],
    learnt: NDArray[np.float64],
) -> None:
    """Move w and var of every rule in the action set of (s, a) towards the payoff P (updateActionSet).

    Moving w by η/‖x‖² · ε · x moves w·x by ηε, so that the error left is (1 − η)ε.
    """
    features = points.shape[1]
    norm = x0 * x0
    for d in range(features):
        norm += points[s, d] * points[s, d]
    rate = eta / norm
    for word in range(masks.shape[1]):
        mask = masks[s, word] & action_masks[a, word]
        while mask != ZERO:
            r = word * WORD + lowest_bit(mask)
            mask &= mask - ONE
            error = payoff - prediction(learnt, i, r, x0, points, s)
            learnt[i, r, 0] += rate * error * x0
            for d in range(features):
                learnt[i, r, d + 1] += rate * error * points[s, d]
            left = (1 - eta) * error
            learnt[i, r, features + 1] = (1 - eta) * learnt[i, r, features + 1] + eta * left * left


@kernel
def reinforce_rules(
    first: int,
    last: int,
    key: np.uint64,
    bounds: NDArray[np.int32],
    actions: NDArray[np.int32],
    learnt: NDArray[np.float64],
    model: Dynamics,
    cuts: NDArray[np.float64],
    discounts: NDArray[np.float64],
    rollouts: int,
    eta: float,
    x0: float,
    paper_payoff: bool,
    out_steps: NDArray[np.int64],
) -> None:
    """Let individuals `first` to `last − 1` learn from `rollouts` trajectories each (reinforceRules)."""
    rules, t_max = bounds.shape[1], len(discounts) - 1
    n_states, n_actions, _ = model.next_state.shape
    words = (rules + WORD - 1) // WORD
    value_masks = np.empty((model.states.shape[1], model.widest, words), dtype=np.uint64)
    masks = np.empty((n_states, words), dtype=np.uint64)
    action_masks = np.empty((n_actions, words), dtype=np.uint64)
    deviations = np.empty(rules)
    chosen = np.empty(n_states, dtype=np.int64)
    chosen_in = np.empty(n_states, dtype=np.int64)
    trajectory_s = np.empty(t_max, dtype=np.int64)
    trajectory_a = np.empty(t_max, dtype=np.int64)
    trajectory_r = np.empty(t_max)
    for i in range(first, last):
        own = fold(key, i)
        out_steps[i] = 0
        match_masks(bounds, i, model.states, model.lows, value_masks, masks)
        action_masks[:] = ZERO
        for r in range(rules):
            action_masks[actions[i, r], r // WORD] |= ONE << np.uint64(r % WORD)
        chosen_in[:] = -1
        for rollout in range(rollouts):
            noise = fold(own, rollout)
            for r in range(rules):
                deviations[r] = math.sqrt(learnt[i, r, -1])
            s = model.starts[below(noise, 0, len(model.starts))]
            length = 0
            while length < t_max and s >= 0:
                if chosen_in[s] != rollout:
                    chosen_in[s] = rollout
                    chosen[s] = strongest_action(masks, s, actions, learnt, deviations, i, x0, model.points)
                a = chosen[s]
                if a < 0:
                    break
                k = outcome(noise, cuts, length + 1)
                trajectory_s[length] = s
                trajectory_a[length] = a
                trajectory_r[length] = model.reward[s, a, k]
                length += 1
                s = model.next_state[s, a, k]
            out_steps[i] += length
            returned = 0.0
            summed = 0.0
            for t in range(length - 1, -1, -1):
                summed += trajectory_r[t]
                returned = trajectory_r[t] + discounts[1] * returned
                payoff = discounts[length - 1 - t] * summed if paper_payoff else returned
                update_action_set(
                    masks,
                    action_masks,
                    trajectory_s[t],
                    trajectory_a[t],
                    i,
                    payoff,
                    eta,
                    x0,
                    model.points,
                    learnt,
                )
