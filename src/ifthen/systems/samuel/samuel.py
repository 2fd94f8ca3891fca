"""SAMUEL: its generations, in the order of the User's Guide to SAMUEL-97 (Grefenstette 1997).

A generation: select, cross, delete, draw operators, mutate and creep; play and learn (PRE_EVAL); make rules
from what was played; play and learn (POST_EVAL); play to see which rules act together (CLUSTER_EVAL); play to
measure (FITNESS_EVAL). Every few generations the best plans are tested again, and the best of them is handed
out.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError, TaskError
from ifthen.randomness import fold, stream, uniform
from ifthen.rules.arrays import Floats, Ints
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
    age,
    crossed,
    drawn_parents,
    moved_baseline,
    with_deletions,
    with_mutations,
)
from ifthen.systems.samuel.granularity import Grid
from ifthen.systems.samuel.listed import list_of
from ifthen.systems.samuel.plans import COLUMNS, Arrays, Payoffs, Plan, Population, first_plan, separated
from ifthen.systems.samuel.samuel_operators import (
    FIRST_SEEING,
    Setting,
    Trace,
    applied,
    drawn_operators,
    rate_ends,
)
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

        def __init__(self, task: TaskLike, **keywords: Unpack[SAMUELKeywords]) -> None: ...

    def fill_parameters(self, parameters: SAMUELParameters) -> SAMUELParameters:
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
        parameters, task = self.parameters, self.task
        return Setting.of(Grid.of(task.features, parameters.granularity), task.n_actions, parameters)

    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return a population of first plans, all alike, after their first operators and episodes."""
        parameters = self.parameters
        plan = first_plan(self.task, self.setting.grid, parameters.first_mean, self.start)
        return Generation(self, 0, [plan] * parameters.pop_size, None, Payoffs()).played(None, None)

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Breed, play, make rules, play on and measure."""
        *parents, handed_out = separated(population)
        baseline, low, high = population.numbers.tolist()
        epoch = int(before["epoch"]) + 1
        plans = self.bred(parents, population.fitness, baseline, epoch)
        return Generation(self, epoch, plans, handed_out, Payoffs(low, high)).played(baseline, before)

    def bred(self, parents: list[Plan], values: Floats, baseline: float, epoch: int) -> list[Plan]:
        """Return the children of a population: selected, crossed, and with rules deleted."""
        parameters, grid = self.parameters, self.setting.grid
        assert parameters.most_rules is not None
        assert parameters.p_mut is not None
        chosen = drawn_parents(values, baseline, stream(self.seed, "select", epoch))
        children: list[Plan] = []
        cross, crosses = stream(self.seed, "cross", epoch), stream(self.seed, "crosses", epoch)
        for first, second in chosen.reshape(-1, 2).tolist():
            pair, number = (parents[first], parents[second]), len(children)
            is_crossed = uniform(substream(crosses, number), 0) < parameters.p_cross
            children += (
                crossed(*pair, parameters.most_rules, substream(cross, number)) if is_crossed else pair
            )
        children = [with_deletions(child, grid, parameters) for child in children]
        mutate = stream(self.seed, "mutate", epoch)
        return [
            with_mutations(child, parameters.p_mut, grid, self.task.n_actions, substream(mutate, i))
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


def substream(key: np.uint64, number: int) -> np.uint64:
    """Return a numbered stream of a stream: compiled code hands back a plain int."""
    return np.uint64(fold(key, number))


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
        self.added: Ints = np.zeros(len(OPERATORS), dtype=np.int64)
        operators, ends = self.key("operators"), rate_ends(self.parameters)
        self.operators = [
            drawn_operators(ends, self.parameters.new_rules, substream(operators, i))
            for i in range(len(plans))
        ]
        self.arrays = self.arrays_of(self.with_new_rules(plans, None))

    def key(self, purpose: str) -> np.uint64:
        """Return a stream of this generation."""
        return stream(self.system.seed, purpose, self.epoch)

    def arrays_of(self, plans: list[Plan]) -> Arrays:
        """Return plans as arrays."""
        return Arrays.of(plans, self.system.task.features)

    def played(self, baseline: float | None, before: Record | None) -> tuple[Population, Record]:
        """Play all phases; return the population and the history's row."""
        parameters = self.parameters
        first = self.play("pre", parameters.pre_episodes, learns=True)
        self.arrays = self.arrays_of(self.with_new_rules(separated(self.arrays), first))
        post = self.play("post", parameters.post_episodes, learns=True)
        cluster = self.play("cluster", parameters.cluster_episodes)
        self.keep_together(cluster)
        measured = self.play("fitness", parameters.fitness_episodes)
        active = post.active.any(axis=1) | cluster.active.any(axis=1) | measured.active.any(axis=1)
        age(self.arrays.learnt, np.asarray(active), parameters)
        plans, values = separated(self.arrays), measured.payoffs.mean(axis=1)
        if self.handed_out is None or self.epoch % parameters.retest_every == 0:
            self.handed_out = self.best_of_retest(plans, values)
        baseline = moved_baseline(baseline, values, parameters)
        arrays = self.arrays_of([*plans, self.handed_out])
        numbers = np.array([baseline, self.payoffs.low, self.payoffs.high])
        return Population(*arrays, values, numbers), self.row(values, baseline, before)

    def play(self, phase: str, episodes: int, learns: bool = False) -> Bids:
        """Let all plans play a phase, and learn from it where strengths are not frozen."""
        parameters = self.parameters
        played = self.bids(self.arrays, phase, episodes, parameters.learning_rate if learns else 0.0)
        wider = self.payoffs.with_seen(played.payoffs)
        if not np.isfinite([wider.low, wider.high, wider.high - wider.low]).all() and played.payoffs.size:
            raise TaskError(
                f"the payoffs of {self.system.task.name} are too large: their sums overflow. Scale the "
                "rewards down, for example with gymnasium.wrappers.TransformReward."
            )
        assert parameters.caution is not None
        self.payoffs.rescale(wider, self.arrays.learnt, parameters.caution)
        if self.handed_out is not None:
            self.payoffs.rescale(wider, self.handed_out.known, parameters.caution)
        self.payoffs = wider
        return played

    def bids(self, arrays: Arrays, phase: str, episodes: int, rate: float, greedy: bool = False) -> Bids:
        """Let plans play; `arrays.learnt` changes where the rate is above 0."""
        parameters, task = self.parameters, self.system.task
        assert parameters.bid_power is not None
        assert parameters.caution is not None
        lesson = Bidding(
            key=self.key(phase),
            episodes=episodes,
            power=float(parameters.bid_power),
            greedy=greedy,
            rate=float(rate),
            caution=float(parameters.caution),
            discount=1.0 if parameters.payoff == "sum" else float(task.gamma),
            low=float(self.payoffs.low),
            scale=float(self.payoffs.scale),
            trace=parameters.trace if phase == "pre" else 0,
        )
        played = self.system.simulator.play_bids(arrays.batch, lesson)
        self.episodes += played.steps.size
        self.steps += int(played.steps.sum())
        return played

    def with_new_rules(self, plans: list[Plan], played: Bids | None) -> list[Plan]:
        """Return plans with the rules of the operators drawn: of the blind ones where nothing was played."""
        keys = self.key("blind" if played is None else "lamarck")
        most, features = self.parameters.most_rules, self.system.task.features
        assert most is not None
        trace, grown = Trace.empty(len(features)), []
        if played is not None:
            readings = np.clip(played.readings, *lows_and_highs(features))
            traces = Trace.of(readings, played.taken, self.payoffs.scaled(played.payoffs))
        for i, plan in enumerate(plans):
            seeing = self.operators[i] >= FIRST_SEEING
            operators = self.operators[i][seeing if played is not None else ~seeing]
            if len(operators) == 0:
                grown.append(plan)
                continue
            if played is not None:
                trace = traces.take(i)
            key = substream(keys, i)
            grown.append(applied(plan, operators, trace, self.system.setting, most, key, self.added))
        return grown

    def keep_together(self, played: Bids) -> None:
        """Mark the rules of each plan that were active in its best episode."""
        if played.payoffs.shape[1]:
            best = played.payoffs.argmax(axis=1)
            self.arrays.together[:] = played.active[np.arange(len(best)), best]

    def best_of_retest(self, plans: list[Plan], values: Floats) -> Plan:
        """Return the plan with the highest mean payoff of the best ones and the one handed out so far.

        They play the same new episodes; the highest bid always wins, as in what is handed out.
        """
        parameters = self.parameters
        few = max(1, int(np.ceil(parameters.retest_share * len(values))))
        best = np.argsort(-values, kind="stable")[:few]
        rivals = [] if self.handed_out is None else [self.handed_out]
        rivals += [plans[i] for i in best.tolist()]
        played = self.bids(self.arrays_of(rivals), "retest", parameters.retest_episodes, 0.0, greedy=True)
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
            "mean_length": float(np.mean(self.arrays.lengths)),
            "plan_length": len(self.handed_out.actions),
            "rules": len(rules),
            **{f"by_{name}": count for name, count in zip(OPERATORS, self.added.tolist(), strict=True)},
            "episodes": int(so_far["episodes"]) + self.episodes,
            "steps": int(so_far["steps"]) + self.steps,
            "ga_invocations": int(so_far["ga_invocations"]) + n // 2,
        }
