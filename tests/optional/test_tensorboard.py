"""Curves are read back from the files that tensorboardX writes. `make test-optional` runs this."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from ifthen import load
from ifthen.systems.callbacks import TensorBoard
from tests.systems.contract import every_system, make

pytest.importorskip("tensorboardX", reason="needs tensorboardX: pip install '.[track]'")
event_pb2: Any = pytest.importorskip("tensorboardX.proto.event_pb2")


def events(folder: Path) -> list[Any]:
    """Return the events in a folder's files, each a length, a checksum, the event, a checksum."""
    found = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            found.append(event_pb2.Event.FromString(data[at + 12 : at + 12 + length]))
            at += 16 + length
    return found


def scalars(folder: Path) -> list[tuple[str, int, float]]:
    return [
        (value.tag, event.step, value.simple_value)
        for event in events(folder)
        for value in event.summary.value
        if value.WhichOneof("value") == "simple_value"
    ]


@every_system
def test_the_curves_in_the_file_are_the_history(name: str, tmp_path: Path) -> None:
    curves = TensorBoard(tmp_path)
    system = make(name).learn(epochs=3, callback=curves)
    curves.close()
    written = scalars(tmp_path)
    history = system.history
    assert {tag for tag, _, _ in written} == set(history.columns)
    for column in history.columns:
        values = [value for tag, _, value in written if tag == column]
        assert values == pytest.approx(history[column].to_list())
    assert [step for tag, step, _ in written if tag == "performance"] == [0, 1, 2, 3]


def test_the_parameters_are_in_the_file_as_text(tmp_path: Path) -> None:
    curves = TensorBoard(tmp_path)
    make("PPL-DL").learn(epochs=1, callback=curves)
    curves.close()
    assert any(b"| pop_size | 16 |" in event.SerializeToString() for event in events(tmp_path))


def test_a_resumed_run_tells_tensorboard_to_forget_the_older_curve(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, system in ((first, make("PPL-DL")), (second, None)):
        curves = TensorBoard(folder)
        learner = system or load(tmp_path / "m.zip", threads=1)
        learner.learn(epochs=2, callback=curves).save(tmp_path / "m.zip")
        curves.close()
        starts = [e for e in events(folder) if e.WhichOneof("what") == "session_log"]
        assert [(e.step, e.session_log.status) for e in starts] == [(0, 1)]
    assert {step for _, step, _ in scalars(second)} == {0, 1, 2, 3, 4}
