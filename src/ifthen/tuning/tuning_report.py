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


def report_page(found: TuneResult) -> str:
    """Return the page."""
    drawn = importance_figure(found)
    return rendered(
        "report.html.j2",
        "tuning",
        title=f"Tuning {found.plan.kind().name} on {found.task}",
        found=found,
        figures={
            "Scores in order": inline_svg(history_figure(found)),
            "Learning curves": inline_svg(curves_figure(found)),
        },
        importance=None if drawn is None else inline_svg(drawn),
        slices=inline_svg(slices_figure(found)),
        tables=[found.final_table(), found.finalists_table()],
        best=found.best_table(),
        tried=tried_table(found),
        toml=found.settings.to_toml(),
        asked=found.plan.to_toml(),
        versions=versions(),
    )


def tried_table(found: TuneResult) -> TextTable:
    """Return all that was tried, the best first."""
    ranked = sorted(found.tried, key=lambda one: (one.score is None, -(one.score or 0.0), one.number))
    rows = tuple(
        (
            str(one.number),
            in_units(one.score),
            one.state,
            *(toml_value(one.parameters[n]) for n in found.space),
        )
        for one in ranked[:MOST_ROWS]
    )
    return TextTable("", ("trial", "score", "state", *found.space), rows)
