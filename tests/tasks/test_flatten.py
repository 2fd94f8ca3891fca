from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from hypothesis import given
from hypothesis import strategies as st

from ifthen import Feature
from ifthen.errors import TaskError
from ifthen.tasks.flatten import FlatSpace, check_actions
from tests import naive_envs

SHAPES = st.lists(st.integers(1, 3), max_size=3).map(tuple)
FLOATS = st.sampled_from([np.float32, np.float64, np.float16])
INTEGERS = st.sampled_from([np.int8, np.uint8, np.int32, np.uint16, np.int64])


@st.composite
def boxes(draw: Any) -> spaces.Box:
    shape = draw(SHAPES)
    if draw(st.booleans()):
        low, high = draw(st.sampled_from([(-1.0, 1.0), (-np.inf, np.inf), (0.0, np.inf), (-2.5, 2.5)]))
        return spaces.Box(low, high, shape, draw(FLOATS))
    return spaces.Box(draw(st.integers(0, 3)), draw(st.integers(4, 9)), shape, draw(INTEGERS))


@st.composite
def multi_discrete(draw: Any) -> spaces.MultiDiscrete:
    counts = np.array(draw(st.lists(st.integers(2, 9), min_size=4, max_size=4)))
    starts = np.array(draw(st.lists(st.integers(-3, 3), min_size=4, max_size=4)))
    shape = draw(st.sampled_from([(4,), (2, 2), (1, 4, 1)]))
    return spaces.MultiDiscrete(counts.reshape(shape), start=starts.reshape(shape))


PLAIN = st.one_of(
    boxes(),
    st.builds(spaces.Discrete, st.integers(2, 9), start=st.integers(-4, 4)),
    multi_discrete(),
    st.builds(spaces.MultiBinary, st.sampled_from([1, 3, (2, 2), (1,)])),
)
SPACES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple),
        st.dictionaries(st.sampled_from(["b", "a", "a.b", "c d"]), inner, min_size=1).map(spaces.Dict),
    ),
    max_leaves=6,
)


@given(SPACES, st.integers(0, 2**31))
def test_rows_hold_the_numbers_of_an_observation_in_the_order_of_the_space(
    space: spaces.Space[Any], seed: int
) -> None:
    space.seed(seed)
    flat = FlatSpace.of(space)
    for _ in range(3):
        observation = space.sample()
        row = flat.row(observation)
        assert row.dtype == np.float64
        assert row.tolist() == naive_envs.flatten(space, observation)
        np.testing.assert_array_equal(flat.points(observation), row)


@given(SPACES, st.integers(1, 4))
def test_a_batch_of_a_vector_environment_becomes_the_rows_of_its_observations(
    space: spaces.Space[Any], n: int
) -> None:
    space.seed(n)
    flat = FlatSpace.of(space)
    observations = [space.sample() for _ in range(n)]
    empty: Any = create_empty_array(space, n)
    batch = concatenate(space, observations, empty)
    rows = np.array([flat.row(observation) for observation in observations])
    np.testing.assert_array_equal(flat.points(batch), rows)


@pytest.mark.parametrize(
    ("space", "given", "row"),
    [
        (
            spaces.Box(-1, 1, (2,), np.float32),
            np.array([0.1, 1 / 3]),
            [float(np.float32(0.1)), 0.3333333432674408],
        ),
        (spaces.Box(-1, 1, (2,), np.float16), [0.1, 0.2], [float(np.float16(0.1)), float(np.float16(0.2))]),
        (spaces.Box(-1, 1, (1,), np.float32), np.array([1e300]), [np.inf]),
        (spaces.Box(0, 9, (2,), np.uint8), np.array([3.0, 9.0]), [3.0, 9.0]),
        (spaces.Discrete(3), np.float32(2), [2.0]),
    ],
)
def test_numbers_are_first_of_the_type_that_their_space_says(
    space: spaces.Space[Any], given: Any, row: list[float]
) -> None:
    flat = FlatSpace.of(space)
    assert flat.row(given).tolist() == row
    assert flat.points(given).tolist() == row
    assert flat.points(np.array([given, given])).tolist() == [row, row]


@pytest.mark.parametrize("given", [0.5, -1, 300, np.nan])
def test_numbers_that_a_type_does_not_have_are_refused(given: float) -> None:
    flat = FlatSpace.of(spaces.Dict({"a": spaces.Box(0, 255, (1,), np.uint8)}))
    with pytest.raises(TaskError, match="must have numbers of type uint8 at a, not array"):
        flat.row({"a": np.array([given])})


def test_rows_are_the_callers_own() -> None:
    batch = np.zeros((3, 2))
    FlatSpace.of(spaces.Box(0, 1, (2,), np.float64)).points(batch)[:] = 7
    assert not batch.any()


