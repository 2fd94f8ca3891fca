"""Tasks of a study or a name that tests know to have a table of states."""

from __future__ import annotations

from ifthen.environments.make import task_by_name
from ifthen.study.study_plan import StudyPlan
from ifthen.tasks.tabular_task import TabularTask


def table_named(name: str) -> TabularTask:
    """Return the tabular task called `name`."""
    task = task_by_name(name)
    assert isinstance(task, TabularTask)
    return task


def tables_of(plan: StudyPlan) -> dict[str, TabularTask]:
    """Return the tasks of a plan, all of them tabular, by name."""
    tasks = plan.tasks_by_name()
    found = {name: task for name, task in tasks.items() if isinstance(task, TabularTask)}
    assert len(found) == len(tasks)
    return found
