"""Gymnasium's CliffWalking: walk along a cliff to the goal (Sutton and Barto 2018, example 6.6)."""

from __future__ import annotations

from typing import Any

from ifthen.environments.known_environments import KnownEnvironment, KnownFeature


class CliffWalking(KnownEnvironment):
    """CliffWalking, observed as column x and row y."""

    of_class = "gymnasium.envs.toy_text.cliffwalking:CliffWalkingEnv"
    ids = ("CliffWalking-v1",)
    is_table = True
    features = (KnownFeature("x"), KnownFeature("y"))
    actions = ("Up", "Right", "Down", "Left")

    @staticmethod
    def decode(env: Any, state: int) -> tuple[int, int]:
        """Return column and row of a state."""
        y, x = divmod(state, int(env.shape[1]))
        return x, y
