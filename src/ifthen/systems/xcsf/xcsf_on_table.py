"""XCSF on a tabular task: the whole loop compiled, what it predicts compared with Q*."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ifthen.errors import ParameterError
from ifthen.rules.arrays import Floats
from ifthen.rules.box import words_for
from ifthen.rules.ruleset import NULL_ACTION
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.store import SIZE_LIMIT
from ifthen.systems.records import Record
from ifthen.systems.xcsf.index import Learning, states_up_to
from ifthen.systems.xcsf.xcsf_learner import Learner, Places
from ifthen.systems.xcsf.xcsf_parameters import MOST, XCSFParameters
from ifthen.systems.xcsf.xcsf_population import Population, clock_of
from ifthen.systems.xcsf.xcsf_steps import predict_all, run_steps
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular_task import TabularTask

INVOCATIONS_PER_RULE = 8


class TableLearner(Learner[TabularTask]):
    """Learns on a table."""

    measured = (
        "performance",
        "exact_performance",
        "q_error",  # mean |Q̂ − Q*| over all states and actions, those without a rule predicting 0
    )
    number = np.int32
    whole_episodes = False

    @staticmethod
    def suited(task: TabularTask) -> dict[str, float]:
        """Return GA invocations by the number of rules."""
        return {"ga_per_epoch": min(INVOCATIONS_PER_RULE * task.suitable_rules, MOST)}

    @staticmethod
    def check(parameters: XCSFParameters, task: TabularTask) -> None:
        """Raise where the masks of all states would take too much memory."""
        pop_limit = parameters.pop_limit or 0
        inputs, widest, n_states = len(task.features) + 1, task.dynamics.widest, len(task.decision_states)
        masks, up_to = task.n_actions * words_for(pop_limit + 1), (widest + 1) * words_for(n_states)
        size = 8 * (n_states * masks + inputs * up_to)
        if size > SIZE_LIMIT:
            raise ParameterError(
                f"pop_limit={pop_limit:,} on {n_states:,} states with up to {widest:,} values per feature "
                f"would take {size / 2**30:.1f} GiB to index; at most {SIZE_LIMIT / 2**30:.0f} GiB are "
                "allowed. Give a smaller pop_limit or a smaller task."
            )

    @cached_property
    def places(self) -> Places:
        """The table's states."""
        model = self.task.dynamics
        n_states, n_features = model.states.shape
        up_to = np.zeros((n_features, model.widest + 1, words_for(n_states)), dtype=np.uint64)
        states_up_to(model.states, model.lows, model.widest, up_to)
        inputs = np.column_stack([np.full(n_states, self.parameters.x0), model.points])
        return model, inputs, up_to, np.empty((0, n_features))

    def run(self, learning: Learning, invocations: int, steps: int, episodes: int) -> None:
        """Learn up to a total of GA invocations, steps or finished episodes."""
        starts = self.task.dynamics.starts
        if self.parameters.teletransport:
            starts = np.arange(len(self.task.decision_states), dtype=np.int32)
        run_steps(self.key, invocations, steps, episodes, starts, plan(self.task).cuts, learning)

    def nothing_learnt(self) -> Record:
        """Return what an empty population measures."""
        return self._measured(np.full(self._best_values.shape, np.nan))

    @cached_property
    def _simulators(self) -> tuple[TableSimulator, TableSimulator]:
        noise = self.parameters.noise
        return TableSimulator(self.task, 1, "sampled", noise), TableSimulator(self.task, 1, "exact")

    @cached_property
    def _best_values(self) -> Floats:
        """Q* of every decision state and action."""
        return value_iteration(self.task).action_values[self.task.decision_states]

    def measures(self, learning: Learning, population: Population) -> Record:
        """Return how well the predictions do, and how far they are from Q*."""
        values = np.empty(self._best_values.shape)
        predict_all(learning, values)
        return self._measured(values)

    def _measured(self, values: Floats) -> Record:
        """Return the same for predictions `(D, A)`, NaN where there are none."""
        known = ~np.isnan(values)
        best = np.where(known, values, -np.inf).argmax(axis=1)
        policy = np.where(known.any(axis=1), best, NULL_ACTION).astype(np.int16)
        performance, exact = (
            simulator.measure(policy[None]).performance[0] for simulator in self._simulators
        )
        q_error = float(np.abs(np.where(known, values, 0.0) - self._best_values).mean())
        return dict(zip(self.measured, (float(performance), float(exact), q_error), strict=True))

    def wrong_action_set(self, population: Population) -> str | None:
        """Return what is wrong with the action set that waits for its payoff, if anything."""
        clock, held = clock_of(population), population.held
        if (held & (population.numerosity == 0)).any():
            return "free slots cannot be in an action set"
        if clock["before"] >= 0 > clock["state"] or (held.any() and clock["before"] < 0):
            return "an action set waits for its payoff only in the middle of an episode"
        if not held.any():
            return None
        state, bounds = self.task.dynamics.states[clock["before"]], np.sort(population.bounds[held], axis=2)
        if len(np.unique(population.action[held])) > 1:
            return "the rules of an action set must advocate the same action"
        if (state < bounds[:, :, 0]).any() or (state > bounds[:, :, 1]).any():
            return "the rules of an action set must match the state in which it acted"
        return None
