r"""Four control problems that were written after PPL-X's defaults, and are used for nothing else.

    PYTHONPATH=benchmarks python benchmarks/beside_sb3.py --learners PPO --module fresh_envs -- \\
        Fresh/Stock-v0 Fresh/Queues-v0 Fresh/Dock-v0 Fresh/Greenhouse-v0
    python benchmarks/fresh_envs.py        # the mean returns of rules written by hand, on the same test seeds

They show whether the defaults carry to environments that they were not chosen on. Each is plain Python, ends
after a fixed number of steps, and draws all randomness from the seed of its reset. The rules by hand are what
an engineer would try first; their numbers were searched for on training seeds.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

Observation = NDArray[np.float32]
Stepped = tuple[Observation, float, bool, bool, dict[str, Any]]


class Fresh(gymnasium.Env[Observation, np.int64]):
    """What the four have in common: a number of steps, and observations as an array."""

    n_steps: int

    def _begin(self, rng: np.random.Generator) -> None:
        """Draw the first state."""
        raise NotImplementedError

    def _observed(self) -> list[float]:
        """Return what is seen."""
        raise NotImplementedError

    def _act(self, action: int, rng: np.random.Generator) -> tuple[float, bool]:
        """Go one step on; return the reward, and whether the episode has terminated."""
        raise NotImplementedError

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.t = 0
        self._begin(self.np_random)
        return np.array(self._observed(), np.float32), {}

    def step(self, action: np.int64) -> Stepped:
        """Go one step on."""
        self.t += 1
        reward, over = self._act(int(action), self.np_random)
        return np.array(self._observed(), np.float32), reward, over, self.t >= self.n_steps, {}


class Stock(Fresh):
    """Order goods that arrive two days later, for a demand that follows the season."""

    n_steps = 100
    orders = (0, 5, 10, 20)

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, np.array([100, 40, 40, 11], np.float32))
        self.action_space = spaces.Discrete(len(self.orders))

    def _begin(self, rng: np.random.Generator) -> None:
        self.stock, self.ordered = float(rng.integers(30)), [0, 0]
        self.month, self.demand = int(rng.integers(12)), 5

    def _observed(self) -> list[float]:
        return [self.stock, sum(self.ordered), self.demand, self.month]

    def _act(self, action: int, rng: np.random.Generator) -> tuple[float, bool]:
        order = self.orders[action]
        stock = min(self.stock + self.ordered.pop(0), 100)
        self.ordered.append(order)
        self.demand = int(rng.poisson(5 + 3 * np.sin(2 * np.pi * self.month / 12)))
        sold = min(stock, self.demand)
        self.stock, self.month = stock - sold, (self.month + 1) % 12
        cost = order + 2 * (order > 0) + 0.1 * self.stock + (self.demand - sold)
        return float(4 * sold - cost), False


class Queues(Fresh):
    """Serve one of two queues, or rest. Changing over takes three steps; one queue is three times as dear."""

    n_steps = 200

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, np.array([100, 100, 1, 3, 0.5, 0.5], np.float32))
        self.action_space = spaces.Discrete(3)

    def _begin(self, rng: np.random.Generator) -> None:
        self.lengths, self.rates = rng.integers(10, size=2), np.array([0.3, 0.3])
        self.served, self.changing = 0, 0

    def _observed(self) -> list[float]:
        return [*self.lengths, self.served, self.changing, *self.rates]

    def _act(self, action: int, rng: np.random.Generator) -> tuple[float, bool]:
        if rng.random() < 0.02:
            self.rates = rng.uniform(0.1, 0.5, 2)
        if action < 2 and action != self.served:
            self.served, self.changing = action, 3
        self.lengths = np.minimum(self.lengths + rng.poisson(self.rates), 100)
        if self.changing > 0:
            self.changing -= 1
        elif action < 2 and self.lengths[self.served] > 0:
            self.lengths[self.served] -= rng.random() < 0.9
        return float(-0.3 * self.lengths[0] - 0.1 * self.lengths[1] - 0.3 * (action < 2)), False


class Dock(Fresh):
    """Steer a boat in the wind to a dock, and arrive slowly. There is a reward for docking alone."""

    n_steps = 200
    thrusts = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]) / 10

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (8,), np.float32)
        self.action_space = spaces.Discrete(len(self.thrusts))

    def _begin(self, rng: np.random.Generator) -> None:
        self.position, self.velocity = rng.uniform(-5, 5, 2), np.zeros(2)
        self.wind, self.fuel = rng.uniform(-0.02, 0.02, 2), 200

    def _observed(self) -> list[float]:
        return [*self.position, *self.velocity, np.hypot(*self.position), self.fuel, *self.wind]

    def _act(self, action: int, rng: np.random.Generator) -> tuple[float, bool]:
        self.velocity = 0.99 * self.velocity + self.thrusts[action] + self.wind
        self.position = self.position + self.velocity
        self.fuel -= action > 0
        distance, speed, cost = np.hypot(*self.position), np.hypot(*self.velocity), 0.01 + 0.02 * (action > 0)
        if distance < 0.6 and speed < 0.35:
            return 10 - cost, True
        return (-5 - cost, True) if distance > 12 else (-cost, False)


class Greenhouse(Fresh):
    """Heat, vent, water or cool a greenhouse over two days. Twelve features, four of them a forecast."""

    n_steps = 192

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (12,), np.float32)
        self.action_space = spaces.Discrete(5)

    def _begin(self, rng: np.random.Generator) -> None:
        self.inside, self.humidity, self.soil = (
            rng.uniform(10, 30),
            rng.uniform(0.3, 0.9),
            rng.uniform(0.2, 0.8),
        )
        self.quarter, self.mean = int(rng.integers(96)), rng.uniform(-2, 22)

    def outside(self, quarter: int) -> float:
        """Return the temperature outside at a quarter of an hour."""
        return float(self.mean + 7 * np.sin(2 * np.pi * (quarter - 32) / 96))

    @property
    def sun(self) -> float:
        """How bright it is."""
        return max(0.0, float(np.sin(2 * np.pi * (self.quarter - 24) / 96)))

    def _observed(self) -> list[float]:
        angle = 2 * np.pi * self.quarter / 96
        forecast = [self.outside(self.quarter + 4 * hour) for hour in range(1, 5)]
        clock = [np.sin(angle), np.cos(angle)]
        weather = [self.sun, self.outside(self.quarter), self.mean]
        return [self.inside, self.humidity, self.soil, *weather, *clock, *forecast]

    def _act(self, action: int, rng: np.random.Generator) -> tuple[float, bool]:
        heats, vents, waters, cools = (action == i for i in range(1, 5))
        warmer_outside = self.outside(self.quarter) - self.inside
        self.inside += (0.06 + 0.12 * vents) * warmer_outside + 0.8 * self.sun + rng.normal(0, 0.1)
        self.inside += 1.6 * heats - 1.8 * cools
        self.humidity = np.clip(self.humidity + 0.01 + 0.02 * self.soil - 0.08 * vents + 0.02 * cools, 0, 1)
        self.soil = np.clip(self.soil - 0.012 - 0.01 * self.sun + 0.12 * waters, 0, 1)
        growth = np.exp(-(((self.inside - 23) / 5) ** 2)) * min(1, self.soil / 0.3) * (0.3 + self.sun)
        growth *= 1 if self.humidity < 0.85 else 0.4
        self.quarter = (self.quarter + 1) % 96
        cost, lost = 0.25 * heats + 0.3 * cools + 0.03 * vents + 0.05 * waters, not 2 <= self.inside <= 42
        return float(growth - cost - 5 * lost), lost


for environment in ("Stock", "Queues", "Dock", "Greenhouse"):
    gymnasium.register(f"Fresh/{environment}-v0", f"{__name__}:{environment}")


def base_stock(see: Observation, level: float, swing: float) -> int:
    """Order up to a level that follows the season."""
    missing = level + swing * np.sin(2 * np.pi * (see[3] + 1) / 12) - see[0] - see[1]
    return int(np.searchsorted((5, 10, 20), missing, side="right"))


def dearer_first(see: Observation, start: float, stop: float) -> int:
    """Serve the dearer queue from one length on until another; the cheaper one meanwhile."""
    first, second, served = see[0], see[1], see[2]
    dear = first > stop if served == 0 else first >= start
    if dear or second == 0:
        return 0 if first > 0 else 2
    return 1


def towards_dock(see: Observation, damping: float, still: float) -> int:
    """Push against where the boat will be, along the axis on which that is further off."""
    ahead = see[:2] + damping * (see[2:4] + see[6:8])
    axis = int(np.abs(ahead[1]) > np.abs(ahead[0]))
    return 0 if abs(ahead[axis]) < still else 1 + 2 * axis + int(ahead[axis] > 0)


def thresholds(see: Observation, cold: float, hot: float) -> int:
    """Water when dry, vent when humid or hot, heat when cold."""
    if see[2] < 0.3:
        return 3
    if see[1] > 0.8 or see[0] > hot:
        return 2
    return 1 if see[0] < cold and see[3] > 0.1 else 0


BY_HAND = {
    "Stock": (base_stock, (10, 13, 16, 19, 22, 25), (0, 4, 8)),
    "Queues": (dearer_first, (1, 2, 3, 4, 6, 8), (0, 1, 2)),
    "Dock": (towards_dock, (3, 5, 8, 12), (0.1, 0.3, 0.6)),
    "Greenhouse": (thresholds, (10, 14, 18, 20, 22), (24, 26, 28, 32)),
}
"""The rules by hand, and the numbers that are tried for each of their two parameters."""


def main() -> None:
    """Search for the numbers of each rule on 30 training seeds, and print its return on the test seeds."""
    import ifthen  # here, so that environments can be made without

    for name, (rule, *choices) in BY_HAND.items():
        env, task = gymnasium.make(f"Fresh/{name}-v0"), ifthen.env_task(f"Fresh/{name}-v0")

        def mean(numbers: tuple[float, ...], seeds: Any, env: Any = env, rule: Any = rule) -> float:
            returns = []
            for seed in seeds:
                (see, _), total, over = env.reset(seed=int(seed)), 0.0, False
                while not over:
                    see, reward, terminated, truncated, _ = env.step(rule(see, *numbers))
                    total, over = total + reward, terminated or truncated
                returns.append(total)
            return float(np.mean(returns))

        best = max(product(*choices), key=lambda numbers: mean(numbers, task.z[:30]))
        print(f"{name}: {mean(best, task.test_seeds(100)):.4g} with {best}", flush=True)


if __name__ == "__main__":
    main()
