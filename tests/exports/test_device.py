"""Policies for devices: what is written acts as the rules do, except where that is said and proved."""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from ifthen import DecisionList, Feature, RuleSet, StrengthRules, export_device, parse_rules
from ifthen.errors import ParameterError, RuleError
from ifthen.exports.device.deviation import deviation_of, term_errors, thresholds, upward
from ifthen.exports.device.numbers import NUMBERS, Device, device_of
from tests.explanation.policies import many_points, many_rules, real_rules, telling_points
from tests.exports.structured_text import function_of
from tests.exports.test_export_code import COMPILER, FLAGS, needs_compiler
from tests.rules.test_terms import lists_with_terms, points

SMALL = ("float32", "int16", "int32")
COURSE = Feature("course", 0.0, 360.0, "real", "deg", cyclic=True)
NORTH = Feature("north", 0, 2, labels=("empty", "a wall", "food"))
BOXES: Any = [[[300.1, 60.3], [0, 2]], [[0, 360], [1, 1]], [[100.7, 200], [0, 2]]]
WRAPPED = DecisionList(
    BOXES,
    [0, 1, 2],
    [COURSE, NORTH],
    ["on", "turn", "stop"],
)
TILTED = parse_rules(
    "IF x + 15*angle <= -0.058 AND n >= 3 THEN left\nIF angle - 0.036*x >= 0.0157 THEN right\n"
    "OTHERWISE left\n",
    features=[
        Feature("x", -2.4, 2.4, "real", clips=True),
        Feature("angle", -0.21, 0.21, "real", "rad", clips=True),
        Feature("n", 0, 9),
    ],
    action_names=["left", "right"],
)


def codes_near(ruleset: RuleSet, device: Device, readings: NDArray[Any]) -> NDArray[Any]:
    """Return what a device keeps of readings `(n, features)`: the nearest code, found by exact distances."""
    found = []
    for reading in readings.tolist():
        row = []
        for own, value in zip(device.features, reading, strict=True):
            low, high = own.at_most(value), own.at_least(value)
            below, above = (
                Fraction(value) - Fraction(own.value(low)),
                Fraction(own.value(high)) - Fraction(value),
            )
            if not device.counts_steps and below == above and low != high:
                row.append(float(np.float32(value)))  # a tie goes to the even one
            else:
                row.append(low if below < above else high)
        found.append(row)
    return np.array(found)


