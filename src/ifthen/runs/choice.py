"""Which policy a run hands out where requirements ask for more than rules on top of a list can keep.

Training keeps requirements about rules by a shield. Requirements about behaviour, and properties such as
"rules<=5", are met by choosing: among the lists of a front, and between pruned and learnt rules. Choosing
plays the seeds on which rules are shortened, never the test seeds that the policy is measured on at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ifthen.rules.ruleset import RuleSet
from ifthen.rules.text.constraint_text import is_about_rules, requirements_in
from ifthen.systems.front import Point
from ifthen.systems.system import System
from ifthen.tasks.task import Task
from ifthen.verification.case import Case
from ifthen.verification.requirements import all_met


def meets(ruleset: RuleSet, task: Task, require: Sequence[str]) -> bool:
    """Return whether rules meet the requirements that no shield keeps, on the seeds for shortening."""
    about_behaviour = [
        requirement for requirement in requirements_in(require) if not is_about_rules(requirement)
    ]
    return not about_behaviour or all_met(Case(ruleset, task, seeds=task.pruning_seeds()), about_behaviour)


def choose_list(system: System, require: Sequence[str]) -> Point | None:
    """Return the list of a system's front to hand out instead of its own choice.

    It is the one with the highest score that meets the requirements and is no longer than the parameters ask
    for. None where the system's own choice meets them, and where no list does.

    Args:
        system: what has learnt.
        require: the requirements, one text each.
    """
    front, own_choice = system.front, getattr(system, "chosen", None)
    if front is None or own_choice is None or meets(system.ruleset, system.task, require):
        return None
    limits = {name: getattr(system.parameters, name, None) for name in ("rules", "tests")}
    fitting = [
        point
        for point in front.points
        if all(limit is None or getattr(point, name) <= limit for name, limit in limits.items())
    ]
    ranked = sorted(fitting, key=lambda point: -point.score)
    return next((point for point in ranked if meets(point.ruleset, system.task, require)), None)
