"""PPL-ST: evolves rules that learn their strength by Monte Carlo rollouts (paper, section "PPL-ST").

Bishop, Gallagher and Browne, "Pittsburgh learning classifier systems for explainable reinforcement
learning: comparing with XCS", GECCO 2022. Notation: w weights, var variance, x = (x0, s), P payoff,
η learning rate.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ifthen.errors import ModelFileError, ParameterError
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.rulebook import STRENGTH, Rulebook
from ifthen.inference.strength import StrengthRules, prediction, strength_tables, strongest_action
from ifthen.jit import kernel
from ifthen.parallel import for_slices
from ifthen.randomness import below, fold, stream
from ifthen.rollout.env_fitness import EnvFitness
from ifthen.rollout.fitness import Fitness
from ifthen.rollout.tabular import outcome, plan
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit, match_masks, words_for
from ifthen.rules.ruleset import RuleSet
from ifthen.systems.base import Goal, Record, System
from ifthen.systems.model_file import Model
from ifthen.systems.pittsburgh import Population, first_population, next_generation
from ifthen.systems.pittsburgh_history import history_row, measured_in_env, population_of
from ifthen.systems.pittsburgh_parameters import PittsburghParameters, budget_of, fill_sizes
from ifthen.systems.reinforce import reinforce_in_env
from ifthen.systems.start import check_size, put_first
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import Dynamics, Method


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
        task: a TabularTask or an EnvTask, a task's name, or a Gymnasium environment.
        seed: seed of everything random in training.
        threads: how many threads to use, all cores where None; results do not depend on it.
        start: rules to begin with, of kind strength, or a decision list, whose rules then know nothing yet;
            random ones only where None.
        parameters: by name; see `PPLSTParameters`.
    """

    name = "PPL-ST"
    summary = "Evolves rules with learnt strengths (the strongest matching rule decides)."
    Parameters = PPLSTParameters
    starts_from = (StrengthRules.kind, DecisionList.kind)

    @cached_property
    def _fitness(self) -> Fitness | EnvFitness:
        if isinstance(self.task, EnvTask):
            p = self.parameters
            return EnvFitness(self.task, self.threads, budget_of(p), p.elites)
        return Fitness(self.task, self.method, self.parameters.noise, self.threads)

    def fill_parameters(self, parameters: PPLSTParameters) -> PPLSTParameters:
        """Fill in the sizes left to the task."""
        if isinstance(self.task, EnvTask) and self.task.default_action is not None:
            raise ParameterError(
                "a default action is the last rule of a decision list, and PPL-ST's rules have no order: use "
                "PPL-DL, or leave default_action out."
            )
        return fill_sizes(parameters, self.task)

    @property
    def _learns(self) -> int:
        """How many numbers a rule learns: w (one per feature and x0's) and var."""
        return len(self.task.features) + 2

    @property
    def method(self) -> Method:
        """How fitness is measured."""
        method: Method = self.parameters.fitness
        return method

    def fit_start(self, start: RuleSet) -> RuleSet:
        """Return the rules to begin with, or raise where they do not fit the parameters."""
        check_size(super().fit_start(start), self.parameters.idv_size)
        if isinstance(start, StrengthRules) and start.x0 != self.parameters.x0:
            raise ParameterError(
                f"start has x0 = {start.x0:g}, but the parameter x0 is {self.parameters.x0:g}. "
                f"Give x0={start.x0!r}: its weights are made for that."
            )
        return start

    def begin(self, progress_bar: bool = False) -> tuple[Population, Record]:
        """Return random rulesets that know nothing yet, after the one to start from, all reinforced once."""
        population = first_population(self.parameters, self.task, self.seed, self._learns)
        if self.start is not None:
            knows = isinstance(self.start, StrengthRules)
            columns = self.start.extra_columns().values()
            learnt = np.column_stack([*columns]) if knows else np.zeros((len(self.start), self._learns))
            put_first(self.start, learnt, *population[:3])
        return self._reinforced_and_measured(population, None)

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Breed, exchanging whole rules with what they have learnt; reinforce all but elites; measure."""
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
        if isinstance(self._fitness, EnvFitness):
            return self._reinforced_in_env(population, self._fitness, epoch, before)
        p, model, shared = self.parameters, self.task.dynamics, plan(self.task)
        n = len(population.bounds)
        key, learners = stream(self.seed, "reinforce", epoch), self._learners(before)
        steps = np.zeros(learners, dtype=np.int64)
        policies = np.empty((n, len(model.states)), dtype=np.int16)

        def work(first: int, last: int) -> None:
            reinforce_rules(
                first,
                min(last, learners),
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
                model.axes,
                policies,
            )

        for_slices(work, n, self.threads, self.task.grain)
        measured = self._fitness.measure(policies)
        trained = (learners * p.num_reinf_rollouts, int(steps.sum()))
        row = history_row(self.task, policies, measured, self._fitness, trained, before)
        return population._replace(fitness=measured.performance), row

    def _reinforced_in_env(
        self, population: Population, fitness: EnvFitness, epoch: int, before: Record | None
    ) -> tuple[Population, Record]:
        """Do the same in an environment."""
        p = self.parameters
        rules = Rulebook.of(STRENGTH, *population[:3], self.task.features, p.x0)
        key, learners = stream(self.seed, "reinforce", epoch), self._learners(before)
        steps = reinforce_in_env(
            self.task,
            rules,
            learners,
            key,
            p.num_reinf_rollouts,
            p.eta,
            p.payoff == "paper",
            self.threads,
        )
        trained = (learners * p.num_reinf_rollouts, steps)
        return measured_in_env(population, rules, fitness, trained, before)

    def _learners(self, before: Record | None) -> int:
        """Return how many individuals are reinforced: all but the elites, which stay as they are."""
        p = self.parameters
        return int(p.pop_size) if before is None else int(p.pop_size) - int(p.elites)

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


class Workspace(NamedTuple):
    """Memory that one thread uses over and over while it reinforces individuals."""

    value_masks: NDArray[np.uint64]
    """`(features, widest, words)`: scratch of `match_masks`."""
    masks: NDArray[np.uint64]
    """`(D, words)`: the match set of every state."""
    action_masks: NDArray[np.uint64]
    """`(A, words)`: the rules that advocate each action."""
    deviations: NDArray[np.float64]
    """`(rules,)`: sqrt(var)."""
    chosen: NDArray[np.int64]
    """`(D,)`: the action chosen in each state …"""
    chosen_in: NDArray[np.int64]
    """`(D,)`: … if this is the present rollout. Rules do not change during a rollout."""
    states: NDArray[np.int64]
    """`(t_max,)`: the trajectory's states,"""
    actions: NDArray[np.int64]
    """`(t_max,)`: actions"""
    rewards: NDArray[np.float64]
    """`(t_max,)`: and rewards."""
    rates: NDArray[np.float64]
    """`(D,)`: η/‖x‖²."""


