"""When to give up waiting for the GA."""

from __future__ import annotations

from ifthen.errors import ParameterError
from ifthen.systems.base import Goal
from ifthen.systems.xcsf.parameters import XCSFParameters
from ifthen.systems.xcsf.population import Classifiers

PATIENCE = 200_000  # steps without a GA invocation, per step of θ_GA, after which there will be none


class Patience:
    """Watches a population that learns, and raises where its epoch would not end.

    Args:
        classifiers: the population.
        parameters: the parameters, filled.
        goal: where learning is to stop.
    """

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
