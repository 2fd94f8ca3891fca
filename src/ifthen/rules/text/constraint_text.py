"""Reading constraints on rules as people write them.

    never heat when room >= 24
    always brake when gap <= 5 and speed >= 10
    brake when gap <= 5                               (the same as always)
    left when x <= -1 implies speed in [-1, 2]        (where it goes left, the second condition holds, too)

Actions are called by name or by number. Conditions are written as in rules, with OR between parts that are
joined by AND. The time to read a text is proportional to its length.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np

from ifthen.errors import ParameterError, RuleError, listed, nearest, shown
from ifthen.rules.box import pieces_around, without_wraps
from ifthen.rules.boxes.list_analysis import with_features, with_terms_of
from ifthen.rules.constraint import Constraint, check_together
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.text.rule import RuleReader
from ifthen.rules.text.scan import NUMBER, Scanner

NEVER, ALWAYS, WHEN, IMPLIES, AND, OR = (
    re.compile(rf"{word}\b", re.IGNORECASE) for word in ("never", "always", "when", "implies", "and", "or")
)
BEHAVIOUR = re.compile(r"(?:never\s+reaches|switches|return)\b", re.IGNORECASE)
ABOUT_RULES = re.compile(r"(?:never|always)\b|.*\bwhen\b", re.IGNORECASE | re.DOTALL)
PARTS = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\],]')
"""Finds quoted names, brackets and commas."""
TEXT_LIMIT = 10_000
"""A requirement has at most this many characters."""
MOST_TEXTS = 1000
"""At most this many requirements are read."""
MOST_BOXES = 200
"""A condition has at most this many boxes."""
FORMS = "'never ACTION when CONDITION', 'always ACTION when CONDITION' or 'ACTION when CONDITION'"


Requirements = str | Sequence[str] | None
"""What users may give for requirements: one text or several, each of one or more; None for none."""


def requirements_in(require: Requirements) -> list[str]:
    """Return requirements one by one; commas separate them, but not in brackets or quotation marks.

    Args:
        require: one text or several; None for none.
    """
    texts = [require] if isinstance(require, str) else [] if require is None else list(require)
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"requirements must be texts, such as 'complete,rules<=10', not {require!r}.")
    requirements = [requirement for text in texts for requirement in _split(text)]
    if len(requirements) > MOST_TEXTS:
        raise ParameterError(
            f"{len(requirements):,} requirements are given; at most {MOST_TEXTS:,} are read."
        )
    return requirements


def _split(text: str) -> list[str]:
    """Return the parts of a text between commas, without empty ones."""
    ends, depth = [-1], 0
    for match in PARTS.finditer(text):
        symbol = match.group()
        depth = max(0, depth + (symbol == "[") - (symbol == "]"))
        if symbol == "," and not depth:
            ends.append(match.start())
    requirements = [text[a + 1 : b].strip() for a, b in itertools.pairwise([*ends, len(text)])]
    for requirement in requirements:
        if len(requirement) > TEXT_LIMIT:
            raise ParameterError(
                f"a requirement has {len(requirement):,} characters; at most {TEXT_LIMIT:,} are read."
            )
    return [requirement for requirement in requirements if requirement]


def is_about_behaviour(text: str) -> bool:
    """Return whether a requirement is in words and about what happens when rules are played."""
    return BEHAVIOUR.match(text.strip()) is not None


def is_about_rules(text: str) -> bool:
    """Return whether a requirement is in words and about rules alone."""
    return ABOUT_RULES.match(text.strip()) is not None and not is_about_behaviour(text)


def constraints_in(
    require: Requirements, features: Sequence[Feature], action_names: Sequence[str]
) -> list[Constraint]:
    """Return constraints on rules, or raise where one cannot be read or they contradict each other.

    Args:
        require: one text or several, each of one or more constraints separated by commas.
        features: that are observed, and terms, if any.
        action_names: one name per action.
    """
    constraints = []
    for text in requirements_in(require):
        if not is_about_rules(text):
            raise ParameterError(
                f"{text!r} is not about rules alone, and training can only keep what is: {FORMS}. "
                "'ifthen verify' checks other requirements."
            )
        constraints.append(constraint_in(text, features, action_names))
    check_together(constraints, features, action_names)
    return constraints


def constraint_in(text: str, features: Sequence[Feature], action_names: Sequence[str]) -> Constraint:
    """Return the constraint that a text says, or raise saying what was expected.

    Args:
        text: such as "never heat when room >= 24".
        features: that are observed, and terms, if any.
        action_names: one name per action.
    """
    reader, scanner = RuleReader(features, action_names), Scanner(text)
    try:
        return _read_constraint(text, scanner, reader)
    except RuleError as problem:
        raise ParameterError(f"cannot require {shown(text)}: {problem}") from None


def _read_constraint(text: str, scanner: Scanner, reader: RuleReader) -> Constraint:
    never = scanner.take(NEVER) is not None
    verb = never or scanner.take(ALWAYS) is not None
    action = _action(scanner, reader)
    if not scanner.following() and verb:
        return Constraint(text, never, action, _region([{}], action, reader))
    if not scanner.take(WHEN):
        raise RuleError(
            f"expected 'when' and a condition after {reader.actions[action]!r}, not {scanner.rest()}."
        )
    condition = condition_in(scanner, reader)
    implied = None
    if scanner.take(IMPLIES):
        if verb:
            raise RuleError("'implies' goes with 'ACTION when CONDITION': leave out never and always.")
        implied = condition_in(scanner, reader)
    if scanner.following():
        raise RuleError(f"expected 'and', 'or' or the end, not {scanner.rest()}.")
    region = _region(condition, action, reader)
    if implied is not None:
        return Constraint(text, True, action, _difference(region, _region(implied, action, reader)))
    return Constraint(text, never, action, region)


def _action(scanner: Scanner, reader: RuleReader) -> int:
    """Return the action that must stand here, by name or by number."""
    action = scanner.name(reader.actions)
    if action is not None:
        return action
    start, number = scanner.at, scanner.take(NUMBER)
    if number is not None and number.isdigit() and int(number) < len(reader.actions.names):
        return int(number)
    scanner.at = start
    word = re.split(r"\s+when\b", scanner.text[start:].strip(), maxsplit=1, flags=re.IGNORECASE)[0][:60]
    if not word:
        raise RuleError(f"expected an action ({listed(reader.actions.names)}): {FORMS}.")
    raise RuleError(f"unknown action {word!r}.{nearest(word, reader.actions.names)} Expected {FORMS}.")


def condition_in(scanner: Scanner, reader: RuleReader) -> list[dict[int, list[float]]]:
    """Return the boxes of a condition that must stand here, each as intervals by feature's number."""
    boxes: list[dict[int, list[float]]] = []
    while not boxes or scanner.take(OR):
        if scanner.following() == "(":
            raise RuleError("leave out parentheses: 'and' binds before 'or', as in 'a and b or a and c'.")
        boxes.append({})
        reader.test(scanner, boxes[-1])
        while scanner.take(AND):
            reader.test(scanner, boxes[-1])
        if len(boxes) > MOST_BOXES:
            raise RuleError(f"a condition has at most {MOST_BOXES} parts with 'or' between them.")
    return boxes


