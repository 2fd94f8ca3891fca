"""RuleSet: one policy as a fixed, readable list of IF-THEN rules.

A RuleSet is what is taken out of a population: immutable arrays with the names that make them
readable. How its rules choose an action is the subclass's part (see `ifthen.rules.kinds`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import refuse_nul
from ifthen.digits import MANY, listed, plural
from ifthen.errors import RuleError, nearest, shown
from ifthen.notebook import Part, Shown
from ifthen.rules import box
from ifthen.rules.arrays import (
    Floats,
    Ints,
    Mask,
    checked_actions,
    checked_bounds,
    checked_observations,
    frozen,
    refuse_unknown,
    rules_from_data,
)
from ifthen.rules.comparison import Comparison, Scoring
from ifthen.rules.feature import Feature, cyclic_ones, whole_box
from ifthen.rules.term import coefficients, fitted_to, formula, has_own_name, with_terms
from ifthen.text_table import TextTable

if TYPE_CHECKING:
    import polars

FORMAT, VERSION = "ifthen-ruleset", 1
NULL_ACTION = -1
"""What a ruleset answers where none of its rules matches."""


class RuleSet(Shown, ABC):
    """Rules over named features, each proposing one named action.

    Args:
        bounds: the conditions, `(rules, features, 2)`; the two bounds in any order, both included. Of a
            cyclic feature the first is where the interval begins: it wraps where it ends at a smaller value.
        actions: the actions, `(rules,)`, as indices into `action_names`.
        features: name and range of each feature: those that are observed, then the terms that the ruleset
            makes of them (`ifthen.term`), if any. It is asked with what is observed alone.
        action_names: one name per action of the task.
    """

    kind: ClassVar[str]
    how: ClassVar[str]
    """How the rules choose, as one sentence."""
    ordered: ClassVar[bool] = False
    """Whether the first rule that matches decides. Such rules do the same at every point between two
    neighbouring ends of intervals; other rules compare numbers that change from point to point."""
    votes: ClassVar[bool] = False
    """Whether several rules decide together."""
    wins: ClassVar[str]
    """What a rule does that beats another one where both match, such as "comes first"."""
    overlap: ClassVar[str]
    """How the rules settle an overlap, as one sentence."""
    notes_title: ClassVar[str] = ""
    """What `rule_notes` gives, in words; "" where rules have no notes."""
    weight_name: ClassVar[str] = ""
    """What `rule_weights` gives: "strength", "fitness" or, in a decision list, ""."""
    own_columns: ClassVar[Mapping[str, str]] = {}
    """What each rule carries besides condition and action: the name in files and tables, the attribute."""
    own_settings: ClassVar[tuple[str, ...]] = ()
    """Attributes of the whole ruleset, in files under the same name."""
    kinds: ClassVar[dict[str, type[RuleSet]]] = {}

    def __init_subclass__(cls) -> None:
        RuleSet.kinds[cls.kind] = cls

    def __init__(
        self, bounds: ArrayLike, actions: ArrayLike, features: Sequence[Feature], action_names: Sequence[str]
    ) -> None:
        all_features = tuple(features)
        if not all(isinstance(feature, Feature) for feature in all_features):
            raise RuleError(f"features must be Feature objects, such as task.features, not {features!r}.")
        self.action_names = tuple(str(name) for name in action_names)
        for label, names in (
            ("feature", [f.name for f in all_features]),
            ("action", list(self.action_names)),
        ):
            if not names or len(set(names)) != len(names):
                raise RuleError(
                    f"{label} names must be given and differ from each other, not {shown(names)}."
                )
        refuse_nul("an action's name", self.action_names, RuleError)
        self.features = fitted_to(all_features)
        if self.terms and not self.ordered:
            raise RuleError(
                f"only decision lists may have terms: rules of kind {self.kind!r} have weights for features."
            )
        self._coefficients = frozen(coefficients(self.features))
        self.bounds = frozen(self._ordered(checked_bounds(bounds, self.features)))
        self.actions = frozen(checked_actions(actions, len(self.bounds), self.action_names))

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__:
            raise AttributeError(f"a ruleset cannot be changed: make a new one with other {name}")
        super().__setattr__(name, value)

    def _ordered(self, bounds: NDArray[Any]) -> NDArray[Any]:
        """Return conditions with the smaller bound first, unless they wrap and leave something out."""
        ordered = box.decode(bounds, cyclic_ones(self.features))
        for r, d in np.argwhere(ordered[..., 0] > ordered[..., 1]).tolist():
            if not self.features[d].leaves_out(*ordered[r, d].tolist()):
                ordered[r, d] = self.features[d].low, self.features[d].high
        return ordered

    def unwrapped(self) -> tuple[Self, Ints]:
        """Return rules that choose the same and do not wrap, and which rule, from 0, each is a part of.

        A rule that wraps becomes two, on both sides of the end of the range, for each interval that does.
        They never match together, so that rules of any kind choose the same.
        """
        if not (self.bounds[..., 0] > self.bounds[..., 1]).any():
            return self, np.arange(len(self))
        bounds, origins = box.without_wraps(self.bounds, self.features)
        return self._with_conditions(bounds, origins), origins

    @property
    def terms(self) -> tuple[Feature, ...]:
        """The features that the ruleset makes of others."""
        return tuple(feature for feature in self.features if feature.is_term)

    @property
    def observed_features(self) -> tuple[Feature, ...]:
        """The features of the task: all but terms. Observations have one value for each."""
        return self.features[: len(self.features) - len(self.terms)]

    @property
    def tests(self) -> int:
        """How many comparisons the rules make: the ends of intervals inside the features' ranges.

        "x ≤ 3" is one, "x in [1, 3]" two, and "x = 2" one.
        """
        inside = self.bounds != whole_box(self.features)
        one_value = inside.all(axis=2) & (self.bounds[..., 0] == self.bounds[..., 1])
        return int(inside.sum() - one_value.sum())

    @property
    def tested(self) -> tuple[str, ...]:
        """The observed features that decide: those that rules test, themselves or in a term.

        Where rules have weights for features, these are all features.
        """
        names = [feature.name for feature in self.observed_features]
        if "weights" in self.own_columns:
            return tuple(names)
        speaks = (self.bounds != whole_box(self.features)).any(axis=(0, 2))
        used = speaks[: len(names)] | (self._coefficients[speaks[len(names) :]] != 0).any(axis=0)
        return tuple(name for name, is_used in zip(names, used, strict=True) if is_used)

    def choose(self, observations: ArrayLike) -> tuple[Ints, Ints]:
        """Return the action and the deciding rule, each `(n,)`, for observations `(n, observed features)`.

        Both are −1 where no rule matches.
        """
        batch = self.checked_observations(observations)
        return self.decide(self._matching(batch), batch)

    @abstractmethod
    def decide(self, matching: Mask, observations: Floats) -> tuple[Ints, Ints]:
        """Return what `choose` would if the rules `(n, rules)` marked in `matching` were those that match."""

    @abstractmethod
    def beats(self, rule: int, matching: Mask, observations: Floats) -> Mask:
        """Return which of the rules marked in `matching` beat `rule` at each observation: `(n, rules)`."""

    @property
    def scoring(self) -> Scoring | None:
        """The numbers that rules compare, for code in any language; None where the order of rules decides."""
        return None

    def best_actions(self, points: Floats) -> Ints:
        """Return the actions `(n,)` that `choose` gives, without the rules that decide.

        Args:
            points: `(n, observed features)`, inside the features' ranges.
        """
        return self.choose(points)[0]

    def comparison(self, observation: ArrayLike) -> Comparison | None:
        """Say how the rules that match one observation `(features,)` compared; None where none matches."""
        point = self.checked_observations(observation)
        matching = self.matches(point)
        winner = int(self.decide(matching, point)[1][0])
        return None if winner < 0 else self._compared(np.flatnonzero(matching[0]), winner, point)

    @abstractmethod
    def _compared(self, matching: Ints, winner: int, point: Floats) -> Comparison:
        """Say how matching rules, by number, compared at a point `(1, features)` where `winner` decides."""

    def predict(self, observation: ArrayLike) -> Any:
        """Return the action for one observation `(features,)`, or `(n,)` actions for `(n, features)`.

        `NULL_ACTION` (−1) stands where no rule matches.
        """
        actions, _ = self.choose(observation)
        return actions if np.ndim(observation) == 2 else int(actions[0])

    def matches(self, observation: ArrayLike) -> Mask:
        """Return which rules match: `(rules,)` for one observation, `(n, rules)` for a batch."""
        out = self._matching(self.checked_observations(observation))
        return out if np.ndim(observation) == 2 else out[0]

    def _matching(self, batch: Floats) -> Mask:
        out = np.empty((len(batch), len(self)), dtype=np.bool_)
        box.matches(self.bounds, self.with_terms(batch), out)
        return out

    def with_terms(self, points: Floats) -> Floats:
        """Return points `(n, observed features)` in their ranges with the values of all terms behind."""
        return with_terms(self._coefficients, points)

    def checked_observations(self, observation: ArrayLike) -> Floats:
        """Return one observation or a batch as `(n, observed features)`, clipped or refused by their kind."""
        return checked_observations(observation, self.observed_features)

    def subset(self, rules: ArrayLike) -> Self:
        """Return a ruleset of some of the rules only, given by number from 0, in the order given."""
        numbers = np.asarray(rules)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or not len(numbers):
            raise RuleError(f"a subset needs the numbers of some rules, not {rules!r}.")
        if numbers.min() < 0 or numbers.max() >= len(self):
            raise RuleError(f"the rules are numbered 0 to {len(self) - 1}, not {rules!r}.")
        return self._with_conditions(self.bounds[numbers], numbers)

    def with_bounds(self, bounds: ArrayLike) -> Self:
        """Return the same rules with other conditions, `(rules, features, 2)`."""
        return self._with_conditions(bounds, np.arange(len(self)))

    def renamed(self, features: Sequence[Feature], action_names: Sequence[str]) -> Self:
        """Return the same rules with other names.

        Args:
            features: what is observed, in the same order and with the same ranges, `(observed features,)`.
            action_names: one per action, in the same order.
        """
        names = {old.name: new.name for old, new in zip(self.observed_features, features, strict=True)}
        terms = []
        for old in self.terms:
            new = replace(old, of=tuple((names[addend], c) for addend, c in old.of))
            terms.append(new if has_own_name(old) else replace(new, name=formula(new)))
        extras = (*self.extra_columns().values(), *self.settings().values())
        return type(self)(self.bounds, self.actions, (*features, *terms), action_names, *extras)

    def without_unused_terms(self) -> Self:
        """Return the same rules without the terms that none of them restricts."""
        full_box = whole_box(self.features)
        used = (self.bounds != full_box).any(axis=(0, 2)) | [not feature.is_term for feature in self.features]
        if used.all():
            return self
        features = tuple(feature for feature, needed in zip(self.features, used, strict=True) if needed)
        extras = (*self.extra_columns().values(), *self.settings().values())
        return type(self)(self.bounds[:, used], self.actions, features, self.action_names, *extras)

    def _with_conditions(self, bounds: ArrayLike, rules: NDArray[Any]) -> Self:
        """Return a ruleset of the same kind with these conditions, and the rest of rules given by number."""
        columns = (column[rules] for column in self.extra_columns().values())
        extras = (*columns, *self.settings().values())
        return type(self)(bounds, self.actions[rules], self.features, self.action_names, *extras)

    def __len__(self) -> int:
        return len(self.actions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleSet):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.bounds.tobytes(), self.actions.tobytes()))

    def __repr__(self) -> str:
        names = listed([feature.name for feature in self.features], MANY)
        return f"<{type(self).__name__}: {len(self)} rules over {names}>"

    def __str__(self) -> str:
        digits, lines = len(str(len(self))), self.terms_in_words()
        for r in range(len(self)):
            notes = self.rule_notes(r)
            lines.append(f"{r + 1:>{digits}}. {self.rule_in_words(r)}" + (f"  ({notes})" if notes else ""))
        return "\n".join(lines)

    def shown_parts(self) -> list[Part]:
        """Return how the rules choose, and a table of them."""
        rows = ((str(r + 1), self.rule_in_words(r), self.rule_notes(r)) for r in range(len(self)))
        table = TextTable("", ("#", "rule", self.notes_title), tuple(rows))
        return [f"{plural(len(self), 'rule')}. {self.how}", *self.terms_in_words(), table.without_empty([""])]

    def terms_in_words(self) -> list[str]:
        """Return what the terms with names of their own add up: "LET tilt error = 0.5·x − angle"."""
        return [f"LET {term.name} = {formula(term)}" for term in self.terms if has_own_name(term)]

    def rule_in_words(self, rule: int) -> str:
        """Return rule number `rule` (from 0): IF … THEN …, or OTHERWISE … or ALWAYS … without a condition."""
        head, action = self.head_in_words(rule), self.action_of(rule)
        return f"{head} THEN {action}" if head.startswith("IF ") else f"{head} {action}"

    def head_in_words(self, rule: int) -> str:
        """Return "IF x ≤ 3"; without a condition OTHERWISE after other rules in order, else ALWAYS."""
        condition = self.condition_in_words(rule)
        if condition:
            return f"IF {condition}"
        return "OTHERWISE" if self.ordered and rule > 0 else "ALWAYS"

    def condition_in_words(self, rule: int) -> str:
        """Return the condition of rule number `rule` (from 0), such as "x ≤ 3 AND y in [2, 5]".

        It leaves out features without restriction, and is "" where the rule matches everything.
        """
        intervals = zip(self.features, self.bounds[rule].tolist(), strict=True)
        words = (feature.interval_in_words(low, high) for feature, (low, high) in intervals)
        return " AND ".join(filter(None, words))

    def action_of(self, rule: int) -> str:
        """Return the name of the action that rule number `rule` (from 0) proposes."""
        return self.action_names[int(self.actions[rule])]

    def rule_notes(self, rule: int) -> str:
        """Return what a reader should know of rule number `rule` besides; `notes_title` says what it is."""
        return ""

    def rule_weights(self) -> Floats | None:
        """Return each rule's weight beside others, `(rules,)`; `weight_name` says what it is."""
        return None

    def extra_columns(self) -> dict[str, Floats]:
        """Return what each rule carries besides, by the names in `own_columns`: arrays `(rules, …)`."""
        return {name: getattr(self, attribute) for name, attribute in self.own_columns.items()}

    def settings(self) -> dict[str, Any]:
        """Return the ruleset's own settings as plain data, by the names in `own_settings`."""
        return {name: getattr(self, name) for name in self.own_settings}

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
    def of_kind(name: Any) -> type[RuleSet]:
        """Return the kind of rulesets of a name, or raise with the nearest one."""
        import ifthen.rules.kinds  # noqa: F401  # the kinds of rulesets register themselves there

        if not isinstance(name, str) or name not in RuleSet.kinds:
            shown_name = name[:60] if isinstance(name, str) else name
            raise RuleError(
                f"unknown kind of ruleset {shown_name!r}.{nearest(str(shown_name), RuleSet.kinds)}"
            )
        return RuleSet.kinds[name]

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> RuleSet:
        """Build a ruleset from `to_dict`'s plain data.

        A feature left out of a rule is unrestricted. Data may also name a task, which is not looked up.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise RuleError(f"a ruleset must be an object with format {FORMAT!r}, as to_dict gives it.")
        if data.get("version") != VERSION:
            raise RuleError(f"the ruleset has version {data.get('version')!r}; this ifthen reads {VERSION}.")
        kind = RuleSet.of_kind(data.get("kind"))
        known_names = (
            "format",
            "version",
            "task",
            "kind",
            "features",
            "actions",
            "rules",
            *kind.own_settings,
        )
        refuse_unknown("the ruleset", data, known_names)
        try:
            features = fitted_to([Feature.from_dict(feature) for feature in data["features"]])
            action_names = tuple(str(name) for name in data["actions"])
            rules = rules_from_data(data["rules"], features, action_names, tuple(kind.own_columns))
            columns = ([rule[name] for rule in data["rules"]] for name in kind.own_columns)
            settings = (data[name] for name in kind.own_settings)
            return kind(*rules, features, action_names, *columns, *settings)
        except KeyError as missing:
            raise RuleError(f"a ruleset of kind {kind.kind!r} needs {missing}.") from None
        except (TypeError, AttributeError) as error:
            raise RuleError(f"a ruleset must be plain data as to_dict gives it: {error}.") from None

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


class HasRules(Protocol):
    """What holds a ruleset, such as a trained system."""

    @property
    def ruleset(self) -> RuleSet:
        """The rules."""


PolicyLike = RuleSet | HasRules
"""What users may give for a policy: a ruleset, or what holds one."""
PolicyOrActions = PolicyLike | ArrayLike
"""The same or, on a table, the action in every state, `(S,)`."""
