"""Environments from other people's packages, registered as a user would do it: one line each.

`ifthen train PPL-DL stranger_envs:Strangers/Highway-v0` imports this file and takes the environment. Packages
are imported when an environment is made, so that one that is not installed does not stop the others.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TransformReward


def make_env(package: str, environment: str, **options: Any) -> Any:
    """Import a package and make one of its environments."""
    module: Any = importlib.import_module(package)
    if package == "minatar.gym" and "MinAtar/Breakout-v1" not in gymnasium.registry:
        module.register_envs()
    if package == "ale_py":
        gymnasium.register_envs(module)
    return gymnasium.make(environment, **options)


def weighted(package: str, environment: str, weights: list[float]) -> Any:
    """Make an environment whose reward is several numbers, and add them up."""
    return TransformReward(
        make_env(package, environment), lambda reward: float(np.asarray(reward) @ np.array(weights))
    )


def remembering() -> Any:
    """Make a memory task that observes its last action too: a Tuple."""
    wrappers: Any = importlib.import_module("popgym.wrappers")
    return wrappers.PreviousAction(make_env("popgym", "popgym-RepeatPreviousEasy-v0").unwrapped)


def crossing() -> Any:
    """Make a crossing of the traffic simulator SUMO inside this process, which can hold only one."""
    sumo: Any = importlib.import_module("sumo")
    os.environ.setdefault("SUMO_HOME", sumo.SUMO_HOME)
    os.environ.setdefault("LIBSUMO_AS_TRACI", "1")
    package: Any = importlib.import_module("sumo_rl")
    roads = Path(package.__file__).parent / "nets" / "2way-single-intersection"
    return gymnasium.make(
        "sumo-rl-v0",
        net_file=str(roads / "single-intersection.net.xml"),
        route_file=str(roads / "single-intersection-vhvh.rou.xml"),
        single_agent=True,
        num_seconds=500,
        sumo_warnings=False,
    )


ENVIRONMENTS: dict[str, tuple[Any, dict[str, Any], int]] = {
    "Empty": (make_env, {"package": "minigrid", "environment": "MiniGrid-Empty-5x5-v0"}, 100),
    "LavaGap": (make_env, {"package": "minigrid", "environment": "MiniGrid-LavaGapS5-v0"}, 100),
    "Breakout": (make_env, {"package": "minatar.gym", "environment": "MinAtar/Breakout-v1"}, 500),
    "Freeway": (make_env, {"package": "minatar.gym", "environment": "MinAtar/Freeway-v1"}, 300),
    "WeightedCar": (
        weighted,
        {"package": "mo_gymnasium", "environment": "mo-mountaincar-v0", "weights": [1.0, 0.1, 0.1]},
        200,
    ),
    "Highway": (make_env, {"package": "highway_env", "environment": "highway-fast-v0"}, 30),
    "AtariMemory": (
        make_env,
        {"package": "ale_py", "environment": "ALE/Breakout-v5", "obs_type": "ram"},
        300,
    ),
    "Bird": (
        make_env,
        {"package": "flappy_bird_gymnasium", "environment": "FlappyBird-v0", "use_lidar": False},
        500,
    ),
    "Memory": (remembering, {}, 100),
    "Stocks": (make_env, {"package": "gym_anytrading", "environment": "stocks-v0"}, 500),
    "Tetris": (
        make_env,
        {"package": "tetris_gymnasium.envs", "environment": "tetris_gymnasium/Tetris"},
        200,
    ),
    "Crossing": (crossing, {}, 1000),
    # These are to be refused, with what to do about it.
    "AtariPixels": (make_env, {"package": "ale_py", "environment": "ALE/Breakout-v5"}, 300),
    "Treasure": (make_env, {"package": "mo_gymnasium", "environment": "deep-sea-treasure-v0"}, 100),
    "TwoAgents": (make_env, {"package": "lbforaging", "environment": "Foraging-5x5-2p-1f-v3"}, 100),
}
for name, (entry_point, options, steps) in ENVIRONMENTS.items():
    gymnasium.register(
        f"Strangers/{name}-v0", entry_point=entry_point, kwargs=options, max_episode_steps=steps
    )
