"""Tasks from Gymnasium environments that publish their transition table `P`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete
from numpy.typing import NDArray

from ifthen.checks import whole_number
from ifthen.errors import TaskError
from ifthen.rules.features import INTEGER_LIMIT, Feature
from ifthen.tasks.checked import OUTCOME_LIMIT
from ifthen.tasks.tabular import (
    DETERMINISTIC_ENUMERATIONS,
    STOCHASTIC_ENUMERATIONS,
    TabularTask,
)

DEFAULT_T_MAX = 200
FROZEN_LAKE_ACTIONS = ("Left", "Down", "Right", "Up")
PAPER_RULES = {4: 7, 8: 21, 12: 42}
"""Rules per ruleset that the paper gives FrozenLakes of these sizes."""
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
        initial_states: S_I; every state in which the environment itself may start where none are given
            (for FrozenLake that is S alone, unlike `ifthen.frozen_lake`).
        enumerations: how many times z runs through S_I; 1 for deterministic tasks, else 30.
        gamma: the discount factor.
        t_max: truncation; the environment's own limit, or 200 where it has none.
        noise_seed: seed of the common random numbers of z.
    """
    base = getattr(env, "unwrapped", env)
    table = getattr(base, "P", None)
    if not isinstance(table, dict) or not table:
        raise TaskError(
            f"{type(base).__name__} has no transition table P. TabularTask.from_env takes "
            "environments that have one, such as FrozenLake, CliffWalking and Taxi."
        )
    if getattr(base, "fickle_passenger", False):
        raise TaskError("Taxi with fickle_passenger=True moves in ways its table P does not hold.")
    next_state, reward, done, probability = common_outcomes(table)
    known_features, known_decode, known_actions = _known(base)
    vectors = _vectors(len(table), decode or known_decode)
    if decode is not None and feature_names is None:
        feature_names = [f"f{i}" for i in range(vectors.shape[1])]
    names = tuple(feature_names or known_features)
    if len(names) != vectors.shape[1]:
        raise TaskError(f"{len(names)} feature names {names} for {vectors.shape[1]} features.")
    spec, layout = getattr(env, "spec", None), _layout(base)
    space = getattr(base, "observation_space", None)
    side = max(len(layout), len(layout[0])) if layout else 0
    states = initial_states if initial_states is not None else _start_states(base)
    if t_max is None:
        limit = spec.max_episode_steps if spec else None
        t_max = limit or getattr(base, "t_max", None) or DEFAULT_T_MAX
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
        initial_states=_whole_states(states, len(table)),
        enumerations=enumerations,
        gamma=gamma,
        t_max=t_max,
        noise_seed=noise_seed,
        observes="features" if isinstance(space, (Box, MultiDiscrete)) else "state",
        layout=layout,
        preset={"idv_size": PAPER_RULES[side]} if side in PAPER_RULES else {},
        origin={"environment": spec.id if spec else type(base).__name__},
    )


def common_outcomes(
    table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]],
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Turn Gymnasium's `P[state][action] = [(probability, next state, reward, terminated), …]` into arrays.

    Every (state, action) cuts [0, 1] at its own cumulative probabilities. All cuts together give the
    K common outcomes, and each (state, action) says where each of them leads.

    Returns:
        next_state, reward, done, each `(S, A, K)`, and probability `(K,)`.
    """
    n_states, n_actions = len(table), len(table[0])
    cuts = np.array([1.0])
    ends: dict[tuple[int, int], NDArray[np.float64]] = {}
    for s in range(n_states):
        for a in range(n_actions):
            ends[s, a] = np.round(np.cumsum([outcome[0] for outcome in table[s][a]]), 12)
            rises = np.diff(ends[s, a], prepend=0.0) >= 0
            if len(rises) == 0 or not rises.all() or abs(ends[s, a][-1] - 1) > 1e-9:
                raise TaskError(
                    f"the outcomes of state {s}, action {a} must have probabilities, adding up to 1, "
                    f"not {[outcome[0] for outcome in table[s][a]]}."
                )
            ends[s, a][-1] = 1.0
            cuts = np.union1d(cuts, ends[s, a][ends[s, a] > 0])
    if len(cuts) > OUTCOME_LIMIT:
        raise TaskError(
            f"the transition table has {len(cuts)} distinct outcome probabilities after refinement; "
            f"at most {OUTCOME_LIMIT} are supported."
        )
    shape = (n_states, n_actions, len(cuts))
    next_state, reward = np.empty(shape, dtype=np.int32), np.empty(shape)
    done = np.empty(shape, dtype=np.bool_)
    for (s, a), end in ends.items():
        for k, which in enumerate(np.searchsorted(end, cuts)):
            _, next_state[s, a, k], reward[s, a, k], done[s, a, k] = table[s][a][which]
    return next_state, reward, done, np.diff(cuts, prepend=0.0)


def _vectors(n_states: int, decode: Decoder) -> NDArray[np.int32]:
    """Return the feature vector of every state, `(n_states, features)`."""
    try:
        vectors = np.array([list(decode(s)) for s in range(n_states)])
        fits = vectors.ndim == 2 and vectors.dtype.kind in "iu" and abs(vectors).max() <= INTEGER_LIMIT
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise TaskError("decode must give the same number of whole numbers, within 32 bits, for every state.")
    return vectors.astype(np.int32)


def _whole_states(states: Iterable[int], n_states: int) -> NDArray[np.int32]:
    """Return initial states as an array, or raise if any is not a state."""
    try:
        given = list(states)
    except TypeError:
        raise TaskError(f"initial_states must be a list of states, not {states!r}.") from None
    numbers = [whole_number("an initial state", s, 0, n_states - 1, TaskError) for s in given]
    return np.array(numbers, dtype=np.int32)


def _known(env: Any) -> tuple[tuple[str, ...], Decoder, tuple[str, ...] | None]:
    """Return feature names, decoder and action names of an environment, as far as they are known."""
    kinds = {kind.__name__ for kind in type(env).__mro__}
    if "FrozenLakeEnv" in kinds:
        return ("x", "y"), lambda s: (s % env.ncol, s // env.ncol), FROZEN_LAKE_ACTIONS
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
