"""Checkpoints of a study on a GPU: one batch of trials at a time, and only a part of the time."""

from __future__ import annotations

import pytest

from ifthen.study import gpu_engine
from ifthen.study.gpu_engine import SAVING_SHARE, Saving


class Clock:
    """Time as a test sets it."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(gpu_engine, "time", made)
    return made


def test_one_batch_saves_at_a_time(clock: Clock) -> None:
    saving = Saving()
    assert saving.may_begin()
    assert not saving.may_begin()
    with saving:
        assert not saving.may_begin()
    assert saving.may_begin()


def test_saving_takes_only_a_part_of_the_time(clock: Clock) -> None:
    saving = Saving()
    clock.now += 20
    assert saving.may_begin()
    with saving:
        clock.now += 3
    assert not saving.may_begin()
    clock.now = 100 + 3 * SAVING_SHARE - 0.5
    assert not saving.may_begin()
    clock.now += 0.5
    assert saving.may_begin()


def test_another_batch_may_save_after_one_that_failed(clock: Clock) -> None:
    saving = Saving()
    assert saving.may_begin()
    with pytest.raises(OSError, match="full"), saving:
        raise OSError("the disk is full")
    assert saving.may_begin()
