"""What a model file must hold to go on as an XCSF, checked before any kernel sees it.

Compiled code trusts its arrays: what it could never have written itself must not come in through a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ifthen.systems.model_file import ArraySpec, Model, check_arrays, check_history, refuse, wrong_rules
from ifthen.systems.xcsf.xcsf_learner import Learner
from ifthen.systems.xcsf.xcsf_parameters import XCSFParameters
from ifthen.systems.xcsf.xcsf_population import LARGEST, Population, clock_of, empty_population, too_large
from ifthen.tasks.task import Task

COUNTER_LIMIT = 2**40
FITNESS = (1e-120, 1 + 1e-9)
ROUNDING = 1e-9


def checked_population(
    model: Model, parameters: XCSFParameters, learner: Learner[Any], columns: tuple[str, ...]
) -> Population:
    """Return the population of a model file, or raise where it does not fit parameters and task.

    `columns` are those of the history that learning goes on from.
    """
    assert parameters.pop_limit is not None
    assert parameters.ga_per_epoch is not None
    task = learner.task
    n_states = 0 if learner.whole_episodes else len(task.decision_states)
    pop_limit, numerosity = parameters.pop_limit, model.population.get("numerosity", np.zeros(0))
    n_slots = numerosity.shape[0] if numerosity.ndim == 1 else 0
    if n_slots > pop_limit + 1:
        refuse(model, f"at most {pop_limit} rules cannot use {n_slots:,} slots")
    rls = parameters.prediction == "rls"
    check_history(model, columns, provisional=True)
    check_arrays(model, _arrays(n_slots, len(task.features), rls, learner.number))
    population = Population(**model.population)
    # In this order: each looks only at what those before it found to be sound.
    problem = (
        _wrong_clock(population, task, n_states)
        or _wrong_rules(population, pop_limit, task)
        or learner.wrong_action_set(population)
        or _wrong_history(model, columns, population, parameters.ga_per_epoch, learner.whole_episodes)
    )
    refuse(model, problem)
    return population


def _arrays(n_slots: int, n_features: int, rls: bool, number_type: type) -> ArraySpec:
    """Return shape and type of every array of a population, given its slots and the type of its bounds."""
    empty = empty_population(n_features, rls, number_type=number_type)._asdict()
    spec: ArraySpec = {}
    for name, array in empty.items():
        shape = array.shape if name in ("clock", "pending") else (n_slots, *array.shape[1:])
        spec[name] = (shape, array.dtype.type)
    return spec


def _wrong_rules(population: Population, pop_limit: int, task: Task) -> str | None:
    """Return what is wrong with the rules, if anything."""
    rules = population.numerosity > 0
    if len(rules) and not rules[-1]:
        return "the last slot must hold a rule"
    if (population.numerosity < 0).any() or population.numerosity.sum(dtype=np.int64) > pop_limit:
        return f"numerosities must not be negative or add up to more than {pop_limit}"
    clock, micros = clock_of(population), int(population.numerosity.sum())
    if clock["micros"] != micros:
        return f"the clock counts {clock['micros']} microclassifiers, but there are {micros}"
    bounds = population.bounds[rules]
    if problem := wrong_rules(bounds, population.action, task):
        return problem
    if (np.signbit(bounds) & (bounds == 0)).any():
        return "zero must not be written as −0: equal rules would not be known"
    if too_large(population):
        return f"no number that was learnt may be larger than {LARGEST:g}"
    ranges = {
        "fitness": FITNESS,
        "set_size": (1 - ROUNDING, pop_limit + 1 + ROUNDING),
        "error": (0, LARGEST),
        "experience": (0, 2 * clock["steps"]),  # a rule can be in both sets of a step
        "stamp": (0, clock["steps"]),
    }
    for name, (low, high) in ranges.items():
        column = getattr(population, name)[rules]
        if len(column) and (column.min() < low or column.max() > high):
            return f"{name} of rules must be from {low:g} to {high:g}"
    return None


def _wrong_clock(population: Population, task: Task, n_states: int) -> str | None:
    """Return what is wrong with the counters, if anything; environments have no numbered states."""
    clock = clock_of(population)
    for name, number in clock.items():
        low, high = (-1, n_states - 1) if name in ("state", "before") else (0, COUNTER_LIMIT)
        if not low <= number <= high:
            return f"the clock's {name} must be from {low} to {high:,}, not {number}"
    if clock["explore"] > 1:
        return f"the clock's explore must be 0 or 1, not {clock['explore']}"
    if clock["time"] >= task.t_max and clock["state"] >= 0:
        return f"the clock says {clock['time']} steps of an episode that has at most {task.t_max}"
    return None


def _wrong_history(
    model: Model, columns: tuple[str, ...], population: Population, ga_per_epoch: int, whole_episodes: bool
) -> str | None:
    """Return what is wrong with the history, if anything."""
    rows = model.history
    clock = clock_of(population)
    counters: Mapping[str, Any] = {
        **{name: number for name, number in clock.items() if name in columns},
        "epoch": model.epoch if whole_episodes else clock["ga_invocations"] // ga_per_epoch,
        "episodes": clock["episodes"] - (clock["state"] >= 0),
        "macros": int((population.numerosity > 0).sum()),
    }
    for name, number in counters.items():
        if rows[-1][name] != number or not isinstance(rows[-1][name], int):
            return f"the history ends with {name} = {rows[-1][name]}, but the population says {number}"
    return _wrong_epochs(rows, ga_per_epoch) if whole_episodes else None


def _wrong_epochs(rows: Sequence[Mapping[str, Any]], ga_per_epoch: int) -> str | None:
    """Return which row contradicts that epochs end with the episode that has their last GA invocation."""
    for before, row in pairwise(rows):
        ended = row["ga_invocations"] - before["ga_invocations"] >= ga_per_epoch
        if ended != (row["epoch"] > before["epoch"]) or row["steps"] <= before["steps"]:
            return f"epoch {row['epoch']} of the history does not have {ga_per_epoch} GA invocations"
    return None
