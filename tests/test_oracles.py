"""Every kernel is right without compilation too, and one test calls both it and its oracle."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.oracle_calls import full_name
from tests.test_architecture import ORACLES

ROOT = Path(__file__).parents[1]


def test_tests_marked_oracle_pass_without_compilation_and_call_every_kernel_with_its_oracle(
    tmp_path: Path,
) -> None:
    calls = tmp_path / "calls.json"
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "IFTHEN_TEST_PROFILE": "few",
        "IFTHEN_CALLS": str(calls),
    }
    # Whole numbers wrap around silently in compiled code; NumPy warns when they do.
    command = [sys.executable, "-m", "pytest", "-W", "ignore", "-p", "no:cacheprovider", "-n", "0"]
    command += ["-p", "tests.oracle_calls", "-m", "oracle", "tests"]
    done = subprocess.run(
        command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
    assert unproven(pairs(), json.loads(calls.read_text())) == []


def unproven(oracles: dict[str, str], calls: dict[str, list[str]]) -> list[str]:
    """Return the kernels that no test calls together with their oracle.

    Args:
        oracles: the full names of kernels with those of their oracles.
        calls: the functions that each test called.
    """
    tests = [set(names) for names in calls.values()]
    return [
        f"{kernel}: no test marked oracle calls it and {oracle}"
        for kernel, oracle in sorted(oracles.items())
        if not any({kernel, oracle} <= called for called in tests)
    ]


def pairs() -> dict[str, str]:
    """Return the full names of kernels with those of their oracles."""
    return {
        f"ifthen.{module}.{kernel}": full_name(oracle)
        for module, oracles in ORACLES.items()
        for kernel, oracle in oracles.items()
    }


def test_a_kernel_called_in_one_test_and_its_oracle_in_another_is_unproven() -> None:
    oracles = {"fast": "plain", "faster": "plainer"}
    assert unproven(oracles, {"one": ["fast", "plain"], "two": ["faster", "plainer", "plain"]}) == []
    (told,) = unproven(oracles, {"one": ["fast", "plain", "faster"], "two": ["plain", "plainer"]})
    assert told.startswith("faster:")
