"""What a policy does in an environment: regions of its rules over two features, and the states that it meets.

With two features in all this is the whole policy, and episodes are drawn into it as ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from ifthen.explain.pictures.board import key_below
from ifthen.explain.pictures.importance import ranked, telling_pair
from ifthen.explain.pictures.planes import checked_axes, fixed_values
from ifthen.explain.pictures.regions import Regions, regions
from ifthen.explain.pictures.slices import (
    COLOURS,
    GAP,
    LEFT,
    NO_RULE,
    fixed_in_words,
    labelled_axes,
    panels_for,
    wrapped,
)  # fmt: skip
from ifthen.explain.visited import Visited, middle, played, visited
from ifthen.figure_style import MEDIUM, SMALL
from ifthen.rollout.score import checked_ruleset
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

INK = "#222222"
PALE = 0.38
DOTS, WAYS = 2000, 6
"""At most so many of the states met are drawn, and so many episodes as ways."""
NUMBERED = 60
"""Of more rules than this, none is numbered."""
FEATURES = 4
"""Of more features than this, those that matter most are drawn in the picture of all pairs."""
SIDE, SMALL_SIDE = 3.4, 2.0


def action_colour(action: int) -> tuple[float, float, float]:
    """Return the colour of an action, pale enough to write on."""
    red, green, blue = to_rgb(COLOURS[action % len(COLOURS)] if action >= 0 else NO_RULE)
    return (red + (1 - red) * PALE, green + (1 - green) * PALE, blue + (1 - blue) * PALE)


def env_policy_figure(
    ruleset: RuleSet,
    task: EnvTask,
    axes: Sequence[str] | None = None,
    at: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """Draw the regions of rules over two features, coloured by action, and the states met in z.

    Args:
        ruleset: the policy.
        task: its task.
        axes: the names of two features (of one, for a strip); those that matter most where None.
        at: the values, by name, at which others are fixed; the median of the states met where none is given.
        title: the picture's title; the values of the features held fixed where empty.
    """
    checked_ruleset(ruleset, task)
    met = visited(ruleset, task)
    pair = telling_pair(ruleset, met) if axes is None else checked_axes(ruleset, axes)
    return _figure(ruleset, task, [pair], met, at, title, SIDE)


def env_slices_figure(ruleset: RuleSet, task: EnvTask, title: str = "") -> Figure:
    """Draw the same over all pairs of the features that matter most, one panel per pair."""
    checked_ruleset(ruleset, task)
    met = visited(ruleset, task)
    most = sorted(ranked(ruleset, met)[:FEATURES])
    pairs: list[tuple[int, ...]] = [*combinations(most, 2)] or [(most[0],)]
    return _figure(ruleset, task, pairs, met, None, title, SMALL_SIDE)


def _figure(
    ruleset: RuleSet,
    task: EnvTask,
    pairs: Sequence[tuple[int, ...]],
    met: Visited,
    at: Mapping[str, float] | None,
    title: str,
    side: float,
) -> Figure:
    """Draw one panel per pair."""
    centre = {f.name: float(v) for f, v in zip(ruleset.features, middle(met.points), strict=True)}
    fixed = fixed_values(ruleset, None, {**centre, **(at or {})})
    planes = [regions(ruleset, pair, fixed) for pair in pairs]
    ways = len(ruleset.features) == 2
    keys = _keys(ruleset, planes, ways)
    width = min(3, len(pairs)) * (LEFT + side) + GAP
    heading = wrapped(title or fixed_in_words(ruleset, fixed, pairs), width - LEFT - GAP)
    figure, panels = panels_for(pairs, (width, side), len(heading), [label for _, label in keys])
    for panel, pair, plane in zip(panels, pairs, planes, strict=True):
        _draw(panel, ruleset, plane)
        labelled_axes(panel, [ruleset.features[d] for d in pair])
        if ways:
            _ways(panel, ruleset, task, pair)
        else:
            _dots(panel, ruleset, met, pair)
        _numbers(panel, ruleset, plane, 1.0 if side == SIDE else 0.85)
    for i, line in enumerate(heading):
        y = 1 - (0.2 + 0.15 * i) / figure.get_figheight()
        figure.text(LEFT / width, y, line, fontsize=MEDIUM, parse_math=False)
    key_below(figure, keys)
    return figure


def _keys(ruleset: RuleSet, planes: Sequence[Regions], ways: bool) -> list[tuple[Artist, str]]:
    """Return what stands in the legend."""
    deciders = np.unique(np.concatenate([plane.deciders.ravel() for plane in planes]))
    actions = np.unique(ruleset.actions[deciders[deciders >= 0]]).tolist() + [-1] * bool((deciders < 0).any())
    keys: list[tuple[Artist, str]] = [
        (
            Patch(facecolor=action_colour(action), edgecolor=INK, linewidth=0.4),
            ruleset.action_names[action] if action >= 0 else "no rule",
        )
        for action in actions
    ]
    mark = {"linewidth": 0.8} if ways else {"linestyle": "none", "marker": ".", "markersize": 3}
    return [*keys, (Line2D([], [], color=INK, **mark), "episodes" if ways else "states met")]


def _draw(axes: Axes, ruleset: RuleSet, plane: Regions) -> None:
    """Draw regions and their borders."""
    runs = plane.runs()
    colours = [action_colour(int(ruleset.actions[rule]) if rule >= 0 else -1) for rule, _ in runs]
    boxes = [box for _, box in runs]
    axes.add_collection(
        PolyCollection(boxes, facecolors=colours, edgecolors=colours, linewidths=0.15, gid="regions")
    )
    axes.add_collection(LineCollection(plane.borders(), colors=INK, linewidths=0.7, gid="rule borders"))
    axes.set_xlim(plane.across[0], plane.across[-1])
    axes.set_ylim(plane.down[0], plane.down[-1])


def _dots(axes: Axes, ruleset: RuleSet, met: Visited, pair: Sequence[int]) -> None:
    """Draw states met, wherever their other features are; whole numbers are spread a little."""
    every = np.unique(np.linspace(0, len(met.points) - 1, DOTS).astype(np.int64))
    spots = np.full((len(every), 2), 0.5)
    for i, d in enumerate(pair):
        spots[:, i] = met.points[every, d]
    for i, step in enumerate((0.7548776662466927, 0.5698402909980532)):
        if i >= len(pair) or ruleset.features[pair[i]].is_integer:
            spots[:, i] += ((1 + np.arange(len(every))) * step % 1 - 0.5) * 0.6
    axes.plot(*spots.T, ".", color=INK, markersize=1.6, alpha=0.3, markeredgewidth=0, gid="states met")


def _ways(axes: Axes, ruleset: RuleSet, task: EnvTask, pair: Sequence[int]) -> None:
    """Draw some episodes of z as lines, with a ring where they start."""
    for episode in played(ruleset, task)[:WAYS]:
        points = np.clip(np.vstack([episode.points, episode.last]), *task.ranges)[:, list(pair)]
        axes.plot(*points.T, color=INK, linewidth=0.7, alpha=0.75, gid="episode")
        axes.plot(*points[0], "o", markersize=3, markerfacecolor="white", color=INK, markeredgewidth=0.7)


def _numbers(axes: Axes, ruleset: RuleSet, plane: Regions, scale: float) -> None:
    """Write the numbers of rules into their regions, from 1."""
    if len(ruleset) > NUMBERED:
        return
    for rule, (x, y) in plane.places().items():
        if rule >= 0:
            text = axes.text(
                x, y, str(rule + 1), ha="center", va="center", fontsize=(SMALL + 1) * scale, fontweight="bold"
            )
            text.set_path_effects([withStroke(linewidth=1.8, foreground="white")])
