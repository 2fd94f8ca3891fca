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
from ifthen.simulate.simulator import Measured, Reinforcement
from ifthen.simulate.table_simulator import TableSimulator
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
    durations = []
    for _ in range(repeats):
        cuda.synchronize()
        began = time.perf_counter()
        work()
        cuda.synchronize()
        durations.append(time.perf_counter() - began)
    return min(durations)


def random_lists(
    task: Task, n: int, method: int = LIST, rules: int | None = None, p_any: float = 0.0
) -> RuleBatch:
    """Return the rules of a random population."""
    size = rules or task.suitable_rules
    learns = 0 if method == LIST else len(task.features) + 2
    parameters = PittsburghParameters(pop_size=n, idv_size=size, p_any=p_any)
    return first_population(parameters, task, 0, learns).batch(method, 10.0, 0 if method == LIST else None)


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
    source = cuda.device_array(2**28, dtype=np.float64)
    target = cuda.device_array_like(source)
    copied = seconds(lambda: target.copy_to_device(source), effort.repeats)
    print(f"copying memory: {2 * source.nbytes / copied / 1e12:.2f} TB/s read and written")
    out, blocks, threads = cuda.to_device(np.zeros(1)), 132 * 32, 256
    duration = seconds(lambda: chained[blocks, threads](out), effort.repeats)
    products = blocks * threads * ADDITIONS * 4
    print(f"products with sums, double precision: {2 * products / duration / 1e12:.1f} TFLOP/s")


def same(first: Measured, second: Measured) -> bool:
    """Return whether two measures agree in every bit."""
    names = Measured.__dataclass_fields__
    return all(getattr(first, name).tobytes() == getattr(second, name).tobytes() for name in names)


def forgetful(simulator: Any, rules: RuleBatch) -> Callable[[], object]:
    """Return work that measures a population of which nothing is remembered."""

    def work() -> object:
        if isinstance(simulator, TableSimulator):
            simulator._results.clear()
        return simulator.fitness(rules, 0)

    return work


def simulators(task: Task, noise: Noise = "aligned", method: Method = "sampled") -> tuple[Any, Any]:
    """Return the simulators of the CPU and of the GPU."""
    options: Any = {"threads": available_threads(), "noise": noise, "method": method}
    cpu, cuda_ = (simulator_of(task, backend=backend, **options) for backend in get_args(Backend)[1:])
    return cpu, cuda_


