"""A DMN decision table that `ifthen export` wrote, read back as the same decision list.

XML that defines entities or names other files is refused, whatever they are for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from ifthen.errors import RuleError, nearest
from ifthen.rules.arrays import check_size
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.programs.condition import after, before
from ifthen.rules.programs.head import OTHERS, UNKNOWN, feature_of
from ifthen.rules.term import term
from ifthen.rules.text.scan import NUMBER

DEEPEST = 50
"""Elements stand in at most this many others."""
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:,\s*)?')
N = NUMBER.pattern
PART = re.compile(rf"({N}) \* (?:(\w+)|min\(max\((\w+), {N}\), {N}\))")
RANGE = re.compile(rf"([\[(])({N})\.\.({N})([\])])")
RELATION = re.compile(rf"(<=|>=|<|>) ({N})")


@dataclass
class Element:
    """An element of XML, with the line where it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    inner: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text that stands directly in it."""
        return "".join(self.texts).strip()

    def all(self, tag: str) -> list[Element]:
        """Return the elements of a name that stand directly in it."""
        return [own for own in self.inner if own.tag == tag]

    def one(self, *path: str) -> Element:
        """Return the only element of a name in it, and so on along a path, or raise."""
        found = self
        for tag in path:
            named = found.all(tag)
            if len(named) != 1:
                raise RuleError(
                    f"line {found.line}: expected one <{tag}> in <{found.tag}>, not {len(named)}."
                )
            found = named[0]
        return found

    def said(self, *path: str) -> str:
        """Return the text at the end of a path, "" where it does not lead anywhere."""
        found = self
        for tag in path:
            named = found.all(tag)
            if not named:
                return ""
            found = named[0]
        return found.text


def parsed_xml(text: str) -> Element:
    """Return the root of XML without entities of its own, or raise naming the line."""
    parser = expat.ParserCreate("utf-8", " ")  # whatever the file says of its encoding
    open_ones = [Element("", {}, 0)]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_ones) > DEEPEST:
            raise RuleError(f"line {parser.CurrentLineNumber}: elements stand in more than {DEEPEST} others.")
        made = Element(tag.rpartition(" ")[2], attributes, parser.CurrentLineNumber)
        open_ones[-1].inner.append(made)
        open_ones.append(made)

    def end(tag: str) -> None:
        open_ones.pop()

    def characters(data: str) -> None:
        open_ones[-1].texts.append(data)

    def doctype(*_: object) -> NoReturn:
        raise RuleError(f"line {parser.CurrentLineNumber}: <!DOCTYPE> and entities are refused.")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as problem:
        raise RuleError(
            f"line {problem.lineno}: this is not XML: {expat.ErrorString(problem.code)}."
        ) from None
    return open_ones[0].inner[0]


def rules_in_dmn(text: str, features: Sequence[Feature] | None = None) -> DecisionList:
    """Return the rules of a decision table that `ifthen export` wrote.

    Args:
        text: the XML.
        features: those of the task, where the table does not have all.
    """
    root = parsed_xml(text)
    table = root.one("decision", "decisionTable")
    policy = table.attributes.get("hitPolicy", "UNIQUE")
    if root.tag != "definitions" or policy not in ("FIRST", "PRIORITY"):
        raise RuleError(
            f"line {table.line}: expected a table with hit policy FIRST or PRIORITY, not {policy[:40]!r}."
        )
    columns = _columns(root, table, features)
    output = table.one("output")
    values = _texts(output.one("outputValues", "text"))
    names = [own for own in (_texts(each) for each in output.all("description")) if own][:1] or [values]
    actions, rows = names[0], [_row(rule, columns.tested, names[0]) for rule in table.all("rule")]
    if not rows:
        raise RuleError(f"line {table.line}: there is no rule.")
    if policy == "PRIORITY":
        if sorted(values) != sorted(actions):
            raise RuleError(
                f"line {output.line}: the order of actions names other actions than the description."
            )
        place = {action: values.index(name) for action, name in enumerate(actions)}
        rows.sort(key=lambda row: place[row[1]])
    check_size(len(rows), len(columns.features))
    whole = [[feature.low, feature.high] for feature in columns.features]
    bounds = np.tile(np.array(whole, dtype=np.float64), (len(rows), 1, 1))
    for r, (intervals, _) in enumerate(rows):
        for d, interval in zip(columns.places, intervals, strict=True):
            bounds[r, d] = interval
    return DecisionList(bounds, [action for _, action in rows], columns.features, actions)


@dataclass(frozen=True)
class Columns:
    """The features of a table, and which of them its columns test."""

    features: tuple[Feature, ...]
    places: list[int]

    @property
    def tested(self) -> list[Feature]:
        """The feature of each column."""
        return [self.features[d] for d in self.places]


def _columns(root: Element, table: Element, given: Sequence[Feature] | None) -> Columns:
    """Return the features and terms of a table's columns."""
    inputs = table.all("input")
    expressions = [own.one("inputExpression", "text").text for own in inputs]
    data = [own.attributes.get("name", "") for own in root.all("inputData")]
    observed: list[Feature] = []
    for own, expression in zip(inputs, expressions, strict=True):
        if expression in data:
            found = feature_of(own.said("description"))
            if found is None:
                raise RuleError(f"line {own.line}: expected a <description> such as 'x: 0 to 7'.")
            observed.append(found)
    known = tuple(observed)
    if OTHERS.search(root.said("description")):
        if given is None:
            raise RuleError(UNKNOWN)
        known = tuple(given)
    by_name = {feature.name: d for d, feature in enumerate(known)}
    called = dict(zip(data, (feature.name for feature in observed), strict=False))
    places, terms = [], list[Feature]()
    for own, expression in zip(inputs, expressions, strict=True):
        name = called.get(expression)
        if name is None:
            places.append(len(known) + len(terms))
            terms.append(_term(own, expression, called, known))
        elif name not in by_name:
            raise RuleError(f"line {own.line}: unknown feature {name[:60]!r}.{nearest(name[:60], by_name)}")
        else:
            places.append(by_name[name])
    return Columns((*known, *terms), places)


