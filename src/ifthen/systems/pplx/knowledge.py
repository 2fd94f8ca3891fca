"""What PPL-X knows in an environment: steps that were taken, action values, and the lists that are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ModelFileError, RuleError
from ifthen.rules.arrays import Floats, Ints
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.model_file import ArraySpec, Model, check_arrays, refuse
from ifthen.systems.pplx.drafts import Draft, pack, ruleset, unpack
from ifthen.systems.pplx.memory import CUT, TERMINAL, Memory, remembered
from ifthen.systems.pplx.q_network import Scale, weights_of
from ifthen.tasks.gym_task import EnvTask

NET_ROWS = 5
"""The rows of `nets`."""
MOST_NETWORKS_IN_FILE = 100
"""Files with more networks than this are refused. It is far more than are ever learnt."""
NEAR = 0.15
"""Largest score gap to the best list, as a share of the gain, that counts as nearly as good."""
PLENTY = 25e-6
"""More episodes than usual are played if each takes less than this share of the plan's steps."""
MOST_PLENTY = 50
"""At most this many times as many episodes as usual are played."""
HUGE = 1e300
"""Stands for an infinite number in files."""
MOST_STEPS = 2.0**53
"""Larger numbers of steps are refused in files."""
MOST_LISTS = 1000
"""Files with more lists than this are refused. It is far more than are ever kept."""
NOT_FINITE = ("bounds", "fitness", "clock")
"""The arrays in which files hold HUGE in place of infinite numbers."""
UNPLAYED = np.array([np.nan, np.nan, np.nan])
"""The fitness of a list that has not played."""


class Clock(NamedTuple):
    """The numbers in `Knowledge.clock`, in the order of files."""

    budget: float
    """The plan's steps."""
    episode_length: float
    """The mean length of an episode."""
    network_return: float = -np.inf
    """The mean return of the best network, or of the counts' own policy; −∞ before there is any."""
    by_counts: float = 0.0
    """Whether counted steps say what actions are worth, and not a network: 0 or 1."""

    def array(self) -> Floats:
        """Return the numbers as files hold them, `(4,)`."""
        return np.array(self, dtype=np.float64)


