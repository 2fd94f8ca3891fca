"""FrozenLake: the maps, the environment with (x, y) observations, and the tasks that the paper makes of it.

The intended move happens with probability 1 − p_slip and each of the two perpendicular ones with
p_slip / 2; moving off the grid stays in place. Reward 1 on entering the goal, else 0; goal and holes
end the episode. x is the column and y the row, from the top left (paper, section "Results"). Letters of maps:
S start, F frozen, H hole, G goal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.envs.toy_text.frozen_lake import MAPS, FrozenLakeEnv, generate_random_map

from ifthen.checks import real_number, whole_number
from ifthen.environments.from_table import table_task
from ifthen.environments.known_environments import KnownEnvironment, KnownFeature
from ifthen.errors import TaskError
from ifthen.rules.arrays import Ints
from ifthen.tasks.table_checks import T_MAX_LIMIT
from ifthen.tasks.tabular_task import TabularTask

MAP_12 = (
    "SFFHFFFFFHFF",
    "HFFFHHFFFHFF",
    "FFHFHFFFFFFF",
    "FFFHFHFFHFFF",
    "FHFFFFHFHFFF",
    "FFFFFFFFFHFF",
    "FHFFFHFFFHFF",
    "FFFFFFFFFFHF",
    "FHFFFHFFFFFF",
    "FFFFFHFFFHFF",
    "FFFFHHFFHHFF",
    "FFFHFFFFHFFG",
)
PAPER_MAPS = {4: tuple(MAPS["4x4"]), 8: tuple(MAPS["8x8"]), 12: MAP_12}
SIZE_LIMIT = 256
PAPER_SLIPS = (0.0, 0.1, 0.3, 0.5)
PAPER_TASKS = tuple(f"FrozenLake-{size}-{slip:g}" for size in PAPER_MAPS for slip in PAPER_SLIPS)
PAPER_RULES = {4: 7, 8: 21, 12: 42}
"""Rules per ruleset that the paper gives FrozenLakes of these sizes."""
STEPS_PER_ROW = 37.5  # 150, 300 and 450 steps for the paper's sizes 4, 8 and 12
NAME = re.compile(r"FrozenLake-(\d{1,4})-(\d+(?:\.\d+)?)(?:-map(\d{1,18}))?")


class FrozenLake(KnownEnvironment):
    """FrozenLake, Gymnasium's own and ours, observed as column x and row y."""

    of_class = "gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv"
    ids = ("FrozenLake-v1", "FrozenLake8x8-v1")
    task_names = PAPER_TASKS
    is_table = True
    features = (KnownFeature("x"), KnownFeature("y"))
    actions = ("Left", "Down", "Right", "Up")

    @staticmethod
    def decode(env: Any, state: int) -> tuple[int, int]:
        """Return column and row of a state."""
        return state % env.ncol, state // env.ncol

    @staticmethod
    def layout(env: Any) -> tuple[str, ...]:
        """Return the map, one text per row."""
        return tuple(b"".join(row).decode() for row in np.asarray(env.desc))

    @staticmethod
    def preset(env: Any) -> dict[str, int]:
        """Return the paper's ruleset size for its sizes of maps."""
        side = max(env.nrow, env.ncol)
        return {"idv_size": PAPER_RULES[side]} if side in PAPER_RULES else {}

    @staticmethod
    def settings_named(name: str) -> dict[str, Any] | None:
        """Return the arguments of `frozen_lake` that a name stands for; None if it is no such name."""
        match = NAME.fullmatch(name)
        if match is None:
            return None
        size, slip, seed = match.groups()
        return {"size": int(size), "p_slip": float(slip)} | ({} if seed is None else {"map_seed": int(seed)})

    @staticmethod
    def task_named(name: str) -> TabularTask | None:
        """Return the task called FrozenLake-SIZE-SLIP or FrozenLake-SIZE-SLIP-mapSEED."""
        settings = FrozenLake.settings_named(name)
        return None if settings is None else frozen_lake(**settings)


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

    def _observe(self, state: int) -> Ints:
        return np.array([state % self.ncol, state // self.ncol], dtype=np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Ints, dict[str, Any]]:
        """Start an episode; return (x, y) and Gymnasium's info."""
        state, info = super().reset(seed=seed, options=options)
        self._steps = 0
        return self._observe(state), info

    def step(self, a: int) -> tuple[Ints, float, bool, bool, dict[str, Any]]:
        """Take action `a`; return (x, y), reward, terminated, truncated and Gymnasium's info."""
        if not 0 <= int(a) < len(FrozenLake.actions):
            names = ", ".join(f"{name} {number}" for number, name in enumerate(FrozenLake.actions))
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
    task = table_task(
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


def choose_map(size: int | None, desc: Sequence[str] | None, map_seed: int | None) -> tuple[str, ...]:
    """Return the map the user asked for: their own, a random one, or the paper's of that size."""
    if desc is not None:
        if map_seed is not None:
            raise TaskError("give desc= or map_seed=, not both.")
        rows = checked_map(desc)
        if size is not None and size not in (len(rows), len(rows[0])):
            raise TaskError(f"size is {size}, but the map has {len(rows)} rows of {len(rows[0])}.")
        return rows
    size = whole_number("size", size, 2, SIZE_LIMIT, TaskError)
    if map_seed is not None:
        seed = whole_number("map_seed", map_seed, 0, 2**63 - 1, TaskError)
        return checked_map(generate_random_map(size, seed=seed))
    if size not in PAPER_MAPS:
        raise TaskError(
            f"there is a built-in map for sizes {', '.join(map(str, PAPER_MAPS))}, not for {size}. "
            f"Give map_seed=0 (on the command line FrozenLake-{size}-SLIP-map0) for a random map, "
            "or desc=[…] for your own."
        )
    return PAPER_MAPS[size]


def checked_map(desc: Sequence[str]) -> tuple[str, ...]:
    """Return a map as a tuple of rows, or raise if no one could play on it."""
    if not isinstance(desc, (list, tuple)) or not all(isinstance(row, str) for row in desc):
        raise TaskError("a map must be a list of texts, one per row, such as ['SF', 'FG'].")
    rows = tuple(desc)
    if not rows or not rows[0]:
        raise TaskError("a map must have at least one row and one column.")
    if len({len(row) for row in rows}) != 1:
        raise TaskError(f"all rows of a map must have the same length, not {[len(row) for row in rows]}.")
    if len(rows) > SIZE_LIMIT or len(rows[0]) > SIZE_LIMIT:
        raise TaskError(f"a map may have at most {SIZE_LIMIT} rows and columns.")
    letters = set("".join(rows))
    if letters - set("SFHG"):
        raise TaskError(
            f"a map may hold S (start), F (frozen), H (hole) and G (goal), "
            f"not {', '.join(repr(letter) for letter in sorted(letters - set('SFHG')))}."
        )
    for letter, meaning in (("S", "start"), ("G", "goal")):
        if letter not in letters:
            raise TaskError(f"the map has no {meaning}: put {letter!r} in one cell.")
    _check_paths(rows)
    return rows


def _check_paths(rows: tuple[str, ...]) -> None:
    """Raise if from some start no goal can be reached."""
    cells = {(x, y): letter for y, row in enumerate(rows) for x, letter in enumerate(row)}
    reaching = {cell for cell, letter in cells.items() if letter == "G"}
    frontier = list(reaching)
    while frontier:
        x, y = frontier.pop()
        for cell in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)):
            if cells.get(cell, "H") in "SF" and cell not in reaching:
                reaching.add(cell)
                frontier.append(cell)
    for cell, letter in cells.items():
        if letter == "S" and cell not in reaching:
            raise TaskError(
                f"there is no path from the start at x = {cell[0]}, y = {cell[1]} to a goal: "
                "turn some holes (H) into frozen cells (F)."
            )
