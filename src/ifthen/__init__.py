"""Reinforcement-learning policies people can read: short lists of IF-THEN rules.

task = ifthen.frozen_lake(8, p_slip=0.3)        or task_by_name("Taxi-v4"), env_task("CartPole-v1")
system = ifthen.PPLX(task, seed=0).learn()      or PPLDL, PPLST, XCSF, XCS, ZCS, SAMUEL
print(system.ruleset)                           the rules
ifthen.evaluate(system)                         how well they do
ifthen.explain(system, [5, 2])                  why they act as they do; also verify, prune, export
ifthen.read_ruleset("mine.txt")                 rules that somebody wrote
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from ifthen import errors, results, tables, twins
from ifthen.environments import register_with_gymnasium
from ifthen.lazy import homes

__version__ = "0.2.0"

# Public names are imported on first use: `ifthen --help` must not wait for the compiler.
_HOME = homes(__name__, "__init__.pyi")
_MOVED = {name: module.__name__ for module in (errors, results, tables, twins) for name in module.__all__}
_MOVED["write_pictures"] = "ifthen.explanation.pictures.write_pictures"
__all__ = sorted(_HOME)  # noqa: PLE0605  # a list of texts


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MOVED:
        warnings.warn(f"ifthen.{name} is {_MOVED[name]}.{name} now", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(_MOVED[name]), name)
    raise AttributeError(f"module 'ifthen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "errors", "results", "tables", "twins", "__version__"]


register_with_gymnasium()
