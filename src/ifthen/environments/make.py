"""Tasks of anything that a user may give: a name, or any Gymnasium environment with Discrete actions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import EnumType
from typing import Any

import gymnasium
import numpy as np

from ifthen.checks import real_number, whole_number
from ifthen.digits import listed
from ifthen.environments.copies import Source, source_of
from ifthen.environments.from_table import has_table, table_task
from ifthen.environments.known_environments import (
    About,
    KnownFeature,
    about,
    changing_wrapper,
    known_environments,
    known_names,
    listed_ids,
)
from ifthen.environments.repeatable import repeatability_of
from ifthen.errors import RuleError, TaskError, nearest, warn
from ifthen.rules.feature import REAL_LIMIT, Feature
from ifthen.tasks.env_like import AnyEnv, EnvLike
from ifthen.tasks.flatten import FlatSpace, Leaf, check_actions
from ifthen.tasks.gym_task import LEAST_GAMMA, T_MAX_LIMIT, EnvTask, Option, Player
from ifthen.tasks.imports import ENV_ID
from ifthen.tasks.probe import is_open, probed_ranges, try_out
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task
from ifthen.tasks.wrapper_statistics import restore_statistics, statistics_of

DEFAULT_EPISODES = 20
"""The default number of training seeds."""
DEFAULT_T_MAX = 1000
"""The default limit on steps, where the environment has none of its own."""
IN_MODULE = re.compile(r"[A-Za-z_][\w.]*:[\w./-]+")
"""The name of an environment in a package: `package:Id-v0` or `module:attribute`."""
TaskLike = Task | EnvLike
"""What users may give for a task: a task, its name, a Gymnasium environment, or a function that makes one."""
UNKNOWN_FLOOR = -1e12
"""The performance of null actions if the least reward is not known. Returns below it are refused."""


def env_task(
    env: EnvLike,
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
    lanes: int | None = None,
    leave_out: Sequence[str] = (),
    options: Mapping[str, Option] | None = None,
    disturbances: Mapping[str, float] | None = None,
) -> EnvTask:
    """Build the task of a Gymnasium environment.

    Args:
        env: the environment, its id, or a function that makes it. Observations may be Box, Discrete,
            MultiDiscrete, MultiBinary, or Tuple and Dict of these; texts in them are left out. Actions must
            be Discrete. Episodes are played in new environments of the same id, in copies if the environment
            has no id or was changed after it was made, or in the object itself if it cannot be copied.
        name: the task's name; the environment's id if not given.
        features: name, range and kind of every number observed, instead of `feature_names` and `ranges`.
            Values beyond a range count as its edge, whatever `clips` says.
        feature_names: one name per number observed.
        ranges: `{name: (low, high)}`, the ranges that conditions are drawn from. If neither these nor the
            environment give one, it comes from a probe (see `ifthen.tasks.probe`). Values beyond a range
            count as its edge.
        action_names: one name per action.
        episodes: |z|, the number of reset seeds that measure performance; 20 if not given.
        gamma: the discount factor; 1 for the plain sum of rewards.
        t_max: truncation; the environment's own limit, or 1,000 if it has none. It cannot be more than
            the environment's own: give options={"max_episode_steps": …} for that.
        floor: the performance of rules that leave a state without an action; it must be below any return.
            It is known for Gymnasium's own environments, and −1e12 for others.
        default_action: what the lists of PPL-DL do where no rule matches, by number or name; see `EnvTask`.
        noise_seed: another number gives other reset seeds.
        player: "auto", "twin" or "sync"; see `EnvTask`.
        lanes: the most environments to play side by side in one process. If not given, a few episodes show
            whether environments disturb each other; if they do, it is 1, else as many as pay off.
        leave_out: parts or numbers of observations that rules are not to see, by name.
        options: keyword arguments for making the environment, if `env` is its id.
        disturbances: strengths by name, such as `{"noise": 0.05, "delay": 1}`: what is between rules and
            environment whenever episodes are played; see `ifthen.tasks.disturbance`.
    """
    gamma = real_number("gamma", gamma, LEAST_GAMMA, 1, TaskError)
    source = source_of(env, options or {})
    new_env = source.env
    try:
        check_actions(new_env.action_space)
        flat, known_facts = FlatSpace.of(new_env.observation_space, leave_out), about(new_env)
        statistics = statistics_of(new_env)
        restore_statistics(new_env)
        try_out(new_env, flat)
        actions, spec = new_env.action_space, new_env.spec
        limit, known_numbers = _limit(t_max, spec), _known_numbers(flat, known_facts)
        if features is None:
            described = _described(new_env, flat, known_numbers, feature_names, ranges or {}, limit)
        else:
            described = _as_given(flat, known_numbers, features)
    finally:
        new_env.close()
    label = spec.id if spec else type(new_env.unwrapped).__name__
    n_lanes = _lanes_of(source, label, flat, statistics, leave_out, lanes)
    names = _action_names(action_names, known_facts, new_env)
    if isinstance(default_action, str):
        if default_action not in names:
            raise TaskError(
                f"default_action {default_action!r} is no action.{nearest(default_action, names)}"
            )
        default_action = names.index(default_action)
    return EnvTask(
        name=name or label,
        features=tuple(feature for feature, _ in described),
        action_names=names,
        environment=source.environment,
        options=source.options,
        episodes=(known_facts.episodes or DEFAULT_EPISODES) if episodes is None else episodes,
        t_max=limit,
        floor=_floor(known_facts, gamma, limit) if floor is None else floor,
        gamma=gamma,
        default_action=default_action,
        noise_seed=noise_seed,
        player=player,
        lanes=n_lanes,
        leave_out=tuple(leave_out),
        observed=tuple(flat.to_list()),
        first_action=int(actions.start),
        statistics=tuple(statistics),
        origin={"environment": label, "ranges": " ".join(source for _, source in described)},
        disturbances=disturbances or {},
        factory=source.factory,
    )


def _lanes_of(
    source: Source,
    label: str,
    flat: FlatSpace,
    statistics: list[dict[str, Any]],
    leave_out: Sequence[str],
    lanes: int | None,
) -> int:
    """Try an environment that is not Gymnasium's own, say what a user should know, and return its lanes."""
    left_out = [f"{name} ({why})" for name, why in flat.left_out.items() if name not in leave_out]
    notes = [source.note] if source.note else []
    if left_out:
        notes.append(f"rules do not see {listed(left_out)}.")
    for statistic in statistics:
        empty = all(mean == 0 for mean in statistic["mean"]) and all(var == 1 for var in statistic["var"])
        hint = "has seen no data yet, so that it changes next to nothing: play some episodes in it first, or"
        notes.append(
            f"{statistic['wrapper']} would learn statistics over episodes. They stay as they are now, so "
            "that a policy sees the same numbers whenever it is measured."
            + (f" It {hint} leave it out." if empty else "")
        )
    one_at_a_time = bool(source.note)
    module = type(source.env.unwrapped).__module__
    if not module.startswith("gymnasium.envs.") or changing_wrapper(source.env):
        repeatability = repeatability_of(source.make_another, leave_out)
        one_at_a_time = one_at_a_time or repeatability.apart is False
        notes += repeatability.notes
    for note in notes:
        warn(f"{label}: {note}")
    return int(one_at_a_time) if lanes is None else lanes


