"""A policy as a Python function, read from its source: comparisons, and, or, not, if, elif, else, return.

The code is parsed, never run. What it compares are numbers, features and their sums; `abs`, `min`, `max` and
`clip` are understood, and so are names for values. What else stands in it is refused with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ifthen.errors import RuleError, listed, nearest
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.programs.axes import Axes
from ifthen.rules.programs.choices import Choice, Node, choice, decision_list, mapped
from ifthen.rules.programs.condition import FALSE, TRUE, Condition, Joined, Test
from ifthen.rules.programs.expressions import Expressions, Items, Names, Observation, refuse
from ifthen.rules.programs.program_values import Sum, number

Function = ast.FunctionDef
IGNORED = (ast.Pass, ast.Import, ast.ImportFrom)
"""Statements that do not matter: what a module would give is known by its name."""


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a text, or raise naming the line."""
    try:
        return ast.parse(text)
    except SyntaxError as problem:
        raise RuleError(f"line {problem.lineno}: this is not Python: {problem.msg}.") from None
    except (ValueError, RecursionError, MemoryError) as problem:
        raise RuleError(
            f"this is not Python that can be read: {str(problem) or 'nested too deeply'}."
        ) from None


def functions_in(module: ast.Module) -> dict[str, Function]:
    """Return the functions of a module and the methods of its classes, by name."""
    functions: dict[str, Function] = {}
    for node in module.body:
        if isinstance(node, Function):
            functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            methods = (method for method in node.body if isinstance(method, Function))
            functions |= {f"{node.name}.{method.name}": method for method in methods}
    return functions


def chosen_function(module: ast.Module, name: str | None) -> Function:
    """Return the function of a name, or the only one, or raise."""
    functions = functions_in(module)
    if name is None and len(functions) == 1:
        return next(iter(functions.values()))
    if name is None:
        names = listed(list(functions)) or "none"
        raise RuleError(f"say which function is the policy, as in policy.py:act. There are: {names}.")
    if name not in functions:
        raise RuleError(f"there is no function {name[:60]!r}.{nearest(name[:60], functions)}")
    return functions[name]


def rules_of_function(
    module: ast.Module,
    function: Function,
    features: Sequence[Feature],
    action_names: Sequence[str],
) -> tuple[DecisionList, list[str]]:
    """Return the decision list of a function, and notes on what differs between the two.

    Args:
        module: where the function stands: its numbers that have names are known.
        function: the policy, of an observation or of one argument for each feature.
        features: the features that are observed.
        action_names: one name per action; the function returns their numbers or names.
    """
    axes = Axes(features)
    reader = _Reader(Expressions(axes), tuple(action_names))
    try:
        names = {**reader.constants(module), **reader.arguments(function)}
        node = reader.block(tuple(function.body), None, names)
        return decision_list(node, axes, reader.action_names), list(axes.notes)
    except RecursionError:
        raise RuleError("this code is nested too deeply to be read as rules.") from None


@dataclass(frozen=True, eq=False)
class Continuation:
    """The statements that follow a block: those after its `if`, and what follows these."""

    block: tuple[ast.stmt, ...]
    following: Continuation | None


