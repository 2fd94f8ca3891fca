"""PPL-X in an environment: values first, lists second.

The plan has four phases. Short lists are evolved from scratch; a network learns what actions are worth, from
episodes that it and the best lists play; trees imitate it, at several sizes, where they themselves go; and
the best lists are shortened and tuned by playing. What a phase may spend is a share of the plan's steps.

Where few observations are distinct, the last three phases work with counts in place of the network
(`count_learning.py`), unless counts promise more than their policy gets.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ModelFileError, ParameterError, RuleError
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.term import coefficients
from ifthen.rules.text.terms import terms_in
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.evaluate import environment_simulator, is_cheap
from ifthen.simulate.scope import environment
from ifthen.systems.front import Front, Point
from ifthen.systems.learning import Goal
from ifthen.systems.model_file import Model, check_history
from ifthen.systems.pplx import drafts as lists
from ifthen.systems.pplx import knowledge
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.count_learning import counted_epoch, model_for_epoch, model_of
from ifthen.systems.pplx.env_plan import (
    CHEAP_PLAN,
    EPOCHS,
    SCRATCH,
    SEARCH,
    VALUES,
    WORDS,
    Plan,
    PlanSettings,
    suited_plan,
)
from ifthen.systems.pplx.first_steps import first_networks, measured_speed, random_episodes
from ifthen.systems.pplx.knowledge import Clock, Knowledge
from ifthen.systems.pplx.memory import Memory, remembered
from ifthen.systems.pplx.network_learning import network_epoch
from ifthen.systems.pplx.pplx_learner import Learner
from ifthen.systems.pplx.pplx_parameters import LEAST_STEPS, PPLXParameters
from ifthen.systems.pplx.scoring import fitness_of, unplayed, with_scores
from ifthen.systems.pplx.scratch import single
from ifthen.systems.records import Record
from ifthen.tasks.gym_task import BLOCK, EnvTask

if TYPE_CHECKING:
    from ifthen.systems.pplx.pplx import PPLX

MOST_ACTIONS = 1000
"""Tasks with more actions than this are refused."""
OF_KEPT = "kept"
"""The array of a file with the scores of lists that requirements change."""
PLAYED = "return on the seeds for choosing"
"""The name of a list's score."""
COUNTED = "expected return on the counts"
"""The name of a list's score as long as steps are counted, before lists play in the end."""
IMITATION = "share of the possible cost that is avoided"
"""The name of a list's score where lists only imitate a teacher."""
MEASURED_ON = 100
"""The history's performance is a mean over at most this many episodes."""
MEASURING_TAKES = 0.005
"""Measuring a list for the history takes at most this share of the plan's steps, for training and for
validation seeds each, but an episode at least."""


