"""Expressions of Python code, read from their syntax tree: values, conditions, and choices between them."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ifthen.errors import RuleError, listed
from ifthen.rules.programs.axes import Axes
from ifthen.rules.programs.choices import Choice, Node, choice, mapped
from ifthen.rules.programs.condition import FALSE, TRUE, Condition, Joined, Test, joined, negated
from ifthen.rules.programs.program_values import (
    Extreme,
    Sum,
    Value,
    added,
    divided,
    extreme,
    feature,
    number,
    scaled,
)

RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
MODULES = ("np", "numpy", "math")
SAME_NAME = {"fabs": "abs", "absolute": "abs", "maximum": "max", "minimum": "min", "float64": "float"}
FUNCTIONS = ("abs", "min", "max", "clip", "int", "float", "bool")
MOST_STEPS = 100_000
"""Reading a program takes at most this many steps: choices that follow each other multiply."""


class Observation:
    """The argument of a function that holds all features."""


class Items(tuple[Any, ...]):
    """Several values in parentheses or brackets."""


Names = Mapping[str, Any]
"""What names stand for: values, conditions, texts, `Observation` or `Items`."""


def refuse(node: ast.AST, reason: str) -> NoReturn:
    """Raise, saying in which line what cannot be read."""
    raise RuleError(f"line {getattr(node, 'lineno', '?')}: {reason}")


class Expressions:
    """Reads expressions over the same features.

    Args:
        axes: the features, and the sums that are met.
    """

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.steps = MOST_STEPS

    def step(self, node: ast.AST) -> None:
        """Count a step, or raise where there are too many."""
        self.steps -= 1
        if self.steps < 0:
            refuse(node, f"the paths through this code take more than {MOST_STEPS:,} steps to read.")

    def read(self, node: ast.expr, names: Names) -> Node:
        """Return what an expression stands for: a leaf, or choices between leaves."""
        self.step(node)
        reader = getattr(self, f"_{type(node).__name__.lower()}", None)
        if reader is None:
            refuse(
                node, f"{_shown(node)} cannot be read as rules: expected numbers, features and their sums."
            )
        try:
            return reader(node, names)
        except RuleError as problem:
            if str(problem).startswith("line "):
                raise
            refuse(node, str(problem))

    def condition(self, node: ast.expr, names: Names) -> Condition:
        """Return when an expression holds."""
        return self._flat(node, mapped(self.read(node, names), lambda leaf: self._truth(node, leaf)))

    def _flat(self, node: ast.expr, choices: Node) -> Condition:
        """Return choices between conditions as one condition."""
        if not isinstance(choices, Choice):
            return choices  # type: ignore[no-any-return]  # a leaf is a condition here
        self.step(node)
        yes, no = self._flat(node, choices.yes), self._flat(node, choices.no)
        sides = (joined((choices.condition, yes), True), joined((negated(choices.condition), no), True))
        return joined(sides, False)

    def _truth(self, node: ast.expr, leaf: Any) -> Condition:
        if isinstance(leaf, Test | Joined):
            return leaf
        if isinstance(leaf, Sum | Extreme):
            return self.axes.compared(leaf, "!=", number(0.0), node.lineno)
        refuse(node, f"{_shown(node)} is neither a comparison nor a number.")

    def values(self, node: ast.expr, names: Names, use: Callable[[Any], Node]) -> Node:
        """Return what `use` makes of the values of an expression; conditions count 1 and 0."""

        def used(leaf: Any) -> Node:
            if isinstance(leaf, Test | Joined):
                return choice(leaf, use(number(1.0)), use(number(0.0)))
            if not isinstance(leaf, Sum | Extreme):
                refuse(node, f"{_shown(node)} is no number and no feature.")
            return use(leaf)

        return mapped(self.read(node, names), used)

    def _constant(self, node: ast.Constant, names: Names) -> Node:
        value = node.value
        if isinstance(value, bool):
            return TRUE if value else FALSE
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int | float):
            return number(_float(node, value))
        refuse(node, f"{_shown(node)} is no number and no text.")

    def _name(self, node: ast.Name, names: Names) -> Node:
        if node.id not in names:
            known_names = ", ".join(sorted(names)[:20])
            refuse(node, f"{node.id!r} is not known here: expected one of {known_names or 'the arguments'}.")
        return names[node.id]

    def _attribute(self, node: ast.Attribute, names: Names) -> Node:
        if isinstance(node.value, ast.Name) and node.value.id in MODULES and node.attr == "pi":
            return number(math.pi)
        refuse(node, f"{_shown(node)} cannot be read: of attributes, only math.pi can.")

    def _subscript(self, node: ast.Subscript, names: Names) -> Node:
        container = self.read(node.value, names)
        if isinstance(node.slice, ast.Slice) and isinstance(container, Observation):
            return self._sliced(node, node.slice)
        index = self.read(node.slice, names)
        fits = isinstance(index, Sum) and index.is_number and index.constant == int(index.constant)
        if not fits or not isinstance(container, Observation | Items):
            refuse(node, f"{_shown(node)} cannot be read: expected a whole number, as in obs[0].")
        d = int(index.constant)
        size = len(self.axes.observed) if isinstance(container, Observation) else len(container)
        if not -size <= d < size:
            feature_names = listed([f.name for f in self.axes.observed])
            refuse(node, f"{_shown(node)} is beyond the {size} features ({feature_names}).")
        return self.feature(d % size) if isinstance(container, Observation) else container[d]

    def _sliced(self, node: ast.Subscript, bounds: ast.Slice) -> Items:
        """Return the features from one place to another: obs[2:4]."""
        ends = [getattr(end, "value", None) for end in (bounds.lower, bounds.upper)]
        given_ends = [end for end in (bounds.lower, bounds.upper, bounds.step) if end is not None]
        if bounds.step is not None or not all(
            isinstance(getattr(end, "value", None), int) for end in given_ends
        ):
            refuse(node, f"{_shown(node)} cannot be read: expected whole numbers, as in obs[2:4].")
        return Items(map(self.feature, range(len(self.axes.observed))[slice(*ends)]))

    def feature(self, d: int) -> Sum:
        """Return a feature as it is observed."""
        return feature(d, self.axes.observed[d].clips)

    def _tuple(self, node: ast.Tuple, names: Names) -> Node:
        items = [self.read(item, names) for item in node.elts]
        if any(isinstance(item, Choice) for item in items):
            refuse(node, "values that depend on a condition cannot stand in a list: give them one by one.")
        return Items(items)

    def _list(self, node: ast.List, names: Names) -> Node:
        return self._tuple(ast.copy_location(ast.Tuple(node.elts, node.ctx), node), names)

    def _unaryop(self, node: ast.UnaryOp, names: Names) -> Node:
        if isinstance(node.op, ast.Not):
            return negated(self.condition(node.operand, names))
        if isinstance(node.op, ast.Invert):
            refuse(node, "~ cannot be read: write not.")
        sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
        return self.values(node.operand, names, lambda value: scaled(value, sign))

    def _binop(self, node: ast.BinOp, names: Names) -> Node:
        return self.values(
            node.left,
            names,
            lambda left: self.values(node.right, names, lambda right: _result(node, left, right)),
        )

    def _boolop(self, node: ast.BoolOp, names: Names) -> Node:
        conditions = [self.condition(value, names) for value in node.values]
        return joined(conditions, isinstance(node.op, ast.And))

    def _compare(self, node: ast.Compare, names: Names) -> Node:
        sides, conditions = [node.left, *node.comparators], []
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            relation = RELATIONS.get(type(operator))
            if relation is None:
                refuse(node, f"{_shown(node)} cannot be read: expected <, <=, >, >=, == or !=.")
            comparison = self._compared(node, left, relation, right, names)
            conditions.append(self._flat(node, comparison))
        return joined(conditions, True)

    def _compared(
        self, node: ast.Compare, left: ast.expr, relation: str, right: ast.expr, names: Names
    ) -> Node:
        def with_left(left_value: Value) -> Node:
            return self.values(
                right,
                names,
                lambda right_value: self.axes.compared(left_value, relation, right_value, node.lineno),
            )

        return self.values(left, names, with_left)

    def _ifexp(self, node: ast.IfExp, names: Names) -> Node:
        ends = _clipping(node)
        if ends is not None:
            return self._clipped(*ends, names)
        condition = self.condition(node.test, names)
        return choice(condition, self.read(node.body, names), self.read(node.orelse, names))

    def _clipped(self, value: ast.expr, low: ast.expr, high: ast.expr, names: Names) -> Node:
        """Return a value that is brought between two others."""

        def between(unclipped: Value) -> Node:
            return self.values(
                low,
                names,
                lambda lower: self.values(high, names, lambda upper: self._between(unclipped, lower, upper)),
            )

        return self.values(value, names, between)

    def _between(self, value: Value, low: Value, high: Value) -> Value:
        """Return a value between two others; a feature in its own range is what a ruleset works with."""
        if (
            isinstance(value, Sum)
            and len(value.addends) == 1
            and value.addends[0][1] == 1
            and not value.constant
        ):
            observed = self.axes.observed[value.addends[0][0]]
            ends = (number(float(observed.low)), number(float(observed.high)))
            if observed.clips and (low, high) == ends:
                return Sum(value.addends)
        return extreme((extreme((value, low), True), high), False)

    def _call(self, node: ast.Call, names: Names) -> Node:
        name = _function(node.func)
        if name not in FUNCTIONS or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            refuse(node, f"{_shown(node)} cannot be read: of functions, only {', '.join(FUNCTIONS)} can.")
        n_expected = {"clip": 3, "min": None, "max": None}.get(name, 1)
        if len(node.args) != n_expected and (n_expected is not None or len(node.args) < 2):
            refuse(node, f"{name} takes {n_expected or 'two or more'} values here, not {len(node.args)}.")
        if name == "clip":
            return self._clipped(node.args[0], node.args[1], node.args[2], names)
        if name == "bool":
            return self.condition(node.args[0], names)
        if name in ("min", "max"):
            return self._extreme(list(node.args), (), name == "max", names)
        converters = {"abs": lambda v: extreme((v, scaled(v, -1.0)), True), "float": lambda v: v}
        return self.values(node.args[0], names, converters.get(name, lambda v: self._truncated(node, v)))

    def _extreme(
        self, remaining: list[ast.expr], values: tuple[Value, ...], largest: bool, names: Names
    ) -> Node:
        """Return the largest or smallest of values that were found and of expressions that are left."""
        if not remaining:
            return extreme(values, largest)
        return self.values(
            remaining[0], names, lambda value: self._extreme(remaining[1:], (*values, value), largest, names)
        )

    def _truncated(self, node: ast.Call, value: Any) -> Any:
        """Return what int() makes of a value."""
        if isinstance(value, Sum) and value.is_number:
            return number(float(math.trunc(value.constant)))
        is_feature = isinstance(value, Sum) and len(value.addends) == 1 and not value.constant
        if (
            is_feature
            and abs(value.addends[0][1]) == 1
            and self.axes.observed[value.addends[0][0]].is_integer
        ):
            return value
        refuse(node, "int() of a real feature cannot be read: compare it with numbers instead.")


def _result(node: ast.BinOp, left: Value, right: Value) -> Value:
    """Return what an operator makes of two values."""
    if isinstance(node.op, ast.Add):
        return added(left, right)
    if isinstance(node.op, ast.Sub):
        return added(left, scaled(right, -1.0))
    if isinstance(node.op, ast.Mult):
        if isinstance(left, Sum) and left.is_number:
            return scaled(right, left.constant)
        if isinstance(right, Sum) and right.is_number:
            return scaled(left, right.constant)
        refuse(node, f"{_shown(node)} multiplies features: rules compare features and sums of them.")
    if isinstance(node.op, ast.Div):
        if isinstance(right, Sum) and right.is_number:
            return divided(left, right.constant)
        refuse(node, f"{_shown(node)} divides by a feature: rules compare features and sums of them.")
    refuse(node, f"{_shown(node)} cannot be read: of operators, only +, -, * and / can.")


def _clipping(node: ast.IfExp) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Return value, low and high of "low if value < low else high if value > high else value"."""
    inner = node.orelse
    if not isinstance(inner, ast.IfExp):
        return None
    lower_test, upper_test = node.test, inner.test
    if not (isinstance(lower_test, ast.Compare) and isinstance(upper_test, ast.Compare)):
        return None
    if [type(op) for op in (*lower_test.ops, *upper_test.ops)] != [ast.Lt, ast.Gt]:
        return None
    value, low, high = lower_test.left, lower_test.comparators[0], upper_test.comparators[0]
    equal_pairs = ((upper_test.left, value), (inner.orelse, value), (node.body, low), (inner.body, high))
    is_simple = isinstance(value, ast.Name | ast.Subscript)
    return (value, low, high) if is_simple and all(_same_code(*pair) for pair in equal_pairs) else None


def _same_code(left: ast.expr, right: ast.expr) -> bool:
    return ast.dump(left) == ast.dump(right)


def _function(node: ast.expr) -> str:
    """Return the name of a function of Python, math or NumPy; "" for others."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in MODULES:
        return SAME_NAME.get(node.attr, node.attr)
    return node.id if isinstance(node, ast.Name) else ""


def _float(node: ast.AST, value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        refuse(node, "this number is too large.")


def _shown(node: ast.AST) -> str:
    """Return code for a message, cut where it is long."""
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        return "this"
    return repr(text if len(text) <= 60 else text[:57] + "…")
