"""Teachers: policies that rules are learnt from.

A teacher says at any point which action it takes or, better, what it holds each action to be worth: then a
mistake can be weighed by what it costs. A teacher can be a ruleset, a table, a function, or a model of
Stable-Baselines3 (`ifthen.systems.pplx.sb3`). It must be deterministic, and is never saved in a file.
"""

from __future__ import annotations

import inspect
import warnings
import zipfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import plural
from ifthen.errors import IfthenError, ParameterError, TaskError, shown
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.simulator import checked_ruleset
from ifthen.tasks.gym_task import EnvTask

Answers = Callable[[Floats], NDArray[Any]]
"""Returns actions `(n,)`, −1 for none, or values `(n, actions)`, given points `(n, features)`."""
PROBES = 11
"""A function is tried on this many observations."""
LEAST_COST = 0.1
"""A mistake costs at least this share of what mistakes cost on average."""
MODEL = "model.zip"
RULES_FILES = (".json", ".txt", ".md")
OF_SB3 = {"data", "policy.pth"}
"""Every archive of Stable-Baselines3 has these members."""
KINDS = (
    "a ruleset, a trained system, a model file, a function of an observation, a model of "
    "Stable-Baselines3, or a table of actions or values by state"
)


class Teacher:
    """A policy to learn from.

    Args:
        name: what it is called in tables.
        answers: what it says at points.
        actions: how many actions there are.
        has_values: whether it says what every action is worth, and not only which one it takes.
    """

    def __init__(self, name: str, answers: Answers, actions: int, has_values: bool) -> None:
        self.name, self.answers, self.n_actions, self.has_values = name, answers, actions, has_values
        self._advised = np.zeros((0, 0), np.float32), np.zeros(0, np.int16)

    def __repr__(self) -> str:
        return f"<teacher {self.name}, {'action values' if self.has_values else 'actions'}>"

    def actions(self, points: Floats) -> Ints:
        """Return the action at each of points `(n, features)`; −1 where it has none."""
        actions = (
            self.values(points).argmax(axis=1) if self.has_values else self._answered(points, (len(points),))
        )
        return actions.astype(np.int64)

    def values(self, points: Floats) -> Floats:
        """Return what it holds the actions to be worth, `(n, actions)`."""
        values = self._answered(points, (len(points), self.n_actions)).astype(np.float64)
        if not np.isfinite(values).all():
            raise TaskError(f"the teacher {self.name} gave values that are not finite: {values!r}.")
        return values

    def _answered(self, points: Floats, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the answers at points, or raise where they are not what they must be."""
        answers = np.asarray(self.answers(points)) if len(points) else np.zeros(shape, np.int64)
        n_actions = self.n_actions
        is_valid = self.has_values or (
            answers.dtype.kind in "iu"
            and (not answers.size or -1 <= answers.min() <= answers.max() < n_actions)
        )
        if answers.shape != shape or not is_valid:
            kind = "values" if self.has_values else f"actions from 0 to {n_actions - 1}"
            raise TaskError(
                f"the teacher {self.name} must give {kind} of shape {shape}, not {shown(answers)}."
            )
        return answers

    def costs(self, points: Floats, learnt_values: Callable[[Floats], Floats]) -> Floats:
        """Return the cost of each action at points, `(n, actions)`: 0 for the teacher's own action.

        Args:
            points: `(n, features)`.
            learnt_values: gives the action values of the teacher's policy that were learnt, if it has none
                itself.
        """
        if self.has_values:
            return costs_of(self.values(points))
        own_actions, q = self.actions(points), learnt_values(points)
        rows = np.arange(len(own_actions))
        lost: Floats = np.maximum(q[rows, own_actions][:, None] - q, 0.0)
        lost = np.maximum(lost, LEAST_COST * lost.max(axis=1).mean() if lost.any() else 1.0)
        lost[rows, own_actions] = 0.0
        lost[own_actions < 0] = 0.0  # it has no opinion there
        return lost

    def advice(self, points: NDArray[np.float32]) -> NDArray[np.int16]:
        """Return the actions at points to which some were added since they were last asked for, `(n,)`."""
        advised_points, advised_actions = self._advised
        n_advised = len(advised_points)
        if not 0 < n_advised <= len(points) or not np.array_equal(points[:n_advised], advised_points):
            n_advised, advised_actions = 0, advised_actions[:0]
        new_actions = self.actions(points[n_advised:].astype(np.float64)).astype(np.int16)
        self._advised = points, np.concatenate([advised_actions, new_actions])
        return self._advised[1]


def costs_of(values: Floats) -> Floats:
    """Return how much less each action is worth than the best, given action values `(n, actions)`."""
    costs: Floats = values.max(axis=1, keepdims=True) - values
    return costs


class ObservationBuilder:
    """Puts whole observations together from the points of a task.

    Args:
        task: the task.
    """

    def __init__(self, task: EnvTask) -> None:
        self.task = task

    @cached_property
    def env(self) -> Any:
        """An environment of the task, for its spaces, and for functions that want it."""
        env = self.task.make()
        env.reset(seed=int(self.task.pool[0]))
        return env

    def __call__(self, points: Floats) -> Any:
        """Return one observation for `(features,)`, and a batch for `(n, features)`."""
        try:
            return self.task.flat.observations(self.env.observation_space, points)
        except TaskError as problem:
            raise TaskError(f"a teacher needs whole observations of {self.task.name}. {problem}") from None

    def probes(self) -> Floats:
        """Return some points that occur, `(PROBES, features)`."""
        task, env = self.task, self.task.make()
        try:
            observation, _ = env.reset(seed=int(task.pool[0]))
            points = [task.flat.row(observation)]
            for i in range(1, PROBES):
                observation, _, ended, cut, _ = env.step(task.action_start + i % task.n_actions)
                if ended or cut:
                    observation, _ = env.reset(seed=int(task.pool[i]))
                points.append(task.flat.row(observation))
        finally:
            env.close()
        return np.array(points)


def as_teacher(source: Any, task: EnvTask) -> Teacher:
    """Return a teacher for a task of anything that can be one.

    Args:
        source: a `Teacher`; a RuleSet or a trained system; a file that `save` of a system or of a model of
            Stable-Baselines3 wrote; such a model; a table by state, `(states,)` actions or
            `(states, actions)` values; a function of an observation, or of an environment and an
            observation, that returns an action or the values of all actions. Such an environment is at its
            start: ask it for settings, not for its state.
        task: the environment.
    """
    if isinstance(source, Teacher):
        if source.n_actions != task.n_actions:
            raise ParameterError(
                f"the teacher {source.name} knows {source.n_actions} actions, and {task.name} has "
                f"{task.n_actions}: make it for this task."
            )
        return source
    if isinstance(source, (str, Path)):
        return _from_file(Path(source), task)
    if isinstance(source, RuleSet) or hasattr(type(source), "ruleset"):
        return _from_ruleset(source, task)
    if is_sb3(source):
        from ifthen.systems.pplx.sb3 import sb3_teacher

        return sb3_teacher(source, task, ObservationBuilder(task))
    if isinstance(source, (np.ndarray, list, tuple)):
        return _from_table(source, task)
    if callable(source) and not isinstance(source, type):
        return _from_function(source, task, str(getattr(source, "__name__", type(source).__name__)))
    if callable(getattr(source, "predict", None)) and not isinstance(source, type):
        return _from_function(source.predict, task, type(source).__name__)
    raise ParameterError(f"a teacher must be {KINDS}, not {shown(source)}.")


def is_sb3(model: object) -> bool:
    """Return whether something is a model of Stable-Baselines3, without importing it."""
    return any(
        kind.__name__ == "BaseAlgorithm" and kind.__module__.startswith("stable_baselines3")
        for kind in type(model).__mro__
    )


def is_sb3_file(path: Path) -> bool:
    """Return whether a file is an archive of Stable-Baselines3; nothing in it is read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist()) >= OF_SB3
    except (OSError, zipfile.BadZipFile):
        return False


