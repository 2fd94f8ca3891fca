from __future__ import annotations

import importlib
import multiprocessing
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from ifthen.parallel import available_threads, for_slices, one_blas_thread


@given(st.integers(0, 200), st.integers(1, 5))
def test_slices_cover_every_item_once_for_any_number_of_threads(n: int, threads: int) -> None:
    done = [0] * n

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            done[i] += 1

    for_slices(work, n, threads)
    assert done == [1] * n


def test_one_thread_works_in_the_calling_thread_in_one_go() -> None:
    calls: list[tuple[int, int, int]] = []
    for_slices(lambda first, last: calls.append((first, last, threading.get_ident())), 10, 1)
    assert calls == [(0, 10, threading.get_ident())]


def test_several_threads_work_outside_the_calling_thread() -> None:
    workers: set[int] = set()
    for_slices(lambda first, last: workers.add(threading.get_ident()), 10, 2)
    assert workers
    assert threading.get_ident() not in workers


def test_an_error_in_any_slice_reaches_the_caller() -> None:
    def work(first: int, last: int) -> None:
        if last == 100:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        for_slices(work, 100, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    for_slices(lambda first, last: None, 10, 2)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=for_slices, args=(lambda first, last: None, 10, 2))
    child.start()
    child.join(30)
    if child.exitcode is None:
        child.kill()
    assert child.exitcode == 0


def test_available_threads_are_at_least_one_and_at_most_the_cores() -> None:
    assert 1 <= available_threads() <= (os.cpu_count() or 1)


def test_slices_have_at_least_as_many_items_as_are_worth_a_thread() -> None:
    sizes: list[int] = []
    for_slices(lambda first, last: sizes.append(last - first), 100, 2, grain=30)
    assert sum(sizes) == 100
    assert len(sizes) == 3
    assert min(sizes) >= 30


def test_products_of_matrices_take_one_thread_where_that_is_asked_and_as_many_as_before_afterwards() -> None:
    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    importlib.import_module("scipy.linalg")  # loads the library that kernels use
    with threadpool_limits(2, user_api="blas"):
        assert threads() == {2}
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {2}