def tables(effort: Effort) -> None:
    """Play populations of lists on z."""
    print(
        "\ntask            noise    policies  steps/s GPU  steps/s CPU  ratio  same bits  ms per generation"
    )
    for (size, p_slip), noise in product(TABLES, get_args(Noise)):
        task = frozen_lake(size, p_slip)
        on_cpu, on_gpu = simulators(task, noise)
        gpu_rules = random_lists(task, effort.policies)
        cpu_rules = gpu_rules.take(slice(0, effort.policies // 10))
        gpu_result, cpu_result = on_gpu.fitness(gpu_rules, 0), on_cpu.fitness(cpu_rules, 0)
        equal = same(cpu_result, on_gpu.fitness(cpu_rules, 0))
        gpu_seconds = seconds(partial(on_gpu.fitness, gpu_rules, 0), effort.repeats)
        cpu_seconds = seconds(forgetful(on_cpu, cpu_rules), effort.repeats)
        gpu_speed, cpu_speed = gpu_result.steps.sum() / gpu_seconds, cpu_result.steps.sum() / cpu_seconds
        print(
            f"({size}, {p_slip})".ljust(16) + f"{noise:<8} {effort.policies:>8,}  {gpu_speed / 1e9:9.2f} G  "
            f"{cpu_speed / 1e9:9.2f} G  {gpu_speed / cpu_speed:5.1f}  {equal!s:>9}  {gpu_seconds * 1e3:10.1f}"
        )


def exact(effort: Effort) -> None:
    """Work out the exact performance of populations of lists."""
    print("\nexact evaluation  policies  policies/s GPU  policies/s CPU  ratio  same bits")
    for size, p_slip in TABLES:
        task = frozen_lake(size, p_slip)
        on_cpu, on_gpu = simulators(task, method="exact")
        gpu_rules = random_lists(task, effort.policies)
        cpu_rules = gpu_rules.take(slice(0, effort.policies // 10))
        equal = same(on_cpu.fitness(cpu_rules, 0), on_gpu.fitness(cpu_rules, 0))
        gpu_speed = effort.policies / seconds(partial(on_gpu.fitness, gpu_rules, 0), effort.repeats)
        cpu_speed = len(cpu_rules.lengths) / seconds(forgetful(on_cpu, cpu_rules), effort.repeats)
        print(
            f"({size}, {p_slip})".ljust(16)
            + f"{effort.policies:>10,}  {gpu_speed:14,.0f}  {cpu_speed:14,.0f}  "
            f"{gpu_speed / cpu_speed:5.1f}  {equal!s:>9}"
        )


def reinforcement(effort: Effort) -> None:
    """Let rules of PPL-ST learn from ten rollouts each."""
    print("\nreinforcement   rulesets  steps/s GPU  steps/s CPU  ratio  same bits")
    n_cpu = effort.policies // 10
    for size, p_slip in TABLES:
        task = frozen_lake(size, p_slip)
        speeds, learnt = [], []
        for simulator, n in zip(simulators(task), (n_cpu, effort.policies), strict=True):
            rules = random_lists(task, n, STRENGTH)
            lesson = Reinforcement(stream(0, "reinforce", 0), n, 10, 0.1, False)
            steps = simulator.reinforce(rules, lesson)
            learnt.append(rules.learnt[:n_cpu].tobytes())
            speeds.append(steps / seconds(partial(simulator.reinforce, rules, lesson), effort.repeats))
        cpu_speed, gpu_speed = speeds
        print(
            f"({size}, {p_slip})".ljust(16) + f"{effort.policies:>8,}  {gpu_speed / 1e9:9.2f} G  "
            f"{cpu_speed / 1e9:9.2f} G  {gpu_speed / cpu_speed:5.1f}  {learnt[0] == learnt[1]!s:>9}"
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
        breed_next = partial(
            next_generation, parameters, task, 0, epoch, threads, population, whole_rules=False
        )
        if epoch in (0, 5, 20):
            print_generation(f"bred {epoch} times", on_cpu, on_gpu, rules, seconds(breed_next, 2), effort)
        population = breed_next()


def print_generation(
    name: str, on_cpu: Any, on_gpu: Any, rules: RuleBatch, breeding: float, effort: Effort
) -> None:
    """Print how long a generation in CartPole takes."""
    n = len(rules.lengths)
    cpu_rules = rules.take(slice(0, max(1, n // 50)))
    cpu_result, gpu_result = on_cpu.fitness(cpu_rules, 0), on_gpu.fitness(cpu_rules, 0)
    all_result = on_gpu.fitness(rules, 0)
    gpu_seconds = seconds(partial(on_gpu.fitness, rules, 0), effort.repeats)
    cpu_seconds = seconds(forgetful(on_cpu, cpu_rules), effort.repeats)
    kernel, steps = kernel_seconds(on_gpu, rules, effort), all_result.steps.sum()
    cpu_speed = cpu_result.steps.sum() / cpu_seconds
    differences = abs(cpu_result.performance - gpu_result.performance)
    print(
        f"{name:<14} {n:,} lists, {steps / n / 100:.0f} steps an episode: generation "
        f"{gpu_seconds + breeding:.3f} s "
        f"(fitness {gpu_seconds:.3f}, of it the kernel {kernel:.3f}; breeding {breeding:.3f}); kernel "
        f"{steps / kernel / 1e9:.1f} G steps/s, fitness {steps / gpu_seconds / 1e9:.1f} G, "
        f"CPU {cpu_speed / 1e9:.3f} G; "
        f"lists with other steps than the CPU's: {(cpu_result.steps != gpu_result.steps).mean():.2%}, of "
        f"{len(differences):,}; fitness differs by {differences.mean():.4f} on average and "
        f"{differences.max():.2f} at most"
    )


def kernel_seconds(simulator: Any, rules: RuleBatch, effort: Effort) -> float:
    """Return the seconds of the kernel that plays twins alone."""
    work = simulator._play(rules, simulator.task.z)
    return seconds(partial(simulator._launch, work), effort.repeats)


def training(effort: Effort) -> None:
    """Train PPL with the CPU and with the GPU, at the usual and at ten times the population."""
    print(f"\ntraining, {effort.epochs} generations     s GPU   s CPU  ratio  same performance")
    for name, system in TRAINING:
        for task in (frozen_lake(8, 0.3), frozen_lake(12, 0.3), env_task("CartPole-v1")):
            for factor in (1, 10):
                usual_size = system(task).parameters.sizes[0]
                durations, performances = [], []
                for backend in ("cpu", "cuda"):
                    learner = system(task, seed=1, pop_size=factor * usual_size, backend=backend)
                    learner.learn(epochs=1)
                    began = time.perf_counter()
                    learner.learn(epochs=effort.epochs)
                    durations.append(time.perf_counter() - began)
                    performances.append(learner.now.records[-1]["performance"])
                print(
                    f"{name} {task.name:<18} {factor:>2} × {usual_size:<5} {durations[1]:7.2f} "
                    f"{durations[0]:7.2f} {durations[0] / durations[1]:6.2f}  "
                    f"{performances[0]:.4f} {performances[1]:.4f}"
                )


def solved(effort: Effort) -> None:
    """Train CartPole until the fittest list balances all validation episodes."""
    for pop_size in (1000, 10_000):
        for backend in ("cuda", "cpu"):
            durations, epochs, tests = [], [], []
            for seed in range(3 if backend == "cuda" else 1):
                learner = PPLDL("CartPole-v1", seed=seed, pop_size=pop_size, idv_size=12, backend=backend)
                began = time.perf_counter()
                learner.learn(
                    epochs=effort.epochs,
                    callback=lambda system: system.now.records[-1]["unseen_performance"] < 500,
                )
                durations.append(time.perf_counter() - began)
                epochs.append(learner.epoch)
                tests.append(evaluate(learner).performance)
            print(
                f"CartPole, PPL-DL, {pop_size} lists, {backend}: {statistics.median(durations):.2f} s, "
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
    options = parser.parse_args()
    device = gpu.find_device()
    if isinstance(device, str):
        raise SystemExit(f"there is nothing to measure: {device}.")
    print(f"{machine()}\n{device}")
    for part in options.only:
        began = time.perf_counter()
        PARTS[part](QUICK if options.quick else FULL)
        print(f"[{part}: {time.perf_counter() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