def _from_file(path: Path, task: EnvTask) -> Teacher:
    """Return the teacher in a file that a user has named."""
    from ifthen.systems.registry import load

    file = path / MODEL if path.is_dir() else path
    if not file.exists():
        raise ParameterError(f"there is no file {file} to read a teacher from.")
    if file.suffix.lower() in RULES_FILES:
        raise ParameterError(f"read the rules first: teacher=ifthen.read_ruleset({str(file)!r})[0].")
    if file == path and is_sb3_file(file):  # a file in a folder was not named
        from ifthen.systems.pplx.sb3 import read_sb3, sb3_teacher

        return sb3_teacher(read_sb3(file), task, ObservationBuilder(task))
    return _from_ruleset(load(file), task)


def _from_ruleset(source: Any, task: EnvTask) -> Teacher:
    """Return the teacher that rules are; it has no opinion where no rule matches."""
    ruleset, ranges = checked_ruleset(source, task), task.ranges
    name = getattr(source, "name", None) or f"a ruleset of {plural(len(ruleset), 'rule')}"
    return Teacher(name, lambda points: ruleset.best_actions(np.clip(points, *ranges)), task.n_actions, False)


def _from_table(source: Any, task: EnvTask) -> Teacher:
    """Return the teacher that a table by state is: `(states,)` actions, or `(states, actions)` values."""
    try:
        table = np.asarray(source)
    except ValueError:
        table = np.empty(0, object)
    (*_, feature), n_actions = task.features, task.n_actions
    if len(task.features) != 1 or not feature.is_integer:
        raise ParameterError(
            f"a table is a teacher where a state is one whole number, and {task.name} observes "
            f"{plural(len(task.features), 'feature')}: give a function of an observation."
        )
    n_states, low = int(feature.width), int(feature.low)
    has_values = table.ndim == 2 and table.dtype.kind in "fiu"
    if table.shape != ((n_states, n_actions) if has_values else (n_states,)) or table.dtype.kind not in "fiu":
        raise ParameterError(
            f"a table for {task.name} must have an action for each of its {n_states:,} states, or "
            f"{n_actions} values, not {shown(source)}."
        )
    if not has_values:
        table = _actions(table, "the table", task)
    return Teacher(
        f"a table of {'values' if has_values else 'actions'}",
        lambda points: table[(np.clip(points[:, 0], low, low + n_states - 1) - low).astype(np.int64)],
        n_actions,
        has_values,
    )


