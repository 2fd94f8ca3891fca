"""Training speed of the C library xcsf on a tabular task: run by xcsf_speed.py with the library's own Python.

    python peer_xcsf.py task.npz

It needs numpy and xcsf, and nothing of ifthen, which in turn never imports xcsf. It prints one line of JSON.
The task's file holds `next_state`, `reward` and `done` (S, A, K), `probability` (K,), `state_features`
(S, F), `initial_states`, `gamma`, `t_max`, `pop_limit`, `seed`, `warm_up` and `steps`.

Training is the library's own multi-step loop: per step init_step, decision, update, error, end_step, and per
episode init_trial and end_trial. The same loop without the library is timed as well.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

X0, RLS_SCALE, RLS_LAMBDA = 10.0, 10.0, 0.999
MAX_PAYOFF = 1.0
# The library starts a rule's first weight at x0, so its first prediction is x0² = 100, where the best payoff
# is 1. Least squares on (x0, s) · UNIT with a covariance of RLS_SCALE / UNIT² is the same least squares, but
# its first prediction is (x0 · UNIT)² = 1e-4: next to nothing, as with weights of 0.
UNIT = 0.001
WARM_UP_CHUNK, WARM_UP_LIMIT = 1_000, 1_000_000
READINGS, STEPS_PER_READING = 200, 50


class World(NamedTuple):
    """A task as plain lists, so that a step of it costs next to nothing."""

    outcomes: list[list[list[tuple[int, float, bool]]]]
    """Per state, action and outcome: next state, reward, and whether the episode ends."""
    rows: list[Any]
    """Per state its features. The library keeps a bare pointer to the row between decision and end_step, so
    these must be arrays of float64 that outlive the step: a list or an array of another type would be copied
    into a temporary that is gone by then."""
    t_max: int


class Draws(NamedTuple):
    """Random numbers drawn beforehand, one of each per step."""

    outcomes: list[int]
    starts: list[int]
    explores: list[bool]
    actions: list[int]


def make_world(task: dict[str, Any]) -> World:
    """Return a task as plain lists."""
    columns = [task[name].tolist() for name in ("next_state", "reward", "done")]
    outcomes = [
        [list(zip(*outcome, strict=True)) for outcome in zip(*state, strict=True)]
        for state in zip(*columns, strict=True)
    ]
    rows = list(np.ascontiguousarray(task["state_features"] * UNIT, dtype=np.float64))
    return World(outcomes, rows, int(task["t_max"]))


def make_draws(task: dict[str, Any], rng: np.random.Generator, steps: int) -> Draws:
    """Return the random numbers of some steps."""
    return Draws(
        rng.choice(len(task["probability"]), steps, p=task["probability"]).tolist(),
        rng.choice(task["initial_states"], steps).tolist(),
        (rng.random(steps) < 0.5).tolist(),
        rng.integers(task["next_state"].shape[1], size=steps).tolist(),
    )


def make_library(task: dict[str, Any]) -> Any:
    """Return the library's XCS with parameters as near to ours as it allows.

    Its bounds are real numbers, and a bound anywhere between two cells matches the same cells. With a range
    of width + 2, covering reaches U{0 … width / 2} cells to either side, as ours does; mutation has the
    standard deviation of ours, ±U{1 … width / 4}. Not to be had: merging of equal boxes, the niche's minimum
    error of stochastic tasks, a fixed rate of the action's mutation (it is always self-adaptive).
    """
    features = task["state_features"]
    low, width = float(features.min()), float(np.ptp(features)) + 1
    mutations = np.arange(1, max(1, int(width) // 4) + 1)
    return import_module("xcsf").XCS(
        x_dim=features.shape[1],
        y_dim=1,
        n_actions=task["next_state"].shape[1],
        omp_num_threads=1,  # the library sets this itself, to 8, whatever OMP_NUM_THREADS says
        random_state=int(task["seed"]),
        pop_init=False,
        pop_size=int(task["pop_limit"]),
        loss_func="mae",
        gamma=float(task["gamma"]),
        p_explore=0.5,
        set_subsumption=False,
        theta_sub=50,
        e0=0.01,
        alpha=0.1,
        nu=5,
        beta=0.1,
        delta=0.1,
        theta_del=50,
        init_fitness=1e-3,
        init_error=1e-3,
        compaction=False,
        ea={
            "select_type": "tournament",
            "select_size": 0.5,
            "theta_ea": 50,
            "lambda": 2,
            "p_crossover": 0.8,
            "err_reduc": 0.25,
            "fit_reduc": 0.1,
            "subsumption": True,
            "pred_reset": False,
        },
        action={"type": "integer"},
        condition={
            "type": "hyperrectangle_ubr",
            "args": {
                "eta": 0,
                "min": (low - 1.5) * UNIT,
                "max": (low + width + 0.5) * UNIT,
                "spread_min": 0,
                "p_mu": 0.04,
                "mu": float(np.sqrt(np.mean(mutations**2))) * UNIT,
                "sam": False,
            },
        },
        prediction={
            "type": "rls_linear",
            "args": {"x0": X0 * UNIT, "scale_factor": RLS_SCALE / UNIT**2, "lambda": RLS_LAMBDA},
        },
    )


def train(xcs: Any, world: World, draws: Draws) -> tuple[float, float]:
    """Train for as many steps as there are draws; return the seconds that passed, and those of the processor.

    As in the library's own loop an episode that is cut short is not done: its last action set learns nothing.
    """
    outcomes, rows, t_max = world
    drawn, starts, explores, _ = draws
    init_step, decision, update, end_step = xcs.init_step, xcs.decision, xcs.update, xcs.end_step
    error = xcs.error
    i, steps = 0, len(drawn)
    began, began_processor = time.perf_counter(), time.process_time()
    while i < steps:
        s, explore, end, done = starts[i], explores[i], min(i + t_max, steps), False
        xcs.init_trial()
        while i < end and not done:
            init_step()
            a = decision(rows[s], explore)
            s, reward, done = outcomes[s][a][drawn[i]]
            update(reward, done)
            error(reward, done, MAX_PAYOFF)
            end_step()
            i += 1
        xcs.end_trial()
    return time.perf_counter() - began, time.process_time() - began_processor


def empty_loop(world: World, draws: Draws) -> float:
    """Return the seconds of `train` without the library: its calls are left out, actions are drawn."""
    outcomes, rows, t_max = world
    drawn, starts, explores, actions = draws
    i, steps = 0, len(drawn)
    began = time.perf_counter()
    while i < steps:
        s, _explore, end, done = starts[i], explores[i], min(i + t_max, steps), False
        while i < end and not done:
            _row, a = rows[s], actions[i]
            s, _reward, done = outcomes[s][a][drawn[i]]
            i += 1
    return time.perf_counter() - began


def fill(xcs: Any, task: dict[str, Any], world: World, rng: np.random.Generator) -> int:
    """Train for the warm-up's steps, and on until the population is full; return the steps."""
    steps = 0
    while steps < task["warm_up"] or xcs.pset_num() < task["pop_limit"]:
        if steps >= max(WARM_UP_LIMIT, task["warm_up"]):
            raise SystemExit(
                f"After {steps} steps the population has {xcs.pset_num()} of {task['pop_limit']} rules."
            )
        train(xcs, world, make_draws(task, rng, WARM_UP_CHUNK))
        steps += WARM_UP_CHUNK
    return steps


