"""Tuning: same seed, same proposals; a stopped run resumes; test seeds are kept for final scores."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars
import pytest

import ifthen
from ifthen.errors import OutputError, ParameterError
from ifthen.runs.settings import checked_settings
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.study.engines import Crew, Job
from ifthen.study.study_plan import Trial
from ifthen.study.trial import STOP, Ended
from ifthen.tuning import propose as proposing
from ifthen.tuning.run_tuning import run_tuning
from ifthen.tuning.training import train
from ifthen.tuning.tune import tune_in
from ifthen.tuning.tuning_folder import BEST, PLAN, PROPOSALS, REPORT, TABLE
from ifthen.tuning.tuning_plan import PHASES, TunePlan, checked_tune_plan
from ifthen.tuning.tuning_report import report_page
from ifthen.tuning.tuning_result import TuneResult
from tests.systems.contract import MEADOW

pytest.importorskip("optuna")

LAKE = {"desc": list(MEADOW), "enumerations": 3, "t_max": 25, "name": "meadow", "p_slip": 0.2}
CART = {"environment": "CartPole-v1", "episodes": 2, "t_max": 20}
FIXED = {"pop_size": 8, "idv_size": 4}


def small_plan(**changes: Any) -> TunePlan:
    """Return a small plan, but for what is given."""
    given: dict[str, Any] = {"system": "PPL-DL", "task": LAKE, "epochs": 6, "parameters": FIXED, "trials": 8}
    return checked_tune_plan({**given, "finalists": 2, "repeats": 1, "final": 2, **changes})


class Run(NamedTuple):
    """A tuning that was run, with its folder."""

    folder: Path
    found: TuneResult


class Here:
    """An engine that does its jobs in this process, one after the other."""

    @contextmanager
    def crew(self, plan: Path) -> Iterator[Crew]:
        """Give itself."""
        assert plan.name == PLAN
        yield self

    def places(self) -> int:
        """Return one."""
        return 1

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        """Do the job now."""
        future: Future[Any] = Future()
        future.set_result(job(folder, plan_json, trial))
        return future

    def result(self, future: Future[Any]) -> Ended | None:
        """Return how it ended."""
        ended: Ended = future.result()
        return ended


def tuned(folder: Path, **changes: Any) -> TuneResult:
    """Return the result of a small tuning."""
    found = run_tuning(folder, small_plan(**changes), Here())
    assert found is not None
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a small tuning, run without a break, with its folder."""
    folder = tmp_path_factory.mktemp("tuning") / "whole"
    found = tune_in(folder, small_plan(), Here())
    assert found is not None
    return Run(folder, found)


def test_the_same_seed_gives_the_same_proposals_and_result(run: Run, tmp_path: Path) -> None:
    again = tuned(tmp_path / "again")
    assert (tmp_path / "again" / PROPOSALS).read_bytes() == (run.folder / PROPOSALS).read_bytes()
    assert again.table.equals(run.found.table)
    assert (again.best, again.finals) == (run.found.best, run.found.finals)


def test_another_seed_gives_other_proposals(run: Run, tmp_path: Path) -> None:
    other = tuned(tmp_path / "other", seed=1, trials=2)
    assert other.tried[1].parameters != run.found.tried[1].parameters


def test_a_stopped_tuning_resumes_to_the_same_result(run: Run, tmp_path: Path) -> None:
    folder, rounds = tmp_path / "parts", 0
    found: TuneResult | None = None
    while found is None:
        ended: list[Trial] = []

        def told(phase: str, trial: Trial, how: Ended, ended: list[Trial] = ended) -> None:
            ended.append(trial)

        def stop(ended: list[Trial] = ended) -> bool:
            return bool(ended)  # after a training or two, again and again

        found = run_tuning(folder, small_plan(), Here(), told, stop)
        rounds += 1
        assert rounds < 20
    assert rounds > 3
    assert found.table.equals(run.found.table)
    assert found.finals == run.found.finals
    assert found.settings == run.found.settings


