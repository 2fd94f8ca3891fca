"""Draws the pictures of docs/systems.md: how rules choose, and what a system does in an epoch.

python docs/diagrams.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from ifthen.figure_style import BLUE, GREEN, GREY, MEDIUM, ORANGE, SMALL, WIDTH, write_png

IMAGES = Path(__file__).with_name("images")
LEFT, RIGHT = BLUE, ORANGE
"""The colours of two actions."""
BOXES = ((0.06, 0.3, 0.5, 0.6), (0.34, 0.12, 0.58, 0.52), (0.22, 0.44, 0.56, 0.42))
"""Three rules that overlap: x, y, width and height of each condition."""
ACTIONS = (LEFT, RIGHT, RIGHT)
POINT = (0.46, 0.55)
WAYS = {
    "decision list": (("1", "2", "3"), "rule 1 is first: left"),
    "strength rules": (("4", "6", "3"), "6 is the strongest: right"),
    "prediction array": (("left 5", "right 6", "right 3"), "left 5, right 4.5: left"),
    "summed strengths": (("4", "2", "3"), "left 4, right 2 + 3: right"),
}
EPOCHS = {
    "ppl": {
        "PPL-DL": (
            "population\nof rulesets",
            "choose parents\nby tournaments",
            "cross, mutate",
            "play: fitness\nis the return",
        ),
        "PPL-ST": (
            "population\nof rulesets",
            "choose parents,\nexchange rules",
            "rollouts: rules\nlearn strengths",
            "play: fitness\nis the return",
        ),
    },
    "michigan": {
        "XCSF and XCS": (
            "one population\nof rules",
            "matching rules\nvote; act",
            "rules learn payoff\nand error",
            "breed accurate rules\nof the action set",
        ),
        "ZCS": (
            "one population\nof rules",
            "matching rules\nadd up; act",
            "pay a share to\nthe set before",
            "breed strong rules\nof all",
        ),
    },
    "samuel": {
        "SAMUEL": (
            "plans: rules\nwith strengths",
            "rules bid;\nplay episodes",
            "active rules learn\nfrom the payoff",
            "operators make rules\nfrom what was played",
            "choose and\ncross plans",
        ),
    },
    "pplx": {
        "PPL-X": (
            "collect\nepisodes",
            "learn what\nactions are worth",
            "lists imitate the\nbest actions",
            "shorten and tune\nby playing",
            "front: the best\nlist of each length",
        ),
    },
}
"""The steps of an epoch, by picture and system. PPL-X has phases in place of a cycle."""


def choosing() -> Figure:
    """Return how four kinds of rulesets choose at one point that three rules match."""
    figure = Figure(figsize=(WIDTH, 2.3), layout="constrained")
    for axes, (kind, (labels, outcome)) in zip(figure.subplots(1, 4), WAYS.items(), strict=True):
        for (x, y, width, height), colour, label in zip(BOXES, ACTIONS, labels, strict=True):
            axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, alpha=0.18))
            axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=colour, linewidth=1.4))
            at = (x + width - 0.02, y + 0.02) if y < 0.2 else (x + 0.02, y + height - 0.02)
            at = (x + width - 0.02, y + height - 0.02) if x == BOXES[2][0] else at
            sides = {"ha": "right" if at[0] > x + 0.1 else "left", "va": "bottom" if y < 0.2 else "top"}
            axes.text(*at, label, size=SMALL - 1, **sides)
        chosen = LEFT if outcome.endswith("left") else RIGHT
        axes.plot(*POINT, "o", color=chosen, markeredgecolor="black", markersize=7)
        axes.set_title(kind, size=MEDIUM + 1)
        axes.set_xlabel(outcome, size=MEDIUM, color=chosen)
        axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    return figure


def epoch(systems: dict[str, tuple[str, ...]]) -> Figure:
    """Return the steps of an epoch of each system, one row each."""
    figure = Figure(figsize=(WIDTH, 1.15 * len(systems)), layout="constrained")
    rows = figure.subplots(len(systems), 1, squeeze=False)[:, 0]
    for axes, (name, steps) in zip(rows, systems.items(), strict=True):
        draw_steps(axes, name, steps)
    return figure


def draw_steps(axes: Axes, name: str, steps: tuple[str, ...]) -> None:
    """Draw steps from left to right; those of a cycle go back to the first."""
    axes.set(xlim=(-0.45, len(steps) - 0.55), ylim=(-0.75 if name != "PPL-X" else -0.3, 0.6))
    axes.axis("off")
    axes.text(-0.42, 0.36, name, size=MEDIUM + 1, weight="bold", va="bottom")
    for place, step in enumerate(steps):
        kept = place == (len(steps) - 1 if name == "PPL-X" else 0)  # what is handed on, or the result
        colour = GREEN if kept else BLUE
        shape = FancyBboxPatch(
            (place - 0.4, -0.26),
            0.8,
            0.52,
            boxstyle="round,pad=0.02,rounding_size=0.08",
            facecolor=colour,
            alpha=0.14,
            edgecolor="none",
        )
        axes.add_patch(shape)
        axes.text(place, 0, step, size=SMALL, ha="center", va="center")
        if place:
            arrow(axes, (place - 0.57, 0), (place - 0.43, 0))
    if name != "PPL-X":
        last = len(steps) - 1
        axes.plot([last, last, 0], [-0.3, -0.55, -0.55], color=GREY, linewidth=1)
        arrow(axes, (0, -0.55), (0, -0.29))
        axes.text(last / 2, -0.58, "next epoch", size=SMALL, color=GREY, ha="center", va="top")


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw an arrow."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": GREY, "linewidth": 1})


def main() -> None:
    """Write the pictures."""
    write_png(IMAGES / "choosing.png", choosing())
    for name, systems in EPOCHS.items():
        write_png(IMAGES / f"epoch-{name}.png", epoch(systems))


if __name__ == "__main__":
    main()
