"""PPL-X beside Stable-Baselines3's PPO and DQN, all with their defaults, on one core.

    python benchmarks/beside_sb3.py                                     # four environments, one seed
    python benchmarks/beside_sb3.py LunarLander-v3 --seeds 3
    python benchmarks/beside_sb3.py --module my_envs MyEnv-v0           # after importing my_envs
    python benchmarks/beside_sb3.py Bird-v0 --learners PPO --steps 50000  # a shorter plan of PPL-X
    python benchmarks/beside_sb3.py --seeds 0                           # the table of what is there

PPL-X goes through its plan first. PPO and DQN then get as many seconds. All are played on 100 test seeds:
PPL-X's list after its plan, the others' policies at the end of that time, without random actions. The goal is
a share of what PPL-X's list gains over random actions (0.95); printed are the seconds and steps after which
each one first reached it on 20 validation seeds, which it is tried on twenty times on the way. Time of trying
is not counted, nor PPL-X's compilation. Seconds are those of the processor, also where PPL-X measures how
many steps its plan may have, so that other work on the machine changes nothing. Where an environment observes
several things, PPO and DQN get the numbers that PPL-X gets. Every training is kept in results/beside-sb3 at
once, so that a run that was stopped goes on where it was. It needs stable-baselines3 (pip install '.[sb3]').
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import gymnasium
import numpy as np
from rows import Row, Rows

import ifthen
from ifthen.systems.pplx import first_steps
from ifthen.tasks.gym_task import EnvTask

ENVIRONMENTS = ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "LunarLander-v3")
TESTED_ON, TRIED_ON, TIMES, GOAL = 100, 20, 20, 0.95
RESULTS = Path(__file__).parent.parent / "results" / "beside-sb3"
KEYS = "environment", "plan", "seed", "learner"
MEASURES = "score", "chance", "goal", "seconds", "steps", "goal_seconds", "goal_steps", "rules", "tests"
OWN = "PPL-X"
CLOCK = SimpleNamespace(perf_counter=time.process_time)


class Moment(NamedTuple):
    """What a learner got on validation seeds after some seconds and steps."""

    seconds: float
    steps: int
    score: float


class Features(gymnasium.ObservationWrapper[Any, Any, Any]):
    """The numbers that rules see, in place of an observation of several things."""

    def __init__(self, env: gymnasium.Env[Any, Any], task: EnvTask) -> None:
        super().__init__(env)
        self.task = task
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(task.features),), np.float32)

    def observation(self, observation: Any) -> Any:
        """Return the features of an observation."""
        return np.asarray(self.task.features_of(observation), np.float32)


def make_env(name: str, task: EnvTask) -> gymnasium.Env[Any, Any]:
    """Make an environment that observes numbers."""
    env = gymnasium.make(name)
    several = isinstance(env.observation_space, (gymnasium.spaces.Dict, gymnasium.spaces.Tuple))
    return Features(env, task) if several else env


def ppl_x(task: EnvTask, seed: int, steps: int | None) -> tuple[list[Moment], float, ifthen.RuleSet]:
    """Return how PPL-X's lists did on the way, their mean return on test seeds, and the last one."""
    ifthen.PPLX("CartPole-v1", seed=seed, threads=1, steps=2000).learn()  # compiles
    system, moments, seconds = ifthen.PPLX(task, seed=seed, threads=1, steps=steps), list[Moment](), 0.0
    last_ruleset = None
    seeds = task.validation[:TRIED_ON]
    while last_ruleset is None or system.epoch < system.default_epochs:
        began = time.process_time()
        with patch.object(first_steps, "time", CLOCK):
            system.learn(epochs=1)
        seconds += time.process_time() - began
        if last_ruleset is None or system.ruleset != last_ruleset:
            last_ruleset = system.ruleset
            score = ifthen.evaluate(last_ruleset, task, seeds=seeds).performance
        moments.append(Moment(seconds, system.num_timesteps, score))
    score = ifthen.evaluate(system, task, seeds=task.test_seeds(TESTED_ON)).performance
    return moments, score, system.ruleset


def played(policy: Callable[[Any], Any], name: str, task: EnvTask, seeds: Any) -> float:
    """Return the mean return of a policy from reset seeds."""
    env, returns = make_env(name, task), []
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
    return played(lambda _: space.sample(), name, task, task.validation[:TRIED_ON])


