"""How results look in notebooks: as HTML, in which every text is escaped, and a bar that shows progress."""

from __future__ import annotations

import time
from collections.abc import Iterable
from html import escape
from typing import Any, Self

from ifthen.text_table import TextTable, prose

MOST_ROWS = 60
"""At most this many rows of a table are shown."""
SECONDS = 0.2
"""The seconds between two updates of a bar."""
CELL = "text-align: {}; vertical-align: top; white-space: pre-wrap"
SIDES = {"r": "right", "l": "left"}
Part = str | TextTable


class Shown:
    """A result that people look at: at a prompt as its text, in a notebook as HTML.

    A class of results has its own `shown_parts`, or a text of its own.
    """

    def shown_parts(self) -> Iterable[Part]:
        """Return the texts and tables that it consists of."""
        return [str(self)]

    def to_text(self, width: int = 100) -> str:
        """Return all parts for a terminal of `width` characters."""
        parts = self.shown_parts()
        return "\n\n".join(
            part.to_text(width) if isinstance(part, TextTable) else prose(part, width) for part in parts
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "\n".join(
            table_html(part) if isinstance(part, TextTable) else text_html(part)
            for part in self.shown_parts()
        )


def text_html(text: str) -> str:
    """Return a text: a sentence as a paragraph, several lines as they are."""
    return f"<pre>{escape(text)}</pre>" if "\n" in text else f"<p>{escape(text)}</p>"


def table_html(table: TextTable) -> str:
    """Return a table with its title above and its notes below."""
    sides = [SIDES[letter] for letter in table.align]

    def row(tag: str, cells: Iterable[str]) -> str:
        pairs = zip(cells, sides, strict=True)
        cells_html = (f'<{tag} style="{CELL.format(side)}">{escape(cell)}</{tag}>' for cell, side in pairs)
        return f"<tr>{''.join(cells_html)}</tr>"

    head = f"<thead>{row('th', table.headings)}</thead>" if any(table.headings) else ""
    body = "\n".join(row("td", cells) for cells in table.rows[:MOST_ROWS])
    n_more = len(table.rows) - MOST_ROWS
    notes = [*table.notes, *([f"… and {n_more:,} more"] if n_more > 0 else [])]
    texts = [text_html(text) for text in (table.title, *notes) if text]
    texts_below = texts[bool(table.title) :]
    return "\n".join(
        [*texts[: bool(table.title)], f"<table>{head}<tbody>{body}</tbody></table>", *texts_below]
    )


def in_notebook() -> bool:
    """Return whether this is a notebook, which shows no bars of a terminal."""
    from rich.console import Console

    return Console().is_jupyter


class NotebookBar:
    """A bar in a notebook's output, while entered.

    Args:
        label: what is done.
        total: of how many units.
        unit: what is counted.
    """

    def __init__(self, label: str, total: int, unit: str) -> None:
        self.label, self.total, self.unit = label, total, unit
        self._shown: Any = None
        self._updated_at = 0.0
        self._last = (0, "")

    def __enter__(self) -> Self:
        from IPython.display import HTML, display  # type: ignore[import-not-found]  # notebooks have it

        self._html = HTML
        self._shown = display(HTML(self._text()), display_id=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.update(self._html(self._text()))
        self._shown = None

    def update(self, done: int, note: str) -> None:
        """Show how far it is, now and then."""
        self._last = done, note
        if self._shown is not None and time.monotonic() >= self._updated_at + SECONDS:
            self._updated_at = time.monotonic()
            self._shown.update(self._html(self._text()))

    def _text(self) -> str:
        done, note = self._last
        bar = f'<progress value="{done}" max="{self.total}"></progress>'
        return f"<p>{escape(self.label)} {bar} {done:,}/{self.total:,} {self.unit} {escape(note)}</p>"
