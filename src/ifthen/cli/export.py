"""The command `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ifthen.cli.model import NamedPolicy, Policy, RequireFile, kept_requirements, of_policy, required
from ifthen.cli.terminal import out, print_table, write_file
from ifthen.digits import plural
from ifthen.errors import ParameterError
from ifthen.text_table import harmless


@of_policy
def export(
    model: NamedPolicy,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="One of: text, json, python, c, st, sql, csv, markdown, latex, dot, mermaid, dmn, "
            "dmn-priority.",
        ),
    ],
    file: Annotated[Path | None, typer.Option("--out", help="Write to this file.  [default: print]")] = None,
    numbers: Annotated[
        str | None,
        typer.Option(
            "--numbers",
            metavar="NUMBERS",
            help="For a device, with c and st: float64, float32, int16 or int32 (fixed point). Writes unit "
            "tests beside the code, for C a header too, and proves where it can act differently.",
            show_default=False,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            metavar="REQUIREMENT",
            help="With --numbers: what must hold on the device for every reading, such as 'never heat when "
            "room >= 24'; may be repeated. What a run was trained with is kept, too.",
        ),
    ] = None,
    require_file: RequireFile = None,
) -> None:
    """Write a policy as code, a table, a diagram or data that other programs read.

    Each does what the policy does: everywhere, or in the states of the task, as its head says. For example:

    - `ifthen export runs/first --to python --out policy.py`
    - `ifthen export runs/first --to dmn --out policy.dmn`
    - `ifthen export runs/first --to c --numbers int16 --out policy.c`
    - `ifthen export heat.txt --to c --numbers int16 --out heat.c --require "never heat when room >= 24"`
    - `ifthen export runs/first --to mermaid`
    """
    from ifthen.exports import export as exported
    from ifthen.exports.device import check_numbers

    if numbers is not None:
        check_numbers(to, numbers)
    if numbers is not None and (file is None or file.suffix != f".{to}"):
        raise ParameterError(f"--numbers writes several files: give --out FILE.{to}, such as policy.{to}.")
    if numbers is None and (require or require_file):
        raise ParameterError("--require is for devices: give --numbers, or 'ifthen verify' to check rules.")
    requirements = required(require, require_file)
    policy = model.read()
    if numbers is not None and file is not None:
        _for_device(policy, to, numbers, file, [*requirements, *kept_requirements(model.path)])
        return
    code = exported(policy.ruleset, to, policy.task)
    if file is None:
        typer.echo((harmless(code) if out.is_terminal else code).rstrip("\n"))
        return
    write_file(file, code)


def _for_device(policy: Policy, to: str, numbers: str, file: Path, require: list[str]) -> None:
    """Write the files for a device, and say where it can act differently."""
    from ifthen.exports import export_device

    device_code = export_device(policy.ruleset, to, numbers, policy.task, file.stem, require)
    if device_code.deviation.bands:
        print_table(device_code.deviation.to_table())
    else:
        out.print(device_code.deviation.in_words()[0])
    for line in (*device_code.deviation.steps, *device_code.kept):
        out.print(line)
    for name, content in device_code.files.items():
        write_file(file.with_name(name), content)
    out.print(f"{plural(len(device_code.vectors), 'test vector')} in {list(device_code.files)[-1]}")
