"""Writes docs/commands.md and docs/parameters.md: commands with options, parameters with ranges.

    python docs/reference.py

Both pages are made from the declarations that `ifthen COMMAND --help` and `ifthen systems` print.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

from ifthen import cli
from ifthen.runs.settings import toml_value
from ifthen.systems.parameters import Parameters
from ifthen.systems.presets import ANY
from ifthen.systems.registry import SYSTEMS
from ifthen.systems.system import System

DOCS = Path(__file__).parent
COMMANDS = """# Commands
What `ifthen COMMAND --help` prints, on one page. `MODEL` is the folder of a run, a model file or a file of
rules. `TASK` is a name that `ifthen tasks` lists, the id of a Gymnasium environment, or `module:Class`.
`python -m ifthen` is the same command, and `ifthen --version` prints the version. Written by
`python docs/reference.py`.

`ifthen --install-completion` lets the Tab key complete commands and options in bash, zsh, fish and
PowerShell, from the next shell on. `ifthen --show-completion` prints the script instead.
"""
PARAMETERS = """# Parameters
Every parameter of every system. Give them as `--set NAME=VALUE` on the command line, as keyword arguments in
Python, or under `[parameters]` [in a file](guide.md#settings-in-a-file). *By task* means that the value
depends on the task: `ifthen systems --task TASK` shows it. *In environments*, which are all tasks whose
states cannot be listed, some defaults are different. A few environments, such as CartPole, have values of
their own; the same command shows them. [Tuning](tuning.md) searches for better hyperparameters. Written by
`python docs/reference.py`.
"""
WORDS = {int: "whole number", float: "number", bool: "true or false", str: "text"}


def commands_page() -> str:
    """Return the page of commands."""
    parts = [COMMANDS]
    for name, command in _commands(cli.app, "ifthen"):
        given = [
            (*_declared(each), each.default)
            for each in inspect.signature(command, eval_str=True).parameters.values()
        ]
        arguments = [each for each in given if isinstance(each[1], ArgumentInfo)]
        options = [each for each in given if isinstance(each[1], OptionInfo) and not each[1].hidden]
        usage = " ".join([name, *(_usage(*each) for each in arguments), *(["[OPTIONS]"] if options else [])])
        parts.append(f"## {name}\n{_text(inspect.getdoc(command) or '')}\n\n```text\n{usage}\n```\n")
        if arguments:
            rows = [f"| `{_usage(*each).strip('[]')}` | {_cell(each[1].help)} |" for each in arguments]
            parts.append("| argument | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
        if options:
            rows = [f"| {_flags(*each)} | {_default(each[2])} | {_cell(each[1].help)} |" for each in options]
            parts.append("| option | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _commands(app: typer.Typer, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every command with its full name."""
    for command in app.registered_commands:
        assert command.callback is not None
        yield f"{name} {command.name or command.callback.__name__.replace('_', '-')}", command.callback
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from _commands(group.typer_instance, f"{name} {group.name}")


def _declared(parameter: inspect.Parameter) -> tuple[tuple[str, Any], Any]:
    """Return name and type of a command's parameter, and how typer was told of it."""
    kind, info = get_args(parameter.annotation)[:2]
    return (parameter.name, kind), info


def _text(help: str) -> str:
    """Return a command's help as Markdown, without blank lines between its examples."""
    return re.sub(r"(?<=\n)(- .*)\n\n(?=- )", r"\1\n", help).strip()


def _usage(named: tuple[str, Any], info: ArgumentInfo, default: Any) -> str:
    """Return an argument as it stands in a usage line."""
    name, kind = named
    shown = (info.metavar or name.upper()) + ("..." if get_origin(kind) is list else "")
    return shown if default is inspect.Parameter.empty else f"[{shown}]"


def _flags(named: tuple[str, Any], info: OptionInfo, default: Any) -> str:
    """Return the names of an option, with what stands behind them."""
    name, kind = named
    declared = (info.default, *(info.param_decls or ()))  # typer takes the first name for a default at first
    names = [each for each in declared if isinstance(each, str)] or ["--" + name.replace("_", "-")]
    takes = "" if kind is bool else f" `{info.metavar or _placeholder(kind)}`"
    return ", ".join(f"`{each}`" for each in names) + takes


def _placeholder(kind: Any) -> str:
    """Return what stands for a value of a type."""
    inner = [each for each in get_args(kind) if each is not type(None)]
    if get_origin(kind) is Literal:
        return " or ".join(inner)
    if inner:
        return _placeholder(inner[0])
    return {int: "N", float: "NUMBER", str: "TEXT"}.get(kind, "PATH")


def _default(value: Any) -> str:
    """Return an option's default, empty if it has none to speak of."""
    if value is inspect.Parameter.empty:
        return "required"
    if value is None or value is False or value in ([], (), ""):
        return ""
    return "on" if value is True else f"`{value}`"


def _cell(text: str | None) -> str:
    """Return a text for a cell of a table."""
    return " ".join((text or "").split()).replace("|", "\\|")


def parameters_page() -> str:
    """Return the page of parameters."""
    return "\n".join([PARAMETERS, *(_section(name, system) for name, system in SYSTEMS.items())])


def _section(name: str, system: type[System]) -> str:
    """Return the part of one system."""
    preset, rows = ANY.get(name, {}), []
    for parameter, field in system.Parameters.model_fields.items():
        other = [_value(preset[parameter]) if parameter in preset else ""] if preset else []
        cells = [f"`{parameter}`", _value(field.default), *other, _range(field), _cell(field.description)]
        rows.append("| " + " | ".join(cells) + " |")
    names = ["parameter", "default", *(["in environments"] if preset else []), "range", "meaning"]
    head = "| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|\n"
    return f"## {name}\n{system.summary}\n\n{head}" + "\n".join(rows) + "\n"


def _value(default: Any) -> str:
    """Return a default as it stands in a TOML file."""
    return "by task" if default is None else f"`{toml_value(default)}`"


def _range(field: Any) -> str:
    """Return what a parameter may be, in words."""
    bounds = {
        key: getattr(each, key) for each in field.metadata for key in ("ge", "gt", "le") if hasattr(each, key)
    }
    low, high = bounds.get("ge", bounds.get("gt")), bounds.get("le")
    if low is None or high is None:
        return _kind(field.annotation)
    more = "more than " if "gt" in bounds else ""
    return f"{more}{_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    """Return a bound for people."""
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _kind(annotation: Any) -> str:
    """Return the kind of a parameter whose type says all it can be."""
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(annotation))
    if get_origin(annotation) in (Union, types.UnionType):
        return " or ".join(_kind(each) for each in get_args(annotation) if each is not type(None))
    if get_origin(annotation) in (tuple, list):
        return f"list of {_kind(get_args(annotation)[0])}s"
    if isinstance(annotation, type) and issubclass(annotation, Parameters | dict):
        return "table"
    return WORDS.get(annotation) or str(getattr(annotation, "__name__", annotation))


PAGES = {"commands.md": commands_page, "parameters.md": parameters_page}

if __name__ == "__main__":
    for page, text in PAGES.items():
        (DOCS / page).write_text(text())
