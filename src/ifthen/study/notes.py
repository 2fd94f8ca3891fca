"""What the tables of a study share: what is missing in them, and sentences below them."""

from __future__ import annotations

from ifthen.study.results import Results

NOTHING = "–"
NO_RULE = "Trials with such an episode are counted (no rule: n) and in no mean: they have no return."
PAPERS_COLUMNS = ("paper", "s.e. apart")


def notes_on(results: Results) -> tuple[str, ...]:
    """Return sentences on what a reader could take wrongly, if there is any."""
    plan = results.plan
    played = results.environments
    absolute = [task for task in plan.tasks_by_name() if not results.relative(task) and task not in played]
    notes = [f"Absolute, not as a fraction, because returns can be negative: {', '.join(absolute)}."]
    notes = notes if absolute else []
    if played and not results.only_environments:
        notes.append(f"Mean returns, because the optimum is not known: {', '.join(sorted(played))}.")
    missing = f"Not in the table: {len(results.failed)} failed and {len(results.missing)} unfinished trials."
    return (*notes, *((missing,) if results.failed or results.missing else ()))
