"""A policy as C99 for a device: a header, the code, and a program of unit tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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

MOST_VALUES = 60
"""Values of a feature whose conversion the unit tests try."""
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
        """Return the test that a value is in its range; of a feature that clips, that it is a number."""
        if self.ruleset.features[d].clips:
            value, bits = self.inputs[d], self.device.bits
            return f"{value} > INT{bits}_MIN" if self.device.counts_steps else f"{value} == {value}"
        return super().in_range(d)


def to_device_c(
    ruleset: RuleSet, device: Device, about: list[str], vectors: list[Vector], name: str
) -> dict[str, str]:
    """Return the texts of a header, a C file and a test program, by file name."""
    identifiers_of_actions = identifiers(
        [n.upper() for n in ruleset.action_names], "ACTION", ("NONE", "FEATURES", "ACTIONS")
    )
    enum, observed = (
        [f"IFTHEN_{identifier}" for identifier in identifiers_of_actions],
        range(len(ruleset.observed_features)),
    )
    sums = [f"t[{t}]" for t in range(len(ruleset.terms))]
    code = DeviceC(ruleset, [f"s[{d}]" for d in observed], sums, enum, device)
    added = [
        code.added(term, device_sum) for term, device_sum in zip(ruleset.terms, device.sums, strict=True)
    ]
    kind, body = TYPES[device.numbers], [ascii_text(line) for line in code.choice()]
    values: dict[str, Any] = {
        "about": about,
        "name": name,
        "guard": identifiers([name.upper()], "POLICY")[0],
        "kind": kind,
        "wide": f"int{2 * device.bits}_t" if device.counts_steps else kind,
        "whole": device.counts_steps,
        "bits": device.bits,
        "converts": device.numbers != "float64",
        "scales": ", ".join(
            number_in_words(2.0 ** getattr(encoding, "places", 0)) for encoding in device.features
        ),
        "most": 2 ** (device.bits - 1) - 1,
        "conversions": _conversions(code, device),
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


def _conversions(code: DeviceC, device: Device) -> list[tuple[int, str, str]]:
    """Return values of features, with the numbers that they become: ends, thresholds, and far beyond."""
    if device.numbers == "float64":
        return []
    most = 2 ** (device.bits - 1) - 1 if device.counts_steps else float(np.finfo(np.float32).max)
    pairs: dict[tuple[int, float], None] = {}
    for d, (feature, encoding) in enumerate(
        zip(code.ruleset.observed_features, device.features, strict=True)
    ):
        ends = {
            float(end) for end in (feature.low, feature.high, *code.ruleset.bounds[:, d].ravel().tolist())
        }
        cuts = {encoding.cut(encoding.nearest(end)) for end in ends}
        just_above = {math.nextafter(cut, math.inf) for cut in cuts}
        values = sorted(ends | cuts | just_above)[:MOST_VALUES]
        pairs |= dict.fromkeys((d, value) for value in (*values, -1e300, 1e300) if math.isfinite(value))
    return [
        (d, code.number(value), code.code(min(max(device.features[d].nearest(value), -most), most)))
        for d, value in pairs
    ]


def _ranges(code: DeviceC, device: Device) -> list[tuple[str, int, str, str, str]]:
    """Return name, number, ends and steps per unit of each feature that gets constants of its own."""
    observed = code.ruleset.observed_features
    names = identifiers([f.name.upper() for f in observed], "FEATURE", ("FEATURES", "ACTIONS"))
    ranges = []
    for d in shown_columns(code.ruleset):
        if d < len(observed):
            encoding = device.features[d]
            places = getattr(encoding, "places", 0)
            scale = number_in_words(2.0**places) if device.counts_steps else ""
            ranges.append((names[d], d, *code.ends(d), scale))
    return ranges
