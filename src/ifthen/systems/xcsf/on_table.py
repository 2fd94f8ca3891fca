"""XCSF on a tabular task: the whole loop compiled, what it predicts compared with Q*."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ifthen.randomness import stream
from ifthen.rollout.fitness import Fitness
from ifthen.rollout.tabular import plan
from ifthen.rules.box import words_for
from ifthen.rules.ruleset import NULL_ACTION
from ifthen.systems.base import Goal, Record
from ifthen.systems.xcsf.index import HELD, Space, mark_members, new_space, states_up_to
from ifthen.systems.xcsf.parameters import XCSFParameters
from ifthen.systems.xcsf.pieces import Patience
from ifthen.systems.xcsf.population import Classifiers, Population, packed, unpacked
from ifthen.systems.xcsf.run import run_steps
from ifthen.systems.xcsf.settings import kernel_reach, kernel_settings
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular import TabularTask

PIECE = 200_000


class TableLearner:
    """Learns on a tabular task.

    Args:
        task: the task.
        parameters: the parameters, filled.
        seed: the system's.
    """

    measured = (
        "performance",
        "exact_performance",
        "q_error",  # mean |Q̂ − Q*| over all states and actions, those without a rule predicting 0
    )

    def __init__(self, task: TabularTask, parameters: XCSFParameters, seed: int) -> None:
        self.task, self.parameters, self.key = task, parameters, stream(seed, "xcsf")
        self.settings, self.reach = kernel_settings(parameters, task), kernel_reach(parameters, task)

    @cached_property
    def tables(self) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
        """The inputs x of every state, and which states have a feature up to each value."""
        model = self.task.dynamics
        n_states, features = model.states.shape
        up_to = np.zeros((features, model.widest + 1, words_for(n_states)), dtype=np.uint64)
        states_up_to(model.states, model.lows, model.widest, up_to)
        return np.column_stack([np.full(n_states, self.parameters.x0), model.points]), up_to

    def space(self, classifiers: Classifiers, held: NDArray[np.bool_]) -> Space:
        """Return the index of a population."""
        inputs, up_to = self.tables
        nothing = np.empty((0, len(self.task.features)))
        by_box, n_actions = self.parameters.equality == "box", self.task.n_actions
        return new_space(classifiers, held, by_box, inputs, up_to, nothing, self.reach.lows, n_actions)

    def learn(self, population: Population, invocations: int, goal: Goal) -> tuple[Population, Record]:
        """Learn until there were so many GA invocations in all, or the goal's steps or episodes.

        It goes in pieces: between two of them Python sees the signals of users who want to stop.
        """
        p, model = self.parameters, self.task.dynamics
        assert p.pop_limit is not None
        classifiers = unpacked(population, p.pop_limit)
        space, clock = self.space(classifiers, population.held), classifiers.clock[0]
        values = np.empty(self._best_values.shape)
        starts = np.arange(len(values), dtype=np.int32) if p.teletransport else model.starts
        patience, last = Patience(classifiers, p, goal), -1
        while clock["ga_invocations"] < invocations and last < clock["steps"] < goal.limit("steps"):
            last = int(clock["steps"])
            run_steps(
                self.key,
                invocations,
                min(goal.limit("steps"), last + PIECE),
                goal.limit("episodes"),
                starts,
                plan(self.task).cuts,
                model,
                classifiers,
                space,
                self.settings,
                self.reach,
                values,
            )
            patience.check()
        following = packed(classifiers)
        mark_members(space.sets, HELD, following.held)
        return following, self.measures(values)

    def nothing_learnt(self) -> Record:
        """Return what an empty population measures."""
        return self.measures(np.full(self._best_values.shape, np.nan))

    @cached_property
    def _performances(self) -> tuple[Fitness, Fitness]:
        noise = self.parameters.noise
        return Fitness(self.task, "sampled", noise, 1), Fitness(self.task, "exact", noise, 1)

    @cached_property
    def _best_values(self) -> NDArray[np.float64]:
        """Q* of every decision state and action."""
        return value_iteration(self.task).action_values[self.task.decision_states]

    def measures(self, values: NDArray[np.float64]) -> Record:
        """Return how well predictions `(D, A)`, NaN where there are none, do."""
        known = ~np.isnan(values)
        best = np.where(known, values, -np.inf).argmax(axis=1)
        policy = np.where(known.any(axis=1), best, NULL_ACTION).astype(np.int16)
        performance, exact = (own.measure(policy[None]).performance[0] for own in self._performances)
        q_error = float(np.abs(np.where(known, values, 0.0) - self._best_values).mean())
        return dict(zip(self.measured, (float(performance), float(exact), q_error), strict=True))

    def shares(self, bounds: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the share of the feature space that each box matches, `(slots,)`."""
        widths = np.abs(bounds[:, :, 0] - bounds[:, :, 1]) + 1
        shares: NDArray[np.float64] = (widths / [feature.width for feature in self.task.features]).prod(
            axis=1
        )
        return shares

    def raw(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights as rulesets have them: as they are."""
        return weights
