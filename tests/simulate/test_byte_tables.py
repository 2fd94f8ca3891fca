"""Policies that are played as tables of bytes, as on a GPU, get what the CPU gives them, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from ifthen.simulate import byte_tables
from ifthen.simulate.byte_tables import (
    byte_block,
    byte_game,
    byte_of_block,
    first_byte,
    new_lane,
    play_on,
)
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_play import Played, play, put_result
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Noise
from tests.simulate.test_play import assert_played_as_by_the_oracle, both_noises
from tests.worlds import chain, random_policies, random_task, small_lake

TASKS = {
    "lake": small_lake(0.3, t_max=20, enumerations=3),
    "lake without slipping": small_lake(0.0, t_max=20),
    "lake with short episodes": small_lake(0.5, t_max=7),
    "chain": chain(),
}


def played_in_bytes(task: TabularTask, policies: np.ndarray, noise: Noise, rounds: int = 2) -> Played:
    """Return what policies get that are played as tables of bytes, a few look-ups at a time."""
    game, z, n, n_states = byte_game(task, noise == "stream"), plan(task), *policies.shape
    assert game is not None
    out = Played(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_))
    for i, actions in enumerate(policies):
        firsts = [first_byte(item, actions, game) for item in range(n_states * game.steps.shape[2])]
        entries = range(game.rows * game.width)
        ones = np.array(firsts, dtype=np.uint8)
        table = np.array([byte_of_block(entry, ones, n_states, game) for entry in entries], dtype=np.uint8)
        lane = new_lane(game)
        while 0 <= lane.episode < len(z.starts):
            lane = play_on(lane, rounds, table, game)
        if lane.episode < 0:
            put_result(i, 0.0, 0, 0, True, z, out)
        else:
            put_result(i, lane.total, lane.steps, lane.truncated, False, z, out)
    return out


@pytest.mark.oracle
@both_noises
@pytest.mark.parametrize("name", TASKS)
def test_tables_of_bytes_give_the_bits_of_the_cpu(name: str, noise: Noise) -> None:
    task = TASKS[name]
    policies = np.concatenate([random_policies(task, 4, 1), random_policies(task, 4, 2, null_share=0.1)])
    found = played_in_bytes(task, policies, noise)
    assert_played_as_by_the_oracle(task, policies, noise, found)
    for ours, theirs in zip(found, play(task, policies, noise), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert not found.failed.all()


@both_noises
@pytest.mark.parametrize(("most_bytes", "block"), [(100, 1), (300, 2), (900, 3), (2700, 4)])
def test_they_give_them_for_look_ups_of_any_length(
    most_bytes: int, block: int, noise: Noise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_tables, "BYTES_EACH", most_bytes)
    task = small_lake(0.3, t_max=13)
    game = byte_game(task, noise == "stream")
    assert game is not None
    assert game.block == block
    policies = random_policies(task, 4, 1, null_share=0.02)
    for ours, theirs in zip(played_in_bytes(task, policies, noise), play(task, policies, noise), strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_rewards_on_the_way_and_large_tables_have_no_bytes() -> None:
    assert byte_game(random_task(3), streamed=True) is None
    assert byte_block(255, 1, 2, 8) == 0
    assert byte_block(200, 3, 3, 8) == 2
    assert byte_block(2000, 3, 3, 8) == 0
