"""PPL-X on tables: how near the optimum, with how many rules, in how many seconds of one core.

python benchmarks/pplx_tables.py                        the paper's twelve lakes, two seeds
python benchmarks/pplx_tables.py Taxi-v4 --seeds 1
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import ifthen
from ifthen.runs.settings import parse_assignment
from ifthen.simulate.table_simulator import policy_table


def visited(policy: Any, task: Any) -> Any:
    """Return which states a policy `(D,)` visits from the starts, as a mask."""
    successors = task.dynamics.next_state[np.arange(len(policy)), policy]
    is_visited, newly_visited = np.zeros(len(policy), bool), np.unique(task.dynamics.starts)
    while len(newly_visited):
        is_visited[newly_visited] = True
        following = np.unique(successors[newly_visited])
        newly_visited = following[(following >= 0) & ~is_visited[following]]
    return is_visited


def optimal_shares(system: ifthen.PPLX) -> tuple[float, float]:
    """Return in which share of the states the ruleset acts optimally: of those it visits, and of all."""
    task: Any = system.task
    states, policy = task.decision_states, policy_table(system, task)
    is_optimal = ifthen.tables.value_iteration(task).optimal_actions[states, policy]
    return float(is_optimal[visited(policy, task)].mean()), float(is_optimal.mean())


def main() -> None:
    """Measure and print one line per task and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    tasks = [ifthen.task_by_name(name) for name in options.tasks] or ifthen.tables.paper_suite()
    parameters = dict(parse_assignment(assignment) for assignment in options.set)
    ifthen.PPLX(ifthen.frozen_lake(4), threads=1, candidates=10).learn()  # compiles
    headings = "task               seed  exact value  of optimum  optimal: visited      all"
    print(f"{headings}  rules  tests  best  front  seconds")
    for task in tasks:
        for seed in range(options.seeds):
            began = time.process_time()
            system = ifthen.PPLX(task, seed=seed, threads=1, **parameters).learn()
            seconds = time.process_time() - began
            front, exact = system.front, ifthen.evaluate(system, task, "exact")
            share = "" if exact.fraction is None else f"{exact.fraction:.4f}"
            visited_share, overall_share = optimal_shares(system)
            cells = (
                f"{task.name:18} {seed:4}",
                f"{exact.performance:11.4f}",
                f"{share:>10}",
                f"{visited_share:16.3f}",
                f"{overall_share:7.3f}",
                f"{len(system.ruleset):5}",
                f"{system.ruleset.tests:5}",
                f"{front.best.rules:4}",
                f"{len(front):5}",
                f"{seconds:7.1f}",
            )
            print("  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
