"""Distillation: short lists that imitate a teacher, and how well they do it.

Fidelity is measured on test seeds, on the states that a list visits and on those that the teacher visits.
Mistakes differ: most are harmless. So fidelity is also weighted by what a mistake costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from ifthen.checks import whole_number
from ifthen.digits import in_units, interval_in_words, plural
from ifthen.environments.make import TaskLike, as_task
from ifthen.environments.rebind import policy_and_its_task
from ifthen.errors import ParameterError
from ifthen.explanation.read_ruleset import is_rules_file, read_ruleset
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.env_simulator import evaluation_of
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.scope import environment
from ifthen.simulate.simulator import Evaluation
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.front import Front, Point
from ifthen.systems.learning import Callback
from ifthen.systems.pplx.pplx import PPLX
from ifthen.systems.pplx.pplx_on_env import OnEnvironment
from ifthen.systems.pplx.teacher import ObservationBuilder, Teacher
from ifthen.tasks.gym_task import EnvTask
from ifthen.text_table import TextTable

MOST_EPISODES = 10_000
"""Returns and fidelity are measured on at most this many test seeds."""
LITTLE = 0.8
"""Below this share of the teacher's states with the same action, a note says that a list is unlike it."""
COMPARED = 20_000
"""Fidelity is measured at no more states than this."""


class Fidelity(NamedTuple):
    """How well a list imitates a teacher at some states."""

    same: float
    """The share of states in which both take the same action."""
    kept: float
    """1 − what the list's mistakes cost, as a share of what the worst actions would cost."""


@dataclass(frozen=True, eq=False)
class Imitation:
    """One list of a front, beside the teacher.

    Args:
        point: the list, with its score on the seeds for choosing.
        evaluation: its returns on test seeds.
        on_own: its fidelity on the states that it visits.
        on_teachers: its fidelity on the states that the teacher visits.
    """

    point: Point
    evaluation: Evaluation
    on_own: Fidelity
    on_teachers: Fidelity


