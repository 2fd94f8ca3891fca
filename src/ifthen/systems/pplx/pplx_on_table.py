"""PPL-X on a table: collect transitions, then search for the best list of each length.

The plan: ten rounds of episodes, whose counted transitions are the model. Then one length an epoch, from the
longest list down to one rule. Each begins with the better of two lists: the one of that length, and the next
longer one without its least missed rule. Further epochs begin with the longest list again.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import plural
from ifthen.errors import ParameterError
from ifthen.randomness import stream
from ifthen.rules.arrays import Ints
from ifthen.rules.decision_list import DecisionList, constant_lists
from ifthen.rules.feature import lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import tabular
from ifthen.simulate.table_simulator import TableSimulator, policy_table
from ifthen.systems.front import Front, Point
from ifthen.systems.learning import Goal
from ifthen.systems.model_file import ArraySpec, Model, check_arrays, check_history, refuse, wrong_rules
from ifthen.systems.pplx.learnt_table import LearntTable, collect, given_table, learnt_table
from ifthen.systems.pplx.list_value import list_value
from ifthen.systems.pplx.pplx_learner import Learner
from ifthen.systems.pplx.pplx_parameters import PPLXParameters
from ifthen.systems.pplx.table_lists import Rules, rules_over
from ifthen.systems.pplx.table_search import (
    Lists,
    SolvedTable,
    candidates_for,
    fill_shorter,
    first_lists,
    random_rules,
    rules_for,
    search_length,
    solved_table,
    total,
)
from ifthen.systems.records import Record
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular_task import TabularTask

if TYPE_CHECKING:
    from ifthen.systems.pplx.pplx import PPLX

COLLECTING_ROUNDS = 10
"""Episodes are collected in this many rounds."""
MOST_STATES = 2000
"""Tables with more decision states than this are refused."""
EXPLORE = 0.3
"""After the first round, the least-tried action is taken with this probability."""
MOST_COUNTED = 10**12
"""Larger counts are refused in files."""
BEGINNING, COLLECTING, SHORTENING = range(3)
"""The phases, as the history numbers them."""
WORDS = ("beginning", "collecting", "shorter lists")
"""The name of each phase in progress lines."""


class OnTable(Learner):
    """Learns on a table."""

    knee, plays_on = 0.001, False

    def __init__(self, system: PPLX) -> None:
        super().__init__(system)
        self._solved: tuple[Ints, SolvedTable] | None = None

    @staticmethod
    def filled(parameters: PPLXParameters, task: Any) -> PPLXParameters:
        """Fill in numbers of rules and candidates; raise for terms, and for a table that is too large."""
        n_states = len(task.decision_states)
        if n_states > MOST_STATES:
            raise ParameterError(
                f"PPL-X inverts a matrix of states by states, and {task.name} has {n_states:,} of them; "
                f"at most {MOST_STATES:,} are supported. Use XCSF or PPL-DL."
            )
        if parameters.given_terms:
            raise ParameterError(
                f"PPL-X compares given terms in environments, and {task.name} is a table of states, on which "
                "rules compare single features: leave out given_terms (--term)."
            )
        default_rules, default_candidates = rules_for(n_states, task.n_actions), candidates_for(n_states)
        most_rules = default_rules if parameters.most_rules is None else parameters.most_rules
        candidates = default_candidates if parameters.candidates is None else parameters.candidates
        return parameters.model_copy(update={"most_rules": most_rules, "candidates": candidates})

    @property
    def task(self) -> TabularTask:
        """The table."""
        return tabular(self.system.task, "this way of learning")

    @property
    def longest(self) -> int:
        """N, the rules of the longest list."""
        return self.parameters.most_rules or 1

    @property
    def rounds(self) -> int:
        """How many rounds of episodes are played."""
        return COLLECTING_ROUNDS if self.parameters.model == "learnt" else 0

    @property
    def epochs(self) -> int:
        """The length of the plan: rounds, then every length down to one."""
        return self.rounds + self.longest

    def phase(self, epoch: int) -> tuple[int, int]:
        """Return the phase of an epoch and the length that it works at."""
        if epoch <= self.rounds:
            return (COLLECTING if epoch else BEGINNING), self.longest
        return SHORTENING, self.longest - (epoch - self.rounds - 1) % self.longest

    def doing(self, epoch: int) -> str:
        """Return what an epoch does, in a few words."""
        phase, length = self.phase(epoch)
        return WORDS[phase] if phase <= COLLECTING else f"{WORDS[phase]}, of {plural(length, 'rule')}"

    def begin(self, goal: Goal) -> tuple[Lists, Record]:
        """Return random rules, or the list to start from, and what is left of them with fewer rules."""
        counts = np.zeros(self.task.dynamics.next_state.shape, np.int64)
        solved, start = self.solved(counts), self.system.start
        keys = [int(stream(self.system.seed, "first list", r)) for r in range(self.longest)]
        first = random_rules(keys, solved.table) if start is None else self.rules_of(start, solved.table)
        lists = first_lists(solved, counts, first)
        return lists, self.row(lists, solved, None, (0, 0))

    def advance(self, population: Lists, before: Record, goal: Goal) -> tuple[Lists, Record]:
        """Play a round of episodes and search with what they tell, or search at another length."""
        epoch = int(before["epoch"]) + 1
        phase, length = self.phase(epoch)
        lists, played = population.copied(), (0, 0)
        if phase == COLLECTING:
            played = self.collected(epoch, self.solved(population.counts), lists.counts)
            solved = self.solved(lists.counts)
            longest = lists.rules(length, solved.table.points)
            lists.put(longest, float(list_value(solved.table, longest)))  # which the new counts have changed
            self.search(epoch, length, solved, lists)
            fill_shorter(solved, lists)
        else:
            lists = lists._replace(counts=population.counts)
            solved = self.solved(lists.counts)
            self.search(epoch, length, solved, lists)
        return lists, self.row(lists, solved, before, played)

    def solved(self, counts: Ints) -> SolvedTable:
        """Return what counts say; worked out once for the same array."""
        if self._solved is None or self._solved[0] is not counts:
            is_learnt = self.parameters.model == "learnt"
            table = learnt_table(self.task, counts) if is_learnt else given_table(self.task)
            self._solved = counts, solved_table(table)
        return self._solved[1]

    def rules_of(self, start: RuleSet, table: LearntTable) -> Rules:
        """Return a given list as one of N rules: its first rule over again, and the last one everywhere."""
        n_missing = self.longest - len(start)
        numbers = np.concatenate([np.zeros(n_missing, np.int64), np.arange(len(start))])
        lows, highs = np.moveaxis(start.bounds[numbers], 2, 0)
        return total(table, lows, highs, start.actions[numbers])

    def collected(self, epoch: int, solved: SolvedTable, counts: Ints) -> tuple[int, int]:
        """Play a round of episodes and count what follows; return the episodes and steps that it took."""
        collected_by = [self.parameters.collect * r // self.rounds for r in (epoch - 1, epoch)]
        episodes, model = collected_by[1] - collected_by[0], self.task.dynamics
        key, explore = stream(self.system.seed, "collect", epoch), 1.0 if epoch == 1 else EXPLORE
        dynamics = model.next_state, model.probability, model.starts, self.task.t_max
        steps = collect(key, episodes, *dynamics, explore, solved.q, counts)
        return episodes, int(steps)

    def search(self, epoch: int, length: int, solved: SolvedTable, lists: Lists) -> None:
        """Anneal lists of n rules and keep the best, if it is better than the one there is."""
        candidates = self.parameters.candidates or 1
        search_length(stream(self.system.seed, "anneal", epoch), length, solved, lists, candidates)

    def row(
        self, lists: Lists, solved: SolvedTable, before: Record | None, played: tuple[int, int]
    ) -> Record:
        """Return the history's row of an epoch."""
        epoch = 0 if before is None else int(before["epoch"]) + 1
        so_far = before or {"episodes": 0, "steps": 0}
        phase, length = self.phase(epoch)
        truth = value_iteration(self.task).values[self.task.decision_states]
        front = self.system.front_of(lists)
        chosen = self.system.chosen(front)
        measures = self.simulator.measures_of(policy_table(chosen.ruleset, self.task)[None])
        return {
            "epoch": epoch,
            "phase": phase,
            "length": length,
            **measures,
            "chosen_rules": chosen.rules,
            "chosen_value": chosen.score,
            "best_value": front.best.score,
            "model_optimum": solved.optimum,
            "value_error": float(np.abs(solved.values - truth).max()),
            "untried_share": float((lists.counts.sum(axis=2) == 0).mean()) if self.rounds else 0.0,
            "episodes": int(so_far["episodes"]) + played[0],
            "steps": int(so_far["steps"]) + played[1],
        }

    def front(self, population: Lists) -> Front:
        """Return the best list of each length."""
        features, names = self.task.features, self.task.action_names
        points = [
            Point(
                DecisionList(population.bounds[n, : n + 1], population.actions[n, : n + 1], features, names),
                float(population.fitness[n]),
            )
            for n in range(self.longest)
        ]
        return Front.of(points, "value by the model")

    def constants(self, population: Lists) -> list[Point]:
        """Return one list for each action, with its value by the model."""
        constants = constant_lists(self.task.features, self.task.action_names)
        return [self.scored_again(Point(rules, 0.0), rules, population) for rules in constants]

    def scored_again(self, point: Point, ruleset: DecisionList, population: Lists) -> Point:
        """Return a list of the front with other rules, and with their value by the model."""
        unwrapped, table = ruleset.unwrapped()[0], self.solved(population.counts).table
        lows, highs = np.moveaxis(unwrapped.bounds.astype(np.int64), 2, 0)
        rules = rules_over(table.points, lows, highs, unwrapped.actions.astype(np.int64))
        return Point(ruleset, float(list_value(table, rules)))

    def arrays(self, population: Lists) -> dict[str, NDArray[Any]]:
        """Return the arrays of a population for a file."""
        arrays: dict[str, NDArray[Any]] = population._asdict()
        return arrays

    def population_of(self, model: Model) -> Lists:
        """Return the population that a model file holds, or raise where it does not fit."""
        n, shape = self.longest, self.task.dynamics.next_state.shape
        expected: ArraySpec = {
            "counts": (shape, np.int64),
            "bounds": ((n, n, len(self.task.features), 2), np.int32),
            "actions": ((n, n), np.int32),
            "fitness": ((n,), np.float64),
        }
        check_arrays(model, expected)
        check_history(model, ("epoch", "episodes", "steps", "performance", "exact_performance"))
        lists = Lists(**model.population)
        refuse(model, self.wrong_lists(lists))
        return lists

    def wrong_lists(self, lists: Lists) -> str | None:
        """Return what is wrong with counts and lists of the right shapes, if anything."""
        lengths, ends = np.arange(self.longest), np.stack(lows_and_highs(self.task.features), axis=1)
        if problem := wrong_rules(lists.bounds, lists.actions, self.task):
            return problem
        if (lists.bounds[lengths, lengths] != ends).any():
            return "the last rule of every list must hold everywhere"
        if lists.counts.min() < 0 or lists.counts.max() > MOST_COUNTED:
            return f"counts must be from 0 to {MOST_COUNTED:,}"
        return None

    @cached_property
    def simulator(self) -> TableSimulator:
        """What measures lists for the history; nothing is learnt from it."""
        return TableSimulator(self.task, 1, "sampled", self.parameters.noise)
