"""Blocks that are walked step by step, as on a GPU, give the bits of those that are looked up."""

from __future__ import annotations

import numpy as np
import pytest

from ifthen.simulate import table_play
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_play import NULL, play, put_result
from ifthen.simulate.table_walk import fill_short_table, walk, walk_on
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Noise
from tests.simulate.test_play import assert_played_as_by_the_oracle, both_noises, look_ups_of
from tests.worlds import chain, random_policies, random_task, small_lake

TASKS = {
    "lake": small_lake(0.3, t_max=20, enumerations=3),
    "lake without slipping": small_lake(0.0, t_max=20),
    "chain": chain(),
    "rewards at every step": random_task(3),
}


def walked(task: TabularTask, tables: np.ndarray, noise: Noise) -> table_play.Played:
    """Return what policies get when all their blocks are walked."""
    model, z, n = task.dynamics, plan(task), len(tables)
    codes, memory = walk(z), len(z.memo) if z.row == z.t_max else 0
    out = table_play.Played(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_))
    short = np.empty(model.next_state.shape[0] * len(z.cuts), dtype=np.int16)
    for i, actions in enumerate(tables):
        fill_short_table(actions, model.next_state, short)
        total, steps, truncated, failed = 0.0, 0, 0, False
        for e, start in enumerate(z.starts.tolist()):
            at = (steps, min(z.t_max, memory - steps), steps)
            if noise == "aligned":
                at = (e * z.row, z.row, e * z.t_max)
            gained, t, s = 0.0, 0, start
            while s >= 0 and t < z.t_max:
                gained, t, s = walk_on(
                    s, t, gained, *at, actions, z, codes, model.next_state, model.reward, short
                )
            if s == NULL:
                total, steps, truncated, failed = 0.0, 0, 0, True
                break
            total, steps, truncated = total + gained, steps + t, truncated + (s >= 0)
        put_result(i, total, steps, truncated, failed, z, out)
    return out


@pytest.mark.oracle
@both_noises
@pytest.mark.parametrize("name", TASKS)
def test_blocks_that_are_walked_have_the_bits_of_those_that_are_looked_up(name: str, noise: Noise) -> None:
    task = TASKS[name]
    tables = np.concatenate([random_policies(task, 4, 1), random_policies(task, 3, 2, null_share=0.1)])
    found = walked(task, tables, noise)
    assert_played_as_by_the_oracle(task, tables, noise, found)
    for ours, theirs in zip(found, play(task, tables, noise), strict=True):
        assert ours.tobytes() == theirs.tobytes()


@both_noises
@pytest.mark.parametrize("block", [1, 2, 5])
def test_they_have_them_for_blocks_of_any_length(block: int, noise: Noise) -> None:
    task = small_lake(0.3, t_max=13, enumerations=2)
    with look_ups_of(block):
        assert plan(task).block == block
    tables = random_policies(task, 4, 1)
    assert (
        walked(task, tables, noise).performance.tobytes() == play(task, tables, noise).performance.tobytes()
    )
