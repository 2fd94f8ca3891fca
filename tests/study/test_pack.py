"""A packed study says the same as the study, in a few files."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import math
import sys
from pathlib import Path

import polars
import pytest

from ifthen import RuleSet
from ifthen.errors import OutputError, TaskError
from ifthen.study.histories import read_log
from ifthen.study.read_results import HISTORIES, read_results, write_pack
from ifthen.study.study_folder import LOG, PACK, PLAN, claim, write_log
from ifthen.study.study_results import Results
from ifthen.study.study_tables import all_tables
from ifthen.study.trial import TrialFiles, run_trial
from tests.study.studies import contents, small_plan

RULESETS = "rulesets/XCSF/calm.json.gz"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return the results of a small study with a failed and an unfinished trial."""
    folder, plan = tmp_path_factory.mktemp("study") / "small", small_plan(trials=2)
    claim(folder, plan)
    *rest, failed, unfinished = plan.trials_to_run()
    for trial in rest:
        write_log(folder, trial, run_trial(str(folder), plan.to_json(), trial))
    TrialFiles(folder, failed).failure.parent.mkdir(parents=True, exist_ok=True)
    TrialFiles(folder, failed).failure.write_text("it did not work\n")
    found = read_results(folder)
    assert (found.failed, found.missing) == ((failed,), (unfinished,))
    return found


def test_a_packed_study_has_the_same_tables_and_rulesets(results: Results, tmp_path: Path) -> None:
    write_pack(tmp_path / "packed", results)
    packed = read_results(tmp_path / "packed")
    assert (packed.failed, packed.missing) == (results.failed, results.missing)
    assert packed.versions == results.versions
    assert packed.versions["ifthen"]
    ours, theirs = all_tables(results), all_tables(packed)
    assert ours == theirs
    assert "times" in ours
    assert packed.ruleset is not None
    assert results.ruleset is not None
    for trial in results.trials("XCSF", "slippery") + results.trials("PPL-DL", "calm"):
        assert packed.ruleset(trial) == results.ruleset(trial)


def test_the_same_results_give_the_same_bytes(results: Results, tmp_path: Path) -> None:
    write_pack(tmp_path / "one", results)
    write_pack(tmp_path / "two", results)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert (tmp_path / "one" / LOG).read_bytes() == (tmp_path / "two" / LOG).read_bytes()


def test_rulesets_can_be_left_out(results: Results, tmp_path: Path) -> None:
    write_pack(tmp_path / "packed", results, rulesets=False)
    assert not (tmp_path / "packed" / "rulesets").exists()
    assert read_results(tmp_path / "packed").ruleset is None


def test_other_files_are_not_packed_over(results: Results, tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(OutputError, match="is not empty"):
        write_pack(tmp_path, results)
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_a_packed_study_cannot_be_run(results: Results, tmp_path: Path) -> None:
    write_pack(tmp_path / "packed", results)
    with pytest.raises(OutputError, match="a packed study"):
        claim(tmp_path / "packed", results.plan)


def read_rulesets(folder: Path) -> list[RuleSet]:
    """Return the rulesets of XCSF on the calm lake."""
    packed = read_results(folder)
    assert packed.ruleset is not None
    return [packed.ruleset(trial) for trial in packed.trials("XCSF", "calm")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (PACK, b"{"),
        (HISTORIES, b"no table"),
        (RULESETS, b"no archive"),
        (RULESETS, gzip.compress(b"not JSON", mtime=0)),
        (RULESETS, gzip.compress(b"[" * 10_000, mtime=0)),
        (RULESETS, gzip.compress(b'{"seed": 0}\n', mtime=0)),
        (RULESETS, gzip.compress(b'{"seed": 1e999, "ruleset": {}}\n', mtime=0)),
        (RULESETS, gzip.compress(b"", mtime=0)),
    ],
)
def test_damaged_files_are_named(name: str, data: bytes, results: Results, tmp_path: Path) -> None:
    write_pack(tmp_path / "packed", results)
    (tmp_path / "packed" / name).write_bytes(data)
    with pytest.raises(OutputError, match=name.rpartition("/")[2]):
        read_rulesets(tmp_path / "packed")
    if name != PACK:  # nor does it help to say that the file is as it should be
        forge(tmp_path / "packed", name)
        with pytest.raises(OutputError, match=f"{name.rpartition('/')[2]} (is damaged|holds no ruleset)"):
            read_rulesets(tmp_path / "packed")


