"""A table of texts that can be printed, and written as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

LATEX = {"\\": r"\textbackslash{}", "±": r"$\pm$", "−": "$-$", "<": "$<$", ">": "$>$", "=": "$=$"}
LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {symbol: "\\" + symbol for symbol in "&%$#_{}"}


WORDS = ("task", "system", "against")
"""Headings of columns that hold names; the others hold numbers."""


@dataclass(frozen=True)
class Grid:
    """A table.

    Args:
        title: what it shows, in a line.
        headings: one per column.
        rows: of as many texts as there are headings.
        notes: sentences below it.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def to_rich(self) -> Table:
        """Return it for a terminal."""
        table = Table(title=Text(self.title), title_justify="left", caption=Text("\n".join(self.notes)))
        table.caption_justify = "left"
        for heading in self.headings:
            words = heading in WORDS
            table.add_column(heading, justify="left" if words else "right", no_wrap=words, overflow="fold")
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def to_csv(self) -> str:
        """Return it as CSV, without title and notes."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([self.headings, *self.rows])
        return buffer.getvalue()

    def to_markdown(self) -> str:
        """Return it as Markdown."""
        lines = [_markdown_row(self.headings), "|---" * len(self.headings) + "|"]
        lines += [_markdown_row(row) for row in self.rows]
        return "\n\n".join([f"**{self.title}**", "\n".join(lines), *self.notes]) + "\n"

    def to_latex(self) -> str:
        """Return it as a LaTeX table for the package booktabs."""
        columns = "".join("l" if heading in WORDS else "r" for heading in self.headings)
        body = [r" & ".join(map(_latex, row)) + r" \\" for row in self.rows]
        lines = [r"\begin{table}", rf"\caption{{{_latex(self.title)}}}", rf"\begin{{tabular}}{{{columns}}}"]
        lines += [r"\toprule", r" & ".join(map(_latex, self.headings)) + r" \\", r"\midrule", *body]
        notes = [rf"\par\footnotesize {_latex(note)}" for note in self.notes]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *notes, r"\end{table}"]) + "\n"


def _markdown_row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _latex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)
