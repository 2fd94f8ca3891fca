"""All that a study has to show, written into its folder: tables, figures, and a page that needs nothing else.

report.html        the page: `page.html.j2` with `page.css` and `page.js`
tables/            every table as CSV, Markdown and LaTeX, rounded for reading
data/              the numbers behind them in full: per trial, per summary, per comparison
figures/           every figure as PNG and PDF
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from ifthen.digits import mean_and_sd
from ifthen.explanation.pictures.policy_grid import cells, sign_of
from ifthen.explanation.reading import ShownRule, read_rules, readable
from ifthen.exports.parts import rendered
from ifthen.figure_style import write_figure
from ifthen.pages.report_page import inline_svg
from ifthen.store import write_text
from ifthen.study.figures.grids import densities, density_figure, lakes_figure
from ifthen.study.figures.influence import influence_figure
from ifthen.study.figures.learning_curves import curves_grid
from ifthen.study.histories import UNSEEN
from ifthen.study.study_plan import StudyPlan, Trial, safe_name
from ifthen.study.study_results import MEASURES, Measure, Results
from ifthen.study.study_tables import all_data, all_tables, performances
from ifthen.study.verdicts import judge, measures, second_name, tallies
from ifthen.text_table import csv_of

REPORT = "report.html"

Drawings = dict[str, Callable[[], Figure | None]]
"""What draws each figure; None where a study has no use for it."""


@dataclass(frozen=True)
class BestRuleset:
    """The final ruleset of the trial that did best."""

    trial: Trial
    performance: float
    """Exact, as a fraction of the optimum where that can be; in an environment on test seeds. It is the
    performance of the rules shown: of the pruned ones where there are any."""
    how: str
    """How its rules choose, as one sentence."""
    everything: int
    """The number of rules."""
    learnt: int
    """The number of rules before pruning; the same number where it was not pruned."""
    rules: list[ShownRule]
    """All rules in their order; of a long ruleset that votes, those that choose the same everywhere."""
    arrows: list[list[tuple[str, str]]]
    """The policy on the grid, row by row: a symbol and a class of style; empty without a grid."""


def best_rulesets(results: Results) -> dict[str, list[BestRuleset]]:
    """Return the best ruleset of every system, by task; empty where rulesets are not kept.

    In an environment it is the best on validation seeds, so that its score on test seeds is not the luckiest.
    Pruned rules are shown where they are kept.
    """
    if results.ruleset is None:
        return {}
    best_by_task: dict[str, list[BestRuleset]] = {}
    for name, task in results.plan.tasks_by_name().items():
        choice_column, column = (results.column(name, "exact_fraction", final) for final in (False, True))
        for system in results.plan.systems:
            values, choice_values = (
                results.values(system.name, name, score_column) for score_column in (column, choice_column)
            )
            if values:
                best = max(range(len(values)), key=choice_values.__getitem__)  # the first of the best
                trial = results.trials(system.name, name)[best]
                learnt = results.ruleset(trial)
                pruned = None if results.pruned is None else results.pruned(trial)
                ruleset = learnt if pruned is None else pruned
                (final_row,) = results.finals.filter(**trial._asdict()).iter_rows(named=True)
                # On a table pruned rules have the same score.
                pruned_score = None if pruned is None else final_row.get("pruned_score")
                score = values[best] if pruned_score is None else float(pruned_score)
                rules = list(read_rules(readable(ruleset, task), task).in_order)
                grid = cells(ruleset, results.grids[name]) if name in results.grids else []
                arrows = [[sign_of(cell) for cell in row] for row in grid]
                sizes = len(ruleset), len(learnt)
                best_ruleset = BestRuleset(trial, score, ruleset.how, *sizes, rules, arrows)
                best_by_task.setdefault(name, []).append(best_ruleset)
    return best_by_task


def write_tables(folder: Path, results: Results) -> None:
    """Write every table of a study as CSV, Markdown and LaTeX, and the data behind them as CSV."""
    for name, grid in all_tables(results).items():
        for suffix, content in (("csv", grid.to_csv()), ("md", grid.to_markdown()), ("tex", grid.to_latex())):
            write_text(folder / "tables" / f"{name}.{suffix}", content)
    for name, table in all_data(results).items():
        write_text(folder / "data" / f"{name}.csv", csv_of(table))


def write_report(folder: Path, results: Results, progress: Callable[[str], None]) -> Path:
    """Write tables, figures and the page; return the path of the page. `progress` is told what comes next."""
    progress("tables")
    write_tables(folder, results)
    figures = all_figures(results, progress)
    for name, draw in figures.items():
        if (figure := draw()) is not None:
            progress(f"figure {name}")
            write_figure(folder / "figures" / name, figure)
    progress("page")
    write_text(folder / REPORT, study_page(results, figures))
    return folder / REPORT


def all_figures(results: Results, progress: Callable[[str], None]) -> Drawings:
    """Return what draws the figures of a study, by the names of their files."""
    number = count(1)
    main, second = measures(results)
    density_maps = densities(
        results, lambda: progress(f"density of best action sets, trial {next(number):,}")
    )
    drawings: Drawings = {
        "curves": partial(curves_grid, results, main),
        f"curves-{second_name(results)}": partial(curves_grid, results, second),
        "lakes": partial(lakes_figure, results.grids.values()),
        "influence": partial(influence_figure, results),
    }
    largest_density = max((float(density.max()) for density in density_maps.values()), default=1.0)
    for name, task in results.grids.items():
        for scale, largest in (("local", None), ("global", largest_density)):
            drawings[_density_name(name, scale)] = partial(
                density_figure, results, density_maps, task, largest
            )
    return drawings


def _density_name(task: str, scale: str) -> str:
    return f"density-{safe_name(task)}-{scale}"


def study_page(results: Results, figures: Drawings) -> str:
    """Return the report of a study as one HTML text; the same results give the same text.

    Of the figures, those of curves, influence and densities are in the page.
    """
    tasks, name_of = results.plan.tasks_by_name(), {measure: name for name, measure in MEASURES.items()}
    main, second = (name_of[measure] for measure in measures(results))
    curve_figures = {
        main: _drawn(figures, "curves"),
        second: _drawn(figures, f"curves-{second_name(results)}"),
    }
    return rendered(
        "page.html.j2",
        "study/report",
        plan=results.plan,
        systems=[system.name for system in results.plan.systems],
        tasks=tasks,
        finished=len(results.finals),
        failed=results.failed,
        missing=results.missing,
        measured={name_of[measure]: _measured(results, measure) for measure in measures(results)},
        tables=all_tables(results),
        relative=[task for task in tasks if results.relative(task)],
        curves={name: figure for name, figure in curve_figures.items() if figure is not None},
        influence=_drawn(figures, "influence"),
        heatmaps=_heatmaps(results, figures),
        rulesets=best_rulesets(results),
        environments=results.environments,
        only_environments=results.only_environments,
        unseen=UNSEEN,
        main=main,
        mean_and_sd=mean_and_sd,
        versions=results.versions,
        parameters={system.name: _parameters(results.plan, system.name) for system in results.plan.systems},
    )


def _parameters(plan: StudyPlan, system: str) -> dict[str, str]:
    """Return the parameters of a system as they were: where tasks differ, all values met, in their order."""
    parameters_by_task = [
        plan.make_system(Trial(system, task, plan.first_seed)).parameters.model_dump()
        for task in plan.tasks_by_name()
    ]
    return {
        name: ", ".join(dict.fromkeys(str(parameters[name]) for parameters in parameters_by_task))
        for name in parameters_by_task[0]
    }


def _measured(results: Results, measure: Measure) -> dict[str, Any]:
    """Return what a measure says: how often which verdict came out, and verdicts and means by task."""
    judged, tasks = judge(results, measure), results.plan.tasks_by_name()
    return {
        "tallies": tallies(judged),
        "verdicts": {task: [judgement for judgement in judged if judgement.task == task] for task in tasks},
        "means": {task: performances(results, task, measure) for task in tasks},
    }


def _heatmaps(results: Results, figures: Drawings) -> dict[str, dict[str, Markup]]:
    """Return the density figures of every task on a grid, on a scale of its own and on one for all."""
    heatmaps: dict[str, dict[str, Markup]] = {}
    for task in results.grids:
        for scale in ("local", "global"):
            if (figure := _drawn(figures, _density_name(task, scale))) is not None:
                heatmaps.setdefault(task, {})[scale] = figure
    return heatmaps


def _drawn(figures: Drawings, name: str) -> Markup | None:
    figure = figures[name]() if name in figures else None
    return None if figure is None else inline_svg(figure)
