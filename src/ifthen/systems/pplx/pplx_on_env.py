"""PPL-X in an environment: values first, lists second.

The plan has four phases. Short lists are evolved from scratch; a network learns what actions are worth, from
episodes that it and the best lists play; trees imitate it, at several sizes, where they themselves go; and
the best lists are shortened and tuned by playing. What a phase may spend is a share of the plan's steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ifthen.environments.twin_registry import twin_of
from ifthen.errors import ModelFileError, ParameterError, RuleError
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.term import coefficients
from ifthen.rules.text.terms import terms_in
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.scope import environment
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.front import Front, Point
from ifthen.systems.model_file import Model, check_history
from ifthen.systems.pplx import drafts as lists
from ifthen.systems.pplx import knowledge
from ifthen.systems.pplx.bench import LEARNT_ON, Bench, fitness_of, unplayed
from ifthen.systems.pplx.distil_values import distil
from ifthen.systems.pplx.knowledge import NETWORKS, Knowledge, remembered
from ifthen.systems.pplx.policy_search import choose, shorten, tune
from ifthen.systems.pplx.pplx_learner import Learner
from ifthen.systems.pplx.pplx_parameters import LEAST_STEPS, PPLXParameters
from ifthen.systems.pplx.q_network import Memory, fill_network, weights_of
from ifthen.systems.pplx.scratch import evolve, single
from ifthen.systems.pplx.value_learning import learn_values
from ifthen.systems.records import Record
from ifthen.tasks.gym_task import EnvTask

if TYPE_CHECKING:
    from ifthen.systems.learning import Goal
    from ifthen.systems.pplx.pplx import PPLX

BEGINNING, SCRATCH, VALUES, DISTIL, SEARCH = range(5)
"""The phases, as the history numbers them."""
WORDS = ("beginning", "random lists", "action values", "distilling", "tuning")
"""The name of each phase in progress lines."""
SHORTENING, TUNING, DISTILLING, CHOOSING = "shorten", "tune", "distil", "choose"
"""An epoch of the search does one of these."""
ROUNDS = (SHORTENING, SHORTENING, TUNING, DISTILLING, DISTILLING) * 3 + (SHORTENING, TUNING, TUNING, CHOOSING)
"""The epochs of the search, in order."""
PARTS = {SHORTENING: 1.0, TUNING: 1.5, DISTILLING: 0.5, CHOOSING: 3.0}
"""The search divides its steps among its epochs in these proportions."""
EPOCHS = {SCRATCH: 2, VALUES: 20, DISTIL: 14, SEARCH: len(ROUNDS)}
"""The number of epochs of each phase."""
NEEDED = {SCRATCH: (1,), VALUES: (0, 19), DISTIL: (0,), SEARCH: (len(ROUNDS) - 1,)}
"""The epochs of each phase that are always played, even when the steps run out."""
SHARES = {SCRATCH: 0.05, VALUES: 0.5, DISTIL: 0.2}
"""Each phase takes at most this share of the plan's steps. The search takes the rest."""
CHEAP_PLAN = 8_000_000
"""The plan's steps in environments whose steps cost next to nothing."""
CHEAP_SCRATCH = 0.125
"""In such environments, evolving random lists takes this share of the plan's steps."""
CHEAP_CHOICE = 10.0
"""In such environments, the last choice gets ten times its usual part of the steps."""
MOST_VALUE_STEPS = 200_000
"""Learning action values takes at most this many steps."""
LEAST_SHARE = 0.5
"""An epoch gets at least this share of its planned steps, or it is left out."""
SECONDS = 150
"""Without `steps`, one process plays the plan's steps in about this many seconds."""
MOST_SECONDS = 1200
"""Slow environments may take up to this many seconds."""
FEWEST_EPISODES = 500
"""A plan has at least this many episodes, if they fit into MOST_SECONDS."""
PLANS = (
    *(10_000, 15_000, 20_000, 30_000, 50_000, 70_000, 100_000, 150_000, 200_000, 300_000, 500_000, 700_000),
    *(1_000_000, 1_500_000, 2_000_000, 3_000_000),
)
"""Without `steps`, the plan's steps are one of these numbers."""
ENOUGH_STEPS = 100_000
"""Shorter plans leave rules that pruning by playing can still take away."""
PROBES = 4
"""At least this many episodes with random actions come before learning."""
PROBE_STEPS = 200
"""Random episodes go on until this many steps are taken."""
MOST_PROBES = 100
"""Random episodes stop at this number, however short they are."""
TIMED = 0.3
"""The speed is measured over at least this many seconds of play."""
MOST_ACTIONS = 1000
"""Tasks with more actions than this are refused."""
OF_KEPT = "kept"
"""The array of a file with the scores of lists that requirements change."""
IMITATION = "share of the possible cost that is avoided"
"""The name of a list's score where lists only imitate a teacher."""
MEASURED_ON = 100
"""The history's performance is a mean over at most this many episodes."""
MEASURING_TAKES = 0.005
"""Measuring for the history takes at most this share of the plan's steps."""


