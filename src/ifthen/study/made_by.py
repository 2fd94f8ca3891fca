"""What a study's results were made by: versions and sources, which must not change on the way."""

from __future__ import annotations

import json
from pathlib import Path

from ifthen.errors import OutputError
from ifthen.jit import sources_hash
from ifthen.provenance import versions
from ifthen.store import write_text

MADE_BY = "made-by.json"
SOURCES = "ifthen's sources"


def ours() -> dict[str, str]:
    """Return what results depend on, besides the plan: versions, and a hash of ifthen's sources."""
    return {**versions(), SOURCES: sources_hash()}


def maker_of(folder: Path) -> dict[str, str] | None:
    """Return what a study was begun with; None where the folder does not say."""
    path = folder / MADE_BY
    try:
        maker = json.loads(path.read_bytes())
        if not isinstance(maker, dict) or not all(isinstance(value, str) for value in maker.values()):
            raise ValueError("it is not a list of versions")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise OutputError(
            f"{path} cannot be read: {problem}. It says what the folder's trials were made by: put back the "
            "file, or begin the study in another folder."
        ) from None
    return maker


def sign(folder: Path) -> None:
    """Write down what a study is made by; raise where it was begun with something else."""
    theirs, now = maker_of(folder), ours()
    if theirs is None:
        write_text(folder / MADE_BY, json.dumps(now, indent=1) + "\n")
        return
    for name in {**now, **theirs}:
        was, has = theirs.get(name, "not known"), now.get(name, "not known")
        if was != has:
            raise OutputError(
                f"{folder} holds a study begun with {name} {was}, but here it is {has}. "
                "Results must not mix: go on with what it was begun with, or run the study in another folder."
            )
