"""Rules from logs alone: what they get when they are played, beside what acted in the log.

    python benchmarks/offline.py                                   # five logs
    python benchmarks/offline.py "Acrobot-v1, mixed" --seeds 3

A log has random actions, or is mixed: a third of the episodes has random actions only, in a third a network
acts with many random actions (a share of 0.3 begins one), in a third with few (0.05). The network is what
PPL-X learns in 300,000 steps. Rules then see the log alone. Returns are means on 100 test seeds, which the
learner cannot play; estimates are discounted (γ = 0.99), and stand beside the same that was played.
LunarLander needs the extra box2d.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import ifthen
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.trajectories import TERMINATED, Trajectory
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.env_plan import EPOCHS, SCRATCH, VALUES

LOGS = {
    "CartPole-v1, random": 5_000,
    "CartPole-v1, mixed": 5_000,
    "Acrobot-v1, mixed": 20_000,
    "MountainCar-v0, mixed": 20_000,
    "LunarLander-v3, mixed": 100_000,
}
NETWORK_STEPS, NETWORK_EPOCHS = 300_000, EPOCHS[SCRATCH] + EPOCHS[VALUES]
"""The plan of the network that acts, and its epochs up to where lists begin."""
RANDOM_SHARES = (1.0, 0.3, 0.05)
GAMMA, TESTED_ON, TOGETHER = 0.99, 100, 8


def logged(task: Any, kind: str, n_steps: int) -> list[Trajectory]:
    """Return the episodes of a log."""
    bench, episodes, net, scale = (
        Bench(environment_simulator(task), 1, 0, 0.0),
        list[Trajectory](),
        None,
        None,
    )
    if kind == "mixed":
        system = ifthen.PPLX(task, seed=0, threads=1, steps=NETWORK_STEPS).learn(epochs=NETWORK_EPOCHS)
        net, scale = system.now.population.nets[-1], system.now.population.scaling
    for turn in range(n_steps):
        share = RANDOM_SHARES[turn % 3] if kind == "mixed" else 1.0
        policy = None if share == 1.0 else net
        episodes += bench.explore(policy, share, bench.seeds(TOGETHER), bench.key("log", turn), scale)
        if bench.n_steps >= n_steps:
            break
    return episodes


def as_arrays(episodes: list[Trajectory]) -> dict[str, Any]:
    """Return episodes as the arrays of a log."""
    is_last = np.concatenate([np.arange(len(e.actions)) == len(e.actions) - 1 for e in episodes])
    has_terminated = np.repeat([e.ending == TERMINATED for e in episodes], [len(e.actions) for e in episodes])
    return {
        "observations": np.vstack([e.points for e in episodes]),
        "next_observations": np.vstack([np.vstack([e.points[1:], e.last]) for e in episodes]),
        "actions": np.concatenate([e.actions for e in episodes]),
        "rewards": np.concatenate([e.rewards for e in episodes]),
        "terminations": is_last & has_terminated,
        "truncations": is_last & ~has_terminated,
    }


def main() -> None:
    """Learn from each log, and print a row for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("logs", nargs="*", default=list(LOGS), help=f"some of: {'; '.join(LOGS)}")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    if unknown := [name for name in options.logs if name not in LOGS]:
        parser.error(f"there is no log {unknown[0]!r}: choose from {'; '.join(LOGS)}.")
    print("| log | steps | its return | seed | rules, tests | return | estimated, played | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for log_name in options.logs:
        name, kind = log_name.split(", ")
        task, n_steps = ifthen.env_task(name), LOGS[log_name]
        episodes = logged(task, kind, n_steps)
        mean_return = np.mean([episode.rewards.sum() for episode in episodes])
        for seed in range(options.seeds):
            began = time.process_time()
            result = ifthen.learn_offline(as_arrays(episodes), task, gamma=GAMMA, seed=seed, threads=1)
            seconds, rules = time.process_time() - began, result.ruleset
            seeds = task.test_seeds(TESTED_ON)
            played = environment_simulator(task).episodes(rules, seeds)
            cells = (
                *(log_name, f"{n_steps:,}", f"{mean_return:.1f}", str(seed), f"{len(rules)}, {rules.tests}"),
                f"{np.mean([episode.rewards.sum() for episode in played]):.1f}",
                f"{result.chosen.expected:.1f}, {np.mean([e.discounted(GAMMA) for e in played]):.1f}",
                f"{seconds:.0f}",
            )
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
