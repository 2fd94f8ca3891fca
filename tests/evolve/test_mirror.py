"""Mirrors: what their texts mean, and the laws of rules and their images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import NULL_ACTION, Feature, ParameterError
from ifthen.evolve.mirror import Mirror, mirror_of, put_images
from ifthen.rules.decision_list import DecisionList

REALS = (
    Feature("x", -2.0, 2.0, "real", clips=True),
    Feature("speed", -2.0, 2.0, "real", clips=True),
    Feature("height", 0.0, 1.5, "real", clips=True),
    Feature("tilt", -3, 3, clips=True),
    Feature("left leg", 0, 1, clips=True),
    Feature("right leg", 0, 1, clips=True),
)
INTEGERS = (
    Feature("x", -2, 2, clips=True),
    Feature("speed", -2, 2, clips=True),
    Feature("height", 0, 5, clips=True),
    Feature("tilt", -3, 3, clips=True),
    Feature("left leg", 0, 1, clips=True),
    Feature("right leg", 0, 1, clips=True),
)
ACTIONS = ("rest", "left engine", "right engine", "up", "down")
ITEMS = ("-tilt", "left leg = right leg", "left engine = right engine", "up = down")
TURNS = ("", "-x", "-speed", "-x, -speed", "x = speed", "-x, x = speed, -speed")

texts = st.tuples(st.lists(st.sampled_from(ITEMS), unique=True), st.sampled_from(TURNS)).map(
    lambda parts: ", ".join([*parts[0], *([parts[1]] if parts[1] else [])]) or "-x"
)
every_kind = pytest.mark.parametrize("features", [REALS, INTEGERS], ids=["real", "integer"])


def mirrored_point(text: str, names: list[str], point: list[float]) -> list[float]:
    """Return a point as it is seen in the mirror."""
    seen = dict(zip(names, point, strict=True))
    items = text.split(", ")
    for a, b in (item.split(" = ") for item in items if "=" in item):
        if a in seen:
            seen[a], seen[b] = seen[b], seen[a]
    for item in items:
        if item.startswith("-"):
            seen[item[1:]] = -seen[item[1:]]
    return [seen[name] for name in names]


def mirrored_action(text: str, action: int) -> int:
    """Return the number of the action that one is in the mirror; none stays none."""
    for item in text.split(", "):
        pair = item.split(" = ")
        if action != NULL_ACTION and ACTIONS[action] in pair:
            return ACTIONS.index(pair[1 - pair.index(ACTIONS[action])])
    return action


@st.composite
def populations(draw: Any, features: tuple[Feature, ...]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Draw conditions on a coarse grid, so that bounds meet points, and actions."""
    whole = all(feature.is_integer for feature in features)
    n, rules = draw(st.integers(1, 2)), 2 * draw(st.integers(1, 3))
    bounds = np.empty((n, rules, len(features), 2), dtype=np.int32 if whole else np.float64)
    for d, feature in enumerate(features):
        parts = 1 if feature.is_integer else 4
        anywhere = list(range(int(parts * feature.low), int(parts * feature.high) + 1))
        for end, edge in enumerate((feature.low, feature.high)):
            edges = [int(parts * edge)] * 3 * len(anywhere)  # so that rules match and overlap
            allele = st.sampled_from([*edges, *anywhere])
            drawn = draw(st.lists(allele, min_size=n * rules, max_size=n * rules))
            bounds[:, :, d, end] = np.array(drawn).reshape(n, rules) / parts
    actions = draw(st.lists(st.integers(0, len(ACTIONS) - 1), min_size=n * rules, max_size=n * rules))
    return bounds, np.array(actions, dtype=np.int32).reshape(n, rules)


@st.composite
def points(draw: Any, features: tuple[Feature, ...]) -> list[float]:
    """Draw a point on the same grid, also beyond the ranges; of whole numbers where features are."""
    return [
        draw(st.integers(int(feature.low) - 1, int(feature.high) + 1))
        if feature.is_integer
        else draw(st.integers(int(4 * feature.low) - 2, int(4 * feature.high) + 2)) / 4
        for feature in features
    ]


def matching(rules: DecisionList, point: list[float]) -> set[int]:
    """Return the numbers of the rules that match a point."""
    return set(np.flatnonzero(rules.matches(point)).tolist())


