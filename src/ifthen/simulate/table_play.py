"""Compiled rollouts of policy tables over z, with common random numbers (paper, equation for performance).

What they share, the noise above all, is in `ifthen.simulate.table_noise`. To play fast, a policy's one-step
table `(D, K)` is composed with itself into a table of `block` steps at a time, `(D, K**block)`: one look-up
then plays `block` steps. Results are those of single steps.

In both tables an entry is the next decision state (in the block table, the position of its row), or −t where
the episode ends with the t-th step of the look-up, or `NULL` where a state without a rule is reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import inlined_kernel, kernel
from ifthen.parallel import for_slices
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.simulate.table_noise import Plan, outcome, plan
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Trajectory
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Noise

NULL = -(2**30)


class Tables(NamedTuple):
    """One policy, ready to play: its tables of one step and of `block` steps at a time."""

    step_next: NDArray[np.int32]
    """`(D · K,)`."""
    step_reward: Floats
    """`(D · K,)`."""
    block_next: NDArray[np.int32]
    """`(D · width,)`."""
    block_reward: Floats
    """`(D · width,)`: discounted to the block's first step."""


class Played(NamedTuple):
    """What n policies got, each `(n,)`."""

    performance: Floats
    """Mean return; the task's floor where a null action was reached."""
    steps: Ints
    """Steps over all episodes; 0 where a null action was reached."""
    truncated: Ints
    """Episodes that reached t_max; 0 where a null action was reached."""
    failed: Mask
    """Whether a null action was reached."""


def play(
    task: TabularTask, policies: NDArray[np.int16], noise: Noise = "aligned", threads: int = 1
) -> Played:
    """Play policy tables `(n, D)` from every initial state of z.

    Args:
        task: the task.
        policies: the action in every decision state, −1 for none.
        noise: "aligned" or "stream".
        threads: how many threads to use; results do not depend on it.
    """
    model, shared_plan, n = task.dynamics, plan(task), len(policies)
    result = Played(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_))

    def work(first: int, last: int) -> None:
        arrays = policies, model.next_state, model.reward
        play_policies(first, last, *arrays, shared_plan, noise == "stream", result)

    for_slices(work, n, threads, task.grain)
    return result


def replay(
    task: TabularTask, table: NDArray[np.int16], start: int, key: np.uint64, position: int
) -> Trajectory:
    """Play one episode and keep every step.

    Args:
        task: the table.
        table: the action in every decision state `(D,)`, −1 for none.
        start: the state to start in.
        key: the stream of the noise.
        position: where in the stream the episode's noise begins.
    """
    state_index = {int(state): i for i, state in enumerate(task.decision_states)}
    cuts, state, done = np.cumsum(task.probability), start, False
    states: list[int] = []
    actions: list[int] = []
    outcomes: list[int] = []
    while len(actions) < task.t_max and not done and table[state_index[state]] >= 0:
        action, k = int(table[state_index[state]]), int(outcome(key, cuts, position + len(actions)))
        states.append(state)
        actions.append(action)
        outcomes.append(k)
        state, done = int(task.next_state[state, action, k]), bool(task.done[state, action, k])
    ending = TERMINATED if done else TRUNCATED if len(actions) == task.t_max else NO_RULE
    points = task.state_features.astype(np.float64)
    state_array, action_array, outcome_array = (
        np.array(column, dtype=np.int64) for column in (states, actions, outcomes)
    )
    rewards = task.reward[state_array, action_array, outcome_array]
    return Trajectory(
        points[state_array],
        action_array,
        rewards,
        ending,
        points[state],
        np.append(state_array, state),
        outcome_array,
    )


@kernel
def empty_tables(n_states: int, plan: Plan) -> Tables:
    """Return tables for a policy over `n_states` decision states, not filled yet."""
    steps, blocks = n_states * len(plan.cuts), n_states * plan.width
    return Tables(
        np.empty(steps, dtype=np.int32),
        np.empty(steps, dtype=np.float64),
        np.empty(blocks, dtype=np.int32),
        np.empty(blocks, dtype=np.float64),
    )


@inlined_kernel
def fill_step_row(a: int, s: int, next_state: NDArray[np.int32], reward: Floats, tables: Tables) -> None:
    """Fill the part of the one-step tables that belongs to state s, where the policy's action is a."""
    outcomes = next_state.shape[2]
    for k in range(outcomes):
        if a < 0:
            tables.step_next[s * outcomes + k] = NULL
            tables.step_reward[s * outcomes + k] = 0.0
        else:
            tables.step_next[s * outcomes + k] = next_state[s, a, k]
            tables.step_reward[s * outcomes + k] = reward[s, a, k]


@kernel
def fill_step_tables(
    policies: NDArray[np.int16], i: int, next_state: NDArray[np.int32], reward: Floats, tables: Tables
) -> None:
    """Fill the one-step tables of policy i."""
    for s in range(policies.shape[1]):
        fill_step_row(policies[i, s], s, next_state, reward, tables)


@inlined_kernel
def step_on(s: int, so_far: float, k: int, j: int, plan: Plan, tables: Tables) -> tuple[int, float]:
    """Return where outcome k of the step number j of a block leads from s, and the reward up to there."""
    outcomes = len(plan.cuts)
    next_entry, gained = s, 0.0
    if s >= 0:
        next_entry = tables.step_next[s * outcomes + k]
        gained = tables.step_reward[s * outcomes + k]
        if next_entry == -1:
            next_entry = -1 - j
    return next_entry, so_far + plan.discounts[j] * gained


