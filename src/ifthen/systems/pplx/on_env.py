"""PPL-X in an environment: values first, lists second.

The plan has four phases. Short lists are evolved from scratch; a network learns what actions are worth, from
episodes that it and the best lists play; trees imitate it, at several sizes, where they themselves go; and
the best lists are shortened and tuned by playing. What a phase may spend is a share of the plan's steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, RuleError
from ifthen.rules.feature import Feature
from ifthen.rules.term import coefficients
from ifthen.rules.text.rule import terms_in
from ifthen.simulate.environment import EnvSimulator
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.front import Front, Point
from ifthen.systems.model_file import Model, check_history
from ifthen.systems.pplx import drafts as lists
from ifthen.systems.pplx import knowledge
from ifthen.systems.pplx.bench import LEARNT_ON, Bench, unplayed
from ifthen.systems.pplx.distil import distil
from ifthen.systems.pplx.knowledge import NETWORKS, Knowledge, remembered
from ifthen.systems.pplx.learner import Learner
from ifthen.systems.pplx.parameters import PPLXParameters
from ifthen.systems.pplx.q_network import Memory, fill_network, weights_of
from ifthen.systems.pplx.scratch import evolve, single
from ifthen.systems.pplx.search import choose, shorten, tune
from ifthen.systems.pplx.taught import learn_teachers_values
from ifthen.systems.pplx.values import learn_values
from ifthen.systems.records import Record
from ifthen.tasks.gym_task import EnvTask

if TYPE_CHECKING:
    from ifthen.systems.learning import Goal
    from ifthen.systems.pplx.system import PPLX

BEGINNING, SCRATCH, VALUES, DISTIL, SEARCH = range(5)
"""The phases, as the history numbers them."""
WORDS = ("beginning", "random lists", "action values", "distilling", "tuning")
SHORTENING, TUNING, DISTILLING, CHOOSING = "shorten", "tune", "distil", "choose"
ROUNDS = (SHORTENING, SHORTENING, TUNING, DISTILLING, DISTILLING) * 3 + (SHORTENING, TUNING, TUNING, CHOOSING)
"""What the epochs of the search do."""
PARTS = {SHORTENING: 1.0, TUNING: 1.5, DISTILLING: 0.5, CHOOSING: 3.0}
"""The steps that they get, in proportion."""
EPOCHS = {SCRATCH: 2, VALUES: 20, DISTIL: 14, SEARCH: len(ROUNDS)}
NEEDED = {SCRATCH: (1,), VALUES: (0, 19), DISTIL: (0,), SEARCH: (len(ROUNDS) - 1,)}
"""Those that are never left out."""
SHARES = {SCRATCH: 0.05, VALUES: 0.5, DISTIL: 0.2}
"""What a phase may take of the plan's steps, at most; the search gets what is left."""
MOST_VALUE_STEPS = 200_000
LEAST_SHARE = 0.5
"""What an epoch may take of what was planned for it, if others took more. If that is too much, it is left
out."""
SECONDS, MOST_SECONDS, FEWEST_EPISODES = 150, 1200, 200
"""How long one process may take to play the plan's steps, where nobody says how many they are; more, up to
twenty minutes, where they would be fewer than 200 episodes."""
PLANS = (10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 3_000_000)
"""The plans' steps to choose from; where steps cost next to nothing, the last one is chosen."""
PROBES, PROBE_STEPS, MOST_PROBES = 4, 200, 100
"""Episodes with random actions before anything is learnt; more of them until so many steps are taken."""
TIMED = 0.3
"""How many seconds of play the speed rests on, at least."""
MOST_ACTIONS = 1000
IMITATION = "share of the possible cost that is avoided"
"""What the scores of lists are that only imitate."""
MEASURED_ON, MEASURING_TAKES = 100, 0.005
"""The episodes behind the history's performance, and the share of the plan's steps that they may take."""


