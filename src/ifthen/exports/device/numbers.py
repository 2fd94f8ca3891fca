"""Numbers as a device keeps them: floats of 64 or 32 bits, or whole numbers that count steps of a power of 2.

A reading is kept as a *code*: a float, or the number of steps. A threshold is moved inward to the nearest
code: "x ≤ 0.1" becomes x ≤ the largest code that is not above 0.1. So for every value that has a code the
test gives exactly what the rule gives. Only a reading between two codes, which is rounded to one of them
before the rules see it, can come to lie on the other side; `cut` says where that happens.

Sums of features (terms) are added up in codes of their own: floats, rounded after each step, or whole numbers
of twice as many bits, in which nothing is rounded but the coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from ifthen.errors import RuleError
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet

NUMBERS = ("float64", "float32", "int16", "int32")
"""What --numbers takes."""
Code = int | float


class Encoding(Protocol):
    """How the values of one feature or term are kept."""

    def at_most(self, value: float) -> Code:
        """Return the largest code that does not stand for more than a value."""

    def at_least(self, value: float) -> Code:
        """Return the smallest code that does not stand for less than a value."""

    def nearest(self, value: float) -> Code:
        """Return the code that a reading is rounded to."""

    def before(self, code: Code) -> Code:
        """Return the next smaller code."""

    def after(self, code: Code) -> Code:
        """Return the next larger code."""

    def value(self, code: Code) -> float:
        """Return the number that a code stands for, which a double holds exactly."""

    def cut(self, code: Code) -> float:
        """Return the largest double that is rounded to a code or to a smaller one."""

    def half_step(self, size: float) -> Fraction:
        """Return how far a value of at most this size can be from its code."""


@dataclass(frozen=True)
class Floats:
    """Floats of 64 or 32 bits.

    Args:
        bits: 64 or 32.
    """

    bits: int

    def rounded(self, value: float) -> float:
        """Return the nearest float."""
        with np.errstate(over="ignore"):
            return value if self.bits == 64 else float(np.float32(value))

    def at_most(self, value: float) -> Code:
        """Return the largest float that is not above a value."""
        rounded = self.rounded(value)
        return rounded if rounded <= value else self.before(rounded)

    def at_least(self, value: float) -> Code:
        """Return the smallest float that is not below a value."""
        rounded = self.rounded(value)
        return rounded if rounded >= value else self.after(rounded)

    def nearest(self, value: float) -> Code:
        """Return the nearest float."""
        return self.rounded(value)

    def _next(self, code: Code, to: float) -> float:
        kind = np.float64 if self.bits == 64 else np.float32
        with np.errstate(over="ignore"):
            return float(np.nextafter(kind(code), kind(to)))

    def before(self, code: Code) -> Code:
        """Return the next smaller float."""
        return self._next(code, -np.inf)

    def after(self, code: Code) -> Code:
        """Return the next larger float."""
        return self._next(code, np.inf)

    def value(self, code: Code) -> float:
        """Return the float itself."""
        return float(code)

    def cut(self, code: Code) -> float:
        """Return the largest double that is rounded to a float or to a smaller one; ties go to even."""
        next_float = self.after(code)
        if self.bits == 64 or not math.isfinite(next_float):
            return float(code)
        if not math.isfinite(code):
            return math.nextafter(float(next_float), -math.inf)
        middle = (float(code) + float(next_float)) / 2
        return middle if self.rounded(middle) <= code else math.nextafter(middle, -math.inf)

    def half_step(self, size: float) -> Fraction:
        """Return how far a value of at most this size can be from its float."""
        return Fraction(0) if self.bits == 64 else rounding(Fraction(size), self.bits)


@dataclass(frozen=True)
class Steps:
    """Whole numbers that count steps of 2^-places; a half is rounded up.

    Args:
        places: binary digits behind the point; negative where a step is more than 1.
        whole: whether values are whole numbers already, so that nothing is rounded.
    """

    places: int
    whole: bool = False

    def _steps(self, value: float) -> Fraction:
        return Fraction(value) * Fraction(2) ** self.places

    def at_most(self, value: float) -> Code:
        """Return the largest number of steps that is not above a value."""
        return math.floor(self._steps(value))

    def at_least(self, value: float) -> Code:
        """Return the smallest number of steps that is not below a value."""
        return math.ceil(self._steps(value))

    def nearest(self, value: float) -> Code:
        """Return the nearest number of steps."""
        return math.floor(self._steps(value) + Fraction(1, 2))

    def before(self, code: Code) -> Code:
        """Return one step less."""
        return int(code) - 1

    def after(self, code: Code) -> Code:
        """Return one step more."""
        return int(code) + 1

    def value(self, code: Code) -> float:
        """Return what a number of steps stands for."""
        return math.ldexp(int(code), -self.places)

    def cut(self, code: Code) -> float:
        """Return the largest double that is rounded to a number of steps or to a smaller one."""
        if self.whole:
            return float(code)
        return math.nextafter(math.ldexp(2 * int(code) + 1, -self.places - 1), -math.inf)

    def half_step(self, size: float) -> Fraction:
        """Return half a step."""
        return Fraction(0) if self.whole else Fraction(2) ** (-self.places - 1)


@dataclass(frozen=True)
class Sum:
    """How a device adds up a term.

    Args:
        encoding: of the sum.
        coefficients: of the features in the term, in their order, as the device has them: floats, or whole
            numbers that turn steps of the feature into steps of the sum.
    """

    encoding: Encoding
    coefficients: tuple[Code, ...]


@dataclass(frozen=True)
class Device:
    """The numbers of a ruleset on a device.

    Args:
        numbers: one of `NUMBERS`.
        features: how each observed feature is kept.
        sums: how each term is added up.
    """

    numbers: str
    features: tuple[Encoding, ...]
    sums: tuple[Sum, ...]

    @property
    def bits(self) -> int:
        """The bits of a number."""
        return int(self.numbers[-2:])

    @property
    def counts_steps(self) -> bool:
        """Whether numbers are whole numbers of steps rather than floats."""
        return self.numbers.startswith("int")

    def encoding(self, d: int) -> Encoding:
        """Return how feature or term d is kept."""
        return self.features[d] if d < len(self.features) else self.sums[d - len(self.features)].encoding


def device_of(ruleset: RuleSet, numbers: str) -> Device:
    """Return how a ruleset's numbers are kept, or raise where a feature does not fit.

    Args:
        ruleset: the rules.
        numbers: one of `NUMBERS`.
    """
    bits = int(numbers[-2:])
    if numbers.startswith("float"):
        for feature in ruleset.features if bits == 32 else ():
            if max(abs(feature.low), abs(feature.high)) > float(np.finfo(np.float32).max):
                raise _too_large(feature, numbers, "float64")
        kind = Floats(bits)
        floats = [Sum(kind, tuple(kind.rounded(c) for _, c in term.of)) for term in ruleset.terms]
        return Device(numbers, (kind,) * len(ruleset.observed_features), tuple(floats))
    most = 2 ** (bits - 1) - 2  # one more stands for a value beyond the range
    features = tuple(_steps_of(feature, most, numbers) for feature in ruleset.observed_features)
    by_name = {f.name: (f, encoding) for f, encoding in zip(ruleset.observed_features, features, strict=True)}
    sums = [_sum_of(term, [by_name[name] for name, _ in term.of], 2 * bits) for term in ruleset.terms]
    return Device(numbers, features, tuple(sums))


def _too_large(feature: Feature, numbers: str, instead: str) -> RuleError:
    ends = f"{number_in_words(feature.low)} to {number_in_words(feature.high)}"
    return RuleError(f"{feature.name} goes from {ends}, which {numbers} does not hold: use {instead}.")


def _steps_of(feature: Feature, most: int, numbers: str) -> Steps:
    """Return the finest steps of which a feature has at most so many on each side of 0."""
    size = max(abs(Fraction(feature.low)), abs(Fraction(feature.high)))
    if feature.is_integer:
        if size > most:
            raise _too_large(feature, numbers, "int32" if numbers == "int16" else "float64")
        return Steps(0, whole=True)
    steps = Steps(_places(size, most))
    if steps.at_least(feature.low) > steps.at_most(feature.high):
        raise RuleError(f"the range of {feature.name} is less than one step of {numbers}: use float32.")
    return steps


def _places(size: Fraction, most: int) -> int:
    """Return the most binary digits behind the point with which a number is at most `most` steps."""
    if not size:
        return 0
    places = exponent(Fraction(most) / size)
    return places if size * Fraction(2) ** places <= most else places - 1


def _sum_of(term: Feature, addends: list[tuple[Feature, Steps]], bits: int) -> Sum:
    """Return the finest sum that never leaves whole numbers of so many bits."""
    largest_sum = 2 ** (bits - 1) - 1
    largest_codes = [
        max(abs(encoding.at_least(f.low)), abs(encoding.at_most(f.high))) for f, encoding in addends
    ]
    sizes = [abs(Fraction(c)) for _, c in term.of]
    steps = [Fraction(2) ** -encoding.places for _, encoding in addends]
    size = Fraction(sum(c * step * n for c, step, n in zip(sizes, steps, largest_codes, strict=True)))
    places = _places(max([size, abs(Fraction(term.low)), abs(Fraction(term.high))]), largest_sum)
    while True:
        scale = Fraction(2) ** places
        scaled = [Fraction(c) * step * scale for (_, c), step in zip(term.of, steps, strict=True)]
        coefficients = [math.floor(c + Fraction(1, 2)) for c in scaled]
        if sum(abs(c) * n for c, n in zip(coefficients, largest_codes, strict=True)) <= largest_sum:
            return Sum(Steps(places), tuple(coefficients))
        places -= 1


def exponent(size: Fraction) -> int:
    """Return the largest e with 2^e at most a positive number."""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if Fraction(2) ** guess <= size else guess - 1


def rounding(size: Fraction, bits: int) -> Fraction:
    """Return the most that rounding to a float of so many bits changes a number of at most this size."""
    digits, least = (24, -126) if bits == 32 else (53, -1022)
    return Fraction(2) ** (max(exponent(size), least) - digits) if size else Fraction(0)
