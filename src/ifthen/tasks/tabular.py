"""Tabular tasks: a finite Markov decision process as arrays, and what it means to do well in it.

Notation, with S states, A actions and K outcomes:
- One step draws an outcome k with probability[k]; next_state[s, a, k], reward[s, a, k] and
  done[s, a, k] say what it leads to. The K outcomes are shared by all (s, a): they are the common
  refinement of all the environment's own outcome distributions. Noise is then one small integer
  per step, whatever the policy does, and a step is one table look-up.
- S_I is the set of initial states; z, the sequence of initial states on which performance is
  measured, is a number of enumerations of S_I (paper, section "Results").
- Decision states are those in which an action can be asked for: reachable from S_I, not ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.randomness import check_seed
from ifthen.rules.features import Feature, lows_and_highs

Method = Literal["sampled", "exact"]
Noise = Literal["aligned", "stream"]

OUTCOME_LIMIT = 256
WIDTH_LIMIT = 1_000_000
DETERMINISTIC_ENUMERATIONS, STOCHASTIC_ENUMERATIONS = 1, 30


class Dynamics(NamedTuple):
    """A task's transitions over its D decision states only, ready for kernels."""

    next_state: NDArray[np.int32]
    """`(D, A, K)`: the next decision state, −1 where the episode ends."""
    reward: NDArray[np.float64]
    """`(D, A, K)`."""
    probability: NDArray[np.float64]
    """`(K,)`."""
    starts: NDArray[np.int32]
    """`(|S_I|,)`: S_I as decision states."""
    states: NDArray[np.int32]
    """`(D, features)`: the feature vector of each decision state."""
    points: NDArray[np.float64]
    """`(D, features)`: the same as floats."""
    lows: NDArray[np.int32]
    """`(features,)`: the smallest value of each feature."""
    widest: int
    """The largest number of values of any feature."""


