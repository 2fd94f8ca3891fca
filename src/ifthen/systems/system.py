"""What every system is: a learner with parameters, a task, a history, a ruleset and a file.

A system learns by epochs. Its whole state between them is plain arrays and numbers, and its random numbers
are functions of the seed and of where it stands, so it can be saved and resumed after any epoch.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_args

from numpy.typing import ArrayLike, NDArray

from ifthen.checks import whole_number
from ifthen.digits import in_units
from ifthen.environments.make import TaskLike, as_task
from ifthen.environments.rebind import played_in
from ifthen.errors import ModelFileError, ParameterError, shown
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.randomness import check_seed
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.text.constraint_text import requirements_in
from ifthen.store import check_writable
from ifthen.systems import model_file
from ifthen.systems.front import Front
from ifthen.systems.learning import (
    EPOCH_LIMIT,
    Callback,
    Goal,
    Moment,
    Population,
    as_one,
    checked_goal,
    progress_line,
    warn_if_over,
)
from ifthen.systems.parameters import Parameters, checked_parameters, without_removed
from ifthen.systems.presets import preset
from ifthen.systems.progress import Saving, progress_of
from ifthen.systems.records import Record, Records
from ifthen.systems.shields import Shields
from ifthen.systems.start_rules import check_start
from ifthen.tasks.env_like import EnvLike
from ifthen.tasks.task import Task

if TYPE_CHECKING:
    import polars

Kind = TypeVar("Kind")


class System(Shown, ABC):
    """A learner of rules.

    Args:
        task: a task, a task's name, or a Gymnasium environment.
        seed: seed of everything random in training.
        threads: how many threads to use, all cores where None; results do not depend on it.
        start: a ruleset to begin with; random rules only where None.
        require: what the rules must always or never do, such as "never heat when room >= 24"; one text or
            several. Rules that keep it are put on top of the list where it is needed.
        verbose: 1 to print a line now and then while learning.
        parameters: the system's parameters by name; see its `Parameters`.
    """

    # What every system gives, with `begin`, `advance`, `ruleset` and `population_of`.
    name: ClassVar[str]
    summary: ClassVar[str]
    """What it is in one sentence."""
    Parameters: ClassVar[type[Parameters]]

    # What a system may give, with `fill_parameters` and `default_epochs`.
    gives_lists: ClassVar[bool] = False
    """Whether it hands out decision lists: requirements are put on top, a task's default action is last."""
    starts_from: ClassVar[tuple[str, ...]] = ()
    """The kinds of rulesets that learning can begin with: `self.start`."""
    learns_from: ClassVar[tuple[str, ...]] = ("training", "pool")
    """The blocks of an environment's reset seeds that learning plays: see `EnvTask`."""

    def __init__(
        self,
        task: TaskLike,
        *,
        seed: int = 0,
        threads: int | None = None,
        start: RuleSet | None = None,
        require: str | list[str] | None = None,
        verbose: int = 0,
        **parameters: Any,
    ) -> None:
        self._task = as_task(task)
        self.verbose = whole_number("verbose", verbose, 0, 2)
        if self._task.default_action is not None and not self.gives_lists:
            raise ParameterError(
                f"a default action is the last rule of a decision list, and {self.name}'s rules have no "
                "order: use a system of decision lists (see 'ifthen systems'), or leave default_action out."
            )
        self.require = requirements_in(require)
        if self.require and not self.gives_lists:
            raise ParameterError(
                f"requirements are kept by rules on top of a decision list, and {self.name} hands out none: "
                f"use {_others_with('gives_lists')}, or check them with 'ifthen verify'."
            )
        self.shields = Shields(
            self.require, self.task.features, self.task.action_names, self.task.default_action
        )
        self.seed = check_seed(seed)
        suited = {**preset(self.name, self.task), **parameters}
        self.parameters = self.fill_parameters(checked_parameters(self.Parameters, suited))
        self.threads = checked_threads(threads)
        self.start = None if start is None else self._fit_start(start)
        self.removed: dict[str, Any] = {}
        """Parameters that a file was trained with and that ifthen no longer has."""
        self._now: Moment | None = None

    @property
    def task(self) -> Task:
        """The task that is learnt. A system keeps its task; `set_env` gives it an environment to play in."""
        return self._task

    def get_env(self) -> Any:
        """Return a fresh environment of the task."""
        return self.task.make()

    def set_env(self, env: EnvLike) -> None:
        """Go on in an environment that is given: an object, its id, or a function that makes it.

        It must observe and do the same things. Files hold no environments of one's own: a loaded system needs
        one to learn on, and `ifthen.load(path, env=…)` gives it at once.
        """
        rebound = type(self)(
            played_in(self.task, env),
            seed=self.seed,
            threads=self.threads,
            start=self.start,
            require=self.require,
            verbose=self.verbose,
            **self.parameters.model_dump(),
        )
        rebound._now, rebound.removed = self._now, self.removed
        self.__dict__ = rebound.__dict__  # nothing is left of simulators that play the old one

    def set_teacher(self, teacher: object) -> None:
        """Learn on from a teacher, which files do not hold, or raise where the system takes none."""
        raise ParameterError(f"{self.name} takes no teacher: use {_others_with('set_teacher')}.")

    @classmethod
    def list_parameters(cls) -> list[tuple[str, Any, str]]:
        """Return name, default and meaning of every parameter."""
        rows = []
        for name, field in cls.Parameters.model_fields.items():
            words = [word for word in get_args(field.annotation) if isinstance(word, str)]
            choices = f" One of: {', '.join(words)}." if words else ""
            rows.append((name, field.default, f"{field.description}{choices}"))
        return rows

    def _suited(self, on_table: Kind, on_environment: Kind) -> Kind:
        """Return the part of the system that suits its task: the one for tables, or for environments."""
        return on_table if self.task.has_states else on_environment

    def fill_parameters(self, parameters: Any) -> Any:
        """Return the parameters with those left to the task filled in, or raise where one does not fit it."""
        return parameters

    def _fit_start(self, start: RuleSet) -> RuleSet:
        """Return the ruleset to begin with, or raise where the system or the task cannot begin with it."""
        check_start(self, start)
        return start

    @abstractmethod
    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return the initial population and the history's row of epoch 0.

        A system that plans its steps plans them for the goal.
        """

    @abstractmethod
    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Return the population one epoch on, and its row, given the present one and its row `before`.

        A system that can stop inside an epoch does so where the goal's steps or episodes are reached.
        """

    @property
    def default_epochs(self) -> int:
        """How many epochs `learn` takes by default."""
        return 250

    def reached(self, goal: Goal) -> bool:
        """Return whether learning stops here."""
        return goal.reached(self.now.records[-1])

    @property
    @abstractmethod
    def ruleset(self) -> RuleSet:
        """The best ruleset of the present population."""

    def shield_of(self, ruleset: RuleSet) -> int:
        """Return how many rules at the top of the list as learnt, or made of it, come from requirements."""
        return self.shields.count(ruleset, self.ruleset)

    def shield_in_words(self, ruleset: RuleSet) -> str:
        """Return which rules of a list come from requirements; "" without requirements."""
        return self.shields.in_words(self.shield_of(ruleset)) if self.require else ""

    @property
    def front(self) -> Front | None:
        """The best list of each size, where the system looks for such; None elsewhere."""
        return None

    def _saved_arrays(self, population: Population) -> dict[str, NDArray[Any]]:
        """Return the arrays of a population for a file."""
        arrays: dict[str, NDArray[Any]] = population._asdict()
        return arrays

    @abstractmethod
    def population_of(self, model: model_file.Model) -> Population:
        """Return the population that a model file holds, or raise ModelFileError where it does not fit."""

    def check_learning(self) -> None:
        """Raise where a file was trained with parameters that are gone: it predicts, but cannot learn on."""
        if self.removed:
            names = ", ".join(f"{name} = {shown(value)}" for name, value in self.removed.items())
            raise ParameterError(
                f"this {self.name} was trained with {names}, which ifthen no longer has. It predicts as "
                "before, but cannot learn on. Train a new one; start=system.ruleset begins with its rules."
            )

    def prepare(self, goal: Goal) -> Self:
        """Make the initial population (epoch 0), unless there is one already.

        Args:
            goal: when learning is going to stop.
        """
        if self._now is None:
            population, record = self.begin(goal)
            self._now = Moment(0, population, Records({name: [value] for name, value in record.items()}))
        return self

    def go_on_from(self, moment: Moment) -> Self:
        """Stand where the same system stood after learning elsewhere."""
        self._now = moment
        return self

    def learn(
        self,
        *bare: int,
        epochs: int | None = None,
        steps: int | None = None,
        episodes: int | None = None,
        total_timesteps: int | None = None,
        callback: Callback | Sequence[Callback] | None = None,
        progress_bar: bool = False,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 25,
    ) -> Self:
        """Learn on; `default_epochs` where no length is given.

        Args:
            bare: not used: a bare number could mean several things, and raises an error that names them.
            epochs: how many more epochs; a fresh system first makes its initial population (epoch 0).
            steps: how many more environment steps. Systems that learn by generations finish the generation.
                XCSF stops exactly there on a table, and after the episode in an environment.
            episodes: how many more episodes, in the same way.
            total_timesteps: Stable-Baselines3's word for `steps`.
            callback: called with the system after each epoch; learning stops when it returns False. Or a list
                of callbacks, such as `ifthen.Checkpoint` and `ifthen.StopAt`.
            progress_bar: show a bar with the ruleset's performance, in environments on validation seeds.
            checkpoint: a file to save to every `checkpoint_every` epochs, at the end and when interrupted
                after epoch 0; `ifthen.load` of it and `learn` of the rest give the same bytes as one go.
            checkpoint_every: epochs between two checkpoints. They are further apart where saving takes long,
                as with the history of very many epochs: it takes at most a twentieth of the time.
        """
        self.check_learning()
        lengths = {"epochs": epochs, "steps": steps, "episodes": episodes, "total_timesteps": total_timesteps}
        goal = checked_goal(bare, lengths, self.default_epochs, self._now)
        return self.learn_towards(goal, callback, progress_bar, checkpoint, checkpoint_every)

    def learn_towards(
        self,
        goal: Goal,
        callback: Callback | Sequence[Callback] | None = None,
        progress_bar: bool = False,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 25,
    ) -> Self:
        """Learn up to a total number of epochs, steps or episodes; see `learn` for the other arguments."""
        checkpoint_every = whole_number("checkpoint_every", checkpoint_every, 1, EPOCH_LIMIT)
        after_epoch = as_one(callback)
        if checkpoint is not None:
            check_writable(Path(checkpoint))  # found now, not after an hour
        if not self.started:
            self.prepare(goal)
            warn_if_over(self, goal)
        save = Saving(self, checkpoint)
        bar, show = (
            progress_of(self, goal, self._gauge(goal), self._progress_in_words)
            if progress_bar
            else (nullcontext(), lambda: None)
        )
        with bar:
            try:
                while not self.reached(goal):
                    now = self.now
                    self._now = now.followed_by(*self.advance(now.population, now.records[-1], goal))
                    show()
                    if self.verbose and (line := progress_line(self, goal)):
                        print(f"{self.name}: {line}")
                    if self.epoch % checkpoint_every == 0:
                        save.where_it_pays()
                    if after_epoch(self) is False:
                        break
            finally:
                save.now()
        return self

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Return (action, state) as Stable-Baselines3 does.

        Args:
            observation: what the task's environment gives: `(features,)` for one action and `(n, features)`
                for `(n,)` actions, or, where it observes state numbers, one number or `(n,)` of them.
            state: passed through; rules have no memory.
            episode_start: not used; rules have no memory.
            deterministic: not used; rules are deterministic.

        Actions are numbered as the environment numbers them. Where no rule matches the action is
        `ifthen.NULL_ACTION` (−1), which says that there is none: do not hand it on, as not every environment
        checks its actions. Where −1 is an action of the environment, RuleError is raised instead.
        """
        return self.task.numbered(self.ruleset.predict(self.task.features_of(observation))), state

    @property
    def started(self) -> bool:
        """Whether there is a population."""
        return self._now is not None

    @property
    def now(self) -> Moment:
        """The state after the last epoch; raises where nothing was learnt yet."""
        if self._now is None:
            raise ParameterError(f"this {self.name} has learnt nothing yet: call learn(epochs=100) first.")
        return self._now

    @property
    def watched_column(self) -> str:
        """The column of the history to watch and to stop at.

        In an environment it is measured on validation seeds. On a table it is what the system learns by.
        """
        return self.task.watched_column

    @property
    def shortens(self) -> bool:
        """Whether learning shortens the rules by playing, so that pruning does not do it again."""
        return False

    def _gauge(self, goal: Goal) -> Goal:
        """Return what a progress bar counts on the way to a goal."""
        return goal

    def _progress_in_words(self) -> str:
        """Return what a progress bar says beside its count."""
        return self.watched_in_words

    @property
    def watched_in_words(self) -> str:
        """What `watched` is, with its name; in words where a state without a rule was reached."""
        performance = self.watched
        if not math.isnan(performance) and performance <= self.task.failure_mark:
            return f"{self.task.watched_name}: a state without a rule"
        return f"{self.task.watched_name} {in_units(performance)}"

    @property
    def watched(self) -> float:
        """The last number in `watched_column`; NaN where a file of another version has none."""
        return float(self.now.records[-1].get(self.watched_column, math.nan))

    @property
    def epoch(self) -> int:
        """The number of the last epoch."""
        return self.now.epoch

    @property
    def num_timesteps(self) -> int:
        """How many environment steps were taken so far."""
        return int(self._now.records[-1]["steps"]) if self._now else 0

    @property
    def history(self) -> polars.DataFrame:
        """One row per epoch, from 0 (the initial population) on; one more where learning is inside one."""
        import polars

        return polars.DataFrame(self.now.records.columns())

    def save(self, path: str | Path) -> None:
        """Write the system with all it needs to go on learning, in one file, whole or not at all."""
        arrays = self._saved_arrays(self.now.population)
        model_file.write(Path(path), self._manifest(), self.task, arrays)

    def _manifest(self) -> dict[str, Any]:
        """Return what a file says of the system, besides its task and its arrays."""
        manifest: dict[str, Any] = {
            "system": self.name,
            "seed": self.seed,
            "epoch": self.epoch,
            "parameters": {**self.parameters.model_dump(), **self.removed},
            "history": self.now.records.columns(),
        }
        if self.start is not None:
            manifest["start"] = self.start.to_dict()
        if self.require:
            manifest["require"] = self.require
        return manifest

    @classmethod
    def from_model(cls, model: model_file.Model, threads: int | None = None) -> Self:
        """Build the system that a model file describes."""
        in_file, removed = without_removed(cls.Parameters, model.parameters)
        checked_parameters(cls.Parameters, in_file)  # before any of them could pass for an argument
        defaults = {name: field.default for name, field in cls.Parameters.model_fields.items()}
        parameters = {**defaults, **in_file}  # an older file knows nothing of presets that came later
        system = cls(
            model.task,
            seed=model.seed,
            threads=threads,
            start=model.start,
            require=model.require,
            **parameters,
        )
        system.removed = removed
        system._now = Moment(model.epoch, system.population_of(model), model.history)
        return system

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: EnvLike | None = None,
        *,
        teacher: object = None,
        threads: int | None = None,
    ) -> Self:
        """Read a system of this kind back from `save`'s file; see `ifthen.load`."""
        from ifthen.systems.registry import load

        system = load(path, env, teacher=teacher, threads=threads)
        if not isinstance(system, cls) or system.name != getattr(cls, "name", system.name):
            raise ModelFileError(f"{path} holds a {system.name} model, not {cls.name}.")
        return system

    def shown_parts(self) -> list[Part]:
        """Return what it is and, once it has learnt, its rules."""
        title = repr(self).strip("<>")
        has_learnt = self.started and (self.epoch or self.num_timesteps)
        return [title, *self.ruleset.shown_parts()] if has_learnt else [title]

    __str__ = object.__str__

    def __repr__(self) -> str:
        epoch = "not started" if self._now is None else f"epoch {self._now.epoch}"
        return f"<{self.name} on {self.task.name}, seed {self.seed}, {epoch}>"


def _others_with(attribute: str) -> str:
    """Return the names of the systems that have an attribute of their own, for errors."""
    from ifthen.systems.registry import SYSTEMS, either_of

    return either_of(
        name for name, kind in SYSTEMS.items() if getattr(kind, attribute) is not getattr(System, attribute)
    )
