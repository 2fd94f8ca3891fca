"""The report of one run: a single HTML file that needs nothing else."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from ifthen.digits import ALL_EQUAL, in_units, interval_in_words, mean_in_words, worth_showing
from ifthen.explanation.reading import read_rules, readable
from ifthen.exports.parts import rendered
from ifthen.pages.explain_tables import limit_in_words
from ifthen.provenance import versions
from ifthen.simplify.prune import PruneResult
from ifthen.simulate.scope import scope_of
from ifthen.simulate.simulator import Evaluation
from ifthen.systems.front import Front
from ifthen.systems.system import System
from ifthen.tasks.disturbance import in_words
from ifthen.tasks.task import Task
from ifthen.text_table import TextTable

SOURCES = {
    "given": "given by you",
    "known": "known for this environment",
    "declared": "declared by the environment",
    "probed": "probed: from trial episodes",
}
"""Where the range of a feature comes from, in words."""


def report_page(
    system: System,
    pruned: PruneResult | None,
    evaluations: dict[str, Evaluation],
    as_learnt: Mapping[str, Evaluation],
    curve: Figure,
    picture: Figure | None,
    command: str,
    explained: str,
    front: Front | None = None,
    model: str = "FOLDER",
    taught: Sequence[TextTable] = (),
) -> str:
    """Return the report of a trained system as one HTML text.

    Args:
        system: a trained system.
        pruned: its pruned rules, which are shown first; None where there are none.
        evaluations: how well the policy does: the pruned rules, or the rules as learnt where there are none.
        as_learnt: how well the rules as learnt do.
        curve: its learning curve.
        picture: the policy drawn; None where the task offers no such picture.
        command: the command that repeats the run.
        explained: the file of the explain page beside the report; "" where there is none.
        front: the best list of each length, measured; None where the system looks for none.
        model: how commands call the run, with its options.
        taught: tables that compare the rules with their teacher, where they had one.
    """
    task, learnt = system.task, system.ruleset
    ruleset = learnt if pruned is None else pruned.ruleset
    shown, scope, title = readable(ruleset, task), scope_of(ruleset, task), ruleset.notes_title
    headline = next(iter(evaluations))
    changed = pruned is not None and pruned.seeds is not None  # rules of a table do the same as before
    observed = list(zip(task.features, sources_of(task), strict=True))
    shown_features = worth_showing((feature.name for feature in task.features), ruleset.tested)
    unpruned = {"as learnt, before pruning": as_learnt[headline]} if changed else {}
    return rendered(
        "report.html.j2",
        "pages",
        system=system,
        task=task,
        command=command,
        model=model,
        lead=lead_of(evaluations, task),
        tiles=tiles_of(evaluations),
        how=ruleset.how + (f" Payoff: {title[0].lower()}{title[1:]}." if title else ""),
        rules=read_rules(shown, task).in_order,
        everything=len(ruleset),
        shield=system.shield_in_words(ruleset),
        pruned=pruned,
        learnt=len(learnt),
        as_learnt=[] if pruned is None else read_rules(readable(learnt, task), task).in_order,
        explained=explained,
        where="" if scope is None else scope.words,
        last=system.now.records[-1],
        curve=inline_svg(curve),
        picture=None if picture is None else inline_svg(picture),
        front=None if front is None else front.text_table(),
        front_drawn=front_drawn(front),
        taught=taught,
        headings=list(evaluations | unpruned),
        measured=measured_rows(evaluations | unpruned),
        features=[feature_source for feature_source in observed if feature_source[0].name in shown_features],
        other_features=[
            feature_source for feature_source in observed if feature_source[0].name not in shown_features
        ],
        sources=SOURCES,
        task_words=task_in_words(task, evaluations),
        parameters=system.parameters.model_dump(),
        versions=versions(),
    )


def lead_of(evaluations: Mapping[str, Evaluation], task: Task) -> str:
    """Return a sentence on the measurement that says most: the exact one, or that on test seeds."""
    name, evaluation = next(iter(evaluations.items()))
    subject = f"Its performance {name}" if name.startswith("on ") else f"Its {name} performance"
    if evaluation.failed:
        return (
            "The policy reaches a state with no matching rule, so its performance is the task's floor, "
            f"{in_units(evaluation.performance)}."
        )
    discounted = (
        f", discounted by γ = {task.gamma:g}" if task.gamma != 1 and evaluation.optimum is None else ""
    )
    best = f"; an optimal policy has {in_units(evaluation.optimum)}" if evaluation.optimum is not None else ""
    return f"{subject} is {mean_in_words(evaluation.performance, evaluation.interval)}{discounted}{best}."


def tiles_of(evaluations: Mapping[str, Evaluation]) -> list[tuple[str, str, str]]:
    """Return the numbers at the top, the best measure first: a number, its interval or "", its name."""
    tiles = []
    for name, evaluation in evaluations.items():
        if evaluation.fraction is not None:
            tiles.append((f"{evaluation.fraction:.1%}", "", f"of the optimum, {name}"))
        elif evaluation.optimum is not None:
            tiles.append(
                (in_units(evaluation.performance - evaluation.optimum), "", f"from the optimum, {name}")
            )
        else:
            ends = interval_in_words(evaluation.interval, evaluation.performance)
            words = "mean return and its 95 % interval" if ends else "mean return"
            if ends == ALL_EQUAL:
                ends, words = "", "mean return, the same in every episode,"
            mean = evaluation.performance if evaluation.returns is None else float(evaluation.returns.mean())
            tiles.append((in_units(mean), ends, f"{words} {name}"))
    return tiles


def measured_rows(evaluations: Mapping[str, Evaluation]) -> list[tuple[str, list[str]]]:
    """Return a name and a text per measurement for every row that applies to any of them."""
    columns = [dict(evaluation.rows()) for evaluation in evaluations.values()]
    rows = {name: [column[name] for column in columns] for name in columns[0]}
    return [(name, [text or "–" for text in texts]) for name, texts in rows.items() if any(texts)]


def sources_of(task: Task) -> tuple[str, ...]:
    """Return where the range of each feature comes from: "given", "known", "declared", "probed", or ""."""
    sources = tuple(str(task.origin.get("ranges", "")).split())
    fits = len(sources) == len(task.features) and all(source in SOURCES for source in sources)
    return sources if fits else ("",) * len(task.features)


def task_in_words(task: Task, evaluations: Mapping[str, Evaluation]) -> str:
    """Return the task in one line: its size, its discount, its limit and its floor.

    Args:
        task: the task.
        evaluations: measurements, which know the longest episode that was played.
    """
    environment = f", the environment {task.environment}" if task.environment not in ("", task.name) else ""
    options: Mapping[str, Any] = getattr(task, "options", {})
    conditions = (
        "; made with " + ", ".join(f"{name} = {value}" for name, value in options.items()) if options else ""
    )
    longest = max(
        (evaluation.longest for evaluation in evaluations.values() if evaluation.longest is not None),
        default=None,
    )
    disturbances = in_words(task.disturbances)
    conditions += (
        f"; with {disturbances} between rules and environment, in training and in tests"
        if disturbances
        else ""
    )
    return (
        f"{task.name}{environment}: {len(task.features)} features, {task.n_actions} actions, "
        f"γ = {task.gamma:g}, {task.n_episodes:,} training episodes of "
        f"{limit_in_words(task.t_max, longest)}, "
        f"and a policy that reaches a state with no rule counts as {task.floor:g}{conditions}"
    )


def front_drawn(front: Front | None, size: tuple[float, float] | None = None) -> Markup | None:
    """Return the drawing of a front; None where there is none, or where it has a single policy.

    Args:
        front: the front.
        size: width and height in inches; the usual ones where None.
    """
    if front is None or len(front) == 1:
        return None
    figure = front.figure()
    if size is not None:
        figure.set_size_inches(*size)
    return inline_svg(figure)


def inline_svg(figure: Figure) -> Markup:
    """Return a figure as an SVG element, the same bytes for the same figure."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "ifthen"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    return Markup(svg[svg.index("<svg") :])  # ours, made by matplotlib from numbers and checked names
