"""The simulator of compiled twins on a GPU: threads that play episode after episode.

An episode is one of a ruleset from a start. Some take longer than others: a thread whose episode is over
begins the next one of its block of threads.

The functions that play are the CPU's: `play_on`, which calls `chosen_by_blocks` and the twin's own step, and
`reinforce_in_twin`. Sines, cosines and powers are the device's own. Their last bits differ from the CPU's, so
that an episode can go another way. Populations are measured here, and large ones learn here. All else is done
on the CPU: the history's measures of the fittest ruleset, and every final score.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import cuda as _cuda
from numba import float64, int64

from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import Intervals, RuleBatch
from ifthen.rules.blocks import Blocks, fill_blocks, new_blocks
from ifthen.simulate import gpu
from ifthen.simulate.env_simulator import measured_of
from ifthen.simulate.gpu import (
    PROCESSORS,
    WARP,
    GpuKernel,
    gpu_function,
    gpu_kernel,
    launch,
    launch_for,
    n_blocks,
)
from ifthen.simulate.gpu_memory import Memory, fetched
from ifthen.simulate.reinforce import Rollout, reinforce_in_twin
from ifthen.simulate.simulator import Budget, Measured, Reinforcement
from ifthen.simulate.trajectories import NO_RULE, TRUNCATED, Episodes
from ifthen.simulate.twin_play import GOES_ON, NOT_FINITE, Starts, play_on
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.twin import StepFunction, Twin

cuda: Any = _cuda  # a part of Numba without types
EPISODES_EACH = 16
"""Episodes that a thread plays one after the other, on average: a block's threads share theirs."""
STEPS_IN_A_ROW = 8
"""Threads of a group of 32 wait for each other: after so many steps, those without an episode begin one."""
REGISTERS = 96
"""The most registers of a thread that plays: 20 groups of 32 then fit on a processor of the GPU at a time."""
FEWEST_LEARNERS = 2000
"""Fewer rulesets learn on the CPU: a rollout is one long thread, which a GPU is slow at."""


class Sums(NamedTuple):
    """What each of n rulesets got from all starts together, each `(n,)`."""

    returns: Floats
    steps: Ints
    truncated: Ints
    failed: Ints
    """Episodes that reached a state without a rule."""
    bad: Ints
    """Episodes with a number that is not finite."""


class Play(NamedTuple):
    """A population that is played, in the memory of the GPU."""

    rules: Intervals
    blocks: Blocks
    """The same rules in blocks, each array `(n, …)`."""
    starts: Starts
    gamma: float
    steps: int
    """Steps until a thread whose episode is over may begin another."""
    episodes: Episodes
    """Each `(n, k)`."""
    sums: Sums


class Lesson(NamedTuple):
    """Rulesets that learn, in the memory of the GPU."""

    first: int
    """The number of the first of them in the population."""
    rules: Intervals
    lesson: Reinforcement
    starts: Starts
    gamma: float
    scratch: Rollout
    """Each `(n, …)`."""
    steps: Ints
    """`(n,)`."""
    bad: Ints
    """`(population, 2)`."""
    last: Floats
    """`(population, features + 1)`."""


@gpu_function
def blocks_of(blocks: Blocks, i: int) -> Blocks:
    """Return the blocks of ruleset i."""
    return Blocks(blocks.ends[i], blocks.features[i], blocks.lows[i], blocks.highs[i], blocks.deviations[i])


@gpu_kernel
def lay_out_blocks(work: Play) -> None:
    """Lay out the rules in blocks, one ruleset per thread."""
    i = cuda.grid(1)
    if i < work.episodes.returns.shape[0]:
        fill_blocks(work.rules, i, blocks_of(work.blocks, i))


@gpu_kernel
def add_up(work: Play) -> None:
    """Add up what a ruleset got, in the order of the starts, one ruleset per thread."""
    i = cuda.grid(1)
    played, sums = work.episodes, work.sums
    if i < played.returns.shape[0]:
        total, steps, truncated, failed, bad = 0.0, 0, 0, 0, 0
        for e in range(played.returns.shape[1]):
            ending = played.endings[i, e]
            total += played.returns[i, e]
            steps += played.steps[i, e]
            truncated += ending == TRUNCATED
            failed += ending == NO_RULE
            bad += ending == NOT_FINITE
        sums.returns[i] = total
        sums.steps[i] = steps
        sums.truncated[i] = truncated
        sums.failed[i] = failed
        sums.bad[i] = bad


@gpu_function
def scratch_of(scratch: Rollout, i: int) -> Rollout:
    """Return the memory of ruleset i."""
    return Rollout(
        scratch.state[i],
        scratch.observed[i],
        scratch.reward[i],
        scratch.points[i],
        scratch.actions[i],
        scratch.rewards[i],
        scratch.payoffs[i],
    )


