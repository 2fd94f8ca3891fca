"""Writes docs/api.md: the public names of ifthen, each with its arguments and what it is.

    python docs/api.py

Sentences are those of the docstrings: `help(ifthen.evaluate)` has the rest.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import ifthen

PAGE = Path(__file__).with_name("api.md")
HEAD = """# Reference
Functions are named like the commands. This page lists what `import ifthen` gives, and the modules
`ifthen.results`, `ifthen.errors`, `ifthen.tables` and `ifthen.twins`. `help(ifthen.evaluate)`, or an editor,
says what each argument means. The parameters of systems are [on a page of their own](parameters.md). Written
by `python docs/api.py`.
"""
TOLD = (ifthen.Task, ifthen.RuleSet, ifthen.Feature)
GROUPS = {
    "Systems": lambda own: isinstance(own, type) and issubclass(own, ifthen.System),
    "Functions": lambda own: not isinstance(own, type) and callable(own),
    "Tasks and rules": lambda own: not isinstance(own, type) or issubclass(own, TOLD),
    "Callbacks": lambda own: own.__module__ == "ifthen.systems.callbacks",
}
"""Sections of names of `ifthen` itself, and what stands in each: a name stands in the first that takes it."""
MODULES = {
    "Results": (ifthen.results, "In `ifthen.results`: what functions return, for annotations."),
    "Errors": (
        ifthen.errors,
        "In `ifthen.errors`; `IfthenError` and `IfthenWarning` are also in `ifthen` itself.",
    ),
    "Tables": (ifthen.tables, "In `ifthen.tables`: what only tasks with a transition table have."),
    "Twins": (
        ifthen.twins,
        "In `ifthen.twins`: compiled copies of environments ([how to write one](twins.md)).",
    ),
}
"""Sections of the other public modules."""
OF_SYSTEMS = (
    *("learn", "predict", "ruleset", "front", "history", "save", "epoch", "num_timesteps", "task"),
    *("parameters", "get_env", "set_env", "set_teacher"),
)


def page() -> str:
    """Return the page."""
    sections = {
        group: [row(name, getattr(importlib.import_module(home), name), home) for name, home in names.items()]
        for group, names in public_names().items()
    }
    sections["What a system has"] = [
        f"| `{name}` | {sentence(inspect.getdoc(getattr(ifthen.PPLX, name)))} |"
        for name in OF_SYSTEMS
        if inspect.getdoc(getattr(ifthen.PPLX, name, None))
    ]
    parts = [HEAD]
    for group, rows in sections.items():
        told = f"{MODULES[group][1]}\n\n" if group in MODULES else ""
        parts.append(f"## {group}\n{told}| name | what it is |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def public_names() -> dict[str, dict[str, str]]:
    """Return the public names of each section, with the modules that hold them."""
    found: dict[str, dict[str, str]] = {group: {} for group in (*GROUPS, *MODULES)}
    for name in sorted(vars(ifthen)["__all__"], key=str.lower):
        group = next((group for group, takes in GROUPS.items() if takes(getattr(ifthen, name))), None)
        if group is not None:
            found[group][name] = vars(ifthen)["_HOME"][name]
    for group, (module, _) in MODULES.items():
        for name in sorted(module.__all__, key=str.lower):
            found[group][name] = getattr(module, name).__module__
    return found


def row(name: str, own: Any, home: str) -> str:
    """Return the row of a name: with its arguments, or its value where it is a constant."""
    if not callable(own):
        return f"| `{name} = {own!r}` | {sentence(constant_doc(name, home))} |"
    takes = "" if name in (*ifthen.results.__all__, *ifthen.errors.__all__) else f"({arguments(own)})"
    return f"| `{name}{takes}` | {sentence(inspect.getdoc(own))} |"


def arguments(own: Any) -> str:
    """Return the names of what a function or a class takes; those that may be left out in brackets."""
    kinds = inspect.Parameter
    given = list(inspect.signature(own).parameters.values())
    needed = [each.name for each in given if each.default is kinds.empty and each.kind < kinds.VAR_KEYWORD]
    others = [each.name for each in given if each.default is not kinds.empty]
    others += ["…" for each in given if each.kind == kinds.VAR_KEYWORD]
    return ", ".join(needed) + (f"[{', ' if needed else ''}{', '.join(others)}]" if others else "")


def constant_doc(name: str, home: str) -> str:
    """Return the text below a constant in its module."""
    body = ast.parse(inspect.getsource(importlib.import_module(home))).body
    places = [
        i
        for i, each in enumerate(body)
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name
    ]
    return str(ast.literal_eval(ast.unparse(body[places[0] + 1])))


def sentence(text: str | None) -> str:
    """Return the first sentence of a docstring."""
    first = " ".join((text or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", first)[0].replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
