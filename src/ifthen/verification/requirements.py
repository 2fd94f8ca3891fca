"""Requirements as people write them: properties, and constraints and behaviour in words; also in a file.

A file has one requirement per line; what follows a # is a comment. Nothing in it is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ifthen.errors import ParameterError
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.text.constraint_text import (
    Requirements,
    constraint_in,
    is_about_behaviour,
    is_about_rules,
    requirements_in,
)
from ifthen.rules.text.scan import without_comment
from ifthen.store import text_of_user
from ifthen.tasks.task import Task
from ifthen.verification.behaviour_requirement import behaviour_in, behaviour_kept
from ifthen.verification.case import Case, grounds
from ifthen.verification.constraints import constraint_kept
from ifthen.verification.findings import Decided
from ifthen.verification.properties import PROPERTIES, judge, parse

FILE_LIMIT = 2**20


def in_words(text: str) -> bool:
    """Return whether a requirement is written in words, rather than as a property such as "complete"."""
    return is_about_rules(text) or is_about_behaviour(text)


def plain_ones(require: Requirements) -> list[str]:
    """Return the requirements that are properties: those whose texts can be checked without any rules."""
    return [text for text in requirements_in(require) if not in_words(text)]


def worded_ones(
    require: Requirements, ruleset: RuleSet, has_task: bool
) -> dict[str, Callable[[Case], Decided]]:
    """Return how the requirements in words are decided, by their texts; raises where one cannot be read.

    Args:
        require: one text or several.
        ruleset: whose features and actions they speak of.
        has_task: whether a task is given, which behaviour needs.
    """
    deciders: dict[str, Callable[[Case], Decided]] = {}
    for text in filter(in_words, requirements_in(require)):
        if is_about_rules(text):
            constraint = constraint_in(text, ruleset.features, ruleset.action_names)
            deciders[text] = partial(constraint_kept, constraint)
            continue
        behaviour = behaviour_in(text, ruleset.observed_features, ruleset.action_names)
        if not has_task:
            raise ParameterError(f"{text!r} is about behaviour in a task; give one.")
        deciders[text] = partial(behaviour_kept, behaviour)
    return deciders


def all_met(case: Case, require: Requirements) -> bool:
    """Return whether all requirements are met; only what they ask for is looked at."""
    demands = parse(plain_ones(require), case.grounds)
    results = {demand.name: PROPERTIES[demand.name].check_on(case.grounds)(case) for demand in demands}
    worded = worded_ones(require, case.ruleset, case.task is not None)
    return all(judge(demand, results).passed for demand in demands) and all(
        decide(case).requirement.passed for decide in worded.values()
    )


def check_requirements(require: Requirements, task: Task) -> None:
    """Raise where a requirement cannot be read, or cannot be checked in a task; nothing is played."""
    full_box = [[[feature.low, feature.high] for feature in task.features]]
    any_rules = DecisionList(full_box, [0], task.features, task.action_names)
    parse(plain_ones(require), grounds(task))
    worded_ones(require, any_rules, True)


def read_requirements(path: Path) -> list[str]:
    """Return the requirements in a file, one per line, or raise where it cannot be read."""
    text = text_of_user(path, FILE_LIMIT, ParameterError)
    lines = [without_comment(line).strip() for line in text.splitlines()]
    return requirements_in([line for line in lines if line])


def requirements_text(texts: list[str]) -> str:
    """Return requirements as the text of a file."""
    return "\n".join(["# requirements: 'ifthen verify' checks them", *texts]) + "\n"
