"""Learning curves as paths of an SVG drawing, and the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ifthen.study.figures.learning import Curve, curves, later_limits
from ifthen.study.figures.panels import optima
from ifthen.study.results import MEASURES, Results

WIDTH, HEIGHT = 260, 150
MOST_POINTS = 260
DIGITS = 4


@dataclass(frozen=True)
class Line:
    """The curve of one system, by one measure."""

    system: int
    """Its position in the plan."""
    measure: str
    mean: list[float | None]
    """Over trials, per epoch shown; None where all trials met a state with no rule."""
    sd: list[float | None] | None
    """Over trials, n − 1; None where fewer than two count, at an epoch or at all."""
    path: str
    """The mean as the path of an SVG drawing, with gaps."""
    band: str
    """Mean ± sd as a path; empty without sd."""


@dataclass(frozen=True)
class Panel:
    """The curves of one task, from the height `low` at the bottom to `high` at the top."""

    epochs: list[int]
    low: float
    high: float
    ticks: list[tuple[str, float]]
    """Heights with a grid line: label and y."""
    relative: bool
    """Whether heights are fractions of the optimum."""
    optimum: float | None
    """Its y; None where it is outside or not known."""
    lines: list[Line]

    @property
    def numbers(self) -> dict[str, object]:
        """The numbers behind the curves, for what the page shows on hovering."""
        lines = [
            {"measure": line.measure, "system": line.system, "mean": line.mean, "sd": line.sd}
            for line in self.lines
        ]
        return {"epochs": self.epochs, "low": self.low, "high": self.high, "lines": lines}


def curve_panel(results: Results, task: str) -> Panel:
    """Return the curves of all systems on a task, by both measures."""
    relative = results.relative(task)
    positions = {system.name: i for i, system in enumerate(results.plan.systems)}
    found = {
        (positions[system], measure): _thinned(curve)
        for measure, column in MEASURES.items()
        for system, curve in curves(results, task, results.column(task, column, final=False)).items()
    }
    optimum = max(optima(results, task, "exact_fraction"), default=None)
    if relative or not found:
        low, high = 0.0, max([1.05, *(1.02 * float(curve.mean.max()) for curve in found.values())])
    else:
        low, high = later_limits(found.values(), [] if optimum is None else [optimum])
    epochs = max((curve.epochs.tolist() for curve in found.values()), key=len, default=[0])
    return Panel(
        epochs,
        low,
        high,
        [(f"{tick:g}", _y(tick, low, high)) for tick in _ticks(low, high)],
        relative,
        None if optimum is None or not low <= optimum <= high else _y(optimum, low, high),
        [_line(*key, curve, epochs[-1], low, high) for key, curve in found.items()],
    )


def _thinned(curve: Curve) -> Curve:
    """Return a curve at evenly spread epochs, the first and the last included."""
    if len(curve.epochs) <= MOST_POINTS:
        return curve
    chosen = np.linspace(0, len(curve.epochs) - 1, MOST_POINTS).round().astype(int)
    return curve._replace(epochs=curve.epochs[chosen], mean=curve.mean[chosen], sd=curve.sd[chosen])


def _ticks(low: float, high: float) -> list[float]:
    """Return three to six round heights."""
    step = 10 ** np.floor(np.log10(high - low))
    while (high - low) / step < 3:
        step /= 2
    return [float(round(i * step, 10)) for i in range(int(np.ceil(low / step)), int(high // step) + 1)]


def _y(value: float, low: float, high: float) -> float:
    return round(HEIGHT * (1 - (value - low) / (high - low)), 2)


def _line(i: int, measure: str, curve: Curve, last: int, low: float, high: float) -> Line:
    """Return a curve; what lies outside the drawing is cut off by it."""
    xs = np.array([round(WIDTH * epoch / max(last, 1), 2) for epoch in curve.epochs.tolist()])
    means, sds = (np.round(numbers, DIGITS) for numbers in (curve.mean, curve.sd))
    paths = ["M" + _joined(xs[run], means[run], low, high) for run in _runs(means)]
    bands = []
    for run in _runs(sds):
        above = _joined(xs[run], means[run] + sds[run], low, high)
        below = _joined(xs[run][::-1], (means[run] - sds[run])[::-1], low, high)
        bands.append(f"M{above}L{below}Z")
    return Line(i, measure, _plain(means), _plain(sds) if bands else None, "".join(paths), "".join(bands))


def _runs(numbers: NDArray[np.float64]) -> list[slice]:
    """Return the stretches of numbers between NaNs."""
    there = np.concatenate([[False], ~np.isnan(numbers), [False]])
    ends = np.flatnonzero(there[1:] != there[:-1])
    return [slice(first, end) for first, end in ends.reshape(-1, 2).tolist()]


def _joined(xs: NDArray[np.float64], ys: NDArray[np.float64], low: float, high: float) -> str:
    pairs = zip(xs.tolist(), ys.tolist(), strict=True)
    return "L".join(f"{x:g},{_y(y, low, high):g}" for x, y in pairs)


def _plain(numbers: NDArray[np.float64]) -> list[float | None]:
    return [None if number != number else number for number in numbers.tolist()]
