"""Draw the picture of the explain page that the documents show: needs playwright and Chromium.

python docs/screenshot.py runs/demo-explained/explain.html docs/images/explain-page.png
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1280, 1000


def main() -> None:
    """Open a page, point at a cell, and write what is seen."""
    page_file, picture = map(Path, sys.argv[1:])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(page_file.resolve().as_uri())
        page.locator('[role="gridcell"]').nth(8 * 3 + 4).hover()
        page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT})
        browser.close()


if __name__ == "__main__":
    main()
