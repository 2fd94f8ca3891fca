"""A page as PDF, printed by Chromium where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 120
QUIET = (
    *("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-pdf-header-footer"),
)


def print_pdf(page: Path, pdf: Path) -> bool:
    """Print a page into a PDF; return whether that was done, which it is not where there is no Chromium.

    Args:
        page: the HTML file.
        pdf: the file to write.
    """
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        return False
    # As root, as in containers, Chromium starts only without its sandbox. The page is ours and asks nothing.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        printed = Path(folder) / "page.pdf"
        command = [
            browser,
            *QUIET,
            *root,
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
            page.resolve().as_uri(),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
        except (subprocess.SubprocessError, OSError):
            return False
        if not printed.exists():
            return False
        shutil.copyfile(printed, pdf)
    return True
