from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ifthen import PPLDL, PPLST, DecisionList, Feature, RuleSet, StrengthRules, evaluate, load
from ifthen.errors import ModelFileError, ParameterError
from ifthen.simulate.table_simulator import policy_table
from ifthen.systems.pittsburgh import Population, empty_population, put_first
from tests.archives import with_manifest
from tests.rulesets import ACTIONS, FEATURES, all_states, rules
from tests.systems.contract import make, meadow, saved_bytes

TASK = meadow()
NAMES = (TASK.features, TASK.action_names)
CORNERS = [[[0, 1], [0, 2]], [[2, 2], [0, 1]], [[0, 2], [2, 2]]]
LIST = DecisionList(CORNERS, [1, 1, 2], *NAMES)
WITH_GAPS = DecisionList(CORNERS[1:2], [3], *NAMES)
STRENGTHS = StrengthRules(
    CORNERS, [1, 1, 2], *NAMES, [[0.1, 0.2, -0.3], [0.05, 0, 0.1], [0.02, 0, 0]], [0, 0.1, 0.2]
)


@pytest.mark.parametrize("name", ["PPL-DL", "PPL-ST"])
def test_a_tenth_of_the_population_is_the_start_and_the_others_are_what_they_would_be(name: str) -> None:
    with_start = make(name, start=LIST, pop_size=40).learn(epochs=0).now.population
    without = make(name, pop_size=40).learn(epochs=0).now.population
    for mine, random in zip(with_start, without, strict=True):
        assert np.array_equal(mine[4:], random[4:])
    order = [0, 1, 2, 0, 1]  # five rules in an individual, three in the start
    for i in range(4):
        assert np.array_equal(with_start.bounds[i], LIST.bounds[order])
        assert np.array_equal(with_start.actions[i], LIST.actions[order])


@given(rules())
@settings(max_examples=60)
def test_rules_over_again_change_no_choice_of_a_decision_list(drawn: Any) -> None:
    bounds, actions = drawn
    start, states = DecisionList(bounds, actions, FEATURES, ACTIONS), all_states()
    population = empty_population(2, len(start) + 7, 2, 0)
    put_first(start, np.zeros((len(start), 0)), population)
    padded = DecisionList(population.bounds[0], population.actions[0], FEATURES, ACTIONS)
    assert padded.predict(states).tolist() == start.predict(states).tolist()


@pytest.mark.parametrize("start", [LIST, WITH_GAPS])
def test_ppl_dl_begins_with_the_performance_of_the_start(start: DecisionList) -> None:
    system = make("PPL-DL", start=start).learn(epochs=0)
    assert system.now.population.fitness[0] == evaluate(start, TASK, "sampled").performance
    assert system.watched >= evaluate(start, TASK, "sampled").performance


def test_ppl_st_begins_with_the_strengths_of_the_start() -> None:
    system = make("PPL-ST", start=STRENGTHS, num_reinf_rollouts=0).learn(epochs=0)
    population: Population = system.now.population
    own = StrengthRules(
        population.bounds[0],
        population.actions[0],
        *NAMES,
        population.learnt[0, :, :-1],
        population.learnt[0, :, -1],
    )
    assert policy_table(own, TASK).tolist() == policy_table(STRENGTHS, TASK).tolist()
    assert own.subset([0, 1, 2]) == STRENGTHS
    assert population.fitness[0] == evaluate(STRENGTHS, TASK, "sampled").performance


def test_a_decision_list_brings_ppl_st_rules_that_know_nothing() -> None:
    population = make("PPL-ST", start=LIST, num_reinf_rollouts=0).learn(epochs=0).now.population
    assert not population.learnt.any()
    assert np.array_equal(population.bounds[0, :3], LIST.bounds)


@pytest.mark.parametrize("name", ["PPL-DL", "PPL-ST"])
def test_a_good_start_is_not_lost_in_the_first_epochs(name: str) -> None:
    best = make(name, pop_size=80).learn(epochs=60).ruleset
    performance = evaluate(best, TASK, "sampled").performance
    again = make(name, pop_size=80, seed=11, start=best).learn(epochs=5)
    assert again.watched > 0.9 * performance
    assert make(name, pop_size=80, seed=11).learn(epochs=5).watched < again.watched


def test_a_start_with_too_many_rules_is_refused_naming_both_numbers() -> None:
    long = DecisionList(CORNERS * 2, [0] * 6, *NAMES)
    with pytest.raises(
        ParameterError, match=r"start has 6 rules, but idv_size is 5\. Give idv_size=6 or more"
    ):
        make("PPL-DL", start=long)
    assert make("PPL-DL", start=long, idv_size=6).learn(epochs=1).epoch == 1


