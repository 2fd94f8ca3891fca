"""Shared terminal output: consoles, rules and measurements as tables, files that were written, stopping."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console

from ifthen.errors import ParameterError
from ifthen.text_table import TextTable, harmless

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ifthen.rules.ruleset import RuleSet
    from ifthen.simulate.simulator import Evaluation
    from ifthen.systems.learning import Goal
    from ifthen.systems.system import System
    from ifthen.tasks.task import Task

UNMET = 1
"""The exit status where a requirement is not met."""
MOST_RULES = 40
"""At most this many rules of a voting ruleset are printed, unless all are asked for."""


class _Harmless(Console):
    """A console to which names from files can be printed: none of them controls the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, with characters spelled out that would do anything else."""
        super().print(*(harmless(item) if isinstance(item, str) else item for item in objects), **options)


out, err = _Harmless(highlight=False, markup=False), _Harmless(stderr=True, highlight=False, markup=False)


def print_table(table: TextTable) -> None:
    """Print a table as wide as the terminal."""
    out.print(table.to_text(out.width), soft_wrap=True)


def print_evaluations(title: str, evaluations: Mapping[str, Evaluation]) -> None:
    """Print how well a policy does, one column per measurement; rows that do not apply are left out."""
    from ifthen.pages.report_page import measured_rows

    rows = tuple((name, *cells) for name, cells in measured_rows(evaluations))
    print_table(TextTable(title, ("", *evaluations), rows))


def print_rules(name: str, ruleset: RuleSet, task: Task, n_rules: int, hint: str = "") -> None:
    """Print rules, some or all of `n_rules`, with the number and the share of states that each decides.

    Where `hint` says how to see all rules, a long voting ruleset is cut to the rules that decide most.
    """
    from ifthen.explanation.reading import read_rules

    title = f"Rules of {name} on {task.name}"
    if len(ruleset) < n_rules:
        title += f": {len(ruleset)} of {n_rules}"
    rules, left_out = read_rules(ruleset, task).in_order, 0
    if hint and ruleset.votes and len(rules) > MOST_RULES:
        left_out = len(rules) - MOST_RULES
        rules = tuple(sorted(rules, key=lambda rule: -(rule.decides or 0))[:MOST_RULES])
    rows = tuple(
        (str(rule.number), rule.words, rule.notes, f"{rule.decides:,} ({rule.share or 0:.0%})")
        for rule in rules
    )
    print_table(TextTable(title, ("#", "rule", "payoff", "decides"), rows).without_empty([""]))
    for sentence in ruleset.terms_in_words():
        out.print(sentence)
    if left_out:
        out.print(f"… {left_out:,} more rules, each of which decides no more states ({hint})")


def print_reading(ruleset: RuleSet, task: Task | None) -> None:
    """Print rules in words, in the order in which they are read."""
    from ifthen.explanation.reading import read_rules

    out.print(read_rules(ruleset, task).to_text(out.width))


def write_file(path: Path, text: str) -> None:
    """Write a text file, and say so."""
    from ifthen.store import write_text

    write_text(path, text)
    out.print(f"written to {path}")


def write_rules(path: Path | None, ruleset: RuleSet, task: Task | None) -> None:
    """Write rules as JSON or readable text, by the file's name, where a file is given."""
    from ifthen.exports import export

    if path is not None:
        write_file(path, export(ruleset, "json" if path.suffix.lower() == ".json" else "text", task))


def check_plot(path: Path | None) -> None:
    """Raise unless a picture can be drawn to a file of this name."""
    if path is not None and path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ParameterError(f"--plot draws a .png, .pdf or .svg, not {path}.")


def write_plot(path: Path | None, figure: Callable[[], Figure]) -> None:
    """Draw a picture to a file where one is given."""
    if path is not None:
        from ifthen.figure_style import write_as

        form: Any = path.suffix.lower().removeprefix(".")
        out.print(f"drawn to {write_as(path.with_suffix(''), figure(), form)}")


def write_json(path: Path | None, data: dict[str, Any]) -> None:
    """Write plain data where a file is given."""
    if path is not None:
        write_file(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def after_epoch(goal: Goal, stop: Stop) -> Callable[[System], bool]:
    """Return a callback that says whether to go on, and prints a line now and then where no bar is shown."""
    from ifthen.systems.learning import progress_line

    def callback(learner: System) -> bool:
        if not out.is_terminal and (line := progress_line(learner, goal)):
            out.print(line)
        return not stop.asked

    return callback


class Stop:
    """While entered, SIGINT or SIGTERM asks to stop after the present epoch; a second one interrupts at once.

    An interrupt that is raised just anywhere can be lost inside a library's callback.
    """

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> Self:
        self._old_handlers = {
            number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)

    def _ask(self, *_: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