@given(SPACES)
def test_parts_lead_to_their_numbers_and_leaves_bound_them(space: spaces.Space[Any]) -> None:
    space.seed(3)
    flat = FlatSpace.of(space)
    observation = space.sample()
    row = flat.row(observation)
    for part in flat.parts:
        found = observation
        for key in part.path:
            found = found[key]
        assert np.asarray(found).reshape(-1).tolist() == row[part.columns].tolist()
    for leaf, number in zip(flat.leaves, row, strict=True):
        assert leaf.low <= number <= leaf.high
        assert leaf.kind == "real" or number == int(number)


@given(SPACES)
def test_no_two_leaves_have_the_same_name(space: spaces.Space[Any]) -> None:
    names = [leaf.name for leaf in FlatSpace.of(space).leaves]
    assert len(set(names)) == len(names)
    assert all(names)


@pytest.mark.parametrize(
    ("space", "names"),
    [
        (spaces.Box(-1, 1, (3,)), ("f0", "f1", "f2")),
        (spaces.Box(-1, 1, ()), ("f0",)),
        (spaces.Box(-1, 1, (2, 2)), ("f[0,0]", "f[0,1]", "f[1,0]", "f[1,1]")),
        (spaces.Discrete(5), ("state",)),
        (spaces.MultiDiscrete([2, 3]), ("f0", "f1")),
        (spaces.MultiBinary(2), ("f0", "f1")),
        (spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1, (2,)))), ("part0", "part1[0]", "part1[1]")),
        (
            spaces.Dict({"hand": spaces.MultiBinary(2), "agent": spaces.Dict({"x": spaces.Box(0, 1, (1,))})}),
            ("agent.x", "hand[0]", "hand[1]"),
        ),
        (
            spaces.Dict({"a.b": spaces.Discrete(2), "a": spaces.Dict({"b": spaces.Discrete(2)})}),
            ("a.b", "a.b#2"),
        ),
    ],
)
def test_names_tell_where_numbers_stand(space: spaces.Space[Any], names: tuple[str, ...]) -> None:
    assert tuple(leaf.name for leaf in FlatSpace.of(space).leaves) == names


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (spaces.Discrete(5, start=-2), ("integer", -2, 2)),
        (spaces.MultiDiscrete([7], start=[3]), ("integer", 3, 9)),
        (spaces.MultiBinary(1), ("integer", 0, 1)),
        (spaces.Box(0, 255, (1,), np.uint8), ("integer", 0, 255)),
        (spaces.Box(-(2**63), 2**63 - 1, (1,), np.int64), ("real", -np.inf, np.inf)),
        (spaces.Box(0, 2**40, (1,), np.int64), ("real", 0.0, np.inf)),
        (spaces.Box(-1.5, 1.5, (1,), np.float64), ("real", -1.5, 1.5)),
        (spaces.Box(-np.inf, 3, (1,)), ("real", -np.inf, 3.0)),
        (spaces.Box(-float(np.finfo(np.float32).max), 3, (1,)), ("real", -np.inf, 3.0)),
    ],
)
def test_bounds_are_those_of_the_space_where_they_say_something(
    space: spaces.Space[Any], expected: tuple[str, float, float]
) -> None:
    (leaf,) = FlatSpace.of(space).leaves
    assert (leaf.kind, leaf.low, leaf.high) == expected


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (spaces.Text(4), "at least one number"),
        (spaces.Sequence(spaces.Discrete(2)), "not Sequence"),
        (spaces.Graph(spaces.Discrete(2), None), "not Graph"),
        (
            spaces.Dict({"a": spaces.Tuple((spaces.Discrete(2), spaces.Sequence(spaces.Discrete(2))))}),
            r"at 'a\.part1' must.*leave_out=\['a\.part1'\]",
        ),
        (spaces.OneOf([spaces.Discrete(2)]), "not OneOf"),
        (spaces.Dict({}), "at least one number"),
        (spaces.Box(0, 255, (96, 96, 3), np.uint8), "27,648, which is an image"),
        (spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1, (1000,)))), "at 'part1' there are 1,001"),
    ],
)
def test_spaces_that_are_no_list_of_numbers_are_refused_by_name_and_place(
    space: spaces.Space[Any], words: str
) -> None:
    with pytest.raises(TaskError, match=words):
        FlatSpace.of(space)


MIXED = spaces.Dict(
    {
        "image": spaces.Box(0, np.array([[3, 0], [5, 6]], np.uint8), (2, 2), np.uint8),
        "mission": spaces.Text(9),
        "size": spaces.Discrete(1, start=7),
        "speed": spaces.Box(-1, 1, (1,)),
    }
)
SEEN = {"image": np.array([[3, 0], [4, 5]], np.uint8), "mission": "go", "size": 7, "speed": [0.5]}


