"""The explain page: a policy to read, to question and to step through, as one HTML file.

The page is `explain.html.j2` with `explain.css` and the scripts; what it shows is worked out here and in
`explain_data`, and stands in the page as one block of JSON. Its content security policy lets nothing be
loaded, and no style or script in but its own, which are named by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ifthen.errors import ParameterError, TaskError
from ifthen.explain.domain import ruleset_of
from ifthen.explain.page.explain_data import Places, number, policy_data, task_data
from ifthen.explain.pictures.grid import has_grid
from ifthen.provenance import versions
from ifthen.rollout.evaluate import evaluate, optimal_performance, policy_table
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

if TYPE_CHECKING:
    from ifthen.explain.verify.findings import Verification

TEMPLATE, STYLES = "explain.html.j2", ("explain.css",)
SCRIPTS = ("explain_tools.js", "explain_player.js", "explain_table.js", "explain.js")
MOST_STATES = 5_000
LEFT, RIGHT, TOP, BOTTOM = 44.0, 350.0, 12.0, 150.0
"""The frame of the ladder's chart, as in the template."""


def explain_page(
    ruleset: Any,
    task: TabularTask | EnvTask,
    other: Any = None,
    title: str = "",
    names: tuple[str, str] = ("A", "B"),
    verification: Verification | None = None,
    ladder: Any = None,
    seed: int = 0,
) -> str:
    """Return a page on which a policy can be read, questioned and stepped through; same input, same bytes.

    Args:
        ruleset: a RuleSet of any kind, or a trained system.
        task: the task it acts in.
        other: a second policy to compare it with.
        title: the page's title; made from the task where none is given.
        names: what the policies are called; the second is used where `other` is given.
        verification: what was verified of the first policy, to be listed.
        ladder: the first policy with fewer rules: a Ladder, or rows with `rules`, `performance`, `fraction`.
        seed: which enumeration of z the episodes begin with; environments show some episodes of z.
    """
    if isinstance(task, EnvTask):
        from ifthen.explain.page.env_page import env_page

        return env_page(ruleset, task, other, title, names, verification, ladder)
    policies = [ruleset_of(policy) for policy in (ruleset, other) if policy is not None]
    check(policies, task, names, seed)
    shown = names if other is not None else ("this policy" if names[0] in ("", "A") else names[0],)
    places, rungs = Places(task), ladder_rows(() if ladder is None else ladder)
    findings = () if verification is None else verification.findings
    facts = [facts_of(policy, task, name) for policy, name in zip(policies, shown, strict=True)]
    data = {
        "task": task_data(task, places),
        "policies": [
            policy_data(policy, task, places, name, seed)
            for policy, name in zip(policies, shown, strict=True)
        ],
        "findings": [finding_data(finding, task, places) for finding in findings],
    }
    return rendered(
        data,
        title=title or f"{' and '.join(f'{len(policy)} rules' for policy in policies)} on {task.name}",
        task=task,
        grid=has_grid(task),
        facts=facts,
        differing=int((policy_table(policies[0], task) != policy_table(policies[-1], task)).sum()),
        optimum=optimal_performance(task),
        relative=not any(math.isnan(fact["fraction"]) for fact in facts),
        **verified(verification),
        ladder=ladder_chart(rungs) if rungs else None,
        made_by=", ".join(f"{name} {version}" for name, version in versions().items()),
    )


def verified(verification: Verification | None) -> dict[str, Any]:
    """Return what the template shows of a verification."""
    if verification is None:
        return {"verification": None}
    from ifthen.explain.page.explain_checks import finding_groups, property_rows
    from ifthen.explain.verify.report import LEGEND

    rows, groups = property_rows(verification), finding_groups(verification)
    return {"verification": verification, "properties": rows, "groups": groups, "marks": LEGEND}