@dataclass(frozen=True, eq=False)
class TabularTask:
    """A finite task given by its transition arrays.

    Args:
        name: how the task is called in tables and files.
        features: name and range of each feature.
        action_names: one name per action, A of them.
        state_features: the feature vector of each state, `(S, features)`.
        next_state: the state that follows, `(S, A, K)`.
        reward: the reward of each outcome, `(S, A, K)`.
        done: whether the outcome ends the episode, `(S, A, K)`.
        probability: of each of the K outcomes, `(K,)`, adding up to 1.
        initial_states: S_I, the states an episode may start in.
        enumerations: how many times z runs through S_I.
        gamma: the discount factor γ, in (0, 1].
        t_max: the number of steps after which an episode is truncated.
        noise_seed: seed of the common random numbers of z.
        layout: the grid to draw the task on, one text per row of cells, where it has one.
        preset: parameters that suit the task, such as the paper's ruleset size.
        origin: how the task was made, as plain data.
    """

    name: str
    features: tuple[Feature, ...]
    action_names: tuple[str, ...]
    state_features: NDArray[np.int32]
    next_state: NDArray[np.int32]
    reward: NDArray[np.float64]
    done: NDArray[np.bool_]
    probability: NDArray[np.float64]
    initial_states: NDArray[np.int32]
    enumerations: int
    gamma: float
    t_max: int
    noise_seed: int = 0
    layout: tuple[str, ...] | None = None
    preset: Mapping[str, int] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_arrays(self)
        for array in self.arrays().values():
            array.setflags(write=False)

    @staticmethod
    def from_env(env: Any, **options: Any) -> TabularTask:
        """Build the task of a Gymnasium environment that has a transition table `P`.

        See `ifthen.tasks.from_env.task_from_env` for the options.
        """
        from ifthen.tasks.from_env import task_from_env

        return task_from_env(env, **options)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that define the task, by name."""
        names = ("state_features", "next_state", "reward", "done", "probability", "initial_states")
        return {name: getattr(self, name) for name in names}

    @property
    def n_states(self) -> int:
        """S, the number of states."""
        return len(self.next_state)

    @property
    def n_actions(self) -> int:
        """A, the number of actions."""
        return len(self.action_names)

    @property
    def deterministic(self) -> bool:
        """Whether every action has a single outcome."""
        return len(self.probability) == 1

    @property
    def floor(self) -> float:
        """A lower bound of every return: the performance given to a policy that meets a null action."""
        worst = min(0.0, float(self.reward.min()))
        steps = self.t_max if self.gamma == 1 else (1 - self.gamma**self.t_max) / (1 - self.gamma)
        return worst * steps

    @cached_property
    def z(self) -> NDArray[np.int32]:
        """The sequence of initial states, `(|z|,)`: S_I, `enumerations` times over."""
        return np.tile(self.initial_states, self.enumerations)

    @cached_property
    def decision_states(self) -> NDArray[np.int64]:
        """The D states in which an action can be asked for, in increasing order."""
        seen = np.zeros(self.n_states, dtype=np.bool_)
        frontier = np.unique(self.initial_states)
        while len(frontier):
            seen[frontier] = True
            follows = self.next_state[frontier][~self.done[frontier]]
            frontier = np.unique(follows[~seen[follows]])
        return np.flatnonzero(seen)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The transitions over decision states only."""
        states = self.decision_states
        number = np.full(self.n_states, -1, dtype=np.int32)
        number[states] = np.arange(len(states), dtype=np.int32)
        vectors = np.ascontiguousarray(self.state_features[states])
        lows, highs = lows_and_highs(self.features)
        return Dynamics(
            next_state=np.where(self.done[states], np.int32(-1), number[self.next_state[states]]),
            reward=np.ascontiguousarray(self.reward[states]),
            probability=self.probability,
            starts=number[self.initial_states],
            states=vectors,
            points=vectors.astype(np.float64),
            lows=lows,
            widest=int((highs - lows).max()) + 1,
        )

    def optimal_performance(self, method: Method = "exact", noise: Noise = "aligned") -> float:
        """Return the performance of an optimal policy found by value iteration.

        Args:
            method: "exact", the mean of V* over S_I; "sampled", that policy's performance on z (OTP).
            noise: how z uses its common random numbers, where `method` is "sampled".
        """
        from ifthen.rollout.evaluate import optimal_performance  # why here: rollouts know tasks

        return optimal_performance(self, method, noise)

    def __repr__(self) -> str:
        return (
            f"<TabularTask {self.name}: {self.n_states} states, {self.n_actions} actions, "
            f"|S_I| = {len(self.initial_states)}, |z| = {len(self.z)}, "
            f"gamma = {self.gamma:g}, t_max = {self.t_max}>"
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


def _check_numbers(task: TabularTask) -> None:
    """Raise unless γ, t_max, the number of enumerations and the noise seed are usable."""
    if not (isinstance(task.gamma, (int, float)) and 0 < task.gamma <= 1):
        raise TaskError(f"gamma must be above 0 and at most 1, not {task.gamma!r}.")
    for name in ("t_max", "enumerations"):
        value = getattr(task, name)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**6:
            raise TaskError(f"{name} must be a whole number from 1 to 1,000,000, not {value!r}.")
    check_seed(task.noise_seed, "noise_seed")


def _check_arrays(task: TabularTask) -> None:
    """Raise unless the arrays fit each other and hold only possible values."""
    n_states = len(task.next_state)
    shape = (n_states, len(task.action_names), len(task.probability))
    expected: dict[str, tuple[tuple[int, ...], type]] = {
        "state_features": ((n_states, len(task.features)), np.int32),
        "next_state": (shape, np.int32),
        "reward": (shape, np.float64),
        "done": (shape, np.bool_),
        "probability": ((len(task.probability),), np.float64),
        "initial_states": ((len(task.initial_states),), np.int32),
    }
    for name, array in task.arrays().items():
        if array.shape != expected[name][0] or array.dtype != expected[name][1]:
            raise TaskError(
                f"{name} must be {np.dtype(expected[name][1])} of shape {expected[name][0]}, "
                f"not {array.dtype} of shape {array.shape}."
            )
        if array.size == 0 or not np.isfinite(array).all():
            raise TaskError(f"{name} must not be empty and must hold finite numbers only.")
    for name in ("next_state", "initial_states"):
        array = task.arrays()[name]
        if array.min() < 0 or array.max() >= n_states:
            raise TaskError(f"{name} must hold states from 0 to {n_states - 1}.")
    for what, labels in (("feature", [f.name for f in task.features]), ("action", list(task.action_names))):
        if len(set(labels)) != len(labels):
            raise TaskError(f"{what} names must differ from each other, not {labels}.")
    for feature in task.features:
        if feature.width > WIDTH_LIMIT:
            raise TaskError(
                f"feature {feature.name!r} can take {feature.width:,} values; at most {WIDTH_LIMIT:,} "
                "are supported."
            )
    lows, highs = lows_and_highs(task.features)
    if (task.state_features < lows).any() or (task.state_features > highs).any():
        raise TaskError("state_features must lie within the ranges of the features.")
    if (task.probability <= 0).any() or abs(task.probability.sum() - 1) > 1e-9:
        raise TaskError("probability must be positive and add up to 1.")
    if len(task.probability) > OUTCOME_LIMIT:
        raise TaskError(f"at most {OUTCOME_LIMIT} outcomes are supported, not {len(task.probability)}.")
