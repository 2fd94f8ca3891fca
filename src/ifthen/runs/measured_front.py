"""The front of a policy: the best found for each size, measured where nothing was chosen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

from ifthen.environments.make import TaskLike
from ifthen.errors import RuleError
from ifthen.exports.data import to_text
from ifthen.exports.decision_tree import decision_tree
from ifthen.figure_style import Form, write_as
from ifthen.parallel import checked_threads
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.simplify.shortened import KNEE, shortened
from ifthen.simplify.shortening import Progress
from ifthen.simulate.evaluate import evaluate, with_task
from ifthen.simulate.scope import ruleset_of, tabular
from ifthen.simulate.simulator import checked_ruleset
from ifthen.store import write_text
from ifthen.systems.front import Front, Point
from ifthen.tasks.task import Task
from ifthen.text_table import csv_of

EPISODES = 100
"""Test seeds that each policy of a front is played from."""


def front(
    policy: PolicyLike,
    task: TaskLike | None = None,
    *,
    episodes: int = EPISODES,
    polish: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Front:
    """Return the best policy found for each size, from one rule to all, with what each is worth.

    A trained PPL-X has a front of its own. Other rules are shortened step by step: exactly on a table, by
    playing the pruning seeds in an environment. Every policy is then measured: exactly, or on test seeds,
    which nothing was chosen on.

    Args:
        policy: a ruleset of any kind, or a trained system.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None.
        episodes: in an environment, how many test seeds to play.
        polish: on a table, also tune the rules that are left; not for a front that is there already.
        threads: threads or worker processes; all cores where None. Results do not depend on it.
        progress: called with the number of rules that are left after every step of shortening.
    """
    policy, policy_task = with_task(policy, task)
    ruleset = checked_ruleset(ruleset_of(policy), policy_task)
    if polish:
        tabular(policy_task, "polishing", ": leave polish out")
    unmeasured = None if polish else getattr(policy, "front", None)
    if unmeasured is None:
        on_step = progress or (lambda _: None)
        unmeasured = shortened(
            ruleset, policy_task, policy_task.pruning_seeds(), polish, checked_threads(threads), on_step
        )
    choose = getattr(policy, "chosen", None)
    marked = choose(unmeasured) if callable(choose) else unmeasured.knee(KNEE, within_error=True)
    parameters = getattr(getattr(policy, "learner", policy), "parameters", None)
    size_given = any(getattr(parameters, size, None) is not None for size in ("rules", "tests"))
    mark = "chosen" if size_given and callable(choose) else "knee"
    return measured(replace(unmeasured, marked=marked, mark=mark), policy_task, episodes, threads)


def measured(unmeasured: Front, task: Task, episodes: int = EPISODES, threads: int | None = None) -> Front:
    """Return a front with every policy measured in a task, and the nodes of its tree counted."""
    points = [_measured(point, task, episodes, threads) for point in unmeasured.points]
    marked = None if unmeasured.marked is None else points[unmeasured.points.index(unmeasured.marked)]
    optimum = None if points[0].measured is None else points[0].measured.optimum
    return replace(unmeasured, points=tuple(points), marked=marked, optimum=optimum)


def _measured(point: Point, task: Task, episodes: int, threads: int | None) -> Point:
    rules = checked_ruleset(point.ruleset, task)
    evaluation = evaluate(rules, task, task.best_method, threads=threads, seeds=task.test_seeds(episodes))
    return replace(point, measured=evaluation, nodes=nodes_of(rules, task))


def front_to(folder: Path, policy_front: Front, task: Task) -> None:
    """Write a front into a folder: its table as CSV and JSON, its drawing, and the rules of every policy."""
    folder.mkdir(parents=True, exist_ok=True)
    for old_file in folder.glob("rules-*-tests-*.txt"):
        old_file.unlink()  # a policy of an older front must not stay beside those of this one
    write_text(folder / "front.csv", csv_of(policy_front.to_table().drop("words")))
    data = {"task": task.name, **policy_front.to_dict()}
    write_text(folder / "front.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    for form in get_args(Form):
        write_as(folder / "front", policy_front.figure(title=task.name), form)
    for point in policy_front.points:
        write_text(folder / f"rules-{point.rules}-tests-{point.tests}.txt", to_text(point.ruleset, task))


def nodes_of(ruleset: RuleSet, task: Task) -> int | None:
    """Return the questions and leaves of a tree that does the same; None where it cannot be built."""
    try:
        return decision_tree(ruleset, task).nodes
    except RuleError:
        return None
