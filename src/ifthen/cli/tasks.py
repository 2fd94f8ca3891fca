"""The command `tasks`."""

from __future__ import annotations

from typing import Any

from ifthen.cli.terminal import out, print_table
from ifthen.errors import TaskError
from ifthen.text_table import TextTable


def tasks() -> None:
    """List the tasks that have a name.

    For example:

    - `ifthen tasks`
    """
    from ifthen.environments.frozen_lake import paper_suite
    from ifthen.environments.known_environments import listed_ids
    from ifthen.simulate.table_simulator import optimal_performance

    rows = []
    for task in paper_suite():
        numbers = (task.n_states, len(task.initial_states), len(task.z), task.t_max)
        rows.append((task.name, *map(str, numbers), f"{optimal_performance(task, 'exact'):.4f}"))
    headings = ("task", "states", "initial states", "episodes", "t_max", "optimum, exact")
    print_table(TextTable("FrozenLake tasks of the paper", headings, tuple(rows)))
    out.print("\nFrozenLake-SIZE-SLIP-mapSEED is a random map, such as FrozenLake-16-0.1-map7.")
    out.print('A map of your own goes into a --config file, as [task] with desc = ["SF", "FG"] and p_slip.')
    print_table(maze_table())
    out.print(
        "\nMAZE-bits sees the bits of the field instead, such as Maze4-bits. In an aliased maze some cells"
    )
    out.print("look alike: steps are those of a policy that knows the cell; rules may need more.")
    out.print("With MAZE-memory, such as Woods101-memory, rules see the last move, too.\n")
    out.print(f"Gymnasium environments with a transition table: {', '.join(listed_ids(table=True))}.\n")
    for name in listed_ids(table=False):
        _print_environment(name)
    out.print(
        "Any other Gymnasium environment with Discrete actions is a task too, by its id, or by package:Id-v0 "
        "where a package of yours registers it; 'ifthen train --help' lists its settings. Rules clip a value "
        "beyond a feature's range to the range. A twin is a compiled copy of an environment that plays the "
        "same episodes much faster."
    )


def maze_table() -> TextTable:
    """Return all mazes with their sizes and the fewest steps to food."""
    from ifthen.environments.mazes import MAZES, maze, steps_to_food

    rows = []
    for name in MAZES:
        task = maze(name)
        steps = steps_to_food(task)
        fewest = f"{steps.mean():.3f}", str(steps.max())
        rows.append((name, str(len(steps)), str(task.t_max), *fewest, "yes" if task.aliased else "no"))
    headings = ("task", "cells", "t_max", "fewest steps to food, mean", "farthest", "aliased")
    return TextTable("Mazes: eight neighbours are seen, eight moves lead to food", headings, tuple(rows))


def _print_environment(name: str) -> None:
    """Print an environment's features and actions, or why it cannot be made here."""
    from ifthen.environments.make import task_by_name
    from ifthen.environments.twin_registry import twin_of
    from ifthen.pages.report_page import SOURCES, sources_of

    try:
        task: Any = task_by_name(name)
    except TaskError as problem:
        out.print(f"{problem}\n")
        return
    twin = ", has a twin" if twin_of(task) is not None else ""
    title = f"{name}: {task.n_episodes} training seeds, t_max = {task.t_max:,}{twin}"
    rows = []
    for feature, source in zip(task.features, sources_of(task), strict=True):
        label = f"{feature.name} ({feature.unit})" if feature.unit else feature.name
        number_kind = ", whole numbers" if feature.is_integer else ""
        bounds = (f"{feature.low:.4g}", f"{feature.high:.4g}")
        rows.append((label, *bounds, SOURCES.get(source, "") + number_kind))
    note = f"actions: {', '.join(task.action_names)}\n"
    print_table(TextTable(title, ("feature", "from", "to", "range"), tuple(rows), (note,)))
