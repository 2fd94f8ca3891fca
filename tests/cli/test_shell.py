from __future__ import annotations

import os
import subprocess
import sys

from ifthen import __version__


def test_the_package_is_the_command() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "ifthen", "--version"], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == f"ifthen {__version__}"


def test_shells_complete_commands_and_options() -> None:
    def offered(words: str) -> list[str]:
        asked = {"_IFTHEN_COMPLETE": "complete_bash"}
        place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        code = "import sys; sys.argv[0] = 'ifthen'; from ifthen.cli import run; run()"
        said = subprocess.run(
            [sys.executable, "-c", code],
            check=False,
            env={**os.environ, **asked, **place},
            capture_output=True,
            text=True,
        )
        return said.stdout.split()

    assert offered("ifthen ex") == ["explain", "export"]
    assert offered("ifthen explain --comp") == ["--compare"]
