from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars
import pytest

from ifthen.digits import NOTHING, mean_and_sd
from ifthen.errors import OutputError
from ifthen.study.paper import PARAMETERS, papers_performance, papers_size
from ifthen.study.read_results import read_results
from ifthen.study.study_folder import claim
from ifthen.study.study_plan import StudyPlan, Trial, checked_plan
from ifthen.study.study_results import Results
from ifthen.study.study_tables import all_tables, performance_table, sizes_table, spread_table, verdicts_table
from ifthen.study.trial import TrialFiles, run_trial
from ifthen.text_table import TextTable
from tests.study.studies import small_plan

GOOD, BAD = [0.9 + 0.001 * i for i in range(20)], [0.5 + 0.002 * i for i in range(20)]
PLAN = {"name": "made up", "trials": 20, "tasks": ["FrozenLake-4-0", "FrozenLake-8-0"]}


def plan_of(*systems: str, reference: str | None = None) -> StudyPlan:
    own = [{"name": name, "parameters": PARAMETERS.get(name, {})} for name in systems]
    given = {**PLAN, "systems": own}
    return checked_plan(given if reference is None else {**given, "reference": reference})


def made_up(plan: StudyPlan, values: dict[str, list[float]]) -> Results:
    """Return results in which a system has the same values on every task."""
    rows = [
        {"system": name, "task": task, "seed": seed, "fraction": value, "exact_fraction": value - 0.1}
        | {"rules": 10 + seed, "best_action_rules": 5}
        for task in plan.tasks_by_name()
        for name, own in values.items()
        for seed, value in enumerate(own)
    ]
    return Results(plan, polars.DataFrame(rows))


