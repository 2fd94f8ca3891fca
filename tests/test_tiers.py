"""The quick tier leaves out tests that start a process, open a browser or run a study, without being told."""

from __future__ import annotations

import _posixsubprocess
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loky.backend.fork_exec import fork_exec  # type: ignore[import-untyped]  # it has no types

from ifthen.environments.make import env_task
from ifthen.simulate.workers import WorkerSimulator
from tests.commands import start_command
from tests.conftest import _refuse, starts
from tests.durations import slow_tests

ROOT = Path(__file__).parents[1]


def helper() -> None:
    start_command("--help")


def inner() -> Callable[[], Any]:
    return lambda: subprocess.run([], check=False)


@given(st.integers())
def of_all_numbers(number: int) -> None:
    helper()


def by_workers() -> None:
    WorkerSimulator(env_task("CartPole-v1", player="sync"), 2)


def study_by_command(ifthen: Any) -> None:
    ifthen("study", "run", "plan.toml")


def training_of_seeds(ifthen: Any) -> None:
    few = ("--seeds", "2")
    ifthen("train", "PPL-DL", *few)


def training_by_command(ifthen: Any) -> None:
    ifthen("train", "PPL-DL", "study")


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (helper, {"subprocess"}),
        (inner, {"subprocess"}),
        (of_all_numbers, {"subprocess"}),
        (by_workers, {"subprocess"}),
        (study_by_command, {"study"}),
        (training_of_seeds, {"study"}),
        (training_by_command, set()),
    ],
)
def test_what_a_test_starts_is_found_through_its_helpers(function: Any, found: set[str]) -> None:
    assert starts([function]) == found


def test_every_test_listed_as_slow_exists() -> None:
    for function in slow_tests():
        file, _, name = function.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), function


def test_a_process_in_the_quick_tier_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", _refuse)
    with pytest.raises(pytest.fail.Exception, match="mark it slow"):
        subprocess.run(["true"], check=False)


def test_a_worker_process_in_the_quick_tier_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_posixsubprocess, "fork_exec", _refuse)
    with pytest.raises(pytest.fail.Exception, match="mark it slow"):
        fork_exec(["true"], [])
