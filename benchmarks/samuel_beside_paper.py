"""SAMUEL and ZCS beside PPL-ST on the paper's tasks, from the packed results of two studies.

    python benchmarks/samuel_beside_paper.py

It reads `results/samuel-small` (`ifthen study run studies/samuel-small.toml`) and `results/paper` (`ifthen
study run studies/paper.toml`, thirty trials). Performance is exact, as a fraction of the optimum, mean ±
standard deviation. PPL-ST is compared with each of the others as in the paper: two-sided Mann–Whitney tests,
corrected by Bonferroni for all tests on a task. After a number > says that the system is above PPL-ST, < that
it is below, and = that they are not told apart. Seconds are those of a processor for one trial, episodes
those that one trial plays: the systems in order, PPL-ST last.
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
    ours, papers = read_results(ROOT / "results/samuel-small"), read_results(ROOT / "results/paper")
    systems = [own.name for own in ours.plan.systems]
    print(f"| task | {' | '.join((*systems, OTHER))} | rules | episodes | seconds |")
    print("|---|" + "--:|" * (len(systems) + 4))
    for task in ours.plan.tasks_by_name():
        other = papers.values(OTHER, task, "exact_fraction")
        compared = [compare(ours.values(own, task, "exact_fraction"), other) for own in systems]
        ps = bonferroni([own.p for own in compared])
        told = [str(verdict(own.mean_difference, p)) for own, p in zip(compared, ps, strict=True)]
        cells = [f"{cell(ours, own, task)} {sign}" for own, sign in zip(systems, told, strict=True)]
        cells.append(cell(papers, OTHER, task))
        both = [*((ours, own) for own in systems), (papers, OTHER)]
        cells.append(", ".join(f"{mean(*own, task, 'rules'):.0f}" for own in both))
        cells.append(", ".join(f"{mean(*own, task, 'episodes'):.2g}" for own in both))
        cells.append(", ".join(f"{seconds(*own, task):.2g}" for own in both))
        print(f"| {task} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
