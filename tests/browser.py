"""A real browser for pages: Chromium, driven by Playwright; tests are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@contextmanager
def opened(path: Path, width: int = 1280) -> Iterator[Page]:
    """Open a page from disk; fail if it says anything on the console, or asks for anything else."""
    from playwright.sync_api import sync_playwright

    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: _only(path, request.url, complaints))
        page.goto(path.as_uri())
        yield page
        browser.close()
    assert complaints == []


def _only(path: Path, url: str, complaints: list[str]) -> None:
    if url.partition("#")[0] != path.as_uri():
        complaints.append(f"request: {url}")