def _known_numbers(flat: FlatSpace, known_facts: About) -> tuple[KnownFeature, ...]:
    """Return what is known about each number observed, at least its name."""
    if len(known_facts.features) == len(flat.leaves):
        return known_facts.features
    return tuple(KnownFeature(leaf.name) for leaf in flat.leaves)


def _described(
    env: AnyEnv,
    flat: FlatSpace,
    known_features: tuple[KnownFeature, ...],
    names: Sequence[str] | None,
    ranges: Mapping[str, Sequence[float]],
    t_max: int,
) -> list[tuple[Feature, str]]:
    """Return features and the sources of their ranges: given, else known, else declared, else probed."""
    labels = [feature.name for feature in known_features] if names is None else [str(name) for name in names]
    if len(labels) != len(flat.leaves):
        raise TaskError(f"{len(labels)} feature names {labels} for {len(flat.leaves)} numbers observed.")
    for label in ranges:
        if label not in labels:
            raise TaskError(f"ranges speak of {label!r}, which is no feature.{nearest(label, labels)}")
    described: list[tuple[Feature, str]] = []
    probed: list[tuple[float, float]] = []
    for i, (leaf, label, known_feature) in enumerate(zip(flat.leaves, labels, known_features, strict=True)):
        if label in ranges:
            source, (low, high) = "given", _ends(label, ranges[label])
        elif known_feature.low is not None and known_feature.high is not None:
            source, (low, high) = "known", (known_feature.low, known_feature.high)
        elif not is_open(leaf):
            source, (low, high) = "declared", (_shortest(leaf.low), _shortest(leaf.high))
        else:
            probed = probed or probed_ranges(env, flat, t_max)
            source, (low, high) = "probed", probed[i]
        described.append((_feature(leaf, label, known_feature, low, high), source))
    return described


def _as_given(
    flat: FlatSpace, known_features: tuple[KnownFeature, ...], features: Sequence[Feature]
) -> list[tuple[Feature, str]]:
    """Return features that were given, checked; values beyond their ranges count as the edges."""
    checked = tuple(features)
    if not all(isinstance(feature, Feature) for feature in checked):
        raise TaskError(f"features must be of the class Feature, not {features!r}.")
    if len(checked) != len(flat.leaves):
        raise TaskError(f"{len(checked)} features were given for {len(flat.leaves)} numbers observed.")
    for i, (feature, known_feature) in enumerate(zip(checked, known_features, strict=True)):
        if feature.is_integer and not flat.is_whole(i) and not known_feature.is_integer:
            raise TaskError(
                f"feature {feature.name!r} is of whole numbers, but {flat.leaves[i].name} is a real number "
                'in the observation space: give kind="real".'
            )
    return [(replace(feature, clips=True), "given") for feature in checked]


def _shortest(end: float) -> float:
    """Return an end of a range as it was written before it became a 32-bit number: 4.8, not 4.80000019."""
    return float(str(np.float32(end))) if float(np.float32(end)) == end else end


