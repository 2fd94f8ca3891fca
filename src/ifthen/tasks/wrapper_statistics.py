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


def wrappers_with_statistics(env: Any) -> list[Any]:
    """Return the wrappers of an environment that learn statistics."""
    found = []
    while isinstance(env, gymnasium.Wrapper):
        if hasattr(env, "update_running_mean"):
            found.append(env)
        env = env.env
    return found


def statistics_of(env: Any) -> list[dict[str, Any]]:
    """Return what such wrappers have learnt, as plain data: their names, means and variances."""
    found = []
    for wrapper in wrappers_with_statistics(env):
        learnt = _running(wrapper)
        numbers = {name: np.ravel(getattr(learnt, name)).tolist() for name in ("mean", "var") if learnt}
        found.append({"wrapper": type(wrapper).__name__, "mean": [], "var": [], **numbers})
    return found


def restore_statistics(env: Any, statistics: Sequence[Mapping[str, Any]] = ()) -> None:
    """Stop such wrappers from learning, and give them what they had learnt, or raise where they differ."""
    found = wrappers_with_statistics(env)
    names, known = [type(wrapper).__name__ for wrapper in found], [own["wrapper"] for own in statistics]
    if known and names != known:
        raise TaskError(
            f"was learnt in the wrappers {', '.join(known)}, which learn statistics; this environment has "
            f"{', '.join(names) or 'none'}: wrap it in the same way."
        )
    for wrapper in found:
        wrapper.update_running_mean = False
    for wrapper, own in zip(found, statistics, strict=False):
        learnt = _running(wrapper)
        for name in ("mean", "var"):
            if learnt is not None and np.size(getattr(learnt, name)) == len(own[name]):
                now = np.asarray(getattr(learnt, name))
                setattr(learnt, name, np.array(own[name], dtype=now.dtype).reshape(now.shape))


def _running(wrapper: Any) -> Any:
    """Return the means and variances of a wrapper of Gymnasium's."""
    return getattr(wrapper, "obs_rms", None) or getattr(wrapper, "return_rms", None)
