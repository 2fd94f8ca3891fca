"""Performance against the number of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ifthen.figure_style import BLUE, COLUMN_WIDTH, GREY, MEDIUM, ORANGE, SMALL, bare

if TYPE_CHECKING:
    from ifthen.explain.fewer.ladder import Ladder


def ladder_figure(ladder: Ladder) -> Figure:
    """Draw the exact performance of every rung, of the policy as it was given and of an optimal one."""
    figure = Figure(figsize=(1.4 * COLUMN_WIDTH, COLUMN_WIDTH), layout="constrained")
    axes = figure.subplots()
    rules = [len(rung.ruleset) for rung in ladder.rungs]
    values = [rung.performance for rung in ladder.rungs]
    axes.axhline(ladder.optimum, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.annotate(
        "optimum",
        (1, ladder.optimum),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=SMALL,
        color="0.35",
    )
    axes.plot(rules, values, color=BLUE, marker="o", markersize=3.5, linewidth=1.2, label="fewer rules")
    axes.plot(
        [ladder.before],
        [ladder.performance],
        color=ORANGE,
        marker="D",
        markersize=5,
        linestyle="none",
        label=f"as given ({ladder.before} rules)",
    )
    axes.set_xlabel("rules", fontsize=MEDIUM)
    axes.set_ylabel("exact performance", fontsize=MEDIUM)
    axes.set_title(ladder.task, loc="left", fontsize=MEDIUM, parse_math=False)
    axes.legend(loc="lower right", frameon=False, fontsize=SMALL)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(y=0.12)
    bare(axes)
    return figure
