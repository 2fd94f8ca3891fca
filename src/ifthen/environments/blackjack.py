"""Gymnasium's Blackjack: draw cards up to 21 against a dealer (Sutton and Barto 2018, example 5.1)."""

from __future__ import annotations

from ifthen.environments.known_environments import KnownEnvironment, KnownFeature


class Blackjack(KnownEnvironment):
    """Blackjack. Chance decides much of a game, so that many are needed for a fair measure."""

    of_class = "gymnasium.envs.toy_text.blackjack:BlackjackEnv"
    ids = ("Blackjack-v1",)
    features = (
        KnownFeature("own sum", low=4, high=21, is_integer=True),
        KnownFeature("dealer shows", low=1, high=10, is_integer=True),
        KnownFeature("usable ace", low=0, high=1, is_integer=True),
    )
    actions = ("stick", "hit")
    episodes = 5000
    least = -1.5
