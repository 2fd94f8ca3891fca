"""The simulator of tables on a GPU. It gives the same bits as the CPU's.

All functions that know the rules of the game are the CPU's: `chosen`, `fill_step_row`, `step_on`,
`play_from`, `play_streamed`, `put_result` and `reinforce_ruleset`. What is here spreads them over threads:
- policy tables: a thread for each ruleset and state;
- the tables of one step and of a block of steps: a block of threads for each policy;
- z with aligned noise: a thread for each policy and episode. Gains are then added up in the order of the
  episodes, by one thread for each policy, so that sums have the CPU's bits;
- z with one stream of noise, and reinforcement: a thread for each policy or ruleset, as each step needs the
  one before.

Nothing is remembered from one generation to the next: playing a policy again takes less time than finding it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import cuda as _cuda
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import Intervals, RuleBatch, chosen
from ifthen.simulate import gpu
from ifthen.simulate.gpu import THREADS, gpu_function, gpu_kernel, launch, launch_for, over
from ifthen.simulate.gpu_memory import Memory, fetched
from ifthen.simulate.simulator import Measured, Reinforcement
from ifthen.simulate.table_play import (
    NULL,
    Plan,
    Played,
    Tables,
    fill_step_row,
    plan,
    play_from,
    play_streamed,
    put_result,
    step_on,
)
from ifthen.simulate.table_rules import Workspace, new_workspace, reinforce_ruleset
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.tasks.tabular_task import Dynamics, TabularTask
from ifthen.tasks.task import Method, Noise

cuda: Any = _cuda  # a part of Numba without types


class Play(NamedTuple):
    """A population that is played, in the memory of the GPU."""

    rules: Intervals
    points: Floats
    """`(D, features)`: the decision states."""
    next_state: NDArray[np.int32]
    reward: Floats
    plan: Plan
    policies: NDArray[np.int16]
    """`(n, D)`."""
    tables: Tables
    """Each `(n, …)`."""
    gains: Floats
    """`(|z|, n)`: what each policy got in each episode; `(0, n)` where noise is a stream."""
    ends: NDArray[np.int32]
    """`(|z|, n)`: the steps of each episode, below 0 where it was truncated, 0 where no rule matched."""
    played: Played


@gpu_function
def tables_of(tables: Tables, i: int) -> Tables:
    """Return the tables of policy i."""
    return Tables(tables.step_next[i], tables.step_reward[i], tables.block_next[i], tables.block_reward[i])


@gpu_kernel
def choose_actions(work: Play) -> None:
    """Write the policy tables, one entry per thread."""
    item = cuda.grid(1)
    states = work.policies.shape[1]
    i, s = item // states, item % states
    if i < work.policies.shape[0]:
        work.policies[i, s] = chosen(work.rules, i, work.points, s)


@gpu_kernel
def fill_tables(work: Play) -> None:
    """Write the tables of one policy per block."""
    i, first, apart = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    own, shared = tables_of(work.tables, i), work.plan
    for s in range(first, work.policies.shape[1], apart):
        fill_step_row(work.policies[i, s], s, work.next_state, work.reward, own)
    cuda.syncthreads()
    outcomes, size = len(shared.cuts), len(own.block_next)
    for entry in range(first, size, apart):
        digit = shared.width // outcomes
        s, gained = own.step_next[entry // digit], own.step_reward[entry // digit]
        for j in range(1, shared.block):
            digit = digit // outcomes
            s, gained = step_on(s, gained, entry // digit % outcomes, j, shared, own)
        own.block_next[entry] = s * shared.width if s >= 0 else s
        own.block_reward[entry] = gained


@gpu_kernel
def play_episodes(work: Play) -> None:
    """Play z with aligned noise, one episode per thread; a policy per block in x, its episodes in y."""
    i, e = cuda.blockIdx.x, cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    z = work.plan
    if e < len(z.starts):
        own = tables_of(work.tables, i)
        gained, t, s = play_from(z.starts[e], e * z.row, z.row, e * z.t_max, z, own)
        work.gains[e, i] = gained
        work.ends[e, i] = 0 if s == NULL else (-t if s >= 0 else t)


@gpu_kernel
def add_up(work: Play) -> None:
    """Add up what a policy got, in the order of its episodes, one policy per thread."""
    i = cuda.grid(1)
    if i < work.policies.shape[0]:
        total, steps, truncated, failed = 0.0, 0, 0, False
        for e in range(work.gains.shape[0]):
            end = work.ends[e, i]
            failed = failed or end == 0
            total += work.gains[e, i]
            steps += abs(end)
            truncated += end < 0
        if failed:
            steps, truncated = 0, 0
        put_result(i, total, steps, truncated, failed, work.plan, work.played)


@gpu_kernel
def play_stream(work: Play) -> None:
    """Play z with one stream of noise, one policy per thread."""
    i = cuda.grid(1)
    if i < work.policies.shape[0]:
        total, steps, truncated, failed = play_streamed(work.plan, tables_of(work.tables, i))
        put_result(i, total, steps, truncated, failed, work.plan, work.played)


class Lesson(NamedTuple):
    """Rulesets that learn, in the memory of the GPU."""

    first: int
    """The number of the first of them in the population, which its stream of random numbers depends on."""
    rules: RuleBatch
    lesson: Reinforcement
    model: Dynamics
    cuts: Floats
    gamma: float
    space: Workspace
    """Each array `(n, …)`; the rates are the same for all, `(D,)`."""
    steps: Ints
    """`(n,)`."""


@gpu_function
def workspace_of(space: Workspace, i: int) -> Workspace:
    """Return the workspace of ruleset i."""
    return Workspace(
        space.value_masks[i],
        space.masks[i],
        space.action_masks[i],
        space.deviations[i],
        space.chosen[i],
        space.chosen_in[i],
        space.states[i],
        space.actions[i],
        space.rewards[i],
        space.payoffs[i],
        space.rates,
    )


@gpu_kernel
def reinforce(work: Lesson) -> None:
    """Let rulesets learn from rollouts, one ruleset per thread."""
    i = cuda.grid(1)
    if i < work.steps.shape[0]:
        own = workspace_of(work.space, i)
        work.steps[i] = reinforce_ruleset(
            i + work.first, work.rules, work.lesson, work.model, work.cuts, work.gamma, own
        )


class GpuTableSimulator(TableSimulator):
    """Plays populations in a table on a GPU, and single policies on the CPU; takes what its base takes."""

    def __init__(
        self, task: TabularTask, threads: int = 1, method: Method = "sampled", noise: Noise = "aligned"
    ) -> None:
        super().__init__(task, threads, method, noise)
        self._attempt, self._memory = gpu.Attempt(), Memory()

    @cached_property
    def _plan(self) -> Plan:
        shared: Plan = self._memory.put("plan", plan(self.task))
        return shared

    @cached_property
    def _model(self) -> Dynamics:
        model: Dynamics = self._memory.put("model", self.task.dynamics)
        return model

    def fitness(self, rules: RuleBatch, epoch: int = 0) -> Measured:
        """Measure the rulesets of a population; exact values are worked out on the CPU."""
        on_cpu = super().fitness
        if self.method == "exact":
            return on_cpu(rules, epoch)
        return self._attempt(lambda: self._played(rules), lambda: on_cpu(rules, epoch))

    def _played(self, rules: RuleBatch) -> Measured:
        """Play a population on z."""
        model, z = self._model, plan(self.task)
        outcomes, states, streamed = len(z.cuts), len(model.states), self.noise == "stream"
        entries, episodes = states * (outcomes + z.width), 0 if streamed else len(z.starts)
        n, found, room = len(rules.lengths), list[Played](), self._memory
        for part in gpu.parts(n, 12 * (entries + episodes) + 2 * states):
            own, size = rules.take(part), part.stop - part.start
            shapes = (
                ("step_next", states * outcomes, np.int32),
                ("step_reward", states * outcomes, np.float64),
                ("block_next", states * z.width, np.int32),
                ("block_reward", states * z.width, np.float64),
            )
            kinds = zip(Played._fields, (np.float64, np.int64, np.int64, np.bool_), strict=True)
            work = Play(
                room.lay_out("rules", own, self.task.features),
                model.points,
                model.next_state,
                model.reward,
                self._plan,
                room.empty("policies", (size, states), np.int16),
                Tables(*(room.empty(name, (size, entries), kind) for name, entries, kind in shapes)),
                room.empty("gains", (episodes, size), np.float64),
                room.empty("ends", (episodes, size), np.int32),
                Played(*(room.empty(name, size, kind) for name, kind in kinds)),
            )
            self._launch(work, size, states, streamed)
            found.append(Played(*(fetched(column) for column in work.played)))
        columns = [np.concatenate(arrays) for arrays in zip(*found, strict=True)]
        performance, steps, truncated, failed = columns
        played = np.where(failed, 0, len(z.starts))
        return Measured(performance, played, steps, truncated, failed, np.ones_like(failed))

    def _launch(self, work: Play, n: int, states: int, streamed: bool) -> None:
        """Run the kernels that measure n rulesets."""
        launch(choose_actions, over(n * states), THREADS, work)
        launch(fill_tables, n, THREADS, work)
        if streamed:
            launch_for(play_stream, n, work)
        else:
            launch(play_episodes, (n, over(len(self.task.z))), THREADS, work)
            launch_for(add_up, n, work)

    def reinforce(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let rules learn from rollouts that start in random initial states."""
        on_cpu = super().reinforce
        return self._attempt(lambda: self._reinforced(rules, lesson), lambda: on_cpu(rules, lesson))

    def _reinforced(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let a population learn; its numbers change only when all of it has learnt."""
        task, taken, room = self.task, 0, self._memory
        usual = new_workspace(rules.bounds.shape[1], task.t_max, lesson.eta, rules.x0, task.dynamics)
        own, each = usual._asdict(), sum(array.nbytes for array in usual[:-1])
        rates, on_gpu = own.pop("rates"), room.put("learners", rules)
        for part in gpu.parts(lesson.learners, each):
            size = part.stop - part.start
            space = {name: room.empty(name, (size, *array.shape), array.dtype) for name, array in own.items()}
            work = Lesson(
                part.start,
                on_gpu,
                lesson,
                self._model,
                self._plan.cuts,
                task.gamma,
                Workspace(**space, rates=room.put("rates", rates)),
                room.empty("taken", size, np.int64),
            )
            launch_for(reinforce, size, work)
            taken += int(fetched(work.steps).sum())
        rules.learnt[: lesson.learners] = fetched(on_gpu.learnt)[: lesson.learners]
        return taken
