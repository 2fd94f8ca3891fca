"""Tasks from environments that publish their transition table `P`, as FrozenLake and Taxi do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete
from numpy.typing import NDArray

from ifthen.checks import whole_number
from ifthen.environments.known_environments import changing_wrapper, known_class
from ifthen.errors import TaskError
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.feature import INTEGER_LIMIT, Feature
from ifthen.tasks.table_checks import OUTCOME_LIMIT
from ifthen.tasks.tabular_task import DETERMINISTIC_ENUMERATIONS, STOCHASTIC_ENUMERATIONS, TabularTask

DEFAULT_T_MAX = 200
Decoder = Callable[[int], Sequence[int]]


def table_task(
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
        name: the task's name; the environment's id if not given.
        feature_names: one name per feature that `decode` gives.
        decode: gives the whole-number features of a state; the state itself if nothing better is known.
        action_names: one name per action.
        initial_states: S_I; if not given, every state in which the environment itself may start
            (for FrozenLake that is S alone, unlike `ifthen.frozen_lake`).
        enumerations: how many times z runs through S_I; 1 for deterministic tasks, else 30.
        gamma: the discount factor.
        t_max: truncation; the environment's own limit, or 200 if it has none.
        noise_seed: seed of the common random numbers of z.
    """
    core: Any = getattr(env, "unwrapped", env)
    known_env, table, spec = known_class(core), getattr(core, "P", None), getattr(env, "spec", None)
    if not isinstance(table, dict) or not table:
        raise TaskError(
            f"{type(core).__name__} has no transition table P. ifthen.table_task takes environments that "
            "have one, such as FrozenLake, CliffWalking and Taxi; ifthen.env_task takes all others."
        )
    if known_env.objection_to_table(core):
        raise TaskError(f"{known_env.objection_to_table(core)}. Give it to ifthen.env_task.")
    next_state, reward, done, probability = common_outcomes(table)
    vectors = _vectors(len(table), decode or partial(known_env.decode, core))
    known_features = known_env.table_features(core) if decode is None and feature_names is None else None
    if feature_names is None:
        names = [feature.name for feature in known_features or known_env.features] or ["state"]
        feature_names = names if decode is None else [f"f{i}" for i in range(vectors.shape[1])]
    if len(feature_names) != vectors.shape[1]:
        raise TaskError(
            f"{len(feature_names)} feature names {list(feature_names)} for {vectors.shape[1]} features."
        )
    n_actions = next_state.shape[1]
    action_names = action_names or known_env.actions or [f"Action{a}" for a in range(n_actions)]
    if len(action_names) != n_actions:
        raise TaskError(f"{len(action_names)} action names for {n_actions} actions.")
    if t_max is None:
        t_max = (spec.max_episode_steps if spec else None) or getattr(core, "t_max", None) or DEFAULT_T_MAX
    if enumerations is None:
        deterministic = len(probability) == 1
        enumerations = DETERMINISTIC_ENUMERATIONS if deterministic else STOCHASTIC_ENUMERATIONS
    label = spec.id if spec else type(core).__name__
    space = getattr(core, "observation_space", None)
    features = tuple(
        Feature(label, int(column.min()), int(column.max()))
        for label, column in zip(feature_names, vectors.T, strict=True)
    )
    return TabularTask(
        name=name or label,
        features=features if known_features is None else known_features,
        action_names=tuple(action_names),
        state_features=vectors,
        next_state=next_state,
        reward=reward,
        done=done,
        probability=probability,
        initial_states=_start_states(core, len(table), initial_states),
        enumerations=enumerations,
        gamma=gamma,
        t_max=t_max,
        noise_seed=noise_seed,
        observes="features" if isinstance(space, (Box, MultiDiscrete)) else "state",
        layout=known_env.layout(core),
        preset=known_env.preset(core),
        origin={"environment": label, **known_env.table_origin(core)},
    )


