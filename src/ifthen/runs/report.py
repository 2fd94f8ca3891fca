"""The report of a finished run: rules, pictures and a page, beside its model and history."""

from __future__ import annotations

import shlex

from ifthen.explanation.pictures.grid import has_grid
from ifthen.explanation.pictures.grid_figures import policy_figure
from ifthen.explanation.reading import readable
from ifthen.exports.data import to_json, to_text
from ifthen.figure_style import write_png
from ifthen.pages.report import report_page
from ifthen.runs import folder as files
from ifthen.runs.folder import RunFolder
from ifthen.runs.learning_curve import learning_curve
from ifthen.runs.settings import RunSettings, toml_value
from ifthen.simulate.scope import tabular
from ifthen.store import write_text
from ifthen.systems.system import System


def write_report(folder: RunFolder, settings: RunSettings, system: System) -> None:
    """Write the rules, the pictures and the page of a finished run.

    Args:
        folder: the run's folder.
        settings: the run's settings.
        system: the trained system.
    """
    ruleset, task = system.ruleset, system.task
    write_text(folder / files.RULES, to_text(ruleset, task))
    write_text(folder / files.RULESET, to_json(ruleset, task))
    curve = learning_curve(system)
    write_png(folder / files.CURVE, curve)
    if has_grid(task):
        title = f"{system.name} on {task.name}"
        write_png(folder / files.POLICY, policy_figure(ruleset, tabular(task, "the picture"), title))
    command = command_of(settings, system.start is not None)
    write_text(folder / files.REPORT, report_page(system, readable(ruleset, task), curve, command))


def command_of(settings: RunSettings, started: bool = False) -> str:
    """Return the command that repeats the run.

    Args:
        settings: the run's.
        started: whether it began with given rules.
    """
    start = f" --start {files.START}" if started else ""
    if not isinstance(settings.task, str):
        return f"ifthen train --config {files.SETTINGS}{start}"
    parameters = "".join(f" --set {key}={toml_value(value)}" for key, value in settings.parameters.items())
    goal = settings.goal
    length = f"--{goal.unit} {goal.target}"
    length += "" if settings.stop_at is None else f" --stop-at {settings.stop_at:g}"
    name = shlex.quote(settings.task)
    return f"ifthen train {settings.system} {name} {length} --seed {settings.seed}{parameters}{start}"
