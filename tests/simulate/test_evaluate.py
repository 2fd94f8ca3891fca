"""One entry point measures policies in every task, and gives one type of answer."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, get_args

import gymnasium
import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]  # scipy has no stubs
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import (
    PPLDL,
    DecisionList,
    Feature,
    PredictionArrayRules,
    RuleSet,
    StrengthRules,
    TabularTask,
    env_task,
    evaluate,
    frozen_lake,
    table_task,
)
from ifthen.errors import ParameterError, TaskError
from ifthen.results import Evaluation
from ifthen.rules.batch import batch_of
from ifthen.simulate.evaluate import environment_simulator, evaluations, is_cheap
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.simulate.trajectories import NO_RULE, TRUNCATED
from ifthen.tables import value_iteration
from ifthen.tasks.gym_task import EnvTask, Player
from tests import naive, naive_envs
from tests.envs import WALK, random_lists, random_strengths, rulesets_of, task_of
from tests.naive_envs import Individual
from tests.systems.contract import make
from tests.worlds import chain, small_lake


@pytest.mark.parametrize("player", get_args(Player))
def test_whether_steps_are_cheap_is_a_matter_of_the_task_and_not_of_its_player(player: Player) -> None:
    assert is_cheap(env_task("CartPole-v1", player=player))
    assert is_cheap(small_lake())
    assert not is_cheap(env_task(WALK))


# Tables

# A policy for the 4x4 map that a person would write: down the left side, along the third row, down.
BY_HAND = [
    {"if": {"x": [0, 0], "y": [0, 1]}, "then": "Down"},
    {"if": {"x": [2, 2], "y": [0, 2]}, "then": "Down"},
    {"if": {"x": [1, 1], "y": [2, 2]}, "then": "Down"},
    {"if": {"x": [3, 3], "y": [0, 0]}, "then": "Left"},
    {"if": {}, "then": "Right"},
]


def by_hand(task: TabularTask) -> DecisionList:
    found = DecisionList.from_dict(
        {
            "format": "ifthen-ruleset",
            "version": 1,
            "kind": "decision-list",
            "features": [f.to_dict() for f in task.features],
            "actions": list(task.action_names),
            "rules": BY_HAND,
        }
    )
    assert isinstance(found, DecisionList)
    return found


def test_the_policy_by_hand_is_optimal_on_the_4x4_map_without_slipping() -> None:
    task = frozen_lake(4)
    measured = evaluate(by_hand(task), task)
    assert measured.fraction == pytest.approx(1.0, abs=1e-12)
    assert measured.performance == pytest.approx(0.8760954261363636, abs=1e-12)
    assert (measured.failed, measured.uncovered, measured.truncated_share) == (False, (), 0.0)
    assert measured.episodes == 11


@pytest.mark.parametrize("noise", ["aligned", "stream"])
def test_a_ruleset_is_measured_as_the_oracle_plays_it(noise: Any) -> None:
    task = small_lake()
    ruleset = by_hand(task)
    policy = [ruleset.predict(s) for s in task.state_features]
    expected = naive.play(task, policy, noise)
    measured = evaluate(ruleset, task, noise=noise)
    assert expected is not None
    assert measured.performance == pytest.approx(expected.performance, rel=1e-12)
    assert (measured.steps, measured.noise) == (expected.steps, noise)
    assert measured.truncated_share == expected.truncated / len(task.z)
    optimal = naive.play(task, value_iteration(task).policy.tolist(), noise)
    assert optimal is not None
    assert measured.optimum == pytest.approx(optimal.performance, rel=1e-12)
    assert measured.optimum is not None
    assert measured.fraction == measured.performance / measured.optimum


def test_exact_measurement_solves_the_model_and_plays_nothing() -> None:
    task = small_lake()
    ruleset = by_hand(task)
    values = naive.policy_values(task, [ruleset.predict(s) for s in task.state_features])
    measured = evaluate(ruleset, task, "exact")
    expected = sum(values[s] for s in task.initial_states) / len(task.initial_states)
    assert measured.performance == pytest.approx(expected, abs=1e-11)
    assert (measured.noise, measured.episodes, measured.steps) == (None, 0, 0)


@pytest.mark.parametrize("method", ["sampled", "exact"])
def test_a_policy_with_a_gap_gets_the_floor_and_the_gap_is_named(method: Any) -> None:
    task = small_lake()
    ruleset = DecisionList([[[0, 3], [0, 2]]], [2], task.features, task.action_names)
    measured = evaluate(ruleset, task, method)
    assert (measured.failed, measured.performance) == (True, 0.0)
    assert measured.uncovered == ((1, 3), (2, 3))


def test_the_floor_of_a_task_with_costs_is_below_all_returns() -> None:
    task = table_task(gymnasium.make("CliffWalking-v1"), t_max=10)
    nothing = np.full(task.n_states, -1)
    measured = evaluate(nothing, task)
    assert measured.performance == pytest.approx(-100 / 0.05)
    for policy in range(task.n_actions):
        always = evaluate(np.full(task.n_states, policy), task, "exact")
        assert measured.performance <= always.performance
    assert measured.fraction is None  # of an optimum below 0


def test_a_ruleset_a_system_and_a_table_of_the_same_policy_measure_the_same() -> None:
    task = small_lake()
    system = PPLDL(task, idv_size=7, pop_size=40, threads=1).learn(epochs=3)
    policy = np.array([system.predict(s)[0] for s in task.state_features])
    same = [repr(evaluate(given, task)) for given in (system, system.ruleset, policy)]
    assert len(set(same)) == 1
    assert evaluate(system, task).performance == system.history["best_fitness"][-1]


def test_the_fraction_is_undefined_where_the_optimum_is_0() -> None:
    assert evaluate(np.zeros(3, dtype=int), chain(reward=np.zeros((3, 2, 2)))).fraction is None


@pytest.mark.parametrize(
    ("options", "message"),
    [({"method": "sample"}, "method must be 'sampled' or 'exact'"), ({"noise": "white"}, "noise must be")],
)
def test_unknown_ways_to_measure_are_refused(options: dict[str, Any], message: str) -> None:
    task = chain()
    with pytest.raises(ParameterError, match=message):
        evaluate(np.zeros(3, dtype=int), task, **options)
    with pytest.raises(ParameterError, match=message):
        optimal_performance(task, **{"method": "sampled", **options})


@pytest.mark.parametrize("policy", [None, "Left", np.zeros(3), np.zeros(2, dtype=int), [[0, 0, 0]]])
def test_things_that_are_no_policy_are_refused(policy: Any) -> None:
    with pytest.raises(TaskError, match="a policy must be a RuleSet"):
        evaluate(policy, chain())


@pytest.mark.parametrize("policy", [[0, 0, 2], [0, -2, 0]])
def test_actions_the_task_does_not_have_are_refused(policy: Any) -> None:
    with pytest.raises(TaskError, match="must be -1"):
        evaluate(policy, chain())


def test_a_ruleset_of_another_task_is_refused_with_both_named() -> None:
    other = DecisionList([[[0, 1]]], [0], (Feature("place", 0, 1),), ("Go", "Wait"))
    with pytest.raises(TaskError, match=r"place in \[0, 1\].*chain has place in \[0, 2\]"):
        evaluate(other, chain())


# Environments


TASKS = {
    "walk": task_of(gamma=0.95),
    "short": task_of(t_max=6),
    "cart pole": task_of("CartPole-v1", t_max=70),
    "dict": task_of(kind="dict"),
}
CHOICES = {"list": naive_envs.list_choice, "strength": naive_envs.strength_choice}


def rulesets(task: EnvTask) -> dict[str, tuple[RuleSet, Individual]]:
    """Return a list with gaps and a set of strength rules, for the package and for the oracle."""
    batches = {"list": random_lists(task, 2), "strength": random_strengths(task, 2, 4)}
    found = {}
    for kind, batch in batches.items():
        i = 1 if kind == "list" else 0
        ruleset = rulesets_of(task, batch)[i]
        own = Individual(batch.bounds[i], batch.actions[i], batch.learnt[i], task.features, batch.x0)
        found[kind] = ruleset, own
    return found


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize("name", TASKS)
def test_a_measurement_is_that_of_episodes_played_one_by_one(name: str, kind: str) -> None:
    task, seeds = TASKS[name], [5, 2_000_003, 0, 9, 9]
    ruleset, rules = rulesets(task)[kind]
    found = evaluate(ruleset, task, seeds=seeds)
    assert found.returns is not None
    assert found.seeds is not None
    alone = [naive_envs.episode(task, partial(CHOICES[kind], rules), seed) for seed in seeds]
    returns = [played.total for played in alone]
    assert found.returns.tolist() == returns
    assert found.seeds.tolist() == seeds
    failed = [played.ending == NO_RULE for played in alone]
    assert (found.failed, found.failed_share) == (any(failed), sum(failed) / 5)
    assert found.performance == pytest.approx(task.floor if any(failed) else sum(returns) / 5)
    assert found.deviation == pytest.approx(float(np.std(returns, ddof=1)))
    assert (found.least, found.most) == (min(returns), max(returns))
    assert (found.episodes, found.steps) == (5, sum(len(played.actions) for played in alone))
    assert found.truncated_share == sum(played.ending == TRUNCATED for played in alone) / 5


def test_environments_are_played_from_the_test_seeds_where_no_seeds_are_given() -> None:
    task = TASKS["walk"]
    ruleset, _ = rulesets(task)["strength"]
    found = evaluate(ruleset, task)
    assert found.seeds is not None
    assert found.seeds.tolist() == task.test_seeds(100).tolist()
    trained = evaluate(ruleset, task, seeds="training")
    assert trained.seeds is not None
    assert trained.seeds.tolist() == task.z.tolist()
    named = evaluations(ruleset, task, episodes=4)
    assert list(named) == ["on test seeds", "on training seeds"]
    assert repr(named["on training seeds"]) == repr(trained)
    assert named["on test seeds"].seeds is not None
    assert named["on test seeds"].seeds.tolist() == [2_000_000 + i for i in range(4)]


def test_one_episode_has_no_deviation() -> None:
    task = TASKS["walk"]
    deviation = evaluate(rulesets(task)["list"][0], task, seeds=[1]).deviation
    assert deviation is not None
    assert math.isnan(deviation)


@pytest.mark.parametrize("name", TASKS)
def test_rules_of_other_kinds_are_played_by_their_own_choices(name: str) -> None:
    task = TASKS[name]
    batch = random_lists(task, 1, 6, seed=2)
    lows, highs = task.ranges
    weights, ones = np.random.default_rng(3).normal(size=(6, len(lows) + 1)), np.ones(6)
    names = task.features, task.action_names
    voted = PredictionArrayRules(
        batch.bounds[0], batch.actions[0], *names, weights, ones, ones, ones, ones, 2.0
    )
    assert batch_of(voted) is None

    def choose(point: list[float]) -> int:
        return int(np.asarray(voted.predict(np.clip(point, lows, highs))))

    seeds = np.array([3, 7, 2_000_001])
    found = environment_simulator(task).play_ruleset(voted, seeds)
    alone = [naive_envs.episode(task, choose, seed) for seed in seeds.tolist()]
    assert found.returns[0].tolist() == [played.total for played in alone]
    assert found.steps[0].tolist() == [len(played.actions) for played in alone]
    assert found.endings[0].tolist() == [played.ending for played in alone]


def evaluated(returns: list[float], failed: bool = False) -> Evaluation:
    """An evaluation with these returns."""
    array = np.array(returns)
    return Evaluation(float(array.mean()), "sampled", len(array), 1, 0.0, failed, returns=array)


@given(st.integers(0, 10_000), st.integers(2, 9))
@settings(max_examples=20)
def test_a_mean_has_the_interval_of_students_t(seed: int, n: int) -> None:
    returns = np.random.default_rng(seed).normal(3.0, 2.0, n)
    found = evaluated(returns.tolist()).interval
    expected = scipy.stats.ttest_1samp(returns, 0.0).confidence_interval(0.95)
    assert found == pytest.approx((expected.low, expected.high))


def test_an_interval_holds_the_mean_in_95_of_100_cases_and_no_return_that_nobody_saw() -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        low, high = evaluated(rng.normal(-7.0, 4.0, 30).tolist()).interval or (0.0, 0.0)
        held += low <= -7.0 <= high
    assert 0.92 <= held / 400 <= 0.98
    low, high = evaluated([500.0] * 99 + [450.0]).interval or (0.0, 0.0)
    assert 450 < low < 499.5 < high == 500
    assert evaluated([500.0] * 100).interval == (500.0, 500.0)


def test_there_is_no_interval_of_an_exact_value_of_one_episode_and_of_the_floor() -> None:
    lake = small_lake()
    for method in ("sampled", "exact"):
        assert evaluate(np.zeros(lake.n_states, dtype=int), lake, method).interval is None
    assert evaluated([3.0]).interval is None
    assert evaluated([3.0, 4.0], failed=True).interval is None


@pytest.mark.parametrize(
    "seeds", [[], [-1], [0.5], "abc", [[1, 2]], 3, [2**63], [True], np.zeros((2, 2), dtype=int)]
)
def test_seeds_that_are_none_are_refused(seeds: Any) -> None:
    task = TASKS["walk"]
    with pytest.raises(
        TaskError, match=r"seeds must be a list of whole numbers from 0, such as range\(100\)"
    ):
        evaluate(rulesets(task)["list"][0], task, seeds=seeds)


def test_policies_of_another_environment_and_things_that_are_none_are_refused() -> None:
    task = TASKS["walk"]
    with pytest.raises(TaskError, match="must be a RuleSet or a trained system, not 'x'"):
        evaluate("x", task)
    with pytest.raises(
        TaskError, match=r"speaks of .* but task ifthen_tests/Walk-v0 has f0 in \[-5.0, 5.0\]"
    ):
        evaluate(rulesets(TASKS["cart pole"])["list"][0], task)


def test_environments_cannot_be_measured_exactly_and_tables_have_no_seeds() -> None:
    task = TASKS["walk"]
    with pytest.raises(TaskError, match="no table of states: it can only be measured by playing"):
        evaluate(rulesets(task)["list"][0], task, "exact")
    with pytest.raises(TaskError, match=r"is a table, .* leave out the reset seeds"):
        evaluate(np.zeros(16, dtype=int), frozen_lake(4), seeds=[1])


# One answer


def always(task: Any) -> DecisionList:
    """Return a list that does the same everywhere."""
    return DecisionList(
        [[[f.low, f.high] for f in task.features]], [task.n_actions - 1], task.features, task.action_names
    )


def test_a_task_its_name_and_its_environment_are_measured_the_same() -> None:
    lake = frozen_lake(4, 0.1)
    for task, name in ((lake, "FrozenLake-4-0.1"), (env_task("CartPole-v1"), "CartPole-v1")):
        assert repr(evaluate(always(task), name)) == repr(evaluate(always(task), task))
    cart_pole = gymnasium.make("CartPole-v1")
    assert repr(evaluate(always(env_task("CartPole-v1")), cart_pole)) == repr(
        evaluate(always(env_task("CartPole-v1")), "CartPole-v1")
    )
    made = gymnasium.make("ifthen/FrozenLake-v0", size=4, p_slip=0.1)
    assert evaluate(always(lake), made).optimum == evaluate(always(lake), table_task(made)).optimum


def test_a_trained_system_is_measured_in_its_own_task() -> None:
    for task in (small_lake(), task_of("CartPole-v1", t_max=40)):
        system = make("PPL-DL", task=task).learn(epochs=1)
        assert repr(evaluate(system)) == repr(evaluate(system.ruleset, task))
        assert evaluate(system, seeds="training").performance == system.history["performance"][-1]
    with pytest.raises(TaskError, match=r"give the task too, such as task='CartPole-v1'"):
        evaluate(system.ruleset)


@pytest.mark.parametrize("method", ["sampled", "exact"])
def test_tables_leave_out_what_only_environments_have(method: Any) -> None:
    found = evaluate(always(small_lake()), small_lake(), method)
    assert isinstance(found, Evaluation)
    missing = ("failed_share", "deviation", "least", "most", "returns", "seeds")
    assert all(getattr(found, name) is None for name in missing)
    assert "optimum" in repr(found)
    assert (found.noise is None) == (method == "exact")
    assert "None" not in repr(found)


def test_environments_leave_out_what_only_tables_have() -> None:
    task = TASKS["cart pole"]
    found = evaluate(always(task), task)
    assert isinstance(found, Evaluation)
    missing = ("noise", "optimum", "fraction", "uncovered")
    assert all(getattr(found, name) is None for name in missing)
    assert "optimum" not in repr(found)
    assert repr(found).startswith("performance ")
    assert "array" not in repr(found)
    assert "None" not in repr(found)


@pytest.mark.parametrize("name", ["walk", "cart pole"])
def test_threads_change_no_measurement(name: str) -> None:
    task = TASKS[name]
    ruleset = rulesets(task)["strength"][0]
    assert isinstance(ruleset, StrengthRules)
    assert repr(evaluate(ruleset, task, threads=2)) == repr(evaluate(ruleset, task, threads=1))