OTHER_FEATURES = DecisionList(
    [[[0, 1], [0, 1]]], [0], [Feature("x", 0, 3), Feature("y", 0, 2)], TASK.action_names
)
OTHER_ACTIONS = DecisionList(CORNERS, [0, 0, 0], TASK.features, ["a", "b", "c", "d"])
OTHER_X0 = StrengthRules(CORNERS, [1, 1, 2], *NAMES, np.zeros((3, 3)), np.zeros(3), 5.0)


@pytest.mark.parametrize(
    ("name", "start", "message"),
    [
        (
            "PPL-DL",
            OTHER_FEATURES,
            r"start has x in \[0, 3\], y in \[0, 2\] and actions Left, .*, but FrozenLake-3-0.2-own has",
        ),
        (
            "PPL-ST",
            OTHER_ACTIONS,
            "and actions a, b, c, d, but FrozenLake-3-0.2-own has x .* and actions Left",
        ),
        (
            "PPL-DL",
            STRENGTHS,
            "PPL-DL starts from rules of kind decision-list, not strength.*ifthen.prune",
        ),
        ("PPL-ST", OTHER_X0, r"start has x0 = 5, but the parameter x0 is 10\. Give x0=5\.0"),
        ("PPL-DL", "rules.txt", "start must be a RuleSet, not 'rules.txt'"),
        ("PPL-X", "rules.txt", "start must be a RuleSet, not 'rules.txt'"),
        ("XCSF", LIST, "XCSF cannot start from a ruleset"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(name: str, start: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make(name, start=start)


def test_units_do_not_make_other_features() -> None:
    features = [Feature(f.name, f.low, f.high, unit="cells") for f in TASK.features]
    start = DecisionList(CORNERS, [1, 1, 2], features, TASK.action_names)
    assert make("PPL-DL", start=start).learn(epochs=1).ruleset.features == TASK.features


STARTS: list[tuple[str, RuleSet]] = [("PPL-DL", LIST), ("PPL-ST", STRENGTHS), ("PPL-ST", LIST)]


@pytest.mark.parametrize(("name", "start"), STARTS)
def test_a_file_keeps_the_start_and_learning_goes_on_to_the_same_bytes(
    name: str, start: RuleSet, tmp_path: Path
) -> None:
    in_one_go = saved_bytes(make(name, start=start).learn(epochs=5), tmp_path)
    make(name, start=start).learn(epochs=2, checkpoint=tmp_path / "part.zip")
    again = load(tmp_path / "part.zip", threads=1)
    assert again.start == start
    assert saved_bytes(again.learn(epochs=3), tmp_path) == in_one_go
    assert saved_bytes(make(name).learn(epochs=5), tmp_path) != in_one_go


def test_a_system_without_a_start_says_nothing_of_one_in_its_file(tmp_path: Path) -> None:
    system = make("PPL-DL").learn(epochs=0)
    system.save(tmp_path / "m.zip")
    with_manifest(tmp_path / "m.zip", tmp_path, lambda m: m.pop("start", None) and pytest.fail("it did"))
    assert load(tmp_path / "changed.zip").start is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(start=[]), "in the manifest, start"),
        (lambda m: m.update(start={}), "impossible task or start: .*format 'ifthen-ruleset'"),
        (lambda m: m["start"]["rules"][0].update(then="Jump"), "unknown action 'Jump'"),
        (lambda m: m["start"]["rules"][0].update(weights=[10**400] * 3), "impossible task or start"),
        (lambda m: m["start"].update(actions=["a", "b", "c", "d"]), "unknown action"),
        (lambda m: m["start"].update(rules=m["start"]["rules"] * 2), "start has 6 rules, but idv_size is 5"),
        (lambda m: m["start"].update(x0=3.0), "start has x0 = 3"),
        (lambda m: m["parameters"].update(start=m["seed"]), "unknown parameter 'start'"),
    ],
)
def test_a_file_with_an_impossible_start_is_refused(
    change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path
) -> None:
    make("PPL-ST", start=STRENGTHS).learn(epochs=0).save(tmp_path / "m.zip")
    with pytest.raises(ModelFileError, match=message):
        load(with_manifest(tmp_path / "m.zip", tmp_path, change))


def test_the_systems_that_start_from_rules_say_from_which() -> None:
    assert PPLDL.starts_from == ("decision-list",)
    assert PPLST.starts_from == ("strength", "decision-list")
