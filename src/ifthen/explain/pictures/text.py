"""A policy drawn on its grid for a terminal: arrows, holes, goal, and where it is not optimal."""

from __future__ import annotations

from rich.text import Text

from ifthen.explain.pictures.grid import DIRECTIONS, Cell, cells
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask


def policy_text(ruleset: RuleSet, task: TabularTask, width: int = 10_000) -> Text:
    """Return the policy as lines of arrows for a terminal that is `width` characters wide."""
    grid = cells(ruleset, task)
    if len(grid[0]) > width:
        return Text("(the grid is wider than this terminal: draw it with --png)")
    roomy = 3 * len(grid[0]) <= width
    text, used = Text(), {}
    for row in grid:
        for cell in row:
            symbol, style, meaning = _symbol(cell)
            used[meaning] = (symbol.strip(), style)
            text.append(symbol if roomy else symbol.strip("() "), style=style)
        text.append("\n")
    for meaning, (symbol, style) in sorted(used.items()):
        text.append(f"{symbol} {meaning}  ", style=style)
    return text


def _symbol(cell: Cell) -> tuple[str, str, str]:
    """Return what stands for a cell in a terminal, its style and its meaning."""
    if cell.letter == "G":
        return " ★ ", "bold green", "goal"
    if not cell.asked:
        return (" ■ ", "dim", "hole") if cell.letter == "H" else (" · ", "dim", "no action asked for")
    if cell.action is None:
        return " ∅ ", "bold red", "no rule matches"
    arrow = DIRECTIONS[cell.action][2] if cell.action in DIRECTIONS else cell.action[0]
    return (
        (f" {arrow} ", "bold blue", "optimal")
        if cell.optimal
        else (f"({arrow})", "bold yellow", "not optimal")
    )
