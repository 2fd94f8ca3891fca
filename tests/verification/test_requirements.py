"""Requirements in words: those about rules hold at every point, those about behaviour in every episode."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, RuleSet, StrengthRules, env_task, frozen_lake, parse_rules
from ifthen.errors import ParameterError
from ifthen.simulate.scope import recorded_episodes
from ifthen.simulate.simulator import Evaluation
from ifthen.simulate.table_simulator import policy_table
from ifthen.verification import verify
from ifthen.verification.behaviour_requirement import one_sided_bound
from ifthen.verification.case import Case
from ifthen.verification.findings import Decided
from ifthen.verification.requirements import read_requirements, requirements_text, worded_ones
from tests import naive_explain
from tests.rulesets import ACTIONS
from tests.verification.test_verify_spaces import AXES, EDGES, REAL, real_lists
from tests.verification.verified import TASKS, cases, match_set, values
from tests.worlds import over_all_states

POLE = env_task("CartPole-v1", episodes=5, t_max=60)
LEAN = "1. IF pole angle + 0.18*pole velocity <= -0.001 THEN push left\n2. OTHERWISE push right"


def decided(rules: RuleSet, text: str, task: Any = None) -> Decided:
    """Return what is found of one requirement, without all other properties."""
    return worded_ones(text, rules, task is not None)[text](Case(rules, task))


@given(real_lists(), st.booleans(), st.integers(0, 2), st.data())
def test_what_is_said_of_a_constraint_holds_in_every_cell(
    rules: DecisionList, never: bool, action: int, data: Any
) -> None:
    u, v = (sorted(data.draw(st.lists(st.sampled_from(EDGES[n]), min_size=2, max_size=2))) for n in "uv")
    text = f"{'never' if never else 'always'} {ACTIONS[action]} when u in {u} and {v[0]} <= v <= {v[1]}"
    region = [[(u[0], u[1]), (v[0], v[1]), (0.0, 2.0)]]
    required, findings = decided(rules, text)
    boxes = rules.bounds.tolist()
    broken = []
    for point, _ in naive_explain.all_cells(AXES, boxes + region):
        first = naive_explain.first_box_at(point, boxes)
        done = bool(first >= 0 and rules.actions[first] == action)
        if naive_explain.first_box_at(point, region) == 0 and done is never:
            broken.append(point)
    assert required.passed is (not broken)
    assert required.how == "proved"
    assert len(findings) == (not required.passed)
    for finding in findings:
        point = values(finding.witness or {})
        assert u[0] <= point[0] <= u[1]
        assert v[0] <= point[1] <= v[1]
        decides = match_set(rules, point)
        assert list(finding.rules) == decides[:1]
        assert bool(decides and rules.actions[decides[0]] == action) is never
        assert ("no rule matches" in required.why) is (not decides)


@given(cases(TASKS), st.integers(0, 2))
def test_on_a_table_constraints_hold_in_its_decision_states(case: Any, action: int) -> None:
    rules, task = case
    name, feature = task.action_names[action % len(task.action_names)], task.features[0]
    text = f'never "{name}" when "{feature.name}" <= {feature.low}'
    table, points = policy_table(rules, task), task.dynamics.points
    inside = points[:, 0] <= feature.low
    broken = inside & (table == task.action_names.index(name))
    assert decided(rules, text, task)[0].passed is (not broken.any())


def test_rules_that_compare_numbers_at_every_point_are_honestly_not_known() -> None:
    bounds = [[[-1.0, 1.0], [0.0, 4.0], [0.0, 2.0]]] * 2
    weights = [[0.0, 1.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]]
    rules = StrengthRules(bounds, [0, 1], REAL, ACTIONS, weights, [0.0, 0.0], 1.0)
    required, _ = decided(rules, f"never {ACTIONS[0]} when u >= 0.5")
    assert not required.passed
    assert required.why.startswith("not known")


@given(cases(TASKS), st.integers(0, 3), st.integers(1, 4))
def test_on_a_table_behaviour_is_decided_by_all_paths(case: Any, most: int, steps: int) -> None:
    rules, task = case
    policy, feature = over_all_states(task, policy_table(rules, task)), task.features[0]
    ways: set[tuple[int, ...]] = {
        (int(s),) for s in task.initial_states if s in set(task.decision_states.tolist())
    }
    seen, worst, decides = set(ways), 0, set(task.decision_states.tolist())
    reached = {way[0] for way in ways}
    while ways:
        longer: set[tuple[int, ...]] = set()
        for way in ways:
            here = way[-1]
            if here not in decides or policy[here] < 0:
                continue
            for after, ends in zip(
                task.next_state[here, policy[here]].tolist(), task.done[here, policy[here]], strict=True
            ):
                reached.add(after)
                longer |= set() if ends else {(*way, after)[-steps - 1 :]}
        ways = longer - seen
        seen |= ways
    for way in seen:
        actions = [policy[s] for s in way if s in decides and policy[s] >= 0]
        worst = max(worst, sum(a != b for a, b in itertools.pairwise(actions)))
    top = max(int(task.state_features[s, 0]) for s in reached)
    texts = [f"switches at most {most} per {steps} steps", f'never reaches "{feature.name}" >= {top}']
    if top < feature.high:
        texts.append(f'never reaches "{feature.name}" >= {top + 1}')
    met = [decided(rules, text, task)[0].passed for text in texts]
    assert met == [worst <= most, False, True][: len(met)]


def test_returns_on_a_table_are_exact() -> None:
    lake = frozen_lake(4, p_slip=0.0)
    rules = parse_rules("1. ALWAYS Down", task=lake)
    exact = verify(rules, lake).properties["performance"]
    assert exact is not None
    texts = [f"return >= {exact - 0.01:.4f}", f"return >= {exact + 0.01:.4f} at 99 %"]
    first, second = verify(rules, lake, texts).requirements
    assert first.passed
    assert not second.passed
    assert first.how == "by the model"


def test_in_an_environment_behaviour_is_decided_by_play_with_a_bound() -> None:
    rules = parse_rules(LEAN, task=POLE)
    episodes = recorded_episodes(rules, POLE, POLE.test_seeds())
    far = [float(np.abs(np.append(own.points[:, 0], own.last[0])).max()) for own in episodes]
    middle = float(np.median(far))
    texts = [
        "never reaches cart position >= 2.5 or cart position <= -2.5",
        f"never reaches cart position >= {middle} or cart position <= {-middle} at 99 %",
        "return >= 50 at 99 %",
        "return <= 59",
        "switches at most 100 per 100 steps",
        "switches at most 3 per 50 steps",
    ]
    found = verify(rules, POLE, texts)
    assert [each.passed for each in found.requirements] == [True, False, True, False, True, False]
    why = [each.why for each in found.requirements]
    assert "in at most 3 % of all episodes" in why[0]  # 1 − 0.05^(1/100) = 2.95 %
    assert f"in {sum(own >= middle for own in far)} of 100 episodes" in why[1]
    assert found.requirements[2].how == "by play at 99 % confidence"
    actions = episodes[0].actions
    switched = found.findings[-1]
    assert switched.data["requirement"] == texts[-1]
    step = switched.data["step"]
    assert (np.diff(actions[max(0, step - 50) : step + 1]) != 0).sum() == 4


def test_equal_returns_show_no_more_than_so_many_episodes_can() -> None:
    rules = parse_rules(LEAN, task=POLE)
    missed = 1 - 0.05 ** (1 / 100)  # Clopper and Pearson
    least = 60 - missed * (60 - POLE.floor)
    below, above = f"return >= {least - 0.01:.4f}", f"return >= {least + 0.01:.4f}"
    assert [decided(rules, text, POLE)[0].passed for text in (below, above)] == [True, False]
    required = decided(rules, "return >= 60 at 99.99 %", POLE)[0]
    assert not required.passed
    assert "all 100 episodes from test seeds got 60" in required.why
    assert "at most 8.8 % of all episodes get less" in required.why
    assert "not sure enough" in required.why
    # More episodes show more.
    assert verify(rules, POLE, above, episodes=1000).passed
    # Where no least return is known, equal returns say nothing of the mean.
    unknown = decided(rules, below, POLE.replaced(floor=-1e12))[0]
    assert not unknown.passed
    assert "how much is not known" in unknown.why
    assert not decided(rules, "return <= 60", POLE)[0].passed


@given(st.lists(st.integers(0, 9), min_size=2, max_size=30), st.sampled_from([0.9, 0.99]))
def test_a_policy_that_is_never_worse_has_no_lower_bound(returns: list[int], sure: float) -> None:
    def bound(values: list[int]) -> float:
        got = np.array(values, dtype=np.float64)
        found = Evaluation(float(got.mean()), "sampled", len(got), 0, 0.0, False, returns=got)
        found = replace(found, least=float(got.min()), most=float(got.max()))
        least = one_sided_bound(found, sure, -1.0, True)
        assert least is not None
        return least

    assert bound(returns) <= bound([max(returns)] * len(returns)) < max(returns)


@pytest.mark.parametrize("player", ["auto", "sync"])
def test_what_is_reached_is_the_state_and_not_its_late_reading(player: str) -> None:
    late = POLE.replaced(player=player, disturbances={"delay": 30})
    rules = parse_rules("OTHERWISE push right", POLE.features, POLE.action_names)
    lasts = [episode.true_points[-1, 2] for episode in recorded_episodes(rules, late, late.test_seeds())]
    read = [episode.last[2] for episode in recorded_episodes(rules, late, late.test_seeds())]
    assert max(lasts) < -0.2 < min(read)
    required, findings = decided(rules, "never reaches pole angle <= -0.2", late)
    assert not required.passed
    assert "broken in all 100 episodes" in required.why
    assert values(findings[0].witness or {})[2] <= -0.2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("switches at most 5", "expected 'per' and a number of steps"),
        ("switches at most 5.5 per 10 steps", "expected a whole number from 0"),
        ("switches often", "expected 'switches at most 5 per 100 steps'"),
        ("return 400", "expected >= or <= and a number"),
        ("return >= 400 at 20 %", "a confidence is from 50 %"),
        ("return >= 400 surely", "expected 'at 95 %' or the end, not 'surely'"),
        ("never reaches cart >= 2", "unknown feature 'cart'"),
    ],
)
def test_a_mistake_in_behaviour_is_told_with_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(ParameterError) as raised:
        verify(parse_rules(LEAN, task=POLE), POLE, text)
    assert expected in str(raised.value)


def test_a_condition_that_no_observation_meets_is_said_to_ask_for_nothing() -> None:
    rules = parse_rules("OTHERWISE push left", POLE.features, POLE.action_names)
    told = decided(rules, "never push left when cart position >= 2 and cart position + 1*pole angle <= 1")[0]
    assert told.passed
    assert "no observation meets the condition" in told.why


def test_behaviour_needs_a_task() -> None:
    with pytest.raises(ParameterError, match="is about behaviour in a task; give one"):
        verify(parse_rules(LEAN, task=POLE), require="never reaches cart position >= 2")


def test_a_file_has_a_requirement_per_line_and_comments(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text('# of the plant\n\ncomplete, rules<=5  # short\nnever "a #1" when x in [1, 2]\n')
    texts = ["complete", "rules<=5", 'never "a #1" when x in [1, 2]']
    assert read_requirements(file) == texts
    file.write_text(requirements_text(texts))
    assert read_requirements(file) == texts
    with pytest.raises(ParameterError, match="cannot read"):
        read_requirements(tmp_path / "none.txt")


def test_what_a_rule_at_the_top_keeps_is_proved_by_its_place() -> None:
    task = env_task("CartPole-v1")
    text = (
        "IF pole angle >= 0.1 THEN push right\nIF cart position >= 1 THEN push right\nOTHERWISE push left\n"
    )
    rules = parse_rules(text, task=task)

    def why(require: str, own: Any = task) -> str:
        (found,) = verify(rules, own, require).requirements
        assert found.passed
        return found.why

    assert why("never push left when pole angle >= 0.1").startswith(
        "proved, as rule 1 comes first and says push right: no observation with pole angle ≥ 0.1 rad"
    )
    assert why("always push right when cart position >= 1.5").startswith("proved, as rules 1 to 2 come first")
    assert why("never push right when pole angle <= 0 and cart position <= 0").startswith(
        "proved by exact reasoning over all inputs"
    )
    noisy = task.disturbed("noise", 0.02)
    told = why("never push left when pole angle >= 0.1", noisy)
    assert "no reading with" in told
    assert told.endswith("; with noise 0.02, readings differ from the true state")