class Kernels(NamedTuple):
    """The kernels of one twin."""

    play: GpuKernel
    reinforce: GpuKernel


@functools.cache
def kernels_of(function: StepFunction, state_size: int, columns: int) -> Kernels:
    """Return the kernels that play a twin with its own step, which each twin needs for itself.

    Args:
        function: the twin's step.
        state_size: how many numbers its state has.
        columns: how many numbers rules look at: features and, behind them, terms.
    """
    # Numba's simulator calls compiled functions of the CPU, which take a step by its address.
    step = function.address if gpu.simulated() else gpu_function(function.function)

    @functools.partial(gpu_kernel, max_registers=REGISTERS)
    def play(work: Play) -> None:
        """Play episode after episode, a share of all to each block of threads."""
        counter = cuda.shared.array(1, int64)
        n, k = work.episodes.returns.shape
        items_per_block = (n * k + cuda.gridDim.x - 1) // cuda.gridDim.x
        first = cuda.blockIdx.x * items_per_block
        last = min(first + items_per_block, n * k)
        if cuda.threadIdx.x == 0:
            counter[0] = first
        cuda.syncthreads()
        states = cuda.local.array((1, state_size), float64)
        points = cuda.local.array((1, columns), float64)
        rewards = cuda.local.array(1, float64)
        is_playing, i, e, t, gained, factor = False, 0, 0, 0, 0.0, 1.0
        while True:
            if not is_playing:
                item = cuda.atomic.add(counter, 0, 1)
                if item >= last:
                    break
                i, e = item // k, item % k
                for d in range(state_size):
                    states[0, d] = work.starts.states[e, d]
                for d in range(work.starts.points.shape[1]):
                    points[0, d] = work.starts.points[e, d]
                is_playing, t, gained, factor = True, 0, 0.0, 1.0
            last_step = min(t + work.steps, work.starts.t_max)
            gained, factor, t, ending = play_on(
                step,
                work.rules,
                i,
                blocks_of(work.blocks, i),
                t,
                last_step,
                gained,
                factor,
                work.gamma,
                states,
                points,
                rewards,
            )
            if ending != GOES_ON or t == work.starts.t_max:
                work.episodes.returns[i, e] = gained
                work.episodes.steps[i, e] = t
                work.episodes.endings[i, e] = TRUNCATED if ending == GOES_ON else ending
                is_playing = False

    @gpu_kernel
    def reinforce(work: Lesson) -> None:
        """Let one ruleset per thread learn from its rollouts."""
        i = cuda.grid(1)
        if i < work.steps.shape[0]:
            scratch = scratch_of(work.scratch, i)
            work.steps[i] = reinforce_in_twin(
                i + work.first,
                work.rules,
                work.lesson,
                step,
                work.starts,
                work.gamma,
                scratch,
                work.bad,
                work.last,
            )

    return Kernels(play, reinforce)


def blocks_for(items: int) -> int:
    """Return how many blocks of threads play so many episodes: enough of them to keep the device busy."""
    return min(n_blocks(items, WARP), max(8 * PROCESSORS, n_blocks(items, WARP * EPISODES_EACH)))


