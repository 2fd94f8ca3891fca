"""ZCS behind the contract of a system: epochs of problems, history, ruleset, files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError, TaskError
from ifthen.randomness import fold, stream
from ifthen.rules.feature import bounds_type, lows_and_highs
from ifthen.rules.strength_sum import StrengthSumRules
from ifthen.simulate.evaluate import simulator_of
from ifthen.simulate.simulator import Simulator
from ifthen.systems.learning import Goal
from ifthen.systems.model_file import ArraySpec, Model, check_arrays, check_history, refuse, wrong_rules
from ifthen.systems.records import Record
from ifthen.systems.system import System
from ifthen.systems.zcs.breed import fill_population
from ifthen.systems.zcs.play import Player
from ifthen.systems.zcs.zcs_parameters import ZCSParameters
from ifthen.systems.zcs.zcs_population import (
    COVERINGS,
    EPISODES,
    GA_INVOCATIONS,
    LARGEST,
    LEAST,
    RECENT,
    STEPS,
    TIME,
    Learning,
    Population,
    Settings,
    packed,
)

if TYPE_CHECKING:
    from typing import Unpack

    from ifthen.systems.keywords import ZCSKeywords

USUAL_REWARD = 1000.0
"""The reward of food in Wilson's mazes. The default of S0 suits rewards of this size."""


