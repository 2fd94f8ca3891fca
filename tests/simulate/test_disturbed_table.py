"""Policies on tables under disturbances, exactly, against all histories of short episodes one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ifthen
from ifthen.environments.from_table import with_option
from ifthen.errors import TaskError
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate import disturbed_table
from ifthen.simulate.disturbed_table import DisturbedTable, TooLargeError
from ifthen.tasks.tabular_task import TabularTask
from tests.naive_disturbance import told

Outcome = tuple[float, float]
"""The return of an episode, and its chance."""


def lists(task: TabularTask, draw: st.DrawFn) -> DecisionList:
    """Draw a decision list for a lake, with a rule for all else."""
    rules = draw(st.integers(0, 4))
    bounds = []
    for _ in range(rules):
        ends = [sorted(draw(st.tuples(*[st.integers(f.low, f.high)] * 2))) for f in task.features]
        bounds.append(ends)
    whole = [[f.low, f.high] for f in task.features]
    actions = draw(st.lists(st.integers(0, 3), min_size=rules + 1, max_size=rules + 1))
    return DecisionList([*bounds, whole], actions, task.features, task.action_names)


def action_at(rules: RuleSet, reading: tuple[int, ...]) -> int:
    return int(rules.predict([list(map(float, reading))])[0])


def readings(task: TabularTask, state: int, deviation: float) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield what noisy sensors can say of a state, with chances: rounded, and kept in the ranges."""
    sides = []
    for value, f in zip(task.state_features[state].tolist(), task.features, strict=True):
        sigma = deviation * (f.high - f.low)
        own: dict[int, float] = {}
        for raw in range(f.low - 40, f.high + 41):
            chance = _below((raw + 0.5 - value) / sigma) - _below((raw - 0.5 - value) / sigma)
            kept = min(max(raw, f.low), f.high)
            own[kept] = own.get(kept, 0.0) + chance
        sides.append(list(own.items()))
    for parts in itertools.product(*sides):
        yield tuple(value for value, _ in parts), math.prod(chance for _, chance in parts)