def imaged(
    mirror: Mirror, bounds: NDArray[Any], actions: NDArray[np.int32]
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return a population after every second rule was made an image."""
    bounds, actions = bounds.copy(), actions.copy()
    put_images(mirror, bounds, actions)
    return bounds, actions


# Texts


def test_a_text_says_what_changes_sign_and_what_changes_places() -> None:
    text = "-x,  - speed , left leg=right leg, left engine = right engine"
    mirror = mirror_of(text, REALS, ACTIONS)
    assert mirror.places.tolist() == [0, 1, 2, 3, 5, 4]
    assert mirror.turns.tolist() == [True, True, False, False, False, False]
    assert mirror.actions.tolist() == [0, 2, 1, 3, 4]
    assert mirror.actions.dtype == np.int32


def test_pairs_can_be_written_either_way_round() -> None:
    one = mirror_of("left leg = right leg, up = down", REALS, ACTIONS)
    other = mirror_of("down = up, right leg = left leg", REALS, ACTIONS)
    assert one.places.tolist() == other.places.tolist() == [0, 1, 2, 3, 5, 4]
    assert one.actions.tolist() == other.actions.tolist() == [0, 1, 2, 4, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-spead", r"mirror has '-spead'; expected .* Did you mean 'speed'\?"),
        ("-x, left leg = right lag", r"mirror has 'left leg = right lag'; .* Did you mean 'right leg'\?"),
        ("up = dawn", r"mirror has 'up = dawn'; .* Did you mean 'down'\?"),
        ("x", r"mirror has 'x'; expected '-FEATURE', 'FEATURE = FEATURE' or 'ACTION = ACTION'"),
        ("-up", r"mirror has '-up'; expected"),
        ("x = up", r"mirror has 'x = up'; expected"),
        ("x = speed = tilt", r"mirror has 'x = speed = tilt'; expected"),
        ("-x, -x = speed", r"mirror has '-x = speed'; expected"),
        ("", r"mirror has ''; expected"),
        ("-x,", r"mirror has ''; expected"),
        ("-x, , -tilt", r"mirror has ''; expected"),
        ("-x; -tilt", r"mirror has '-x; -tilt'; expected .*separated by commas"),
        ("-height", r"mirror has '-height', but height is from 0 to 1.5: .*both sides must reach as far"),
        ("-left leg", r"mirror has '-left leg', but left leg is from 0 to 1"),
        ("x = height", r"mirror has 'x = height', but these two features have different ranges"),
        ("tilt = left leg", r"mirror has 'tilt = left leg', but these two features have different ranges"),
    ],
)
def test_what_is_no_mirror_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        mirror_of(text, REALS, ACTIONS)


def test_whole_numbers_and_others_do_not_change_places() -> None:
    features = (Feature("a", 0, 1), Feature("b", 0.0, 1.0, "real"))
    with pytest.raises(ParameterError, match="different ranges"):
        mirror_of("a = b", features, ACTIONS)


@pytest.mark.parametrize(
    "text",
    [
        "up = down, down = rest",
        "left leg = right leg, right leg = third leg",
        "-x, x = speed",
    ],
)
def test_what_does_not_come_back_when_mirrored_twice_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="mirror"):
        mirror_of(text, (*REALS, Feature("third leg", 0, 1)), ACTIONS)


# Laws


@every_kind
@given(data=st.data())
def test_the_image_of_an_image_is_the_rule_itself(features: tuple[Feature, ...], data: Any) -> None:
    mirror = mirror_of(data.draw(texts), features, ACTIONS)
    bounds, actions = imaged(mirror, *data.draw(populations(features)))
    again = bounds.copy(), actions.copy()
    for rules in again:  # each image in the place of the rule before it
        rules[:, ::2] = rules[:, 1::2]
    put_images(mirror, *again)
    assert again[0][:, 1::2].tobytes() == bounds[:, ::2].tobytes()
    assert again[1][:, 1::2].tobytes() == actions[:, ::2].tobytes()


@every_kind
@given(data=st.data())
def test_a_rule_matches_where_its_image_matches_in_the_mirror(
    features: tuple[Feature, ...], data: Any
) -> None:
    text, point = data.draw(texts), data.draw(points(features))
    bounds, actions = imaged(mirror_of(text, features, ACTIONS), *data.draw(populations(features)))
    seen = mirrored_point(text, [feature.name for feature in features], point)
    for own_bounds, own_actions in zip(bounds, actions, strict=True):
        rules = DecisionList(own_bounds, own_actions, features, ACTIONS)
        assert matching(rules, seen) == {rule ^ 1 for rule in matching(rules, point)}
        for first in range(0, len(own_actions), 2):
            assert own_actions[first + 1] == mirrored_action(text, own_actions[first])


@every_kind
@given(data=st.data())
def test_images_stand_in_every_second_place_and_all_else_stays(
    features: tuple[Feature, ...], data: Any
) -> None:
    before = data.draw(populations(features))
    after = imaged(mirror_of(data.draw(texts), features, ACTIONS), *before)
    for old, new in zip(before, after, strict=True):
        assert old[:, ::2].tobytes() == new[:, ::2].tobytes()
        assert (old.dtype, old.shape) == (new.dtype, new.shape)
    lows, highs = ([getattr(f, end) for f in features] for end in ("low", "high"))
    assert (after[0] >= np.array(lows)[:, None]).all()
    assert (after[0] <= np.array(highs)[:, None]).all()


@given(data=st.data())
def test_no_zero_has_a_sign(data: Any) -> None:
    bounds, actions = data.draw(populations(REALS))
    bounds[:, ::2, :2] = 0.0
    after, _ = imaged(mirror_of(data.draw(texts), REALS, ACTIONS), bounds, actions)
    assert not np.signbit(after[after == 0.0]).any()


def test_an_open_side_is_open_on_the_other_side_of_the_image() -> None:
    """The first allele stays the one that is put at the lower edge, the second at the upper."""
    bounds = np.array([[[[-2.0, 0.5]], [[9.0, 9.0]]]])
    actions = np.zeros((1, 2), dtype=np.int32)
    put_images(mirror_of("-x", REALS[:1], ACTIONS), bounds, actions)
    assert bounds[0, 1].tolist() == [[-0.5, 2.0]]


@every_kind
@given(data=st.data())
def test_a_list_of_pairs_decides_in_the_mirror_as_seen_there(
    features: tuple[Feature, ...], data: Any
) -> None:
    """But where both rules of the first pair with a match do: there the first of them decides both times."""
    text, point = data.draw(texts), data.draw(points(features))
    bounds, actions = imaged(mirror_of(text, features, ACTIONS), *data.draw(populations(features)))
    seen = mirrored_point(text, [feature.name for feature in features], point)
    for own_bounds, own_actions in zip(bounds, actions, strict=True):
        rules = DecisionList(own_bounds, own_actions, features, ACTIONS)
        here, there = int(rules.predict(point)), int(rules.predict(seen))
        matched = matching(rules, point)
        first = min(matched, default=0) // 2 * 2
        event(f"of the first pair {len(matched & {first, first + 1})} match")
        if {first, first + 1} <= matched:
            assert here == there == own_actions[first]
        else:
            assert there == mirrored_action(text, here)
