"""Rules that decide in no step of many episodes."""

from __future__ import annotations

import numpy as np
import pytest

import ifthen
from ifthen import PPLX, DecisionList, RuleSet, env_task
from ifthen.runs import pruned_policy as pruning
from ifthen.runs.pruned_policy import pruned_policy
from ifthen.simplify import unused
from ifthen.simplify.unused import Decisions, decisions, without_unused
from ifthen.simulate.scope import recorded_episodes
from ifthen.tasks.gym_task import EnvTask

POLE = env_task("CartPole-v1", t_max=200, episodes=20)
FAR = "IF cart position >= 2.3 THEN push left\n"
LEAN = "IF pole angle >= 0.0 THEN push right\n"


def rules(text: str, task: EnvTask = POLE) -> DecisionList:
    found = ifthen.parse_rules(text, task=task)
    assert isinstance(found, DecisionList)
    return found


def played(own: RuleSet, seeds: np.ndarray) -> list[list[int]]:
    return [each.actions.tolist() for each in recorded_episodes(own, POLE, seeds)]


def always(_: object) -> bool:
    return True


def test_decisions_are_counted_over_training_and_pruning_seeds() -> None:
    own = rules(FAR + LEAN + "OTHERWISE push left\n")
    found = decisions(own, POLE, most=10**9)
    seeds = np.concatenate([POLE.z, POLE.pruning(unused.EPISODES - len(POLE.z))])
    points = np.concatenate([each.asked for each in recorded_episodes(own, POLE, seeds)])
    lows, highs = POLE.ranges
    expected = np.bincount(own.choose(np.clip(points, lows, highs))[1], minlength=3)
    assert found.counts.tolist() == expected.tolist()
    assert (found.episodes, found.steps) == (unused.EPISODES, len(points))
    assert found.counts[0] == 0


def test_playing_stops_where_the_steps_are_spent() -> None:
    found = decisions(rules(LEAN + "OTHERWISE push left\n"), POLE, most=100)
    assert found.episodes == unused.AT_ONCE
    assert decisions(rules(LEAN), POLE, 100).counts.shape == (1,)


def test_without_rules_that_never_decided_all_episodes_are_the_same() -> None:
    own = rules(FAR + LEAN + "OTHERWISE push left\n")
    left = without_unused(own, decisions(own, POLE, 10**9), 0, always)
    assert left == rules(LEAN + "OTHERWISE push left\n")
    seeds = POLE.pruning_seeds(50)
    assert played(left, seeds) == played(own, seeds)


def test_rules_of_requirements_stay_and_so_do_those_that_keep_one() -> None:
    own = rules(FAR + LEAN + "IF cart velocity >= 2.05 THEN push left\nOTHERWISE push left\n")
    found = Decisions(np.array([0, 5, 0, 5]), unused.FEWEST, 10)
    assert len(without_unused(own, found, 1, always)) == 3
    assert without_unused(own, found, 1, lambda fewer: len(fewer) == 4) == own


def test_where_otherwise_never_decided_the_rule_before_it_comes_to_read_so() -> None:
    own = rules("IF cart velocity >= 0 THEN push left\n" + LEAN + "OTHERWISE push left\n")
    left = without_unused(own, Decisions(np.array([3, 4, 0]), 1000, 7), 0, always)
    assert left == rules("IF cart velocity >= 0 THEN push left\nOTHERWISE push right\n")
    alone = rules(LEAN + "OTHERWISE push left\n")  # a rule of a requirement keeps its condition
    assert without_unused(alone, Decisions(np.array([3, 0]), 1000, 3), 1, always) == alone


def test_after_few_episodes_every_rule_stays() -> None:
    own = rules(FAR + LEAN + "OTHERWISE push left\n")
    assert without_unused(own, Decisions(np.array([0, 1, 1]), unused.FEWEST - 1, 2), 0, always) == own


@pytest.mark.parametrize("require", [None, "never push right when cart position >= 2.35"])
def test_training_hands_out_no_rule_that_never_decided(
    monkeypatch: pytest.MonkeyPatch, require: str | None
) -> None:
    own = rules(FAR + LEAN + "OTHERWISE push left\n")
    system = PPLX(POLE, start=own, rules=3, steps=200_000, seed=0, threads=1, require=require)
    system.learn(epochs=0)
    assert system.ruleset == own
    monkeypatch.setattr(pruning, "fair_steps", lambda *_: 10**9)
    found = pruned_policy(system)
    if require is not None:  # without the first rule it would be broken
        assert found is None
        return
    assert found is not None
    assert found.ruleset == rules(LEAN + "OTHERWISE push left\n")
    assert "1 rule decided in none of" in str(found)
    assert "1,000 episodes" in str(found)
    assert found.seeds is not None
    before, after = (ifthen.evaluate(each, POLE, seeds=found.seeds) for each in (own, found.ruleset))
    assert before.returns is not None
    assert after.returns is not None
    assert np.array_equal(before.returns, after.returns)
