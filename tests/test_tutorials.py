"""The tutorials run, print what they show, and become notebooks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from ifthen.systems.registry import SYSTEMS

ROOT = Path(__file__).parents[1]
SPEC = util.spec_from_file_location("docs_notebooks", ROOT / "docs" / "notebooks.py")
assert SPEC is not None
assert SPEC.loader is not None
notebooks: Any = util.module_from_spec(SPEC)
sys.modules["docs_notebooks"] = notebooks
SPEC.loader.exec_module(notebooks)
NAMES = [path.stem for path in notebooks.tutorials()]


@pytest.fixture
def known_systems() -> Iterator[None]:
    """Forget the system that a tutorial adds."""
    before = dict(SYSTEMS)
    yield
    SYSTEMS.clear()
    SYSTEMS.update(before)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("known_systems")
def test_a_tutorial_prints_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (notebooks.FOLDER / f"{name}.md").read_text()
    parts = notebooks.cells(page)
    assert notebooks.written(parts) == page
    for number, printed, figure in notebooks.results(page):
        after = parts[number + 1]
        assert not printed or after.kind in notebooks.PRINTED, printed
        assert after.kind != "text" or notebooks.agrees(after.text, printed), printed
        assert figure is None or any("![" in each.text for each in parts[number + 1 : number + 3])


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_the_code_and_the_outputs_of_its_page(name: str) -> None:
    path = notebooks.FOLDER / f"{name}.md"
    text = notebooks.notebook(path)
    cells = json.loads(text)["cells"]
    code = ["".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code"]
    assert code == [cell.text for cell in notebooks.cells(path.read_text()) if cell.kind == "python"]
    shown = [output for cell in cells for output in cell.get("outputs", [])]
    assert len(shown) >= len(code) // 2
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert len(text) < 120_000
