"""C that `ifthen export` wrote, read back as the same ruleset: line by line as Python, never compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ifthen.errors import RuleError
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.programs.exported import NOT_LISTS, flat_rules
from ifthen.rules.programs.head import WRITTEN, feature_of, known_features
from ifthen.rules.programs.python_code import functions_in, parsed

HEX = re.compile(r"0x[0-9a-f.]+p[+-]\d+")
TOKEN = re.compile(r"0x[0-9a-f.]+p[+-]\d+|\d[\d.]*(?:e[+-]?\d+)?|\w+\[\d+\]|&&|\|\||[<>=]=|[!()<>*+-]|\s+")
ENTRY = re.compile(r"(IFTHEN_\w+) = (\d+), /\* (.*) \*/")
PLACE = re.compile(r"s\[(\d+)\]: (.*)")
SIZES = re.compile(r"enum \{ IFTHEN_FEATURES = (\d{1,6}), IFTHEN_ACTIONS = (\d{1,6}) \};")
HEADER = re.compile(r"int ifthen_action\(const double (given|s)\[IFTHEN_FEATURES\]\)(;?)")
SKIPPED = re.compile(
    r"#if defined\(__clang__\)|#pragma STDC FP_CONTRACT OFF|#endif|enum \{|\};|[{}]|IFTHEN_NONE = -1|"
)
DECLARED = re.compile(r"double (?:s\[IFTHEN_FEATURES\]|t\[\d+\]);")
SET = re.compile(r"([st])\[(\d+)\] = (.*);")
REMARK = re.compile(r"/\*(.*?)\*/")
MOST_FEATURES = 100_000


def rules_in_c(text: str, features: Sequence[Feature] | None = None) -> DecisionList:
    """Return the rules of an exported C file.

    Args:
        text: the file.
        features: those of the task, where the file does not describe all of its own.
    """
    if WRITTEN not in text.split("\n", 1)[0]:
        raise RuleError(f"line 1: C is read where ifthen export wrote it; this line would say {WRITTEN!r}.")
    code = _C()
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            code.take(number, line.strip())
        except RuleError as problem:
            raise RuleError(f"line {number}: {problem}") from None
    source = "\n".join(code.lines)
    function = functions_in(parsed(source)).get("action")
    if function is None or not code.actions:
        raise RuleError("this is not a whole file as ifthen export writes it.")
    described = [
        feature_of(code.feature_lines[d]) if d in code.feature_lines else None for d in range(code.features)
    ]
    return flat_rules(function, known_features(described, code.features, features), code.actions, code.terms)


class _C:
    """Exported C line by line, each as the same line in Python."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.feature_lines: dict[int, str] = {}
        self.terms: dict[int, str] = {}
        self.enum: dict[str, int] = {}
        self.actions: list[str] = []
        self.features = 0
        self._in_head = False
        self._below_if = False

    def take(self, number: int, line: str) -> None:
        """Take in one line."""
        self.lines.append("")
        if number == 1 or self._in_head:
            self._in_head = not line.endswith("*/")
            feature_line = PLACE.fullmatch(line)
            if feature_line:
                self.feature_lines[int(feature_line[1][:6])] = feature_line[2]
            return
        entry = ENTRY.fullmatch(line)
        if entry:
            if int(entry[2]) != len(self.actions):
                raise RuleError("the actions must be numbered from 0.")
            self.enum[entry[1]] = len(self.actions)
            self.actions.append(entry[3])
            return
        remark = REMARK.search(line)
        statement = REMARK.sub("", line).strip()
        sizes, header = SIZES.fullmatch(statement), HEADER.fullmatch(statement)
        if sizes:
            self.features = int(sizes[1])
        elif header and not header[2]:
            names = ", ".join(f"{header[1]}_{d}" for d in range(min(self.features, MOST_FEATURES)))
            self.lines[-1] = f"def action({names}):"
        elif not header and not SKIPPED.fullmatch(statement):
            self._statement(number, statement, remark[1].strip() if remark else "")

    def _statement(self, number: int, line: str, remark: str) -> None:
        """Take in a statement of the function."""
        below_if, self._below_if = self._below_if, False
        assignment = SET.fullmatch(line)
        if DECLARED.fullmatch(line):
            return
        if assignment:
            self.lines[-1] = f"    {assignment[1]}_{assignment[2]} = {_in_python(assignment[3])}"
            if assignment[1] == "t":
                self.terms[number] = remark
        elif line.startswith("if (") and line.endswith(")"):
            self.lines[-1] = f"    if {_in_python(line[4:-1])}:"
            self._below_if = True
        elif line.startswith("return ") and line.endswith(";"):
            action = {"IFTHEN_NONE": None, **self.enum}.get(line[7:-1], -1)
            self.lines[-1] = f"    {'    ' if below_if else ''}return {action}"
        else:
            raise RuleError(f"{line[:60]!r} is not as ifthen exports a decision list. {NOT_LISTS}")


def _in_python(code: str) -> str:
    """Return an expression of C in Python."""
    parts = re.split(r"[?:]", code)
    if len(parts) == 5:
        low_test, low, high_test, high, value = map(_tokens, parts)
        return f"{low} if {low_test} else {high} if {high_test} else {value}"
    if len(parts) > 1:
        raise RuleError(f"{code[:60]!r} is not as ifthen exports rules.")
    return _tokens(code)


def _tokens(code: str) -> str:
    """Return an expression without ? in Python, token by token."""
    words, position = [], 0
    while position < len(code):
        match = TOKEN.match(code, position)
        if match is None:
            raise RuleError(f"{code[position : position + 40]!r} is not as ifthen exports rules.")
        token, position = match.group(), match.end()
        if HEX.fullmatch(token):
            token = _from_hex(token)
        elif "[" in token:
            token = token.replace("[", "_").rstrip("]")
        words.append({"&&": " and ", "||": " or ", "!": "not "}.get(token, token))
    return "".join(words).strip()


def _from_hex(token: str) -> str:
    """Return a hexadecimal number in decimal digits that stand for the same float."""
    try:
        return repr(float.fromhex(token))
    except (ValueError, OverflowError):
        raise RuleError(f"{token[:40]!r} is no number.") from None
