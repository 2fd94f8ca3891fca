"""Names for types of arrays, and checks of the numbers that users give for rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import RuleError, listed, nearest, shown
from ifthen.rules.feature import Feature, bounds_type, lows_and_highs

Floats = NDArray[np.float64]
"""An array of floats, of any shape."""
Ints = NDArray[np.int64]
"""An array of whole numbers, of any shape."""
Mask = NDArray[np.bool_]
"""An array of truth values, of any shape."""
MOST_INTERVALS = 4_000_000


def whole_numbers(values: ArrayLike, label: str) -> NDArray[np.int32]:
    """Return `values` as 32-bit integers, or raise if any is not a whole number in that range."""
    try:
        array = np.asarray(values)
        with np.errstate(invalid="ignore"):  # NaN and infinity come out unequal below
            exact = array.astype(np.int32)
        fits = array.dtype.kind in "iuf" and bool(np.all(exact == array))
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise RuleError(f"{label} must be whole numbers in one rectangular array, not {shown(values)}.")
    return exact


def real_numbers(
    values: ArrayLike, label: str, shape: tuple[int, ...] | None = None, least: float = -np.inf
) -> Floats:
    """Return `values` as finite floats, or raise if they are none, have another shape or are too small."""
    expected = "in one rectangular array" if shape is None else f"of shape {shape}"
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise RuleError(f"{label} must be numbers {expected}, not {shown(values)}.") from None
    if shape is not None and array.shape != shape:
        raise RuleError(f"{label} must have shape {shape}, not {array.shape}.")
    if not np.isfinite(array).all():
        raise RuleError(f"{label} must be finite, but some are NaN or infinite.")
    if (array < least).any():
        raise RuleError(f"{label} must be at least {least}, not {array.min():g}.")
    return frozen(array)


def checked_bounds(bounds: ArrayLike, features: tuple[Feature, ...]) -> NDArray[Any]:
    """Return conditions `(rules, features, 2)` inside the features' ranges, or raise naming the rule."""
    is_integer, label = bounds_type(features) is np.int32, "bounds"
    array = whole_numbers(bounds, label) if is_integer else real_numbers(bounds, label) + 0.0  # no -0.0
    if array.ndim != 3 or array.shape[1:] != (len(features), 2) or len(array) == 0:
        raise RuleError(
            f"bounds must have shape (rules, {len(features)}, 2) with at least one rule, not {array.shape}."
        )
    lows, highs = lows_and_highs(features)
    not_whole = (array != np.rint(array)) & np.array([feature.is_integer for feature in features])[:, None]
    outside = (array < lows[:, None]) | (array > highs[:, None])
    for violations in filter(np.any, (not_whole, outside)):
        rule, d, _ = (int(i) for i in np.argwhere(violations)[0])
        feature, interval = features[d], array[rule, d].tolist()
        if violations is not_whole:
            raise RuleError(
                f"rule {rule + 1}: {feature.name} is an integer feature: its bounds must be whole numbers, "
                f"not {interval}."
            )
        raise RuleError(
            f"rule {rule + 1}: {feature.name} in {interval} leaves the feature's range "
            f"[{feature.low}, {feature.high}]."
        )
    return array


def checked_actions(actions: ArrayLike, rules: int, names: Sequence[str]) -> NDArray[np.int32]:
    """Return one action per rule, `(rules,)`, as numbers of names, or raise."""
    array = whole_numbers(actions, "actions")
    if array.shape != (rules,):
        raise RuleError(f"actions must have shape ({rules},), one per rule, not {array.shape}.")
    if array.min() < 0 or array.max() >= len(names):
        raise RuleError(
            f"actions must be 0 to {len(names) - 1} ({listed(names)}), not {shown(array.tolist())}."
        )
    return array


def checked_observations(observation: ArrayLike, features: tuple[Feature, ...]) -> Floats:
    """Return one observation or a batch as `(n, features)`, clipped where features clip, or raise."""
    try:
        batch = np.atleast_2d(np.asarray(observation, dtype=np.float64))
    except (TypeError, ValueError):
        raise RuleError(f"an observation must be numeric, not {observation!r}.") from None
    if batch.ndim != 2 or batch.shape[1] != len(features):
        names, n = listed([feature.name for feature in features]), len(features)
        raise RuleError(
            f"an observation must have shape ({n},) or (n, {n}) for ({names}), not {np.shape(observation)}."
        )
    if not np.isfinite(batch).all():
        names = listed([feature.name for feature in features])
        raise RuleError(f"observations ({names}) must be finite, but some are NaN or infinite.")
    lows, highs = (ends.astype(np.float64) for ends in lows_and_highs(features))
    clips = [feature.clips for feature in features]
    if any(clips):
        batch = np.where(clips, np.clip(batch, lows, highs), batch)
    outside = (batch < lows) | (batch > highs)
    if outside.any():
        d = int(outside.any(axis=0).argmax())
        feature, value = features[d], batch[outside[:, d], d][0]
        raise RuleError(
            f"{feature.name} of an observation must be from {feature.low} to {feature.high}, not {value:g}."
        )
    return batch


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a private copy that cannot be written to."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy


Bounds = list[list[list[Any]]]


def rules_from_data(
    rules: Sequence[Mapping[str, Any]],
    features: Sequence[Feature],
    actions: Sequence[str],
    columns: Sequence[str],
) -> tuple[Bounds, list[int]]:
    """Return conditions `(rules, features, 2)` and actions `(rules,)`, or raise naming rule and problem.

    Args:
        rules: the plain data, such as `{"if": {"x": [0, 3]}, "then": "Left"}`.
        features: name and range of each feature.
        actions: one name per action.
        columns: what each rule carries besides.
    """
    check_size(len(rules), len(features))
    ranges = {feature.name: [feature.low, feature.high] for feature in features}
    action_numbers = {name: number for number, name in enumerate(actions)}
    bounds, rule_actions = [], []
    for number, rule in enumerate(rules, start=1):
        condition, label = rule["if"], f"rule {number}"
        refuse_unknown(label, rule, ("if", "then", *columns))
        if not isinstance(condition, Mapping):
            raise RuleError(f"{label}: 'if' must map feature names to intervals, not be {shown(condition)}.")
        refuse_unknown(f"the condition of {label}", condition, ranges)
        if not isinstance(rule["then"], str) or rule["then"] not in action_numbers:
            raise RuleError(
                f"{label}: unknown action {shown(rule['then'])}." + nearest(str(rule["then"]), actions)
            )
        bounds.append([condition.get(name, ends) for name, ends in ranges.items()])
        rule_actions.append(action_numbers[rule["then"]])
    return bounds, rule_actions


def check_size(rules: int, features: int) -> None:
    """Raise where rules from a file would take much memory, though they may say little of each feature."""
    if rules * features > MOST_INTERVALS:
        raise RuleError(
            f"{rules:,} rules over {features:,} features have {rules * features:,} intervals; at most "
            f"{MOST_INTERVALS:,} are read."
        )


def refuse_unknown(label: str, data: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise if plain data holds a name that is not known."""
    for name in data:
        if name not in known:
            raise RuleError(f"{label} has an unknown name {shown(name)}.{nearest(str(name), known)}")
