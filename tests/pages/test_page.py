"""The report: one file, no network, and a real browser shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ifthen import PPLDL, PPLST, System, env_task, frozen_lake, prune
from ifthen.digits import mean_in_words
from ifthen.explanation.pictures.write_pictures import policy_picture
from ifthen.pages.report_page import report_page
from ifthen.runs.run_report import learning_curve
from ifthen.simulate.evaluate import evaluations
from tests.browser import needs_browser, opened
from tests.tables import table_named

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def page_of(system: System) -> str:
    found = evaluations(system)
    curve, picture = learning_curve(system, found), policy_picture(system.ruleset, system.task)
    return report_page(system, None, found, found, curve, picture, "ifthen train <somewhere>", "explain.html")


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
    assert not re.search(r'(src|href)\s*=\s*"(?!#|explain.html")', without_names)
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


@needs_browser
def test_on_a_phone_no_table_of_an_environment_is_cut_and_the_rules_have_room(tmp_path: Path) -> None:
    system = PPLDL(env_task("Acrobot-v1", episodes=5), pop_size=20, threads=1).learn(epochs=2)
    pruned, before = prune(system, steps=0, threads=1), evaluations(system)
    found, curve = evaluations(pruned.ruleset, system.task), learning_curve(system, before)
    text = report_page(system, pruned, found, before, curve, None, "ifthen train", "explain.html")
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    with opened(tmp_path / "report.html", 390) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        wide = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
        assert max(page.evaluate(wide)) <= 0
        assert page.locator("td.rule").first.bounding_box()["width"] >= 180  # type: ignore[index]
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_means_are_written_with_their_intervals() -> None:
    assert mean_in_words(496.3, (491.25, 500.0)) == "496.3 (95 % interval 491.2 to 500)"
    assert mean_in_words(500.0, (500.0, 500.0)) == "500, as in every episode"
    assert mean_in_words(0.25, None) == "0.2500"
