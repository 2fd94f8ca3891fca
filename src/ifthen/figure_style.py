"""How figures look, and how they are written.

Systems differ in colour, line and marker, so that figures can be read by colour-blind readers (Okabe and
Ito's colours) and in grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ifthen.store import atomic_file

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"
COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#000000", "#56B4E9")
"""The colours of Okabe and Ito without yellow, which is hardly seen on white."""
LINES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (6, 1.2, 1.2, 1.2)), (0, (1, 1.2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
WIDTH = 7.2
"""The width of a page with two columns, in inches."""
COLUMN_WIDTH = 3.5
"""The width of one column, in inches."""
DPI = 200
SMALL = 7
"""The size of small letters, in points."""
MEDIUM = 8
"""The size of ordinary letters, in points."""
REPEATABLE: Any = {"pdf.fonttype": 42, "svg.hashsalt": "ifthen"}
"""Publishers refuse PDF files with fonts of type 3; names in SVG files are random without salt."""
Form = Literal["png", "pdf", "svg"]


class Look(NamedTuple):
    """What tells one system's marks from another's."""

    colour: str
    line: Any
    marker: str


def look(position: int) -> Look:
    """Return the look of the system at a position in the plan; no two of the first 252 are the same."""
    return Look(
        COLOURS[position % len(COLOURS)], LINES[position % len(LINES)], MARKERS[position % len(MARKERS)]
    )


def bare(axes: Axes) -> None:
    """Leave nothing of a panel's frame but thin lines on the left and below."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_linewidth(0.6)
    axes.tick_params(labelsize=SMALL, width=0.6, length=2.5, pad=2)


def bare_grid(axes: Axes, columns: int, rows: int, x: int = 0, y: int = 0) -> None:
    """Make a panel a grid of cells, the first at (0, 0), x to the right and y down.

    Only the numbers of columns and rows are written, which begin with `x` and `y`.
    """
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_aspect("equal")
    for axis, number, start in ((axes.xaxis, columns, x), (axes.yaxis, rows, y)):
        positions = range(0, number, -(-number // 12))
        axis.set_ticks(positions, [str(start + position) for position in positions])
    axes.tick_params(length=0, labelsize=SMALL - 1, pad=2)
    for spine in axes.spines.values():
        spine.set_linewidth(0.6)


def scores_by_size(
    sizes: Sequence[int], scores: Sequence[float], size: str, score: str
) -> tuple[Figure, Axes]:
    """Return a figure of scores against sizes, and its panel to draw more into.

    Args:
        sizes: of policies.
        scores: of the same ones.
        size: what the sizes are.
        score: what the scores are.
    """
    figure = Figure(figsize=(1.5 * COLUMN_WIDTH, COLUMN_WIDTH), layout="constrained")
    axes = figure.subplots()
    axes.plot(sizes, scores, color=BLUE, marker="o", markersize=3.5, linewidth=1.2, drawstyle="steps-post")
    axes.set_xlabel(size, fontsize=MEDIUM)
    axes.set_ylabel(score, fontsize=MEDIUM)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}".replace("-", "−"))
    if len(set(sizes)) == 1:
        axes.set_xticks([sizes[0]])
    axes.margins(y=0.12)
    bare(axes)
    return figure, axes


def line_at(axes: Axes, height: float, label: str) -> None:
    """Draw a dashed line at a height, with a word above its right end; neither beyond the axes' limits."""
    axes.axhline(height, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.annotate(
        label, (1, height), (-2, 2), ("axes fraction", "data"), "offset points", ha="right", va="bottom",
        fontsize=SMALL, color="0.35", annotation_clip=True,
    )  # fmt: skip


def mark_policy(axes: Axes, size: int, score: float, label: str) -> None:
    """Mark one policy in a figure of `scores_by_size`, and say in a legend what it is."""
    axes.plot([size], [score], "D", color=ORANGE, markersize=5, label=label)
    axes.legend(loc="lower right", frameon=False, fontsize=SMALL)


def write_png(path: Path, figure: Figure) -> None:
    """Write a figure as a PNG file, whole or not at all."""
    with atomic_file(path) as file:
        figure.savefig(file, format="png", dpi=150, bbox_inches="tight", pad_inches=0.12)


def write_figure(stem: Path, figure: Figure) -> tuple[Path, Path]:
    """Write a figure in its own size as PNG and as PDF; return their paths: `stem` with a suffix."""
    return write_as(stem, figure, "png"), write_as(stem, figure, "pdf")


def write_as(stem: Path, figure: Figure, form: Form) -> Path:
    """Write a figure in its own size to `stem` with a suffix; the same figure gives the same bytes."""
    path = stem.with_name(f"{stem.name}.{form}")
    metadata: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(form, {})
    with atomic_file(path) as file, matplotlib.rc_context(REPEATABLE):
        figure.savefig(file, format=form, dpi=DPI if form == "png" else "figure", metadata=metadata)
    return path
