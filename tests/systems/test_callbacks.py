from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ifthen
from ifthen import System, evaluate, frozen_lake, load
from ifthen.environments.make import env_task
from ifthen.errors import ParameterError, TaskError
from ifthen.systems import callbacks
from ifthen.systems.callbacks import Checkpoint, EvaluationCallback, StopAt, TensorBoard
from ifthen.systems.learning import Callback
from tests.systems.contract import every_system, make, meadow, saved_bytes


def record_epochs(seen: list[int], last: int | None = None) -> Any:
    """Return a callback that notes every epoch and stops learning at one."""

    def callback(system: System) -> bool:
        seen.append(system.epoch)
        return system.epoch != last

    return callback


@every_system
def test_all_callbacks_of_a_list_see_every_epoch_and_any_of_them_stops_learning(name: str) -> None:
    first: list[int] = []
    second: list[int] = []
    system = make(name).learn(epochs=9, callback=[record_epochs(first, 3), record_epochs(second)])
    assert system.epoch == 3
    assert first == second == [1, 2, 3]


@pytest.mark.parametrize("callback", [(), []])
def test_an_empty_list_of_callbacks_is_none(callback: Any) -> None:
    assert make("PPL-DL").learn(epochs=2, callback=callback).epoch == 2


@pytest.mark.parametrize("callback", [3, "print", [print, 3], [None], EvaluationCallback, [StopAt]])
def test_what_cannot_be_called_with_a_system_is_refused_before_learning(callback: Any) -> None:
    system = make("PPL-DL")
    with pytest.raises(ParameterError, match="callback must be a function that takes the system, or a list"):
        system.learn(epochs=2, callback=callback)
    assert not system.started


@every_system
def test_callbacks_change_nothing_of_what_is_learnt(name: str, tmp_path: Path) -> None:
    callbacks: list[Callback] = [Checkpoint(tmp_path / "c.zip", 1), EvaluationCallback(every=1), StopAt(1e9)]
    with_them = saved_bytes(make(name).learn(epochs=3, callback=callbacks), tmp_path)
    assert with_them == saved_bytes(make(name).learn(epochs=3), tmp_path)


@every_system
def test_total_timesteps_is_another_word_for_steps(name: str, tmp_path: Path) -> None:
    ours, theirs = make(name).learn(steps=9_000), make(name).learn(total_timesteps=9_000)
    assert ours.history["steps"][-1] >= 9_000
    assert saved_bytes(ours, tmp_path) == saved_bytes(theirs, tmp_path)


@pytest.mark.parametrize("other", ["epochs", "steps", "episodes"])
def test_total_timesteps_and_another_length_are_refused(other: str) -> None:
    with pytest.raises(ParameterError, match=r"one of epochs, steps and episodes.*another word for steps"):
        make("PPL-DL").learn(**{other: 5, "total_timesteps": 5})  # type: ignore[arg-type]  # any of them


@pytest.mark.parametrize("number", [-1, 1.0, "3", True])
def test_total_timesteps_that_are_no_count_are_refused_by_name(number: Any) -> None:
    with pytest.raises(ParameterError, match="total_timesteps must be a whole number"):
        make("PPL-DL").learn(total_timesteps=number)


@every_system
def test_a_checkpoint_goes_on_to_the_bytes_of_one_go(name: str, tmp_path: Path) -> None:
    whole = make(name).learn(epochs=5, callback=Checkpoint(tmp_path / "c.zip", every=2))
    resumed = load(tmp_path / "c.zip", threads=1)
    assert resumed.epoch == 4
    assert saved_bytes(resumed.learn(epochs=1), tmp_path) == saved_bytes(whole, tmp_path)


