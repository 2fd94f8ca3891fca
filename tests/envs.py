"""Small environments, and tasks of them: every kind of observation, and everything that can go wrong.

All are one walk on a line that chance disturbs: from its middle to an end, or until its time is over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ifthen.rules.batch import LIST, STRENGTH, RuleBatch
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import NULL_ACTION, RuleSet
from ifthen.rules.strength import StrengthRules
from ifthen.tasks.flatten import FlatSpace
from ifthen.tasks.gym_task import EnvTask
from tests.naive_envs import Individual, list_choice, strength_choice

WALK, ENDLESS = "ifthen_tests/Walk-v0", "ifthen_tests/EndlessWalk-v0"
HAYSTACK = "ifthen_tests/Haystack-v0"
CROWD = "ifthen_tests/Crowd-v0"
YARD, COMBINATION = "ifthen_tests/Yard-v0", "ifthen_tests/Combination-v0"
LIMIT = 30
KINDS: dict[str, spaces.Space[Any]] = {
    "box": spaces.Box(-np.inf, np.inf, (2,), np.float64),
    "integers": spaces.Box(-20, 20, (2,), np.int32),
    "state": spaces.Discrete(41, start=-20),
    "multi": spaces.MultiDiscrete([41, 2], start=[-20, 0]),
    "bits": spaces.MultiBinary((2, 2)),
    "tuple": spaces.Tuple((spaces.Discrete(41, start=-20), spaces.Box(-30, 30, (), np.float32))),
    "dict": spaces.Dict(
        {
            "walker": spaces.Dict(
                {"place": spaces.Box(-30, 30, (1,), np.float64), "far": spaces.Discrete(2)}
            ),
            "bits": spaces.MultiBinary(2),
        }
    ),
}


class Walk(gymnasium.Env[Any, Any]):
    """A walk that ends beyond ±5; the reward is the distance from the middle, negative.

    Args:
        kind: of observation, one of KINDS.
        start: the number of the first of three actions: left, stay, right.
        endless: whether it goes on beyond ±5, from the other side.
        wrong: what goes wrong at a step: "nan" or "infinite" (observations), "reward", "crash", "reset".
        wrong_at: the step; 0 is the reset.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(
        self, kind: str = "box", start: int = 0, endless: bool = False, wrong: str = "", wrong_at: int = 5
    ) -> None:
        self.observation_space = KINDS[kind]
        self.action_space = spaces.Discrete(3, start=start)
        self.first_action = start
        self.kind, self.endless, self.wrong, self.wrong_at = kind, endless, wrong, wrong_at
        self.place, self.time, self.over = 0.0, 0, True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        assert options is None, "lanes give no options"
        if self.wrong == "reset":
            raise RuntimeError("no way to begin")
        self.place, self.time, self.over = float(self.np_random.uniform(-1, 1)), 0, False
        return self.observation(), {"place": self.place}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert not self.over, "a step after the end"
        assert self.action_space.contains(action), f"no such action: {action}"
        if self.wrong == "crash" and self.time + 1 == self.wrong_at:
            raise RuntimeError("a wheel came off")
        self.time += 1
        self.place += int(action) - self.first_action - 1 + float(self.np_random.normal(0, 0.7))
        self.over = abs(self.place) > 5 and not self.endless
        if abs(self.place) > 5 and self.endless:
            self.place = -self.place / 5
        reward = -abs(self.place) + 0.1
        if self.wrong == "reward" and self.time == self.wrong_at:
            reward = np.inf
        return self.observation(), reward, self.over, False, {"place": self.place}

    def observation(self) -> Any:
        place, whole = self.place, int(np.clip(round(self.place), -20, 20))
        if self.time == self.wrong_at and self.wrong in ("nan", "infinite"):
            place = np.nan if self.wrong == "nan" else np.inf
        return {
            "box": np.array([place, self.time % 3], dtype=np.float64),
            "integers": np.array([whole, self.time % 3], dtype=np.int32),
            "state": whole,
            "multi": np.array([whole, self.time % 2]),
            "bits": np.array([[place > 0, place > 2], [place < -2, self.time % 2]], dtype=np.int8),
            "tuple": (whole, np.array(place, dtype=np.float32)),
            "dict": {
                "walker": {"place": np.array([place]), "far": int(abs(place) > 2)},
                "bits": np.array([place > 0, self.time % 2], dtype=np.int8),
            },
        }[self.kind]