class OnEnvironment(Learner):
    """Learns in an environment."""

    plays_on = True
    knee, takes_teachers = 0.0025, True
    soft_limit = 10

    def __init__(self, system: PPLX) -> None:
        super().__init__(system)
        self._measured: tuple[bytes, dict[str, float]] = b"", {}
        self._scored_again: dict[tuple[DecisionList, int], Point] = {}

    @staticmethod
    def filled(parameters: PPLXParameters, task: Any) -> PPLXParameters:
        """Nothing is left to the task. Raise where it or a parameter cannot be used."""
        if task.default_action is not None:
            raise ParameterError(
                "the lists of PPL-X end with a rule that always holds: leave default_action out."
            )
        if task.n_actions > MOST_ACTIONS:
            raise ParameterError(
                f"PPL-X takes at most {MOST_ACTIONS:,} actions, and {task.name} has {task.n_actions:,}."
            )
        if np.abs(task.ranges).max() > float(np.finfo(np.float32).max):
            raise ParameterError(
                f"PPL-X works in single precision, and {task.name} has a feature beyond 3.4e38: give it a "
                "smaller range (ranges={…} of env_task), or use PPL-DL."
            )
        try:
            terms_in(parameters.given_terms, task.features)
        except RuleError as problem:
            raise ParameterError(f"given_terms: {problem}") from None
        return parameters

    @property
    def task(self) -> EnvTask:
        """The environment."""
        return environment(self.system.task, "this way of learning")

    @cached_property
    def simulator(self) -> EnvSimulator:
        """What plays."""
        return environment_simulator(self.task, self.system.threads)

    @cached_property
    def is_cheap(self) -> bool:
        """Whether steps cost next to nothing, whoever plays."""
        return is_cheap(self.task)

    @cached_property
    def given_terms(self) -> tuple[Feature, ...]:
        """The terms that the user gave."""
        return terms_in(self.parameters.given_terms, self.task.features)

    @property
    def start_drafts(self) -> list[lists.Draft]:
        """The list to start from, if there is one."""
        start = self.system.start
        return [] if start is None else [lists.draft_from(start)]

    @property
    def plan(self) -> Plan:
        """The epochs. A teacher replaces the first phase, or two if it has values."""
        taught = self.system.taught
        left_out = set() if taught is None else {SCRATCH, VALUES} if taught.values else {SCRATCH}
        left_out |= {SEARCH} if self.parameters.imitate else set()
        kept_epochs = {phase: epochs for phase, epochs in EPOCHS.items() if phase not in left_out}
        return Plan(kept_epochs, self.is_cheap, taught is not None)

    @property
    def epochs(self) -> int:
        """The length of the plan."""
        return self.plan.length

    def settings(self, known: Knowledge) -> PlanSettings:
        """Return what the plan does in its own way, as it is short or not."""
        return self.plan.settings(known.budget)

    @property
    def imitation(self) -> int:
        """The epochs before lists are searched for by their returns."""
        return self.epochs - self.plan.epochs.get(SEARCH, 0)

    @property
    def shortens(self) -> bool:
        """Whether lists were shortened: by playing if there are steps enough, or by counts.

        Lists that only imitate are left as they are.
        """
        known: Knowledge = self.system.now.population
        return self.parameters.imitate or known.by_counts or self.settings(known).shortens

    def doing(self, epoch: int) -> str:
        """Return what an epoch does, in a few words."""
        return WORDS[self.plan.phase(epoch)[0]]

    def gauge(self, goal: Goal) -> Goal:
        """Count steps on the way to the end of a short plan, unless they are cheap and take little time."""
        known: Knowledge = self.system.now.population
        to_the_end = goal.unit == "epochs" and goal.target == self.epochs
        if to_the_end and self.settings(known).counts_steps and not self.is_cheap:
            return Goal("steps", int(known.budget))
        return goal

    def bench(self, epoch: int, quota: float, episode_factor: int = 1) -> Bench:
        """Return what an epoch works with."""
        given_terms = coefficients((*self.task.features, *self.given_terms))
        teacher, imitates = self.system.teacher, self.parameters.imitate
        simulator, seed = self.simulator, self.system.seed
        return Bench(simulator, seed, epoch, quota, episode_factor, given_terms, teacher, imitates)

    def begin(self, goal: Goal) -> tuple[Knowledge, Record]:
        """Play a few episodes with random actions."""
        bench, n_features, n_actions = self.bench(0, 0.0), len(self.task.features), self.task.n_actions
        episodes = random_episodes(bench)
        mean_length = bench.n_steps / bench.n_episodes
        plan = self.planned(bench, mean_length, goal)
        points = np.zeros((0, n_features), np.float32)
        memory = remembered(Memory(points, np.zeros(0, np.int16), np.zeros(0, np.float32)), episodes)
        nets = first_networks(bench, self.plan.networks(plan))
        first_drafts = [*(single(action, n_features) for action in range(n_actions)), *self.start_drafts]
        known = Knowledge(
            *memory,
            states=memory.points[memory.moves >= 0],
            scale=np.concatenate([np.zeros(n_features), np.ones(n_features + 1)]),
            nets=nets,
            **lists.pack(first_drafts),
            useful=np.zeros((0, n_features)),
            fitness=np.array(unplayed(first_drafts)),
            clock=Clock(budget=plan, episode_length=mean_length).array(),
        )
        bench.keeps_episodes = self.keeps_episodes(known)
        known = self.with_kept_episodes(bench, with_scores(bench, known).only_played())
        return known, self.row(known, None, bench, None)

    def keeps_episodes(self, known: Knowledge) -> bool:
        """Return whether the steps of scored lists are learnt from, too: in short plans every step counts."""
        return self.settings(known).learns_from_scoring and len(known.moves) > 0

    @staticmethod
    def with_kept_episodes(bench: Bench, known: Knowledge) -> Knowledge:
        """Return what is known with the steps of lists that were scored.

        They are left out where counts may take the network's place: all lists are scored on the same seeds,
        so that the same luck would count over and over again.
        """
        if not bench.kept_episodes or not len(known.moves) or model_of(bench, known) is not None:
            return known
        return known._replace(**remembered(known.memory, bench.kept_episodes)._asdict())

    def planned(self, bench: Bench, episode_length: float, goal: Goal) -> int:
        """Return the plan's steps: those given, CHEAP_PLAN, or as many as the environment's speed allows.

        Args:
            bench: plays.
            episode_length: steps of an episode.
            goal: when learning stops; its steps are the plan's, if they are enough for one and the
                parameters say none.
        """
        if self.parameters.steps is not None:
            return self.parameters.steps
        if is_enough_for_a_plan(goal):
            return goal.target
        return CHEAP_PLAN if self.is_cheap else suited_plan(measured_speed(bench), episode_length)

    def is_planned(self, population: Knowledge, goal: Goal) -> bool:
        """Return whether the plan is made for a goal in steps: it has just as many."""
        return is_enough_for_a_plan(goal) and population.budget == goal.target

    def advance(self, population: Knowledge, before: Record, goal: Goal) -> tuple[Knowledge, Record]:
        """Go one epoch of the plan on."""
        epoch = int(before["epoch"]) + 1
        known = self.with_plan_for(goal, population) if epoch == 1 else population
        work = self.plan.work(epoch, known.budget)
        if not work.needs_steps and not known.by_counts:
            known = known.without_memory()
        quota = self.plan.allowed(epoch, known.budget, int(before["steps"]))
        bench = self.bench(epoch, quota, known.episode_factor)
        if quota == 0 and not known.by_counts:  # the epoch is left out
            return known, self.row(known, before, bench, None)
        bench.keeps_episodes = self.keeps_episodes(known)
        if epoch == 1:
            known = self.with_enough_episodes(bench, known)
        known, model = model_for_epoch(bench, known, work)
        if model is not None:
            plan_steps_left = known.budget - before["steps"]
            known, error = counted_epoch(bench, known, model, self.parameters, work, plan_steps_left)
        else:
            known, error = network_epoch(bench, known, work, self.parameters.terms, self.start_drafts)
        known = self.with_kept_episodes(bench, known)
        return known, self.row(known, before, bench, error)

    def with_plan_for(self, goal: Goal, known: Knowledge) -> Knowledge:
        """Return what is known with a plan of the goal's steps, if it is made for them."""
        if self.parameters.steps is not None or not is_enough_for_a_plan(goal):
            return known
        nets = first_networks(self.bench(0, 0.0), self.plan.networks(goal.target))
        return known.with_clock(budget=goal.target)._replace(nets=nets)

    @staticmethod
    def with_enough_episodes(bench: Bench, known: Knowledge) -> Knowledge:
        """Return what is known with scores by as many episodes as the plan allows.

        If episodes are short, the lists of the beginning have played too few of them.
        """
        if bench.episode_factor == 1:
            return known
        return with_scores(bench, known._replace(fitness=np.full_like(known.fitness, np.nan))).only_played()

    def row(self, known: Knowledge, before: Record | None, bench: Bench, error: float | None) -> Record:
        """Return the history's row of an epoch."""
        epoch = 0 if before is None else int(before["epoch"]) + 1
        so_far = before or {"episodes": 0, "steps": 0}
        front = self.system.front_of(known)
        chosen = self.system.chosen(front)
        return {
            "epoch": epoch,
            "phase": self.plan.phase(epoch)[0],
            **self.measures(chosen, known, bench, before),
            "chosen_rules": chosen.rules,
            "chosen_tests": chosen.tests,
            "chosen_value": chosen.score,
            "best_value": front.best.score,
            "network_return": known.network_return if np.isfinite(known.network_return) else None,
            "value_error": error,
            "plan_steps": int(known.budget),
            "episodes": int(so_far["episodes"]) + bench.n_episodes,
            "steps": int(so_far["steps"]) + bench.n_steps,
        }

    def measures(
        self, chosen: Point, known: Knowledge, bench: Bench, before: Record | None
    ) -> dict[str, float]:
        """Return the performance on training and on validation seeds. Its steps do not count as learning."""
        task, ruleset = self.task, chosen.ruleset
        steps, max_seeds = MEASURING_TAKES * known.budget, bench.episode_factor * MEASURED_ON
        if before is not None and self.repeats_measures(known, int(before["epoch"]) + 1):
            return {name: before[name] for name in ("performance", task.held_out_column)}
        n_seeds = bench.affordable_episodes(steps, known.episode_length, 1, max_seeds)
        key = repr((ruleset.bounds.tolist(), ruleset.actions.tolist(), ruleset.features, n_seeds)).encode()
        if self._measured[0] != key:
            training, validation = task.z[:n_seeds], task.validation[:n_seeds]
            result = self.simulator.play_ruleset(ruleset, np.concatenate([training, validation]))
            returns = np.split(result.returns[0], [len(training)])
            performance, held_out = (float(seed_returns.mean()) for seed_returns in returns)
            self._measured = key, {"performance": performance, task.held_out_column: held_out}
        return dict(self._measured[1])

    def repeats_measures(self, known: Knowledge, epoch: int) -> bool:
        """Return whether a row repeats the measures of the row before: within a plan of very few episodes."""
        has_long_episodes = known.episode_length > self.settings(known).long_episode * known.budget
        return has_long_episodes and not self.is_cheap and epoch < self.epochs

    def front(self, population: Knowledge) -> Front:
        """Return the best list of each size."""
        is_counted = population.by_counts and len(population.moves)
        by_returns = COUNTED if is_counted else PLAYED
        return Front.of(self._points(population), IMITATION if self.parameters.imitate else by_returns)

    def constants(self, population: Knowledge) -> list[Point]:
        """Return the lists of a single rule."""
        return self._points(population, most_rules=1)

    def _points(self, population: Knowledge, most_rules: int | None = None) -> list[Point]:
        """Return the lists that have played, with what they got."""
        return [
            Point(lists.ruleset(draft, self.task, self.given_terms), score, deviation, int(episodes))
            for draft, (score, deviation, episodes) in zip(
                population.drafts, population.fitness.tolist(), strict=True
            )
            if math.isfinite(score) and (most_rules is None or len(draft.actions) <= most_rules)
        ]

    def scored_again(self, point: Point, ruleset: DecisionList, population: Knowledge) -> Point:
        """Return a list of the front with other rules, and with their returns on the same seeds."""
        key = ruleset, point.episodes or 1
        if key not in self._scored_again:
            seeds = self.task.choosing(min(key[1], BLOCK))
            returns = self.simulator.play_ruleset(ruleset, seeds).returns
            (score, deviation, episodes), *_ = fitness_of(returns).tolist()
            self._scored_again[key] = Point(ruleset, score, deviation, int(episodes))
        return self._scored_again[key]

    def arrays(self, population: Knowledge) -> dict[str, NDArray[Any]]:
        """Return the arrays of a population for a file; where requirements change lists, their scores, too.

        Otherwise reading the file would have to play them, and files do not hold environments.
        """
        arrays = knowledge.file_arrays(population)
        if self.system.require:
            points = self.system.kept_points(self.front(population), population)
            rows = [(point.score, point.deviation or 0.0, point.episodes or 1) for point in points]
            arrays[OF_KEPT] = np.array(rows, dtype=np.float64)
        return arrays

    def population_of(self, model: Model) -> Knowledge:
        """Return the population that a model file holds, or raise where it does not fit."""
        check_history(model, ("epoch", "episodes", "steps", "performance", self.task.held_out_column))
        kept_scores = model.population.get(OF_KEPT)
        arrays = {name: array for name, array in model.population.items() if name != OF_KEPT}
        population = knowledge.read(replace(model, population=arrays), self.task)
        if kept_scores is not None:
            self._read_scores(model, kept_scores, self.front(population))
        return population

    def _read_scores(self, model: Model, scores: NDArray[Any], front: Front) -> None:
        """Take the scores of a front's lists with what requirements add from a file, instead of playing."""
        if scores.shape != (len(front), 3) or scores.dtype != np.float64 or not (scores[:, 2] >= 1).all():
            raise ModelFileError(f"{model.path}: kept must hold a score for each list of the front.")
        for point, (score, deviation, episodes) in zip(front.points, scores.tolist(), strict=True):
            ruleset = self.system.shields.put_on(cast(DecisionList, point.ruleset))
            key = ruleset, point.episodes or 1
            self._scored_again[key] = Point(ruleset, score, deviation, int(episodes))


def is_enough_for_a_plan(goal: Goal) -> bool:
    """Return whether a goal is in steps, and these are enough for a plan."""
    return goal.unit == "steps" and goal.target >= LEAST_STEPS
