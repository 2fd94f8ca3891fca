"""Runs the tutorials, and makes notebooks of them.

    python docs/notebooks.py                 runs every tutorial; writes what its code prints and draws
    python docs/notebooks.py --out FOLDER    writes them as notebooks (.ipynb) that Jupyter opens

A tutorial is a page of docs/tutorials: prose, Python code, and behind a piece of code what it prints (a
block `text`) or draws (a picture). As in a notebook, the value of the last line is shown. A block `console`
in place of `text` is an example: another machine may get another result.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent / "tutorials"
BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"\A\s*!\[[^\]]*\]\(([^)]+\.png)\)\n?")


PRINTED = ("text", "console")


class Cell(NamedTuple):
    """A part of a tutorial: "prose", "python", or what is printed, "text" or "console"."""

    kind: str
    text: str


def tutorials() -> list[Path]:
    """Return the pages with code, without the list of them."""
    return sorted(path for path in FOLDER.glob("*.md") if path.stem != "index")


def cells(page: str) -> list[Cell]:
    """Return the parts of a page, in order; joined as `written` does they are the page again."""
    found, end = [], 0
    for block in BLOCK.finditer(page):
        found += [Cell("prose", page[end : block.start()]), Cell(block[1], block[2])]
        end = block.end()
    return [cell for cell in [*found, Cell("prose", page[end:])] if cell.text or cell.kind in PRINTED]


def written(parts: list[Cell]) -> str:
    """Return the page of these parts."""
    return "".join(
        each.text if each.kind == "prose" else f"```{each.kind}\n{each.text}```\n" for each in parts
    )


def results(page: str) -> Iterator[tuple[int, str, Any]]:
    """Run the code of a page; yield each piece's place, what it prints, and its figure or None."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells(page)):
        if cell.kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                value = run(cell.text, names)
            figure = value if hasattr(value, "savefig") else None
            shown = "" if value is None or figure is not None else f"{value}\n"
            yield number, printed.getvalue() + shown, figure


def run(code: str, names: dict[str, Any]) -> Any:
    """Run a piece of code and return the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<tutorial>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<tutorial>", "eval"), names) if last else None


def agrees(said: str, printed: str) -> bool:
    """Return whether a page's block `text` is what was printed, but for spaces at the ends of lines."""
    return plain(said) == plain(printed)


def plain(text: str) -> str:
    """Return a text without spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def rewrite(path: Path) -> None:
    """Run a tutorial and write what its code prints and draws."""
    parts = cells(path.read_text())
    for number, printed, figure in reversed(list(results(path.read_text()))):
        after = parts[number + 1] if number + 1 < len(parts) else Cell("prose", "")
        if printed:
            kind, replaced = (after.kind, 1) if after.kind in PRINTED else ("text", 0)
            parts[number + 1 : number + 1 + replaced] = [Cell(kind, plain(printed) + "\n")]
        rest = "".join(each.text for each in parts[number + 1 :] if each.kind == "prose")
        picture = PICTURE.match(rest)
        if figure is not None and picture is not None:
            target = path.parent / picture[1]
            target.parent.mkdir(exist_ok=True)
            figure.savefig(target, dpi=110, metadata={"Software": None})
    path.write_text(written(parts))


def notebook(path: Path) -> str:
    """Return a tutorial as a notebook, with what its code prints and draws."""
    made: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(cells(path.read_text())):
        if kind == "python":
            made.append(code_cell(text))
        elif kind in PRINTED and made and made[-1]["cell_type"] == "code":
            made[-1]["outputs"].append({"output_type": "stream", "name": "stdout", "text": lines(text)})
        else:
            picture = PICTURE.match(text)
            if picture is not None and made and made[-1]["cell_type"] == "code":
                made[-1]["outputs"].append(drawing(path.parent / picture[1]))
            rest = text[picture.end() :] if picture is not None else text
            if rest.strip():
                made.append({"cell_type": "markdown", "metadata": {}, "source": lines(rest.strip())})
        made[-1]["id"] = f"cell-{number}"
    python = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": made, "metadata": python, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def code_cell(text: str) -> dict[str, Any]:
    """Return a cell of code that has printed nothing yet."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": lines(text.rstrip("\n")),
    }


def drawing(path: Path) -> dict[str, Any]:
    """Return a picture as an output of a cell."""
    data = {"image/png": base64.b64encode(path.read_bytes()).decode(), "text/plain": ["<Figure>"]}
    return {"output_type": "display_data", "metadata": {}, "data": data}


def lines(text: str) -> list[str]:
    """Return a text as notebooks keep it."""
    return text.splitlines(keepends=True)


def main() -> None:
    """Run the tutorials, or write them as notebooks."""
    if sys.argv[1:2] == ["--out"]:
        folder = Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        for path in tutorials():
            (folder / f"{path.stem}.ipynb").write_text(notebook(path))
        return
    with tempfile.TemporaryDirectory() as elsewhere:
        os.chdir(elsewhere)  # tutorials write files
        for path in tutorials():
            print(path.name, flush=True)
            rewrite(path)


if __name__ == "__main__":
    main()
