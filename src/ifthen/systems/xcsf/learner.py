"""What XCSF needs to learn in a task: a learner, the rules it takes out, and when to give up waiting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError
from ifthen.randomness import stream
from ifthen.rules.feature import bounds_type
from ifthen.rules.prediction_array import PredictionArrayRules
from ifthen.systems.system import Goal, Record
from ifthen.systems.xcsf.parameters import XCSFParameters
from ifthen.systems.xcsf.population import Classifiers, Population
from ifthen.systems.xcsf.settings import kernel_reach, kernel_settings
from ifthen.tasks.task import Task

T = TypeVar("T", bound=Task)


class Learner(ABC, Generic[T]):
    """Learns in one task, by parameters that are filled in."""

    measured: ClassVar[tuple[str, ...]]
    """The columns of the history that say how well the rules do."""
    number: ClassVar[type[np.int32] | type[np.float64]]
    """The type of the bounds of conditions."""
    whole_episodes: ClassVar[bool]
    """Whether learning stops between episodes only."""

    def __init__(self, task: T, parameters: XCSFParameters, seed: int) -> None:
        self.task: T = task
        self.parameters, self.key = parameters, stream(seed, "xcsf")
        self.settings = kernel_settings(parameters, task)
        self.reach = kernel_reach(parameters, task, self.number)

    @staticmethod
    @abstractmethod
    def suited(task: T) -> dict[str, float]:
        """Return the parameters that suit the task where nothing was given."""

    @staticmethod
    @abstractmethod
    def check(parameters: XCSFParameters, task: T) -> None:
        """Raise where the parameters, filled in, cannot work in the task or would take too much memory."""

    @property
    @abstractmethod
    def n_states(self) -> int:
        """How many numbered states there are."""

    @abstractmethod
    def learn(self, population: Population, invocations: int, goal: Goal) -> tuple[Population, Record]:
        """Learn up to a total number of GA invocations, or until the goal; return what was measured too."""

    @abstractmethod
    def nothing_learnt(self) -> Record:
        """Return what an empty population measures."""

    @abstractmethod
    def wrong_action_set(self, population: Population) -> str | None:
        """Return what is wrong with the action set that waits for its payoff, if anything."""

    @abstractmethod
    def shares(self, bounds: NDArray[Any]) -> NDArray[np.float64]:
        """Return the share of the feature space that each box matches, `(slots,)`."""

    def raw(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights as rulesets have them: of the features as they are."""
        return weights


def ruleset_of(
    population: Population, task: Task, weights: NDArray[np.float64], x0: float
) -> PredictionArrayRules:
    """Return all rules (macroclassifiers) of a population that has some.

    `weights`, `(slots, features + 1)`, are those of the features as they are, that of x0 first.
    """
    rules = population.numerosity > 0
    return PredictionArrayRules(
        population.bounds[rules].astype(bounds_type(task.features)),
        population.action[rules],
        task.features,
        task.action_names,
        weights[rules],
        population.fitness[rules],
        population.error[rules],
        population.numerosity[rules],
        population.experience[rules],
        x0,
    )


PATIENCE = 200_000  # steps without a GA invocation, per step of θ_GA, after which there will be none


class Patience:
    """Watches a population that learns, and raises where its epoch would not end."""

    def __init__(self, classifiers: Classifiers, parameters: XCSFParameters, goal: Goal) -> None:
        self._clock = classifiers.clock
        self._limit = PATIENCE * max(1, parameters.theta_ga) if goal.unit == "epochs" else None
        self._since, self._invocations = self._now()

    def _now(self) -> tuple[int, int]:
        clock = self._clock[0]
        return int(clock["steps"]), int(clock["ga_invocations"])

    def check(self) -> None:
        """Raise where there was no GA invocation for very long."""
        steps, invocations = self._now()
        if invocations > self._invocations:
            self._since, self._invocations = steps, invocations
        elif self._limit is not None and steps - self._since > self._limit:
            raise ParameterError(
                f"there was no GA invocation in {steps - self._since:,} steps, so the epoch would not end: "
                "rules come and go too fast to get old. Give a larger pop_limit or r0, or a smaller theta_ga."
            )
