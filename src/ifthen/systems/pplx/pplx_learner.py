"""What PPL-X needs to learn in a task: one class for tables, another for environments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from ifthen.rules.decision_list import DecisionList
from ifthen.systems.front import Front, Point
from ifthen.systems.model_file import Model
from ifthen.systems.pplx.pplx_parameters import PPLXParameters
from ifthen.systems.records import Record
from ifthen.tasks.task import Task

if TYPE_CHECKING:
    from ifthen.systems.learning import Goal
    from ifthen.systems.pplx.pplx import PPLX

Population = Any
"""A learner's own NamedTuple of arrays."""


class Learner(ABC):
    """Learns in one task.

    Args:
        system: whose task, parameters, seed and threads it uses.
    """

    knee: ClassVar[float]
    """The default of the parameter `knee`."""
    soft_limit: ClassVar[int | None] = None
    """By default, lists with more rules are handed out only where they gain much; see `Front.knee`."""
    plays_on: ClassVar[bool]
    """Whether epochs after the plan take steps, too."""
    takes_teachers: ClassVar[bool] = False
    """Whether lists can imitate a teacher."""

    def __init__(self, system: PPLX) -> None:
        self.system = system

    @property
    def parameters(self) -> PPLXParameters:
        """The system's parameters as they are now: a finished run may take another list of its front."""
        parameters: PPLXParameters = self.system.parameters
        return parameters

    @staticmethod
    @abstractmethod
    def filled(parameters: PPLXParameters, task: Task) -> PPLXParameters:
        """Return the parameters with those left to the task filled in; raise where one does not fit."""

    @property
    @abstractmethod
    def epochs(self) -> int:
        """The length of the plan."""

    @property
    def shortens(self) -> bool:
        """Whether lists were shortened by playing, with steps enough for it."""
        return False

    @abstractmethod
    def doing(self, epoch: int) -> str:
        """Return what an epoch does, in a few words."""

    @abstractmethod
    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return the initial population and the history's row of epoch 0."""

    @abstractmethod
    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Return the population one epoch on, and its row."""

    def gauge(self, goal: Goal) -> Goal:
        """Return what a progress bar counts on the way to a goal."""
        return goal

    def is_planned(self, population: Population, goal: Goal) -> bool:
        """Return whether the plan is made for a goal in steps, so that both end together."""
        return False

    @abstractmethod
    def front(self, population: Population) -> Front:
        """Return the best list of each size."""

    @abstractmethod
    def constants(self, population: Population) -> list[Point]:
        """Return the lists of one rule that always take the same action, with their scores."""

    @abstractmethod
    def scored_again(self, point: Point, ruleset: DecisionList, population: Population) -> Point:
        """Return a list of the front with other rules, and with their score."""

    @abstractmethod
    def arrays(self, population: Population) -> dict[str, NDArray[Any]]:
        """Return the arrays of a population for a file."""

    @abstractmethod
    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds, or raise ModelFileError where it does not fit."""
