"""Wrappers that learn statistics over episodes, as NormalizeObservation does.

A policy that is measured twice must see the same numbers. So a task keeps such statistics as they were when
it was made, and stops the wrappers from learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from ifthen.errors import TaskError
from ifthen.tasks.env_like import AnyEnv


def wrappers_with_statistics(env: AnyEnv) -> list[Any]:
    """Return the wrappers of an environment that learn statistics."""
    wrappers = []
    while isinstance(env, gymnasium.Wrapper):
        if hasattr(env, "update_running_mean"):
            wrappers.append(env)
        env = env.env
    return wrappers


def statistics_of(env: AnyEnv) -> list[dict[str, Any]]:
    """Return what such wrappers have learnt, as plain data: their names, means and variances."""
    statistics = []
    for wrapper in wrappers_with_statistics(env):
        running = _running(wrapper)
        numbers = {name: np.ravel(getattr(running, name)).tolist() for name in ("mean", "var") if running}
        statistics.append({"wrapper": type(wrapper).__name__, "mean": [], "var": [], **numbers})
    return statistics


def restore_statistics(env: AnyEnv, statistics: Sequence[Mapping[str, Any]] = ()) -> None:
    """Stop such wrappers from learning, and give them what they had learnt, or raise where they differ."""
    wrappers = wrappers_with_statistics(env)
    names, saved_names = (
        [type(wrapper).__name__ for wrapper in wrappers],
        [saved["wrapper"] for saved in statistics],
    )
    if saved_names and names != saved_names:
        raise TaskError(
            f"was learnt in the wrappers {', '.join(saved_names)}, which learn statistics; this "
            f"environment has {', '.join(names) or 'none'}: wrap it in the same way."
        )
    for wrapper in wrappers:
        wrapper.update_running_mean = False
    for wrapper, saved in zip(wrappers, statistics, strict=False):
        running = _running(wrapper)
        for name in ("mean", "var"):
            if running is not None and np.size(getattr(running, name)) == len(saved[name]):
                current = np.asarray(getattr(running, name))
                setattr(running, name, np.array(saved[name], dtype=current.dtype).reshape(current.shape))


def _running(wrapper: Any) -> Any:
    """Return the means and variances of a wrapper of Gymnasium's."""
    return getattr(wrapper, "obs_rms", None) or getattr(wrapper, "return_rms", None)
