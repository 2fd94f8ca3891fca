"""Gymnasium's Taxi: fetch a passenger and drive to the destination (Dietterich 2000)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ifthen.environments.known_environments import KnownEnvironment, KnownFeature


class Taxi(KnownEnvironment):
    """Taxi, observed as the four numbers that its state number is made of."""

    of_class = "gymnasium.envs.toy_text.taxi:TaxiEnv"
    ids = ("Taxi-v4",)
    is_table = True
    features = tuple(map(KnownFeature, ("row", "column", "passenger", "destination")))
    actions = ("South", "North", "East", "West", "Pickup", "Dropoff")

    @staticmethod
    def decode(env: Any, state: int) -> Sequence[int]:
        """Return row, column, passenger and destination of a state."""
        return tuple(env.decode(state))

    @staticmethod
    def objection_to_table(env: Any) -> str:
        """Return why a fickle passenger makes the table wrong."""
        fickle = getattr(env, "fickle_passenger", False)
        return "Taxi with fickle_passenger=True moves in ways its table P does not hold" if fickle else ""
