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

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ifthen.checks import whole_number
from ifthen.errors import RuleError, TaskError
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.feature import Feature, cyclic_ones, lows_and_highs
from ifthen.tasks.altered import OPTIONS
from ifthen.tasks.disturbance import SWEEPS
from ifthen.tasks.table_checks import ARRAYS, T_MAX_LIMIT, checked_fields
from ifthen.tasks.task import HORIZONS, Task

Observes = Literal["features", "state"]

STATES_PER_SLICE = 4096
DETERMINISTIC_ENUMERATIONS, STOCHASTIC_ENUMERATIONS = 1, 30
RULES_PER_STATE = 0.4
FEWEST_RULES, MOST_RULES = 7, 64
"""The least and the largest number of rules that suits a table."""
SLIPS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7)
"""The slip probabilities that a sweep of a lake tries."""


class Dynamics(NamedTuple):
    """A task's transitions over its D decision states only, ready for kernels."""

    next_state: NDArray[np.int32]
    """`(D, A, K)`: the next decision state, −1 where the episode ends."""
    reward: Floats
    """`(D, A, K)`."""
    probability: Floats
    """`(K,)`."""
    starts: NDArray[np.int32]
    """`(|S_I|,)`: S_I as decision states."""
    states: NDArray[np.int32]
    """`(D, features)`: the feature vector of each decision state."""
    points: Floats
    """`(D, features)`: the same as floats."""
    lows: NDArray[np.int32]
    """`(features,)`: the smallest value of each feature."""
    cyclic: Ints
    """`(cyclic features,)`: their numbers; intervals of these may wrap."""
    widest: int
    """The largest number of values of any feature."""
    axes: tuple[int, ...]
    """The features' numbers. A tuple's length is known when a kernel is compiled, an array's is not: loops
    over features are unrolled, which halves the time of a prediction."""


