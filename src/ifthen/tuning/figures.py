"""Figures of a tuning: scores in order, learning curves, importance, and a slice for each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from ifthen.figure_style import BLUE, GREY, MEDIUM, ORANGE, SMALL, WIDTH, bare, line_at
from ifthen.runs.settings import toml_value
from ifthen.systems.parameters import Search
from ifthen.tuning.propose import Tried
from ifthen.tuning.search_space import Dimension
from ifthen.tuning.tuning_result import TuneResult

COLUMNS = 4
"""Slices side by side."""
SHOWN = 0.75
"""The share of scores that figures show at least: a few very bad ones would hide the others."""
POINT: dict[str, Any] = {"markersize": 3.2, "linestyle": "none", "marker": "o"}


def history_figure(result: TuneResult) -> Figure:
    """Draw scores in the order in which settings were tried, and the best so far."""
    figure = Figure(figsize=(WIDTH / 2, 2.6), layout="constrained")
    axes, finished = figure.subplots(), _finished(result)
    numbers, scores = [trial.number for trial in finished], [trial.score or 0.0 for trial in finished]
    pruned = [trial for trial in result.tried if trial.state == "pruned" and trial.curve]
    last_values = [trial.curve[max(trial.curve)] for trial in pruned]
    axes.plot(
        [trial.number for trial in pruned], last_values, color=GREY, label="pruned, at its end", **_hollow()
    )
    axes.plot(numbers, scores, color=BLUE, label="finished", **POINT)
    axes.step(
        numbers, np.maximum.accumulate(scores), where="post", color=ORANGE, linewidth=1, label="best so far"
    )
    _limit(axes, scores, last_values)
    axes.set_xlabel("trial", fontsize=MEDIUM)
    axes.set_ylabel("score in the search", fontsize=MEDIUM)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=SMALL, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    bare(axes)
    return figure


def curves_figure(result: TuneResult) -> Figure:
    """Draw the learning curves of all that was tried; the chosen one and the defaults stand out."""
    figure = Figure(figsize=(WIDTH / 2, 2.6), layout="constrained")
    axes = figure.subplots()
    special = {
        0: (GREY, "defaults"),
        result.chosen: (ORANGE, "defaults, chosen" if not result.chosen else "chosen"),
    }
    for trial in result.tried:
        if trial.curve:
            colour, label = special.get(trial.number, (BLUE, ""))
            width, alpha = (2.0, 1.0) if label else (0.6, 0.5)
            style: dict[str, Any] = {"color": colour, "linewidth": width, "alpha": alpha}
            style |= {"label": label, "zorder": 3} if label else {}
            axes.plot([100 * share for share in trial.curve], list(trial.curve.values()), **style)
    _limit(axes, [trial.score or 0.0 for trial in _finished(result)], [])
    axes.set_xlabel("% of the training", fontsize=MEDIUM)
    axes.set_ylabel("performance", fontsize=MEDIUM)
    axes.legend(frameon=False, fontsize=SMALL, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    bare(axes)
    return figure


def importance_figure(result: TuneResult) -> Figure | None:
    """Draw how much each parameter matters; None where that is not known."""
    shares = result.importance
    if not shares:
        return None
    figure = Figure(figsize=(WIDTH / 2, 0.5 + 0.19 * len(shares)), layout="constrained")
    axes, names = figure.subplots(), list(reversed(shares))
    axes.barh(names, [100 * shares[name] for name in names], color=BLUE, height=0.65)
    axes.set_xlabel("importance, %", fontsize=MEDIUM)
    bare(axes)
    return figure


def slices_figure(result: TuneResult) -> Figure:
    """Draw scores against the values of each parameter."""
    names = sorted(result.space, key=lambda name: -result.importance.get(name, 0.0))
    rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(1.4 * WIDTH, 2.1 * rows), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, squeeze=False).flatten()
    finished = _finished(result)
    for axes, name in zip(panels, names, strict=False):
        _slice(
            axes, result.space[name], [trial.parameters[name] for trial in finished], finished, result, name
        )
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    for row in range(rows):
        panels[row * COLUMNS].set_ylabel("score", fontsize=MEDIUM)
    return figure


def _slice(
    axes: Axes,
    dimension: Dimension,
    values: Sequence[object],
    finished: Sequence[Tried],
    result: TuneResult,
    name: str,
) -> None:
    """Draw one parameter."""
    positions, scores = _places(dimension, values), [trial.score or 0.0 for trial in finished]
    axes.plot(positions, scores, color=BLUE, alpha=0.7, **POINT)
    (best,) = _places(dimension, [result.best[name]])
    axes.axvline(best, color=ORANGE, linewidth=1)
    default = next((trial for trial in finished if trial.number == 0), None)
    if default is not None:
        line_at(axes, default.score or 0.0, "defaults")
    if dimension.search.choices:
        axes.set_xticks(
            range(len(dimension.search.choices)), [toml_value(choice) for choice in dimension.search.choices]
        )
        axes.set_xlim(-0.6, len(dimension.search.choices) - 0.4)
    else:
        axes.set_xlim(*_padded(dimension.search))
    if dimension.search.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    _limit(axes, scores, [])
    axes.set_title(name, fontsize=MEDIUM, loc="left", parse_math=False)
    bare(axes)


def _places(dimension: Dimension, values: Sequence[object]) -> list[float]:
    """Return where values stand on the axis: choices side by side, numbers as they are."""
    if dimension.search.choices:
        return [
            float(dimension.search.choices.index(value)) if value in dimension.search.choices else -0.5
            for value in values
        ]
    return [float(value) if isinstance(value, int | float) else float("nan") for value in values]


def _padded(search: Search) -> tuple[float, float]:
    """Return the ends of a range with a little room beside them."""
    if search.log:
        margin = (search.high / search.low) ** 0.04
        return search.low / margin, search.high * margin
    margin = 0.04 * (search.high - search.low)
    return search.low - margin, search.high + margin


def _limit(axes: Axes, scores: Sequence[float], extra: Sequence[float]) -> None:
    """Leave very bad scores out of the picture."""
    if scores:
        low, high = float(np.quantile(scores, 1 - SHOWN)), max([*scores, *extra])
        margin = 0.08 * (high - low) or 0.5
        axes.set_ylim(low - margin, high + margin)


def _hollow() -> dict[str, Any]:
    return {**POINT, "markerfacecolor": "none", "markeredgewidth": 0.9, "markeredgecolor": "0.45"}


def _finished(result: TuneResult) -> list[Tried]:
    return [trial for trial in result.tried if trial.state == "finished" and trial.score is not None]
