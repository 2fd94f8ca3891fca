"""What the contract tests need to know of each system: small parameters, and a task it learns quickly.

A new system joins by its entry in SMALL; every test in `test_contract*.py` then holds it to the contract.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ifthen import System, TabularTask, frozen_lake
from ifthen.systems.registry import SYSTEMS

SMALL: dict[str, dict[str, Any]] = {
    "PPL-DL": {"idv_size": 5, "pop_size": 16, "p_mut": 0.05},
    "PPL-ST": {"idv_size": 5, "pop_size": 16, "p_mut": 0.05, "num_reinf_rollouts": 2},
    "XCSF": {"pop_limit": 80, "ga_per_epoch": 8, "theta_ga": 10},
    "XCS": {"pop_limit": 80, "ga_per_epoch": 8, "theta_ga": 10, "mu": 0.04},
    "PPL-X": {"collect": 20_000, "candidates": 60, "most_rules": 5, "steps": 3_000},
    "SAMUEL": {"pop_size": 10, "most_rules": 24, "new_rules": 6, "retest_every": 1}
    | dict.fromkeys(("pre_episodes", "post_episodes", "cluster_episodes"), 4)
    | {"fitness_episodes": 8, "retest_episodes": 10},
    "ZCS": {"pop_limit": 60, "problems_per_epoch": 10, "rho": 1.0, "mu": 0.05},
}
IN_ENVIRONMENTS: dict[str, dict[str, Any]] = {"ZCS": {"least_reward": -50.0}}
"""What a system must be told of environments, whose rewards nobody knows."""
OTHER: dict[str, dict[str, Any]] = {
    "PPL-DL": {"p_mut": 0.5},
    "PPL-ST": {"p_mut": 0.5},
    "XCSF": {"mu": 0.5},
    "XCS": {"mu": 0.5},
    "PPL-X": {"candidates": 70},
    "SAMUEL": {"new_rules": 3},
    "ZCS": {"mu": 0.5},
}
"""A parameter of each system that changes what it learns."""
MEADOW = ("SFF", "FFH", "FFG")
every_system = pytest.mark.parametrize("name", sorted(SYSTEMS))


def meadow(**options: Any) -> TabularTask:
    """Return a 3x3 lake that a handful of rules can solve."""
    return frozen_lake(**{"desc": MEADOW, "p_slip": 0.2, "enumerations": 3, "t_max": 25, **options})


def make(name: str, *, seed: int = 7, threads: int = 1, task: Any = None, **parameters: Any) -> System:
    """Return a small fresh system of the given name."""
    if name not in SMALL:
        pytest.fail(f"give {name} small parameters in SMALL of {Path(__file__).name}")
    where = meadow() if task is None else task
    own = SMALL[name] | (IN_ENVIRONMENTS.get(name, {}) if not isinstance(where, TabularTask) else {})
    return SYSTEMS[name](where, seed=seed, threads=threads, **{**own, **parameters})


def table_of(system: System) -> TabularTask:
    """Return the task of a system that learns in a table."""
    assert isinstance(system.task, TabularTask)
    return system.task


def saved_bytes(system: System, folder: Path) -> bytes:
    """Return the bytes of the file that a system saves."""
    path = folder / "saved.zip"
    system.save(path)
    return path.read_bytes()
