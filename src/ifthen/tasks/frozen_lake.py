"""FrozenLake with (x, y) observations: the environment, and the task the paper makes of it.

The intended move happens with probability 1 − p_slip and each of the two perpendicular ones with
p_slip / 2; moving off the grid stays in place. Reward 1 on entering the goal, else 0; goal and holes
end the episode. x is the column and y the row, from the top left (paper, section "Results").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from numpy.typing import NDArray

from ifthen.checks import real_number, whole_number
from ifthen.errors import TaskError
from ifthen.tasks.checked import T_MAX_LIMIT
from ifthen.tasks.from_env import FROZEN_LAKE_ACTIONS, task_from_env
from ifthen.tasks.maps import PAPER_MAPS, choose_map
from ifthen.tasks.tabular import TabularTask

PAPER_SLIPS = (0.0, 0.1, 0.3, 0.5)
STEPS_PER_ROW = 37.5  # 150, 300 and 450 steps for the paper's sizes 4, 8 and 12


class FrozenLakeXY(FrozenLakeEnv):
    """Gymnasium's FrozenLake, observed as (x, y), with slip probability and time limit as arguments.

    Args:
        size: side of the paper's map (4, 8 or 12), or of a random one.
        p_slip: probability of slipping to one of the two perpendicular directions.
        desc: a map of your own, one text per row.
        map_seed: seed of a random map of the given size.
        t_max: steps until truncation; 37.5 per row where none is given.
        random_start: start in a random frozen cell rather than at S.
        render_mode: "ansi", "rgb_array" or "human", as in Gymnasium.
    """

    def __init__(
        self,
        size: int | None = None,
        p_slip: float = 0.0,
        desc: Sequence[str] | None = None,
        map_seed: int | None = None,
        t_max: int | None = None,
        random_start: bool = False,
        render_mode: str | None = None,
    ) -> None:
        rows = choose_map(4 if size is None and desc is None else size, desc, map_seed)
        self.p_slip = real_number("p_slip", p_slip, 0, 1, TaskError)
        cells: Any = [list(row) for row in rows]
        super().__init__(render_mode=render_mode, desc=cells, success_rate=1 - self.p_slip)
        if t_max is not None:
            t_max = whole_number("t_max", t_max, 1, T_MAX_LIMIT, TaskError)
        self.t_max = t_max if t_max is not None else round(STEPS_PER_ROW * max(len(rows), len(rows[0])))
        self.observation_space = spaces.MultiDiscrete([self.ncol, self.nrow])
        self.frozen_cells = np.flatnonzero(np.isin(list("".join(rows)), ["S", "F"]))
        if random_start:
            self.initial_state_distrib = np.zeros(self.nrow * self.ncol)
            self.initial_state_distrib[self.frozen_cells] = 1 / len(self.frozen_cells)
        self._steps = 0

    def _observe(self, state: int) -> NDArray[np.int64]:
        return np.array([state % self.ncol, state // self.ncol], dtype=np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Start an episode; return (x, y) and Gymnasium's info."""
        state, info = super().reset(seed=seed, options=options)
        self._steps = 0
        return self._observe(state), info

    def step(self, a: int) -> tuple[NDArray[np.int64], float, bool, bool, dict[str, Any]]:
        """Take action `a`; return (x, y), reward, terminated, truncated and Gymnasium's info."""
        if not 0 <= int(a) < len(FROZEN_LAKE_ACTIONS):
            names = ", ".join(f"{name} {number}" for number, name in enumerate(FROZEN_LAKE_ACTIONS))
            raise TaskError(
                f"the actions are {names}, not {a!r}. A ruleset answers -1 where none of its rules matches."
            )
        state, reward, terminated, _, info = super().step(int(a))  # type: ignore[no-untyped-call]  # Gymnasium's
        self._steps += 1
        truncated = not terminated and self._steps >= self.t_max
        return self._observe(state), float(reward), terminated, truncated, info


def frozen_lake(
    size: int | None = None,
    p_slip: float = 0.0,
    *,
    desc: Sequence[str] | None = None,
    map_seed: int | None = None,
    gamma: float = 0.95,
    t_max: int | None = None,
    enumerations: int | None = None,
    noise_seed: int = 0,
    name: str | None = None,
) -> TabularTask:
    """Build a FrozenLake task: reach the goal from every frozen cell.

    Args:
        size: 4, 8 or 12 for the paper's maps; any size together with `map_seed`.
        p_slip: probability of slipping to one of the two perpendicular directions.
        desc: a map of your own, one text per row, of S (start), F (frozen), H (hole), G (goal).
        map_seed: seed of a random map of the given size.
        gamma: the discount factor.
        t_max: steps until truncation; 37.5 per row (the paper's 150, 300, 450) where none is given.
        enumerations: how many times z runs through all frozen cells; 1 where p_slip is 0, else 30.
        noise_seed: seed of the common random numbers of z.
        name: the task's name; made from size, slip and map where none is given.
    """
    env = FrozenLakeXY(size, p_slip, desc, map_seed, t_max)
    rows = max(env.nrow, env.ncol)
    kind = f"-map{map_seed}" if map_seed is not None else "-own" if desc is not None else ""
    task = task_from_env(
        env,
        name=name or f"FrozenLake-{rows}-{repr(env.p_slip).removesuffix('.0')}{kind}",
        initial_states=env.frozen_cells,
        enumerations=enumerations,
        gamma=gamma,
        t_max=env.t_max,
        noise_seed=noise_seed,
    )
    origin = {"environment": "ifthen/FrozenLake-v0", "p_slip": env.p_slip, "map_seed": map_seed}
    return replace(task, origin=origin, observes="features")


def paper_suite() -> list[TabularTask]:
    """Return the paper's twelve tasks: sizes 4, 8, 12 with slip probabilities 0, 0.1, 0.3, 0.5."""
    return [frozen_lake(size, p_slip) for size in PAPER_MAPS for p_slip in PAPER_SLIPS]
