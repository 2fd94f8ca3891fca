"""The command `ifthen`: one file per command, named like it.

Slow packages are imported inside the commands, so that `ifthen --help` answers at once.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.text import Text

from ifthen import __version__
from ifthen.cli.check import check
from ifthen.cli.diff import diff
from ifthen.cli.distil import distil
from ifthen.cli.doctor import doctor
from ifthen.cli.evaluate import evaluate
from ifthen.cli.explain import explain
from ifthen.cli.export import export
from ifthen.cli.front import front
from ifthen.cli.offline import offline
from ifthen.cli.prune import prune
from ifthen.cli.report import report
from ifthen.cli.resume import resume
from ifthen.cli.shortest import shortest
from ifthen.cli.show import show
from ifthen.cli.stress import stress
from ifthen.cli.study import study
from ifthen.cli.systems import systems
from ifthen.cli.tasks import tasks
from ifthen.cli.terminal import err, out
from ifthen.cli.train import train
from ifthen.cli.tune import tune
from ifthen.cli.verify import verify
from ifthen.cli.watch import watch
from ifthen.errors import IfthenError, IfthenWarning
from ifthen.text_table import harmless

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(show: bool) -> None:
    if show:
        out.print(f"ifthen {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train reinforcement-learning policies people can read: short lists of IF-THEN rules.

    Start with: `ifthen train PPL-X FrozenLake-8-0.3`, or any Gymnasium environment with Discrete actions:
    `ifthen train PPL-DL CartPole-v1`
    """


COMMANDS: tuple[Callable[..., None], ...] = (
    *(check, train, tune, distil, offline, resume, evaluate, show, watch),
    *(explain, verify, stress, front, report, diff, prune, shortest, export),
    *(tasks, systems, doctor),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(study, name="study")


_shown_by_python = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *location: Any, **options: Any) -> None:
    """Show what ifthen has to say as one line, and other warnings as Python does."""
    if issubclass(category, IfthenWarning):
        err.print(Text.assemble(("note: ", "bold yellow"), harmless(str(message))))
    else:
        _shown_by_python(message, category, *location, **options)


def run() -> None:
    """Run the command line; errors are one clear line and exit code 2, never a traceback."""
    if sys.__stderr__ is not None:
        with contextlib.suppress(OSError, ValueError):
            faulthandler.enable(sys.__stderr__)  # a crash in compiled code says where it was
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± and → is no reason to fail
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app()
    except IfthenError as problem:
        message = str(problem)
    except MemoryError:
        message = "there is not enough memory for this; try a smaller population or task."
    except OSError as problem:
        message = f"{problem.strerror or problem}: {problem.filename or ''}"
    else:
        return
    err.print(Text.assemble(("error: ", "bold red"), harmless(message)))
    sys.exit(2)
