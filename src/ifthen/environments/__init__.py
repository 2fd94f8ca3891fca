"""The environments that ifthen knows, one file each, and how any environment becomes a task."""

from __future__ import annotations

import gymnasium

OWN = {"ifthen/FrozenLake-v0": "frozen_lake:FrozenLakeXY"}
"""The class of each environment that ifthen itself brings, by id."""


def register_with_gymnasium() -> None:
    """Make `gymnasium.make` know the environments of ifthen."""
    for environment, entry in OWN.items():
        if environment not in gymnasium.registry:
            gymnasium.register(environment, f"{__name__}.{entry}")
