"""SAMUEL: its generations, in the order of the User's Guide to SAMUEL-97 (Grefenstette 1997).

A generation: select, cross, delete, draw operators, mutate and creep; play and learn (PRE_EVAL); make rules
from what was played; play and learn (POST_EVAL); play to see which rules act together (CLUSTER_EVAL); play to
measure (FITNESS_EVAL). Every few generations the best plans are tested again, and the best of them is handed
out.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ifthen.errors import ParameterError, TaskError
from ifthen.randomness import stream, uniform
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.batch import batch_of
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import bounds_type, lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.bids import Bidding, Bids
from ifthen.simulate.evaluate import check_options, simulator_of
from ifthen.simulate.simulator import Budget, Simulator
from ifthen.systems.learning import Goal
from ifthen.systems.model_file import (
    ArraySpec,
    Model,
    check_arrays,
    check_history,
    refuse,
    wrong_lengths,
    wrong_rules,
)
from ifthen.systems.pittsburgh_system import check_sizes
from ifthen.systems.records import Record
from ifthen.systems.samuel.breeding import (
    aged,
    crossed,
    drawn_parents,
    moved_baseline,
    with_deletions,
    with_mutations,
)
from ifthen.systems.samuel.granularity import Grid
from ifthen.systems.samuel.listed import list_of
from ifthen.systems.samuel.plans import COLUMNS, Arrays, Payoffs, Plan, Population, first_plan, separated
from ifthen.systems.samuel.samuel_operators import BLIND, Setting, Trace, applied, drawn_operators
from ifthen.systems.samuel.samuel_parameters import OPERATORS, SAMUELParameters
from ifthen.systems.start_rules import check_length
from ifthen.systems.system import System

if TYPE_CHECKING:
    from typing import Unpack

    from ifthen.systems.keywords import SAMUELKeywords


class SAMUEL(System):
    """Evolves plans of overlapping rules that bid for actions with strengths learnt from whole episodes.

    It takes what every `System` takes, and `SAMUELParameters` by name; `start` is a decision list, whose
    rules all plans begin with in place of rules that match everything.
    """

    name = "SAMUEL"
    summary = (
        "Evolves plans of rules that bid with learnt strengths; operators make rules from what was played."
    )
    Parameters = SAMUELParameters
    starts_from = (DecisionList.kind,)
    gives_lists = True
    parameters: SAMUELParameters

    if TYPE_CHECKING:

        def __init__(self, task: Any, **keywords: Unpack[SAMUELKeywords]) -> None: ...

    def fill_parameters(self, parameters: Any) -> SAMUELParameters:
        """Fill in what the version sets, and raise where a parameter does not fit."""
        if self.task.default_action is not None:
            raise ParameterError(
                "a default action is the last rule of a decision list, and SAMUEL's rules have no order: use "
                "PPL-DL, or leave default_action out."
            )
        p: SAMUELParameters = parameters.filled()
        assert p.most_rules is not None
        check_sizes(p.pop_size, p.most_rules, len(self.task.features) + 3, "most_rules")
        if p.most_rules < self.task.n_actions:
            raise ParameterError(
                f"most_rules must be at least {self.task.n_actions}, a rule for each action of "
                f"{self.task.name}, not {p.most_rules}."
            )
        check_options(self.task, "sampled", p.noise, Budget())
        return p

    def _fit_start(self, start: RuleSet) -> RuleSet:
        """Return the list to begin with, or raise where it does not fit or has too many rules."""
        start = super()._fit_start(start)
        assert self.parameters.most_rules is not None
        check_length(start, self.parameters.most_rules - self.task.n_actions, "most_rules")
        return start

    @cached_property
    def simulator(self) -> Simulator:
        """What plays the plans."""
        return simulator_of(self.task, threads=self.threads, noise=self.parameters.noise)

    @cached_property
    def setting(self) -> Setting:
        """What all operators get: steps of features, the number of actions, and the parameters."""
        p, task = self.parameters, self.task
        return Setting(Grid.of(task.features, p.granularity), task.n_actions, p)

    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return a population of first plans, all alike, after their first operators and episodes."""
        p = self.parameters
        plans = [first_plan(self.task, self.setting.grid, p.first_mean, self.start)] * p.pop_size
        return Generation(self, 0, plans, None, Payoffs()).played(None, None)

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Breed, play, make rules, play on and measure."""
        *parents, handed_out = separated(population)
        baseline, low, high = population.numbers.tolist()
        epoch = int(before["epoch"]) + 1
        plans = self.bred(parents, population.fitness, baseline, epoch)
        return Generation(self, epoch, plans, handed_out, Payoffs(low, high)).played(baseline, before)

    def bred(self, parents: list[Plan], values: Floats, baseline: float, epoch: int) -> list[Plan]:
        """Return the children of a population: selected, crossed, and with rules deleted."""
        p, grid = self.parameters, self.setting.grid
        assert p.most_rules is not None
        assert p.p_mut is not None
        chosen = drawn_parents(values, baseline, stream(self.seed, "select", epoch))
        children: list[Plan] = []
        for first, second in chosen.reshape(-1, 2).tolist():
            pair, key = (parents[first], parents[second]), stream(self.seed, "cross", epoch, len(children))
            crosses = uniform(stream(self.seed, "crosses", epoch, len(children)), 0) < p.p_cross
            children += crossed(*pair, p.most_rules, key) if crosses else pair
        children = [with_deletions(child, grid, p) for child in children]
        return [
            with_mutations(child, p.p_mut, grid, self.task.n_actions, stream(self.seed, "mutate", epoch, i))
            for i, child in enumerate(children)
        ]

    @property
    def default_epochs(self) -> int:
        """As many generations as most published runs have."""
        return 50

    @property
    def plan(self) -> Plan:
        """The plan that is handed out, with what its rules have learnt on a scale of payoffs from 0 to 1."""
        return separated(self.now.population)[-1]

    @property
    def ruleset(self) -> DecisionList:
        """The plan that is handed out, as the decision list that does the same; see `samuel.listed`."""
        return self.shields.put_on(list_of(self.plan, self.task))

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds, or raise where it does not fit."""
        n, features = self.parameters.pop_size, self.task.features
        width = (0, *np.shape(model.population.get("actions", 0)))[-1]
        expected: ArraySpec = {
            "bounds": ((n + 1, width, len(features), 2), bounds_type(features)),
            "actions": ((n + 1, width), np.int32),
            "learnt": ((n + 1, width, COLUMNS), np.float64),
            "together": ((n + 1, width), np.bool_),
            "lengths": ((n + 1,), np.int64),
            "fitness": ((n,), np.float64),
            "numbers": ((3,), np.float64),
        }
        check_arrays(model, expected)
        check_history(model, ("epoch", "episodes", "steps", "ga_invocations", "performance"))
        population = Population(**model.population)
        assert self.parameters.most_rules is not None
        if width > self.parameters.most_rules:
            refuse(model, f"plans may have at most {self.parameters.most_rules} rules")
        refuse(model, wrong_lengths(population.lengths, width))
        refuse(model, wrong_rules(population.bounds, population.actions, self.task))
        if (population.learnt[..., 1] < 0).any():
            refuse(model, "some variances are negative")
        return population


