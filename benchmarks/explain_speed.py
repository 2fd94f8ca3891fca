"""How long it takes to verify and to prune the final policies of the paper's study on the largest tasks.

    python benchmarks/explain_speed.py

The slowest of 30 policies each, compiled: the first of every kind is done once before it is timed.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from timing import timed

from ifthen.simplify.prune import prune
from ifthen.study.read_results import read_results
from ifthen.study.study_plan import Trial
from ifthen.verification import verify

PAPER = Path(__file__).parents[1] / "results" / "paper"
TASKS = ("FrozenLake-12-0.3", "FrozenLake-12-0.5")


def main() -> None:
    """Measure and print."""
    results = read_results(PAPER)
    if results.ruleset is None:
        raise SystemExit(f"{PAPER} holds no rulesets.")
    tasks = results.plan.tasks_by_name()
    for system in ("PPL-ST", "PPL-DL", "XCSF"):
        for name in TASKS:
            task = tasks[name]
            policies = [results.ruleset(Trial(system, name, seed)) for seed in range(30)]
            verify(policies[0], task)
            prune(policies[0], task)
            checking = max(timed(partial(verify, policy, task))() for policy in policies)
            pruning = max(timed(partial(prune, policy, task))() for policy in policies)
            longest = max(map(len, policies))
            print(
                f"{system} on {name}: up to {longest:,} rules, verify {checking:.2f} s, prune {pruning:.2f} s"
            )


if __name__ == "__main__":
    main()
