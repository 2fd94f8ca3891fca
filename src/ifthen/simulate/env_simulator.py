"""What the simulators of environments share: fitness over reset seeds, scores, and policies of any kind.

An episode is a function of rules and reset seed alone. What a ruleset got is therefore remembered from one
generation to the next, episode by episode, and equal rulesets are played once.
"""

from __future__ import annotations

import math
import weakref
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import ParameterError, TaskError
from ifthen.randomness import below, stream
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.batch import RuleBatch, batch_of
from ifthen.rules.ruleset import PolicyOrActions, RuleSet
from ifthen.simulate.lanes import Lane
from ifthen.simulate.simulator import (
    Budget,
    Choose,
    Evaluation,
    InEnvironment,
    Measured,
    Seeds,
    Simulator,
    Start,
    checked_ruleset,
    deviation_of,
)
from ifthen.simulate.trajectories import NO_RULE, TRUNCATED, Actions, Episodes, Trajectory, checked_actions
from ifthen.tasks.disturbance import in_words
from ifthen.tasks.flatten import unusable_reward
from ifthen.tasks.gym_task import EnvTask

if TYPE_CHECKING:
    from ifthen.simulate.twin_play import Starts

NOT_PLAYED = -1
KEPT = 4
"""The number of recordings that are kept: words, pictures and pages ask for the same ones."""


class FromStates(Protocol):
    """Plays episodes that start in states which no reset seed gives."""

    def real_states(self, seeds: Ints) -> Floats:
        """Return the states of the environment after reset with k seeds, `(k, state_size)`."""

    def seen_in(self, states: Floats) -> Floats:
        """Return the observations in states of the environment, `(k, features)`, undisturbed."""

    def starts_in(self, states: Floats) -> Starts:
        """Return starts in states of the environment `(k, state_size)`, all with the same disturbances."""

    def play_from(self, ruleset: RuleSet, starts: Starts) -> Episodes:
        """Play one ruleset of any kind from k starts: arrays `(1, k)`."""

    def record_from(self, ruleset: RuleSet, starts: Starts) -> list[Trajectory]:
        """Play one ruleset of any kind from k starts, and keep every step."""


