"""SAMUEL and ZCS beside PPL-ST on the paper's tasks, from the packed results of two studies.

    python benchmarks/samuel_beside_paper.py

It reads `results/samuel-frozenlake` (`ifthen study run studies/samuel-frozenlake.toml`) and `results/paper`
(`ifthen study run studies/paper.toml`), thirty trials each. Performance is exact, as a fraction of the
optimum, mean ± standard deviation. PPL-ST is compared with each of the others as in the paper: two-sided
Mann–Whitney tests, corrected by Bonferroni for all tests on a task. After a number > says that the system is
above PPL-ST, < that it is below, and = that they are not told apart. Seconds are those of a processor for one
trial, episodes those that one trial plays: the systems in order, PPL-ST last.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pplx_beside_paper import mean, seconds

from ifthen.study.read_results import read_results
from ifthen.study.statistics import bonferroni, compare, verdict
from ifthen.study.study_results import Results

ROOT = Path(__file__).parents[1]
OTHER = "PPL-ST"


def cell(results: Results, system: str, task: str) -> str:
    """Return the mean and the standard deviation of a system's performance."""
    values = np.asarray(results.values(system, task, "exact_fraction"))
    return f"{values.mean():.3f} ± {values.std(ddof=len(values) > 1):.3f}"


def main() -> None:
    """Print the table."""
    ours, papers = read_results(ROOT / "results/samuel-frozenlake"), read_results(ROOT / "results/paper")
    systems = [system.name for system in ours.plan.systems]
    print(f"| task | {' | '.join((*systems, OTHER))} | rules | episodes | seconds |")
    print("|---|" + "--:|" * (len(systems) + 4))
    for task in ours.plan.tasks_by_name():
        reference_values = papers.values(OTHER, task, "exact_fraction")
        comparisons = [
            compare(ours.values(system, task, "exact_fraction"), reference_values) for system in systems
        ]
        p_values = bonferroni([comparison.p for comparison in comparisons])
        signs = [
            str(verdict(comparison.mean_difference, p))
            for comparison, p in zip(comparisons, p_values, strict=True)
        ]
        cells = [f"{cell(ours, system, task)} {sign}" for system, sign in zip(systems, signs, strict=True)]
        cells.append(cell(papers, OTHER, task))
        runs = [*((ours, system) for system in systems), (papers, OTHER)]
        cells.append(", ".join(f"{mean(*run, task, 'rules'):.0f}" for run in runs))
        cells.append(", ".join(f"{mean(*run, task, 'episodes'):.2g}" for run in runs))
        cells.append(", ".join(f"{seconds(*run, task):.2g}" for run in runs))
        print(f"| {task} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
