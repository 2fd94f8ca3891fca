"""The phases of a generation of PPL-ST, each to be called alone: breed, reinforce, policy tables.

They call the very kernels that `PPLST.advance` calls, on one thread.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen import PPLST, TabularTask
from ifthen.randomness import stream
from ifthen.rules.batch import STRENGTH
from ifthen.simulate.simulator import Reinforcement
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_rules import policy_tables, reinforce_rules
from ifthen.systems.pittsburgh import Population, next_generation


def breed(system: PPLST, parents: Population, epoch: int) -> Population:
    """Return the children that epoch number `epoch` breeds, not reinforced yet."""
    return next_generation(system.parameters, system.task, system.seed, epoch, 1, parents, whole_rules=True)


def reinforcement_key(system: PPLST, epoch: int) -> np.uint64:
    """Return the stream that reinforces the population of epoch number `epoch`."""
    return stream(system.seed, "reinforce", epoch)


def table_of(system: PPLST) -> TabularTask:
    """Return the system's task, which must be a table."""
    if not isinstance(system.task, TabularTask):
        raise TypeError(f"{system.task.name} is no table: give a system that learns on one.")
    return system.task


def reinforce(system: PPLST, population: Population, key: np.uint64) -> NDArray[np.int64]:
    """Reinforce a population in place; return the steps of each individual, `(n,)`."""
    parameters, task = system.parameters, table_of(system)
    steps = np.zeros(len(population.bounds), dtype=np.int64)
    lesson = Reinforcement(
        key, len(steps), parameters.num_reinf_rollouts, parameters.eta, parameters.payoff == "paper"
    )
    rules, cuts = population.batch(STRENGTH, parameters.x0), plan(task).cuts
    reinforce_rules(0, len(steps), rules, lesson, task.dynamics, cuts, task.gamma, task.t_max, steps)
    return steps


def population_tables(system: PPLST, population: Population) -> NDArray[np.int16]:
    """Return the action of every individual in every decision state, `(n, D)`."""
    return policy_tables(table_of(system), population.batch(STRENGTH, system.parameters.x0))


def copied(population: Population) -> Population:
    """Return the population with its own copy of what rules have learnt."""
    return population._replace(learnt=population.learnt.copy())
