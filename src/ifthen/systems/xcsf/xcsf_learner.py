"""What XCSF needs to learn in a task, and the loop of learning that tables and environments share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError
from ifthen.randomness import stream
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.box import decode
from ifthen.rules.feature import bounds_type
from ifthen.rules.prediction_array import PredictionArrayRules
from ifthen.systems.learning import Goal
from ifthen.systems.records import Record
from ifthen.systems.xcsf.index import HELD, Learning, mark_members, new_space
from ifthen.systems.xcsf.xcsf_parameters import XCSFParameters, kernel_reach, kernel_settings
from ifthen.systems.xcsf.xcsf_population import Classifiers, Population, packed, unpacked
from ifthen.tasks.task import Task

T = TypeVar("T", bound=Task)
Places = tuple[Any, Floats, NDArray[np.uint64], Floats]
PIECE = 100_000  # steps between two looks at the signals of users who want to stop
PATIENCE = 200_000  # steps without a GA invocation, per step of θ_GA, after which there will be none


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
    def places(self) -> Places:
        """Where rules meet states (`Dynamics`, or fresh `Live` rows), then inputs, up_to, live of `Space`."""

    @abstractmethod
    def run(self, learning: Learning, invocations: int, steps: int, episodes: int) -> None:
        """Learn up to a total of GA invocations, steps or finished episodes, or less far."""

    @abstractmethod
    def measures(self, learning: Learning, population: Population) -> Record:
        """Return how well rules do that have just learnt, given what they learnt with."""

    @abstractmethod
    def nothing_learnt(self) -> Record:
        """Return what an empty population measures."""

    @abstractmethod
    def wrong_action_set(self, population: Population) -> str | None:
        """Return what is wrong with the action set that waits for its payoff, if anything."""

    def learning(self, classifiers: Classifiers, held: Mask) -> Learning:
        """Return all that a step of learning needs; `held` is the set that waits for its payoff."""
        model, inputs, up_to, live = self.places
        if self.parameters.prediction == "constant":
            model = model._replace(axes=())  # the weights of features stay 0, so that none is read
        by_box, n_actions = self.parameters.equality == "box", self.task.n_actions
        space = new_space(classifiers, held, by_box, inputs, up_to, live, self.reach.lows, n_actions)
        return Learning(model, classifiers, space, self.settings, self.reach)

    def learn(self, population: Population, invocations: int, goal: Goal) -> tuple[Population, Record]:
        """Learn up to a total number of GA invocations, or until the goal; return what was measured too."""
        parameters, max_steps, max_episodes = self.parameters, goal.limit("steps"), goal.limit("episodes")
        assert parameters.pop_limit is not None
        classifiers = unpacked(population, parameters.pop_limit)
        patience = PATIENCE * max(1, parameters.theta_ga)
        learning, clock = self.learning(classifiers, population.held), classifiers.clock[0]
        last_ga_step, last_ga_count = int(clock["steps"]), int(clock["ga_invocations"])
        while clock["ga_invocations"] < invocations and clock["steps"] < max_steps:
            if clock["state"] < 0 and clock["episodes"] >= max_episodes:
                break
            self.run(learning, invocations, min(max_steps, int(clock["steps"]) + PIECE), max_episodes)
            if clock["ga_invocations"] > last_ga_count:
                last_ga_step, last_ga_count = int(clock["steps"]), int(clock["ga_invocations"])
            elif goal.unit == "epochs" and clock["steps"] - last_ga_step > patience:
                raise ParameterError(
                    f"there was no GA invocation in {clock['steps'] - last_ga_step:,} steps, so the epoch "
                    "would not end: rules come and go too fast to get old. Give a larger pop_limit or r0, or "
                    "a smaller theta_ga."
                )
        following = packed(classifiers)
        mark_members(learning.space.sets, HELD, following.held)
        return following, self.measures(learning, following)

    def shares(self, bounds: NDArray[Any]) -> Floats:
        """Return the share of the feature space that each box matches, `(slots,)`."""
        inclusive = np.where(self.reach.real, 0.0, 1.0)  # values of an integer feature are counted
        lengths = np.abs(bounds[:, :, 0] - bounds[:, :, 1]) + inclusive
        ranges = self.reach.highs - self.reach.lows + inclusive
        shares = np.where(ranges > 0, lengths / np.where(ranges > 0, ranges, 1), 1.0)
        product: Floats = shares.prod(axis=1)
        return product

    def raw(self, weights: Floats) -> Floats:
        """Return weights as rulesets have them: of the features as they are."""
        return weights

    def ruleset(self, population: Population) -> PredictionArrayRules:
        """Return all rules (macroclassifiers) of a population that has some."""
        rules, task = population.numerosity > 0, self.task
        return PredictionArrayRules(
            # Conditions of XCSF never wrap, whatever the order of their bounds.
            decode(population.bounds[rules]).astype(bounds_type(task.features)),
            population.action[rules],
            task.features,
            task.action_names,
            self.raw(population.weights)[rules],
            population.fitness[rules],
            population.error[rules],
            population.numerosity[rules],
            population.experience[rules],
            self.parameters.x0,
        )
