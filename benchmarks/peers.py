"""CartPole-v1, side by side: ifthen, LEAP's Pittsburgh rules, and Stable-Baselines3's PPO and DQN.

    python benchmarks/peers.py --venvs /tmp/peers                       # all, 5 seeds: about an hour
    python benchmarks/peers.py --venvs /tmp/peers --seeds 1 --quick     # does it work? a few minutes
    python benchmarks/peers.py --table                                  # the table of the last run

Every peer runs in a process of its own, with the Python of a virtual environment of its own, which is made
below --venvs where it is missing; nothing of a peer is imported here. Trials run one after another, seed by
seed, so that noise of the machine meets all alike. How a trial is timed and checked: peers/cartpole_trial.py.
Written: results/peers/cartpole.json (everything) and cartpole.md (the table).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

HERE = Path(__file__).parent
OUT = HERE.parent / "results" / "peers"
LEAP = ("leap-ec==0.8.2", "gymnasium==1.4.0")
SB3 = ("stable-baselines3==2.9.2", "gymnasium==1.4.0")
FAIRER = ("--population", "100", "--condition-rate", "1", "--std", "0.2", "--action-rate", "0.05")


@dataclass(frozen=True)
class Peer:
    """One learner and how to run it.

    Args:
        name: in the table.
        script: in the folder peers.
        arguments: of the script.
        packages: what its virtual environment needs; none for the Python that runs this.
        venv: the name of that environment.
        quick: its budget of steps where only the machinery is tried.
    """

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    venv: str = ""
    quick: int = 20_000


PEERS = {
    "ifthen": Peer("ifthen PPL-DL", "ifthen_cartpole.py", quick=2_000_000),
    "leap": Peer("LEAP, its example's parameters", "leap_cartpole.py", (), LEAP, "leap"),
    "leap-fairer": Peer("LEAP, population 100", "leap_cartpole.py", FAIRER, LEAP, "leap", 100_000),
    "ppo": Peer("SB3 PPO, RL Zoo's parameters", "sb3_cartpole.py", ("PPO",), SB3, "sb3"),
    "dqn": Peer("SB3 DQN, RL Zoo's parameters", "sb3_cartpole.py", ("DQN",), SB3, "sb3"),
}


def python_of(peer: Peer, venvs: Path) -> str:
    """Return the Python to run a peer with; its environment is made, or brought up to date, first."""
    if not peer.packages:
        return sys.executable
    folder = venvs / peer.venv
    python, requirements = folder / "bin" / "python", "\n".join(peer.packages)
    marker = folder / "installed.txt"
    if not marker.exists() or marker.read_text() != requirements:
        print(f"making {folder} with {', '.join(peer.packages)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*install, *peer.packages], check=True)
        marker.write_text(requirements)
    return str(python)


def run_trial(peer: Peer, python: str, seed: int, threads: int, extra: Sequence[str]) -> dict[str, Any]:
    """Run one trial and return what it reports."""
    command = [python, str(HERE / "peers" / peer.script), *peer.arguments]
    command += ["--seed", str(seed), "--threads", str(threads), *extra]
    env = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    process = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    if process.returncode:
        raise SystemExit(f"`{' '.join(command)}` failed:\n{process.stderr or process.stdout}")
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return {"peer": peer.name, "seed": seed, "arguments": [*peer.arguments, *extra], **result}


def spread(values: Sequence[float | None], digits: int = 0) -> str:
    """Return median and range of what was reached; "–" where it never was."""
    reached = [value for value in values if value is not None]
    if not reached:
        return "–"
    return f"{median(reached):,.{digits}f} ({min(reached):,.{digits}f} – {max(reached):,.{digits}f})"


def table(trials: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table, one row per peer."""
    head = (
        "peer",
        "reached 475",
        "steps to 475",
        "seconds to 475",
        "final score",
        "steps/s",
        "start, s",
        "policy",
    )
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for name in dict.fromkeys(trial["peer"] for trial in trials):
        peer_trials = [trial for trial in trials if trial["peer"] == name]
        column = {key: [trial[key] for trial in peer_trials] for key in peer_trials[0]}
        finals = column["final_score"]
        reached = sum(steps is not None for steps in column["steps_to_target"])
        cells = (
            f"{name} ({peer_trials[0]['version']})",
            f"{reached} of {len(peer_trials)}",
            spread(column["steps_to_target"]),
            spread(column["seconds_to_target"], 1),
            f"{mean(finals):.1f} ± {stdev(finals) if len(finals) > 1 else 0:.1f}",
            f"{median(column['steps_per_second']):,.0f}",
            f"{median(column['start_seconds']):.1f}",
            ", ".join(dict.fromkeys(column["size"])),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run all trials, or print the table of those that were run."""
    parser = argparse.ArgumentParser(description="CartPole-v1 side by side with peers.")
    parser.add_argument("--venvs", type=Path, help="folder for the peers' virtual environments")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="for those that can use more than one")
    parser.add_argument("--quick", action="store_true", help="tiny budgets, to see whether all is well")
    parser.add_argument("--stop", action="store_true", help="end a trial when it reaches the target")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for ifthen")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true", help="only print the table of the last run")
    options = parser.parse_args()
    path = options.out / "cartpole.json"
    if options.table:
        print(table(json.loads(path.read_text())["trials"]))
        return
    if options.venvs is None:
        parser.error("say with --venvs where the peers' virtual environments are, or are to be made")
    pythons = {name: python_of(PEERS[name], options.venvs) for name in options.peers}
    command = (
        f"python benchmarks/peers.py --venvs FOLDER --seeds {options.seeds} --peers {' '.join(options.peers)}"
    )
    trials: list[dict[str, Any]] = []
    options.out.mkdir(parents=True, exist_ok=True)
    for seed in range(options.seeds):
        for name, python in pythons.items():
            peer = PEERS[name]
            extra = ["--steps", str(peer.quick)] if options.quick else []
            extra += ["--stop"] if options.stop else []
            extra += [f"--set={assignment}" for assignment in options.set] if name == "ifthen" else []
            trials.append(run_trial(peer, python, seed, options.threads, extra))
            last_trial = trials[-1]
            print(
                f"{peer.name}, seed {seed}: {last_trial['final_score']:.1f}, {last_trial['seconds']:.1f} s",
                flush=True,
            )
            metadata = {"machine": machine(), "threads": options.threads, "command": command}
            path.write_text(json.dumps({**metadata, "trials": trials}, indent=1) + "\n")
    (options.out / "cartpole.md").write_text(table(trials))
    print(table(trials))


def machine() -> str:
    """Return the machine in a line, as the other benchmarks do."""
    from timing import machine as described

    return described()


if __name__ == "__main__":
    main()
