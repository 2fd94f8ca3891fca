"""Tasks from any Gymnasium environment with Discrete actions."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ifthen.checks import real_number
from ifthen.errors import RuleError, TaskError, nearest
from ifthen.rules.features import REAL_LIMIT, Feature
from ifthen.tasks.env_task import LEAST_GAMMA, EnvTask, Option, Player
from ifthen.tasks.known import Known, KnownFeature, known
from ifthen.tasks.making import limit_of, made_from
from ifthen.tasks.probe import is_open, probed_ranges, try_out
from ifthen.tasks.spaces import FlatSpace, Leaf, check_actions

DEFAULT_EPISODES = 20
UNKNOWN_FLOOR = -1e12
"""The performance of null actions where nobody knows the least reward; returns below it are refused."""


def env_task(
    env: Any,
    *,
    name: str | None = None,
    features: Sequence[Feature] | None = None,
    feature_names: Sequence[str] | None = None,
    ranges: Mapping[str, Sequence[float]] | None = None,
    action_names: Sequence[str] | None = None,
    episodes: int | None = None,
    gamma: float = 1.0,
    t_max: int | None = None,
    floor: float | None = None,
    default_action: str | int | None = None,
    noise_seed: int = 0,
    player: Player = "auto",
    options: Mapping[str, Option] | None = None,
) -> EnvTask:
    """Build the task of a Gymnasium environment.

    Args:
        env: the environment, its id, or a function that makes it. Observations may be Box, Discrete,
            MultiDiscrete, MultiBinary, or Tuple and Dict of these; actions must be Discrete.
        name: the task's name; the environment's id where none is given.
        features: name, range and kind of every number observed, instead of all that follows on features.
            Values beyond a range count as its edge, whatever `clips` says.
        feature_names: one name per number observed.
        ranges: `{name: (low, high)}`, the ranges that conditions are drawn from. Where neither these nor the
            environment give one, it comes from a probe (see `ifthen.tasks.probe`). Values beyond a range
            count as its edge.
        action_names: one name per action.
        episodes: |z|, the number of reset seeds that measure performance; 20 where not given.
        gamma: the discount factor; 1 for the plain sum of rewards.
        t_max: truncation; the environment's own limit, or 1,000 where it has none. It cannot be more than
            the environment's own: give options={"max_episode_steps": …} for that.
        floor: the performance of rules that leave a state without an action; it must be below any return.
            It is known for Gymnasium's own environments, and −1e12 for others.
        default_action: what the lists of PPL-DL do where no rule matches, by number or name; see `EnvTask`.
        noise_seed: another number gives other reset seeds.
        player: "auto", "twin", "native" or "sync"; see `EnvTask`.
        options: keyword arguments for making the environment, where `env` is its id.
    """
    gamma = real_number("gamma", gamma, LEAST_GAMMA, 1, TaskError)
    made, environment, kept, factory = made_from(env, options or {})
    try:
        check_actions(made.action_space)
        flat, about = FlatSpace.of(made.observation_space), known(made)
        try_out(made, flat)
        described = (
            _described(made, flat, about, feature_names, ranges or {})
            if features is None
            else _as_given(flat, about, features)
        )
        n_actions, spec = int(made.action_space.n), made.spec
    finally:
        made.close()
    sources = _sources(flat, about, described, None if features is not None else ranges or ())
    limit = limit_of(t_max, spec)
    names = _action_names(action_names, about, n_actions)
    return EnvTask(
        name=name or (spec.id if spec else type(made.unwrapped).__name__),
        features=described,
        action_names=names,
        environment=environment,
        options=kept,
        episodes=((about.episodes if about else None) or DEFAULT_EPISODES) if episodes is None else episodes,
        t_max=limit,
        floor=_floor(about, gamma, limit) if floor is None else floor,
        gamma=gamma,
        default_action=_action_number(default_action, names),
        noise_seed=noise_seed,
        player=player,
        origin={
            "environment": spec.id if spec else type(made.unwrapped).__name__,
            "ranges": " ".join(sources),
        },
        factory=factory,
    )


def _described(
    env: Any,
    flat: FlatSpace,
    about: Known | None,
    names: Sequence[str] | None,
    ranges: Mapping[str, Sequence[float]],
) -> tuple[Feature, ...]:
    """Return the features of an environment: as given, as known, as declared, as probed."""
    told = _told(flat, about)
    labels = [feature.name for feature in told] if names is None else [str(name) for name in names]
    if len(labels) != len(flat.leaves):
        raise TaskError(f"{len(labels)} feature names {labels} for {len(flat.leaves)} numbers observed.")
    for label in ranges:
        if label not in labels:
            raise TaskError(f"ranges speak of {label!r}, which is no feature.{nearest(label, labels)}")
    missing = [
        leaf
        for leaf, label, feature in zip(flat.leaves, labels, told, strict=True)
        if label not in ranges and feature.low is None and is_open(leaf)
    ]
    declared = [(_shortest(leaf.low), _shortest(leaf.high)) for leaf in flat.leaves]
    probed = probed_ranges(env, flat) if missing else declared
    chosen = [
        met if is_open(leaf) else range_
        for leaf, met, range_ in zip(flat.leaves, probed, declared, strict=True)
    ]
    return tuple(
        _feature(leaf, label, feature, ranges.get(label), met)
        for leaf, label, feature, met in zip(flat.leaves, labels, told, chosen, strict=True)
    )


def _as_given(flat: FlatSpace, about: Known | None, given: Sequence[Feature]) -> tuple[Feature, ...]:
    """Return features that were given, checked; values beyond their ranges count as the edges."""
    features = tuple(given)
    if not all(isinstance(feature, Feature) for feature in features):
        raise TaskError(f"features must be of the class Feature, not {given!r}.")
    if len(features) != len(flat.leaves):
        raise TaskError(f"{len(features)} features were given for {len(flat.leaves)} numbers observed.")
    for i, (feature, told) in enumerate(zip(features, _told(flat, about), strict=True)):
        if feature.is_integer and not flat.is_whole(i) and not told.is_integer:
            raise TaskError(
                f"feature {feature.name!r} is of whole numbers, but {flat.leaves[i].name} is a real number "
                'in the observation space: give kind="real".'
            )
    return tuple(replace(feature, clips=True) for feature in features)


def _told(flat: FlatSpace, about: Known | None) -> tuple[KnownFeature, ...]:
    """Return what is known of each number observed: its name at least."""
    if about is not None and len(about.features) == len(flat.leaves):
        return about.features
    return tuple(KnownFeature(leaf.name) for leaf in flat.leaves)


def _sources(
    flat: FlatSpace, about: Known | None, features: Sequence[Feature], given: Container[str] | None
) -> tuple[str, ...]:
    """Return where the range of each feature comes from: given, known, declared or probed.

    Args:
        flat: what the environment observes.
        about: what is known of it.
        features: its features.
        given: names of those whose ranges were given; None for all.
    """
    found = []
    for leaf, own, feature in zip(flat.leaves, _told(flat, about), features, strict=True):
        if given is None or feature.name in given:
            found.append("given")
        elif own.low is not None:
            found.append("known")
        else:
            found.append("probed" if is_open(leaf) else "declared")
    return tuple(found)


def _shortest(end: float) -> float:
    """Return an end of a range as it was written before it became a 32-bit number: 4.8, not 4.80000019."""
    return float(str(np.float32(end))) if float(np.float32(end)) == end else end


def _feature(
    leaf: Leaf,
    label: str,
    told: KnownFeature,
    given: Sequence[float] | None,
    probed: tuple[float, float],
) -> Feature:
    """Return one feature."""
    kind = "integer" if told.is_integer else leaf.kind
    known_range = None if told.low is None or told.high is None else (told.low, told.high)
    low, high = (_ends(label, given) if given is not None else known_range) or probed
    if kind == "integer":
        whole = [int(end) for end in (low, high)]
        if whole != [low, high]:
            raise TaskError(f"the range of {label} must be whole numbers, not {(low, high)}.")
        low, high = whole
    try:
        return Feature(label, low, high, kind, told.unit, clips=True)
    except RuleError as problem:
        raise TaskError(str(problem)) from None


def _ends(label: str, given: Any) -> tuple[float, float]:
    """Return the two ends of a range that was given."""
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise TaskError(f"the range of {label} must be its least and its largest value, not {given!r}.")
    low, high = (
        real_number(f"the range of {label}", end, -REAL_LIMIT, REAL_LIMIT, TaskError) for end in given
    )
    return low, high


def _action_names(given: Sequence[str] | None, about: Known | None, n: int) -> tuple[str, ...]:
    """Return a name for every action."""
    if given is not None and len(given) != n:
        raise TaskError(f"{len(given)} action names {list(given)} for {n} actions.")
    if given is None and about is not None and len(about.actions) == n:
        return about.actions
    return tuple(f"action {a}" for a in range(n)) if given is None else tuple(str(a) for a in given)


def _action_number(given: str | int | None, names: tuple[str, ...]) -> int | None:
    """Return an action by its name or number."""
    if not isinstance(given, str):
        return given
    if given not in names:
        raise TaskError(f"default_action {given!r} is no action.{nearest(given, names)}")
    return names.index(given)


def _floor(about: Known | None, gamma: float, t_max: int) -> float:
    """Return a number below any return."""
    if about is None or about.least_reward is None:
        return UNKNOWN_FLOOR
    horizon = t_max if gamma == 1 else min(t_max, 1 / (1 - gamma))
    return min(0.0, about.least_reward) * horizon - 1.0
