"""One disturbance in several strengths, with a verdict on each: holds, broken or undecided.

Means of sampled returns are uncertain. Where the 95 % interval of the mean contains the required return, the
episodes played cannot tell on which side of it the policy is: that is undecided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ifthen.digits import percent
from ifthen.tasks.disturbance import DISTURBANCES

Verdict = Literal["holds", "undecided", "broken", "not tried"]
LONGER = "longer episodes"
"""How a sweep of t_max is called: longer episodes disturb nothing."""


@dataclass(frozen=True)
class Level:
    """One strength of a disturbance, and how the policy does.

    Args:
        strength: the strength, or the value of a parameter.
        performance: the mean return; None where a state without a rule was reached.
        interval: its 95 % interval; None where there is none.
        failed: the share of failed episodes; None where returns of episodes are not known.
        kept: the share kept, from 0 (random actions) to 1 (undisturbed); NaN where that says nothing.
        required: the least mean return that is required.
        holds: whether the requirement holds as measured; None where the strength was not tried.
        mean_steps: the mean number of steps of an episode.
        untried: why the strength was not tried, in words; "" where it was.
        few_failed: whether the share of failed episodes is as small as required.
    """

    strength: float
    performance: float | None
    interval: tuple[float, float] | None
    failed: float | None
    kept: float
    required: float
    holds: bool | None
    mean_steps: float | None
    untried: str = ""
    few_failed: bool = True

    @property
    def verdict(self) -> Verdict:
        """Whether the requirement holds, is broken, or whether the episodes played cannot tell."""
        if self.holds is None:
            return "not tried"
        low, high = self.interval or (self.required, self.required)
        if self.few_failed and low < self.required < high:
            return "undecided"
        return "holds" if self.holds else "broken"

    @property
    def shown(self) -> str:
        """The strength in words, such as 0.05 or 20,000."""
        return f"{self.strength:,.10g}"


@dataclass(frozen=True)
class Sweep:
    """One disturbance in several strengths.

    Args:
        name: of the disturbance.
        levels: in the order of strength.
        nominal: the value of a parameter as it is; None for a disturbance.
    """

    name: str
    levels: tuple[Level, ...]
    nominal: float | None = None

    @property
    def title(self) -> str:
        """How tables call it: by its name, and t_max by what it does."""
        return LONGER if self.name == "t_max" else self.name

    @property
    def sides(self) -> list[tuple[Level, ...]]:
        """The strengths in the order of distance from the task as it is: one side, or both of a parameter."""
        if self.nominal is None:
            return [self.levels]
        below = tuple(level for level in reversed(self.levels) if level.strength <= self.nominal)
        above = tuple(level for level in self.levels if level.strength > self.nominal)
        return [side for side in (below, above) if side]

    @property
    def breaks(self) -> tuple[float, ...]:
        """The first values at which the requirement is broken, on either side of a nominal value."""
        broken = [[level.strength for level in side if level.verdict == "broken"] for side in self.sides]
        return tuple(values[0] for values in broken if values)

    @property
    def withstood(self) -> bool:
        """Whether the requirement holds in every strength that was tried, of which there is at least one."""
        return {level.verdict for level in self.levels} - {"not tried"} == {"holds"}

    @property
    def not_tried(self) -> str:
        """The strengths that were not tried, and why, in words; "" where all were."""
        untried = [level for level in self.levels if level.untried]
        return f"{self.title} {listed_strengths(untried)}: {untried[0].untried}" if untried else ""

    @property
    def words(self) -> str:
        """What the strength of the disturbance is."""
        if self.name in DISTURBANCES:
            return DISTURBANCES[self.name].words
        if self.name == "t_max":
            return "t_max, the most steps of an episode"
        return "a parameter of the task" + ("" if self.nominal is None else f"; as it is, {self.nominal:g}")

    @property
    def found(self) -> str:
        """Where the requirement holds, is undecided and is broken, in words; "" where nothing was tried."""
        tried = [[level for level in side if level.holds is not None] for side in self.sides]
        return "; ".join(", ".join(_findings(side)) for side in tried if side)


def _findings(tried: Sequence[Level]) -> Iterator[str]:
    """Yield the last strength that holds, those undecided, the first broken, and the first with a failure."""
    first_broken = next((i for i, level in enumerate(tried) if level.verdict == "broken"), len(tried))
    holding = [level for level in tried[:first_broken] if level.verdict == "holds"]
    unsure = [level for level in tried[:first_broken] if level.verdict == "undecided"]
    if len(holding) == len(tried) > 1:
        yield f"holds at all strengths, {holding[0].shown} to {holding[-1].shown}"
    elif holding:
        yield f"holds at {holding[-1].shown}"
    if unsure:
        yield f"undecided at {listed_strengths(unsure)}"
    if first_broken < len(tried):
        yield f"broken at {tried[first_broken].shown}"
        if again := [level for level in tried[first_broken:] if level.verdict == "holds"]:
            yield f"holds again at {listed_strengths(again)}"
    failing = next((level for level in tried if level.failed), None)
    if failing is not None and failing.failed is not None:
        yield f"first failed episodes at {failing.shown} ({percent(failing.failed)})"


def listed_strengths(levels: Sequence[Level]) -> str:
    """Return strengths, separated by commas."""
    return ", ".join(level.shown for level in levels)
