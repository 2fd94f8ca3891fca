"""Products and eigenvectors: right, in one order of sums, and so the same bits on every processor."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.systems.pplx.matrices import Matrix, diagonalise, eigenvectors, multiply, product, rotate
from tests import naive_values

SIZES = st.integers(1, 11)
OLD = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"}
"""An old processor, as far as variables of OpenBLAS and NumPy can play it."""
TRAINING = """
import hashlib, ifthen
from ifthen.systems.pplx import distil_values, env_plan, value_learning
env_plan.MOST_NETWORKS, value_learning.FEW_UPDATES, distil_values.CHANGES = 2, 200, 1000
system = ifthen.PPLX("CartPole-v1", seed=0, steps=3_000, threads=1).learn()
longer = ifthen.env_task("CartPole-v1", options={"max_episode_steps": 2000})
found = [system.history.write_csv(), str(system.front.to_dict())]
found += [str(ifthen.worst_starts(system.ruleset, longer, episodes=10))]
print(hashlib.sha256("".join(found).encode()).hexdigest())
"""


@pytest.mark.oracle
@given(SIZES, SIZES, SIZES, st.integers(0, 99), st.sampled_from((np.float32, np.float64)))
def test_sums_of_products_are_added_up_in_their_order(n: int, k: int, m: int, seed: int, kind: type) -> None:
    rng = np.random.default_rng(seed)
    a: Matrix = rng.normal(size=(n, k)).astype(kind)
    b: Matrix = rng.normal(size=(k, m)).astype(kind)
    out: Matrix = np.empty((n, m), kind)
    expected: Matrix = np.zeros((n, m), kind)
    for t in range(k):
        expected += a[:, t : t + 1] * b[t]
    multiply(a, b, out)
    assert out.tolist() == expected.tolist()
    multiply(np.asfortranarray(a), b, out)
    assert out.tolist() == expected.tolist()
    assert out == pytest.approx(
        np.array(naive_values.product(a.astype(float).tolist(), b.astype(float).tolist())), abs=1e-4
    )


@given(st.integers(1, 12), st.integers(0, 99))
def test_eigenvectors_are_orthogonal_and_give_the_matrix_back(d: int, seed: int) -> None:
    half = np.random.default_rng(seed).normal(size=(d, max(1, d - 1)))
    matrix = half @ half.T
    values, vectors = eigenvectors(matrix)
    assert vectors.T @ vectors == pytest.approx(np.eye(d), abs=1e-12)
    assert product(vectors * values, vectors.T) == pytest.approx(matrix, abs=1e-11)


@pytest.mark.oracle
@given(*[st.floats(-9, 9, allow_subnormal=False)] * 3)
def test_one_turn_solves_a_matrix_of_two_rows(a: float, b: float, d: float) -> None:
    matrix, vectors = np.array([[a, b], [b, d]]), np.eye(2)
    expected = naive_values.eigenvalues_of_two(matrix.tolist())
    if b != 0:
        turned = matrix.copy()
        rotate(turned, vectors, 0, 1)
        assert sorted(np.diagonal(turned)) == pytest.approx(expected, abs=1e-12)
    diagonalise(matrix, vectors)
    assert sorted(np.diagonal(matrix)) == pytest.approx(expected, abs=1e-12)


def test_training_gives_the_same_bytes_on_another_kind_of_processor() -> None:
    def trained(**variables: str) -> str:
        given = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
        command = [sys.executable, "-c", TRAINING]
        return subprocess.run(
            command, env={**given, **variables}, capture_output=True, text=True, check=True
        ).stdout

    assert trained(**OLD) == trained()
