"""Evasive Maneuvers: SAMUEL's versions, the other systems, and policies under other conditions.

    python benchmarks/evasion.py learn                  # published: from 31 % to about 82 %
    python benchmarks/evasion.py learn --trials 2 --systems SAMUEL-2 PPL-X
    python benchmarks/evasion.py learn --systems SAMUEL-2 --set spec_level=0.25
    python benchmarks/evasion.py learn --out rates.csv  # a line for each trial; those of other systems stay
    python benchmarks/evasion.py transfer               # trained and tested on three conditions
    python benchmarks/evasion.py ablation               # SAMUEL's version 2 without each of its operators
    python benchmarks/evasion.py ablation --without merge --out rates.csv    # against the rates there

Every system gets about as many episodes as SAMUEL takes in 50 generations of 100 plans. Rates are of 1,000
episodes on test seeds, by the policy that is handed out. Tests are Mann and Whitney's.
"""

from __future__ import annotations

import argparse
import csv
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu  # type: ignore[import-untyped]

from ifthen import RuleSet, env_task, evaluate
from ifthen.parallel import checked_threads
from ifthen.runs.settings import parse_assignment
from ifthen.systems.registry import system_by_name
from ifthen.tasks.gym_task import EnvTask

CONDITIONS = {"fixed": "EvasionFixed", "variable": "Evasion", "noisy": "EvasionNoisy"}
GENERATIONS, EPISODES = 50, 440_000
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "SAMUEL-1": ("SAMUEL", {"version": 1}),
    "SAMUEL-2": ("SAMUEL", {"version": 2}),
    "PPL-DL": ("PPL-DL", {}),
    "PPL-ST": ("PPL-ST", {}),
    "XCSF": ("XCSF", {}),
    "PPL-X": ("PPL-X", {}),
}
OPERATORS = ("specialize", "generalize", "cover", "avoid", "merge", "creep", "mutation", "delete")
TESTED_ON = 1000


def task_of(condition: str, partial_credit: bool = True) -> EnvTask:
    """Return the task under a condition; without partial credit a mean return is a rate."""
    return env_task(f"ifthen/{CONDITIONS[condition]}-v0", options={"partial_credit": partial_credit})


def rate_of(ruleset: RuleSet, condition: str) -> float:
    """Return the share of test episodes in which the missile is evaded, in percent.

    An episode in which no rule matches ends there, and is not evaded.
    """
    task = task_of(condition, partial_credit=False)
    returns = evaluate(ruleset, task, seeds=task.test_seeds(TESTED_ON)).returns
    assert returns is not None
    return 100 * float(np.mean(returns > 0))


def trained(name: str, condition: str, seed: int, **overrides: Any) -> tuple[RuleSet, float]:
    """Return a policy, and the processor seconds that it took."""
    system, parameters = SYSTEMS[name]
    learner = system_by_name(system)(task_of(condition), seed=seed, threads=1, **parameters, **overrides)
    began = time.thread_time()
    if system == "SAMUEL":
        learner.learn(epochs=GENERATIONS)
    else:
        learner.learn(episodes=EPISODES)
    return learner.ruleset, time.thread_time() - began


def over_trials(trials: int, job: Any) -> NDArray[np.float64]:
    """Return what a job returns for each seed."""
    with ThreadPoolExecutor(checked_threads(None)) as pool:
        return np.array(list(pool.map(job, range(trials))), dtype=np.float64)


