"""Tasks that are Gymnasium environments: no table of states, only what one meets by playing.

Performance is measured over z, a fixed list of reset seeds: every policy meets the same numbers. Other lists
serve other purposes, and none shares a seed with another: `pool` for episodes to learn from, `validation` for
the curves that show how well rules do on seeds they were not selected on, `pruning` for shortening rules,
`unseen` for final scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ifthen.checks import one_of, real_number, whole_number
from ifthen.errors import TaskError
from ifthen.rules.features import Feature, lows_and_highs
from ifthen.tasks.own_envs import register_own
from ifthen.tasks.spaces import FlatSpace, check_actions

Player = Literal["auto", "twin", "native", "sync"]
Option = bool | int | float | str
EPISODE_LIMIT = 100_000
T_MAX_LIMIT = 10_000_000
LEAST_GAMMA = 1e-6
SEEDS_APART = 1_000_000
"""The lists of seeds begin so far from each other,"""
NOISE_SEEDS_APART = 10 * SEEDS_APART
"""and those of two noise seeds so far,"""
NOISE_SEED_LIMIT = 2**63 // NOISE_SEEDS_APART - 1
"""which leaves room for so many."""
POOL, VALIDATION = 1000, 100
register_own()


def cannot_make(environment: str, problem: Exception) -> str:
    """Return what to say where an environment cannot be made, and what to do about it."""
    module, colon, name = environment.rpartition(":")
    if isinstance(problem, gymnasium.error.DependencyNotInstalled) and "ox2" in str(problem).lower():
        return f'the environment {environment!r} needs a package: pip install "ifthen[box2d]".'
    if isinstance(problem, ModuleNotFoundError) and colon:
        return f"the environment {name!r} needs the package {module!r}, which is not installed here."
    unknown = isinstance(problem, gymnasium.error.UnregisteredEnv)
    hint = " Import the package that registers it first." if unknown else ""
    return f"the environment {environment!r} cannot be made: {problem}{hint}"


@dataclass(frozen=True, eq=False)
class EnvTask:
    """A task that is played in a Gymnasium environment.

    Args:
        name: how the task is called in tables and files.
        features: name and range of each number that is observed.
        action_names: one name per action.
        environment: the environment's id in Gymnasium's registry; empty where only `factory` can make it.
        options: keyword arguments for making it.
        episodes: |z|, the number of reset seeds on which performance is measured.
        gamma: the discount factor γ; 1 for the plain sum of rewards.
        t_max: the number of steps after which an episode is truncated.
        floor: the performance of a policy that meets a state without a rule; below any real return.
        default_action: what the lists of PPL-DL do where no rule matches: it becomes their last rule. Other
            systems refuse it, and other rules that are played here do not get it. None for none.
        noise_seed: another number gives other reset seeds.
        player: how episodes are played: by a compiled twin, by the environment's own vector form, by
            `SyncVectorEnv`, or by the fastest of these that fits ("auto").
        origin: how the task was made, as plain data.
        factory: makes the environment where its id cannot, here or in other processes; not saved in files.
    """

    name: str
    features: tuple[Feature, ...]
    action_names: tuple[str, ...]
    environment: str
    episodes: int
    t_max: int
    floor: float
    options: Mapping[str, Option] = field(default_factory=dict)
    gamma: float = 1.0
    default_action: int | None = None
    noise_seed: int = 0
    player: Player = "auto"
    origin: Mapping[str, Any] = field(default_factory=dict)
    factory: Callable[..., Any] | None = None

    observes: Literal["features"] = field(default="features", init=False)

    def __post_init__(self) -> None:
        self._check_texts()
        one_of("player", self.player, get_args(Player))
        numbers = {
            "episodes": whole_number("episodes", self.episodes, 1, EPISODE_LIMIT, TaskError),
            "t_max": whole_number("t_max", self.t_max, 1, T_MAX_LIMIT, TaskError),
            "noise_seed": whole_number("noise_seed", self.noise_seed, 0, NOISE_SEED_LIMIT, TaskError),
            "gamma": real_number("gamma", self.gamma, LEAST_GAMMA, 1, TaskError),
            "floor": real_number("floor", self.floor, -1e300, 1e300, TaskError),
        }
        if self.default_action is not None:
            last = self.n_actions - 1
            numbers["default_action"] = whole_number(
                "default_action", self.default_action, 0, last, TaskError
            )
        for name, number in numbers.items():
            object.__setattr__(self, name, number)

    def _check_texts(self) -> None:
        """Raise where names, features or options are not what they must be."""
        for what, given in (("name", self.name), ("environment", self.environment)):
            if not isinstance(given, str) or (what == "name" and not given):
                raise TaskError(f"a task's {what} must be a text, not {given!r}.")
        if ":" in self.environment:  # a model file must not be able to have modules imported
            raise TaskError(f"environment must be an id without a module, not {self.environment!r}.")
        for what, kind in (("features", Feature), ("action_names", str)):
            parts = getattr(self, what)
            listed = isinstance(parts, (list, tuple)) and len(parts) > 0
            if not listed or not all(isinstance(part, kind) for part in parts):
                raise TaskError(f"{what} must be a tuple of {kind.__name__}, not {parts!r}.")
            object.__setattr__(self, what, tuple(parts))
        labelled = (("feature", [f.name for f in self.features]), ("action", list(self.action_names)))
        for what, labels in labelled:
            if len(set(labels)) != len(labels):
                raise TaskError(f"{what} names must differ from each other, not {labels}.")
        options = self.options.values() if isinstance(self.options, Mapping) else [None]
        if not all(isinstance(value, get_args(Option)) for value in options):
            raise TaskError(f"options must hold texts and numbers only, not {self.options!r}.")
        object.__setattr__(self, "options", dict(self.options))

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return len(self.action_names)

    def _seeds(self, block: int, n: int) -> NDArray[np.int64]:
        first = self.noise_seed * NOISE_SEEDS_APART + block * SEEDS_APART
        return np.arange(first, first + n, dtype=np.int64)

    @cached_property
    def z(self) -> NDArray[np.int64]:
        """The reset seeds on which performance is measured, `(episodes,)`: 0, 1, 2 and so on."""
        return self._seeds(0, self.episodes)

    @cached_property
    def pool(self) -> NDArray[np.int64]:
        """The reset seeds of episodes that are only learnt from, `(1000,)`: 1,000,000 and on."""
        return self._seeds(1, POOL)

    def unseen(self, n: int = 100) -> NDArray[np.int64]:
        """Return reset seeds that nothing was learnt or selected on, `(n,)`: 2,000,000 and on."""
        return self._seeds(2, whole_number("episodes", n, 1, EPISODE_LIMIT, TaskError))

    @cached_property
    def validation(self) -> NDArray[np.int64]:
        """The reset seeds of the curves that histories hold beside z's, `(100,)`: 3,000,000 and on."""
        return self._seeds(3, VALIDATION)

    def pruning(self, n: int = 100) -> NDArray[np.int64]:
        """Return reset seeds that rules are shortened on beside z, `(n,)`: 5,000,000 and on."""
        return self._seeds(5, whole_number("episodes", n, 1, EPISODE_LIMIT, TaskError))

    def make(self, **options: Any) -> Any:
        """Return a fresh environment.

        Args:
            options: such as render_mode, added to the task's own; they do not reach a function of the user's.
        """
        if self.factory is None and not self.environment:
            raise TaskError(
                f"{self.name} is made by a function, which files do not hold. Give it again: "
                "ifthen.load(path, factory=…), or dataclasses.replace(task, factory=…)."
            )
        try:
            if self.factory is None:
                return gymnasium.make(self.environment, **{**self.options, **options})
            ours = isinstance(self.factory, partial) and self.factory.func is gymnasium.make
            return self.factory(**options) if ours else self.factory()
        except Exception as problem:
            raise TaskError(cannot_make(self.environment or self.name, problem)) from problem

    @cached_property
    def _spaces(self) -> tuple[FlatSpace, int]:
        env = self.make()
        try:
            check_actions(env.action_space)
            flat, actions = FlatSpace.of(env.observation_space), env.action_space
        finally:
            env.close()
        if len(flat.leaves) != len(self.features) or int(actions.n) != self.n_actions:
            raise TaskError(
                f"{self.name} speaks of {len(self.features)} features and {self.n_actions} actions, but its "
                f"environment has {len(flat.leaves)} and {int(actions.n)}: it is another version of it."
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
    def ranges(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The features' smallest and largest values, each `(features,)`."""
        lows, highs = lows_and_highs(self.features)
        return lows.astype(np.float64), highs.astype(np.float64)

    def features_of(self, observation: Any) -> NDArray[np.float64]:
        """Return the features of an observation of the environment, or of a batch of them.

        Values beyond a feature's range are clipped to it.

        Args:
            observation: one, or what a vector environment gives.

        Returns:
            `(features,)`, or `(n, features)` for a batch.
        """
        points = self.flat.points(observation)
        self.check_points(np.atleast_2d(points))
        return np.clip(points, *self.ranges)

    def check_points(self, points: NDArray[np.float64], where: str = "") -> None:
        """Raise where a row of numbers `(n, features)` has one that is not finite, naming its feature."""
        if not np.isfinite(points).all():
            _, d = (int(i) for i in np.argwhere(~np.isfinite(points))[0])
            raise TaskError(
                f"{self.name} observed {points[~np.isfinite(points)][0]} for {self.features[d].name}{where}; "
                "rules need finite numbers. Mend the environment, or wrap it so that it gives some."
            )

    def __repr__(self) -> str:
        names = ", ".join(feature.name for feature in self.features)
        return (
            f"<EnvTask {self.name}: {names}; {self.n_actions} actions, |z| = {self.episodes}, "
            f"gamma = {self.gamma:g}, t_max = {self.t_max}>"
        )
