from __future__ import annotations

import dataclasses
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars.testing
import pytest

import ifthen
from ifthen import System, TabularTask, frozen_lake, load
from ifthen.environments.from_table import table_task
from ifthen.errors import ModelFileError, OutputError
from ifthen.store import read_archive, write_archive
from ifthen.systems import pittsburgh
from ifthen.systems.registry import SYSTEMS
from ifthen.tasks import tabular_task as tabular
from tests.systems.contract import OTHER, every_system, make, meadow, saved_bytes

EPOCHS = 5


@pytest.fixture(scope="module")
def in_one_go(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the file of every system after EPOCHS epochs without a break."""
    folder = tmp_path_factory.mktemp("one-go")
    return {name: saved_bytes(make(name).learn(epochs=EPOCHS), folder) for name in SYSTEMS}


@every_system
def test_a_saved_system_comes_back_with_all_it_is(name: str, tmp_path: Path) -> None:
    system = make(name).learn(epochs=2)
    system.save(tmp_path / "m.zip")
    for again in (load(tmp_path / "m.zip"), SYSTEMS[name].load(tmp_path / "m.zip", threads=1)):
        assert type(again) is type(system)
        assert again.ruleset == system.ruleset
        assert (again.epoch, again.seed, again.parameters) == (2, system.seed, system.parameters)
        polars.testing.assert_frame_equal(again.history, system.history)


@every_system
def test_an_array_of_a_population_without_its_dimensions_or_without_entries_is_refused(
    name: str, tmp_path: Path
) -> None:
    make(name).learn(epochs=1).save(tmp_path / "m.zip")
    manifest, arrays = read_archive(tmp_path / "m.zip")
    for member in [each for each in arrays if each.startswith("population/")]:
        own = arrays[member]
        odd = (own.ravel()[:1].sum(dtype=own.dtype), own[..., None], own[..., :0])
        for wrong in (each for each in odd if each.shape != own.shape):
            write_archive(tmp_path / "odd.zip", manifest, {**arrays, member: wrong})
            with pytest.raises(ModelFileError):
                load(tmp_path / "odd.zip")


@every_system
@pytest.mark.parametrize(
    "task",
    [
        meadow(gamma=0.9, noise_seed=3, enumerations=4, t_max=11, name="mine"),
        table_task(gymnasium.make("CliffWalking-v1"), gamma=1.0),
        frozen_lake(4, 0.1),
    ],
)
def test_the_task_of_a_saved_system_comes_back_in_every_field(
    name: str, task: TabularTask, tmp_path: Path
) -> None:
    make(name, task=task).learn(epochs=0).save(tmp_path / "m.zip")
    again = load(tmp_path / "m.zip").task
    for field in dataclasses.fields(TabularTask):
        one, other = getattr(task, field.name), getattr(again, field.name)
        assert type(one) is type(other)
        if isinstance(one, np.ndarray):
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        else:
            assert one == other


@every_system
def test_a_loaded_system_saves_the_same_bytes(name: str, tmp_path: Path) -> None:
    first = saved_bytes(make(name).learn(epochs=2), tmp_path)
    assert saved_bytes(load(tmp_path / "saved.zip"), tmp_path) == first


@every_system
@pytest.mark.parametrize("parts", [(0, 5), (2, 3), (1, 1, 3)])
def test_learning_in_parts_across_files_gives_the_bytes_of_one_go(
    name: str, parts: tuple[int, ...], in_one_go: dict[str, bytes], tmp_path: Path
) -> None:
    system = make(name)
    for epochs in parts:
        content = saved_bytes(system.learn(epochs=epochs), tmp_path)
        system = load(tmp_path / "saved.zip", threads=1)
    assert content == in_one_go[name]


@every_system
def test_two_threads_give_the_bytes_of_one(
    name: str, in_one_go: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small populations are not worth a thread: cut them into slices all the same.
    monkeypatch.setattr(tabular, "STATES_PER_SLICE", 1)
    monkeypatch.setattr(pittsburgh, "ROUNDS_PER_SLICE", 1)
    assert saved_bytes(make(name, threads=2).learn(epochs=EPOCHS), tmp_path) == in_one_go[name]


@every_system
def test_another_system_seed_or_parameter_gives_other_bytes(
    name: str, in_one_go: dict[str, bytes], tmp_path: Path
) -> None:
    others = [make(name, seed=6), make(name, **OTHER[name])]
    contents = {saved_bytes(system.learn(epochs=EPOCHS), tmp_path) for system in others}
    assert len(contents | set(in_one_go.values())) == 2 + len(SYSTEMS)


def test_separate_processes_give_the_same_bytes(in_one_go: dict[str, bytes], tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from tests.systems.contract import SYSTEMS, make\n"
        f"for name in SYSTEMS: make(name, threads=2).learn(epochs={EPOCHS}).save(sys.argv[1] + '/' + name)\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, cwd=root, timeout=300)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == in_one_go


@pytest.mark.parametrize("name", ["PPL-DL", "XCSF"])  # learning in parts holds all systems to the same law
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_killed_run_goes_on_from_its_checkpoint_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from tests.systems.contract import make\n"
        "make(sys.argv[1]).learn(epochs=10**6, callback=lambda system: print(system.epoch, flush=True),"
        " checkpoint=sys.argv[2], checkpoint_every=2)\n"
    )
    checkpoint = tmp_path / "checkpoint.zip"
    command = [sys.executable, "-c", script, name, str(checkpoint)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= 5:
                break
        os.kill(child.pid, signal.SIGKILL)
    system = load(checkpoint, threads=1)
    assert system.epoch >= 4
    assert system.epoch % 2 == 0
    total = system.epoch + 3
    resumed = saved_bytes(system.learn(epochs=3), tmp_path)
    assert resumed == saved_bytes(make(name).learn(epochs=total), tmp_path)


@every_system
def test_an_interrupt_inside_an_epoch_leaves_a_checkpoint_of_the_epoch_before(
    name: str, in_one_go: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, checkpoint = make(name), tmp_path / "checkpoint.zip"
    advance = type(system).advance

    def interrupted(self: System, population: Any, before: Any, goal: Any) -> Any:
        following = advance(self, population, before, goal)
        if before["epoch"] == 3:
            raise KeyboardInterrupt
        return following

    with monkeypatch.context() as patch:
        patch.setattr(type(system), "advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            system.learn(epochs=EPOCHS, checkpoint=checkpoint)
    assert system.epoch == load(checkpoint).epoch == 3
    assert saved_bytes(load(checkpoint, threads=1).learn(epochs=2), tmp_path) == in_one_go[name]
    assert saved_bytes(system.learn(epochs=2), tmp_path) == in_one_go[name]


@every_system
def test_checkpoints_are_written_every_so_many_epochs_counted_from_0(name: str, tmp_path: Path) -> None:
    checkpoint, at = tmp_path / "deep" / "checkpoint.zip", list[int | None]()

    def look(system: System) -> None:
        at.append(load(checkpoint).epoch if checkpoint.exists() else None)

    make(name).learn(epochs=1).learn(epochs=4, callback=look, checkpoint=checkpoint, checkpoint_every=2)
    assert at == [2, 2, 4, 4]
    assert load(checkpoint).epoch == 5  # and at the end


@every_system
def test_a_full_disk_leaves_the_old_model_and_no_other_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make(name).learn(epochs=0)
    before = saved_bytes(system, tmp_path)
    system.learn(epochs=1)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            with pytest.raises(OutputError, match="No space left"):
                system.save(tmp_path / "saved.zip")
        assert [path.name for path in tmp_path.iterdir()] == ["saved.zip"]
        assert (tmp_path / "saved.zip").read_bytes() == before


@every_system
def test_a_model_of_another_system_is_refused(name: str, tmp_path: Path) -> None:
    make(name).learn(epochs=0).save(tmp_path / "m.zip")
    for other in set(SYSTEMS) - {name}:
        with pytest.raises(ModelFileError, match=f"holds a {name} model, not {other}"):
            SYSTEMS[other].load(tmp_path / "m.zip")
    assert isinstance(ifthen.System.load(tmp_path / "m.zip"), SYSTEMS[name])
