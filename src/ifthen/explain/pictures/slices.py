"""Slices: what is done in the plane of two features while the others are held fixed.

This is how a policy over any features is drawn, with a task or without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ifthen.explain.pictures.board import LEGEND_ROW, key_below, key_rows, text_width
from ifthen.explain.pictures.planes import (
    DOWNWARDS,
    all_pairs,
    checked_axes,
    fixed_values,
    slice_actions,
    slice_states,
)
from ifthen.figure_style import MEDIUM, SMALL
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.features import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#777777")
"""Okabe and Ito's, by the number of the action; they repeat after eight."""
NO_RULE, NO_STATE = "white", "#E2E2E2"
LEFT, UNDER, GAP = 0.5, 0.36, 0.12


def slice_figure(
    ruleset: RuleSet,
    task: TabularTask | None = None,
    axes: Sequence[str] | None = None,
    at: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """Draw which action is chosen over pairs of features, the others held fixed, one panel per pair.

    Args:
        ruleset: the policy.
        task: its task, if there is one: features are then fixed at their median over the decision states, and
            what is no decision state is covered, as nothing is ever asked there.
        axes: the names of two features (of one, for a strip), for a single panel; all pairs where None.
        at: the values, by name, at which features are fixed; where none is given, the median or, without a
            task, the middle of the feature's range.
        title: the picture's title; the values of the features held fixed where empty.
    """
    if task is not None:
        policy_table(ruleset, task)  # raises where they do not belong together
    fixed = fixed_values(ruleset, task, at)
    pairs = [checked_axes(ruleset, axes)] if axes is not None else all_pairs(ruleset)
    images = [slice_actions(ruleset, pair, fixed) for pair in pairs]
    asked = [slice_states(ruleset, pair, fixed, task) for pair in pairs]
    faces, labels = _keys(ruleset, [actions for _, _, actions in images], asked)
    columns = min(3, len(pairs))
    side = 3.2 if columns == 1 else 2.3 if columns == 2 else 1.75
    width = columns * (LEFT + side) + GAP
    heading = wrapped(title or fixed_in_words(ruleset, fixed, pairs), width - LEFT - GAP)
    figure, panels = panels_for(pairs, (width, side), len(heading), labels)
    for panel, pair, image, there in zip(panels, pairs, images, asked, strict=True):
        _draw(panel, [ruleset.features[d] for d in pair], len(ruleset.action_names), *image)
        _cover(panel, there)
    for i, line in enumerate(heading):
        y = 1 - (0.2 + 0.15 * i) / figure.get_figheight()
        figure.text(LEFT / width, y, line, fontsize=MEDIUM, parse_math=False)
    keys: list[Artist] = [Patch(facecolor=face, edgecolor="#222222", linewidth=0.4) for face in faces]
    key_below(figure, list(zip(keys, labels, strict=True)))
    return figure


def _keys(
    ruleset: RuleSet, images: Sequence[NDArray[np.int64]], asked: Sequence[NDArray[np.bool_]]
) -> tuple[list[str], list[str]]:
    """Return the colours that can be seen in slices of actions, and what they stand for."""
    seen = np.concatenate([actions[there] for actions, there in zip(images, asked, strict=True)])
    shown = np.unique(seen).tolist()
    faces = [COLOURS[action % len(COLOURS)] if action >= 0 else NO_RULE for action in shown]
    labels = [ruleset.action_names[action] if action >= 0 else "no rule" for action in shown]
    covered = not all(there.all() for there in asked)
    return faces + [NO_STATE] * covered, labels + ["no state"] * covered


def panels_for(
    pairs: Sequence[tuple[int, ...]], size: tuple[float, float], lines: int, labels: Sequence[str]
) -> tuple[Figure, list[Axes]]:
    """Return a figure of a width and panels of a side, in inches, between `lines` of text and a legend."""
    width, side = size
    high = side if len(pairs[0]) == 2 else 0.4
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    top = 0.15 * lines + 0.12
    below = LEGEND_ROW * key_rows(width, labels) + 0.06
    height = top + rows * (high + UNDER + GAP) + below
    figure = Figure(figsize=(width, height))
    panels = []
    for i in range(len(pairs)):
        x = LEFT + (i % columns) * (LEFT + side)
        y = height - top - (i // columns) * (high + UNDER + GAP) - high
        panels.append(figure.add_axes((x / width, y / height, side / width, high / height)))
    return figure, panels


def _draw(
    axes: Axes,
    features: Sequence[Feature],
    n_actions: int,
    across: NDArray[np.float64],
    down: NDArray[np.float64],
    actions: NDArray[np.int64],
) -> None:
    """Draw one slice."""
    colours = ListedColormap([NO_RULE, *(COLOURS[action % len(COLOURS)] for action in range(n_actions))])
    left, right = _edges(across)
    low, high = _edges(down)
    image = axes.imshow(
        actions, cmap=colours, vmin=-1.5, vmax=n_actions - 0.5, aspect="auto", interpolation="none",
        origin="lower", extent=(left, right, low, high),
    )  # fmt: skip
    image.set_gid("slice")
    labelled_axes(axes, features)


def labelled_axes(axes: Axes, features: Sequence[Feature]) -> None:
    """Name the axes of a slice after its features, and make its frame thin."""
    named = zip((axes.xaxis, axes.yaxis), features, strict=False)
    for axis, feature in named:
        axis.set_major_locator(MaxNLocator(5, integer=feature.is_integer))
        unit = f" ({feature.unit})" if feature.unit else ""
        axis.set_label_text(feature.name + unit, fontsize=SMALL, parse_math=False)
    if len(features) == 1:
        axes.set_yticks([])
    elif features[1].name in DOWNWARDS:
        axes.invert_yaxis()
    axes.tick_params(labelsize=SMALL - 1, width=0.6, length=2.5, pad=2)
    axes.xaxis.labelpad = axes.yaxis.labelpad = 2
    for spine in axes.spines.values():
        spine.set_linewidth(0.6)


def _cover(axes: Axes, asked: NDArray[np.bool_]) -> None:
    """Cover the cells of a slice that are no decision states; `asked` is `(down, across)`."""
    if asked.all():
        return
    left, right, low, high = axes.images[0].get_extent()
    across, down = np.linspace(left, right, asked.shape[1] + 1), np.linspace(low, high, asked.shape[0] + 1)
    cover = axes.pcolormesh(
        across, down, np.ma.masked_array(np.zeros(asked.shape), asked), cmap=ListedColormap([NO_STATE])
    )
    cover.set_gid("no state")


def _edges(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return where the first value's cell begins and the last one's ends."""
    half = (values[-1] - values[0]) / (len(values) - 1) / 2 if values[-1] > values[0] else 0.5
    return float(values[0] - half), float(values[-1] + half)


def fixed_in_words(ruleset: RuleSet, fixed: NDArray[np.float64], pairs: Sequence[tuple[int, ...]]) -> str:
    """Return which features are held fixed, and where; the only panel's own are not."""
    own = pairs[0] if len(pairs) == 1 else ()
    words = [
        f"{feature.name} = {number_in_words(float(f'{value:.4g}'))}"
        for d, (feature, value) in enumerate(zip(ruleset.features, fixed.tolist(), strict=True))
        if d not in own
    ]
    return ("the others at " if len(pairs) > 1 else "at ") + ", ".join(words) if words else ""


def wrapped(text: str, width: float) -> list[str]:
    """Return a text in lines of at most a width in inches, as far as its words allow."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, MEDIUM) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
