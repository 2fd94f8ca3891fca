"""Runs what we write of Structured Text, by translating it line by line into Python.

It knows the few statements that the exports use, and nothing of how they are made. REAL is computed in 32-bit
floats, and sums of whole numbers must fit their type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

KINDS: dict[str, Callable[[Any], Any]] = {
    "LREAL": float,
    "REAL": np.float32,
    "INT": int,
    "DINT": int,
    "LINT": int,
}
BITS = {"INT": 16, "DINT": 32, "LINT": 64}


def fitting(kind: str, value: Any) -> Any:
    """Return a value that is assigned to a variable, or raise where it does not fit its type."""
    if kind in BITS and not -(2 ** (BITS[kind] - 1)) <= value < 2 ** (BITS[kind] - 1):
        raise OverflowError(f"{value} is no {kind}")
    return KINDS[kind](value)


def limit(low: Any, value: Any, high: Any) -> Any:
    """Return the standard function LIMIT."""
    return min(max(low, value), high)


def function_of(text: str) -> Callable[..., int]:
    """Return the function of a file as a Python function with the same inputs."""
    plain = re.sub(r"\(\*.*?\*\)", "", text, flags=re.S)
    head, _, rest = plain.partition("VAR_INPUT")
    assert head.split() == ["FUNCTION", "IfthenAction", ":", "INT"]
    inputs, _, rest = rest.partition("END_VAR")
    kinds = dict(re.findall(r"(\w+) : (\w+);", inputs))
    names, types = list(kinds), {**kinds, "IfthenAction": "INT"}
    if rest.lstrip().startswith("VAR"):
        own, _, rest = rest.partition("END_VAR")
        types |= dict(re.findall(r"(\w+) : (\w+);", own))
    lines = [f"def action({', '.join(names)}):"]
    lines += [f"    {name} = fitting({kinds[name]!r}, {name})" for name in names]
    deep = 1
    for line in filter(None, map(str.strip, rest.partition("END_FUNCTION")[0].splitlines())):
        deep -= line.startswith(("ELSIF", "ELSE", "END_IF"))
        lines.append("    " * deep + _statement(line, types))
        deep += line.startswith(("IF", "ELSIF", "ELSE")) and not line.startswith("IfthenAction")
    assert deep == 1, text
    found: dict[str, Any] = {"fitting": fitting, "LIMIT": limit, **KINDS}
    found |= {f"{a}_TO_{b}": int for a, b in (("INT", "DINT"), ("DINT", "LINT"))}
    exec("\n".join([*lines, "    return IfthenAction"]), found)
    return found["action"]  # type: ignore[no-any-return]


def _statement(line: str, types: dict[str, str]) -> str:
    """Return one line in Python."""
    line = re.sub(r"\b(LREAL|REAL|LINT|DINT|INT)#(-?[\d.]+(?:E-?\d+)?)", r"\1(\2)", line)
    for word, python in ((" AND ", " and "), (" OR ", " or "), ("NOT (", "not ("), (" = ", " == ")):
        line = line.replace(word, python)
    line = line.replace("FALSE", "False")
    if assigned := re.fullmatch(r"(\w+) := (.*);", line):
        return f"{assigned[1]} = fitting({types[assigned[1]]!r}, {assigned[2]})"
    if asked := re.fullmatch(r"(IF|ELSIF) (.*) THEN", line):
        return f"{'if' if asked[1] == 'IF' else 'elif'} {asked[2]}:"
    return {"ELSE": "else:", "END_IF;": "pass", "RETURN;": "return IfthenAction"}[line]
