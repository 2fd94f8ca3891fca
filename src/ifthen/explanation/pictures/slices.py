"""Slices: which rule decides, and what is done, over two features while the others are held fixed.

This is how a policy over any features is drawn, with a task or without. In an environment the states visited
are drawn into it or, where two features are all, a few episodes. In a table, points that are no decision
state are covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from ifthen.digits import values_in_words
from ifthen.explanation.pictures.board import add_panel, key_below, key_height, mixed_with_white, text_width
from ifthen.explanation.pictures.planes import (
    DOWNWARDS,
    Regions,
    checked_axes,
    chosen_pairs,
    fixed_values,
    regions,
    rule_borders,
)
from ifthen.figure_style import MEDIUM, SMALL
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.feature import Feature, lows_and_highs, number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import Scope, recorded_episodes, scope_of
from ifthen.simulate.simulator import checked_ruleset
from ifthen.tasks.task import Task
from ifthen.text_table import wrapped

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#777777")
"""The colours of actions, by number (Okabe and Ito). They repeat after eight."""
NO_RULE, NO_STATE, INK = "white", "#E2E2E2", "#222222"
PALE = 0.38
"""The colour of an action is mixed with this share of white."""
DOTS = 2000
"""At most this many visited states are drawn."""
PATHS = 6
"""At most this many episodes are drawn."""
NUMBERED = 60
"""Rules are numbered in the picture only where there are at most this many."""
LEFT, UNDER, GAP = 0.5, 0.36, 0.12
"""The room left of a panel, below it, and beside the last one, in inches."""
SIDES = {1: 3.4, 2: 2.4, 3: 2.0}
"""The side of a panel in inches, by the number of panels in a row."""
Covers = Mask


def action_colour(action: int) -> tuple[float, float, float]:
    """Return the colour of an action, pale enough to write on."""
    return mixed_with_white(COLOURS[action % len(COLOURS)] if action >= 0 else NO_RULE, PALE)


def slice_figure(
    ruleset: RuleSet,
    task: Task | None = None,
    axes: Sequence[str] | None = None,
    at: Mapping[str, float] | None = None,
    features: int = 4,
) -> Figure:
    """Draw the regions of rules, coloured by action, over pairs of features, the others held fixed.

    Args:
        ruleset: the policy.
        task: its task, if there is one.
        axes: the names of two features (of one, for a strip), for a single panel; all pairs of the features
            that matter most where None.
        at: the values, by name, at which features are fixed; where none is given, the median over the
            decision states or the states visited or, without a task, the middle of the feature's range.
        features: how many features matter, where `axes` is None; 2 give a single panel.
    """
    if task is not None:
        checked_ruleset(ruleset, task)
    scope = None if task is None else scope_of(ruleset, task)
    pairs = chosen_pairs(ruleset, scope, features) if axes is None else [checked_axes(ruleset, axes)]
    fixed = fixed_values(ruleset, scope, at)
    planes = [regions(ruleset, pair, fixed) for pair in pairs]
    covers = [_covered(scope, plane) for plane in planes]
    visited = scope if scope is not None and scope.unit == "visited state" else None
    draws_paths = visited is not None and len(ruleset.observed_features) == 2
    keys = _keys(ruleset, planes, covers)
    if visited is not None:
        marker = {"linewidth": 0.8} if draws_paths else {"linestyle": "none", "marker": ".", "markersize": 3}
        keys.append(("episodes" if draws_paths else "states visited", Line2D([], [], color=INK, **marker)))
    figure, panels = _panels(ruleset, fixed, pairs, [label for label, _ in keys])
    for panel, pair, plane, cover in zip(panels, pairs, planes, covers, strict=True):
        _draw(panel, ruleset, plane, cover)
        _label_axes(panel, [ruleset.features[d] for d in pair])
        if draws_paths and task is not None:
            _draw_paths(panel, ruleset, task, pair)
        elif visited is not None:
            _draw_dots(panel, ruleset, visited, pair)
        _draw_numbers(panel, ruleset, plane, 1.0 if len(pairs) == 1 else 0.85)
    key_below(figure, keys)
    return figure


def _covered(scope: Scope | None, plane: Regions) -> Covers:
    """Return the cells that are no decision state, `(rows, columns)`; none where states are not listed."""
    if scope is None or not scope.complete:
        return np.zeros(plane.deciders.shape, dtype=np.bool_)
    states = set(map(tuple, scope.points.tolist()))
    covered = [tuple(point) not in states for point in plane.points.tolist()]
    return np.array(covered).reshape(plane.deciders.shape)


def _keys(ruleset: RuleSet, planes: Sequence[Regions], covers: Sequence[Covers]) -> list[tuple[str, Artist]]:
    """Return what stands in the legend: the actions that can be seen, "no rule" and "no state"."""
    visible_deciders = [plane.deciders[~cover] for plane, cover in zip(planes, covers, strict=True)]
    deciders = np.unique(np.concatenate(visible_deciders))
    actions = np.unique(ruleset.actions[deciders[deciders >= 0]]).tolist()
    colours = {ruleset.action_names[action]: action_colour(action) for action in actions}
    if (deciders < 0).any():
        colours["no rule"] = action_colour(-1)
    if any(cover.any() for cover in covers):
        colours["no state"] = to_rgb(NO_STATE)
    return [(label, Patch(facecolor=face, edgecolor=INK, linewidth=0.4)) for label, face in colours.items()]


def _panels(
    ruleset: RuleSet, fixed: Floats, pairs: Sequence[tuple[int, ...]], labels: Sequence[str]
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel per pair, between the values held fixed and a legend."""
    columns = min(3, len(pairs))
    side, rows = SIDES[columns], -(-len(pairs) // columns)
    width, panel_height = columns * (LEFT + side) + GAP, side if len(pairs[0]) == 2 else 0.4
    heading_width, fixed_words = width - LEFT - GAP, _fixed_in_words(ruleset, fixed, pairs)
    heading = wrapped(fixed_words, lambda line: text_width(line, MEDIUM) <= heading_width)
    top = 0.15 * len(heading) + 0.12
    height = top + rows * (panel_height + UNDER + GAP) + key_height(width, labels)
    figure = Figure(figsize=(width, height))
    panels = []
    for i in range(len(pairs)):
        x = LEFT + (i % columns) * (LEFT + side)
        y = height - top - (i // columns) * (panel_height + UNDER + GAP) - panel_height
        panels.append(add_panel(figure, x, y, side, panel_height))
    for i, line in enumerate(heading):
        y = 1 - (0.2 + 0.15 * i) / height
        figure.text(LEFT / width, y, line, fontsize=MEDIUM, parse_math=False)
    return figure, panels


def _draw(axes: Axes, ruleset: RuleSet, plane: Regions, cover: Covers) -> None:
    """Draw regions and their borders, and cover what is no state."""
    paths_by_rule: dict[int, list[Path]] = {}
    for rule, box in plane.runs():
        paths_by_rule.setdefault(rule, []).append(Path([*box, box[0]], closed=True))
    colours = [action_colour(int(ruleset.actions[rule]) if rule >= 0 else -1) for rule in paths_by_rule]
    # A rule's parts are filled at once: one by one they would leave stripes between them.
    compounds = [Path.make_compound_path(*paths) for paths in paths_by_rule.values()]
    axes.add_collection(
        PathCollection(compounds, facecolors=colours, edgecolors="none", linewidths=0, gid="regions")
    )
    edges = rule_borders(plane.across, plane.down, plane.deciders)
    axes.add_collection(LineCollection(edges, colors=INK, linewidths=0.7, gid="rule borders"))
    hidden = [plane.box(r, c, c + 1) for r, c in np.argwhere(cover).tolist()]
    if hidden:
        covers = PolyCollection(hidden, facecolors=NO_STATE, edgecolors=NO_STATE, gid="no state")
        covers.set_zorder(2.5)
        axes.add_collection(covers)
    axes.set_xlim(plane.across[0], plane.across[-1])
    axes.set_ylim(plane.down[0], plane.down[-1])


def _label_axes(axes: Axes, features: Sequence[Feature]) -> None:
    """Name the axes of a slice after its features, and make its frame thin."""
    for axis, feature in zip((axes.xaxis, axes.yaxis), features, strict=False):
        axis.set_major_locator(MaxNLocator(5, integer=feature.is_integer))
        unit = f" ({feature.unit})" if feature.unit else ""
        axis.set_label_text(feature.name + unit, fontsize=SMALL, parse_math=False)
    if len(features) == 1:
        axes.set_yticks([])
    elif features[1].name in DOWNWARDS and features[1].is_integer:  # a real y is a height
        axes.invert_yaxis()
    axes.tick_params(labelsize=SMALL, width=0.6, length=2.5, pad=2)
    axes.xaxis.labelpad = axes.yaxis.labelpad = 2
    for spine in axes.spines.values():
        spine.set_linewidth(0.6)


def _draw_dots(axes: Axes, ruleset: RuleSet, scope: Scope, pair: Sequence[int]) -> None:
    """Draw visited states, whatever their other features are; whole numbers are spread a little."""
    rows = np.unique(np.linspace(0, len(scope) - 1, DOTS).astype(np.int64))
    dots = np.full((len(rows), 2), 0.5)
    for i, d in enumerate(pair):
        dots[:, i] = scope.points[rows, d]
    for i, step in enumerate((0.7548776662466927, 0.5698402909980532)):
        if i >= len(pair) or ruleset.features[pair[i]].is_integer:
            dots[:, i] += ((1 + np.arange(len(rows))) * step % 1 - 0.5) * 0.6
    axes.plot(*dots.T, ".", color=INK, markersize=1.6, alpha=0.3, markeredgewidth=0, gid="states visited")


def _draw_paths(axes: Axes, ruleset: RuleSet, task: Task, pair: Sequence[int]) -> None:
    """Draw some training episodes as lines, with a ring where they start."""
    for episode in recorded_episodes(ruleset, task)[:PATHS]:
        observations = np.vstack([episode.points, episode.last])
        points = np.clip(observations, *lows_and_highs(task.features))[:, list(pair)]
        axes.plot(*points.T, color=INK, linewidth=0.7, alpha=0.75, gid="episode")
        axes.plot(*points[0], "o", markersize=3, markerfacecolor="white", color=INK, markeredgewidth=0.7)


def _draw_numbers(axes: Axes, ruleset: RuleSet, plane: Regions, scale: float) -> None:
    """Write the numbers of rules into their regions, from 1."""
    if len(ruleset) > NUMBERED:
        return
    for rule, (x, y) in plane.places().items():
        if rule >= 0:
            size = (SMALL + 1) * scale
            text = axes.text(x, y, str(rule + 1), ha="center", va="center", fontsize=size, fontweight="bold")
            text.set_path_effects([withStroke(linewidth=1.8, foreground="white")])


def _fixed_in_words(ruleset: RuleSet, fixed: Floats, pairs: Sequence[tuple[int, ...]]) -> str:
    """Return which features are held fixed, and where; the only panel's own are not."""
    drawn = pairs[0] if len(pairs) == 1 else ()
    values = {
        feature.name: number_in_words(float(f"{value:.4g}"))
        for d, (feature, value) in enumerate(zip(ruleset.observed_features, fixed.tolist(), strict=True))
        if d not in drawn
    }
    words = values_in_words(values, ruleset.tested)
    return ("the others at " if len(pairs) > 1 else "at ") + words if words else ""
