"""Charts: how much each rule decides, and an episode over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ifthen.explanation.measures import Usage, usage
from ifthen.explanation.pictures.board import TITLE, add_panel, key_below, key_height, put_title, text_width
from ifthen.explanation.pictures.grid_figures import rule_colour
from ifthen.explanation.pictures.slices import action_colour
from ifthen.explanation.trace import ENDINGS, trace
from ifthen.figure_style import BLUE, GREY, MEDIUM, ORANGE, SMALL, bare
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import visited_states
from ifthen.simulate.simulator import checked_ruleset
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task

BARS = 40
"""At most this many rules get bars."""
WIDEST_WORDS = 4.5
"""Rules whose words are longer than this, in inches, are named by number only."""
ROW = 0.2
"""The height of a bar's row, in inches."""
BAR_WIDTH = 2.5
"""The length of the longest bar, in inches."""
UNDER_BARS = 0.62
"""The room below the bars, in inches."""
WIDE = 4.6
"""The width of a panel of an episode, in inches."""
HIGH = 0.5
"""The height of a panel with a feature's curve, in inches."""
STRIP = 0.14
"""The height of the strips with rules and actions, in inches."""
ROOM = 0.1
"""The gap between two panels, in inches."""
UNDER_STRIPS = 0.4
"""The room below the last strip, in inches."""
LISTED = 16
"""The legend names rules only where at most this many decide."""


def usage_figure(ruleset: RuleSet, task: TabularTask) -> Figure:
    """Draw how much each rule decides, in the rules' order: of the decision states, and of the steps made.

    Steps are those expected in an episode of at most t_max steps that starts uniformly in the initial states.
    Of more than 40 rules the 40 that decide most are drawn.

    Args:
        ruleset: the policy.
        task: the task.
    """
    shares = usage(checked_ruleset(ruleset, task), task)
    bars = [(shares.states, BLUE, -0.19, "of the states"), (shares.steps, ORANGE, 0.19, "of the steps")]
    return _bars(ruleset, shares, bars)


def visits_figure(ruleset: RuleSet, task: EnvTask) -> Figure:
    """Draw how many of the states visited in training episodes each rule decides, likewise.

    Args:
        ruleset: the policy.
        task: the environment.
    """
    visited = visited_states(ruleset, task).shares
    return _bars(ruleset, Usage(visited, visited), [(visited, BLUE, 0.0, "of the states visited")])


