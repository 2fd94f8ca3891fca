"""Public modules that import a name on first use, from where their stub says that it is.

`ifthen --help` must not wait for the compiler, and editors must know every name. The stub (`.pyi`) beside a
module tells both.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any


def homes(module: str, stub: str) -> dict[str, str]:
    """Return the home of every public name of a module, as its stub lists them; submodules have none."""
    tree = ast.parse(pkgutil.get_data(module, stub) or b"")
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module != module]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def lazily(module: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a module whose stub lies beside it."""
    home = homes(module, module.rpartition(".")[2] + ".pyi")
    names = sorted(home)

    def look_up(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home[name]), name)

    return names, look_up, lambda: names
