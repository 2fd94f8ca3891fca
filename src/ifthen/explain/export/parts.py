"""What the formats share: names that other languages take, conditions as tests, text for comments."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ifthen.errors import RuleError
from ifthen.explain.domain import AnyTask, where_in_words
from ifthen.inference.decision_list import DecisionList
from ifthen.rules.features import number_in_words
from ifthen.rules.ruleset import RuleSet

EXACT = "exactly these rules, for every observation in the features' ranges"
COMMENT_MARK = re.compile(r"\*(?=/)|/(?=\*)|-(?=-)|\?(?=\?)")
"""What is parted from the character after it: C's comment marks and trigraphs, and dashes of SQL."""


class Test(NamedTuple):
    """What a condition asks of one feature; an end that is the feature's own edge is None."""

    feature: int
    low: float | None
    high: float | None


def tests_of(ruleset: RuleSet, rule: int) -> list[Test]:
    """Return the tests of rule number `rule` (from 0), those that hold everywhere left out."""
    tests = []
    for d, feature in enumerate(ruleset.features):
        low, high = (int(n) if feature.is_integer else n for n in ruleset.bounds[rule, d].tolist())
        if low > feature.low or high < feature.high:
            ends = (low if low > feature.low else None, high if high < feature.high else None)
            exact = low == high and (not feature.clips or None not in ends)  # beyond an end is as at it
            tests.append(Test(d, low, high) if exact else Test(d, *ends))
    return tests


def identifiers(names: Sequence[str], fallback: str, reserved: Collection[str] = ()) -> list[str]:
    """Return names that most languages take as identifiers, all different, as near to the given as can be."""
    taken: list[str] = []
    for number, name in enumerate(names, start=1):
        ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        plain = re.sub(r"\W+", "_", ascii_name, flags=re.ASCII).strip("_")[:60]
        if not plain or plain[0].isdigit():
            plain = f"{fallback}_{plain or number}"
        candidate, copy = plain, 1
        while candidate in taken or candidate in reserved:
            copy += 1
            candidate = f"{plain}_{copy}"
        taken.append(candidate)
    return taken


def one_line(text: str) -> str:
    """Return text for a comment: nothing in it can end the line or the comment, or begin another one."""
    kept = "".join(c if c.isprintable() else " " for c in text).replace("\\", "/")
    return COMMENT_MARK.sub(r"\g<0> ", kept)


def title(ruleset: RuleSet, task: AnyTask | None) -> str:
    """Return one line on what is written."""
    of_task = f" for {task.name}" if task is not None else ""
    return one_line(f"{counted(len(ruleset), 'rule')} ({ruleset.kind}){of_task}, written by ifthen")


def equivalent(form: str, ruleset: RuleSet, task: AnyTask | None) -> str:
    """Return one line on what the rules were turned into, and where that chooses as they do."""
    where = where_in_words(ruleset, task)
    return one_line(f"the equivalent {form}; the same {'for' if task is None else 'in'} {where}")


def as_list_in_words(rules: DecisionList, ruleset: RuleSet, task: AnyTask | None) -> str:
    """Return one line on the list that `decision_list` gave, and where it chooses as the ruleset does."""
    if rules is ruleset:
        return EXACT
    return equivalent(f"decision list of {counted(len(rules), 'rule')}", ruleset, task)


def counted(n: int, what: str) -> str:
    """Return a number with what is counted: "1 rule", "7 rules"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def rule_comment(ruleset: RuleSet, rule: int) -> str:
    """Return rule number `rule` (from 0) in words, for a comment in front of its code."""
    return one_line(f"{rule + 1}. {ruleset.rule_in_words(rule)}".replace("≤", "<=").replace("≥", ">="))


def ranges_in_words(ruleset: RuleSet) -> list[str]:
    """Return a line for each feature: its name, its range and its unit."""
    return [
        one_line(
            f"{f.name}: {number_in_words(f.low)} to {number_in_words(f.high)}"
            + ("" if f.is_integer else ", real")
            + (f", {f.unit}" if f.unit else "")
            + ("; beyond, as at the nearer end" if f.clips else "")
        )
        for f in ruleset.features
    ]


def decision_list(ruleset: RuleSet, task: AnyTask | None) -> DecisionList:
    """Return the ruleset as a decision list, for formats that cannot hold strengths."""
    if isinstance(ruleset, DecisionList):
        return ruleset
    if not all(feature.is_integer for feature in ruleset.features):
        raise RuleError(
            f"it holds decision lists only, and {ruleset.kind!r} rules over real features have no equal one. "
            "Use 'python' or 'c', which compute the strengths, or 'json'."
        )
    from ifthen.explain.fewer.simplify import as_decision_list

    return as_decision_list(ruleset, task)
