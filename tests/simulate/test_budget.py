from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.simulate.simulator import Budget

COUNTS = st.integers(1, 60)


def test_nothing_said_means_all_of_z_in_one_heat_in_every_epoch() -> None:
    assert not Budget().saves
    assert not Budget(double_every=3).saves
    for epoch in (0, 1, 17):
        (only,) = Budget().heats(epoch, 20)
        assert only.tolist() == list(range(20))


@pytest.mark.parametrize("budget", [Budget(windows=2), Budget(first_episodes=5), Budget(racing=True)])
def test_each_way_to_spend_less_saves(budget: Budget) -> None:
    assert budget.saves


@given(windows=COUNTS, more=st.integers(0, 60), epoch=st.integers(0, 1000))
def test_the_windows_of_epochs_in_a_row_are_z_cut_into_parts_of_nearly_one_size(
    windows: int, more: int, epoch: int
) -> None:
    episodes = windows + more
    budget = Budget(windows=windows)
    parts = [np.concatenate(budget.heats(e, episodes)) for e in range(epoch, epoch + windows)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(episodes))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1
    assert np.concatenate(budget.heats(epoch + windows, episodes)).tolist() == parts[0].tolist()


@given(first=COUNTS, every=COUNTS, episodes=st.integers(1, 500))
def test_a_growing_number_doubles_now_and_then_until_all_of_z_is_played(
    first: int, every: int, episodes: int
) -> None:
    budget = Budget(first_episodes=first, double_every=every)
    for epoch in (0, every - 1, every, 2 * every, 5 * every + 1, 1000 * every, 10_000_000):
        (heat,) = budget.heats(epoch, episodes)
        assert heat.tolist() == list(range(min(episodes, first * 2 ** (epoch // every))))


@given(episodes=st.integers(1, 300), windows=COUNTS, first=st.none() | COUNTS, epoch=st.integers(0, 50))
def test_the_heats_of_a_race_are_the_same_episodes_in_the_same_order(
    episodes: int, windows: int, first: int | None, epoch: int
) -> None:
    windows = min(windows, episodes)
    race = Budget(windows, first, 10, racing=True).heats(epoch, episodes)
    (plain,) = Budget(windows, first, 10).heats(epoch, episodes)
    assert np.concatenate(race).tolist() == plain.tolist()
    assert all(len(heat) > 0 for heat in race)
    assert len(race) <= 4


def test_a_race_stops_after_an_eighth_a_quarter_and_a_half() -> None:
    assert [len(heat) for heat in Budget(racing=True).heats(0, 80)] == [10, 10, 20, 40]
    assert [len(heat) for heat in Budget(racing=True).heats(0, 20)] == [3, 2, 5, 10]
    assert [len(heat) for heat in Budget(racing=True).heats(0, 1)] == [1]