def _region(boxes: Sequence[dict[int, list[float]]], action: int, reader: RuleReader) -> DecisionList:
    """Return boxes as rules for an action."""
    return region_of(boxes, action, reader.features, reader.actions.names)


def region_of(
    boxes: Sequence[dict[int, list[float]]], action: int, features: Sequence[Feature], names: Sequence[str]
) -> DecisionList:
    """Return boxes, given as intervals by feature's number, as rules for an action."""
    ranges = [[feature.low, feature.high] for feature in features]
    bounds = [[box.get(d, ends) for d, ends in enumerate(ranges)] for box in boxes]
    return DecisionList(bounds, [action] * len(boxes), features, names).without_unused_terms()


def _difference(region: DecisionList, excluded: DecisionList) -> DecisionList:
    """Return what is left of a region without another one; raises where nothing is left."""
    features = with_terms_of(region.features, excluded)
    kept_boxes, holes = (
        without_wraps(with_features(part, features).bounds.astype(np.float64), features)[0]
        for part in (region, excluded)
    )
    pieces = list(kept_boxes)
    for hole in holes:
        pieces = [piece for box in pieces for piece in pieces_around(hole, box, features)]
        if len(pieces) > MOST_BOXES:
            raise RuleError(f"it takes more than {MOST_BOXES} boxes to say so: make it simpler.")
    if not pieces:
        raise RuleError("the second condition holds wherever the first does: there is nothing to require.")
    actions = [int(region.actions[0])] * len(pieces)
    return DecisionList(pieces, actions, features, region.action_names).without_unused_terms()
