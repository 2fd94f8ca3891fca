"""What the commands share at a terminal: how they print rules and measurements, and how they are stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ifthen.digits import in_units

if TYPE_CHECKING:
    from ifthen.rollout.evaluate import Evaluation
    from ifthen.rollout.score import Score
    from ifthen.rules.ruleset import RuleSet
    from ifthen.systems.base import Goal, System
    from ifthen.tasks.env_task import EnvTask
    from ifthen.tasks.tabular import TabularTask

MOST_RULES = 20
"""How many of an XCSF's rules for an environment are printed, unless all are asked for."""
out, err = Console(highlight=False, markup=False), Console(stderr=True, highlight=False, markup=False)


def print_rules(
    name: str, ruleset: RuleSet, task: TabularTask | EnvTask, everything: int, more: str = ""
) -> None:
    """Print rules with the share of states each decides; in an environment, of those met on z.

    Args:
        name: of the policy.
        ruleset: its rules, or those picked from them.
        task: its task.
        everything: how many rules it has in all.
        more: how to see all; where that is said, of the many rules that an XCSF has in an environment only
            those that decide most are printed.
    """
    from ifthen.explain.words import rules_in_words
    from ifthen.tasks.env_task import EnvTask

    title = f"Rules of {name} on {task.name}"
    if len(ruleset) < everything:
        title += f": {len(ruleset)} of {everything}"
    table = Table(title=Text(title), title_justify="left")
    table.add_column("#", justify="right")
    rules, left_out = rules_in_words(ruleset, task), 0
    if more and ruleset.kind == "prediction-array" and isinstance(task, EnvTask) and len(rules) > MOST_RULES:
        left_out = len(rules) - MOST_RULES
        rules = sorted(rules, key=lambda rule: -rule.decides)[:MOST_RULES]
    table.add_column("rule", overflow="fold")
    notes = any(rule.notes for rule in rules)
    if notes:
        table.add_column("payoff", justify="right", no_wrap=True)
    table.add_column("decides", justify="right", no_wrap=True)
    for rule in rules:
        cells = [Text(rule.words), *([Text(rule.notes)] if notes else [])]
        decides = f"{rule.decides} ({rule.share:.0%})"
        table.add_row(str(rule.number), *cells, decides, style=None if rule.decides else "dim")
    out.print(table)
    if left_out:
        out.print(f"… {left_out:,} more, each of which decides no more of the states met ({more})")


def measured_table(title: str, sampled: Evaluation, exact: Evaluation) -> Table:
    """Return both measurements of a policy, side by side."""
    table = Table("", title=Text(title), title_justify="left")
    table.add_column(f"on z ({sampled.noise})", justify="right")
    table.add_column("exact", justify="right")
    for name in ("performance", "optimum", "fraction"):
        if name != "fraction" or exact.fraction == exact.fraction:  # not NaN
            table.add_row(name, f"{getattr(sampled, name):.4f}", f"{getattr(exact, name):.4f}")
    table.add_row("episodes", f"{sampled.episodes:,}", "–")
    table.add_row("steps", f"{sampled.steps:,}", "–")
    table.add_row("truncated", f"{sampled.truncated_share:.1%}", "–")
    table.add_row("states with no rule", str(len(sampled.uncovered)), str(len(exact.uncovered)))
    return table


def scores_table(title: str, scores: dict[str, Score]) -> Table:
    """Return how well a policy does in an environment, one column per list of reset seeds.

    Args:
        title: what is measured.
        scores: by the heading of their column.
    """
    from ifthen.explain.page.env_report import MEASURES

    table = Table("", title=Text(title), title_justify="left")
    for heading in scores:
        table.add_column(heading, justify="right")
    for name, cell in MEASURES.items():
        table.add_row(name, *(cell(own) for own in scores.values()))
    if any(own.failed for own in scores.values()):
        floors = (in_units(own.performance) if own.failed else "–" for own in scores.values())
        table.add_row("performance: the floor", *floors)
    return table


def after_epoch(goal: Goal, stop: Stop) -> Callable[[System], bool]:
    """Return a callback that says whether to go on, and prints a line now and then where no bar is shown."""
    apart = max(1, goal.target // 10)

    def callback(learner: System) -> bool:
        before, done = (goal.count(record) for record in learner.now.records[-2:])
        if not out.is_terminal and done // apart > before // apart:
            far = f"/{goal.target}" if goal.unit == "epochs" else f", {done:,} of {goal.target:,} {goal.unit}"
            out.print(f"epoch {learner.epoch}{far}, performance {in_units(learner.best_so_measured)}")
        return not stop.asked

    return callback


class Stop:
    """While entered, SIGINT or SIGTERM asks to stop after the present epoch; a second one interrupts at once.

    An interrupt that is raised just anywhere can be lost inside a library's callback.
    """

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, *_: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
