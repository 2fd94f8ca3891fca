"""Populations to play on the CPU and on a GPU."""

from __future__ import annotations

from typing import Any

from ifthen.rules.batch import LIST, STRENGTH, RuleBatch
from ifthen.simulate.simulator import Measured
from ifthen.systems.pittsburgh import PittsburghParameters, first_population
from ifthen.systems.ppl_st import PPLSTParameters
from ifthen.tasks.task import Task


def population(task: Task, how: int, n: int, rules: int, seed: int = 0, **parameters: Any) -> RuleBatch:
    """Return n random rulesets of the given kind; those that learn know nothing yet."""
    kind = PPLSTParameters if how == STRENGTH else PittsburghParameters
    learns = 0 if how == LIST else len(task.features) + 2
    drawn = first_population(kind(pop_size=n, idv_size=rules, **parameters), task, seed, learns)
    return drawn.batch(how, 10.0)


def same(one: Measured, other: Measured) -> bool:
    """Return whether two measures agree in every bit."""
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in Measured.__dataclass_fields__
    )
