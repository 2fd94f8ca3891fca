"""Tasks that are Gymnasium environments: no table of states, only the states that episodes visit.

Rules are selected on the training seeds, the same for every policy, and scored on the test seeds. No two
purposes share a reset seed: nothing was learnt or selected on the test seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, Self, get_args

import gymnasium
import numpy as np

from ifthen.checks import one_of, real_number, whole_number
from ifthen.digits import MANY, listed
from ifthen.errors import RuleError, TaskError, nearest
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.feature import Feature, lows_and_highs
from ifthen.tasks.altered import ATTRIBUTES, OPTIONS, Altered, Lengthened, attribute_of
from ifthen.tasks.disturbance import DISTURBANCES, SWEEPS, checked_disturbances
from ifthen.tasks.env_like import AnyEnv
from ifthen.tasks.flatten import FlatSpace, check_actions, check_finite
from ifthen.tasks.imports import cannot_make
from ifthen.tasks.task import HORIZONS, Task
from ifthen.tasks.wrapper_statistics import restore_statistics

EPISODE_LIMIT = 100_000
"""A task has at most this many training seeds."""
BLOCK = 1_000_000
"""Every purpose has a block of this many seeds. Block 4 is the probe's (`ifthen.tasks.probe`)."""
BLOCKS = 10
"""Every noise seed has this many blocks."""
NOISE_SEED_LIMIT = 2**63 // (BLOCKS * BLOCK) - 1
POOL = 1000
"""Strengths and predictions are learnt from this many seeds."""
VALIDATION = 100
"""Validation curves are measured on this many seeds."""
Player = Literal["auto", "twin", "sync"]
Option = bool | int | float | str
T_MAX_LIMIT = 10_000_000
LANES_LIMIT = 1_000
LEAST_GAMMA = 1e-6
SUITABLE_RULES = 12
UNLIKELY_REWARD = -1e6
"""A floor that stands for a lower reward per step than this says nothing about rewards."""


