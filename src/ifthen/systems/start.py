"""Starting from rules that somebody wrote or found before, rather than from random ones only.

The first individuals of the initial population are the given ruleset, and all others are the random ones that
they would be without it. Individuals have a fixed number of rules: what the ruleset lacks is filled with its
own rules over again, which changes no choice. In a decision list a rule that comes a second time never
decides; among strengths it ties with itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

SHARE = 10
"""One individual in so many is the given ruleset: crossover with random ones soon undoes a single copy."""


def checked_start(start: object, system: str, kinds: tuple[str, ...], task: TabularTask) -> RuleSet:
    """Return the ruleset to start from, or raise where the system or the task cannot begin with it.

    Args:
        start: what was given.
        system: the system's name.
        kinds: the kinds of rulesets that it can start from.
        task: the task to be learnt.
    """
    if not kinds:
        raise ParameterError(
            f"{system} cannot start from a ruleset: its rules come by covering. Leave out start."
        )
    if not isinstance(start, RuleSet):
        raise ParameterError(f"start must be a RuleSet, not {start!r}.")
    if start.kind not in kinds:
        raise ParameterError(
            f"{system} starts from rules of kind {' or '.join(kinds)}, not {start.kind}. "
            "Make it a decision list first: 'ifthen prune MODEL --list --out start.txt', or in Python "
            "ruleset.to_decision_list(task)."
        )
    named = [[(f.name, f.low, f.high) for f in features] for features in (start.features, task.features)]
    if named[0] != named[1]:
        raise ParameterError(
            f"start has features {_in_words(start.features)}, but {task.name} has {_in_words(task.features)}."
        )
    if start.action_names != task.action_names:
        raise ParameterError(
            f"start has actions {', '.join(start.action_names)}, but {task.name} has "
            f"{', '.join(task.action_names)}."
        )
    return start


def check_size(start: RuleSet, idv_size: int) -> None:
    """Raise where the ruleset has more rules than individuals have."""
    if len(start) > idv_size:
        raise ParameterError(
            f"start has {len(start)} rules, but idv_size is {idv_size}. Give idv_size={len(start)} or more, "
            "or a shorter start."
        )


def put_first(
    start: RuleSet,
    learnt: NDArray[np.float64],
    out_bounds: NDArray[np.int32],
    out_actions: NDArray[np.int32],
    out_learnt: NDArray[np.float64],
) -> None:
    """Write a ruleset over the first individuals of a population.

    Args:
        start: the ruleset.
        learnt: what its rules have learnt, `(rules, …)`.
        out_bounds: the population's conditions, `(n, idv_size, features, 2)`,
        out_actions: its actions, `(n, idv_size)`,
        out_learnt: and what it has learnt, `(n, idv_size, …)`.
    """
    n, rules = out_actions.shape
    over = np.arange(rules) % len(start)
    first = slice(0, max(1, n // SHARE))
    out_bounds[first] = start.bounds[over]
    out_actions[first] = start.actions[over]
    out_learnt[first] = learnt[over]


def _in_words(features: tuple[Feature, ...]) -> str:
    return ", ".join(f"{f.name} in [{f.low}, {f.high}]" for f in features)
