"""How a policy behaves: which rules take its time, how often it changes its action, what each rule is worth.

On a table all numbers are exact: expected over episodes of at most t_max steps. In an environment they come
from test seeds. What a rule is worth is the return lost without it: the same rules without this one are
played from the same seeds, and the differences are paired.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import counted_steps, in_units, interval_in_words, percent, plural
from ifthen.environments.make import TaskLike
from ifthen.explanation.measures import transitions, usage, visits
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.evaluate import shared_simulator, with_task
from ifthen.simulate.scope import choose_at, tabular
from ifthen.simulate.simulator import LEVEL, checked_ruleset, t_margin
from ifthen.simulate.table_simulator import policy_table
from ifthen.simulate.trajectories import NO_RULE, Trajectory
from ifthen.tasks.disturbance import in_words
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.solve import exact_performances
from ifthen.tasks.tabular_task import TabularTask
from ifthen.text_table import TextTable

MOST_RULES = 60
"""The worth of at most this many rules is measured: of those that decide most often."""
QUANTITY = re.compile(r"(.*?)([-+−]?\d+(?:\.\d+)?)(.*)")


@dataclass(frozen=True)
class RuleWorth:
    """What one rule does for a policy.

    Args:
        rule: its number, from 0.
        words: the rule in words.
        share: its share of the steps.
        lost: the mean return lost without it; negative where the policy is better without. None where
            a state without a rule is then reached, and where it was not played.
        interval: the 95 % interval of that difference; None on a table, where it is exact.
        stuck: the share of episodes that reach a state without a rule when it is gone; None where it was not
            played. On a table 1 where such a state can be reached.
    """

    rule: int
    words: str
    share: float
    lost: float | None
    interval: tuple[float, float] | None
    stuck: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Behaviour(Shown):
    """How a policy behaves.

    Args:
        task: the task's name.
        where: what was looked at, in words.
        steps: the mean number of steps of an episode.
        rules: one entry per rule.
        switches: how often the action changes in 100 steps.
        dwell: for how many steps an action is kept, on average.
        longest: for how many steps an action was kept at most; None on a table.
        effort: the mean size of the actions, where they are numbers; None elsewhere.
        change: the mean size of a change of action in a step, where they are numbers; None elsewhere.
        outside: the share of steps in which a feature lies beyond all its values in training episodes; None
            on a table.
        untested: the rules that decided in no step, by number from 0; where rules vote, none.
    """

    task: str
    where: str
    steps: float
    rules: tuple[RuleWorth, ...]
    switches: float
    dwell: float
    longest: int | None = None
    effort: float | None = None
    change: float | None = None
    outside: float | None = None
    untested: tuple[int, ...] = ()

    @property
    def untested_in_words(self) -> str:
        """Which rules decided in no step; "" where all did."""
        if not self.untested:
            return ""
        numbers = [str(rule + 1) for rule in self.untested]
        single = len(numbers) == 1
        subject = f"Rule {numbers[0]}" if single else f"Rules {', '.join(numbers[:-1])} and {numbers[-1]}"
        if self.longest is None:
            return f"{subject} {'decides' if single else 'decide'} in no step of any episode."
        predicate = "its action is" if single else "their actions are"
        return f"{subject} decided in no test step: {predicate} untested."

    def _summary_rows(self) -> Iterator[tuple[str, str]]:
        """Yield names and numbers of what applies."""
        yield "steps of an episode", counted_steps(self.steps)
        yield "changes of action in 100 steps", f"{self.switches:.1f}"
        longest = "" if self.longest is None else f", {self.longest:,} at most"
        yield "steps with the same action", f"{self.dwell:.1f} on average{longest}"
        if self.effort is not None and self.change is not None:
            yield "effort", f"{self.effort:.3g} on average, changed by {self.change:.3g} a step"
        if self.outside is not None:
            yield "steps outside the range of training episodes", percent(self.outside)

    def shown_parts(self) -> list[Part]:
        """Return tables of the whole policy, and of its rules."""
        summary = TextTable(f"How it behaves {self.where}", ("", ""), tuple(self._summary_rows()))
        rows = tuple(
            (str(worth.rule + 1), worth.words, percent(round(worth.share, 9)), *_worth_cells(worth))
            for worth in self.rules
        )
        headings = "#", "rule", "of the steps", "return lost without it", "95 % interval"
        notes = (self.untested_in_words,) if self.untested else ()
        return [summary, TextTable("What each rule does", headings, rows, notes).without_empty([""])]

    def to_dict(self) -> dict[str, Any]:
        """Return everything that applies as plain data."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def _worth_cells(worth: RuleWorth) -> tuple[str, str]:
    """Return what a rule is worth in words, and its interval."""
    if worth.stuck:
        often = (
            "" if worth.interval is None and worth.stuck == 1 else f" in {percent(worth.stuck)} of episodes"
        )
        return f"all: no rule matches{often}", ""
    if worth.lost is None:
        return "not played", ""
    return in_units(worth.lost), interval_in_words(worth.interval, worth.lost)