def forge(folder: Path, name: str) -> None:
    """Have a packed study say that a file is the one that was packed."""
    pack = json.loads((folder / PACK).read_text())
    pack["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / PACK).write_text(json.dumps(pack))


def test_a_pack_of_another_version_is_refused(results: Results, tmp_path: Path) -> None:
    write_pack(tmp_path / "packed", results)
    pack = json.loads((tmp_path / "packed" / PACK).read_text())
    (tmp_path / "packed" / PACK).write_text(json.dumps({**pack, "version": 2}))
    with pytest.raises(OutputError, match="packed in version 2; this ifthen reads 1"):
        read_results(tmp_path / "packed")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (polars.col("epoch").reverse(), "every epoch from 0 to 5, in order"),
        (polars.lit("elsewhere").alias("task"), "not of a trial of this study"),
        (polars.lit(7, dtype=polars.Int64).alias("seed"), "not of a trial of this study"),
        (polars.lit("high").alias("performance"), "performance holds String"),
        (polars.lit(math.nan).alias("performance"), "performance is not finite"),
        (polars.lit(None, dtype=polars.Float64).alias("performance"), "performance is missing in some rows"),
        (
            polars.when(polars.col("epoch") > 2).then("fraction").alias("fraction"),
            "fraction is missing in some",
        ),
    ],
)
def test_unsound_histories_are_refused(
    change: polars.Expr, message: str, results: Results, tmp_path: Path
) -> None:
    write_pack(tmp_path / "packed", results)
    path = tmp_path / "packed" / HISTORIES
    polars.read_parquet(path).with_columns(change).write_parquet(path)
    forge(tmp_path / "packed", HISTORIES)
    with pytest.raises(OutputError, match=message):
        read_results(tmp_path / "packed")


def test_histories_of_too_many_rows_are_refused_before_they_are_read(
    results: Results, tmp_path: Path
) -> None:
    write_pack(tmp_path / "packed", results)
    path = tmp_path / "packed" / HISTORIES
    polars.concat([polars.read_parquet(path)] * 2).write_parquet(path)
    forge(tmp_path / "packed", HISTORIES)
    with pytest.raises(OutputError, match="rows, at most 48 can be"):
        read_results(tmp_path / "packed")


def test_nothing_is_left_of_a_pack_that_could_not_be_written(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ifthen.study.read_results._write_rulesets", full)
    with pytest.raises(OutputError, match="No space left"):
        write_pack(tmp_path / "packed", results)
    assert list(tmp_path.iterdir()) == []


def test_half_lines_of_the_log_are_passed_over(results: Results, tmp_path: Path) -> None:
    write_pack(tmp_path / "packed", results)
    path = tmp_path / "packed" / LOG
    whole = read_log(path)
    assert whole is not None
    path.write_text(path.read_text() + "2026-01-01T00:00:00,10,calm,0,fin")
    again = read_log(path)
    assert again is not None
    assert whole.equals(again)
    path.write_text(path.read_text().replace("XCSF", "10"))
    named = read_log(path)
    assert named is not None
    assert "10" in named["system"].to_list()  # names stay texts
    path.write_text("nothing,of,the,kind\n1,2,3,4\n")
    assert read_log(path) is None


@pytest.mark.parametrize("name", ["x" * 5_000, "\0", "../study.json"])
def test_odd_names_of_packed_files_are_refused(results: Results, tmp_path: Path, name: str) -> None:
    write_pack(tmp_path / "packed", results)
    pack = json.loads((tmp_path / "packed" / PACK).read_text())
    pack["sha256"][name] = "0"
    (tmp_path / "packed" / PACK).write_text(json.dumps(pack))
    with pytest.raises(OutputError):
        read_results(tmp_path / "packed")


@pytest.mark.parametrize("task", ["antigravity:Cart-v0", {"environment": "antigravity:Cart-v0", "name": "x"}])
def test_reading_a_packed_study_imports_no_package(results: Results, tmp_path: Path, task: object) -> None:
    write_pack(tmp_path / "packed", results)
    plan = json.loads((tmp_path / "packed" / PLAN).read_text())
    plan["tasks"] = [task]
    (tmp_path / "packed" / PLAN).write_text(json.dumps(plan))
    with pytest.raises(
        TaskError, match=r"opening a file never imports your code: give --task antigravity:Cart"
    ):
        read_results(tmp_path / "packed")
    assert "antigravity" not in sys.modules
