"""Compilation: one decorator for every kernel, and the folder where compiled code is kept.

Numba notices when the file of a cached function changes, but not when a function that it
calls in another file does. The cache folder is therefore named after a hash of all sources
of this package: any change of any file starts a fresh folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import config as _config

P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def sources_hash() -> str:
    """Return a short hash over every Python source file of the package."""
    digest = hashlib.blake2b(digest_size=8)
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_root() -> Path:
    """Return the folder that holds all cache folders (`IFTHEN_CACHE_DIR` overrides it)."""
    override = os.environ.get("IFTHEN_CACHE_DIR")
    if override:
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ifthen"


def cache_folder() -> Path:
    """Return the cache folder of the present sources."""
    return cache_root() / sources_hash()


@functools.cache
def cache_is_usable() -> bool:
    """Return whether compiled code can be kept; without it every process compiles anew."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(cache_folder(), os.W_OK)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with Numba on first use: cached on disk, the GIL released, no fastmath."""
    return _compiled(function)


def lean_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as `kernel` does, but without counting references to arrays.

    For functions that are called at every step and hand many arrays on to each other, where counting takes a
    good part of the time. Such a function must not make arrays (Numba refuses it), nor does it outlive any.
    The option is Numba's own and not documented: try it anew with every version of Numba.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    settings: Any = _config
    previous = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())
    try:
        decorate = numba.njit(cache=cache_is_usable(), nogil=True, error_model="numpy", **options)
        compiled: Callable[P, R] = decorate(function)
    finally:
        settings.CACHE_DIR = previous
    return compiled
