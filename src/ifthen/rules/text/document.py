"""A text with rules: a short head, then one rule per line.

    kind: decision-list
    task: FrozenLake-8-0.3
    feature x: 0 to 7
    feature speed: -0.07 to 0.07 real, m/s
    actions: Left, Down, Right, Up

    LET pace = 2*speed - 0.01*x
    1. IF x ≤ 3 AND 0 <= speed <= 0.05 THEN Down
    2. IF pace ≥ 0.1 THEN Up
    3. OTHERWISE Left

What follows a # is a comment. Numbers before rules are for readers: the order of the lines counts. The time
to read a text is proportional to its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ifthen.errors import RuleError, nearest
from ifthen.rules.arrays import check_size
from ifthen.rules.feature import Feature
from ifthen.rules.kinds import DecisionList
from ifthen.rules.ruleset import FORMAT, VERSION, RuleSet
from ifthen.rules.text.rule import ReadRule, RuleReader
from ifthen.rules.text.scan import QUOTED, Scanner, feature_in, names_in, without_comment

TEXT_LIMIT = 2 * 2**20
"""A text of rules has at most this many characters."""
RULES_LIMIT = 100_000
"""A text has at most this many rules."""
LINE_LIMIT = 100_000
"""A line has at most this many characters."""
HEAD = re.compile(
    rf"\s*(?:(feature)\s+({QUOTED.pattern}\s*|[^\s\":][^\":]*)|(\w+)\s*):(.*)", re.IGNORECASE | re.DOTALL
)
RULE_START = re.compile(
    r"\s*(?:[-*•]\s+)?(?:\d+\s*[.):]\s*)?(?:if|always|otherwise|else|default)\b", re.IGNORECASE
)
TERM_START = re.compile(r"\s*let\b", re.IGNORECASE)
IGNORED = re.compile(r"\s*(?:#.*|```\w*\s*|---+\s*|)", re.DOTALL)
SETTINGS = sorted({setting for kind in RuleSet.kinds.values() for setting in kind.own_settings})
IN_HEAD = "write for example {!r} in the head, or give a task."
MOST_MISTAKES = 5


class RulesText:
    """What the text says before its rules, and the lines of its rules."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise RuleError(f"rules must be given as a text, not {type(text).__name__}.")
        if len(text) > TEXT_LIMIT:
            raise RuleError(f"the text has {len(text):,} characters; at most {TEXT_LIMIT:,} are read.")
        self.features: list[Feature] = []
        self.actions: list[str] | None = None
        self.task: str | None = None
        self.kind: str | None = None
        self.settings: dict[str, float] = {}
        self._task_line = 0
        self._seen_keys: set[str] = set()
        self._lines: list[tuple[int, str]] = []
        self._terms: list[tuple[int, str]] = []
        self._in_rules = self._head_has_mistakes = False
        self._mistakes: dict[int, str] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if len(line) > LINE_LIMIT:
                raise RuleError(
                    f"line {number} has {len(line):,} characters; at most {LINE_LIMIT:,} are read."
                )
            if not IGNORED.fullmatch(line):
                self._take_line(number, without_comment(line))
                self._raise_mistakes(MOST_MISTAKES)

    def _take_line(self, number: int, line: str) -> None:
        """Take in one line, of the head or of the rules."""
        begins_rule = RULE_START.match(line)
        self._in_rules = self._in_rules or begins_rule is not None
        if not begins_rule and TERM_START.match(line):
            self._terms.append((number, line))
            if self._in_rules:
                self._mistakes[number] = "LET belongs before the first rule."
            return
        head_match = None if begins_rule else HEAD.fullmatch(line)
        if head_match is None:
            self._lines.append((number, line))
            return
        key = (head_match[1] or head_match[3]).lower()
        try:
            self._read_head_line(number, key, head_match[2], head_match[4].strip())
        except RuleError as problem:
            self._mistakes[number] = str(problem)
            self._head_has_mistakes = self._head_has_mistakes or key not in ("kind", *SETTINGS)

    def _raise_mistakes(self, at_least: int = 1) -> None:
        """Raise the mistakes in the order of their lines, where there are `at_least` that many."""
        if len(self._mistakes) < at_least:
            return
        lines = [f"line {number}: {problem}" for number, problem in sorted(self._mistakes.items())]
        stopped = ", and reading stopped there" if len(lines) >= MOST_MISTAKES else ""
        message = [f"{len(lines)} mistakes{stopped}:", *(f"  {line}" for line in lines)]
        raise RuleError("\n".join(message) if len(lines) > 1 else lines[0])

    def _read_head_line(self, number: int, key: str, name: str | None, value: str) -> None:
        """Take in one line of the head."""
        if self._in_rules:
            raise RuleError(f"{key!r} belongs in the head, before the first rule.")
        if name is None and key in self._seen_keys:
            raise RuleError(f"{key!r} was said before.")
        self._seen_keys.add(key)
        if name is not None:
            self.features.append(feature_in(name, value))
        elif key == "kind":
            self.kind = RuleSet.of_kind(value.lower()).kind
        elif key == "task":
            self.task, self._task_line = names_in(value)[0], number
        elif key == "actions":
            self.actions = names_in(value)
        elif key in SETTINGS:
            scanner = Scanner(value)
            self.settings[key] = scanner.number()
            if scanner.following():
                raise RuleError(f"expected one number, not also {scanner.rest()}.")
        else:
            valid_keys = ("kind", "task", "feature", "actions", *SETTINGS)
            raise RuleError(f"unknown word {key!r} in the head.{nearest(key, valid_keys)}")

    def ruleset(
        self,
        features: Sequence[Feature] | None,
        action_names: Sequence[str] | None,
        kind: str | None,
        look_up: Callable[[str], Any],
    ) -> RuleSet:
        """Return the ruleset.

        Args:
            features: of the rules, where the head does not give them.
            action_names: of the rules, where the head does not give them.
            kind: of the ruleset; a decision list where neither this nor the head says.
            look_up: returns the task of a name, for features and action names that are still missing, or
                raises.
        """
        if self._head_has_mistakes or not self._lines:
            self._raise_mistakes()  # else every rule could look wrong
        kind_name = _agreed("kind", self.kind, kind and RuleSet.of_kind(kind).kind) or DecisionList.kind
        known_features, known_actions = self._features_and_actions(features, action_names, look_up)
        if not self._lines:
            raise RuleError("there is no rule: write lines such as 'IF x <= 3 THEN Left'.")
        data: dict[str, Any] = {"format": FORMAT, "version": VERSION, "kind": kind_name, **self.settings}
        reader = RuleReader(known_features, known_actions)
        data["rules"] = self._rules(RuleSet.kinds[kind_name], reader)
        data |= {
            "features": [feature.to_dict() for feature in reader.features],
            "actions": list(known_actions),
        }
        return RuleSet.from_dict(data)

    def _rules(self, kind: type[RuleSet], reader: RuleReader) -> list[dict[str, Any]]:
        """Return the rules as plain data, or raise their mistakes; terms go to the reader's features."""
        if len(self._lines) > RULES_LIMIT:
            raise RuleError(
                f"the text has {len(self._lines):,} rules; at most {RULES_LIMIT:,} are read, or more as JSON."
            )
        check_size(len(self._lines), len(reader.features))
        for number, line in self._terms:
            try:
                reader.define(line)
            except RuleError as problem:
                self._mistakes[number] = str(problem)
        if self._terms:
            self._raise_mistakes()  # else every rule that speaks of a term could look wrong
        kind_is_sure, rules, actions = not self._mistakes, list[dict[str, Any]](), reader.actions
        for number, line in self._lines:
            try:
                rule = reader.read(line)
                condition = {reader.features[d].name: ends for d, ends in rule.bounds.items()}
                carried = _extras_of(rule, kind, len(reader.features)) if kind_is_sure else {}
                rules.append({"if": condition, "then": actions[rule.action], **carried})
            except RuleError as problem:
                self._mistakes[number] = str(problem)
            self._raise_mistakes(MOST_MISTAKES)
        self._raise_mistakes()
        return rules

    def _features_and_actions(
        self,
        features: Sequence[Feature] | None,
        action_names: Sequence[str] | None,
        look_up: Callable[[str], Any],
    ) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
        """Return features and actions: those of the head or given, or else those of the task in the head."""
        known_features = _agreed("features", tuple(self.features) or None, features and tuple(features))
        known_actions = _agreed(
            "actions", self.actions and tuple(self.actions), action_names and tuple(action_names)
        )
        if self.task is not None and not (known_features and known_actions):
            try:
                task = look_up(self.task)
            except RuleError as problem:
                raise RuleError(f"line {self._task_line}: {problem}") from None
            known_features, known_actions = (
                known_features or task.features,
                known_actions or task.action_names,
            )
        if not known_features:
            raise RuleError("the features are not known: " + IN_HEAD.format("feature x: 0 to 7"))
        if not known_actions:
            raise RuleError("the actions are not known: " + IN_HEAD.format("actions: Left, Right"))
        return tuple(known_features), tuple(known_actions)


