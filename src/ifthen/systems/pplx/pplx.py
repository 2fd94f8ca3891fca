"""PPL-X behind the contract of a system: it learns action values first, and rules from them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from numpy.typing import NDArray

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.parallel import one_blas_thread
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import environment
from ifthen.systems.front import Front, Point
from ifthen.systems.learning import Goal
from ifthen.systems.model_file import Model, TeacherPart
from ifthen.systems.pplx.pplx_learner import Learner, Population
from ifthen.systems.pplx.pplx_on_env import OnEnvironment
from ifthen.systems.pplx.pplx_on_table import OnTable
from ifthen.systems.pplx.pplx_parameters import MOST_RULES, PPLXParameters
from ifthen.systems.pplx.teacher import Teacher, as_teacher
from ifthen.systems.records import Record
from ifthen.systems.start_rules import check_length
from ifthen.systems.system import System
from ifthen.tasks.env_like import EnvLike

if TYPE_CHECKING:
    from typing import Unpack

    from ifthen.systems.keywords import PPLXKeywords


class PPLX(System):
    """Learns action values first and decision lists second: the best list of each length.

    Args:
        task: a task, a task's name, or a Gymnasium environment.
        seed: seed of everything random in training.
        threads: how many threads to use, all cores where None; results do not depend on it.
        start: a decision list to begin with; random rules only where None.
        require: what the rules must always or never do, such as "never heat when room >= 24"; one text or
            several. Rules that keep it are put on top of the list where it is needed.
        verbose: 1 to print a line now and then while learning.
        teacher: in environments, a policy to learn from: a ruleset, a trained system or its file, a function
            of an observation that returns an action or the values of all actions, or a model of
            Stable-Baselines3 or its file. See docs/pplx.md.
        parameters: by name; see `PPLXParameters`.
    """

    name = "PPL-X"
    summary = "Learns action values, then decision lists from them: the best list of each length."
    Parameters = PPLXParameters
    starts_from = (DecisionList.kind,)
    gives_lists = True
    learns_from = ("learning", "choosing")
    parameters: PPLXParameters

    def __init__(self, task: TaskLike, *, teacher: object = None, **keywords: Unpack[PPLXKeywords]) -> None:
        super().__init__(task, **keywords)
        self.taught: TeacherPart | None = None
        if self.require and self.parameters.imitate:
            raise ParameterError(
                "imitate=True scores lists by how well they imitate, and rules that keep requirements change "
                "that: leave out one of them."
            )
        self.teacher: Teacher | None = None
        if teacher is not None:
            self.set_teacher(teacher)

    def set_teacher(self, teacher: object) -> None:
        """Learn on from a teacher, which files do not hold; see the class for what it can be."""
        if not self._kind.takes_teachers:
            raise ParameterError(
                f"teachers are for environments, and {self.task.name} is a table of states, of which PPL-X "
                "learns the values itself. For a decision list that acts as a policy does: "
                "ifthen.prune(policy, task, to='list'). Give a list to begin with as start=…"
            )
        new_teacher = as_teacher(teacher, environment(self.task, "a teacher"))
        if self.taught is not None and self.taught.values != new_teacher.has_values:
            old_kind, new_kind = ("action values", "actions only")[:: 1 if self.taught.values else -1]
            raise ParameterError(
                f"this {self.name} was taught by {self.taught.name}, which gives {old_kind}, and "
                f"{new_teacher.name} gives {new_kind}: give the same teacher again."
            )
        if self.taught is None and self.started:
            raise ParameterError(
                f"this {self.name} has learnt without a teacher so far: begin anew with one."
            )
        self.teacher = new_teacher
        self.taught = TeacherPart(name=new_teacher.name, values=new_teacher.has_values)

    def set_env(self, env: EnvLike) -> None:
        """Go on in an environment that is given; a teacher stays."""
        teacher, taught = self.teacher, self.taught
        super().set_env(env)
        self.teacher, self.taught = teacher, taught

    @classmethod
    def from_model(cls, model: Model, threads: int | None = None) -> Self:
        """Build the system that a model file describes; its teacher, if it had one, is not in the file."""
        system = super().from_model(model, threads)
        system.taught = model.teacher
        return system

    def _manifest(self) -> dict[str, Any]:
        """Return what a file says of the system; of a teacher only its name and what it gave."""
        manifest = super()._manifest()
        if self.taught is not None:
            manifest["teacher"] = self.taught.model_dump()
        return manifest

    def _check_teacher(self) -> None:
        """Raise where a teacher is missing."""
        if self.taught is None and self.parameters.imitate:
            raise ParameterError("imitate=True needs a teacher to imitate: give teacher=….")
        if self.taught is not None and self.teacher is None:
            raise ParameterError(
                f"this {self.name} was taught by {self.taught.name}, and files hold no teachers. It predicts "
                "without, but needs it to learn on: ifthen.load(path, teacher=…)."
            )

    def fill_parameters(self, parameters: Any) -> Any:
        """Fill in what was left to the task, and raise where a parameter does not fit it."""
        return self._kind.filled(parameters, self.task)

    def _fit_start(self, start: RuleSet) -> RuleSet:
        """Return the list to begin with, or raise where it does not fit; its intervals do not wrap."""
        start, _ = super()._fit_start(start).unwrapped()
        check_length(start, self.parameters.most_rules or MOST_RULES, "most_rules")
        return start

    @property
    def _kind(self) -> type[Learner]:
        return self._suited(OnTable, OnEnvironment)

    @cached_property
    def learner(self) -> Learner:
        """What learns in the task."""
        return self._kind(self)

    @property
    def default_epochs(self) -> int:
        """The length of the plan."""
        return self.learner.epochs

    @property
    def shortens(self) -> bool:
        """In environments, unless the plan is short."""
        return self.learner.shortens

    def _progress_in_words(self) -> str:
        """Return the phase of the plan, and how well the list does."""
        return f"{self.learner.doing(self.epoch + 1)}; {self.watched_in_words}"

    def _gauge(self, goal: Goal) -> Goal:
        """Count the plan's steps where they take most of the time."""
        return self.learner.gauge(goal)

    def reached(self, goal: Goal) -> bool:
        """Return whether learning stops here: at the goal, or at the end of the plan where steps are counted.

        A plan that is made for the goal goes on to its end, the choice among the lists, even if its episodes
        took some steps more or fewer than planned; unless the beginning alone took all. After the plan no
        more steps are taken on tables, so that a goal in steps could never be reached.
        """
        if self.learner.is_planned(self.now.population, goal) and (self.epoch or not super().reached(goal)):
            return self.epoch >= self.learner.epochs
        is_over = goal.unit != "epochs" and self.epoch >= self.learner.epochs and not self.learner.plays_on
        return is_over or super().reached(goal)

    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return the initial population, with a plan of the goal's steps where the parameters say none."""
        self._check_teacher()
        with one_blas_thread():
            return self.learner.begin(goal)

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Go one step of the plan on."""
        self._check_teacher()
        with one_blas_thread():
            return self.learner.advance(population, before, goal)

    @property
    def front(self) -> Front:
        """The best list of each length, with rules that keep its requirements."""
        return self.front_of(self.now.population)

    def front_of(self, population: Population) -> Front:
        """Return the best list of each length in a population, with rules that keep its requirements."""
        front = self.learner.front(population)
        if not self.require:
            return front
        shortest = [
            point
            for point in self.learner.constants(population)
            if self.shields.put_on(cast(DecisionList, point.ruleset)) == point.ruleset
        ]
        return Front.of([*self.kept_points(front, population), *shortest], front.scored)

    def kept_points(self, front: Front, population: Population) -> list[Point]:
        """Return the lists of a front with rules that keep its requirements, and with their scores."""
        points = []
        for point in front.points:
            shielded = self.shields.put_on(cast(DecisionList, point.ruleset))
            is_unchanged = shielded == point.ruleset
            points.append(point if is_unchanged else self.learner.scored_again(point, shielded, population))
        return points

    @property
    def ruleset(self) -> DecisionList:
        """The list of the front that the parameters `rules`, `tests` or `knee` choose."""
        return cast(DecisionList, self.chosen(self.front).ruleset)

    def chosen(self, front: Front) -> Point:
        """Return the list that the parameters choose; the shortest where none is as short as they ask."""
        parameters = self.parameters
        if parameters.rules is None and parameters.tests is None:
            if parameters.knee is not None:
                return front.knee(parameters.knee)
            return front.knee(self._kind.knee, within_error=True, soft_limit=self._kind.soft_limit)
        try:
            return front.at(parameters.rules, parameters.tests)
        except ParameterError:
            return front.points[0]

    def _saved_arrays(self, population: Population) -> dict[str, NDArray[Any]]:
        """Return the arrays of a population for a file."""
        return self.learner.arrays(population)

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds, or raise where it does not fit."""
        return self.learner.population_of(model)
