"""Stress: a policy under disturbances of growing strength, on the same test seeds.

Each disturbance is swept alone. Every strength plays the same reset seeds and meets the same random draws, so
that differences come from the strength. On a table nothing is played: all numbers are exact.

The share kept of a mean return is 1 for the undisturbed policy and 0 for random actions. Longer episodes have
longer scales: see `requirement.lengthened`. A longer limit under which no episode got longer tries nothing,
so that nothing is said to hold there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ifthen.digits import NOTHING, in_units, interval_in_words, percent, plural
from ifthen.environments.make import TaskLike
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.robustness.requirement import (
    HALFWAY_IN_WORDS,
    Demands,
    Limits,
    ReturnScale,
    lengthened,
    parse,
    required,
)
from ifthen.robustness.strengths import Strengths, planned
from ifthen.robustness.sweep import Level, Sweep
from ifthen.rules.ruleset import PolicyLike
from ifthen.simulate.disturbed_table import TooLargeError
from ifthen.simulate.evaluate import policy_tester, simulator_of, with_task
from ifthen.simulate.simulator import Evaluation, checked_ruleset
from ifthen.tasks.disturbance import in_words
from ifthen.text_table import TextTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EQUAL = 1e-9
"""Numbers that differ by less than this share count as equal, because floats are rounded."""


@dataclass(frozen=True, eq=False, repr=False)
class Stress(Shown):
    """How a policy does under disturbances.

    Args:
        task: the task's name.
        episodes: how many test seeds were played for every strength; 0 on a table, where all is exact.
        undisturbed: the policy without disturbances.
        random: the mean return of random actions.
        requirement: what must hold, in words.
        fail_below: the return below which an episode fails.
        sweeps: one per disturbance.
        trained_with: the disturbances that the policy was trained with, in words.
        asked: whether the requirement was asked for; otherwise it is the usual threshold.
        seeds: the first and the last test seed that was played; None on a table.
    """

    task: str
    episodes: int
    undisturbed: Level
    random: float
    requirement: str
    fail_below: float
    sweeps: tuple[Sweep, ...]
    trained_with: str = ""
    asked: bool = False
    seeds: tuple[int, int] | None = None

    @property
    def holds(self) -> bool:
        """Whether the requirement holds as measured in every strength that was tried, and undisturbed.

        What is undecided counts by its mean.
        """
        levels = (level for sweep in self.sweeps for level in sweep.levels)
        return self.undisturbed.holds is True and all(level.holds is not False for level in levels)

    @property
    def threshold(self) -> str:
        """What must hold, in words, and where that comes from."""
        if self.asked:
            return f"Required: {self.requirement}."
        return f"Threshold: {self.requirement} ({HALFWAY_IN_WORDS}), as no return was required."

    @property
    def failure(self) -> str:
        """When an episode fails, in words; empty where no episodes were played."""
        return (
            "" if self.undisturbed.failed is None else f" An episode fails below {in_units(self.fail_below)}."
        )

    def text_table(self) -> TextTable:
        """Return one row per strength, and what was required and found below."""
        reference = self.undisturbed.performance
        rows = [_row("none", "", self.undisturbed, reference)]
        for sweep in self.sweeps:
            rows += [_row(sweep.title, level.shown, level, reference) for level in sweep.levels]
        headings = "disturbance", "strength", "mean return", "95 % interval", "failed", "kept", "verdict"
        title = f"{self.task} under disturbances, each alone" + (
            f", {self.episodes:,} test seeds" if self.episodes else ", exact"
        )
        table = TextTable(title, headings, tuple(rows), tuple(self.notes()))
        return table.without_empty(["", NOTHING])

    def notes(self) -> Iterator[str]:
        """Yield what was played and required, what was found for each disturbance, and what numbers mean."""
        yield from self.conditions()
        yield from (f"{sweep.title}: {sweep.found}." for sweep in self.sweeps if sweep.found)
        yield from self.remarks()

    def conditions(self) -> Iterator[str]:
        """Yield what was played, and what was required."""
        if self.seeds is not None:
            first, last = self.seeds
            episodes = plural(self.episodes, "episode")
            yield f"Every strength was played in {episodes}, from the same test seeds {first:,} to {last:,}."
        if self.trained_with:
            yield f"Each disturbance is alone, without the {self.trained_with} of training."
        yield self.threshold + self.failure
        if not self.undisturbed.holds:
            yield "It does not hold undisturbed."
        if math.isnan(self.undisturbed.kept) and self.undisturbed.performance is not None:
            yield "Undisturbed, the policy is no better than random actions."

    def remarks(self) -> Iterator[str]:
        """Yield what the numbers mean, and what was not tried."""
        levels = (self.undisturbed, *(level for sweep in self.sweeps for level in sweep.levels))
        if any(level.verdict == "undecided" for level in levels):
            yield "Undecided: the 95 % interval contains the least mean return. More episodes would tell."
        yield from (f"Not tried: {sweep.not_tried}." for sweep in self.sweeps if sweep.not_tried)
        yield (
            f"Kept: 0% is random actions ({in_units(self.random, 100)}), 100% the undisturbed policy. For "
            "longer episodes what is required grows with what the policy would get if it went on as before."
        )
        if any(level.failed is None and level.performance is not None for level in levels):
            yield (
                "Where no share of failed episodes is given, it could not be worked out: a requirement of it "
                "is not met there."
            )
        if not self.episodes:
            yield (
                "All numbers are exact: expected over all starts and chances, in episodes of at most t_max "
                "steps. Nothing is sampled."
            )
        delayed, action_delayed = (
            [
                (level.strength, level.performance)
                for sweep in self.sweeps
                if sweep.name == name
                for level in sweep.levels
            ]
            for name in ("delay", "action_delay")
        )
        if delayed and delayed == action_delayed:
            yield (
                "delay and action_delay are the same to these rules: without memory, a late reading and a "
                "late action have the same effect."
            )

    def shown_parts(self) -> list[Part]:
        """Return the table."""
        return [self.text_table()]

    def _repr_html_(self) -> str:
        from ifthen.robustness.heat_map import svg

        return f"{svg(self)}\n{super()._repr_html_()}"

    def figure(self) -> Figure:
        """Draw the heat map: one row per disturbance, one cell per strength."""
        from ifthen.robustness.heat_map import heat_map

        return heat_map(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; numbers that do not exist are left out."""
        plain: dict[str, Any] = asdict(self)
        plain["holds"] = self.holds
        for sweep_data, sweep in zip(plain["sweeps"], self.sweeps, strict=True):
            sweep_data |= {"breaks": list(sweep.breaks), "words": sweep.words}
            for level_data, level in zip(sweep_data["levels"], sweep.levels, strict=True):
                level_data["verdict"] = level.verdict
        plain["undisturbed"]["verdict"] = self.undisturbed.verdict
        present: dict[str, Any] = _without_nothing(plain)
        return present


