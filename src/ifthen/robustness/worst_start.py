"""The worst starts of a policy: looked for among reset seeds, and among states where a start can be set.

On a table the value of every initial state is exact. In an environment many reset seeds of their own are
played. Where a compiled twin knows what its states look like (`Twin.observe`), CMA-ES then looks for worse
starts in the box around all starts that the seeds gave: every number of the state between the least and the
largest that occurred. Such a start may be one that no seed gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ifthen.checks import whole_number
from ifthen.digits import in_units, plural, worth_showing
from ifthen.environments.make import TaskLike
from ifthen.explanation.trace import Trace, trace, trace_of
from ifthen.explanation.trace_text import in_words
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.randomness import normal, stream
from ifthen.rules.arrays import Floats
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.simulate.env_simulator import FromStates
from ifthen.simulate.evaluate import environment_simulator, with_task
from ifthen.simulate.scope import tabular
from ifthen.simulate.simulator import checked_ruleset
from ifthen.simulate.table_simulator import policy_table
from ifthen.systems.pplx.cma_es import drawn, new_cma, updated
from ifthen.tasks.disturbance import in_words as disturbances_in_words
from ifthen.tasks.gym_task import EPISODE_LIMIT, EnvTask
from ifthen.tasks.solve import table_values
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task
from ifthen.text_table import TextTable, prose

SHOWN = 3
"""This many starts of each kind are listed."""
CANDIDATES = 32
"""CMA-ES tries this many starts in a generation."""
GENERATIONS = 40
"""CMA-ES goes on for this many generations."""
WIDTH = 0.5
"""The first standard deviation of CMA-ES, in units of half the box."""
ALIKE = "All starts that were tried got the same: of these, none is worse than another."


@dataclass(frozen=True)
class WorstStart:
    """One start and what comes of it.

    Args:
        found: how it was found: "reset seed", "state" (of an environment) or "initial state" (of a table).
        total: the return of its episode; on a table, the expected return.
        episode: the episode step by step.
    """

    found: str
    total: float
    episode: Trace

    @property
    def name(self) -> str:
        """The start in words."""
        episode = self.episode
        if self.found == "reset seed":
            return f"reset seed {episode.seed:,}"
        return f"{self.found} with {in_words(episode.start, episode.tested, episode.named)}"


@dataclass(frozen=True, eq=False, repr=False)
class WorstStarts(Shown):
    """The worst starts that were found.

    Args:
        task: the task's name.
        starts: the worst of each kind, the worst first.
        notes: what was looked at, in sentences.
        played: the episodes from reset seeds: how many there were, and their least and their largest return;
            None on a table.
        box: the box of all starts that were tried, in words; "" where states cannot be set.
    """

    task: str
    starts: tuple[WorstStart, ...]
    notes: tuple[str, ...]
    played: tuple[int, float, float] | None = None
    box: str = ""

    @property
    def worst(self) -> WorstStart:
        """The worst of all."""
        return min(self.starts, key=lambda start: start.total)

    @property
    def all_alike(self) -> bool:
        """Whether all starts that were tried got the same."""
        return ALIKE in self.notes

    def text_table(self) -> TextTable:
        """Return one row per start."""
        shown = self.starts[:1] if self.all_alike else self.starts
        rows = tuple(
            (start.name, in_units(start.total), f"{len(episode.steps):,}", episode.ending)
            for start in shown
            for episode in [start.episode]
        )
        headings = "start", "return", "steps", "ending"
        return TextTable(f"The worst starts of {self.task}", headings, rows, self.notes)

    def to_text(self, width: int = 100) -> str:
        """Return the starts, and the worst episode step by step."""
        blocks = [self.text_table().to_text(width), prose(f"The worst, {self.worst.name}:", width)]
        return "\n\n".join([*blocks, self.worst.episode.to_text(width)])

    def shown_parts(self) -> list[Part]:
        """Return the table and the worst episode."""
        return [self.text_table(), str(self.worst.episode)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        starts = [
            {"found": start.found, "return": start.total, "episode": start.episode.to_dict()}
            for start in self.starts
        ]
        return {"task": self.task, "notes": list(self.notes), "starts": starts}


def worst_starts(
    policy: PolicyLike,
    task: TaskLike | None = None,
    episodes: int = 1000,
    seed: int = 0,
    threads: int | None = None,
) -> WorstStarts:
    """Search for the starts from which a policy does worst.

    Args:
        policy: a RuleSet or a trained system.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None. Its
            disturbances are played as in training.
        episodes: how many reset seeds to play, from 8,000,000 on; not used on a table.
        seed: of the search among states.
        threads: how many threads to use, all cores where None; results do not depend on it.
    """
    policy, task = with_task(policy, task)
    ruleset = checked_ruleset(policy, task)
    if not isinstance(task, EnvTask):
        return _on_table(ruleset, tabular(task, "the search for worst starts"))
    simulator = environment_simulator(task, checked_threads(threads))
    episodes = whole_number("episodes", episodes, SHOWN, EPISODE_LIMIT)
    seeds = simulator.task.searching(episodes)
    rollouts = simulator.play_ruleset(ruleset, seeds)
    order = np.argsort(rollouts.returns[0], kind="stable")[:SHOWN]
    starts = [
        WorstStart("reset seed", float(rollouts.returns[0, i]), trace(ruleset, task, seed=int(seeds[i])))
        for i in order
    ]
    notes = [
        f"Reset seeds {seeds[0]:,} to {seeds[-1]:,} were played; their mean return is "
        f"{in_units(float(rollouts.returns.mean()))}."
    ]
    disturbances = disturbances_in_words(simulator.task.disturbances)
    if disturbances:
        notes.append(f"All with {disturbances}.")
    twin, box = simulator.from_states, ""
    if twin is not None:
        states = twin.real_states(seeds)
        box = _box_in_words(twin, ruleset, states)
        notes.append(f"The starts lie in the box {box}. No episode started outside of it.")
        searched = [_searched(twin, ruleset, states, int(index), seed) for index in order]
        starts += [
            _from_state(twin, ruleset, task, *outcome) for outcome in sorted(searched, key=lambda s: s[0])
        ]
        tried = plural(SHOWN * CANDIDATES * GENERATIONS, "state")
        notes.append(
            f"A search (CMA-ES, an evolution strategy) tried {tried} in this box; perhaps no seed gives them."
        )
    else:
        notes.append(
            f"{task.name} starts where a reset seed says: states cannot be set, so none were searched."
        )
    least, most = float(rollouts.returns.min()), float(rollouts.returns.max())
    if min(start.total for start in starts) == most:
        notes.append(ALIKE)
    return WorstStarts(task.name, tuple(starts), tuple(notes), (episodes, least, most), box)


def _box_in_words(simulator: FromStates, ruleset: RuleSet, states: Floats) -> str:
    """Return the box around the observations in some states, of those features that are worth showing."""
    rows = simulator.seen_in(states)
    low, high = rows.min(axis=0), rows.max(axis=0)
    shown = worth_showing((feature.name for feature in ruleset.observed_features), ruleset.tested)
    ends = [
        f"{feature.name} {a:.3g} to {b:.3g}{f' {feature.unit}' if feature.unit else ''}"
        for feature, a, b in zip(ruleset.observed_features, low, high, strict=True)
        if feature.name in shown
    ]
    return ", ".join(ends)


def _searched(
    simulator: FromStates, ruleset: RuleSet, states: Floats, index: int, seed: int
) -> tuple[float, Floats]:
    """Return the least return that CMA-ES finds, and its start, from the state number `index` on."""
    low, high = states.min(axis=0), states.max(axis=0)
    varying = np.flatnonzero(high > low)
    if not len(varying):  # all starts are alike
        rollout = simulator.play_from(ruleset, simulator.starts_in(states[index][None]))
        return float(rollout.returns[0, 0]), states[index]
    middle, half = (low + high) / 2, (high - low)[varying] / 2
    search = new_cma((states[index] - middle)[varying] / half, WIDTH)
    worst = math.inf, states[index]
    for generation in range(GENERATIONS):
        key = stream(seed, "worst start", index, generation)
        noise = [normal(key, 2 * i) for i in range(CANDIDATES * len(varying))]
        candidates = np.clip(drawn(search, np.reshape(noise, (CANDIDATES, len(varying)))), -1, 1)
        tried_states = np.repeat(middle[None], CANDIDATES, axis=0)
        tried_states[:, varying] = np.clip(middle[varying] + half * candidates, low[varying], high[varying])
        totals = simulator.play_from(ruleset, simulator.starts_in(tried_states)).returns[0]
        least = int(totals.argmin())
        if totals[least] < worst[0]:
            worst = float(totals[least]), tried_states[least]
        search = updated(search, candidates, -totals)
    return worst


def _from_state(
    simulator: FromStates, ruleset: RuleSet, task: Task, total: float, state: Floats
) -> WorstStart:
    """Return a start in a state of an environment, with its episode."""
    trajectory = simulator.record_from(ruleset, simulator.starts_in(state[None]))[0]
    return WorstStart("state", total, trace_of(trajectory, ruleset, task, None, None, task.t_max))


def _on_table(ruleset: RuleSet, task: TabularTask) -> WorstStarts:
    """Return the initial states with the least exact values."""
    values = table_values(task, policy_table(ruleset, task))[task.dynamics.starts]
    order = np.argsort(np.where(np.isnan(values), -np.inf, values), kind="stable")[:SHOWN]
    states = [int(task.initial_states[i]) for i in order]
    starts = tuple(
        WorstStart("initial state", float(values[i]), trace(ruleset, task, start=state))
        for i, state in zip(order, states, strict=True)
    )
    count = plural(len(task.initial_states), "initial state")
    return WorstStarts(
        task.name, starts, (f"Expected returns are exact, and all of {count} were looked at.",)
    )
