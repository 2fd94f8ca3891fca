"""Learning curves as paths of an SVG drawing, and the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars

from ifthen.study.results import Results
from ifthen.study.verdicts import ABSOLUTE, Measure

WIDTH, HEIGHT = 260, 150
MOST_POINTS = 260
DIGITS = 4


@dataclass(frozen=True)
class Line:
    """The curve of one system, by one measure.

    Args:
        system: its position in the plan.
        measure: "z" or "exact".
        mean: over trials, per epoch shown.
        sd: over trials, n − 1; None where there is one trial only.
        path: the mean as the path of an SVG drawing.
        band: mean ± sd as a path; empty without sd.
    """

    system: int
    measure: str
    mean: list[float]
    sd: list[float] | None
    path: str
    band: str


@dataclass(frozen=True)
class Panel:
    """The curves of one task.

    Args:
        epochs: those shown.
        low: the height at the bottom.
        high: the height at the top.
        ticks: heights with a grid line: label and y.
        relative: whether heights are fractions of the optimum.
        optimum: y of the optimum; None where it is outside.
        lines: the curves.
    """

    epochs: list[int]
    low: float
    high: float
    ticks: list[tuple[str, float]]
    relative: bool
    optimum: float | None
    lines: list[Line]


def curve_panel(results: Results, task: str) -> Panel:
    """Return the curves of all systems on a task, by both measures."""
    relative = results.relative(task)
    columns: dict[str, Measure] = {"z": "fraction", "exact": "exact_fraction"}
    everything = results.histories.filter(polars.col("task") == task)
    epochs = _shown(everything["epoch"].unique().sort().to_list())
    found: list[tuple[int, str, polars.DataFrame]] = []
    for measure, column in columns.items():
        wanted = column if relative else ABSOLUTE[column]
        for i, system in enumerate(results.plan.systems):
            found.append((i, measure, _mean_and_sd(everything, system.name, wanted, epochs)))
    low, high = _range([table for _, _, table in found], relative)
    optimum = 1.0 if relative else float(everything["optimum"][0]) if len(everything) else high
    return Panel(
        epochs,
        low,
        high,
        [(f"{tick:g}", _y(tick, low, high)) for tick in _ticks(low, high)],
        relative,
        _y(optimum, low, high) if low <= optimum <= high else None,
        [
            _line(i, measure, table, epochs[-1] if epochs else 1, low, high)
            for i, measure, table in found
            if len(table)
        ],
    )


def _shown(epochs: list[int]) -> list[int]:
    """Return evenly spread epochs, the first and the last among them, at most so many."""
    if len(epochs) <= MOST_POINTS:
        return epochs
    chosen = np.linspace(0, len(epochs) - 1, MOST_POINTS).round().astype(int)
    return [epochs[i] for i in chosen]


def _mean_and_sd(
    everything: polars.DataFrame, system: str, column: str, epochs: list[int]
) -> polars.DataFrame:
    """Return mean and sd over trials, one row per epoch."""
    own = everything.filter((polars.col("system") == system) & polars.col("epoch").is_in(epochs))
    value = polars.col(column)
    return own.group_by("epoch").agg(value.mean().alias("mean"), value.std().alias("sd")).sort("epoch")


def _range(tables: list[polars.DataFrame], relative: bool) -> tuple[float, float]:
    """Return the least and the largest height to be drawn: 0 to a little above 1, or what the means need."""
    means = [value for table in tables for value in table["mean"]]
    if relative:
        return 0.0, max(1.05, *(1.02 * mean for mean in means)) if means else 1.05
    # A population can begin hundreds of times worse than it ends, which is what matters.
    later = [value for table in tables for value in table["mean"].tail(max(1, 3 * len(table) // 4))] or [0.0]
    span = max(max(later) - min(later), 1e-9)
    return min(later) - 0.1 * span, max(later) + 0.1 * span


def _ticks(low: float, high: float) -> list[float]:
    """Return three to six round heights."""
    step = 10 ** np.floor(np.log10(high - low))
    while (high - low) / step < 3:
        step /= 2
    return [float(round(i * step, 10)) for i in range(int(np.ceil(low / step)), int(high / step) + 1)]


def _y(value: float, low: float, high: float) -> float:
    return round(HEIGHT * (1 - (value - low) / (high - low)), 2)


def _line(i: int, measure: str, table: polars.DataFrame, last: int, low: float, high: float) -> Line:
    """Return a curve; what lies outside the drawing is cut off by it."""
    xs = [round(WIDTH * epoch / max(last, 1), 2) for epoch in table["epoch"]]
    means = [round(mean, DIGITS) for mean in table["mean"]]
    path = "M" + "L".join(f"{x:g},{_y(mean, low, high):g}" for x, mean in zip(xs, means, strict=True))
    if table["sd"].has_nulls():
        return Line(i, measure, means, None, path, "")
    sds = [round(sd, DIGITS) for sd in table["sd"]]
    above = [f"{x:g},{_y(m + s, low, high):g}" for x, m, s in zip(xs, means, sds, strict=True)]
    below = [f"{x:g},{_y(m - s, low, high):g}" for x, m, s in zip(xs, means, sds, strict=True)]
    return Line(i, measure, means, sds, path, "M" + "L".join([*above, *reversed(below)]) + "Z")
