"""PPL-DL: evolves decision lists by a plain genetic algorithm (paper, section "PPL-DL").

Bishop, Gallagher and Browne, "Pittsburgh learning classifier systems for explainable reinforcement
learning: comparing with XCS", GECCO 2022.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Literal

import numpy as np
from pydantic import Field

from ifthen.errors import ParameterError
from ifthen.evolve.mirror import mirror_of, put_images
from ifthen.inference.decision_list import DecisionList, decision_tables
from ifthen.inference.rulebook import LIST, Rulebook
from ifthen.parallel import for_slices
from ifthen.rollout.env_fitness import EnvFitness
from ifthen.rollout.fitness import Fitness
from ifthen.rules.features import lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.systems.base import Goal, Record, System
from ifthen.systems.model_file import Model
from ifthen.systems.pittsburgh import Population, first_population, next_generation
from ifthen.systems.pittsburgh_history import history_row, measured_in_env, population_of
from ifthen.systems.pittsburgh_parameters import PittsburghParameters, budget_of, fill_sizes, sizes
from ifthen.systems.rehearsal import rehearsed
from ifthen.systems.start import check_size, put_first
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.stand_in import stand_in_task
from ifthen.tasks.tabular import Method


class PPLDLParameters(PittsburghParameters):
    """Parameters of PPL-DL; the defaults are the paper's."""

    otherwise: bool = Field(
        default=False,
        description="In environments: the last rule (with a mirror, the last pair, whose first decides) "
        "matches everywhere and only its action evolves, so that there is an answer in every state.",
    )
    mirror: str = Field(
        default="",
        max_length=10_000,
        description="In environments that look the same from both sides: what changes in the mirror, such as "
        "'-x, left leg = right leg, left engine = right engine'. Every second rule is then the mirror image "
        "of the rule before it.",
    )
    stand_in: str = Field(
        default="",
        max_length=1000,
        description="In environments: the id of a cheaper one with the same features and actions, for "
        "rehearsal.",
    )
    rehearsal: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Generations on the stand-in, before epoch 0; they are in no history.",
    )


