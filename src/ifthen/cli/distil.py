"""The command `distil`."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ifthen.cli.model import (
    Assignments,
    JsonFile,
    Require,
    RequireFile,
    TaskChanges,
    Threads,
    read_policy,
    required,
)
from ifthen.cli.run import print_older_requirements, print_required
from ifthen.cli.task_names import allow_cwd_imports, located, task_option
from ifthen.cli.terminal import Stop, err, out, print_rules, print_table, write_json
from ifthen.errors import ParameterError

if TYPE_CHECKING:
    from ifthen.runs.distil import DistilResult
    from ifthen.runs.run_folder import RunFolder
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
    task_assignments: TaskChanges = None,
    assignments: Assignments = None,
    require: Require = None,
    require_file: RequireFile = None,
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
    - `ifthen distil mine.py:policy CartPole-v1 --require "never push left when pole angle >= 0.1"`
    """
    from ifthen.rules.text.constraint_text import is_about_rules
    from ifthen.runs.distil import distil as distilled
    from ifthen.runs.run_folder import RunFolder
    from ifthen.runs.settings import toml_value
    from ifthen.verification.requirements import check_requirements

    requirements = required(require, require_file)
    run_folder = None if folder is None else RunFolder(folder)
    if run_folder is not None:
        run_folder.check_free(overwrite, requirements)
    option_parameters = {"rules": rules, "tests": tests, "steps": steps, "terms": False if no_terms else None}
    parameters = parameters_of(assignments, option_parameters)
    loaded_teacher, env_task = read_teacher(teacher, task, task_assignments)
    check_requirements(requirements, env_task)
    with Stop() as stop:
        result = distilled(
            loaded_teacher,
            env_task,
            seed=seed,
            tune=not no_tune,
            require=list(filter(is_about_rules, requirements)) or None,
            episodes=episodes,
            threads=threads,
            progress_bar=out.is_terminal,
            callback=lambda system: _go_on(system, stop),
            **parameters,
        )
    for table in result.tables():
        print_table(table)
        out.print()
    print_rules("the list", result.ruleset, env_task, len(result.ruleset))
    if shield_note := result.system.shield_in_words(result.ruleset):
        out.print(shield_note)
    if requirements:
        print_required(result.ruleset, env_task, requirements)
    write_json(json_file, result.to_dict())
    if run_folder is not None:
        options = [f"--set {shlex.quote(f'{key}={toml_value(value)}')}" for key, value in parameters.items()]
        options += [f"--task-set {shlex.quote(assignment)}" for assignment in task_assignments or []]
        options += [f"--require {shlex.quote(requirement)}" for requirement in requirements]
        options += ["--no-tune"] * no_tune
        command = f"ifthen distil {shlex.quote(teacher)} {shlex.quote(task)} --seed {seed}"
        _write(run_folder, result, " ".join([command, *options]), task_option(task), overwrite, requirements)


def parameters_of(assignments: list[str] | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of --set and of options of their own, which win; raise for unknown ones."""
    from ifthen.runs.settings import parse_assignments
    from ifthen.systems.parameters import checked_parameters
    from ifthen.systems.pplx.pplx_parameters import PPLXParameters

    parameters = parse_assignments(assignments)
    checked_parameters(PPLXParameters, parameters)  # before any of them could pass for an argument
    return parameters | {name: value for name, value in options.items() if value is not None}


def _go_on(system: System, stop: Stop) -> bool:
    """Print what is being done now and then; end the command where a user has asked for it."""
    if stop.asked:
        err.print("stopped: nothing was written")
        raise typer.Exit(130)
    if not out.is_terminal and system.epoch % 10 == 0:
        out.print(f"epoch {system.epoch}/{system.default_epochs}, {system.watched_in_words}")
    return True


def _write(
    run_folder: RunFolder,
    result: DistilResult,
    command: str,
    option: str,
    overwrite: bool,
    require: list[str],
) -> None:
    """Write model, history, rules, requirements and report to a folder."""
    from ifthen.runs.run_folder import REPORT
    from ifthen.runs.run_report import write_finished

    with run_folder.claimed(None, overwrite, require=require):
        write_finished(run_folder, result.system, command, option, result.tables()[:2])
    print_older_requirements(run_folder, require)
    out.print(f"written to {run_folder.path}; open {run_folder / REPORT}")


def read_teacher(name: str, task: str, changes: list[str] | None = None) -> tuple[Any, Task]:
    """Return the teacher that a user named, and the task; rules have a say in the features' names and ranges.

    Args:
        name: a path, or module:function.
        task: the task's name.
        changes: what --task-set changes in the task.
    """
    from ifthen.runs.settings import parse_assignments, task_with
    from ifthen.systems.pplx.teacher import is_sb3_file

    path, environment = Path(name), located(task)
    parsed_changes = parse_assignments(changes, "--task-set")
    allow_cwd_imports(environment)
    if path.exists():
        if is_sb3_file(path):
            err.print(f"{path} is a model of Stable-Baselines3: to load it is to run what is in it")
            return path, task_with(environment, parsed_changes)
        policy = read_policy(path, [task], changes)
        return policy.ruleset, policy.known_task()
    return function_named(name), task_with(environment, parsed_changes)


def function_named(name: str) -> Any:
    """Return the function that `module:function` or `FOLDER/module.py:function` names."""
    module, colon, attribute = located(name).partition(":")
    if not colon or not attribute.isidentifier():
        raise ParameterError(
            f"there is no file {name}, and a function is named module:function, such as "
            "gymnasium.envs.box2d.lunar_lander:heuristic."
        )
    allow_cwd_imports(f"{module}:{attribute}")
    try:
        function = getattr(importlib.import_module(module), attribute, None)
    except Exception as problem:  # whatever somebody's module raises
        raise ParameterError(
            f"the module {module!r} cannot be imported: {type(problem).__name__}: {problem}"
        ) from problem
    if not callable(function):
        raise ParameterError(f"the module {module!r} has no function {attribute!r}.")
    return function
