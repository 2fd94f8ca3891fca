"""Traces: one episode step by step, with the rule behind every action, as text, a table and plain data.

A training episode of a table is replayed with the task's own common random numbers, so that the trace shows
what `evaluate` measured. Other episodes of tables have their own noise. Episodes of an environment are played
from a reset seed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import whole_number
from ifthen.digits import plural
from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.explanation.trace_text import text_of
from ifthen.notebook import Shown
from ifthen.randomness import check_seed
from ifthen.rules.arrays import Floats
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import PolicyOrActions, RuleSet
from ifthen.simulate.evaluate import shared_simulator, with_task
from ifthen.simulate.scope import Number, choose_at, column_of, tabular, values_by_name
from ifthen.simulate.simulator import Start
from ifthen.simulate.trajectories import NO_RULE, TRUNCATED, Trajectory
from ifthen.tasks.task import Task

if TYPE_CHECKING:
    import polars

Ending = Literal["goal", "hole", "ended", "terminated", "truncated", "stopped", "no rule"]
ENDINGS: dict[Ending, str] = {
    "goal": "reached the goal",
    "hole": "fell into a hole",
    "ended": "ended",
    "terminated": "ended by the environment",
    "truncated": "truncated",
    "stopped": "stopped",
    "no rule": "no rule matches",
}
OWN_COLUMNS = ("step", "rule", "words", "action", "reward", "slipped", "return_so_far")
"""The columns of a trace's table that are not features."""
SAME = 1e-9
"""Probabilities that differ by less than this share count as equal."""


@dataclass(frozen=True)
class Step:
    """One step of an episode.

    Args:
        step: its number, from 0.
        features: the observation before the step, as the task gives it, also beyond a feature's range.
        rule: the deciding rule, from 0; None for a policy without rules.
        words: that rule in words.
        action: the action taken.
        reward: the reward.
        next_features: the observation after the step.
        return_so_far: the discounted return, this step's reward included.
        done: whether the step ended the episode.
        state: the number of the state before the step; None in an environment.
        next_state: the number of the state after the step; None in an environment.
        expected_next: the number of the likeliest next state; None where several are equally likely, and in
            an environment.
        slipped: whether the step led neither to the likeliest next state nor where the likeliest single
            outcome leads; None in an environment.
    """

    step: int
    features: dict[str, Number]
    rule: int | None
    words: str
    action: str
    reward: float
    next_features: dict[str, Number]
    return_so_far: float
    done: bool
    state: int | None = None
    next_state: int | None = None
    expected_next: int | None = None
    slipped: bool | None = None


class Stretch(NamedTuple):
    """The steps from `first` to `last`, both included and from 0, in which the same rule decides."""

    first: int
    last: int
    rule: int

    def __str__(self) -> str:
        first, last = self.first + 1, self.last + 1
        return f"{f'step {first}' if first == last else f'steps {first}–{last}'}: rule {self.rule + 1}"


@dataclass(frozen=True, repr=False)
class Trace(Shown):
    """One episode.

    Args:
        task: the task's name.
        episode: its number among the training episodes, from 0; None for any other episode.
        start: the first observation.
        steps: the steps.
        last: the last observation.
        ending: how the episode ended.
        ending_in_words: the same as a sentence.
        total: the discounted return.
        seed: the reset seed; None in a task with a table of states.
        slip_word: the word for a step that `slipped`: "slipped" on a map, "unlikely" elsewhere.
        tested: the features that rules test: of many features, these are shown.
        named: the features whose values have names; of these, words say the names.
    """

    task: str
    episode: int | None
    start: dict[str, Number]
    steps: tuple[Step, ...]
    last: dict[str, Number]
    ending: Ending
    ending_in_words: str
    total: float
    seed: int | None = None
    slip_word: str = "slipped"
    tested: tuple[str, ...] = ()
    named: tuple[Feature, ...] = ()

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The steps in order, neighbours in which the same rule decides together; none without rules."""
        stretches, first = [], 0
        for rule, group in groupby(step.rule for step in self.steps if step.rule is not None):
            length = len(list(group))
            stretches.append(Stretch(first, first + length - 1, rule))
            first += length
        return tuple(stretches)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain data; steps, rules and episodes are numbered from 0."""
        plain = asdict(self)
        del plain["named"]
        return plain

    def to_table(self) -> polars.DataFrame:
        """Return one row per step, without columns that do not apply; steps and rules count from 1."""
        import polars

        columns: dict[str, Any] = {"step": [s.step + 1 for s in self.steps]}
        columns |= {
            column_of(name, OWN_COLUMNS): [s.features[name] for s in self.steps] for name in self.start
        }
        rules = [None if s.rule is None else s.rule + 1 for s in self.steps]
        columns["rule"] = polars.Series(rules, dtype=polars.Int64)
        columns |= {name: [getattr(s, name) for s in self.steps] for name in ("words", "action", "reward")}
        columns |= {f"next_{name}": [s.next_features[name] for s in self.steps] for name in self.start}
        if self.seed is None:
            columns["slipped"] = [s.slipped for s in self.steps]
        columns["return_so_far"] = [s.return_so_far for s in self.steps]
        return polars.DataFrame(columns)

    def to_text(self, width: int = 100) -> str:
        """Return the episode for a terminal of `width` characters; no line is longer.

        Steps that repeat the step before are counted. Of a long episode the first and the last steps are
        shown, with a summary of which rule decided when.
        """
        return text_of(self, width)


