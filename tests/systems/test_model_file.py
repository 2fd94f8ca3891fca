from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import System, env_task, load
from ifthen.checks import has_more_values
from ifthen.errors import ModelFileError, OutputError
from ifthen.provenance import versions
from ifthen.systems import model_file
from tests.archives import MANIFEST, manifest, members, npy, poke, with_array, with_manifest, write
from tests.systems.contract import make, saved_bytes, table_of

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small trained PPL-ST, which has all that a model can have."""
    path = tmp_path_factory.mktemp("models") / "model.zip"
    make("PPL-ST").learn(epochs=2).save(path)
    return path


def test_a_model_rewritten_without_change_loads(model: Path, tmp_path: Path) -> None:
    again = load(with_manifest(model, tmp_path, lambda m: None))
    assert again.ruleset == load(model).ruleset
    assert load(with_array(model, tmp_path, "population/bounds", lambda a: a)).epoch == 2


def test_a_model_written_before_tasks_had_kinds_loads(model: Path, tmp_path: Path) -> None:
    again = load(with_manifest(model, tmp_path, lambda m: m["task"].pop("kind")))
    assert again.ruleset == load(model).ruleset


@pytest.mark.parametrize("task", [None, [], "tabular", 3])
def test_a_task_that_is_no_object_is_refused(task: Any, model: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="in the manifest, task"):
        load(with_manifest(model, tmp_path, lambda m: m.update(task=task)))


def test_a_model_of_more_values_than_are_read_is_not_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, path = load(model), tmp_path / "m.zip"
    about = manifest(members(model))
    count = next(n for n in range(1000) if not has_more_values({**about, "history": 0, "start": 0}, n)) - 2
    monkeypatch.setattr(model_file, "MOST_VALUES", count)
    system.save(path)
    assert load(path).ruleset == system.ruleset
    monkeypatch.setattr(model_file, "MOST_VALUES", count - 1)
    with pytest.raises(ModelFileError, match=f"more than {count - 1} values"):
        load(path)
    path.unlink()
    with pytest.raises(OutputError, match=f"more than {count - 1} values"):
        system.save(path)
    assert list(tmp_path.iterdir()) == []


def test_a_model_tells_what_made_it(model: Path) -> None:
    about = manifest(members(model))
    assert (about["format"], about["version"], about["system"]) == ("ifthen-model", 1, "PPL-ST")
    assert about["versions"] == versions()
    assert {"python", "ifthen", "numpy", "numba", "gymnasium"} <= set(about["versions"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(format="other"), "not an ifthen model"),
        (lambda m: m.pop("format"), "not an ifthen model"),
        (lambda m: m.update(version=2), "version 2; this ifthen reads version 1"),
        (lambda m: m.update(version="1"), "version '1'"),
        (lambda m: m.pop("seed"), "in the manifest, seed"),
        (lambda m: m.update(seed="0"), "in the manifest, seed"),
        (lambda m: m.update(seed=-1), "seed must be a whole number"),
        (lambda m: m.update(extra=1), "in the manifest, extra"),
        (lambda m: m.update(system="PPL-XX"), "unknown system 'PPL-XX'"),
        (lambda m: m.update(system="PPL-DL"), "unknown parameter|population has"),
        (lambda m: m.update(epoch=3), "up to epoch 3"),
        (lambda m: m.update(epoch=-1, history={"epoch": []}), "columns of one length"),
        (lambda m: m.update(history={}), "columns of one length"),
        (lambda m: m["history"].update(epoch=[0, 0, 2]), "a row for each of epochs 0 to 2"),
        (lambda m: m["history"].update(steps=[0, None, 2]), "must have numbers in columns"),
        (lambda m: m["history"].pop("steps"), "must have numbers in columns"),
        (lambda m: m["history"].update(steps=[0, 0]), "columns of one length"),
        (lambda m: m["parameters"].update(p_mut=1.5), "p_mut"),
        (lambda m: m["parameters"].update(p_mutt=0.5), "Did you mean 'p_mut'"),
        (lambda m: m["parameters"].update(seed=1), "unknown parameter 'seed'"),
        (lambda m: m["parameters"].update(task="x"), "unknown parameter 'task'"),
        (lambda m: m["parameters"].update(self=1), "unknown parameter 'self'"),
        (lambda m: m["parameters"].update(pop_size=7), "must be even"),
        (lambda m: m["parameters"].update(pop_size=10**6), "bounds must be int32 of shape"),
        (lambda m: m["parameters"].update(idv_size=9), "bounds must be int32 of shape"),
        (lambda m: m["task"].update(gamma=1.5), "gamma"),
        (lambda m: m["task"].update(t_max=0), "t_max"),
        (lambda m: m["task"].update(enumerations=10**9), "enumerations"),
        (lambda m: m["task"].update(noise_seed=-1), "noise_seed"),
        (lambda m: m["task"].update(action_names=["Left"]), "impossible task"),
        (lambda m: m["task"].update(action_names=["a", "a", "b", "c"]), "must differ"),
        (lambda m: m["task"].update(features=[]), "impossible task"),
        (lambda m: m["task"]["features"][0].update(name="y"), "must differ"),
        (lambda m: m["task"]["features"][0].update(high=1), "layout must be"),
        (lambda m: m["task"]["features"][0].update(high=2**31 - 1, low=-(2**31) + 1), "at most 1,000,000"),
        (lambda m: m["task"]["features"][0].update(high=2**40), "whole number"),
        (lambda m: m["task"]["features"][0].update(kind="real"), "kind"),
        (lambda m: m["task"].pop("layout"), "in the manifest, task.layout"),
    ],
)
def test_a_manifest_with_one_thing_wrong_is_refused_naming_it(
    change: Callable[[dict[str, Any]], Any], message: str, model: Path, tmp_path: Path
) -> None:
    path = with_manifest(model, tmp_path, change)
    with pytest.raises(ModelFileError, match=message):
        load(path)


@pytest.mark.parametrize("name", ["PPL-DL", "PPL-ST", "XCSF"])
@pytest.mark.parametrize("where", ["table", "environment"])
def test_columns_of_the_history_that_learning_does_not_need_may_come_and_go(
    name: str, where: str, tmp_path: Path
) -> None:
    task = None if where == "table" else env_task("CartPole-v1", episodes=3, t_max=30)
    system = make(name, task=task).learn(epochs=2)
    system.save(tmp_path / "m.zip")
    lost = "exact_performance" if where == "table" else "unseen_performance"
    also = "mean_error" if name == "XCSF" else "best_fitness"

    def change(about: dict[str, Any]) -> None:
        del about["history"][lost], about["history"][also]
        about["history"]["novelty"] = [0.5, None, 2]

    again = load(with_manifest(tmp_path / "m.zip", tmp_path, change), threads=1)
    assert again.ruleset == system.ruleset
    assert again.history["novelty"].to_list() == [0.5, None, 2]
    system.learn(epochs=1)
    history = again.learn(epochs=1).history
    assert history["novelty"].to_list() == [0.5, None, 2, None]
    for column in (lost, also):
        assert history[column].to_list() == [None, None, None, system.history[column][-1]]
    for column in set(system.history.columns) - {lost, also}:
        assert history[column].to_list() == system.history[column].to_list()
    for one, other in zip(again.now.population, system.now.population, strict=True):
        assert one.tobytes() == other.tobytes()
    saved = saved_bytes(again, tmp_path)
    assert saved_bytes(load(tmp_path / "saved.zip"), tmp_path) == saved


def test_the_column_that_a_system_learns_by_must_be_there(tmp_path: Path) -> None:
    make("PPL-DL", fitness="exact").learn(epochs=1).save(tmp_path / "m.zip")
    path = with_manifest(tmp_path / "m.zip", tmp_path, lambda m: m["history"].pop("exact_performance"))
    with pytest.raises(ModelFileError, match=r"must have numbers in columns .*exact_performance"):
        load(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("population/bounds", lambda a: a[:-1], "bounds must be int32 of shape"),
        ("population/bounds", lambda a: a.astype(np.int64), "bounds must be int32"),
        ("population/bounds", lambda a: a.astype(">i4"), "bounds must be int32"),
        ("population/bounds", lambda a: poke(a, -1), "conditions leave the ranges"),
        ("population/bounds", lambda a: poke(a, 3), "conditions leave the ranges"),
        ("population/actions", lambda a: poke(a, 4), "actions do not exist"),
        ("population/actions", lambda a: poke(a, -1), "actions do not exist"),
        ("population/learnt", lambda a: a[..., :-1], "learnt must be float64 of shape"),
        ("population/learnt", lambda a: poke(a, np.nan), "NaN"),
        ("population/learnt", lambda a: a - 1000, "variances are negative"),
        ("population/fitness", lambda a: a[None], "fitness must be float64 of shape"),
        ("task/next_state", lambda a: poke(a, 9), "states from 0 to 8"),
        ("task/next_state", lambda a: a[:, :2], "impossible task"),
        ("task/reward", lambda a: poke(a, np.inf), "infinite"),
        ("task/done", lambda a: a.astype(np.uint8) * 2, "done must hold finite numbers that bool"),
        ("task/probability", lambda a: a / 2, "add up to 1"),
        ("task/initial_states", lambda a: a[:0], "not be empty"),
        ("task/state_features", lambda a: poke(a, 99), "within the ranges"),
    ],
)
def test_an_array_with_one_thing_wrong_is_refused_naming_it(
    name: str, change: Callable[[Any], Any], message: str, model: Path, tmp_path: Path
) -> None:
    path = with_array(model, tmp_path, name, change)
    with pytest.raises(ModelFileError, match=message):
        load(path)


@pytest.mark.parametrize("name", ["population/bounds", "population/fitness", "task/done", "task/reward"])
def test_a_model_without_one_of_its_arrays_is_refused(name: str, model: Path, tmp_path: Path) -> None:
    contents = members(model)
    del contents[f"{name}.npy"]
    path = write(tmp_path / "less.zip", contents)
    with pytest.raises(ModelFileError, match=name.split("/")[1]):
        load(path)


@pytest.mark.parametrize(
    "name", ["extra", "task/extra", "population/extra", "../../evil", "/evil", "population/../../evil"]
)
def test_a_model_with_one_array_more_is_refused_and_nothing_is_written(
    name: str, model: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "more.zip", {**members(model), f"{name}.npy": npy(np.zeros(3))})
    with pytest.raises(ModelFileError, match=r"belong|population has"):
        load(path)
    assert [p.name for p in tmp_path.iterdir()] == ["more.zip"]


def assert_loads_or_is_refused(path: Path) -> None:
    """Load a file: either it is refused, or all that was in it can be used."""
    try:
        system = load(path, threads=1)
    except ModelFileError:
        return
    assert isinstance(system, System)
    assert len(system.history) == system.epoch + 1
    system.predict(table_of(system).state_features)


@given(data=st.data())
def test_flipped_bits_are_refused_or_do_no_harm(model: Path, data: st.DataObject) -> None:
    content = bytearray(model.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flipped.zip"
        path.write_bytes(bytes(content))
        assert_loads_or_is_refused(path)


def test_a_flipped_bit_at_any_sixteenth_byte_is_refused_or_does_no_harm(model: Path, tmp_path: Path) -> None:
    content = bytearray(model.read_bytes())
    for at in range(0, len(content), 16):
        content[at] ^= 1 << at % 8
        (tmp_path / "flipped.zip").write_bytes(bytes(content))
        assert_loads_or_is_refused(tmp_path / "flipped.zip")
        content[at] ^= 1 << at % 8


def test_a_model_cut_short_is_refused(model: Path, tmp_path: Path) -> None:
    content = model.read_bytes()
    for length in range(0, len(content), 37):
        (tmp_path / "cut.zip").write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load(tmp_path / "cut.zip")


ODD: list[Any] = [None, True, -1, 0, 2, 10**30, 1e300, 0.5, "", "x", "\x00", [], [1], {}, {"a": 1}]


@settings(max_examples=100)
@given(data=st.data())
def test_odd_values_anywhere_in_the_manifest_are_refused_or_do_no_harm(
    model: Path, data: st.DataObject
) -> None:
    contents = members(model)
    about = manifest(contents)
    inside: Any = about
    while True:
        places = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        place = data.draw(st.sampled_from(places))
        deeper = isinstance(inside[place], (dict, list)) and len(inside[place]) > 0
        if not deeper or data.draw(st.booleans()):
            break
        inside = inside[place]
    inside[place] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
    with tempfile.TemporaryDirectory() as folder:
        assert_loads_or_is_refused(write(Path(folder) / "odd.zip", {**contents, MANIFEST: json.dumps(about)}))
