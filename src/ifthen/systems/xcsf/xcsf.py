"""XCSF behind the contract of a system: epochs of GA invocations, history, ruleset, files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.rules.prediction_array import PredictionArrayRules
from ifthen.systems.learning import Goal
from ifthen.systems.model_file import Model
from ifthen.systems.records import Record
from ifthen.systems.system import System
from ifthen.systems.xcsf.checkpoint import checked_population
from ifthen.systems.xcsf.xcsf_learner import Learner
from ifthen.systems.xcsf.xcsf_on_env import EnvLearner
from ifthen.systems.xcsf.xcsf_on_table import TableLearner
from ifthen.systems.xcsf.xcsf_parameters import XCSFParameters, fill_parameters
from ifthen.systems.xcsf.xcsf_population import COUNTERS, Population, clock_of, empty_population, too_large

if TYPE_CHECKING:
    from typing import Unpack

    from ifthen.systems.keywords import XCSFKeywords

COUNTED = COUNTERS[COUNTERS.index("ga_invocations") :]


class XCSF(System):
    """Evolves one population of rules that predict payoffs; the action predicted to pay most is taken.

    In environments, learning stops between episodes only: an epoch, and learn(steps=…), finish the episode.

    It refuses `start`, as its rules come by covering, and `require`, which only rules with an order can keep.

    Args:
        task: a task, a task's name, or a Gymnasium environment.
        seed: seed of everything random in training.
        threads: how many threads to use, all cores where None; results do not depend on it.
        verbose: 1 to print a line now and then while learning.
        parameters: by name; see `XCSFParameters`.
    """

    name = "XCSF"
    summary = "Evolves one population of rules that predict payoffs (the best prediction decides)."
    Parameters = XCSFParameters
    parameters: XCSFParameters

    if TYPE_CHECKING:

        def __init__(self, task: TaskLike, **keywords: Unpack[XCSFKeywords]) -> None: ...

    def fill_parameters(self, parameters: XCSFParameters) -> XCSFParameters:
        """Fill in what was left to the task."""
        filled = fill_parameters(parameters, self.task, self._kind.suited(self.task))
        self._kind.check(filled, self.task)
        return filled

    @property
    def _kind(self) -> type[Learner[Any]]:
        kinds: tuple[type[Learner[Any]], type[Learner[Any]]] = (TableLearner, EnvLearner)
        return self._suited(*kinds)

    @cached_property
    def _learner(self) -> Learner[Any]:
        return self._kind(self.task, self.parameters, self.seed)

    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return an empty population: rules come by covering."""
        has_covariance, number_type = self.parameters.prediction == "rls", self._learner.number
        population = empty_population(len(self.task.features), has_covariance, number_type=number_type)
        return population, self._row(population, 0, self._learner.nothing_learnt())

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Learn to the end of the epoch, or until the goal's steps or episodes are reached."""
        end = self._end_of_epoch(before)
        following, measures = self._learner.learn(population, end, goal)
        clock = clock_of(following)
        if too_large(following):
            raise ParameterError(
                f"{self.name}'s predictions grew beyond all measure by step {clock['steps']:,}. Scale "
                f"rewards and features of {self.task.name} to moderate numbers, or try prediction='nlms'."
            )
        epoch = before["epoch"] + (clock["ga_invocations"] >= end)
        return following, self._row(following, epoch, measures)

    def _end_of_epoch(self, before: Record) -> int:
        """Return the GA invocations in all that end the present epoch.

        Episodes of environments are finished, so that an epoch may begin with more than it was due.
        """
        parameters, epoch = self.parameters, int(before["epoch"])
        if not self._learner.whole_episodes:
            return (epoch + 1) * int(parameters.ga_per_epoch or 0)
        first_row = next(row for row in self.now.records[-2:] if row["epoch"] == epoch)
        return int(first_row["ga_invocations"]) + int(parameters.ga_per_epoch or 0)

    def _row(self, population: Population, epoch: int, measures: Record) -> Record:
        """Return the history's row of a population."""
        numerosity, clock = population.numerosity, clock_of(population)
        shares = self._learner.shares(population.bounds)
        return {
            "epoch": epoch,
            **measures,
            "macros": int((numerosity > 0).sum()),
            "micros": clock["micros"],
            # The next two are means over microclassifiers.
            "mean_error": float((population.error * numerosity).sum()) / max(1, clock["micros"]),
            "mean_generality": float((shares * numerosity).sum()) / max(1, clock["micros"]),
            "episodes": clock["episodes"] - (clock["state"] >= 0),
            "steps": clock["steps"],
            **{name: clock[name] for name in COUNTED},
        }

    @property
    def ruleset(self) -> PredictionArrayRules:
        """All rules (macroclassifiers) of the present population."""
        population = self.now.population
        if not population.numerosity.any():
            raise ParameterError(
                f"this {self.name} has no rules yet, they come with the first steps: call learn(epochs=1)."
            )
        return self._learner.ruleset(population)

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds."""
        needed = ("epoch", "performance", "macros", "micros", "episodes", "steps", *COUNTED)
        return checked_population(model, self.parameters, self._learner, needed)