class _Reader:
    """Follows the paths through a function."""

    def __init__(self, expressions: Expressions, action_names: tuple[str, ...]) -> None:
        self.expressions, self.action_names = expressions, action_names
        self._memo: dict[Any, Node] = {}
        self._continuations: dict[Any, Continuation] = {}

    def constants(self, module: ast.Module) -> dict[str, Any]:
        """Return the numbers and texts that a module gives names to, once each."""
        constants: dict[str, Any] = {}
        reassigned: set[str] = set()
        for node in module.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = {
                name_node.id
                for target in targets
                for name_node in ast.walk(target)
                if isinstance(name_node, ast.Name)
            }
            reassigned |= names & set(constants)
            try:
                if isinstance(node, ast.Assign):
                    self._assign(node, node.targets, node.value, constants, constants.update)
            except RuleError:  # it may not matter
                reassigned |= names
        return {name: value for name, value in constants.items() if name not in reassigned}

    def arguments(self, function: Function) -> dict[str, Any]:
        """Return what the arguments of a function stand for."""
        parameters = function.args
        if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
            refuse(function, "the function must have plain arguments, without * and **.")
        names = [argument.arg for argument in (*parameters.posonlyargs, *parameters.args)]
        containers = _taken_apart(function) & set(names)
        features = self.expressions.axes.observed
        if not containers and len(names) == len(features):
            return {name: self.expressions.feature(d) for d, name in enumerate(names)}
        if not containers and len(names) == 1:
            return {names[0]: Observation()}
        if len(containers) != 1:
            feature_names = listed([feature.name for feature in features])
            refuse(
                function,
                f"the function must have one argument that holds all features, as in obs[0], or one for each "
                f"of the {len(features)} ({feature_names}), not {len(names)}: {listed(names) or 'none'}.",
            )
        return {next(iter(containers)): Observation()}

    def block(self, block: tuple[ast.stmt, ...], continuation: Continuation | None, names: Names) -> Node:
        """Return the choices that statements make, and those after them where they come to an end."""
        bindings = dict(names)
        branches: list[tuple[Condition, Node]] = []
        key = (block, continuation, tuple(bindings.items())) if continuation is not None else None
        if key is not None and key in self._memo:
            return self._memo[key]
        node = self._followed(list(block), continuation, bindings, branches)
        for condition, yes in reversed(branches):
            node = choice(condition, yes, node)
        if key is not None:
            self._memo[key] = node
        return node

    def _followed(
        self,
        statements: list[ast.stmt],
        continuation: Continuation | None,
        names: dict[str, Any],
        branches: list[tuple[Condition, Node]],
    ) -> Node:
        """Return what statements end in; `if`s whose statements all return go to `branches`."""
        statements.reverse()
        while True:
            while not statements:
                if continuation is None:
                    return None
                statements, continuation = list(reversed(continuation.block)), continuation.following
            statement = statements.pop()
            self.expressions.step(statement)
            if isinstance(statement, ast.Return):
                return self._returned(statement, names)
            if isinstance(statement, ast.If):
                condition = self.expressions.condition(statement.test, names)
                if condition not in (TRUE, FALSE) and not _returns(statement.body):
                    return self._split(condition, statement, tuple(reversed(statements)), continuation, names)
                if condition != FALSE:
                    yes = self.block(
                        tuple(statement.body),
                        self._continuation(tuple(reversed(statements)), continuation),
                        names,
                    )
                    if condition == TRUE:
                        return yes
                    branches.append((condition, yes))
                statements += reversed(statement.orelse)
            elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
                conditional = self._assigned(statement, names)
                if conditional is not None:
                    return self._for_each_leaf(
                        conditional, tuple(reversed(statements)), continuation, names, statement
                    )
            elif not isinstance(statement, IGNORED) and not _is_text(statement):
                kind = type(statement).__name__.lower()
                refuse(statement, f"{kind!r} cannot be read as rules: expected if, a name = …, or return.")

    def _continuation(
        self, block: tuple[ast.stmt, ...], following: Continuation | None
    ) -> Continuation | None:
        """Return statements that follow, the same object for the same ones."""
        return (
            self._continuations.setdefault((block, following), Continuation(block, following))
            if block
            else following
        )

    def _split(
        self,
        condition: Condition,
        statement: ast.If,
        following: tuple[ast.stmt, ...],
        continuation: Continuation | None,
        names: Names,
    ) -> Node:
        """Return a choice where what follows an `if` depends on it."""
        after_if = self._continuation(following, continuation)
        yes = self.block(tuple(statement.body), after_if, names)
        return choice(condition, yes, self.block(tuple(statement.orelse), after_if, names))

    def _for_each_leaf(
        self,
        conditional: list[tuple[str, Node]],
        following: tuple[ast.stmt, ...],
        continuation: Continuation | None,
        names: Names,
        statement: ast.stmt,
    ) -> Node:
        """Return what follows an assignment of values that depend on conditions."""
        (name, value), *remaining = conditional

        def with_leaf(leaf: Any) -> Node:
            self.expressions.step(statement)
            bindings = {**names, name: leaf}
            return (
                self._for_each_leaf(remaining, following, continuation, bindings, statement)
                if remaining
                else self.block(following, continuation, bindings)
            )

        return mapped(value, with_leaf)

    def _assigned(self, statement: ast.stmt, names: dict[str, Any]) -> list[tuple[str, Node]] | None:
        """Give names to values; return those that depend on conditions, None where there are none."""
        assigned: dict[str, Node] = {}
        if isinstance(statement, ast.AugAssign):
            current = ast.copy_location(ast.Name("?", ast.Load()), statement)
            if isinstance(statement.target, ast.Name):
                current.id = statement.target.id
            operation = ast.copy_location(ast.BinOp(current, statement.op, statement.value), statement)
            self._assign(statement, [statement.target], operation, names, assigned.update)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement, [statement.target], statement.value, names, assigned.update)
        elif isinstance(statement, ast.Assign):
            self._assign(statement, statement.targets, statement.value, names, assigned.update)
        unconditional = {name: value for name, value in assigned.items() if not isinstance(value, Choice)}
        names.update(unconditional)
        return [(name, value) for name, value in assigned.items() if name not in unconditional] or None

    def _assign(
        self,
        statement: ast.stmt,
        targets: Sequence[ast.expr],
        value: ast.expr,
        names: Names,
        bind: Callable[[dict[str, Node]], Any],
    ) -> None:
        """Give the names of an assignment to what stands on its right."""
        assigned = self.expressions.read(value, names)
        for target in targets:
            if isinstance(target, ast.Name):
                self._call_sum(target, assigned)
                bind({target.id: assigned})
                continue
            if not isinstance(target, ast.Tuple | ast.List) or not isinstance(assigned, Items | Observation):
                refuse(statement, "expected one name, or names for all parts, to the left of =.")
            size = len(assigned) if isinstance(assigned, Items) else len(self.expressions.axes.observed)
            target_names = [element.id for element in target.elts if isinstance(element, ast.Name)]
            if len(target_names) != len(target.elts) or len(target_names) != size:
                refuse(statement, f"expected {size} names to the left of =, not {len(target.elts)}.")
            items = assigned if isinstance(assigned, Items) else map(self.expressions.feature, range(size))
            bind(dict(zip(target_names, items, strict=True)))

    def _call_sum(self, target: ast.Name, value: Node) -> None:
        """Remember what a sum is called, for the term that it may become."""
        if isinstance(value, Sum) and len(value.addends) > 1:
            name = target.id.replace("_", " ").strip()
            if name:
                self.expressions.axes.names.setdefault(value.addends, set()).add(name)

    def _returned(self, statement: ast.Return, names: Names) -> Node:
        """Return the actions that a statement returns, by number; None for no action."""
        if statement.value is None:
            return None
        return mapped(
            self.expressions.read(statement.value, names), lambda leaf: self._action(statement, leaf)
        )

    def _action(self, statement: ast.Return, leaf: Any) -> Node:
        if leaf is None:
            return None
        if isinstance(leaf, Test | Joined):
            yes, no = (self._action(statement, number(value)) for value in (1.0, 0.0))
            return choice(leaf, yes, no)
        valid_actions = f"the actions are 0 to {len(self.action_names) - 1} ({listed(self.action_names)})"
        if isinstance(leaf, str):
            if leaf not in self.action_names:
                refuse(statement, f"unknown action {leaf[:60]!r}.{nearest(leaf[:60], self.action_names)}")
            return self.action_names.index(leaf)
        if not isinstance(leaf, Sum) or not leaf.is_number:
            refuse(statement, f"a feature or sum is returned here: {valid_actions}.")
        if leaf.constant not in range(len(self.action_names)):
            refuse(statement, f"{leaf.constant:g} is no action: {valid_actions}.")
        return int(leaf.constant)


def _taken_apart(function: Function) -> set[str]:
    """Return the names that a function takes parts of: obs[0], or x, y = obs."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            names.add(node.value.id)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple | ast.List):
            names |= {node.value.id} if isinstance(node.value, ast.Name) else set()
    return names


def _returns(block: Sequence[ast.stmt]) -> bool:
    """Return whether statements return on every path."""
    while block:
        last = block[-1]
        if isinstance(last, ast.Return):
            return True
        if not isinstance(last, ast.If) or not _returns(last.body):
            return False
        block = last.orelse
    return False


def _is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a text that stands alone, such as a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
