"""How few rules say the same: the final policies of a study, pruned without loss and as decision lists.

    python benchmarks/fewer_rules.py                     the 30 final PPL-ST policies per task of the paper
    python benchmarks/fewer_rules.py --system XCSF --system PPL-DL

For every task: rules of a policy, those in its best action map (|R_BA|), those left after lossless pruning
and those of the equivalent decision list, as means over trials; every pruned policy is checked against its
own in every decision state. Beside them stands the shortest list known for an optimal policy of the task.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import polars

from ifthen import RuleSet, TabularTask
from ifthen.explanation.read_ruleset import read_ruleset
from ifthen.simplify.prune import prune
from ifthen.simulate.scope import tabular
from ifthen.simulate.table_simulator import policy_table
from ifthen.study.read_results import read_results
from ifthen.study.study_plan import Trial
from ifthen.tables import best_action_map
from ifthen.verification import verify

ROOT = Path(__file__).parents[1]
PAPER, SHORTEST, OUT = (
    ROOT / "results" / "paper",
    ROOT / "results" / "shortest",
    ROOT / "results" / "fewer-rules",
)


def counts(ruleset: RuleSet, task: TabularTask) -> dict[str, float]:
    """Return how many rules a policy has in each form, and the seconds that checking and pruning it took."""
    began = time.perf_counter()
    verify(ruleset, task)
    pruned = prune(ruleset, task).ruleset
    seconds = time.perf_counter() - began
    listed = prune(ruleset, task, to="list", effort="normal").ruleset
    for shortened in (pruned, listed):
        if (policy_table(shortened, task) != policy_table(ruleset, task)).any():
            raise SystemExit(f"{shortened!r} does not do what {ruleset!r} does on {task.name}.")
    return {
        "rules": len(ruleset),
        "best_action_map": len(best_action_map(ruleset, task)),
        "pruned": len(pruned),
        "decision_list": len(listed),
        "seconds": seconds,
    }


def table_of(system: str, study: Path) -> polars.DataFrame:
    """Return one row per task: means over all trials of a system."""
    results = read_results(study)
    if results.ruleset is None:
        raise SystemExit(f"{study} holds no rulesets.")
    rows = []
    for name, listed_task in results.plan.tasks_by_name().items():
        task = tabular(listed_task, "this table")
        seeds = [trial.seed for trial in results.plan.trials_to_run() if trial[:2] == (system, name)]
        trial_counts = [counts(results.ruleset(Trial(system, name, seed)), task) for seed in seeds]
        shortest_file = SHORTEST / f"{name}.json"
        rows.append(
            {
                "system": system,
                "task": name,
                "trials": len(trial_counts),
                **{
                    key: float(np.mean([row[key] for row in trial_counts]))
                    for key in list(trial_counts[0])[:-1]
                },
                "shortest_optimal": len(read_ruleset(shortest_file)[0]) if shortest_file.exists() else None,
                "slowest_seconds": max(row["seconds"] for row in trial_counts[1:] or trial_counts),
            }
        )
        print(" ".join(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    return polars.DataFrame(rows)


def main() -> None:
    """Prune, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--system", action="append", help="PPL-ST by default; may be repeated")
    parser.add_argument("--study", type=Path, default=PAPER)
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    for system in options.system or ["PPL-ST"]:
        table = table_of(system, options.study)
        table.drop("slowest_seconds").write_csv(OUT / f"{system}.csv", float_precision=2)
        slowest = max(table["slowest_seconds"].to_list())
        print(f"slowest verification and pruning, compiled: {slowest:.2f} s")


if __name__ == "__main__":
    main()
