"""Products and eigenvectors of small matrices, to the same bits on every processor.

BLAS and LAPACK choose their code by the kind of processor, and so the last bits of results. Learning makes
large differences of such bits. Here every sum is added up in one order, from the first product on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel, lean_kernel
from ifthen.rules.arrays import Floats

Matrix = NDArray[Any]
SWEEPS = 60
"""Eigenvectors are found in about ten sweeps; this many are the most."""


@lean_kernel
def multiply(a: Matrix, b: Matrix, out: Matrix) -> None:
    """Write the product of `a`, `(n, k)`, and `b`, `(k, m)`; rows of `b` should be contiguous.

    Blocks of four by four numbers of `a` are taken at a time, so that `b` and `out` are read less often.
    """
    n, k = a.shape
    whole_n, whole_k = n - n % 4, k - k % 4
    out[:] = 0.0
    for i in range(0, whole_n, 4):
        row0, row1, row2, row3 = out[i], out[i + 1], out[i + 2], out[i + 3]
        for t in range(0, whole_k, 4):
            a00, a01, a02, a03 = a[i, t], a[i, t + 1], a[i, t + 2], a[i, t + 3]
            a10, a11, a12, a13 = a[i + 1, t], a[i + 1, t + 1], a[i + 1, t + 2], a[i + 1, t + 3]
            a20, a21, a22, a23 = a[i + 2, t], a[i + 2, t + 1], a[i + 2, t + 2], a[i + 2, t + 3]
            a30, a31, a32, a33 = a[i + 3, t], a[i + 3, t + 1], a[i + 3, t + 2], a[i + 3, t + 3]
            for j in range(len(row0)):
                b0, b1, b2, b3 = b[t, j], b[t + 1, j], b[t + 2, j], b[t + 3, j]
                row0[j] = row0[j] + a00 * b0 + a01 * b1 + a02 * b2 + a03 * b3
                row1[j] = row1[j] + a10 * b0 + a11 * b1 + a12 * b2 + a13 * b3
                row2[j] = row2[j] + a20 * b0 + a21 * b1 + a22 * b2 + a23 * b3
                row3[j] = row3[j] + a30 * b0 + a31 * b1 + a32 * b2 + a33 * b3
    for i in range(n):
        for t in range(whole_k if i < whole_n else 0, k):
            for j in range(out.shape[1]):
                out[i, j] += a[i, t] * b[t, j]


def product(a: Floats, b: Floats) -> Floats:
    """Return the product of `a`, `(n, k)`, and `b`, `(k, m)`."""
    out = np.empty((len(a), b.shape[1]))
    multiply(np.ascontiguousarray(a), np.ascontiguousarray(b), out)
    return out


@kernel
def rotate(matrix: Floats, vectors: Floats, p: int, q: int) -> None:
    """Turn the columns p and q of eigenvectors so that the matrix has 0 where both meet (Jacobi)."""
    theta = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for i in range(len(matrix)):
        at_p, at_q = matrix[i, p], matrix[i, q]
        matrix[i, p], matrix[i, q] = c * at_p - s * at_q, s * at_p + c * at_q
    for i in range(len(matrix)):
        at_p, at_q = matrix[p, i], matrix[q, i]
        matrix[p, i], matrix[q, i] = c * at_p - s * at_q, s * at_p + c * at_q
    for i in range(len(matrix)):
        at_p, at_q = vectors[i, p], vectors[i, q]
        vectors[i, p], vectors[i, q] = c * at_p - s * at_q, s * at_p + c * at_q


@kernel
def diagonalise(matrix: Floats, vectors: Floats) -> None:
    """Turn a symmetric matrix into a diagonal one; write the eigenvectors into columns."""
    d = len(matrix)
    vectors[:] = 0.0
    for i in range(d):
        vectors[i, i] = 1.0
    for _ in range(SWEEPS):
        turned = False
        for p in range(d):
            for q in range(p + 1, d):
                if abs(matrix[p, q]) > 1e-16 * math.sqrt(abs(matrix[p, p] * matrix[q, q])):
                    rotate(matrix, vectors, p, q)
                    turned = True
        if not turned:
            return


def eigenvectors(symmetric: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues `(d,)` of a symmetric matrix, in no order, and its eigenvectors as columns."""
    matrix, vectors = symmetric.astype(float), np.empty(symmetric.shape)
    diagonalise(matrix, vectors)
    return np.diagonal(matrix).copy(), vectors
