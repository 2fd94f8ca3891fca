"""Commands that tell what there is: tasks, systems, doctor."""

from __future__ import annotations

import re
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ifthen.cli.terminal import out


def tasks() -> None:
    """List the tasks that can be named.

    For example:

    - `ifthen tasks`
    """
    from ifthen.tasks.frozen_lake import paper_suite
    from ifthen.tasks.names import TABULAR_ENVIRONMENTS

    table = Table("task", title="FrozenLake tasks of the paper", title_justify="left")
    for heading in ("states", "|S_I|", "|z|", "t_max", "optimum, exact"):
        table.add_column(heading, justify="right")
    for task in paper_suite():
        numbers = (task.n_states, len(task.initial_states), len(task.z), task.t_max)
        table.add_row(task.name, *map(str, numbers), f"{task.optimal_performance('exact'):.4f}")
    out.print(table)
    out.print("FrozenLake-SIZE-SLIP-mapSEED is a random map, such as FrozenLake-16-0.1-map7.")
    out.print(f"Gymnasium environments with a transition table: {', '.join(TABULAR_ENVIRONMENTS)}.")
    out.print('A map of your own goes into a --config file, as [task] with desc = ["SF", "FG"] and p_slip.')


def systems() -> None:
    """List the learners and their parameters.

    For example:

    - `ifthen systems`
    """
    from ifthen.study.settings import toml_value
    from ifthen.systems.registry import SYSTEMS

    for name, system in SYSTEMS.items():
        table = Table(title=Text(f"{name}: {system.summary}"), title_justify="left")
        for heading in ("parameter", "default", "meaning"):
            table.add_column(heading, overflow="fold")
        for parameter, default, meaning in system.list_parameters():
            table.add_row(parameter, "by task" if default is None else toml_value(default), Text(meaning))
        out.print(table)
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