def _row(name: str, strength: str, level: Level, reference: float | None) -> tuple[str, ...]:
    """Return the cells of one strength, with as many digits as the number `reference` has."""
    if level.untried:
        return name, strength, *[NOTHING] * 4, "not tried"
    if level.performance is None:
        mean, ends = "no return", "a state without a rule"
    else:
        mean = in_units(level.performance, reference)
        ends = interval_in_words(level.interval, level.performance if reference is None else reference)
    failed = NOTHING if level.failed is None else percent(level.failed)
    kept = NOTHING if math.isnan(level.kept) else percent(max(0.0, level.kept))
    return name, strength, mean, ends, failed, kept, level.verdict


def _without_nothing(value: Any) -> Any:
    """Return plain data without None and NaN."""
    if isinstance(value, dict):
        items = {key: _without_nothing(item) for key, item in value.items()}
        return {
            key: item
            for key, item in items.items()
            if item is not None and not (isinstance(item, float) and item != item)
        }
    return [_without_nothing(item) for item in value] if isinstance(value, (list, tuple)) else value


def stress(
    policy: PolicyLike,
    task: TaskLike | None = None,
    disturb: Mapping[str, Strengths] | Sequence[str] | None = None,
    vary: Mapping[str, Strengths] | None = None,
    episodes: int = 100,
    require: str = "",
    fail_below: float | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Stress:
    """Play a policy under disturbances of growing strength.

    Args:
        policy: a RuleSet or a trained system.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None. Disturbances
            that it was trained with are left out.
        disturb: the disturbances to sweep (`ifthen.tasks.disturbance`, and t_max), each with its strengths;
            all that apply to the task where None.
        vary: parameters of the environment to sweep as well, each with its values: "unwrapped.NAME" is an
            attribute, "options.NAME" an option of making it. An attribute is set after the environment was
            made: what the environment derived from it before stays.
        episodes: how many test seeds to play for every strength, in an environment.
        require: what must hold, such as "performance>=400, failed<=5%". Where nothing is said, the mean
            return must be halfway between random actions and the undisturbed policy.
        fail_below: the return below which an episode fails; the required performance where None.
        threads: how many threads to use, all cores where None; results do not depend on it.
        progress: called with the name of every disturbance before it is played.
    """
    policy, task = with_task(policy, task)
    base, ruleset = task.undisturbed, checked_ruleset(policy, task)
    demands, plan = parse(require, fail_below), planned(base, disturb, vary)
    workers = checked_threads(threads)
    undisturbed = policy_tester(base, threads=workers).tested(ruleset, episodes)
    random = simulator_of(base, threads=workers).random_performance(episodes)
    scale = ReturnScale(random, undisturbed.performance)
    limits = required(demands, scale)
    nominal = {name: base.nominal(name) if "." in name else None for name in plan}
    sweeps = []
    for name, strengths in plan.items():
        if progress is not None:
            progress(name)
        levels = []
        for strength in strengths:
            tester = policy_tester(base, name, strength, workers)
            try:
                disturbed = tester.tested(ruleset, episodes)
            except TooLargeError as problem:
                levels.append(_not_tried(strength, limits, str(problem)))
                continue
            factor = tester.task.t_max / base.t_max
            untried = _untried(undisturbed, disturbed) if factor > 1 else ""
            grows = base.gamma == 1 and factor != 1 and not untried
            longer_scale = lengthened(scale, undisturbed, factor) if grows else scale
            levels.append(_level(strength, disturbed, longer_scale, limits.on(scale, longer_scale), untried))
        sweeps.append(Sweep(name, tuple(levels), nominal[name]))
    trained = in_words(task.disturbances)
    count = 0 if undisturbed.method == "exact" else episodes
    level = _level(0.0, undisturbed, scale, limits)
    seeds = (
        None if undisturbed.seeds is None else (int(undisturbed.seeds.min()), int(undisturbed.seeds.max()))
    )
    return Stress(
        base.name,
        count,
        level,
        scale.zero,
        str(limits),
        limits.fail_below,
        tuple(sweeps),
        trained,
        demands != Demands(),
        seeds,
    )


def _untried(usual: Evaluation, longer: Evaluation) -> str:
    """Return why a longer limit tried nothing; "" where an episode got longer.

    Args:
        usual: episodes with the usual limit.
        longer: the same with the longer one.
    """
    if usual.longest is None or longer.longest is None:  # a table, where only t_max cuts episodes
        return "" if usual.truncated_share else "no episode reaches the usual limit"
    if longer.longest > usual.longest:
        return ""
    if longer.truncated_share:
        return f"the environment itself ends episodes at step {longer.longest:,}"
    return f"every episode ends before the usual limit, at step {longer.longest:,} at the latest"


def _not_tried(strength: float, limits: Limits, why: str) -> Level:
    """Return a strength that was not tried."""
    return Level(strength, None, None, None, math.nan, limits.performance, None, None, why)


def _level(
    strength: float, evaluation: Evaluation, scale: ReturnScale, limits: Limits, untried: str = ""
) -> Level:
    """Return what was found at one strength."""
    failed = evaluation.failed_share
    if evaluation.returns is not None:
        below = evaluation.returns < limits.fail_below - EQUAL * max(1.0, abs(limits.fail_below))
        failed = max(failed or 0.0, float(np.average(below, weights=evaluation.chances)))
    enough = not evaluation.failed and evaluation.performance >= limits.performance - EQUAL * abs(
        limits.performance
    )
    few_failed = limits.failed is None or (failed is not None and failed <= limits.failed + EQUAL)
    return Level(
        strength=strength,
        performance=None if evaluation.failed else evaluation.performance,
        interval=evaluation.interval,
        failed=failed,
        kept=math.nan if evaluation.failed else scale.share(evaluation.performance),
        required=limits.performance,
        holds=None if untried else enough and few_failed,
        mean_steps=evaluation.mean_steps,
        untried=untried,
        few_failed=few_failed,
    )
