"""The report of one run: a single HTML file that needs nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from ifthen.digits import in_units
from ifthen.explanation.pictures.write import policy_picture
from ifthen.explanation.reading import read_rules
from ifthen.exports.parts import rendered
from ifthen.provenance import versions
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.evaluate import evaluations
from ifthen.simulate.scope import scope_of
from ifthen.simulate.simulator import Evaluation
from ifthen.systems.system import System
from ifthen.tasks.task import Task

SOURCES = {
    "given": "given by you",
    "known": "known for this environment",
    "declared": "declared by the environment",
    "probed": "probed: visited by random play",
}
"""Where the range of a feature comes from, in words."""


def report_page(system: System, shown: RuleSet, curve: Figure, command: str) -> str:
    """Return the report of a trained system as one HTML text.

    Args:
        system: a trained system.
        shown: its ruleset, or those of its rules that are listed.
        curve: its learning curve.
        command: the command that repeats the run.
    """
    task, ruleset, title = system.task, system.ruleset, system.ruleset.notes_title
    found = evaluations(ruleset, task, system.parameters.noise, system.threads)
    picture, scope = policy_picture(ruleset, task), scope_of(ruleset, task)
    return rendered(
        "report.html.j2",
        "pages",
        system=system,
        task=task,
        command=command,
        lead=lead_of(found, task),
        tiles=tiles_of(found),
        how=ruleset.how + (f" Payoff: {title[0].lower()}{title[1:]}." if title else ""),
        rules=read_rules(shown, task).in_order,
        everything=len(ruleset),
        where="" if scope is None else scope.words,
        last=system.now.records[-1],
        curve=inline_svg(curve),
        picture=None if picture is None else inline_svg(picture),
        headings=list(found),
        measured=measured_rows(found),
        features=list(zip(task.features, sources_of(task), strict=True)),
        sources=SOURCES,
        task_words=task_in_words(task),
        parameters=system.parameters.model_dump(),
        versions=versions(),
    )


def lead_of(found: Mapping[str, Evaluation], task: Task) -> str:
    """Return a sentence on the measurement that says most: the exact one, or that on test seeds."""
    name, one = list(found.items())[-1]
    where = f"Its performance {name}" if name.startswith("on ") else f"Its {name} performance"
    if one.failed:
        return (
            "The policy reaches a state with no matching rule, so its performance is the task's floor, "
            f"{in_units(one.performance)}."
        )
    discounted = f", discounted by γ = {task.gamma:g}" if task.gamma != 1 and one.optimum is None else ""
    best = f"; an optimal policy has {in_units(one.optimum)}" if one.optimum is not None else ""
    return f"{where} is {in_units(one.performance)}{discounted}{best}."


def tiles_of(found: Mapping[str, Evaluation]) -> list[tuple[str, str, str]]:
    """Return the numbers at the top, the best measure first: a number, its deviation or "", its name."""
    tiles = []
    for name, one in reversed(list(found.items())):
        if one.fraction is not None:
            tiles.append((f"{one.fraction:.1%}", "", f"of the optimum, {name}"))
        elif one.optimum is not None:
            tiles.append((in_units(one.performance - one.optimum), "", f"from the optimum, {name}"))
        else:
            spread = (
                "" if one.deviation is None or one.deviation != one.deviation else in_units(one.deviation)
            )
            words = "mean return ± standard deviation" if spread else "mean return"
            mean = one.performance if one.returns is None else float(one.returns.mean())
            tiles.append((in_units(mean), spread, f"{words} {name}"))
    return tiles


MEASURES: dict[str, Callable[[Evaluation], str | None]] = {
    "performance": lambda one: in_units(one.performance) + (" (the floor)" if one.failed else ""),
    "optimal policy": lambda one: _units(one.optimum),
    "fraction of the optimum": lambda one: _share(one.fraction),
    "standard deviation": lambda one: _units(one.deviation),
    "least return": lambda one: _units(one.least),
    "largest return": lambda one: _units(one.most),
    "episodes": lambda one: f"{one.episodes:,}" if one.episodes else None,
    "reset seeds": lambda one: None if one.seeds is None else f"{one.seeds.min():,} to {one.seeds.max():,}",
    "steps": lambda one: f"{one.steps:,}" if one.steps else None,
    "truncated episodes": lambda one: _share(one.truncated_share) if one.episodes else None,
    "reached a state with no rule": lambda one: _share(one.failed_share),
    "states with no rule": lambda one: None if one.uncovered is None else f"{len(one.uncovered):,}",
}
"""The rows of the table of measurements; None where a row does not apply."""


def _units(value: float | None) -> str | None:
    return None if value is None or value != value else in_units(value)


def _share(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def measured_rows(found: Mapping[str, Evaluation]) -> list[tuple[str, list[str]]]:
    """Return a name and a text per measurement for every row that applies to any of them."""
    rows = {name: [measure(one) for one in found.values()] for name, measure in MEASURES.items()}
    return [(name, [text or "–" for text in texts]) for name, texts in rows.items() if any(texts)]


def sources_of(task: Task) -> tuple[str, ...]:
    """Return where the range of each feature comes from: "given", "known", "declared", "probed", or ""."""
    told = tuple(str(task.origin.get("ranges", "")).split())
    fits = len(told) == len(task.features) and all(source in SOURCES for source in told)
    return told if fits else ("",) * len(task.features)


def task_in_words(task: Task) -> str:
    """Return the task in one line: its size, its discount, its limit and its floor."""
    environment = f", the environment {task.environment}" if task.environment not in ("", task.name) else ""
    options: Mapping[str, Any] = getattr(task, "options", {})
    made = (
        "; made with " + ", ".join(f"{name} = {value}" for name, value in options.items()) if options else ""
    )
    return (
        f"{task.name}{environment}: {len(task.features)} features, {task.n_actions} actions, "
        f"γ = {task.gamma:g}, {task.n_episodes:,} training episodes of at most {task.t_max:,} steps, "
        f"performance {task.floor:g} where a state with no rule is reached{made}"
    )


def inline_svg(figure: Figure) -> Markup:
    """Return a figure as an SVG element, the same bytes for the same figure."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "ifthen"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return Markup(text[text.index("<svg") :])  # ours, made by matplotlib from numbers and checked names
