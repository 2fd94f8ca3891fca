"""Rules in the numbers of a device, in any language: thresholds moved inward, sums in wider numbers.

Tests look at values as they are given: a value beyond a range is on the same side of every threshold as the
range's end. Only sums and scores clip.
"""

from __future__ import annotations

from collections.abc import Sequence

from ifthen.exports.code import Language
from ifthen.exports.device.numbers import Code, Device, Sum
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import RuleSet


class DeviceLanguage(Language):
    """Writes conditions, ranges and sums in the numbers of a device.

    Args:
        ruleset: the rules.
        inputs: what stands for the value of each observed feature.
        sums: what stands for the value of each term.
        actions: what stands for each action.
        device: the numbers.
    """

    never: str
    """A test that never holds."""

    def __init__(
        self,
        ruleset: RuleSet,
        inputs: Sequence[str],
        sums: Sequence[str],
        actions: Sequence[str],
        device: Device,
    ) -> None:
        self.ruleset, self.inputs, self.device = ruleset, inputs, device
        values = list(inputs) if ruleset.scoring is None else [self.clipped(d) for d in range(len(inputs))]
        super().__init__(ruleset, [*values, *sums], actions)

    def code(self, code: Code, wide: bool = False) -> str:
        """Return a constant as the device keeps it; a wide one is a whole number of twice as many bits."""
        raise NotImplementedError

    def clip(self, value: str, low: str, high: str) -> str:
        """Return a value, moved between two ends."""
        raise NotImplementedError

    def widened(self, value: str) -> str:
        """Return a value of an input, ready to be multiplied by a wide constant."""
        return value

    def ends(self, d: int) -> tuple[str, str]:
        """Return the smallest and the largest value of observed feature d."""
        encoding, feature = self.device.features[d], self.ruleset.features[d]
        return self.code(encoding.at_least(feature.low)), self.code(encoding.at_most(feature.high))

    def clipped(self, d: int) -> str:
        """Return the value of observed feature d, moved into its range where it clips."""
        return self.clip(self.inputs[d], *self.ends(d)) if self.ruleset.features[d].clips else self.inputs[d]

    def test(self, d: int, low: float | None, high: float | None) -> str:
        """Return the test that feature d lies between two ends, moved inward to what the device holds."""
        encoding, wide = self.device.encoding(d), d >= len(self.device.features)
        first_code = None if low is None else encoding.at_least(low)
        last_code = None if high is None else encoding.at_most(high)
        if first_code is not None and last_code is not None and first_code > last_code:
            return self.never
        form = self.equal if first_code == last_code else self.between
        if first_code is None or last_code is None:
            form = "{value} <= {high}" if first_code is None else "{value} >= {low}"
        ends = ["" if end is None else self.code(end, wide) for end in (first_code, last_code)]
        return form.format(value=self.values[d], low=ends[0], high=ends[1])

    def in_range(self, d: int) -> str:
        """Return the test that an observed value lies in its range; "" where none is refused."""
        if self.ruleset.features[d].clips:
            return ""
        low, high = self.ends(d)
        return self.between.format(value=self.inputs[d], low=low, high=high)

    def added(self, term: Feature, device_sum: Sum) -> str:
        """Return what a term adds up."""
        positions = {f.name: d for d, f in enumerate(self.ruleset.observed_features)}
        expression = ""
        for (name, _), coefficient in zip(term.of, device_sum.coefficients, strict=True):
            value, minus = self.clipped(positions[name]), coefficient < 0
            if abs(coefficient) != 1 or self.device.counts_steps:
                value = f"{self.code(abs(coefficient), wide=True)} * {self.widened(value)}"
            expression += (
                (" - " if minus else " + ") * bool(expression) + "-" * (minus and not expression) + value
            )
        return expression
