"""The command `distil`."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ifthen.cli.model import JsonFile, Threads, read_policy
from ifthen.cli.task_names import located, reach, typed_task
from ifthen.cli.terminal import Stop, err, out, print_rules, print_table, write_json
from ifthen.errors import ParameterError

if TYPE_CHECKING:
    from ifthen.runs.distil import DistilResult
    from ifthen.systems.system import System
    from ifthen.tasks.task import Task


def distil(
    teacher: Annotated[
        str,
        typer.Argument(
            metavar="TEACHER",
            help="The policy to imitate: the folder of a run, a model file, rules in a .json, .txt or .md "
            "file, a model of Stable-Baselines3 (.zip), or a function, module:function.",
        ),
    ],
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="An environment: see `ifthen tasks`; FOLDER/module:Class for one of yours."
        ),
    ],
    rules: Annotated[int | None, typer.Option(help="The best list with at most this many rules.")] = None,
    tests: Annotated[
        int | None, typer.Option(help="The best list with at most this many comparisons (x ≤ 3 is one).")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Steps to play; by default as many as take a minute or two.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    no_terms: Annotated[bool, typer.Option("--no-terms", help="Compare single features only.")] = False,
    no_tune: Annotated[
        bool, typer.Option("--no-tune", help="Only imitate: do not choose and tune lists by their returns.")
    ] = False,
    episodes: Annotated[int, typer.Option(help="Test seeds for returns and fidelity.")] = 100,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="A folder for model, rules and report.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older run in --out.")] = False,
    json_file: JsonFile = None,
    threads: Threads = None,
) -> None:
    """Turn a trained policy into a short list of rules, and say how well the rules imitate it.

    A function takes an observation, or an environment and an observation, and returns an action or the
    values of all actions. A model of Stable-Baselines3 is a pickle: name only files that you trust.

    For example:

    - `ifthen distil ppo_cartpole.zip CartPole-v1 --rules 4`
    - `ifthen distil gymnasium.envs.box2d.lunar_lander:heuristic LunarLander-v3 --out runs/pilot`
    - `ifthen distil mine.py:policy CartPole-v1 --no-tune`
    """
    from ifthen.runs.distil import distil as distilled
    from ifthen.runs.folder import RunFolder

    run_folder = None if folder is None else RunFolder(folder)
    if run_folder is not None:
        run_folder.check_free(overwrite)
    given, played = read_teacher(teacher, task)
    with Stop() as stop:
        result = distilled(
            given,
            played,
            rules=rules,
            tests=tests,
            steps=steps,
            seed=seed,
            terms=not no_terms,
            tune=not no_tune,
            episodes=episodes,
            threads=threads,
            progress_bar=out.is_terminal,
            callback=lambda system: _go_on(system, stop),
        )
    for table in result.tables():
        print_table(table)
        out.print()
    print_rules("the list", result.ruleset, played, len(result.ruleset))
    write_json(json_file, result.to_dict())
    if run_folder is not None:
        options = {"--rules": rules, "--tests": tests, "--steps": steps, "--seed": seed}
        said = [f"{name} {value}" for name, value in options.items() if value is not None]
        flags = [name for name, on in (("--no-terms", no_terms), ("--no-tune", no_tune)) if on]
        command = " ".join(["ifthen distil", shlex.quote(teacher), shlex.quote(task), *said, *flags])
        _write(run_folder, result, command, overwrite)


def _go_on(system: System, stop: Stop) -> bool:
    """Print what is being done now and then; end the command where a user has asked for it."""
    if stop.asked:
        err.print("stopped: nothing was written")
        raise typer.Exit(130)
    if not out.is_terminal and system.epoch % 10 == 0:
        out.print(f"epoch {system.epoch}/{system.default_epochs}, {system.watched_in_words}")
    return True


def _write(run_folder: Any, result: DistilResult, command: str, overwrite: bool) -> None:
    """Write model, history, rules and report to a folder."""
    from ifthen.runs.folder import REPORT
    from ifthen.runs.report import write_finished

    with run_folder.claimed(None, overwrite):
        write_finished(run_folder, result.system, command)
    out.print(f"written to {run_folder.path}; open {run_folder / REPORT}")


def read_teacher(name: str, task: str) -> tuple[Any, Task]:
    """Return the teacher that a user named, and the task; rules have a say in the features' names and ranges.

    Args:
        name: a path, or module:function.
        task: the task's name.
    """
    from ifthen.systems.pplx.teacher import is_sb3_file

    path = Path(name)
    if path.exists():
        if is_sb3_file(path):
            err.print(f"{path} is a model of Stable-Baselines3: to load it is to run what is in it")
            return path, typed_task(task)
        policy = read_policy(path, [task])
        return policy.ruleset, policy.known_task()
    return function_named(name), typed_task(task)


def function_named(name: str) -> Any:
    """Return the function that `module:function` or `FOLDER/module.py:function` names."""
    module, colon, attribute = located(name).partition(":")
    if not colon or not attribute.isidentifier():
        raise ParameterError(
            f"there is no file {name}, and a function is named module:function, such as "
            "gymnasium.envs.box2d.lunar_lander:heuristic."
        )
    reach(f"{module}:{attribute}")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except Exception as problem:  # whatever somebody's module raises
        raise ParameterError(
            f"the module {module!r} cannot be imported: {type(problem).__name__}: {problem}"
        ) from problem
    if not callable(found):
        raise ParameterError(f"the module {module!r} has no function {attribute!r}.")
    return found
