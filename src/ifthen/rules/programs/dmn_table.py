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
from ifthen.rules.programs.condition import next_value, previous_value
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
        return [child for child in self.inner if child.tag == tag]

    def only(self, *path: str) -> Element:
        """Return the only element of a name in it, and so on along a path, or raise."""
        element = self
        for tag in path:
            matching = element.all(tag)
            if len(matching) != 1:
                raise RuleError(
                    f"line {element.line}: expected one <{tag}> in <{element.tag}>, not {len(matching)}."
                )
            element = matching[0]
        return element

    def text_at(self, *path: str) -> str:
        """Return the text at the end of a path, "" where it does not lead anywhere."""
        element = self
        for tag in path:
            matching = element.all(tag)
            if not matching:
                return ""
            element = matching[0]
        return element.text


def parsed_xml(text: str) -> Element:
    """Return the root of XML without entities of its own, or raise naming the line."""
    parser = expat.ParserCreate("utf-8", " ")  # whatever the file says of its encoding
    open_elements = [Element("", {}, 0)]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > DEEPEST:
            raise RuleError(f"line {parser.CurrentLineNumber}: elements stand in more than {DEEPEST} others.")
        element = Element(tag.rpartition(" ")[2], attributes, parser.CurrentLineNumber)
        open_elements[-1].inner.append(element)
        open_elements.append(element)

    def end(tag: str) -> None:
        open_elements.pop()

    def characters(data: str) -> None:
        open_elements[-1].texts.append(data)

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
    return open_elements[0].inner[0]


def rules_in_dmn(text: str, features: Sequence[Feature] | None = None) -> DecisionList:
    """Return the rules of a decision table that `ifthen export` wrote.

    Args:
        text: the XML.
        features: those of the task, where the table does not have all.
    """
    root = parsed_xml(text)
    table = root.only("decision", "decisionTable")
    policy = table.attributes.get("hitPolicy", "UNIQUE")
    if root.tag != "definitions" or policy not in ("FIRST", "PRIORITY"):
        raise RuleError(
            f"line {table.line}: expected a table with hit policy FIRST or PRIORITY, not {policy[:40]!r}."
        )
    columns = _columns(root, table, features)
    output = table.only("output")
    values = _texts(output.only("outputValues", "text"))
    names = [texts for texts in (_texts(description) for description in output.all("description")) if texts][
        :1
    ] or [values]
    actions, rows = names[0], [_row(rule, columns.tested, names[0]) for rule in table.all("rule")]
    if not rows:
        raise RuleError(f"line {table.line}: there is no rule.")
    if policy == "PRIORITY":
        if sorted(values) != sorted(actions):
            raise RuleError(
                f"line {output.line}: the order of actions names other actions than the description."
            )
        rank = {action: values.index(name) for action, name in enumerate(actions)}
        rows.sort(key=lambda row: rank[row[1]])
    check_size(len(rows), len(columns.features))
    ranges = [[feature.low, feature.high] for feature in columns.features]
    bounds = np.tile(np.array(ranges, dtype=np.float64), (len(rows), 1, 1))
    for r, (intervals, _) in enumerate(rows):
        for d, interval in zip(columns.indices, intervals, strict=True):
            bounds[r, d] = interval
    return DecisionList(bounds, [action for _, action in rows], columns.features, actions)


@dataclass(frozen=True)
class Columns:
    """The features of a table, and which of them its columns test."""

    features: tuple[Feature, ...]
    indices: list[int]

    @property
    def tested(self) -> list[Feature]:
        """The feature of each column."""
        return [self.features[d] for d in self.indices]


