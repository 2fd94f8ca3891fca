"""A log of the room in `heating.py`: a clumsy operator switches the heater now and then.

python examples/heating_log.py                 # writes heating.csv: 2,000 steps in 40 episodes
ifthen offline heating.csv --out rules.json    # learns rules from it; the room is not needed any more
"""

from __future__ import annotations

import csv

import numpy as np
from heating import Thermostat

EPISODES, SWITCHES = 100, 0.2
"""The operator switches with this probability, whatever the room needs."""


def main() -> None:
    """Write a row for each step: what was observed, the action, and the reward that followed."""
    room, draws = Thermostat(), np.random.default_rng(0)
    with open("heating.csv", "w", newline="", encoding="utf-8") as file:
        log = csv.writer(file)
        log.writerow(["episode", "room", "outside", "action", "reward"])
        for episode in range(EPISODES):
            (inside, outside), _ = room.reset(seed=episode)
            heats, is_over = False, False
            while not is_over:
                heats ^= bool(draws.random() < SWITCHES)
                following, reward, _, is_over, _ = room.step(np.int64(heats))
                action = "heat" if heats else "off"
                log.writerow([episode, f"{inside:.2f}", f"{outside:.2f}", action, f"{reward:.2f}"])
                inside, outside = following


if __name__ == "__main__":
    main()
