"""What a tuning asks for: system, task, budget, space and seeds; from the command line or tune.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ifthen.runs.settings import RunSettings, checked, toml_text
from ifthen.runs.task_settings import TaskSettings, made_task
from ifthen.systems.learning import EPOCH_LIMIT, STEP_LIMIT
from ifthen.systems.registry import system_by_name
from ifthen.systems.system import System
from ifthen.tasks.task import Task
from ifthen.tuning.search_space import Dimension, space_of

Phase = Literal["search", "finalist", "final"]
"""What a training is for: to try settings, to compare the best ones, or to measure the chosen ones."""
PHASES: tuple[Phase, ...] = ("search", "finalist", "final")
BLOCK = 1_000_000
"""Every phase of every seed has this many training seeds of its own."""
TRIALS = 50
"""How many settings are tried, where neither trials nor minutes are given."""
FREE = {"trials", "minutes", "finalists", "repeats", "final"}
"""What may change when a tuning goes on: no training depends on it."""
Pruner = Literal["median", "halving", "none"]


class TunePlan(BaseModel):
    """What is tuned, how, and for how long."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    system: str
    task: TaskSettings
    trials: int | None = Field(default=None, ge=1, le=100_000)
    """How many settings are tried at most."""
    minutes: float | None = Field(default=None, gt=0, le=1e6)
    """The minutes after which no other settings are tried."""
    epochs: int | None = Field(default=None, ge=1, le=EPOCH_LIMIT)
    """Every training has as many steps as the defaults take in this many epochs."""
    steps: int | None = Field(default=None, ge=1, le=STEP_LIMIT)
    """In place of epochs: the environment steps of every training."""
    seed: int = Field(default=0, ge=0, le=10**9)
    pruner: Pruner = "median"
    """Which trainings are ended early; see `ifthen.tuning.early_stopping`."""
    finalists: int = Field(default=3, ge=1, le=100)
    """How many of the best settings are compared, beside the defaults."""
    repeats: int = Field(default=3, ge=1, le=1000)
    """How often each of them is trained for that."""
    final: int = Field(default=5, ge=1, le=1000)
    """How often the chosen settings, and the defaults, are trained to be measured on test seeds."""
    search: dict[str, str] = Field(default_factory=dict)
    """Ranges of one's own, such as {"p_mut": "0.01..0.2"}."""
    only: bool = False
    """Whether nothing but these is searched."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters that are fixed."""

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if self.steps is not None and self.epochs is not None:
            raise ValueError("epochs or steps say how long each training is, not both")
        return self

    @property
    def most_trials(self) -> int | None:
        """How many settings are tried at most; None where only time ends the search."""
        return TRIALS if self.trials is None and self.minutes is None else self.trials

    def kind(self) -> type[System]:
        """Return the system."""
        return system_by_name(self.system)

    def make_task(self) -> Task:
        """Return the task."""
        return made_task(self.task)

    def space(self, task: Task) -> dict[str, Dimension]:
        """Return what is searched; raises where anything is impossible."""
        return space_of(self.kind(), task, self.parameters, self.search, self.only)

    def training_seed(self, phase: Phase, number: int) -> int:
        """Return a seed of training; no two phases share one, and no two tunings with different seeds."""
        return (self.seed * len(PHASES) + PHASES.index(phase)) * BLOCK + number

    def settings(self, parameters: Mapping[str, Any], seed: int, steps: int | None) -> RunSettings:
        """Return the settings of one training.

        Args:
            parameters: those that were searched.
            seed: of training.
            steps: how many environment steps; the plan's number of epochs where None.
        """
        length = {"epochs": self.epochs or self._default_epochs()} if steps is None else {"steps": steps}
        base = {"system": self.kind().name, "task": self.task, "prune": False, "seed": seed}
        return RunSettings(**base, **length, parameters={**self.parameters, **parameters})  # type: ignore[arg-type]

    def _default_epochs(self) -> int:
        return self.kind()(self.make_task(), threads=1, **self.parameters).default_epochs

    def to_toml(self) -> str:
        """Return the plan as TOML."""
        return toml_text(self.model_dump(exclude_none=True))


def checked_tune_plan(settings: Mapping[str, Any]) -> TunePlan:
    """Return the plan, or raise naming each unknown, missing or impossible setting."""
    return checked(TunePlan, {name: value for name, value in settings.items() if value is not None})
