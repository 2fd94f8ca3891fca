"""The documentation site builds without warnings, and its pages ask for nothing outside it."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import CHROMIUM

ROOT = Path(__file__).parents[1]
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
"""Elements that make a browser load something, with the attribute that says what."""
SEARCHED = {
    "microcontroller": "#deploy-it-on-a-microcontroller",
    "hyperparameters": "#tune-hyperparameters",
    "CI": "#check-a-policy-in-ci",
    "scikit-learn": "#read-a-scikit-learn-decision-tree",
    "maximum number of rules": "#set-a-maximum-number-of-rules",
    "own environment": "#train-on-my-own-environment",
    "rename features": "#rename-features-and-add-units",
    "robust": "#make-it-robust",
    "same results": "#get-the-same-results-twice",
    "learning curves": "#plot-learning-curves",
    "deploy python": "#deploy-it-in-a-python-program",
    "if else policy": "#read-an-ifelse-policy",
}
"""What people search for, and the how-to that they should find first."""
HOOKS = runpy.run_path(str(ROOT / "docs" / "hooks.py"))


class Sources(HTMLParser):
    """Collects what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in LOADED and given.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(given.get(LOADED[tag]) or "")


def sources(page: Path) -> list[str]:
    """Return what a page loads."""
    reader = Sources()
    reader.feed(page.read_text())
    return [source for source in reader.found if source and not source.startswith("data:")]


def test_the_site_builds_and_needs_no_network(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    built = subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = sorted(site.glob("**/*.html"))
    assert len(pages) > 40
    for page in pages:
        for source in sources(page):
            assert not urlsplit(source).netloc, f"{page.name} loads {source}"
            if not source.startswith(("/", "about:")):  # 404.html has links from the root
                assert (page.parent / unquote(urlsplit(source).path)).exists(), f"{page.name}: {source}"
    for sheet in site.glob("**/*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text()), sheet.name
    if CHROMIUM is not None:
        look_at(site)


def look_at(site: Path) -> None:
    """Open the front page from disk: the policy's page is alive, the search finds, and all is on disk."""
    from playwright.sync_api import sync_playwright

    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for width in (1280, 390):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.on("console", lambda message: complaints.append(f"console: {message.text}"))
            page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
            page.on(
                "request",
                lambda request: (
                    complaints.append(request.url)
                    if "://" in request.url and not request.url.startswith("file:")
                    else None
                ),
            )
            page.goto((site / "index.html").as_uri())
            page.locator("iframe.alive").scroll_into_view_if_needed()
            policy = page.frame_locator("iframe.alive")
            assert "MountainCar" in policy.locator("h1").inner_text()
            colours = policy.locator('input[name="colours"][value="rule"]')
            colours.check(force=True)
            assert colours.is_checked()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            if width > 1000:
                for words in SEARCHED:
                    page.click(".md-search__input")
                    page.fill(".md-search__input", "")
                    page.keyboard.type(words)
                    first = page.locator(f".md-search-result__item a[href*='{SEARCHED[words]}']").first
                    first.wait_for(timeout=20_000)
                    shown = page.locator(".md-search-result__item").first.locator("a").first
                    assert "howto.html" in (shown.get_attribute("href") or ""), words
        browser.close()
    assert complaints == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Some text:\n- one\n- two\n", "Some text:\n\n- one\n- two\n"),
        ("Text\n| a |\n|---|\n| b |\n", "Text\n\n| a |\n|---|\n| b |\n"),
        ("1. one\n   - inside\n", "1. one\n    - inside\n"),
        ("- one\n  goes on\n- two\n", "- one\n  goes on\n- two\n"),
        ("```sh\nls\n- x\n```\n", "```sh\nls\n- x\n```\n"),
    ],
)
def test_lists_and_tables_are_parted_from_the_text_before(written: str, shown: str) -> None:
    assert HOOKS["with_blank_lines"](written) == shown


@pytest.mark.parametrize(
    ("source", "written", "shown"),
    [
        ("guide.md", "[a](pplx.md#why)", "[a](pplx.md#why)"),
        ("guide.md", "[a](../CHANGELOG.md)", "[a](CHANGELOG.md)"),
        ("tutorials/system.md", "[a](../../CONTRIBUTING.md#habits)", "[a](../CONTRIBUTING.md#habits)"),
        ("guide.md", "[a](../examples/tensorboard.py)", "[a](files/examples/tensorboard.py)"),
        ("guide.md", "see [`results`](../results).", "see `results`."),
        ("CONTRIBUTING.md", "[a](docs/glossary.md)", "[a](glossary.md)"),
        ("faq.md", "[a](https://example.org/x)", "[a](https://example.org/x)"),
    ],
)
def test_links_lead_where_files_lie_in_the_site(source: str, written: str, shown: str) -> None:
    assert HOOKS["with_links"](written, source) == shown
