"""The page's part on an environment: the states visited, and a few episodes.

An environment has no states to list. The page has the rules and works out what they do at any point. The
stored data are bounded: few episodes, thinned where they are long, and a sample of the states visited.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explanation.pictures.planes import ranked
from ifthen.pages.tables import Column, numbers
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.scope import choose_at, median_point, recorded_episodes, visited_states
from ifthen.simulate.simulator import checked_ruleset
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Trajectory
from ifthen.tasks.gym_task import EnvTask

MOST_EPISODES, MOST_STEPS, MOST_POINTS = 5, 1000, 1500
"""At most this many episodes are stored for a policy, steps of each, and states visited."""
MOST_NUMBERS = 60_000
"""An episode, and the states visited, hold at most this many numbers."""
UNSEEN = (100, 1000)
"""The least and the largest number of test episodes; between these, as many as there are for training."""
ENDED = {
    TERMINATED: "The environment has ended the episode.",
    TRUNCATED: "The episode is cut here: it has reached the largest number of steps.",
    NO_RULE: "No rule matches: nothing can be done.",
}
OVER = {TERMINATED: "terminated", TRUNCATED: "truncated", NO_RULE: ""}
"""Why no action is asked for in an episode's last state; "" where an action is, but no rule matches."""
CUT_EARLY = "The environment has cut the episode here."