class GpuTwinSimulator(TwinSimulator):
    """Plays populations in a twin on a GPU, and single rulesets on the CPU; takes what its base takes."""

    def __init__(
        self, task: EnvTask, twin: Twin, threads: int = 1, budget: Budget | None = None, elites: int = 0
    ) -> None:
        super().__init__(task, twin, threads, budget, elites)
        self._attempt, self._memory = gpu.Attempt(), Memory()

    def _kernels(self, columns: int) -> Kernels:
        """Return the kernels for rules that look at so many numbers."""
        assert isinstance(self.twin.function, StepFunction)
        return kernels_of(self.twin.function, self.twin.state_size, columns)

    def fitness(self, rules: RuleBatch, epoch: int = 0) -> Measured:
        """Measure rulesets on the training seeds that an epoch may spend."""
        on_cpu = super().fitness
        if self.budget.saves:  # which episodes are played depends on those before
            return on_cpu(rules, epoch)
        return self._attempt(lambda: self._measured(rules), lambda: on_cpu(rules, epoch))

    def _measured(self, rules: RuleBatch) -> Measured:
        """Play a population from all training seeds, and add up on the GPU."""
        k, results = len(self.task.z), list[Sums]()
        for part in self._parts(rules, k):
            work = self._play(part, self.task.z)
            launch_for(add_up, len(work.sums.returns), work)
            results.append(Sums(*(fetched(column) for column in work.sums)))
        total, steps, truncated, failed, bad = (
            np.concatenate(columns) for columns in zip(*results, strict=True)
        )
        for i in np.flatnonzero((bad > 0) | ~np.isfinite(total))[:1]:
            self.play(rules.take(np.array([i])), self.task.z)  # says which number it was
        n_episodes = np.full(len(total), k)
        return measured_of(self.task, total / k, n_episodes, steps, truncated, failed > 0)

    def play_population(self, rules: RuleBatch, seeds: Ints) -> Episodes:
        """Play each of n rulesets from each of k reset seeds."""

        def on_gpu() -> Episodes:
            results = list[Episodes]()
            for part in self._parts(rules, len(seeds)):
                played = self._play(part, seeds).episodes
                results.append(Episodes(*(fetched(column) for column in played)))
            episodes = Episodes(*(np.concatenate(columns) for columns in zip(*results, strict=True)))
            self._check(episodes, Intervals.of(rules, self.task.features), self.starts(seeds), seeds)
            return episodes

        return self._attempt(on_gpu, lambda: self.play(rules, seeds))

    def _room(self, rules: RuleBatch) -> Blocks:
        """Return room for the blocks of any one of the rulesets."""
        return new_blocks(Intervals.of(rules.take(slice(0, 1)), self.task.features))

    def _parts(self, rules: RuleBatch, k: int) -> Iterator[RuleBatch]:
        """Yield parts of a population, each of which fits into the memory for one launch of k episodes."""
        block_bytes = sum(column.nbytes for column in self._room(rules))
        for rulesets in gpu.memory_slices(len(rules.lengths), 17 * k + block_bytes):
            yield rules.take(rulesets)

    def _play(self, rules: RuleBatch, seeds: Ints) -> Play:
        """Play rulesets from reset seeds; what they got stays in the memory of the GPU."""
        shape, memory = (len(rules.lengths), len(seeds)), self._memory
        kinds = np.float64, np.int64, np.int8
        played = zip(Episodes._fields, kinds, strict=True)
        sum_columns = [
            (f"all {name}", np.float64 if name == "returns" else np.int64) for name in Sums._fields
        ]
        blocks = (
            memory.empty(f"block {name}", (shape[0], *column.shape), column.dtype)
            for name, column in self._room(rules)._asdict().items()
        )
        work = Play(
            memory.lay_out("rules", rules, self.task.features),
            Blocks(*blocks),
            memory.put("starts", self.starts(seeds)),
            self.task.gamma,
            STEPS_IN_A_ROW,
            Episodes(*(memory.empty(name, shape, kind) for name, kind in played)),
            Sums(*(memory.empty(name, shape[0], kind) for name, kind in sum_columns)),
        )
        launch_for(lay_out_blocks, shape[0], work)
        self._launch(work)
        return work

    def _launch(self, work: Play) -> None:
        """Play, once the blocks are laid out."""
        kernels = self._kernels(work.rules.lows.shape[2])
        launch(kernels.play, blocks_for(work.episodes.returns.size), WARP, work)

    def reinforce(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let rules learn from rollouts that start from the seeds for learning."""
        on_cpu = super().reinforce
        if lesson.learners < FEWEST_LEARNERS:
            return on_cpu(rules, lesson)
        return self._attempt(lambda: self._reinforced(rules, lesson), lambda: on_cpu(rules, lesson))

    def _reinforced(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let a population learn; its numbers change only when all of it has learnt."""
        task, n, starts, memory = self.task, lesson.learners, self.starts(self.task.pool), self._memory
        features, t_max, n_steps = len(task.features), starts.t_max, 0
        laid_out = memory.lay_out("learners", rules, task.features)
        pool = memory.put("pool", starts)
        bad = memory.put("bad", np.full((n, 2), -1, dtype=np.int64))
        last = memory.put("last", np.zeros((n, features + 1)))
        state_shape, steps_shape = (1, self.twin.state_size), (t_max,)
        shapes = state_shape, (1, features), (1,), (t_max, features), steps_shape, steps_shape, steps_shape
        for learners in gpu.memory_slices(n, 8 * t_max * (features + 3)):
            size = learners.stop - learners.start
            scratch = Rollout(
                *(
                    memory.empty(name, (size, *shape), np.int64 if name == "actions" else np.float64)
                    for name, shape in zip(Rollout._fields, shapes, strict=True)
                )
            )
            steps = memory.empty("taken", size, np.int64)
            work = Lesson(learners.start, laid_out, lesson, pool, task.gamma, scratch, steps, bad, last)
            launch_for(self._kernels(features).reinforce, size, work)
            n_steps += int(fetched(steps).sum())
        self._refuse_bad(fetched(bad), fetched(last))
        rules.learnt[:n] = fetched(laid_out.learnt)[:n]
        return n_steps
