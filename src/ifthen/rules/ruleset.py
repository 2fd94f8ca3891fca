"""RuleSet: one policy as a fixed, readable list of IF-THEN rules.

A RuleSet is what is taken out of a population: immutable arrays with the names that make them
readable. How its rules choose an action is the subclass's part (see `ifthen.inference`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import RuleError, nearest
from ifthen.rules import box
from ifthen.rules.arrays import frozen, real_numbers, whole_numbers
from ifthen.rules.features import Feature, bounds_type, lows_and_highs
from ifthen.rules.plain_data import ParsedRule, refuse_unknown

if TYPE_CHECKING:
    import polars

    from ifthen.explain.domain import AnyTask
    from ifthen.explain.fewer.simplify import Intervals, Simplified
    from ifthen.explain.verify import Verification
    from ifthen.explain.why import Explanation
    from ifthen.explain.words import Reading
    from ifthen.inference.decision_list import DecisionList

FORMAT, VERSION = "ifthen-ruleset", 1
NULL_ACTION = -1
"""What a ruleset answers where none of its rules matches."""


class RuleSet(ABC):
    """Rules over named features, each proposing one named action.

    Args:
        bounds: the conditions, `(rules, features, 2)`; the two bounds in any order, both included.
        actions: the actions, `(rules,)`, as indices into `action_names`.
        features: name and range of each feature.
        action_names: one name per action of the task.
    """

    kind: ClassVar[str]
    own_columns: ClassVar[tuple[str, ...]] = ()
    own_settings: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[dict[str, type[RuleSet]]] = {}

    def __init_subclass__(cls) -> None:
        RuleSet.kinds[cls.kind] = cls

    def __init__(
        self,
        bounds: ArrayLike,
        actions: ArrayLike,
        features: Sequence[Feature],
        action_names: Sequence[str],
    ) -> None:
        self.features = tuple(features)
        if not all(isinstance(feature, Feature) for feature in self.features):
            raise RuleError(f"features must be Feature objects, such as task.features, not {features!r}.")
        self.action_names = tuple(str(name) for name in action_names)
        for what, names in (
            ("feature", [f.name for f in self.features]),
            ("action", list(self.action_names)),
        ):
            if not names or len(set(names)) != len(names):
                raise RuleError(f"{what} names must be given and differ from each other, not {names}.")
        self.bounds = frozen(box.decode(self._checked_bounds(bounds)))
        self.actions = frozen(self._checked_actions(actions))

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__:
            raise AttributeError(f"a ruleset cannot be changed: make a new one with other {name}")
        super().__setattr__(name, value)

    def _checked_bounds(self, bounds: ArrayLike) -> NDArray[Any]:
        array = (
            whole_numbers(bounds, "bounds")
            if bounds_type(self.features) is np.int32
            else real_numbers(bounds, "bounds")
        )
        if array.ndim != 3 or array.shape[1:] != (len(self.features), 2) or len(array) == 0:
            raise RuleError(
                f"bounds must have shape (rules, {len(self.features)}, 2) with at least one rule, "
                f"not {array.shape}."
            )
        lows, highs = lows_and_highs(self.features)
        whole = [feature.is_integer for feature in self.features]
        broken = (array != np.rint(array)) & np.array(whole)[:, None]
        if broken.any():
            rule, d, _ = (int(i) for i in np.argwhere(broken)[0])
            raise RuleError(
                f"rule {rule + 1}: {self.features[d].name} is an integer feature: its bounds must be whole "
                f"numbers, not {array[rule, d].tolist()}."
            )
        outside = (array < lows[:, None]) | (array > highs[:, None])
        if outside.any():
            rule, d, _ = (int(i) for i in np.argwhere(outside)[0])
            feature = self.features[d]
            raise RuleError(
                f"rule {rule + 1}: {feature.name} in {array[rule, d].tolist()} leaves the feature's "
                f"range [{feature.low}, {feature.high}]."
            )
        return array

    def _checked_actions(self, actions: ArrayLike) -> NDArray[np.int32]:
        array = whole_numbers(actions, "actions")
        if array.shape != (len(self.bounds),):
            raise RuleError(
                f"actions must have shape ({len(self.bounds)},), one per rule, not {array.shape}."
            )
        if array.min() < 0 or array.max() >= len(self.action_names):
            raise RuleError(
                f"actions must be 0 to {len(self.action_names) - 1} ({', '.join(self.action_names)}), "
                f"not {array.tolist()}."
            )
        return array

    def choose(self, observations: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the action and the deciding rule, each `(n,)`, for observations `(n, features)`.

        Both are −1 where no rule matches.
        """
        if any(feature.clips for feature in self.features):  # predictions are made from clipped values too
            observations = self.checked_observations(observations)
        return self.decide(self.matches(observations), observations)

    @abstractmethod
    def decide(
        self, matching: NDArray[np.bool_], observations: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what `choose` would if the rules `(n, rules)` marked in `matching` were those that match."""

    def predict(self, observation: ArrayLike) -> Any:
        """Return the action for one observation `(features,)`, or `(n,)` actions for `(n, features)`.

        `NULL_ACTION` (−1) stands where no rule matches.
        """
        batch = self.checked_observations(observation)
        actions, _ = self.choose(batch)
        return actions if np.ndim(observation) == 2 else int(actions[0])

    def matches(self, observation: ArrayLike) -> NDArray[np.bool_]:
        """Return which rules match: `(rules,)` for one observation, `(n, rules)` for a batch."""
        batch = self.checked_observations(observation)
        out = np.empty((len(batch), len(self)), dtype=np.bool_)
        box.matches(self.bounds, batch, out)
        return out if np.ndim(observation) == 2 else out[0]

    def checked_observations(self, observation: ArrayLike) -> NDArray[np.float64]:
        """Return one observation or a batch of them as `(n, features)`, or raise if it cannot be."""
        try:
            batch = np.atleast_2d(np.asarray(observation, dtype=np.float64))
        except (TypeError, ValueError):
            raise RuleError(f"an observation must be numeric, not {observation!r}.") from None
        names = ", ".join(feature.name for feature in self.features)
        if batch.ndim != 2 or batch.shape[1] != len(self.features):
            raise RuleError(
                f"an observation must have shape ({len(self.features)},) or "
                f"(n, {len(self.features)}) for ({names}), not {np.shape(observation)}."
            )
        if not np.isfinite(batch).all():
            raise RuleError(f"observations ({names}) must be finite, but some are NaN or infinite.")
        clips = [feature.clips for feature in self.features]
        if any(clips):
            lows, highs = (ends.astype(np.float64) for ends in lows_and_highs(self.features))
            batch = np.where(clips, np.clip(batch, lows, highs), batch)
        for d, feature in enumerate(self.features):
            outside = (batch[:, d] < feature.low) | (batch[:, d] > feature.high)
            if outside.any():
                raise RuleError(
                    f"{feature.name} of an observation must be from {feature.low} to {feature.high}, "
                    f"not {batch[outside, d][0]:g}."
                )
        return batch

    def subset(self, rules: ArrayLike) -> Self:
        """Return a ruleset of some of the rules only, given by number from 0, in the order given."""
        data, numbers = self.to_dict(), np.asarray(rules)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or not len(numbers):
            raise RuleError(f"a subset needs the numbers of some rules, not {rules!r}.")
        if numbers.min() < 0 or numbers.max() >= len(self):
            raise RuleError(f"the rules are numbered 0 to {len(self) - 1}, not {rules!r}.")
        data["rules"] = [data["rules"][r] for r in numbers]
        return cast(Self, RuleSet.from_dict(data))

    def with_bounds(self, bounds: ArrayLike) -> Self:
        """Return the same rules with other conditions, `(rules, features, 2)`."""
        own = (*self.extra_columns().values(), *self.settings().values())
        return type(self)(bounds, self.actions, self.features, self.action_names, *own)

    def __len__(self) -> int:
        return len(self.actions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleSet):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.bounds.tobytes(), self.actions.tobytes()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rules over {', '.join(f.name for f in self.features)}>"

    def __str__(self) -> str:
        digits, lines = len(str(len(self))), []
        for r in range(len(self)):
            notes = self.rule_notes(r)
            lines.append(f"{r + 1:>{digits}}. {self.rule_in_words(r)}" + (f"  ({notes})" if notes else ""))
        return "\n".join(lines)

    def rule_in_words(self, rule: int) -> str:
        """Return rule number `rule` (from 0) as `IF … THEN …`, or `ALWAYS …` where it matches everything."""
        condition, action = self.condition_in_words(rule), self.action_names[self.actions[rule]]
        return f"IF {condition} THEN {action}" if condition else f"ALWAYS {action}"

    def condition_in_words(self, rule: int) -> str:
        """Return the condition of rule number `rule` (from 0), such as "x ≤ 3 AND y in [2, 5]".

        Features that it does not restrict are left out; nothing is left where it matches everything.
        """
        intervals = zip(self.features, self.bounds[rule].tolist(), strict=True)
        words = (feature.interval_in_words(low, high) for feature, (low, high) in intervals)
        return " AND ".join(filter(None, words))

    def rule_notes(self, rule: int) -> str:
        """Return what a reader should know of rule number `rule` beyond condition and action."""
        return ""

    def extra_columns(self) -> dict[str, NDArray[np.float64]]:
        """Return what each rule carries besides, by the names in `own_columns`: arrays `(rules, …)`."""
        return {}

    def settings(self) -> dict[str, Any]:
        """Return what the ruleset as a whole carries beyond its rules, by `own_settings`, as plain data."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the ruleset as plain data that `from_dict` and JSON understand."""
        extras = {name: column.tolist() for name, column in self.extra_columns().items()}
        rules = [
            {
                "if": {f.name: pair for f, pair in zip(self.features, box_, strict=True)},
                "then": self.action_names[action],
                **{name: column[r] for name, column in extras.items()},
            }
            for r, (box_, action) in enumerate(zip(self.bounds.tolist(), self.actions.tolist(), strict=True))
        ]
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "features": [feature.to_dict() for feature in self.features],
            "actions": list(self.action_names),
            **self.settings(),
            "rules": rules,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> RuleSet:
        """Build a ruleset from `to_dict`'s plain data.

        A feature left out of a rule is unrestricted. Files may also name a task; that is for their readers.
        """
        import ifthen.inference  # noqa: F401  # the kinds of rulesets register themselves there

        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise RuleError(f"a ruleset must be an object with format {FORMAT!r}, as to_dict gives it.")
        if data.get("version") != VERSION:
            raise RuleError(f"the ruleset has version {data.get('version')!r}; this ifthen reads {VERSION}.")
        if not isinstance(data.get("kind"), str) or data["kind"] not in RuleSet.kinds:
            raise RuleError(
                f"unknown kind of ruleset {data.get('kind')!r}."
                + nearest(str(data.get("kind")), RuleSet.kinds)
            )
        kind = RuleSet.kinds[data["kind"]]
        refuse_unknown(
            "the ruleset",
            data,
            ("format", "version", "task", "kind", "features", "actions", "rules", *kind.own_settings),
        )
        try:
            features = tuple(Feature.from_dict(feature) for feature in data["features"])
            action_names = tuple(str(name) for name in data["actions"])
            rules = [
                ParsedRule.parse(i, rule, features, action_names, kind.own_columns)
                for i, rule in enumerate(data["rules"])
            ]
            return kind._from_rules(rules, features, action_names, data)
        except KeyError as missing:
            raise RuleError(f"a ruleset of kind {data['kind']!r} needs {missing}.") from None
        except (TypeError, AttributeError) as wrong:
            raise RuleError(f"a ruleset must be plain data as to_dict gives it: {wrong}.") from None

    @classmethod
    def _from_rules(
        cls,
        rules: list[ParsedRule],
        features: tuple[Feature, ...],
        action_names: tuple[str, ...],
        data: Mapping[str, Any],
    ) -> RuleSet:
        """Build this kind of ruleset from parsed rules and the whole plain `data`.

        Constructors take `own_columns` and then `own_settings`, in that order, after what every ruleset has.
        """
        return cls(
            [rule.bounds for rule in rules],
            [rule.action for rule in rules],
            features,
            action_names,
            *([rule.extras[name] for rule in rules] for name in cls.own_columns),
            *(data[name] for name in cls.own_settings),
        )

    # What follows reads a ruleset in ways that know tasks, which rules do not: hence imports inside.

    def explain(
        self, observation: ArrayLike | Mapping[str, float], task: AnyTask | None = None
    ) -> Explanation:
        """Say which rule decides at an observation, why the others lost, and what would change the action.

        See `ifthen.explain.why.explain`.
        """
        from ifthen.explain.why import explain

        return explain(self, observation, task)

    def read(self, task: AnyTask | None = None) -> Reading:
        """Return the rules ordered for reading, with the share of states that each decides.

        See `ifthen.explain.words.read_rules`.
        """
        from ifthen.explain.words import read_rules

        return read_rules(self, task)

    def verify(self, task: AnyTask | None = None, require: str | Sequence[str] = ()) -> Verification:
        """Check what holds of the rules, with a witness for everything that is found.

        See `ifthen.explain.verify.verify`.
        """
        from ifthen.explain.verify import verify

        return verify(self, task, require)

    def simplify(self, task: AnyTask | None = None, intervals: Intervals = "short") -> Simplified:
        """Return fewer and shorter rules of the same kind that choose the same.

        See `ifthen.explain.fewer.simplify.simplify`.
        """
        from ifthen.explain.fewer.simplify import simplify

        return simplify(self, task, intervals)

    def to_decision_list(self, task: AnyTask | None = None) -> DecisionList:
        """Return a short decision list that chooses the same.

        See `ifthen.explain.fewer.simplify.as_decision_list`.
        """
        from ifthen.explain.fewer.simplify import as_decision_list

        return as_decision_list(self, task)

    def export(self, format: str, task: AnyTask | None = None) -> str:
        """Return the rules as code, table, diagram or data; see `ifthen.explain.export.export`."""
        from ifthen.explain.export import export

        return export(self, format, task)

    def to_table(self) -> polars.DataFrame:
        """Return one row per rule: its number, both bounds of each feature, action, and what it carries."""
        import polars

        columns: dict[str, Any] = {"rule": np.arange(1, len(self) + 1)}
        for d, feature in enumerate(self.features):
            columns[f"{feature.name}_low"] = self.bounds[:, d, 0]
            columns[f"{feature.name}_high"] = self.bounds[:, d, 1]
        columns["action"] = [self.action_names[action] for action in self.actions]
        for name, column in self.extra_columns().items():
            columns[name] = column if column.ndim == 1 else column.tolist()
        return polars.DataFrame(columns)
