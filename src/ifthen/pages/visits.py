"""The page's part on an environment: the states visited, and a few episodes.

An environment has no states to list. The page has the rules and works out what they do at any point. The
stored data are bounded: few episodes, thinned where they are long, and a sample of the states visited.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import interval_in_words, plural, worth_showing
from ifthen.explanation.pictures.planes import ranked
from ifthen.explanation.trace import ending_of
from ifthen.pages.explain_tables import ENDINGS, Column, limit_in_words, numbers
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.scope import choose_at, median_point, recorded_episodes, visited_states
from ifthen.simulate.simulator import Evaluation, checked_ruleset
from ifthen.simulate.trajectories import Trajectory
from ifthen.tasks.gym_task import EnvTask

MOST_EPISODES, MOST_STEPS, MOST_POINTS = 5, 1000, 1500
"""At most this many episodes are stored for a policy, steps of each, and states visited."""
MOST_NUMBERS = 60_000
"""An episode, and the states visited, hold at most this many numbers."""
CUT_EARLY = "The environment has cut the episode here."


class VisitPart:
    """What an environment offers to the page.

    Args:
        task: the task.
    """

    grid, fits = False, True

    def __init__(self, task: EnvTask) -> None:
        self.task = task
        self.visited = cache(lambda ruleset: visited_states(ruleset, task))

    def check(self, ruleset: RuleSet) -> None:
        """Raise where a page cannot be made."""
        checked_ruleset(ruleset, self.task)

    def facts(self, policies: list[RuleSet]) -> dict[str, Any]:
        """Return what the top of the page says: what the task is, how good policies are, where they differ.

        What is `observed` are the values of every feature visited, and how often these were beyond its range.
        """
        task, visited = self.task, [self.visited(policy) for policy in policies]
        tests = [evaluate(policy, task) for policy in policies]
        trainings = [evaluate(policy, task, seeds="training") for policy in policies]
        limit = limit_in_words(
            task.t_max, max(evaluation.longest or 0 for evaluation in (*tests, *trainings))
        )
        returned = "return" if task.gamma == 1 else f"return, discounted with γ = {task.gamma:g},"
        differ = float((choose_at(policies[-1], visited[0].points)[0] != visited[0].actions).mean())
        return {
            "lead": f"{task.name}: {plural(len(task.features), 'feature')}, actions "
            f"{', '.join(task.action_names)}, {limit}. Performance is the mean {returned} "
            f"over {tests[0].episodes:,} test seeds, on which nothing was learnt or selected; "
            f"training performance is that over {len(task.z):,} training seeds.",
            "columns": [
                Column("performance", "", [evaluation.performance for evaluation in tests]),
                Column("95 % interval", "", [_interval(evaluation) for evaluation in tests], compared=False),
                Column("least", "", [evaluation.least for evaluation in tests], compared=False),
                Column("most", "", [evaluation.most for evaluation in tests], compared=False),
                Column("training performance", "", [evaluation.performance for evaluation in trainings]),
                Column("rules", "d", [len(policy) for policy in policies]),
                Column("that decide", "d", [int((scope.counts > 0).sum()) for scope in visited]),
            ],
            "warnings": [
                f"meets states without a rule in {test.failed_share:.0%} of the test episodes and "
                f"{training.failed_share:.0%} of the training episodes, so that its performance is the floor"
                if test.failed or training.failed
                else ""
                for test, training in zip(tests, trainings, strict=True)
            ],
            "differing": f"{differ:.1%} of the states visited by the first",
            "observed": self._observed(policies[0]),
        }

    def _observed(self, ruleset: RuleSet) -> list[dict[str, Any]]:
        points = np.concatenate([episode.asked for episode in recorded_episodes(ruleset, self.task)])
        lows, highs = self.task.ranges
        beyond = ((points < lows) | (points > highs)).mean(axis=0)
        least, most, centre = points.min(axis=0), points.max(axis=0), median_point(points)
        shown = worth_showing((feature.name for feature in self.task.features), ruleset.tested)
        return [
            {
                "name": feature.name,
                "unit": feature.unit,
                "numbers": [feature.low, feature.high, least[d], centre[d], most[d]],
                "beyond": float(beyond[d]),
                "shown": feature.name in shown,
            }
            for d, feature in enumerate(self.task.features)
        ]

    def shares(self, ruleset: RuleSet) -> tuple[str, list[tuple[float, str]]]:
        """Return what shares are of, and for every rule its share, and in words how much it decides."""
        visited = self.visited(ruleset)
        sentences = [
            f"It decides {'< 1%' if share < 0.01 else f'{share:.0%}'} of the states visited."
            if share
            else "It decides in none of the states visited."
            for share in visited.shares
        ]
        domain = f"Shares are of the {len(visited):,} states visited in training episodes."
        return domain, list(zip(visited.shares.tolist(), sentences, strict=True))

    def task_data(self) -> dict[str, Any]:
        """Return nothing more than every task has."""
        return {}

    def policy_data(self, ruleset: RuleSet) -> dict[str, Any]:
        """Return what the rules go by, the features that matter most, states visited and episodes."""
        visited, scoring = self.visited(ruleset), ruleset.scoring
        order = ranked(ruleset, visited)
        sample = visited.points[spread(len(visited.points), self._room(MOST_POINTS))]
        return {
            "scoring": None
            if scoring is None
            else {
                name: np.asarray(column).tolist()
                for name, column in scoring._asdict().items()
                if column is not None
            },
            "axes": sorted(order[:2]),
            "order": order,
            "middle": numbers(median_point(visited.points)),
            "visited": [numbers(point) for point in sample],
            "uncovered": int((visited.deciders < 0).sum()),
            "episodes": self.episodes(ruleset),
        }

    def episodes(self, ruleset: RuleSet) -> list[dict[str, Any]]:
        """Return a few training episodes: the worst, a middling one, the best, and the first."""
        recorded = recorded_episodes(ruleset, self.task)
        returns = np.array([self._returns(episode)[-1] for episode in recorded])
        order = np.argsort(returns, kind="stable").tolist()
        marks = {order[-1]: "the best", order[len(order) // 2]: "a middling one", order[0]: "the worst"}
        if returns.min() == returns.max():
            marks = {}
        chosen = list(dict.fromkeys([*sorted(marks), *range(len(recorded))]))[:MOST_EPISODES]
        return [
            {
                "number": e + 1,
                "seed": int(self.task.z[e]),
                "mark": marks.get(e, ""),
                **self.episode(recorded[e], ruleset),
            }
            for e in sorted(chosen)
        ]

    def episode(self, episode: Trajectory, ruleset: RuleSet) -> dict[str, Any]:
        """Return one episode; of a long one, steps the same distance apart, with the first and the last."""
        n = len(episode.actions)
        sampled = spread(n, self._room(MOST_STEPS))
        points = np.vstack([episode.points, episode.last])
        rules = choose_at(ruleset, episode.points)[1] if n else np.zeros(0, dtype=np.int64)
        returns = self._returns(episode)
        ending = ending_of(episode, self.task, n)
        return {
            "length": n,
            "times": [*sampled.tolist(), n],
            "points": [numbers(point) for point in points[[*sampled, n]]],
            "rules": rules[sampled].tolist(),
            "actions": episode.actions[sampled].tolist(),
            "rewards": numbers(episode.rewards[sampled]),
            "returns": numbers(returns[[*sampled, n]]),
            "total": numbers(returns[-1:])[0],
            "over": "" if ending == "no rule" else ending,
            "ended": CUT_EARLY if ending == "truncated" and n < self.task.t_max else ENDINGS[ending],
        }

    def _returns(self, episode: Trajectory) -> NDArray[np.float64]:
        """Return the discounted return before every step and at the end, `(T + 1,)`."""
        rewards = episode.rewards
        returns = np.cumsum(self.task.gamma ** np.arange(len(rewards)) * rewards)
        return np.concatenate([[0.0], returns])

    def _room(self, most: int) -> int:
        """Return how many observations there is room for."""
        return max(2, min(most, MOST_NUMBERS // len(self.task.features)))


def _interval(evaluation: Evaluation) -> str:
    return interval_in_words(evaluation.interval, evaluation.performance).replace("-", "−")


def spread(n: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` of the numbers 0 to n − 1, spread evenly, with both ends."""
    if not n:
        return np.zeros(0, np.int64)
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