class Knowledge(NamedTuple):
    """The population of PPL-X in an environment."""

    points: NDArray[np.float32]
    """`(N, features)`: with the next two, a `Memory`."""
    moves: NDArray[np.int16]
    rewards: NDArray[np.float32]
    states: NDArray[np.float32]
    """`(M, features)`: points that were visited; in older files, within the features' ranges."""
    scale: Floats
    """`(2·features + 1,)`: centre and spread of each feature, and what rewards are multiplied by."""
    nets: NDArray[np.float32]
    """`(5, networks · weights)`: networks, targets, Adam's slopes and squares, and the best networks."""
    bounds: Floats
    """`(n, rules, columns, 2)`: with the next three, the lists; the first one is being shortened."""
    actions: NDArray[np.int32]
    lengths: Ints
    terms: Floats
    useful: Floats
    """`(m, features)`: terms that trees have used."""
    fitness: Floats
    """`(n, 3)`: mean and deviation of the returns that a list was scored by, and their number; NaN where not
    played yet."""
    clock: Floats
    """`(4,)`: a `Clock`."""

    @property
    def memory(self) -> Memory:
        """The steps that were taken."""
        return Memory(self.points, self.moves, self.rewards)

    @property
    def scaling(self) -> Scale:
        """How points and rewards are scaled."""
        features, scale = self.points.shape[1], self.scale.astype(np.float32)
        return Scale(scale[:features], scale[features : 2 * features], float(self.scale[-1]))

    @property
    def drafts(self) -> list[Draft]:
        """The lists."""
        return unpack(self.bounds, self.actions, self.lengths, self.terms)

    @property
    def scores(self) -> Floats:
        """The mean return of each list, `(n,)`; NaN where not played yet."""
        return self.fitness[:, 0]

    @property
    def _clock(self) -> Clock:
        """The numbers of `clock`, with their names."""
        return Clock(*self.clock.tolist())

    @property
    def budget(self) -> float:
        """The plan's steps."""
        return self._clock.budget

    @property
    def episode_length(self) -> float:
        """The mean length of an episode."""
        return self._clock.episode_length

    @property
    def episode_factor(self) -> int:
        """How many times as many episodes as usual are played: more than once if they are short."""
        return int(np.clip(PLENTY * self.budget / self.episode_length, 1, MOST_PLENTY))

    @property
    def network_return(self) -> float:
        """The best network's mean return; −∞ before there is any."""
        return self._clock.network_return

    @property
    def by_counts(self) -> bool:
        """Whether counted steps say what actions are worth, and not a network."""
        return bool(self._clock.by_counts)

    @property
    def gain(self) -> float:
        """How much more the best list gets than the best one that always does the same."""
        played = np.isfinite(self.scores)
        singles = self.scores[played & (self.lengths == 1)]
        best_single = float(singles.max()) if len(singles) else float(self.scores[played].min())
        return max(0.0, self.best_score - best_single)

    @property
    def learnt_nothing(self) -> bool:
        """Whether neither the network nor a list gets more than always doing the same."""
        return self.gain == 0 and -np.inf < self.network_return <= self.best_score

    @property
    def returns_differ(self) -> bool:
        """Whether lists get different returns, or one list in different episodes."""
        scores, deviations, _ = self.fitness[np.isfinite(self.scores)].T
        return bool(np.ptp(scores) > 0 or deviations.max() > 0)

    @property
    def has_informative_steps(self) -> bool:
        """Whether the steps taken tell actions apart: rewards differ, or an episode terminated."""
        rewards = self.rewards[self.moves >= 0]
        return bool((self.moves == TERMINAL).any() or (len(rewards) and np.ptp(rewards) > 0))

    @property
    def best_score(self) -> float:
        """The highest mean return of a list."""
        return float(np.nanmax(self.scores))

    @property
    def near_best_score(self) -> float:
        """What a list must get to be nearly as good as the best."""
        return self.best_score - NEAR * self.gain

    @property
    def best_draft(self) -> Draft:
        """The list with the highest mean return; the first one before any has played."""
        return self.drafts[int(np.nanargmax(self.scores)) if np.isfinite(self.scores).any() else 0]

    @property
    def front_indices(self) -> list[int]:
        """The lists that no shorter one equals, by number, from short to good."""
        sizes = [draft.size for draft in self.drafts]
        played = [i for i in range(len(sizes)) if np.isfinite(self.scores[i])]
        front: list[int] = []
        for i in sorted(played, key=lambda i: (sizes[i], -self.scores[i])):
            if not front or self.scores[i] > self.scores[front[-1]]:
                front.append(i)
        return front

    def with_drafts(self, drafts: list[Draft], fitness: Any) -> Knowledge:
        """Return the same with other lists."""
        return self._replace(**pack(drafts), fitness=np.array(fitness).reshape(len(drafts), 3))

    def only_played(self) -> Knowledge:
        """Return the same without lists that have not played."""
        drafts, played = self.drafts, np.flatnonzero(np.isfinite(self.scores))
        return self.with_drafts([drafts[i] for i in played], self.fitness[played])

    def with_first(self, draft: Draft) -> Knowledge:
        """Return the same with a list at the first place; a first one that never played makes room for it."""
        drafts, key = self.drafts, draft.key()
        same = [i for i, listed in enumerate(drafts) if listed.key() == key]
        others = [i for i in range(len(drafts)) if i not in same and (i > 0 or np.isfinite(self.scores[0]))]
        fitness = self.fitness[same[0]] if same else UNPLAYED
        return self.with_drafts([draft, *(drafts[i] for i in others)], [fitness, *self.fitness[others]])

    def with_clock(self, **changes: float) -> Knowledge:
        """Return the same with another `budget`, `episode_length`, `network_return` or `by_counts`."""
        return self._replace(clock=self._clock._replace(**changes).array())

    def without_memory(self) -> Knowledge:
        """Return the same without the steps that were taken, which nothing is learnt from any more."""
        return self._replace(points=self.points[:0], moves=self.moves[:0], rewards=self.rewards[:0])

    def with_episodes(self, episodes: list[Trajectory], latest_weight: float) -> Knowledge:
        """Return what is known after more episodes, which have a weight in the mean length."""
        mean_length = float(np.mean([len(episode.actions) for episode in episodes]))
        known = self._replace(**remembered(self.memory, episodes)._asdict())
        episode_length = (1 - latest_weight) * self.episode_length + latest_weight * mean_length
        return known.with_clock(episode_length=episode_length)


def file_arrays(known: Knowledge) -> dict[str, NDArray[Any]]:
    """Return the arrays for a file."""
    arrays: dict[str, NDArray[Any]] = dict(known._asdict())
    for name in NOT_FINITE:
        arrays[name] = np.nan_to_num(arrays[name], nan=-HUGE, posinf=HUGE, neginf=-HUGE)
    return arrays