def behaviour(
    policy: PolicyLike, task: TaskLike | None = None, episodes: int = 100, threads: int | None = None
) -> Behaviour:
    """Return how a policy behaves: which rules take its time, how often it switches, what each rule is worth.

    Args:
        policy: a RuleSet or a trained system.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None.
        episodes: how many test seeds to play in an environment.
        threads: how many threads to use, all cores where None; results do not depend on it.
    """
    policy, task = with_task(policy, task)
    ruleset = checked_ruleset(policy, task)
    if isinstance(task, EnvTask):
        return _in_play(ruleset, shared_simulator(task, threads=checked_threads(threads)), episodes)
    return _on_table(ruleset, tabular(task, "behaviour"))


def _in_play(ruleset: RuleSet, simulator: EnvSimulator, episodes: int) -> Behaviour:
    """Return how a policy behaves from test seeds."""
    task = simulator.task
    seeds = task.test_seeds(episodes)
    test_episodes, training_episodes = simulator.episodes(ruleset, seeds), simulator.episodes(ruleset)
    points = np.concatenate([episode.asked for episode in test_episodes])
    states, training_states = (
        np.concatenate([episode.true_points[: len(episode.asked)] for episode in group])
        for group in (test_episodes, training_episodes)
    )
    deciders = choose_at(ruleset, np.clip(points, *task.ranges))[1]
    shares = np.bincount(deciders[deciders >= 0], minlength=len(ruleset)) / max(1, len(points))
    steps, runs = (
        sum(len(episode.actions) for episode in test_episodes),
        [_runs(episode) for episode in test_episodes],
    )
    lengths = np.concatenate([*runs, [0]])
    switches = sum(max(0, len(episode_runs) - 1) for episode_runs in runs)
    effort, change = _effort(test_episodes, quantities(task.action_names))
    disturbed = in_words(task.disturbances)
    beyond = ((states < training_states.min(axis=0)) | (states > training_states.max(axis=0))).any(axis=1)
    return Behaviour(
        task=task.name,
        where=f"in {task.name}{disturbed and f', with {disturbed}'}, from {plural(episodes, 'test seed')}",
        steps=steps / episodes,
        rules=tuple(_worths(ruleset, simulator, seeds, shares)),
        switches=100 * switches / max(1, steps),
        dwell=steps / max(1, len(lengths) - 1),
        longest=int(lengths.max()),
        effort=effort,
        change=change,
        outside=float(beyond.mean()),
        untested=() if ruleset.votes else tuple(np.flatnonzero(shares == 0).tolist()),
    )


def _runs(episode: Trajectory) -> Ints:
    """Return for how many steps each action of an episode is kept, in their order."""
    actions = episode.actions
    edges = np.flatnonzero(np.diff(actions)) + 1
    return np.diff([0, *edges, len(actions)]) if len(actions) else np.zeros(0, dtype=np.int64)


def quantities(names: Sequence[str]) -> Floats | None:
    """Return the numbers of actions such as "torque −1", "torque 0"; None where they are no quantities.

    Names must be the same apart from one number. "action 0" is a number of an action, and no quantity.
    """
    matches = [QUANTITY.fullmatch(name) for name in names]
    texts = {(match[1].strip(), match[3].strip()) if match else None for match in matches}
    if None in texts or len(texts) != 1 or ("action", "") in texts:
        return None
    return np.array([float(match[2].replace("−", "-")) for match in matches if match])


