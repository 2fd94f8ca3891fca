"""The simulator of tables on a GPU. It gives the same bits as the CPU's.

All functions that know the rules of the game are the CPU's: `chosen`, `fill_step_row`, `step_on`,
`play_from`, `play_streamed`, `put_result` and `reinforce_ruleset`. What is here spreads them over threads:
- policy tables: a thread for each ruleset and state;
- the tables of one step and of a block of steps: a block of threads for each policy;
- z with aligned noise: a thread for each policy and episode. Gains are then added up in the order of the
  episodes, by one thread for each policy, so that sums have the CPU's bits;
- z with one stream of noise, and reinforcement: a thread for each policy or ruleset, as each step needs the
  one before;
- exact evaluation: a thread for each policy, as each value needs those before.

Nothing is remembered from one generation to the next: playing a policy again takes less time than finding it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import cuda as _cuda
from numba import float64
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import Intervals, RuleBatch, chosen
from ifthen.simulate import gpu
from ifthen.simulate.gpu import (
    PROCESSORS,
    THREADS,
    WARP,
    GpuStream,
    gpu_function,
    gpu_kernel,
    launch,
    launch_for,
    n_blocks,
)
from ifthen.simulate.gpu_memory import Memory, fetched
from ifthen.simulate.simulator import Measured, Reinforcement
from ifthen.simulate.table_noise import Plan, plan
from ifthen.simulate.table_play import (
    NULL,
    Played,
    Tables,
    fill_step_row,
    play_from,
    play_streamed,
    put_result,
    step_on,
)
from ifthen.simulate.table_rules import Workspace, new_workspace, reinforce_ruleset
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.tasks.solve import TOLERANCE, evaluate_policy, mean_over_starts, sweeps_for
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
    """Each `(1, n)`."""


@gpu_function
def tables_of(tables: Tables, i: int) -> Tables:
    """Return the tables of policy i."""
    return Tables(tables.step_next[i], tables.step_reward[i], tables.block_next[i], tables.block_reward[i])


@gpu_function
def first_row(played: Played) -> Played:
    """Return the place for the results of a population."""
    return Played(played.performance[0], played.steps[0], played.truncated[0], played.failed[0])


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
    i, thread, stride = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    tables, rollout_plan = tables_of(work.tables, i), work.plan
    for s in range(thread, work.policies.shape[1], stride):
        fill_step_row(work.policies[i, s], s, work.next_state, work.reward, tables)
    cuda.syncthreads()
    outcomes, size = len(rollout_plan.cuts), len(tables.block_next)
    for entry in range(thread, size, stride):
        digit = rollout_plan.width // outcomes
        s, gained = tables.step_next[entry // digit], tables.step_reward[entry // digit]
        for j in range(1, rollout_plan.block):
            digit = digit // outcomes
            s, gained = step_on(s, gained, entry // digit % outcomes, j, rollout_plan, tables)
        tables.block_next[entry] = s * rollout_plan.width if s >= 0 else s
        tables.block_reward[entry] = gained


@gpu_kernel
def play_episodes(work: Play) -> None:
    """Play z with aligned noise, one episode per thread; a policy per block in x, its episodes in y."""
    i, e = cuda.blockIdx.x, cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    z = work.plan
    if e < len(z.starts):
        tables = tables_of(work.tables, i)
        gained, t, s = play_from(z.starts[e], e * z.row, z.row, e * z.t_max, z, tables)
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
        put_result(i, total, steps, truncated, failed, work.plan, first_row(work.played))


@gpu_kernel
def play_stream(work: Play) -> None:
    """Play z with one stream of noise, one policy per thread."""
    i = cuda.grid(1)
    if i < work.policies.shape[0]:
        total, steps, truncated, failed = play_streamed(work.plan, tables_of(work.tables, i))
        put_result(i, total, steps, truncated, failed, work.plan, first_row(work.played))


class Sweeps(NamedTuple):
    """Policies whose exact values are worked out, in the memory of the GPU."""

    policies: NDArray[np.int16]
    """`(n, D)`."""
    next_state: NDArray[np.int32]
    reward: Floats
    probability: Floats
    gamma: float
    sweeps: int
    tolerance: float
    previous: Floats
    """`(n, D)` where γ is 1, else `(1, D)`: scratch."""
    values: Floats
    """`(n, D)`: V^π of every decision state."""
    n_values: int
    """Numbers that a thread has in fast memory; 0 where the values do not fit. An odd number, so that threads
    do not wait for each other."""


@gpu_kernel
def sweep(work: Sweeps) -> None:
    """Work out the values of one policy per thread, in fast memory where they fit."""
    i, thread = cuda.grid(1), cuda.threadIdx.x
    n, n_states = work.policies.shape
    if i < n:
        previous = work.previous[i if work.previous.shape[0] > 1 else 0]
        model = work.next_state, work.reward, work.probability
        settings = work.gamma, work.sweeps, work.tolerance
        if work.n_values > 0:
            values = cuda.shared.array(0, float64)[thread * work.n_values : thread * work.n_values + n_states]
            evaluate_policy(work.policies[i], *model, *settings, previous, values)
            for s in range(n_states):
                work.values[i, s] = values[s]
        else:
            evaluate_policy(work.policies[i], *model, *settings, previous, work.values[i])


def exact_on_gpu(
    task: TabularTask, policies: Any, model: Dynamics, memory: Memory, stream: GpuStream = 0
) -> Floats:
    """Return the exact performance of policy tables; NaN where a null action can be met.

    Args:
        task: the task.
        policies: the policy tables, `(n, D)`, in the memory of the GPU.
        model: the task's transitions, in the memory of the GPU.
        memory: the memory to work in.
        stream: the queue of the GPU that the work stands in.
    """
    n, states = policies.shape
    n_previous, n_values = n if task.gamma == 1 else 1, states | 1
    n_fit = gpu.FAST_BYTES // (8 * n_values)
    work = Sweeps(
        policies,
        model.next_state,
        model.reward,
        model.probability,
        task.gamma,
        sweeps_for(task),
        TOLERANCE,
        memory.empty("values before", (n_previous, states), np.float64, "F"),
        memory.empty("values", (n, states), np.float64, "F"),
        n_values if n_fit else 0,
    )
    threads = max(1, min(n_fit or WARP, WARP, n // PROCESSORS))
    n_bytes = 8 * n_values * threads if n_fit else 0
    launch(sweep, n_blocks(n, threads), threads, work, stream=stream, shared_bytes=n_bytes)
    return mean_over_starts(task, fetched(work.values, stream))


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
        workspace = workspace_of(work.space, i)
        work.steps[i] = reinforce_ruleset(
            i + work.first, work.rules, work.lesson, work.model, work.cuts, work.gamma, workspace
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
        device_plan: Plan = self._memory.put("plan", plan(self.task))
        return device_plan

    @cached_property
    def _model(self) -> Dynamics:
        model: Dynamics = self._memory.put("model", self.task.dynamics)
        return model

    def fitness(self, rules: RuleBatch, epoch: int = 0) -> Measured:
        """Measure the rulesets of a population."""
        on_cpu = super().fitness
        return self._attempt(lambda: self._on_gpu(rules), lambda: on_cpu(rules, epoch))

    def _on_gpu(self, rules: RuleBatch) -> Measured:
        """Measure a population, in parts that fit into the memory."""
        task, states, mode = self.task, len(self._model.states), self._mode
        z, exact = plan(task), mode == "exact"
        tables = states * (len(z.cuts) + z.width) if mode in ("episodes", "one by one") else 0
        bytes_each = 12 * (tables + len(z.starts) * (mode == "episodes")) + 20 * states
        results = list[Played]()
        for rulesets in gpu.memory_slices(len(rules.lengths), bytes_each):
            work = self._chosen(rules.take(rulesets), bool(tables), len(z.starts) * (mode == "episodes"))
            results.append(self._values(work) if exact else self._played(work))
        performance, steps, truncated, failed = (
            np.concatenate(columns) for columns in zip(*results, strict=True)
        )
        episodes = np.where(failed | exact, 0, len(z.starts))
        return Measured(performance, episodes, steps, truncated, failed, np.ones_like(failed))

    @cached_property
    def _mode(self) -> Literal["exact", "one by one", "episodes"]:
        """How policies are measured."""
        if self.method == "exact":
            return "exact"
        if self.noise == "aligned":
            return "episodes"
        return "one by one"

    def _chosen(self, rules: RuleBatch, with_tables: bool, episodes: int) -> Play:
        """Return a population in the memory of the GPU, with its policy tables."""
        model, z, memory, n = self._model, plan(self.task), self._memory, len(rules.lengths)
        states = len(model.states)
        steps, blocks = (states * entries * with_tables for entries in (len(z.cuts), z.width))
        shapes = (
            ("step_next", steps, np.int32),
            ("step_reward", steps, np.float64),
            ("block_next", blocks, np.int32),
            ("block_reward", blocks, np.float64),
        )
        kinds = zip(Played._fields, (np.float64, np.int64, np.int64, np.bool_), strict=True)
        work = Play(
            memory.lay_out("rules", rules, self.task.features),
            model.points,
            model.next_state,
            model.reward,
            self._plan,
            memory.empty("policies", (n, states), np.int16),
            Tables(*(memory.empty(name, (n, entries), kind) for name, entries, kind in shapes)),
            memory.empty("gains", (episodes, n), np.float64),
            memory.empty("ends", (episodes, n), np.int32),
            Played(*(memory.empty(name, (1, n), kind) for name, kind in kinds)),
        )
        launch(choose_actions, n_blocks(n * states), THREADS, work)
        return work

    def _played(self, work: Play) -> Played:
        """Play policy tables on z."""
        n = work.policies.shape[0]
        launch(fill_tables, n, THREADS, work)
        if self._mode == "one by one":
            launch_for(play_stream, n, work)
        else:
            launch(play_episodes, (n, n_blocks(len(self.task.z))), THREADS, work)
            launch_for(add_up, n, work)
        return Played(*(fetched(column)[0] for column in work.played))

    def _values(self, work: Play) -> Played:
        """Work out the exact performance of policy tables."""
        performance = exact_on_gpu(self.task, work.policies, self._model, self._memory)
        zeros, failed = np.zeros(len(performance), dtype=np.int64), np.isnan(performance)
        return Played(np.where(failed, self.task.floor, performance), zeros, zeros, failed)

    def reinforce(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let rules learn from rollouts that start in random initial states."""
        on_cpu = super().reinforce
        return self._attempt(lambda: self._reinforced(rules, lesson), lambda: on_cpu(rules, lesson))

    def _reinforced(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let a population learn; its numbers change only when all of it has learnt."""
        task, n_steps, memory = self.task, 0, self._memory
        workspace = new_workspace(rules.bounds.shape[1], task.t_max, lesson.eta, rules.x0, task.dynamics)
        arrays, bytes_each = workspace._asdict(), sum(array.nbytes for array in workspace[:-1])
        rates, device_rules = arrays.pop("rates"), memory.put("learners", rules)
        for learners in gpu.memory_slices(lesson.learners, bytes_each):
            size = learners.stop - learners.start
            space = {
                name: memory.empty(name, (size, *array.shape), array.dtype) for name, array in arrays.items()
            }
            work = Lesson(
                learners.start,
                device_rules,
                lesson,
                self._model,
                self._plan.cuts,
                task.gamma,
                Workspace(**space, rates=memory.put("rates", rates)),
                memory.empty("taken", size, np.int64),
            )
            launch_for(reinforce, size, work)
            n_steps += int(fetched(work.steps).sum())
        rules.learnt[: lesson.learners] = fetched(device_rules.learnt)[: lesson.learners]
        return n_steps
