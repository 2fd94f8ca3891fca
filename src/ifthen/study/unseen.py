"""What a study found in environments: final rules on reset seeds they have not seen, and how few do it."""

from __future__ import annotations

import numpy as np

from ifthen.digits import in_units, mean_and_sd
from ifthen.study.grid import Grid
from ifthen.study.notes import NO_RULE, NOTHING
from ifthen.study.results import Results
from ifthen.study.trial_history import UNSEEN


def unseen_table(results: Results) -> Grid:
    """Return final performance in environments, on z and on unseen seeds."""
    rows = [(*cell, *_cells(results, *cell)) for cell in _played(results)]
    notes = [
        f"Mean returns. On z and unseen: mean ± sd over trials; unseen are {UNSEEN} reset seeds that nothing "
        "was learnt or selected on. Best and worst: of trials, unseen.",
    ]
    if any(row[-1] not in ("0 %", NOTHING) or "no rule" in row[3] for row in rows):
        notes.append(f"No rule: share of unseen episodes that met a state with no rule. {NO_RULE}")
    return Grid(
        "Final performance in environments",
        ("task", "system", "n", "on z", "unseen", "best", "worst", "worst episode", "no rule"),
        tuple(rows),
        (*notes, *_missing(results)),
    )


def pruned_table(results: Results) -> Grid:
    """Return how many rules it takes in environments, and what these get; no rows where none is pruned."""
    rows = []
    for task, system in _played(results):
        sizes, scores = (results.values(system, task, name) for name in ("pruned_rules", "pruned_score"))
        if sizes:
            before = sizes_of(results.values(system, task, "rules"))
            floor = results.floor(task)
            unseen = spread(results.values(system, task, "unseen_score"), floor)
            few = sizes_of(sizes), f"{min(sizes):.0f} to {max(sizes):.0f}"
            rows.append((task, system, str(len(sizes)), before, unseen, *few, spread(scores, floor)))
    return Grid(
        "Rules in environments, before and after pruning",
        ("task", "system", "n", "rules", "unseen", "pruned", "from, to", "unseen, pruned"),
        tuple(rows),
        (
            "Pruned by playing z and other seeds; mean returns on the unseen ones, mean ± sd over trials. "
            "n: of trials whose rules were pruned; rules that meet a state with no rule are not.",
        ),
    )


def _played(results: Results) -> list[tuple[str, str]]:
    """Return every environment with every system."""
    tasks = [task for task in results.plan.tasks_by_name() if task in results.environments]
    return [(task, system.name) for task in tasks for system in results.plan.systems]


def _cells(results: Results, task: str, system: str) -> tuple[str, ...]:
    """Return what one system got on one task."""
    unseen, failed = (results.values(system, task, f"unseen_{name}") for name in ("score", "failed_share"))
    if not unseen:
        return ("0", *(NOTHING,) * 6)
    share, floor = sum(failed) / len(failed), results.floor(task)
    return (
        str(len(unseen)),
        spread(results.values(system, task, "performance"), floor),
        spread(unseen, floor),
        _one(max(unseen), floor),
        _one(min(unseen), floor),
        in_units(min(results.values(system, task, "unseen_least"))),
        f"{100 * share:.1f} %" if share else "0 %",
    )


def spread(values: list[float], floor: float) -> str:
    """Return mean ± sd of performances, and how many are the floor, which is no return and in no mean."""
    counted = [value for value in values if value > floor]
    no_rule = f"no rule: {len(values) - len(counted)}" if len(counted) < len(values) else ""
    if not counted:
        return no_rule
    sd = float(np.std(counted, ddof=1)) if len(counted) > 1 else None
    return mean_and_sd(float(np.mean(counted)), sd) + (f" ({no_rule})" if no_rule else "")


def _one(value: float, floor: float) -> str:
    return in_units(value) if value > floor else "no rule"


def sizes_of(values: list[float]) -> str:
    """Return mean ± sd of numbers of rules; the number where it is always the same."""
    if len(set(values)) == 1:
        return f"{values[0]:.0f}"
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"


def _missing(results: Results) -> tuple[str, ...]:
    failed, missing = len(results.failed), len(results.missing)
    told = f"Not in the table: {failed} failed and {missing} unfinished trials."
    return (told,) if failed or missing else ()
