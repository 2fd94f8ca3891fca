"""How much each rule decides: bars for its share of the states and of the steps."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ifthen.explain.measures import Usage, usage
from ifthen.explain.pictures.board import TITLE, key_below, put_title, text_width
from ifthen.explain.visited import met_shares
from ifthen.figure_style import BLUE, MEDIUM, ORANGE, SMALL, bare
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

BARS = 40
"""At most this many rules get bars."""
WIDEST_WORDS = 4.5
"""In inches: where rules in words are longer than this, they are named by number only."""
ROW, BAR_WIDTH, UNDER = 0.2, 2.5, 0.62
Bar = tuple[NDArray[np.float64], str, float, str]
"""Values, colour, how far down it is moved, and label."""


def usage_figure(ruleset: RuleSet, task: TabularTask | EnvTask, title: str = "") -> Figure:
    """Draw how much each rule decides, in the rules' order: of the decision states, and of the steps made.

    Steps are those expected in an episode of at most t_max steps that starts uniformly in S_I; in an
    environment, the states met in z are all there is. Of more than 40 rules only those that decide somewhere
    are drawn, and of these the 40 with most steps.

    Args:
        ruleset: the policy.
        task: the task.
        title: the picture's title; what it shows where empty.
    """
    shares, bars = _shares(ruleset, task)
    rules = _worth_a_bar(shares)
    words = [f"{r + 1}  {ruleset.rule_in_words(int(r))}" for r in rules]
    if max(text_width(line, SMALL) for line in words) > WIDEST_WORDS:
        words = [f"rule {r + 1}" for r in rules]
    title = (title or "use of rules") + _left_out(shares, rules)
    beside = max(text_width(line, SMALL) for line in words) + 0.15
    width = beside + max(BAR_WIDTH, text_width(title, MEDIUM)) + 0.15
    height = TITLE + ROW * len(rules) + UNDER
    figure = Figure(figsize=(width, height))
    place = (beside / width, UNDER / height, BAR_WIDTH / width, ROW * len(rules) / height)
    axes, rows, keys = figure.add_axes(place), np.arange(len(rules)), []
    for values, colour, shift, label in bars:
        thick = 0.36 if len(bars) == 2 else 0.6
        axes.barh(rows + shift, 100 * values[rules], height=thick, color=colour, gid=label)
        keys.append((Patch(facecolor=colour), label))
    bare(axes)
    axes.set_ylim(len(rules) - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.set_yticks(rows, words, fontsize=SMALL, parse_math=False, ha="left")
    axes.tick_params(axis="y", length=0, pad=72 * (beside - 0.08))
    axes.set_xlabel("share decided, in %", fontsize=SMALL, labelpad=2)
    put_title(axes, title)
    key_below(figure, keys)
    return figure


def _shares(ruleset: RuleSet, task: TabularTask | EnvTask) -> tuple[Usage, list[Bar]]:
    """Return what is known of the rules' use, and the bars that show it."""
    if isinstance(task, EnvTask):
        met = met_shares(ruleset, task)
        return Usage(met, met), [(met, BLUE, 0.0, "of the states met")]
    shares = usage(ruleset, task)
    of_states, of_steps = "of the states", "of the steps"
    return shares, [(shares.states, BLUE, -0.19, of_states), (shares.steps, ORANGE, 0.19, of_steps)]


def _left_out(shares: Usage, rules: NDArray[np.int64]) -> str:
    """Return a note on the rules that are not drawn."""
    others = np.setdiff1d(np.arange(len(shares.states)), rules)
    what = "decide less" if shares.states[others].any() else "decide nothing"
    return f" ({len(others)} others {what})" if len(others) else ""


def _worth_a_bar(shares: Usage) -> NDArray[np.int64]:
    """Return the rules to draw, in order: all of them, or those that decide most."""
    if len(shares.states) <= BARS:
        return np.arange(len(shares.states))
    most = np.lexsort((-shares.states, -shares.steps))[:BARS]
    return np.sort(most[shares.states[most] > 0])
