"""How PPL-X does when most features say nothing: three of many tell which action is rewarded.

python benchmarks/many_features.py 6 200 --seeds 2
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import ifthen


class Crowd(gymnasium.Env[Any, Any]):
    """Five steps with new numbers each: 1 for the action that the first, middle and last of them ask for."""

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(self, features: int) -> None:
        self.observation_space = spaces.Box(-1, 1, (features,), np.float64)
        self.action_space = spaces.Discrete(3)
        self.time, self.observation = 0, np.zeros(features)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.time, self.observation = 0, self.np_random.uniform(-1, 1, len(self.observation))
        return self.observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Reward the right action, and draw new numbers."""
        first, middle, last = (
            self.observation[0],
            self.observation[len(self.observation) // 2],
            self.observation[-1],
        )
        best_action = 2 if first > 0.3 else int(middle > last)
        self.time, self.observation = self.time + 1, self.np_random.uniform(-1, 1, len(self.observation))
        return self.observation, float(action == best_action), self.time == 5, False, {}


def main() -> None:
    """Train for each number of features and print a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", nargs="+", type=int)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    ifthen.PPLX(Crowd(6), steps=1_000, threads=1).learn()  # compiles
    for features in options.features:
        for seed in range(options.seeds):
            began = time.perf_counter()
            system = ifthen.PPLX(Crowd(features), seed=seed, steps=options.steps, threads=1).learn()
            seconds, rules = time.perf_counter() - began, system.ruleset
            evaluation = ifthen.evaluate(system)
            print(
                f"{features} features, seed {seed}: {seconds:.0f} s, mean return "
                f"{evaluation.performance:.2f} of 5, {len(rules)} rules that test {', '.join(rules.tested)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