class Haystack(gymnasium.Env[Any, Any]):
    """Two steps with 25 new numbers each, of which two matter: 1 for the sign of their sum, else 0."""

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it
    observation_space = spaces.Box(-1, 1, (25,), np.float64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.time, self.seen = 0, self.np_random.uniform(-1, 1, 25)
        return self.seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action == int(self.seen[3] + self.seen[17] > 0))
        self.time, self.seen = self.time + 1, self.np_random.uniform(-1, 1, 25)
        return self.seen, reward, self.time == 2, False, {}


class Crowd(gymnasium.Env[Any, Any]):
    """Of many numbers between -1 and 1, three tell which action is rewarded; there are five steps.

    Args:
        features: how many numbers, 3 at least.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(self, features: int = 200) -> None:
        self.observation_space = spaces.Box(-1, 1, (features,), np.float64)
        self.action_space = spaces.Discrete(3)
        self.first, self.second, self.third = 0, features // 2, features - 1
        self.time, self.seen = 0, np.zeros(features)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.time, self.seen = 0, self.np_random.uniform(-1, 1, len(self.seen))
        return self.seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        right = 2 if self.seen[self.first] > 0.3 else int(self.seen[self.second] > self.seen[self.third])
        self.time, self.seen = self.time + 1, self.np_random.uniform(-1, 1, len(self.seen))
        return self.seen, float(action == right), self.time == 5, False, {}


class Yard(gymnasium.Env[Any, Any]):
    """A yard of 4 × 4 cells with a pit: each step costs 1, the pit 20; the last corner ends an episode.

    The actions are up, down, left and right. One in ten goes astray.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it
    observation_space = spaces.MultiDiscrete([4, 4])
    action_space = spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.place = np.array([0, self.np_random.integers(4)])
        return self.place, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        goes = self.np_random.integers(4) if self.np_random.random() < 0.1 else action
        self.place = np.clip(self.place + [(-1, 0), (1, 0), (0, -1), (0, 1)][goes], 0, 3)
        in_pit = self.place.tolist() == [2, 1]
        return self.place, -20.0 if in_pit else -1.0, in_pit or self.place.tolist() == [3, 3], False, {}


class Combination(gymnasium.Env[Any, Any]):
    """Six steps with coins to see: 1 for the second action right after the first, which no coin shows."""

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it
    observation_space = spaces.MultiDiscrete([2])
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.time, self.before = 0, 1
        return self.np_random.integers(2, size=1), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action == 1 and self.before == 0)
        self.time, self.before = self.time + 1, int(action)
        return self.np_random.integers(2, size=1), reward, self.time == 6, False, {}


gymnasium.register(YARD, entry_point="tests.envs:Yard", max_episode_steps=40)
gymnasium.register(COMBINATION, entry_point="tests.envs:Combination", max_episode_steps=6)
gymnasium.register(WALK, entry_point="tests.envs:Walk", max_episode_steps=LIMIT)
gymnasium.register(ENDLESS, entry_point="tests.envs:Walk", kwargs={"endless": True})
gymnasium.register(HAYSTACK, entry_point="tests.envs:Haystack", max_episode_steps=2)
gymnasium.register(CROWD, entry_point="tests.envs:Crowd", max_episode_steps=5)


