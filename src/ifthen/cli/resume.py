"""The command `resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ifthen.cli.model import Packages, Threads
from ifthen.cli.run import Curves, curves_in, learn_and_report
from ifthen.cli.task_names import allow_cwd_imports, check_typed, located
from ifthen.cli.terminal import out


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was interrupted.")],
    typed: Packages = None,
    tensorboard: Curves = None,
    threads: Threads = None,
) -> None:
    """Go on with a run that was interrupted, to the same result as if it had not been.

    For example:

    - `ifthen resume runs/first`
    """
    from ifthen.runs.run_folder import RunFolder
    from ifthen.runs.task_settings import texts_of

    run_folder, typed = RunFolder(folder), [located(name) for name in typed or []]
    settings = run_folder.settings(typed)
    check_typed(typed, texts_of(settings.task))
    allow_cwd_imports(settings.task)
    with run_folder.alone():
        learner = run_folder.system(settings, threads)
        goal = settings.goal
        n_done = goal.count(learner.now.records[-1]) if learner.started else 0
        finished = learner.started and settings.is_done(learner)
        out.print(f"{n_done} of {goal.target} {goal.unit} are done" + (": finished" if finished else ""))
        learn_and_report(run_folder, settings, learner, curves_in(tensorboard))