class VisitPart:
    """What an environment offers to the page.

    Args:
        task: the task.
    """

    grid, fits = False, True

    def __init__(self, task: EnvTask) -> None:
        self.task = task
        self.test_episodes = min(max(UNSEEN[0], len(task.z)), UNSEEN[1])
        self.shares = cache(lambda ruleset: visited_states(ruleset, task).shares)
        self.score = cache(lambda ruleset: evaluate(ruleset, task))

    def check(self, ruleset: RuleSet) -> None:
        """Raise where a page cannot be made."""
        checked_ruleset(ruleset, self.task)

    @property
    def lead(self) -> str:
        """What the task is, and how policies are measured in it."""
        task, many = self.task, len(self.task.features)
        returned = "return" if task.gamma == 1 else f"return, discounted with γ = {task.gamma:g},"
        return (
            f"{task.name}: {many} feature{'' if many == 1 else 's'}, actions {', '.join(task.action_names)}, "
            f"at most {task.t_max:,} steps. Performance is the mean {returned} over {len(task.z):,} training "
            f"episodes (z) from fixed reset seeds; unseen are {self.test_episodes:,} others."
        )

    def columns(self, policies: list[RuleSet]) -> list[Column]:
        """Return the table at the top of the page."""
        seeds = self.task.unseen(self.test_episodes)
        found = [self.score(policy) for policy in policies]
        others = [evaluate(policy, self.task, seeds=seeds) for policy in policies]
        return [
            Column("performance", ".4g", [one.performance for one in found]),
            Column("± deviation", ".4g", [one.deviation for one in found], compared=False),
            Column("least", ".4g", [one.least for one in found], compared=False),
            Column("most", ".4g", [one.most for one in found], compared=False),
            Column("unseen", ".4g", [one.performance for one in others]),
            Column("rules", "d", [len(policy) for policy in policies]),
            Column("that decide", "d", [int((self.shares(policy) > 0).sum()) for policy in policies]),
        ]

    def warning(self, ruleset: RuleSet) -> str:
        """Return a warning beside the policy's name, or ""."""
        found = self.score(ruleset)
        if not found.failed:
            return ""
        return (
            f"meets states without a rule in {found.failed_share:.0%} of the episodes, so that its "
            "performance is the floor"
        )

    def differing(self, a: RuleSet, b: RuleSet) -> str:
        """Return in which states two policies differ."""
        met = visited_states(a, self.task)
        share = float((choose_at(b, met.points)[0] != met.actions).mean())
        return f"{share:.1%} of the states visited by the first"

    def observed(self, ruleset: RuleSet) -> list[dict[str, Any]]:
        """Return for every feature the values visited, and how often these were beyond its range."""
        points = np.concatenate([episode.asked for episode in recorded_episodes(ruleset, self.task)])
        lows, highs = self.task.ranges
        beyond = ((points < lows) | (points > highs)).mean(axis=0)
        least, most, centre = points.min(axis=0), points.max(axis=0), median_point(points)
        return [
            {
                "name": feature.name,
                "unit": feature.unit,
                "numbers": [feature.low, feature.high, least[d], centre[d], most[d]],
                "beyond": float(beyond[d]),
            }
            for d, feature in enumerate(self.task.features)
        ]

    def of_shares(self, ruleset: RuleSet) -> str:
        """Return a sentence on what shares are of."""
        states = len(visited_states(ruleset, self.task).points)
        return f"Shares are of the {states:,} states visited in training episodes."

    def rule_said(self, ruleset: RuleSet, rule: int) -> str:
        """Return in a sentence how much a rule decides."""
        share = float(self.shares(ruleset)[rule])
        if not share:
            return "It decides in none of the states visited."
        return f"It decides {'< 1%' if share < 0.01 else f'{share:.0%}'} of the states visited."

    def task_data(self) -> dict[str, Any]:
        """Return nothing more than every task has."""
        return {}

    def policy_data(self, ruleset: RuleSet) -> dict[str, Any]:
        """Return what the rules go by, the features that matter most, states visited and episodes."""
        met, scoring = visited_states(ruleset, self.task), ruleset.scoring
        order = ranked(ruleset, met)
        sample = met.points[spread(len(met.points), self._room(MOST_POINTS))]
        return {
            "scoring": None
            if scoring is None
            else {name: column.tolist() for name, column in scoring._asdict().items() if column is not None},
            "axes": sorted(order[:2]),
            "order": order,
            "middle": numbers(median_point(met.points)),
            "visited": [numbers(point) for point in sample],
            "uncovered": int((met.deciders < 0).sum()),
            "episodes": self.episodes(ruleset),
        }

    def episodes(self, ruleset: RuleSet) -> list[dict[str, Any]]:
        """Return a few training episodes: the worst, a middling one, the best, and the first."""
        found = recorded_episodes(ruleset, self.task)
        returns = np.array([self._returns(episode)[-1] for episode in found])
        order = np.argsort(returns, kind="stable").tolist()
        marks = {order[-1]: "the best", order[len(order) // 2]: "a middling one", order[0]: "the worst"}
        if returns.min() == returns.max():
            marks = {}
        some = list(dict.fromkeys([*sorted(marks), *range(len(found))]))[:MOST_EPISODES]
        return [
            {
                "number": e + 1,
                "seed": int(self.task.z[e]),
                "mark": marks.get(e, ""),
                **self.episode(found[e], ruleset),
            }
            for e in sorted(some)
        ]

    def episode(self, episode: Trajectory, ruleset: RuleSet) -> dict[str, Any]:
        """Return one episode; of a long one, steps the same distance apart, with the first and the last."""
        n = len(episode.actions)
        kept = spread(n, self._room(MOST_STEPS))
        points = np.vstack([episode.points, episode.last])
        rules = choose_at(ruleset, episode.points)[1] if n else np.zeros(0, dtype=np.int64)
        returns = self._returns(episode)
        early = episode.ending == TRUNCATED and n < self.task.t_max
        return {
            "length": n,
            "times": [*kept.tolist(), n],
            "points": [numbers(point) for point in points[[*kept, n]]],
            "rules": rules[kept].tolist(),
            "actions": episode.actions[kept].tolist(),
            "rewards": numbers(episode.rewards[kept]),
            "returns": numbers(returns[[*kept, n]]),
            "total": numbers(returns[-1:])[0],
            "over": OVER[episode.ending],
            "ended": CUT_EARLY if early else ENDED[episode.ending],
        }

    def _returns(self, episode: Trajectory) -> NDArray[np.float64]:
        """Return the discounted return before every step and at the end, `(T + 1,)`."""
        rewards = episode.rewards
        found = np.cumsum(self.task.gamma ** np.arange(len(rewards)) * rewards)
        return np.concatenate([[0.0], found])

    def _room(self, most: int) -> int:
        """Return how many observations there is room for."""
        return max(2, min(most, MOST_NUMBERS // len(self.task.features)))


def spread(n: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` of the numbers 0 to n − 1, spread evenly, with both ends."""
    if not n:
        return np.zeros(0, np.int64)
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
