"""Tables of texts: on a terminal of any width, as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from ifthen.digits import ALL_EQUAL

if TYPE_CHECKING:
    import polars

GAP = "  "
PROSE = 24
"""Columns of words that are wider than this may be folded."""
NUMBER = re.compile(rf"[-−+<>=~( ]*[\d–]|[<>=]$|{ALL_EQUAL}$")
TERMS = re.compile(r" (?=AND |THEN )|(?<=,) (?![^\[]*\])")  # a comma inside an interval ends no term
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "<": r"$<$",
    ">": r"$>$",
    "±": r"$\pm$",
    "…": r"\ldots{}",
    "−": "$-$",
    "–": "--",
}

Rows = Sequence[Sequence[str]]
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that can have a terminal do things; line breaks and tabs are harmless."""
FORMULA = re.compile(r"'*(?:[=@\t\r]|[-+](?![\d\s.,±%()eE+–-]*$))")
"""What a spreadsheet would take for a formula, or what is marked as one; numbers with a sign stay numbers."""
MARK = "'"
"""What stands before such a text in CSV, for spreadsheets to take it as it is."""


def harmless(text: str) -> str:
    """Return a text for a terminal, with characters that would control it spelled out."""
    return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def csv_cell(text: str) -> str:
    """Return a text as it stands in CSV: what a spreadsheet would take for a formula is marked."""
    return MARK + text if FORMULA.match(text) else text


def csv_text(cell: str) -> str:
    """Return the text that `csv_cell` made a cell of."""
    return cell[1:] if cell.startswith(MARK) and FORMULA.match(cell[1:]) else cell


def csv_of(table: polars.DataFrame) -> str:
    """Return a data frame as CSV that a spreadsheet can open, whatever names there are in it."""
    import polars

    texts = polars.col(polars.String).map_elements(csv_cell, return_dtype=polars.String)
    return table.with_columns(texts).rename(csv_cell).write_csv()


@dataclass(frozen=True)
class TextTable:
    """A table of texts with a title, a heading per column, and sentences below it."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def align(self) -> str:
        """One letter per column: r for numbers, l for words."""
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.headings)
        return "".join("r" if _are_numbers(column) else "l" for column in columns)

    def without_empty(self, empty: Iterable[str]) -> TextTable:
        """Return the table without the columns in which every cell is one of the texts in `empty`."""
        cells = [{row[i] for row in self.rows} for i in range(len(self.headings))]
        column_numbers = [i for i, texts in enumerate(cells) if not texts <= set(empty)]
        rows = tuple(tuple(row[i] for i in column_numbers) for row in self.rows)
        return TextTable(self.title, tuple(self.headings[i] for i in column_numbers), rows, self.notes)

    def to_text(self, width: int = 80) -> str:
        """Return the table in lines of at most `width` characters, where its longest words allow that.

        Headings are folded between words. Columns that do not fit stand below the others.
        """
        blocks = []
        for columns in self._column_groups(width):
            align = "".join(self.align[i] for i in columns)
            rows = [[row[i] for i in columns] for row in (self.headings, *self.rows)]
            head, *body = fitting_rows(rows, align, width)
            widest = max(len(line) for block in (head, *body) for line in block.splitlines() or [""])
            blocks.append("\n".join([head, "─" * widest, *body]))
        sentences = [prose(text, width) for text in (self.title, *self.notes)]
        return "\n".join([*sentences[: bool(self.title)], "\n\n".join(blocks), *sentences[1:]])

    def _column_groups(self, width: int) -> list[list[int]]:
        """Return the numbers of the columns that stand side by side, each part with the leading names."""
        longest_words = [
            max((len(longest_word) for row in self.rows for longest_word in row[i].split()), default=0)
            for i in range(len(self.headings))
        ]
        smallest_widths = least_widths([self.headings, *self.rows])
        smallest_widths = [
            min(column_width, max(PROSE, longest_word)) if side == "l" else column_width
            for column_width, longest_word, side in zip(
                smallest_widths, longest_words, self.align, strict=True
            )
        ]
        n_names = len(self.align) - len(self.align.lstrip("l"))
        n_free = width - sum(smallest_widths[:n_names]) - len(GAP) * n_names
        groups: list[list[int]] = [[]]
        for i in range(n_names, len(smallest_widths)):
            n_used = sum(smallest_widths[j] + len(GAP) for j in groups[-1]) + smallest_widths[i]
            if groups[-1] and n_used > n_free:
                groups.append([])
            groups[-1].append(i)
        return [[*range(n_names), *group] for group in groups]

    def to_csv(self) -> str:
        """Return the table as CSV, without title and notes."""
        buffer = io.StringIO()
        rows = [[csv_cell(cell) for cell in row] for row in (self.headings, *self.rows)]
        csv.writer(buffer, lineterminator="\n").writerows(rows)
        return buffer.getvalue()

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        table = markdown_table(self.headings, self.rows, self.align)
        return "\n\n".join([f"**{self.title}**", table, *self.notes]) + "\n"

    def to_latex(self) -> str:
        """Return the table as a LaTeX table for the package booktabs."""
        rows = [[latex_text(cell) for cell in row] for row in self.rows]
        body = latex_table([latex_text(heading) for heading in self.headings], rows, self.align)
        notes = [rf"\par\footnotesize {latex_text(note)}" for note in self.notes]
        head = [r"\begin{table}", rf"\caption{{{latex_text(self.title)}}}"]
        return "\n".join([*head, body, *notes, r"\end{table}"]) + "\n"


def _are_numbers(cells: Sequence[str]) -> bool:
    """Return whether most of the cells of a column are numbers."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and 2 * sum(NUMBER.match(cell) is not None for cell in filled) > len(filled)


