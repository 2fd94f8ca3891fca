"""Task: what is to be solved, as everything above this folder sees it.

Two kinds exist: a table (an MDP as arrays, `ifthen.tasks.tabular_task`) and an environment
(`ifthen.tasks.gym_task`). Systems, studies, explanations and commands use the contract below and do not ask
which kind they have. How a task is played is a simulator's business (`ifthen.simulate`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from typing import Any, ClassVar, Literal, Self

from numpy.typing import NDArray

from ifthen.checks import refuse_nul
from ifthen.errors import TaskError, shown
from ifthen.notebook import Part, Shown
from ifthen.rules.arrays import Ints
from ifthen.rules.feature import Feature
from ifthen.text_table import TextTable

Method = Literal["sampled", "exact"]
Noise = Literal["aligned", "stream"]
HORIZONS = (2, 5, 10)
"""The longer episodes that a sweep tries, in units of t_max."""
NO_DIFFERENCE = ("origin", "preset", "player", "lanes", "observed", "first_action")
"""Fields in which two equal tasks may differ."""


class Task(Shown, ABC):
    """A task to be solved."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    kind: ClassVar[str]
    """What files call this kind of task."""
    held_out_column: ClassVar[str]
    """The history's performance that nothing was selected on."""
    first_test_seed: int
    """The seed of an episode to show, which nothing was learnt from."""
    watched_column: ClassVar[str]
    """The history's performance to show during training and to stop at."""
    watched_name: ClassVar[str]
    """What people call it."""
    has_states: ClassVar[bool]
    """Whether the states can be listed, with a model of their transitions."""
    best_method: ClassVar[Method]
    """How a finished policy is measured best: exactly, where there is a model."""
    measured_by: ClassVar[tuple[str, ...]]
    """What can be chosen where policies are measured: names of options."""
    validation: Ints | None
    """The seeds of validation curves and of stopping; None where measures are exact."""

    name: str
    features: tuple[Feature, ...]
    action_names: tuple[str, ...]
    gamma: float
    t_max: int
    noise_seed: int
    floor: float
    """A lower bound of every return: the performance of a policy that reaches a state without a rule."""
    origin: Mapping[str, Any]
    default_action: int | None
    """The action of decision lists where no rule matches; None for none."""
    layout: tuple[str, ...] | None
    """The grid to draw the task on, one text per row of cells; None where there is none."""
    disturbances: Mapping[str, float]
    """Disturbance strengths, by name."""
    environment: str
    """The id of the Gymnasium environment that a file may name; "" where there is none."""

    __str__ = object.__str__

    def shown_parts(self) -> list[Part]:
        """Return what a notebook shows: what is to be done, what rules see and what they can do."""
        rows = tuple(
            (
                feature.name,
                feature.unit,
                "whole" if feature.is_integer else "real",
                *map("{:.4g}".format, ends),
            )
            for feature in self.features
            for ends in [(feature.low, feature.high)]
        )
        table = TextTable("", ("feature", "unit", "numbers", "from", "to"), rows).without_empty([""])
        steps = f"Episodes of at most {self.t_max:,} steps, γ = {self.gamma:g}."
        return [f"{self.name}. Actions: {', '.join(self.action_names)}. {steps}", table]

    @property
    def can_be_played(self) -> bool:
        """Whether episodes can be played here: False if nothing here makes the environment."""
        return True

    @abstractmethod
    def make(self, **options: Any) -> Any:
        """Return a fresh environment of the task; raise if there is none.

        Args:
            options: such as render_mode.
        """

    @property
    def sees_place(self) -> bool:
        """Whether the features are the coordinates of a cell, rather than what is seen from it."""
        return [feature.name for feature in self.features] == ["x", "y"]

    @property
    def on_grid(self) -> bool:
        """Whether it can be drawn on a grid: its states have a map, or its features are x and y."""
        return False

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings that make the task, as the table [task] of a configuration file has them."""

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return len(self.action_names)

    def test_seeds(self, n: int = 100) -> Ints | None:
        """Return held-out reset seeds to measure a finished policy on, `(n,)`; None where that is exact."""
        return None

    def comparing_seeds(self, n: int = 100) -> Ints | None:
        """Return reset seeds to compare tuned settings on, `(n,)`; None where z is played."""
        return None

    def pruning_seeds(self, n: int = 100) -> Ints | None:
        """Return reset seeds to shorten rules on, n of them for this alone; None where nothing is played."""
        return None

    @property
    @abstractmethod
    def is_stochastic(self) -> bool:
        """Whether an action may have more than one outcome."""

    def seeds_in_words(self, learnt_from: Sequence[str]) -> str:
        """Return which reset seeds are used for what; "" where there are none."""
        return ""

    @property
    @abstractmethod
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward of a step, 0 included; 0 and 1 where they are not known."""

    @property
    @abstractmethod
    def suitable_rules(self) -> int:
        """The default number of rules of a ruleset for this task."""

    @property
    @abstractmethod
    def n_episodes(self) -> int:
        """The number of episodes that a policy is trained on."""

    @abstractmethod
    def features_of(self, observation: object) -> NDArray[Any]:
        """Return the features of an observation, `(features,)`, or of a batch of them, `(n, features)`."""

    def points_of(self, observation: object) -> Any:
        """Return the features of an observation as they are to be shown: not clipped to their ranges."""
        return self.features_of(observation)

    def takes_names(self, observation: Mapping[str, Any]) -> bool:
        """Return whether a mapping gives features by name rather than being the environment's own form."""
        return True

    def numbered(self, actions: Any) -> Any:
        """Return actions, counted from 0, as the environment numbers them."""
        return actions

    @property
    def failure_mark(self) -> float:
        """Performances up to this number stand for a state without a rule, and are no returns."""
        return self.floor

    @property
    def undisturbed(self) -> Self:
        """The same task with nothing between rules and task."""
        return self

    @property
    @abstractmethod
    def sweeps(self) -> dict[str, tuple[float, ...]]:
        """The disturbances that can be put between rules and task, by name, each with strengths to try."""

    @abstractmethod
    def disturbed(self, name: str, strength: float) -> Self:
        """Return the task with one disturbance; `t_max` gives longer or shorter episodes."""

    def nominal(self, name: str) -> float | None:
        """Return the present value of a parameter to vary, such as "unwrapped.gravity"; None if unknown."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain data for files, without its arrays and the function that makes it."""
        names = [field.name for field in fields(self) if field.name not in {"factory", *self.arrays()}]
        return {"kind": self.kind, **{name: _plain(getattr(self, name)) for name in names}}

    def _check_names(self) -> None:
        """Raise TaskError where name, features or action names are not what every task needs."""
        if not isinstance(self.name, str) or not self.name:
            raise TaskError(f"a task's name must be a text, not {self.name!r}.")
        for label, kind, expected in (("features", Feature, "Feature"), ("action_names", str, "texts")):
            values = getattr(self, label)
            is_list = isinstance(values, (list, tuple)) and len(values) > 0
            if not is_list or not all(isinstance(value, kind) for value in values):
                raise TaskError(f"{label} must be a tuple of {expected}, not {shown(values)}.")
            object.__setattr__(self, label, tuple(values))
        if any(feature.is_term for feature in self.features):
            raise TaskError("a task has features that are observed; terms belong to a ruleset.")
        refuse_nul("a name of a task or action", (self.name, *self.action_names), TaskError)
        labelled = (("feature", [f.name for f in self.features]), ("action", list(self.action_names)))
        for label, labels in labelled:
            if len(set(labels)) != len(labels):
                raise TaskError(f"{label} names must differ from each other, not {shown(labels)}.")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that define the task, by name."""
        return {}

    def identity(self) -> dict[str, Any]:
        """Return all that must be equal for a file to fit the task; arrays as bytes.

        How a task was made, and how it is played, changes nothing.
        """
        data = {key: value for key, value in self.to_dict().items() if key not in NO_DIFFERENCE}
        return {**data, **{name: array.tobytes() for name, array in self.arrays().items()}}

    def replaced(self, **changes: Any) -> Self:
        """Return the same task with some fields changed."""
        return replace(self, **changes)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what was derived from them is derived again elsewhere."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _plain(value: object) -> Any:
    """Return a field as plain data."""
    if isinstance(value, tuple):
        return [item.to_dict() if isinstance(item, Feature) else item for item in value]
    return dict(value) if isinstance(value, Mapping) else value
