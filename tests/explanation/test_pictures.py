"""Pictures show what the policy does: the right marks, numbers and colours in the right places."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Rectangle

from ifthen import DecisionList, Feature, RuleSet, StrengthRules, TabularTask, frozen_lake
from ifthen.errors import ParameterError, TaskError
from ifthen.explanation.measures import advantages, best_action_map, usage, visits
from ifthen.explanation.pictures.charts import usage_figure
from ifthen.explanation.pictures.grid_figures import (
    heat_figure,
    policy_figure,
    rule_colour,
    who_decides_figure,
)
from ifthen.explanation.pictures.policy_grid import DIRECTIONS, cells, letters, policy_text
from ifthen.explanation.pictures.slices import action_colour, slice_figure
from ifthen.explanation.pictures.write_pictures import drawings, write_pictures
from ifthen.simulate.table_simulator import policy_table
from ifthen.tables import policy_values, value_iteration
from tests.rulesets import bounds_of, voting_rules
from tests.tables import table_named

LAKE = frozen_lake(4, 0.1)
CLIFF = table_named("CliffWalking-v1")
TAXI = table_named("Taxi-v4")
EDGE = DecisionList(  # no rule for the upper rows beyond x = 5, and one that never decides
    [[[11, 11], [0, 3]], [[0, 5], [0, 2]], [[0, 5], [0, 1]], [[0, 3], [3, 3]], [[0, 11], [2, 2]]],
    [2, 1, 0, 0, 1], CLIFF.features, CLIFF.action_names,
)  # fmt: skip


@st.composite
def policies(draw: st.DrawFn, task: TabularTask = LAKE) -> RuleSet:
    """Draw a ruleset of any kind for a task, with up to six rules."""
    if draw(st.booleans()):
        return draw(voting_rules(6, task.features, task.action_names))
    n = draw(st.integers(1, 6))
    bounds = draw(bounds_of(n, task.features))
    actions = draw(st.lists(st.integers(0, task.n_actions - 1), min_size=n, max_size=n))
    if draw(st.booleans()):
        return DecisionList(bounds, actions, task.features, task.action_names)
    few = st.lists(st.sampled_from([-1.0, 0.0, 0.0, 0.5]), min_size=n, max_size=n)
    weights = np.column_stack([draw(few) for _ in range(len(task.features) + 1)])
    return StrengthRules(bounds, actions, task.features, task.action_names, weights, np.abs(draw(few)), 10.0)


def marked(axes: Axes, gid: str) -> list[Any]:
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


def written(axes: Axes) -> dict[tuple[int, int], str]:
    """Return the texts in cells, by (x, y)."""
    found: dict[tuple[int, int], str] = {}
    for text in axes.texts:
        x, y = (int(number) for number in text.get_position())
        assert (x, y) not in found
        found[x, y] = text.get_text()
    return found


def at_cells(task: TabularTask, values: Any) -> dict[tuple[int, int], Any]:
    """Return values of the decision states by (x, y)."""
    return {(int(x), int(y)): v for (x, y), v in zip(task.dynamics.states, values, strict=True)}


def face(axes: Axes, x: int, y: int) -> tuple[float, ...]:
    """Return the colour of a cell."""
    (squares,) = marked(axes, "cells")
    for path, colour in zip(squares.get_paths(), squares.get_facecolors(), strict=True):
        if path.contains_point((x, y)):
            return tuple(colour)
    raise AssertionError((x, y))


@given(policies())
@settings(max_examples=15)
def test_borders_part_exactly_the_neighbours_that_different_rules_decide(ruleset: RuleSet) -> None:
    axes = policy_figure(ruleset, LAKE).axes[0]
    _, chosen = ruleset.choose(LAKE.dynamics.points)
    deciders = at_cells(LAKE, chosen.tolist())
    expected = {
        ((x, y), (x + dx, y + dy))
        for x, y in deciders
        for dx, dy in ((1, 0), (0, 1))
        if (x + dx, y + dy) in deciders and deciders[x, y] != deciders[x + dx, y + dy]
    }
    (lines,) = marked(axes, "rule borders")
    drawn = set()
    for (x1, y1), (x2, y2) in lines.get_segments():
        middle, across = ((x1 + x2) / 2, (y1 + y2) / 2), (0.5, 0) if x1 == x2 else (0, 0.5)
        ends = [tuple(round(m + sign * a) for m, a in zip(middle, across, strict=True)) for sign in (-1, 1)]
        drawn.add((ends[0], ends[1]))
    assert drawn == expected
    assert len(lines.get_segments()) == len(expected)


@given(policies())
@settings(max_examples=15)
def test_arrows_point_where_actions_lead_and_tell_what_is_optimal(ruleset: RuleSet) -> None:
    axes = policy_figure(ruleset, LAKE).axes[0]
    expected = {True: set(), False: set()}  # type: dict[bool, set[tuple[float, ...]]]
    signs = {}
    for y, row in enumerate(cells(ruleset, LAKE)):
        for x, cell in enumerate(row):
            if cell.action is not None:
                dx, dy, _ = DIRECTIONS[cell.action]
                expected[cell.optimal].add((x, y, dx, dy))
            elif cell.asked:
                signs[x, y] = "∅"
    for optimal, name in ((True, "optimal"), (False, "not optimal")):
        drawn = set()
        for arrows in marked(axes, name):
            for path in arrows.get_paths():
                middle, tip = np.rint(path.vertices[:7].mean(axis=0)), path.vertices[3]
                drawn.add((*middle.tolist(), *np.rint((tip - middle) / 0.34).tolist()))
        assert drawn == expected[optimal]
    assert written(axes) == signs


def test_icons_stand_for_start_holes_and_goal() -> None:
    axes = policy_figure(DecisionList([[[0, 3]] * 2], [0], LAKE.features, LAKE.action_names), LAKE).axes[0]
    assert LAKE.layout is not None
    places = {
        letter: {(x, y) for y, row in enumerate(LAKE.layout) for x, mark in enumerate(row) if mark == letter}
        for letter in "SHG"
    }
    for letter, name in (("H", "hole"), ("G", "goal"), ("S", "start")):
        boxes = [icon.get_path().get_extents(icon.get_patch_transform()) for icon in marked(axes, name)]
        centres = [(round((b.x0 + b.x1) / 2), round((b.y0 + b.y1) / 2)) for b in boxes]
        assert len(centres) == len(set(centres)) == len(places[letter])
        assert set(centres) == places[letter]


def test_a_task_without_a_map_gets_its_goal_and_start_from_its_transitions() -> None:
    assert ["".join(row) for row in letters(CLIFF)] == ["F" * 12] * 3 + ["S" + " " * 10 + "G"]
    assert policy_text(EDGE, CLIFF).plain.splitlines()[3].endswith(" ★ ")
    axes = policy_figure(EDGE, CLIFF).axes[0]
    (goal,) = marked(axes, "goal")
    assert goal.get_path().contains_point((10.95, 2.8), goal.get_patch_transform())
    assert face(axes, 11, 3) != face(axes, 5, 3)


def test_holes_that_optimal_actions_can_slip_into_are_no_goals() -> None:
    lake = frozen_lake(8, 0.5)
    assert lake.layout is not None
    found = letters(replace(lake, layout=None))
    assert ["".join(row) for row in found] == [row.replace("S", "F") for row in lake.layout]


def test_an_ending_that_is_best_avoided_is_a_hole_and_no_goal() -> None:
    corridor = TabularTask(
        name="corridor",
        features=(Feature("x", 0, 2), Feature("y", 0, 0)),
        action_names=("Left", "Right"),
        state_features=np.array([[0, 0], [1, 0], [2, 0]], dtype=np.int32),
        next_state=np.array([[[0], [1]], [[0], [2]], [[2], [2]]], dtype=np.int32),
        reward=np.array([[[0.0], [0.0]], [[0.0], [-1.0]], [[0.0], [0.0]]]),
        done=np.array([[[False], [False]], [[False], [True]], [[True], [True]]]),
        probability=np.array([1.0]),
        initial_states=np.array([0, 1], dtype=np.int32),
        enumerations=1,
        gamma=0.9,
        t_max=9,
    )
    assert letters(corridor) == [["F", "F", "H"]]
    rewarded = replace(corridor, reward=-corridor.reward)
    assert letters(rewarded) == [["F", "F", "G"]]


@given(policies())
@settings(max_examples=15)
def test_cells_hold_the_number_and_the_colour_of_the_rule_that_decides(ruleset: RuleSet) -> None:
    figure = who_decides_figure(ruleset, LAKE)
    axes = figure.axes[0]
    _, chosen = ruleset.choose(LAKE.dynamics.points)
    deciders = at_cells(LAKE, chosen.tolist())
    assert written(axes) == {at: str(r + 1) if r >= 0 else "∅" for at, r in deciders.items()}
    for (x, y), r in deciders.items():
        if r >= 0:
            assert face(axes, x, y) == pytest.approx((*rule_colour(r), 1.0))
    used = sorted({r for r in deciders.values() if r >= 0})
    legend = axes.get_legend()
    listed = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    assert listed == [f"{r + 1}  {ruleset.rule_in_words(r)}" for r in used]


def test_sixteen_rules_have_sixteen_colours() -> None:
    assert len({rule_colour(r) for r in range(16)}) == 16
    assert rule_colour(16) == rule_colour(0)


def test_too_many_rules_are_drawn_but_not_listed() -> None:
    lake = frozen_lake(8, 0.1)
    bounds = [[[x, x], [y, y]] for y in range(8) for x in range(8)]
    everywhere = DecisionList(bounds, [0] * 64, lake.features, lake.action_names)
    axes = who_decides_figure(everywhere, lake).axes[0]
    assert axes.get_legend() is None
    assert written(axes)[6, 7] == str(7 * 8 + 6 + 1)


@given(policies())
@settings(max_examples=8)
def test_density_shows_the_sizes_of_best_action_sets(ruleset: RuleSet) -> None:
    sizes = at_cells(LAKE, best_action_map(ruleset, LAKE).density.tolist())
    axes = heat_figure("density", ruleset, LAKE).axes[0]
    assert written(axes) == {at: str(size) if size else "∅" for at, size in sizes.items()}


def test_values_are_shown_next_to_the_optimal_ones_on_one_scale() -> None:
    bounds = [[[0, 3], [0, 0]], [[0, 3], [3, 3]], [[0, 3], [0, 3]]]
    rules = DecisionList(bounds, [2, 2, 1], LAKE.features, LAKE.action_names)
    policy = np.full(LAKE.n_states, -1)
    policy[LAKE.decision_states] = policy_table(rules, LAKE)
    own, best, *_ = heat_figure("values", rules, LAKE).axes
    for axes, values in ((own, policy_values(LAKE, policy)), (best, value_iteration(LAKE).values)):
        expected = at_cells(LAKE, values[LAKE.decision_states].tolist())
        for at, text in written(axes).items():
            assert (0.0 if text == "≈0" else float(text)) == pytest.approx(expected[at], abs=0.00501)
        assert set(written(axes)) == set(expected)
    same = [at for at in written(own) if written(own)[at] == written(best)[at] == "0.99"]
    assert same
    for x, y in same:
        assert face(own, x, y) == pytest.approx(face(best, x, y), abs=0.02)


def test_states_from_which_a_state_without_a_rule_can_be_met_have_no_value() -> None:
    own, best, *_ = heat_figure("values", EDGE, CLIFF).axes
    assert written(own)[7, 0] == "∅"
    assert "∅" not in written(best).values()


def test_costs_are_printed_where_the_action_is_not_optimal_and_only_there() -> None:
    figure = heat_figure("advantages", EDGE, CLIFF)
    cost = at_cells(CLIFF, advantages(CLIFF, policy_table(EDGE, CLIFF)).tolist())
    texts = written(figure.axes[0])
    assert set(texts) == {at for at, value in cost.items() if value != 0}
    for at, text in texts.items():
        assert text == "∅" if np.isnan(cost[at]) else float(text.replace("−", "-")) == round(cost[at], 2)
    up = DecisionList([[[0, 11], [0, 3]]], [0], CLIFF.features, CLIFF.action_names)
    assert len(written(heat_figure("advantages", up, CLIFF).axes[0])) > 30


def test_visits_are_those_expected_in_an_episode() -> None:
    expected = at_cells(CLIFF, visits(CLIFF, policy_table(EDGE, CLIFF), discounted=False).tolist())
    axes = heat_figure("visits", EDGE, CLIFF).axes[0]
    texts = written(axes)
    assert texts[0, 3] == texts[0, 2] == "1.00"
    assert texts[0, 0] == "0"
    for at, text in texts.items():
        assert float(text) == pytest.approx(expected[at], abs=0.00501)
    assert face(axes, 0, 0) != face(axes, 0, 2)


def test_bars_are_the_shares_that_rules_decide_in_their_order() -> None:
    axes = usage_figure(EDGE, CLIFF).axes[0]
    shares = usage(EDGE, CLIFF)
    for name, expected in (("of the states", shares.states), ("of the steps", shares.steps)):
        bars = [bar for bar in axes.patches if bar.get_gid() == name and isinstance(bar, Rectangle)]
        widths = [bar.get_width() for bar in bars]
        np.testing.assert_allclose(widths, 100 * expected)
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        f"{r + 1}  {EDGE.rule_in_words(r)}" for r in range(len(EDGE))
    ]


def test_of_many_rules_only_those_that_decide_get_bars() -> None:
    one, rest = [[[0, 3], [0, 0]]], [[[0, 0], [0, 0]]] * 45
    many = DecisionList(one + rest + [[[0, 3]] * 2], [0] * 47, LAKE.features, LAKE.action_names)
    axes = usage_figure(many, LAKE).axes[0]
    assert [label.get_text()[:2].strip() for label in axes.get_yticklabels()] == ["1", "47"]
    assert "45 others decide nothing" in axes.get_title("left")


def colour_at(axes: Axes, x: float, y: float) -> tuple[float, ...]:
    """Return the colour of the region at a point of a slice."""
    regions: Any = next(c for c in axes.collections if c.get_gid() == "regions")
    (found,) = [i for i, path in enumerate(regions.get_paths()) if path.contains_point((x, y))]
    return tuple(regions.get_facecolor()[found][:3])


@given(policies(TAXI), st.integers(0, 4), st.integers(0, 3))
@settings(max_examples=8)
def test_slices_show_what_is_chosen_at_their_points(ruleset: RuleSet, passenger: int, target: int) -> None:
    fixed = {"row": 2, "column": 2, "passenger": passenger, "destination": target}
    figure = slice_figure(ruleset, TAXI, at={"passenger": passenger, "destination": target})
    widths = {feature.name: feature.width for feature in TAXI.features}
    assert len(figure.axes) == 6
    for axes in figure.axes:
        across, down = axes.get_xlabel(), axes.get_ylabel()
        for i, j in itertools.product(range(widths[across]), range(widths[down])):
            point = [{**fixed, across: i, down: j}[name] for name in widths]
            assert colour_at(axes, i, j) == pytest.approx(action_colour(ruleset.predict(point)))
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column", "row")
    assert axes.yaxis_inverted()


def test_features_are_fixed_at_their_median_or_in_the_middle() -> None:
    right = DecisionList([[[0, 4], [0, 4], [0, 4], [0, 3]]], [2], TAXI.features, TAXI.action_names)
    medians = sorted(TAXI.dynamics.states[:, 2].tolist())[(len(TAXI.dynamics.states) - 1) // 2]
    assert f"passenger = {medians}" in slice_figure(right, TAXI, ("row", "column")).texts[0].get_text()
    assert "passenger = 2" in slice_figure(right, axes=("row", "column")).texts[0].get_text()


def test_slices_of_real_features_are_exact_and_reach_both_ends() -> None:
    features = (Feature("position", -1.2, 0.6, "real", "m"), Feature("velocity", -0.07, 0.07, "real"))
    car = DecisionList(
        [[[-1.2, -0.25], [-0.07, 0.01]], [[-0.5, 0.6], [-0.02, 0.07]]], [0, 1], features, ("Push", "Wait")
    )
    (axes,) = slice_figure(car).axes
    for x, y in np.random.default_rng(0).uniform((-1.2, -0.07), (0.6, 0.07), (200, 2)).tolist():
        assert colour_at(axes, x, y) == pytest.approx(action_colour(car.predict([x, y])))
    assert axes.get_xlim() == (-1.2, 0.6)
    assert axes.get_ylim() == (-0.07, 0.07)
    assert axes.get_xlabel() == "position (m)"


def test_a_single_feature_is_drawn_as_a_strip() -> None:
    level = DecisionList([[[0, 3]], [[8, 10]]], [0, 1], (Feature("level", 0, 12),), ("Go $x$", "_Wait"))
    figure = slice_figure(level)
    drawn = [colour_at(figure.axes[0], x, 0.5) for x in range(13)]
    expected = [0] * 4 + [-1] * 4 + [1] * 3 + [-1] * 2
    assert drawn == [pytest.approx(action_colour(action)) for action in expected]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Go $x$", "_Wait", "no rule"]


def test_of_many_features_those_that_most_rules_restrict_are_drawn() -> None:
    features = tuple(Feature(f"f{i}", 0, 3) for i in range(6))
    bounds = [[[0, 3]] * 6 for _ in range(3)]
    for rule, feature in ((0, 5), (1, 5), (2, 5), (0, 4), (1, 4), (0, 1)):
        bounds[rule][feature] = [1, 2]
    figure = slice_figure(DecisionList(bounds, [0, 1, 0], features, ("A", "B")))
    drawn = {(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes}
    assert drawn == {("f0", "f1"), ("f0", "f4"), ("f0", "f5"), ("f1", "f4"), ("f1", "f5"), ("f4", "f5")}


def test_slices_refuse_features_and_values_that_do_not_exist() -> None:
    rules = DecisionList([[[0, 4], [0, 4], [0, 4], [0, 3]]], [2], TAXI.features, TAXI.action_names)
    for options, message in (
        ({"axes": ("row", "colum")}, "Did you mean 'column'"),
        ({"axes": ("row", "row")}, "two different"),
        ({"axes": "row"}, "names of one or two"),
        ({"at": {"passenger": 5}}, "from 0 to 4"),
        ({"at": {"passenger": 1.5}}, "whole number"),
        ({"at": {"pasenger": 1}}, "Did you mean 'passenger'"),
    ):  # type: tuple[dict[str, Any], str]
        with pytest.raises(ParameterError, match=message):
            slice_figure(rules, TAXI, **options)


@pytest.mark.parametrize(
    ("ruleset", "task"),
    [
        (EDGE, CLIFF),
        (DecisionList([[[0, 2], [0, 0]], [[3, 3], [0, 3]]], [2, 1], LAKE.features, LAKE.action_names), LAKE),
        (DecisionList([[[0, 4], [0, 4], [0, 2], [0, 3]]], [2], TAXI.features, TAXI.action_names), TAXI),
    ],
)
def test_everything_lies_inside_its_picture(ruleset: RuleSet, task: TabularTask) -> None:
    for name, draw in drawings(ruleset, task).items():
        figure = draw()
        FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]  # Matplotlib's
        whole = figure.bbox
        boxes = [axes.get_tightbbox() for axes in figure.axes]
        boxes += [artist.get_window_extent() for artist in (*figure.legends, *figure.texts)]
        for box in boxes:
            assert box is not None
            inside = whole.x0 <= box.x0 and whole.y0 <= box.y0 and box.x1 <= whole.x1 and box.y1 <= whole.y1
            assert inside, (name, box, whole)


def test_pictures_that_apply_are_written_and_are_what_their_names_say(tmp_path: Path) -> None:
    written_first = write_pictures(tmp_path / "one", EDGE, CLIFF)
    names = ["policy", "who-decides", "density", "values", "advantages", "visits", "usage"]
    assert [path.name for path in written_first] == [
        f"{name}.{form}" for name in names for form in ("png", "pdf", "svg")
    ]
    for path in written_first:
        data = path.read_bytes()
        if path.suffix == ".svg":
            assert ElementTree.fromstring(data).tag.endswith("svg")
            assert b"<dc:date>" not in data
        elif path.suffix == ".pdf":
            assert data.startswith(b"%PDF-")
            assert data.rstrip().endswith(b"%%EOF")
            assert b"CreationDate" not in data
        else:
            assert data.startswith(b"\x89PNG\r\n\x1a\n")
            assert data.endswith(b"IEND\xaeB`\x82")
    for path in write_pictures(tmp_path / "two", EDGE, CLIFF, ["png", "svg"]):
        assert path.read_bytes() == (tmp_path / "one" / path.name).read_bytes()


def test_tasks_without_a_grid_and_rulesets_without_a_task_get_slices(tmp_path: Path) -> None:
    rules = DecisionList([[[0, 4], [0, 4], [0, 4], [0, 3]]], [2], TAXI.features, TAXI.action_names)
    first, again = (write_pictures(tmp_path / folder, rules, TAXI, ["pdf"]) for folder in "ab")
    assert [path.name for path in first] == ["usage.pdf", "slices.pdf"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert [path.name for path in write_pictures(tmp_path / "more", rules, formats=["png"])] == ["slices.png"]


def test_unknown_formats_and_tasks_of_others_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    wrong: Any = ["png", "gif"]
    with pytest.raises(ParameterError, match="png, pdf, svg, not 'gif'"):
        write_pictures(tmp_path, EDGE, CLIFF, wrong)
    with pytest.raises(TaskError, match="speaks of"):
        write_pictures(tmp_path, EDGE, LAKE)
    assert list(tmp_path.iterdir()) == []