def folded(text: str, width: int) -> list[str]:
    """Return a text in lines of at most `width` characters.

    It is broken before AND or THEN and after a comma between terms; else between words; else anywhere.
    """
    if len(text) <= width:
        return [text]
    lines: list[str] = []
    for term in TERMS.split(text):
        if lines and len(lines[-1]) + 1 + len(term) <= width:
            lines[-1] += f" {term}"
        else:
            lines += textwrap.wrap(term, max(1, width), break_on_hyphens=False) or [""]
    return lines


def wrapped(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Return a text in lines that fit, as far as its words allow."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and fits(longer):
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def prose(text: str, width: int) -> str:
    """Return sentences in lines of at most `width` characters; their own line breaks are kept."""
    return "\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in text.splitlines())


def fitting_rows(rows: Rows, align: str, width: int) -> list[str]:
    """Return rows in columns, each as one or more lines, none of them longer than `width`.

    Cells that are too wide are folded: headers first, then the widest columns.

    Args:
        rows: the cells; the first row holds the headers.
        align: "l" or "r" for each column.
        width: of the terminal, in characters; a column takes 3 at least.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    smallest_widths = least_widths(rows)
    while sum(widths) + len(GAP) * (len(widths) - 1) > width and max(widths) > 1:
        spare = [
            column_width - smallest for column_width, smallest in zip(widths, smallest_widths, strict=True)
        ]
        shrinkable = spare if max(spare) > 0 else widths
        widths[shrinkable.index(max(shrinkable))] -= 1
    blocks = [
        [folded(cell, column_width) for cell, column_width in zip(row, widths, strict=True)] for row in rows
    ]
    widths = [max(len(line) for cell in column for line in cell) for column in zip(*blocks, strict=True)]
    return [
        "\n".join(_line(cells, widths, align) for cells in zip_longest(*block, fillvalue=""))
        for block in blocks
    ]


def least_widths(rows: Rows) -> list[int]:
    """Return the width of each column when only its header, in the first row, is folded between words."""
    return [
        max([len(word) for word in header.split()] + [len(cell) for cell in cells] + [0])
        for header, *cells in zip(*rows, strict=True)
    ]


def _line(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded = (
        cell.rjust(width) if side == "r" else cell.ljust(width)
        for cell, width, side in zip(cells, widths, align, strict=True)
    )
    return GAP.join(padded).rstrip()


def markdown_table(headers: Sequence[str], rows: Rows, align: str) -> str:
    """Return rows as a Markdown table; columns with "r" in `align` are aligned to the right."""
    rule = "|" + "|".join("--:" if side == "r" else ":--" for side in align) + "|"
    body = ["| " + " | ".join(map(_markdown_cell, row)) + " |" for row in [headers, *rows]]
    return "\n".join([body[0], rule, *body[1:]])


def _markdown_cell(text: str) -> str:
    """Return text that stays in its cell, with all marks of Markdown and HTML escaped."""
    escaped = re.sub(r"([\\`*_{}\[\]|~])", r"\\\1", " ".join(text.splitlines()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def latex_table(headers: Sequence[str], rows: Rows, align: str) -> str:
    """Return rows, which must be LaTeX already, as a `tabular` in the style of the package booktabs.

    Args:
        headers: one per column.
        rows: the cells.
        align: the columns as `tabular` takes them, such as "rll".
    """
    lines = [" & ".join(row) + r" \\" for row in [headers, *rows]]
    head = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*head, *lines[1:], r"\bottomrule", r"\end{tabular}"])


def latex_text(text: str) -> str:
    """Return text with every character escaped that means something to LaTeX."""
    return "".join(LATEX.get(sign, sign if sign.isprintable() else " ") for sign in text)