def _bars(ruleset: RuleSet, shares: Usage, bars: list[tuple[Floats, str, float, str]]) -> Figure:
    """Draw shares of rules as bars: of each kind the shares, colour, place in the row and name."""
    rules, title = _worth_a_bar(shares)
    words = [f"{r + 1}  {ruleset.rule_in_words(int(r))}" for r in rules]
    if max(text_width(line, SMALL) for line in words) > WIDEST_WORDS:
        words = [f"rule {r + 1}" for r in rules]
    words_width = max(text_width(line, SMALL) for line in words) + 0.15
    width = words_width + max(BAR_WIDTH, text_width(title, MEDIUM)) + 0.15
    figure = Figure(figsize=(width, TITLE + ROW * len(rules) + UNDER_BARS))
    axes, rows = (
        add_panel(figure, words_width, UNDER_BARS, BAR_WIDTH, ROW * len(rules)),
        np.arange(len(rules)),
    )
    for values, colour, shift, label in bars:
        bar_height = 0.36 if len(bars) == 2 else 0.6
        axes.barh(rows + shift, 100 * values[rules], height=bar_height, color=colour, gid=label)
    bare(axes)
    axes.set_ylim(len(rules) - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.set_yticks(rows, words, fontsize=SMALL, parse_math=False, ha="left")
    axes.tick_params(axis="y", length=0, pad=72 * (words_width - 0.08))
    axes.set_xlabel("share decided, in %", fontsize=SMALL, labelpad=2)
    put_title(axes, title)
    key_below(figure, [(label, Patch(facecolor=colour)) for _, colour, _, label in bars])
    return figure


def _worth_a_bar(shares: Usage) -> tuple[Ints, str]:
    """Return the rules to draw, in order, all or those that decide most, and a title on the others."""
    rules = np.arange(len(shares.states))
    if len(rules) <= BARS:
        return rules, "use of rules"
    most_used = np.lexsort((-shares.states, -shares.steps))[:BARS]
    shown = np.sort(most_used[shares.states[most_used] > 0])
    left_out = np.setdiff1d(rules, shown)
    phrase = "decide less" if shares.states[left_out].any() else "decide nothing"
    return shown, f"use of rules ({len(left_out)} others {phrase})"


def episode_figure(ruleset: RuleSet, task: Task, episode: int = 0) -> Figure:
    """Draw a training episode: every feature as a line, and below, strips of actions and of deciding rules.

    Args:
        ruleset: the policy.
        task: its task.
        episode: its number, from 0.
    """
    recorded = trace(ruleset, task, episode=episode)
    observations = (recorded.start, *(step.next_features for step in recorded.steps))
    points = np.array([list(features.values()) for features in observations])
    rules = [step.rule for step in recorded.steps if step.rule is not None]
    actions = [task.action_names.index(step.action) for step in recorded.steps]
    keys = _strip_keys(ruleset, actions, rules)
    names = [f.name + (f" ({f.unit})" if f.unit else "") for f in task.features]
    left = max(text_width(name, SMALL) for name in names) + 0.55
    heights, width = [HIGH] * len(names) + [STRIP] * 2, left + WIDE + 0.15
    below = UNDER_STRIPS + key_height(width, [label for label, _ in keys])
    height = TITLE + sum(heights) + ROOM * (len(heights) - 1) + below
    figure, panels, top = Figure(figsize=(width, height)), [], height - TITLE
    for name, high in zip([*names, "action", "rule"], heights, strict=True):
        axes = add_panel(figure, left, top - high, WIDE, high)
        axes.tick_params(labelbottom=False)
        axes.set_xlim(0, max(1, len(rules)))
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_ylabel(name, fontsize=SMALL, rotation=0, ha="left", va="center", parse_math=False)
        axes.yaxis.set_label_coords(-left / WIDE + 0.02, 0.5)
        panels.append(axes)
        top -= high + ROOM
    for d, feature in enumerate(task.features):
        _draw_line(panels[d], points[:, d], feature.is_integer)
    _draw_strip(panels[-2], actions, action_colour, "actions")
    _draw_strip(panels[-1], rules, rule_colour, "rules")
    panels[-1].tick_params(labelbottom=True)
    panels[-1].set_xlabel("step", fontsize=SMALL, labelpad=1)
    heading = f"training episode {episode + 1}: return {recorded.total:.4g}, {ENDINGS[recorded.ending]}"
    figure.text(left / width, 1 - 0.18 / height, heading, fontsize=MEDIUM, parse_math=False)
    key_below(figure, keys)
    return figure


def _strip_keys(ruleset: RuleSet, actions: Sequence[int], rules: Sequence[int]) -> list[tuple[str, Artist]]:
    """Return what the strips' colours stand for."""
    deciding = sorted(set(rules)) if len(set(rules)) <= LISTED else []
    legend = [(ruleset.action_names[action], action_colour(action)) for action in sorted(set(actions))]
    legend += [(f"rule {rule + 1}", rule_colour(rule)) for rule in deciding]
    return [(label, Patch(facecolor=colour)) for label, colour in legend]


def _draw_line(axes: Axes, values: Floats, is_integer: bool) -> None:
    """Draw one feature."""
    bare(axes)
    if values.min() < 0 < values.max():
        axes.axhline(0, color=GREY, linewidth=0.4)
    steps = "steps-post" if is_integer else "default"
    axes.plot(np.arange(len(values)), values, color=BLUE, linewidth=0.8, drawstyle=steps, gid="feature")
    if is_integer and values.min() == values.max():
        axes.set_ylim(values[0] - 1, values[0] + 1)
    axes.yaxis.set_major_locator(MaxNLocator(2, integer=is_integer))
    axes.tick_params(labelsize=SMALL - 1)


def _draw_strip(
    axes: Axes, values: Sequence[int], colour: Callable[[int], tuple[float, float, float]], name: str
) -> None:
    """Draw a strip in which neighbours that are equal are one box."""
    boxes, colours, start = [], [], 0
    for value, group in groupby(values):
        end = start + len(list(group))
        boxes.append(np.array([(start, 0), (end, 0), (end, 1), (start, 1)], dtype=np.float64))
        colours.append(colour(value))
        start = end
    bare(axes)
    axes.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors="none", gid=name))
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
