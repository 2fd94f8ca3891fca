"""Speed of a GPU beside the CPU of the same machine: tables, CartPole, learning and whole training.

    python benchmarks/gpu.py
    python benchmarks/gpu.py --quick --only tables

Both play the same populations through the same simulators, and must agree: in every bit on tables, in nearly
all episodes in CartPole. Compilation is done before anything is timed; the best of the repeats counts. The
device's ceilings are measured too: copying memory, and products with sums in double precision. Needs a GPU of
NVIDIA and numba-cuda (pip install '.[cuda]'). The CPU uses all its cores.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np
from numba import cuda as _cuda
from timing import machine

from ifthen import PPLDL, PPLST, env_task, evaluate, frozen_lake
from ifthen.parallel import available_threads
from ifthen.randomness import stream
from ifthen.rules.batch import LIST, STRENGTH, RuleBatch
from ifthen.simulate import gpu
from ifthen.simulate.evaluate import simulator_of
from ifthen.simulate.gpu import Backend
from ifthen.simulate.gpu_twin import blocks_for
from ifthen.simulate.simulator import Measured, Reinforcement
from ifthen.systems.pittsburgh import PittsburghParameters, first_population, next_generation
from ifthen.tasks.task import Method, Noise, Task

cuda: Any = _cuda  # a part of Numba without types
TABLES = ((4, 0.3), (8, 0.3), (12, 0.1), (12, 0.5))
TRAINING = (("PPL-DL", PPLDL), ("PPL-ST", PPLST))
ADDITIONS = 4096


class Effort(NamedTuple):
    """How much to run."""

    repeats: int
    policies: int
    """Policies of a table on the GPU; the CPU plays a tenth of them."""
    lists: int
    """Lists in CartPole on the GPU; the CPU plays a fiftieth of them."""
    epochs: int
    """Generations of whole training."""


FULL, QUICK = Effort(5, 20_000, 100_000, 50), Effort(2, 1000, 2000, 3)


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the least seconds that work takes, after one run that does not count."""
    work()
    taken = []
    for _ in range(repeats):
        cuda.synchronize()
        began = time.perf_counter()
        work()
        cuda.synchronize()
        taken.append(time.perf_counter() - began)
    return min(taken)


def random_lists(
    task: Task, n: int, how: int = LIST, rules: int | None = None, p_any: float = 0.0
) -> RuleBatch:
    """Return the rules of a random population."""
    size = rules or task.suitable_rules
    learns = 0 if how == LIST else len(task.features) + 2
    parameters = PittsburghParameters(pop_size=n, idv_size=size, p_any=p_any)
    return first_population(parameters, task, 0, learns).batch(how, 10.0, 0 if how == LIST else None)


@cuda.jit  # type: ignore[untyped-decorator]  # Numba has no types here
def chained(out: Any) -> None:
    """Do many products with sums, four chains at a time."""
    a, b, c, d = 1.0, 1.1, 1.2, 1.3
    x = out[0] + 0.999
    for _ in range(ADDITIONS):
        a = cuda.fma(a, x, 0.1)
        b = cuda.fma(b, x, 0.1)
        c = cuda.fma(c, x, 0.1)
        d = cuda.fma(d, x, 0.1)
    if a + b + c + d == 0.5:
        out[0] = a


def ceilings(effort: Effort) -> None:
    """Measure what the device's memory and arithmetic allow."""
    one = cuda.device_array(2**28, dtype=np.float64)
    other = cuda.device_array_like(one)
    copied = seconds(lambda: other.copy_to_device(one), effort.repeats)
    print(f"copying memory: {2 * one.nbytes / copied / 1e12:.2f} TB/s read and written")
    out, blocks, threads = cuda.to_device(np.zeros(1)), 132 * 32, 256
    taken = seconds(lambda: chained[blocks, threads](out), effort.repeats)
    products = blocks * threads * ADDITIONS * 4
    print(f"products with sums, double precision: {2 * products / taken / 1e12:.1f} TFLOP/s")


def same(one: Measured, other: Measured) -> bool:
    """Return whether two measures agree in every bit."""
    names = Measured.__dataclass_fields__
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)


def forgetful(simulator: Any, rules: RuleBatch) -> Callable[[], object]:
    """Return work that measures a population of which nothing is remembered."""

    def work() -> object:
        simulator._known.clear()
        return simulator.fitness(rules, 0)

    return work