def rendered(
    data: dict[str, Any],
    template: str = TEMPLATE,
    styles: Sequence[str] = STYLES,
    scripts: Sequence[str] = SCRIPTS,
    **values: Any,
) -> str:
    """Return a template filled in with the data, the styles, the scripts and some values of its own."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("ifthen.explain", "page")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style, script = (
        "".join(loader.get_source(environment, name)[0] for name in files) for files in (styles, scripts)
    )
    return environment.get_template(template).render(
        data=Markup(as_json(data)),  # it cannot end its element: see as_json
        style=Markup(style),  # this and the script are files of this package
        style_hash=content_hash(style),
        script=Markup(script),
        script_hash=content_hash(script),
        **values,
    )


def check(policies: Sequence[RuleSet], task: TabularTask, names: tuple[str, str], seed: int) -> None:
    """Raise where the page cannot be made of these."""
    if not isinstance(task, TabularTask):
        raise TaskError(f"task must be a TabularTask or an EnvTask, not {task!r}.")
    if task.n_states > MOST_STATES:
        raise TaskError(
            f"{task.name} has {task.n_states:,} states; a page shows at most {MOST_STATES:,}. "
            "Verify the policy, or draw a picture of it, instead."
        )
    if len(names) != 2 or (len(policies) == 2 and (names[0] == names[1] or not all(names))):
        raise ParameterError(f"names must be two texts that differ, not {names!r}.")
    if not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"seed must be a whole number from 0, not {seed!r}.")
    for policy in policies:
        policy_table(policy, task)  # raises where the rules speak of other features or actions


def facts_of(ruleset: RuleSet, task: TabularTask, name: str) -> dict[str, Any]:
    """Return what the page's head says of a policy."""
    exact = evaluate(ruleset, task, "exact")
    _, deciders = ruleset.choose(task.dynamics.points)
    return {
        "name": name,
        "performance": exact.performance,
        "fraction": exact.fraction,
        "failed": exact.failed,
        "rules": len(ruleset),
        "deciding": len(np.unique(deciders[deciders >= 0])),
        "uncovered": int((deciders < 0).sum()),
    }


def finding_data(finding: Any, task: TabularTask, places: Places) -> dict[str, Any]:
    """Return what is lit when a finding is pointed at: its rules, and the place of its witness."""
    witness = finding.witness
    vector = None if witness is None else [witness[feature.name] for feature in task.features]
    return {
        "text": finding.text,
        "rules": [int(rule) for rule in finding.rules],
        "place": None if vector is None else places.of_vector(vector),
    }


def ladder_rows(ladder: Any) -> list[dict[str, Any]]:
    """Return rungs as rows with `rules`, `performance` and `fraction`, the fewest rules first."""
    rows = []
    for rung in getattr(ladder, "rungs", ladder):
        row = rung if isinstance(rung, Mapping) else {**vars(rung), "rules": len(rung.ruleset)}
        if not {"rules", "performance", "fraction"} <= set(row):
            raise ParameterError(
                f"a row of a ladder needs rules, performance and fraction, not {', '.join(map(str, row))}."
            )
        fraction = row["fraction"]
        rows.append(
            {
                "rules": int(row["rules"]),
                "performance": float(row["performance"]),
                "fraction": None if fraction is None else number(fraction),
            }
        )
    return sorted(rows, key=lambda row: row["rules"])


def ladder_chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return rows with their places in the chart, and the labels of its axes."""
    counts, values = [row["rules"] for row in rows], [row["performance"] for row in rows]
    most, low, high = max(counts), min(0.0, *values), max(0.0, *values)
    across = (RIGHT - LEFT) / max(most, 1)
    down = (BOTTOM - TOP) / (high - low or 1.0)
    for row in rows:
        row["x"] = round(LEFT + across * row["rules"], 1)
        row["y"] = round(BOTTOM - down * (row["performance"] - low), 1)
    return {
        "rows": rows,
        "ticks": [
            {"y": round(BOTTOM - down * (v - low), 1), "label": f"{v:g}"} for v in round_levels(low, high)
        ],
        "counts": [
            {"x": round(LEFT + across * n, 1), "label": n}
            for n in sorted({1, most, *range(0, most, max(1, math.ceil(most / 6)))} - {0})
        ],
    }


def round_levels(low: float, high: float) -> list[float]:
    """Return up to seven round numbers from `low` to `high`, the same distance apart."""
    if high <= low:
        return [low]
    unit = 10.0 ** math.floor(math.log10((high - low) / 5))
    step = next(unit * factor for factor in (1, 2, 5, 10) if (high - low) / (unit * factor) <= 6)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{step * i:.6g}") for i in range(first, last + 1)]


def as_json(data: Any) -> str:
    """Return data as JSON that cannot end the element it stands in, whatever its texts are."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def content_hash(text: str) -> str:
    """Return the SHA-256 hash of a text as a content security policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
