"""What a finished run prints, and the files that it writes beside its model and history."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ifthen.cli.packages import task_option
from ifthen.cli.terminal import measured_table, out, print_rules, scores_table

if TYPE_CHECKING:
    from rich.table import Table

    from ifthen.rules.ruleset import RuleSet
    from ifthen.study.run_folder import RunFolder
    from ifthen.study.settings import RunSettings
    from ifthen.systems.base import System
    from ifthen.tasks.env_task import EnvTask


def report(run_folder: RunFolder, settings: RunSettings, learner: System) -> None:
    """Write and print everything that a finished run has."""
    from ifthen.explain.words import readable
    from ifthen.rollout.evaluate import evaluate
    from ifthen.study.run_folder import REPORT, RULES
    from ifthen.tasks.env_task import EnvTask

    task, ruleset, played = learner.task, learner.ruleset, isinstance(learner.task, EnvTask)
    shown = readable(ruleset, task)
    _write_files(run_folder, settings, learner, shown)
    more = f"'ifthen show {run_folder.path}{task_option(settings.task)} --all' shows them"
    print_rules(learner.name, shown, task, len(ruleset), more)
    if len(shown) < len(ruleset):
        where = "in every state met on z" if played else "in every state"
        out.print(f"(these make the same choice {where} as all {len(ruleset)} in {RULES})")
    title = f"{learner.name} on {task.name}"
    if isinstance(task, EnvTask):
        out.print(z_and_unseen(title, ruleset, task, learner.threads))
        option = task_option(settings.task)
        out.print(f"('ifthen prune {run_folder.path}{option}' looks for fewer rules that do as well)")
    else:
        sampled = evaluate(learner, task, "sampled", learner.parameters.noise)
        out.print(measured_table(title, sampled, evaluate(learner, task, "exact")))
        _print_fewer(run_folder, learner, shown)
    out.print(f"written to {run_folder.path}; open {run_folder / REPORT}")


def z_and_unseen(title: str, ruleset: RuleSet, task: EnvTask, threads: int, episodes: int = 100) -> Table:
    """Return the scores of rules in an environment on z, and on reset seeds that nothing was learnt on."""
    from ifthen.rollout.score import score

    return scores_table(
        title,
        {
            "on z": score(ruleset, task, threads=threads),
            "on unseen seeds": score(ruleset, task, task.unseen(episodes), threads),
        },
    )


def _print_fewer(run_folder: RunFolder, learner: System, shown: RuleSet) -> None:
    """Say where fewer rules do the same in every state."""
    from ifthen.explain.fewer.simplify import simplify

    fewer = len(simplify(learner.ruleset, learner.task).ruleset)
    if fewer < len(shown):
        out.print(f"({fewer} rules say the same in every state: 'ifthen prune {run_folder.path}' shows them)")


def _write_files(run_folder: RunFolder, settings: RunSettings, learner: System, shown: RuleSet) -> None:
    """Write the rules, the pictures and the report, which lists the rules `shown`."""
    from ifthen.explain.export.data import to_json, written_name
    from ifthen.explain.export.text import rules_text
    from ifthen.explain.page import report_page
    from ifthen.explain.pictures.grid import has_grid
    from ifthen.explain.pictures.policy import policy_figure
    from ifthen.figure_style import write_png
    from ifthen.store import write_text
    from ifthen.study import run_folder as files
    from ifthen.study.figures.learning import learning_curve
    from ifthen.tasks.tabular import TabularTask

    ruleset, task = learner.ruleset, learner.task
    write_text(run_folder / files.RULES, rules_text(ruleset, written_name(task)))
    write_text(run_folder / files.RULESET, to_json(ruleset, task))
    curve = learning_curve(learner)
    write_png(run_folder / files.CURVE, curve)
    if isinstance(task, TabularTask) and has_grid(task):
        write_png(run_folder / files.POLICY, policy_figure(ruleset, task, f"{learner.name} on {task.name}"))
    command = command_of(settings, learner.start is not None)
    write_text(run_folder / files.REPORT, report_page(learner, shown, curve, command))


def command_of(settings: RunSettings, started: bool = False) -> str:
    """Return the command that does the run again.

    Args:
        settings: the run's.
        started: whether it began with given rules.
    """
    from ifthen.study.run_folder import SETTINGS, START
    from ifthen.study.settings import toml_value

    start = f" --start {START}" if started else ""
    if not isinstance(settings.task, str):
        return f"ifthen train --config {SETTINGS}{start}"
    parameters = "".join(f" --set {key}={toml_value(value)}" for key, value in settings.parameters.items())
    goal = settings.goal
    length = f"--{goal.unit} {goal.target}"
    length += "" if settings.stop_at is None else f" --stop-at {settings.stop_at:g}"
    name = shlex.quote(settings.task)
    return f"ifthen train {settings.system} {name} {length} --seed {settings.seed}{parameters}{start}"