class PPLDL(System):
    """Evolves decision lists: the first matching rule decides, and fitness is performance.

    Args:
        task: a TabularTask or an EnvTask, a task's name, or a Gymnasium environment.
        seed: seed of everything random in training.
        threads: how many threads to use, all cores where None; results do not depend on it.
        start: a decision list to begin with; random ones only where None.
        parameters: by name; see `PPLDLParameters`.
    """

    name = "PPL-DL"
    summary = "Evolves decision lists (the first matching rule decides)."
    Parameters = PPLDLParameters
    starts_from = (DecisionList.kind,)

    @cached_property
    def _fitness(self) -> Fitness | EnvFitness:
        if isinstance(self.task, EnvTask):
            p = self.parameters
            return EnvFitness(self.task, self.threads, budget_of(p), p.elites)
        return Fitness(self.task, self.method, self.parameters.noise, self.threads)

    def fill_parameters(self, parameters: PPLDLParameters) -> PPLDLParameters:
        """Fill in the sizes left to the task, and raise where mirror or stand-in do not fit it."""
        filled = fill_sizes(parameters, self.task)
        if not isinstance(self.task, EnvTask) and (
            filled.otherwise or filled.mirror or filled.stand_in or filled.rehearsal
        ):
            raise ParameterError(
                f"otherwise, mirror, stand_in and rehearsal are for environments; {self.task.name} is a "
                "table. Leave them out."
            )
        if filled.otherwise and self.task.default_action is not None:
            raise ParameterError(
                "otherwise evolves what is done where no other rule matches, and the task's default_action "
                "fixes it: give one of them."
            )
        if filled.mirror:
            mirror_of(filled.mirror, self.task.features, self.task.action_names)
            if sizes(filled)[1] % 2:
                raise ParameterError(
                    f"with a mirror, rules come in pairs: idv_size must be even, not {filled.idv_size}. "
                    f"Give idv_size={sizes(filled)[1] + 1}, or mirror=''."
                )
        if filled.rehearsal and not filled.stand_in:
            raise ParameterError(
                "rehearsal needs the id of an environment to rehearse on: give stand_in, or rehearsal=0."
            )
        if ":" in filled.stand_in:  # a model file must not be able to have modules imported
            raise ParameterError(
                f"stand_in must be an id without a module, not {filled.stand_in!r}: import the module first."
            )
        return filled

    @property
    def method(self) -> Method:
        """How fitness is measured."""
        method: Method = self.parameters.fitness
        return method

    def fit_start(self, start: RuleSet) -> RuleSet:
        """Return the list to begin with, or raise where it is no list or too long, or has no images."""
        if self.parameters.mirror or self.parameters.otherwise:
            raise ParameterError(
                "start gives rules as they are; mirror would overwrite every second one, and otherwise the "
                "last. Give mirror='' and otherwise=False to begin with a ruleset."
            )
        check_size(super().fit_start(start), self.parameters.idv_size)
        return start

    def check(self) -> None:
        """Raise where the stand-in cannot be made or does not fit."""
        if self.parameters.stand_in:
            stand_in_task(self.task, self.parameters.stand_in)

    def begin(self, progress_bar: bool = False) -> tuple[Population, Record]:
        """Return random decision lists, after the one to start from; or what a rehearsal made of them."""
        p = self.parameters
        stand_in = stand_in_task(self.task, p.stand_in) if p.stand_in else None
        population = self._in_form(first_population(p, self.task, self.seed, 0))
        if self.start is not None:
            put_first(self.start, np.zeros((len(self.start), 0)), *population[:3])
        if stand_in is not None and p.rehearsal:
            fitness = EnvFitness(stand_in, self.threads, budget_of(p), p.elites)
            breed, stop = partial(self._children, purpose="rehearse"), self.asked_to_stop
            show = (p.rehearsal, progress_bar)
            population = rehearsed(population, fitness, self._rulebook, breed, stop, *show)
        return self._measured(population, None)

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Breed, exchanging single alleles; measure."""
        return self._measured(self._children(population, int(before["epoch"]) + 1), before)

    def _children(
        self, population: Population, epoch: int, purpose: Literal["breed", "rehearse"] = "breed"
    ) -> Population:
        """Return the next generation."""
        children = next_generation(
            self.parameters,
            self.task,
            self.seed,
            epoch,
            self.threads,
            population,
            whole_rules=False,
            purpose=purpose,
        )
        return self._in_form(children)

    def _in_form(self, population: Population) -> Population:
        """Return the population, last rules opened and every second one made an image where that is asked."""
        p = self.parameters
        if p.otherwise:
            last = slice(-2 if p.mirror else -1, None)
            population.bounds[:, last] = np.stack(lows_and_highs(self.task.features), axis=1)
        if p.mirror:
            mirror = mirror_of(p.mirror, self.task.features, self.task.action_names)
            put_images(mirror, population.bounds, population.actions)
        return population

    def _measured(self, population: Population, before: Record | None) -> tuple[Population, Record]:
        """Return the population with its fitness, and the history's row."""
        if isinstance(self._fitness, EnvFitness):
            return measured_in_env(population, self._rulebook(population), self._fitness, (0, 0), before)
        model = self.task.dynamics
        policies = np.empty((len(population.bounds), len(model.states)), dtype=np.int16)

        def work(first: int, last: int) -> None:
            decision_tables(
                first,
                last,
                population.bounds,
                population.actions,
                model.states,
                model.lows,
                model.widest,
                policies,
            )

        for_slices(work, len(policies), self.threads, self.task.grain)
        measured = self._fitness.measure(policies)
        row = history_row(self.task, policies, measured, self._fitness, (0, 0), before)
        return population._replace(fitness=measured.performance), row

    def _rulebook(self, population: Population) -> Rulebook:
        default = self.task.default_action
        return Rulebook.of(LIST, *population[:3], self.task.features, default=default)

    @property
    def ruleset(self) -> DecisionList:
        """The fittest decision list of the present population; a default action is its last rule."""
        population = self.now.population
        best = int(population.fitness.argmax())
        bounds, actions = population.bounds[best], population.actions[best]
        if isinstance(self.task, EnvTask) and self.task.default_action is not None:
            everything = np.stack(lows_and_highs(self.task.features), axis=1)[None]
            bounds = np.concatenate([bounds, everything])
            actions = np.append(actions, np.int32(self.task.default_action))
        return DecisionList(bounds, actions, self.task.features, self.task.action_names)

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds."""
        return population_of(model, self.parameters, self.task, learns=0)
