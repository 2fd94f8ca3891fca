"""An episode over time: every feature as a line, and below, strips of what was done and of who decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ifthen.checks import whole_number
from ifthen.explain.pictures.board import LEGEND_ROW, key_below, key_rows, text_width
from ifthen.explain.pictures.deciders import rule_colour
from ifthen.explain.pictures.env_slices import action_colour
from ifthen.explain.points import choose_at
from ifthen.explain.visited import played
from ifthen.figure_style import BLUE, GREY, MEDIUM, SMALL, bare
from ifthen.rollout.episodes import NULL, TERMINATED, TRUNCATED
from ifthen.rollout.score import checked_ruleset
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

WIDE, HIGH, STRIP, ROOM = 4.6, 0.5, 0.14, 0.1
"""In inches: the width of a line's panel, its height, that of a strip, and what is between them."""
TITLE, UNDER = 0.28, 0.4
LISTED = 16
"""Of more rules than this, the legend names none."""
ENDED = {TERMINATED: "ended by the environment", TRUNCATED: "truncated", NULL: "no rule matches"}


def episode_figure(ruleset: RuleSet, task: EnvTask, episode: int = 0, title: str = "") -> Figure:
    """Draw an episode of z.

    Args:
        ruleset: the policy.
        task: its task.
        episode: its number in z, from 0.
        title: the picture's title; which episode it is, its return and its ending where empty.
    """
    checked_ruleset(ruleset, task)
    found = played(ruleset, task)[whole_number("episode", episode, 0, len(task.z) - 1)]
    rules = choose_at(ruleset, found.points)[1].tolist() if len(found.points) else []
    points = np.vstack([found.points, found.last])
    total = float(np.sum(task.gamma ** np.arange(len(rules)) * found.rewards))
    heading = title or f"episode {episode + 1} of z: return {total:.4g}, {ENDED[found.ending]}"
    keys = _keys(ruleset, found.actions.tolist(), rules)
    names = [f.name + (f" ({f.unit})" if f.unit else "") for f in task.features]
    figure, panels = _panels(names, heading, [label for _, label in keys])
    *lines, actions, deciders = panels
    for d, axes in enumerate(lines):
        _line(axes, points[:, d], task.features[d].is_integer)
    _strip(actions, found.actions.tolist(), action_colour, "actions")
    _strip(deciders, rules, rule_colour, "rules")
    for axes, name in zip(panels, [*names, "action", "rule"], strict=True):
        axes.set_xlim(0, max(1, len(rules)))
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_ylabel(name, fontsize=SMALL, rotation=0, ha="left", va="center", parse_math=False)
        axes.yaxis.set_label_coords(-_beside(names) / WIDE + 0.02, 0.5)
    deciders.tick_params(labelbottom=True)
    deciders.set_xlabel("step", fontsize=SMALL, labelpad=1)
    key_below(figure, keys)
    return figure


def _beside(names: Sequence[str]) -> float:
    """Return the room to the left of panels, in inches."""
    return max(text_width(name, SMALL) for name in names) + 0.55


def _panels(names: Sequence[str], heading: str, labels: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel per feature and two strips, from above."""
    left = _beside(names)
    width = left + WIDE + 0.15
    below = UNDER + (LEGEND_ROW * key_rows(width, labels) + 0.06 if labels else 0.0)
    heights = [HIGH] * len(names) + [STRIP] * 2
    height = TITLE + sum(heights) + ROOM * (len(heights) - 1) + below
    figure, panels, top = Figure(figsize=(width, height)), [], height - TITLE
    for high in heights:
        panels.append(figure.add_axes((left / width, (top - high) / height, WIDE / width, high / height)))
        panels[-1].tick_params(labelbottom=False)
        top -= high + ROOM
    figure.text(left / width, 1 - 0.18 / height, heading, fontsize=MEDIUM, parse_math=False)
    return figure, panels


def _line(axes: Axes, values: Any, whole: bool) -> None:
    """Draw one feature."""
    bare(axes)
    if values.min() < 0 < values.max():
        axes.axhline(0, color=GREY, linewidth=0.4)
    steps = "steps-post" if whole else "default"
    axes.plot(np.arange(len(values)), values, color=BLUE, linewidth=0.8, drawstyle=steps, gid="feature")
    if whole and values.min() == values.max():
        axes.set_ylim(values[0] - 1, values[0] + 1)
    axes.yaxis.set_major_locator(MaxNLocator(2, integer=whole))
    axes.tick_params(labelsize=SMALL - 1)


def _strip(
    axes: Axes, values: Sequence[int], colour: Callable[[int], tuple[float, float, float]], name: str
) -> None:
    """Draw a strip in which neighbours that are equal are one box."""
    boxes, colours, first = [], [], 0
    for value, same in groupby(values):
        last = first + len(list(same))
        boxes.append(np.array([(first, 0), (last, 0), (last, 1), (first, 1)], dtype=np.float64))
        colours.append(colour(value))
        first = last
    bare(axes)
    axes.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors="none", gid=name))
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _keys(ruleset: RuleSet, actions: Sequence[int], rules: Sequence[int]) -> list[tuple[Artist, str]]:
    """Return what the strips' colours stand for."""
    keys: list[tuple[Artist, str]] = [
        (Patch(facecolor=action_colour(action)), ruleset.action_names[action])
        for action in sorted(set(actions))
    ]
    deciding = sorted(set(rules))
    if len(deciding) <= LISTED:
        keys += [(Patch(facecolor=rule_colour(rule)), f"rule {rule + 1}") for rule in deciding]
    return keys
