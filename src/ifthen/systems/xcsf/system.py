"""XCSF behind the contract of a system: epochs of GA invocations, history, ruleset, files."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.randomness import stream
from ifthen.rollout.fitness import Fitness
from ifthen.rollout.tabular import plan
from ifthen.rules.box import words_for
from ifthen.rules.ruleset import NULL_ACTION
from ifthen.systems.base import Goal, Record, System
from ifthen.systems.model_file import Model
from ifthen.systems.xcsf import parameters as of
from ifthen.systems.xcsf.checkpoint import checked_population
from ifthen.systems.xcsf.index import HELD, Space, mark_members, new_space, states_up_to
from ifthen.systems.xcsf.population import (
    COUNTERS,
    Classifiers,
    Population,
    clock_of,
    empty_population,
    packed,
    too_large,
    unpacked,
)
from ifthen.systems.xcsf.run import run_steps
from ifthen.tasks.solve import value_iteration

PIECE = 200_000
PATIENCE = 200_000  # steps without a GA invocation, per step of θ_GA, after which there will be none
COUNTED = COUNTERS[COUNTERS.index("ga_invocations") :]
HISTORY = (
    "epoch",
    "performance",
    "exact_performance",
    "q_error",  # mean |Q̂ − Q*| over all states and actions, those without a rule predicting 0
    "macros",
    "micros",
    "mean_error",  # of a microclassifier
    "mean_generality",  # share of the feature space that a microclassifier matches
    "episodes",
    "steps",
    *COUNTED,
)


class XCSF(System):
    """Evolves one population of rules that predict payoffs; the action predicted to pay most is taken.

    Args:
        task: a TabularTask, or a Gymnasium environment with a transition table `P`.
        seed: seed of everything random in training.
        threads: how many threads to use, all cores where None; results do not depend on it.
        parameters: by name; see `XCSFParameters`.
    """

    name = "XCSF"
    summary = "Evolves one population of rules that predict payoffs (the best prediction decides)."
    Parameters = of.XCSFParameters

    def fill_parameters(self, parameters: of.XCSFParameters) -> of.XCSFParameters:
        """Fill in what was left to the task."""
        return of.fill_parameters(parameters, self.task)

    @cached_property
    def _settings(self) -> of.Settings:
        return of.kernel_settings(self.parameters, self.task)

    @cached_property
    def _reach(self) -> of.Reach:
        return of.kernel_reach(self.parameters, self.task)

    @cached_property
    def _tables(self) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
        """The inputs x of every state, and which states have a feature up to each value."""
        model = self.task.dynamics
        n_states, features = model.states.shape
        up_to = np.zeros((features, model.widest + 1, words_for(n_states)), dtype=np.uint64)
        states_up_to(model.states, model.lows, model.widest, up_to)
        return np.column_stack([np.full(n_states, self.parameters.x0), model.points]), up_to

    @cached_property
    def _measures(self) -> tuple[Fitness, Fitness]:
        noise = self.parameters.noise
        return Fitness(self.task, "sampled", noise, 1), Fitness(self.task, "exact", noise, 1)

    @cached_property
    def _best_values(self) -> NDArray[np.float64]:
        """Q* of every decision state and action."""
        return value_iteration(self.task).action_values[self.task.decision_states]

    def begin(self) -> tuple[Population, Record]:
        """Return an empty population: rules come by covering."""
        population = empty_population(len(self.task.features), self.parameters.prediction == "rls")
        return population, self._row(population, np.full(self._best_values.shape, np.nan))

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Learn to the end of the epoch, or until the goal's steps or episodes are reached."""
        p, (inputs, up_to) = self.parameters, self._tables
        classifiers = unpacked(population, p.pop_limit)
        space = new_space(
            classifiers,
            population.held,
            p.equality == "box",
            inputs,
            up_to,
            self._reach.lows,
            self.task.n_actions,
        )
        values = self._run(classifiers, space, (before["epoch"] + 1) * p.ga_per_epoch, goal)
        following = packed(classifiers)
        mark_members(space.sets, HELD, following.held)
        if too_large(following):
            raise ParameterError(
                f"XCSF's predictions grew beyond all measure by step {clock_of(following)['steps']:,}. Scale "
                f"rewards and features of {self.task.name} to moderate numbers, or try prediction='nlms'."
            )
        return following, self._row(following, values)

    def _run(
        self, classifiers: Classifiers, space: Space, invocations: int, goal: Goal
    ) -> NDArray[np.float64]:
        """Learn until there were so many GA invocations, or the goal is reached; return what is predicted.

        It goes in pieces: between two of them Python sees the signals of users who want to stop.
        """
        p, model, clock = self.parameters, self.task.dynamics, classifiers.clock[0]
        values = np.empty(self._best_values.shape)
        everywhere = np.arange(len(values), dtype=np.int32)
        idle, last = 0, (-1, -1)
        while clock["ga_invocations"] < invocations and last[0] < clock["steps"] < goal.limit("steps"):
            last = int(clock["steps"]), int(clock["ga_invocations"])
            run_steps(
                stream(self.seed, "xcsf"),
                invocations,
                min(goal.limit("steps"), last[0] + PIECE),
                goal.limit("episodes"),
                everywhere if p.teletransport else model.starts,
                plan(self.task).cuts,
                model,
                classifiers,
                space,
                self._settings,
                self._reach,
                values,
            )
            idle = 0 if clock["ga_invocations"] > last[1] else idle + PIECE
            if goal.unit == "epochs" and idle > PATIENCE * max(1, p.theta_ga):
                raise ParameterError(
                    f"there was no GA invocation in {idle:,} steps, so the epoch would not end: rules come "
                    "and go too fast to get old. Give a larger pop_limit or r0, or a smaller theta_ga."
                )
        return values

    def _row(self, population: Population, values: NDArray[np.float64]) -> Record:
        """Return the history's row of a population and its predictions `(D, A)`, NaN where there are none."""
        known = ~np.isnan(values)
        best = np.where(known, values, -np.inf).argmax(axis=1)
        policy = np.where(known.any(axis=1), best, NULL_ACTION).astype(np.int16)
        performance, exact = (measure.measure(policy[None]).performance[0] for measure in self._measures)
        micros, clock = population.numerosity, clock_of(population)
        widths = np.abs(population.bounds[:, :, 0] - population.bounds[:, :, 1]) + 1
        shares = (widths / [feature.width for feature in self.task.features]).prod(axis=1)
        return {
            "epoch": clock["ga_invocations"] // self.parameters.ga_per_epoch,
            "performance": float(performance),
            "exact_performance": float(exact),
            "q_error": float(np.abs(np.where(known, values, 0.0) - self._best_values).mean()),
            "macros": int((micros > 0).sum()),
            "micros": clock["micros"],
            "mean_error": float((population.error * micros).sum()) / max(1, clock["micros"]),
            "mean_generality": float((shares * micros).sum()) / max(1, clock["micros"]),
            "episodes": clock["episodes"] - (clock["state"] >= 0),
            "steps": clock["steps"],
            **{name: clock[name] for name in COUNTED},
        }

    @property
    def ruleset(self) -> PredictionArrayRules:
        """All rules (macroclassifiers) of the present population."""
        population = self.now.population
        rules = population.numerosity > 0
        if not rules.any():
            raise ParameterError("this XCSF has no rules yet, they come with the first steps: call learn(1).")
        return PredictionArrayRules(
            population.bounds[rules],
            population.action[rules],
            self.task.features,
            self.task.action_names,
            population.weights[rules],
            population.fitness[rules],
            population.error[rules],
            population.numerosity[rules],
            population.experience[rules],
            self.parameters.x0,
        )

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds."""
        return checked_population(model, self.parameters, self.task, HISTORY)
