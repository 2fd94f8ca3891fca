"""A pytest plugin that records which kernels and which oracles each test calls.

    NUMBA_DISABLE_JIT=1 IFTHEN_CALLS=calls.json pytest -p tests.oracle_calls -m oracle

It works without compilation only: compiled code calls compiled code unseen. The file holds, for each test,
the sorted names of the functions called, such as `ifthen.rules.box.matches` and `tests.naive.matches`.
`tests/test_oracles.py` reads it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ifthen import jit

ORACLE_MODULES = tuple(
    importlib.import_module(f"tests.{path.stem}") for path in sorted(Path(__file__).parent.glob("naive*.py"))
)
calls: dict[str, set[str]] = defaultdict(set)
"""The functions called so far, by test."""
running = "before the first test"


def full_name(function: Callable[..., Any]) -> str:
    """Return a function's module and name in it."""
    return f"{function.__module__}.{function.__qualname__}"


def recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same and records that it was called."""
    name = full_name(function)

    @functools.wraps(function)
    def record(*arguments: Any, **named: Any) -> Any:
        calls[running].add(name)
        return function(*arguments, **named)

    return record


def record_functions_of(place: ModuleType | type, module: str) -> None:
    """Record the calls of all functions and methods that a module defines."""
    for name, value in list(vars(place).items()):
        if getattr(value, "__module__", None) != module or name.startswith("__"):
            continue
        if inspect.isfunction(value):
            setattr(place, name, recorded(value))
        elif inspect.isclass(value):
            record_functions_of(value, module)


def pytest_configure() -> None:
    """Record kernels when they are defined, and the oracles, before any test imports them."""
    compiled = jit._compiled
    jit._compiled = lambda function, **options: recorded(compiled(function, **options))
    for module in ORACLE_MODULES:
        record_functions_of(module, module.__name__)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files without the mark: to import them takes longer than to run these tests."""
    if collection_path.match("test_*.py") and "mark.oracle" not in collection_path.read_text("utf-8"):
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Record under the name of the test that runs."""
    global running  # noqa: PLW0603 -- the recorded functions are called from anywhere
    running = item.nodeid
    return (yield)


def pytest_sessionfinish() -> None:
    """Write what was recorded."""
    found = {test: sorted(names) for test, names in sorted(calls.items())}
    Path(os.environ["IFTHEN_CALLS"]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
