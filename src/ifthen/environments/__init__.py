"""The environments that ifthen knows, one file each, and how any environment becomes a task."""

from __future__ import annotations

from typing import Any

import gymnasium

OWN: dict[str, tuple[str, int | None, dict[str, Any]]] = {
    "ifthen/FrozenLake-v0": ("frozen_lake:FrozenLakeXY", None, {}),
    "ifthen/Evasion-v0": ("evasion:Evasion", 20, {}),
    "ifthen/EvasionFixed-v0": ("evasion:Evasion", 20, {"start": "fixed"}),
    "ifthen/EvasionNoisy-v0": ("evasion:Evasion", 20, {"sensor_noise": 0.1}),
    "ifthen/Maze-v0": ("mazes:MazeEnv", None, {}),
}
"""Class, time limit and keyword arguments of the environments that ifthen itself brings, by id."""


def register_with_gymnasium() -> None:
    """Make `gymnasium.make` know the environments of ifthen."""
    for environment, (entry, limit, keywords) in OWN.items():
        if environment not in gymnasium.registry:
            gymnasium.register(environment, f"{__name__}.{entry}", max_episode_steps=limit, kwargs=keywords)
