"""Small tasks to test on: a lake, a chain that can be solved by hand, and random ones with dense rewards."""

from __future__ import annotations

from typing import Any

import numpy as np

from ifthen import Feature, TabularTask, frozen_lake


def small_lake(p_slip: float = 0.3, **options: Any) -> TabularTask:
    """Return the 4x4 lake with a short z, so that oracles can keep up."""
    return frozen_lake(4, p_slip, **{"enumerations": 2, "t_max": 30, **options})


def chain(**options: Any) -> TabularTask:
    """Return states 0 → 1 → end: "Go" works half of the time, "Wait" never; the end is worth 1.

    With γ = ½: V(1) = ½ + ¼·V(1), so V(1) = 2/3; V(0) = ¼·V(1) + ¼·V(0), so V(0) = 2/9.
    """
    next_state = np.array([[[1, 0], [0, 0]], [[2, 1], [1, 1]], [[2, 2], [2, 2]]], dtype=np.int32)
    reward, done = np.zeros((3, 2, 2)), np.zeros((3, 2, 2), dtype=np.bool_)
    reward[1, 0, 0] = 1.0
    done[1, 0, 0] = done[2] = True
    return TabularTask(
        **{
            "name": "chain",
            "features": (Feature("place", 0, 2),),
            "action_names": ("Go", "Wait"),
            "state_features": np.arange(3, dtype=np.int32)[:, None],
            "next_state": next_state,
            "reward": reward,
            "done": done,
            "probability": np.array([0.5, 0.5]),
            "initial_states": np.array([0, 1], dtype=np.int32),
            "enumerations": 3,
            "gamma": 0.5,
            "t_max": 20,
            **options,
        }
    )


def random_task(
    seed: int, outcomes: int = 3, states: int = 6, actions: int = 3, **options: Any
) -> TabularTask:
    """Return a task with random transitions, rewards on every step and endings here and there."""
    rng = np.random.default_rng(seed)
    shape = (states, actions, outcomes)
    shares = rng.integers(1, 10, outcomes)
    return TabularTask(
        **{
            "name": f"random-{seed}",
            "features": (Feature("u", -1, 1), Feature("v", 5, 9)),
            "action_names": tuple(f"act{a}" for a in range(actions)),
            "state_features": np.column_stack(
                [rng.integers(-1, 2, states), rng.integers(5, 10, states)]
            ).astype(np.int32),
            "next_state": rng.integers(0, states, shape).astype(np.int32),
            "reward": np.round(rng.normal(size=shape), 3),
            "done": rng.random(shape) < 0.1,
            "probability": shares / shares.sum(),
            "initial_states": np.arange(0, states, 2, dtype=np.int32),
            "enumerations": 4,
            "gamma": 0.9,
            "t_max": 13,
            "noise_seed": seed,
            **options,
        }
    )


def random_policies(task: TabularTask, n: int, seed: int, null_share: float = 0.0) -> Any:
    """Return n policy tables `(n, D)`, a share of their actions null."""
    rng = np.random.default_rng(seed)
    size = (n, len(task.decision_states))
    tables = rng.integers(0, task.n_actions, size)
    return np.where(rng.random(size) < null_share, -1, tables).astype(np.int16)


def over_all_states(task: TabularTask, table: Any) -> list[int]:
    """Return a policy table over decision states as the action of every state, −1 elsewhere."""
    policy = np.full(task.n_states, -1)
    policy[task.decision_states] = table
    return [int(action) for action in policy]
