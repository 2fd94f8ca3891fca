"""The simulator of environments with a compiled twin: whole episodes in one kernel, on threads.

Episodes start where the real environment's `reset(seed=…)` puts them. Resetting takes longer than playing
many a short episode, and the same seeds come again with every generation: starts are read once and kept.
"""

from __future__ import annotations

import numpy as np

from ifthen.parallel import for_slices
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import Intervals, RuleBatch, batch_of, choose_lanes
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.bids import Bidding, Bids, bid_on_twin
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.reinforce import reinforce_on_twin
from ifthen.simulate.simulator import Budget, Choose, InEnvironment, Reinforcement
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Actions, Episodes, Log, Trajectory
from ifthen.simulate.twin_play import NOT_FINITE, Starts, play_items, step_lanes
from ifthen.tasks.disturbance import disturbed_twin, first_memory, sense, true_points
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.twin import Twin

STEPS_PER_SLICE = 4000
"""The fewest steps, if all episodes last, that are worth handing to a thread."""
LISTS_KEPT = 64
"""The starts of this many lists of seeds are remembered."""
SEEDS_KEPT = 100_000
"""The starts of at most this many single seeds are remembered."""


class TwinSimulator(EnvSimulator):
    """Plays rules in the compiled twin of an environment; it takes the twin and what `EnvSimulator` takes."""

    def __init__(
        self, task: EnvTask, twin: Twin, threads: int = 1, budget: Budget | None = None, elites: int = 0
    ) -> None:
        super().__init__(task, threads, budget, elites)
        self._undisturbed_twin, disturbances = twin, task.disturbances
        self.twin = disturbed_twin(twin, disturbances, task.features) if disturbances else twin
        self._starts_by_list: dict[bytes, Starts] = {}
        self._starts_by_seed: dict[int, tuple[Floats, Floats]] = {}
        self._t_max = 0

    def play(self, rules: RuleBatch, seeds: Ints) -> Episodes:
        """Play each of n rulesets from each of k reset seeds."""
        laid_out, starts = Intervals.of(rules, self.task.features), self.starts(seeds)
        played = self._played(laid_out, starts)
        self._check(played, laid_out, starts, seeds)
        return played

    def _played(self, laid_out: Intervals, starts: Starts) -> Episodes:
        """Play each of n rulesets from each of k starts."""
        shape = len(laid_out.lengths), len(starts.states)
        played = Episodes(np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.int8))
        flat = played.reshaped(-1)
        address, gamma = self.twin.step, self.task.gamma

        def work(first: int, last: int) -> None:
            play_items(first, last, address, laid_out, starts, gamma, flat)

        for_slices(work, shape[0] * shape[1], self.threads, max(1, STEPS_PER_SLICE // starts.t_max))
        return played

    def let_learn(self, learner: InEnvironment, *lesson: object) -> None:
        """Let something learn in the twin."""
        learner.in_twin(self, *lesson)

    @property
    def from_states(self) -> TwinSimulator | None:
        """This simulator, where episodes can start in states that no reset seed gives; else None."""
        return None if self._undisturbed_twin.observe is None else self

    def real_states(self, seeds: Ints) -> Floats:
        """Return the states of the environment after reset with k seeds, `(k, state_size)`."""
        return self.starts(seeds).states[:, -self._undisturbed_twin.state_size :]

    def seen_in(self, states: Floats) -> Floats:
        """Return the observations in states of the environment, `(k, features)`, undisturbed."""
        assert self._undisturbed_twin.observe is not None
        return np.array([self._undisturbed_twin.observe(state) for state in states])

    def starts_in(self, states: Floats) -> Starts:
        """Return starts in states of the environment `(k, state_size)`, all with the same disturbances."""
        assert self._undisturbed_twin.observe is not None
        seed = int(self.task.searching(1)[0])
        pairs = [self._start_of(state, self._undisturbed_twin.observe(state), seed) for state in states]
        return Starts(np.array([s for s, _ in pairs]), np.array([p for _, p in pairs]), self._t_max)

    def play_from(self, ruleset: RuleSet, starts: Starts) -> Episodes:
        """Play one ruleset of any kind from k starts: arrays `(1, k)`."""
        batch = batch_of(ruleset)
        if batch is not None:
            return self._played(Intervals.of(batch, self.task.features), starts)
        return self._side_by_side(self._checked(self._choice(ruleset)), starts, None)

    def record_from(self, ruleset: RuleSet, starts: Starts) -> list[Trajectory]:
        """Play one ruleset of any kind from k starts, and keep every step."""
        log = Log(len(starts.states), len(self.task.features))
        played = self._side_by_side(self._checked(self._choice(ruleset)), starts, log)
        return log.trajectories(played.reshaped(-1))

    def _check(self, played: Episodes, rules: Intervals, starts: Starts, seeds: Ints) -> None:
        """Raise TaskError where an observation or a reward was not finite."""
        is_bad = (played.endings == NOT_FINITE) | ~np.isfinite(played.returns)
        for i, e in np.argwhere(is_bad)[:1].tolist():
            states, points = starts.states[e : e + 1].copy(), starts.points[e : e + 1].copy()
            action, reward, end = np.empty(1, np.int64), np.zeros(1), np.empty(1, np.bool_)
            step = 0
            while step < played.steps[i, e] and np.isfinite(reward[0]):
                choose_lanes(rules, np.array([i]), points, action)
                step_lanes(self.twin.step, states, action, points, reward, end)
                step += 1
            self.refuse_number(points, float(reward[0]), step, int(seeds[e]))

    def play_policy(self, choose: Choose, seeds: Ints) -> Episodes:
        """Play any policy from k reset seeds, all episodes side by side."""
        return self._side_by_side(self._checked(choose), self.starts(seeds), None, seeds)

    def record_each(self, act: Actions, seeds: Ints) -> list[Trajectory]:
        """Play k episodes by a policy that is told which of them a point is from."""
        log = Log(len(seeds), len(self.task.features))
        played = self._side_by_side(act, self.starts(seeds), log, seeds)
        return log.trajectories(played.reshaped(-1))

    def _side_by_side(
        self, act: Actions, starts: Starts, log: Log | None, seeds: Ints | None = None
    ) -> Episodes:
        task, k, factor = self.task, len(starts.states), 1.0
        states, points, lanes = starts.states.copy(), starts.points.copy(), np.arange(k)
        played = Episodes(np.zeros((1, k)), np.zeros((1, k), np.int64), np.full((1, k), TRUNCATED, np.int8))
        for t in range(starts.t_max):
            actions = np.empty(len(lanes), np.int64)
            act(lanes, points, actions)
            previous, true_points = (
                (points, None) if log is None else (points.copy(), self._true_points(states))
            )
            rewards, ends = np.zeros(len(lanes)), np.zeros(len(lanes), np.bool_)
            step_lanes(self.twin.step, states, actions, points, rewards, ends)
            no_rule = actions < 0
            played.returns[0, lanes] += factor * rewards
            played.steps[0, lanes] += ~no_rule
            played.endings[0, lanes[ends]] = TERMINATED
            played.endings[0, lanes[no_rule]] = NO_RULE
            finite = np.isfinite(points).all(axis=1) & np.isfinite(rewards)
            for row in np.flatnonzero(~finite)[:1]:
                seed = 0 if seeds is None else int(seeds[lanes[row]])
                self.refuse_number(points[row : row + 1], rewards[row], t + 1, seed)
            goes_on = ~(ends | no_rule) & (t + 1 < starts.t_max)
            if log is not None:
                log.add(lanes, previous, actions, rewards, true_points)
                log.end(lanes[~goes_on], points[~goes_on], self._true_points(states[~goes_on]))
            factor *= task.gamma
            if not goes_on.all():
                states, points, lanes = states[goes_on], points[goes_on], lanes[goes_on]
            if not len(lanes):
                break
        return played

    def _true_points(self, states: Floats) -> Floats | None:
        """Return what the environment shows in states `(m, …)`; None without disturbances."""
        return true_points(states, len(self.task.features)).copy() if self.task.disturbances else None

    def reinforce(self, rules: RuleBatch, lesson: Reinforcement) -> int:
        """Let rules learn from rollouts that start from the seeds for learning."""
        task, n = self.task, lesson.learners
        laid_out, starts = Intervals.of(rules, task.features), self.starts(task.pool)
        steps, bad = np.zeros(n, dtype=np.int64), np.full((n, 2), -1, dtype=np.int64)
        last_values, address = np.zeros((n, len(task.features) + 1)), self.twin.step

        def work(start: int, end: int) -> None:
            reinforce_on_twin(
                start, end, laid_out, lesson, address, starts, task.gamma, steps, bad, last_values
            )

        for_slices(work, n, self.threads)
        self._refuse_bad(bad, last_values)
        return int(steps.sum())

    def play_bids(self, rules: RuleBatch, lesson: Bidding) -> Bids:
        """Let plans play by bids, from the seeds for learning."""
        task, n = self.task, len(rules.lengths)
        laid_out, starts = Intervals.of(rules, task.features), self.starts(task.pool)
        out = Bids.empty(n, rules.actions.shape[1], len(task.features), lesson)
        bad, last_values = np.full((n, 2), -1, dtype=np.int64), np.zeros((n, len(task.features) + 1))
        address, n_actions = self.twin.step, task.n_actions

        def work(start: int, end: int) -> None:
            bid_on_twin(start, end, laid_out, lesson, address, starts, n_actions, out, bad, last_values)

        for_slices(work, n, self.threads)
        self._refuse_bad(bad, last_values)
        return out

    def _refuse_bad(self, bad: Ints, last_values: Floats) -> None:
        """Raise for the first number that was not finite, among the starts, steps and values of rulesets."""
        for i in np.flatnonzero(bad[:, 0] >= 0)[:1]:
            start, step = bad[i].tolist()
            seed = int(self.task.pool[start])
            self.refuse_number(last_values[i : i + 1, :-1], float(last_values[i, -1]), step, seed)

    def starts(self, seeds: Ints) -> Starts:
        """Return where the episodes of k reset seeds start; do not write to the arrays."""
        key = np.ascontiguousarray(seeds, dtype=np.int64).tobytes()
        if key not in self._starts_by_list:
            self._read_starts([int(seed) for seed in seeds])
            rows = [self._starts_by_seed[int(seed)] for seed in seeds]
            states = np.array([state for state, _ in rows]).reshape(len(rows), self.twin.state_size)
            points = np.array([point for _, point in rows]).reshape(len(rows), len(self.task.features))
            for array in (states, points):
                array.flags.writeable = False
            if len(self._starts_by_list) >= LISTS_KEPT:
                self._starts_by_list.clear()
            self._starts_by_list[key] = Starts(states, points, self._t_max)
        return self._starts_by_list[key]

    def _start_of(self, state: Floats, point: Floats, seed: int) -> tuple[Floats, Floats]:
        """Return state and reading at the start of an episode, given the real environment's."""
        disturbances = self.task.disturbances
        if disturbances:
            state = first_memory(disturbances, self.task.features, seed, self._undisturbed_twin.step, state)
            sense(state, point)
        return state, point

    def _read_starts(self, seeds: list[int]) -> None:
        """Reset the real environment with the seeds that are new."""
        if len(self._starts_by_seed) + len(seeds) > SEEDS_KEPT:
            self._starts_by_seed.clear()
        new_seeds = [seed for seed in dict.fromkeys(seeds) if seed not in self._starts_by_seed]
        if not new_seeds and self._t_max:
            return
        task, env = self.task, self.task.make()
        try:
            env_limit = env.spec.max_episode_steps if env.spec else None
            self._t_max = min(task.t_max, env_limit or task.t_max)
            for seed in new_seeds:
                observation, _ = env.reset(seed=seed)
                point = task.flat.row(observation)
                task.check_points(point, f" after reset with seed {seed}")
                self._starts_by_seed[seed] = self._start_of(self._undisturbed_twin.state_of(env), point, seed)
        finally:
            env.close()
