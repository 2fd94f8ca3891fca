"""Writes docs/api.md: the public names of ifthen, each with its arguments and what it is.

    python docs/api.py

Sentences are those of the docstrings: `help(ifthen.evaluate)` has the rest.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import ifthen

PAGE = Path(__file__).with_name("api.md")
HEAD = """# Reference
Functions are named like the commands. This page lists what `import ifthen` gives; `help(ifthen.evaluate)`,
or an editor, says what each argument means. The parameters of systems are [on a page of their
own](parameters.md). Written by `python docs/api.py`.
"""
GROUPS = {
    "Systems": lambda own: isinstance(own, type) and issubclass(own, ifthen.System),
    "Functions": lambda own: not isinstance(own, type) and callable(own),
    "Tasks and rules": lambda own: isinstance(own, type) and issubclass(own, TOLD),
    "Callbacks": lambda own: getattr(own, "__module__", "") == "ifthen.systems.callbacks",
    "Errors": lambda own: isinstance(own, type) and issubclass(own, Exception),
    "Results": lambda own: isinstance(own, type),
}
"""The sections of the page, and what stands in each: a name stands in the first that takes it."""
TOLD = (ifthen.Task, ifthen.RuleSet, ifthen.Feature, ifthen.Twin)


OF_SYSTEMS = (
    *("learn", "predict", "ruleset", "front", "history", "save", "epoch", "num_timesteps", "task"),
    *("parameters", "get_env", "set_env", "set_teacher"),
)


def page() -> str:
    """Return the page."""
    sections: dict[str, list[str]] = {group: [] for group in GROUPS}
    for group, names in public_names().items():
        for name in names:
            own = getattr(ifthen, name)
            called = f"`{name}`" if group in ("Errors", "Results") else f"`{name}({arguments(own)})`"
            sections[group].append(f"| {called} | {sentence(own)} |")
    head = "| name | what it is |\n|---|---|\n"
    sections["What a system has"] = [
        f"| `{name}` | {sentence(getattr(ifthen.PPLX, name))} |"
        for name in OF_SYSTEMS
        if inspect.getdoc(getattr(ifthen.PPLX, name, None))
    ]
    parts = [f"## {group}\n{head}" + "\n".join(rows) + "\n" for group, rows in sections.items()]
    return "\n".join([HEAD, *parts])


def public_names() -> dict[str, dict[str, str]]:
    """Return the public names of each section, with the modules that hold them."""
    homes: dict[str, str] = vars(ifthen)["_HOME"]
    found: dict[str, dict[str, str]] = {group: {} for group in GROUPS}
    for name in sorted(homes, key=str.lower):
        group = next((group for group, takes in GROUPS.items() if takes(getattr(ifthen, name))), None)
        if group is not None:
            found[group][name] = homes[name]
    return found


def arguments(own: Any) -> str:
    """Return the names of what a function or a class takes; those that may be left out in brackets."""
    kinds = inspect.Parameter
    given = list(inspect.signature(own).parameters.values())
    needed = [each.name for each in given if each.default is kinds.empty and each.kind < kinds.VAR_KEYWORD]
    others = [each.name for each in given if each.default is not kinds.empty]
    others += ["…" for each in given if each.kind == kinds.VAR_KEYWORD]
    return ", ".join(needed) + (f"[{', ' if needed else ''}{', '.join(others)}]" if others else "")


def sentence(own: Any) -> str:
    """Return the first sentence of a docstring."""
    first = " ".join((inspect.getdoc(own) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", first)[0].replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
