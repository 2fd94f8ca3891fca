"""Three aids of PPL-DL for tasks that are hard to begin with: an open last rule, a mirror, a rehearsal.

- `otherwise`: the last rule matches everywhere and only its action evolves.
- `mirror`: every second rule is the mirror image of the rule before it (see `ifthen.evolve.mirror`).
- `stand_in`, `rehearsal`: the first generations are played on a cheaper environment. They come before epoch
  0 and are in no history, so that steps and episodes are those of the task itself.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from pydantic import Field

from ifthen.environments.rebind import stand_in_task, with_stand_in
from ifthen.errors import ParameterError
from ifthen.evolve.mirror import mirror_of, put_images
from ifthen.rules.batch import RuleBatch
from ifthen.rules.feature import lows_and_highs
from ifthen.simulate.simulator import Simulator
from ifthen.systems.parameters import between, setting
from ifthen.systems.pittsburgh import PittsburghParameters, Population
from ifthen.tasks.task import Task
from ifthen.text_table import harmless


class AidParameters(PittsburghParameters):
    """Parameters of the three aids; without them everything is as in the paper."""

    otherwise: bool = setting(
        False,
        "The last rule (with a mirror, the last pair, whose first decides) matches everywhere and "
        "only its action evolves, so that every state has an action.",
    )
    mirror: str = Field(
        default="",
        max_length=10_000,
        description="For tasks that look the same from both sides: what changes in the mirror, such as "
        "'-x, left leg = right leg, left engine = right engine'. Every second rule is then the mirror image "
        "of the rule before it.",
    )
    stand_in: str = Field(
        default="",
        max_length=1000,
        description="In environments: the id of a cheaper one with the same features and actions, for "
        "rehearsal.",
    )
    rehearsal: int = between(
        0, 0, 1_000_000, "Generations on the stand-in, before epoch 0; they are in no history."
    )


P = TypeVar("P", bound=AidParameters)


class Rehearsing(Protocol):
    """The part of a system that a rehearsal needs."""

    @property
    def parameters(self) -> AidParameters:
        """The system's parameters."""

    @property
    def task(self) -> Task:
        """The task that is to be learnt."""

    def asked_to_stop(self) -> bool:
        """Return whether the user wants to stop."""

    def simulator_in(self, task: Task) -> Simulator:
        """Return what measures a population in a task."""

    def batch(self, population: Population) -> RuleBatch:
        """Return the population ready to play."""

    def rehearse(self, parents: Population, generation: int) -> Population:
        """Return the children of a generation on the stand-in."""


def checked_aids(parameters: P, task: Task) -> P:
    """Return the parameters, or raise where an aid does not fit the task."""
    p, (_, rules) = parameters, parameters.sizes
    if p.otherwise and task.default_action is not None:
        raise ParameterError(
            "otherwise evolves the action where no other rule matches, and the task's default_action "
            "fixes it: give one of them."
        )
    if p.mirror:
        mirror_of(p.mirror, task.features, task.action_names)
        if rules % 2:
            raise ParameterError(
                f"with a mirror, rules come in pairs: idv_size must be even, not {rules}. "
                f"Give idv_size={rules + 1}, or mirror=''."
            )
    if p.rehearsal and not p.stand_in:
        raise ParameterError(
            "rehearsal needs the id of an environment to rehearse on: give stand_in, or rehearsal=0."
        )
    if p.stand_in:
        with_stand_in(task)
    if ":" in p.stand_in:  # a model file must not be able to have modules imported
        raise ParameterError(
            f"stand_in must be an id without a module, not {p.stand_in!r}: import the module first."
        )
    return parameters


def refuse_overwriting(parameters: AidParameters) -> None:
    """Raise where an aid would overwrite rules to start from."""
    if parameters.mirror or parameters.otherwise:
        raise ParameterError(
            "start gives rules as they are; mirror would overwrite every second one, and otherwise the "
            "last. Give mirror='' and otherwise=False to begin with a ruleset."
        )


def in_form(population: Population, parameters: AidParameters, task: Task) -> Population:
    """Return the population with its last rules opened and every second rule mirrored, where asked."""
    if parameters.otherwise:
        everything = np.stack(lows_and_highs(task.features), axis=1)
        for back in (1, 2) if parameters.mirror else (1,):
            population.bounds[np.arange(len(population.lengths)), population.lengths - back] = everything
    if parameters.mirror:
        mirror = mirror_of(parameters.mirror, task.features, task.action_names)
        put_images(mirror, population.bounds, population.actions)
    return population


def stand_in_of(parameters: AidParameters, task: Task) -> Task | None:
    """Return the task to rehearse on, or raise where it cannot be made or does not fit; None for none."""
    return stand_in_task(task, parameters.stand_in) if parameters.stand_in else None


def rehearsed(system: Rehearsing, population: Population, progress_bar: bool) -> Population:
    """Return the population after its generations on the stand-in; the same one where there is none."""
    from rich.progress import track

    p = system.parameters
    stand_in = stand_in_of(p, system.task)
    if stand_in is None or not p.rehearsal:
        return population
    simulator, about = system.simulator_in(stand_in), harmless(f"rehearsal of {stand_in.name}")
    for generation in track(range(p.rehearsal), about, disable=not progress_bar):
        if system.asked_to_stop():
            raise KeyboardInterrupt
        fitness = simulator.fitness(system.batch(population), generation).performance
        population = system.rehearse(population._replace(fitness=fitness), generation + 1)
    return population
