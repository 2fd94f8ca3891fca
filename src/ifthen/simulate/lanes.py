"""Vector environments as lanes: episodes side by side, each begun from its own reset seed.

Gymnasium's vector environments reset a lane by themselves after its episode, with random numbers of their
own. Here every episode begins from the reset seed that it was given, whenever a lane is free for it, so that
it is a function of the policy and the seed alone. Environments that do not begin the same way from the same
seed, or that remember earlier episodes, cannot be helped: their scores depend on what was played before.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from ifthen.errors import TaskError
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.tasks.disturbance import commanded, first_memory, sense, true_points
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.probe import checked_reset, checked_step

MOST_LANES = 64
"""Environments in Python take far longer for a step than what is done once for all lanes."""

Step = tuple[Floats, Floats, Mask, Mask]
"""Points `(m, features)`, rewards `(m,)`, terminated `(m,)` and truncated `(m,)`."""


class Lane(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that can rest: action -1, and a reset without a seed, leave it as it is.

    Its observations are rows of numbers `(features,)`, checked and of the types that their space says.
    """

    def __init__(self, task: EnvTask) -> None:
        super().__init__(task.make(disable_env_checker=True))  # which slows all and warns once per lane
        self._name, self._first_action = task.name, task.action_start
        self._features, self._disturbances = task.features, task.disturbances
        self.memory: Floats | None = None
        """What disturbances remember; None where there are none."""
        try:
            self._flat, first_action = task.spaces_of(self.env)
        except TaskError:
            self.env.close()
            raise
        if (self._flat.parts, first_action) != (task.flat.parts, self._first_action):
            self.env.close()
            raise TaskError(
                f"environments of one task must have the same spaces, but one of {task.name} observes "
                f"{self.env.observation_space}, another something else."
            )
        self.observation_space = Box(-np.inf, np.inf, (len(task.features),), np.float64)
        self.reset_seed: int | None = None
        self.steps = 0
        self._point: Floats | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        if seed is not None or self._point is None:
            self.reset_seed, self.steps = seed, 0
            try:
                answer = self.env.reset(seed=seed)
            except (Exception, SystemExit) as problem:
                raise self._error("reset", problem) from problem
            try:
                self._point = self._flat.row(checked_reset(answer))
            except TaskError as problem:
                raise self._refusal(problem) from None
            if self._disturbances:
                self.memory = first_memory(self._disturbances, self._features, seed or 0)
                sense(self.memory, self._point)
        return self._point, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step by an action counted from 0; infos are left out, as gathering them takes time."""
        if action < 0:
            return self._point, 0.0, False, False, {}
        self.steps += 1
        if self.memory is not None:
            action = commanded(self.memory, int(action))
        try:  # Discrete spaces know a plain int at once, a number of NumPy's only after a while
            answer = self.env.step(int(action) + self._first_action)
        except (Exception, SystemExit) as problem:
            raise self._error("step", problem) from problem
        try:
            observation, reward, terminated, truncated = checked_step(answer)
            self._point = self._flat.row(observation)
        except TaskError as problem:
            raise self._refusal(problem) from None
        if self.memory is not None:
            sense(self.memory, self._point)
        return self._point, reward, terminated, truncated, {}

    def _error(self, method: str, problem: BaseException) -> TaskError:
        return TaskError(
            f"{self._name} raised {type(problem).__name__} in {method} (step {self.steps} of the episode "
            f"with reset seed {self.reset_seed}): {problem}"
        )

    def _refusal(self, problem: TaskError) -> TaskError:
        return TaskError(
            f"{self._name} at step {self.steps} of the episode with reset seed {self.reset_seed}: {problem}"
        )


class Lanes:
    """Lanes of any environment, stepped one after the other by `SyncVectorEnv`; made once and used again."""

    def __init__(self, task: EnvTask) -> None:
        self._task = task
        self.limit = task.lanes or MOST_LANES
        """The most lanes to have."""
        self._environments: list[Lane] = []
        self._vector: Any = None
        self._positions = np.arange(0)

    def open(self, lanes: int) -> None:
        """Have lanes ready."""
        while len(self._environments) < lanes:
            self._environments.append(Lane(self._task))
        if self._vector is None or self._vector.num_envs != lanes:
            makers = [lambda env=lane: env for lane in self._environments[:lanes]]
            try:
                self._vector = SyncVectorEnv(makers, copy=False, autoreset_mode=AutoresetMode.DISABLED)
            except RuntimeError as problem:
                raise TaskError(f"environments of one task must have the same spaces: {problem}") from None
        self._positions = np.arange(lanes)

    def start(self, lanes: Ints, seeds: Ints) -> Floats:
        """Begin episodes."""
        positions = self._positions[lanes]
        all_seeds: list[int | None] = [None] * self._vector.num_envs
        for position, seed in zip(positions, seeds, strict=True):
            all_seeds[position] = int(seed)
        observations = self._reset(positions, all_seeds)
        rows: Floats = observations[positions]
        return rows

    def step(self, actions: Ints) -> Step:
        """Take a step."""
        positions, n = self._positions, self._vector.num_envs
        all_actions = np.full(n, -1)
        all_actions[positions] = actions
        observations, rewards, terminated, truncated, _ = self._vector.step(all_actions)
        return observations[positions], rewards[positions], terminated[positions], truncated[positions]

    def true_points(self) -> Floats | None:
        """Return what the environments show, `(m, features)`; None without disturbances."""
        if not self._task.disturbances:
            return None
        memories = [self._environments[position].memory for position in self._positions]
        return true_points(np.array(memories), len(self._task.features))

    def rest(self, lanes: Ints) -> None:
        """Let lanes rest: `SyncVectorEnv` wants a reset after an episode, which the lane then leaves out."""
        self._reset(self._positions[lanes], [None] * self._vector.num_envs)

    def keep(self, lanes: Ints) -> None:
        """Go on with these lanes alone; the others rest, which takes next to no time."""
        self._positions = self._positions[lanes]

    def _reset(self, positions: Ints, seeds: list[int | None]) -> Any:
        mask = np.zeros(self._vector.num_envs, dtype=np.bool_)
        mask[positions] = True
        return self._vector.reset(seed=seeds, options={"reset_mask": mask})[0]

    def close(self) -> None:
        """Close the environments."""
        for lane in self._environments:
            lane.close()
        self._environments.clear()
        self._vector = None
