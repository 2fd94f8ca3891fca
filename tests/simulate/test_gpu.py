"""Without a GPU the CPU plays, and Numba's simulator of a GPU gives the CPU's results."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from ifthen import PPLDL, env_task
from ifthen.errors import IfthenWarning, ParameterError
from ifthen.simulate import gpu
from ifthen.simulate.evaluate import environment_simulator, simulator_of
from ifthen.simulate.gpu import Attempt, Device, find_device, is_wanted, memory_slices, objection
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.tasks.twin import Twin
from tests.worlds import small_lake

ROOT = Path(__file__).parents[2]
MISSING = "no GPU was found"


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "find_device", lambda: MISSING)


def test_kernels_of_the_gpu_give_the_results_of_the_cpu_in_numbas_simulator() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "tests/cuda"]
    done = subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"^\.+ ", done.stdout)


def test_the_cpu_plays_by_default_and_nobody_looks_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "find_device", lambda: pytest.fail("looked for a GPU"))
    assert type(PPLDL(small_lake()).simulator) is TableSimulator
    assert type(environment_simulator(env_task("CartPole-v1"))) is TwinSimulator


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_auto_is_silent_and_cuda_says_why() -> None:
    task = small_lake()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(simulator_of(task, backend="auto")) is TableSimulator
    with pytest.warns(IfthenWarning, match=f"backend is 'cuda', but {MISSING}. The CPU plays instead."):
        assert type(simulator_of(task, backend="cuda")) is TableSimulator


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_learning_gives_what_the_cpu_gives() -> None:
    task, size = small_lake(), {"pop_size": 8, "idv_size": 4}
    cpu = PPLDL(task, seed=3, **size).learn(epochs=1)  # type: ignore[arg-type]
    with pytest.warns(IfthenWarning, match="The CPU plays instead"):
        cuda = PPLDL(task, seed=3, backend="cuda", **size).learn(epochs=1)  # type: ignore[arg-type]
    assert cpu.ruleset == cuda.ruleset


def test_backends_that_there_are_not_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"backend.*'auto', 'cpu' or 'cuda'"):
        PPLDL(small_lake(), backend="gpu")  # type: ignore[arg-type]


def test_environments_that_only_the_cpu_can_play_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "find_device", lambda: Device("a GPU", (9, 0), 2**30))
    pole, lander = env_task("CartPole-v1"), env_task("CartPole-v1", player="sync")
    address = Twin("mine", 4, 12345)
    assert "played in Python" in objection(lander, None)
    assert "Python function" in objection(pole, address)
    assert "disturbed" in objection(pole.disturbed("noise", 0.1), address)
    with pytest.warns(IfthenWarning, match="has no compiled twin"):
        assert not is_wanted("cuda", objection(lander, None))
    assert not is_wanted("auto", "anything")
    assert is_wanted("auto")


def test_a_gpu_that_fails_leaves_the_rest_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "device_errors", lambda: (MemoryError,))
    calls: list[str] = []

    def fails() -> int:
        calls.append("gpu")
        raise MemoryError("out of memory")

    attempt = Attempt()
    with pytest.warns(IfthenWarning, match="the GPU failed .out of memory.. The CPU plays from here on."):
        assert attempt(fails, lambda: 1) == 1
    assert attempt(fails, lambda: 2) == 2
    assert calls == ["gpu"]


def test_parts_cover_a_population_and_fit_into_memory() -> None:
    for n, each in ((1, 1), (7, gpu.SCRATCH_BYTES // 3), (5, gpu.SCRATCH_BYTES * 2)):
        own = list(memory_slices(n, each))
        assert np.concatenate([np.arange(n)[part] for part in own]).tolist() == list(range(n))
        assert all((part.stop - part.start) * each <= max(gpu.SCRATCH_BYTES, each) for part in own)


def test_what_is_found_is_a_device_or_says_what_is_missing() -> None:
    device = find_device()
    assert str(device) if isinstance(device, Device) else device
    assert str(Device("NVIDIA X", (9, 0), 80 * 2**30)) == "NVIDIA X, 80 GiB, compute capability 9.0"
