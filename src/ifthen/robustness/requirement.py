"""What a policy must still do while it is disturbed: a mean return, and a share of failed episodes.

An episode fails if its return is below a number. By default this number is halfway between random actions and
the undisturbed policy, and the mean return must reach it, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ifthen.digits import in_units, percent
from ifthen.errors import ParameterError
from ifthen.simulate.simulator import Evaluation

HALFWAY = 0.5
"""By default an episode fails below this point between random actions (0) and the undisturbed policy (1)."""
HALFWAY_IN_WORDS = "halfway between random actions and the undisturbed policy"
DEMAND = re.compile(r"(performance|failed)\s*(>=|<=)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(%?)")


class Demands(NamedTuple):
    """What a user requires; None where nothing is said."""

    performance: float | None = None
    """The least mean return."""
    failed: float | None = None
    """The largest share of failed episodes."""
    fail_below: float | None = None
    """The return below which an episode fails."""


def parse(text: str, fail_below: float | None = None) -> Demands:
    """Return the requirements in a text such as "performance>=400, failed<=5%".

    Args:
        text: one or both requirements, separated by commas; "" for none.
        fail_below: the return below which an episode fails; None for the least performance required.
    """
    demands: dict[str, float] = {}
    for demand in filter(None, (piece.strip() for piece in text.split(","))):
        match = DEMAND.fullmatch(demand)
        name, operator = (match[1], match[2]) if match else ("", "")
        if match is None or operator != {"performance": ">=", "failed": "<="}[name]:
            raise ParameterError(
                f"cannot require {demand!r} of a disturbed policy: 'performance>=400' and 'failed<=5%' are "
                "understood. On a command line put them into quotes."
            )
        demands[name] = float(match[3]) / (100 if match[4] else 1)
    if not 0 <= demands.get("failed", 0.0) <= 1:
        raise ParameterError(f"failed must be a share from 0 to 1, such as 'failed<=0.05', not {text!r}.")
    return Demands(demands.get("performance"), demands.get("failed"), fail_below)


class ReturnScale(NamedTuple):
    """What returns are worth: 0 for those of random actions, 1 for those of the undisturbed policy."""

    zero: float
    """The mean return of random actions."""
    one: float
    """The mean return of the undisturbed policy, in as many steps."""

    def share(self, value: float) -> float:
        """Return where a return lies, from 0 to 1; NaN where the policy is no better than random actions."""
        return (value - self.zero) / (self.one - self.zero) if self.one > self.zero else float("nan")

    def value(self, share: float) -> float:
        """Return the return at a share."""
        return self.zero + share * (self.one - self.zero)

    def moved(self, value: float, other: ReturnScale) -> float:
        """Return what a return here is worth on another scale."""
        share = self.share(value)
        return value if share != share else other.value(share)


def lengthened(scale: ReturnScale, undisturbed: Evaluation, factor: float) -> ReturnScale:
    """Return the scale of episodes that may last `factor` times as long.

    Episodes that reached the limit are taken to go on at the same reward per step.
    """
    return scale._replace(one=scale.one * (1 + undisturbed.truncated_share * (factor - 1)))


class Limits(NamedTuple):
    """What must hold in one setting."""

    performance: float
    """The least mean return."""
    failed: float | None
    """The largest share of failed episodes; None for any."""
    fail_below: float
    """The return below which an episode fails."""

    def on(self, scale: ReturnScale, other: ReturnScale) -> Limits:
        """Return the same requirement for longer episodes, whose returns have another scale."""
        moved = (scale.moved(value, other) for value in (self.performance, self.fail_below))
        performance, fail_below = moved
        return Limits(performance, self.failed, fail_below)

    def __str__(self) -> str:
        most = "" if self.failed is None else f" and at most {percent(self.failed)} failed episodes"
        return f"a mean return of at least {in_units(self.performance)}{most}"


def required(demands: Demands, scale: ReturnScale) -> Limits:
    """Return what must hold, given what a user says and how returns are scaled."""
    least = demands.performance
    if least is None:
        halfway = scale.value(HALFWAY) if scale.one > scale.zero else scale.one
        least = halfway if demands.fail_below is None else demands.fail_below
    return Limits(least, demands.failed, least if demands.fail_below is None else demands.fail_below)
