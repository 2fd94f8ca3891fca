"""PPL-X beside the paper's systems on its twelve tasks, from the packed results of both studies.

    python benchmarks/pplx_beside_paper.py               the table, and a figure in docs/images

It reads `results/paper` (`ifthen study run studies/paper.toml`) and `results/pplx-tables` (`ifthen study run
studies/pplx-tables.toml`): thirty trials each. Performance is exact, as a fraction of the optimum. Systems
are compared as in the paper: two-sided Mann–Whitney tests, corrected by Bonferroni for three tests on a task.
Seconds are those of a processor for one trial, episodes those that one trial plays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ifthen import figure_style as style
from ifthen.study.read_results import read_results
from ifthen.study.statistics import bonferroni, compare, verdict
from ifthen.study.study_results import Results

ROOT = Path(__file__).parents[1]
PPLX, OTHERS = "PPL-X", ("PPL-ST", "PPL-DL", "XCSF")


def mean(results: Results, system: str, task: str, column: str) -> float:
    """Return the mean of a column over the last rows of a system's trials on a task."""
    return float(np.mean(results.values(system, task, column)))


def seconds(results: Results, system: str, task: str) -> float:
    """Return the processor seconds of one trial, on average."""
    assert results.log is not None
    rows = results.log.filter((results.log["system"] == system) & (results.log["task"] == task))
    return float(rows["processor_seconds"].sum()) / len(results.trials(system, task))


def verdicts(ours: Results, papers: Results, task: str) -> dict[str, str]:
    """Return whether PPL-X is above (>), below (<) or not told apart from (=) each of the others."""
    pplx_values = ours.values(PPLX, task, "exact_fraction")
    comparisons = [compare(pplx_values, papers.values(other, task, "exact_fraction")) for other in OTHERS]
    p_values = bonferroni([comparison.p for comparison in comparisons])
    signs = [
        verdict(comparison.mean_difference, p) for comparison, p in zip(comparisons, p_values, strict=True)
    ]
    return {other: str(sign) for other, sign in zip(OTHERS, signs, strict=True)}


def draw(ours: Results, papers: Results, tasks: list[str]) -> Figure:
    """Draw what is left to the optimum against episodes and against seconds: one mark per system and task."""
    figure = Figure(figsize=(style.WIDTH, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for position, system in enumerate((PPLX, *OTHERS)):
        results, look = (ours if system == PPLX else papers), style.look(position)
        y = [max(1e-4, 1 - mean(results, system, task, "exact_fraction")) for task in tasks]
        for axes, x in (
            (left, [mean(results, system, task, "episodes") for task in tasks]),
            (right, [seconds(results, system, task) for task in tasks]),
        ):
            axes.plot(x, y, look.marker, color=look.colour, label=system, markersize=5, alpha=0.85)
    for axes, label in ((left, "episodes of one trial"), (right, "processor seconds of one trial")):
        axes.set(xscale="log", yscale="log")
        axes.set_xlabel(label, fontsize=style.MEDIUM)
        style.bare(axes)
    left.set_ylabel("share of the optimum that is lost (least shown: 1e-4)", fontsize=style.SMALL)
    left.legend(frameon=False, fontsize=style.SMALL)
    return figure


def main() -> None:
    """Print the table and write the figure."""
    ours, papers = read_results(ROOT / "results/pplx-tables"), read_results(ROOT / "results/paper")
    tasks = list(ours.plan.tasks_by_name())
    print(f"| task | {' | '.join((PPLX, *OTHERS))} | rules | episodes | seconds |")
    print("|---|" + "--:|" * (len(OTHERS) + 4))
    for task in tasks:
        signs = verdicts(ours, papers, task)
        cells = [f"{mean(ours, PPLX, task, 'exact_fraction'):.4f}"]
        cells += [f"{mean(papers, system, task, 'exact_fraction'):.4f} {signs[system]}" for system in OTHERS]
        cells.append(f"{mean(ours, PPLX, task, 'rules'):.1f}")
        runs = [(ours, PPLX), *((papers, system) for system in OTHERS)]
        cells.append(", ".join(f"{mean(*run, task, 'episodes'):.2g}" for run in runs))
        cells.append(", ".join(f"{seconds(*run, task):.2g}" for run in runs))
        print(f"| {task} | {' | '.join(cells)} |")
    style.write_png(ROOT / "docs/images/pplx-beside-paper.png", draw(ours, papers, tasks))


if __name__ == "__main__":
    main()
