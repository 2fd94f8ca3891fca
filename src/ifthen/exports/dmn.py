"""A ruleset as a DMN 1.3 decision table, for the rule engines of other companies' software.

Hit policy FIRST is a decision list, row for row. With hit policy PRIORITY, rows have no order: of the rows
that match, the one whose output comes first in the list of output values wins. A decision list can be written
so if actions can be ordered such that a rule always comes before the rules it overrules. If not, the rows are
the boxes of the equivalent decision tree: they do not overlap, so their order does not matter.

A term is an input expression: a sum of clipped inputs. FEEL counts in decimal digits, so that a sum may
differ from ours in its last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from ifthen.digits import plural
from ifthen.exports.decision_tree import decision_tree
from ifthen.exports.parts import (
    decision_list,
    equivalent,
    identifiers,
    range_in_words,
    rendered,
    shown_columns,
    title,
)
from ifthen.rules.box import is_box, shared
from ifthen.rules.boxes.list_analysis import in_order
from ifthen.rules.boxes.rank_space import Interval
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import NULL_ACTION, RuleSet
from ifthen.tasks.task import Task

NAMESPACE = "https://www.omg.org/spec/DMN/20191111/MODEL/"
FEEL_WORDS = """
and between date duration else every external false for function if in instance item not null of or return
satisfies some then time true years months days list context action
"""
Row = tuple[Sequence[Interval], int]


def to_dmn(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return a table with hit policy FIRST, one row per rule; two or more where it wraps."""
    rules, about = _in_rows(ruleset, task)
    order = range(len(rules.action_names))
    return _document(rules, "FIRST", _rows(rules), order, f"{title(ruleset, task)}: {about}")


def to_dmn_priority(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return an equivalent table with hit policy PRIORITY, whose rows have no order."""
    rules, about = _in_rows(ruleset, task)
    rows, order = _rows(rules), action_order(rules)
    if order is None:
        order = list(range(len(rules.action_names)))
        rows = [(box, action) for box, action in decision_tree(rules, task).boxes() if action != NULL_ACTION]
        about = equivalent(f"table of {plural(len(rows), 'row')}", ruleset, task)
    return _document(rules, "PRIORITY", rows, order, f"{title(ruleset, task)}: {about}")


def _in_rows(ruleset: RuleSet, task: Task | None) -> tuple[RuleSet, str]:
    """Return the ruleset as a decision list, and one line on it; a rule that wraps is cut in parts."""
    rules, about = decision_list(ruleset, task)
    return rules.unwrapped()[0], about


def action_order(rules: RuleSet) -> list[int] | None:
    """Return the actions, those that overrule others first, or None where no order keeps every choice.

    A rule that comes before another, meets it and says something else must have the higher action.
    """
    bounds, actions = rules.bounds, rules.actions
    above = np.zeros((len(rules.action_names),) * 2, dtype=np.bool_)
    for r in range(len(rules)):
        above[actions[r], actions[r + 1 :][is_box(shared(bounds[r + 1 :], bounds[r]))]] = True
    np.fill_diagonal(above, False)
    return in_order(above)


def _rows(rules: RuleSet) -> list[Row]:
    """Return every rule's intervals and action."""
    boxes = [[Interval(low, high) for low, high in box] for box in rules.bounds.tolist()]
    return list(zip(boxes, rules.actions.tolist(), strict=True))


def _document(rules: RuleSet, policy: str, rows: list[Row], order: Sequence[int], about: str) -> str:
    """Return the whole file. Of many features, those that rules test are inputs."""
    columns = shown_columns(rules)
    names = identifiers([f.name for f in rules.observed_features], "feature", FEEL_WORDS.split())
    expressions = [*names, *(_feel_sum(term, rules.observed_features, names) for term in rules.terms)]
    if rules.terms:
        about += ". Engines add terms in decimal numbers: equal but for rounding at the ends of intervals"
    actions = [_feel_text(name) for name in rules.action_names]
    n_untested = len(names) - sum(d < len(names) for d in columns)
    about += f"; and {plural(n_untested, 'other feature')} that no rule tests" if n_untested else ""
    return rendered(
        "policy.dmn.j2",
        namespace=NAMESPACE,
        about=about,
        policy=policy,
        data=[names[d] for d in columns if d < len(names)],
        inputs=[
            {
                "expression": expression,
                "label": _xml_text(f"{f.name} [{f.unit}]" if f.unit else f.name),
                "about": _xml_text((f.unit and f"unit: {f.unit}") if f.is_term else range_in_words(f)),
                "allowed": "" if f.clips else f"[{_feel_number(f.low)}..{_feel_number(f.high)}]",
            }
            for f, expression in ((rules.features[d], expressions[d]) for d in columns)
        ],
        outputs=", ".join(actions[a] for a in order),
        actions=", ".join(actions),
        rows=[
            ([_unary_test(rules.features[d], box[d]) for d in columns], actions[action])
            for box, action in rows
        ],
    )


def _feel_sum(term: Feature, observed: Sequence[Feature], names: Sequence[str]) -> str:
    """Return what a term adds up, from values that are clipped where features clip."""
    products = []
    for feature, name in zip(observed, names, strict=True):
        if feature.name in dict(term.of):
            ends = _feel_number(feature.low), _feel_number(feature.high)
            value = f"min(max({name}, {ends[0]}), {ends[1]})" if feature.clips else name
            products.append(f"{_feel_number(dict(term.of)[feature.name])} * {value}")
    return " + ".join(products)


def _unary_test(feature: Feature, span: Interval) -> str:
    """Return an interval as a FEEL unary test, "-" where it leaves nothing out."""
    if span == Interval(feature.low, feature.high):
        return "-"
    if feature.clips and span.low == feature.low and not span.low_open:
        return f"{'<' if span.high_open else '<='} {_feel_number(span.high)}"
    if feature.clips and span.high == feature.high and not span.high_open:
        return f"{'>' if span.low_open else '>='} {_feel_number(span.low)}"
    if span.low == span.high:
        return _feel_number(span.low)
    opening, closing = "(" if span.low_open else "[", ")" if span.high_open else "]"
    return f"{opening}{_feel_number(span.low)}..{_feel_number(span.high)}{closing}"


def _feel_number(number: float) -> str:
    """Return a number as digits only: FEEL of DMN 1.3 has no exponents."""
    text = format(Decimal(repr(number)), "f")
    return text.removesuffix(".0")


def _feel_text(text: str) -> str:
    """Return a FEEL text; what XML cannot hold becomes a question mark."""
    return '"' + _xml_text(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _xml_text(text: str) -> str:
    """Return text on one line with only what XML can hold."""
    return "".join(c if c.isprintable() else "?" for c in text)
