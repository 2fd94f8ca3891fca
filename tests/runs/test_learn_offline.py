"""Rules from logs: known solutions are found, nothing is played, and what is not known is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ifthen
from ifthen.errors import ParameterError
from ifthen.runs.learn_offline import parted
from ifthen.runs.step_log import read_log
from ifthen.systems.pplx import distil_values, offline_learning
from ifthen.systems.pplx.action_costs import ActionCosts


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn less."""
    monkeypatch.setattr(offline_learning, "UPDATES", 2000)
    monkeypatch.setattr(offline_learning, "ESTIMATE_UPDATES", 2000)
    monkeypatch.setattr(offline_learning, "ROUNDS", 1)
    monkeypatch.setattr(offline_learning, "FEW_STEPS", 0)
    monkeypatch.setattr(distil_values, "CHANGES", 1000)


def signs(n: int = 1500, n_actions: int = 2, shown: int = 2) -> dict[str, Any]:
    """Return a log of one-step episodes: 1 for action 1 where x > 0.2 and for action 0 elsewhere.

    Args:
        n: the steps.
        n_actions: the actions there are.
        shown: the first actions, of which the log takes one at random.
    """
    draws = np.random.default_rng(0)
    points, actions = draws.uniform(-1, 1, (n, 3)), draws.integers(0, shown, n)
    actions[0] = n_actions - 1
    rewards = (actions == (points[:, 1] > 0.2)).astype(float)
    return {"observations": points, "actions": actions, "rewards": rewards, "terminations": np.ones(n)}


def test_the_rule_behind_a_log_is_found_and_its_return_estimated() -> None:
    result = ifthen.learn_offline(signs(), terms=False, threads=1)
    rules = result.ruleset
    points = np.random.default_rng(1).uniform(-1, 1, (2000, 3))
    points = np.clip(points, [f.low for f in rules.features], [f.high for f in rules.features])
    assert (rules.best_actions(points) == (points[:, 1] > 0.2)).mean() > 0.96
    assert (len(rules), rules.tests) == (2, 1)
    assert result.chosen.expected == pytest.approx(1.0, abs=0.1)
    assert result.logged == pytest.approx(0.5, abs=0.1)
    assert result.chosen.same == pytest.approx(0.5, abs=0.05)
    assert result.front.points[0].rules == 1
    assert "as logged" in str(result)
    assert result.to_dict()["chosen"]["rules"] == 2


def test_a_later_reward_counts_for_the_action_that_led_to_it() -> None:
    # Action 1 costs 0.1 now, and leads to a second step with a reward of 1; action 0 ends with nothing.
    n, draws = 1200, np.random.default_rng(2)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("observations", "actions", "rewards", "terminations")
    }
    for _ in range(n):
        action, x = int(draws.integers(2)), draws.uniform(-1, 1)
        for place, (step_action, reward) in enumerate(
            [(action, -0.1 * action), (int(draws.integers(2)), 1.0)][: 1 + action]
        ):
            is_last = place == action
            for name, value in zip(columns, ([place, x], step_action, reward, is_last), strict=True):
                columns[name].append(value)
    result = ifthen.learn_offline(columns, terms=False, threads=1)
    assert (result.ruleset.best_actions(np.array([[0.0, x] for x in (-0.9, 0.0, 0.9)])) == 1).all()


def test_caution_keeps_to_what_the_log_does() -> None:
    # Nine of ten logged actions are the wrong one.
    log, draws = signs(), np.random.default_rng(3)
    best_actions = (log["observations"][:, 1] > 0.2).astype(int)
    log["actions"] = np.where(draws.random(len(best_actions)) < 0.9, 1 - best_actions, best_actions)
    log["rewards"] = (log["actions"] == best_actions).astype(float)
    bold, careful = (
        ifthen.learn_offline(log, terms=False, threads=1, caution=caution) for caution in (0, 100)
    )
    assert (bold.chosen.same < 0.2, careful.chosen.same > 0.8) == (True, True)
    assert bold.chosen.expected == pytest.approx(1.0, abs=0.15)
    assert careful.chosen.expected == pytest.approx(0.1, abs=0.15)
    assert any("not estimated to be better" in note for note in careful.notes) == (
        careful.chosen.expected <= careful.logged
    )


def test_a_rare_action_is_named() -> None:
    result = ifthen.learn_offline(signs(n_actions=3, shown=2), terms=False, threads=1)
    assert any("hardly ever takes action 2" in note for note in result.notes)


def test_estimates_begin_where_episodes_do() -> None:
    # Ten are paid at the first of fifty steps, nothing later, whatever is done.
    n, draws = 40, np.random.default_rng(4)
    log = {
        "observations": np.column_stack([np.tile(np.eye(50)[0], n), draws.uniform(size=50 * n)]),
        "actions": draws.integers(0, 2, 50 * n),
        "rewards": np.tile(np.eye(50)[0] * 10, n),
        "terminations": np.tile(np.eye(50)[49], n),
    }
    result = ifthen.learn_offline(log, terms=False, threads=1)
    assert result.logged == pytest.approx(10, abs=1)
    assert 6 <= result.n_starts <= 10


def test_parts_are_shares_of_the_steps() -> None:
    log = signs(1200)
    log["terminations"] = np.append(np.zeros(599), np.ones(601))  # half of the steps are one episode
    costing = ActionCosts(read_log(log).features, 2, 0, 0, 1)
    sizes = [sum(len(e.actions) for e in part) for part in parted(read_log(log), costing)]
    assert sum(sizes) == 1200
    assert sizes[0] >= 0.6 * 1200
    assert min(sizes) > 0


def test_results_do_not_depend_on_threads_but_on_the_seed() -> None:
    first, again, other = (
        ifthen.learn_offline(signs(), threads=threads, seed=seed)
        for threads, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert [p.score for p in first.front] == [p.score for p in again.front]
    assert [p.ruleset for p in first.front] == [p.ruleset for p in again.front]
    assert [e.expected for e in first.estimates] == [e.expected for e in again.estimates]
    assert [p.score for p in first.front] != [p.score for p in other.front]


def test_a_size_can_be_asked_for() -> None:
    result = ifthen.learn_offline(signs(), threads=1, rules=1)
    assert (len(result.ruleset), result.chosen.point) == (1, result.front.points[0])
    assert result.front.mark == "chosen"


def test_one_long_episode_is_learnt_from_in_pieces() -> None:
    log = signs()
    log["terminations"][:] = 0
    result = ifthen.learn_offline(log, terms=False, threads=1, gamma=0.0)
    assert result.n_starts == pytest.approx(10, abs=2)
    assert any("Estimates are means over" in note for note in result.notes)
    assert (len(result.ruleset), result.ruleset.tests) == (2, 1)


def test_what_cannot_be_learnt_is_refused() -> None:
    with pytest.raises(ParameterError, match="499 steps are too few to learn from: give at least 500"):
        ifthen.learn_offline(signs(499))
    with pytest.raises(ParameterError, match="gamma must be a number from 0 to"):
        ifthen.learn_offline(signs(), gamma=1.0)
    with pytest.raises(ParameterError, match="caution must be a number from 0"):
        ifthen.learn_offline(signs(), caution=-1)
    with pytest.raises(ParameterError, match="rules must be a whole number from 1"):
        ifthen.learn_offline("there is no such file", rules=0)
