"""Writing all that a study has to show into its folder: tables, figures and the report.

report.html        the page
tables/            every table as CSV, Markdown and LaTeX, rounded for reading
data/              the numbers behind them in full: per trial, per summary, per comparison
figures/           every figure as PNG and PDF
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from matplotlib.figure import Figure

from ifthen.figure_style import write_figure
from ifthen.store import write_text
from ifthen.study.data import all_data
from ifthen.study.figures.density import Densities, densities, density_figure, largest_density
from ifthen.study.figures.influence import influence_figure
from ifthen.study.figures.lakes import lakes_figure
from ifthen.study.figures.learning import curves_grid
from ifthen.study.plan import safe_name
from ifthen.study.report import study_page
from ifthen.study.results import Results
from ifthen.study.tables import all_tables
from ifthen.study.verdicts import second_name

REPORT = "report.html"


def write_tables(folder: Path, results: Results) -> None:
    """Write every table of a study as CSV, Markdown and LaTeX, and the data behind them as CSV."""
    for name, grid in all_tables(results).items():
        for suffix, text in (("csv", grid.to_csv()), ("md", grid.to_markdown()), ("tex", grid.to_latex())):
            write_text(folder / "tables" / f"{name}.{suffix}", text)
    for name, table in all_data(results).items():
        write_text(folder / "data" / f"{name}.csv", table.write_csv())


def write_report(folder: Path, results: Results, progress: Callable[[str], None]) -> Path:
    """Write tables, figures and the page; return the path of the page.

    Args:
        folder: where to.
        results: the study's.
        progress: is told what is done next.
    """
    progress("tables")
    write_tables(folder, results)
    number = count(1)
    found = densities(results, lambda: progress(f"density of best action sets, trial {next(number):,}"))
    for name, figure in _figures(results, found):
        progress(f"figure {name}")
        write_figure(folder / "figures" / name, figure)
    progress("page")
    write_text(folder / REPORT, study_page(results, found))
    return folder / REPORT


def _figures(results: Results, found: Densities) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of a study, by the names of their files; what a study has no use for is left out."""
    yield "curves", curves_grid(results)
    yield f"curves-{second_name(results)}", curves_grid(results, "exact_fraction")
    drawn: dict[str, Figure | None] = {"lakes": lakes_figure(results.grids.values())}
    drawn["influence"] = influence_figure(results)
    for name, task in results.grids.items():
        for scale, largest in (("local", None), ("global", largest_density(found))):
            drawn[f"density-{safe_name(name)}-{scale}"] = density_figure(results, found, task, largest)
    yield from ((name, figure) for name, figure in drawn.items() if figure is not None)