def test_checkpoints_with_the_epoch_in_their_name_are_all_kept(tmp_path: Path) -> None:
    make("PPL-DL").learn(epochs=5, callback=Checkpoint(tmp_path / "at-{epoch}.zip", every=2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["at-2.zip", "at-4.zip"]


@every_system
def test_an_evaluation_logs_exact_performance_of_tables(name: str) -> None:
    checks = EvaluationCallback(every=2)
    assert math.isnan(checks.score)
    assert math.isnan(checks.best_score)
    system = make(name).learn(epochs=6, callback=checks)
    history = system.history
    assert [row["epoch"] for row in checks.log] == [2, 4, 6]
    expected = [history["exact_performance"][epoch] for epoch in (2, 4, 6)]
    assert [row["score"] for row in checks.log] == expected
    assert [row["steps"] for row in checks.log] == [history["steps"][epoch] for epoch in (2, 4, 6)]
    assert checks.log[-1]["rules"] == len(system.ruleset)
    assert checks.score == expected[-1]
    assert checks.best_score == max(expected)


def test_an_evaluation_saves_the_model_with_the_best_score(tmp_path: Path) -> None:
    checks = EvaluationCallback(every=1, best=tmp_path / "best.zip")
    system = make("XCSF").learn(epochs=20, callback=checks)
    kept = load(tmp_path / "best.zip", threads=1)
    scores = [row["score"] for row in checks.log]
    assert kept.epoch == 1 + scores.index(max(scores))
    assert evaluate(kept, kept.task, "exact").performance == checks.best_score
    assert kept.epoch < system.epoch  # else the last model would have done


def test_the_best_model_outlives_that_a_run_was_stopped_and_loaded(tmp_path: Path) -> None:
    whole = EvaluationCallback(every=1, best=tmp_path / "whole.zip")
    make("XCSF").learn(epochs=20, callback=whole)
    scores = [row["score"] for row in whole.log]
    stop = 2 + scores.index(max(scores))  # one epoch after the best
    first = EvaluationCallback(every=1, best=tmp_path / "best.zip")
    make("XCSF").learn(epochs=stop, callback=first).save(tmp_path / "m.zip")
    second = EvaluationCallback(every=1, best=tmp_path / "best.zip")
    load(tmp_path / "m.zip", threads=1).learn(epochs=20 - stop, callback=second)
    assert (tmp_path / "best.zip").read_bytes() == (tmp_path / "whole.zip").read_bytes()
    assert second.best_score == whole.best_score
    assert [row["score"] for row in first.log + second.log] == scores


@every_system
def test_a_better_model_of_an_earlier_epoch_is_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make(name).learn(epochs=1)
    early, path = system.ruleset, tmp_path / "best.zip"
    system.save(path)
    before = path.read_bytes()
    system.learn(epochs=1)
    scores = {repr(early): 3.0}
    simulator = SimpleNamespace(held_out=lambda ruleset, episodes: scores.get(repr(ruleset), 2.0))
    monkeypatch.setattr(callbacks, "shared_simulator", lambda *_, **__: simulator)
    checks = EvaluationCallback(every=1, best=path)
    checks.measure(system)
    assert checks.best_score == 3
    assert path.read_bytes() == before
    scores.clear()
    scores[repr(system.ruleset)] = 4.0
    checks.measure(system)
    assert (checks.best_score, load(path, threads=1).epoch) == (4, 2)


def other_seed(system: System, path: Path) -> None:
    make("PPL-DL", seed=8).learn(epochs=1).save(path)


def later_epoch(system: System, path: Path) -> None:
    make("PPL-DL").learn(epochs=3).save(path)


def other_parameters(system: System, path: Path) -> None:
    make("PPL-DL", p_mut=0.5).learn(epochs=1).save(path)


def other_file(system: System, path: Path) -> None:
    path.write_text("no model")


@pytest.mark.parametrize("put", [other_seed, later_epoch, other_parameters, other_file])
def test_what_another_run_left_as_the_best_model_is_replaced(put: Any, tmp_path: Path) -> None:
    system, path = make("PPL-DL").learn(epochs=2), tmp_path / "best.zip"
    put(system, path)
    checks = EvaluationCallback(every=1, best=path)
    assert checks.measure(system) == checks.best_score
    assert path.read_bytes() == saved_bytes(system, tmp_path)


def test_an_evaluation_can_measure_in_another_task() -> None:
    slippery = meadow(p_slip=0.5)
    checks = EvaluationCallback(slippery, every=3)
    system = make("PPL-DL").learn(epochs=3, callback=checks)
    assert checks.score == evaluate(system, slippery, "exact").performance
    assert checks.score != evaluate(system, system.task, "exact").performance


def pole(**options: Any) -> System:
    """Return a small system on CartPole-v1."""
    task: Any = ifthen.task_by_name("CartPole-v1")
    task = replace(task, episodes=4)
    return ifthen.PPLDL(task, seed=1, threads=1, pop_size=12, idv_size=6, **options)


def test_an_evaluation_in_an_environment_plays_seeds_that_nothing_else_uses() -> None:
    checks = EvaluationCallback(every=2, episodes=5)
    system = pole().learn(epochs=2, callback=checks)
    task = system.task
    assert isinstance(task, ifthen.EnvTask)
    seeds = np.arange(3_000_100, 3_000_105)
    assert not set(seeds) & {*task.z, *task.pool, *task.test_seeds(1000), *task.validation}
    assert checks.score == evaluate(system, task, seeds=seeds).performance


def test_learning_in_an_environment_stops_at_a_score_on_seeds_it_was_not_selected_on() -> None:
    curve = pole().learn(epochs=8).history["unseen_performance"].to_list()[1:]
    for stop in (StopAt(max(curve), "unseen_performance"), StopAt(max(curve))):
        stopped = pole().learn(epochs=8, callback=stop)
        assert stopped.epoch == 1 + curve.index(max(curve))
        assert stopped.watched == max(curve)


def test_an_evaluation_in_a_task_with_other_features_is_refused() -> None:
    with pytest.raises(TaskError, match="the ruleset speaks of"):
        make("PPL-DL").learn(epochs=1, callback=EvaluationCallback(frozen_lake(8), every=1))


@pytest.mark.parametrize("kind", ["performance", "exact_performance"])
def test_learning_stops_at_the_first_epoch_that_reaches_the_score(kind: str) -> None:
    history = make("PPL-DL").learn(epochs=15).history[kind].to_list()
    score = sorted(set(history))[-2]
    system = make("PPL-DL").learn(epochs=15, callback=StopAt(score, kind))
    assert system.epoch == next(e for e, value in enumerate(history) if e > 0 and value >= score)
    assert system.epoch < 15


def test_without_a_name_learning_stops_by_what_the_system_itself_measures() -> None:
    for fitness, column in (("sampled", "performance"), ("exact", "exact_performance")):
        curve = make("PPL-DL", fitness=fitness).learn(epochs=15).history[column].to_list()[1:]
        stopped = make("PPL-DL", fitness=fitness).learn(epochs=15, callback=StopAt(max(curve)))
        assert stopped.epoch == 1 + curve.index(max(curve))


def test_learning_stops_by_an_evaluation_only_where_it_measured() -> None:
    checks = EvaluationCallback(every=4)
    assert make("PPL-DL").learn(epochs=12, callback=[checks, StopAt(-1.0, checks)]).epoch == 4
    checks = EvaluationCallback(every=2)
    assert make("PPL-DL").learn(epochs=12, callback=[checks, StopAt(-1.0, checks, times=3)]).epoch == 6


def test_a_column_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ParameterError, match=r"no column 'perfomance' of numbers.*exact_performance"):
        make("PPL-DL").learn(epochs=1, callback=StopAt(1.0, "perfomance"))


@pytest.mark.parametrize(
    "make_callback",
    [
        lambda: Checkpoint("c.zip", every=0),
        lambda: EvaluationCallback(every=0.5),  # type: ignore[arg-type]  # that is what is tested
        lambda: EvaluationCallback(episodes=0),
        lambda: StopAt("high"),  # type: ignore[arg-type]
        lambda: StopAt(math.nan),
        lambda: StopAt(1.0, of=3),  # type: ignore[arg-type]
        lambda: StopAt(1.0, times=0),
    ],
)
def test_impossible_arguments_are_refused(make_callback: Any) -> None:
    with pytest.raises(ParameterError, match="must be"):
        make_callback()


class FakeWriter:
    """Keeps what a SummaryWriter would write."""

    made: list[FakeWriter]

    def __init__(self, logdir: str, purge_step: int | None) -> None:
        self.logdir, self.purge_step = logdir, purge_step
        self.scalars: list[tuple[str, float, int]] = []
        self.texts: dict[str, str] = {}
        self.flushed = self.closed = False
        FakeWriter.made.append(self)

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars.append((name, value, step))
        self.flushed = False

    def add_text(self, name: str, text: str, step: int) -> None:
        self.texts[name] = text

    def flush(self) -> None:
        self.flushed = True

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[FakeWriter]:
    FakeWriter.made = []
    monkeypatch.setitem(sys.modules, "tensorboardX", SimpleNamespace(SummaryWriter=FakeWriter))
    return FakeWriter.made


@every_system
@pytest.mark.parametrize("by", ["epoch", "steps"])
def test_tensorboard_gets_every_number_of_every_row_once(
    name: str, by: Any, writers: list[FakeWriter]
) -> None:
    curves = TensorBoard("curves", by)
    system = make(name).learn(epochs=2, callback=curves).learn(epochs=1, callback=curves)
    (writer,) = writers
    rows = system.history.rows(named=True)
    expected = [(k, v, row[by]) for row in rows for k, v in row.items() if math.isfinite(v)]
    assert writer.scalars == expected
    assert {name for name, _, _ in writer.scalars} >= {"epoch", "performance", "exact_performance", "steps"}
    assert writer.logdir == "curves"
    assert writer.flushed
    for parameter, value in system.parameters.model_dump().items():
        assert f"| {parameter} | {value} |" in writer.texts["run"]
    curves.close()
    assert writer.closed


def test_tensorboard_draws_the_whole_curve_of_a_resumed_run_anew(
    tmp_path: Path, writers: list[FakeWriter]
) -> None:
    make("PPL-DL").learn(epochs=2, callback=TensorBoard(tmp_path)).save(tmp_path / "m.zip")
    load(tmp_path / "m.zip", threads=1).learn(epochs=1, callback=TensorBoard(tmp_path))
    first, second = writers
    assert {step for _, _, step in first.scalars} == {0, 1, 2}
    assert {step for _, _, step in second.scalars} == {0, 1, 2, 3}
    assert second.purge_step == 0


def test_tensorboard_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ParameterError, match="tensorboardX: pip install tensorboardX"):
        TensorBoard("curves")


def test_an_axis_that_tensorboard_cannot_have_is_refused(writers: list[FakeWriter]) -> None:
    with pytest.raises(ParameterError, match="by must be 'epoch' or 'steps' or 'episodes', not 'hours'"):
        TensorBoard("curves", by="hours")  # type: ignore[arg-type]  # that is what is tested
    assert writers == []


@every_system
def test_tensorboard_has_a_gap_where_an_environment_gave_no_return(
    name: str, writers: list[FakeWriter]
) -> None:
    task = env_task("CartPole-v1", episodes=3, t_max=20, floor=-1e12)
    system = make(name, task=task).learn(epochs=2, callback=TensorBoard("curves"))
    (writer,) = writers
    low = [row["epoch"] for row in system.now.records if row["performance"] == -1e12]
    drawn = [step for column, _, step in writer.scalars if column == "performance"]
    assert drawn == [epoch for epoch in range(3) if epoch not in low]
    assert min(value for _, value, _ in writer.scalars) > -1e12
    if name == "XCSF":  # which has no rule before its first step
        assert 0 in low
