"""Draw the pictures of explain pages that the documents show: needs playwright and Chromium.

python docs/screenshot.py PAGE PICTURE            the top of the page
python docs/screenshot.py PAGE PICTURE --front    its front alone, against the number of tests
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WIDTH, NARROW, HEIGHT, TALL = 1280, 1100, 1000, 1340


def draw_top(page: Page, picture: Path) -> None:
    """Point at a cell, or go to the middle of an episode, and write what is seen."""
    height = HEIGHT
    if page.locator("#plane").count():
        height = TALL
        page.set_viewport_size({"width": WIDTH, "height": height})
        page.fill("#time", str(int(page.get_attribute("#time", "max") or 0) // 2))
        page.mouse.wheel(0, -10_000)
        page.wait_for_timeout(300)
    else:
        page.locator('[role="gridcell"]').nth(8 * 3 + 4).hover()
    page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})


def draw_front(page: Page, picture: Path) -> None:
    """Show the front against tests, without the policies far below the best, and write it."""
    page.set_viewport_size({"width": NARROW, "height": HEIGHT})
    front = page.locator("#front")
    front.locator('input[name="size"][value="tests"]').check(force=True)
    front.get_by_label("zoom to the best").check()
    front.screenshot(path=picture)


def main() -> None:
    """Open a page and write a picture of it."""
    page_file, picture = map(Path, sys.argv[1:3])
    with_front = sys.argv[3:] == ["--front"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.5 if with_front else 1
        )
        page.goto(page_file.resolve().as_uri())
        (draw_front if with_front else draw_top)(page, picture)
        browser.close()


if __name__ == "__main__":
    main()
