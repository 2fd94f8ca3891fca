"""Traces: one episode step by step, with the rule behind every action.

A training episode of a table is replayed with the task's own common random numbers, so that the trace shows
what `evaluate` measured. Other episodes of tables have their own noise. Episodes of an environment are played
from a reset seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import whole_number
from ifthen.digits import counted
from ifthen.errors import ParameterError, TaskError
from ifthen.explanation.episode import ENDINGS, Ending, Step, Trace
from ifthen.randomness import below, check_seed, stream
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.evaluate import task_of
from ifthen.simulate.scope import choose_at, recorded_episodes, tabular, values_by_name
from ifthen.simulate.table import policy_table
from ifthen.simulate.table_play import replay
from ifthen.simulate.trajectories import NO_RULE, TRUNCATED, Trajectory
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.table import TabularTask
from ifthen.tasks.task import Task

Start = int | ArrayLike | Mapping[str, float] | None
SAME = 1e-9  # relative: probabilities this close are taken as equal


def trace(
    policy: Any,
    task: Any = None,
    start: Start = None,
    seed: int = 0,
    episode: int | None = None,
    max_steps: int | None = None,
) -> Trace:
    """Play one episode and record every step.

    Args:
        policy: a RuleSet, a trained system, or, on tables, the action in every state as an array `(S,)`.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None.
        start: the state to start in: its number, its features `(features,)`, or these by name; drawn from the
            initial states where None. Environments start where their reset seed says.
        seed: of the noise, and of the start where it is drawn; in an environment, the reset seed.
        episode: replay this training episode, from 0, instead.
        max_steps: stop after this many steps; t_max where None.
    """
    own = task_of(policy, task)
    limit = own.t_max if max_steps is None else whole_number("max_steps", max_steps, 0, own.t_max)
    seed = check_seed(seed)
    if start is not None and episode is not None:
        raise ParameterError("a training episode has its own start: give either start or episode.")
    if episode is not None:
        episode = whole_number("episode", episode, 0, own.n_episodes - 1)
    if isinstance(own, EnvTask):
        if start is not None:
            raise ParameterError(
                f"episodes of {own.name} start where a reset seed says: give seed or episode."
            )
        number = seed if episode is None else int(own.z[episode])
        return trace_of(recorded_episodes(policy, own, [number])[0], policy, own, episode, number, limit)
    table = tabular(own, "a trace")
    if episode is not None:
        found = recorded_episodes(policy, table, [episode])[0]
    else:
        drawn = table.initial_states[below(stream(seed, "trace start"), 0, len(table.initial_states))]
        state = int(drawn) if start is None else start_state(table, start)
        found = replay(table, policy_table(policy, table), state, stream(seed, "trace"), 0)
    return trace_of(found, policy, own, episode, None, limit)


def trace_of(
    found: Trajectory, policy: Any, task: Task, episode: int | None, seed: int | None, limit: int
) -> Trace:
    """Return a trajectory as a trace of at most `limit` steps."""
    ruleset = getattr(policy, "ruleset", policy)
    ruled = ruleset if isinstance(ruleset, RuleSet) else None
    n = min(len(found.actions), limit)
    rewards = found.rewards[:n]
    discounts = np.cumprod([1.0, *[task.gamma] * n])[:n]
    returns = np.cumsum(discounts * rewards).tolist()
    rules = choose_at(ruled, found.points[:n])[1].tolist() if ruled is not None and n else [None] * n
    words = cache(ruled.rule_in_words) if ruled is not None else str
    seen = [values_by_name(task.features, point) for point in (*found.points[: n + 1], found.last)]
    ending = ending_of(found, task, n)
    over = ending not in ("truncated", "stopped", "no rule")
    steps = tuple(
        Step(
            step=t,
            features=seen[t],
            rule=rule,
            words="" if rule is None else words(rule),
            action=task.action_names[found.actions[t]],
            reward=float(rewards[t]),
            next_features=seen[t + 1],
            return_so_far=returns[t],
            done=over and t == n - 1,
            **_on_states(found, task, t),
        )
        for t, rule in enumerate(rules)
    )
    total = returns[-1] if n else 0.0
    said = ending_in_words(ending, steps, total, task.t_max)
    slip = "slipped" if task.layout else "unlikely"
    return Trace(task.name, episode, seen[0], steps, seen[n], ending, said, total, seed, slip)


def _on_states(found: Trajectory, task: Task, t: int) -> dict[str, Any]:
    """Return what is known of a step where states are listed."""
    if found.states is None:
        return {}
    table, state, after = tabular(task, "a state"), int(found.states[t]), int(found.states[t + 1])
    expected, likeliest = likeliest_next(table.next_state[state, found.actions[t]], table.probability)
    slipped = None not in (expected, likeliest) and after not in (expected, likeliest)
    return {"state": state, "next_state": after, "expected_next": expected, "slipped": slipped}


def ending_of(found: Trajectory, task: Task, steps: int) -> Ending:
    """Return how an episode ended, or that it was stopped before."""
    if steps < len(found.actions):
        return "stopped"
    if found.ending in (TRUNCATED, NO_RULE):
        return "truncated" if found.ending == TRUNCATED else "no rule"
    if found.states is None:
        return "terminated"
    letters = "".join(task.layout or ())
    letter = letters[found.states[-1]] if len(letters) == tabular(task, "a map").n_states else ""
    return "goal" if letter == "G" else "hole" if letter == "H" else "ended"


def ending_in_words(ending: Ending, steps: tuple[Step, ...], total: float, t_max: int) -> str:
    """Return how an episode ended as a sentence."""
    reached = f"truncated, t_max = {t_max:,} is reached"
    said = {
        **ENDINGS,
        "ended": f"ended with reward {steps[-1].reward:g}" if steps else "",
        "terminated": "the environment ended the episode",
        "truncated": reached if len(steps) >= t_max else "truncated by the environment",
        "stopped": "stopped, the episode goes on",
        "no rule": "no rule matches, nothing can be done",
    }
    return f"After {counted(len(steps), 'step')}: {said[ending]}; return {total:.4g}."


def likeliest_next(
    following: NDArray[np.int32], probability: NDArray[np.float64]
) -> tuple[int | None, int | None]:
    """Return the likeliest next state, and where the likeliest single outcome leads; None where ambiguous.

    They differ where several less likely outcomes lead to the same state.
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
