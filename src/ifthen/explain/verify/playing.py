"""How good is a policy in an environment? That is measured, by playing; nothing here is a proof."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.met import states_met
from ifthen.explain.points import choose_at, values_by_name
from ifthen.explain.verify.findings import (
    Checked,
    Finding,
    Property,
    number,
    plural,
    vector_in_words,
)
from ifthen.explain.verify.requirements import HOLDS, MEASURES, OF_ENVIRONMENTS
from ifthen.rollout.score import Score, score
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

UNSEEN = 100
"""Episodes from reset seeds that nothing was learnt on."""


def check_play(ruleset: RuleSet, task: EnvTask) -> Checked:
    """Return what is found when a ruleset is played from z and from unseen reset seeds."""
    unseen = task.unseen(UNSEEN)
    checked = measured(ruleset, task, "performance", "z", task.z)
    checked.add(measured(ruleset, task, "unseen-performance", "unseen reset seeds", unseen))
    checked.add(idle(ruleset, task, np.concatenate([task.z, unseen])))
    left_out = [name for name in (*HOLDS, *MEASURES) if name not in OF_ENVIRONMENTS]
    text = (
        f"{', '.join(left_out)} need a table of states, which {task.name}, an environment, has not: they are "
        "left out. Performances are measured by playing, and say nothing of other episodes."
    )
    checked.findings.append(Finding("left-out", "note", text, data={"properties": left_out}))
    return checked


def measured(ruleset: RuleSet, task: EnvTask, name: str, whence: str, seeds: NDArray[np.int64]) -> Checked:
    """Return the mean return over episodes from some seeds as a finding and a property."""
    found = score(ruleset, task, seeds)
    episodes = plural(found.episodes, "episode")
    why = f"the mean return over {episodes} from {whence} is {number(found.performance)}"
    if found.failed:
        why = f"{number(found.performance)}, the floor, because a state without a rule was met on {whence}"
    data = {
        "performance": found.performance,
        "least": found.least,
        "most": found.most,
        "episodes": found.episodes,
        "steps": found.steps,
        "truncated_share": found.truncated_share,
        "failed_share": found.failed_share,
    }
    text, witness = f"{why[0].upper()}{why[1:]}{_spread(found)}.", None
    if found.failed:
        witness = _without_rule(ruleset, task, seeds)
        text += f" Such a state: {vector_in_words(witness, ruleset.features)}."
    finding = Finding(name, "problem" if found.failed else "note", text, witness=witness, data=data)
    return Checked([finding], {name: Property(found.performance, why)})


def _spread(found: Score) -> str:
    """Return from what to what returns go, and how many episodes were truncated."""
    if found.failed:
        return f" in {plural(round(found.failed_share * found.episodes), 'episode')} of {found.episodes:,}"
    truncated = round(found.truncated_share * found.episodes)
    cut = f"; {truncated:,} of them reached the last step" if truncated else ""
    return f", from {number(found.least)} to {number(found.most)}{cut}"


def _without_rule(ruleset: RuleSet, task: EnvTask, seeds: NDArray[np.int64]) -> dict[str, int | float]:
    """Return a state that was met and in which no rule matches."""
    points = states_met(ruleset, task, seeds).points
    missing = np.flatnonzero(choose_at(ruleset, points)[1] < 0)
    return values_by_name(ruleset.features, points[missing[0]].tolist())


def idle(ruleset: RuleSet, task: EnvTask, seeds: NDArray[np.int64]) -> Checked:
    """Look for rules that decide in none of the states met."""
    met = states_met(ruleset, task, seeds)
    deciders = choose_at(ruleset, met.points)[1]
    counts = np.bincount(deciders[deciders >= 0], minlength=len(ruleset))
    never = tuple(np.flatnonzero(counts == 0).tolist())
    data = {"states": len(met.points), "episodes": met.episodes, "decided": counts.tolist()}
    if not never:
        return Checked()
    rules = ", ".join(str(r + 1) for r in never[:20]) + (", …" if len(never) > 20 else "")
    text = (
        f"{plural(len(never), 'rule')} of {len(ruleset):,} decided in none of {met.in_words()} from z and "
        f"unseen reset seeds: {rules}."
    )
    return Checked([Finding("never-met", "note", text, never, data=data)])
