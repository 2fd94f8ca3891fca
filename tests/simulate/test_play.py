from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import TabularTask, frozen_lake
from ifthen.randomness import stream
from ifthen.simulate import table_noise, table_play
from ifthen.simulate.table_noise import block_length, outcome, plan, remember_outcomes
from ifthen.simulate.table_play import Played, play
from ifthen.tables import value_iteration
from ifthen.tasks.solve import exact_performances
from ifthen.tasks.task import Noise
from tests import naive
from tests.worlds import chain, over_all_states, random_policies, random_task, small_lake

NOISES: tuple[Noise, ...] = ("aligned", "stream")
both_noises = pytest.mark.parametrize("noise", NOISES)
BLOCKS = st.integers(1, 8)


def look_ups_of(steps: int) -> Any:
    """Make new plans play so many steps per look-up, or as many as a byte can hold the outcomes of."""

    def length(states: int, outcomes: int, *_: int) -> int:
        return max(block for block in range(1, steps + 1) if block == 1 or outcomes**block <= 256)

    return mock.patch.object(table_noise, "block_length", length)


def assert_played_as_by_the_oracle(task: TabularTask, tables: Any, noise: Noise, found: Played) -> None:
    for i, table in enumerate(tables):
        expected = naive.play(task, over_all_states(task, table), noise)
        assert found.failed[i] == (expected is None)
        if expected is None:
            assert (found.performance[i], found.steps[i], found.truncated[i]) == (task.floor, 0, 0)
        else:
            assert found.performance[i] == pytest.approx(expected.performance, rel=1e-11, abs=1e-12)
            assert (found.steps[i], found.truncated[i]) == (expected.steps, expected.truncated)


@both_noises
@pytest.mark.parametrize("p_slip", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("t_max", [1, 7, 30])
def test_lakes_are_played_as_by_the_oracle(noise: Noise, p_slip: float, t_max: int) -> None:
    task = small_lake(p_slip, t_max=t_max)
    with look_ups_of(4):
        assert plan(task).block == min(4, t_max)
    best = value_iteration(task).policy[task.decision_states][None].astype(np.int16)
    tables = np.concatenate([best, random_policies(task, 10, 1), random_policies(task, 5, 2, null_share=0.1)])
    assert_played_as_by_the_oracle(task, tables, noise, play(task, tables, noise))


@pytest.mark.oracle
@both_noises
@given(seed=st.integers(0, 10**6), outcomes=st.integers(1, 7), t_max=st.integers(1, 17), steps=BLOCKS)
def test_dense_rewards_add_up_as_by_the_oracle_for_any_time_limit_and_block(
    noise: Noise, seed: int, outcomes: int, t_max: int, steps: int
) -> None:
    task = random_task(seed, outcomes, t_max=t_max)
    with look_ups_of(steps):
        assert plan(task).block <= t_max
    tables = random_policies(task, 4, seed, null_share=0.03)
    assert_played_as_by_the_oracle(task, tables, noise, play(task, tables, noise))


@pytest.mark.oracle
@both_noises
@given(seed=st.integers(0, 10**6), memory=st.sampled_from([0, 1, 13, 30, 100]), steps=BLOCKS)
def test_a_memo_too_small_for_the_task_changes_nothing(
    noise: Noise, seed: int, memory: int, steps: int
) -> None:
    tables = random_policies(random_task(seed), 4, seed, null_share=0.03)
    whole = play(random_task(seed), tables, noise)
    with mock.patch.object(table_noise, "MEMO_BYTES", memory), look_ups_of(steps):
        task = random_task(seed)
        cut = play(task, tables, noise)
        assert plan(task).row == max(1, min(task.t_max, memory // len(task.z)))
    np.testing.assert_allclose(cut.performance, whole.performance, rtol=1e-12, atol=1e-12)
    assert (cut.steps == whole.steps).all()
    assert (cut.truncated == whole.truncated).all()


@both_noises
@given(seed=st.integers(0, 10**6), steps=BLOCKS, outcomes=st.integers(1, 3))
def test_the_number_of_steps_per_look_up_changes_nothing(
    noise: Noise, seed: int, steps: int, outcomes: int
) -> None:
    tables = random_policies(random_task(seed, outcomes), 4, seed, null_share=0.03)
    usual = play(random_task(seed, outcomes), tables, noise)
    with look_ups_of(steps):
        task = random_task(seed, outcomes)
        other = play(task, tables, noise)
        assert outcomes == 3 or plan(task).block == steps
    np.testing.assert_allclose(other.performance, usual.performance, rtol=1e-12, atol=1e-12)
    assert (other.steps == usual.steps).all()
    assert (other.failed == usual.failed).all()


@given(st.integers(1, 5000), st.integers(1, 256), st.integers(1, 10_000))
def test_blocks_are_as_long_as_a_byte_and_a_small_table_allow(
    states: int, outcomes: int, episodes: int
) -> None:
    def fits(block: int) -> bool:
        entries = int(outcomes**block)
        return entries <= 256 and states * entries <= min(table_noise.BLOCK_ENTRIES, episodes)

    block = block_length(states, outcomes, episodes)
    assert 1 <= block <= table_noise.LONGEST_BLOCK
    assert block == 1 or fits(block)
    assert block == table_noise.LONGEST_BLOCK or not fits(block + 1)


@pytest.mark.oracle
@given(st.integers(0, 2**64 - 1), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 10**9))
def test_outcomes_are_drawn_as_by_the_oracle(key: int, shares: list[int], position: int) -> None:
    probability = [share / sum(shares) for share in shares]
    found = outcome(np.uint64(key), np.cumsum(probability), position)
    assert found == naive.outcome(key, probability, position)


def test_outcomes_happen_as_often_as_they_should() -> None:
    key, cuts = stream(3, "test"), np.array([0.2, 0.5, 1.0])
    drawn = [outcome(key, cuts, i) for i in range(4000)]
    shares = np.bincount(drawn, minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.2, 0.3, 0.5], atol=5 * 0.5 / 4000**0.5)


@pytest.mark.oracle
@pytest.mark.parametrize(("row", "block"), [(9, 1), (9, 3), (4, 2), (1, 2)])
def test_the_memo_holds_the_next_outcomes_as_digits(row: int, block: int) -> None:
    probability, key, t_max = [0.2, 0.3, 0.5], stream(0, "z"), 9
    memo = np.empty(3 * row, dtype=np.uint8)
    remember_outcomes(key, np.cumsum(probability), t_max, row, block, memo)
    for episode in range(3):
        for t in range(row):
            digits = [naive.outcome(int(key), probability, episode * t_max + t + j) for j in range(block)]
            assert memo[episode * row + t] == int("".join(map(str, digits)), 3)


@pytest.mark.oracle
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4))
def test_a_block_table_tells_what_stepping_through_its_outcomes_does(
    seed: int, outcomes: int, steps: int
) -> None:
    task = random_task(seed, outcomes)
    table = random_policies(task, 1, seed, null_share=0.1)
    with look_ups_of(steps):
        shared, model = plan(task), task.dynamics
    assert shared.block == steps
    tables = table_play.empty_tables(table.shape[1], shared)
    table_play.fill_step_tables(table, 0, model.next_state, model.reward, tables)
    table_play.fill_block_tables(shared, tables)
    for start in range(table.shape[1]):
        for code, digits in enumerate(itertools.product(range(outcomes), repeat=shared.block)):
            s, gained, entry = start, 0.0, 0
            for t, k in enumerate(digits):
                a = table[0, s]
                if a < 0:
                    entry = table_play.NULL
                    break
                gained += task.gamma**t * model.reward[s, a, k]
                s = model.next_state[s, a, k]
                if s < 0:
                    entry = -1 - t
                    break
            at = start * shared.width + code
            assert tables.block_next[at] == (entry if entry < 0 else s * shared.width)
            if entry != table_play.NULL:
                assert tables.block_reward[at] == pytest.approx(gained, rel=1e-12, abs=1e-12)


