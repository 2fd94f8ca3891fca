"""The report of one run: a single HTML file that needs nothing else."""

from __future__ import annotations

import io
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from ifthen.explain.page.env_report import about_environment
from ifthen.explain.pictures.grid import has_grid
from ifthen.explain.pictures.policy import policy_figure
from ifthen.explain.words import rules_in_words
from ifthen.provenance import versions
from ifthen.rollout.evaluate import evaluate
from ifthen.rules.ruleset import RuleSet
from ifthen.systems.base import System
from ifthen.tasks.env_task import EnvTask


def report_page(system: System, shown: RuleSet, curve: Figure, command: str) -> str:
    """Return the report of a trained system as one HTML text.

    Args:
        system: a system that has learnt.
        shown: its ruleset, or as many of its rules as are to be listed.
        curve: its learning curve.
        command: the command that made it, to be shown.
    """
    task = system.task
    environment = Environment(
        loader=PackageLoader("ifthen.explain", "page"), autoescape=True, undefined=StrictUndefined
    )
    played = isinstance(task, EnvTask)
    return environment.get_template("env_report.html.j2" if played else "report.html.j2").render(
        system=system,
        task=task,
        command=command,
        rules=rules_in_words(shown, task),
        everything=len(system.ruleset),
        last=system.now.records[-1],
        curve=inline_svg(curve),
        parameters=system.parameters.model_dump(),
        versions=versions(),
        **(about_environment(system) if played else _about_table(system)),
    )


def _about_table(system: System) -> dict[str, Any]:
    """Return what the report tells of a task whose states are listed."""
    task, ruleset = system.task, system.ruleset
    exact = evaluate(ruleset, task, "exact")
    return {
        "sampled": evaluate(ruleset, task, "sampled", system.parameters.noise),
        "exact": exact,
        "relative": exact.fraction == exact.fraction,
        "map": inline_svg(policy_figure(ruleset, task, title=" ")) if has_grid(task) else None,
    }


def inline_svg(figure: Figure) -> Markup:
    """Return a figure as an SVG element, the same bytes for the same figure."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "ifthen"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return Markup(text[text.index("<svg") :])  # ours, made by matplotlib from numbers and checked names
