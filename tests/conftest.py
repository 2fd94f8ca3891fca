"""How tests run: which are slow, and how property tests draw their examples.

Tests that start a process, open a browser or run a study are marked `slow` by what they call, their helpers
and fixtures included; so are those that `tests/slow.txt` lists because they take long (`tests/durations.py`
writes it). `make quick` runs the tests that are not slow, with fewer examples of property tests. There, to
start a process is an error.

Property tests have no deadline (compilation is slow), few examples, the same ones every time.
`IFTHEN_TEST_PROFILE=search` draws other examples each time, to find what the usual ones do not.
"""

from __future__ import annotations

import _posixsubprocess
import gc
import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from loky.backend import resource_tracker  # type: ignore[import-untyped]  # it has no types

from tests.durations import function_of, slow_tests

settings.register_profile(
    "search", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("same", settings.get_profile("search"), max_examples=8, derandomize=True)
settings.register_profile("few", settings.get_profile("same"), max_examples=5)
settings.load_profile(os.environ.get("IFTHEN_TEST_PROFILE", "same"))

# Names whose use makes a test slow, by what they do.
STARTERS = {
    "subprocess": {
        "subprocess",
        "start_command",
        "multiprocessing",
        "WorkerSimulator",
        "ProcessPoolExecutor",
        "get_reusable_executor",
    },
    "browser": {"opened", "sync_playwright"},
    "study": {"run_study", "run_trial"},
}
# Every way to start a process ends in one of these; loky and multiprocessing do not go through `subprocess`.
WAYS_TO_START: list[tuple[Any, str]] = [
    (subprocess, "Popen"),
    (_posixsubprocess, "fork_exec"),
    (os, "fork"),
    (os, "posix_spawn"),
]
# `ifthen("study", "run", …)` runs a study in the test's own process, and so do a training of several seeds
# and a tuning.
STUDY_COMMANDS = ({"study", "run"}, {"train", "--seeds"}, {"tune", "--trials"})
LONGEST = ("tests/test_oracles.py", "tests/simulate/test_gpu.py", "tests/test_tutorials.py")
"""Files whose tests take longest: they run a suite of their own, or whole documents."""


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of all functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


def texts_in(constants: tuple[Any, ...]) -> Iterator[str]:
    """Yield the texts among constants, also those in tuples."""
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple):
            yield from texts_in(constant)


def plain(function: Any) -> FunctionType | None:
    """Return a test's own function, without what decorators put around it."""
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function if isinstance(function, FunctionType) else None


def is_ours(function: FunctionType) -> bool:
    """Return whether a function belongs to the tests, and not to this file, which refuses processes."""
    return function.__module__.startswith("tests.") and function.__module__ != __name__


def starts(functions: list[Callable[..., Any]]) -> set[str]:
    """Return which slow things functions of tests do, directly or through functions of other test modules."""
    pending, seen, found = [plain(function) for function in functions], set(), set()
    while pending:
        function = pending.pop()
        if function is None or function in seen or not is_ours(function):
            continue
        seen.add(function)
        codes = list(codes_of(function.__code__))
        names = {name for code in codes for name in code.co_names}
        texts = {text for code in codes for text in texts_in(code.co_consts)}
        found |= {kind for kind, starters in STARTERS.items() if starters & names}
        found |= {"study"} if any(texts >= command for command in STUDY_COMMANDS) else set()
        used = [function.__globals__.get(name) for name in names]
        pending += [plain(each) for each in used if callable(each) and not isinstance(each, type)]
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests as slow by what they call and by how long they take; begin with the longest ones.

    A process that gets a long test last lets the others wait for it.
    """
    listed = slow_tests()
    for item in items:
        if function_of(item.nodeid) in listed:
            item.add_marker("slow")
        if not isinstance(item, pytest.Function):
            continue
        fixtures = [each.func for defined in item._fixtureinfo.name2fixturedefs.values() for each in defined]
        for kind in sorted(starts([item.obj, *fixtures])):
            item.add_marker(kind)
            item.add_marker("slow")
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_configure() -> None:
    """Search for garbage less often: usually that takes a tenth of the processor time."""
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """Never search for garbage among the tests themselves."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def no_process_in_the_quick_tier(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test of the quick tier that starts a process.

    Two that Python and loky start once per process come before: they name the system and track files.
    """
    platform.platform()
    resource_tracker.ensure_running()
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("markexpr") == "not slow":
            for module, name in WAYS_TO_START:
                patch.setattr(module, name, _refuse)
        yield


def _refuse(*arguments: Any, **named: Any) -> None:
    pytest.fail("a test of the quick tier starts a process: mark it slow.")


@pytest.fixture(scope="session", autouse=True)
def few_changes() -> Iterator[dict[tuple[ModuleType, str], Any]]:
    """Let PPL-X fit lists with fewer changes, and learn with fewer networks and updates: they take most time.

    Gives the constants as they are shipped, by module and name, for the test that learns with them.
    """
    from ifthen.systems.pplx import distil_values, env_plan, value_learning

    fewer: dict[tuple[ModuleType, str], int] = {
        (distil_values, "CHANGES"): 1000,
        (value_learning, "FEW_UPDATES"): 400,
        (env_plan, "MOST_NETWORKS"): 2,
    }
    shipped = {(module, name): getattr(module, name) for module, name in fewer}
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), number in fewer.items():
            patch.setattr(module, name, number)
        yield shipped
