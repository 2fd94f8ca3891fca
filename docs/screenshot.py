"""Draw the pictures of explain pages that the documents show: needs playwright and Chromium.

python docs/screenshot.py runs/demo-explained/explain.html docs/images/explain-page.png
python docs/screenshot.py runs/pole-explained/explain.html docs/images/explain-environment.png
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT, TALL = 1280, 1000, 1340


def main() -> None:
    """Open a page, point at a cell or go to the middle of an episode, and write what is seen."""
    page_file, picture = map(Path, sys.argv[1:])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        height = TALL if 'id="plane"' in page_file.read_text(encoding="utf-8") else HEIGHT
        page = browser.new_page(viewport={"width": WIDTH, "height": height})
        page.goto(page_file.resolve().as_uri())
        if page.locator("#plane").count():
            page.fill("#time", str(int(page.get_attribute("#time", "max") or 0) // 2))
            page.mouse.wheel(0, -10_000)
            page.wait_for_timeout(300)
        else:
            page.locator('[role="gridcell"]').nth(8 * 3 + 4).hover()
        page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()


if __name__ == "__main__":
    main()
