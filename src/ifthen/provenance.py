"""Where an artefact came from: the versions that made it."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("ifthen", "numpy", "numba", "gymnasium")


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = [("python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            found.append((package, "not installed"))
    return tuple(found)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return dict(_versions())