def learn(trials: int, systems: list[str], overrides: dict[str, Any], out: Path | None) -> None:
    """Print how often the policy of each system evades, variable starts; `overrides` are for all."""
    rates = read_rates(out)
    for name in systems:

        def job(seed: int, name: str = name) -> tuple[float, float, int]:
            ruleset, took = trained(name, "variable", seed, **overrides)
            return rate_of(ruleset, "variable"), took, len(ruleset)

        rate, took, rules = over_trials(trials, job).T
        rates[name] = rate
        print(
            f"{name:9} {rate.mean():5.1f} ± {rate.std(ddof=trials > 1):4.1f} %  ({rate.min():.0f} to "
            f"{rate.max():.0f}), {rules.mean():6.1f} rules, {np.median(took):5.1f} s, {trials} trials",
            flush=True,
        )
        write_rates(out, rates)
    for name in [system_name for system_name in rates if system_name != "SAMUEL-2" and "SAMUEL-2" in rates]:
        p_above = mannwhitneyu(rates["SAMUEL-2"], rates[name], alternative="greater").pvalue
        p_other = mannwhitneyu(rates["SAMUEL-2"], rates[name]).pvalue
        print(f"SAMUEL-2 above {name}: p = {p_above:.2g}; other than {name}: p = {p_other:.2g}")


def read_rates(path: Path | None) -> dict[str, NDArray[np.float64]]:
    """Return the rates of every system in a file, by seed; none where there is no file."""
    if path is None or not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = dict.fromkeys(row["system"] for row in rows)
    return {name: np.array([float(row["evaded"]) for row in rows if row["system"] == name]) for name in names}


def write_rates(path: Path | None, rates: dict[str, NDArray[np.float64]]) -> None:
    """Write the rates of every system, a line for each trial."""
    if path is None:
        return
    rows = [
        [name, seed, f"{rate:.1f}"]
        for name, system_rates in rates.items()
        for seed, rate in enumerate(system_rates.tolist())
    ]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["system", "seed", "evaded"], *rows])


def transfer(trials: int, systems: list[str]) -> None:
    """Print rates by the condition of training (rows) and of testing (columns)."""
    for name in systems:
        print(f"{name:20}" + "".join(f"tested {tested:>9}" for tested in CONDITIONS))
        for condition in CONDITIONS:

            def job(seed: int, name: str = name, condition: str = condition) -> list[float]:
                ruleset, _ = trained(name, condition, seed)
                return [rate_of(ruleset, other) for other in CONDITIONS]

            rates = over_trials(trials, job)
            cells = zip(rates.mean(axis=0), rates.std(axis=0, ddof=trials > 1), strict=True)
            print(
                f"trained {condition:10}" + "".join(f"  {m:5.1f} ± {d:4.1f} %" for m, d in cells), flush=True
            )


def ablation(trials: int, without: list[str], out: Path | None) -> None:
    """Print rates of version 2 without each of some operators, and tests against the version with all.

    That version's rates come from the file `out` where it has them.
    """
    full_rates = read_rates(out).get("SAMUEL-2")
    for operator in (*(() if full_rates is not None else ("none",)), *without):
        overrides = {} if operator == "none" else {operator: False if operator == "delete" else 0.0}

        def job(seed: int, overrides: dict[str, Any] = overrides) -> float:
            return rate_of(trained("SAMUEL-2", "variable", seed, **overrides)[0], "variable")

        rate = over_trials(trials, job)
        full_rates = rate if full_rates is None else full_rates
        print(
            f"without {operator:10} {rate.mean():5.1f} ± {rate.std(ddof=trials > 1):4.1f} %, "
            f"p = {mannwhitneyu(rate, full_rates).pvalue:.2g} ({trials} against {len(full_rates)} trials)",
            flush=True,
        )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("learn", "transfer", "ablation"))
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--systems", nargs="+", choices=sorted(SYSTEMS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="with learn")
    parser.add_argument("--out", type=Path, metavar="FILE", help="all rates as CSV: learn writes them")
    parser.add_argument("--without", nargs="+", choices=OPERATORS, default=OPERATORS, help="with ablation")
    options = parser.parse_args()
    if options.what == "learn":
        overrides = dict(parse_assignment(assignment) for assignment in options.set)
        learn(options.trials, options.systems or list(SYSTEMS), overrides, options.out)
    elif options.what == "transfer":
        transfer(options.trials, options.systems or ["SAMUEL-2", "PPL-X"])
    else:
        ablation(options.trials, list(options.without), options.out)


if __name__ == "__main__":
    main()
