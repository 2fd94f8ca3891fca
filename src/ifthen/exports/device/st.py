"""A policy as Structured Text (IEC 61131-3), for logic controllers (PLC): a function and its unit tests.

Numbers are LREAL, REAL, INT or DINT. Sums of INT are added up in DINT, sums of DINT in LINT. Constants have
their type in front, so that no compiler compares in other numbers. Names differ also where capitals do not
count. Beside what is written here only LIMIT and the conversions of whole numbers are used.
"""

from __future__ import annotations

import re

from ifthen.errors import RuleError
from ifthen.exports.device.c import labels_in_words
from ifthen.exports.device.deviation import deviation_of, head_of
from ifthen.exports.device.language import DeviceLanguage
from ifthen.exports.device.numbers import Code, Device, device_of
from ifthen.exports.device.vectors import Vector
from ifthen.exports.parts import (
    ascii_line,
    ascii_text,
    decision_list,
    identifiers,
    ranges_in_words,
    rendered,
)
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.task import Task

TYPES = {"float64": "LREAL", "float32": "REAL", "int16": "INT", "int32": "DINT"}
WIDE = {"int16": "DINT", "int32": "LINT"}
WORDS = """
abs acos action add and any array asin at atan begin bool by byte case concat configuration constant cos
count ctd ctu ctud date date_and_time delete dint div do dt dword else elsif en end end_case end_for
end_function end_if end_program end_repeat end_type end_var end_while eno eq exit exp expt external f_edge
failed false find for from function function_block ge global goto gt if ifthenaction ifthentest in initial
input insert int ld le left len limit lint ln log lreal lt lword max method mid min mod move mul mux ne not
of on or passed pointer private program public r r_edge read_only real ref reference rem repeat replace
resource retain return right rol ror rs s shl shr sin sint sqrt sr st step string struct sub tan task then
time time_of_day to tod tof ton tp transition true trunc type udint uint ulint until usint var var_in_out
var_input var_output while with word write wstring xor
"""


class StructuredText(DeviceLanguage):
    """Structured Text, with one input for each feature."""

    conjunction, disjunction, never = " AND ", " OR ", "FALSE"
    equal = "({value} = {low})"
    between = "({value} >= {low}) AND ({value} <= {high})"

    def code(self, code: Code, wide: bool = False) -> str:
        """Return a constant with its type."""
        kind = TYPES[self.device.numbers]
        if self.device.counts_steps:
            return f"{WIDE[self.device.numbers] if wide else kind}#{code}"
        number, _, power = repr(float(code)).partition("e")
        point = "" if "." in number else ".0"
        return f"{kind}#{number}{point}" + (f"E{int(power)}" if power else "")

    def clip(self, value: str, low: str, high: str) -> str:
        """Return a call of the standard function."""
        return f"LIMIT({low}, {value}, {high})"

    def widened(self, value: str) -> str:
        """Return a value of an input as a wider whole number."""
        kind = TYPES[self.device.numbers]
        return f"{kind}_TO_{WIDE[self.device.numbers]}({value})" if self.device.counts_steps else value

    def test(self, d: int, low: float | None, high: float | None) -> str:
        """Return the test in parentheses."""
        test = super().test(d, low, high)
        return test if test.startswith("(") or test == self.never else f"({test})"

    def chain(self) -> list[str]:
        """Return the rules as one IF with its ELSIFs, up to the first that always matches."""
        lines: list[str] = []
        for r, action in enumerate(self.ruleset.actions.tolist()):
            name = ascii_line(self.ruleset.action_names[action])
            assignment = f"IfthenAction := {action}; (* {name} *)"
            comment = f"(* {r + 1}. {ascii_line(self.ruleset.rule_in_words(r))} *)"
            condition = self.condition(r)
            if not condition:
                lines += [comment, "ELSE", f"    {assignment}", "END_IF;"] if r else [comment, assignment]
                return lines
            lines += [comment, f"{'ELSIF' if r else 'IF'} {condition} THEN", f"    {assignment}"]
        return [*lines, "END_IF;"]


def to_st(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return a function in LREAL."""
    rules, exact = decision_list(ruleset, task)
    device = device_of(rules, "float64")
    return _function(rules, device, head_of(ruleset, task, exact, deviation_of(rules, device)))


def to_device_st(
    ruleset: RuleSet, device: Device, about: list[str], vectors: list[Vector], name: str
) -> dict[str, str]:
    """Return the texts of a function and of a program that tests it, by file name."""
    code, names = _language(ruleset, device)
    calls = [
        (", ".join(f"{n} := {code.code(c)}" for n, c in zip(names, v.codes, strict=True)), v.action)
        for v in vectors
    ]
    return {
        f"{name}.st": _function(ruleset, device, about),
        f"{name}_test.st": rendered("device_test.st.j2", name=name, calls=calls),
    }


def _language(ruleset: RuleSet, device: Device) -> tuple[StructuredText, list[str]]:
    """Return what writes the rules, and the names of the inputs."""
    if not ruleset.ordered:
        raise RuleError("Structured Text holds decision lists only.")
    plain = [re.sub(r"[\W_]+", "_", ascii_text(f.name).lower(), flags=re.ASCII) for f in ruleset.features]
    plain = [name[:50].strip("_") for name in plain]  # nowhere two underscores, not even before a number
    names = identifiers(plain, "input", WORDS.split())
    observed = len(ruleset.observed_features)
    inputs, sums = names[:observed], [f"sum_of_{n}" for n in range(1, len(ruleset.terms) + 1)]
    sums = identifiers(sums, "sum", inputs)
    return StructuredText(ruleset, inputs, sums, (), device), inputs


def _function(ruleset: RuleSet, device: Device, about: list[str]) -> str:
    """Return the text of the function."""
    code, inputs = _language(ruleset, device)
    added = [
        code.added(term, device_sum) for term, device_sum in zip(ruleset.terms, device.sums, strict=True)
    ]
    tests = [test for d in range(len(inputs)) if (test := code.in_range(d))]
    steps = [f"{n}: {s}" for n, s in zip(inputs, _steps(device), strict=True) if s]
    return rendered(
        "device.st.j2",
        about=about,
        lines=[*map(ascii_line, (*ranges_in_words(ruleset), *labels_in_words(ruleset), *steps))],
        kind=TYPES[device.numbers],
        wide=WIDE.get(device.numbers, TYPES[device.numbers]),
        inputs=inputs,
        sums=[
            (n, expression, ascii_line(term.name))
            for n, expression, term in zip(code.values[len(inputs) :], added, ruleset.terms, strict=True)
        ],
        tests=tests,
        body=code.chain(),
    )


def _steps(device: Device) -> list[str]:
    """Return for each feature how a value becomes a whole number; "" where it is one, and for floats."""
    places = [getattr(encoding, "places", 0) for encoding in device.features]
    largest = 2 ** (device.bits - 1) - 1
    limits = f"limited to -{largest} .. {largest} before it is converted"
    return [f"value * {2.0**p:g}, {limits}, rounded to the nearest" if p else "" for p in places]