@kernel
def new_workspace(rules: int, t_max: int, eta: float, x0: float, model: Dynamics) -> Workspace:
    """Return a workspace for rulesets of `rules` rules."""
    n_states, n_actions, _ = model.next_state.shape
    words = words_for(rules)
    rates = np.empty(n_states, dtype=np.float64)
    for s in range(n_states):
        norm = x0 * x0
        for d in range(len(model.axes)):
            norm += model.points[s, d] * model.points[s, d]
        rates[s] = eta / norm
    return Workspace(
        np.empty((model.states.shape[1], model.widest, words), dtype=np.uint64),
        np.empty((n_states, words), dtype=np.uint64),
        np.empty((n_actions, words), dtype=np.uint64),
        np.empty(rules, dtype=np.float64),
        np.empty(n_states, dtype=np.int64),
        np.empty(n_states, dtype=np.int64),
        np.empty(t_max, dtype=np.int64),
        np.empty(t_max, dtype=np.int64),
        np.empty(t_max, dtype=np.float64),
        rates,
    )


@kernel
def generate_trajectory(
    noise: np.uint64,
    rollout: int,
    actions: NDArray[np.int32],
    learnt: NDArray[np.float64],
    x0: float,
    model: Dynamics,
    cuts: NDArray[np.float64],
    space: Workspace,
) -> int:
    """Act by one individual's rules from a random initial state; return how many steps were taken."""
    for r in range(len(actions)):
        space.deviations[r] = math.sqrt(learnt[r, -1])
    s = model.starts[below(noise, 0, len(model.starts))]
    length = 0
    while length < len(space.states) and s >= 0:
        if space.chosen_in[s] != rollout:
            space.chosen_in[s] = rollout
            space.chosen[s] = strongest_action(
                space.masks, s, actions, learnt, space.deviations, x0, model.points, model.axes
            )
        a = space.chosen[s]
        if a < 0:
            break
        k = outcome(noise, cuts, length + 1)
        space.states[length] = s
        space.actions[length] = a
        space.rewards[length] = model.reward[s, a, k]
        length += 1
        s = model.next_state[s, a, k]
    return length


