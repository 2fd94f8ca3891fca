"""The explain page: a policy to read, to question and to step through, as one HTML file.

The page is `explain.html.j2` with `base.css`, `explain.css` and the scripts. Its data are in the page as
one block of JSON. Its content security policy allows no loading, and no style or script but its own, which
are named by their hashes.

A page has parts that every task offers (rules, episodes) and parts that only some offer: a table of states
brings `points` and everything that is known of each state (`ifthen.pages.states`); an environment brings the
states visited (`ifthen.pages.visits`), and the page works out what the rules do at any point.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from markupsafe import Markup

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.exports.parts import rendered
from ifthen.pages.explain_tables import fact_rows, number, verified
from ifthen.pages.front_panel import front_data
from ifthen.pages.states import StatePart
from ifthen.pages.visits import VisitPart
from ifthen.provenance import versions
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.rules.term import formula, has_own_name
from ifthen.simulate.evaluate import with_task
from ifthen.simulate.scope import ruleset_of, tabular
from ifthen.systems.front import Front
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.task import Task
from ifthen.verification.findings import Finding
from ifthen.verification.verification import Verification

STYLES = ("base.css", "explain.css")
SCRIPTS = (
    "tools.js",
    "choosing.js",
    "slice.js",
    "grid.js",
    "plane.js",
    "player.js",
    "table.js",
    "front.js",
    "explain.js",
)


def explain_page(
    policy: PolicyLike,
    task: TaskLike | None = None,
    other: PolicyLike | None = None,
    title: str = "",
    names: tuple[str, str] = ("A", "B"),
    verification: Verification | None = None,
    front: Front | None = None,
    seed: int = 0,
    model: str = "MODEL",
) -> str:
    """Return a page on which a policy can be read, questioned and stepped through; same input, same bytes.

    Args:
        policy: a RuleSet of any kind, or a trained system.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None.
        other: a second policy to compare it with.
        title: the page's title; made from the task where it is "".
        names: the names of the policies; the second is used where `other` is given.
        verification: the verification of the first policy, to be listed.
        front: the best policy of each size, to be drawn and taken (see `front`).
        seed: which enumeration of the initial states the episodes of a table begin with.
        model: how commands call the first policy, with its options: "runs/tank --task tank:Tank".
    """
    policies = [ruleset_of(candidate) for candidate in (policy, other) if candidate is not None]
    if len(names) != 2 or (len(policies) == 2 and (names[0] == names[1] or not all(names))):
        raise ParameterError(f"names must be two texts that differ, not {names!r}.")
    if not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"seed must be a whole number from 0, not {seed!r}.")
    fitting, task = with_task(policy, task)
    policies[0] = ruleset_of(fitting)
    task_part = part_of(task, seed)
    for ruleset in policies:
        task_part.check(ruleset)
    shown = list(names) if other is not None else ["this policy" if names[0] in ("", "A") else names[0]]
    facts, listed = task_part.facts(policies), task_part.task_data()
    columns, warnings = facts.pop("columns"), facts.pop("warnings")
    findings = () if verification is None else verification.findings
    return _rendered(
        {
            "task": {
                "name": task.name,
                "features": [
                    {"name": f.name, "low": f.low, "high": f.high, "unit": f.unit, "whole": f.is_integer}
                    | ({"labels": list(f.labels)} if f.labels else {})
                    for f in task.features
                ],
                "actions": list(task.action_names),
                **listed,
            },
            "policies": [policy_data(*pair, task_part) for pair in zip(policies, shown, strict=True)],
            "findings": [finding_data(finding, task) for finding in findings],
            **({} if front is None else {"front": front_data(front, task, policies[0], model)}),
        },
        title=title or f"{' and '.join(f'{len(policy)} rules' for policy in policies)} on {task.name}",
        columns=[column.name for column in columns],
        facts=fact_rows(columns, shown, warnings),
        names=shown,
        listed="points" in listed,
        grid=task_part.grid,
        relative=any(column.name == "of the optimum" for column in columns),
        **facts,
        **verified(verification),
        has_front=front is not None,
        made_by=", ".join(f"{name} {version}" for name, version in versions().items()),
    )


def part_of(task: Task, seed: int = 0) -> StatePart | VisitPart:
    """Return what a task offers to the page.

    Args:
        task: the task.
        seed: which enumeration of the initial states the episodes of a table begin with.
    """
    if isinstance(task, EnvTask):
        return VisitPart(task)
    return StatePart(tabular(task, "a page of states"), seed)


def policy_data(ruleset: RuleSet, name: str, task_part: StatePart | VisitPart) -> dict[str, Any]:
    """Return everything that the page shows of a policy."""
    (domain, shares), title = task_part.shares(ruleset), ruleset.notes_title
    notes = f"Beside a rule stands: {title[0].lower()}{title[1:]}. " if title else ""
    terms = "".join(f"{term_words}. " for term_words in ruleset.terms_in_words())
    positions = {feature.name: d for d, feature in enumerate(ruleset.observed_features)}
    return {
        "name": name,
        "ordered": ruleset.ordered,
        "votes": ruleset.votes,
        "how": f"{ruleset.how} {terms}{notes}{domain}",
        "noted": ruleset.notes_title,
        "rules": [
            {
                "words": ruleset.rule_in_words(r),
                "notes": ruleset.rule_notes(r),
                "share": number(share),
                "said": words,
            }
            for r, (share, words) in enumerate(shares)
        ],
        "bounds": ruleset.bounds.tolist(),
        "terms": [
            {
                "name": term.name,
                "words": f"{term.name} = {formula(term)}" if has_own_name(term) else term.name,
                "unit": term.unit,
                "low": term.low,
                "high": term.high,
                "of": [[positions[name], coefficient] for name, coefficient in term.of],
            }
            for term in ruleset.terms
        ],
        "actions": ruleset.actions.tolist(),
        **task_part.policy_data(ruleset),
    }


def finding_data(finding: Finding, task: Task) -> dict[str, Any]:
    """Return a finding's text, its rules, and the point of its witness; None where it has no such point."""
    witness = finding.witness
    has_point = witness is not None and all(feature.name in witness for feature in task.features)
    return {
        "text": finding.text,
        "rules": [int(rule) for rule in finding.rules],
        "point": [witness[feature.name] for feature in task.features] if witness and has_point else None,
    }


def _rendered(data: dict[str, Any], **values: Any) -> str:
    """Return the template filled in with the data, the style, the scripts and other values."""
    style, script = (
        "".join(resources.files("ifthen.pages").joinpath(name).read_text("utf-8") for name in files)
        for files in (STYLES, SCRIPTS)
    )
    json_text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return rendered(
        "explain.html.j2",
        "pages",
        data=Markup(json_text.replace("<", "\\u003c")),  # whatever the texts are, none can end its element
        style=Markup(style),  # this and the script are files of this package
        style_hash=content_hash(style),
        script=Markup(script),
        script_hash=content_hash(script),
        **values,
    )


def content_hash(text: str) -> str:
    """Return the SHA-256 hash of a text as a content security policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
