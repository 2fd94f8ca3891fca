"""`ifthen.tune`: tuning from Python, and what the command shares with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ifthen.environments.make import TaskLike
from ifthen.errors import OutputError, ParameterError
from ifthen.parallel import checked_threads
from ifthen.runs.settings import toml_value
from ifthen.store import write_text
from ifthen.study.engines import Engine
from ifthen.study.histories import write_parquet
from ifthen.study.run_study import engine_by_name
from ifthen.study.study_plan import Trial, safe_name
from ifthen.study.trial import Ended
from ifthen.tasks.task import Task
from ifthen.tuning.run_tuning import run_tuning
from ifthen.tuning.tuning_folder import BEST, REPORT, TABLE, TuneFolder
from ifthen.tuning.tuning_plan import Phase, TunePlan, checked_tune_plan
from ifthen.tuning.tuning_report import report_page
from ifthen.tuning.tuning_result import TuneResult


def tune(
    system: str,
    task: TaskLike,
    *,
    trials: int | None = None,
    minutes: float | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    search: Mapping[str, str] | None = None,
    only: bool = False,
    parameters: Mapping[str, Any] | None = None,
    pruner: str = "median",
    finalists: int = 3,
    repeats: int = 3,
    final: int = 5,
    out: str | Path | None = None,
    workers: int | None = 1,
    engine: str = "local",
    address: str | None = None,
) -> TuneResult:
    """Search for parameters of a system that suit a task, and compare them with the defaults.

    Settings are scored on validation seeds, the best few on seeds of their own, and the chosen ones on test
    seeds. The same call goes on with a tuning that was interrupted.

    Args:
        system: the system's name, such as "PPL-DL".
        task: a task's name, a table of its settings, or a task that has such settings.
        trials: how many settings to try; 50 where neither this nor `minutes` is given.
        minutes: the minutes after which no other settings are tried.
        epochs: every training has as many steps as the defaults take in this many epochs.
        steps: in place of epochs, the environment steps of every training.
        seed: seed of everything random.
        search: ranges of your own, such as {"p_mut": "0.01..0.2", "tourn_size": "2,3,5"}.
        only: whether to search nothing but these; other parameters keep their defaults.
        parameters: parameters that are fixed.
        pruner: which trainings end early: "median", "halving" or "none".
        finalists: how many of the best settings are compared, beside the defaults.
        repeats: how often each of them is trained for that.
        final: how often the chosen settings and the defaults are trained to be measured.
        out: the folder of the tuning; one named after system and task in runs/ where None.
        workers: how many processes; one per core where None. With one, the same seed gives the same result.
        engine: "local", or "dask".
        address: of the scheduler of a running Dask cluster.
    """
    plan = checked_tune_plan(
        {
            "system": system,
            "task": _plain(task),
            "trials": trials,
            "minutes": minutes if minutes is None else float(minutes),
            "epochs": epochs,
            "steps": steps,
            "seed": seed,
            "search": dict(search or {}),
            "only": only,
            "parameters": dict(parameters or {}),
            "pruner": pruner,
            "finalists": finalists,
            "repeats": repeats,
            "final": final,
        }
    )
    job_engine = engine_by_name(engine, None if address else checked_threads(workers, "workers"), address)
    result = tune_in(default_folder(plan) if out is None else Path(out), plan, job_engine)
    if result is None:
        raise OutputError("the tuning was stopped; the same call goes on from there.")
    return result


def tune_in(
    folder: Path,
    plan: TunePlan,
    engine: Engine,
    on_end: Callable[[Phase, Trial, Ended], None] = lambda phase, trial, ended: None,
    stop: Callable[[], bool] = lambda: False,
) -> TuneResult | None:
    """Tune, and write table, best settings and report; None where there was a stop; see `run_tuning`."""
    result = run_tuning(folder, plan, engine, on_end, stop)
    if result is not None:
        tune_folder = TuneFolder(folder)
        write_parquet(tune_folder / TABLE, result.table, 3)
        write_text(tune_folder / BEST, best_toml(result))
        write_text(tune_folder / REPORT, report_page(result))
    return result


def best_toml(result: TuneResult) -> str:
    """Return the best settings as a configuration file of `ifthen train`."""
    changed = [f"{name} {toml_value(result.defaults[name])}" for name in result.best if result.chosen]
    lines = [f"# {result.lead}", f"# {result.verdict}"]
    lines += [f"# defaults: {', '.join(changed)}"] if changed else []
    return "\n".join(lines) + "\n" + result.settings.to_toml()


def default_folder(plan: TunePlan) -> Path:
    """Return the folder of a tuning where none is given."""
    return Path("runs") / safe_name(f"tune-{plan.kind().name}-{plan.make_task().name}-seed{plan.seed}")


def _plain(task: object) -> Any:
    """Return a task as settings that any process can make it from, or raise where there are none."""
    if isinstance(task, str):
        return task
    if isinstance(task, Mapping):
        return dict(task)
    if isinstance(task, Task) and task.environment and getattr(task, "factory", None) is None:
        return {name: value for name, value in task.settings.items() if value is not None}
    raise ParameterError(
        "tuning trains in processes of its own, which must be able to make the task: give its name, such as "
        f"'CartPole-v1' or 'module:Class', or a table of its settings, not {type(task).__name__}."
    )
