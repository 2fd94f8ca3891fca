"""A task in an environment that is given anew, for a file that holds none.

And a task for rules that call its features and actions by names of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ifthen.environments.copies import source_of
from ifthen.environments.known_environments import known_by_id
from ifthen.environments.make import IN_MODULE, TaskLike, as_task
from ifthen.errors import TaskError, warn
from ifthen.rules.ruleset import PolicyOrActions, RuleSet
from ifthen.tasks.env_like import EnvLike
from ifthen.tasks.flatten import FlatSpace
from ifthen.tasks.gym_task import EnvTask, Option
from ifthen.tasks.task import Task


def played_in(task: Task, env: EnvLike, options: Mapping[str, Option] | None = None) -> Task:
    """Return a task that is played in an environment given anew, as files hold none.

    Args:
        task: the task.
        env: an environment, its id, or a function that makes one; it must observe and do the same things.
        options: keyword arguments for making the environment, if `env` is its id.
    """
    if not isinstance(task, EnvTask):
        raise TaskError(f"{task.name} is a table of states and needs no environment: leave env out.")
    source = source_of(env, options or {})
    try:
        flat = task.spaces_of(source.env)[0]
        if flat.parts != task.flat.parts:
            raise TaskError(
                f"{task.name} observes {_spaces_in_words(task.flat)}, but the environment that is given "
                f"observes {_spaces_in_words(flat)}."
            )
    finally:
        source.env.close()
    lanes = 1 if source.note else task.lanes
    source_fields = (
        {"environment": source.environment, "options": source.options} if source.environment else {}
    )
    return task.replaced(factory=source.factory, lanes=lanes, **source_fields)


def renewed(task: Task, name: str) -> Task:
    """Return a task from a file, played in the environment that a user names; a table stays as it is."""
    return played_in(task, name, task.options) if isinstance(task, EnvTask) else task


def policy_and_its_task(policy: object, task_like: TaskLike) -> tuple[Any, Task]:
    """Return a policy and the task to play it in, whose features and actions are the same.

    A task is played as it is. An environment of one's own keeps all settings of the task that a system of it
    was trained in. In other environments, names and ranges come from the rules (see `fitted`).

    Args:
        policy: a ruleset, a trained system, or anything else, for which the task stays as it is.
        task_like: a task, its name, an environment, or a function that makes one.
    """
    if isinstance(task_like, Task):
        return policy, task_like
    new_task, trained_task = as_task(task_like), getattr(policy, "task", None)
    if isinstance(new_task, EnvTask) and isinstance(trained_task, EnvTask):
        by_code = not new_task.environment or (isinstance(task_like, str) and IN_MODULE.fullmatch(task_like))
        if by_code and trained_task.origin.get("environment") == new_task.origin.get("environment"):
            return policy, played_in(trained_task, task_like)
    ruleset = getattr(policy, "ruleset", policy)
    if not isinstance(ruleset, RuleSet):
        return policy, new_task
    task, fitted_rules = fitted(new_task, ruleset)
    return fitted_rules if policy is ruleset else policy, task


def fitted(task: Task, ruleset: RuleSet) -> tuple[Task, RuleSet]:
    """Return a task and rules for it whose features and actions are the same.

    The names and ranges of the rules count, in the order of the environment's numbers, unless ifthen knows
    the environment's names. Rules that cannot be meant for the task stay as they are.
    """
    sizes = len(ruleset.observed_features), len(ruleset.action_names)
    if not isinstance(task, EnvTask) or (len(task.features), len(task.action_names)) != sizes:
        return task, ruleset
    pairs = list(zip(task.features, ruleset.observed_features, strict=True))
    name_pairs = [(task_feature.name, rule_feature.name) for task_feature, rule_feature in pairs]
    name_pairs += zip(task.action_names, ruleset.action_names, strict=True)
    renamed = [(old, new) for old, new in name_pairs if old != new]
    moved = {old for old, _ in name_pairs} & {new for _, new in renamed}
    if moved or (renamed and known_by_id(task.environment).features):
        return task, ruleset
    for task_feature, rule_feature in pairs:
        if rule_feature.is_integer and not task_feature.is_integer:
            raise TaskError(
                f"{rule_feature.name} is a whole number in the rules and a real number in {task.name}: write "
                f"'feature {rule_feature.name}: {rule_feature.low} to {rule_feature.high} real' before "
                "the rules."
            )
    features = tuple(replace(feature, clips=True) for feature in ruleset.observed_features)
    names = ruleset.action_names
    return task.replaced(features=features, action_names=names), ruleset.renamed(features, names)


def named_as_in(task: Task, policy: PolicyOrActions) -> Any:
    """Return rules with the names and units of a task, in the order of features and actions, and say so.

    What differs in more than names, or has the same names in another order, stays as it is.
    """
    rules = getattr(policy, "ruleset", policy)
    if not isinstance(rules, RuleSet) or len(rules.action_names) != task.n_actions:
        return policy
    rule_features, task_features = (
        [replace(feature, name="x", unit="") for feature in features]
        for features in (rules.observed_features, task.features)
    )
    if rule_features != task_features:
        return policy
    old_names = [*(feature.name for feature in rules.observed_features), *rules.action_names]
    new_names = [*(feature.name for feature in task.features), *task.action_names]
    changed = {
        old_name: new_name
        for old_name, new_name in zip(old_names, new_names, strict=True)
        if old_name != new_name
    }
    if not changed or set(changed) & set(new_names):
        return policy
    pairs = ", ".join(f"{old_name} is {new_name}" for old_name, new_name in changed.items())
    warn(f"the policies have other names, and are compared in the order of features and actions: {pairs}.")
    return rules.renamed(task.features, task.action_names)


def _spaces_in_words(flat: FlatSpace) -> str:
    return ", ".join(f"{part.label} of shape {part.shape} and type {part.dtype}" for part in flat.parts)
