"""How a policy was found: the system, the steps and seeds of training, and what was left after pruning."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ifthen.digits import plural
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.unused import EPISODES
from ifthen.systems.system import System


def how_found(learner: System, ruleset: RuleSet) -> Iterator[str]:
    """Yield sentences that say how a system has found a policy.

    Args:
        learner: the system that has learnt the rules.
        ruleset: the policy that is handed out.
    """
    last = learner.now.records[-1]
    yield f"{learner.name}: {learner.summary[:1].lower()}{learner.summary[1:]}"
    yield (
        f"This is one run, with seed {learner.seed}: {plural(last['epoch'], 'epoch')}, "
        f"{last['steps']:,} steps of training. Whether other runs were tried is not recorded."
    )
    if seeds_words := learner.task.seeds_in_words(learner.learns_from):
        yield seeds_words
    learnt = learner.ruleset
    if learner.front is not None:
        rules = plural(len(learnt), "rule")
        yield f"The list of {rules} was taken from the front by the {learner.front.scored}."
    if len(ruleset) < len(learnt):
        reason = (
            f"rules that decided in no step of up to {EPISODES:,} episodes were taken away, and those that "
            "change no action of any input"
            if learner.shortens
            else "pruning plays as well, with fewer or shorter rules"
        )
        yield f"Of {plural(len(learnt), 'learnt rule')} {len(ruleset)} are left: {reason}."


def own_parameters(learner: System) -> list[tuple[str, str]]:
    """Return the parameters that differ from their defaults, each as "name = value" with its meaning."""
    values = learner.parameters.model_dump()
    return [
        (f"{name} = {json.dumps(values[name], ensure_ascii=False)}", meaning)
        for name, default, meaning in learner.list_parameters()
        if values[name] != default
    ]