class OnEnvironment(Learner):
    """Learns in an environment."""

    plays_on = True
    knee, shortens, takes_teachers = 0.01, True, True

    def __init__(self, system: PPLX) -> None:
        super().__init__(system)
        self._measured: tuple[bytes, dict[str, float]] = b"", {}

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
        return cast(EnvTask, self.system.task)

    @cached_property
    def simulator(self) -> EnvSimulator:
        """What plays."""
        return environment_simulator(self.task, self.system.threads)

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
        """The phases and their epochs: a teacher saves the first one, and the second one if it has values."""
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

    @staticmethod
    def quota(phase: int, place: int, budget: float, plan: Mapping[int, int] = EPOCHS) -> float:
        """Return the steps that an epoch may take."""
        steps = {own: share * budget for own, share in SHARES.items() if own in plan}
        if VALUES in plan:
            steps[VALUES] = min(steps[VALUES], MOST_VALUE_STEPS)
        if SEARCH not in plan:
            steps[DISTIL] = budget - steps.get(VALUES, 0.0)
        if phase != SEARCH:
            return steps[phase] / EPOCHS[phase]
        left = budget - sum(steps.values())
        return left * PARTS[ROUNDS[place % len(ROUNDS)]] / sum(PARTS[own] for own in ROUNDS)

    def allowed(self, epoch: int, budget: float, taken: int) -> float:
        """Return the steps that an epoch may take: less than planned where those before it took more.

        Where long episodes took far more, epochs are left out, and get 0 steps: all but those that others
        rest on.
        """
        epochs, plan = range(epoch, max(self.epochs, epoch) + 1), self.plan
        planned = [self.quota(*self.phase(e, plan), budget, plan) for e in epochs]
        share = (budget - taken) / sum(planned) if epoch <= self.epochs else 1.0
        phase, place = self.phase(epoch, plan)
        if share < LEAST_SHARE and place not in NEEDED[phase]:
            return 0.0
        return planned[0] * min(1.0, max(LEAST_SHARE, share))

    def bench(self, epoch: int, quota: float, plenty: int = 1) -> Bench:
        """Return what an epoch works with."""
        given = coefficients((*self.task.features, *self.given_terms))
        own = plenty, given, self.system.teacher, self.parameters.imitate
        return Bench(self.simulator, self.system.seed, epoch, quota, *own)

    def begin(self) -> tuple[Knowledge, Record]:
        """Play a few episodes with random actions."""
        bench, f, a = self.bench(0, 0.0), len(self.task.features), self.task.n_actions
        episodes = list[Trajectory]()
        while len(episodes) < PROBES or (bench.steps < PROBE_STEPS and bench.episodes < MOST_PROBES):
            episodes += bench.explore(None, 1.0, bench.seeds(PROBES), bench.key("probe", bench.episodes))
        plan = self.planned(bench, bench.steps / bench.episodes)
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
            **lists.pack(first)._asdict(),
            useful=np.zeros((0, f)),
            fitness=np.array(unplayed(first)),
            clock=np.array([plan, np.mean([len(e.actions) for e in episodes]), -np.inf]),
        )
        known = bench.scored(known)
        return known, self.row(known, None, bench, None)

    def planned(self, bench: Bench, length: float) -> int:
        """Return the plan's steps: given, the most where steps cost next to nothing, or by their speed.

        Args:
            bench: plays.
            length: steps of an episode.
        """
        if self.parameters.steps is not None:
            return self.parameters.steps
        return PLANS[-1] if self.simulator.cheap else suited_plan(measured_speed(bench), length)

    def advance(self, population: Knowledge, before: Record, goal: Goal) -> tuple[Knowledge, Record]:
        """Go one epoch of the plan on."""
        known, error, epoch = population, None, int(before["epoch"]) + 1
        if epoch == 1 and goal.unit == "steps" and self.parameters.steps is None:
            known = known.with_clock(budget=goal.target)
        phase, place = self.phase(epoch, self.plan)
        bench = self.bench(epoch, self.allowed(epoch, known.budget, int(before["steps"])), known.plenty)
        if phase == SEARCH and DISTILLING not in ROUNDS[place % len(ROUNDS) :]:
            known = known.forgetting()
        if bench.quota == 0:
            return known, self.row(known, before, bench, None)
        if epoch == 1 and known.plenty > 1:  # short episodes: the first lists have played too few of them
            known = bench.scored(known._replace(fitness=np.full_like(known.fitness, np.nan)))
        if phase == SCRATCH:
            known = bench.tried(evolve(bench, known, last=place == EPOCHS[SCRATCH] - 1), self.given)
        elif phase == VALUES and bench.teacher is not None:
            known, error = learn_teachers_values(bench, known, bench.teacher, place, EPOCHS[VALUES])
        elif phase == VALUES:
            known, error = learn_values(bench, known, place, EPOCHS[VALUES])
        elif phase == DISTIL or ROUNDS[place % len(ROUNDS)] == DISTILLING:
            begins = phase == DISTIL and place == 0
            known = distil(bench, known, first=begins, terms=self.parameters.terms)
        elif ROUNDS[place % len(ROUNDS)] == TUNING:
            known = tune(bench, known, ROUNDS[: place % len(ROUNDS)].count(TUNING))
        elif ROUNDS[place % len(ROUNDS)] == CHOOSING:
            known = choose(bench, known)
        else:
            known = shorten(
                bench, known, first=place % len(ROUNDS) == 0 or ROUNDS[place % len(ROUNDS) - 1] != SHORTENING
            )
        return known, self.row(known, before, bench, error)

    def row(self, known: Knowledge, before: Record | None, bench: Bench, error: float | None) -> Record:
        """Return the history's row of an epoch."""
        epoch = 0 if before is None else int(before["epoch"]) + 1
        so_far = before or {"episodes": 0, "steps": 0}
        front = self.front(known)
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
        """Return the performance on training and on validation seeds; they are no steps of learning."""
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
        points = [
            Point(lists.ruleset(draft, self.task, self.given_terms), score, deviation, int(episodes))
            for draft, (score, deviation, episodes) in zip(
                population.drafts, population.fitness.tolist(), strict=True
            )
            if math.isfinite(score)
        ]
        scored = IMITATION if self.parameters.imitate else "return on the seeds for choosing"
        return Front.of(points, scored)

    def arrays(self, population: Knowledge) -> dict[str, NDArray[Any]]:
        """Return the arrays of a population for a file."""
        return knowledge.saved(population)

    def population_of(self, model: Model) -> Knowledge:
        """Return the population that a model file holds, or raise where it does not fit."""
        check_history(model, ("epoch", "episodes", "steps", "performance", self.task.held_out_column))
        return knowledge.read(model, self.task)


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
