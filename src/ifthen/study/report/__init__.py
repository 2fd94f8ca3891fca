"""The report of a study: a single HTML file that needs nothing else.

The page is `page.html.j2` with `page.css` and `page.js`; what it shows is worked out here and in the modules
beside this one: curves, heatmaps and rulesets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from ifthen.study.figures.density import Densities, largest_density
from ifthen.study.figures.style import COLOURS
from ifthen.study.paper import papers_performance
from ifthen.study.report.curves import MEASURES, Panel, curve_panel
from ifthen.study.report.heatmaps import heatmaps, scale_colours
from ifthen.study.report.rulesets import best_rulesets
from ifthen.study.results import Results
from ifthen.study.statistics import Summary, standard_errors_apart, summarise
from ifthen.study.tables import all_tables
from ifthen.study.verdicts import Judged, Measure, Tally, judge, samples_of, tallies

DASHES = ("none", "7 3", "8 2 2 2", "2 2")


@dataclass(frozen=True)
class Mean:
    """A cell of the first table: a system's performance on a task, and the paper's."""

    summary: Summary
    paper: tuple[float, float] | None
    apart: float | None


@dataclass(frozen=True)
class Measured:
    """What one way of measuring performance says.

    Args:
        tallies: how often which verdict came out, for each pair of systems.
        verdicts: by task, for each pair of systems.
        means: by task, for each system.
    """

    tallies: list[Tally]
    verdicts: dict[str, list[Judged]]
    means: dict[str, list[Mean]]


def study_page(results: Results, densities: Densities) -> str:
    """Return the report of a study as one HTML text; the same results give the same text.

    Args:
        results: the study's.
        densities: mean density of best action sets per decision state, by system and task; may be empty.
    """
    environment = Environment(
        loader=PackageLoader("ifthen.study", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tasks = results.plan.tasks_by_name()
    panels = {task: curve_panel(results, task) for task in tasks}
    return environment.get_template("page.html.j2").render(
        plan=results.plan,
        systems=[system.name for system in results.plan.systems],
        tasks=tasks,
        finished=len(results.finals),
        failed=results.failed,
        missing=results.missing,
        measured={name: _measured(results, measure) for name, measure in MEASURES.items()},
        tables=all_tables(results),
        panels=panels,
        curve_data=_curve_data(panels),
        heatmaps=heatmaps(tasks, densities),
        largest=largest_density(densities),
        scale_colours=scale_colours(),
        colours=COLOURS,
        dashes=DASHES,
        rulesets=best_rulesets(results),
        versions=results.versions,
    )


def _measured(results: Results, measure: Measure) -> Measured:
    """Return verdicts and means by one measure."""
    judged, tasks = judge(results, measure), results.plan.tasks_by_name()
    return Measured(
        tallies(judged),
        {task: [one for one in judged if one.task == task] for task in tasks},
        {task: _means(results, task, measure) for task in tasks},
    )


def _means(results: Results, task: str, measure: Measure) -> list[Mean]:
    """Return the performance of every system on a task, the paper's beside it where it measured the same."""
    means = []
    for system, values in samples_of(results, task, measure).items():
        summary = summarise(values, results.failures(system, task))
        row = papers_performance().get((system, task)) if measure == "fraction" else None
        apart = None
        if row and summary.mean is not None and summary.sd is not None:
            apart = standard_errors_apart(summary.mean, summary.sd, summary.n, row[0], row[1])
        means.append(Mean(summary, None if row is None else row[:2], apart))
    return means


def _curve_data(panels: Mapping[str, Panel]) -> dict[str, object]:
    """Return the numbers behind the curves, for what the page shows on hovering."""
    return {
        task: {
            "epochs": panel.epochs,
            "low": panel.low,
            "high": panel.high,
            "lines": [
                {"measure": line.measure, "system": line.system, "mean": line.mean, "sd": line.sd}
                for line in panel.lines
            ],
        }
        for task, panel in panels.items()
    }
