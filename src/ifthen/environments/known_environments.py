"""What ifthen knows about environments. Each known environment is one file of this folder.

Such a file has a subclass of `KnownEnvironment`, which registers itself when it is imported. All files are
imported when somebody first asks, not with `import ifthen`. Users can give everything known as arguments of
`env_task` or `table_task`. Unknown environments have features f0, f1, … and actions called by their numbers.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import gymnasium

from ifthen import environments
from ifthen.rules.feature import Feature
from ifthen.tasks.env_like import AnyEnv
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.twin import Twin

USUAL = ("PassiveEnvChecker", "OrderEnforcing", "TimeLimit")
"""The wrappers that `gymnasium.make` puts around environments."""
RECORDERS = ("RecordEpisodeStatistics", "RecordVideo", "RenderCollection", "HumanRendering")
"""Gymnasium's wrappers that only record or show episodes."""


class KnownFeature(NamedTuple):
    """A number that an environment observes. Unit and range stand here where the space does not say them."""

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    is_integer: bool = False
    cyclic: bool = False


class KnownEnvironment:
    """What ifthen knows about one environment. The base class stands for environments it does not know."""

    of_class: ClassVar[str]
    """"module:Class" of the environment without wrappers."""
    ids: ClassVar[tuple[str, ...]] = ()
    """Its ids in Gymnasium's registry that `ifthen tasks` lists. The presets are for these ids."""
    task_names: ClassVar[tuple[str, ...]] = ()
    """Names of tasks that `task_named` makes and messages suggest."""
    is_table: ClassVar[bool] = False
    """Whether the listed ids publish a transition table `P`."""
    features: ClassVar[tuple[KnownFeature, ...]] = ()
    actions: ClassVar[tuple[str, ...]] = ()
    episodes: ClassVar[int | None] = None
    """The number of training seeds; None for the default."""
    least: ClassVar[float | None] = None
    """The least reward of a step, or a number below it; None if there is no least one."""
    twin: ClassVar[Twin | None] = None
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Parameters that suit the environment, by the system's name."""

    def __init_subclass__(cls) -> None:
        _known[cls.of_class] = cls

    @classmethod
    def least_reward(cls, env: AnyEnv) -> float | None:
        """Return the least reward of a step; None if there is no least one."""
        return cls.least

    @staticmethod
    def decode(env: AnyEnv, state: int) -> Sequence[int]:
        """Return the features of a state of a transition table."""
        return (state,)

    @staticmethod
    def table_features(env: AnyEnv) -> tuple[Feature, ...] | None:
        """Return the features of a transition table; None to read names and ranges off its states."""
        return None

    @staticmethod
    def table_origin(env: AnyEnv) -> dict[str, Any]:
        """Return the options that make the same environment again, where a table has to remember them."""
        return {}

    @staticmethod
    def settings_named(name: str) -> dict[str, Any] | None:
        """Return the settings that a task's name stands for; None if it is no name of this environment's."""
        return None

    @staticmethod
    def layout(env: AnyEnv) -> tuple[str, ...] | None:
        """Return the map of a grid world, one text per row; None for other environments."""
        return None

    @staticmethod
    def preset(env: AnyEnv) -> dict[str, int]:
        """Return parameters that suit a tabular task of the environment with any system."""
        return {}

    @staticmethod
    def objection_to_table(env: AnyEnv) -> str:
        """Return why the environment does not do what its table `P` says; "" if it does."""
        return ""

    @staticmethod
    def task_named(name: str) -> TabularTask | None:
        """Return the task of a name; None if it is no name of this environment's tasks."""
        return None


_known: dict[str, type[KnownEnvironment]] = {}


@functools.cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(environments.__path__):
        importlib.import_module(f"{environments.__name__}.{module.name}")


def known_environments() -> list[type[KnownEnvironment]]:
    """Return all known environments, in the order of their files."""
    _import_all()
    return sorted(_known.values(), key=lambda known_env: known_env.__module__)


def class_path(kind: type) -> str:
    """Return "module:Class" of a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def known_class(env: object) -> type[KnownEnvironment]:
    """Return what is known about an environment's class or its nearest known parent."""
    _import_all()
    core = getattr(env, "unwrapped", env)
    known_classes = (_known[path] for path in map(class_path, type(core).__mro__) if path in _known)
    return next(known_classes, KnownEnvironment)


def known_by_id(environment: str) -> type[KnownEnvironment]:
    """Return what is known about the class that Gymnasium's registry has for an id."""
    _import_all()
    spec = gymnasium.registry.get(environment)
    entry: Any = None if spec is None else spec.entry_point
    return _known.get(
        entry if isinstance(entry, str) else class_path(entry) if entry else "", KnownEnvironment
    )


def settings_named(name: str) -> dict[str, Any] | None:
    """Return the settings that the name of a known task stands for; None if nothing knows it."""
    candidates = (known_env.settings_named(name) for known_env in known_environments())
    return next((settings for settings in candidates if settings is not None), None)


def presets_of(system: str, environment: str) -> dict[str, Any]:
    """Return the parameters of a system that suit the environment with an id."""
    known_env = known_by_id(environment)
    return dict(known_env.presets.get(system, {})) if environment in known_env.ids else {}


def listed_ids(table: bool) -> list[str]:
    """Return the ids of known environments, with a transition table or without."""
    return [
        name for known_env in known_environments() if known_env.is_table == table for name in known_env.ids
    ]


def known_names() -> list[str]:
    """Return the names of tasks and ids of environments that ifthen knows."""
    names = [name for known_env in known_environments() for name in known_env.task_names]
    return names + listed_ids(table=True) + listed_ids(table=False)


class About(NamedTuple):
    """What holds of an environment as it is, with its wrappers."""

    features: tuple[KnownFeature, ...]
    actions: tuple[str, ...]
    least_reward: float | None
    episodes: int | None


def about(env: AnyEnv) -> About:
    """Return what is known about an environment.

    Nothing is known about it in a wrapper that may change observations, actions or rewards. Subclasses of a
    known class share names and units; rewards and ranges may be others.
    """
    if changing_wrapper(env):
        return About((), (), None, None)
    known_env, core = known_class(env), env.unwrapped
    if known_env is KnownEnvironment or known_env.of_class == class_path(type(core)):
        return About(known_env.features, known_env.actions, known_env.least_reward(core), known_env.episodes)
    return About(
        tuple(KnownFeature(f.name, f.unit, cyclic=f.cyclic) for f in known_env.features),
        known_env.actions,
        None,
        None,
    )


def changing_wrapper(env: object, harmless: Sequence[str] = USUAL + RECORDERS) -> str:
    """Return the name of the first wrapper that is not one of Gymnasium's harmless ones; "" if none is."""
    outer: Any = env
    core = getattr(env, "unwrapped", env)
    while outer is not core:
        kind = type(outer)
        if kind.__name__ not in harmless or getattr(gymnasium.wrappers, kind.__name__, None) is not kind:
            return kind.__name__
        outer = outer.env
    return ""
