"""The explain page of an environment holds the rules, what was met, and episodes as they are played."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from ifthen import DecisionList, Feature, evaluate, explain_page, trace
from ifthen.digits import in_units, interval_in_words
from ifthen.errors import ParameterError, TaskError
from ifthen.pages import visits
from ifthen.pages.visits import MOST_POINTS, spread
from ifthen.simulate.scope import median_point, visited_states
from ifthen.tasks.gym_task import EnvTask
from ifthen.verification import verify
from tests.envs import WALK, task_of
from tests.explanation.env_policies import KINDS, a_policy, a_task, holey, some_rules


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_are_the_rules_and_what_was_met(kind: str) -> None:
    task = a_task("CartPole-v1")
    rules = some_rules(kind, task)
    (policy,) = data_of(explain_page(rules, task))["policies"]
    met = visited_states(rules, task)
    assert policy["bounds"] == rules.bounds.tolist()
    assert policy["actions"] == rules.actions.tolist()
    assert [rule["share"] for rule in policy["rules"]] == pytest.approx(met.shares, rel=1e-4)
    assert f"of the {len(met.points):,} states visited" in policy["how"]
    assert policy["middle"] == pytest.approx(median_point(met.points), rel=1e-5)
    assert policy["visited"][0] == pytest.approx(met.points[0], rel=1e-5)
    assert len(policy["visited"]) == min(len(met.points), MOST_POINTS)


def test_episodes_are_those_of_the_trace() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    (policy,) = data_of(explain_page(ruleset, task))["policies"]
    assert [episode["number"] for episode in policy["episodes"]] == [1, 2, 3, 4]
    for episode in policy["episodes"]:
        found = trace(ruleset, task, episode=episode["number"] - 1)
        assert episode["seed"] == found.seed
        assert episode["rules"] == [step.rule for step in found.steps]
        assert episode["actions"] == [task.action_names.index(step.action) for step in found.steps]
        assert episode["rewards"] == [step.reward for step in found.steps]
        assert episode["returns"] == [0, *(step.return_so_far for step in found.steps)]
        seen = [*(step.features for step in found.steps), found.last]
        assert episode["points"] == [pytest.approx(list(each.values()), rel=1e-5) for each in seen]
    returns = [episode["returns"][-1] for episode in policy["episodes"]]
    marks = {episode["mark"]: episode["returns"][-1] for episode in policy["episodes"] if episode["mark"]}
    assert (marks["the best"], marks["the worst"]) == (max(returns), min(returns))


def test_long_episodes_are_thinned_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spread(10, 20).tolist() == list(range(10))
    assert spread(0, 20).tolist() == []
    some = spread(5001, 1000)
    assert (some[0], some[-1], len(some)) == (0, 5000, 1000)
    monkeypatch.setattr(visits, "MOST_STEPS", 20)
    task = task_of("ifthen_tests/EndlessWalk-v0", t_max=60, episodes=8)
    rules = DecisionList([[[-5, 5], [-5, 5]]], [1], task.features, task.action_names)
    (policy,) = data_of(explain_page(rules, task))["policies"]
    assert len(policy["episodes"]) == 5
    for episode in policy["episodes"]:
        assert (episode["length"], len(episode["rules"])) == (60, 20)
        assert episode["times"][-1] == 60
        returns = evaluate(rules, task, seeds="training").returns
        assert returns is not None
        assert episode["returns"][-1] == pytest.approx(returns[episode["number"] - 1], rel=1e-5)


def test_fewer_observations_are_kept_where_they_have_many_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "MOST_NUMBERS", 40)
    (policy,) = data_of(explain_page(*a_policy("CartPole-v1")))["policies"]
    assert len(policy["visited"]) == 10
    assert [len(episode["points"]) for episode in policy["episodes"]] == [11] * 4


def test_the_head_says_how_well_it_does_on_test_seeds_and_on_training_seeds() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    page, trained = explain_page(ruleset, task), evaluate(ruleset, task, seeds="training")
    tested = evaluate(ruleset, task)
    assert f"<b>{in_units(tested.performance)}</b>".replace("-", "−") in page
    assert f">{in_units(trained.performance)}<".replace("-", "−") in page
    assert f">{interval_in_words(tested.interval, tested.performance)}<".replace("-", "−") in page
    assert "over 100 test seeds, on which nothing was learnt or selected; training performance" in page
    holes, pole = holey()
    assert "meets states without a rule in" in explain_page(holes, pole)
    assert "Values beyond a range count as its edge." in page


def test_values_beyond_a_range_are_counted() -> None:
    task = task_of(WALK, episodes=30)  # its place leaves [-5, 5] only at the very end: narrow it
    narrow = (Feature("place", -1.0, 1.0, "real", clips=True), *task.features[1:])
    tight = EnvTask(task.name, narrow, task.action_names, task.environment, 30, task.t_max, task.floor)
    rules = DecisionList([[[-1, 1], [-5, 5]]], [2], narrow, task.action_names)
    raw = np.concatenate(
        [[list(s.features.values()) for s in trace(rules, tight, episode=e).steps] for e in range(30)]
    )
    beyond = (np.abs(raw[:, 0]) > 1).mean()
    assert 0.1 < beyond < 1
    assert f'<td class="n">{100 * beyond:.1f} %</td>' in explain_page(rules, tight)


def test_two_policies_are_compared_in_the_states_that_the_first_meets() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    other = some_rules("strength", task)
    page = explain_page(ruleset, task, other, names=("mine", "drawn"))
    met = visited_states(ruleset, task)
    share = (other.choose(met.points)[0] != met.actions).mean()
    assert (
        f"mine and drawn choose different actions in {share:.1%} of the states visited by the first" in page
    )
    assert [policy["name"] for policy in data_of(page)["policies"]] == ["mine", "drawn"]


def test_the_same_input_gives_the_same_bytes() -> None:
    ruleset, task = a_policy("Blackjack-v1", 20)
    report = verify(ruleset, task)
    again = ruleset.subset(range(len(ruleset)))
    assert explain_page(ruleset, task, verification=report) == explain_page(again, task, verification=report)


def test_the_page_loads_nothing_and_allows_no_script_but_its_own() -> None:
    page = explain_page(*a_policy("MountainCar-v0"))
    assert not re.search(r'\s(src|href|style|on\w+)\s*=\s*"', page.partition("<script")[0])
    assert "@import" not in page
    assert "url(" not in page
    assert "default-src 'none'; style-src 'sha256-" in page
    assert "unsafe-" not in page


def test_what_cannot_be_shown_is_refused() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    with pytest.raises(TaskError, match="speaks of position"):
        explain_page(ruleset, a_task("CartPole-v1"))
    with pytest.raises(ParameterError, match="two texts that differ"):
        explain_page(ruleset, task, ruleset, names=("A", "A"))