def _extras_of(rule: ReadRule, kind: type[RuleSet], features: int) -> dict[str, Any]:
    """Return what a rule carries besides, or raise where that is not what its kind needs."""
    for name in rule.extras:
        if name not in kind.own_columns:
            hint = nearest(name, kind.own_columns) if kind.own_columns else " Such rules carry no numbers."
            raise RuleError(f"a rule of kind {kind.kind!r} has no {name!r}.{hint}")
    columns: dict[str, Any] = {}
    for name in kind.own_columns:
        n_expected = features + 1 if name == "weights" else 1
        numbers = rule.extras.get(name, [])
        if len(numbers) != n_expected:
            raise RuleError(
                f"a rule of kind {kind.kind!r} needs '| {name}' with {n_expected} "
                f"number{'s' if n_expected > 1 else ''} after its action, not {len(numbers)}."
            )
        columns[name] = numbers if name == "weights" else numbers[0]
    return columns


def _in_words(names: Any) -> list[str]:
    """Return a kind, names of actions, or features with their ranges, in short."""
    items = [names] if isinstance(names, str) else names
    return [
        f"{item.name} {item.low} to {item.high} {item.kind}" if isinstance(item, Feature) else item
        for item in items
    ]


def _agreed(label: str, in_head: Any, passed: Any) -> Any:
    """Return what the head says or what was given, or raise where these are two things."""
    if in_head and passed and in_head != passed:
        texts = [", ".join(_in_words(value)) for value in (in_head, passed)]
        raise RuleError(f"the text says other {label} than were given: {texts[0]}, not {texts[1]}.")
    return in_head or passed