@kernel
def fill_block_tables(plan: Plan, tables: Tables) -> None:
    """Compose the one-step tables with themselves into the tables of `block` steps at a time."""
    outcomes, size = len(plan.cuts), len(tables.step_next)
    nexts, rewards = tables.block_next, tables.block_reward
    for i in range(size):
        nexts[i], rewards[i] = tables.step_next[i], tables.step_reward[i]
    for j in range(1, plan.block):
        # From the last entry down, so that entry i is read before its K successors are written.
        for i in range(size - 1, -1, -1):
            s, so_far = nexts[i], rewards[i]
            for k in range(outcomes):
                nexts[i * outcomes + k], rewards[i * outcomes + k] = step_on(s, so_far, k, j, plan, tables)
        size *= outcomes
    for i in range(size):
        if nexts[i] >= 0:
            nexts[i] *= plan.width


@kernel
def play_blocks(
    start: int, memo_at: int, remembered: int, plan: Plan, tables: Tables
) -> tuple[float, int, int]:
    """Play an episode by whole blocks while its noise is in the memo; return gain, steps, last entry."""
    gained = 0.0
    s, t = start * plan.width, 0
    while t + plan.block <= remembered:
        i = s + plan.memo[memo_at + t]
        s = tables.block_next[i]
        if s < 0:
            return gained + plan.discounts[t] * tables.block_reward[i], t - s, s
        if not plan.sparse:
            gained += plan.discounts[t] * tables.block_reward[i]
        t += plan.block
    return gained, t, s // plan.width


@kernel
def play_steps(
    s: int, t: int, gained: float, position: int, plan: Plan, tables: Tables
) -> tuple[float, int, int]:
    """Play the rest of an episode step by step; return gain, steps, last entry (≥ 0: truncated)."""
    outcomes = len(plan.cuts)
    while t < plan.t_max and s >= 0:
        i = s * outcomes + outcome(plan.key, plan.cuts, position + t)
        s = tables.step_next[i]
        gained += plan.discounts[t] * tables.step_reward[i]
        t += 1
    return gained, t, s


@inlined_kernel
def play_from(
    start: int, memo_at: int, remembered: int, position: int, plan: Plan, tables: Tables
) -> tuple[float, int, int]:
    """Play one episode; return gain, steps, last entry (≥ 0: truncated)."""
    gained, t, s = play_blocks(start, memo_at, remembered, plan, tables)
    if s >= 0:
        gained, t, s = play_steps(s, t, gained, position, plan, tables)
    return gained, t, s


@kernel
def play_aligned(plan: Plan, tables: Tables) -> tuple[float, int, int, bool]:
    """Play z with the noise fixed per (episode, step); return total gain, steps, truncated, failed."""
    total, steps, truncated = 0.0, 0, 0
    for e in range(len(plan.starts)):
        gained, t, s = play_from(plan.starts[e], e * plan.row, plan.row, e * plan.t_max, plan, tables)
        truncated += s >= 0
        if s == NULL:
            return 0.0, 0, 0, True
        total += gained
        steps += t
    return total, steps, truncated, False


@kernel
def play_streamed(plan: Plan, tables: Tables) -> tuple[float, int, int, bool]:
    """Play z with the noise as one stream through all episodes; return as `play_aligned` does."""
    total, steps, truncated = 0.0, 0, 0
    # The memo runs on from episode to episode only where it holds every step of each.
    memory = len(plan.memo) if plan.row == plan.t_max else 0
    for e in range(len(plan.starts)):
        remembered = min(plan.t_max, memory - steps)
        gained, t, s = play_from(plan.starts[e], steps, remembered, steps, plan, tables)
        truncated += s >= 0
        if s == NULL:
            return 0.0, 0, 0, True
        total += gained
        steps += t
    return total, steps, truncated, False


@inlined_kernel
def put_result(
    i: int, total: float, steps: int, truncated: int, failed: bool, plan: Plan, out: Played
) -> None:
    """Write what policy i got, given its total gain over z."""
    out.performance[i] = plan.floor if failed else total / len(plan.starts)
    out.steps[i] = steps
    out.truncated[i] = truncated
    out.failed[i] = failed


@kernel
def play_policies(
    first: int,
    last: int,
    policies: NDArray[np.int16],
    next_state: NDArray[np.int32],
    reward: Floats,
    plan: Plan,
    streamed: bool,
    out: Played,
) -> None:
    """Write performance, steps, truncated episodes and failure of policies `first` to `last − 1` on z."""
    tables = empty_tables(policies.shape[1], plan)
    for i in range(first, last):
        total, steps, truncated, failed = 0.0, 0, 0, False
        for e in range(plan.distinct_starts):
            failed = failed or policies[i, plan.starts[e]] < 0
        if not failed:
            fill_step_tables(policies, i, next_state, reward, tables)
            fill_block_tables(plan, tables)
            if streamed:
                total, steps, truncated, failed = play_streamed(plan, tables)
            else:
                total, steps, truncated, failed = play_aligned(plan, tables)
        put_result(i, total, steps, truncated, failed, plan, out)
