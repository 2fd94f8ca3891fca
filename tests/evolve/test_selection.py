from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.evolve.operators import tournament
from ifthen.randomness import stream
from tests import naive_evolve

KEYS = st.integers(0, 2**64 - 1)
FITNESS = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 0.5, 1.0]), min_size=1, max_size=12)


@pytest.mark.oracle
@given(KEYS, FITNESS, st.integers(1, 6))
def test_the_winner_is_the_oracles(key: int, fitness: list[float], size: int) -> None:
    found = tournament(np.uint64(key), np.array(fitness), size)
    assert found == naive_evolve.tournament(key, fitness, size)


@given(KEYS, FITNESS)
def test_a_tournament_of_one_does_not_look_at_fitness(key: int, fitness: list[float]) -> None:
    reversed_ = np.array(fitness[::-1])
    assert tournament(np.uint64(key), np.array(fitness), 1) == tournament(np.uint64(key), reversed_, 1)


@given(KEYS, st.integers(2, 12), st.integers(1, 6))
def test_the_first_drawn_wins_where_all_are_equal(key: int, n: int, size: int) -> None:
    fitness = np.full(n, 0.5)
    assert tournament(np.uint64(key), fitness, size) == tournament(np.uint64(key), fitness, 1)


def test_the_best_of_ten_wins_a_tournament_of_three_27_times_in_100() -> None:
    # It is drawn at least once in three with probability 1 − 0.9³ = 0.271.
    fitness = np.zeros(10)
    fitness[7] = 1.0
    won = [tournament(stream(0, "test", i), fitness, 3) == 7 for i in range(2000)]
    assert abs(np.mean(won) - 0.271) < 5 * (0.271 * 0.729 / 2000) ** 0.5
