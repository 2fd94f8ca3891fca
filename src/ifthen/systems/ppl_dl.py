"""PPL-DL: evolves decision lists by a plain genetic algorithm (paper, section "PPL-DL").

Bishop, Gallagher and Browne, "Pittsburgh learning classifier systems for explainable reinforcement
learning: comparing with XCS", GECCO 2022.

A generation: parents are chosen by tournaments, crossed allele by allele and mutated; the children replace
the whole population and are measured. Fitness is performance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.rules.batch import LIST
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import whole_box
from ifthen.rules.ruleset import RuleSet
from ifthen.systems.learning import Goal
from ifthen.systems.parameters import either, setting
from ifthen.systems.pittsburgh import (
    PittsburghParameters,
    Population,
    first_population,
    next_generation,
    put_first,
)
from ifthen.systems.pittsburgh_system import PittsburghSystem
from ifthen.systems.records import Record

if TYPE_CHECKING:
    from typing import Unpack

    from ifthen.systems.keywords import PPLDLKeywords


class PPLDLParameters(PittsburghParameters):
    """Parameters of PPL-DL; the defaults are the paper's."""

    removed: ClassVar = {"mirror": "", "stand_in": "", "rehearsal": 0}

    otherwise: bool = setting(
        False,
        "The last rule matches everywhere and only its action evolves, so that every state has an action.",
        either(False, True),
    )


class PPLDL(PittsburghSystem):
    """Evolves decision lists: the first matching rule decides, and fitness is performance.

    It takes what every `System` takes, and `PPLDLParameters` by name; `start` is a decision list.
    """

    name = "PPL-DL"
    learns_from = ("training",)
    summary = "Evolves decision lists (the first matching rule decides)."
    Parameters = PPLDLParameters
    starts_from = (DecisionList.kind,)
    gives_lists = True
    parameters: PPLDLParameters

    if TYPE_CHECKING:

        def __init__(self, task: TaskLike, **keywords: Unpack[PPLDLKeywords]) -> None: ...

    def fill_parameters(self, parameters: Any) -> PittsburghParameters:
        """Fill in the sizes left to the task, and raise where a parameter does not fit it."""
        if parameters.otherwise and self.task.default_action is not None:
            raise ParameterError(
                "otherwise evolves the action where no other rule matches, and the task's default_action "
                "fixes it: give one of them."
            )
        return super().fill_parameters(parameters)

    def _fit_start(self, start: RuleSet) -> RuleSet:
        """Return the list to begin with, or raise where it does not fit or would be overwritten."""
        if self.parameters.otherwise:
            raise ParameterError(
                "start gives rules as they are, and otherwise would overwrite the last one. Give "
                "otherwise=False to begin with a ruleset."
            )
        return super()._fit_start(start)

    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return random decision lists, after the one to start from."""
        population = first_population(self.parameters, self.task, self.seed, self.n_learnt)
        if self.start is not None:
            put_first(self.start, np.zeros((len(self.start), 0)), population)
        return self.measured(self.with_otherwise(population), None)

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Return the next generation, measured."""
        parameters, epoch = self.parameters, int(before["epoch"]) + 1
        # `breed_two` in ifthen.systems.pittsburgh takes the paper's steps in the paper's order: `tournament`
        # chooses two parents, `swap_alleles` crosses copies of them, `mutate` changes these children.
        children = next_generation(
            parameters, self.task, self.seed, epoch, self.threads, population, whole_rules=self.whole_rules
        )
        return self.measured(self.with_otherwise(children), before)

    def with_otherwise(self, population: Population) -> Population:
        """Return the population with a last rule in every list that matches everywhere, if that is asked."""
        if self.parameters.otherwise:
            last_rules = np.arange(len(population.lengths)), population.lengths - 1
            population.bounds[last_rules] = whole_box(self.task.features)
        return population

    def measured(self, population: Population, before: Record | None) -> tuple[Population, Record]:
        """Return the population with its fitness, and the history's row."""
        rules = population.batch(LIST, default=self.task.default_action)
        fitness, row = self.measured_row(rules, before)
        measured = population._replace(fitness=fitness)
        if self.require:
            row |= self.simulator.ruleset_measures(self.shields.put_on(self.fittest_list(measured)))
        return measured, row

    @property
    def ruleset(self) -> DecisionList:
        """The fittest decision list of the present population, with rules that keep its requirements."""
        return self.shields.put_on(self.fittest_list(self.now.population))

    def fittest_list(self, population: Population) -> DecisionList:
        """Return the fittest list of a population; a default action is its last rule."""
        bounds, actions, _ = population.fittest()
        if self.task.default_action is not None:
            default_box = whole_box(self.task.features)[None]
            bounds = np.concatenate([bounds, default_box])
            actions = np.append(actions, np.int32(self.task.default_action))
        return DecisionList(bounds, actions, self.task.features, self.task.action_names)
