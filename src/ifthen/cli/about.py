"""Commands that tell what there is: tasks, systems, doctor."""

from __future__ import annotations

import re
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ifthen.cli.packages import typed_task
from ifthen.cli.parameters import values_for
from ifthen.cli.terminal import out
from ifthen.errors import TaskError


def tasks() -> None:
    """List the tasks that can be named.

    For example:

    - `ifthen tasks`
    """
    from ifthen.tasks.frozen_lake import paper_suite
    from ifthen.tasks.names import ENVIRONMENTS, TABULAR_ENVIRONMENTS

    table = Table("task", title="FrozenLake tasks of the paper", title_justify="left")
    for heading in ("states", "|S_I|", "|z|", "t_max", "optimum, exact"):
        table.add_column(heading, justify="right")
    for task in paper_suite():
        numbers = (task.n_states, len(task.initial_states), len(task.z), task.t_max)
        table.add_row(task.name, *map(str, numbers), f"{task.optimal_performance('exact'):.4f}")
    out.print(table)
    out.print("FrozenLake-SIZE-SLIP-mapSEED is a random map, such as FrozenLake-16-0.1-map7.")
    out.print('A map of your own goes into a --config file, as [task] with desc = ["SF", "FG"] and p_slip.')
    out.print(f"Gymnasium environments with a transition table: {', '.join(TABULAR_ENVIRONMENTS)}.\n")
    for name in ENVIRONMENTS:
        _print_environment(name)
    out.print(
        "Any other Gymnasium environment with Discrete actions is a task too, by its id, or by package:Id-v0 "
        "where a package of yours registers it; 'ifthen train --help' tells its settings. Rules see a value "
        "beyond a feature's range as the edge of it. A twin is a compiled copy that plays the same episodes "
        "much faster."
    )


def _print_environment(name: str) -> None:
    """Print an environment's features and actions, or why it cannot be made here."""
    from ifthen.explain.page.env_report import SOURCES, sources_of
    from ifthen.tasks.env_task import EnvTask
    from ifthen.tasks.names import task_by_name
    from ifthen.tasks.twins import twin_of

    try:
        task = task_by_name(name)
    except TaskError as problem:
        out.print(f"{problem}")
        return
    assert isinstance(task, EnvTask)
    twin = ", has a twin" if twin_of(task) is not None else ""
    title = f"{name}: |z| = {task.episodes}, t_max = {task.t_max:,}{twin}"
    table = Table(title=Text(title), title_justify="left", caption_justify="left")
    table.add_column("feature")
    for heading in ("from", "to"):
        table.add_column(heading, justify="right")
    table.add_column("range")
    for feature, source in zip(task.features, sources_of(task), strict=True):
        label = f"{feature.name} ({feature.unit})" if feature.unit else feature.name
        kind = ", whole numbers" if feature.is_integer else ""
        ends = (f"{feature.low:.4g}", f"{feature.high:.4g}")
        table.add_row(Text(label), *ends, SOURCES.get(source, "") + kind)
    table.caption = Text(f"actions: {', '.join(task.action_names)}")
    out.print(table)


def systems(
    task: Annotated[
        str | None, typer.Option("--task", help="Also tell what would be used for this task.")
    ] = None,
) -> None:
    """List the learners and their parameters.

    For example:

    - `ifthen systems`
    - `ifthen systems --task CartPole-v1`
    """
    from ifthen.study.settings import toml_value
    from ifthen.systems.registry import SYSTEMS

    wanted = None if task is None else typed_task(task)
    for name, system in SYSTEMS.items():
        table = Table(title=Text(f"{name}: {system.summary}"), title_justify="left")
        suited = {} if wanted is None else values_for(system, wanted)
        for heading in ("parameter", "default", *([f"for {task}"] if wanted else []), "meaning"):
            table.add_column(heading, overflow="fold")
        for parameter, default, meaning in system.list_parameters():
            own = [Text(suited[parameter])] if wanted else []
            said = "by task" if default is None else toml_value(default)
            table.add_row(parameter, said, *own, Text(meaning))
        out.print(table)
    if wanted is not None:
        out.print(f"Values with a * are not the default, but what suits {task}.")
    out.print("Set one with --set NAME=VALUE, or under [parameters] in a --config file.")


def doctor(
    clear_cache: Annotated[
        bool, typer.Option("--clear-cache", help="Delete all compiled code that was kept.")
    ] = False,
) -> None:
    """Show versions, threads and the cache of compiled code, and check that compiling works.

    For example:

    - `ifthen doctor`
    """
    import shutil
    import time

    from ifthen.jit import cache_is_usable, cache_root
    from ifthen.parallel import available_threads
    from ifthen.provenance import versions
    from ifthen.systems.registry import SYSTEMS
    from ifthen.tasks.frozen_lake import frozen_lake

    if clear_cache:
        for folder in cache_root().glob("*"):
            if re.fullmatch("[0-9a-f]{16}", folder.name):  # ours: named after a hash of the sources
                shutil.rmtree(folder, ignore_errors=True)
    table = Table(show_header=False)
    for name, version in versions().items():
        table.add_row(name, version)
    table.add_row("threads", str(available_threads()))
    began = time.perf_counter()
    for system in SYSTEMS.values():
        system(frozen_lake(4, 0.1)).learn(1)
    table.add_row("an epoch of each system", f"worked, in {time.perf_counter() - began:.1f} s with compiling")
    size = sum(file.stat().st_size for file in cache_root().rglob("*") if file.is_file())
    kept = f"{size / 2**20:.1f} MiB with older versions" if cache_is_usable() else "cannot be written to"
    table.add_row("cache", f"{cache_root()}\n{kept}")
    out.print(table)