def _actions(answers: NDArray[Any], speaker: str, task: EnvTask) -> Ints:
    """Return actions numbered from 0, given as the environment numbers them, or raise."""
    first, last = task.action_start, task.action_start + task.n_actions - 1
    if answers.dtype.kind not in "iub" or (
        answers.size and not first <= answers.min() <= answers.max() <= last
    ):
        raise ParameterError(
            f"{speaker} must give actions, whole numbers from {first} to {last}, not {shown(answers)}."
        )
    return answers.astype(np.int64) - first


class Answer(NamedTuple):
    """What a function says at one point or at several: actions or values."""

    value: NDArray[Any]
    has_values: bool


def _from_function(function: Callable[..., Any], task: EnvTask, name: str) -> Teacher:
    """Return the teacher that a function is; a few observations show what it takes and returns."""
    to_observation = ObservationBuilder(task)
    wants_env, probes = _wants_env(function), to_observation.probes()

    def ask(observation: Any) -> Any:
        return function(to_observation.env, observation) if wants_env else function(observation)

    def answer_at(point: Floats) -> Answer:
        observation = to_observation(point)
        try:
            answer = ask(observation)
        except IfthenError:
            raise
        except Exception as problem:  # whatever somebody's function raises
            raise ParameterError(
                f"the teacher {name} failed: {type(problem).__name__}: {problem}. It was asked with the "
                f"observation {shown(observation)}; it must be a function of one observation, or of the "
                "environment and an observation."
            ) from problem
        return _read(answer, name, observation, task)

    def one_by_one(points: Floats) -> NDArray[Any]:
        return np.array([answer_at(point).value for point in points])

    probed = [answer_at(point) for point in probes]
    has_values = probed[0].has_values
    if any(answer.has_values != has_values for answer in probed):
        raise ParameterError(f"the teacher {name} gives an action at times, and values at others.")

    def all_at_once(points: Floats) -> NDArray[Any]:
        answers = np.asarray(_first_of(ask(to_observation(points))))
        return answers if has_values else _actions(answers, f"the teacher {name}", task)

    expected = np.array([answer.value for answer in probed])
    batched = not wants_env and _same(all_at_once, probes, expected)
    return Teacher(name, all_at_once if batched else one_by_one, task.n_actions, has_values)


def _same(all_at_once: Answers, points: Floats, expected: NDArray[Any]) -> bool:
    """Return whether a function answers many observations at once as it answers them one by one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            answers = all_at_once(points)
        return answers.shape == expected.shape and bool(np.allclose(answers, expected))
    except Exception:  # whatever a function of one observation raises for many
        return False


def _wants_env(function: Callable[..., Any]) -> bool:
    """Return whether a function takes an environment before the observation."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of functions that are not Python's
        return False
    return not _can_take(signature, 1) and _can_take(signature, 2)


def _can_take(signature: inspect.Signature, n_arguments: int) -> bool:
    """Return whether a function can be called with this many arguments."""
    try:
        signature.bind(*range(n_arguments))
    except TypeError:
        return False
    return True


def _first_of(answer: Any) -> Any:
    """Return the action of an answer (action, state), as `predict` gives it; other answers as they are."""
    return answer[0] if isinstance(answer, tuple) and len(answer) == 2 and answer[1] is None else answer


def _read(answer: Any, name: str, observation: Any, task: EnvTask) -> Answer:
    """Return what a function says at one observation, or raise where it is neither action nor values."""
    array, n_actions, start = np.asarray(_first_of(answer)), task.n_actions, task.action_start
    if array.dtype.kind in "iub" and array.size == 1:
        return Answer(_actions(array.reshape(()), f"the teacher {name}", task), False)
    if array.dtype.kind in "fiu" and array.shape in ((n_actions,), (1, n_actions)):
        return Answer(array.reshape(n_actions).astype(np.float64), True)
    raise ParameterError(
        f"the teacher {name} must return an action, a whole number from {start} to {start + n_actions - 1}, "
        f"or the values of all {n_actions} actions; for the observation {shown(observation)} it returned "
        f"{shown(answer)}."
    )
