"""Compares the speed of this checkout with another one: both take turns in one run.

    python benchmarks/turns.py ../before/src
    python benchmarks/turns.py ../before/src --rounds 15 --only "XCSF, (8, 0.3)" "import ifthen"
    python benchmarks/turns.py ../before/src --quick --rounds 1        does it work at all?

Each source tree has a process of its own that does the same work through public names. In every round both do
every piece of work, one after the other, and the one that begins changes from round to round: what else the
machine does meets both alike. Times are processor times, on one thread. A ratio is this checkout's time
divided by the other's in the same round; the table shows the median of the ratios and their middle half.
Below 1, this checkout is faster. Exit code: 1 where a median is above --most, if that is given.

The work is what `speed.py`, `xcsf_speed.py` and `throughput.py` measure: epochs and steps of training,
evaluation of many policies, playing through compiled twins and Gymnasium's vector API; and starting up.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[1]
Work = Callable[[], object]
Prepared = Callable[[int], Work]
"""Prepares one piece of work, from scratch, for a round; what it returns is timed."""
QUICK = False


def package() -> Any:
    """Return the package of the process's own tree, imported where it is first needed."""
    return importlib.import_module("ifthen")


def size(full: int) -> int:
    """Return how much work to do: little of it where only the script is tried."""
    return max(1, full // 20) if QUICK else full


def lake_epochs(system: str, lake: int, epochs: int) -> Prepared:
    """Return epochs of a system on a lake; the task is new each time and pays for its own tables."""

    def prepare(round_: int) -> Work:
        ifthen = package()
        learner = getattr(ifthen, system)(
            ifthen.frozen_lake(lake, 0.3), seed=round_, threads=1, noise="stream"
        )
        return lambda: learner.learn(epochs=size(epochs))

    return prepare


def lake_steps(steps: int) -> Prepared:
    """Return steps of XCSF from the first on, the measures of its epochs included."""

    def prepare(round_: int) -> Work:
        ifthen = package()
        learner = ifthen.XCSF(ifthen.frozen_lake(8, 0.3), seed=round_, threads=1)
        return lambda: learner.learn(steps=size(steps))

    return prepare


def env_epochs(system: str, environment: str, epochs: int, player: str) -> Prepared:
    """Return epochs of a system in an environment."""

    def prepare(round_: int) -> Work:
        ifthen = package()
        task = ifthen.env_task(environment, player=player, episodes=size(20))
        learner = getattr(ifthen, system)(task, seed=round_, threads=1)
        return lambda: learner.learn(epochs=size(epochs))

    return prepare


def played(environment: str, player: str, episodes: int) -> Prepared:
    """Return one list that is evaluated over many episodes of an environment."""

    def prepare(round_: int) -> Work:
        ifthen = package()
        task = ifthen.env_task(environment, player=player)
        rules = random_list(task, 8, round_)
        seeds = [10_000 + n for n in range(size(episodes))]
        return lambda: ifthen.evaluate(rules, task, seeds=seeds, threads=1)

    return prepare


def random_list(task: Any, rules: int, seed: int) -> Any:
    """Return a random decision list whose last rule matches everywhere."""
    import numpy as np

    draws = np.random.default_rng(seed)
    low, high = (np.array([getattr(f, end) for f in task.features], dtype=float) for end in ("low", "high"))
    bounds = low[:, None] + draws.random((rules, len(low), 2)) * (high - low)[:, None]
    if all(feature.kind == "integer" for feature in task.features):
        bounds = np.round(bounds).astype(np.int64)
    bounds[-1] = np.stack([low, high], axis=-1)
    actions = draws.integers(0, len(task.action_names), rules)
    return package().DecisionList(np.sort(bounds, axis=-1), actions, task.features, task.action_names)


def evaluated(method: str, policies: int, noise: str = "aligned") -> Prepared:
    """Return many different decision lists that are evaluated one by one on a lake."""

    def prepare(round_: int) -> Work:
        ifthen = package()
        task = ifthen.frozen_lake(8, 0.3)
        lists = [random_list(task, 12, 1000 * round_ + n) for n in range(size(policies))]
        ifthen.evaluate(lists[0], task, method, noise, threads=1)

        def work() -> None:
            for rules in lists:
                ifthen.evaluate(rules, task, method, noise, threads=1)

        return work

    return prepare


def optimal_played(lake: int, repeats: int, noise: str) -> Prepared:
    """Return an optimal policy that is played on all initial states of a lake, again and again."""

    def prepare(round_: int) -> Work:
        ifthen = package()
        policy = ifthen.tables.value_iteration(ifthen.frozen_lake(lake, 0.3)).policy
        task = ifthen.frozen_lake(lake, 0.3)
        ifthen.evaluate(policy, task, "sampled", noise, threads=1)

        def work() -> None:
            for _ in range(size(repeats)):
                ifthen.evaluate(policy, task, "sampled", noise, threads=1)

        return work

    return prepare


def started(*arguments: str) -> Prepared:
    """Return a new Python process of the same tree."""

    def work() -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    return lambda round_: work


WORK: dict[str, Prepared] = {
    "PPL-DL, (8, 0.3), 40 epochs": lake_epochs("PPLDL", 8, 40),
    "PPL-DL, (12, 0.3), 20 epochs": lake_epochs("PPLDL", 12, 20),
    "PPL-ST, (8, 0.3), 20 epochs": lake_epochs("PPLST", 8, 20),
    "PPL-ST, (12, 0.3), 6 epochs": lake_epochs("PPLST", 12, 6),
    "XCSF, (8, 0.3), 100,000 steps": lake_steps(100_000),
    "sampled, optimal (12, 0.3), aligned": optimal_played(12, 200, "aligned"),
    "sampled, optimal (12, 0.3), stream": optimal_played(12, 200, "stream"),
    "sampled, 300 lists on (8, 0.3)": evaluated("sampled", 300),
    "sampled, 300 lists, stream noise": evaluated("sampled", 300, "stream"),
    "exact, 300 lists on (8, 0.3)": evaluated("exact", 300),
    "CartPole, PPL-DL, 30 epochs": env_epochs("PPLDL", "CartPole-v1", 30, "twin"),
    "CartPole, PPL-ST, 5 epochs": env_epochs("PPLST", "CartPole-v1", 5, "twin"),
    "CartPole, XCSF, 5 epochs": env_epochs("XCSF", "CartPole-v1", 5, "twin"),
    "MountainCar, PPL-DL, 10 epochs": env_epochs("PPLDL", "MountainCar-v0", 10, "twin"),
    "Acrobot, PPL-DL, 3 epochs": env_epochs("PPLDL", "Acrobot-v1", 3, "twin"),
    "CartPole, PPL-DL by vector API, 1 epoch": env_epochs("PPLDL", "CartPole-v1", 1, "sync"),
    "MountainCar, one list, twin": played("MountainCar-v0", "twin", 5000),
    "MountainCar, one list, vector API": played("MountainCar-v0", "sync", 100),
    "import ifthen": started("-c", "import ifthen"),
    "import all of ifthen": started("-c", "from ifthen import *"),
    "ifthen --help": started("-m", "ifthen.cli", "--help"),
}


class Tree:
    """A process that does the work with one source tree.

    Args:
        source: the folder that holds the package `ifthen`.
        quick: whether to do little work.
    """

    def __init__(self, source: Path, quick: bool) -> None:
        if not (source / "ifthen" / "__init__.py").exists():
            raise SystemExit(f"{source} holds no package ifthen: give the folder src of a checkout.")
        command = [sys.executable, __file__, "--work", *(["--quick"] if quick else []), str(source)]
        environment = {**os.environ, "PYTHONPATH": str(source)}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def seconds(self, name: str, round_: int) -> float:
        """Return the processor time of a piece of work."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([name, round_]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{name} failed: see above.")
        return float(json.loads(answer))


def work_as_told() -> None:
    """Do one piece of work for every line of input, and answer with its seconds."""
    for line in sys.stdin:
        name, round_ = json.loads(line)
        work = WORK[name](round_)
        began = processor_seconds()
        work()
        print(json.dumps(processor_seconds() - began), flush=True)


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it has started and that have ended."""
    child_usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + child_usage.ru_utime + child_usage.ru_stime


def compared(ours: Tree, theirs: Tree, names: list[str], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds of both trees for every piece of work, in every round."""
    for name in names:  # compile what is not compiled yet
        for tree in (ours, theirs):
            tree.seconds(name, 0)
    seconds_by_name: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for round_ in range(1, rounds + 1):
        for name in names:
            if round_ % 2:
                our_seconds, their_seconds = ours.seconds(name, round_), theirs.seconds(name, round_)
            else:
                their_seconds, our_seconds = theirs.seconds(name, round_), ours.seconds(name, round_)
            seconds_by_name[name].append((our_seconds, their_seconds))
        print(f"round {round_} of {rounds}", file=sys.stderr, flush=True)
    return seconds_by_name


def report(seconds_by_name: dict[str, list[tuple[float, float]]]) -> list[float]:
    """Print a line per piece of work; return the median ratios."""
    print(f"{'work':<42}{'this, s':>10}{'other, s':>10}{'ratio':>8}   middle half")
    medians = []
    for name, pairs in seconds_by_name.items():
        ratios = [our_seconds / their_seconds for our_seconds, their_seconds in pairs]
        quartiles = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        ours, theirs = (statistics.median(seconds) for seconds in zip(*pairs, strict=True))
        print(
            f"{name:<42}{ours:>10.3f}{theirs:>10.3f}{quartiles[1]:>8.3f}   "
            f"{quartiles[0]:.3f} to {quartiles[2]:.3f}"
        )
        medians.append(quartiles[1])
    return medians


def main() -> None:
    """Read the command line, let both trees take turns, print the table."""
    global QUICK  # noqa: PLW0603 -- set once, before any work
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("other", type=Path, metavar="OTHER_SRC", help="the folder src of another checkout")
    parser.add_argument("--src", type=Path, default=ROOT / "src", help="another tree in place of this one")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", default=[""], help="work whose name begins like this")
    parser.add_argument("--quick", action="store_true", help="little work: a smoke test")
    parser.add_argument("--most", type=float, help="the largest median ratio that is accepted, such as 1.05")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    QUICK = options.quick
    if options.work:
        work_as_told()
        return
    names = [name for name in WORK if any(name.startswith(prefix) for prefix in options.only)]
    with Tree(options.src.resolve(), QUICK) as ours, Tree(options.other.resolve(), QUICK) as theirs:
        medians = report(compared(ours, theirs, names, options.rounds))
    sys.exit(options.most is not None and max(medians) > options.most)


if __name__ == "__main__":
    main()
