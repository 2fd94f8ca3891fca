from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgba

from ifthen import frozen_lake
from ifthen.study.figures.lakes import FROZEN, GOAL, HOLE, lakes_figure
from tests.tables import table_named


def test_each_map_is_drawn_once_with_its_size() -> None:
    tasks = [frozen_lake(4, 0), frozen_lake(4, 0.3), frozen_lake(8, 0), frozen_lake(12, 0.5)]
    figure = lakes_figure(tasks)
    assert figure is not None
    assert [axes.get_title() for axes in figure.axes] == ["4 × 4", "8 × 8", "12 × 12"]


def test_cells_have_the_colours_of_the_map_and_its_ends_their_letters() -> None:
    layout = ("FSHF", "FFFG")
    figure = lakes_figure([frozen_lake(desc=layout)])
    assert figure is not None
    (axes,) = figure.axes
    (image,) = axes.images
    kinds = np.asarray(image.get_array())
    colours = {"S": FROZEN, "F": FROZEN, "H": HOLE, "G": GOAL}
    for y, row in enumerate(layout):
        for x, letter in enumerate(row):
            assert image.cmap(image.norm(kinds[y, x])) == to_rgba(colours[letter])
    assert {text.get_position(): text.get_text() for text in axes.texts} == {(1, 0): "S", (3, 1): "G"}
    assert axes.get_title() == "2 × 4"
    assert axes.get_ylim() == (1.5, -0.5)  # y down


def test_maps_of_the_same_size_are_told_apart_by_name() -> None:
    tasks = [frozen_lake(4, 0), frozen_lake(4, 0.1, map_seed=3), frozen_lake(5, 0, map_seed=1)]
    figure = lakes_figure(tasks)
    assert figure is not None
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["FrozenLake-4-0 (4 × 4)", "FrozenLake-4-0.1-map3 (4 × 4)", "5 × 5"]


def test_tasks_without_a_map_are_left_out_and_alone_give_no_figure() -> None:
    taxi = table_named("Taxi-v4")
    assert lakes_figure([taxi]) is None
    assert lakes_figure([]) is None
    figure = lakes_figure([taxi, frozen_lake(4, 0)])
    assert figure is not None
    assert len(figure.axes) == 1


def test_many_maps_stand_in_rows() -> None:
    figure = lakes_figure([frozen_lake(4, 0, map_seed=seed) for seed in range(6)])
    assert figure is not None
    assert len(figure.axes) == 5  # two of the six are the same
    rows = {spec.rowspan.start for axes in figure.axes if (spec := axes.get_subplotspec())}
    assert rows == {0, 1}
