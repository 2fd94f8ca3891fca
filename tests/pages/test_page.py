"""The report: one file, no network, and a real browser shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ifthen import PPLDL, PPLST, System, frozen_lake
from ifthen.pages.report import report_page
from ifthen.runs.report import learning_curve
from tests.tables import table_named

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def page_of(system: System) -> str:
    return report_page(system, system.ruleset, learning_curve(system), "ifthen train <somewhere>")


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(PPLST(frozen_lake(4, 0.1), idv_size=5, pop_size=20).learn(epochs=10))


def test_the_report_holds_rules_numbers_and_provenance(page: str) -> None:
    assert len(re.findall(" THEN |ALWAYS |OTHERWISE ", page)) == 5
    assert page.count("<svg") == 2
    for part in (
        "of the optimum, exact",
        "ifthen train &lt;somewhere&gt;",
        "num_reinf_rollouts = 10",
        "numpy",
    ):
        assert part in page


def test_the_report_loads_nothing_from_anywhere(page: str) -> None:
    without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert not re.search(r'(src|href)\s*=\s*"(?!#)', without_names)
    assert "<script" not in page
    assert "@import" not in page


def test_the_report_of_a_task_without_grid_and_of_a_failing_policy_can_be_made() -> None:
    page = page_of(PPLDL(table_named("Taxi-v4"), idv_size=1, pop_size=2, p_mut=0.0).learn(epochs=1))
    assert page.count("<svg") == 1
    assert "no matching rule" in page


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_shows_the_report_without_errors(page: str, tmp_path: Path) -> None:
    assert CHROMIUM is not None
    (tmp_path / "report.html").write_text(page)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    flags += ["--enable-logging=stderr", "--window-size=1200,1600"]
    command = [CHROMIUM, *flags, f"--user-data-dir={tmp_path / 'profile'}"]
    where = (tmp_path / "report.html").as_uri()
    show = [*command, "--dump-dom", where]
    shown = subprocess.run(show, check=True, capture_output=True, text=True, timeout=120)
    assert len(re.findall(" THEN |ALWAYS |OTHERWISE ", shown.stdout)) == 5
    assert "CONSOLE" not in shown.stderr
    picture = tmp_path / "report.png"
    subprocess.run([*command, f"--screenshot={picture}", where], check=True, capture_output=True, timeout=120)
    assert picture.stat().st_size > 20_000