class EnvSimulator(Simulator):
    """Plays rules in an environment, from reset seeds.

    Args:
        task: the task.
        threads: how many threads or worker processes to use.
        budget: the episodes that a generation is measured on.
        elites: the last rulesets of every generation but the first, which never drop out of a race.
    """

    task: EnvTask

    def __init__(
        self, task: EnvTask, threads: int = 1, budget: Budget | None = None, elites: int = 0
    ) -> None:
        super().__init__(task, threads)
        self.budget, self.elites = budget or Budget(), elites
        self._remembered_episodes: dict[bytes, Episodes] = {}
        self._measures: dict[bytes, dict[str, float]] = {}
        self._recordings: list[tuple[RuleSet, bytes, Sequence[Trajectory]]] = []

    @abstractmethod
    def play(self, rules: RuleBatch, seeds: Ints) -> Episodes:
        """Play each of n rulesets from each of k reset seeds: arrays `(n, k)`."""

    def play_population(self, rules: RuleBatch, seeds: Ints) -> Episodes:
        """Play a population for its fitness: as `play` does, unless a simulator has a faster way."""
        return self.play(rules, seeds)

    @abstractmethod
    def play_policy(self, choose: Choose, seeds: Ints) -> Episodes:
        """Play any policy from k reset seeds, side by side: arrays `(1, k)`."""

    @abstractmethod
    def record_each(self, act: Actions, seeds: Ints) -> list[Trajectory]:
        """Play k episodes, one per reset seed, by a policy that is told which of them a point is from.

        Args:
            act: writes actions `(m,)`, given the numbers of episodes `(m,)` and points `(m, features)`. It is
                called once for every step of an episode.
            seeds: `(k,)`.
        """

    def record_alone(self, act: Actions, seeds: Ints) -> list[Trajectory]:
        """Play as `record_each` does, in this process."""
        return self.record_each(act, seeds)

    def record(self, choose: Choose, seeds: Ints) -> list[Trajectory]:
        """Play any policy from k reset seeds, and keep every step."""
        return self.record_each(self._checked(choose), seeds)

    def _checked(self, choose: Choose) -> Actions:
        """Return how a policy chooses; raises where its answers are not actions."""

        def write(_: Ints, points: Floats, out: Ints) -> None:
            out[:] = checked_actions(choose(points), len(out), self.task.n_actions)

        return write

    def fitness(self, rules: RuleBatch, epoch: int = 0) -> Measured:
        """Measure rulesets on the training seeds that an epoch may spend."""
        keys = rules.digests(self.task.features)
        first_rows = {key: i for i, key in reversed(list(enumerate(keys)))}
        distinct = rules.take(np.array(list(first_rows.values()), dtype=np.int64))
        board = self._remembered(list(first_rows))
        elite_keys = set(keys[len(keys) - self.elites :]) if epoch > 0 else set()
        exempt = np.array([key in elite_keys for key in first_rows])
        caps = self._race(distinct, board, exempt, self.budget.heats(epoch, len(self.task.z)))
        self._remembered_episodes = {
            key: Episodes(*(column[i] for column in board)) for i, key in enumerate(first_rows)
        }
        positions = {key: i for i, key in enumerate(first_rows)}
        measured = means(self.task, board, caps)
        rows = np.array([positions[key] for key in keys])
        return Measured(*(getattr(measured, name)[rows] for name in Measured.__dataclass_fields__))

    def _remembered(self, keys: list[bytes]) -> Episodes:
        """Return what is known of rulesets on the training seeds, `(n, |z|)`, to be filled in."""
        shape = len(keys), len(self.task.z)
        board = Episodes(
            np.zeros(shape), np.zeros(shape, dtype=np.int64), np.full(shape, NOT_PLAYED, dtype=np.int8)
        )
        for i, key in enumerate(keys):
            if key in self._remembered_episodes:
                board.put(np.array([i]), np.arange(shape[1]), self._remembered_episodes[key])
        return board

    def _race(self, rules: RuleBatch, board: Episodes, exempt: Mask, heats: list[Ints]) -> Floats:
        """Play the missing episodes heat by heat; return an upper bound of each ruleset's worth, `(n,)`.

        Episodes remembered from other epochs do not count: `board` is left with this epoch's episodes.
        """
        running, dropped = np.arange(len(rules.lengths)), []
        counted = np.zeros(board.endings.shape, dtype=np.bool_)
        for heat_number, heat in enumerate(heats):
            if heat_number > 0:
                worth = means(self.task, board, played=counted).performance[running]
                slower = running[np.argsort(-worth, kind="stable")[(len(running) + 1) // 2 :]]
                dropped.append(slower[~exempt[slower]])
                running = np.setdiff1d(running, dropped[-1])
            missing = running[(board.endings[np.ix_(running, heat)] == NOT_PLAYED).any(axis=1)]
            if len(missing):
                board.put(missing, heat, self.play_population(rules.take(missing), self.task.z[heat]))
            counted[np.ix_(running, heat)] = True
        board.endings[~counted] = NOT_PLAYED
        return self._caps(board, running, dropped)

    def _caps(self, board: Episodes, finalists: Ints, dropped: list[Ints]) -> Floats:
        """Return an upper bound of each ruleset's worth after a race.

        Means over fewer episodes can flatter. A ruleset that dropped out is worth less than the worst one
        that went on and did not fail. So the fittest has played all episodes, unless all of those failed.
        """
        measured = means(self.task, board)
        caps = np.full(len(board.endings), np.inf)
        worth = np.where(measured.failed, np.inf, measured.performance)
        lowest = worth[finalists].min()
        for group in reversed(dropped):
            caps[group] = np.nextafter(lowest, -np.inf)
            lowest = np.minimum(worth[group], caps[group]).min(initial=lowest)
        return caps

    def measures(self, rules: RuleBatch, best: int) -> dict[str, float]:
        """Return the performance of one ruleset on the training seeds, and on the validation seeds."""
        fittest = rules.take(np.array([best]))
        (key,) = fittest.digests(self.task.features)
        if key not in self._measures:  # often the same ruleset stays the fittest
            self._measures = {key: self.measures_of(partial(self.play, fittest))}
        return dict(self._measures[key])

    def ruleset_measures(self, ruleset: RuleSet) -> dict[str, float]:
        """Return the performance of a ruleset of any kind on training seeds, and on validation seeds."""
        return self.measures_of(partial(self.play_ruleset, ruleset))

    def measures_of(self, play: Callable[[Ints], Episodes]) -> dict[str, float]:
        """Return the same for anything that plays reset seeds."""
        split = len(self.task.z)
        played = play(np.concatenate([self.task.z, self.task.validation]))
        slices = {"performance": slice(0, split), "unseen_performance": slice(split, None)}
        return {
            name: float(means(self.task, played.of_seeds(seed_slice)).performance[0])
            for name, seed_slice in slices.items()
        }

    def evaluate(self, policy: PolicyOrActions, seeds: Seeds | None = None) -> Evaluation:
        """Play a policy from reset seeds."""
        task, training = self.task, isinstance(seeds, str) and seeds == "training"
        seed_array = task.test_seeds() if seeds is None else task.z if training else checked_seeds(seeds)
        played = self.play_ruleset(checked_ruleset(policy, task), seed_array)
        return evaluation_of(task, played.returns[0], played.endings[0], played.steps[0], seed_array)

    def play_ruleset(self, ruleset: RuleSet, seeds: Ints) -> Episodes:
        """Play one ruleset of any kind from k reset seeds: arrays `(1, k)`."""
        batch = batch_of(ruleset)
        if batch is not None:
            return self.play(batch, seeds)
        return self.play_policy(self._choice(ruleset), seeds)

    def _choice(self, ruleset: RuleSet) -> Choose:
        return lambda points: ruleset.best_actions(np.clip(points, *self.task.ranges))

    def headline(self, policy: PolicyOrActions, episodes: int) -> dict[str, Evaluation]:
        """Return the performance on held-out test seeds, and on the training seeds."""
        words = in_words(self.task.disturbances)
        disturbed = f", with {words}" if words else ""
        return {
            f"on test seeds{disturbed}": self.tested(policy, episodes),
            f"on training seeds{disturbed}": self.evaluate(policy, "training"),
        }

    def tested(self, policy: PolicyOrActions, episodes: int) -> Evaluation:
        """Play a policy from held-out test seeds."""
        return self.evaluate(policy, self.task.test_seeds(episodes))

    def random_performance(self, episodes: int) -> float:
        """Play random actions, the same in the same step of the same episode, from test seeds."""
        task, steps = self.task, np.zeros(episodes, dtype=np.int64)
        keys = [stream(0, "random actions", episode) for episode in range(episodes)]

        def act(numbers: Ints, points: Floats, out: Ints) -> None:
            for i, episode in enumerate(numbers.tolist()):
                out[i] = below(keys[episode], int(steps[episode]), task.n_actions)
            steps[numbers] += 1

        played = self.record_each(act, task.test_seeds(episodes))
        return float(np.mean([episode.discounted(task.gamma) for episode in played]))

    def held_out(self, ruleset: RuleSet, episodes: int) -> float:
        """Return the mean return on seeds of its own, right after those of the history's validation."""
        first_seed = int(self.task.validation[-1]) + 1
        return self.evaluate(ruleset, np.arange(first_seed, first_seed + episodes)).performance

    def one_episode(
        self, policy: PolicyOrActions, seed: int, start: Start = None, episode: int | None = None
    ) -> tuple[Trajectory, int]:
        """Play an episode from a reset seed, or a training episode."""
        if start is not None:
            raise ParameterError(
                f"episodes of {self.task.name} start where a reset seed says: give seed or episode."
            )
        reset_seed = seed if episode is None else int(self.task.z[episode])
        return self.episodes(policy, [reset_seed])[0], reset_seed

    def episodes(self, policy: PolicyOrActions, seeds: ArrayLike | None = None) -> Sequence[Trajectory]:
        """Play a policy from reset seeds and keep every step."""
        seed_array = self.task.z if seeds is None else checked_seeds(seeds)
        ruleset, key = checked_ruleset(policy, self.task), seed_array.tobytes()
        for recorded_ruleset, recorded_key, episodes in self._recordings:
            if recorded_key == key and recorded_ruleset == ruleset:
                return episodes
        trajectories = self.record(self._choice(ruleset), seed_array)
        self._recordings = [*self._recordings, (ruleset, key, trajectories)][-KEPT:]
        return trajectories

    def let_learn(self, learner: InEnvironment, *lesson: object) -> None:
        """Let something learn in the lane."""
        learner.in_lane(self, *lesson)

    @property
    def from_states(self) -> FromStates | None:
        """This simulator, where episodes can start in states that no reset seed gives; else None."""
        return None

    @cached_property
    def lane(self) -> Lane:
        """One environment, for systems that learn at every step; it is closed with the simulator."""
        lane = Lane(self.task)
        weakref.finalize(self, lane.close)
        return lane

    def begin_episode(self, seed: int) -> Floats:
        """Begin an episode in the lane; return what is observed, `(features,)`."""
        point: Floats = self.lane.reset(seed=seed)[0]
        if not math.isfinite(point.sum()):
            self.refuse_number(point[None], 0.0, 0, seed)
        return point

    def take_step(self, action: int) -> tuple[Floats, float, bool, bool]:
        """Take a step in the lane; return what is observed, the reward, and whether and how it ended."""
        point, reward, terminated, truncated, _ = self.lane.step(action)
        if not math.isfinite(point.sum() + reward):  # quicker than asking each number
            self.refuse_number(point[None], reward, self.lane.steps, self.lane.reset_seed or 0)
        return point, reward, terminated, truncated

    def refuse_number(self, points: Floats, reward: float, step: int, seed: int) -> None:
        """Raise TaskError for an observation `(1, features)` or a reward that is not finite."""
        location = f" at step {step} of the episode with reset seed {seed}"
        self.task.check_points(points, location)
        raise unusable_reward(self.task.name, reward, location)


def means(task: EnvTask, board: Episodes, caps: Floats | None = None, played: Mask | None = None) -> Measured:
    """Return the means over episodes `(n, k)`, or raise where a return is not above the floor.

    Args:
        task: the task.
        board: the episodes; those that were not played have the ending −1.
        caps: an upper bound of each ruleset's worth, `(n,)`.
        played: the episodes that count, `(n, k)`; all that were played where None.
    """
    counts = board.endings != NOT_PLAYED if played is None else played
    episodes = counts.sum(axis=1)
    failed = ((board.endings == NO_RULE) & counts).any(axis=1)
    mean_returns = np.where(counts, board.returns, 0.0).sum(axis=1) / np.maximum(episodes, 1)
    return measured_of(
        task,
        mean_returns,
        episodes,
        np.where(counts, board.steps, 0).sum(axis=1),
        ((board.endings == TRUNCATED) & counts).sum(axis=1),
        failed,
        caps,
    )


def measured_of(
    task: EnvTask,
    mean_returns: Floats,
    episodes: Ints,
    steps: Ints,
    truncated: Ints,
    failed: Mask,
    caps: Floats | None = None,
) -> Measured:
    """Return the measures of n rulesets, or raise where a mean return is not above the floor.

    Args:
        task: the task.
        mean_returns: mean returns; not used where a state without a rule was reached.
        episodes: the numbers of episodes.
        steps: of these episodes.
        truncated: how many of them reached t_max.
        failed: whether a state without a rule was reached.
        caps: an upper bound of each ruleset's worth.
    """
    if (mean_returns[~failed] <= task.floor).any():
        raise TaskError(
            f"a policy of {task.name} got {mean_returns[~failed].min():g}, which is not above the floor "
            f"{task.floor:g} that rules without an answer get. Give a lower floor: env_task(…, floor=…)."
        )
    worth = mean_returns if caps is None else np.minimum(mean_returns, caps)
    return Measured(np.where(failed, task.floor, worth), episodes, steps, truncated, failed, ~failed)


def checked_seeds(seeds: ArrayLike) -> Ints:
    """Return reset seeds as an array, or raise where they are none."""
    array = np.asarray(seeds)
    are_integers = array.ndim == 1 and len(array) > 0 and array.dtype.kind in "iu"
    if not are_integers or array.min() < 0 or array.max() >= 2**63:
        raise TaskError(
            f"seeds must be a list of whole numbers from 0, such as range(100), not {seeds!r}. Policies are "
            'also measured on seeds="training".'
        )
    return array.astype(np.int64)


def evaluation_of(
    task: EnvTask, returns: Floats, endings: NDArray[np.integer], steps: Ints, seeds: Ints
) -> Evaluation:
    """Return what episodes say of a policy.

    Args:
        task: the environment.
        returns: `(n,)`: of each episode.
        endings: `(n,)`: TERMINATED, TRUNCATED or NO_RULE.
        steps: `(n,)`: of each episode.
        seeds: `(n,)`: that they begin from.
    """
    failed = endings == NO_RULE
    return Evaluation(
        performance=task.floor if failed.any() else float(returns.mean()),
        method="sampled",
        episodes=len(returns),
        steps=int(steps.sum()),
        truncated_share=float((endings == TRUNCATED).mean()),
        failed=bool(failed.any()),
        failed_share=float(failed.mean()),
        deviation=deviation_of(returns),
        least=float(returns.min()),
        most=float(returns.max()),
        longest=int(steps.max()),
        returns=returns,
        seeds=seeds,
    )
