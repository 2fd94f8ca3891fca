"""Tasks from Gymnasium environments that publish their transition table `P`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.rules.features import Feature
from ifthen.tasks.tabular import (
    DETERMINISTIC_ENUMERATIONS,
    STOCHASTIC_ENUMERATIONS,
    TabularTask,
    common_outcomes,
)

DEFAULT_T_MAX = 200
Decoder = Callable[[int], Sequence[int]]


def task_from_env(
    env: Any,
    *,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    decode: Decoder | None = None,
    action_names: Sequence[str] | None = None,
    initial_states: Iterable[int] | None = None,
    enumerations: int | None = None,
    gamma: float = 0.95,
    t_max: int | None = None,
    noise_seed: int = 0,
) -> TabularTask:
    """Build the task of a Gymnasium environment that has a transition table `P`.

    Args:
        env: the environment, wrapped or not. FrozenLake, CliffWalking and Taxi bring their own
            features (x and y; x and y; row, column, passenger, destination).
        name: the task's name; the environment's id where none is given.
        feature_names: one name per feature that `decode` gives.
        decode: gives the whole-number features of a state; the state itself where none is known.
        action_names: one name per action.
        initial_states: S_I; every state in which the environment may start where none are given.
        enumerations: how many times z runs through S_I; 1 for deterministic tasks, else 30.
        gamma: the discount factor.
        t_max: truncation; the environment's own limit, or 200 where it has none.
        noise_seed: seed of the common random numbers of z.
    """
    base = getattr(env, "unwrapped", env)
    table = getattr(base, "P", None)
    if not table or not hasattr(base, "action_space"):
        raise TaskError(
            f"{type(base).__name__} has no transition table P. TabularTask.from_env takes "
            "environments that have one, such as FrozenLake, CliffWalking and Taxi."
        )
    if getattr(base, "fickle_passenger", False):
        raise TaskError("Taxi with fickle_passenger=True moves in ways its table P does not hold.")
    next_state, reward, done, probability = common_outcomes(table)
    known_features, known_decode, known_actions = _known(base)
    if decode is not None and feature_names is None:
        feature_names = [f"f{i}" for i in range(len(decode(0)))]
    vectors = _vectors(len(table), decode or known_decode)
    names = tuple(feature_names or known_features)
    if len(names) != vectors.shape[1]:
        raise TaskError(f"{len(names)} feature names {names} for {vectors.shape[1]} features.")
    spec = getattr(env, "spec", None)
    states = initial_states if initial_states is not None else _start_states(base)
    if t_max is None:
        t_max = (spec.max_episode_steps if spec else None) or DEFAULT_T_MAX
    if enumerations is None:
        few, many = DETERMINISTIC_ENUMERATIONS, STOCHASTIC_ENUMERATIONS
        enumerations = few if len(probability) == 1 else many
    return TabularTask(
        name=name or (spec.id if spec else type(base).__name__),
        features=tuple(
            Feature(label, int(column.min()), int(column.max()))
            for label, column in zip(names, vectors.T, strict=True)
        ),
        action_names=_action_names(action_names or known_actions, next_state.shape[1]),
        state_features=vectors,
        next_state=next_state,
        reward=reward,
        done=done,
        probability=probability,
        initial_states=np.array(list(states), dtype=np.int32),
        enumerations=enumerations,
        gamma=gamma,
        t_max=t_max,
        noise_seed=noise_seed,
        layout=_layout(base),
        origin={"environment": spec.id if spec else type(base).__name__},
    )


def _vectors(n_states: int, decode: Decoder) -> NDArray[np.int32]:
    """Return the feature vector of every state, `(n_states, features)`."""
    vectors = np.array([list(decode(s)) for s in range(n_states)])
    if vectors.ndim != 2 or vectors.dtype.kind not in "iu":
        raise TaskError("decode must give the same number of whole numbers for every state.")
    return vectors.astype(np.int32)


def _known(env: Any) -> tuple[tuple[str, ...], Decoder, tuple[str, ...] | None]:
    """Return feature names, decoder and action names of an environment, as far as they are known."""
    kinds = {kind.__name__ for kind in type(env).__mro__}
    if "FrozenLakeEnv" in kinds:
        return ("x", "y"), lambda s: (s % env.ncol, s // env.ncol), ("Left", "Down", "Right", "Up")
    if "CliffWalkingEnv" in kinds:
        columns = int(env.shape[1])
        return ("x", "y"), lambda s: (s % columns, s // columns), ("Up", "Right", "Down", "Left")
    if "TaxiEnv" in kinds:
        actions = ("South", "North", "East", "West", "Pickup", "Dropoff")
        return ("row", "column", "passenger", "destination"), lambda s: tuple(env.decode(s)), actions
    return ("state",), lambda s: (s,), None


def _action_names(names: Sequence[str] | None, n_actions: int) -> tuple[str, ...]:
    """Return the names given, checked, or made-up ones: Action0, Action1 and so on."""
    if names is None:
        return tuple(f"Action{a}" for a in range(n_actions))
    if len(names) != n_actions:
        raise TaskError(f"{len(names)} action names for {n_actions} actions.")
    return tuple(names)


def _start_states(env: Any) -> NDArray[np.int64]:
    """Return the states in which the environment may start."""
    distribution = getattr(env, "initial_state_distrib", None)
    if distribution is None:
        raise TaskError("the environment does not say where it starts: give initial_states=[…].")
    return np.flatnonzero(np.asarray(distribution) > 0)


def _layout(env: Any) -> tuple[str, ...] | None:
    """Return the map of a FrozenLake, one text per row; nothing for other environments."""
    desc = getattr(env, "desc", None)
    if not any(kind.__name__ == "FrozenLakeEnv" for kind in type(env).__mro__):
        return None
    return tuple(b"".join(row).decode() for row in np.asarray(desc))
