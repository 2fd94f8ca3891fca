"""Environments in packages: what a file may not have imported, and what to say where one cannot be made."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from typing import Any

import gymnasium

ENV_ID = re.compile(r"[\w./-]+-v\d+")
MISSING = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: '(\w+)'")
"""What Python says where an environment's class is called without an argument that it needs."""


def cannot_make(environment: str, problem: BaseException) -> str:
    """Return what to say where an environment cannot be made, and what to do about it."""
    module, colon, name = environment.rpartition(":")
    if isinstance(problem, gymnasium.error.DependencyNotInstalled) and "ox2" in str(problem).lower():
        return f"the environment {environment!r} needs a package: pip install 'gymnasium[box2d]'."
    if isinstance(problem, ModuleNotFoundError) and colon:
        package = problem.name or module
        return (
            f"the environment {name!r} needs the package {package!r}, which is neither installed here nor a "
            "module in the current folder."
        )
    if not isinstance(problem, gymnasium.error.UnregisteredEnv):
        missing_argument = isinstance(problem, TypeError) and MISSING.search(str(problem))
        name = missing_argument[1] if missing_argument else ""
        advice = (
            f". Give it: options={{{name!r}: …}}, or --task-set options.{name}=…" if missing_argument else ""
        )
        return f"the environment {environment!r} cannot be made: {str(problem) or repr(problem)}{advice}"
    if colon:
        return f"{module!r} registers no environment {name!r}, and has no class or function of that name."
    return f"the environment {environment!r} cannot be made: {problem} Import the package that registers it."


def could_import(texts: Iterable[Any], typed: Collection[str] = ()) -> str:
    """Return the first text with which making an environment could import a package; "" where none can.

    Gymnasium imports what stands before a colon, and so do environments that make others. What is read from a
    file must not have anything imported; what is imported already is not imported again. Nor may it have a
    class or function called, `module:attribute`.

    Args:
        texts: an environment's id and options, as a file gives them.
        typed: what the user has typed, who may have anything imported.
    """
    for text in texts:
        if isinstance(text, str) and ":" in text and text not in typed:
            package, _, env_id = text.partition(":")
            if package not in sys.modules or not ENV_ID.fullmatch(env_id):
                return text
    return ""
