"""Tunes PPL-DL several times and compares the tuned settings with the defaults on test seeds.

    python benchmarks/tuned.py                            twenty minutes each on two cores: many hours in all
    python benchmarks/tuned.py --only Acrobot-v1 --seeds 3        one repeat of it
    python benchmarks/tuned.py --write docs/tuning.md             no training: the tables of what is there

Each repeat is `ifthen tune` with a seed of its own: no two repeats share a training seed. Final scores are
those that the command reports: of the chosen settings and of the defaults, each trained five times with as
many steps. `--full 3` also trains the chosen settings three times with as many steps as the defaults take by
default, and the defaults five times, once for all repeats. What is done is kept in results/tuned, one file
for each repeat, written after every training. A repeat that was stopped goes on when the script is run
again. WeightedCar needs the virtual environment of `make strangers`, with Optuna.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ifthen.cli.task_names import allow_cwd_imports, located
from ifthen.digits import in_units
from ifthen.runs.settings import RunSettings
from ifthen.simulate.evaluate import evaluate
from ifthen.store import write_text
from ifthen.study.run_study import engine_by_name
from ifthen.study.statistics import compare, summarise
from ifthen.tuning.tune import tune_in
from ifthen.tuning.tuning_plan import TunePlan, checked_tune_plan

HERE = Path(__file__).parent
STRANGER = f"{HERE / 'strangers' / 'stranger_envs.py'}:Strangers/WeightedCar-v0"
TASKS = {"Acrobot-v1": "Acrobot-v1", "WeightedCar": STRANGER}
RESULTS = HERE.parent / "results" / "tuned"
OF_DEFAULTS, DEFAULTS_TRAININGS = 999_999, 5
"""The defaults are trained at full length from the seeds of a tuning that is never run, this many times."""
FULL = 1000
"""Trainings at full length have training seeds from this number on, far from those of final scores."""
BUDGET = ("trials", "minutes", "epochs", "steps")
BEGIN, END = "<!-- tuned: written by benchmarks/tuned.py -->", "<!-- tuned: end -->"


class Record:
    """What is known of a repeat, or of the defaults, in a file of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.json"
        self.data: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def keep(self, **values: Any) -> None:
        """Add to what is known, at once."""
        self.data |= values
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.path, json.dumps(self.data, indent=1) + "\n")


def plan_of(name: str, seed: int, budget: dict[str, Any]) -> TunePlan:
    """Return what one repeat asks for."""
    task = located(TASKS[name])
    allow_cwd_imports(task)
    return checked_tune_plan({"system": "PPL-DL", "task": task, "seed": seed, **budget})


def repeat(name: str, seed: int, options: argparse.Namespace) -> None:
    """Run one repeat, or what is left of it."""
    budget = {key: getattr(options, key) for key in BUDGET}
    plan, record = plan_of(name, seed, budget), Record(options.results, f"{name}-seed{seed}")
    if record.data and record.data["budget"] != budget:
        raise SystemExit(
            f"{record.path} has another budget, {record.data['budget']}: remove it, or give --results."
        )
    if not record.data:
        folder = options.out / f"{name}-seed{seed}"
        result = tune_in(folder, plan, engine_by_name("local", options.workers, None))
        assert result is not None
        record.keep(
            budget=budget, steps=result.steps, tried=len(result.tried), workers=options.workers,
            seconds=round(result.seconds), best=result.best if result.chosen else {},
            tuned=result.finals[result.chosen], defaults=result.finals[0],
        )  # fmt: skip
    if options.full:
        defaults_record = Record(options.results, f"{name}-defaults")
        train_fully(plan_of(name, OF_DEFAULTS, {}), {}, DEFAULTS_TRAININGS, defaults_record, options.workers)
        if record.data["best"]:
            record.keep(full_steps=defaults_record.data["full_steps"])
            train_fully(plan, record.data["best"], options.full, record, options.workers)


def train_fully(
    plan: TunePlan, parameters: dict[str, Any], n_trainings: int, record: Record, threads: int
) -> None:
    """Train settings as long as the defaults train by default, until there are so many scores."""
    while len(scores := record.data.get("full", [])) < n_trainings:
        seed = plan.training_seed("final", FULL + len(scores))
        settings: RunSettings = plan.settings(parameters, seed, record.data.get("full_steps"))
        system = settings.make_system(threads=threads)
        length: Any = {settings.goal.unit: settings.goal.target}
        system.learn(**length)
        task = system.task
        score = evaluate(
            system.ruleset, task, method=task.best_method, seeds=task.test_seeds(), threads=threads
        ).performance
        steps = record.data.get("full_steps", system.now.records[-1]["steps"])
        record.keep(full=[*scores, score], full_steps=steps)
        print(f"{record.path.stem}: full length, seed {seed}: {in_units(score)}", flush=True)