@dataclass(frozen=True, eq=False)
class TabularTask(Task):
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
        gamma: the discount factor γ, at most 0.9999, or exactly 1.
        t_max: the number of steps after which an episode is truncated.
        noise_seed: seed of the common random numbers of z.
        observes: what the environment's observations are: feature vectors, or state numbers.
        layout: the grid to draw the task on, one text per row of cells, where it has one.
        preset: parameters that suit the task, such as the paper's ruleset size.
        origin: how the task was made, as plain data.
    """

    name: str
    features: tuple[Feature, ...]
    action_names: tuple[str, ...]
    state_features: NDArray[np.int32]
    next_state: NDArray[np.int32]
    reward: Floats
    done: Mask
    probability: Floats
    initial_states: NDArray[np.int32]
    enumerations: int
    gamma: float
    t_max: int
    noise_seed: int = 0
    observes: Observes = "features"
    layout: tuple[str, ...] | None = None
    preset: Mapping[str, int] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)

    kind = "tabular"
    held_out_column = "exact_performance"
    watched_column = watched_name = "performance"
    first_test_seed = 0
    has_states = True
    best_method = "exact"
    measured_by = ("noise",)
    validation = None
    default_action = None
    disturbances = MappingProxyType[str, float]({})
    environment = ""

    def __post_init__(self) -> None:
        self._check_names()
        for name, value in checked_fields(self).items():
            object.__setattr__(self, name, value)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that define the task, by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    @property
    def on_grid(self) -> bool:
        """Whether it can be drawn on a grid: it has a map, or its features are x and y."""
        return self.sees_place or self.layout is not None

    def make(self, **options: Any) -> Any:
        """Return a fresh environment, if the table is that of an environment that Gymnasium knows.

        Args:
            options: such as render_mode.
        """
        label = str(self.origin.get("environment", ""))
        if label not in gymnasium.registry:
            raise TaskError(f"{self.name} is a table of states: nothing makes an environment of it.")
        if "p_slip" in self.origin:
            defaults = {"desc": list(self.layout or ()), "p_slip": self.origin["p_slip"], "t_max": self.t_max}
            options = {**defaults, **options}
        elif "maze" in self.origin:
            options = {**self._maze, "t_max": self.t_max, **options}
        return gymnasium.make(label, **options)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that make the task: of a lake, or of the environment that published its table."""
        label = str(self.origin.get("environment", ""))
        if "p_slip" in self.origin:
            task_settings: dict[str, Any] = {"desc": list(self.layout or ()), "p_slip": self.origin["p_slip"]}
        else:
            task_settings = {"environment": label, **({} if self.name == label else {"name": self.name})}
            task_settings |= {"options": self._maze} if "maze" in self.origin else {}
        names = ("gamma", "t_max", "enumerations", "noise_seed")
        return task_settings | {name: getattr(self, name) for name in names}

    @property
    def _maze(self) -> dict[str, Any]:
        """What makes a maze's environment."""
        return {name: value for name, value in self.origin.items() if name != "environment"}

    @property
    def sweeps(self) -> dict[str, tuple[float, ...]]:
        """All disturbances, longer episodes, and the slip of a lake."""
        horizons = tuple(min(factor * self.t_max, T_MAX_LIMIT) for factor in HORIZONS)
        slips = {f"{OPTIONS}p_slip": SLIPS} if "p_slip" in self.origin else {}
        return {**SWEEPS, **slips, "t_max": horizons}

    def disturbed(self, name: str, strength: float) -> Self:
        """Return the table with longer or shorter episodes.

        Other disturbances are no tables of the same states: `simulate.disturbed_table` works them out.
        """
        if name != "t_max":
            raise TaskError(f"only t_max makes a table of {self.name}, not {name!r}.")
        return self.replaced(t_max=whole_number("t_max", strength, 1, T_MAX_LIMIT, TaskError))

    def nominal(self, name: str) -> float | None:
        """Return the slip of a lake; None for other parameters."""
        value = self.origin.get(name.removeprefix(OPTIONS)) if name.startswith(OPTIONS) else None
        return float(value) if isinstance(value, (int, float)) else None

    @property
    def n_states(self) -> int:
        """S, the number of states."""
        return len(self.next_state)

    @property
    def deterministic(self) -> bool:
        """Whether every action has a single outcome."""
        return len(self.probability) == 1

    @property
    def is_stochastic(self) -> bool:
        """Whether an action may have more than one outcome."""
        return not self.deterministic

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward of the table, 0 included."""
        return min(0.0, float(self.reward.min())), max(0.0, float(self.reward.max()))

    @property
    def suitable_rules(self) -> int:
        """The paper's number of rules where there is one, else some per state."""
        suits = round(RULES_PER_STATE * len(self.decision_states))
        return self.preset.get("idv_size", min(max(suits, FEWEST_RULES), MOST_RULES))

    @property
    def n_episodes(self) -> int:
        """|z|."""
        return len(self.z)

    @cached_property
    def floor(self) -> float:  # type: ignore[override]  # tasks cannot be written to: a property will do
        """A lower bound of every return: the performance of a policy that reaches a null action."""
        worst = min(0.0, float(self.reward.min()))
        return worst * self.t_max if self.gamma == 1 else worst / (1 - self.gamma)

    @property
    def grain(self) -> int:
        """How many policies of this task are worth handing to a thread."""
        return max(1, STATES_PER_SLICE // len(self.decision_states))

    @cached_property
    def z(self) -> NDArray[np.int32]:
        """The sequence of initial states, `(|z|,)`: S_I, `enumerations` times over."""
        return np.tile(self.initial_states, self.enumerations)

    @cached_property
    def decision_states(self) -> Ints:
        """The D states in which an action can be asked for, in increasing order."""
        reached = np.zeros(self.n_states, dtype=np.bool_)
        frontier = np.unique(self.initial_states)
        while len(frontier):
            reached[frontier] = True
            successors = self.next_state[frontier][~self.done[frontier]]
            frontier = np.unique(successors[~reached[successors]])
        return np.flatnonzero(reached)

    @cached_property
    def aliased(self) -> bool:
        """Whether two decision states have the same features, so that no rule can tell them apart."""
        return len(np.unique(self.dynamics.states, axis=0)) < len(self.decision_states)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The transitions over decision states only."""
        states = self.decision_states
        state_index = np.full(self.n_states, -1, dtype=np.int32)
        state_index[states] = np.arange(len(states), dtype=np.int32)
        vectors = np.ascontiguousarray(self.state_features[states])
        lows, highs = lows_and_highs(self.features)
        return Dynamics(
            next_state=np.where(self.done[states], np.int32(-1), state_index[self.next_state[states]]),
            reward=np.ascontiguousarray(self.reward[states]),
            probability=self.probability,
            starts=state_index[self.initial_states],
            states=vectors,
            points=vectors.astype(np.float64),
            lows=lows,
            cyclic=np.flatnonzero(cyclic_ones(self.features)),
            widest=int((highs - lows).max()) + 1,
            axes=tuple(range(len(self.features))),
        )

    def features_of(self, observation: object) -> NDArray[Any]:
        """Return the features of an observation: of a state's number, `(features,)`, or of many.

        Where the environment observes features already, they are returned as they are.
        """
        numbers = np.asarray(observation)
        if self.observes == "features":
            return numbers
        if numbers.dtype.kind not in "iu" or numbers.ndim > 1 or numbers.size == 0:
            raise RuleError(
                f"an observation of {self.name} is a state number or `(n,)` of them, not {observation!r}."
            )
        if numbers.min() < 0 or numbers.max() >= self.n_states:
            raise RuleError(f"the states of {self.name} are 0 to {self.n_states - 1}, not {observation!r}.")
        vectors: NDArray[np.int32] = self.state_features[numbers]
        return vectors

    @property
    def failure_mark(self) -> float:
        """Nothing: the floor of a table is a return that can occur."""
        return -math.inf

    def __repr__(self) -> str:
        return (
            f"<TabularTask {self.name}: {self.n_states} states, {self.n_actions} actions, "
            f"|S_I| = {len(self.initial_states)}, |z| = {len(self.z)}, "
            f"gamma = {self.gamma:g}, t_max = {self.t_max}>"
        )
