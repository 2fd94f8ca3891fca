"""Reading rules takes a time that grows with the text, whatever it says."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from ifthen import RuleSet, parse_rules
from ifthen.errors import RuleError

HEAD = "feature x: 0 to 7\nactions: a, b\n"
JSON = {"format": "ifthen-ruleset", "version": 1, "kind": "decision-list"}
MANY = [{"name": f"f{i}", "kind": "integer", "low": 0, "high": 1} for i in range(20_000)]
TESTS = "IF " + "x <= 3 AND " * 9_000 + "x <= 3 THEN a\n"
SECONDS = 10.0


def ruleset(**parts: Any) -> Callable[[], RuleSet]:
    return lambda: RuleSet.from_dict({**JSON, "features": MANY[:1], "actions": ["a"], **parts})


def names(letter: str, n: int) -> list[str]:
    return [f"{letter}{i}" for i in range(n)]


def features(labels: list[str]) -> str:
    return "".join(f"feature {label}: 0 to 7\n" for label in labels) + "actions: a, b\n"


ACTIONS = f"feature x: 0 to 7\nactions: {', '.join(names('a', 12_000))}\n"
CASES: list[Callable[[], RuleSet]] = [
    lambda: parse_rules("feature" + " " * 99_000 + "\n" + HEAD + "ALWAYS a"),
    lambda: parse_rules(("feature" + " " * 9_000 + "\n") * 200),
    lambda: parse_rules("feature " + "a " * 49_000 + "\n" + HEAD + "ALWAYS a"),
    lambda: parse_rules(features(names("f", 20_000)) + "IF f3 <= 2 THEN a\n"),
    lambda: parse_rules(ACTIONS + "ALWAYS a3\n" * 9_000),
    lambda: parse_rules(HEAD + "IF x <= 3 THEN a\n" * 100_000),
    lambda: parse_rules(features(["x" * i for i in range(1, 201)]) + TESTS * 15),
    lambda: parse_rules(HEAD + "IF " + "(" * 90_000 + "x <= 3 THEN a\n"),
    ruleset(features=MANY, actions=["a"], rules=[{"if": {"f3": [0, 1]}, "then": "a"}] * 150),
    ruleset(actions=names("a", 20_000), rules=[{"if": {}, "then": "a7"}] * 20_000),
    ruleset(actions=names("a", 20_000), rules=[{"if": {}, "then": "z" * 10**6}]),
    ruleset(actions=names("b" * 10_000, 1_000), rules=[{"if": {}, "then": "b" * 10**6}]),
    ruleset(rules=[{"if": {}, "then": "a"}] * 400_000),
]


@pytest.mark.parametrize("read", CASES)
def test_long_texts_are_read_or_refused_soon(read: Callable[[], RuleSet]) -> None:
    began, said = time.process_time(), ""
    try:
        read()
    except RuleError as problem:
        said = str(problem)
    assert len(said) < 10_000
    assert time.process_time() - began < SECONDS


def test_too_many_rules_are_refused_with_what_to_do() -> None:
    with pytest.raises(RuleError, match=r"100,001 rules; at most 100,000 are read, or more as JSON"):
        parse_rules(HEAD + "ALWAYS a\n" * 100_001)
    with pytest.raises(RuleError, match="has 201 characters; rules as text take names of at most 200"):
        parse_rules(f"feature {'x' * 201}: 0 to 7\nactions: a\nALWAYS a\n")


def test_a_name_that_begins_with_another_is_found() -> None:
    head = "".join(f"feature {name}: 0 to 7\n" for name in ("x", "x y", "x y z", "Xy", "ab"))
    rules = parse_rules(
        f"{head}actions: a, b\nIF x y z <= 1 AND x y <= 2 AND x <= 3 AND xy <= 4 AND AB <= 5 THEN a"
    )
    assert rules.bounds[0, :, 1].tolist() == [3, 2, 1, 4, 5]
    exact = parse_rules("feature X y: 0 to 7\nfeature x: 0 to 7\nactions: a\nIF x <= 3 THEN a")
    assert exact.bounds[0, :, 1].tolist() == [7, 3]
