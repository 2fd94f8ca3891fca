"""PPL-X beside Stable-Baselines3's PPO and DQN, all with their defaults, on one core.

    python benchmarks/beside_sb3.py                                     # four environments, one seed
    python benchmarks/beside_sb3.py LunarLander-v3 --seeds 3
    python benchmarks/beside_sb3.py --module my_envs MyEnv-v0           # after importing my_envs
    python benchmarks/beside_sb3.py Bird-v0 --learners PPO --steps 50000  # a shorter plan of PPL-X

PPL-X goes through its plan first. PPO and DQN then get as many seconds. All are played on 100 test seeds:
PPL-X's list after its plan, the others' policies at the end of that time, without random actions. The goal is
a share of what PPL-X's list gains over random actions (0.95); printed are the seconds and steps after which
each one first reached it on 20 validation seeds, which it is tried on twenty times on the way. Time of trying
is not counted, nor PPL-X's compilation. It needs stable-baselines3 (pip install '.[sb3]').
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import ifthen
from ifthen.tasks.gym_task import EnvTask

ENVIRONMENTS = ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "LunarLander-v3")
TESTED_ON, TRIED_ON, TIMES, GOAL = 100, 20, 20, 0.95


class Moment(NamedTuple):
    """What a learner got on validation seeds after some seconds and steps."""

    seconds: float
    steps: int
    score: float


def ppl_x(task: EnvTask, seed: int, steps: int | None) -> tuple[list[Moment], float, str]:
    """Return how PPL-X's lists did on the way, their mean return on test seeds, and their size."""
    ifthen.PPLX("CartPole-v1", seed=seed, threads=1, steps=2000).learn()  # compiles
    system, moments, taken = ifthen.PPLX(task, seed=seed, threads=1, steps=steps), list[Moment](), 0.0
    own = None
    seeds = task.validation[:TRIED_ON]
    while own is None or system.epoch < system.default_epochs:
        began = time.process_time()
        system.learn(epochs=1)
        taken += time.process_time() - began
        if own is None or system.ruleset != own:
            own, score = system.ruleset, ifthen.evaluate(system.ruleset, task, seeds=seeds).performance
        moments.append(Moment(taken, system.num_timesteps, score))
    played = ifthen.evaluate(system, task, seeds=task.test_seeds(TESTED_ON)).performance
    return moments, played, f"{len(system.ruleset)} rules, {system.ruleset.tests} tests"


def played(policy: Callable[[Any], Any], name: str, seeds: Any) -> float:
    """Return the mean return of a policy from reset seeds."""
    env, returns = gymnasium.make(name), []
    for seed in seeds:
        observation, _ = env.reset(seed=int(seed))
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(policy(observation))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def random_return(name: str, task: EnvTask) -> float:
    """Return the mean return of random actions."""
    space = gymnasium.make(name).action_space
    space.seed(0)
    return played(lambda _: space.sample(), name, task.validation[:TRIED_ON])


def baseline(kind: str, name: str, task: EnvTask, seed: int, seconds: float) -> tuple[list[Moment], float]:
    """Return how a learner of Stable-Baselines3 did on the way, and its mean return on test seeds."""
    sb3: Any = importlib.import_module("stable_baselines3")
    base: Any = importlib.import_module("stable_baselines3.common.callbacks").BaseCallback
    importlib.import_module("torch").set_num_threads(1)
    model = getattr(sb3, kind)("MlpPolicy", gymnasium.make(name), seed=seed, device="cpu")
    moments, state = list[Moment](), {"taken": 0.0, "began": time.process_time(), "next": seconds / TIMES}

    def act(observation: Any) -> Any:
        action, _ = model.predict(observation, deterministic=True)
        return int(action)

    class Watch(base):  # type: ignore[misc]  # its type is not known where SB3 is not installed
        def _on_step(self) -> bool:
            taken = state["taken"] + time.process_time() - state["began"]
            if taken < state["next"]:
                return True
            score = played(act, name, task.validation[:TRIED_ON])
            moments.append(Moment(taken, int(self.num_timesteps), score))
            state.update(taken=taken, began=time.process_time(), next=taken + seconds / TIMES)
            return bool(taken < seconds)

    model.learn(10**9, callback=Watch())
    return moments, played(act, name, task.test_seeds(TESTED_ON))


def line(start: str, moments: list[Moment], got: float, goal: float, note: str = "") -> str:
    """Return a row of the table."""
    last = moments[-1]
    reached = next((own for own in moments if own.score >= goal), None)
    when = "not reached" if reached is None else f"after {reached.seconds:6.1f} s, {reached.steps:9,} steps"
    return (
        f"{start:26} {got:9.2f}  goal {goal:8.2f} {when:34}  "
        f"in all {last.seconds:6.1f} s, {last.steps:10,} steps  {note}"
    )


def main() -> None:
    """Print a row for each environment, seed and learner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("environments", nargs="*", default=ENVIRONMENTS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--learners", nargs="*", default=("PPO", "DQN"), choices=("PPO", "DQN", "A2C"))
    parser.add_argument("--steps", type=int, help="the steps of PPL-X's plan, in place of its default")
    parser.add_argument("--module", help="a module that registers the environments")
    own = parser.parse_args()
    if own.module:
        importlib.import_module(own.module)
    for name in own.environments:
        task = ifthen.env_task(name)
        chance = random_return(name, task)
        for seed in range(own.seeds):
            moments, got, size = ppl_x(task, seed, own.steps)
            goal = chance + GOAL * (got - chance)
            print(line(f"{name} {seed} PPL-X", moments, got, goal, size), flush=True)
            for kind in own.learners:
                others, score = baseline(kind, name, task, seed, moments[-1].seconds)
                print(line(f"{name} {seed} {kind}", others, score, goal), flush=True)


if __name__ == "__main__":
    main()