@dataclass(frozen=True, eq=False, repr=False)
class DistilResult(Shown):
    """Lists that imitate a teacher.

    Args:
        system: the system that has learnt them.
        teacher: the teacher's name.
        teacher_evaluation: the teacher's returns on test seeds.
        chosen: the list that was asked for.
        imitations: the best list of each length.
    """

    system: PPLX
    teacher: str
    teacher_evaluation: Evaluation
    chosen: Imitation
    imitations: tuple[Imitation, ...]

    @property
    def ruleset(self) -> RuleSet:
        """The list that was asked for."""
        return self.chosen.point.ruleset

    @property
    def front(self) -> Front:
        """The best list of each length."""
        return self.system.front

    @property
    def note(self) -> str:
        """What to know about a list that acts unlike the teacher in many of its states; "" for others."""
        agreement = self.chosen.on_teachers.same
        if agreement >= LITTLE:
            return ""
        gains = self.chosen.evaluation.performance - self.teacher_evaluation.performance
        sentence = f"These rules act differently from the teacher in {1 - agreement:.0%} of its states"
        sentence += " and get more" if gains > 0 else " and get less" if gains < 0 else ""
        if self.system.parameters.imitate:
            return f"{sentence}. More rules or steps may imitate it better."
        return f"{sentence}: they were tuned by their returns. tune=False (--no-tune) only imitates it."

    def tables(self) -> list[TextTable]:
        """Return the returns, the fidelity and the front."""
        chosen, list_label = self.chosen, plural(self.chosen.point.rules, "rule")
        seeds = plural(self.teacher_evaluation.episodes, "test seed")
        returns = tuple(
            (
                label,
                in_units(measured.performance),
                interval_in_words(measured.interval, measured.performance),
            )
            for label, measured in ((self.teacher, self.teacher_evaluation), (list_label, chosen.evaluation))
        )
        fidelity = tuple(
            (f"states that {visitor}", f"{measured.same:.1%}", f"{measured.kept:.1%}")
            for visitor, measured in (
                ("the list visits", chosen.on_own),
                ("the teacher visits", chosen.on_teachers),
            )
        )
        front = tuple(
            (
                str(imitation.point.rules),
                str(imitation.point.tests),
                in_units(imitation.evaluation.performance, self.teacher_evaluation.performance),
                f"{imitation.on_own.same:.1%}",
                f"{imitation.on_own.kept:.1%}",
            )
            for imitation in self.imitations
        )
        task = self.system.task.name
        return [
            TextTable(f"{task}: mean return on {seeds}", ("", "mean return", "95 % interval"), returns),
            TextTable(
                f"Fidelity of {list_label} to the teacher",
                ("", "same action", "by cost"),
                fidelity,
                (
                    "By cost: 100 % is no loss, 0 % the worst action everywhere, by the teacher's values.",
                    *([self.note] if self.note else []),
                ),
            ),
            TextTable(
                "The best list of each length",
                ("rules", "tests", "mean return", "same action", "by cost"),
                front,
                ("Fidelity is that on the states that each list visits.",),
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""

        def plain(imitation: Imitation) -> dict[str, Any]:
            return {
                "rules": imitation.point.rules,
                "tests": imitation.point.tests,
                "return": imitation.evaluation.performance,
                "interval": imitation.evaluation.interval,
                "fidelity on its own states": imitation.on_own._asdict(),
                "fidelity on the teacher's states": imitation.on_teachers._asdict(),
            }

        return {
            "task": self.system.task.name,
            "teacher": self.teacher,
            "teacher's return": self.teacher_evaluation.performance,
            "teacher's interval": self.teacher_evaluation.interval,
            "chosen": plain(self.chosen),
            "note": self.note,
            "front": [plain(imitation) for imitation in self.imitations],
        }

    def __str__(self) -> str:
        return "\n\n".join(table.to_text() for table in self.tables())

    def shown_parts(self) -> list[Part]:
        """Return the tables and the rules."""
        return [*self.tables(), *self.ruleset.shown_parts()]


def distil(
    teacher: object,
    task: TaskLike,
    *,
    rules: int | None = None,
    tests: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    terms: bool = True,
    tune: bool = True,
    require: str | list[str] | None = None,
    episodes: int = 100,
    threads: int | None = None,
    progress_bar: bool = False,
    callback: Callback | Sequence[Callback] | None = None,
    **parameters: Any,
) -> DistilResult:
    """Make a teacher's policy a short list of rules, and say how well the list imitates it.

    Args:
        teacher: the policy: a ruleset, a trained system, a file of either, a function of an observation that
            returns an action or the values of all actions, or a model of Stable-Baselines3 or its file.
        task: an environment, its id, or a task of one.
        rules: the most rules of the list; the shortest list that is nearly the best where None.
        tests: the most comparisons of the list, in the same way.
        steps: the steps to play while learning; as many as take a minute or two where None.
        seed: seed of everything random.
        terms: whether rules may compare sums of two features.
        tune: whether lists are chosen and tuned by their returns, which can make them better than the
            teacher. Without, they are chosen by how well they imitate it.
        require: what the rules must always or never do; see `System`. Not without tuning.
        episodes: the test seeds that returns and fidelity are measured on.
        threads: threads or worker processes; all cores where None. Results do not depend on it.
        progress_bar: show one.
        callback: called with the system after each epoch; see `System.learn`.
        parameters: other parameters of PPL-X by name; see `PPLXParameters`.
    """
    episodes = whole_number("episodes", episodes, 1, MOST_EPISODES)
    if isinstance(teacher, (str, Path)) and is_rules_file(teacher):
        teacher = read_ruleset(teacher, as_task(task))[0]
    teacher, env_task = policy_and_its_task(teacher, task)
    if "imitate" in parameters:
        raise ParameterError("distil takes tune=False (--no-tune) in place of imitate=True.")
    if require and not tune:
        raise ParameterError(
            "without tuning, lists are scored by how well they imitate, and rules that keep requirements "
            "change that: leave out require, or tune=False (--no-tune)."
        )
    options: dict[str, Any] = {"rules": rules, "tests": tests, "steps": steps, "terms": terms}
    options |= {"imitate": not tune, "require": require, "seed": seed, **parameters}
    system = PPLX(env_task, teacher=teacher, threads=checked_threads(threads), **options)
    _check_start(system)
    system.learn(progress_bar=progress_bar, callback=callback)
    return compared(system, episodes)


def _check_start(system: PPLX) -> None:
    """Raise where a teacher has no action at the start."""
    task, teacher = environment(system.task, "distillation"), cast(Teacher, system.teacher)
    if teacher.actions(ObservationBuilder(task).probes()[:1])[0] < 0:
        raise ParameterError(
            f"the teacher {teacher.name} has no action at the start of {task.name}: give rules of which the "
            "last one always holds."
        )


def compared(system: PPLX, episodes: int = 100) -> DistilResult:
    """Return how the lists of a system that was taught compare with the teacher, on test seeds."""
    task, teacher = environment(system.task, "distillation"), cast(Teacher, system.teacher)
    seeds, simulator = task.test_seeds(episodes), environment_simulator(task, system.threads)
    teacher_episodes = environment_simulator(task).record(teacher.actions, seeds)
    teacher_states = states_of(teacher_episodes)
    front, teacher_costs, imitations = system.front, costs_at(system, teacher_states), []
    for point in front.points:
        list_episodes = simulator.episodes(point.ruleset, seeds)
        list_states = states_of(list_episodes)
        imitations.append(
            Imitation(
                point,
                evaluation(task, list_episodes, seeds),
                fidelity(point.ruleset, task, teacher, list_states, costs_at(system, list_states)),
                fidelity(point.ruleset, task, teacher, teacher_states, teacher_costs),
            )
        )
    chosen = imitations[front.points.index(system.chosen(front))]
    return DistilResult(
        system, teacher.name, evaluation(task, teacher_episodes, seeds), chosen, tuple(imitations)
    )


def states_of(episodes: Sequence[Trajectory]) -> Floats:
    """Return the states of episodes, `(n, features)`; of very many, every second one or fewer."""
    points = np.vstack([episode.points for episode in episodes])
    return points[:: max(1, -(-len(points) // COMPARED))]


def costs_at(system: PPLX, points: Floats) -> Floats:
    """Return the cost of each action at points, by the teacher of a system, `(n, actions)`."""
    learner = cast(OnEnvironment, system.learner)
    return learner.bench(0, 0.0).costs(system.now.population, points)


def fidelity(ruleset: RuleSet, task: EnvTask, teacher: Teacher, points: Floats, costs: Floats) -> Fidelity:
    """Return how well a list imitates a teacher at points, given what actions give away there."""
    actions = ruleset.best_actions(np.clip(points, *task.ranges))
    cost, worst_cost = costs[np.arange(len(actions)), actions].sum(), costs.max(axis=1).sum()
    teacher_actions = teacher.actions(points)
    agreement = (
        float((actions == teacher_actions)[teacher_actions >= 0].mean())
        if (teacher_actions >= 0).any()
        else 1.0
    )
    return Fidelity(agreement, float(1 - cost / worst_cost) if worst_cost > 0 else 1.0)


def evaluation(task: EnvTask, episodes: Sequence[Trajectory], seeds: Ints) -> Evaluation:
    """Return the returns of episodes that were recorded."""
    returns = np.array([episode.discounted(task.gamma) for episode in episodes])
    endings = np.array([episode.ending for episode in episodes])
    steps = np.array([len(episode.actions) for episode in episodes])
    return evaluation_of(task, returns, endings, steps, seeds)
