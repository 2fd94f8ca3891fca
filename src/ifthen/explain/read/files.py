"""Rulesets from files and from text that people write: a short head, then one rule per line.

    kind: decision-list
    task: FrozenLake-8-0.3
    feature x: 0 to 7
    feature speed: -0.07 to 0.07 real, m/s
    actions: Left, Down, Right, Up

    1. IF x ≤ 3 AND 0 <= speed <= 0.05 THEN Down
    2. OTHERWISE Left

Lines that begin with # are comments. Numbers before rules are for readers: the order of the lines counts.
Nothing that is read is ever executed, and sizes are bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ifthen.errors import RuleError, nearest
from ifthen.explain.read.rule import ReadRule, read_rule
from ifthen.explain.read.scan import QUOTED, Scanner, feature_in, names_in
from ifthen.inference import DecisionList
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import FORMAT, VERSION, RuleSet
from ifthen.store import JSON_LIMIT
from ifthen.tasks.names import PAPER_TASKS, TABULAR_ENVIRONMENTS, task_by_name
from ifthen.tasks.tabular import TabularTask

TEXT_LIMIT = 8 * 2**20
LINE_LIMIT = 100_000
SUFFIXES = (".json", ".txt", ".md")
HEAD = re.compile(rf"\s*(?:(feature)\s+({QUOTED.pattern}|[^\":]+)|(\w+)\s*):(.*)", re.IGNORECASE | re.DOTALL)
RULE_START = re.compile(
    r"\s*(?:[-*•]\s+)?(?:\d+\s*[.):]\s*)?(?:if|always|otherwise|else|default)\b", re.IGNORECASE
)
IGNORED = re.compile(r"\s*(?:#.*|```\w*\s*|---+\s*|)", re.DOTALL)


def read_ruleset(path: str | Path, task: TabularTask | None = None) -> tuple[RuleSet, str | None]:
    """Return the ruleset in a file, and the name of the task that the file says it is for, if any.

    Args:
        path: `.json`, as `to_dict` gives it, or `.txt` or `.md`, as `rules_text` and people write it.
        task: gives features and actions where the text says none; without it, the task that the text names,
            if it is one of the paper's or of Gymnasium's.
    """
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        raise RuleError(f"rules are read from files that end with {', '.join(SUFFIXES)}, not {file.name!r}.")
    text = _file_text(file, JSON_LIMIT if file.suffix.lower() == ".json" else TEXT_LIMIT)
    try:
        if file.suffix.lower() == ".json":
            data = _json(text)
            named = data.get("task") if isinstance(data, dict) else None
            return RuleSet.from_dict(data), named if isinstance(named, str) else None
        head = _Head(text)
        named = (
            head.task if head.task in (*PAPER_TASKS, *TABULAR_ENVIRONMENTS) and not head.features else None
        )
        given = task_by_name(named) if task is None and named else task
        features, actions = (None, None) if given is None else (given.features, given.action_names)
        return head.ruleset(features, actions, None), head.task
    except (RuleError, OverflowError) as problem:
        raise RuleError(f"{path}: {problem}") from None


def parse_rules(
    text: str,
    features: Sequence[Feature] | None = None,
    action_names: Sequence[str] | None = None,
    kind: str | None = None,
) -> RuleSet:
    """Return the ruleset that a text describes, or raise naming the line, what was expected and what came.

    Args:
        text: the rules, one per line, with or without a head.
        features: of the task; needed where the head names none.
        action_names: of the task; needed where the head names none.
        kind: of the ruleset; a decision list where neither this nor the head says.
    """
    return _Head(text).ruleset(features, action_names, kind)


def _file_text(file: Path, limit: int) -> str:
    """Return a file's text, never reading more than the limit."""
    try:
        with file.open("rb") as opened:
            data = opened.read(limit + 1)
    except OSError as problem:
        raise RuleError(f"cannot read {file}: {problem.strerror or problem}.") from None
    if len(data) > limit:
        raise RuleError(f"{file} is larger than {limit:,} bytes, which is more than rules need.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RuleError(f"{file} is not text in UTF-8.") from None


def _json(text: str) -> Any:
    """Return JSON data, or raise where it is none or holds NaN."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not allowed")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as problem:
        raise RuleError(f"this is not valid JSON ({problem}).") from None


class _Head:
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
        self._seen: set[str] = set()
        self._lines: list[tuple[int, str]] = []
        for number, line in enumerate(text.splitlines(), start=1):
            if len(line) > LINE_LIMIT:
                raise RuleError(
                    f"line {number} has {len(line):,} characters; at most {LINE_LIMIT:,} are read."
                )
            if IGNORED.fullmatch(line):
                continue
            found = None if RULE_START.match(line) else HEAD.fullmatch(line)
            if found is None:
                self._lines.append((number, line))
                continue
            try:
                self._read(found[1] or found[3], found[2], found[4].strip())
            except RuleError as problem:
                raise RuleError(f"line {number}: {problem}") from None

    def _read(self, word: str, name: str | None, value: str) -> None:
        """Take in one line of the head."""
        key = word.lower()
        settings = {setting for kind in RuleSet.kinds.values() for setting in kind.own_settings}
        if self._lines:
            raise RuleError(f"{key!r} belongs in the head, before the first rule.")
        if name is None and key in self._seen:
            raise RuleError(f"{key!r} was said before.")
        self._seen.add(key)
        if name is not None:
            self.features.append(feature_in(name, value))
        elif key == "kind":
            self.kind = value.lower()
        elif key == "task":
            self.task = names_in(value)[0]
        elif key == "actions":
            self.actions = names_in(value)
        elif key in settings:
            scanner = Scanner(value)
            self.settings[key] = scanner.number()
            if scanner.following():
                raise RuleError(f"expected one number, not also {scanner.rest()}.")
        else:
            known = ("kind", "task", "feature", "actions", *sorted(settings))
            raise RuleError(f"unknown word {key!r} in the head.{nearest(key, known)}")

    def ruleset(
        self, features: Sequence[Feature] | None, action_names: Sequence[str] | None, kind: str | None
    ) -> RuleSet:
        """Return the ruleset, given what the head may leave out."""
        own_features = _agreed("features", tuple(self.features) or None, features and tuple(features))
        own_actions = _agreed(
            "actions", self.actions and tuple(self.actions), action_names and tuple(action_names)
        )
        name = _agreed("kind", self.kind, kind) or DecisionList.kind
        if name not in RuleSet.kinds:
            raise RuleError(f"unknown kind of ruleset {name!r}.{nearest(name, RuleSet.kinds)}")
        for what, value, example in (
            ("features", own_features, "feature x: 0 to 7"),
            ("actions", own_actions, "actions: Left, Right"),
        ):
            if not value:
                raise RuleError(
                    f"the {what} are not known: write for example {example!r} in the head, or give a task."
                )
        if not self._lines:
            raise RuleError("there is no rule: write lines such as 'IF x <= 3 THEN Left'.")
        rules = [_rule(number, line, own_features, own_actions) for number, line in self._lines]
        return self._built(RuleSet.kinds[name], rules, own_features, own_actions)

    def _built(
        self, kind: type[RuleSet], rules: list[ReadRule], features: Sequence[Feature], actions: Sequence[str]
    ) -> RuleSet:
        """Return the ruleset made of rules that were read."""
        data: dict[str, Any] = {"format": FORMAT, "version": VERSION, "kind": kind.kind, **self.settings}
        data |= {"features": [feature.to_dict() for feature in features], "actions": list(actions)}
        data["rules"] = [
            {
                "if": {f.name: ends for f, ends in zip(features, rule.bounds, strict=True)},
                "then": actions[rule.action],
                **_carried(number, rule, kind, len(features)),
            }
            for (number, _), rule in zip(self._lines, rules, strict=True)
        ]
        return RuleSet.from_dict(data)


def _rule(number: int, line: str, features: Sequence[Feature], actions: Sequence[str]) -> ReadRule:
    """Return the rule on a line, or raise naming the line."""
    try:
        return read_rule(line, features, actions)
    except RuleError as problem:
        raise RuleError(f"line {number}: {problem}") from None


def _carried(number: int, rule: ReadRule, kind: type[RuleSet], features: int) -> dict[str, Any]:
    """Return what a rule carries besides, or raise where that is not what its kind needs."""
    for name in rule.extras:
        if name not in kind.own_columns:
            carried = nearest(name, kind.own_columns) if kind.own_columns else " Such rules carry no numbers."
            raise RuleError(f"line {number}: a rule of kind {kind.kind!r} has no {name!r}.{carried}")
    carries: dict[str, Any] = {}
    for name in kind.own_columns:
        wanted = features + 1 if name == "weights" else 1
        numbers = rule.extras.get(name, [])
        if len(numbers) != wanted:
            raise RuleError(
                f"line {number}: a rule of kind {kind.kind!r} needs '| {name}' with {wanted} "
                f"number{'s' if wanted > 1 else ''} after its action, not {len(numbers)}."
            )
        carries[name] = numbers if name == "weights" else numbers[0]
    return carries


def _agreed(what: str, written: Any, given: Any) -> Any:
    """Return what the head says or what was given, or raise where these are two things."""
    if written and given and written != given:
        raise RuleError(f"the text says other {what} than were given: {written!r} and {given!r}.")
    return written or given
