"""PPL-ST: evolves rules that learn their strength by Monte Carlo rollouts (paper, section "PPL-ST").

Bishop, Gallagher and Browne, "Pittsburgh learning classifier systems for explainable reinforcement
learning: comparing with XCS", GECCO 2022. Notation: w weights, var variance, x = (x0, s), P payoff,
η learning rate.

A generation: parents are chosen by tournaments, whole rules are exchanged with all they have learnt, and
alleles mutate; the children learn from rollouts (the update is in `ifthen.simulate.reinforce`) and are
measured. The strongest matching rule decides; its strength is w·x − sqrt(var).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError, TaskError
from ifthen.randomness import stream
from ifthen.rules.batch import STRENGTH
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.strength import StrengthRules
from ifthen.simulate.simulator import Reinforcement
from ifthen.systems.learning import Goal
from ifthen.systems.model_file import Model, refuse
from ifthen.systems.parameters import above, between, linear, logarithmic, setting
from ifthen.systems.pittsburgh import (
    PittsburghParameters,
    Population,
    first_population,
    next_generation,
    put_first,
)
from ifthen.systems.pittsburgh_system import PittsburghSystem
from ifthen.systems.records import Record

if TYPE_CHECKING:
    from typing import Unpack

    from ifthen.systems.keywords import PPLSTKeywords


class PPLSTParameters(PittsburghParameters):
    """Parameters of PPL-ST; the defaults are the paper's."""

    num_reinf_rollouts: int = between(
        10,
        0,
        100_000,
        "Rollouts that reinforce each ruleset before its fitness is measured.",
        linear(2, 40),
    )
    eta: float = above(0.1, 0, 1, "Learning rate η of predictions and variances.", logarithmic(0.01, 0.5))
    x0: float = above(10.0, 0, 1e6, "Constant put before the state in the linear prediction.")
    payoff: Literal["return", "paper"] = setting(
        "return",
        "Payoff P of a step: its discounted return, or the paper's formula (the same where reward "
        "comes only at the end).",
    )


class PPLST(PittsburghSystem):
    """Evolves unordered rules: the strongest matching rule decides; strengths are learnt from rollouts.

    It takes what every `System` takes, and `PPLSTParameters` by name; `start` is of kind strength, or a
    decision list, whose rules know nothing yet. It refuses `require`, which only ordered rules can keep.
    """

    name = "PPL-ST"
    summary = "Evolves rules with learnt strengths (the strongest matching rule decides)."
    Parameters = PPLSTParameters
    starts_from = (StrengthRules.kind, DecisionList.kind)
    whole_rules = True
    learns_strengths = True
    parameters: PPLSTParameters

    if TYPE_CHECKING:

        def __init__(self, task: TaskLike, **keywords: Unpack[PPLSTKeywords]) -> None: ...

    def _fit_start(self, start: RuleSet) -> RuleSet:
        """Return the rules to begin with, or raise where they do not fit the parameters."""
        super()._fit_start(start)
        x0 = start.settings().get("x0", self.parameters.x0)
        if x0 != self.parameters.x0:
            raise ParameterError(
                f"start has x0 = {x0:g}, but the parameter x0 is {self.parameters.x0:g}. "
                f"Give x0={x0!r}: its weights are made for that."
            )
        return start

    @property
    def n_learnt(self) -> int:
        """How many numbers a rule learns: w (one per feature and x0's) and var."""
        return len(self.task.features) + 2

    def begin(self, goal: Goal) -> tuple[Population, Record]:
        """Return random rulesets that know nothing yet, after the one to start from, all reinforced once."""
        population = first_population(self.parameters, self.task, self.seed, self.n_learnt)
        if self.start is not None:
            columns = [*self.start.extra_columns().values()]
            learnt = np.column_stack(columns) if columns else np.zeros((len(self.start), self.n_learnt))
            put_first(self.start, learnt, population)
        return self.measured(population, None, n_learners=self.parameters.sizes[0])

    def advance(self, population: Population, before: Record, goal: Goal) -> tuple[Population, Record]:
        """Breed, exchanging whole rules with all they have learnt; reinforce all but elites; measure."""
        parameters, epoch = self.parameters, int(before["epoch"]) + 1
        children = next_generation(
            parameters, self.task, self.seed, epoch, self.threads, population, whole_rules=self.whole_rules
        )
        return self.measured(children, before, n_learners=parameters.sizes[0] - parameters.elites)

    def measured(
        self, population: Population, before: Record | None, n_learners: int
    ) -> tuple[Population, Record]:
        """Reinforce the first rulesets; return the population with its fitness, and the history's row."""
        parameters, epoch = self.parameters, 0 if before is None else int(before["epoch"]) + 1
        rules, key = population.batch(STRENGTH, parameters.x0), stream(self.seed, "reinforce", epoch)
        lesson = Reinforcement(
            key, n_learners, parameters.num_reinf_rollouts, parameters.eta, parameters.payoff == "paper"
        )
        steps = self.simulator.reinforce(rules, lesson)
        if not np.isfinite(population.learnt).all():
            raise TaskError(
                f"the rewards of {self.task.name} are too large to learn strengths from: numbers overflow. "
                "Scale the rewards down, for example with gymnasium.wrappers.TransformReward."
            )
        trained = n_learners * parameters.num_reinf_rollouts, steps
        fitness, row = self.measured_row(rules, before, trained)
        return population._replace(fitness=fitness), row

    @property
    def ruleset(self) -> StrengthRules:
        """The fittest ruleset of the present population."""
        bounds, actions, learnt = self.now.population.fittest()
        names = self.task.features, self.task.action_names
        return StrengthRules(bounds, actions, *names, learnt[:, :-1], learnt[:, -1], self.parameters.x0)

    def population_of(self, model: Model) -> Population:
        """Return the population that a model file holds."""
        population = super().population_of(model)
        if (population.learnt[:, :, -1] < 0).any():
            refuse(model, "some variances are negative")
        return population
