"""What a study has found so far: its finished trials, and which failed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import polars

from ifthen.rules.ruleset import RuleSet
from ifthen.study.plan import StudyPlan, Trial
from ifthen.tasks.env_task import EnvTask


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study.

    Args:
        plan: what was to be run.
        histories: one row per epoch of every finished trial.
        failed: the trials that failed.
        missing: the trials that have not been run yet, or not to their end.
        ruleset: returns the final ruleset of a finished trial; None where they are not kept.
        log: one row per time that a trial was worked on, with the seconds that took.
        versions: of the packages that the trials were run with.
    """

    plan: StudyPlan
    histories: polars.DataFrame
    failed: tuple[Trial, ...] = ()
    missing: tuple[Trial, ...] = ()
    ruleset: Callable[[Trial], RuleSet] | None = None
    log: polars.DataFrame | None = None
    versions: dict[str, str] = field(default_factory=dict)

    @cached_property
    def finals(self) -> polars.DataFrame:
        """The last row of every finished trial's history."""
        return self.histories.group_by("system", "task", "seed", maintain_order=True).last()

    def values(self, system: str, task: str, column: str) -> list[float]:
        """Return a column of the finished trials of one system on one task, in the order of their seeds.

        Nothing is returned of what makes no sense there, such as an optimum that nobody knows.
        """
        own = self.finals.filter((polars.col("system") == system) & (polars.col("task") == task))
        return [float(value) for value in own.sort("seed")[column].drop_nulls()]

    def trials(self, system: str, task: str) -> list[Trial]:
        """Return the finished trials of one system on one task, in the order of their seeds."""
        own = self.finals.filter((polars.col("system") == system) & (polars.col("task") == task))
        return [Trial(system, task, seed) for seed in own["seed"].sort().to_list()]

    def relative(self, task: str) -> bool:
        """Return whether performance in a task can be given as a fraction of the optimum."""
        own = self.finals.filter(polars.col("task") == task)
        return not own["fraction"].has_nulls()

    @cached_property
    def environments(self) -> set[str]:
        """The names of the tasks that are environments: their optimum is not known."""
        return {name for name, task in self.plan.tasks_by_name().items() if isinstance(task, EnvTask)}

    def floor(self, task: str) -> float:
        """Return the performance that stands for rules which met a state with no rule, and is no return.

        It is −inf for tables of states: what stands there for such rules is as good a number as any.
        """
        made = self.plan.tasks_by_name()[task]
        return made.floor if isinstance(made, EnvTask) else -math.inf

    def counted(self, task: str, values: list[float]) -> list[float]:
        """Return the performances in a task without those of rules that met a state with no rule."""
        return [value for value in values if value > self.floor(task)]

    @property
    def only_environments(self) -> bool:
        """Whether all tasks are environments."""
        return len(self.environments) == len(self.plan.tasks_by_name())

    def failures(self, system: str, task: str) -> int:
        """Return how many trials of one system on one task failed."""
        return sum((trial.system, trial.task) == (system, task) for trial in self.failed)
