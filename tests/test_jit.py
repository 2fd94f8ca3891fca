from __future__ import annotations

import errno
import functools
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import caching, config

from ifthen import jit
from ifthen.compiler import InnerEntry, Kernel
from ifthen.errors import IfthenWarning
from ifthen.rules import batch


def test_the_hash_of_all_sources_changes_with_any_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hash_of: Any = jit.sources_hash.__wrapped__
    monkeypatch.setattr(jit, "ROOT", tmp_path)
    hashes = []
    for path, text in (("a.py", "1"), ("a.py", "2"), ("deep/b.py", "2"), ("deep/c.py", "2"), ("d.txt", "x")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
        hashes.append(hash_of())
    assert len(set(hashes[:4])) == 4
    assert hashes[4] == hashes[3]


@pytest.mark.parametrize(
    ("changed", "moves"),
    [
        ("top.py", True),
        ("one.py", True),  # imported by name
        ("deep/two.py", True),  # imported by one.py
        ("deep/other/three.py", True),  # in a folder that one.py imports from
        ("later.py", False),  # imported inside a function only: no kernel can call it
        ("apart.py", False),
    ],
)
def test_kernels_are_compiled_anew_when_and_only_when_a_file_changes_that_they_can_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, moves: bool
) -> None:
    monkeypatch.setattr(jit, "ROOT", tmp_path)
    texts = {
        "top.py": "from ifthen.one import f\n\ndef g():\n    from ifthen.later import h\n",
        "one.py": "import ifthen.deep.two\nfrom ifthen.deep.other import (\n    three,\n)\n",
        **dict.fromkeys(("deep/two.py", "deep/other/three.py", "later.py", "apart.py"), "value = 1\n"),
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text(text)
    hashes = []
    for text in (texts[changed], texts[changed] + "more = 2\n"):
        (tmp_path / changed).write_text(text)
        jit.imports_of.cache_clear()
        jit.kernels_hash.cache_clear()
        hashes.append(jit.kernels_hash(tmp_path / "top.py"))
    assert (hashes[0] != hashes[1]) == moves


def test_the_cache_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IFTHEN_CACHE_DIR", str(tmp_path / "own"))
    file = Path(jit.__file__).with_name("randomness.py")
    assert jit.cache_folder(file) == tmp_path / "own" / jit.kernels_hash(file)
    monkeypatch.delenv("IFTHEN_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert jit.cache_root() == tmp_path / "xdg" / "ifthen"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert jit.cache_root() == Path.home() / ".cache" / "ifthen"


def test_kernels_leave_numbas_own_cache_setting_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = config
    monkeypatch.setattr(settings, "CACHE_DIR", "theirs")

    @jit.kernel
    @functools.wraps(test_the_cache_folder_can_be_chosen)
    def nothing() -> None:
        """Do nothing."""

    assert settings.CACHE_DIR == "theirs"
    assert callable(nothing)


def test_kernels_work_where_no_cache_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    script = "import numpy as np\nfrom ifthen.randomness import draw\nprint(draw(np.uint64(0), 0))\n"
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        env={**os.environ, "IFTHEN_CACHE_DIR": str(tmp_path / "file" / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert int(done.stdout) == 0xE220A8397B1DCDAF


SQUARED = "from ifthen.jit import kernel\n\n@kernel\ndef squared(x: int) -> int:\n    return x * x\n"


def loaded(file: Path) -> Any:
    """Return a module anew from its file, as another process would have it."""
    spec = importlib.util.spec_from_file_location("squares", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def squares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file with a kernel, whose cache lies in a folder of its own."""
    monkeypatch.setenv("IFTHEN_CACHE_DIR", str(tmp_path / "cache"))
    jit._say_once.cache_clear()
    file = tmp_path / "squares.py"
    file.write_text(SQUARED)
    return file


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x04", b"no such thing", None])
def test_a_damaged_file_of_compiled_code_is_replaced_with_a_word(
    squares: Path, tmp_path: Path, suffix: str, damage: bytes | None
) -> None:
    assert loaded(squares).squared(3) == 9
    (kept,) = (tmp_path / "cache").rglob(f"*{suffix}")
    sound = kept.read_bytes()
    kept.write_bytes(sound[:-20] if damage is None else damage)
    with pytest.warns(IfthenWarning, match="damaged; it is made anew"):
        assert loaded(squares).squared(4) == 16
    again = loaded(squares)
    assert again.squared(5) == 25
    assert again.squared.stats.cache_hits


def test_a_full_disk_is_no_reason_to_stop(squares: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", full)
    with pytest.warns(IfthenWarning, match="No space left.*IFTHEN_CACHE_DIR"):
        assert loaded(squares).squared(3) == 9


def test_a_kernel_that_kernels_call_gets_machine_code_only_once_python_calls_it_too() -> None:
    def added(values: Any, factor: float) -> float:
        total = 0.0
        for value in values:
            total += value * factor
        return total

    inner: Any = Kernel(added, targetoptions={"nopython": True})
    outer: Any = Kernel(
        lambda values: inner(values, 2.0) + inner(values, 3.0), targetoptions={"nopython": True}
    )
    values = np.array([0.1, 0.2, 0.7])
    expected = added(values, 2.0) + added(values, 3.0)
    assert outer(values) == expected
    [made] = inner.overloads.values()
    assert isinstance(made.entry_point, InnerEntry)
    with ThreadPoolExecutor(4) as pool:  # who comes first compiles it, and the others wait
        assert set(pool.map(lambda factor: inner(values, factor), [2.0] * 8)) == {added(values, 2.0)}
    [made] = inner.overloads.values()
    assert not isinstance(made.entry_point, InnerEntry)
    assert outer(values) == expected


def test_compiling_is_told_once_and_only_where_code_is_made() -> None:
    def twice(x: float) -> float:
        return 2 * x

    told: list[str] = []
    own = Kernel(twice, targetoptions={"nopython": True})
    with jit.telling_of_compiling(lambda: told.append("compiling")):
        assert told == []
        assert own(2) == 4
        assert own(2.5) == 5.0
    assert told == ["compiling"]
    with jit.telling_of_compiling(lambda: told.append("again")):
        assert own(3) == 6
    assert told == ["compiling"]


@pytest.mark.parametrize("name", ["is_inside", "predicted", "chosen", "put_terms"])
def test_functions_of_every_step_are_lean_whatever_is_compiled_first(name: str) -> None:
    options: Any = getattr(getattr(batch, name), "targetoptions", {"_nrt": False})
    assert options["_nrt"] is False