def cells(grid: TextTable) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of a grid by task and system."""
    return {(row[0], row[1]): dict(zip(grid.headings, row, strict=True)) for row in grid.rows}


def test_verdicts_say_whether_the_reference_is_better() -> None:
    plan = plan_of("PPL-ST", "PPL-DL", "XCSF", reference="PPL-DL")
    grid = verdicts_table(made_up(plan, {"PPL-ST": BAD, "PPL-DL": GOOD, "XCSF": GOOD}))
    row = cells(grid)
    assert grid.title.startswith("PPL-DL against the others")
    assert row["FrozenLake-4-0", "PPL-ST"]["by mean"] == row["FrozenLake-4-0", "PPL-ST"]["by A12"] == ">"
    assert row["FrozenLake-4-0", "PPL-ST"]["A12"] == "1.000"
    assert row["FrozenLake-4-0", "PPL-ST"]["paper"] == NOTHING  # the paper compares PPL-ST with others
    assert row["FrozenLake-4-0", "XCSF"]["by mean"] == "="
    assert ("FrozenLake-4-0", "PPL-DL") not in row
    other = cells(verdicts_table(made_up(plan_of("PPL-ST", "XCSF"), {"PPL-ST": BAD, "XCSF": GOOD})))
    assert other["FrozenLake-8-0", "XCSF"]["by mean"] == other["FrozenLake-8-0", "XCSF"]["paper"] == "<"


def test_numbers_are_mean_sd_and_median_and_stand_beside_the_papers() -> None:
    row = cells(performance_table(made_up(plan_of("PPL-ST", "XCSF"), {"PPL-ST": GOOD, "XCSF": BAD})))
    own = row["FrozenLake-8-0", "XCSF"]
    assert (own["n"], own["on z"], own["paper"]) == (NOTHING, "0.519 ± 0.012", "0.986 ± 0.061")
    # (0.986 − 0.519) / sqrt(0.011832² / 20 + 0.061² / 30)
    assert float(own["s.e. apart"]) == pytest.approx(40.8, abs=0.1)
    assert own["exact"] == "0.419 ± 0.012"


def test_single_and_missing_trials_are_shown_as_what_they_are() -> None:
    plan = plan_of("PPL-ST", "XCSF")
    results = made_up(plan, {"PPL-ST": [0.7]})
    results = Results(plan, results.finals, (Trial("XCSF", "FrozenLake-4-0", 0),), ())
    grid = performance_table(results)
    row = cells(grid)
    assert row["FrozenLake-4-0", "PPL-ST"]["on z"] == "0.700"
    assert row["FrozenLake-4-0", "XCSF"]["on z"] == NOTHING
    assert cells(verdicts_table(results))["FrozenLake-4-0", "XCSF"]["by mean"] == NOTHING
    assert cells(spread_table(results))["FrozenLake-4-0", "PPL-ST"]["95 % interval"] == NOTHING
    assert grid.notes[-1] == "Not in the table: 1 failed and 0 unfinished trials."


def test_spreads_are_medians_interquartile_means_and_intervals_around_them() -> None:
    own = cells(spread_table(made_up(plan_of("XCSF"), {"XCSF": BAD})))["FrozenLake-4-0", "XCSF"]
    low, high = map(float, own["95 % interval"].split(" … "))
    assert own["median"] == own["IQM"] == "0.519"
    assert 0.505 < low < 0.519 < high < 0.533
    assert 0 < float(own["Shapiro–Wilk p"]) <= 1


def test_where_returns_can_be_negative_performance_is_absolute_and_that_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    plan = small_plan(tasks=["CliffWalking-v1"], systems=[{"name": "XCSF"}], trials=1, epochs=1)
    claim(folder, plan)
    assert run_trial(str(folder), plan.to_json(), plan.trials_to_run()[0])[0] == "finished"
    results = read_results(folder)
    grid = performance_table(results)
    (value,) = results.values("XCSF", "CliffWalking-v1", "performance")
    assert value < 0
    assert grid.rows[0][3] == mean_and_sd(value)
    assert "Absolute" in grid.notes[1]
    assert "CliffWalking-v1" in grid.notes[1]


def test_sizes_stand_beside_the_papers() -> None:
    grid = sizes_table(made_up(plan_of("PPL-DL", "XCSF"), {"XCSF": GOOD, "PPL-DL": GOOD}))
    # (521.4 − 19.5) / (5.916 / √20); a map of always five rules has no deviation to measure in
    unpruned = (NOTHING,) * 3
    apart = ("379.4", "5", "261.9", NOTHING)
    assert ("FrozenLake-8-0", "XCSF", "19.5 ± 5.9", "521.4", *apart, *unpruned) in grid.rows
    ours = ("FrozenLake-4-0", "PPL-DL", "19.5 ± 5.9", NOTHING, NOTHING, "5", NOTHING, NOTHING)
    assert (*ours, *unpruned) in grid.rows
    assert papers_size("XCSF", "FrozenLake-12-0.3", "rules") == 1458.9
    assert papers_size("PPL-ST", "FrozenLake-4-0", "best_action_rules") == 6.0
    assert papers_size("PPL-DL", "FrozenLake-4-0", "rules") is None
    assert papers_size("XCSF", "pond", "rules") is None


def test_the_papers_table_has_every_system_on_every_task() -> None:
    assert len(papers_performance()) == 3 * 12
    assert papers_performance()["XCSF", "FrozenLake-12-0"] == (0.962, 0.176, ">")


def test_a_grid_says_the_same_in_every_format() -> None:
    grid = TextTable("A & B: 50 %", ("task", "a|b"), (("x_1", "1 ± 2"), ("y, z", "< 3")), ("A note.",))
    assert list(csv.reader(io.StringIO(grid.to_csv()))) == [
        ["task", "a|b"],
        ["x_1", "1 ± 2"],
        ["y, z", "< 3"],
    ]
    assert "| task | a\\|b |\n|:--|--:|\n| x\\_1 | 1 ± 2 |" in grid.to_markdown()
    assert grid.to_markdown().endswith("A note.\n")
    latex = grid.to_latex()
    assert r"\caption{A \& B: 50 \%}" in latex
    assert "x\\_1 & 1 $\\pm$ 2 \\\\\ny, z & $<$ 3 \\\\" in latex
    assert re.findall(r"\\(toprule|midrule|bottomrule)", latex) == ["toprule", "midrule", "bottomrule"]


def test_results_are_read_off_a_studys_folder(tmp_path: Path) -> None:
    folder, plan = tmp_path / "study", small_plan(trials=1)
    with pytest.raises(OutputError, match="holds no study"):
        read_results(folder)
    claim(folder, plan)
    with pytest.raises(OutputError, match="has finished yet"):
        read_results(folder)
    done, broken, *left = plan.trials_to_run()
    run_trial(str(folder), plan.to_json(), done)
    TrialFiles(folder, broken).failure.parent.mkdir(parents=True, exist_ok=True)
    TrialFiles(folder, broken).failure.write_text("because")
    results = read_results(folder)
    assert (results.failed, results.missing) == ((broken,), tuple(left))
    assert results.values(done.system, done.task, "epoch") == [5.0]
    assert results.values(broken.system, broken.task, "epoch") == []
    assert results.failures(broken.system, broken.task) == 1


def test_damaged_files_are_named_with_what_to_do(tmp_path: Path) -> None:
    folder, plan = tmp_path / "study", small_plan(trials=1)
    claim(folder, plan)
    for trial in plan.trials_to_run()[:2]:
        run_trial(str(folder), plan.to_json(), trial)
    history = TrialFiles(folder, plan.trials_to_run()[0]).history
    history.write_bytes(history.read_bytes()[:100])
    with pytest.raises(OutputError, match=r"0\.parquet is damaged: .* Delete it and run the study again"):
        read_results(folder)
    (folder / "study.json").write_text(plan.to_json()[:50])
    for use in (lambda: read_results(folder), lambda: claim(folder, plan)):
        with pytest.raises(OutputError, match=r"study\.json cannot be read: .* not valid JSON"):
            use()


def test_columns_of_the_paper_are_left_out_where_it_has_nothing() -> None:
    ours = all_tables(made_up(plan_of("PPL-DL", "XCSF"), {"PPL-DL": GOOD, "XCSF": BAD}))
    assert ours["performance"].headings == ("task", "system", "on z", "paper", "s.e. apart", "exact")
    assert "paper" not in ours["verdicts"].headings  # the paper compares PPL-ST with others
    assert [len(row) for row in ours["verdicts"].rows] == [len(ours["verdicts"].headings)] * 2
    lake = {**PLAN, "tasks": ["FrozenLake-8-0-map3"], "systems": [{"name": "XCSF"}]}
    other = all_tables(made_up(checked_plan(lake), {"XCSF": GOOD}))
    assert not any("paper" in str((table.headings, table.notes)) for table in other.values())


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_table_fits_the_terminal_without_breaking_a_word(width: int) -> None:
    tables = all_tables(made_up(plan_of("PPL-ST", "XCSF"), {"PPL-ST": GOOD, "XCSF": BAD}))
    for table in tables.values():
        text = table.to_text(width)
        assert max(map(len, text.splitlines())) <= width
        words = set(text.split())
        assert all(word in words for heading in table.headings for word in heading.split())
        assert all(word in words for row in table.rows for cell in row for word in cell.split())
