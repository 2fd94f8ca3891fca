"""Gymnasium's LunarLander: names, ranges and how many episodes make a fair measure.

It is simulated by Box2D, whose solver no short function can copy bit by bit, so it has no twin. Foot 0 is the
right one, as in the environment.
"""

from __future__ import annotations

from ifthen.environments.known_environments import KnownEnvironment, KnownFeature


class LunarLander(KnownEnvironment):
    """LunarLander."""

    of_class = "gymnasium.envs.box2d.lunar_lander:LunarLander"
    ids = ("LunarLander-v3",)
    features = (
        KnownFeature("x", low=-0.6, high=0.6),
        KnownFeature("y", low=0.0, high=1.5),
        KnownFeature("x velocity", low=-0.6, high=0.6),
        KnownFeature("y velocity", low=-1.0, high=0.2),
        KnownFeature("angle", "rad", low=-0.5, high=0.5),
        KnownFeature("angular velocity", low=-0.6, high=0.6),
        KnownFeature("right leg", low=0, high=1, is_integer=True),
        KnownFeature("left leg", low=0, high=1, is_integer=True),
    )
    actions = ("no engine", "left engine", "main engine", "right engine")
    episodes = 160