@dataclass(frozen=True, eq=False)
class EnvTask(Task):
    """A task that is played in a Gymnasium environment.

    Args:
        name: how the task is called in tables and files.
        features: name and range of each number that is observed.
        action_names: one name per action.
        environment: the environment's id in Gymnasium's registry; empty where only `factory` can make it.
        options: keyword arguments for making it.
        episodes: |z|, the number of reset seeds that rules are trained on.
        gamma: the discount factor γ; 1 for the plain sum of rewards.
        t_max: the number of steps after which an episode is truncated.
        floor: the performance of a policy that meets a state without a rule; below any real return.
        default_action: what the lists of PPL-DL do where no rule matches: it becomes their last rule. Other
            systems refuse it, and other rules that are played here do not get it. None for none.
        noise_seed: another number gives other reset seeds.
        player: how episodes are played: by a compiled twin, by `SyncVectorEnv`, or by the faster one that
            fits ("auto").
        lanes: the most environments to play side by side in one process; 0 for as many as pay off, 1 for
            simulators of which a process can have only one.
        leave_out: parts or numbers of observations that rules do not see, by name.
        observed: how observations become rows of numbers, as plain data (`FlatSpace.to_list`): with it, a
            policy can be asked without its environment.
        first_action: the environment's number for action 0, if `observed` is given.
        statistics: what wrappers such as NormalizeObservation had learnt when the task was made.
        origin: how the task was made, as plain data.
        disturbances: strengths of disturbances between rules and environment, by name (`DISTURBANCES`).
        factory: makes the environment where its id cannot, here or in other processes; not saved in files.
    """

    name: str
    features: tuple[Feature, ...]
    action_names: tuple[str, ...]
    environment: str
    options: Mapping[str, Option] = field(default_factory=dict, kw_only=True)
    episodes: int
    t_max: int
    floor: float
    gamma: float = 1.0
    default_action: int | None = None
    noise_seed: int = 0
    player: Player = "auto"
    lanes: int = 0
    leave_out: tuple[str, ...] = ()
    observed: tuple[Mapping[str, Any], ...] = ()
    first_action: int = 0
    statistics: tuple[Mapping[str, Any], ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    disturbances: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    factory: Callable[..., Any] | None = None

    kind = "environment"
    held_out_column = watched_column = "unseen_performance"
    watched_name = "validation performance"
    has_states = False
    best_method = "sampled"
    measured_by = ("episodes", "seeds")
    layout = None

    def __post_init__(self) -> None:
        self._check_names()
        self._check_source()
        one_of("player", self.player, get_args(Player))
        numbers = {
            "episodes": whole_number("episodes", self.episodes, 1, EPISODE_LIMIT, TaskError),
            "t_max": whole_number("t_max", self.t_max, 1, T_MAX_LIMIT, TaskError),
            "lanes": whole_number("lanes", self.lanes, 0, LANES_LIMIT, TaskError),
            "noise_seed": whole_number("noise_seed", self.noise_seed, 0, NOISE_SEED_LIMIT, TaskError),
            "gamma": real_number("gamma", self.gamma, LEAST_GAMMA, 1, TaskError),
            "floor": real_number("floor", self.floor, -1e300, 1e300, TaskError),
        }
        if self.default_action is not None:
            last_action = self.n_actions - 1
            numbers["default_action"] = whole_number(
                "default_action", self.default_action, 0, last_action, TaskError
            )
        for name, number in numbers.items():
            object.__setattr__(self, name, number)
        for name in ("leave_out", "observed", "statistics"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "disturbances", checked_disturbances(self.disturbances))
        if self.observed:
            FlatSpace.from_list(self.observed, self.features)

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain data; disturbances only where there are any."""
        data = super().to_dict()
        if not self.disturbances:
            del data["disturbances"]
        return data

    def _check_source(self) -> None:
        """Raise where id or options are not what they must be."""
        if not isinstance(self.environment, str):
            raise TaskError(f"a task's environment must be a text, not {self.environment!r}.")
        if ":" in self.environment:  # a model file must not be able to have modules imported
            raise TaskError(f"environment must be an id without a module, not {self.environment!r}.")
        options = self.options.values() if isinstance(self.options, Mapping) else [None]
        if not all(isinstance(value, get_args(Option)) for value in options):
            raise TaskError(f"options must hold texts and numbers only, not {self.options!r}.")
        object.__setattr__(self, "options", dict(self.options))

    @property
    def can_be_played(self) -> bool:
        """Whether a function makes the environment, or Gymnasium knows its id."""
        return self.factory is not None or self.environment in gymnasium.registry

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that make the task, without `floor`, which depends on the others."""
        names = ("episodes", "t_max", "gamma", "default_action", "noise_seed", "player", "lanes")
        name_setting = {} if self.name == self.origin.get("environment") else {"name": self.name}
        return {
            "environment": self.environment,
            **name_setting,
            **{name: getattr(self, name) for name in names},
            "leave_out": list(self.leave_out),
            "options": dict(self.options),
            **({"disturbances": dict(self.disturbances)} if self.disturbances else {}),
            "feature_names": [feature.name for feature in self.features],
            "action_names": list(self.action_names),
            "ranges": {feature.name: [feature.low, feature.high] for feature in self.features},
        }

    @property
    def is_stochastic(self) -> bool:
        """True: an environment does not say whether it is."""
        return True

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least reward that the floor allows in every step, where there is a real one, and 1."""
        least = 0.0 if self.least_return is None else min(0.0, (self.floor + 1) / self._horizon)
        return least, 1.0

    @property
    def least_return(self) -> float | None:
        """A number below every return; None where the floor is too low to say anything about returns."""
        return self.floor if (self.floor + 1) / self._horizon > UNLIKELY_REWARD else None

    @property
    def _horizon(self) -> float:
        """The number of steps of an episode, later ones discounted."""
        return self._horizon_of(self.t_max)

    def _horizon_of(self, t_max: int) -> float:
        return t_max if self.gamma == 1 else min(t_max, 1 / (1 - self.gamma))

    @property
    def suitable_rules(self) -> int:
        """A handful."""
        return SUITABLE_RULES

    @property
    def n_episodes(self) -> int:
        """The number of training seeds."""
        return self.episodes

    @property
    def undisturbed(self) -> Self:
        """The same environment with nothing between rules and environment."""
        return self.replaced(disturbances={}) if self.disturbances else self

    @property
    def sweeps(self) -> dict[str, tuple[float, ...]]:
        """All disturbances, and longer episodes."""
        horizons = tuple(factor * self.t_max for factor in HORIZONS if factor * self.t_max <= T_MAX_LIMIT)
        return {**SWEEPS, "t_max": horizons}

    def disturbed(self, name: str, strength: float) -> Self:
        """Return the environment with one disturbance more, other episodes, or another parameter.

        Args:
            name: one of `DISTURBANCES`; "t_max"; "options.NAME" for an option of making the environment; or
                "unwrapped.NAME" for an attribute of it.
            strength: the value.
        """
        if name == "t_max":
            return self._lengthened(whole_number("t_max", strength, 1, T_MAX_LIMIT, TaskError))
        if name.startswith(OPTIONS):
            option = {name.removeprefix(OPTIONS): strength}
            if self.factory is not None and self._by_gymnasium:
                return self.replaced(factory=partial(self.factory, **option))
            if self.factory is not None:
                raise TaskError(
                    f"{self.name} is made by a function, which takes no options: vary an attribute of the "
                    "environment, such as unwrapped.gravity."
                )
            return self.replaced(options={**self.options, **option})
        if name.startswith(ATTRIBUTES):
            make = partial(self.make, disable_env_checker=True)  # which slows all
            return self.replaced(factory=Altered(make, name, strength))
        if name not in DISTURBANCES:
            valid_names = (*DISTURBANCES, "t_max", f"{ATTRIBUTES}NAME", f"{OPTIONS}NAME")
            raise TaskError(f"there is no disturbance {name!r}.{nearest(name, valid_names)}")
        return self.replaced(disturbances={**self.disturbances, name: strength})

    def _lengthened(self, t_max: int) -> Self:
        """Return the task with episodes of at most t_max steps; the floor keeps its distance."""
        changes: dict[str, Any] = {"t_max": t_max}
        if t_max > self.t_max:
            growth = self._horizon_of(t_max) / self._horizon
            changes["floor"] = min(self.floor, (self.floor + 1) * growth - 1)
        if self.factory is None:
            changes["options"] = {**self.options, "max_episode_steps": t_max}
        elif self._by_gymnasium:
            changes["factory"] = partial(self.factory, max_episode_steps=t_max)
        else:
            changes["factory"] = Lengthened(self.factory, t_max)
        return self.replaced(**changes)

    def nominal(self, name: str) -> float | None:
        """Return the present value of an attribute or option; None where it is not known."""
        if name.startswith(OPTIONS):
            value = self.options.get(name.removeprefix(OPTIONS))
            return float(value) if isinstance(value, (int, float)) else None
        env = self.make()
        try:
            return attribute_of(env, name)[2]
        finally:
            env.close()

    def _seeds(self, block: int, n: int) -> Ints:
        """Return the first n seeds of a block."""
        n = whole_number("episodes", n, 1, EPISODE_LIMIT, TaskError)
        first_seed = (self.noise_seed * BLOCKS + block) * BLOCK
        return np.arange(first_seed, first_seed + n, dtype=np.int64)

    @cached_property
    def z(self) -> Ints:
        """The training seeds, on which rules are selected, `(episodes,)`: 0, 1, 2 and so on."""
        return self._seeds(0, self.episodes)

    @cached_property
    def pool(self) -> Ints:
        """The seeds of episodes that strengths and predictions are learnt from, `(1000,)`: from 1,000,000."""
        return self._seeds(1, POOL)

    @cached_property
    def validation(self) -> Ints:  # type: ignore[override]  # as above
        """The seeds of validation curves and of stopping, `(100,)`: from 3,000,000."""
        return self._seeds(3, VALIDATION)

    @property
    def first_test_seed(self) -> int:  # type: ignore[override]  # tasks cannot be written to: a property will do
        """The first of the test seeds."""
        return int(self.test_seeds(1)[0])

    def test_seeds(self, n: int = 100) -> Ints:
        """Return held-out test seeds, on which performance is measured, `(n,)`: from 2,000,000."""
        return self._seeds(2, n)

    def pruning_seeds(self, n: int = 100) -> Ints:
        """Return the training seeds, and those of `pruning`, `(episodes + n,)`."""
        return np.concatenate([self.z, self.pruning(n)])

    def pruning(self, n: int = 100) -> Ints:
        """Return seeds on which rules are shortened, beside the training seeds, `(n,)`: from 5,000,000."""
        return self._seeds(5, n)

    def learning(self, n: int) -> Ints:
        """Return seeds of episodes that PPL-X learns from, `(n,)`: from 6,000,000."""
        return self._seeds(6, n)

    def choosing(self, n: int, first: int = 0) -> Ints:
        """Return seeds on which PPL-X chooses among lists, `(n,)`: from 7,000,000 + first.

        A list may play more of them than a task has training seeds. Behind the block they begin anew.
        """
        return self._seeds(7, 1) + np.arange(first, first + n, dtype=np.int64) % BLOCK

    def searching(self, n: int) -> Ints:
        """Return seeds among which the worst starts are looked for, `(n,)`: from 8,000,000."""
        return self._seeds(8, n)

    def comparing_seeds(self, n: int = 100) -> Ints:
        """Return seeds on which tuning compares the best settings it found, `(n,)`: from 9,000,000."""
        return self._seeds(9, n)

    def seeds_in_words(self, learnt_from: Sequence[str]) -> str:
        """Return which reset seeds are used for what, where learning plays these blocks of seeds."""
        purposes = {
            "training": f"training {self.z[0]:,} to {self.z[-1]:,}",
            "pool": f"learning from {self.pool[0]:,} on",
            "learning": f"learning from {self.learning(1)[0]:,} on",
            "choosing": f"choosing among lists from {self.choosing(1)[0]:,} on",
        }
        parts = [purposes[name] for name in learnt_from]
        parts += [f"pruning {self.z[0]:,} to {self.z[-1]:,} and from {self.pruning(1)[0]:,} on"]
        parts += [f"validation curves from {self.validation[0]:,} on"]
        summary = f"{', '.join(parts)}, tests from {self.first_test_seed:,} on"
        block_size = f"A block that begins with such a number has at most {BLOCK:,} seeds"
        return f"Reset seeds: {summary}. {block_size}. Nothing was learnt, chosen or pruned on test seeds."

    def make(self, **options: Any) -> Any:
        """Return a fresh environment.

        Args:
            options: such as render_mode, added to the task's own; they do not reach a function of the user's.
        """
        if self.factory is None and not self.environment:
            raise TaskError(
                f"{self.name} is made by a function or copied from an environment, and files hold neither. "
                "Give it again, or a function that makes it: ifthen.load(path, env=…)."
            )
        try:
            if self.factory is None:
                env = gymnasium.make(self.environment, **{**self.options, **options})
            else:
                env = self.factory(**options) if self._by_gymnasium else self.factory()
        except (Exception, SystemExit) as problem:
            raise TaskError(cannot_make(self.environment or self.name, problem)) from problem
        try:
            restore_statistics(env, self.statistics)
        except TaskError as problem:
            env.close()
            raise TaskError(f"{self.name} {problem}") from None
        return env

    @property
    def _by_gymnasium(self) -> bool:
        """Whether the function that makes the environment is Gymnasium's, which takes options."""
        return isinstance(self.factory, partial) and self.factory.func is gymnasium.make

    @cached_property
    def _spaces(self) -> tuple[FlatSpace, int]:
        if self.observed:
            return FlatSpace.from_list(self.observed, self.features), self.first_action
        env = self.make()
        try:
            flat, start = self.spaces_of(env)
        finally:
            env.close()
        return flat, start

    def spaces_of(self, env: AnyEnv) -> tuple[FlatSpace, int]:
        """Return how an environment's observations become rows, and its number for action 0, or raise."""
        actions = check_actions(env.action_space)
        flat = FlatSpace.of(env.observation_space, self.leave_out)
        if len(flat.leaves) != len(self.features) or int(actions.n) != self.n_actions:
            raise TaskError(
                f"{self.name} speaks of {len(self.features)} features and {self.n_actions} actions, but its "
                f"environment has {len(flat.leaves)} and {int(actions.n)}: it is another one, or another "
                "version of it."
            )
        return flat, int(actions.start)

    @property
    def flat(self) -> FlatSpace:
        """How observations become rows of numbers."""
        return self._spaces[0]

    @property
    def action_start(self) -> int:
        """The environment's number for action 0."""
        return self._spaces[1]

    @cached_property
    def ranges(self) -> tuple[Floats, Floats]:
        """The features' smallest and largest values, each `(features,)`."""
        lows, highs = (ends.astype(np.float64) for ends in lows_and_highs(self.features))
        return lows, highs

    def features_of(self, observation: object) -> Floats:
        """Return the features of an observation of the environment, or of a batch of them.

        Values beyond a feature's range are clipped to it.

        Args:
            observation: one, or what a vector environment gives.

        Returns:
            `(features,)`, or `(n, features)` for a batch.
        """
        points = self.flat.points(observation)
        self.check_points(points)
        return np.clip(points, *self.ranges)

    def points_of(self, observation: object) -> Floats:
        """Return the same, not clipped."""
        return self.flat.points(observation)

    def takes_names(self, observation: Mapping[str, Any]) -> bool:
        """Return whether a mapping gives features by name, and is not the environment's own dictionary."""
        names = {feature.name for feature in self.features}
        if set(observation) == names and not any(np.ndim(value) for value in observation.values()):
            return True
        return not self.flat.parts[0].path  # an array of numbers has no names of its own

    def numbered(self, actions: Any) -> Any:
        """Return actions as the environment numbers them, or raise where −1 could be taken for one."""
        start, no_action = self.action_start, np.less(actions, 0)
        if start == 0:
            return actions
        if start < 0 and no_action.any():
            raise RuleError(
                f"no rule matches the observation, and in {self.name}, whose actions begin at {start}, "
                "-1 cannot say so. Train longer, or give the task a default_action (PPL-DL)."
            )
        return np.where(no_action, actions, actions + start)[()]

    def check_points(self, points: Floats, location: str = "") -> None:
        """Raise where a number observed, `(n, features)`, is not finite, naming its feature."""
        check_finite(self.name, [feature.name for feature in self.features], points, location)

    def __repr__(self) -> str:
        names = listed([feature.name for feature in self.features], MANY)
        return (
            f"<EnvTask {self.name}: {names}; {self.n_actions} actions, |z| = {self.episodes}, "
            f"gamma = {self.gamma:g}, t_max = {self.t_max}>"
        )
