"""Traces: one episode step by step, with the rule behind every action, as text, a table and plain data.

A training episode of a table is replayed with the task's own common random numbers, so that the trace shows
what `evaluate` measured. Other episodes of tables have their own noise. Episodes of an environment are played
from a reset seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import whole_number
from ifthen.digits import percent, plural, values_in_words, worth_showing
from ifthen.errors import ParameterError, TaskError
from ifthen.notebook import Shown
from ifthen.randomness import below, check_seed, stream
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.evaluate import task_of
from ifthen.simulate.scope import Number, choose_at, column_of, recorded_episodes, tabular, values_by_name
from ifthen.simulate.table import policy_table
from ifthen.simulate.table_play import replay
from ifthen.simulate.trajectories import NO_RULE, TRUNCATED, Trajectory
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.table import TabularTask
from ifthen.tasks.task import Task
from ifthen.text_table import GAP, fitting_rows, folded, least_widths, prose

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
SHOWN_FIRST, SHOWN_LAST = 20, 5
"""The text shows this many rows at the beginning and at the end of a long episode."""
STRETCHES_FIRST, STRETCHES_LAST = 16, 4
"""The text names this many stretches at the beginning and at the end of a long episode."""


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
        found, first = [], 0
        for rule, same in groupby(step.rule for step in self.steps if step.rule is not None):
            length = len(list(same))
            found.append(Stretch(first, first + length - 1, rule))
            first += length
        return tuple(found)

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

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """Return the episode for a terminal of `width` characters; no line is longer.

        Steps that repeat the step before are counted. Of a long episode the first and the last steps are
        shown, with a summary of which rule decided when.
        """
        name = "An episode" if self.episode is None else f"Training episode {self.episode + 1}"
        tested, named = self.tested, self.named
        start = (
            f"from {in_words(self.start, tested, named)}" if self.seed is None else f"reset seed {self.seed}"
        )
        heading = prose(f"{name} in {self.task}, {start}:", width)
        ending = prose(
            f"{self.ending_in_words} Last observation: {in_words(self.last, tested, named)}.", width
        )
        if not self.steps:
            return f"{heading}\n{ending}"
        runs = runs_of(self.steps)
        left_out = len(runs) - SHOWN_FIRST - SHOWN_LAST
        shown = [*runs[:SHOWN_FIRST], *runs[-SHOWN_LAST:]] if left_out > 1 else runs
        header, *rows = step_rows([run[0] for run in shown], self.slip_word, width, tested, named)
        lines = [
            row
            if len(run) == 1
            else f"{run[0].step + 1}–{run[-1].step + 1}  the same, {len(run):,} times; "
            f"return {run[-1].return_so_far:.4g}"
            for run, row in zip(shown, rows, strict=True)
        ]
        if left_out > 1:
            missing = len(self.steps) - sum(map(len, shown))
            lines.insert(SHOWN_FIRST, f"… {missing:,} more steps …")
        summary = _summary(self, width, left_out > 1) if self.steps[0].rule is not None else ()
        return "\n".join([heading, header, *lines, ending, *summary])


def step_rows(
    steps: Sequence[Step],
    slip_word: str,
    width: int,
    tested: Collection[str] = (),
    named: Sequence[Feature] = (),
) -> list[str]:
    """Return steps as lines below a header: a column per feature, or one for all where there is no room.

    Of many features, those that rules test are shown.
    """
    names, notes = worth_showing(steps[0].features, tested), any(step.slipped for step in steps)
    ruled = steps[0].rule is not None
    tails = [
        [
            *([str(step.rule + 1)] if step.rule is not None else []),
            step.action,
            f"{step.reward:.4g}",
            f"{step.return_so_far:.4g}",
            *[slip_word if step.slipped else ""] * notes,
        ]
        for step in steps
    ]
    header = [*["rule"] * ruled, "action", "reward", "return", *[""] * notes]
    align = "r" * ruled + "lrr" + "l" * notes
    numbered = [[str(step.step + 1), *(f"{step.features[name]:.3g}" for name in names)] for step in steps]
    rows = [["step", *names, *header]]
    rows += [[*head, *tail] for head, tail in zip(numbered, tails, strict=True)]
    if not named and sum(least_widths(rows)) + len(GAP) * (len(rows[0]) - 1) <= width:
        return fitting_rows(rows, "r" * (len(names) + 1) + align, width)
    rows = [["step", "state", *header]]
    shown = [in_words({name: step.features[name] for name in names}, (), named) for step in steps]
    rows += [[str(s.step + 1), own, *tail] for s, own, tail in zip(steps, shown, tails, strict=True)]
    return fitting_rows(rows, "rl" + align, width)


def runs_of(steps: Sequence[Step]) -> list[Sequence[Step]]:
    """Return the steps in order; two or more steps that repeat the step before them form one run."""
    runs: list[Sequence[Step]] = []
    for _, same in groupby(steps, lambda step: replace(step, step=0, return_so_far=0.0)):
        first, *again = same
        runs += [[first], again] if len(again) > 1 else [[step] for step in (first, *again)]
    return runs


def in_words(
    features: Mapping[str, Number], tested: Collection[str] = (), named: Sequence[Feature] = ()
) -> str:
    """Return an observation in words, its numbers with four digits; of many features, those tested.

    Values of the features `named` are called by their labels.
    """
    words = {name: f"{value:.4g}" for name, value in features.items()}
    words |= {f.name: f.value_in_words(features[f.name]) for f in named if f.name in features}
    return values_in_words(words, tested)


def _summary(trace: Trace, width: int, when: bool) -> Iterator[str]:
    """Yield how often each rule decided and, where `when` is set, when."""
    rules = [step.rule for step in trace.steps if step.rule is not None]
    words = {step.rule: step.words for step in trace.steps}
    yield "\nHow often each rule decided:"
    for rule, count in Counter(rules).most_common():
        said = f"{plural(count, 'step')} ({percent(count / len(trace.steps))})"
        first, *more = folded(f"{said}: rule {rule + 1}. {words[rule]}", width - 4)
        yield "\n".join([f"  {first}", *(f"    {line}" for line in more)])
    if not when:
        return
    said_when = [str(stretch) for stretch in trace.stretches]
    left_out = len(said_when) - STRETCHES_FIRST - STRETCHES_LAST
    if left_out > 1:
        said_when[STRETCHES_FIRST:-STRETCHES_LAST] = [f"… {left_out:,} more stretches …"]
    yield prose(f"When: {', '.join(said_when)}.", width)


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
    tested = () if ruled is None else ruled.tested
    named = tuple(feature for feature in task.features if feature.labels)
    return Trace(task.name, episode, seen[0], steps, seen[n], ending, said, total, seed, slip, tested, named)


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
    return f"After {plural(len(steps), 'step')}: {said[ending]}; return {total:.4g}."


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