def task_of(environment: str = WALK, **given: Any) -> EnvTask:
    """Return a task of an environment; given are fields of the task, and options of the environment."""
    fields = {name: given.pop(name) for name in list(given) if name in EnvTask.__dataclass_fields__}
    made: Any = fields["factory"]() if "factory" in fields else gymnasium.make(environment, **given)
    leaves = FlatSpace.of(made.observation_space).leaves
    features = tuple(
        Feature(
            leaf.name,
            leaf.low if np.isfinite(leaf.low) else -5.0,
            leaf.high if np.isfinite(leaf.high) else 5.0,
            leaf.kind,
        )
        for leaf in leaves
    )
    names = tuple(f"a{i}" for i in range(int(made.action_space.n)))
    limit = made.spec.max_episode_steps if made.spec else None
    made.close()
    usual = {"episodes": 5, "t_max": limit or 50, "floor": -1e6}
    return EnvTask(environment, features, names, environment, options=given, **{**usual, **fields})


def random_lists(
    task: EnvTask,
    n: int,
    rules: int = 4,
    seed: int = 0,
    gaps: bool = True,
    default: int = NULL_ACTION,
    ragged: bool = False,
) -> RuleBatch:
    """Return n random decision lists; the last rule of every second one, or of all, matches everywhere.

    Where they are ragged, they have from 1 to `rules` rules. Behind them stand rules that must never be read:
    they match everywhere, and their action does not exist.
    """
    draws = np.random.default_rng(seed)
    lows, highs = task.ranges
    everywhere = np.stack([lows, highs], -1)
    bounds = lows[:, None] + draws.random((n, rules, len(lows), 2)) * (highs - lows)[:, None]
    wide = draws.random((n, rules, len(lows))) < 0.5
    bounds[wide] = np.broadcast_to(everywhere, bounds.shape)[wide]
    whole = np.array([feature.is_integer for feature in task.features])
    bounds[..., whole, :] = np.round(bounds[..., whole, :])
    actions = draws.integers(0, task.n_actions, (n, rules)).astype(np.int32)
    lengths = draws.integers(1, rules + 1, n) if ragged else np.full(n, rules, dtype=np.int64)
    for i in range(0, n, 2 if gaps else 1):
        bounds[i, lengths[i] - 1] = everywhere
    for i, length in enumerate(lengths):
        bounds[i, length:], actions[i, length:] = everywhere, task.n_actions + 7
    return RuleBatch(LIST, bounds, actions, np.zeros((n, rules, 0)), lengths, default=default)


def random_strengths(
    task: EnvTask, n: int, rules: int = 5, seed: int = 0, ties: bool = False, ragged: bool = False
) -> RuleBatch:
    """Return n random rulesets that choose by strength; with ties, all rules are equally strong."""
    lists = random_lists(task, n, rules, seed, ragged=ragged)
    learnt = np.random.default_rng(seed).normal(size=(n, rules, len(task.features) + 2))
    learnt[..., -1] **= 2
    learnt *= not ties
    for i, length in enumerate(lists.lengths):
        learnt[i, length:] = 1e9
    return lists._replace(how=STRENGTH, learnt=learnt, x0=2.5)


def individuals(task: EnvTask, rules: RuleBatch) -> list[Individual]:
    """Return the rulesets of a batch for the oracle, each with its own rules alone."""
    return [
        Individual(
            rules.bounds[i, :n],
            rules.actions[i, :n],
            rules.learnt[i, :n],
            task.features,
            rules.x0,
            rules.default,
        )
        for i, n in enumerate(rules.lengths)
    ]


def choosers(task: EnvTask, rules: RuleBatch) -> list[Callable[[Sequence[float]], int]]:
    """Return how the oracle chooses for each ruleset of a batch."""
    choose = list_choice if rules.how == LIST else strength_choice
    return [functools.partial(choose, each) for each in individuals(task, rules)]


def rulesets_of(task: EnvTask, rules: RuleBatch) -> list[RuleSet]:
    """Return the rulesets of a batch."""
    names = task.features, task.action_names
    found: list[RuleSet] = []
    for each in individuals(task, rules):
        if rules.how == LIST:
            found.append(DecisionList(each.bounds, each.actions, *names))
        else:
            learnt = each.learnt[:, :-1], each.learnt[:, -1]
            found.append(StrengthRules(each.bounds, each.actions, *names, *learnt, rules.x0))
    return found
