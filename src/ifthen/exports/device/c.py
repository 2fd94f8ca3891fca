"""A policy as C99 for a device: a header, the code, and a program of unit tests."""

from __future__ import annotations

from typing import Any

from ifthen.exports.code import C
from ifthen.exports.device.language import DeviceLanguage
from ifthen.exports.device.numbers import Code, Device
from ifthen.exports.device.vectors import Vector
from ifthen.exports.parts import (
    ascii_line,
    ascii_text,
    identifiers,
    ranges_in_words,
    rendered,
    shown_columns,
)
from ifthen.rules.feature import number_in_words
from ifthen.rules.ruleset import RuleSet

TYPES = {"float64": "double", "float32": "float", "int16": "int16_t", "int32": "int32_t"}


class DeviceC(DeviceLanguage, C):
    """C99 in the numbers of a device."""

    never = "0"

    def code(self, code: Code, wide: bool = False) -> str:
        """Return a constant, exact also where it has many digits."""
        if not self.device.counts_steps:
            return self.number(float(code)) + "f" * (self.device.bits == 32)
        return f"INT{self.device.bits * 2}_C({code})" if wide else str(code)

    def clip(self, value: str, low: str, high: str) -> str:
        """Return a use of the macro of the file."""
        return f"CLIP({value}, {low}, {high})"

    def in_range(self, d: int) -> str:
        """Return the test that a value is in its range; of a float that clips, that it is a number."""
        if self.ruleset.features[d].clips and not self.device.counts_steps:
            return f"{self.inputs[d]} == {self.inputs[d]}"
        return super().in_range(d)


def to_device_c(
    ruleset: RuleSet, device: Device, about: list[str], vectors: list[Vector], name: str
) -> dict[str, str]:
    """Return the texts of a header, a C file and a test program, by file name."""
    own = identifiers([n.upper() for n in ruleset.action_names], "ACTION", ("NONE", "FEATURES", "ACTIONS"))
    enum, observed = [f"IFTHEN_{each}" for each in own], range(len(ruleset.observed_features))
    sums = [f"t[{t}]" for t in range(len(ruleset.terms))]
    code = DeviceC(ruleset, [f"s[{d}]" for d in observed], sums, enum, device)
    added = [code.added(term, own_sum) for term, own_sum in zip(ruleset.terms, device.sums, strict=True)]
    kind, body = TYPES[device.numbers], [ascii_text(line) for line in code.choice()]
    values: dict[str, Any] = {
        "about": about,
        "name": name,
        "guard": identifiers([name.upper()], "POLICY")[0],
        "kind": kind,
        "wide": f"int{2 * device.bits}_t" if device.counts_steps else kind,
        "whole": device.counts_steps,
        "features": len(observed),
        "actions": [(n, ascii_line(label)) for n, label in zip(enum, ruleset.action_names, strict=True)],
        "ranges": _ranges(code, device),
        "lines": [*map(ascii_line, (*ranges_in_words(ruleset, "s[{}]: "), *labels_in_words(ruleset)))],
        "tests": [(d, test) for d in observed if (test := code.in_range(d))],
        "sums": list(zip(added, (ascii_line(term.name) for term in ruleset.terms), strict=True)),
        "clips": any("CLIP(" in line for line in (*added, *body)),
        "body": body,
        "vectors": [(", ".join(map(code.code, v.codes)), v.action) for v in vectors],
    }
    return {
        f"{name}.h": rendered("device.h.j2", **values),
        f"{name}.c": rendered("device.c.j2", **values),
        f"{name}_test.c": rendered("device_test.c.j2", **values),
    }


def labels_in_words(ruleset: RuleSet) -> list[str]:
    """Return what the values of features with named values are called."""
    return [
        f"{f.name}: " + ", ".join(f"{f.low + n} = {label}" for n, label in enumerate(f.labels))
        for f in ruleset.observed_features
        if f.labels
    ]


def _ranges(code: DeviceC, device: Device) -> list[tuple[str, int, str, str, str]]:
    """Return name, number, ends and steps per unit of each feature that gets constants of its own."""
    observed = code.ruleset.observed_features
    names = identifiers([f.name.upper() for f in observed], "FEATURE", ("FEATURES", "ACTIONS"))
    found = []
    for d in shown_columns(code.ruleset):
        if d < len(observed):
            own = device.features[d]
            places = getattr(own, "places", 0)
            scale = number_in_words(2.0**places) if device.counts_steps else ""
            found.append((names[d], d, *code.ends(d), scale))
    return found
