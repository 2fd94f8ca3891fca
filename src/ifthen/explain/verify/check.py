"""The one entry point: look at a ruleset from all sides and say what holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ifthen.explain.domain import AnyTask, ruleset_of, table_of
from ifthen.explain.verify.domain import domain_of, space_name
from ifthen.explain.verify.endings import check_endings
from ifthen.explain.verify.findings import Checked, Property, Verification, plural
from ifthen.explain.verify.model import Model
from ifthen.explain.verify.playing import check_play
from ifthen.explain.verify.requirements import HOLDS, MEASURES, judge, parse
from ifthen.explain.verify.rules import check_rules
from ifthen.explain.verify.safety import check_safety
from ifthen.explain.verify.spaces import check_space
from ifthen.explain.verify.worth import check_worth
from ifthen.tasks.env_task import EnvTask


def verify(policy: Any, task: AnyTask | None = None, require: str | Sequence[str] = ()) -> Verification:
    """Check a ruleset: is every state decided, every rule of use, the goal reached, every action optimal?

    Every claim holds on the decision states of the task or, without one, on the whole space of the features,
    and comes with a witness: a state, a way through the task, or rules. In an environment, which has no table
    of states, rules are looked at on the whole space, and how well they do is measured by playing.

    Args:
        policy: a RuleSet or a trained system.
        task: the task to look at; None for the whole space.
        require: properties that must hold, such as "complete,goal-reachable,performance>=0.95"; see
            `ifthen.explain.verify.requirements` for all. What could not be decided counts as not met.
    """
    ruleset = ruleset_of(policy)
    table = table_of(ruleset, task)
    demands = parse(require, task is not None, isinstance(task, EnvTask) if task is not None else None)
    checked = Checked(properties={"rules": Property(len(ruleset), plural(len(ruleset), "rule"))})
    domain = domain_of(ruleset, table)
    model = Model(table, domain) if domain is not None and table is not None else None
    checked.add(check_space(ruleset) if domain is None else check_rules(domain, model))
    if model is not None:
        for check in (check_endings, check_safety, check_worth):
            checked.add(check(model))
    if isinstance(task, EnvTask):
        checked.add(check_play(ruleset, task))
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