def _term(own: Element, expression: str, called: dict[str, str], known: Sequence[Feature]) -> Feature:
    """Return the term that an input's expression is."""
    sizes: dict[str, float] = {}
    for text in expression.split(" + "):
        found = PART.fullmatch(text)
        name = None if found is None else called.get(found[2] or found[3])
        if found is None or name is None:
            raise RuleError(f"line {own.line}: {text[:60]!r} is not as ifthen exports sums.")
        sizes[name] = float(found[1])
    unit = own.said("description").removeprefix("unit: ")
    label = own.attributes.get("label", "")
    name = label.removesuffix(f" [{unit}]") if unit else label
    return term(name or None, sizes, known, unit)


def _row(
    rule: Element, tested: Sequence[Feature], actions: Sequence[str]
) -> tuple[list[tuple[float, float]], int]:
    """Return the intervals and the action of a rule."""
    entries = [own.one("text") for own in rule.all("inputEntry")]
    if len(entries) != len(tested):
        raise RuleError(f"line {rule.line}: expected {len(tested)} conditions, not {len(entries)}.")
    said = _texts(rule.one("outputEntry", "text"))
    if len(said) != 1 or said[0] not in actions:
        raise RuleError(f"line {rule.line}: expected one of the actions, not {str(said)[:60]}.")
    return [_interval(own, feature) for own, feature in zip(entries, tested, strict=True)], actions.index(
        said[0]
    )


def _interval(entry: Element, feature: Feature) -> tuple[float, float]:
    """Return the interval that a test in FEEL keeps of a feature."""
    low, high, text, whole = float(feature.low), float(feature.high), entry.text, feature.is_integer
    relation, span = RELATION.fullmatch(text), RANGE.fullmatch(text)
    if relation:
        end = float(relation[2])
        if relation[1] in ("<", "<="):
            high = end if relation[1] == "<=" else before(end, whole)
        else:
            low = end if relation[1] == ">=" else after(end, whole)
    elif span:
        low, high = float(span[2]), float(span[3])
        low = low if span[1] == "[" else after(low, whole)
        high = high if span[4] == "]" else before(high, whole)
    elif NUMBER.fullmatch(text):
        low = high = float(text)
    elif text != "-":
        raise RuleError(f"line {entry.line}: {text[:60]!r} is not as ifthen exports conditions.")
    if low > high:
        raise RuleError(f"line {entry.line}: no value is in {text[:60]!r}.")
    return low, high


def _texts(element: Element) -> list[str]:
    """Return the texts in quotation marks that an element holds."""
    found = [re.sub(r"\\(.)", r"\1", text) for text in TEXT.findall(element.text)]
    if element.tag == "text" and TEXT.sub("", element.text):
        raise RuleError(f"line {element.line}: expected texts in quotation marks.")
    return found