def _feature(leaf: Leaf, label: str, known_feature: KnownFeature, low: float, high: float) -> Feature:
    """Return one feature with its range."""
    kind = "integer" if known_feature.is_integer else leaf.kind
    if kind == "integer":
        integers = int(low), int(high)
        if integers != (low, high):
            raise TaskError(f"the range of {label} must be whole numbers, not {(low, high)}.")
        low, high = integers
    try:
        return Feature(label, low, high, kind, known_feature.unit, clips=True, cyclic=known_feature.cyclic)
    except RuleError as problem:
        raise TaskError(str(problem)) from None


def _ends(label: str, interval: Any) -> tuple[float, float]:
    """Return the two ends of a range that was given."""
    if not isinstance(interval, (list, tuple)) or len(interval) != 2:
        raise TaskError(f"the range of {label} must be its least and its largest value, not {interval!r}.")
    low, high = (
        real_number(f"the range of {label}", end, -REAL_LIMIT, REAL_LIMIT, TaskError) for end in interval
    )
    return low, high


def _action_names(requested: Sequence[str] | None, known_facts: About, env: AnyEnv) -> tuple[str, ...]:
    """Return a name for every action: given, else known, else as the environment itself calls them."""
    n = int(check_actions(env.action_space).n)
    if requested is not None:
        if len(requested) != n:
            raise TaskError(f"{len(requested)} action names {list(requested)} for {n} actions.")
        return tuple(str(name) for name in requested)
    if len(known_facts.actions) == n:
        return known_facts.actions
    core: Any = env.unwrapped
    if callable(getattr(core, "get_action_meanings", None)):  # as Atari games do
        names = [str(name).lower() for name in core.get_action_meanings()]
    elif isinstance(getattr(core, "actions", None), EnumType):  # as MiniGrid does
        names = [action.name for action in core.actions]
    else:
        names = []
    usable = len(names) == n and len(set(names)) == n and all(name.strip() for name in names)
    return tuple(names) if usable else tuple(f"action {a}" for a in range(n))


def _limit(t_max: int | None, spec: Any) -> int:
    """Return the number of steps after which episodes are truncated."""
    env_limit = spec.max_episode_steps if spec else None
    env_limit = env_limit if env_limit and env_limit > 0 else None  # −1 stands for none
    if t_max is None:
        return env_limit or DEFAULT_T_MAX
    limit = whole_number("t_max", t_max, 1, T_MAX_LIMIT, TaskError)
    if env_limit is not None and limit > env_limit:
        raise TaskError(
            f"the environment truncates episodes after {env_limit} steps, so t_max cannot be {limit}: give "
            f'options={{"max_episode_steps": {limit}}} instead, or t_max={env_limit}.'
        )
    return limit


def _floor(known_facts: About, gamma: float, t_max: int) -> float:
    """Return a number below any return."""
    if known_facts.least_reward is None:
        return UNKNOWN_FLOOR
    horizon = t_max if gamma == 1 else min(t_max, 1 / (1 - gamma))
    return min(0.0, known_facts.least_reward) * horizon - 1.0


def as_task(task: TaskLike) -> TabularTask | EnvTask:
    """Return the task of anything that a user may give.

    Args:
        task: a task, its name (see `task_by_name`), a Gymnasium environment, or a function that makes one.
            Environments with a transition table `P` become tabular tasks if they do what it says.
    """
    if isinstance(task, TabularTask | EnvTask):
        return task
    if isinstance(task, str):
        return task_by_name(task)
    environment: Any = task
    return table_task(environment) if has_table(environment) else env_task(environment)


def task_by_name(name: str) -> TabularTask | EnvTask:
    """Return the task called `name`.

    Args:
        name: `FrozenLake-SIZE-SLIP` for the paper's maps, `FrozenLake-SIZE-SLIP-mapSEED` for random
            ones, or the id of a Gymnasium environment, such as `Taxi-v4` or `CartPole-v1`;
            `package:Id-v0` imports the package that registers it first, as `gymnasium.make` does, and
            `module:attribute` names a class, or a function that makes the environment, in a module.
    """
    for known_env in known_environments():
        task = known_env.task_named(name)
        if task is not None:
            return task
    if name not in gymnasium.registry and not IN_MODULE.fullmatch(name):
        raise TaskError(_unknown(name))
    env = source_of(name, {}).env
    try:
        if has_table(env):
            return table_task(env)
    finally:
        env.close()
    return env_task(name)


def _unknown(name: str) -> str:
    """Return the message for a name that no task has."""
    if not ENV_ID.fullmatch(name):
        return (
            f"unknown task {name!r}.{nearest(name, known_names())} "
            "See 'ifthen tasks'. A class in a file of your own is module:Class, in the folder of module.py."
        )
    hint = nearest(name, listed_ids(table=True) + listed_ids(table=False), others=False)
    return (
        f"unknown task {name!r}: Gymnasium has no such environment here.{hint} The package that registers it "
        f"may be missing; 'package:{name}' imports one. See 'ifthen tasks'."
    )