def test_a_training_stopped_inside_goes_on_from_its_checkpoint(run: Run, tmp_path: Path) -> None:
    folder, epochs, begun = tmp_path / "inside", [], 0

    def interrupted(root: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
        """Stop a training after its second epoch, the first time."""
        nonlocal begun
        own = Path(root) / STOP
        learn = ifthen.PPLDL.advance

        def advance(self: Any, *given: Any) -> Any:
            epochs.append(given[1]["epoch"])
            if given[1]["epoch"] == 1 and trial[0] == "search" and not begun:
                own.write_text("")
            return learn(self, *given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ifthen.PPLDL, "advance", advance)
            ended = train(root, plan_json, trial)
        if ended.outcome == "stopped":
            begun += 1
            own.unlink()
            ended = train(root, plan_json, trial)
        return ended

    found = run_tuning(folder, small_plan(), Here(), job=interrupted)
    assert begun == 1
    assert found is not None
    assert found.table.equals(run.found.table)


def test_a_proposal_that_was_cut_short_is_made_again(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    tuned(folder, trials=4)
    path = folder / PROPOSALS
    path.write_bytes(path.read_bytes() + b'{"number": 4, "par')
    assert tuned(folder).table.equals(run.found.table)


def test_a_longer_budget_goes_on(run: Run, tmp_path: Path) -> None:
    tuned(tmp_path / "more", trials=3)
    assert tuned(tmp_path / "more").table.equals(run.found.table)


def test_test_seeds_are_played_for_final_scores_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: dict[str, set[int]] = {phase: set() for phase in PHASES}
    trained: dict[str, set[int]] = {phase: set() for phase in PHASES}
    phase = ["search"]
    task = ifthen.env_task("CartPole-v1", episodes=2, t_max=20)
    original: Callable[..., Any] = EnvSimulator.evaluate

    def evaluate(self: Any, policy: Any, seeds: Any = None) -> Any:
        played[phase[0]] |= set(np.asarray(self.task.test_seeds() if seeds is None else seeds).tolist())
        return original(self, policy, seeds)

    monkeypatch.setattr(EnvSimulator, "evaluate", evaluate)

    def job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
        phase[0] = trial[0].partition("-")[0]
        trained[phase[0]].add(trial[2])
        return train(folder, plan_json, trial)

    found = run_tuning(tmp_path / "cart", small_plan(task=CART, trials=3), Here(), job=job)
    assert found is not None
    test, comparing = set(task.test_seeds().tolist()), set(task.comparing_seeds().tolist())
    assert played["final"] == test
    assert played["finalist"] == comparing
    assert not played["search"] & (test | comparing)
    assert not test & comparing
    for one in PHASES:
        assert trained[one]
        assert not any(trained[one] & trained[other] for other in PHASES if other != one)


def test_final_scores_on_a_table_are_exact(run: Run) -> None:
    folder, found = run
    for number, scores in found.finals.items():
        models = sorted((folder / "trials" / f"final-{number}").rglob("*.zip"))
        exact = [ifthen.evaluate(ifthen.load(path), method="exact").performance for path in models]
        assert exact == pytest.approx(list(scores))


def test_the_folder_holds_settings_table_and_report(run: Run) -> None:
    folder, found = run
    settings = checked_settings(tomllib.loads((folder / BEST).read_text()))
    assert settings.steps == found.steps
    system = settings.make_system(threads=1)
    assert {name: getattr(system.parameters, name) for name in found.best} == found.best
    assert polars.read_parquet(folder / TABLE).equals(found.table)
    page = (folder / REPORT).read_text()
    for words in ("Tuned settings and defaults", "Importance of parameters", "Scores by parameter", "p_mut"):
        assert words in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    assert checked_tune_plan(tomllib.loads((folder / PLAN).read_text())) == small_plan()


def test_the_result_can_be_read(run: Run) -> None:
    found = run.found
    text = str(found)
    assert "8 settings of PPL-DL tried on meadow" in text
    assert "Final scores" in text
    assert "<table>" in found._repr_html_()
    assert found.tried[0].parameters == found.defaults
    assert len(found.to_optuna().trials) == 8


def test_every_training_has_the_steps_of_the_defaults(run: Run) -> None:
    found = run.found
    assert found.tried[0].steps == found.steps
    assert all(one.steps >= found.steps for one in found.tried if one.state == "finished")


def test_another_tuning_in_the_folder_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="holds a tuning with seed = 0"):
        tuned(run.folder, seed=3)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds other files and no tuning"):
        tuned(tmp_path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    tuned(folder, trials=2)
    history = next((folder / "trials" / "search").rglob("*.parquet"))
    before = history.read_bytes()
    history.write_bytes(before[:50])
    with pytest.raises(OutputError, match="is damaged"):
        tuned(folder, trials=3)
    history.write_bytes(before)
    (folder / PROPOSALS).write_text(json.dumps({"number": 7, "parameters": {}, "marks": []}) + "\n")
    with pytest.raises(OutputError, match="line 1 holds number 7"):
        tuned(folder, trials=3)


def test_a_training_that_fails_does_not_end_the_search(tmp_path: Path) -> None:
    def job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
        if trial[:1] == ("search",) and trial[2] == 1:
            plan_json = plan_json.replace('"pop_size":8', '"pop_size":9')
        return train(folder, plan_json, trial)

    found = run_tuning(tmp_path / "failing", small_plan(trials=3), Here(), job=job)
    assert found is not None
    assert [one.state for one in found.tried] == ["finished", "failed", "finished"]
    assert "1 failed" in str(found)


def test_minutes_end_the_search(tmp_path: Path) -> None:
    found = tuned(tmp_path / "short", trials=None, minutes=1e-6)
    assert len(found.tried) == 1  # the defaults at least
    assert found.chosen == 0
    assert "No settings did better" in found.verdict
    assert "Too few trials finished" in report_page(found)


def test_without_optuna_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ifthen.errors.EngineError, match="pip install optuna"):
        proposing.check_optuna()


def test_a_task_without_settings_is_refused() -> None:
    with pytest.raises(ParameterError, match="processes of its own"):
        ifthen.tune("PPL-DL", object())  # type: ignore[arg-type]  # that is what is tested


def test_no_two_phases_or_tunings_share_a_training_seed() -> None:
    plans = [small_plan(seed=seed) for seed in range(3)]
    seeds = {plan.training_seed(phase, i) for plan in plans for phase in PHASES for i in range(4)}
    assert len(seeds) == 36