def _effort(episodes: Sequence[Trajectory], values: Floats | None) -> tuple[float | None, float | None]:
    """Return the mean size of actions and of their changes; None where they are no quantities."""
    if values is None:
        return None, None
    per_episode = [values[episode.actions] for episode in episodes if len(episode.actions)]
    steps = max(1, sum(map(len, per_episode)))
    sizes = sum(float(np.abs(actions).sum()) for actions in per_episode)
    return sizes / steps, sum(float(np.abs(np.diff(actions)).sum()) for actions in per_episode) / steps


def _worths(ruleset: RuleSet, simulator: EnvSimulator, seeds: Ints, shares: Floats) -> Iterator[RuleWorth]:
    """Yield what each rule is worth, the policy being played without it from the same seeds."""
    full_returns = simulator.play_ruleset(ruleset, seeds).returns[0]
    worth_playing = set(np.argsort(-shares, kind="stable")[:MOST_RULES].tolist())
    for rule in range(len(ruleset)):
        words, share = ruleset.rule_in_words(rule), float(shares[rule])
        if len(ruleset) == 1:
            yield RuleWorth(rule, words, share, None, None, 1.0)
        elif share == 0 and not ruleset.votes:
            yield RuleWorth(rule, words, share, 0.0, (0.0, 0.0), 0.0)  # the same episodes
        elif rule not in worth_playing:
            yield RuleWorth(rule, words, share, None, None, None)
        else:
            without = simulator.play_ruleset(_without(ruleset, rule), seeds)
            stuck = float((without.endings[0] == NO_RULE).mean())
            losses = full_returns - without.returns[0]
            mean, ends = (None, None) if stuck else (float(losses.mean()), interval_of(losses))
            yield RuleWorth(rule, words, share, mean, ends, stuck)


def _without(ruleset: RuleSet, rule: int) -> RuleSet:
    """Return the same rules without one of them."""
    return ruleset.subset([other for other in range(len(ruleset)) if other != rule])


def interval_of(differences: Floats) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean of paired differences, by Student's t; None for one alone."""
    mean, margin = float(differences.mean()), t_margin(differences, (1 + LEVEL) / 2)
    return (mean - margin, mean + margin) if math.isfinite(margin) else None


def _on_table(ruleset: RuleSet, task: TabularTask) -> Behaviour:
    """Return how a policy behaves in a table, exactly."""
    table = policy_table(ruleset, task)
    decides = table >= 0
    steps = float(visits(task, table, discounted=False)[decides].sum())
    switches = _switches(task, table)
    shares, full_value = usage(ruleset, task).steps, _exact(ruleset, task)
    rules = []
    for rule in range(len(ruleset)):
        value_without = _exact(_without(ruleset, rule), task) if len(ruleset) > 1 else math.nan
        lost = None if math.isnan(value_without) or math.isnan(full_value) else full_value - value_without
        stuck = float(math.isnan(value_without))
        rules.append(RuleWorth(rule, ruleset.rule_in_words(rule), float(shares[rule]), lost, None, stuck))
    rate = 100 * switches / steps if steps else 0.0
    where = f"in {task.name}, exactly, in episodes of at most {task.t_max:,} steps"
    unused = () if ruleset.votes else tuple(np.flatnonzero(shares == 0).tolist())
    return Behaviour(task.name, where, steps, tuple(rules), rate, steps / (switches + 1), untested=unused)


def _switches(task: TabularTask, table: NDArray[np.integer]) -> float:
    """Return how often the action is expected to change in an episode of a table."""
    if task.t_max < 2:
        return 0.0
    shorter = task.disturbed("t_max", task.t_max - 1)  # no action follows the last step
    transition_matrix = transitions(shorter, table).tocoo()
    next_states, states = transition_matrix.coords
    changes = (table[next_states] >= 0) & (table[next_states] != table[states])
    expected_visits = visits(shorter, table, discounted=False)
    return float((transition_matrix.data * expected_visits[states])[changes].sum())


def _exact(ruleset: RuleSet, task: TabularTask) -> float:
    """Return the exact performance; NaN where a state without a rule can be reached."""
    return float(exact_performances(task, policy_table(ruleset, task)[None])[0])
