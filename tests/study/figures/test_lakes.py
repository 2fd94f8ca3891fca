from __future__ import annotations

from ifthen import frozen_lake
from ifthen.study.figures.grids import lakes_figure
from tests.tables import table_named


def test_each_map_is_drawn_once_with_its_size() -> None:
    tasks = [frozen_lake(4, 0), frozen_lake(4, 0.3), frozen_lake(8, 0), frozen_lake(12, 0.5)]
    figure = lakes_figure(tasks)
    assert figure is not None
    assert [axes.get_title() for axes in figure.axes] == ["4 × 4", "8 × 8", "12 × 12"]


def test_a_map_shows_its_holes_its_start_and_its_goal() -> None:
    figure = lakes_figure([frozen_lake(desc=("FSHF", "FFFG"))])
    assert figure is not None
    (axes,) = figure.axes
    drawn = [str(patch.get_gid()) for patch in axes.patches if patch.get_gid()]
    assert sorted(drawn) == ["goal", "hole", "start"]
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


def test_many_maps_are_in_rows() -> None:
    figure = lakes_figure([frozen_lake(4, 0, map_seed=seed) for seed in range(6)])
    assert figure is not None
    assert len(figure.axes) == 5  # two of the six are the same
    rows = {spec.rowspan.start for axes in figure.axes if (spec := axes.get_subplotspec())}
    assert rows == {0, 1}
