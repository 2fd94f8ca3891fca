"""Kernels that take trials of PPL-DL or PPL-ST from one generation to the next on a GPU (`pittsburgh_gpu`).

- `breed`: a thread for each breeding round;
- `learn`: a thread for each ruleset, which learns (PPL-ST) and writes its policy table;
- `keep_fittest`: a block of threads for each trial, which keeps the policy table of the fittest ruleset.

The functions that do the work are the CPU's, and so are the random numbers. Each kernel takes one tuple of
arrays in the memory of the GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda as _cuda
from numba import int64
from numpy.typing import NDArray

from ifthen.randomness import fold
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import LIST, RuleBatch
from ifthen.simulate.gpu import THREADS, gpu_function, gpu_kernel
from ifthen.simulate.gpu_table import workspace_of
from ifthen.simulate.simulator import Reinforcement
from ifthen.simulate.table_play import Played
from ifthen.simulate.table_rules import Workspace, fill_policy_table, reinforce_ruleset
from ifthen.systems.pittsburgh import Population, Variation, breed_two
from ifthen.tasks.tabular_task import Dynamics

cuda: Any = _cuda  # a part of Numba without types


class Populations(NamedTuple):
    """The populations of T trials, twice: parents and children change sides with each generation."""

    bounds: NDArray[np.int32]
    """`(2, T, n, rules, features, 2)`."""
    actions: NDArray[np.int32]
    """`(2, T, n, rules)`."""
    learnt: Floats
    """`(2, T, n, rules, …)`."""
    lengths: Ints
    """`(2, T, n)`."""
    fitness: Floats
    """`(T, n)`: that of the parents."""


class Breeding(NamedTuple):
    """What breeding takes, in the memory of the GPU."""

    populations: Populations
    keys: NDArray[np.uint64]
    """`(T,)`: the streams of the trials."""
    variation: Variation


class Learning(NamedTuple):
    """What learning takes, in the memory of the GPU."""

    populations: Populations
    keys: NDArray[np.uint64]
    """`(T,)`: the streams of the trials."""
    how: int
    x0: float
    default: int
    terms: Floats
    rollouts: int
    eta: float
    paper_payoff: bool
    model: Dynamics
    cuts: Floats
    gamma: float
    space: Workspace
    """Each array `(T · n, …)`; the rates are the same for all, `(D,)`."""
    steps: Ints
    """`(slots, T, n)`: steps that each ruleset learnt from."""
    policies: NDArray[np.int16]
    """`(T, n, D)`."""


class Keeping(NamedTuple):
    """What is kept of a generation, in the memory of the GPU."""

    populations: Populations
    played: Played
    """Each `(slots, T · n)`."""
    learnt_from: Ints
    """`(slots, T, n)`: steps that each ruleset learnt from."""
    policies: NDArray[np.int16]
    """`(T, n, D)`."""
    fittest: NDArray[np.int16]
    """`(slots, T, D)`: the policy table of the fittest ruleset."""
    counts: Ints
    """`(slots, T, 3)`: steps, truncated episodes, and rulesets that failed; 0 at first."""


@gpu_function
def population_of(populations: Populations, side: int, t: int) -> Population:
    """Return the population of trial t on one side."""
    return Population(
        populations.bounds[side, t],
        populations.actions[side, t],
        populations.learnt[side, t],
        populations.fitness[t],
        populations.lengths[side, t],
    )


@gpu_kernel
def breed(work: Breeding, epoch: int, before: int) -> None:
    """Breed the children of an epoch from the parents on side `before`, one round per thread."""
    item = cuda.grid(1)
    trials, n = work.populations.fitness.shape
    t, round_ = item // (n // 2), item % (n // 2)
    if t < trials:
        breed_two(
            round_,
            np.uint64(fold(work.keys[t], epoch)),
            population_of(work.populations, before, t),
            work.variation,
            population_of(work.populations, 1 - before, t),
        )


@gpu_kernel
def learn(work: Learning, epoch: int, side: int, slot: int) -> None:
    """Let one ruleset per thread learn, where there are rollouts; write its policy table."""
    item = cuda.grid(1)
    trials, n = work.populations.fitness.shape
    t, i = item // n, item % n
    if t < trials:
        population = population_of(work.populations, side, t)
        rules = RuleBatch(
            work.how,
            population.bounds,
            population.actions,
            population.learnt,
            population.lengths,
            work.x0,
            work.default,
            work.terms,
        )
        space, steps = workspace_of(work.space, item), 0
        if work.how != LIST:
            key = np.uint64(fold(work.keys[t], epoch))
            lesson = Reinforcement(key, n, work.rollouts, work.eta, work.paper_payoff)
            steps = reinforce_ruleset(i, rules, lesson, work.model, work.cuts, work.gamma, space)
        work.steps[slot, t, i] = steps
        fill_policy_table(
            i, rules, work.model, space.value_masks, space.masks, space.deviations, work.policies[t]
        )


@gpu_kernel
def keep_fittest(work: Keeping, slot: int) -> None:
    """Take what rulesets got as their fitness, count, and keep the best policy table; a trial per block."""
    t, thread, n_threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    best_of = cuda.shared.array(THREADS, int64)
    n = work.populations.fitness.shape[1]
    performance = work.played.performance[slot, t * n : (t + 1) * n]
    steps, truncated, failed, best = 0, 0, 0, min(thread, n - 1)
    for i in range(thread, n, n_threads):
        work.populations.fitness[t, i] = performance[i]
        if performance[i] > performance[best]:
            best = i
        steps += work.played.steps[slot, t * n + i] + work.learnt_from[slot, t, i]
        truncated += work.played.truncated[slot, t * n + i]
        failed += int(work.played.failed[slot, t * n + i])
    cuda.atomic.add(work.counts, (slot, t, 0), steps)
    cuda.atomic.add(work.counts, (slot, t, 1), truncated)
    cuda.atomic.add(work.counts, (slot, t, 2), failed)
    best_of[thread] = best
    cuda.syncthreads()
    for rival in range(n_threads):
        i = best_of[rival]
        if performance[i] > performance[best] or (performance[i] == performance[best] and i < best):
            best = i
    for s in range(thread, work.fittest.shape[2], n_threads):
        work.fittest[slot, t, s] = work.policies[t, best, s]
