"""What all peers share: how a trial on CartPole-v1 is timed, checked and reported.

This file and those beside it run in the peers' own environments: they need numpy and gymnasium, and only
ifthen_cartpole.py needs ifthen.

A trial trains for a budget of environment steps. Whenever so many more steps were made, or at the first
chance after that, the clock is stopped and the present policy is played on 100 episodes whose reset seeds
training does not use. The first check with a mean of 475 or more says how long it took to get there. In the
end the policy is played on 100 other episodes, which gives the final score. Neither the steps nor the seconds
of checks count.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

ENVIRONMENT, TARGET = "CartPole-v1", 475.0
CHECK_SEEDS = range(2_000_000, 2_000_100)
FINAL_SEEDS = range(5_000_000, 5_000_100)
Choose = Callable[[Any], Any]
"""Observations `(m, 4)` in, actions `(m,)` out; −1 for none, which ends the episode."""


def scores(choose: Choose, seeds: range) -> list[float]:
    """Return the score of one episode per reset seed, all of them played side by side."""
    envs = [gymnasium.make(ENVIRONMENT) for _ in seeds]
    observations = [env.reset(seed=seed)[0] for env, seed in zip(envs, seeds, strict=True)]
    totals, playing = [0.0] * len(envs), list(range(len(envs)))
    while playing:
        actions = np.asarray(choose(np.array([observations[lane] for lane in playing])))
        still_playing = []
        for lane, action in zip(playing, actions.tolist(), strict=True):
            if action < 0:
                continue
            observations[lane], reward, terminated, truncated, _ = envs[lane].step(int(action))
            totals[lane] += float(reward)
            if not (terminated or truncated):
                still_playing.append(lane)
        playing = still_playing
    for env in envs:
        env.close()
    return totals


@dataclass
class Trial:
    """One trial's clock and checks.

    Args:
        every: training steps between two checks.
        began: when the program began, to tell what starting up took.
    """

    every: int
    began: float
    started: float = 0.0
    paused: float = 0.0
    checks: list[dict[str, float]] = field(default_factory=list)
    _due: int = 0

    def start(self) -> None:
        """Start the clock: everything is imported, compiled and made."""
        self.started = time.perf_counter()

    def seconds(self) -> float:
        """Return the seconds of training so far."""
        return time.perf_counter() - self.started - self.paused

    def after(self, steps: int, choose: Choose) -> bool:
        """Check where it is time, and return whether the target is reached now."""
        if steps < self._due:
            return False
        self._due = (steps // self.every + 1) * self.every
        return self.check(steps, choose)

    def check(self, steps: int, choose: Choose) -> bool:
        """Play the policy with the clock stopped; return whether it reaches the target."""
        seconds, began = self.seconds(), time.perf_counter()
        score = float(np.mean(scores(choose, CHECK_SEEDS)))
        self.checks.append({"steps": steps, "seconds": seconds, "score": score})
        self.paused += time.perf_counter() - began
        return score >= TARGET

    def report(self, steps: int, choose: Choose, **details: Any) -> None:
        """Print one line of JSON on the trial, given the steps of training and the last policy."""
        seconds = self.seconds()
        final = scores(choose, FINAL_SEEDS)
        reached = next((check for check in self.checks if check["score"] >= TARGET), None)
        result = {
            "steps": steps,
            "seconds": seconds,
            "steps_per_second": steps / seconds,
            "start_seconds": self.started - self.began,
            "steps_to_target": reached and reached["steps"],
            "seconds_to_target": reached and reached["seconds"],
            "final_score": float(np.mean(final)),
            "final_score_deviation": float(np.std(final)),
            "checks": self.checks,
            **details,
        }
        print(json.dumps(result))


def arguments(steps: int, every: int) -> argparse.ArgumentParser:
    """Return the options that all peers take, given the usual budget and distance of checks in steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=steps, help="budget of environment steps")
    parser.add_argument("--every", type=int, default=every, help="steps between two checks")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--stop", action="store_true", help="stop when the target is reached")
    return parser
