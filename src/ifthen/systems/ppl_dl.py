"""PPL-DL: evolves decision lists by a plain genetic algorithm (paper, section "PPL-DL").

Bishop, Gallagher and Browne, "Pittsburgh learning classifier systems for explainable reinforcement
learning: comparing with XCS", GECCO 2022.

A generation: parents are chosen by tournaments, crossed allele by allele and mutated; the children replace
the whole population and are measured. Fitness is performance.

Aids for tasks that are hard to begin with stand in `ifthen.systems.rehearsal`; by default there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ifthen.rules.batch import LIST, RuleBatch
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.systems.pittsburgh import Population, first_population, next_generation, put_first
from ifthen.systems.pittsburgh_system import PittsburghSystem
from ifthen.systems.records import Record
from ifthen.systems.rehearsal import (
    AidParameters,
    checked_aids,
    in_form,
    refuse_overwriting,
    rehearsed,
    stand_in_of,
)
from ifthen.systems.system import Goal

if TYPE_CHECKING:
    from typing import Unpack

    from ifthen.systems.keywords import PPLDLKeywords


class PPLDLParameters(AidParameters):
    """Parameters of PPL-DL; the defaults are the paper's."""


class PPLDL(PittsburghSystem):
    """Evolves decision lists: the first matching rule decides, and fitness is performance.

    Args:
        task: a task, a task's name, or a Gymnasium environment.
        seed: seed of everything random in training.
        threads: how many threads to use, all cores where None; results do not depend on it.
        start: a decision list to begin with; random ones only where None.
        parameters: by name; see `PPLDLParameters`.
    """

    name = "PPL-DL"
    summary = "Evolves decision lists (the first matching rule decides)."
    Parameters = PPLDLParameters
    starts_from = (DecisionList.kind,)
    has_order = True
    parameters: PPLDLParameters

    if TYPE_CHECKING:

        def __init__(self, task: Any, **keywords: Unpack[PPLDLKeywords]) -> None: ...

    def fill_parameters(self, parameters: Any) -> Any:
        """Fill in the sizes left to the task, and raise where a parameter does not fit it."""
        return checked_aids(super().fill_parameters(parameters), self.task)

    def fit_start(self, start: RuleSet) -> RuleSet:
        """Return the list to begin with, or raise where it does not fit or an aid would overwrite it."""
        refuse_overwriting(self.parameters)
        return super().fit_start(start)

    def check(self) -> None:
        """Raise where the stand-in cannot be made or does not fit."""
        stand_in_of(self.parameters, self.task)

    def begin(self, progress_bar: bool = False) -> tuple[Population, Record]:
        """Return random decision lists, after the one to start from, or after a rehearsal."""
        p, task = self.parameters, self.task
        population = in_form(first_population(p, task, self.seed, self.learns), p, task)
        if self.start is not None:
            put_first(self.start, np.zeros((len(self.start), 0)), population)
        return self.measured(rehearsed(self, population, progress_bar), None)

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Breed and measure."""
        return self.measured(self.children(population, int(before["epoch"]) + 1), before)

    def children(
        self, parents: Population, epoch: int, purpose: Literal["breed", "rehearse"] = "breed"
    ) -> Population:
        """Return the next generation: single alleles are exchanged."""
        own = self.parameters, self.task, self.seed, epoch, self.threads
        return in_form(next_generation(*own, parents, False, purpose), self.parameters, self.task)

    def rehearse(self, parents: Population, generation: int) -> Population:
        """Return the children of a generation on the stand-in."""
        return self.children(parents, generation, "rehearse")

    def measured(self, population: Population, before: Record | None) -> tuple[Population, Record]:
        """Return the population with its fitness, and the history's row."""
        fitness, row = self.measured_row(self.batch(population), before)
        return population._replace(fitness=fitness), row

    def batch(self, population: Population) -> RuleBatch:
        """Return the population ready to play."""
        return population.batch(LIST, default=self.task.default_action)

    @property
    def ruleset(self) -> DecisionList:
        """The fittest decision list of the present population; a default action is its last rule."""
        bounds, actions, _ = self.now.population.fittest()
        if self.task.default_action is not None:
            everything = np.stack(lows_and_highs(self.task.features), axis=1)[None]
            bounds = np.concatenate([bounds, everything])
            actions = np.append(actions, np.int32(self.task.default_action))
        return DecisionList(bounds, actions, self.task.features, self.task.action_names)
