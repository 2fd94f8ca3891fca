"""Environments of our own, known to Gymnasium by their ids once this is imported."""

from __future__ import annotations

import gymnasium

LUNAR_STAND_IN = "ifthen/LunarLander-v0"


def register_own() -> None:
    """Tell Gymnasium of them, once."""
    if LUNAR_STAND_IN not in gymnasium.registry:
        gymnasium.register(
            LUNAR_STAND_IN,
            entry_point="ifthen.tasks.twins.lunar_lander:LunarLanderStandIn",
            max_episode_steps=1000,
        )
