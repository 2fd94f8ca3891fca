"""Stand-ins: cheaper environments to rehearse on, before the one that is to be learnt."""

from __future__ import annotations

from dataclasses import replace

from ifthen.errors import TaskError
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.making import made_from
from ifthen.tasks.spaces import FlatSpace, check_actions


def stand_in_task(task: EnvTask, environment: str) -> EnvTask:
    """Return a task like another, but played in another environment.

    Args:
        task: the task that is to be learnt.
        environment: the stand-in's id in Gymnasium's registry. It must observe as many numbers and have as
            many actions.
    """
    options = {"max_episode_steps": task.t_max}
    made, _, _, factory = made_from(environment, options)
    try:
        check_actions(made.action_space)
        observed, actions = len(FlatSpace.of(made.observation_space).leaves), int(made.action_space.n)
    finally:
        made.close()
    if (observed, actions) != (len(task.features), task.n_actions):
        raise TaskError(
            f"{environment} observes {observed} numbers and has {actions} actions; to stand in for "
            f"{task.name} it needs {len(task.features)} and {task.n_actions}."
        )
    name = f"{task.name}, on {environment}"
    return replace(task, name=name, environment=environment, options=options, factory=factory, player="auto")