class ZCS(System):
    """Evolves one population of rules whose strengths add up; the action with most strength is taken.

    While it learns it draws actions by roulette, as published; its ruleset takes the strongest action.
    Learning stops between problems only: learn(steps=…) finishes the episode.

    It takes what every `System` takes, and `ZCSParameters` by name, but refuses `start`, as its rules come by
    covering, and `require`, which only rules with an order can keep.
    """

    name = "ZCS"
    summary = "Evolves one population of rules by a bucket brigade (the action with most strength decides)."
    Parameters = ZCSParameters
    parameters: ZCSParameters

    if TYPE_CHECKING:

        def __init__(self, task: TaskLike, **keywords: Unpack[ZCSKeywords]) -> None: ...

    def fill_parameters(self, parameters: ZCSParameters) -> ZCSParameters:
        """Raise where the GA would have to run more than once in a step."""
        if parameters.rho_counts == "calls" and parameters.rho > 1:
            raise ParameterError(
                "the GA runs at most once in a step: with rho_counts='calls' rho must be at most 1, not "
                f"{parameters.rho:g}."
            )
        return parameters

    @property
    def default_epochs(self) -> int:
        """As many as make the 10,000 problems of the published curves."""
        return 200

    @cached_property
    def _simulator(self) -> Simulator:
        return simulator_of(self.task, threads=self.threads, noise=self.parameters.noise)

    @cached_property
    def _key(self) -> np.uint64:
        return stream(self.seed, "zcs")

    @cached_property
    def _settings(self) -> Settings:
        parameters, (least_known, largest_reward) = self.parameters, self.task.reward_range
        least_reward = min(least_known, parameters.least_reward)
        per_call = 2.0 if parameters.rho_counts == "rules" else 1.0
        scale = (
            USUAL_REWARD / max(largest_reward - least_reward, 1e-9)
            if parameters.reward_scale is None
            else parameters.reward_scale
        )
        rates = (
            parameters.p_any,
            parameters.beta,
            parameters.gamma,
            parameters.tau,
            parameters.chi,
            parameters.mu,
            parameters.rho / per_call,
            parameters.phi,
        )
        return Settings(
            parameters.pop_limit, self.task.n_actions, self.task.t_max, *rates, float(scale), -least_reward
        )

    def _learning(self, population: Population) -> Learning:
        """Return a population ready to learn: a copy."""
        n, features = self.parameters.pop_limit, self.task.features
        lows, highs = (ends.astype(np.float64) for ends in lows_and_highs(features))
        real = np.array([not feature.is_integer for feature in features])
        share = self.parameters.r0_share * (highs - lows)
        return Learning(
            bounds=np.concatenate([population.bounds, np.zeros((2, len(features), 2))]),
            action=np.concatenate([population.action, np.zeros(2, dtype=np.int32)]),
            strength=np.concatenate([population.strength, np.zeros(2)]),
            observation=np.zeros((1, len(features))),
            action_set=np.zeros(n, dtype=np.bool_),
            members=np.zeros(n, dtype=np.int64),
            wheel=np.zeros(n),
            clock=population.clock.copy(),
            recent=population.recent.copy(),
            lows=lows,
            highs=highs,
            reach=np.where(real, share, (highs - lows) // 2),
            real=real,
            settings=self._settings,
        )

    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return a population full of random rules."""
        n, features = self.parameters.pop_limit, len(self.task.features)
        blank = Population(
            np.zeros((n, features, 2)),
            np.zeros(n, dtype=np.int32),
            np.full(n, self.parameters.s0),
            np.zeros(5, dtype=np.int64),
            np.zeros(RECENT, dtype=np.int64),
        )
        learning = self._learning(blank)
        fill_population(np.uint64(fold(self._key, 2)), learning)
        population = packed(learning)
        return population, self._row(population)

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Learn to the end of the epoch, or until the goal's steps or problems are reached."""
        end = (int(before["epoch"]) + 1) * self.parameters.problems_per_epoch
        learning = self._learning(population)
        self._play(learning, goal.limit("steps"), min(end, goal.limit("episodes")))
        following = packed(learning)
        if not (following.strength < LARGEST).all():
            raise TaskError(
                f"the rewards of {self.task.name} are too large: strengths grew beyond all measure. Give a "
                "smaller reward_scale."
            )
        return following, self._row(following)

    def _play(self, learning: Learning, steps: int, episodes: int) -> None:
        """Learn up to a total of steps or problems; the last problem is finished."""
        self._simulator.let_learn(Player(self._key), learning, steps, episodes)

    def _row(self, population: Population) -> Record:
        """Return the history's row of a population."""
        steps, episodes, invocations, coverings, _ = population.clock.tolist()
        ruleset = self._ruleset(population)
        played = min(episodes, RECENT)
        return {
            "epoch": episodes // self.parameters.problems_per_epoch,
            **self._simulator.ruleset_measures(ruleset),
            "mean_steps": int(population.recent.sum()) / max(1, played),  # 0 before the first problem
            "macros": len(ruleset),
            "mean_strength": float(population.strength.mean()),
            "episodes": episodes,
            "steps": steps,
            "ga_invocations": invocations,
            "coverings": coverings,
        }

    def _ruleset(self, population: Population) -> StrengthSumRules:
        """Return the rules of a population; equal ones are one rule with all their strength."""
        keys = np.column_stack([population.action, population.bounds.reshape(len(population.action), -1)])
        _, first_slots, rule_numbers = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        strength = np.bincount(rule_numbers.ravel(), population.strength)
        by_slot = np.argsort(first_slots)
        slots, task = first_slots[by_slot], self.task
        bounds = population.bounds[slots].astype(bounds_type(task.features))
        return StrengthSumRules(
            bounds, population.action[slots], task.features, task.action_names, strength[by_slot]
        )

    @property
    def ruleset(self) -> StrengthSumRules:
        """All rules of the present population."""
        return self._ruleset(self.now.population)

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds."""
        n, features = self.parameters.pop_limit, len(self.task.features)
        expected: ArraySpec = {
            "bounds": ((n, features, 2), np.float64),
            "action": ((n,), np.int32),
            "strength": ((n,), np.float64),
            "clock": ((5,), np.int64),
            "recent": ((RECENT,), np.int64),
        }
        check_arrays(model, expected)
        counted = ("epoch", "episodes", "steps", "ga_invocations", "coverings")
        check_history(model, ("performance", *counted), provisional=True)
        population = Population(**model.population)
        refuse(model, wrong_rules(population.bounds, population.action, self.task))
        refuse(model, self._wrong(population, model, counted))
        return population

    def _wrong(self, population: Population, model: Model, counted: tuple[str, ...]) -> str | None:
        """Return what is wrong with the numbers of a population whose rules are sound, if anything."""
        strength, clock, recent = population.strength, population.clock, population.recent
        if (population.bounds[:, :, 0] > population.bounds[:, :, 1]).any():
            return "the lower bound of a condition comes first"
        if not ((strength >= LEAST) & (strength < LARGEST)).all():
            return f"strengths must be from {LEAST:g} to {LARGEST:g}"
        if clock.min() < 0 or clock.max() > 2**50 or clock[TIME]:
            return "the clock counts from 0, and between two problems no step of one"
        if (
            recent.min() < 0
            or recent.max() > self.task.t_max
            or recent[min(int(clock[EPISODES]), RECENT) :].any()
        ):
            return f"the last problems have 1 to {self.task.t_max} steps each"
        counters = (
            clock[EPISODES] // self.parameters.problems_per_epoch,
            *clock[[EPISODES, STEPS, GA_INVOCATIONS]],
        )
        for name, number in zip(counted, (*counters, clock[COVERINGS]), strict=True):
            if model.history[-1][name] != number:
                return (
                    f"the history ends with {name} = {model.history[-1][name]}, but the clock says {number}"
                )
        return None