def mean(scores: Sequence[float]) -> str:
    """Return a mean with its 95 % interval over trainings."""
    summary = summarise(scores)
    assert summary.mean is not None
    if summary.mean_interval is None:
        return in_units(summary.mean)
    low, high = summary.mean_interval
    return f"{summary.mean:.4g} ({low:.4g} to {high:.4g})".replace("-", "−")


def chance(tuned: Sequence[float], defaults: Sequence[float]) -> str:
    """Return the p of a difference."""
    p = compare(tuned, defaults).p
    return "–" if p is None else f"{p:.2g}"


def section(folder: Path, name: str) -> list[str]:
    """Return the tables of a task: what short and full trainings gave, one row for each repeat."""
    by_file = {p: json.loads(p.read_text()) for p in folder.glob(f"{name}-seed*.json")}
    records = sorted((int(p.stem.split("-seed")[1]), record) for p, record in by_file.items())
    lines: list[str] = []
    for budget in dict.fromkeys(json.dumps(record["budget"]) for _, record in records):
        lines += _short(
            name, [(s, record) for s, record in records if json.dumps(record["budget"]) == budget]
        )
    if not records:
        return []
    return lines + _full(name, records, Record(folder, f"{name}-defaults").data.get("full", []))


def _short(name: str, records: list[tuple[int, dict[str, Any]]]) -> list[str]:
    """Return the table of repeats with one budget."""
    budget = {key: value for key, value in records[0][1]["budget"].items() if value is not None}
    options = " ".join(f"--{key} {value:.15g}" for key, value in budget.items())
    options += f" --workers {records[0][1]['workers']}"
    lines = [
        f"**{name}**, `python benchmarks/tuned.py --only {name} {options}`:",
        "",
        "| seed | settings tried | steps of a training | tuned | defaults | p |",
        "|---|---|---|---|---|---|",
    ]
    better = 0
    for seed, record in records:
        p = chance(record["tuned"], record["defaults"]) if record["best"] else "–"
        better += statistics.fmean(record["tuned"]) > statistics.fmean(record["defaults"])
        tuned = mean(record["tuned"]) if record["best"] else "the defaults were chosen"
        lines.append(
            f"| {seed} | {record['tried']} | {record['steps'] / 1e6:.3g} million | {tuned} | "
            f"{mean(record['defaults'])} | {p} |"
        )
    sentence = f"Tuned settings have the better mean in {better} of {len(records)} repeats."
    return [*lines, "", sentence, ""]


def _full(name: str, records: list[tuple[int, dict[str, Any]]], defaults: list[float]) -> list[str]:
    """Return the table of trainings at the defaults' own length; nothing where there are none."""
    full = [(seed, record) for seed, record in records if record.get("full")]
    if not full or not defaults:
        return [f"At the defaults' own length {name} was not measured.", ""]
    steps = full[0][1]["full_steps"]
    lines = [
        f"The same settings of {name}, trained for {steps / 1e6:.3g} million steps, which the defaults take "
        f"by default. The defaults get {mean(defaults)} over {len(defaults)} trainings.",
        "",
        "| seed | trainings | tuned | p |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {s} | {len(record['full'])} | {mean(record['full'])} | {chance(record['full'], defaults)} |"
        for s, record in full
    ]
    all_tuned = [score for _, record in full for score in record["full"]]
    sentence = f"All together: tuned {mean(all_tuned)}, p = {chance(all_tuned, defaults)}."
    return [*lines, "", sentence, ""]


def write_page(page: Path, folder: Path) -> None:
    """Replace the part of a page that is written from the results."""
    page_text = page.read_text(encoding="utf-8")
    before, tail = page_text.split(BEGIN)
    after = tail.split(END)[1]
    lines = [line for name in TASKS for line in section(folder, name)]
    section_text = "\n".join([BEGIN, "", *lines]) if lines else f"{BEGIN}\n"
    write_text(page, before + section_text + END + after)


def main() -> None:
    """Tune, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=TASKS, nargs="+", default=list(TASKS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)), help="the repeats to run")
    parser.add_argument("--trials", type=int, help="settings to try, in place of --minutes")
    parser.add_argument("--minutes", type=float, help="20 where --trials is not given")
    parser.add_argument("--epochs", type=int, help="50 where --steps is not given")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--full", type=int, default=0, help="trainings at the defaults' own length")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/tuned"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--write", type=Path, help="a page whose tables are replaced; nothing is trained")
    options = parser.parse_args()
    if options.write:
        if not options.write.is_file():
            parser.error(f"--write: {options.write} is no file. Give the page whose tables are replaced.")
        write_page(options.write, options.results)
        return
    if options.trials is None and options.minutes is None:
        options.minutes = 20.0
    if options.steps is None and options.epochs is None:
        options.epochs = 50
    for name in options.only:
        for seed in options.seeds:
            repeat(name, seed, options)
        print("\n".join(section(options.results, name)))


if __name__ == "__main__":
    main()