def _below(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def histories(task: TabularTask, rules: RuleSet, name: str, strength: float) -> Iterator[Outcome]:
    """Yield every episode of at most t_max steps: what the policy chose is kept whole, nothing is merged."""
    features = len(task.features) if name == "bias" else 0
    combinations = list(itertools.product((1, -1), repeat=features))
    for signs in combinations:
        for start in task.initial_states.tolist():
            chance = 1 / len(task.initial_states) / len(combinations)
            yield from episode(task, rules, name, strength, signs, start, [], [], 0.0, chance)


def episode(
    task: TabularTask,
    rules: RuleSet,
    name: str,
    strength: float,
    signs: tuple[int, ...],
    state: int,
    read: list[tuple[int, ...]],
    chosen: list[int],
    total: float,
    chance: float,
) -> Iterator[Outcome]:
    t = len(chosen)
    true = tuple(task.state_features[state].tolist())
    possible: list[tuple[tuple[int, ...], float]] = [(true, 1.0)]
    if name == "noise":
        possible = list(readings(task, state, strength))
    elif name == "bias":
        ends = [(f.low, f.high) for f in task.features]
        moved = [
            min(max(math.floor(v + s * strength * (high - low) + 0.5), low), high)
            for v, s, (low, high) in zip(true, signs, ends, strict=True)
        ]
        possible = [(tuple(moved), 1.0)]
    late = int(strength) if name == "delay" else 0
    lost = strength if name == "drop" and t else 0.0
    for reading, likely in possible:
        measured = [*read, reading]
        arrived = measured[max(t - late, 0)]
        for used, arrives in ((arrived, 1 - lost), (None, lost)):
            if arrives:
                action = chosen[-1] if used is None else action_at(rules, used)
                actions = [*chosen, action]
                taken = told({name: strength}, actions)[-1]
                for k, share in enumerate(task.probability.tolist()):
                    got = total + task.gamma**t * float(task.reward[state, taken, k])
                    own = chance * likely * arrives * share
                    if task.done[state, taken, k] or t + 1 == task.t_max:
                        yield got, own
                    else:
                        after = int(task.next_state[state, taken, k])
                        yield from episode(
                            task, rules, name, strength, signs, after, measured, actions, got, own
                        )


CASES = [
    ("", 0.0, 4),
    ("noise", 0.2, 2),
    ("bias", 0.4, 4),
    ("delay", 1, 4),
    ("delay", 2, 4),
    ("delay", 9, 4),
    ("drop", 0.3, 3),
    ("action_delay", 2, 4),
    ("action_repeat", 2, 4),
    ("action_repeat", 3, 4),
]


@pytest.mark.parametrize(("name", "strength", "t_max"), CASES)
@given(data=st.data())
def test_exact_values_are_those_of_all_histories(
    name: str, strength: float, t_max: int, data: st.DataObject
) -> None:
    task = ifthen.frozen_lake(
        desc=["SFF", "FHF", "FFG"], p_slip=0.3, gamma=data.draw(st.sampled_from([0.9, 1.0])), t_max=t_max
    )
    rules = data.draw(st.composite(lambda draw: lists(task, draw))())
    outcomes = list(histories(task, rules, name, strength))
    found = DisturbedTable(task, name, strength).tested(rules)
    assert sum(chance for _, chance in outcomes) == pytest.approx(1.0)
    assert found.performance == pytest.approx(sum(got * chance for got, chance in outcomes), abs=1e-12)
    assert found.returns is not None
    assert found.chances is not None
    for edge in (0.05, 0.5, 0.85):
        below = sum(chance for got, chance in outcomes if got < edge)
        assert float(found.chances[found.returns < edge].sum()) == pytest.approx(below, abs=1e-12)
    assert found.interval is None


def test_a_late_reading_is_a_late_action_to_rules() -> None:
    task = ifthen.frozen_lake(8, 0.3)
    rules = ifthen.PPLDL(task, seed=0).learn(epochs=5).ruleset
    late, acted = (
        DisturbedTable(task, name, 3).tested(rules).performance for name in ("delay", "action_delay")
    )
    assert late == acted
    assert late < DisturbedTable(task).tested(rules).performance


def test_another_slip_is_the_lake_of_that_slip() -> None:
    task, other = ifthen.frozen_lake(8, 0.1), ifthen.frozen_lake(8, 0.5)
    rules = ifthen.PPLDL(task, seed=0).learn(epochs=5).ruleset
    there = DisturbedTable(task, "options.p_slip", 0.5).tested(rules).performance
    assert there == pytest.approx(DisturbedTable(other).tested(rules).performance, abs=1e-12)
    assert there == pytest.approx(ifthen.evaluate(rules, other, "exact").performance, abs=1e-6)
    rainy = with_option(ifthen.table_task(__import__("gymnasium").make("Taxi-v4")), "is_rainy", 1)
    assert rainy.is_stochastic


def test_a_reading_without_a_rule_is_told() -> None:
    task = ifthen.frozen_lake(4)
    x, y = task.features
    rules = DecisionList([[(0, 2), (y.low, y.high)]], [2], task.features, task.action_names)
    assert DisturbedTable(task, "noise", 0.1).tested(rules).failed
    whole = DecisionList([[(x.low, x.high), (y.low, y.high)]], [2], task.features, task.action_names)
    assert not DisturbedTable(task, "noise", 0.1).tested(whole).failed


def test_what_is_too_large_or_unknown_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    task = ifthen.frozen_lake(4, 0.3)
    rules = ifthen.PPLDL(task, seed=0).learn(epochs=2).ruleset
    with pytest.raises(TooLargeError, match="on their way in too many ways"):
        DisturbedTable(task, "delay", 100).tested(rules)
    monkeypatch.setattr(disturbed_table, "MOST_STATES", 20)
    found = ifthen.stress(rules, task, {"delay": [0, 4]})
    assert [level.untried for level in found.sweeps[0].levels] == [
        "",
        "with what is remembered there are more than 20 states",
    ]
    assert np.isnan(found.sweeps[0].levels[1].kept)
    with pytest.raises(TaskError, match="no disturbance 'nois' of a table"):
        ifthen.stress(rules, task, ["nois"])
    with pytest.raises(TaskError, match="cannot be made with wind = 1"):
        ifthen.stress(rules, task, vary={"options.wind": [1]})
