"""Traces: one episode step by step, with the rule behind every action and what came of it.

An episode of z is replayed with the task's own common random numbers ("aligned": step t of episode e uses
number e · t_max + t), so that what is shown is what `evaluate` measured. Other episodes have their own noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import whole_number
from ifthen.errors import ParameterError, TaskError
from ifthen.explain.points import values_by_name
from ifthen.explain.trace.env_episode import EnvTrace
from ifthen.explain.trace.episode import Ending, Step, Trace
from ifthen.explain.words import rule_for_reading
from ifthen.randomness import below, check_seed, stream
from ifthen.rollout.evaluate import policy_table
from ifthen.rollout.tabular import outcome
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

Start = int | ArrayLike | Mapping[str, float] | None
SAME = 1e-9  # relative: probabilities so near to each other are taken as equal

__all__ = ["Step", "Trace", "trace"]


@overload
def trace(
    policy: Any,
    task: TabularTask,
    start: Start = ...,
    seed: int = ...,
    episode: int | None = ...,
    max_steps: int | None = ...,
) -> Trace: ...


@overload
def trace(
    policy: Any,
    task: EnvTask,
    start: Start = ...,
    seed: int = ...,
    episode: int | None = ...,
    max_steps: int | None = ...,
) -> EnvTrace: ...


def trace(
    policy: Any,
    task: TabularTask | EnvTask,
    start: Start = None,
    seed: int = 0,
    episode: int | None = None,
    max_steps: int | None = None,
) -> Trace | EnvTrace:
    """Play one episode and record every step.

    Args:
        policy: a RuleSet, a trained system, or, in tabular tasks, the action in every state as an array
            `(S,)`.
        task: the task; in one that is an environment the answer is an EnvTrace.
        start: the state to start in: its number, its features `(features,)`, or these by name; drawn from S_I
            where none is given. Environments start where their reset seed says.
        seed: of the noise, and of the start where it is drawn; in an environment, the reset seed.
        episode: replay this episode of z, from 0, with z's noise, instead.
        max_steps: stop after so many steps; t_max where none is given.
    """
    if isinstance(task, EnvTask):
        from ifthen.explain.trace.env_play import env_trace

        return env_trace(policy, task, start, seed, episode, max_steps)
    if not isinstance(task, TabularTask):
        raise TaskError(f"task must be a TabularTask or an EnvTask, not {task!r}.")
    seed = check_seed(seed)
    limit = task.t_max if max_steps is None else whole_number("max_steps", max_steps, 0, task.t_max)
    if episode is not None:
        if start is not None:
            raise ParameterError("an episode of z has its own start: give either start or episode.")
        episode = whole_number("episode", episode, 0, len(task.z) - 1)
        state, key, position = int(task.z[episode]), stream(task.noise_seed, "z"), episode * task.t_max
    else:
        draws = stream(seed, "trace start")
        drawn = task.initial_states[below(draws, 0, len(task.initial_states))]
        state = int(drawn) if start is None else start_state(task, start)
        key, position = stream(seed, "trace"), 0
    return played(Player(policy, task), state, key, position, limit, episode)


class Player:
    """A policy on a task, with its words."""

    def __init__(self, policy: Any, task: TabularTask) -> None:
        self.task, ruleset = task, getattr(policy, "ruleset", policy)
        self.actions = np.full(task.n_states, -1)
        self.actions[task.decision_states] = policy_table(policy, task)
        self.deciders = np.full(task.n_states, -1)
        self.words: Callable[[int], str] = str
        if isinstance(ruleset, RuleSet):
            self.deciders[task.decision_states] = ruleset.choose(task.dynamics.points)[1]
            self.words = cache(partial(rule_for_reading, ruleset))
        self.cuts = np.cumsum(task.probability)

    def step(self, number: int, state: int, k: int, discount: float, before: float) -> Step:
        """Return the step from a state with outcome k, after a return of `before`."""
        task, action = self.task, int(self.actions[state])
        following, reward = int(task.next_state[state, action, k]), float(task.reward[state, action, k])
        expected, likeliest = likeliest_next(task.next_state[state, action], task.probability)
        rule = int(self.deciders[state])
        return Step(
            step=number,
            state=state,
            features=values_by_name(task.features, task.state_features[state].tolist()),
            rule=rule if rule >= 0 else None,
            words=self.words(rule) if rule >= 0 else "",
            action=task.action_names[action],
            reward=reward,
            next_state=following,
            next_features=values_by_name(task.features, task.state_features[following].tolist()),
            expected_next=expected,
            slipped=None not in (expected, likeliest) and following not in (expected, likeliest),
            return_so_far=before + discount * reward,
            done=bool(task.done[state, action, k]),
        )


def played(
    player: Player, state: int, key: np.uint64, position: int, limit: int, episode: int | None
) -> Trace:
    """Return the episode from a state whose noise begins at `position` of the stream `key`."""
    task, total, discount = player.task, 0.0, 1.0
    steps: list[Step] = []
    start = values_by_name(task.features, task.state_features[state].tolist())
    while len(steps) < limit and player.actions[state] >= 0 and not (steps and steps[-1].done):
        k = int(outcome(key, player.cuts, position + len(steps)))
        steps.append(player.step(len(steps), state, k, discount, total))
        state, total, discount = steps[-1].next_state, steps[-1].return_so_far, discount * task.gamma
    ending = ending_of(player, steps, state)
    words = ending_in_words(ending, steps, total)
    return Trace(task.name, episode, start, tuple(steps), ending, words, total, task.layout is not None)


def ending_of(player: Player, steps: list[Step], state: int) -> Ending:
    """Return how an episode ended in a state."""
    task = player.task
    if steps and steps[-1].done:
        letters = "".join(task.layout or ())
        letter = letters[state] if len(letters) == task.n_states else ""
        return "goal" if letter == "G" else "hole" if letter == "H" else "ended"
    if len(steps) == task.t_max:
        return "truncated"
    return "no rule" if player.actions[state] < 0 else "stopped"


def ending_in_words(ending: Ending, steps: list[Step], total: float) -> str:
    """Return how an episode ended as a sentence."""
    after = f"After {len(steps):,} step{'' if len(steps) == 1 else 's'}: "
    last = f"ended with reward {steps[-1].reward:g}" if steps else ""
    said = {
        "goal": "reached the goal",
        "hole": "fell into a hole",
        "ended": last,
        "truncated": "truncated, t_max is reached",
        "stopped": "stopped, the episode goes on",
        "no rule": "no rule matches, nothing can be done",
    }
    return f"{after}{said[ending]}; return {total:.4g}."


def likeliest_next(
    following: NDArray[np.int32], probability: NDArray[np.float64]
) -> tuple[int | None, int | None]:
    """Return the likeliest next state, and where the likeliest single outcome leads; None where ambiguous.

    They differ where several lesser outcomes lead to the same state.
    """
    states = np.unique(following)
    chances = np.array([probability[following == s].sum() for s in states])
    expected = states[chances >= (1 - SAME) * chances.max()]
    leads = np.unique(following[probability >= (1 - SAME) * probability.max()])
    return int(expected[0]) if len(expected) == 1 else None, int(leads[0]) if len(leads) == 1 else None


def start_state(task: TabularTask, start: int | ArrayLike | Mapping[str, float]) -> int:
    """Return the number of the decision state that is given by number or by features, or raise."""
    states, names = task.decision_states, [f.name for f in task.features]
    if isinstance(start, Mapping):
        if set(start) != set(names):
            raise TaskError(f"start must give the features {', '.join(names)}, not {start!r}.")
        start = [start[name] for name in names]
    if np.ndim(start) == 0:
        found = states[states == start]
    else:
        vector = np.asarray(start)
        same = vector.shape == (len(names),)
        found = states[(task.state_features[states] == vector).all(axis=1)] if same else states[:0]
    if len(found) != 1:
        many = "several decision states have" if len(found) else "no decision state has"
        raise TaskError(f"start must be one decision state of {task.name}; {many} {start!r}.")
    return int(found[0])
