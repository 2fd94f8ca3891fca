"""Proof that the compiled twins equal Gymnasium's environments: a million random steps of each, bit by bit.

    python benchmarks/twins_equal.py
    python benchmarks/twins_equal.py --steps 10000 CartPole-v1

After every step, state, observation, reward and termination must have the same bits. Stops at the first that
does not.
"""

from __future__ import annotations

import argparse
import time

from rich.console import Console
from rich.table import Table
from timing import machine

from ifthen.environments.twin_registry import check_twin

ENVIRONMENTS = ("CartPole-v1", "CartPole-v0", "MountainCar-v0", "Acrobot-v1")


def main() -> None:
    """Read the command line, compare, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("environments", nargs="*", default=list(ENVIRONMENTS))
    parser.add_argument("--steps", type=int, default=1_000_000)
    options = parser.parse_args()
    table = Table(title="Twins that equal their environments in every bit", title_justify="left")
    for i, heading in enumerate(("environment", "steps", "episodes", "terminated", "seconds")):
        table.add_column(heading, justify="right" if i else "left")
    for environment in options.environments:
        began = time.perf_counter()
        counts = check_twin(environment, options.steps)
        seconds = time.perf_counter() - began
        table.add_row(environment, *(f"{number:,}" for number in counts), f"{seconds:.0f}")
    console = Console(width=140)
    console.print(machine(), highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
