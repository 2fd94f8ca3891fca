"""The shortest decision lists that are optimal in every state: rules found, and rules proven to be needed.

    python benchmarks/shortest.py --effort thorough --out results/shortest
    python benchmarks/shortest.py --effort quick --only FrozenLake-8-0.3 CliffWalking-v1

One thread. Every list is checked, state by state, against value iteration before it is shown or written.
`before` is the length of the shortest list known from an earlier beam search.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ifthen import TabularTask, task_by_name
from ifthen.simplify.shortest.shortest_list import ShortestList, shortest_decision_list
from ifthen.simulate.scope import tabular
from ifthen.tasks.solve import value_iteration

BEFORE = {
    "FrozenLake-4-0": 4,
    "FrozenLake-4-0.1": 5,
    "FrozenLake-4-0.3": 5,
    "FrozenLake-4-0.5": 6,
    "FrozenLake-8-0": 8,
    "FrozenLake-8-0.1": 9,
    "FrozenLake-8-0.3": 13,
    "FrozenLake-8-0.5": 16,
    "FrozenLake-12-0": 13,
    "FrozenLake-12-0.1": 20,
    "FrozenLake-12-0.3": 26,
    "FrozenLake-12-0.5": 30,
    "CliffWalking-v1": None,
    "Taxi-v4": None,
}


def check(task: TabularTask, result: ShortestList) -> None:
    """Stop unless the list takes an optimal action in every decision state."""
    actions = np.asarray(result.rules.predict(task.dynamics.points))
    optimal = value_iteration(task).optimal_actions[task.decision_states]
    if (actions < 0).any() or not optimal[np.arange(len(actions)), actions].all():
        raise SystemExit(f"the list for {task.name} is not optimal in every state: this must not happen.")


def write(folder: Path, task: TabularTask, result: ShortestList) -> None:
    """Write the list as JSON, where none as short stands there already."""
    path = folder / f"{task.name}.json"
    if path.exists() and len(json.loads(path.read_text())["rules"]) <= len(result.rules):
        return
    path.write_text(json.dumps(result.rules.to_dict(), indent=1) + "\n")


def main() -> None:
    """Search, check, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--effort", choices=("quick", "normal", "thorough"), default="normal")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=sorted(BEFORE), default=list(BEFORE), metavar="TASK")
    parser.add_argument("--out", type=Path, help="write the lists to this folder, as JSON")
    options = parser.parse_args()
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    console, headings = Console(width=110), ("states", "before", "rules", "at least", "core", "seconds")
    shortest_decision_list(tabular(task_by_name("FrozenLake-8-0"), "a shortest list"), "quick")  # compiles
    table = Table(title=f"Shortest decision lists, effort {options.effort}", box=SIMPLE_HEAD)
    table.add_column("task")
    for heading in headings:
        table.add_column(heading, justify="right")
    table.add_column("")
    for name in options.only:
        task, began = tabular(task_by_name(name), "a shortest list"), time.perf_counter()
        result = shortest_decision_list(task, options.effort, options.seed)
        seconds = time.perf_counter() - began
        check(task, result)
        if options.out is not None:
            write(options.out, task, result)
        numbers = (result.states, BEFORE[name] or "", len(result.rules), result.lower_bound, len(result.core))
        verdict = "proven shortest" if result.proven else ""
        table.add_row(name, *(str(number) for number in numbers), f"{seconds:.1f}", verdict)
        console.print(f"{name}: {result.how} ({seconds:.1f} s)", highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
