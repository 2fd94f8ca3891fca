"""What an environment answers to `reset` and `step`, checked: its form, and that rewards are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ifthen.errors import TaskError


def reset_answer(answer: Any) -> Any:
    """Return the observation in what `reset` returned, or raise TaskError where that has another form."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise TaskError(f"reset must return an observation and a dictionary of infos, not {answer!r}.")
    return answer[0]


def step_answer(answer: Any) -> tuple[Any, float, bool, bool]:
    """Return observation, reward, terminated and truncated in what `step` returned, or raise TaskError."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 5:
        raise TaskError(
            f"step must return an observation, a reward, terminated, truncated and infos, not {answer!r}."
        )
    observation, reward, terminated, truncated, _ = answer
    return observation, reward_of(reward), bool(terminated), bool(truncated)


def reward_of(given: Any) -> float:
    """Return a reward as a number; raises TaskError for what is none, such as an array of one."""
    if isinstance(given, float):  # as most are
        return given
    try:
        if isinstance(given, (str, bytes)) or np.shape(given) != ():
            raise TypeError
        return float(given)
    except (TypeError, ValueError):
        raise TaskError(f"rewards must be single numbers, not {given!r}.") from None
