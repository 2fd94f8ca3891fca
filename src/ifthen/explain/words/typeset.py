"""Tables for people: plain text for a terminal, Markdown and LaTeX, from the same headers and cells."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from ifthen.rules.features import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet

GAP = "  "
TERMS = re.compile(r" (?=AND |THEN )|(?<=,) (?![^\[]*\])")  # no comma in an interval parts terms
LATEX_SPECIAL = {
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


def percent(share: float) -> str:
    """Return a share in whole per cent; none is 0% or 100% unless it is exactly."""
    if 0 < share <= 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def wrapped(condition: str, width: int) -> list[str]:
    """Return a condition in lines of at most `width` characters, broken before an AND where it can be."""
    first, *rest = condition.split(" AND ")
    lines = [first]
    for term in rest:
        if len(lines[-1]) + len(" AND ") + len(term) <= width:
            lines[-1] += f" AND {term}"
        else:
            lines.append(f"   AND {term}")
    return lines


def text_rows(rows: Rows, align: str, width: int, flexible: int) -> list[str]:
    """Return rows in columns, each as one or more lines that fit into `width` where they can.

    Args:
        rows: the cells, headers included.
        align: "l" or "r" for each column.
        width: of the terminal, in characters.
        flexible: the number of the column that is wrapped; it holds conditions.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    rest = sum(widths) - widths[flexible] + len(GAP) * (len(widths) - 1)
    conditions = [wrapped(row[flexible], max(1, width - rest)) for row in rows]
    widths[flexible] = max(len(line) for lines in conditions for line in lines)
    blocks = []
    for row, lines in zip(rows, conditions, strict=True):
        later = [["" if c != flexible else line for c in range(len(row))] for line in lines[1:]]
        first = [cell if c != flexible else lines[0] for c, cell in enumerate(row)]
        blocks.append("\n".join(_line(cells, widths, align) for cells in [first, *later]))
    return blocks


def folded(text: str, width: int) -> list[str]:
    """Return a text in lines of at most `width` characters, broken where it hurts least.

    That is before AND or THEN and after a comma between terms; else between words; else anywhere.
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


def prose(text: str, width: int) -> str:
    """Return sentences in lines of at most `width` characters; lines that they have already are kept."""
    return "\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in text.splitlines())


def fitting_rows(rows: Rows, align: str, width: int) -> list[str]:
    """Return rows in columns, each as one or more lines, none of them longer than `width`.

    What is too wide is folded: headers first, then the widest columns.

    Args:
        rows: the cells; the first row holds the headers.
        align: "l" or "r" for each column.
        width: of the terminal, in characters; a column takes 3 at least.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    least = least_widths(rows)
    while sum(widths) + len(GAP) * (len(widths) - 1) > width and max(widths) > 1:
        spare = [wide - narrow for wide, narrow in zip(widths, least, strict=True)]
        loose = spare if max(spare) > 0 else widths
        widths[loose.index(max(loose))] -= 1
    blocks = [[folded(cell, wide) for cell, wide in zip(row, widths, strict=True)] for row in rows]
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
    """Return rows as a Markdown table; numbers are aligned to the right where `align` says "r"."""
    rule = "|" + "|".join("--:" if side == "r" else ":--" for side in align) + "|"
    body = ["| " + " | ".join(map(_markdown_cell, row)) + " |" for row in [headers, *rows]]
    return "\n".join([body[0], rule, *body[1:]])


def _markdown_cell(text: str) -> str:
    """Return text that stays in its cell and is not taken for marks of Markdown or HTML."""
    plain = re.sub(r"([\\`*_{}\[\]|~])", r"\\\1", " ".join(text.splitlines()))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
    """Return text with all that means something to LaTeX escaped."""
    return "".join(LATEX_SPECIAL.get(sign, sign if sign.isprintable() else " ") for sign in text)


def latex_measure(text: str) -> str:
    """Return numbers in words, such as "-0.5 ± 0.1", for LaTeX, each minus as a sign and no hyphen."""
    return latex_text(re.sub(r"-(?=\d)", "−", text))


def latex_condition(ruleset: RuleSet, rule: int) -> str:
    r"""Return the condition of a rule, such as `$x \le 3$ and $y \in [2, 5]$`; "" where it always matches."""
    intervals = zip(ruleset.features, ruleset.bounds[rule].tolist(), strict=True)
    terms = (latex_interval(feature, low, high) for feature, (low, high) in intervals)
    return " and ".join(filter(None, terms))


def latex_interval(feature: Feature, low: float, high: float) -> str:
    """Return one interval as mathematics with its unit; "" where it leaves nothing out."""
    if not feature.interval_in_words(low, high):
        return ""
    unit = rf"\,{latex_text(feature.unit)}" if feature.unit else ""
    least, most = latex_number(low), latex_number(high)
    if feature.is_one_value(low, high):
        relation = f"= {least}"
    elif low <= feature.low:
        relation = rf"\le {most}"
    elif high >= feature.high:
        relation = rf"\ge {least}"
    else:
        relation = rf"\in [{least}, {most}]"
    return f"${latex_name(feature.name)} {relation}${unit}"


def latex_name(name: str) -> str:
    """Return a feature's name for mathematics: one letter as it is, more as upright text."""
    return name if len(name) == 1 and name.isascii() and name.isalpha() else rf"\text{{{latex_text(name)}}}"


def latex_number(value: float) -> str:
    """Return a number for mathematics; 1e-07 as a power of ten."""
    mantissa, _, exponent = number_in_words(value).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
