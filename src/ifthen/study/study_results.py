"""What a study has found so far: its finished trials, and which failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import polars

from ifthen.rules.ruleset import RuleSet
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.tasks.tabular_task import TabularTask

Measure = Literal["fraction", "exact_fraction"]
"""On z, where systems are tested, or what rules are worth: exactly, or on held-out test seeds."""
MEASURES: dict[str, Measure] = {"z": "fraction", "exact": "exact_fraction"}


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study: one row per epoch of every finished trial, and which trials did not finish."""

    plan: StudyPlan
    histories: polars.DataFrame
    failed: tuple[Trial, ...] = ()
    missing: tuple[Trial, ...] = ()
    ruleset: Callable[[Trial], RuleSet] | None = None
    """Returns the final ruleset of a finished trial; None where they are not kept."""
    pruned: Callable[[Trial], RuleSet | None] | None = None
    """Returns the same after pruning, None for a trial that was not pruned; None where they are not kept."""
    log: polars.DataFrame | None = None
    """One row per time that a trial was worked on, with the seconds that took."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of the packages that the trials were run with."""

    @cached_property
    def finals(self) -> polars.DataFrame:
        """The last row of every finished trial's history."""
        return self.histories.group_by("system", "task", "seed", maintain_order=True).last()

    def values(self, system: str, task: str, column: str) -> list[float]:
        """Return a column of the finished trials of one system on one task, in the order of their seeds.

        Numbers that do not exist, such as an optimum that nobody knows, are left out.
        """
        if column not in self.finals.columns:
            return []
        rows = self.finals.filter((polars.col("system") == system) & (polars.col("task") == task))
        return [float(value) for value in rows.sort("seed")[column].drop_nulls()]

    def trials(self, system: str, task: str) -> list[Trial]:
        """Return the finished trials of one system on one task, in the order of their seeds."""
        rows = self.finals.filter((polars.col("system") == system) & (polars.col("task") == task))
        return [Trial(system, task, seed) for seed in rows["seed"].sort().to_list()]

    def relative(self, task: str) -> bool:
        """Return whether performance in a task can be given as a fraction of the optimum."""
        rows = self.finals.filter(polars.col("task") == task)
        return not rows["fraction"].has_nulls()

    @cached_property
    def environments(self) -> set[str]:
        """The tasks whose optimum is not known: their final rules were played on held-out test seeds."""
        if "unseen_score" not in self.finals.columns:
            return set()
        return set(self.finals.filter(polars.col("unseen_score").is_not_null())["task"])

    @cached_property
    def grids(self) -> dict[str, TabularTask]:
        """The tasks that are drawn on a grid of x and y, by name."""
        tasks: dict[str, Any] = dict(self.plan.tasks_by_name())
        return {name: task for name, task in tasks.items() if task.on_grid}

    @cached_property
    def only_environments(self) -> bool:
        """Whether all tasks with finished trials are environments."""
        return self.environments == set(self.finals["task"])

    def floor(self, task: str) -> float:
        """Return the performance of rules that reached a state with no rule; it is no return.

        It is −inf for tables of states, where the performance of such rules counts like any other.
        """
        return self.plan.tasks_by_name()[task].failure_mark

    def counted(self, task: str, values: list[float]) -> list[float]:
        """Return the performances in a task without those of rules that reached a state with no rule."""
        return [value for value in values if value > self.floor(task)]

    def failures(self, system: str, task: str) -> int:
        """Return how many trials of one system on one task failed."""
        return sum((trial.system, trial.task) == (system, task) for trial in self.failed)

    def column(self, task: str, measure: Measure, final: bool = True) -> str:
        """Return the column of a measure in a task: absolute where fractions mean nothing.

        That of the final rules, or of those of every epoch, which environments measure on validation seeds.
        """
        if self.relative(task):
            return measure
        if measure == "fraction":
            return "performance"
        if task in self.environments:
            return "unseen_score" if final else "unseen_performance"
        return "exact_performance"
