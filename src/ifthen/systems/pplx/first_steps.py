"""Before learning in an environment: a few random episodes, its speed, and networks that know nothing."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Ints
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.pplx.action_costs import ActionCosts
from ifthen.systems.pplx.bench import LEARNT_ON, Bench
from ifthen.systems.pplx.knowledge import NET_ROWS
from ifthen.systems.pplx.q_network import fill_network, weights_of

PROBES = 4
"""At least this many episodes with random actions come before learning."""
PROBE_STEPS = 200
"""Random episodes go on until this many steps are taken."""
MOST_PROBES = 100
"""Random episodes stop at this number, however short they are."""
TIMED = 0.3
"""The speed is measured over at least this many seconds of play."""
TIMED_ONCE = 2.0
"""Play that takes this many seconds is not measured again."""


def random_episodes(bench: Bench) -> list[Trajectory]:
    """Play a few episodes with random actions."""
    episodes = list[Trajectory]()
    while len(episodes) < PROBES or (bench.n_steps < PROBE_STEPS and bench.n_episodes < MOST_PROBES):
        episodes += bench.explore(None, 1.0, bench.seeds(PROBES), bench.key("probe", bench.n_episodes))
    return episodes


def first_networks(costing: ActionCosts, n_networks: int) -> NDArray[np.float32]:
    """Return networks with random weights, as `Knowledge.nets`."""
    n_features, n_actions = costing.n_features, costing.n_actions
    size = weights_of(n_features, n_actions)
    nets = np.zeros((NET_ROWS, n_networks * size), np.float32)
    for m in range(n_networks):
        key = costing.key("network", m) if m else costing.key("network")
        fill_network(key, n_features, n_actions, nets[0, m * size : (m + 1) * size])
    nets[1] = nets[-1] = nets[0]
    return nets


def measured_speed(bench: Bench) -> float:
    """Return the steps that one process takes in a second, with random actions; nothing is learnt.

    What happens once, such as loading or a pause of the machine, would make the plan many times too short. So
    the same episodes are played twice, unless they take long, and the faster time counts.
    """
    n_episodes, counts_before = 1, (bench.n_steps, bench.n_episodes)

    def timed(seeds: Ints) -> tuple[float, int]:
        steps_before, began = bench.n_steps, time.perf_counter()
        bench.explore(None, 1.0, seeds, bench.key("timed", len(seeds)), alone=True)
        return time.perf_counter() - began, bench.n_steps - steps_before

    while True:
        seeds = bench.seeds(n_episodes)
        seconds, n_steps = timed(seeds)
        if seconds >= TIMED or n_episodes >= LEARNT_ON:
            break
        n_episodes *= 4
    if seconds < TIMED_ONCE:
        seconds = min(seconds, timed(seeds)[0])
    bench.n_steps, bench.n_episodes = counts_before
    return n_steps / seconds
