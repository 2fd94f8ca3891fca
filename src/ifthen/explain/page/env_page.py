"""The explain page of an environment task: a policy to read, to look at from all sides and to step through.

It is `env.html.j2` with the style and the tools of the other explain page, and scripts of its own. What rules
do at a point is worked out in the page, so that any two features can be drawn with the others held anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ifthen.errors import ParameterError
from ifthen.explain.domain import ruleset_of
from ifthen.explain.page.env_data import env_policy_data, env_task_data
from ifthen.explain.page.explain_page import ladder_chart, ladder_rows, rendered, verified
from ifthen.explain.points import choose_at
from ifthen.explain.visited import asked, met_shares, middle, played, visited
from ifthen.provenance import versions
from ifthen.rollout.score import checked_ruleset, score
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

if TYPE_CHECKING:
    from ifthen.explain.verify.findings import Verification

STYLES = ("explain.css", "env.css")
SCRIPTS = ("explain_tools.js", "env_rules.js", "env_plane.js", "env_player.js", "env.js")
UNSEEN = (100, 1000)
"""The least and the largest number of unseen episodes; between these, as many as z has."""


def env_page(
    ruleset: Any,
    task: EnvTask,
    other: Any = None,
    title: str = "",
    names: tuple[str, str] = ("A", "B"),
    verification: Verification | None = None,
    ladder: Any = None,
) -> str:
    """Return the page of one policy in an environment, or of two; see `explain_page`."""
    if len(names) != 2 or (other is not None and (names[0] == names[1] or not all(names))):
        raise ParameterError(f"names must be two texts that differ, not {names!r}.")
    policies = [
        checked_ruleset(ruleset_of(policy), task) for policy in (ruleset, other) if policy is not None
    ]
    shown = names if other is not None else ("this policy" if names[0] in ("", "A") else names[0],)
    named, rungs = list(zip(policies, shown, strict=True)), ladder_rows(() if ladder is None else ladder)
    findings = () if verification is None else verification.findings
    data = {
        "task": env_task_data(task),
        "policies": [env_policy_data(policy, task, name) for policy, name in named],
        "findings": [env_finding_data(finding, task) for finding in findings],
    }
    return rendered(
        data,
        "env.html.j2",
        STYLES,
        SCRIPTS,
        title=title or f"{' and '.join(f'{len(policy)} rules' for policy in policies)} on {task.name}",
        task=task,
        unseen=unseen_episodes(task),
        facts=[env_facts(policy, task, name) for policy, name in named],
        differing=differing_share(policies, task),
        observed=observed_rows(policies[0], task),
        relative=False,
        **verified(verification),
        ladder=ladder_chart(rungs) if rungs else None,
        made_by=", ".join(f"{name} {version}" for name, version in versions().items()),
    )


def env_facts(ruleset: RuleSet, task: EnvTask, name: str) -> dict[str, Any]:
    """Return what the page's head says of a policy."""
    own, others = score(ruleset, task), score(ruleset, task, task.unseen(unseen_episodes(task)))
    return {
        "name": name,
        "performance": own.performance,
        "deviation": own.deviation,
        "least": own.least,
        "most": own.most,
        "failed": own.failed,
        "failed_share": own.failed_share,
        "unseen": others.performance,
        "rules": len(ruleset),
        "deciding": int((met_shares(ruleset, task) > 0).sum()),
    }


def unseen_episodes(task: EnvTask) -> int:
    """Return how many episodes from unseen seeds are played."""
    least, most = UNSEEN
    return min(max(least, len(task.z)), most)


def differing_share(policies: list[RuleSet], task: EnvTask) -> float:
    """Return the share of the states met by the first policy in which the last one does something else."""
    met = visited(policies[0], task)
    return float((choose_at(policies[-1], met.points)[0] != met.actions).mean())


def observed_rows(ruleset: RuleSet, task: EnvTask) -> list[dict[str, Any]]:
    """Return for every feature what was met of it, and how often it was beyond its range."""
    points = np.concatenate([asked(episode) for episode in played(ruleset, task)])
    lows, highs = task.ranges
    beyond = ((points < lows) | (points > highs)).mean(axis=0)
    least, most, centre = points.min(axis=0), points.max(axis=0), middle(points)
    return [
        {
            "name": feature.name,
            "unit": feature.unit,
            "low": feature.low,
            "high": feature.high,
            "least": float(least[d]),
            "middle": float(centre[d]),
            "most": float(most[d]),
            "beyond": float(beyond[d]),
        }
        for d, feature in enumerate(task.features)
    ]


def env_finding_data(finding: Any, task: EnvTask) -> dict[str, Any]:
    """Return what is lit when a finding is chosen: its rules, and its witness if that is an observation."""
    witness = finding.witness
    known = witness is not None and all(feature.name in witness for feature in task.features)
    return {
        "text": finding.text,
        "rules": [int(rule) for rule in finding.rules],
        "point": [float(witness[feature.name]) for feature in task.features] if known else None,
    }