class OnEnvironment(Learner):
    """Learns in an environment."""

    plays_on = True
    knee, takes_teachers = 0.01, True

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
        """Whether the environment has a compiled twin, even if the task's `player` leaves it out.

        Whoever plays, the same seed then gives the same lists.
        """
        return twin_of(replace(self.task, player="auto")) is not None

    @cached_property
    def given_terms(self) -> tuple[Feature, ...]:
        """The terms that the user gave."""
        return terms_in(self.parameters.given_terms, self.task.features)

    @property
    def given(self) -> list[lists.Draft]:
        """The list to start from, if there is one."""
        start = self.system.start
        return [] if start is None else [lists.draft_from(start)]

    @property
    def plan(self) -> dict[int, int]:
        """The number of epochs of each phase. A teacher replaces the first phase, or two if it has values."""
        taught = self.system.taught
        saved = set() if taught is None else {SCRATCH, VALUES} if taught.values else {SCRATCH}
        saved |= {SEARCH} if self.parameters.imitate else set()
        return {phase: epochs for phase, epochs in EPOCHS.items() if phase not in saved}

    @property
    def epochs(self) -> int:
        """The length of the plan."""
        return sum(self.plan.values())

    @property
    def imitation(self) -> int:
        """The epochs before lists are searched for by their returns."""
        return self.epochs - self.plan.get(SEARCH, 0)

    @property
    def shortens(self) -> bool:
        """Whether the plan has steps enough for shortening. Lists that only imitate are left as they are."""
        return self.parameters.imitate or self.system.now.population.budget >= ENOUGH_STEPS

    @staticmethod
    def phase(epoch: int, plan: Mapping[int, int] = EPOCHS) -> tuple[int, int]:
        """Return the phase of an epoch, and its number there; the last phase goes on after the plan."""
        phase, place = BEGINNING, epoch - 1
        for phase, epochs in plan.items():
            if epoch == 0 or place < epochs or phase == max(plan):
                break
            place -= epochs
        return (phase, place) if epoch else (BEGINNING, 0)

    def doing(self, epoch: int) -> str:
        """Return what an epoch does, in a few words."""
        return WORDS[self.phase(epoch, self.plan)[0]]

    def quota(self, epoch: int, budget: float) -> float:
        """Return the steps that an epoch may take."""
        plan, shares, parts = self.plan, SHARES, PARTS
        if self.is_cheap:
            shares = SHARES | {SCRATCH: CHEAP_SCRATCH}
            parts = PARTS | {CHOOSING: CHEAP_CHOICE * PARTS[CHOOSING]}
        phase, place = self.phase(epoch, plan)
        steps = {own: share * budget for own, share in shares.items() if own in plan}
        if VALUES in plan:
            steps[VALUES] = min(steps[VALUES], MOST_VALUE_STEPS)
        if SEARCH not in plan:
            steps[DISTIL] = budget - steps.get(VALUES, 0.0)
        if phase != SEARCH:
            return steps[phase] / EPOCHS[phase]
        left = budget - sum(steps.values())
        return left * parts[ROUNDS[place % len(ROUNDS)]] / sum(parts[own] for own in ROUNDS)

    def allowed(self, epoch: int, budget: float, taken: int) -> float:
        """Return the steps that an epoch may take: less than planned where those before it took more.

        Where long episodes took far more, only the epochs in NEEDED are played. The others get 0 steps.
        """
        planned = [self.quota(e, budget) for e in range(epoch, max(self.epochs, epoch) + 1)]
        share = (budget - taken) / sum(planned) if epoch <= self.epochs else 1.0
        phase, place = self.phase(epoch, self.plan)
        if share < LEAST_SHARE and place not in NEEDED[phase]:
            return 0.0
        return planned[0] * min(1.0, max(LEAST_SHARE, share))

    def bench(self, epoch: int, quota: float, plenty: int = 1) -> Bench:
        """Return what an epoch works with."""
        given = coefficients((*self.task.features, *self.given_terms))
        own = plenty, given, self.system.teacher, self.parameters.imitate
        return Bench(self.simulator, self.system.seed, epoch, quota, *own)

    def begin(self, goal: Goal) -> tuple[Knowledge, Record]:
        """Play a few episodes with random actions."""
        bench, f, a = self.bench(0, 0.0), len(self.task.features), self.task.n_actions
        episodes = list[Trajectory]()
        while len(episodes) < PROBES or (bench.steps < PROBE_STEPS and bench.episodes < MOST_PROBES):
            episodes += bench.explore(None, 1.0, bench.seeds(PROBES), bench.key("probe", bench.episodes))
        plan = self.planned(bench, bench.steps / bench.episodes, goal)
        memory = remembered(
            Memory(np.zeros((0, f), np.float32), np.zeros(0, np.int16), np.zeros(0, np.float32)), episodes
        )
        nets = np.zeros((NETWORKS, weights_of(f, a)), np.float32)
        fill_network(bench.key("network"), f, a, nets[0])
        nets[1] = nets[-1] = nets[0]
        first = [*(single(action, f) for action in range(a)), *self.given]
        known = Knowledge(
            *memory,
            states=bench.clipped(memory.points[memory.moves >= 0]).astype(np.float32),
            scale=np.concatenate([np.zeros(f), np.ones(f + 1)]),
            nets=nets,
            **lists.pack(first),
            useful=np.zeros((0, f)),
            fitness=np.array(unplayed(first)),
            clock=np.array([plan, np.mean([len(e.actions) for e in episodes]), -np.inf]),
        )
        known = bench.scored(known)
        return known, self.row(known, None, bench, None)

    def planned(self, bench: Bench, length: float, goal: Goal) -> int:
        """Return the plan's steps: those given, CHEAP_PLAN, or as many as the environment's speed allows.

        Args:
            bench: plays.
            length: steps of an episode.
            goal: when learning stops; its steps are the plan's where the parameters say none.
        """
        if self.parameters.steps is not None:
            return self.parameters.steps
        if goal.unit == "steps" and goal.target >= LEAST_STEPS:
            return goal.target
        return CHEAP_PLAN if self.is_cheap else suited_plan(measured_speed(bench), length)

    def is_planned(self, population: Knowledge, goal: Goal) -> bool:
        """Return whether the plan is made for a goal in steps: it has just as many."""
        return goal.unit == "steps" and goal.target >= LEAST_STEPS and population.budget == goal.target

    def advance(self, population: Knowledge, before: Record, goal: Goal) -> tuple[Knowledge, Record]:
        """Go one epoch of the plan on."""
        known, error, epoch = population, None, int(before["epoch"]) + 1
        if epoch == 1 and goal.unit == "steps" and self.parameters.steps is None:
            known = known.with_clock(budget=goal.target)
        phase, place = self.phase(epoch, self.plan)
        turn = place % len(ROUNDS) if phase == SEARCH else 0
        does = ROUNDS[turn] if phase == SEARCH else DISTILLING
        bench = self.bench(epoch, self.allowed(epoch, known.budget, int(before["steps"])), known.plenty)
        if phase == SEARCH and DISTILLING not in ROUNDS[turn:]:
            known = known.forgetting()
        if bench.quota == 0:
            return known, self.row(known, before, bench, None)
        if epoch == 1 and known.plenty > 1:  # short episodes: the first lists have played too few of them
            known = bench.scored(known._replace(fitness=np.full_like(known.fitness, np.nan)))
        if phase == SCRATCH:
            known = bench.tried(evolve(bench, known, last=place == EPOCHS[SCRATCH] - 1), self.given)
        elif phase == VALUES:
            known, error = learn_values(bench, known, place, EPOCHS[VALUES])
        elif phase == DISTIL and place == 0 and self.system.teacher is None and known.learnt_nothing:
            known = self.instead_of_distilling(bench, known)
        elif does == DISTILLING:
            begins = phase == DISTIL and place == 0
            known = distil(bench, known, first=begins, terms=self.parameters.terms)
        elif does == TUNING:
            known = tune(bench, known, ROUNDS[:turn].count(TUNING))
        elif does == CHOOSING:
            known = choose(bench, known)
        else:
            known = shorten(bench, known, first=turn == 0 or ROUNDS[turn - 1] != SHORTENING)
        return known, self.row(known, before, bench, error)

    def instead_of_distilling(self, bench: Bench, known: Knowledge) -> Knowledge:
        """Seek lists at random with the steps of the whole phase: there are no values to imitate.

        This happens where rewards mislead: every way to the goal costs something that doing nothing saves.
        """
        bench.quota *= EPOCHS[DISTIL]
        return bench.tried(evolve(bench, known, last=True), self.given)

    def row(self, known: Knowledge, before: Record | None, bench: Bench, error: float | None) -> Record:
        """Return the history's row of an epoch."""
        epoch = 0 if before is None else int(before["epoch"]) + 1
        so_far = before or {"episodes": 0, "steps": 0}
        front = self.system.front_of(known)
        chosen = self.system.chosen(front)
        return {
            "epoch": epoch,
            "phase": self.phase(epoch, self.plan)[0],
            **self.measures(chosen, known, bench),
            "chosen_rules": chosen.rules,
            "chosen_tests": chosen.tests,
            "chosen_value": chosen.score,
            "best_value": front.best.score,
            "network_return": known.network_return if np.isfinite(known.network_return) else None,
            "value_error": error,
            "plan_steps": int(known.budget),
            "episodes": int(so_far["episodes"]) + bench.episodes,
            "steps": int(so_far["steps"]) + bench.steps,
        }

    def measures(self, chosen: Point, known: Knowledge, bench: Bench) -> dict[str, float]:
        """Return the performance on training and on validation seeds. Its steps do not count as learning."""
        task, own = self.task, chosen.ruleset
        k = bench.affordable(MEASURING_TAKES * known.budget, known.length, 3, bench.plenty * MEASURED_ON)
        key = repr((own.bounds.tolist(), own.actions.tolist(), own.features, k)).encode()
        if self._measured[0] != key:
            played = self.simulator.play_ruleset(own, np.concatenate([task.z[:k], task.validation[:k]]))
            split = len(task.z[:k])
            means = float(played.returns[0, :split].mean()), float(played.returns[0, split:].mean())
            self._measured = key, {"performance": means[0], task.held_out_column: means[1]}
        return dict(self._measured[1])

    def front(self, population: Knowledge) -> Front:
        """Return the best list of each size."""
        scored = IMITATION if self.parameters.imitate else "return on the seeds for choosing"
        return Front.of(self._points(population), scored)

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
            returns = self.simulator.play_ruleset(ruleset, self.task.choosing(key[1])).returns
            (score, deviation, episodes), *_ = fitness_of(returns).tolist()
            self._scored_again[key] = Point(ruleset, score, deviation, int(episodes))
        return self._scored_again[key]

    def arrays(self, population: Knowledge) -> dict[str, NDArray[Any]]:
        """Return the arrays of a population for a file; where requirements change lists, their scores, too.

        Otherwise reading the file would have to play them, and files do not hold environments.
        """
        arrays = knowledge.saved(population)
        if self.system.require:
            points = self.system.kept_points(self.front(population), population)
            rows = [(own.score, own.deviation or 0.0, own.episodes or 1) for own in points]
            arrays[OF_KEPT] = np.array(rows, dtype=np.float64)
        return arrays

    def population_of(self, model: Model) -> Knowledge:
        """Return the population that a model file holds, or raise where it does not fit."""
        check_history(model, ("epoch", "episodes", "steps", "performance", self.task.held_out_column))
        kept = model.population.get(OF_KEPT)
        own = {name: array for name, array in model.population.items() if name != OF_KEPT}
        population = knowledge.read(replace(model, population=own), self.task)
        if kept is not None:
            self._read_scores(model, kept, self.front(population))
        return population

    def _read_scores(self, model: Model, kept: NDArray[Any], front: Front) -> None:
        """Take the scores of a front's lists with what requirements add from a file, instead of playing."""
        if kept.shape != (len(front), 3) or kept.dtype != np.float64 or not (kept[:, 2] >= 1).all():
            raise ModelFileError(f"{model.path}: kept must hold a score for each list of the front.")
        for point, (score, deviation, episodes) in zip(front.points, kept.tolist(), strict=True):
            ruleset = self.system.shields.put_on(cast(DecisionList, point.ruleset))
            key = ruleset, point.episodes or 1
            self._scored_again[key] = Point(ruleset, score, deviation, int(episodes))


def suited_plan(speed: float, length: float) -> int:
    """Return the steps of a plan, given the steps of one process in a second, and those of an episode."""
    steps = max(SECONDS * speed, min(FEWEST_EPISODES * length, MOST_SECONDS * speed), PLANS[0])
    return max(plan for plan in PLANS if plan <= steps)


def measured_speed(bench: Bench) -> float:
    """Return the steps that are taken in a second, with random actions; nothing is learnt from them."""
    episodes, counted = PROBES, (bench.steps, bench.episodes)
    while True:
        before, began = bench.steps, time.perf_counter()
        bench.explore(None, 1.0, bench.seeds(episodes), bench.key("timed", episodes))
        took = time.perf_counter() - began
        if took >= TIMED or episodes >= LEARNT_ON:
            speed = (bench.steps - before) / took
            bench.steps, bench.episodes = counted
            return speed
        episodes *= 4
