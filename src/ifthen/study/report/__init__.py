"""The report of a study: a single HTML file that needs nothing else.

The page is `page.html.j2` with `page.css` and `page.js`; what it shows is worked out here and in the modules
beside this one: curves and rulesets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ifthen.digits import mean_and_sd
from ifthen.figure_style import COLOURS
from ifthen.pages.report import inline_svg
from ifthen.study.figures.density import Densities, density_figure, largest_density
from ifthen.study.figures.influence import influence_figure
from ifthen.study.histories import UNSEEN
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.report.curves import MEASURES, Panel, curve_panel
from ifthen.study.report.rulesets import best_rulesets
from ifthen.study.results import Measure, Results
from ifthen.study.tables import Performance, all_tables, performances
from ifthen.study.verdicts import Judged, Tally, judge, main_measure, tallies

DASHES = ("none", "7 3", "8 2 2 2", "2 2")


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
    means: dict[str, list[Performance]]


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
    influence = influence_figure(results)
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
        influence=None if influence is None else inline_svg(influence),
        heatmaps=_heatmaps(results, densities),
        colours=COLOURS,
        dashes=DASHES,
        rulesets=best_rulesets(results),
        environments=results.environments,
        only_environments=results.only_environments,
        unseen=UNSEEN,
        main=next(name for name, measure in MEASURES.items() if measure == main_measure(results)),
        mean_and_sd=mean_and_sd,
        versions=results.versions,
        parameters={system.name: _parameters(results.plan, system.name) for system in results.plan.systems},
    )


def _parameters(plan: StudyPlan, system: str) -> dict[str, str]:
    """Return the parameters of a system as they were: where tasks differ, all values met, in their order."""
    given = [
        plan.make_system(Trial(system, task, plan.first_seed)).parameters.model_dump()
        for task in plan.tasks_by_name()
    ]
    return {name: ", ".join(dict.fromkeys(str(own[name]) for own in given)) for name in given[0]}


def _measured(results: Results, measure: Measure) -> Measured:
    """Return verdicts and means by one measure."""
    judged, tasks = judge(results, measure), results.plan.tasks_by_name()
    return Measured(
        tallies(judged),
        {task: [one for one in judged if one.task == task] for task in tasks},
        {task: performances(results, task, measure) for task in tasks},
    )


def _heatmaps(results: Results, densities: Densities) -> dict[str, dict[str, Markup]]:
    """Return the density figures of every task on a grid, on a scale of its own and on one for all."""
    scales = {"local": None, "global": largest_density(densities)}
    drawn: dict[str, dict[str, Markup]] = {}
    for name, task in results.grids.items():
        for scale, largest in scales.items():
            figure = density_figure(results, densities, task, largest)
            if figure is not None:
                drawn.setdefault(name, {})[scale] = inline_svg(figure)
    return drawn


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