@kernel
def update_action_set(
    masks: NDArray[np.uint64],
    action_masks: NDArray[np.uint64],
    s: int,
    a: int,
    payoff: float,
    eta: float,
    rate: float,
    x0: float,
    points: NDArray[np.float64],
    axes: tuple[int, ...],
    learnt: NDArray[np.float64],
) -> None:
    """Move w and var of every rule in the action set of (s, a) towards the payoff P (updateActionSet).

    Moving w by `rate` · ε · x, `rate` being η/‖x‖², moves w·x by ηε, so that the error left is (1 − η)ε.
    """
    features = len(axes)
    for word in range(masks.shape[1]):
        mask = masks[s, word] & action_masks[a, word]
        while mask != ZERO:
            r = word * WORD + lowest_bit(mask)
            mask &= mask - ONE
            error = payoff - prediction(learnt, r, x0, points, s, axes)
            learnt[r, 0] += rate * error * x0
            for d in range(features):
                learnt[r, d + 1] += rate * error * points[s, d]
            left = (1 - eta) * error
            learnt[r, features + 1] = (1 - eta) * learnt[r, features + 1] + eta * left * left


@kernel
def reinforce_trajectory(
    length: int,
    learnt: NDArray[np.float64],
    discounts: NDArray[np.float64],
    eta: float,
    x0: float,
    paper_payoff: bool,
    model: Dynamics,
    space: Workspace,
) -> None:
    """Walk a trajectory backwards and reinforce the action set of each of its steps."""
    returned, summed = 0.0, 0.0
    for t in range(length - 1, -1, -1):
        summed += space.rewards[t]
        returned = space.rewards[t] + discounts[1] * returned
        payoff = discounts[length - 1 - t] * summed if paper_payoff else returned
        s, a = space.states[t], space.actions[t]
        update_action_set(
            space.masks,
            space.action_masks,
            s,
            a,
            payoff,
            eta,
            space.rates[s],
            x0,
            model.points,
            model.axes,
            learnt,
        )


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
    rules = bounds.shape[1]
    space = new_workspace(rules, len(discounts) - 1, eta, x0, model)
    for i in range(first, last):
        own = fold(key, i)
        match_masks(bounds, i, model.states, model.lows, space.value_masks, space.masks)
        space.action_masks[:] = ZERO
        for r in range(rules):
            space.action_masks[actions[i, r], r // WORD] |= ONE << np.uint64(r % WORD)
        space.chosen_in[:] = -1
        out_steps[i] = 0
        for rollout in range(rollouts):
            noise = fold(own, rollout)
            length = generate_trajectory(noise, rollout, actions[i], learnt[i], x0, model, cuts, space)
            reinforce_trajectory(length, learnt[i], discounts, eta, x0, paper_payoff, model, space)
            out_steps[i] += length
