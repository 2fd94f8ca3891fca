"""The report of a tuning: a single HTML file that needs nothing else."""

from __future__ import annotations

from ifthen.digits import in_units
from ifthen.exports.parts import rendered
from ifthen.pages.report_page import inline_svg
from ifthen.provenance import versions
from ifthen.runs.settings import toml_value
from ifthen.text_table import TextTable
from ifthen.tuning.figures import curves_figure, history_figure, importance_figure, slices_figure
from ifthen.tuning.tuning_result import TuneResult

MOST_ROWS = 300
"""At most this many of the settings that were tried are listed, the best ones."""


def report_page(result: TuneResult) -> str:
    """Return the page."""
    importance_chart = importance_figure(result)
    return rendered(
        "report.html.j2",
        "tuning",
        title=f"Tuning {result.plan.kind().name} on {result.task}",
        result=result,
        figures={
            "Scores in order": inline_svg(history_figure(result)),
            "Learning curves": inline_svg(curves_figure(result)),
        },
        importance=None if importance_chart is None else inline_svg(importance_chart),
        slices=inline_svg(slices_figure(result)),
        tables=[result.final_table(), result.finalists_table()],
        best=result.best_table(),
        tried=tried_table(result),
        toml=result.settings.to_toml(),
        asked=result.plan.to_toml(),
        versions=versions(),
    )


def tried_table(result: TuneResult) -> TextTable:
    """Return all that was tried, the best first."""
    ranked = sorted(
        result.tried, key=lambda trial: (trial.score is None, -(trial.score or 0.0), trial.number)
    )
    rows = tuple(
        (
            str(trial.number),
            in_units(trial.score),
            trial.state,
            *(toml_value(trial.parameters[n]) for n in result.space),
        )
        for trial in ranked[:MOST_ROWS]
    )
    return TextTable("", ("trial", "score", "state", *result.space), rows)
