"""The heat map of a stress test: one row per disturbance, one cell per strength."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ifthen.digits import in_units
from ifthen.explanation.pictures.board import ink_on, text_width
from ifthen.figure_style import MEDIUM, ORANGE, REPEATABLE, SMALL

if TYPE_CHECKING:
    from ifthen.robustness.stress import Stress
    from ifthen.robustness.sweep import Level

CELL_WIDTH, CELL_HEIGHT = 0.86, 0.46
"""The size of a cell, in inches."""
TITLE = 0.36
"""The height of the title, in inches."""
BELOW = 0.78
"""The height of the room for the key, in inches."""
BAR = 0.13
"""The height of the colour bar, in inches."""
MARGIN = 0.15
"""The width of the margins, in inches."""
GAP = 0.04
"""The gap between cells, in units of a cell."""
FRAMES: dict[str, dict[str, Any]] = {
    "broken": {"edgecolor": ORANGE, "linewidth": 1.8},
    "undecided": {"edgecolor": ORANGE, "linewidth": 1.4, "linestyle": (0, (2.5, 1.5))},
}
"""The frames of verdicts that are not "holds"."""
PALE, SOFT = "#F4F4F4", "#555555"
KEPT = LinearSegmentedColormap.from_list("kept", ["#FFFFFF", "#D3E6F2", "#7DB8DC"])
"""The colours of the share kept, from 0 to 1: light enough for black numbers."""


def heat_map(stress: Stress) -> Figure:
    """Draw the share kept as colour, strengths and mean returns as numbers, and verdicts as frames."""
    rows, columns = len(stress.sweeps), max((len(sweep.levels) for sweep in stress.sweeps), default=1)
    names = [sweep.title for sweep in stress.sweeps]
    left = max((text_width(name, MEDIUM) for name in names), default=0.5) + 2 * MARGIN
    cells_width, cells_height = CELL_WIDTH * max(columns, 5), CELL_HEIGHT * rows
    width, height = left + cells_width + MARGIN, TITLE + cells_height + BELOW
    figure, reference = Figure(figsize=(width, height)), abs(stress.undisturbed.performance or 0.0)
    rectangle = (left / width, BELOW / height, CELL_WIDTH * columns / width, cells_height / height)
    axes = figure.add_axes(rectangle)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_axis_off()
    for r, sweep in enumerate(stress.sweeps):
        axes.text(
            -0.5 - MARGIN / CELL_WIDTH,
            r,
            sweep.title,
            ha="right",
            va="center",
            fontsize=MEDIUM,
            parse_math=False,
        )
        for c, level in enumerate(sweep.levels):
            _draw_cell(axes, c, r, level, reference)
    heading = f"{stress.task}: mean return by strength of a disturbance; undisturbed "
    heading += mean_in_cell(stress.undisturbed, reference)
    figure.text(
        MARGIN / width, 1 - 0.5 * TITLE / height, heading, va="center", fontsize=MEDIUM, parse_math=False
    )
    _draw_key(figure, stress, left, cells_width)
    return figure


def _draw_cell(axes: Axes, c: int, r: int, level: Level, reference: float) -> None:
    """Draw one strength in column c and row r."""
    face = PALE if level.untried or math.isnan(level.kept) else KEPT(min(1.0, max(0.0, level.kept)))
    side = 1 - 2 * GAP
    corner = (c - side / 2, r - side / 2)
    frame = FRAMES.get(level.verdict, {"edgecolor": "#DDDDDD", "linewidth": 0.5})
    axes.add_patch(Rectangle(corner, side, side, facecolor=face, **frame))
    ink = ink_on(face) if isinstance(face, tuple) else "black"
    axes.text(c, r - 0.21, level.shown, ha="center", va="center", color=ink, fontsize=SMALL)
    mean_words, weight = mean_in_cell(level, reference), "bold"
    axes.text(c, r + 0.19, mean_words, ha="center", va="center", color=ink, fontsize=SMALL, weight=weight)


def _draw_key(figure: Figure, stress: Stress, left: float, cells_width: float) -> None:
    """Draw what colours and frames mean, below cells that are `cells_width` wide and begin at `left`."""
    width, height = figure.get_size_inches()
    bar = figure.add_axes((left / width, 0.42 / height, 0.55 * cells_width / width, BAR / height))
    scale = figure.colorbar(ScalarMappable(Normalize(0, 1), KEPT), cax=bar, orientation="horizontal")
    scale.set_ticks([0, 0.5, 1], labels=[f"random: {in_units(stress.random, 100)}", "halfway", "undisturbed"])
    scale.outline.set_linewidth(0.5)
    bar.tick_params(labelsize=SMALL, length=2, width=0.5, pad=2)
    verdicts = {level.verdict for sweep in stress.sweeps for level in sweep.levels}
    keys = [
        Patch(facecolor="none", label=name, **style) for name, style in FRAMES.items() if name in verdicts
    ]
    corner = ((left + 0.68 * cells_width) / width, 0.28 / height)
    figure.legend(handles=keys, loc="lower left", bbox_to_anchor=corner, frameon=False, fontsize=SMALL)
    requirement_words = f"{'Required' if stress.asked else 'Threshold'}: {stress.requirement}."
    figure.text(
        MARGIN / width,
        0.1 / height,
        requirement_words,
        va="center",
        fontsize=SMALL,
        color=SOFT,
        parse_math=False,
    )


def mean_in_cell(level: Level, reference: float) -> str:
    """Return a mean return in few digits, as many as the number `reference` needs."""
    if level.untried:
        return "not tried"
    if level.performance is None:
        return "no rule"
    return f"{level.performance:,.0f}" if reference >= 100 else in_units(level.performance, reference)


def svg(stress: Stress) -> str:
    """Return the heat map as an SVG element, the same text for the same numbers."""
    buffer = io.StringIO()
    with matplotlib.rc_context(REPEATABLE):
        heat_map(stress).savefig(buffer, format="svg", metadata={"Date": None})
    markup = buffer.getvalue()
    return markup[markup.index("<svg") :]
