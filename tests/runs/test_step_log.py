"""Logs: tables, arrays and datasets hold the same steps, and what cannot be learnt from is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ifthen
from ifthen.errors import ParameterError
from ifthen.runs import log_sources
from ifthen.runs.step_log import StepLog, in_pieces, read_log, rounded_outward
from ifthen.simulate.trajectories import TERMINATED, TRUNCATED, Trajectory

ENDS = {"terminations": [0, 0, 1, 0, 0, 0], "truncations": [0, 0, 0, 0, 1, 0]}


def arrays(**changes: Any) -> dict[str, Any]:
    """Return a log of three episodes: one ends, one is cut, and one goes on."""
    log: dict[str, Any] = {
        "observations": [[0.0, 1], [0.5, 2], [1.0, 3], [1.5, 4], [2.0, 5], [9.5, 6]],
        "next_observations": [[0.5, 2], [1.0, 3], [1.25, 3], [2.0, 5], [2.5, 5], [10.0, 7]],
        "actions": [0, 1, 1, 0, 0, 1],
        "rewards": [0.0, 0.0, 1.0, -1.0, 0.0, 2.0],
        **ENDS,
    }
    return {name: np.array(column) for name, column in (log | changes).items() if column is not None}


def table(**changes: Any) -> polars.DataFrame:
    """Return the same steps as a table; what follows a step is in the next row."""
    log = arrays()
    columns = {
        "speed": log["observations"][:, 0],
        "gear": log["observations"][:, 1].astype(np.int64),
        "action": [["brake", "go"][action] for action in log["actions"].tolist()],
        "reward": log["rewards"],
        "terminated": log["terminations"],
        "truncated": log["truncations"].astype(np.bool_),
    }
    return polars.DataFrame(
        {name: column for name, column in (columns | changes).items() if column is not None}
    )


def steps_of(log: StepLog) -> list[Any]:
    """Return the episodes as plain data."""
    return [
        (e.points.tolist(), e.actions.tolist(), e.rewards.tolist(), e.ending, e.last.tolist())
        for e in log.episodes
    ]


def test_arrays_become_episodes_that_end_or_are_cut() -> None:
    log = read_log(arrays())
    assert [(len(e.actions), e.ending) for e in log.episodes] == [
        (3, TERMINATED),
        (2, TRUNCATED),
        (1, TRUNCATED),
    ]
    assert [e.last.tolist() for e in log.episodes] == [[1.25, 3], [2.5, 5], [10.0, 7]]
    assert log.n_steps == 6
    assert log.action_shares.tolist() == [0.5, 0.5]
    assert [feature.name for feature in log.features] == ["f0", "f1"]
    assert (log.features[0].low, log.features[0].high) == (0.0, 10.0)


def test_without_what_followed_the_last_step_of_a_cut_episode_is_left_out() -> None:
    log = read_log(arrays(next_observations=None))
    assert [(len(e.actions), e.ending) for e in log.episodes] == [(3, TERMINATED), (1, TRUNCATED)]
    assert log.episodes[1].last.tolist() == [2.0, 5]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_says_the_same_as_arrays_with_names(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"steps{suffix}"
    table().write_csv(path) if suffix == ".csv" else table().write_parquet(path)
    log = read_log(path)
    assert steps_of(log) == steps_of(read_log(arrays(next_observations=None)))
    assert log.action_names == ("brake", "go")
    assert [(f.name, f.kind, f.low, f.high) for f in log.features] == [
        ("speed", "real", 0.0, 9.5),
        ("gear", "integer", 1, 6),
    ]


def test_an_episode_column_parts_episodes_and_no_column_leaves_one(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    table(truncated=None, episode=["a", "a", "a", "b", "b", "c"]).write_csv(path)
    assert steps_of(read_log(path)) == steps_of(read_log(arrays(next_observations=None)))
    table(truncated=None, terminated=None).write_csv(path)
    assert [(len(e.actions), e.ending) for e in read_log(path).episodes] == [(5, TRUNCATED)]


def test_a_dataset_of_minari_says_the_same_as_arrays() -> None:
    log, episodes = arrays(), []
    for first, last in ((0, 3), (3, 5), (5, 6)):
        observations = np.vstack([log["observations"][first:last], log["next_observations"][last - 1]])
        columns = {name: log[name][first:last] for name in ("actions", "rewards")}
        ends = {name: log[name][first:last].astype(bool) for name in ENDS}
        episodes.append(SimpleNamespace(observations=observations, **columns, **ends))
    dataset = SimpleNamespace(iterate_episodes=lambda: iter(episodes))
    assert steps_of(read_log(dataset)) == steps_of(read_log(log))
    several = SimpleNamespace(observations={"a": np.zeros(2)}, actions=[0], rewards=[0.0])
    with pytest.raises(ParameterError, match="observes several things"):
        read_log(SimpleNamespace(iterate_episodes=lambda: iter([several])))
    with pytest.raises(ParameterError, match="has no episode"):
        read_log(SimpleNamespace(iterate_episodes=lambda: iter([])))


def test_a_task_names_features_and_actions_in_its_order(tmp_path: Path) -> None:
    task, path = ifthen.env_task("MountainCar-v0"), tmp_path / "steps.csv"
    columns = {"velocity": [0.0, 0.01, 0.02], "position": [-0.5, -0.4, -0.3], "reward": [-1, 0, 0]}
    polars.DataFrame({**columns, "action": ["push left", "push right", "push right"]}).write_csv(path)
    log = read_log(path, task)
    assert (log.features, log.action_names) == (task.features, task.action_names)
    assert log.episodes[0].points.tolist() == [[-0.5, 0.0], [-0.4, 0.01]]
    assert log.episodes[0].actions.tolist() == [0, 2]
    columns["place"] = columns.pop("position")
    polars.DataFrame({**columns, "action": [0, 2, 2]}).write_csv(path)
    with pytest.raises(ParameterError, match=r"place.*give the task the names of the log"):
        read_log(path, task)
    polars.DataFrame({"velocity": [0.0, 0.1], "action": [0, 2], "reward": [0, 1]}).write_csv(path)
    with pytest.raises(ParameterError, match="observes 2 numbers, and the log has 1 feature"):
        read_log(path, task)
    with pytest.raises(ParameterError, match="whole numbers from 0 to 2, or names, and there is 3"):
        read_log(arrays(observations=np.zeros((6, 2)), actions=[0, 1, 3, 0, 0, 1]), task)
    with pytest.raises(ParameterError, match=r"position lies outside -1.2 to 0.6.*in 67% of the log's rows"):
        read_log(arrays(), task)
    with pytest.raises(ParameterError, match="leave out action_names"):
        read_log(arrays(), task, action_names=["a", "b"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"observations": None}, "must have the array 'observations'"),
        ({"observations": [["a"]] * 6}, "observations must be numbers"),
        ({"next_observations": [["a", "b"]] * 6}, "next_observations must be numbers"),
        ({"actions": [0, 1]}, "action must have a value for each of the 6 observations"),
        ({"actions": [0, 1, -1, 0, 0, 0]}, "whole numbers from 0 to 999, or names, and there is -1"),
        ({"actions": [0.5, 1, 1, 0, 0, 0]}, "whole numbers from 0 to 999, or names, and there is 0.5"),
        ({"terminals": [0] * 6}, "'terminals' does not say why an episode is over"),
        ({"truncation": [0] * 6}, "no array 'truncation'. Did you mean 'truncations'"),
        ({"observations": [[1.7e9 + i, 1] for i in range(6)]}, "in single precision. Leave it out"),
        ({"actions": [1] * 6}, "all steps of the log take the same action"),
        ({"rewards": [0.0, np.nan, 1, 0, 0, 0]}, "row 2 of the log has nan for 'reward'"),
        ({"rewards": [1.0] * 6, "terminations": [0] * 6}, "every reward of the log is 1"),
        ({"terminations": [0, 0, 2, 0, 0, 0]}, "0 or 1, or false or true, in every row, and there is 2"),
        ({"next_observations": [[0.0, 1]] * 5}, "next_observations must be numbers of shape"),
        ({"observations": [[1e39, 1]] * 6}, "at most 3.4e38"),
    ],
)
def test_arrays_that_cannot_be_learnt_from_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        read_log(arrays(**changes))


def test_files_that_cannot_be_learnt_from_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    with pytest.raises(ParameterError, match="there is no file"):
        read_log(path)
    with pytest.raises(ParameterError, match="a log is a table"):
        read_log(tmp_path / "steps.npz")
    with pytest.raises(ParameterError, match="a log must be a table"):
        read_log(3)
    path.write_bytes(b"PAR1\x00\xff")
    path.rename(tmp_path / "steps.parquet")
    with pytest.raises(ParameterError, match="cannot be read as a table"):
        read_log(tmp_path / "steps.parquet")
    for changes, words in (
        ({"action": None}, "has no column 'action'; its columns are 'speed', 'gear'"),
        ({"done": [0] * 6}, "'done' does not say why an episode is over"),
        ({"episode": [1, 1, 2, 2, 1, 1]}, "sort the rows by episode"),
        ({"speed": [1.0, None, 1.0, 1.0, 1.0, 1.0]}, "row 2 below the header has no value for 'speed'"),
        ({"speed": ["x"] * 6}, "the column 'speed' must hold numbers, and it holds 'x'"),
        ({"terminated": [3] * 6}, "terminated must be 0 or 1"),
        ({"speed": None, "gear": None}, "must observe 1 to 1,000 numbers"),
    ):
        table(**changes).write_csv(path)
        with pytest.raises(ParameterError, match=words):
            read_log(path)
    table().head(0).write_csv(path)
    with pytest.raises(ParameterError, match="has no rows below its header"):
        read_log(path)


def test_a_log_that_learning_could_not_remember_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_sources, "MOST_NUMBERS", 12)
    read_log(arrays())
    monkeypatch.setattr(log_sources, "MOST_NUMBERS", 11)
    with pytest.raises(ParameterError, match="6 steps with 2 features are too many: 11 numbers"):
        read_log(arrays())


def test_numbers_may_begin_with_a_decimal_point_late(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    rows = "".join(f"{i},{i % 2},{0 if i < 300 else 0.5}\n" for i in range(400))
    path.write_text(f"x,action,reward\n{rows}")
    assert read_log(path).episodes[0].rewards[-1] == 0.5


def test_both_spellings_of_endings_are_taken() -> None:
    log = arrays()
    for name in ENDS:
        log[name.replace("ations", "ated")] = log.pop(name)
    assert steps_of(read_log(log)) == steps_of(read_log(arrays()))


def test_columns_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    table(when=["10:00"] * 6).write_csv(path)
    log = read_log(path, leave_out=["when", "gear"])
    assert [feature.name for feature in log.features] == ["speed"]
    assert [feature.name for feature in read_log(arrays(), leave_out=["f0"]).features] == ["f1"]
    with pytest.raises(ParameterError, match=r"no column 'geer' to leave out\. Did you mean 'gear'"):
        read_log(path, leave_out=["geer"])


def test_actions_get_the_numbers_that_the_user_says(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    table().write_csv(path)
    log = read_log(path, action_names=["go", "coast", "brake"])
    assert (log.action_names, log.episodes[0].actions.tolist()) == (("go", "coast", "brake"), [2, 0, 0])
    named = read_log(arrays(), action_names=["go", "brake"])
    assert (named.action_names, named.episodes[0].actions.tolist()) == (("go", "brake"), [0, 1, 1])
    with pytest.raises(ParameterError, match="takes the action 'brake'"):
        read_log(path, action_names=["go", "stop"])
    with pytest.raises(ParameterError, match="2 to 1,000 different names"):
        read_log(path, action_names=["go", "go"])


@given(st.integers(1, 60), st.integers(1, 20), st.booleans())
def test_pieces_hold_every_step_once_and_know_what_followed(n: int, most_steps: int, ends: bool) -> None:
    numbers, ending = np.arange(float(n)), TERMINATED if ends else TRUNCATED
    episode = Trajectory(numbers[:, None], np.arange(n), numbers, ending, np.array([float(n)]))
    pieces = in_pieces(episode, most_steps)
    assert np.concatenate([piece.actions for piece in pieces]).tolist() == list(range(n))
    assert all(len(piece.actions) <= most_steps for piece in pieces)
    assert all(piece.last[0] == piece.points[-1, 0] + 1 for piece in pieces)
    assert [piece.ending for piece in pieces] == [TRUNCATED] * (len(pieces) - 1) + [ending]


@given(st.floats(-1e30, 1e30), st.floats(1e-3, 1e30))
def test_ranges_are_rounded_outward(low: float, width: float) -> None:
    high = low + width
    if high > low:
        ends = rounded_outward(low, high)
        assert ends[0] <= low < high <= ends[1]
