"""XCS: what is left to the task, what cannot be, and mazes whose optima were published."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ifthen import XCS, XCSF, evaluate
from ifthen.errors import ParameterError


def test_what_is_left_to_the_task_is_filled_in() -> None:
    woods = XCS("Woods1-bits").parameters
    assert (woods.epsilon_0, woods.mutation, woods.prediction) == (1.0, "niche", "constant")
    assert XCS("FrozenLake-4-0").parameters.epsilon_0 == 0.001
    assert XCS("CartPole-v1").parameters.mutation == "shift"  # real features have no single values
    assert XCSF("Woods1-bits").parameters.mutation == "shift"


@pytest.mark.parametrize(
    ("system", "task", "given", "message"),
    [
        (XCSF, "FrozenLake-4-0", {"gradient": True}, "gradient=True is for prediction='constant'"),
        (XCS, "Woods1-bits", {"prediction": "rls"}, "prediction: .* 'constant'"),
        (XCS, "Woods1-bits", {"eta": 0.3, "delta_rls": 1.0}, "delta_rls and eta would have no effect"),
        (XCS, "CartPole-v1", {"mutation": "niche"}, "is for integer features, and cart position"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    system: Any, task: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        system(task, **given)


@pytest.mark.parametrize(
    ("name", "optimum", "given"),
    [
        ("Woods1-bits", 1.6875, {}),
        ("Maze4-bits", 3.5, {"gradient": True, "selection": "tournament"}),
    ],
)
def test_mazes_are_solved_to_the_published_optimum(name: str, optimum: float, given: dict[str, Any]) -> None:
    system = XCS(name, seed=0, threads=1, pop_limit=800, **given).learn(episodes=3000)
    assert evaluate(system.ruleset, system.task).mean_steps == pytest.approx(optimum)


def test_conditions_over_bits_are_ternary_and_predictions_are_numbers() -> None:
    rules = XCS("Woods1-bits", seed=1, threads=1, pop_limit=400).learn(episodes=300).ruleset
    ends = {tuple(pair) for pair in np.sort(rules.bounds, axis=2).reshape(-1, 2).tolist()}
    assert ends == {(0, 0), (1, 1), (0, 1)}
    assert (rules.weights[:, 1:] == 0).all()
    assert (rules.weights[:, 0] != 0).any()
