from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from ifthen import DecisionList, StrengthRules, TaskError, evaluate, frozen_lake
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.rollout.episodes import NULL, TRUNCATED
from ifthen.rollout.score import Score, play_ruleset, rulebook_of, score
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from tests import naive_envs
from tests.envs import random_lists, task_of
from tests.naive_envs import Individual

TASKS = {
    "walk": task_of(gamma=0.95),
    "short": task_of(t_max=6),
    "cart pole": task_of("CartPole-v1", t_max=70),
    "dict": task_of(kind="dict"),
}


def rulesets(task: EnvTask, seed: int = 0) -> dict[str, tuple[RuleSet, Individual]]:
    """Return a random list and random strengths with gaps in them, for the package and for the oracle."""
    book = random_lists(task, 2, 4, seed)
    lows, highs = task.ranges
    bounds = np.stack([np.clip(book.lows, lows, highs), np.clip(book.highs, lows, highs)], -1)
    whole = np.array([f.is_integer for f in task.features])
    bounds[..., whole, :] = np.round(bounds[..., whole, :])
    learnt = np.random.default_rng(seed).normal(size=(4, len(task.features) + 2))
    learnt[:, -1] **= 2
    own = task.features, task.action_names
    strong = StrengthRules(bounds[0], book.actions[0], *own, learnt[:, :-1], learnt[:, -1], 3.0)
    return {
        "list": (
            DecisionList(bounds[1], book.actions[1], *own),
            Individual(bounds[1], book.actions[1], learnt, task.features),
        ),
        "strength": (strong, Individual(bounds[0], book.actions[0], learnt, task.features, 3.0)),
    }


CHOICES = {"list": naive_envs.list_choice, "strength": naive_envs.strength_choice}


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize("name", TASKS)
def test_a_score_is_that_of_episodes_played_one_by_one(name: str, kind: str) -> None:
    task, seeds = TASKS[name], [5, 2_000_003, 0, 9, 9]
    ruleset, rules = rulesets(task)[kind]
    found = score(ruleset, task, seeds)
    alone = [naive_envs.episode(task, partial(CHOICES[kind], rules), seed) for seed in seeds]
    returns = [played.total for played in alone]
    assert found.returns.tolist() == returns
    assert found.seeds.tolist() == seeds
    failed = [played.ending == NULL for played in alone]
    assert (found.failed, found.failed_share) == (any(failed), sum(failed) / 5)
    assert found.performance == pytest.approx(task.floor if any(failed) else sum(returns) / 5)
    assert found.deviation == pytest.approx(float(np.std(returns, ddof=1)))
    assert (found.least, found.most) == (min(returns), max(returns))
    assert (found.episodes, found.steps) == (5, sum(len(played.actions) for played in alone))
    assert found.truncated_share == sum(played.ending == TRUNCATED for played in alone) / 5


def test_a_score_is_over_z_where_no_seeds_are_given() -> None:
    task = TASKS["walk"]
    ruleset, _ = rulesets(task)["strength"]
    assert score(ruleset, task).seeds.tolist() == task.z.tolist()
    assert isinstance(evaluate(ruleset, task), Score)
    assert evaluate(ruleset, task).performance == score(ruleset, task).performance
    unseen = evaluate(ruleset, task, seeds=task.unseen(4))
    assert unseen.returns.tolist() == score(ruleset, task, [2_000_000 + i for i in range(4)]).returns.tolist()


def test_one_episode_has_no_deviation() -> None:
    task = TASKS["walk"]
    assert math.isnan(score(rulesets(task)["list"][0], task, [1]).deviation)


@pytest.mark.parametrize("name", TASKS)
def test_rules_of_other_kinds_are_played_by_their_own_choices(name: str) -> None:
    task = TASKS[name]
    book = random_lists(task, 1, 6, seed=2)
    lows, highs = task.ranges
    bounds = np.rint(np.stack([np.clip(book.lows[0], lows, highs), np.clip(book.highs[0], lows, highs)], -1))
    bounds = np.clip(bounds, lows[:, None], highs[:, None])
    weights = np.random.default_rng(3).normal(size=(6, len(lows) + 1))
    ones = np.ones(6)
    voted = PredictionArrayRules(
        bounds, book.actions[0], task.features, task.action_names, weights, ones, ones, ones, ones, 2.0
    )
    assert rulebook_of(voted) is None

    def choose(point: list[float]) -> int:
        return int(np.asarray(voted.predict(np.clip(point, lows, highs))))

    seeds = np.array([3, 7, 2_000_001])
    found = play_ruleset(voted, task, seeds)
    alone = [naive_envs.episode(task, choose, seed) for seed in seeds.tolist()]
    assert found.returns[0].tolist() == [played.total for played in alone]
    assert found.steps[0].tolist() == [len(played.actions) for played in alone]
    assert found.endings[0].tolist() == [played.ending for played in alone]


@pytest.mark.parametrize(
    "seeds", [[], [-1], [0.5], "abc", [[1, 2]], 3, [2**63], [True], np.zeros((2, 2), dtype=int)]
)
def test_seeds_that_are_none_are_refused(seeds: Any) -> None:
    task = TASKS["walk"]
    with pytest.raises(
        TaskError, match=r"seeds must be a list of whole numbers from 0, such as range\(100\)"
    ):
        score(rulesets(task)["list"][0], task, seeds)


def test_policies_of_another_task_and_things_that_are_none_are_refused() -> None:
    task = TASKS["walk"]
    with pytest.raises(TaskError, match="must be a RuleSet or a trained system, not 'x'"):
        score("x", task)
    with pytest.raises(
        TaskError, match=r"speaks of .* but task ifthen_tests/Walk-v0 has f0 in \[-5.0, 5.0\]"
    ):
        score(rulesets(TASKS["cart pole"])["list"][0], task)


def test_environments_cannot_be_measured_exactly_and_tables_have_no_seeds() -> None:
    task = TASKS["walk"]
    ruleset, _ = rulesets(task)["list"]
    with pytest.raises(TaskError, match="no table of states: it can only be measured by playing"):
        evaluate(ruleset, task, "exact")
    lake = frozen_lake(4)
    with pytest.raises(TaskError, match="reset seeds are for environments"):
        evaluate(np.zeros(16, dtype=int), lake, seeds=[1])  # type: ignore[call-overload]  # is refused


def test_a_score_is_printed_without_its_arrays() -> None:
    task = TASKS["walk"]
    said = repr(score(rulesets(task)["list"][0], task))
    assert said.startswith("Score(performance=")
    assert "array" not in said
