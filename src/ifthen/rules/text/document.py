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
        self._seen: set[str] = set()
        self._lines: list[tuple[int, str]] = []
        self._terms: list[tuple[int, str]] = []
        self._rules_began = self._names_unsure = False
        self._mistakes: dict[int, str] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if len(line) > LINE_LIMIT:
                raise RuleError(
                    f"line {number} has {len(line):,} characters; at most {LINE_LIMIT:,} are read."
                )
            if not IGNORED.fullmatch(line):
                self._take(number, without_comment(line))
                self._raise_mistakes(MOST_MISTAKES)

    def _take(self, number: int, line: str) -> None:
        """Take in one line, of the head or of the rules."""
        begins_rule = RULE_START.match(line)
        self._rules_began = self._rules_began or begins_rule is not None
        if not begins_rule and TERM_START.match(line):
            self._terms.append((number, line))
            if self._rules_began:
                self._mistakes[number] = "LET belongs before the first rule."
            return
        found = None if begins_rule else HEAD.fullmatch(line)
        if found is None:
            self._lines.append((number, line))
            return
        key = (found[1] or found[3]).lower()
        try:
            self._read(number, key, found[2], found[4].strip())
        except RuleError as problem:
            self._mistakes[number] = str(problem)
            self._names_unsure = self._names_unsure or key not in ("kind", *SETTINGS)

    def _raise_mistakes(self, at_least: int = 1) -> None:
        """Raise the mistakes in the order of their lines, where there are `at_least` that many."""
        if len(self._mistakes) < at_least:
            return
        lines = [f"line {number}: {problem}" for number, problem in sorted(self._mistakes.items())]
        stopped = ", and reading stopped there" if len(lines) >= MOST_MISTAKES else ""
        told = [f"{len(lines)} mistakes{stopped}:", *(f"  {line}" for line in lines)]
        raise RuleError("\n".join(told) if len(lines) > 1 else lines[0])

    def _read(self, number: int, key: str, name: str | None, value: str) -> None:
        """Take in one line of the head."""
        if self._rules_began:
            raise RuleError(f"{key!r} belongs in the head, before the first rule.")
        if name is None and key in self._seen:
            raise RuleError(f"{key!r} was said before.")
        self._seen.add(key)
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
            known = ("kind", "task", "feature", "actions", *SETTINGS)
            raise RuleError(f"unknown word {key!r} in the head.{nearest(key, known)}")

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
        if self._names_unsure or not self._lines:
            self._raise_mistakes()  # else every rule could look wrong
        name = _agreed("kind", self.kind, kind and RuleSet.of_kind(kind).kind) or DecisionList.kind
        own_features, own_actions = self._named(features, action_names, look_up)
        if not self._lines:
            raise RuleError("there is no rule: write lines such as 'IF x <= 3 THEN Left'.")
        data: dict[str, Any] = {"format": FORMAT, "version": VERSION, "kind": name, **self.settings}
        reader = RuleReader(own_features, own_actions)
        data["rules"] = self._rules(RuleSet.kinds[name], reader)
        data |= {"features": [feature.to_dict() for feature in reader.features], "actions": list(own_actions)}
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
                carried = _carried(rule, kind, len(reader.features)) if kind_is_sure else {}
                rules.append({"if": condition, "then": actions[rule.action], **carried})
            except RuleError as problem:
                self._mistakes[number] = str(problem)
            self._raise_mistakes(MOST_MISTAKES)
        self._raise_mistakes()
        return rules

    def _named(
        self,
        features: Sequence[Feature] | None,
        action_names: Sequence[str] | None,
        look_up: Callable[[str], Any],
    ) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
        """Return features and actions: those of the head or given, or else those of the task in the head."""
        own_features = _agreed("features", tuple(self.features) or None, features and tuple(features))
        own_actions = _agreed(
            "actions", self.actions and tuple(self.actions), action_names and tuple(action_names)
        )
        if self.task is not None and not (own_features and own_actions):
            try:
                task = look_up(self.task)
            except RuleError as problem:
                raise RuleError(f"line {self._task_line}: {problem}") from None
            own_features, own_actions = own_features or task.features, own_actions or task.action_names
        if not own_features:
            raise RuleError("the features are not known: " + IN_HEAD.format("feature x: 0 to 7"))
        if not own_actions:
            raise RuleError("the actions are not known: " + IN_HEAD.format("actions: Left, Right"))
        return tuple(own_features), tuple(own_actions)


def _carried(rule: ReadRule, kind: type[RuleSet], features: int) -> dict[str, Any]:
    """Return what a rule carries besides, or raise where that is not what its kind needs."""
    for name in rule.extras:
        if name not in kind.own_columns:
            carried = nearest(name, kind.own_columns) if kind.own_columns else " Such rules carry no numbers."
            raise RuleError(f"a rule of kind {kind.kind!r} has no {name!r}.{carried}")
    carries: dict[str, Any] = {}
    for name in kind.own_columns:
        wanted = features + 1 if name == "weights" else 1
        numbers = rule.extras.get(name, [])
        if len(numbers) != wanted:
            raise RuleError(
                f"a rule of kind {kind.kind!r} needs '| {name}' with {wanted} "
                f"number{'s' if wanted > 1 else ''} after its action, not {len(numbers)}."
            )
        carries[name] = numbers if name == "weights" else numbers[0]
    return carries


def _in_words(names: Any) -> list[str]:
    """Return a kind, names of actions, or features with their ranges, in short."""
    parts = [names] if isinstance(names, str) else names
    return [f"{p.name} {p.low} to {p.high} {p.kind}" if isinstance(p, Feature) else p for p in parts]


def _agreed(what: str, written: Any, given: Any) -> Any:
    """Return what the head says or what was given, or raise where these are two things."""
    if written and given and written != given:
        both = [", ".join(_in_words(each)) for each in (written, given)]
        raise RuleError(f"the text says other {what} than were given: {both[0]}, not {both[1]}.")
    return written or given
