"""Takes environments of other people's packages through all commands, with ifthen's defaults.

    make strangers                                       its own virtual environment, then everything
    python benchmarks/strangers/run.py --only Empty Bird
    python benchmarks/strangers/run.py --write docs/strangers.md

For each environment: check, then train, prune, explain, verify, export and evaluate, with PPL-X and with
PPL-DL, each as one command. PPL-X plays for about --seconds, but 10,000 steps at least, and learns as long as
it takes. PPL-DL trains for about --seconds; where one of its epochs takes longer than a third of that,
populations and training seeds are fewer. Scores are on test seeds, beside those of random actions.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
IFTHEN = Path(sys.executable).with_name("ifthen")
LIMIT = 900


class Result(NamedTuple):
    """What became of one environment."""

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


def run(folder: Path, *arguments: str) -> str:
    """Run a command of ifthen in a folder; return what it printed, or raise with its error."""
    print("   ifthen", *arguments, flush=True)
    try:
        done = subprocess.run(
            [str(IFTHEN), *arguments],
            cwd=folder,
            env={**os.environ, "COLUMNS": "2000"},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FailedError(f"{arguments[0]} took longer than {LIMIT} s") from None
    if "Traceback" in done.stderr:
        raise FailedError(f"{arguments[0]} had a traceback: {done.stderr.strip().splitlines()[-1]}")
    if done.returncode not in (0, 1):  # 1: verify found something
        lines = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines()
        raise FailedError(" ".join(" ".join(lines).split()))
    return done.stdout


def tried(name: str, folder: Path, seconds: float) -> Result:
    """Take one environment through all commands."""
    task = f"stranger_envs:Strangers/{name}-v0"
    try:
        run(folder, "check", task, "--json", f"{name}.json")
    except FailedError as problem:
        outcome = f"refused: {str(problem).partition('error: ')[2] or problem}"
        return Result._make([name, *[""] * 8, outcome])
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    shape = str(len(found["features"])), str(len(found["actions"]))
    notes = "; ".join(note.partition(":")[0].rstrip(".") for note in found["notes"])
    chance = f"{found['mean_return']:.4g}"
    scores: list[str] = []
    for system, how in (("PPL-X", plan_of(found, seconds)), ("PPL-DL", epochs_of(found, seconds))):
        began = time.perf_counter()
        try:
            scores += through(system, how, name, folder)
        except FailedError as problem:
            scores += [""] * (4 - len(scores))
            return Result._make([name, *shape, notes, chance, *scores, f"FAILED: {problem}"])
        print(f"   {system}: {scores[-2]}, {time.perf_counter() - began:.0f} s", flush=True)
    return Result._make([name, *shape, notes, chance, *scores, "went through"])


def plan_of(found: dict[str, Any], seconds: float) -> list[str]:
    """Return the options of `train PPL-X` that make it play for about so many seconds."""
    return ["--set", f"steps={int(max(10_000, min(3_000_000, seconds * found['steps_per_second'])))}"]


def epochs_of(found: dict[str, Any], seconds: float) -> list[str]:
    """Return the options of `train PPL-DL` that make it take about so many seconds."""
    epoch, fewer = found["epoch_seconds"], list[str]()
    if epoch > seconds / 3:
        fewer = ["--set", "pop_size=40", "--task-set", "episodes=5"]
        epoch /= 20
    return ["--epochs", str(int(min(100, max(3, seconds / max(epoch, 1e-9))))), *fewer]


def through(system: str, how: list[str], name: str, folder: Path) -> tuple[str, str]:
    """Train a system in one environment, and take its rules through all commands; return score and rules."""
    task, made = f"stranger_envs:Strangers/{name}-v0", f"{name}-{system}"
    own, rules = ("--task", task), f"{name}-{system}.txt"
    run(folder, "train", system, task, "--seed", "0", "--out", made, *how)
    run(folder, "prune", made, *own, "--out", rules)
    run(folder, "explain", rules, *own, "--out", f"{made}-explained")
    run(folder, "verify", rules, *own)
    run(folder, "export", rules, *own, "--to", "c", "--out", f"{made}.c")
    run(folder, "evaluate", rules, *own, "--json", f"{made}-score.json")
    score = json.loads((folder / f"{made}-score.json").read_text())
    lines = (folder / rules).read_text().splitlines()
    return in_words(score), str(sum(bool(re.match(r"\s*\d+\.", line)) for line in lines))


def in_words(score: dict[str, Any]) -> str:
    """Return the score on test seeds, with its 95 % interval."""
    one = score["on test seeds"]
    if one["failed"]:
        return "a state without a rule"
    return f"{one['performance']:.4g} ({one['interval'][0]:.4g} to {one['interval'][1]:.4g})"


def written(results: list[Result], before: str) -> str:
    """Return a document with the results in its table; rows of other environments stay."""
    start = before.index("| environment")
    lines = before[start:].partition("\n\n")[0].splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines[2:]}
    rows |= {row.name: "| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in results}
    return before[:start] + "\n".join([*lines[:2], *rows.values()]) + "\n"


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long to train each")
    parser.add_argument("--write", type=Path, help="a Markdown file whose table is replaced")
    given = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from stranger_envs import ENVIRONMENTS

    results = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copy(HERE / "stranger_envs.py", folder)
        for name in given.only or ENVIRONMENTS:
            began = time.perf_counter()
            print(name, flush=True)
            results.append(tried(name, folder, given.seconds))
            print(f"   {results[-1].outcome}, {time.perf_counter() - began:.0f} s", flush=True)
            if given.write:
                given.write.write_text(written(results, given.write.read_text()))
    for result in results:
        print(*result, sep=" · ")
    sys.exit(any(result.outcome.startswith("FAILED") for result in results))


if __name__ == "__main__":
    main()
