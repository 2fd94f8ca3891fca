"""The phases of a generation of PPL-ST, each to be called alone: breed, reinforce, policy tables.

They call the very kernels that `PPLST.advance` calls, on one thread.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen import PPLST
from ifthen.inference.strength import strength_tables
from ifthen.randomness import stream
from ifthen.rollout.tabular import plan
from ifthen.systems.pittsburgh import Population, next_generation
from ifthen.systems.ppl_st import reinforce_rules


def breed(system: PPLST, parents: Population, epoch: int) -> Population:
    """Return the children that epoch number `epoch` breeds, not reinforced yet."""
    return next_generation(system.parameters, system.task, system.seed, epoch, 1, parents, whole_rules=True)


def reinforcement_key(system: PPLST, epoch: int) -> np.uint64:
    """Return the stream that reinforces the population of epoch number `epoch`."""
    return stream(system.seed, "reinforce", epoch)


def reinforce(system: PPLST, population: Population, key: np.uint64) -> NDArray[np.int64]:
    """Reinforce a population in place; return the steps of each individual, `(n,)`."""
    p, shared = system.parameters, plan(system.task)
    steps = np.empty(len(population.bounds), dtype=np.int64)
    reinforce_rules(
        0,
        len(steps),
        key,
        population.bounds,
        population.actions,
        population.learnt,
        system.task.dynamics,
        shared.cuts,
        shared.discounts,
        p.num_reinf_rollouts,
        p.eta,
        p.x0,
        p.payoff == "paper",
        steps,
    )
    return steps


def policy_tables(system: PPLST, population: Population) -> NDArray[np.int16]:
    """Return the action of every individual in every decision state, `(n, D)`."""
    model = system.task.dynamics
    tables = np.empty((len(population.bounds), len(model.states)), dtype=np.int16)
    strength_tables(
        0,
        len(tables),
        population.bounds,
        population.actions,
        population.learnt,
        system.parameters.x0,
        model.states,
        model.points,
        model.lows,
        model.widest,
        model.axes,
        tables,
    )
    return tables


def copied(population: Population) -> Population:
    """Return the population with its own copy of what rules have learnt."""
    return population._replace(learnt=population.learnt.copy())
