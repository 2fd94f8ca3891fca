"""Slices cover what is no state of the task, and their legend names all that can be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ifthen import DecisionList
from ifthen.explanation.pictures.slices import slice_figure
from tests.tables import table_named

TAXI = table_named("Taxi-v4")
WHOLE = [[f.low, f.high] for f in TAXI.features]
IMPOSSIBLE = DecisionList(  # Dropoff only where the passenger is at the destination already
    [[[0, 4], [0, 4], [1, 1], [1, 1]], [[0, 1], [0, 4], [0, 4], [0, 3]], WHOLE],
    [5, 0, 1], TAXI.features, TAXI.action_names,
)  # fmt: skip


def covers(figure: Figure) -> list[set[tuple[float, float]]]:
    """Return the middles of the cells that each panel covers."""
    found: list[list[Any]] = [
        [path for c in axes.collections if c.get_gid() == "no state" for path in c.get_paths()]
        for axes in figure.axes
    ]
    return [{tuple(np.round(path.vertices[:4].mean(axis=0)).tolist()) for path in paths} for paths in found]


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_what_is_no_decision_state_is_covered() -> None:
    figure = slice_figure(IMPOSSIBLE, TAXI, ("passenger", "destination"))
    (covered,) = covers(figure)
    states = set(map(tuple, TAXI.dynamics.states.tolist()))
    cells = {(passenger, target) for passenger in range(5) for target in range(4)}
    assert covered == {(p, t) for p, t in cells if (2, 2, p, t) not in states}
    assert covered == {(p, t) for p, t in cells if p == t}
    assert covers(slice_figure(IMPOSSIBLE, TAXI, ("column", "row"))) == [set()]


def test_the_legend_names_all_that_can_be_seen_and_nothing_else() -> None:
    assert labels(slice_figure(IMPOSSIBLE, TAXI)) == ["South", "North", "no state"]
    assert labels(slice_figure(IMPOSSIBLE, TAXI, ("column", "row"))) == ["South", "North"]
    assert labels(slice_figure(IMPOSSIBLE, at={"destination": 1})) == ["South", "North", "Dropoff"]
    assert not any(covers(slice_figure(IMPOSSIBLE)))
