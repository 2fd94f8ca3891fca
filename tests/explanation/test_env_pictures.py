"""Pictures of policies in environments: regions are where rules decide, and everything met is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ifthen import DecisionList, Feature, RuleSet
from ifthen.errors import ParameterError, TaskError
from ifthen.explanation.pictures.charts import episode_figure, visits_figure
from ifthen.explanation.pictures.grid_figures import rule_colour
from ifthen.explanation.pictures.planes import chosen_pairs, importance, regions, rule_borders
from ifthen.explanation.pictures.slices import action_colour, slice_figure
from ifthen.explanation.pictures.write_pictures import write_pictures
from ifthen.explanation.trace import trace
from ifthen.simulate.scope import Scope, median_point, visited_states
from tests.explanation.env_policies import KINDS, a_policy, a_task, holey, some_rules


def with_gid(axes: Axes, gid: str) -> list[Any]:
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


def colour_at(axes: Axes, x: float, y: float) -> tuple[float, ...]:
    """Return the colour of the region at a point."""
    (found,) = with_gid(axes, "regions")
    faces = found.get_facecolor()
    inside = [i for i, path in enumerate(found.get_paths()) if path.contains_point((x, y))]
    assert len(inside) == 1
    return tuple(np.round(faces[inside[0]][:3], 6))


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0", "Blackjack-v1"])
def test_regions_of_lists_are_exact(name: str) -> None:
    task = a_task(name)
    rng = np.random.default_rng(1)
    lows, highs = task.ranges
    for seed in range(4):
        rules = some_rules("decision-list", task, 12, seed)
        fixed = lows + rng.random(len(lows)) * (highs - lows)
        fixed = np.where([f.is_integer for f in task.features], np.rint(fixed), fixed)
        plane = regions(rules, (0, 1), fixed)
        points = np.tile(fixed, (300, 1))
        points[:, :2] = (lows + rng.random((300, len(lows))) * (highs - lows))[:, :2]
        points = np.where([f.is_integer for f in task.features], np.rint(points), points)
        column = np.searchsorted(plane.across, points[:, 0]) - 1
        row = np.searchsorted(plane.down, points[:, 1]) - 1
        assert np.array_equal(plane.deciders[row, column], rules.choose(points)[1])


@pytest.mark.parametrize("kind", ["strength", "prediction-array"])
def test_regions_of_weighed_rules_are_right_in_the_middle_of_cells(kind: str) -> None:
    task = a_task("MountainCar-v0")
    rules = some_rules(kind, task)
    plane = regions(rules, (0, 1), np.zeros(2))
    across, down = ((edges[:-1] + edges[1:]) / 2 for edges in (plane.across, plane.down))
    points = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    assert np.array_equal(plane.deciders.ravel(), rules.choose(points)[1])
    assert len(across) >= 160


def test_a_real_y_points_up() -> None:
    features = (Feature("y", 0.0, 2.0, "real"), Feature("speed", -1.0, 1.0, "real"))
    rules = DecisionList([[[0.5, 2.0], [-1.0, 1.0]]], [0], features, ("fall", "fire"))
    (axes,) = slice_figure(rules, axes=("speed", "y")).axes
    assert not axes.yaxis_inverted()


def test_borders_run_where_the_rule_changes_and_numbers_are_in_their_regions() -> None:
    ruleset, _ = a_policy("MountainCar-v0")
    plane = regions(ruleset, (0, 1), np.zeros(2))
    borders = rule_borders(plane.across, plane.down, plane.deciders)
    levels = {float(line[0, 1]) for line in borders if line[0, 1] == line[1, 1]}
    assert levels == {-0.01, -0.002, 0.0003, 0.01}
    for rule, (x, y) in plane.places().items():
        assert ruleset.choose(np.array([[x, y]]))[1] == rule
    assert set(plane.places()) == {0, 1, 2, 3}


def test_a_policy_of_two_features_is_drawn_whole_with_ways() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    figure = slice_figure(ruleset, task, features=2)
    (axes,) = figure.axes
    rng = np.random.default_rng(2)
    for x, y in rng.uniform((-1.2, -0.07), (0.6, 0.07), (40, 2)).tolist():
        action = ruleset.predict([x, y])
        assert colour_at(axes, x, y) == tuple(np.round(action_colour(action), 6))
    ways = with_gid(axes, "episode")
    assert len(ways) == len(task.z)
    found = trace(ruleset, task, episode=0)
    assert ways[0].get_xdata()[0] == pytest.approx(found.start["position"])
    assert len(ways[0].get_xdata()) == len(found.steps) + 1
    assert set(texts(figure)) == {"1", "2", "3", "4"}
    assert axes.get_xlabel() == "position"


def test_the_features_that_change_actions_are_drawn_and_others_held_at_the_median() -> None:
    ruleset, task = a_policy("CartPole-v1")
    met = visited_states(ruleset, task)
    assert chosen_pairs(ruleset, met, 2) == [(2, 3)]
    figure = slice_figure(ruleset, task, features=2)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("pole angle (rad)", "pole velocity (rad/s)")
    fixed = median_point(met.points)
    for angle, velocity in ((-0.1, 1.0), (0.1, -1.0), (0.01, 1.0), (0.01, -1.0)):
        action = ruleset.predict([fixed[0], fixed[1], angle, velocity])
        assert colour_at(axes, angle, velocity) == tuple(np.round(action_colour(action), 6))
    (dots,) = with_gid(axes, "states visited")
    assert set(np.round(dots.get_xdata(), 12)) <= set(np.round(met.points[:, 2], 12))
    assert f"cart position = {float(f'{fixed[0]:.4g}')}" in figure.texts[0].get_text()


def test_features_can_be_chosen_and_fixed() -> None:
    ruleset, task = a_policy("CartPole-v1")
    chosen = slice_figure(ruleset, task, axes=("cart position", "pole angle"), at={"pole velocity": -1.0})
    (axes,) = chosen.axes
    assert axes.get_xlabel() == "cart position"
    assert colour_at(axes, 2.0, 0.0) == tuple(np.round(action_colour(1), 6))
    assert colour_at(axes, 0.0, 0.0) == tuple(np.round(action_colour(0), 6))
    with pytest.raises(ParameterError, match="unknown feature 'poll angle'"):
        slice_figure(ruleset, task, axes=("poll angle", "cart position"))
    with pytest.raises(ParameterError, match="cart position must be fixed at a real number"):
        slice_figure(ruleset, task, at={"cart position": 99.0})


def test_importance_is_a_matter_of_what_would_be_done() -> None:
    features = tuple(Feature(name, 0.0, 1.0, "real") for name in "abc")
    bounds = np.tile([0.0, 1.0], (3, 3, 1))
    bounds[0, 2, 1], bounds[1, 0, 1] = 0.01, 0.5  # c is restricted most, but by a rule that does the same
    rules = DecisionList(bounds, [0, 0, 1], features, ("x", "y"))
    points = np.random.default_rng(0).random((500, 3)) * [1, 1, 0.005]
    points[:, 2] += 0.5
    worth = importance(rules, Scope(rules, points, "500 points", "visited state", complete=False))
    assert worth.argmax() == 0
    assert worth[0] > 0.3
    assert worth[1:].max() < 0.01


def test_where_no_rule_matches_is_white_and_said() -> None:
    ruleset, task = holey()
    figure = slice_figure(ruleset, task, features=2)
    (axes,) = figure.axes
    assert colour_at(axes, 0.0, 1.0) == to_rgb("white")
    assert "no rule" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_all_pairs_of_the_features_that_matter_get_a_panel() -> None:
    ruleset, task = a_policy("Blackjack-v1", 50)
    figure = slice_figure(ruleset, task)
    named = {(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes}
    assert named == {("own sum", "dealer shows"), ("own sum", "usable ace"), ("dealer shows", "usable ace")}
    assert figure.axes[0].get_xlim() == (3.5, 21.5)


def test_an_episode_is_drawn_as_it_was_played() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    found = trace(ruleset, task, episode=2)
    figure = episode_figure(ruleset, task, 2)
    *lines, actions, rules = figure.axes
    for axes, feature in zip(lines, task.features, strict=True):
        (line,) = with_gid(axes, "feature")
        seen = [step.features[feature.name] for step in found.steps] + [found.last[feature.name]]
        assert line.get_ydata().tolist() == pytest.approx(seen)
    (strip,) = with_gid(rules, "rules")
    assert len(strip.get_paths()) == len(found.stretches)
    ends = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in strip.get_paths()]
    assert ends == [(s.first, s.last + 1) for s in found.stretches]
    assert [tuple(c[:3]) for c in strip.get_facecolor()] == [rule_colour(s.rule) for s in found.stretches]
    (done,) = with_gid(actions, "actions")
    assert len(done.get_paths()) <= len(strip.get_paths())
    assert f"return {found.total:.4g}, ended by the environment" in figure.texts[0].get_text()
    with pytest.raises(ParameterError, match="episode must be"):
        episode_figure(ruleset, task, 9)


def test_bars_show_shares_of_the_states_met() -> None:
    ruleset, task = a_policy("Blackjack-v1", 50)
    (axes,) = visits_figure(ruleset, task).axes
    bars: list[Any] = list(axes.patches)
    widths = [bar.get_width() for bar in bars]
    assert widths == pytest.approx((100 * visited_states(ruleset, task).shares).tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_policy_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    task = a_task("MountainCar-v0")
    rules = some_rules(kind, task)
    first = write_pictures(tmp_path / "a", rules, task, formats=("png", "svg"))
    second = write_pictures(tmp_path / "b", rules.subset(range(len(rules))), task, formats=("png", "svg"))
    assert [path.name for path in first] == [
        f"{name}.{form}" for name in ("policy", "usage", "episode") for form in ("png", "svg")
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_rules_of_another_task_are_refused(tmp_path: Path) -> None:
    _, task = a_policy("MountainCar-v0")
    other: RuleSet = some_rules("decision-list", a_task("CartPole-v1"))
    for draw in (slice_figure, episode_figure, visits_figure):
        with pytest.raises(TaskError, match="speaks of cart position"):
            draw(other, task)
    with pytest.raises(TaskError, match="speaks of cart position"):
        write_pictures(tmp_path, other, task)
    assert not list(tmp_path.iterdir())