def with_option(task: TabularTask, name: str, value: float) -> TabularTask:
    """Return the table of the same environment, made with another value of an option, such as p_slip.

    States, features and starts stay as they are.
    """
    try:
        env = task.make(**{name: value})
    except TaskError:
        raise
    except Exception as problem:  # whatever the environment does with an option that it does not take
        raise TaskError(f"{task.name} cannot be made with {name} = {value:g}: {problem}") from problem
    try:
        core = getattr(env, "unwrapped", env)
        if not has_table(env) or len(core.P) != task.n_states:
            raise TaskError(f"{task.name} has another table of states, or none, with {name} = {value:g}.")
        next_state, reward, done, probability = common_outcomes(core.P)
    finally:
        env.close()
    return task.replaced(next_state=next_state, reward=reward, done=done, probability=probability)


def has_table(env: object) -> bool:
    """Return whether an environment publishes a transition table and does what the table says."""
    core: Any = getattr(env, "unwrapped", env)
    if changing_wrapper(env) or known_class(core).objection_to_table(core):
        return False
    return _is_table(getattr(core, "P", None))


def _is_table(table: Any) -> bool:
    """Return whether something has the form {state: {action: [(probability, state, reward, end), …]}}."""
    try:
        states = [table[s] for s in range(len(table))]
        actions = [state[a] for state in states for a in range(len(states[0]))]
        same_actions = all(isinstance(state, dict) and len(state) == len(states[0]) for state in states)
        return (
            bool(actions)
            and same_actions
            and all(len(outcome) == 4 for outcomes in actions for outcome in outcomes)
        )
    except (TypeError, KeyError, IndexError):
        return False


def common_outcomes(
    table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]],
) -> tuple[NDArray[np.int32], Floats, Mask, Floats]:
    """Turn Gymnasium's `P[state][action] = [(probability, next state, reward, terminated), …]` into arrays.

    Every (state, action) cuts [0, 1] at its own cumulative probabilities. All cuts together give the
    K common outcomes, and each (state, action) says where each of them leads.

    Returns:
        next_state, reward, done, each `(S, A, K)`, and probability `(K,)`.
    """
    n_states, n_actions = len(table), len(table[0])
    cuts = np.array([1.0])
    cumulative: dict[tuple[int, int], Floats] = {}
    for s in range(n_states):
        for a in range(n_actions):
            cumulative[s, a] = np.round(np.cumsum([outcome[0] for outcome in table[s][a]]), 12)
            rises = np.diff(cumulative[s, a], prepend=0.0) >= 0
            if len(rises) == 0 or not rises.all() or abs(cumulative[s, a][-1] - 1) > 1e-9:
                raise TaskError(
                    f"the outcomes of state {s}, action {a} must have probabilities, adding up to 1, "
                    f"not {[outcome[0] for outcome in table[s][a]]}."
                )
            cumulative[s, a][-1] = 1.0
            cuts = np.union1d(cuts, cumulative[s, a][cumulative[s, a] > 0])
    if len(cuts) > OUTCOME_LIMIT:
        raise TaskError(
            f"the transition table has {len(cuts)} distinct outcome probabilities after refinement; "
            f"at most {OUTCOME_LIMIT} are supported."
        )
    shape = (n_states, n_actions, len(cuts))
    next_state, reward = np.empty(shape, dtype=np.int32), np.empty(shape)
    done = np.empty(shape, dtype=np.bool_)
    for (s, a), boundaries in cumulative.items():
        for k, outcome_index in enumerate(np.searchsorted(boundaries, cuts)):
            _, next_state[s, a, k], reward[s, a, k], done[s, a, k] = table[s][a][outcome_index]
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


def _start_states(core: Any, n_states: int, initial_states: Iterable[int] | None) -> NDArray[np.int32]:
    """Return the initial states that were given, or those of the environment itself."""
    if initial_states is None:
        distribution = getattr(core, "initial_state_distrib", None)
        if distribution is None:
            raise TaskError("the environment does not say where it starts: give initial_states=[…].")
        initial_states = np.flatnonzero(np.asarray(distribution) > 0)
    try:
        states = list(initial_states)
    except TypeError:
        raise TaskError(f"initial_states must be a list of states, not {initial_states!r}.") from None
    numbers = [whole_number("an initial state", s, 0, n_states - 1, TaskError) for s in states]
    return np.array(numbers, dtype=np.int32)