@both_noises
@given(seed=st.integers(0, 10**6), threads=st.integers(2, 4))
def test_performance_does_not_depend_on_threads_nor_on_company(noise: Noise, seed: int, threads: int) -> None:
    task = random_task(seed)
    tables = random_policies(task, 9, seed, null_share=0.02)
    with mock.patch("ifthen.tasks.tabular_task.STATES_PER_SLICE", 1):  # else nothing here is worth a thread
        one, several = play(task, tables, noise, 1), play(task, tables, noise, threads)
    alone = play(task, tables[4:5], noise, 1)
    for name in ("performance", "steps", "truncated", "failed"):
        assert getattr(one, name).tobytes() == getattr(several, name).tobytes()
        assert getattr(one, name)[4:5].tobytes() == getattr(alone, name).tobytes()


@pytest.mark.parametrize(("p_slip", "same"), [(0.0, True), (0.3, False)])
def test_the_two_noises_differ_exactly_where_there_is_noise(p_slip: float, same: bool) -> None:
    task = small_lake(p_slip)
    tables = random_policies(task, 20, 0)
    aligned, streamed = (play(task, tables, noise).performance for noise in NOISES)
    assert (aligned.tobytes() == streamed.tobytes()) is same


@both_noises
def test_another_noise_seed_is_other_luck(noise: Noise) -> None:
    tables = random_policies(small_lake(), 20, 0)
    first, again, other = (
        play(small_lake(noise_seed=seed), tables, noise).performance.tobytes() for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other


@both_noises
def test_a_state_without_a_rule_that_is_never_met_does_no_harm(noise: Noise) -> None:
    only_the_end = {"initial_states": np.array([1], dtype=np.int32)}
    task = chain(**only_the_end, next_state=loop_back())
    assert task.decision_states.tolist() == [0, 1]
    assert play(task, np.array([[-1, 0]], dtype=np.int16), noise).failed.tolist() == [False]
    assert play(task, np.array([[-1, 1]], dtype=np.int16), noise).failed.tolist() == [True]


def loop_back() -> Any:
    """Return the chain's transitions with "Wait" leading from 1 back to 0."""
    next_state = np.array(chain().next_state)
    next_state[1, 1] = 0
    return next_state


@both_noises
@pytest.mark.parametrize("choose", ["optimal", "poor"])
def test_sampled_performance_converges_to_the_exact_one(noise: Noise, choose: str) -> None:
    task = frozen_lake(4, 0.3, enumerations=3000)
    policies: dict[str, Callable[[], Any]] = {
        "optimal": lambda: value_iteration(task).policy[task.decision_states][None],
        "poor": lambda: random_policies(task, 1, 4),
    }
    table = policies[choose]().astype(np.int16)
    sampled = play(task, table, noise)
    exact = exact_performances(task, table)[0]
    # A return lies between 0 and 1, so its deviation is at most ½; t_max cuts off less than γ^t_max.
    error = 0.5 / len(task.z) ** 0.5
    assert abs(sampled.performance[0] - exact) < 4 * error + task.gamma**task.t_max
    assert exact > 4 * error  # else any low number would do
