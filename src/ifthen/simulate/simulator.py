"""What a simulator is: it plays rules in one task, and owns every cache that doing so needs.

There is one for tables and one for compiled twins, each also on a GPU, one for vector environments, and one
that spreads those over worker processes. `ifthen.simulate.evaluate` decides which one a task gets; nobody
else asks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ifthen.digits import at_most, counted_steps, in_units, interval_in_words, listed
from ifthen.errors import TaskError
from ifthen.notebook import Part, Shown
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.batch import RuleBatch
from ifthen.rules.ruleset import PolicyOrActions, RuleSet
from ifthen.simulate.bids import Bidding, Bids
from ifthen.simulate.trajectories import Trajectory
from ifthen.tasks.task import Method, Noise, Task
from ifthen.text_table import TextTable

if TYPE_CHECKING:
    from ifthen.simulate.env_simulator import EnvSimulator
    from ifthen.simulate.table_simulator import TableSimulator
    from ifthen.simulate.twin_simulator import TwinSimulator

HEATS = (1 / 8, 1 / 4, 1 / 2, 1.0)
LEVEL = 0.95
"""The confidence level of intervals of a mean."""
FEW = 10
"""With fewer episodes than this, intervals are not cut to the returns seen: the mean may lie beyond."""
Seeds = ArrayLike | Literal["training"]
"""Reset seeds to play from in an environment, or the word for those of training."""


Start = int | ArrayLike | Mapping[str, float] | None
"""A state by its number, by its features, or by these with their names; None to draw one."""


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
    """The number of windows that the training episodes are cut into."""
    first_episodes: int | None = None
    """The number of episodes of the first generations; all where None."""
    double_every: int = 10
    """The number of generations after which the number of episodes doubles."""
    racing: bool = False
    """Whether the worse half stops early."""

    @property
    def saves(self) -> bool:
        """Whether anything is saved at all."""
        return self != Budget(double_every=self.double_every)

    def heats(self, epoch: int, episodes: int) -> list[Ints]:
        """Return which of z's `episodes` an epoch plays: before each heat but the first, half drop out."""
        window = np.arange(epoch % self.windows, episodes, self.windows)
        if self.first_episodes is not None:
            doublings = min(epoch // self.double_every, 60)
            window = window[: self.first_episodes << doublings]
        ends = [int(np.ceil(share * len(window))) for share in HEATS] if self.racing else [len(window)]
        starts = [0, *ends[:-1]]
        return [window[first:last] for first, last in zip(starts, ends, strict=True) if last > first]


Choose = Callable[[Floats], Ints]
"""A policy as a function: feature vectors `(m, features)` in, actions `(m,)` out, −1 for none."""


@dataclass(frozen=True)
class Measured:
    """What was measured of n rulesets, each `(n,)`."""

    performance: Floats
    """Mean return; the task's floor where a state without a rule was reached."""
    episodes: Ints
    """Episodes behind the mean, played now or remembered."""
    steps: Ints
    """Steps of these episodes."""
    truncated: Ints
    """Episodes that reached t_max."""
    failed: Mask
    """Whether a state without a rule was reached."""
    counted: Mask
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
        longest: the number of steps of the longest episode, in an environment.
        returns: the return of each episode, `(episodes,)`; with `chances`, every return that can come.
        chances: how likely each return is, where that is exact.
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
    longest: int | None = None
    returns: Floats | None = field(default=None, repr=False)
    chances: Floats | None = field(default=None, repr=False)
    seeds: Ints | None = field(default=None, repr=False)

    def __str__(self) -> str:
        shown = [f"{name} {text}" for name, text in self.rows() if text]
        return ", ".join([*shown, "exact"] if self.method == "exact" else shown)

    def shown_parts(self) -> list[Part]:
        """Return what was measured, one row each."""
        return [TextTable("", ("", ""), tuple((name, text) for name, text in self.rows() if text))]

    def rows(self) -> list[tuple[str, str | None]]:
        """Return names and numbers in words, None or "" for what does not apply."""
        seeds, uncovered = self.seeds, self.uncovered
        return [
            ("performance", in_units(self.performance) + (" (the floor)" if self.failed else "")),
            ("95 % interval", interval_in_words(self.interval, self.performance)),
            ("episodes that get less", self.unseen and f"at most {self.unseen}, with 95 % confidence"),
            ("optimal policy", _units(self.optimum)),
            ("fraction of the optimum", _share(self.fraction)),
            ("standard deviation", _units(self.deviation)),
            ("least return", _units(self.least)),
            ("largest return", _units(self.most)),
            ("episodes", f"{self.episodes:,}" if self.episodes else None),
            ("reset seeds", None if seeds is None else f"{seeds.min():,} to {seeds.max():,}"),
            ("steps", f"{self.steps:,}" if self.steps else None),
            ("steps per episode", None if self.mean_steps is None else counted_steps(self.mean_steps)),
            ("truncated episodes", _share(self.truncated_share) if self.episodes else None),
            ("reached a state with no rule", _share(self.failed_share)),
            ("states with no rule", None if uncovered is None else f"{len(uncovered):,}"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what applies as plain data."""
        data = {**vars(self), "interval": self.interval, "mean_steps": self.mean_steps}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in data.items()
            if value is not None and not (isinstance(value, float) and math.isnan(value))
        }

    @property
    def mean_steps(self) -> float | None:
        """The mean number of steps of an episode, truncated ones included.

        None where none was played, and in a table where a state without a rule was reached.
        """
        return self.steps / self.episodes if self.episodes and self.steps else None

    @property
    def unseen(self) -> str:
        """The most episodes that may get less where all got the same, such as "3 %"; "" where they did not.

        It is the upper bound of a share of which none was seen (Clopper and Pearson 1934).
        """
        all_equal = self.interval is not None and self.interval[0] == self.interval[1]
        return at_most(unseen_share(self.episodes, LEVEL)) if all_equal else ""

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the mean return over all episodes that the task could begin with.

        By Student's t: mean ± t·s/√n. Ends beyond all returns seen are cut to these, from 10 episodes on. It
        is rough where a few returns are far from the others. None for exact values, for a table's z, for one
        episode, and where a state without a rule was reached, as there is no mean return then.
        """
        if self.returns is None or self.chances is not None or len(self.returns) < 2 or self.failed:
            return None
        mean, margin = float(self.returns.mean()), t_margin(self.returns, (1 + LEVEL) / 2)
        low, high = mean - margin, mean + margin
        if len(self.returns) >= FEW:
            low, high = max(low, float(self.returns.min())), min(high, float(self.returns.max()))
        return low, high


def _units(value: float | None) -> str | None:
    return None if value is None or value != value else in_units(value)


def _share(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


class InEnvironment(Protocol):
    """Something that learns at every step of an environment; `Simulator.let_learn` calls what fits."""

    def in_twin(self, simulator: TwinSimulator, *lesson: Any) -> None:
        """Learn in a compiled twin."""

    def in_lane(self, simulator: EnvSimulator, *lesson: Any) -> None:
        """Learn in the environment itself, step by step."""


class Anywhere(InEnvironment, Protocol):
    """Something that learns at every step, also of a table."""

    def in_table(self, simulator: TableSimulator, *lesson: Any) -> None:
        """Learn in a table."""


class Tester(Protocol):
    """Measures policies on what they were not learnt from, in episodes of at most t_max steps."""

    @property
    def task(self) -> Task:
        """The task."""

    def tested(self, policy: PolicyOrActions, episodes: int) -> Evaluation:
        """Return how a policy does, in an environment on so many test seeds."""


class Simulator(ABC):
    """Plays rules in a task.

    Args:
        task: the task.
        threads: how many threads or worker processes to use; results do not depend on it.
    """

    is_compiled: ClassVar[bool] = True
    """Whether its own steps are compiled. Results must not depend on it: ask `is_cheap` of a task instead."""

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
    def let_learn(self, learner: Anywhere, *lesson: object) -> None:
        """Let something learn that learns at every step, in the way that suits this simulator.

        Args:
            learner: what learns; one of its methods is called with the simulator and the lesson.
            lesson: whatever it needs to know.
        """

    @abstractmethod
    def play_bids(self, rules: RuleBatch, lesson: Bidding) -> Bids:
        """Let plans play by bids, each its own episodes, and learn: `rules.learnt` changes."""

    @abstractmethod
    def evaluate(self, policy: PolicyOrActions, seeds: Seeds | None = None) -> Evaluation:
        """Measure one policy: a RuleSet or, on tables, the action in every state `(S,)`.

        Args:
            policy: the policy.
            seeds: reset seeds to play from in an environment; 100 test seeds where None.
        """

    @abstractmethod
    def headline(self, policy: PolicyOrActions, episodes: int) -> dict[str, Evaluation]:
        """Return the measures that people want to see, by what they are called: the most honest one first.

        Args:
            policy: as in `evaluate`.
            episodes: how many test seeds to play in an environment.
        """

    @abstractmethod
    def random_performance(self, episodes: int) -> float:
        """Return the performance of random actions: played from test seeds, or exact in t_max steps."""

    @abstractmethod
    def held_out(self, ruleset: RuleSet, episodes: int) -> float:
        """Return the performance where nothing is learnt and no final score is taken.

        Args:
            ruleset: the rules.
            episodes: how many episodes to play; not used where the measure is exact.
        """

    @abstractmethod
    def one_episode(
        self, policy: PolicyOrActions, seed: int, start: Start = None, episode: int | None = None
    ) -> tuple[Trajectory, int | None]:
        """Play one episode; return it step by step, with its reset seed where it has one.

        Args:
            policy: as in `evaluate`.
            seed: the reset seed or, on tables, the seed of the noise and of a start that is drawn.
            start: on tables, the state to start in.
            episode: replay this training episode, from 0, instead.
        """

    @abstractmethod
    def episodes(self, policy: PolicyOrActions, seeds: ArrayLike | None = None) -> Sequence[Trajectory]:
        """Play one policy and return its episodes step by step.

        Args:
            policy: as in `evaluate`.
            seeds: reset seeds or, on tables, numbers of training episodes; all training episodes where None.
        """


def checked_ruleset(policy: object, task: Task) -> RuleSet:
    """Return the ruleset of a policy, or raise where its features or actions are not the task's."""
    ruleset = getattr(policy, "ruleset", policy)
    if not isinstance(ruleset, RuleSet):
        raise TaskError(f"a policy in {task.name} must be a RuleSet or a trained system, not {policy!r}.")
    if ruleset.observed_features != task.features or ruleset.action_names != task.action_names:
        raise TaskError(
            f"the ruleset speaks of {described(ruleset, task)}, but task {task.name} has "
            f"{described(task, ruleset)}. Give the task that the rules are for. A task of an environment of "
            "your own needs the same names and ranges: feature_names, action_names and ranges of env_task."
        )
    return ruleset


def described(owner: RuleSet | Task, other: RuleSet | Task) -> str:
    """Return features and actions in short, for error messages: those features first that the other lacks."""
    other_features = set(other.features)
    ordered = sorted((f for f in owner.features if not f.is_term), key=lambda f: f in other_features)
    features = [f"{f.name} in [{f.low}, {f.high}]{f' {f.unit}' if f.unit else ''}" for f in ordered]
    return f"{listed(features)} and actions {listed(owner.action_names)}"


def deviation_of(returns: Floats) -> float:
    """Return the sample standard deviation; NaN for a single return."""
    return float(returns.std(ddof=1)) if len(returns) > 1 else math.nan


def unseen_share(n: int, confidence: float) -> float:
    """Return the largest share of episodes that do what none of n did, at a confidence.

    It is 1 − (1 − sure)^(1/n): the one-sided bound of Clopper and Pearson (1934) for none of n.
    """
    return float(1 - (1 - confidence) ** (1 / n))


def t_margin(values: Floats, confidence: float) -> float:
    """Return how far above its estimate a mean is at most, at a one-sided confidence (Student's t)."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # scipy has no stubs

    n = len(values)
    return float(stdtrit(n - 1, confidence)) * deviation_of(values) / math.sqrt(n) if n > 1 else math.inf
