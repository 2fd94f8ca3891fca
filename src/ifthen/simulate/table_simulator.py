"""The simulator of tables: rules become policy tables, and each distinct table is played once.

On common random numbers performance is a function of the policy table alone, so it is remembered from one
generation to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import one_of
from ifthen.errors import TaskError
from ifthen.parallel import for_slices
from ifthen.randomness import below, stream
from ifthen.rules.arrays import Floats
from ifthen.rules.batch import Intervals, RuleBatch
from ifthen.rules.ruleset import PolicyOrActions, RuleSet
from ifthen.simulate.bids import Bidding, Bids, bid_on_table
from ifthen.simulate.simulator import (
    Anywhere,
    Evaluation,
    Measured,
    Reinforcement,
    Seeds,
    Simulator,
    Start,
    checked_ruleset,
)
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_play import play, replay
from ifthen.simulate.table_rules import policy_tables, reinforce_tables
from ifthen.simulate.trajectories import Trajectory
from ifthen.tasks.solve import exact_performances, table_values, value_iteration
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Method, Noise

REMEMBERED = 100_000

Result = tuple[float, int, int, bool]
"""Performance, steps, truncated episodes, failed."""


class TableSimulator(Simulator):
    """Plays rules in a table.

    Args:
        task: the table.
        threads: how many threads to use.
        method: "sampled", on common random numbers, or "exact", by policy evaluation.
        noise: "aligned" or "stream", where sampled.
    """

    task: TabularTask

    def __init__(
        self, task: TabularTask, threads: int = 1, method: Method = "sampled", noise: Noise = "aligned"
    ) -> None:
        super().__init__(task, threads)
        self.method, self.noise = method, noise
        self._results: dict[bytes, Result] = {}

    def fitness(self, rules: RuleBatch, epoch: int = 0) -> Measured:
        """Measure the rulesets of a population."""
        return self.measure(policy_tables(self.task, rules, self.threads))

    def measure(self, tables: NDArray[np.int16]) -> Measured:
        """Measure policy tables `(n, D)`."""
        keys = [blake2b(table.tobytes(), digest_size=16).digest() for table in tables]
        new_keys = {key: i for i, key in enumerate(keys) if key not in self._results}
        if new_keys:
            if len(self._results) + len(new_keys) > REMEMBERED:
                self._results.clear()
                new_keys = {key: i for i, key in enumerate(keys)}
            results = self._measure_each(tables[list(new_keys.values())])
            self._results.update(zip(new_keys, results, strict=True))
        performance, steps, truncated, failed = map(
            np.array, zip(*(self._results[key] for key in keys), strict=True)
        )
        episodes = np.where(failed, 0, len(self.task.z) if self.method == "sampled" else 0)
        return Measured(performance, episodes, steps, truncated, failed, np.ones_like(failed))

    def _measure_each(self, tables: NDArray[np.int16]) -> list[Result]:
        if self.method == "exact":
            values = exact_performances(self.task, tables, self.threads).tolist()
            return [(self.task.floor, 0, 0, True) if v != v else (v, 0, 0, False) for v in values]
        played = play(self.task, tables, self.noise, self.threads)
        return list(zip(*(column.tolist() for column in played), strict=True))

    def measures(self, rules: RuleBatch, best: int) -> dict[str, float]:
        """Return the performance of one ruleset, sampled and exact."""
        return self.measures_of(policy_tables(self.task, rules.take(slice(best, best + 1))))

    def ruleset_measures(self, ruleset: RuleSet) -> dict[str, float]:
        """Return the performance of a ruleset of any kind, sampled and exact."""
        return self.measures_of(policy_table(ruleset, self.task)[None])

    def measures_of(self, table: NDArray[np.int16]) -> dict[str, float]:
        """Return the performance of one policy table `(1, D)`, sampled and exact."""
        exact = float(exact_performances(self.task, table)[0])
        return {
            "performance": float(play(self.task, table, self.noise).performance[0]),
            "exact_performance": self.task.floor if np.isnan(exact) else exact,
        }

    def reinforce(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let rules learn from rollouts that start in random initial states."""
        return reinforce_tables(self.task, rules, lesson, self.threads)

    def play_bids(self, rules: RuleBatch, lesson: Bidding) -> Bids:
        """Let plans play by bids, from random initial states."""
        task, cuts, n = self.task, plan(self.task).cuts, len(rules.lengths)
        laid_out = Intervals.of(rules, task.features)
        out = Bids.empty(n, rules.actions.shape[1], len(task.features), lesson)

        def work(first: int, last: int) -> None:
            bid_on_table(first, last, laid_out, lesson, task.dynamics, cuts, task.t_max, out)

        for_slices(work, n, self.threads)
        return out

    @cached_property
    def _optimum(self) -> float:
        return optimal_performance(self.task, self.method, self.noise)

    def evaluate(self, policy: PolicyOrActions, seeds: Seeds | None = None) -> Evaluation:
        """Measure a RuleSet, or the action in every state `(S,)`; training seeds are z, as ever."""
        if seeds is not None and not (isinstance(seeds, str) and seeds == "training"):
            raise TaskError(
                f"{self.task.name} is a table, which is played from its own initial states: leave out the "
                "reset seeds, which are for environments."
            )
        task, table = self.task, policy_table(policy, self.task)
        measured, optimum = self.measure(table[None]), self._optimum
        performance, episodes = float(measured.performance[0]), int(measured.episodes[0])
        comparable = optimum > 0 and task.floor == 0
        return Evaluation(
            performance=performance,
            method=self.method,
            episodes=len(task.z) if self.method == "sampled" else 0,
            steps=int(measured.steps[0]),
            truncated_share=int(measured.truncated[0]) / max(1, episodes),
            failed=bool(measured.failed[0]),
            noise=self.noise if self.method == "sampled" else None,
            optimum=optimum,
            fraction=performance / optimum if comparable else None,
            uncovered=tuple(map(tuple, task.dynamics.states[table < 0].tolist())),
        )

    def let_learn(self, learner: Anywhere, *lesson: object) -> None:
        """Let something learn in the table."""
        learner.in_table(self, *lesson)

    def headline(self, policy: PolicyOrActions, episodes: int) -> dict[str, Evaluation]:
        """Return the exact performance, and that on the training episodes."""
        methods: dict[str, Method] = {"exact": "exact", "on training episodes": "sampled"}
        return {
            name: TableSimulator(self.task, self.threads, method, self.noise).evaluate(policy)
            for name, method in methods.items()
        }

    def random_performance(self, episodes: int) -> float:
        """Return what t_max random actions are expected to get."""
        task = self.task
        values = np.zeros(task.n_states)
        for _ in range(task.t_max):
            next_values = np.where(task.done, 0.0, task.gamma * values[task.next_state])
            values = ((task.reward + next_values) @ task.probability).mean(axis=1)
        return float(values[task.initial_states].mean())

    def held_out(self, ruleset: RuleSet, episodes: int) -> float:
        """Return the exact performance."""
        return self.measures_of(policy_table(ruleset, self.task)[None])["exact_performance"]

    def one_episode(
        self, policy: PolicyOrActions, seed: int, start: Start = None, episode: int | None = None
    ) -> tuple[Trajectory, None]:
        """Play an episode from a start, drawn where None, or a training episode."""
        task = self.task
        if episode is not None:
            return self.episodes(policy, [episode])[0], None
        drawn_state = task.initial_states[below(stream(seed, "trace start"), 0, len(task.initial_states))]
        state = int(drawn_state) if start is None else start_state(task, start)
        return replay(task, policy_table(policy, task), state, stream(seed, "trace"), 0), None

    def episodes(self, policy: PolicyOrActions, seeds: ArrayLike | None = None) -> Sequence[Trajectory]:
        """Play the training episodes with these numbers, with the noise that aligned measuring gives them."""
        count = len(self.task.z)
        numbers = np.arange(count) if seeds is None else np.asarray(seeds)
        if (
            numbers.dtype.kind not in "iu"
            or numbers.ndim != 1
            or not np.isin(numbers, np.arange(count)).all()
        ):
            raise TaskError(
                f"{self.task.name} has training episodes 0 to {count - 1}: give a list of their numbers, not "
                f"{seeds!r}."
            )
        table, key = policy_table(policy, self.task), plan(self.task).key
        starts, t_max = self.task.z[numbers], self.task.t_max
        return [
            replay(self.task, table, int(start), key, int(number) * t_max)
            for start, number in zip(starts, numbers, strict=True)
        ]


