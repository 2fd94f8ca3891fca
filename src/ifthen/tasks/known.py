"""What is known of Gymnasium's own environments: names of features and actions, and the least reward.

Everything here can be had by arguments too; other environments have features f0, f1, … and actions named by
their numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

RADIANS, PER_SECOND = "rad", "rad/s"


class KnownFeature(NamedTuple):
    """A feature under its name; unit and range where they are known better than the space says."""

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    is_integer: bool = False


class Known(NamedTuple):
    """What is known of an environment."""

    features: tuple[KnownFeature, ...]
    actions: tuple[str, ...]
    least_reward: float | None
    """The least reward of a step; None where there is no such number."""
    episodes: int | None = None
    """How many episodes make a fair measure, where that is not the usual number."""


def known(env: Any) -> Known | None:
    """Return what is known of an environment, by the classes that it is of; None for all others.

    Nothing is known of one in a wrapper that may change observations, actions or rewards, and only names and
    units of subclasses, which may have other rewards and ranges.
    """
    core = env.unwrapped
    if not is_plain(env):
        return None
    for kind in type(core).__mro__:
        if kind.__name__ in KNOWN and kind.__module__.startswith("gymnasium.envs."):
            found = KNOWN[kind.__name__]
            if type(core) is not kind:
                return Known(tuple(KnownFeature(f.name, f.unit) for f in found.features), found.actions, None)
            punished = getattr(core, "_sutton_barto_reward", False)
            return found._replace(least_reward=-1.0) if punished else found
    return None


def is_plain(env: Any) -> bool:
    """Return whether no wrapper of an environment may change observations, actions or rewards."""
    core = getattr(env, "unwrapped", env)
    while env is not core:
        if type(env).__name__ not in HARMLESS or not type(env).__module__.startswith("gymnasium.wrappers."):
            return False
        env = env.env
    return True


SHOWING = {"RecordEpisodeStatistics", "RecordVideo", "RenderCollection", "HumanRendering"}
"""Gymnasium's wrappers that only record or show what happens."""
HARMLESS = {"PassiveEnvChecker", "OrderEnforcing", "TimeLimit"} | SHOWING
"""Those that leave observations, actions and rewards as they are."""


KNOWN = {
    "CartPoleEnv": Known(
        (
            KnownFeature("cart position", low=-2.4, high=2.4),
            KnownFeature("cart velocity"),
            KnownFeature("pole angle", RADIANS, low=-0.21, high=0.21),
            KnownFeature("pole velocity", PER_SECOND),
        ),
        ("push left", "push right"),
        0.0,
        100,
    ),
    "MountainCarEnv": Known(
        (KnownFeature("position"), KnownFeature("velocity")),
        ("push left", "coast", "push right"),
        -1.0,
        50,
    ),
    "AcrobotEnv": Known(
        (
            KnownFeature("cos θ1"),
            KnownFeature("sin θ1"),
            KnownFeature("cos θ2"),
            KnownFeature("sin θ2"),
            KnownFeature("velocity θ1", PER_SECOND),
            KnownFeature("velocity θ2", PER_SECOND),
        ),
        ("torque −1", "torque 0", "torque +1"),
        -1.0,
        50,
    ),
    "LunarLander": Known(
        (
            KnownFeature("x", low=-0.6, high=0.6),
            KnownFeature("y", low=0.0, high=1.5),
            KnownFeature("x velocity", low=-0.6, high=0.6),
            KnownFeature("y velocity", low=-1.0, high=0.2),
            KnownFeature("angle", RADIANS, low=-0.5, high=0.5),
            KnownFeature("angular velocity", low=-0.6, high=0.6),
            KnownFeature("right leg", low=0, high=1, is_integer=True),
            KnownFeature("left leg", low=0, high=1, is_integer=True),
        ),
        ("no engine", "left engine", "main engine", "right engine"),
        None,
        160,
    ),
    "BlackjackEnv": Known(
        (
            KnownFeature("own sum", low=4, high=21, is_integer=True),
            KnownFeature("dealer shows", low=1, high=10, is_integer=True),
            KnownFeature("usable ace", low=0, high=1, is_integer=True),
        ),
        ("stick", "hit"),
        -1.5,
        5000,
    ),
}
