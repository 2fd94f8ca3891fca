"""The part of a system that PPL-DL and PPL-ST share: sizes, rules to start from, measures and files."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, TaskError
from ifthen.rules.arrays import Floats
from ifthen.rules.batch import RuleBatch
from ifthen.rules.feature import bounds_type
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.evaluate import check_options, simulator_of
from ifthen.simulate.simulator import Simulator
from ifthen.store import SIZE_LIMIT
from ifthen.systems.model_file import (
    ArraySpec,
    Model,
    check_arrays,
    check_history,
    refuse,
    wrong_lengths,
    wrong_rules,
)
from ifthen.systems.pittsburgh import PittsburghParameters, Population
from ifthen.systems.records import Record
from ifthen.systems.start_rules import check_length
from ifthen.systems.system import System


class PittsburghSystem(System):
    """Evolves rulesets of a fixed size; it takes what every `System` takes."""

    whole_rules: ClassVar[bool] = False
    """Whether crossover swaps whole rules, with what they have learnt, rather than single alleles."""
    learns_strengths: ClassVar[bool] = False
    """Whether rules learn strengths from rollouts, so that the strongest that matches decides."""
    parameters: PittsburghParameters

    @property
    def n_learnt(self) -> int:
        """How many numbers a rule learns and passes on."""
        return 0

    def fill_parameters(self, parameters: PittsburghParameters) -> PittsburghParameters:
        """Fill in the sizes left to the task, and raise where a parameter does not fit it."""
        task, idv_size, pop_size = self.task, parameters.idv_size, parameters.pop_size
        idv_size = task.suitable_rules if idv_size is None else idv_size
        pop_size = 16 * idv_size if pop_size is None else pop_size
        check_sizes(pop_size, idv_size, len(task.features) + 2, "idv_size")
        if parameters.elites >= pop_size:
            raise ParameterError(f"elites must be fewer than pop_size ({pop_size}), not {parameters.elites}.")
        check_options(task, parameters.fitness, parameters.noise, parameters.budget)
        return parameters.model_copy(update={"idv_size": idv_size, "pop_size": pop_size})

    def _fit_start(self, start: RuleSet) -> RuleSet:
        """Return the ruleset to begin with, or raise where it does not fit or has too many rules."""
        start = super()._fit_start(start)
        check_length(start, self.parameters.sizes[1], "idv_size")
        return start

    @property
    def watched_column(self) -> str:
        """The column of the history to watch and to stop at: what fitness is where that is exact."""
        return "exact_performance" if self.parameters.fitness == "exact" else super().watched_column

    @cached_property
    def simulator(self) -> Simulator:
        """What plays the rules."""
        parameters = self.parameters
        return simulator_of(
            self.task,
            threads=self.threads,
            method=parameters.fitness,
            noise=parameters.noise,
            budget=parameters.budget,
            elites=parameters.elites,
            backend=parameters.backend,
        )

    def measured_row(
        self, rules: RuleBatch, before: Record | None, trained: tuple[int, int] = (0, 0)
    ) -> tuple[Floats, Record]:
        """Measure a population; return its fitness `(n,)` and the history's row of the epoch.

        Args:
            rules: the population, ready to play.
            before: the row of the epoch before; None for the initial population.
            trained: episodes and steps spent on learning inside the epoch.
        """
        epoch = 0 if before is None else int(before["epoch"]) + 1
        so_far = before or {"episodes": 0, "steps": 0, "ga_invocations": -(len(rules.lengths) // 2)}
        measured = self.simulator.fitness(rules, epoch)
        fitness, episodes = measured.performance, int(measured.episodes.sum())
        if not np.isfinite(fitness).all():
            raise TaskError(
                f"the returns of {self.task.name} are too large: their sums overflow. Scale the rewards "
                "down, for example with gymnasium.wrappers.TransformReward."
            )
        counted_fitness = fitness[measured.counted] if measured.counted.any() else fitness
        return fitness, {
            "epoch": epoch,
            "best_fitness": float(fitness.max()),
            "mean_fitness": float(counted_fitness.mean()),
            "median_fitness": float(np.median(counted_fitness)),
            **self.simulator.measures(rules, int(fitness.argmax())),
            "truncated_share": int(measured.truncated.sum()) / max(1, episodes),
            "failed_share": float(measured.failed.mean()),
            "episodes": int(so_far["episodes"]) + episodes + trained[0],
            "steps": int(so_far["steps"]) + int(measured.steps.sum()) + trained[1],
            "ga_invocations": int(so_far["ga_invocations"]) + len(fitness) // 2,
        }

    def _saved_arrays(self, population: Population) -> dict[str, NDArray[Any]]:
        """Return the arrays for a file; lengths are left out where all rulesets fill their rows."""
        arrays: dict[str, NDArray[Any]] = population._asdict()
        if (population.lengths == population.actions.shape[1]).all():
            del arrays["lengths"]
        return arrays

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds, or raise where it does not fit."""
        pop_size, n_rules = self.parameters.sizes
        features = self.task.features
        expected: ArraySpec = {
            "bounds": ((pop_size, n_rules, len(features), 2), bounds_type(features)),
            "actions": ((pop_size, n_rules), np.int32),
            "learnt": ((pop_size, n_rules, self.n_learnt), np.float64),
            "fitness": ((pop_size,), np.float64),
        }
        if "lengths" in model.population:
            expected["lengths"] = ((pop_size,), np.int64)
        check_arrays(model, expected)
        learnt_by = ("exact_performance",) if self.parameters.fitness == "exact" else ()
        check_history(model, ("epoch", "episodes", "steps", "ga_invocations", "performance", *learnt_by))
        population = Population(**{"lengths": np.full(pop_size, n_rules), **model.population})
        refuse(model, wrong_lengths(population.lengths, n_rules))
        refuse(model, wrong_rules(population.bounds, population.actions, self.task))
        return population


def check_sizes(pop_size: int, n_rules: int, numbers_per_rule: int, limit: str) -> None:
    """Raise where a population cannot be bred in pairs, or is too large to be saved.

    Args:
        pop_size: how many rulesets it has.
        n_rules: how many rules they have, at most.
        numbers_per_rule: pairs of numbers that a rule takes.
        limit: the parameter that says how many rules.
    """
    if pop_size % 2:
        raise ParameterError(
            f"pop_size must be even (two children per breeding round), not {pop_size}. "
            f"Give for example pop_size={pop_size + 1}."
        )
    size = pop_size * n_rules * numbers_per_rule * 16
    if size > SIZE_LIMIT:
        raise ParameterError(
            f"{pop_size:,} rulesets of {n_rules:,} rules would take about {size / 2**30:.1f} GiB; "
            f"at most {SIZE_LIMIT / 2**30:.0f} GiB can be saved. Give a smaller pop_size or {limit}."
        )
