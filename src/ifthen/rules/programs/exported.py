"""Python that `ifthen export` wrote, read back as the same ruleset.

Such code is flat: values are brought into ranges, values outside are refused, sums get names, and then there
is one `if` with one `return` for each rule. Anything else is refused with its line.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from ifthen.errors import RuleError
from ifthen.rules.arrays import check_size
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, lows_and_highs
from ifthen.rules.programs.axes import Axes
from ifthen.rules.programs.condition import TRUE, Boxes, Condition, Test
from ifthen.rules.programs.expressions import Expressions, Names, refuse
from ifthen.rules.programs.head import WRITTEN, feature_of, known_features
from ifthen.rules.programs.program_values import Sum
from ifthen.rules.programs.python_code import Function, functions_in

COMMENT = re.compile(r"  # (.*)\Z")
NOT_LISTS = (
    "rules with strengths or votes cannot be read from code, which does not hold all of their numbers: "
    "export them as JSON."
)
Row = tuple[dict[int, tuple[float, float]], int]


def exported_function(text: str, module: ast.Module) -> Function | None:
    """Return the function of a module that `ifthen export` wrote; None where it did not."""
    first_line = text.split("\n", 1)[0]
    return (
        functions_in(module).get("action")
        if first_line.startswith("#") and first_line.endswith(WRITTEN)
        else None
    )


def rules_in_python(
    text: str, module: ast.Module, function: Function, features: Sequence[Feature] | None = None
) -> DecisionList:
    """Return the rules of an exported module.

    Args:
        text: the module.
        module: its syntax tree.
        function: the one that returns an action's number.
        features: those of the task, where the module does not describe all of its own.
    """
    tuples = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            tuples[node.targets[0].id] = _texts(node.value)
    names, actions = tuples.get("FEATURES"), tuples.get("ACTIONS")
    if not names or not actions or len(function.args.args) != len(names):
        raise RuleError("an exported module has FEATURES and ACTIONS, and an argument for each feature.")
    lines = text.split("\n")
    head_lines = [line[2:] for line in lines[: function.lineno] if line.startswith("# ")]
    feature_lines = [line for line in head_lines if feature_of(line) is not None]
    described = [feature_of(line, name) for line, name in zip(feature_lines, names, strict=False)]
    all_features = known_features(described if len(feature_lines) == len(names) else (), len(names), features)
    terms = {number: comment[1] for number, line in enumerate(lines, 1) if (comment := COMMENT.search(line))}
    return flat_rules(function, all_features, actions, terms)


def _texts(node: ast.expr) -> list[str]:
    """Return the texts in parentheses; none where it is something else."""
    items = node.elts if isinstance(node, ast.Tuple) else []
    return [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def flat_rules(
    function: Function, features: Sequence[Feature], actions: Sequence[str], terms: Mapping[int, str]
) -> DecisionList:
    """Return the rules of a function, in its order.

    Args:
        function: has an argument for each feature, and returns an action's number or None.
        features: the features.
        actions: one name per action.
        terms: the name of the sum that is worked out in a line.
    """
    reader = _Flat(features, len(actions), terms)
    names: dict[str, Sum] = {}
    for d, argument in enumerate(function.args.args):
        names[argument.arg] = reader.expressions.feature(d)
    try:
        rows = reader.rows(function.body, names)
    except RecursionError:
        raise RuleError("this code is nested too deeply to be read as rules.") from None
    return reader.ruleset(rows, actions)


class _Flat:
    """Reads the statements of exported code one by one."""

    def __init__(self, features: Sequence[Feature], actions: int, terms: Mapping[int, str]) -> None:
        self.axes = Axes(features)
        self.expressions = Expressions(self.axes)
        self.actions, self.terms = actions, terms

    def rows(self, body: Sequence[ast.stmt], names: dict[str, Sum]) -> list[Row]:
        """Return the rules of statements."""
        self.expressions.steps = max(self.expressions.steps, 1_000 * len(body))
        rows: list[Row] = []
        for position, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            if isinstance(statement, ast.Assign):
                self._assign(statement, names)
            elif isinstance(statement, ast.If) and len(statement.body) == 1 and not statement.orelse:
                rows += self._rule(statement, names)
            elif isinstance(statement, ast.Return) and position == len(body) - 1:
                action = self._action(statement)
                rows += [] if action is None else [({}, action)]
            else:
                refuse(statement, f"this is not as ifthen exports rules. {NOT_LISTS}")
        return rows

    def _assign(self, statement: ast.Assign, names: dict[str, Sum]) -> None:
        """Read a value that is brought into its range, or a sum."""
        target = statement.targets[0]
        value = self.expressions.read(statement.value, names) if isinstance(target, ast.Name) else None
        if (
            len(statement.targets) > 1
            or not isinstance(target, ast.Name)
            or not isinstance(value, Sum)
            or not value.addends
        ):
            refuse(
                statement, f"expected a value that is brought into its feature's range, or a sum. {NOT_LISTS}"
            )
        term_name = self.terms.get(statement.lineno)
        if term_name or len(value.addends) > 1 or value.addends[0][1] != 1:
            self.axes.sums.setdefault(value.addends, len(self.axes.observed) + len(self.axes.sums))
            if term_name:
                self.axes.names.setdefault(value.addends, set()).add(term_name)
        names[target.id] = value

    def _rule(self, statement: ast.If, names: Names) -> list[Row]:
        """Return the rule that an `if` is; none where it refuses values outside ranges."""
        test = statement.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._check_ranges(statement, self.expressions.condition(test.operand, names))
            return []
        action = self._action(statement.body[0])
        if action is None:
            refuse(statement, "a rule returns an action.")
        return [(self._box(statement, self.expressions.condition(test, names)), action)]

    def _check_ranges(self, statement: ast.If, condition: Condition) -> None:
        """Raise where other values are refused than those outside the features' ranges."""
        if self._action(statement.body[0]) is not None:
            refuse(statement, "values outside of ranges have no action.")
        boxes = Boxes().of(condition)
        if len(boxes) != 1 or any(axis >= len(self.axes.observed) for axis in boxes[0]):
            refuse(statement, "expected the features' ranges, all of them joined by and.")
        for axis, ends in boxes[0].items():
            feature = self.axes.observed[axis]
            if ends != (feature.low, feature.high):
                refuse(
                    statement,
                    f"{feature.name} has another range here than in the head: {feature.low} to "
                    f"{feature.high}.",
                )

    def _box(self, statement: ast.If, condition: Condition) -> dict[int, tuple[float, float]]:
        """Return the intervals of a rule; one that wraps begins above its end."""
        box: dict[int, tuple[float, float]] = {}
        single = isinstance(condition, Test) or not condition.all
        for operand in (condition,) if single and condition != TRUE else condition.operands:  # type: ignore[union-attr]
            tests = (operand,) if isinstance(operand, Test) else operand.operands
            spans = [
                one_test.spans[0]
                for one_test in tests
                if isinstance(one_test, Test) and len(one_test.spans) == 1
            ]
            if not spans or len(spans) < len(tests) or len({one_test.axis for one_test in tests}) > 1:  # type: ignore[union-attr]
                refuse(statement, "expected an interval for each feature, all of them joined by and.")
            axis = tests[0].axis  # type: ignore[union-attr]
            if len(spans) == 1:
                low, high = box.get(axis, (-math.inf, math.inf))
                box[axis] = max(low, spans[0][0]), min(high, spans[0][1])
            else:
                box[axis] = max(low for low, _ in spans), min(high for _, high in spans)
        return box

    def _action(self, statement: ast.stmt) -> int | None:
        """Return the number of the action that a statement returns; None for none."""
        value = statement.value if isinstance(statement, ast.Return) else None
        number = value.value if isinstance(value, ast.Constant) else -1
        if number is not None and (not isinstance(number, int) or not 0 <= number < self.actions):
            refuse(statement, f"expected the return of an action's number, 0 to {self.actions - 1}.")
        return number

    def ruleset(self, rows: list[Row], actions: Sequence[str]) -> DecisionList:
        """Return the ruleset."""
        features = self.axes.features()
        if not rows:
            raise RuleError("there is no rule.")
        check_size(len(rows), len(features))
        lows, highs = (ends.astype(np.float64) for ends in lows_and_highs(features))
        bounds = np.tile(np.stack([lows, highs], axis=1), (len(rows), 1, 1))
        for r, (box, _) in enumerate(rows):
            for axis, (low, high) in box.items():
                bounds[r, axis] = (
                    low if math.isfinite(low) else lows[axis],
                    high if math.isfinite(high) else highs[axis],
                )
        return DecisionList(bounds, [action for _, action in rows], features, actions)