def policy_table(policy: PolicyOrActions, task: TabularTask) -> NDArray[np.int16]:
    """Return a policy's action in every decision state of a table, `(D,)`, −1 for none.

    Args:
        policy: a RuleSet, a trained system, or the action in every state `(S,)`.
        task: the table.
    """
    rules_or_actions = getattr(policy, "ruleset", policy)
    if isinstance(rules_or_actions, RuleSet):
        return np.asarray(
            checked_ruleset(rules_or_actions, task).predict(task.dynamics.points), dtype=np.int16
        )
    table = np.asarray(rules_or_actions)
    are_integers = table.dtype.kind in "iu" and table.shape == (task.n_states,)
    if not are_integers or table.min() < -1 or table.max() >= task.n_actions:
        raise TaskError(
            f"a policy must be a RuleSet, a trained system, or one action for each of the {task.n_states} "
            f"states, which must be -1 (none) to {task.n_actions - 1}, not {policy!r}."
        )
    return table[task.decision_states].astype(np.int16)


def policy_values(task: TabularTask, policy: PolicyOrActions) -> Floats:
    """Return V^π of every state, `(S,)`: NaN where the policy can meet a null action, or is never asked."""
    values = np.full(task.n_states, np.nan)
    values[task.decision_states] = table_values(task, policy_table(policy, task))
    return values


def optimal_performance(task: TabularTask, method: Method = "exact", noise: Noise = "aligned") -> float:
    """Return the performance of value iteration's policy: exact, or sampled like any other policy's."""
    one_of("method", method, get_args(Method))
    one_of("noise", noise, get_args(Noise))
    solution = value_iteration(task)
    if method == "exact":
        return float(solution.values[task.initial_states].mean())
    table = solution.policy[task.decision_states].astype(np.int16)
    return float(play(task, table[None], noise).performance[0])


def start_state(task: TabularTask, start: int | ArrayLike | Mapping[str, float]) -> int:
    """Return the number of the decision state that is given by number or by features, or raise."""
    states, names = task.decision_states, [f.name for f in task.features]
    if isinstance(start, Mapping):
        if set(start) != set(names):
            raise TaskError(f"start must give the features {', '.join(names)}, not {start!r}.")
        start = [start[name] for name in names]
    if np.ndim(start) == 0:
        matching = states[states == start]
    else:
        vector = np.asarray(start)
        right_length = vector.shape == (len(names),)
        matching = states[(task.state_features[states] == vector).all(axis=1)] if right_length else states[:0]
    if len(matching) != 1:
        problem = "several decision states have" if len(matching) else "no decision state has"
        raise TaskError(f"start must be one decision state of {task.name}; {problem} {start!r}.")
    return int(matching[0])
