"""The one entry point: look at a ruleset from all sides and say what holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ifthen.errors import TaskError
from ifthen.explain.domain import ruleset_of
from ifthen.explain.verify.domain import domain_of, space_name
from ifthen.explain.verify.endings import check_endings
from ifthen.explain.verify.findings import Checked, Property, Verification, plural
from ifthen.explain.verify.model import Model
from ifthen.explain.verify.requirements import HOLDS, MEASURES, judge, parse
from ifthen.explain.verify.rules import check_rules
from ifthen.explain.verify.safety import check_safety
from ifthen.explain.verify.spaces import check_space
from ifthen.explain.verify.worth import check_worth
from ifthen.rollout.evaluate import policy_table
from ifthen.tasks.tabular import TabularTask


def verify(policy: Any, task: TabularTask | None = None, require: str | Sequence[str] = ()) -> Verification:
    """Check a ruleset: is every state decided, every rule of use, the goal reached, every action optimal?

    Every claim holds on the decision states of the task or, without one, on the whole space of the features,
    and comes with a witness: a state, a way through the task, or rules.

    Args:
        policy: a RuleSet or a trained system.
        task: the task to look at; None for the whole space.
        require: properties that must hold, such as "complete,goal-reachable,performance>=0.95"; see
            `ifthen.explain.verify.requirements` for all. What could not be decided counts as not met.
    """
    ruleset = ruleset_of(policy)
    if task is not None and not isinstance(task, TabularTask):
        raise TaskError(f"task must be a TabularTask, such as ifthen.frozen_lake(4), not {task!r}.")
    demands = parse(require, task is not None)
    if task is not None:
        policy_table(ruleset, task)  # raises where the ruleset is about something else
    checked = Checked(properties={"rules": Property(len(ruleset), plural(len(ruleset), "rule"))})
    domain = domain_of(ruleset, task)
    model = Model(task, domain) if domain is not None and task is not None else None
    checked.add(check_space(ruleset) if domain is None else check_rules(domain, model))
    if model is not None:
        for check in (check_endings, check_safety, check_worth):
            checked.add(check(model))
    names = [name for name in (*HOLDS, *MEASURES) if name in checked.properties]
    properties = {name: checked.properties[name].value for name in names}
    reasons = {name: checked.properties[name].why for name in names}
    return Verification(
        f"{plural(len(ruleset), 'rule')} ({ruleset.kind})",
        space_name(ruleset) if domain is None else domain.name,
        tuple(checked.findings),
        properties,
        reasons,
        tuple(judge(demand, properties, reasons) for demand in demands),
    )