def test_texts_and_constants_are_left_out() -> None:
    flat = FlatSpace.of(MIXED)
    assert [leaf.name for leaf in flat.leaves] == ["image[0,0]", "image[1,0]", "image[1,1]", "speed"]
    assert flat.left_out == {"image[0,1]": "always 0", "mission": "a text", "size": "always 7"}
    assert flat.row(SEEN).tolist() == [3, 4, 5, 0.5]
    batch = {name: np.array([value, value]) for name, value in SEEN.items() if name != "mission"}
    assert flat.points(batch).tolist() == [[3, 4, 5, 0.5]] * 2


def test_parts_and_numbers_can_be_left_out_by_name() -> None:
    flat = FlatSpace.of(MIXED, ["image[1,0]", "speed"])
    assert [leaf.name for leaf in flat.leaves] == ["image[0,0]", "image[1,1]"]
    assert flat.row(SEEN).tolist() == [3, 5]
    assert FlatSpace.of(MIXED, ["image"]).row(SEEN).tolist() == [0.5]
    with pytest.raises(
        TaskError, match=r"'sped' is to be left out, but is not observed\. Did you mean 'speed'"
    ):
        FlatSpace.of(MIXED, ["sped"])


def test_a_constant_stays_where_there_is_nothing_else() -> None:
    assert FlatSpace.of(spaces.Discrete(1)).row(0).tolist() == [0]


@given(SPACES)
def test_parts_survive_as_plain_data(space: spaces.Space[Any]) -> None:
    space.seed(4)
    flat, observation = FlatSpace.of(space), space.sample()
    features = [Feature(f"f{i}", 0, 1) for i in range(len(flat.leaves))]
    again = FlatSpace.from_list(json.loads(json.dumps(flat.to_list())), features)
    assert again.parts == flat.parts
    assert again.row(observation).tolist() == flat.row(observation).tolist()


@pytest.mark.parametrize(
    "change",
    [{"shape": [3]}, {"shape": [-2]}, {"shape": [10**9]}, {"dtype": "O"}, {"kept": [2]}, {"kept": [0]}],
)
def test_plain_data_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    sound = FlatSpace.of(spaces.Box(0, 1, (2,))).to_list()
    with pytest.raises(TaskError, match=r"cannot be|is said to hold"):
        FlatSpace.from_list([{**sound[0], **change}], [Feature("a", 0, 1), Feature("b", 0, 1)])


def test_a_thousand_numbers_are_not_too_many() -> None:
    assert len(FlatSpace.of(spaces.Box(0, 1, (1000,))).leaves) == 1000


@pytest.mark.parametrize(
    "observation",
    [{"a": 1}, {"a": 1, "b": [1.0]}, {"a": 1, "b": "text"}, {"a": [1, 2], "b": [1.0, 2.0]}, None, 3.0],
)
def test_an_observation_that_does_not_fit_its_space_is_refused(observation: Any) -> None:
    flat = FlatSpace.of(spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 1, (2,))}))
    with pytest.raises(TaskError, match="observations must have numbers of shape"):
        flat.row(observation)
    with pytest.raises(TaskError, match="observations must have numbers of shape"):
        flat.points(observation)


def test_only_discrete_actions_are_taken() -> None:
    check_actions(spaces.Discrete(3, start=-1))
    for space in (spaces.Box(-1, 1, (2,)), spaces.MultiDiscrete([2, 2]), spaces.MultiBinary(2)):
        with pytest.raises(TaskError, match=f"must be Discrete, not {type(space).__name__}"):
            check_actions(space)


@given(SPACES, st.integers(1, 4))
def test_observations_are_put_together_again_from_their_rows(space: spaces.Space[Any], n: int) -> None:
    space.seed(n)
    flat, samples = FlatSpace.of(space), [space.sample() for _ in range(n)]
    rows = np.array([flat.row(observation) for observation in samples])
    for sample, row in zip(samples, rows, strict=True):
        again = flat.observations(space, row)
        assert space.contains(again)
        assert naive_envs.flatten(space, again) == naive_envs.flatten(space, sample)
    np.testing.assert_array_equal(flat.points(flat.observations(space, rows)), rows)


def test_numbers_that_never_change_are_put_back_and_others_must_not_be_left_out() -> None:
    space = spaces.Dict({"a": spaces.Box(np.array([0, 7]), np.array([1, 7]), dtype=np.int64)})
    flat = FlatSpace.of(space)
    assert len(flat.leaves) == 1
    assert flat.observations(space, np.array([1.0]))["a"].tolist() == [1, 7]
    two = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Discrete(3)})
    for left_out, message in (("b", "b was left out"), ("a", "a was left out")):
        with pytest.raises(TaskError, match=message):
            FlatSpace.of(two, [left_out]).observations(two, np.array([1.0]))
    box = spaces.Box(0, 1, (2,))
    with pytest.raises(TaskError, match="the observation was left out in part"):
        FlatSpace.of(box, ["f1"]).observations(box, np.array([0.5]))