def held(device: Device, codes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values that codes `(n, features)` stand for."""
    rows = [[own.value(c) for own, c in zip(device.features, row, strict=True)] for row in codes.tolist()]
    return np.array(rows)


def predicted(ruleset: RuleSet, values: NDArray[Any]) -> list[int]:
    """Return the actions in double precision; −1 where a value is refused."""
    features = ruleset.observed_features
    found = []
    for value in values:
        refused = any(not f.clips and not f.low <= v <= f.high for f, v in zip(features, value, strict=True))
        found.append(-1 if refused else int(ruleset.predict(value)))
    return found


def as_given(device: Device, codes: NDArray[Any]) -> list[list[Any]]:
    """Return codes as the numbers that a function is called with."""
    return [[int(c) if device.counts_steps else c for c in row] for row in codes.tolist()]


def on_device(ruleset: RuleSet, numbers: str, codes: NDArray[Any]) -> list[int]:
    """Return what the exported Structured Text does with codes."""
    action = function_of(export_device(ruleset, "st", numbers).files["policy.st"])
    return [action(*row) for row in as_given(device_of(ruleset, numbers), codes)]


@needs_compiler
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize(
    "rules", [WRAPPED, TILTED, many_rules(DecisionList, 6)], ids=["wraps", "sums", "many"]
)
def test_the_generated_unit_tests_compile_and_pass(rules: RuleSet, numbers: str, tmp_path: Path) -> None:
    made = export_device(rules, "c", numbers)
    for name, text in made.files.items():
        (tmp_path / name).write_text(text, encoding="ascii")
    assert COMPILER is not None
    program, sources = tmp_path / "test", [tmp_path / name for name in made.files if name.endswith(".c")]
    subprocess.run([COMPILER, *FLAGS, *map(str, sources), "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(made.vectors)} of {len(made.vectors)} test vectors pass\n"
    assert {vector.action for vector in made.vectors} >= set(rules.actions.tolist())


@needs_compiler
def test_a_wrong_rule_fails_the_generated_unit_tests(tmp_path: Path) -> None:
    files = export_device(WRAPPED, "c", "int16").files
    wrong = files["policy.c"].replace("return IFTHEN_TURN;", "return IFTHEN_STOP;")
    assert wrong != files["policy.c"]
    for name, text in (files | {"policy.c": wrong}).items():
        (tmp_path / name).write_text(text)
    assert COMPILER is not None
    sources = [str(tmp_path / name) for name in files if name.endswith(".c")]
    subprocess.run([COMPILER, *FLAGS, *sources, "-o", str(tmp_path / "test")], check=True)
    done = subprocess.run([tmp_path / "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "expected action 1, got 2" in done.stdout


@pytest.mark.parametrize("numbers", NUMBERS)
@given(rules=real_rules(kinds=(DecisionList,)))
@settings(max_examples=15)
def test_values_that_a_device_holds_get_the_same_action(numbers: str, rules: RuleSet) -> None:
    device = device_of(rules, numbers)
    codes = codes_near(rules, device, telling_points(rules, 60))
    assert on_device(rules, numbers, codes) == predicted(rules, held(device, codes))


@pytest.mark.parametrize("numbers", SMALL)
@given(rules=real_rules(kinds=(DecisionList,)))
@settings(max_examples=15)
def test_rounded_readings_act_differently_only_in_the_bands(numbers: str, rules: RuleSet) -> None:
    device = device_of(rules, numbers)
    readings = many_points(200)
    for d in (0, 2):  # half of them near thresholds, at distances like the bands
        ends = np.array([end for end, _ in thresholds(rules, d)])
        near = np.resize(ends, 100) + np.linspace(-1.2, 1.2, 100) * float(device.features[d].half_step(3.0))
        readings[::2, d] = np.clip(near, rules.features[d].low, rules.features[d].high)
    chosen = on_device(rules, numbers, codes_near(rules, device, readings))
    bands = {band.test: band.of_readings for band in deviation_of(rules, device).bands}
    for reading, own, exact in zip(readings.tolist(), chosen, predicted(rules, readings), strict=True):
        if own != exact:
            assert any(
                abs(Fraction(reading[d]) - Fraction(end))
                <= bands.get(test_of(rules.features[d], end, low), -1)
                for d in range(3)
                for end, low in thresholds(rules, d)
            )


def test_of(feature: Feature, end: float, is_low: bool) -> str:
    return f"{feature.name} {'≥' if is_low else '≤'} {end!r}".removesuffix(".0") + (
        f" {feature.unit}" if feature.unit else ""
    )


test_of.__test__ = False  # type: ignore[attr-defined]  # no test of its own


def test_the_share_of_readings_that_act_differently_is_exact() -> None:
    x = Feature("x", 0.0, 1.0, "real", clips=True)
    rules = DecisionList([[[0.1, 1.0]], [[0.0, 1.0]]], [0, 1], [x], ["a", "b"])
    found = deviation_of(rules, device_of(rules, "int16"))
    steps = Fraction(0.1) * 2**14  # x counts steps of 2^-14, and the test is x ≥ 1639 of them, from 1638.5 on
    assert found.share == pytest.approx(float((Fraction(3277, 2) - steps) / 2**14))
    (band,) = found.bands
    assert (band.test, float(band.of_codes)) == ("x ≥ 0.1", 0.0)
    assert float(band.of_readings) == pytest.approx(found.share)
    same = DecisionList([[[0.1, 1.0]], [[0.0, 1.0]]], [1, 1], [x], ["a", "b"])
    assert deviation_of(same, device_of(same, "int16")).share == 0  # a moved threshold that decides nothing


@pytest.mark.parametrize("numbers", SMALL)
@given(rules=lists_with_terms())
@settings(max_examples=15)
def test_sums_on_a_device_differ_by_no_more_than_the_bound(numbers: str, rules: DecisionList) -> None:
    device, asked = device_of(rules, numbers), points(40)
    codes = codes_near(rules, device, asked)
    values = held(device, codes)
    for t, (term, own) in enumerate(zip(rules.terms, device.sums, strict=True)):
        of_codes, of_readings = term_errors(rules, device)[t]
        places = [[f.name for f in rules.observed_features].index(name) for name, _ in term.of]
        for given_values, bound in ((values, of_codes), (asked, of_readings)):
            exact = rules.with_terms(rules.checked_observations(given_values))[:, len(device.features) + t]
            for row, total in zip(as_given(device, codes), exact.tolist(), strict=True):
                found: Any = 0 if device.counts_steps else np.float32(0)
                for d, c in zip(places, own.coefficients, strict=True):
                    feature, kept = rules.features[d], device.features[d]
                    clipped = min(max(row[d], kept.at_least(feature.low)), kept.at_most(feature.high))
                    found += c * clipped if device.counts_steps else np.float32(c) * np.float32(clipped)
                assert abs(Fraction(own.encoding.value(found)) - Fraction(total)) <= bound


@pytest.mark.parametrize("numbers", NUMBERS)
@given(rules=lists_with_terms())
@settings(max_examples=15)
def test_unit_tests_of_rules_with_sums_pass_in_structured_text(numbers: str, rules: DecisionList) -> None:
    made = export_device(rules, "st", numbers)
    action = function_of(made.files["policy.st"])
    device = device_of(rules, numbers)
    for codes, expected in made.vectors:
        assert action(*as_given(device, np.array([codes]))[0]) == expected


def test_the_files_say_where_the_device_can_act_differently() -> None:
    made = export_device(TILTED, "c", "int16")
    for name in ("policy.h", "policy.c"):
        assert "numbers: int16" in made.files[name]
        for band in made.deviation.bands:
            words = band.test.replace("·", "*").replace("−", "-").replace("≤", "<=").replace("≥", ">=")
            assert f"{words}: within {upward(band.of_readings)}" in made.files[name]
    assert made.deviation.share is None
    assert "The share of such readings was not worked out." in made.files["policy.c"]
    exact = export_device(TILTED, "c", "float64")
    assert not exact.deviation.bands
    assert "to the last bit" in exact.files["policy.c"]


def test_the_header_has_ranges_steps_and_named_values() -> None:
    header = export_device(WRAPPED, "c", "int16").files["policy.h"]
    assert "north: 0 = empty, 1 = a wall, 2 = food" in header
    assert "#define IFTHEN_IN_COURSE_HIGH (23040)\n#define IFTHEN_IN_COURSE_SCALE 64\n" in header
    assert "#define IFTHEN_IN_NORTH_HIGH (2)\n" in header


def test_bounds_in_words_are_never_too_small() -> None:
    for size in (Fraction(1, 3), Fraction(1, 10), Fraction(999, 1000), Fraction(10) ** -9 * 1234):
        assert Fraction(upward(size)) >= size
        assert Fraction(upward(size)) <= size * Fraction(11, 10)


def test_what_a_device_cannot_hold_is_refused() -> None:
    far = Feature("x", 0, 100_000)
    with pytest.raises(RuleError, match=r"x goes from 0 to 100000, which int16 does not hold: use int32"):
        export_device(DecisionList([[[0, 3]]], [0], [far], ["a"]), "c", "int16")
    narrow = Feature("x", 1000.01, 1000.02, "real")
    with pytest.raises(RuleError, match=r"less than one step of int16: use float32"):
        export_device(DecisionList([[[1000.01, 1000.02]]], [0], [narrow], ["a"]), "c", "int16")
    huge = Feature("x", 0.0, 1e60, "real")
    with pytest.raises(RuleError, match="which float32 does not hold: use float64"):
        export_device(DecisionList([[[0, 1e60]]], [0], [huge], ["a"]), "c", "float32")
    with pytest.raises(ParameterError, match="unknown numbers 'float16'"):
        export_device(WRAPPED, "c", "float16")
    with pytest.raises(ParameterError, match="for c and st, not for 'sql'"):
        export_device(WRAPPED, "sql", "float32")


def test_rules_that_compare_strengths_are_exact_in_doubles_and_refused_in_less() -> None:
    strong = many_rules(StrengthRules, 3)
    with pytest.raises(
        RuleError, match="over real features compare sums whose deviation in float32 is not proved"
    ):
        export_device(strong, "c", "float32")
    assert "score" in export_device(strong, "c", "float64").files["policy.c"]
    whole = StrengthRules(
        [[[0, 3]], [[2, 5]]], [0, 1], [Feature("x", 0, 5)], ["a", "b"], [[1.0, 0.3], [2.0, 0.0]], [0.0, 0.0]
    )
    made = export_device(whole, "st", "int16")
    assert "the equivalent decision list" in made.files["policy.st"]
    action = function_of(made.files["policy.st"])
    assert [action(x) for x in range(6)] == [int(whole.predict([x])) for x in range(6)]
