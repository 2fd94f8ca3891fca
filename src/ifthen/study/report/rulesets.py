"""The best ruleset of each system on each task, in words and as arrows."""

from __future__ import annotations

from dataclasses import dataclass

from ifthen.explanation.pictures.grid import DIRECTIONS, Cell, cells
from ifthen.explanation.reading import ShownRule, read_rules, readable
from ifthen.rules.ruleset import RuleSet
from ifthen.study.plan import Trial
from ifthen.study.results import Results
from ifthen.tasks.task import Task


@dataclass(frozen=True)
class BestRuleset:
    """The final ruleset of the trial that did best."""

    trial: Trial
    performance: float
    """Exact, as a fraction of the optimum where that can be; in an environment on unseen reset seeds."""
    how: str
    """How its rules choose, as one sentence."""
    everything: int
    """How many rules it has."""
    rules: list[ShownRule]
    """Those that it takes to choose the same everywhere."""
    arrows: list[list[tuple[str, str]]]
    """The policy on the grid, row by row: a symbol and a class of style; empty without a grid."""


def best_rulesets(results: Results) -> dict[str, list[BestRuleset]]:
    """Return the best ruleset of every system, by task; empty where rulesets are not kept."""
    if results.ruleset is None:
        return {}
    found: dict[str, list[BestRuleset]] = {}
    for name, task in results.plan.tasks_by_name().items():
        column = results.column(name, "exact_fraction")
        for system in results.plan.systems:
            values = results.values(system.name, name, column)
            if values:
                best = max(range(len(values)), key=values.__getitem__)  # the first of the best
                trial = results.trials(system.name, name)[best]
                ruleset = results.ruleset(trial)
                grid = cells(ruleset, results.grids[name]) if name in results.grids else []
                found.setdefault(name, []).append(_described(trial, values[best], ruleset, task, grid))
    return found


def _described(
    trial: Trial, performance: float, ruleset: RuleSet, task: Task, grid: list[list[Cell]]
) -> BestRuleset:
    shown = read_rules(readable(ruleset, task), task).in_order
    rules = [rule for rule in shown if rule.decides or ruleset.votes]
    arrows = [[_arrow(cell) for cell in row] for row in grid]
    return BestRuleset(trial, performance, ruleset.how, len(ruleset), rules, arrows)


def _arrow(cell: Cell) -> tuple[str, str]:
    """Return what stands for a cell, and its class of style."""
    if cell.letter == "G":
        return "★", "goal"
    if not cell.asked:
        return "", "hole" if cell.letter == "H" else "nothing"
    if cell.action is None:
        return "∅", "missing"
    symbol = DIRECTIONS[cell.action][2] if cell.action in DIRECTIONS else cell.action[:2]
    return symbol, "optimal" if cell.optimal else "other"
