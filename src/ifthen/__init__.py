"""Reinforcement-learning policies people can read: short lists of IF-THEN rules.

task = ifthen.frozen_lake(8, p_slip=0.3)        or task_by_name("Taxi-v4"), env_task("CartPole-v1")
system = ifthen.PPLX(task, seed=0).learn()      or PPLDL, PPLST, XCSF, XCS, ZCS, SAMUEL
print(system.ruleset)                           the rules
ifthen.evaluate(system)                         how well they do
ifthen.explain(system, [5, 2])                  why they act as they do; also verify, prune, export
ifthen.read_ruleset("mine.txt")                 rules that somebody wrote
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from typing import Any

from ifthen.environments import register_with_gymnasium

__version__ = "0.2.0"


def _homes() -> dict[str, str]:
    """Return the module of every public name, as `__init__.pyi` lists them."""
    tree = ast.parse(pkgutil.get_data(__name__, "__init__.pyi") or b"")
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in found for alias in node.names}


# Public names are imported on first use: `ifthen --help` must not wait for the compiler.
_HOME = _homes()
__all__ = sorted(_HOME)  # noqa: PLE0605  # a list of texts


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ifthen' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


register_with_gymnasium()
