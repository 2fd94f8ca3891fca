"""Takes environments of other people's packages through all commands, with ifthen's defaults.

    make strangers                                       its own virtual environment, then everything
    python benchmarks/strangers/run.py --only Empty Bird
    python benchmarks/strangers/run.py --write docs/strangers.md

For each environment: check, then train, prune, explain, verify, export and evaluate, with PPL-X and with
PPL-DL, each as one command. PPL-X and pruning play for about --seconds, but 3,000 steps at least. PPL-DL
trains for about --seconds; where one of its epochs takes longer than a third of that, populations and
training seeds are fewer. Scores are on test seeds (100 where that takes no longer than --seconds) beside
those of random actions.

What became of an environment is kept in results/strangers as soon as it is known. Those that went through, or
were refused, are not run again with the same --seconds, unless they are named with --only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "results" / "strangers"
IFTHEN = Path(sys.executable).with_name("ifthen")


class Result(NamedTuple):
    """What became of one environment: a row of the table."""

    name: str
    features: str
    actions: str
    notes: str
    random: str
    pplx: str
    pplx_rules: str
    ppldl: str
    ppldl_rules: str
    outcome: str


class FailedError(Exception):
    """A command ended with an error."""


class Commands:
    """Runs commands of ifthen in a folder, for a limited time in all."""

    def __init__(self, folder: Path, limit: float) -> None:
        self.folder, self.limit, self.began = folder, limit, time.perf_counter()

    def __call__(self, *arguments: str) -> str:
        """Run a command; return what it printed, or raise with its error."""
        print("   ifthen", *arguments, flush=True)
        remaining = self.limit - (time.perf_counter() - self.began)
        command = subprocess.Popen(
            [str(IFTHEN), *arguments],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "2000"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that its worker processes can be ended with it
        )
        try:
            printed, errors = command.communicate(timeout=max(remaining, 1))
        except subprocess.TimeoutExpired:
            raise FailedError(
                f"{arguments[0]} was stopped: the time limit of {self.limit:.0f} s was over"
            ) from None
        finally:
            if command.poll() is None:
                os.killpg(command.pid, signal.SIGKILL)
                command.wait()
        if "Traceback" in errors:
            raise FailedError(f"{arguments[0]} had a traceback: {errors.strip().splitlines()[-1]}")
        if command.returncode not in (0, 1):  # 1: verify found something
            lines = [line for line in errors.splitlines() if "error:" in line] or errors.splitlines()
            raise FailedError(" ".join(" ".join(lines).split()) or f"exit status {command.returncode}")
        return printed


def tried(name: str, run: Commands, seconds: float) -> Result:
    """Take one environment through all commands."""
    try:
        run("check", task_of(name), "--json", f"{name}.json")
    except FailedError as problem:
        _, separator, reason = str(problem).partition("error: ")
        return Result._make([name, *[""] * 8, f"refused: {reason}" if separator else f"FAILED: {problem}"])
    checked: dict[str, Any] = json.loads((run.folder / f"{name}.json").read_text())
    shape = str(len(checked["features"])), str(len(checked["actions"]))
    notes = "; ".join(note.partition(":")[0].rstrip(".") for note in checked["notes"])
    chance = f"{checked['mean_return']:.4g}"
    scores: list[str] = []
    steps = str(int(max(3_000, min(200_000, seconds * checked["steps_per_second"]))))
    for system, length_options in (
        ("PPL-X", ["--set", f"steps={steps}"]),
        ("PPL-DL", epochs_of(checked, seconds)),
    ):
        began = time.perf_counter()
        try:
            scores += through(system, length_options, name, run, steps, seeds_of(checked, seconds))
        except FailedError as problem:
            scores += [""] * (4 - len(scores))
            return Result._make([name, *shape, notes, chance, *scores, f"FAILED: {system}: {problem}"])
        print(f"   {system}: {scores[-2]}, {time.perf_counter() - began:.0f} s", flush=True)
    return Result._make([name, *shape, notes, chance, *scores, "went through"])


def task_of(name: str) -> str:
    """Return what the command line calls an environment."""
    return f"stranger_envs:Strangers/{name}-v0"


def epochs_of(checked: dict[str, Any], seconds: float) -> list[str]:
    """Return the options of `train PPL-DL` that make it take about so many seconds."""
    epoch, smaller = checked["epoch_seconds"], list[str]()
    if epoch > seconds / 3:
        smaller = ["--set", "pop_size=40", "--task-set", "episodes=5"]
        epoch /= 20
    return ["--epochs", str(int(min(100, max(3, seconds / max(epoch, 1e-9))))), *smaller]


def seeds_of(checked: dict[str, Any], seconds: float) -> tuple[str, str]:
    """Return how many seeds to prune and to test on, at most 100, so that playing them takes few seconds."""
    n_episodes = seconds * checked["steps_per_second"] / checked["most_steps"]
    return str(int(max(10, min(100, n_episodes / 10)))), str(int(max(20, min(100, n_episodes))))


def through(
    system: str, length_options: list[str], name: str, run: Commands, steps: str, seeds: tuple[str, str]
) -> tuple[str, str]:
    """Train a system in one environment, and take its rules through all commands; return score and rules."""
    run_name = f"{name}-{system}"
    task_options, rules = ("--task", task_of(name), "--task", run_name), f"{run_name}.txt"
    run("train", system, task_of(name), "--seed", "0", "--out", run_name, *length_options)
    run("prune", run_name, *task_options, "--steps", steps, "--episodes", seeds[0], "--out", rules)
    run("explain", rules, *task_options, "--out", f"{run_name}-explained")
    run("verify", rules, *task_options)
    run("export", rules, *task_options, "--to", "c", "--out", f"{run_name}.c")
    run("evaluate", rules, *task_options, "--episodes", seeds[1], "--json", f"{run_name}-score.json")
    score = json.loads((run.folder / f"{run_name}-score.json").read_text())
    lines = (run.folder / rules).read_text().splitlines()
    return in_words(score), str(sum(bool(re.match(r"\s*\d+\.", line)) for line in lines))


def in_words(score: dict[str, Any]) -> str:
    """Return the score on test seeds, with its 95 % interval."""
    test_score = score["on test seeds"]
    if test_score["failed"]:
        return "a state without a rule"
    low, high = test_score["interval"]
    return f"{test_score['performance']:.4g} ({low:.4g} to {high:.4g})"


def stored_result(name: str, seconds: float) -> Result | None:
    """Return what became of an environment, if it was run for so many seconds and needs no other try."""
    file = RESULTS / f"{name}.json"
    record = json.loads(file.read_text()) if file.is_file() else {}
    recorded_seconds = record.pop("seconds", None)
    if recorded_seconds != seconds or record["outcome"].startswith("FAILED"):
        return None
    return Result(**record)


def store_result(result: Result, seconds: float) -> None:
    """Keep what became of an environment."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    record = {**result._asdict(), "seconds": seconds}
    (RESULTS / f"{result.name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def written(results: list[Result], names: list[str], before: str) -> str:
    """Return a document with the results in its table, in this order; rows of other environments stay."""
    start = before.index("| environment")
    lines = before[start:].partition("\n\n")[0].splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines[2:]}
    rows |= {row.name: "| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in results}
    return before[:start] + "\n".join([*lines[:2], *(rows[name] for name in names if name in rows)]) + "\n"


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these, also if they were run before")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to play in each training")
    parser.add_argument("--limit", type=float, default=1500.0, help="the most seconds for an environment")
    parser.add_argument("--write", type=Path, help="a Markdown file whose table is replaced")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the running command is ended, too
    sys.path.insert(0, str(HERE))
    from stranger_envs import ENVIRONMENTS

    results = []
    for name in options.only or ENVIRONMENTS:
        began, result = time.perf_counter(), None if options.only else stored_result(name, options.seconds)
        print(name if result is None else f"{name} was run before", flush=True)
        if result is None:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copy(HERE / "stranger_envs.py", folder)
                result = tried(name, Commands(Path(folder), options.limit), options.seconds)
            store_result(result, options.seconds)
            print(f"   {result.outcome}, {time.perf_counter() - began:.0f} s", flush=True)
        results.append(result)
        if options.write:
            options.write.write_text(written(results, list(ENVIRONMENTS), options.write.read_text()))
    for result in results:
        print(*result, sep=" · ")
    sys.exit(any(result.outcome.startswith("FAILED") for result in results))


if __name__ == "__main__":
    main()
