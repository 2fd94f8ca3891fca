"""What a file can make us allocate: about ten times what it unpacks to, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ifthen import PPLX
from ifthen.environments.make import env_task
from ifthen.systems.model_file import OF_POPULATIONS
from ifthen.systems.registry import SYSTEMS
from tests.archives import MANIFEST, manifest, members, npy_promising
from tests.envs import HAYSTACK
from tests.systems.contract import make

MEASURE = """
import resource, sys
from ifthen import IfthenError
{imports}

def most():
    try:  # what getrusage says begins with what the parent had
        status = open("/proc/self/status").read()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * {unit}

before = most()
try:
    {call}
    print("read")
except IfthenError as problem:
    print(str(problem)[:200])
print(most() - before)
"""
READ = "from ifthen.explanation.read_ruleset import read_ruleset"
LOAD = "from ifthen.systems.registry import load; import ifthen.systems.ppl_st, ifthen.systems.ppl_dl"
UNIT = 1 if sys.platform == "darwin" else 1024


def measured(imports: str, call: str) -> tuple[str, int]:
    """Return what reading a file said, and how much memory it took at its peak, in bytes."""
    program = MEASURE.format(imports=imports, call=call, unit=UNIT)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    said, peak = done.stdout.splitlines()
    return said, int(peak)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model.zip"
    make("PPL-DL").learn(epochs=1).save(path)
    return path


def bomb(model: Path, path: Path, change: Callable[[dict[str, Any]], Any] | None, more: Any = ()) -> int:
    """Write a changed model; return the size that it unpacks to."""
    contents = members(model)
    about = manifest(contents)
    if change is not None:
        change(about)
    contents[MANIFEST] = json.dumps(about, separators=(",", ":")).encode()
    total = sum(map(len, contents.values()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
        for name, pieces in more:
            with archive.open(name, "w", force_zip64=True) as file:
                for piece in pieces:
                    total += file.write(piece)
    return total


def zeros(size: int) -> Iterator[bytes]:
    yield npy_promising(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},)}}")
    for _ in range(size // 2**20):
        yield bytes(2**20)


@pytest.mark.parametrize("name", ["population/odd", "population/bounds"])
def test_large_arrays_are_refused_before_they_are_unpacked_or_held_once(
    name: str, model: Path, tmp_path: Path
) -> None:
    size = 2**27
    contents = [] if name.endswith("bounds") else [(f"{name}.npy", zeros(size))]
    path = tmp_path / "bomb.zip"
    unpacked = bomb(model, path, None, contents)
    if name.endswith("bounds"):
        with zipfile.ZipFile(path) as archive:
            kept = {n: archive.read(n) for n in archive.namelist() if n != f"{name}.npy"}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in kept.items():
                archive.writestr(member, content)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                unpacked += sum(file.write(piece) for piece in zeros(size))
    said, peak = measured(LOAD, f"load({str(path)!r})")
    assert "does not belong" in said or "bounds must be" in said
    assert peak < (1.5 * unpacked if name.endswith("bounds") else 2**26)


@pytest.mark.parametrize(
    ("name", "dtype", "width", "said"),
    [
        ("states", "<f4", 25, "read"),
        ("moves", "<i2", 0, "points must be"),
        ("useful", "<f8", 25, "at most 1000"),
    ],
)
def test_large_memories_of_pplx_are_held_a_few_times_or_refused(
    name: str, dtype: str, width: int, said: str, tmp_path: Path
) -> None:
    path, bombed, mega = tmp_path / "model.zip", tmp_path / "bomb.zip", 2**20
    PPLX(env_task(HAYSTACK), seed=1, threads=1, steps=1_000).learn(epochs=0).save(path)
    row = np.dtype(dtype).itemsize * max(width, 1)
    shape = (mega // 4, width) if width else (16 * mega,)
    size = row * shape[0]
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}"
    pieces = [npy_promising(header), *[bytes(mega)] * (size // mega)]
    kept = {
        member: content for member, content in members(path).items() if member != f"population/{name}.npy"
    }
    with zipfile.ZipFile(bombed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in kept.items():
            archive.writestr(member, content)
        with archive.open(f"population/{name}.npy", "w", force_zip64=True) as file:
            unpacked = sum(file.write(piece) for piece in pieces)
    told, peak = measured(f"{LOAD}, ifthen.systems.pplx.pplx", f"load({str(bombed)!r})")
    assert said in told
    assert peak < 3 * unpacked + 2**27


@pytest.mark.parametrize(("values", "count"), [([0], 10_000_000), ([""], 500_000), ([300.5], 1_000_000)])
def test_long_histories_take_about_ten_times_their_size(
    values: list[Any], count: int, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bomb.zip"
    unpacked = bomb(model, path, lambda about: about.update(history={"epoch": values * count}))
    assert path.stat().st_size < unpacked / 100
    said, peak = measured(LOAD, f"load({str(path)!r})")
    assert said != "read"
    assert peak < 10 * unpacked + 2**26
    assert peak < 2**30


def test_many_wrong_values_are_not_all_told(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    for change in (
        lambda about: about.update(versions={str(i): 0 for i in range(200_000)}),
        lambda about: about["task"].update(action_names=[0] * 300_000),
        lambda about: about.update(history={str(i): [""] for i in range(100_000)}),
        lambda about: about.update(versions={str(i): 0 for i in range(49_000)}),
    ):
        unpacked = bomb(model, path, change)
        said, peak = measured(LOAD, f"load({str(path)!r})")
        assert said != "read"
        assert peak < 20 * unpacked + 2**27


def test_rules_that_say_little_of_many_features_are_bounded(tmp_path: Path) -> None:
    features = [{"name": f"f{i}", "kind": "integer", "low": 0, "high": 1} for i in range(5_000)]
    rules = [{"if": {}, "then": "a"}] * 50_000
    head = {"format": "ifthen-ruleset", "version": 1, "kind": "decision-list", "actions": ["a", "b"]}
    (tmp_path / "rules.json").write_text(json.dumps({**head, "features": features, "rules": rules}))
    lines = [f"feature f{i}: 0 to 1" for i in range(5_000)] + ["actions: a, b"] + ["ALWAYS a"] * 50_000
    (tmp_path / "rules.txt").write_text("\n".join(lines))
    for name in ("rules.json", "rules.txt"):
        said, peak = measured(
            READ,
            f"read_ruleset({str(tmp_path / name)!r})",
        )
        assert "50,000 rules over 5,000 features" in said
        assert peak < 2**28


def test_a_million_intervals_are_read(tmp_path: Path) -> None:
    features = [{"name": f"f{i}", "kind": "real", "low": 0, "high": 1} for i in range(100)]
    rules = [{"if": {"f3": [0.25, 0.5]}, "then": "a"}] * 10_000
    head = {"format": "ifthen-ruleset", "version": 1, "kind": "decision-list", "actions": ["a", "b"]}
    (tmp_path / "rules.json").write_text(json.dumps({**head, "features": features, "rules": rules}))
    path = str(tmp_path / "rules.json")
    said, peak = measured(READ, f"read_ruleset({path!r})")
    assert said == "read"
    assert peak < 2**28


def test_all_arrays_of_all_systems_are_known() -> None:
    known = set(OF_POPULATIONS.split())
    learners = [make(name) for name in SYSTEMS] + [make("PPL-X", task=env_task(HAYSTACK))]
    for system in learners:
        system.learn(epochs=0)
        arrays = system._saved_arrays(system.now.population)
        assert set(arrays) <= known
        assert all(isinstance(array, np.ndarray) for array in arrays.values())
