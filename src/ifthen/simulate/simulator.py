"""What a simulator is: it plays rules in one task, and owns every cache that doing so needs.

There is one for tables, one for compiled twins, one for vector environments and one that spreads those over
worker processes. `ifthen.simulate.evaluate` decides which one a task gets; nobody else asks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.digits import in_units, interval_in_words, plural
from ifthen.errors import TaskError
from ifthen.notebook import Part, Shown
from ifthen.rules.batch import RuleBatch
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.bids import Bidding, Bids
from ifthen.simulate.trajectories import Trajectory
from ifthen.tasks.task import Method, Noise, Task
from ifthen.text_table import TextTable

HEATS = (1 / 8, 1 / 4, 1 / 2, 1.0)
LEVEL = 0.95
"""How sure the interval of a mean is."""
FEW = 10
"""With fewer episodes than this, the mean may well lie beyond all returns seen."""
Seeds = ArrayLike | Literal["training"]
"""Reset seeds to play from in an environment, or the word for those of training."""


class Budget(NamedTuple):
    """Which episodes of z a generation is measured on: all of them, or fewer to save time.

    Three ways to spend less, alone or together:
    - windows (incremental learning with alternating strata, ILAS: Bacardit and Garrell 2003): z is cut into
      windows, and each generation is measured on one of them, in turn;
    - growing: the first generations are measured on a few episodes, and their number doubles now and then;
    - racing: after an eighth, a quarter and half of the episodes only the better half goes on.

    The fittest ruleset of each generation is measured on all of z for the history, whatever was spent on it.
    """

    windows: int = 1
    """Windows of z."""
    first_episodes: int | None = None
    """Episodes of the first generations; all where None."""
    double_every: int = 10
    """Generations after which that number doubles."""
    racing: bool = False
    """Whether the worse half stops early."""

    @property
    def saves(self) -> bool:
        """Whether anything is saved at all."""
        return self != Budget(double_every=self.double_every)

    def heats(self, epoch: int, episodes: int) -> list[NDArray[np.int64]]:
        """Return which of z's `episodes` an epoch plays: before each heat but the first, half drop out."""
        window = np.arange(epoch % self.windows, episodes, self.windows)
        if self.first_episodes is not None:
            doubled = min(epoch // self.double_every, 60)
            window = window[: self.first_episodes << doubled]
        ends = [int(np.ceil(share * len(window))) for share in HEATS] if self.racing else [len(window)]
        starts = [0, *ends[:-1]]
        return [window[first:last] for first, last in zip(starts, ends, strict=True) if last > first]


Choose = Callable[[NDArray[np.float64]], NDArray[np.int64]]
"""A policy as a function: feature vectors `(m, features)` in, actions `(m,)` out, −1 for none."""


@dataclass(frozen=True)
class Measured:
    """What was measured of n rulesets, each `(n,)`."""

    performance: NDArray[np.float64]
    """Mean return; the task's floor where a state without a rule was reached."""
    episodes: NDArray[np.int64]
    """Episodes behind the mean, played now or remembered."""
    steps: NDArray[np.int64]
    """Steps of these episodes."""
    truncated: NDArray[np.int64]
    """Episodes that reached t_max."""
    failed: NDArray[np.bool_]
    """Whether a state without a rule was reached."""
    counted: NDArray[np.bool_]
    """Whether the ruleset enters the population's mean and median."""


class Reinforcement(NamedTuple):
    """How the rules of a batch learn from rollouts (paper, section "PPL-ST")."""

    key: np.uint64
    """The stream that start states and noise are drawn from."""
    learners: int
    """The first rulesets of the batch learn; the others stay as they are."""
    rollouts: int
    """Rollouts per ruleset, each acted by what was learnt from those before."""
    eta: float
    """The learning rate η."""
    paper_payoff: bool
    """Whether payoffs follow the paper's formula rather than the discounted return."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Shown):
    """How well a policy does in a task. Fields that do not apply to the task are None, and are not shown.

    Args:
        performance: the mean return; the task's floor where a state without a rule was reached.
        method: "sampled" or "exact".
        episodes: episodes played; 0 for exact.
        steps: steps played; 0 for exact.
        truncated_share: share of episodes that reached t_max; 0 for exact.
        failed: whether a state without a rule can be reached (exact) or was reached.
        noise: how the common random numbers were used, where a table was sampled.
        optimum: the performance of an optimal policy, measured the same way, where it is known.
        fraction: performance as a fraction of the optimum, where returns cannot be negative.
        uncovered: feature vectors of the decision states with no matching rule, where states are listed.
        failed_share: share of episodes that reached a state without a rule.
        deviation: the sample standard deviation of returns; NaN for a single episode.
        least: the smallest return.
        most: the largest return.
        returns: the return of each episode, `(episodes,)`.
        seeds: the reset seed of each episode, `(episodes,)`.
    """

    performance: float
    method: Method
    episodes: int
    steps: int
    truncated_share: float
    failed: bool
    noise: Noise | None = None
    optimum: float | None = None
    fraction: float | None = None
    uncovered: tuple[tuple[int, ...], ...] | None = None
    failed_share: float | None = None
    deviation: float | None = None
    least: float | None = None
    most: float | None = None
    returns: NDArray[np.float64] | None = field(default=None, repr=False)
    seeds: NDArray[np.int64] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return ", ".join(f"{name} {text}" if name else text for name, text in self._said())

    def shown_parts(self) -> list[Part]:
        """Return what was measured, one row each."""
        return [TextTable("", ("", ""), tuple((name or "how", text) for name, text in self._said()))]

    def _said(self) -> Iterator[tuple[str, str]]:
        """Yield names and numbers of what applies, in words."""
        yield (
            "performance",
            "no return: a state without a rule" if self.failed else in_units(self.performance),
        )
        if self.optimum is not None:
            share = "" if self.fraction is None else f" ({self.fraction:.1%} of it reached)"
            yield "optimum", in_units(self.optimum) + share
        if self.interval is not None:
            yield "95 % interval", interval_in_words(self.interval, self.performance)
        if self.deviation is not None:
            yield "standard deviation", in_units(self.deviation)
        if self.least is not None and self.most is not None:
            yield "returns", f"{in_units(self.least)} to {in_units(self.most)}"
        played = f"{plural(self.episodes, 'episode')} of {plural(self.steps, 'step')} in all"
        mean = "" if self.mean_steps is None else f", {self.mean_steps:.4g} on average"
        yield "", "exact" if self.method == "exact" else played + mean
        if self.truncated_share:
            yield "truncated", f"{self.truncated_share:.1%}"
        if self.failed_share:
            yield "reached a state with no rule", f"{self.failed_share:.1%}"
        if self.uncovered:
            yield "states with no rule", f"{len(self.uncovered):,}"

    def to_dict(self) -> dict[str, Any]:
        """Return what applies as plain data."""
        plain = {**vars(self), "interval": self.interval, "mean_steps": self.mean_steps}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in plain.items()
            if value is not None and not (isinstance(value, float) and math.isnan(value))
        }

    @property
    def mean_steps(self) -> float | None:
        """The mean number of steps of an episode, truncated ones included.

        None where none was played, and in a table where a state without a rule was reached.
        """
        return self.steps / self.episodes if self.episodes and self.steps else None

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the mean return over all episodes that the task could begin with.

        By Student's t: mean ± t·s/√n. Ends beyond all returns seen are cut to these, from 10 episodes on. It
        is rough where a few returns are far from the others. None for exact values, for a table's z, for one
        episode, and where a state without a rule was reached, as there is no mean return then.
        """
        if self.returns is None or len(self.returns) < 2 or self.failed:
            return None
        from scipy.special import stdtrit  # type: ignore[import-untyped]  # scipy has no stubs

        n, mean = len(self.returns), float(self.returns.mean())
        far = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * deviation_of(self.returns) / math.sqrt(n)
        low, high = mean - far, mean + far
        if n >= FEW:
            low, high = max(low, float(self.returns.min())), min(high, float(self.returns.max()))
        return low, high


class Simulator(ABC):
    """Plays rules in a task.

    Args:
        task: the task.
        threads: how many threads or worker processes to use; results do not depend on it.
    """

    cheap: ClassVar[bool] = True
    """Whether steps cost next to nothing: then callers play more instead of choosing what to play."""

    def __init__(self, task: Task, threads: int) -> None:
        self.task, self.threads = task, threads

    @abstractmethod
    def fitness(self, rules: RuleBatch, epoch: int) -> Measured:
        """Measure the rulesets of a population, on the episodes that an epoch may spend."""

    @abstractmethod
    def measures(self, rules: RuleBatch, best: int) -> dict[str, float]:
        """Return the columns of the history that tell how well one ruleset of the batch does."""

    @abstractmethod
    def ruleset_measures(self, ruleset: RuleSet) -> dict[str, float]:
        """Return the columns of the history that tell how well a ruleset of any kind does."""

    @abstractmethod
    def reinforce(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let rules learn from rollouts: `rules.learnt` changes. Return the steps taken."""

    @abstractmethod
    def play_bids(self, rules: RuleBatch, lesson: Bidding) -> Bids:
        """Let plans play by bids, each its own episodes, and learn: `rules.learnt` changes."""

    @abstractmethod
    def evaluate(self, policy: Any, seeds: Seeds | None = None) -> Evaluation:
        """Measure one policy: a RuleSet or, on tables, the action in every state `(S,)`.

        Args:
            policy: the policy.
            seeds: reset seeds to play from in an environment; 100 test seeds where None.
        """

    @abstractmethod
    def headline(self, policy: Any, episodes: int) -> dict[str, Evaluation]:
        """Return the measures that people want to see, by what they are called: the most honest one first.

        Args:
            policy: as in `evaluate`.
            episodes: how many test seeds to play in an environment.
        """

    @abstractmethod
    def held_out(self, ruleset: RuleSet, episodes: int) -> float:
        """Return the performance where nothing is learnt and no final score is taken.

        Args:
            ruleset: the rules.
            episodes: how many episodes to play; not used where the measure is exact.
        """

    @abstractmethod
    def episodes(self, policy: Any, seeds: ArrayLike | None = None) -> Sequence[Trajectory]:
        """Play one policy and return its episodes step by step.

        Args:
            policy: as in `evaluate`.
            seeds: reset seeds or, on tables, numbers of training episodes; all training episodes where None.
        """


def checked_ruleset(policy: Any, task: Task) -> RuleSet:
    """Return the ruleset of a policy, or raise where its features or actions are not the task's."""
    ruleset = getattr(policy, "ruleset", policy)
    if not isinstance(ruleset, RuleSet):
        raise TaskError(f"a policy in {task.name} must be a RuleSet or a trained system, not {policy!r}.")
    if ruleset.observed_features != task.features or ruleset.action_names != task.action_names:
        raise TaskError(
            f"the ruleset speaks of {described(ruleset)}, but task {task.name} has {described(task)}."
        )
    return ruleset


def described(owner: RuleSet | Task) -> str:
    """Return features and actions in short, for error messages."""
    features = ", ".join(f"{f.name} in [{f.low}, {f.high}]" for f in owner.features if not f.is_term)
    return f"{features} and actions {', '.join(owner.action_names)}"


def deviation_of(returns: NDArray[np.float64]) -> float:
    """Return the sample standard deviation; NaN for a single return."""
    return float(returns.std(ddof=1)) if len(returns) > 1 else math.nan