def trace(
    policy: PolicyOrActions,
    task: TaskLike | None = None,
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
    policy, task = with_task(policy, task)
    limit = task.t_max if max_steps is None else whole_number("max_steps", max_steps, 0, task.t_max)
    seed = check_seed(seed)
    if start is not None and episode is not None:
        raise ParameterError("a training episode has its own start: give either start or episode.")
    if episode is not None:
        episode = whole_number("episode", episode, 0, task.n_episodes - 1)
    trajectory, reset_seed = shared_simulator(task).one_episode(policy, seed, start, episode)
    return trace_of(trajectory, policy, task, episode, reset_seed, limit)


def trace_of(
    trajectory: Trajectory,
    policy: PolicyOrActions,
    task: Task,
    episode: int | None,
    seed: int | None,
    limit: int,
) -> Trace:
    """Return a trajectory as a trace of at most `limit` steps."""
    ruleset = getattr(policy, "ruleset", policy)
    rules = ruleset if isinstance(ruleset, RuleSet) else None
    n = min(len(trajectory.actions), limit)
    rewards = trajectory.rewards[:n]
    discounts = np.cumprod([1.0, *[task.gamma] * n])[:n]
    returns = np.cumsum(discounts * rewards).tolist()
    deciders = choose_at(rules, trajectory.points[:n])[1].tolist() if rules is not None and n else [None] * n
    words = cache(rules.rule_in_words) if rules is not None else str
    observations = [
        values_by_name(task.features, point) for point in (*trajectory.points[: n + 1], trajectory.last)
    ]
    ending = ending_of(trajectory, task, n)
    over = ending not in ("truncated", "stopped", "no rule")
    steps = tuple(
        Step(
            step=t,
            features=observations[t],
            rule=rule,
            words="" if rule is None else words(rule),
            action=task.action_names[trajectory.actions[t]],
            reward=float(rewards[t]),
            next_features=observations[t + 1],
            return_so_far=returns[t],
            done=over and t == n - 1,
            **_on_states(trajectory, task, t),
        )
        for t, rule in enumerate(deciders)
    )
    total = returns[-1] if n else 0.0
    ending_words = ending_in_words(ending, steps, total, task.t_max)
    slip = "slipped" if task.layout else "unlikely"
    tested = () if rules is None else rules.tested
    named = tuple(feature for feature in task.features if feature.labels)
    return Trace(
        task.name,
        episode,
        observations[0],
        steps,
        observations[n],
        ending,
        ending_words,
        total,
        seed,
        slip,
        tested,
        named,
    )


def _on_states(trajectory: Trajectory, task: Task, t: int) -> dict[str, Any]:
    """Return what is known of a step where states are listed."""
    if trajectory.states is None:
        return {}
    table, state, next_state = (
        tabular(task, "a state"),
        int(trajectory.states[t]),
        int(trajectory.states[t + 1]),
    )
    expected, likeliest = likeliest_next(table.next_state[state, trajectory.actions[t]], table.probability)
    slipped = None not in (expected, likeliest) and next_state not in (expected, likeliest)
    return {"state": state, "next_state": next_state, "expected_next": expected, "slipped": slipped}


def ending_of(trajectory: Trajectory, task: Task, steps: int) -> Ending:
    """Return how an episode ended, or that it was stopped before."""
    if steps < len(trajectory.actions):
        return "stopped"
    if trajectory.ending in (TRUNCATED, NO_RULE):
        return "truncated" if trajectory.ending == TRUNCATED else "no rule"
    if trajectory.states is None:
        return "terminated"
    letters = "".join(task.layout or ())
    letter = letters[trajectory.states[-1]] if len(letters) == tabular(task, "a map").n_states else ""
    return "goal" if letter == "G" else "hole" if letter == "H" else "ended"


def ending_in_words(ending: Ending, steps: tuple[Step, ...], total: float, t_max: int) -> str:
    """Return how an episode ended as a sentence."""
    at_limit = f"truncated, t_max = {t_max:,} is reached"
    phrases = {
        **ENDINGS,
        "ended": f"ended with reward {steps[-1].reward:g}" if steps else "",
        "terminated": "the environment ended the episode",
        "truncated": at_limit if len(steps) >= t_max else "truncated by the environment",
        "stopped": "stopped, the episode goes on",
        "no rule": "no rule matches, nothing can be done",
    }
    return f"After {plural(len(steps), 'step')}: {phrases[ending]}; return {total:.4g}."


def likeliest_next(following: NDArray[np.int32], probability: Floats) -> tuple[int | None, int | None]:
    """Return the likeliest next state, and where the likeliest single outcome leads; None where ambiguous.

    They differ where several less likely outcomes lead to the same state.
    """
    states = np.unique(following)
    chances = np.array([probability[following == s].sum() for s in states])
    expected = states[chances >= (1 - SAME) * chances.max()]
    leads = np.unique(following[probability >= (1 - SAME) * probability.max()])
    return int(expected[0]) if len(expected) == 1 else None, int(leads[0]) if len(leads) == 1 else None
