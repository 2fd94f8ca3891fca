"""Rewrites tests/slow.txt, the tests that `make quick` leaves out because they take long.

    python -m pytest -n 0 -p tests.durations        twice: the first run compiles what is not compiled yet

A test is slow where one of its cases takes more than a quarter of a second of processor time, or all of them
together more than a second, processes that they start included.
Only files whose tests were run are updated, so that a folder can be measured alone.
"""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SLOW_TESTS = Path(__file__).with_name("slow.txt")
SECONDS_OF_A_CASE = 0.25
SECONDS_OF_A_TEST = 1.0
took: dict[str, list[float]] = defaultdict(list)
"""Processor seconds of every case of every test function that was run."""


def slow_tests() -> set[str]:
    """Return the test functions listed as slow, as `tests/file.py::function`."""
    return set(SLOW_TESTS.read_text(encoding="utf-8").split())


def function_of(nodeid: str) -> str:
    """Return the test function of a test, without the parameters of its case."""
    return nodeid.partition("[")[0]


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it has started and that have ended."""
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + started.ru_utime + started.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure a test with its fixtures."""
    began = processor_seconds()
    try:
        return (yield)
    finally:
        took[function_of(item.nodeid)].append(processor_seconds() - began)


def is_slow(seconds: list[float]) -> bool:
    """Return whether a test is slow, by the processor seconds of its cases."""
    return max(seconds) > SECONDS_OF_A_CASE or sum(seconds) > SECONDS_OF_A_TEST


def pytest_sessionfinish() -> None:
    """Write the list; what is said of files that were not run stays."""
    measured = {function.partition("::")[0] for function in took}
    kept = {function for function in slow_tests() if function.partition("::")[0] not in measured}
    found = kept | {function for function, seconds in took.items() if is_slow(seconds)}
    SLOW_TESTS.write_text("".join(f"{function}\n" for function in sorted(found)), encoding="utf-8")
