"""Fitness of populations in environments: mean return over z, equal rules played once.

An episode is a function of rules and reset seed alone, so what an individual got is remembered from one
generation to the next, episode by episode.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.inference.rulebook import Rulebook
from ifthen.rollout.budget import Budget
from ifthen.rollout.episodes import NULL, TRUNCATED, Episodes
from ifthen.rollout.players import play_rules
from ifthen.tasks.env_task import EnvTask

NOT_PLAYED = -1


@dataclass(frozen=True)
class EnvMeasured:
    """What was measured of n individuals, each `(n,)`."""

    performance: NDArray[np.float64]
    """Mean return; the task's floor where a null action was met."""
    episodes: NDArray[np.int64]
    """Episodes that the measure rests on, whether played now or remembered."""
    steps: NDArray[np.int64]
    """Their steps."""
    truncated: NDArray[np.int64]
    """Those of them that reached t_max."""
    failed: NDArray[np.bool_]
    """Whether a null action was met."""


class RulesetMeasured(NamedTuple):
    """How the fittest ruleset does."""

    performance: float
    """On z."""
    unseen_performance: float
    """On the seeds of validation, on which nothing is selected."""


class EnvFitness:
    """Measures rules in an environment and remembers what it measured.

    Args:
        task: the task.
        threads: how many threads or worker processes to use; results do not depend on it.
        budget: which episodes of z a generation is measured on.
        elites: so many individuals, the last of every generation but the first, never drop out of a race.
    """

    def __init__(self, task: EnvTask, threads: int, budget: Budget | None = None, elites: int = 0) -> None:
        self.task, self.threads, self.budget, self.elites = task, threads, budget or Budget(), elites
        self._known: dict[bytes, Episodes] = {}

    def measure(self, rules: Rulebook, epoch: int = 0) -> EnvMeasured:
        """Measure n individuals on the episodes of z that an epoch may spend."""
        keys = individual_keys(rules)
        firsts = {key: i for i, key in reversed(list(enumerate(keys)))}
        own = rules.take(np.array(list(firsts.values()), dtype=np.int64))
        board = self._remembered(list(firsts))
        kept = set(keys[len(keys) - self.elites :]) if epoch > 0 else set()
        exempt = np.array([key in kept for key in firsts])
        caps = self._race(own, board, exempt, self.budget.heats(epoch, len(self.task.z)))
        self._known = {key: Episodes(*(column[i] for column in board)) for i, key in enumerate(firsts)}
        places = {key: i for i, key in enumerate(firsts)}
        measured = summed(self.task, board, caps)
        rows = np.array([places[key] for key in keys])
        return EnvMeasured(*(getattr(measured, name)[rows] for name in EnvMeasured.__dataclass_fields__))

    def _remembered(self, keys: list[bytes]) -> Episodes:
        """Return what is known of individuals on z, `(n, |z|)`, to be filled in."""
        shape = len(keys), len(self.task.z)
        board = Episodes(
            np.zeros(shape), np.zeros(shape, dtype=np.int64), np.full(shape, NOT_PLAYED, dtype=np.int8)
        )
        for i, key in enumerate(keys):
            if key in self._known:
                board.put(np.array([i]), np.arange(shape[1]), self._known[key])
        return board

    def _race(
        self, rules: Rulebook, board: Episodes, exempt: NDArray[np.bool_], heats: list[NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """Play what is missing, heat by heat; return the most that each individual can be worth, `(n,)`.

        What is remembered of other epochs counts for nothing: `board` is left with this epoch's episodes.
        """
        running, dropped = np.arange(len(rules.actions)), []
        meant = np.zeros(board.endings.shape, dtype=np.bool_)
        for number, heat in enumerate(heats):
            if number > 0:
                worth = summed(self.task, board, played=meant).performance[running]
                slower = running[np.argsort(-worth, kind="stable")[(len(running) + 1) // 2 :]]
                dropped.append(slower[~exempt[slower]])
                running = np.setdiff1d(running, dropped[-1])
            missing = running[(board.endings[np.ix_(running, heat)] == NOT_PLAYED).any(axis=1)]
            if len(missing):
                got = play_rules(self.task, rules.take(missing), self.task.z[heat], self.threads)
                board.put(missing, heat, got)
            meant[np.ix_(running, heat)] = True
        board.endings[~meant] = NOT_PLAYED
        return self._caps(board, running, dropped)

    def _caps(
        self, board: Episodes, last: NDArray[np.int64], dropped: list[NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """Return the most that each individual can be worth after a race.

        Means over fewer episodes can flatter: who dropped out is worth less than the worst who went on and
        did not fail, so that the fittest has played all episodes, unless all who did so failed.
        """
        measured = summed(self.task, board)
        caps = np.full(len(board.endings), np.inf)
        worth = np.where(measured.failed, np.inf, measured.performance)
        least = worth[last].min()
        for group in reversed(dropped):
            caps[group] = np.nextafter(least, -np.inf)
            least = np.minimum(worth[group], caps[group]).min(initial=least)
        return caps

    def measure_ruleset(self, rules: Rulebook, best: int) -> RulesetMeasured:
        """Measure one individual on z and on the seeds of validation."""
        seeds = np.concatenate([self.task.z, self.task.validation])
        played = play_rules(self.task, rules.take(np.array([best])), seeds, self.threads)
        parts = slice(0, len(self.task.z)), slice(len(self.task.z), None)
        scores = [float(summed(self.task, played.some(part)).performance[0]) for part in parts]
        return RulesetMeasured(*scores)


def individual_keys(rules: Rulebook) -> list[bytes]:
    """Return for each individual a text that those with the same rules share."""
    columns = (rules.lows, rules.highs, rules.actions, rules.learnt)
    common = repr((rules.kind, rules.x0, rules.default)).encode()
    keys = []
    for i in range(len(rules.actions)):
        digest = blake2b(common, digest_size=16)
        for column in columns:
            digest.update(np.ascontiguousarray(column[i]).tobytes())
        keys.append(digest.digest())
    return keys


def summed(
    task: EnvTask,
    board: Episodes,
    caps: NDArray[np.float64] | None = None,
    played: NDArray[np.bool_] | None = None,
) -> EnvMeasured:
    """Return the means over episodes `(n, k)`, or raise where a return is not above the floor.

    Args:
        task: the task.
        board: the episodes; those that were not played have the ending −1.
        caps: the most that each individual can be worth, `(n,)`.
        played: the episodes that count, `(n, k)`; all that were played where None.
    """
    counts = board.endings != NOT_PLAYED if played is None else played
    episodes = counts.sum(axis=1)
    failed = ((board.endings == NULL) & counts).any(axis=1)
    means = np.where(counts, board.returns, 0.0).sum(axis=1) / np.maximum(episodes, 1)
    if (means[~failed] <= task.floor).any():
        raise TaskError(
            f"a policy of {task.name} got {means[~failed].min():g}, which is not above the floor "
            f"{task.floor:g} that rules without an answer get. Give a lower floor: env_task(…, floor=…)."
        )
    performance = np.where(failed, task.floor, means if caps is None else np.minimum(means, caps))
    return EnvMeasured(
        performance,
        episodes,
        np.where(counts, board.steps, 0).sum(axis=1),
        ((board.endings == TRUNCATED) & counts).sum(axis=1),
        failed,
    )
