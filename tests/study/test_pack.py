"""A packed study says the same as the study, in a few files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ifthen import OutputError, RuleSet
from ifthen.study.pack import HISTORIES, write_pack
from ifthen.study.read import read_results
from ifthen.study.results import Results
from ifthen.study.run import LOG, PACK, claim, write_log
from ifthen.study.tables import all_tables
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
        (PACK, b'{"format": "ifthen-study", "version": 2, "versions": {}, "failed": [], "rulesets": true}'),
        (HISTORIES, b"no table"),
        (RULESETS, b"no archive"),
        (RULESETS, gzip.compress(b'{"seed": 0}\n')),
        (RULESETS, gzip.compress(b"")),
    ],
)
def test_damaged_files_are_named(name: str, data: bytes, results: Results, tmp_path: Path) -> None:
    write_pack(tmp_path / "packed", results)
    (tmp_path / "packed" / name).write_bytes(data)
    with pytest.raises(OutputError, match=name.rpartition("/")[2] if b"2" not in data else "version 2"):
        read_rulesets(tmp_path / "packed")
