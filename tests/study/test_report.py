"""The report of a small study: what it says, and how it behaves in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars
import pytest

from ifthen.study.read_results import read_results
from ifthen.study.report.study_report import all_figures, best_rulesets, study_page, write_report
from ifthen.study.study_folder import claim
from ifthen.study.study_plan import StudyPlan, Trial, checked_plan
from ifthen.study.study_results import Results
from ifthen.study.trial import run_trial
from tests.browser import needs_browser, opened
from tests.study.studies import small_plan

CLIFF = {"name": "cliff", "tasks": ["CliffWalking-v1"], "trials": 2, "epochs": 3}
NAMESPACES = {
    *("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "https://matplotlib.org/"),
    *("http://purl.org/dc/elements/1.1/", "http://purl.org/dc/dcmitype/StillImage"),
    *("http://creativecommons.org/ns#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
}
"""Names in drawings that no browser follows."""


def run_here(folder: Path, plan: StudyPlan) -> Results:
    """Return the results of a study that is run in this process."""
    claim(folder, plan)
    for trial in plan.trials_to_run():
        assert run_trial(str(folder), plan.to_json(), trial).outcome == "finished"
    return read_results(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_here(tmp_path_factory.mktemp("study") / "small", small_plan())


@pytest.fixture(scope="module")
def report(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of the small study's report."""
    return write_report(tmp_path_factory.mktemp("report"), results, lambda what: None)


def test_the_report_has_tables_figures_and_a_page(report: Path) -> None:
    folder = report.parent
    names = {path.name for path in (folder / "figures").iterdir()}
    wanted = ["curves", "curves-exact", "lakes", "density-calm-local", "density-slippery-global"]
    assert names >= {f"{name}.{suffix}" for name in wanted for suffix in ("png", "pdf")}
    assert {path.suffix for path in (folder / "tables").iterdir()} == {".csv", ".md", ".tex"}
    page = report.read_text(encoding="utf-8")
    assert "12 trials finished" in page
    assert "PPL-DL against XCSF: better on" in page
    # Nothing is fetched: the only addresses are the names of XML dialects.
    assert set(re.findall(r"https?://[^\"'<\s)]+", page)) <= NAMESPACES


def test_the_same_results_give_the_same_page(results: Results) -> None:
    first, second = (all_figures(results, lambda what: None) for _ in range(2))
    assert study_page(results, first) == study_page(results, second)


def test_the_best_ruleset_is_the_one_with_the_highest_exact_value(results: Results) -> None:
    best = best_rulesets(results)["slippery"][0]
    values = results.values("PPL-DL", "slippery", "exact_fraction")
    assert best.performance == max(values)
    assert best.trial.seed == values.index(max(values))
    assert sum(rule.decides or 0 for rule in best.rules) == 7  # nine cells less a hole and the goal
    assert [rule.number for rule in best.rules] == list(range(1, best.everything + 1))  # also the idle ones
    assert any(rule.idle for rule in best.rules)
    assert [symbol for row in best.arrows for symbol, _ in row].count("★") == 1


def test_gaps_failures_and_costs_are_shown(tmp_path: Path) -> None:
    small = {"idv_size": 5, "pop_size": 16}
    plan = checked_plan({**CLIFF, "systems": [{"name": "PPL-DL", "parameters": small}]})
    done = run_here(tmp_path / "cliff", plan)
    page = study_page(done, {})
    assert "#verdict" not in page  # there is nothing to compare it with
    assert 'id="verdict"' not in page
    assert "absolute" in page
    gaps = Results(
        plan, done.histories.filter(polars.col("seed") == 0), failed=(Trial("PPL-DL", "CliffWalking-v1", 1),)
    )
    page = study_page(gaps, {})
    assert "1 failed" in page
    assert "PPL-DL on CliffWalking-v1, seed 1" in page
    assert "The best ruleset" not in page  # these results keep none


def test_names_cannot_break_the_page(results: Results) -> None:
    name = "</script><b>&\"'"
    system = {"name": name, "system": "PPL-DL"}
    plan = checked_plan({"name": name, "systems": [system], "tasks": ["FrozenLake-4-0"], "trials": 1})
    rows = results.histories.filter((polars.col("system") == "PPL-DL") & (polars.col("seed") == 0))
    rows = rows.filter(polars.col("task") == "calm")
    renamed = rows.with_columns(system=polars.lit(name), task=polars.lit("FrozenLake-4-0"))
    page = study_page(Results(plan, renamed), {})
    assert "<b>&" not in page
    assert "&lt;/script&gt;&lt;b&gt;" in page


@needs_browser
@pytest.mark.browser
def test_in_a_browser_measures_and_scales_can_be_chosen(report: Path) -> None:
    with opened(report) as page:
        assert not page.locator("#curves .m-exact svg").is_visible()
        page.locator('#verdict input[value="exact"]').check()
        assert page.locator("#curves .m-exact svg").is_visible()
        assert not page.locator("#curves .m-z svg").is_visible()
        assert page.locator('#curves input[value="exact"]').is_checked()  # one choice for the whole page
        assert page.locator("#density .s-local svg").first.is_visible()
        page.locator('#density input[value="global"]').check()
        assert page.locator("#density .s-global svg").first.is_visible()
        assert not page.locator("#density .s-local svg").first.is_visible()
        page.locator("#rules summary").first.click()
        assert page.locator("#rules table.arrows").first.is_visible()


@needs_browser
@pytest.mark.browser
def test_in_a_narrow_window_nothing_is_wider_than_the_page(report: Path) -> None:
    with opened(report, width=420) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_a_study_of_a_parameters_influence_shows_it(results: Results) -> None:
    plan = small_plan(varies="idv_size", systems=[varied(1), varied(2)])
    renamed = results.histories.filter(polars.col("system") == "PPL-DL")
    both = [renamed.with_columns(system=polars.lit(varied(n)["name"])) for n in (1, 2)]
    found = Results(plan, polars.concat(both))
    page = study_page(found, all_figures(found, lambda what: None))
    assert "Influence of idv_size" in page
    assert "<svg" in page.partition('id="influence"')[2].partition("</section>")[0]


def varied(number: int) -> dict[str, Any]:
    """Return a system whose parameter `idv_size` is a number."""
    return {"name": f"PPL-DL {number}", "system": "PPL-DL", "parameters": {"idv_size": number + 4}}
