"""Measures what a new user waits for: import, help, and first trainings with nothing compiled yet.

    python benchmarks/first_minute.py
    python benchmarks/first_minute.py --before ../before/src --rounds 3        both take turns
    python benchmarks/first_minute.py --install        a new virtual environment, pip install, and first rules

Every round has an empty folder for compiled code. Seconds are the least of all rounds: of the clock, and of
the processor, with all processes that were started. On a machine that does other work the processor's are the
ones to compare. `--install` builds the wheel and installs it twice, so that pip has the packages the second
time, and needs the packages `build` and `hatchling`, as `make release` has them.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
TRAIN = ("-m", "ifthen", "train", "PPL-X")
STARTS = {
    "import ifthen": ("-c", "import ifthen"),
    "ifthen --help": ("-m", "ifthen", "--help"),
    "train PPL-X FrozenLake-8-0.3": (*TRAIN, "FrozenLake-8-0.3", "--out", "run"),
    "train PPL-X CartPole-v1 --steps 20000": (*TRAIN, "CartPole-v1", "--steps", "20000", "--out", "run"),
}


class Took(NamedTuple):
    """How long a command took."""

    clock: float
    processor: float


def took(command: list[str], **environment: str) -> Took:
    """Run a command in an empty folder, with an empty folder for compiled code unless one is named."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "IFTHEN_CACHE_DIR": str(Path(folder) / "compiled"), **environment}
        before, began = _processor(), time.perf_counter()
        process = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        clock = time.perf_counter() - began
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{process.stdout[-2000:]}{process.stderr[-2000:]}")
        return Took(clock, _processor() - before)


def _processor() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def least(rounds: list[Took]) -> Took:
    """Return the least seconds of some rounds."""
    return Took(*(min(column) for column in zip(*rounds, strict=True)))


def measure(options: argparse.Namespace) -> Table:
    """Return a table with a row for each start, cold and with all compiled."""
    trees = {"": ROOT / "src"} | ({"before: ": options.before.absolute()} if options.before else {})
    table = Table("", *(f"{tree}{clock_name}" for tree in trees for clock_name in ("clock", "processor")))
    if options.before:
        table.add_column("ratio")
    for name, arguments in STARTS.items():
        if options.only and not any(fragment in name for fragment in options.only):
            continue
        with tempfile.TemporaryDirectory() as cache_folder:
            cold: dict[str, list[Took]] = {tree: [] for tree in trees}
            warm: dict[str, list[Took]] = {tree: [] for tree in trees}
            for number in range(options.rounds):
                for tree, source in trees.items():
                    environment = {
                        "PYTHONPATH": str(source),
                        "IFTHEN_CACHE_DIR": str(Path(cache_folder) / f"{number}{tree[:6]}"),
                    }
                    for rounds in (cold, warm):
                        rounds[tree].append(took([sys.executable, *arguments], **environment))
        for label, rounds_of in (("", cold), (", all compiled", warm)):
            if label and arguments[:2] != TRAIN[:2]:
                continue
            times = [least(rounds_of[tree]) for tree in trees]
            row = [f"{seconds:.2f} s" for measurement in times for seconds in measurement]
            ratio = [f"{times[0].processor / times[1].processor:.2f}"] if options.before else []
            table.add_row(name + label, *row, *ratio)
    return table


def install() -> Table:
    """Return how long it takes from a wheel to first rules, with pip's cache warm."""
    table = Table("", "clock", "processor")
    with tempfile.TemporaryDirectory() as folder:
        built, venv = Path(folder) / "dist", Path(folder) / "venv"
        took([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(built), str(ROOT)])
        wheel = str(next(built.glob("*.whl")))
        python = str(venv / ("Scripts" if os.name == "nt" else "bin") / "python")
        steps = {
            "python -m venv": [sys.executable, "-m", "venv", "--clear", str(venv)],
            "pip install": [
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                wheel,
                "-c",
                str(ROOT / "constraints.txt"),
            ],
            "first rules": [python, *STARTS["train PPL-X FrozenLake-8-0.3"]],
        }
        total = Took(0.0, 0.0)
        for warm in (False, True):
            for name, command in steps.items():
                if warm or name != "first rules":
                    step_time = took(command, PYTHONPATH="")
                    if warm:
                        total = Took(total.clock + step_time.clock, total.processor + step_time.processor)
                        table.add_row(name, f"{step_time.clock:.1f} s", f"{step_time.processor:.1f} s")
        table.add_row("all", f"{total.clock:.1f} s", f"{total.processor:.1f} s")
    return table


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--before", type=Path, help="the folder src of another checkout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="parts of names of what is measured")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    Console().print(install() if options.install else measure(options))


if __name__ == "__main__":
    main()