class Generation:
    """The plans of a generation while they play.

    Args:
        system: whose plans they are.
        epoch: the generation's number.
        plans: the plans as they were bred.
        handed_out: the best plan of the last re-test; None before the first.
        payoffs: the range of payoffs so far.
    """

    def __init__(
        self, system: SAMUEL, epoch: int, plans: list[Plan], handed_out: Plan | None, payoffs: Payoffs
    ) -> None:
        self.system, self.epoch, self.parameters = system, epoch, system.parameters
        self.handed_out, self.payoffs = handed_out, payoffs
        self.episodes, self.steps = 0, 0
        self.adding: Counter[str] = Counter()
        self.names = [drawn_operators(self.parameters, self.key("operators", i)) for i in range(len(plans))]
        self.plans = self.with_new_rules(plans, None)

    def key(self, purpose: str, *numbers: int) -> np.uint64:
        """Return a stream of this generation."""
        return stream(self.system.seed, purpose, self.epoch, *numbers)

    def played(self, baseline: float | None, before: Record | None) -> tuple[Population, Record]:
        """Play all phases; return the population and the history's row."""
        p = self.parameters
        first = self.play("pre", p.pre_episodes, learns=True)
        self.plans = self.with_new_rules(self.plans, first)
        later = [self.play("post", p.post_episodes, learns=True)]
        later.append(self.play("cluster", p.cluster_episodes))
        self.keep_together(later[-1])
        later.append(self.play("fitness", p.fitness_episodes))
        active: Mask = np.asarray(np.concatenate([each.active for each in later], axis=1).any(axis=1))
        self.plans = [
            aged(plan, own[: len(plan.actions)], p) for plan, own in zip(self.plans, active, strict=True)
        ]
        values = later[-1].payoffs.mean(axis=1)
        if self.handed_out is None or self.epoch % p.retest_every == 0:
            self.handed_out = self.best_of_retest(values)
        baseline = moved_baseline(baseline, values, p)
        arrays = Arrays.of([*self.plans, self.handed_out], self.system.task.features)
        numbers = np.array([baseline, self.payoffs.low, self.payoffs.high])
        return Population(*arrays, values, numbers), self.row(values, baseline, before)

    def play(self, phase: str, episodes: int, learns: bool = False) -> Bids:
        """Let all plans play a phase, and learn from it where strengths are not frozen."""
        p, arrays = self.parameters, Arrays.of(self.plans, self.system.task.features)
        played = self.bids(arrays, phase, episodes, p.learning_rate if learns else 0.0)
        wider = self.payoffs.with_seen(played.payoffs)
        if not np.isfinite([wider.low, wider.high, wider.high - wider.low]).all() and played.payoffs.size:
            raise TaskError(
                f"the payoffs of {self.system.task.name} are too large: their sums overflow. Scale the "
                "rewards down, for example with gymnasium.wrappers.TransformReward."
            )
        assert p.caution is not None
        self.plans = separated(arrays)
        handed_out = [] if self.handed_out is None else [self.handed_out]
        for plan in [*self.plans, *handed_out]:
            self.payoffs.rescale(wider, plan.known, p.caution)
        self.payoffs = wider
        return played

    def bids(self, arrays: Arrays, phase: str, episodes: int, rate: float, greedy: bool = False) -> Bids:
        """Let plans play; `arrays.learnt` changes where the rate is above 0."""
        p, task = self.parameters, self.system.task
        assert p.bid_power is not None
        assert p.caution is not None
        lesson = Bidding(
            key=self.key(phase),
            episodes=episodes,
            power=float(p.bid_power),
            greedy=greedy,
            rate=float(rate),
            caution=float(p.caution),
            discount=1.0 if p.payoff == "sum" else float(task.gamma),
            low=float(self.payoffs.low),
            scale=float(self.payoffs.scale),
            trace=p.trace if phase == "pre" else 0,
        )
        played = self.system.simulator.play_bids(arrays.batch, lesson)
        self.episodes += played.steps.size
        self.steps += int(played.steps.sum())
        return played

    def with_new_rules(self, plans: list[Plan], played: Bids | None) -> list[Plan]:
        """Return plans with the rules of the operators drawn: of the blind ones where nothing was played."""
        grown = []
        for i, plan in enumerate(plans):
            names = [name for name in self.names[i] if (name in BLIND) == (played is None)]
            key = self.key("blind" if played is None else "lamarck", i)
            if names:
                trace = None if played is None else self.trace(plan, i, played)
                with_more, adding = applied(plan, names, trace, self.system.setting, key)
                self.adding.update(adding)
                grown.append(with_more)
            else:
                grown.append(plan)
        return grown

    def trace(self, plan: Plan, i: int, played: Bids) -> Trace:
        """Return what plan number i did."""
        readings = np.clip(played.readings[i], *lows_and_highs(self.system.task.features))
        return Trace.of(plan, readings, played.taken[i], self.payoffs.scaled(played.payoffs[i]))

    def keep_together(self, played: Bids) -> None:
        """Mark the rules of each plan that were active in its best episode."""
        if not played.payoffs.shape[1]:
            return
        best = played.payoffs.argmax(axis=1)
        self.plans = [
            plan._replace(together=played.active[i, best[i], : len(plan.actions)].copy())
            for i, plan in enumerate(self.plans)
        ]

    def best_of_retest(self, values: Floats) -> Plan:
        """Return the plan with the highest mean payoff of the best ones and the one handed out so far.

        They play the same new episodes; the highest bid always wins, as in what is handed out.
        """
        p = self.parameters
        few = max(1, int(np.ceil(p.retest_share * len(values))))
        best = np.argsort(-values, kind="stable")[:few]
        rivals = [] if self.handed_out is None else [self.handed_out]
        rivals += [self.plans[i] for i in best.tolist()]
        arrays = Arrays.of(rivals, self.system.task.features)
        played = self.bids(arrays, "retest", p.retest_episodes, 0.0, greedy=True)
        return rivals[int(played.payoffs.mean(axis=1).argmax())]

    def row(self, values: Floats, baseline: float, before: Record | None) -> Record:
        """Return the history's row; `by_creep` is the number of rules that CREEP added, and so on."""
        system, n = self.system, len(values)
        assert self.handed_out is not None
        rules = system.shields.put_on(list_of(self.handed_out, system.task))
        batch = batch_of(rules)
        assert batch is not None
        so_far = before or {"episodes": 0, "steps": 0, "ga_invocations": -(n // 2)}
        return {
            "epoch": self.epoch,
            "best_fitness": float(values.max()),
            "mean_fitness": float(values.mean()),
            "median_fitness": float(np.median(values)),
            **system.simulator.measures(batch, 0),
            "baseline": baseline,
            "mean_length": float(np.mean([len(plan.actions) for plan in self.plans])),
            "plan_length": len(self.handed_out.actions),
            "rules": len(rules),
            **{f"by_{name}": self.adding[name] for name in OPERATORS},
            "episodes": int(so_far["episodes"]) + self.episodes,
            "steps": int(so_far["steps"]) + self.steps,
            "ga_invocations": int(so_far["ga_invocations"]) + n // 2,
        }
