"""Compilation: one decorator for every kernel, and the folder where compiled code is kept.

Numba notices when the file of a cached function changes, but not when a function that it
calls in another file does. The kernels of a file are therefore kept in a folder named after a hash
of that file and of all files of this package that it imports, directly or not: any change of any
of these starts a fresh folder, and a change elsewhere leaves compiled code as it is.

Nothing depends on what is kept: a damaged file is replaced, and a full disk only means compiling again.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from numba import extending
from numba.core import caching, ccallback, config, dispatcher, event

from ifthen.compiler import Kernel
from ifthen.errors import warn

P = ParamSpec("P")
R = TypeVar("R")
ROOT = Path(__file__).parent
# Imports inside functions are indented; what a kernel calls is imported at the top of its file.
IMPORT = re.compile(r"^(?:from|import) ifthen\.([\w.]+)", re.MULTILINE)


@functools.cache
def imports_of(file: Path) -> frozenset[Path]:
    """Return the files of the package that a file imports; all of a folder where it imports from one."""
    files: set[Path] = set()
    for name in IMPORT.findall(file.read_text(encoding="utf-8")):
        target = ROOT.joinpath(*name.split("."))
        files |= set(target.rglob("*.py")) if target.is_dir() else {target.with_suffix(".py")}
    return frozenset(path for path in files if path.is_file())


@functools.cache
def sources_hash() -> str:
    """Return a short hash over every Python source file of the package."""
    return _hash_of(ROOT.rglob("*.py"))


@functools.cache
def kernels_hash(file: Path) -> str:
    """Return a short hash over a file and all files of the package that it imports, directly or not."""
    sources, pending = {file}, [file]
    while pending:
        new_sources = imports_of(pending.pop()) - sources
        sources |= new_sources
        pending += new_sources
    return _hash_of(sources)


def _hash_of(sources: Iterable[Path]) -> str:
    """Return a short hash over names and contents of files."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(sources):
        digest.update(os.path.relpath(path, ROOT).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_root() -> Path:
    """Return the folder that holds all cache folders (`IFTHEN_CACHE_DIR` overrides it)."""
    override = os.environ.get("IFTHEN_CACHE_DIR")
    if override:
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ifthen"


def cache_folder(file: Path) -> Path:
    """Return the cache folder of the kernels in a file."""
    return cache_root() / kernels_hash(file)


@functools.cache
def cache_is_usable() -> bool:
    """Return whether compiled code can be kept; without it every process compiles anew."""
    try:
        cache_root().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(cache_root(), os.W_OK)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with Numba on first use: cached on disk, the GIL released, no fastmath."""
    return _compiled(function)


def lean_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as `kernel` does, but without counting references to arrays.

    For functions that are called at every step and hand many arrays on to each other, where counting takes a
    good part of the time. Such a function must not make arrays (Numba refuses it), nor does it outlive any.
    The option is Numba's own and not documented: try it anew with every version of Numba.

    Numba hands the option on: a plain kernel that is first compiled as a part of a lean one is lean from then
    on, and one that is compiled before is not. So functions of every step say it themselves. Otherwise their
    speed would depend on what was compiled first.
    """
    return _compiled(function, _nrt=False)


def inlined_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as `lean_kernel` does, and put its code wherever it is called.

    For the innermost functions of a step that take many arrays: handing those over can take longer than
    the work.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def intrinsic(function: Callable[..., Any]) -> Any:
    """Return a call of the machine's own instructions, for kernels: they leave out its first argument."""
    return extending.intrinsic(function)


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    settings: Any = config
    if settings.DISABLE_JIT:
        return function
    with code_kept_for(Path(function.__code__.co_filename)) as cache:
        compiled: Any = Kernel(
            function, targetoptions={"nopython": True, "nogil": True, "error_model": "numpy", **options}
        )
        if cache:
            compiled.enable_caching()
    return cast(Callable[P, R], compiled)


@contextmanager
def code_kept_for(file: Path) -> Iterator[bool]:
    """Let functions of a file that are compiled here be kept in its folder; give whether they can be."""
    # Code typed at a prompt has no file.
    usable = file.is_file() and cache_is_usable()
    settings: Any = config
    replacements: list[tuple[Any, str, Any]] = [
        (settings, "CACHE_DIR", str(cache_folder(file)) if usable else settings.CACHE_DIR),
        (dispatcher, "FunctionCache", CompiledCode),
        (ccallback, "FunctionCache", CompiledCode),
    ]
    previous = [getattr(module, name) for module, name, _ in replacements]
    try:
        for module, name, value in replacements:
            setattr(module, name, value)
        yield usable
    finally:
        for (module, name, _), value in zip(replacements, previous, strict=True):
            setattr(module, name, value)


class _First(event.Listener):
    """Calls a function when the first compilation begins."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = functools.cache(tell)

    def on_start(self, _: Any) -> None:
        """Tell, unless that was done before."""
        self._tell()

    def on_end(self, _: Any) -> None:
        """Say nothing."""


@contextmanager
def telling_of_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """While entered, call `tell` once where code must be compiled; code that is kept on disk is not."""
    with event.install_listener("numba:compile", _First(tell)):
        yield


class CompiledCode(caching.FunctionCache):
    """The compiled code of one function on disk, which can be damaged or too large for the disk."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature; None, so that it is compiled anew, where it cannot be read."""
        try:
            return super().load_overload(signature, target)  # type: ignore[no-untyped-call]
        except Exception:  # whatever reading a damaged file raises
            _say_once(f"some compiled code in {cache_root()} is damaged; it is made anew.")
            self._try(self.flush)
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep code on disk if that is possible."""
        save: Any = super().save_overload
        self._try(lambda: save(signature, code))

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as problem:
            reason = getattr(problem, "strerror", None) or problem
            _say_once(
                f"compiled code cannot be kept in {cache_root()} ({reason}), so every process compiles it "
                "again. Free some space, or set IFTHEN_CACHE_DIR to another folder."
            )


@functools.cache
def _say_once(message: str) -> None:
    warn(message)