def simulators(task: Task, noise: Noise = "aligned", method: Method = "sampled") -> tuple[Any, Any]:
    """Return the simulators of the CPU and of the GPU."""
    options: Any = {"threads": available_threads(), "noise": noise, "method": method}
    cpu, cuda_ = (simulator_of(task, backend=each, **options) for each in get_args(Backend)[1:])
    return cpu, cuda_


def tables(effort: Effort) -> None:
    """Play populations of lists on z."""
    print(
        "\ntask            noise    policies  steps/s GPU  steps/s CPU  ratio  same bits  ms per generation"
    )
    for (size, p_slip), noise in product(TABLES, get_args(Noise)):
        task = frozen_lake(size, p_slip)
        on_cpu, on_gpu = simulators(task, noise)
        many = random_lists(task, effort.policies)
        few = many.take(slice(0, effort.policies // 10))
        measured, plain = on_gpu.fitness(many, 0), on_cpu.fitness(few, 0)
        equal = same(plain, on_gpu.fitness(few, 0))
        fast = seconds(partial(on_gpu.fitness, many, 0), effort.repeats)
        slow = seconds(forgetful(on_cpu, few), effort.repeats)
        quick, usual = measured.steps.sum() / fast, plain.steps.sum() / slow
        print(
            f"({size}, {p_slip})".ljust(16) + f"{noise:<8} {effort.policies:>8,}  {quick / 1e9:9.2f} G  "
            f"{usual / 1e9:9.2f} G  {quick / usual:5.1f}  {equal!s:>9}  {fast * 1e3:10.1f}"
        )


def exact(effort: Effort) -> None:
    """Work out the exact performance of populations of lists."""
    print("\nexact evaluation  policies  policies/s GPU  policies/s CPU  ratio  same bits")
    for size, p_slip in TABLES:
        task = frozen_lake(size, p_slip)
        on_cpu, on_gpu = simulators(task, method="exact")
        many = random_lists(task, effort.policies)
        few = many.take(slice(0, effort.policies // 10))
        equal = same(on_cpu.fitness(few, 0), on_gpu.fitness(few, 0))
        fast = effort.policies / seconds(partial(on_gpu.fitness, many, 0), effort.repeats)
        slow = len(few.lengths) / seconds(forgetful(on_cpu, few), effort.repeats)
        print(
            f"({size}, {p_slip})".ljust(16) + f"{effort.policies:>10,}  {fast:14,.0f}  {slow:14,.0f}  "
            f"{fast / slow:5.1f}  {equal!s:>9}"
        )


def reinforcement(effort: Effort) -> None:
    """Let rules of PPL-ST learn from ten rollouts each."""
    print("\nreinforcement   rulesets  steps/s GPU  steps/s CPU  ratio  same bits")
    few = effort.policies // 10
    for size, p_slip in TABLES:
        task = frozen_lake(size, p_slip)
        speeds, learnt = [], []
        for simulator, n in zip(simulators(task), (few, effort.policies), strict=True):
            rules = random_lists(task, n, STRENGTH)
            lesson = Reinforcement(stream(0, "reinforce", 0), n, 10, 0.1, False)
            steps = simulator.reinforce(rules, lesson)
            learnt.append(rules.learnt[:few].tobytes())
            speeds.append(steps / seconds(partial(simulator.reinforce, rules, lesson), effort.repeats))
        slow, fast = speeds
        print(
            f"({size}, {p_slip})".ljust(16) + f"{effort.policies:>8,}  {fast / 1e9:9.2f} G  "
            f"{slow / 1e9:9.2f} G  {fast / slow:5.1f}  {learnt[0] == learnt[1]!s:>9}"
        )


def cart_pole(effort: Effort) -> None:
    """Play lists of 12 rules from 100 starts: random ones, and those that evolve from them."""
    task, n, threads = env_task("CartPole-v1", episodes=100), effort.lists, available_threads()
    on_cpu, on_gpu = simulators(task)
    parameters = PittsburghParameters(pop_size=n, idv_size=12, p_any=0.7)
    population = first_population(parameters, task, 0, 0)
    print("\nCartPole, lists × 12 rules × 100 starts")
    for epoch in range(21):
        rules = population.batch(LIST, 1.0, 0)
        population = population._replace(fitness=on_gpu.fitness(rules, 0).performance)
        bred = partial(next_generation, parameters, task, 0, epoch, threads, population, whole_rules=False)
        if epoch in (0, 5, 20):
            told_of_generation(f"bred {epoch} times", on_cpu, on_gpu, rules, seconds(bred, 2), effort)
        population = bred()


def told_of_generation(
    name: str, on_cpu: Any, on_gpu: Any, rules: RuleBatch, bred: float, effort: Effort
) -> None:
    """Print how long a generation in CartPole takes."""
    n = len(rules.lengths)
    some = rules.take(slice(0, max(1, n // 50)))
    one, other, whole = on_cpu.fitness(some, 0), on_gpu.fitness(some, 0), on_gpu.fitness(rules, 0)
    fast = seconds(partial(on_gpu.fitness, rules, 0), effort.repeats)
    slow = seconds(forgetful(on_cpu, some), effort.repeats)
    kernel, steps = kernel_seconds(on_gpu, rules, effort), whole.steps.sum()
    usual, apart = one.steps.sum() / slow, abs(one.performance - other.performance)
    print(
        f"{name:<14} {n:,} lists, {steps / n / 100:.0f} steps an episode: generation {fast + bred:.3f} s "
        f"(fitness {fast:.3f}, of it the kernel {kernel:.3f}; breeding {bred:.3f}); kernel "
        f"{steps / kernel / 1e9:.1f} G steps/s, fitness {steps / fast / 1e9:.1f} G, CPU {usual / 1e9:.3f} G; "
        f"lists with other steps than the CPU's: {(one.steps != other.steps).mean():.2%}, of "
        f"{len(apart):,}; fitness differs by {apart.mean():.4f} on average and {apart.max():.2f} at most"
    )


def kernel_seconds(simulator: Any, rules: RuleBatch, effort: Effort) -> float:
    """Return the seconds of the kernel that plays twins alone."""
    work = simulator._play(rules, simulator.task.z)
    grid = blocks_for(len(rules.lengths) * len(simulator.task.z))
    return seconds(lambda: gpu.launch(simulator._kernels.play, grid, gpu.WARP, work), effort.repeats)


def training(effort: Effort) -> None:
    """Train PPL with the CPU and with the GPU, at the usual and at ten times the population."""
    print(f"\ntraining, {effort.epochs} generations     s GPU   s CPU  ratio  same performance")
    for name, system in TRAINING:
        for task in (frozen_lake(8, 0.3), frozen_lake(12, 0.3), env_task("CartPole-v1")):
            for factor in (1, 10):
                usual = system(task).parameters.sizes[0]
                taken, found = [], []
                for backend in ("cpu", "cuda"):
                    learner = system(task, seed=1, pop_size=factor * usual, backend=backend)
                    learner.learn(epochs=1)
                    began = time.perf_counter()
                    learner.learn(epochs=effort.epochs)
                    taken.append(time.perf_counter() - began)
                    found.append(learner.now.records[-1]["performance"])
                print(
                    f"{name} {task.name:<18} {factor:>2} × {usual:<5} {taken[1]:7.2f} {taken[0]:7.2f} "
                    f"{taken[0] / taken[1]:6.2f}  {found[0]:.4f} {found[1]:.4f}"
                )


def solved(effort: Effort) -> None:
    """Train CartPole until the fittest list balances all validation episodes."""
    for pop_size in (1000, 10_000):
        for backend in ("cuda", "cpu"):
            spent, epochs, tests = [], [], []
            for seed in range(3 if backend == "cuda" else 1):
                learner = PPLDL("CartPole-v1", seed=seed, pop_size=pop_size, idv_size=12, backend=backend)
                began = time.perf_counter()
                learner.learn(
                    epochs=effort.epochs, callback=lambda it: it.now.records[-1]["unseen_performance"] < 500
                )
                spent.append(time.perf_counter() - began)
                epochs.append(learner.epoch)
                tests.append(evaluate(learner).performance)
            print(
                f"CartPole, PPL-DL, {pop_size} lists, {backend}: {statistics.median(spent):.2f} s, "
                f"epochs {epochs}, on 100 test seeds {tests}"
            )


PARTS = {
    "ceilings": ceilings,
    "tables": tables,
    "exact": exact,
    "reinforcement": reinforcement,
    "cartpole": cart_pole,
    "training": training,
    "solved": solved,
}


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="does it work at all?")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    asked = parser.parse_args()
    device = gpu.find_device()
    if isinstance(device, str):
        raise SystemExit(f"there is nothing to measure: {device}.")
    print(f"{machine()}\n{device}")
    for part in asked.only:
        began = time.perf_counter()
        PARTS[part](QUICK if asked.quick else FULL)
        print(f"[{part}: {time.perf_counter() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