def baseline(
    algorithm: str, name: str, task: EnvTask, seed: int, seconds: float
) -> tuple[list[Moment], float]:
    """Return how a learner of Stable-Baselines3 did on the way, and its mean return on test seeds."""
    sb3: Any = importlib.import_module("stable_baselines3")
    base: Any = importlib.import_module("stable_baselines3.common.callbacks").BaseCallback
    importlib.import_module("torch").set_num_threads(1)
    model = getattr(sb3, algorithm)("MlpPolicy", make_env(name, task), seed=seed, device="cpu")
    moments, state = list[Moment](), {"taken": 0.0, "began": time.process_time(), "next": seconds / TIMES}

    def act(observation: Any) -> Any:
        action, _ = model.predict(observation, deterministic=True)
        return int(action)

    class Watch(base):  # type: ignore[misc]  # its type is not known where SB3 is not installed
        def _on_step(self) -> bool:
            taken = state["taken"] + time.process_time() - state["began"]
            if taken < state["next"]:
                return True
            score = played(act, name, task, task.validation[:TRIED_ON])
            moments.append(Moment(taken, int(self.num_timesteps), score))
            state.update(taken=taken, began=time.process_time(), next=taken + seconds / TIMES)
            return bool(taken < seconds)

    model.learn(10**9, callback=Watch())
    return moments, played(act, name, task, task.test_seeds(TESTED_ON))


def measures(moments: list[Moment], score: float, chance: float, goal: float) -> dict[str, Any]:
    """Return a training as a row."""
    last, reached = moments[-1], next((moment for moment in moments if moment.score >= goal), None)
    return {
        "score": f"{score:.6g}",
        "chance": f"{chance:.6g}",
        "goal": f"{goal:.6g}",
        "seconds": f"{last.seconds:.1f}",
        "steps": last.steps,
        "goal_seconds": "" if reached is None else f"{reached.seconds:.1f}",
        "goal_steps": "" if reached is None else reached.steps,
        "rules": "",
        "tests": "",
    }


def training(stored: Rows, environment: str, plan: str, seed: int, learner: str) -> dict[str, Any]:
    """Train once. The others need what PPL-X took."""
    task = ifthen.env_task(environment)
    if learner == OWN:
        chance = random_return(environment, task)
        moments, score, rules = ppl_x(task, seed, None if plan == "default" else int(plan))
        row = measures(moments, score, chance, chance + GOAL * (score - chance))
        return row | {"rules": len(rules), "tests": rules.tests}
    pplx_row = stored.of(environment=environment, plan=plan, seed=seed, learner=OWN)[0]
    moments, score = baseline(learner, environment, task, seed, float(pplx_row["seconds"]))
    return measures(moments, score, float(pplx_row["chance"]), float(pplx_row["goal"]))


def line(row: Row) -> str:
    """Return a row of the table."""
    goal_time = f"{row['goal_seconds']} s" if row["goal_seconds"] else f"not in {float(row['seconds']):.0f} s"
    size = f", {row['rules']} rules, {row['tests']} tests" if row["rules"] else ""
    cells = row["environment"], row["seed"], row["learner"] + size, f"{float(row['score']):.4g}", goal_time
    return f"| {' | '.join(cells)} | {int(row['steps']):,} |"


def main() -> None:
    """Do the trainings that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("environments", nargs="*", default=ENVIRONMENTS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--learners", nargs="*", default=("PPO", "DQN"), choices=("PPO", "DQN", "A2C"))
    parser.add_argument("--steps", type=int, help="the steps of PPL-X's plan, in place of its default")
    parser.add_argument("--module", help="a module that registers the environments")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.module:
        importlib.import_module(options.module)
    stored = Rows(options.results / "trials.csv", KEYS, MEASURES)
    plan = "default" if options.steps is None else str(options.steps)
    for name in options.environments:
        for seed in range(options.seeds):
            keys = [
                dict(zip(KEYS, (name, plan, seed, learner), strict=True))
                for learner in (OWN, *options.learners)
            ]
            stored.fill(keys, partial(training, stored))
    print("| environment | seed | learner | return | goal reached after | steps in all |")
    print("|---|--:|---|--:|--:|--:|")
    for row in stored.of(plan=plan):
        print(line(row))


if __name__ == "__main__":
    main()