def read(model: Model, task: EnvTask) -> Knowledge:
    """Return what a model file holds, or raise ModelFileError where it does not fit the task."""
    n_features, n_actions, arrays = len(task.features), task.n_actions, dict(model.population)
    if arrays.get("clock", UNPLAYED[:0]).shape == (3,):  # of a file from before steps were counted
        arrays["clock"] = np.append(arrays["clock"], Clock._field_defaults["by_counts"])

    def size(name: str, axis: int = 0) -> int:
        shape = arrays[name].shape if name in arrays else ()
        return shape[axis] if len(shape) > axis else 0

    n_lists, n_rules, n_terms, n_steps = size("lengths"), size("actions", 1), size("terms", 1), size("moves")
    n_networks = int(np.clip(size("nets", 1) // weights_of(n_features, n_actions), 1, MOST_NETWORKS_IN_FILE))
    expected: ArraySpec = {
        "points": ((n_steps, n_features), np.float32),
        "moves": ((n_steps,), np.int16),
        "rewards": ((n_steps,), np.float32),
        "states": ((size("states"), n_features), np.float32),
        "scale": ((2 * n_features + 1,), np.float64),
        "nets": ((NET_ROWS, n_networks * weights_of(n_features, n_actions)), np.float32),
        "bounds": ((n_lists, n_rules, n_features + n_terms, 2), np.float64),
        "actions": ((n_lists, n_rules), np.int32),
        "lengths": ((n_lists,), np.int64),
        "terms": ((n_lists, n_terms, n_features), np.float64),
        "useful": ((size("useful"), n_features), np.float64),
        "fitness": ((n_lists, 3), np.float64),
        "clock": ((len(Clock._fields),), np.float64),
    }
    check_arrays(replace(model, population=arrays), expected)
    known = Knowledge(**arrays)
    refuse(model, _problem(known, task))
    infinite: dict[str, Any] = {name: _with_infinities(getattr(known, name)) for name in NOT_FINITE}
    infinite["fitness"] = np.where(np.isinf(infinite["fitness"]), np.nan, infinite["fitness"])
    known = known._replace(**infinite)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            for draft in known.drafts:
                ruleset(draft, task)
    except RuleError as error:
        raise ModelFileError(f"{model.path}: a list makes no sense: {error}") from None
    return known


def _with_infinities(array: Floats) -> Floats:
    """Return an array in which HUGE numbers are infinite."""
    return np.where(np.abs(array) >= HUGE, np.copysign(np.inf, array), array)


def _problem(known: Knowledge, task: EnvTask) -> str | None:
    """Return what is wrong with the numbers of a file, if anything."""
    moves, lengths, actions = known.moves, known.lengths, task.n_actions
    if len(moves) and (moves.min() < CUT or moves.max() >= actions or moves[-1] >= 0 or moves[0] < 0):
        return f"moves must be actions from 0 to {actions - 1}, with {TERMINAL} or {CUT} behind each episode"
    if ((moves[1:] < 0) & (moves[:-1] < 0)).any():
        return "every episode needs a step"
    if not len(lengths) or lengths.min() < 1 or lengths.max() > known.actions.shape[1]:
        return "there must be lists, each as long as it says"
    if max(len(lengths) - actions, len(known.useful)) > MOST_LISTS:
        return f"there are at most {MOST_LISTS} lists besides those of one rule, and as many useful terms"
    if (known.actions < 0).any() or (known.actions >= actions).any():
        return "some actions do not exist in the task"
    last = known.bounds[np.arange(len(lengths)), lengths - 1]
    if not (np.abs(last) >= HUGE).all():
        return "the last rule of every list must hold everywhere"
    if (known.bounds[..., 0] >= HUGE).any() or (known.bounds[..., 1] <= -HUGE).any():
        return "a condition must be open outwards or end at a number"
    used = (known.terms != 0).any(axis=2)
    if (used[:, 1:] & ~used[:, :-1]).any():
        return "the terms of a list must come first"
    if not (np.abs(known.scores) < HUGE).any():
        return "some list must have a score"
    with np.errstate(over="ignore", under="ignore"):
        scaling = known.scaling
    if not len(known.states) or not ((scaling.spread > 0) & np.isfinite(scaling.spread)).all():
        return "there must be states, and features must vary"
    if not 0 < known.budget < MOST_STEPS or not 0.5 < known.episode_length < MOST_STEPS:
        return "the plan's steps and the length of episodes must be above 0, and no more than can be taken"
    if known._clock.by_counts not in (0.0, 1.0):
        return "the clock must say whether steps are counted: 0 or 1"
    return None