def mean_match_set(xcs: Any, task: dict[str, Any], world: World, rng: np.random.Generator) -> float:
    """Return the mean number of macroclassifiers that match, over some more steps of training.

    The library itself keeps an exponential average over about ten steps, which is read now and then.
    """
    sizes = []
    for _ in range(READINGS):
        train(xcs, world, make_draws(task, rng, STEPS_PER_READING))
        sizes.append(xcs.mset_size())
    return float(np.mean(sizes))


def greedy_policy(xcs: Any, world: World) -> list[int]:
    """Return the greedy action in every state, `(S,)`; nothing is learnt, though gaps are covered."""
    policy = []
    for row in world.rows:
        xcs.init_trial()
        xcs.init_step()
        policy.append(int(xcs.decision(row, False)))
        xcs.end_step()
        xcs.end_trial()
    return policy


def main() -> None:
    """Read the task's file, train, print one line of JSON."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python peer_xcsf.py task.npz")
    with np.load(Path(sys.argv[1])) as file:
        task: dict[str, Any] = {name: array if array.ndim else array.item() for name, array in file.items()}
    rng = np.random.default_rng(int(task["seed"]))
    world, xcs = make_world(task), make_library(task)
    warm_up = fill(xcs, task, world, rng)
    draws = make_draws(task, rng, int(task["steps"]))
    macro_before = xcs.pset_size()
    seconds, processor_seconds = train(xcs, world, draws)
    result = {
        "steps": len(draws.outcomes),
        "seconds": seconds,
        "processor_seconds": processor_seconds,
        "empty_loop_seconds": empty_loop(world, draws),
        "warm_up_steps": warm_up,
        "macro_before": macro_before,
        "macro": xcs.pset_size(),
        "micro": xcs.pset_num(),
        "policy": greedy_policy(xcs, world),
        "match_set": mean_match_set(xcs, task, world, rng),
        "version": metadata.version("xcsf"),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
