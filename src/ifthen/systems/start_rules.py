"""The ruleset that learning begins with: whether a system and its task can take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ifthen.errors import ParameterError
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.simulator import described

if TYPE_CHECKING:
    from ifthen.systems.system import System


def check_start(system: System, start: RuleSet) -> None:
    """Raise where a system or its task cannot begin with a ruleset."""
    task, kinds = system.task, system.starts_from
    if not kinds:
        raise ParameterError(f"{system.name} cannot start from a ruleset. Leave out start.")
    if not isinstance(start, RuleSet):
        raise ParameterError(f"start must be a RuleSet, not {start!r}.")
    if start.kind not in kinds:
        raise ParameterError(
            f"{system.name} starts from rules of kind {' or '.join(kinds)}, not {start.kind}. "
            "Make it a decision list first: 'ifthen prune MODEL --list --out start.txt', or in Python "
            "ifthen.prune(ruleset, task, to='list').ruleset."
        )
    if start.terms:
        names = ", ".join(term.name for term in start.terms)
        raise ParameterError(
            f"{system.name} starts from rules over single features, but these test sums ({names}). "
            "Write their conditions over single features, or leave out start."
        )
    start_ranges, task_ranges = ([(f.name, f.low, f.high) for f in x.features] for x in (start, task))
    if start_ranges != task_ranges or start.action_names != task.action_names:
        raise ParameterError(
            f"start has {described(start, task)}, but {task.name} has {described(task, start)}."
        )


def check_length(start: RuleSet, most: int, limit: str) -> None:
    """Raise where a ruleset to begin with has too many rules.

    Args:
        start: the ruleset.
        most: how many rules it may have.
        limit: the parameter that says so.
    """
    if len(start) > most:
        raise ParameterError(
            f"start has {len(start)} rules, but {limit} is {most}. Give {limit}={len(start)} or more, "
            "or a shorter start."
        )
