"""The C library xcsf in a virtual environment of its own: how it is made, and how it is called.

ifthen never imports the library. It runs on one thread and is timed once its population is full;
peer_xcsf.py says with which parameters.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ifthen import TabularTask

PEER, PEER_VERSION = "xcsf", "1.5.0"
PEER_SCRIPT = Path(__file__).with_name("peer_xcsf.py")
PEER_FOLDER = Path(tempfile.gettempdir()) / "ifthen-peer-xcsf"
PEER_ARRAYS = ("next_state", "reward", "done", "probability", "state_features", "initial_states")


def make_peer_venv(folder: Path = PEER_FOLDER) -> Path:
    """Return the Python of a virtual environment that has the library; make it where it is missing."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if _peer_version(python) != PEER_VERSION:
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(python), "-m", "pip", "install", "--quiet", f"{PEER}=={PEER_VERSION}", "numpy"])
    return python


def _peer_version(python: Path) -> str | None:
    """Return the version of the library that an interpreter has, None where it has none."""
    if not python.exists():
        return None
    code = f"import numpy, {PEER}; from importlib.metadata import version; print(version({PEER!r}))"
    process = subprocess.run([str(python), "-c", code], check=False, capture_output=True, text=True)
    return None if process.returncode else process.stdout.strip()


def _run(command: list[str]) -> None:
    """Run a command that makes the virtual environment, or stop and say what it said."""
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(
            f"The comparison needs {PEER} {PEER_VERSION} in a virtual environment of its own, which could "
            f"not be made: `{' '.join(command)}` said\n{(process.stderr or process.stdout).strip()}\n"
            f"Where there is no network, install {PEER} and numpy into an environment by hand and pass its "
            "folder with --venv."
        )


def peer(
    task: TabularTask, pop_limit: int, venv_python: Path, warm_up: int, steps: int, seed: int = 0
) -> dict[str, Any]:
    """Train the C library in a process of its own, on one thread.

    Args:
        task: the task.
        pop_limit: N, the bound of the population.
        venv_python: the Python that has the library.
        warm_up: steps before the clock starts; more where the population is not full by then.
        steps: steps that are timed.
        seed: seed of the library and of the task's noise.

    Returns:
        `steps`, `seconds`, `processor_seconds`, `empty_loop_seconds` (the same steps without the library),
        `warm_up_steps`, `macro_before`, `macro` and `micro` (rules before and after the timed steps),
        `match_set` (the mean number of macroclassifiers that match), `version`, and `policy`, the greedy
        action in every state.
    """
    task_data: dict[str, Any] = {
        **{name: getattr(task, name) for name in PEER_ARRAYS},
        "gamma": task.gamma,
        "t_max": task.t_max,
        "pop_limit": pop_limit,
        "seed": seed,
        "warm_up": warm_up,
        "steps": steps,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        np.savez(path, **task_data)
        process = subprocess.run(
            [str(venv_python), str(PEER_SCRIPT), str(path)],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    if process.returncode:
        raise SystemExit(f"{PEER_SCRIPT.name} failed on {task.name}:\n{process.stderr or process.stdout}")
    # The library itself prints warnings about parameters to the same place: ours is the last line.
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return result
