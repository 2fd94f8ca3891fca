"""Small model and ruleset files of ifthen 0.1, with what that version did with them.

The files are in `files-0.1`. They were written by `python -m tests.golden.old_files` with ifthen 0.1 on the
path, and are never written again: later versions must read them.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen import System, env_task, frozen_lake, load
from ifthen.systems.registry import SYSTEMS

FOLDER = Path(__file__).parent / "files-0.1"
EPOCHS = 2
"""Epochs before saving, and again after loading."""
PITTSBURGH: dict[str, Any] = {"idv_size": 4, "pop_size": 8, "p_mut": 0.1}
PARAMETERS: dict[str, dict[str, Any]] = {
    "PPL-DL": PITTSBURGH,
    "PPL-ST": {**PITTSBURGH, "num_reinf_rollouts": 2},
    "XCSF": {"pop_limit": 24, "ga_per_epoch": 10, "theta_ga": 10},
}
REMOVED: dict[str, Any] = {
    "mirror": "-cart position, -cart velocity, -pole angle, -pole velocity, push left = push right",
    "stand_in": "CartPole-v1",
    "rehearsal": 2,
}
"""Parameters of PPL-DL that later versions do not have."""


def new_systems() -> dict[str, System]:
    """Return a fresh small system of every kind on a table and on an environment, by the file's name."""
    lake = frozen_lake(4, 0.1, enumerations=2, t_max=30)
    found = {}
    for name in PARAMETERS:
        for where, task in (("lake", lake), ("cartpole", cart_pole())):
            found[f"{name}-{where}"] = SYSTEMS[name](task, seed=3, threads=1, **PARAMETERS[name])
    return found


def cart_pole(player: Any = "auto", **more: Any) -> Any:
    """Return a small task of CartPole."""
    return env_task("CartPole-v1", episodes=4, t_max=60, player=player, **more)


def points_of(task: Any) -> NDArray[np.float64]:
    """Return points of a task's feature space to compare actions at, `(n, features)`."""
    ends = [(feature.low, feature.high) for feature in task.features]
    sides = [np.unique(np.round(np.linspace(low, high, 4), 2)) for low, high in ends]
    if all(feature.is_integer for feature in task.features):
        sides = [np.arange(low, high + 1) for low, high in ends]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides)).astype(np.float64)


def digests(system: System) -> dict[str, str]:
    """Return a digest of every array of the population, and of every column of the history."""
    population = {name: array.tobytes() for name, array in system.now.population._asdict().items()}
    history = {name: json.dumps(system.history[name].to_list()).encode() for name in system.history.columns}
    parts = {f"population/{name}": part for name, part in population.items()}
    parts |= {f"history/{name}": part for name, part in history.items()}
    return {name: hashlib.blake2b(part, digest_size=8).hexdigest() for name, part in parts.items()}


def known() -> dict[str, Any]:
    """Return what version 0.1 did with each file."""
    found: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
    return found


def main() -> None:
    """Write the files, and what this version does with them."""
    FOLDER.mkdir(exist_ok=True)
    expected, systems = dict[str, Any](), new_systems()
    native = cart_pole("native")  # a player that later versions do not have
    systems["PPL-DL-native"] = SYSTEMS["PPL-DL"](native, seed=3, threads=1, **PITTSBURGH)
    even = cart_pole(ranges={"cart velocity": (-2.0, 2.0), "pole velocity": (-3.0, 3.0)})
    systems["PPL-DL-removed"] = SYSTEMS["PPL-DL"](even, seed=3, threads=1, **PITTSBURGH, **REMOVED)
    for name, system in systems.items():
        system.learn(epochs=EPOCHS).save(FOLDER / f"{name}.zip")
        ruleset = system.ruleset
        (FOLDER / f"{name}.json").write_text(json.dumps(ruleset.to_dict()) + "\n")
        if ruleset.kind == "decision-list":
            (FOLDER / f"{name}.txt").write_text(str(ruleset) + "\n")
        actions = "".join("-" if a < 0 else str(a) for a in ruleset.predict(points_of(system.task)))
        expected[name] = {"actions": actions}
        if name != "PPL-DL-removed":  # which later versions do not learn on
            later = load(FOLDER / f"{name}.zip", threads=1).learn(epochs=EPOCHS)
            expected[name]["digests"] = digests(later)
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