def _columns(root: Element, table: Element, task_features: Sequence[Feature] | None) -> Columns:
    """Return the features and terms of a table's columns."""
    inputs = table.all("input")
    expressions = [column.only("inputExpression", "text").text for column in inputs]
    data = [column.attributes.get("name", "") for column in root.all("inputData")]
    observed: list[Feature] = []
    for column, expression in zip(inputs, expressions, strict=True):
        if expression in data:
            described = feature_of(column.text_at("description"))
            if described is None:
                raise RuleError(f"line {column.line}: expected a <description> such as 'x: 0 to 7'.")
            observed.append(described)
    all_features = tuple(observed)
    if OTHERS.search(root.text_at("description")):
        if task_features is None:
            raise RuleError(UNKNOWN)
        all_features = tuple(task_features)
    by_name = {feature.name: d for d, feature in enumerate(all_features)}
    feature_names = dict(zip(data, (feature.name for feature in observed), strict=False))
    indices, terms = [], list[Feature]()
    for column, expression in zip(inputs, expressions, strict=True):
        name = feature_names.get(expression)
        if name is None:
            indices.append(len(all_features) + len(terms))
            terms.append(_term(column, expression, feature_names, all_features))
        elif name not in by_name:
            raise RuleError(
                f"line {column.line}: unknown feature {name[:60]!r}.{nearest(name[:60], by_name)}"
            )
        else:
            indices.append(by_name[name])
    return Columns((*all_features, *terms), indices)


def _term(
    column: Element, expression: str, feature_names: dict[str, str], features: Sequence[Feature]
) -> Feature:
    """Return the term that an input's expression is."""
    coefficients: dict[str, float] = {}
    for text in expression.split(" + "):
        addend = PART.fullmatch(text)
        name = None if addend is None else feature_names.get(addend[2] or addend[3])
        if addend is None or name is None:
            raise RuleError(f"line {column.line}: {text[:60]!r} is not as ifthen exports sums.")
        coefficients[name] = float(addend[1])
    unit = column.text_at("description").removeprefix("unit: ")
    label = column.attributes.get("label", "")
    name = label.removesuffix(f" [{unit}]") if unit else label
    return term(name or None, coefficients, features, unit)


def _row(
    rule: Element, tested: Sequence[Feature], actions: Sequence[str]
) -> tuple[list[tuple[float, float]], int]:
    """Return the intervals and the action of a rule."""
    entries = [entry.only("text") for entry in rule.all("inputEntry")]
    if len(entries) != len(tested):
        raise RuleError(f"line {rule.line}: expected {len(tested)} conditions, not {len(entries)}.")
    output_texts = _texts(rule.only("outputEntry", "text"))
    if len(output_texts) != 1 or output_texts[0] not in actions:
        raise RuleError(f"line {rule.line}: expected one of the actions, not {str(output_texts)[:60]}.")
    return [_interval(entry, feature) for entry, feature in zip(entries, tested, strict=True)], actions.index(
        output_texts[0]
    )


def _interval(entry: Element, feature: Feature) -> tuple[float, float]:
    """Return the interval that a test in FEEL keeps of a feature."""
    low, high, text, is_integer = float(feature.low), float(feature.high), entry.text, feature.is_integer
    relation, interval = RELATION.fullmatch(text), RANGE.fullmatch(text)
    if relation:
        end = float(relation[2])
        if relation[1] in ("<", "<="):
            high = end if relation[1] == "<=" else previous_value(end, is_integer)
        else:
            low = end if relation[1] == ">=" else next_value(end, is_integer)
    elif interval:
        low, high = float(interval[2]), float(interval[3])
        low = low if interval[1] == "[" else next_value(low, is_integer)
        high = high if interval[4] == "]" else previous_value(high, is_integer)
    elif NUMBER.fullmatch(text):
        low = high = float(text)
    elif text != "-":
        raise RuleError(f"line {entry.line}: {text[:60]!r} is not as ifthen exports conditions.")
    if low > high:
        raise RuleError(f"line {entry.line}: no value is in {text[:60]!r}.")
    return low, high


def _texts(element: Element) -> list[str]:
    """Return the texts in quotation marks that an element holds."""
    texts = [re.sub(r"\\(.)", r"\1", text) for text in TEXT.findall(element.text)]
    if element.tag == "text" and TEXT.sub("", element.text):
        raise RuleError(f"line {element.line}: expected texts in quotation marks.")
    return texts
