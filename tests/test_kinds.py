"""Branches on the kind of task and on the kind of ruleset: all are listed here, and no other may appear.

Code outside the layers that define the kinds asks a task or a ruleset, and does not test which kind it has.
`python -m tests.test_kinds` prints the lists as they are now.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.test_architecture import SOURCE, TESTS, modules

# At most this many branches, over all modules.
MOST_ON_TASKS, MOST_ON_RULESETS = 10, 3
# The folders that define the kinds may ask which one they have.
OWNERS_OF_TASKS = ("tasks", "environments", "simulate")
OWNERS_OF_RULESETS = ("rules",)
TASK_CLASSES = {"EnvTask", "TabularTask"}
# A simulator's class tells the kind of its task, too.
SIMULATOR_CLASSES = {"TableSimulator", "EnvSimulator"}
RULESET_CLASSES = {"DecisionList", "StrengthRules", "PredictionArrayRules"}
# To ask whether one of these is None is to ask for the kind of task, also by a name given to it; and so is to
# read one of these.
TASK_ATTRIBUTES, TASK_CALLS, TASK_FLAGS = {"mdp", "table"}, {"table_of"}, {"has_states", "in_environment"}
# What else has an attribute `kind`.
OTHERS_WITH_A_KIND = {"dtype", "feature", "finding", "f", "leaf", "harm", "task"}

# The branches that exist, as "module:function": how many.
ON_TASKS: dict[str, int] = {
    "explanation.behaviour:behaviour": 1,
    "explanation.diff:diff": 1,
    "explanation.pictures.write_pictures:drawings": 1,
    "explanation.why:explain_all": 1,
    "pages.explain_page:part_of": 1,
    "robustness.worst_start:worst_starts": 1,
    "study.histories:history_table": 1,
    "systems.presets:preset": 1,
    "systems.system:System._suited": 1,
    "verification.case:grounds": 1,
}
ON_RULESETS: dict[str, int] = {
    "explanation.diff:differing": 1,
    "simplify.compact:_votes": 1,
    "systems.start_rules:check_start": 1,
}
# The same in pages, by file.
IN_PAGES: dict[str, int] = {}


def subclasses_of(bases: set[str]) -> set[str]:
    """Return the names of classes and of all classes that inherit from them."""
    found = set(bases)
    classes = [n for tree in modules().values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    while more := {c.name for c in classes if found & names_in(*c.bases)} - found:
        found |= more
    return found


def names_in(*nodes: ast.AST) -> set[str]:
    """Return the names and the attributes' names that occur in expressions."""
    inner = [node for outer in nodes for node in ast.walk(outer)]
    return {n.id for n in inner if isinstance(n, ast.Name)} | {
        n.attr for n in inner if isinstance(n, ast.Attribute)
    }


def aliases(tree: ast.Module, classes: set[str]) -> set[str]:
    """Return the classes with all names that a module gives to one or to several of them."""
    found = set(classes)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname and alias.name in classes}
        elif isinstance(node, ast.Assign) and is_list_of_names(node.value) and names_in(node.value) & found:
            found |= names_in(*node.targets)
    return found


def is_list_of_names(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple | ast.BinOp | ast.Name)


def is_class_test(node: ast.AST, classes: set[str]) -> bool:
    """Return whether an expression or a pattern asks for one of some classes."""
    match node:
        case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, asked]):
            return bool(names_in(asked) & classes)
        case ast.MatchClass(cls=asked):
            return bool(names_in(asked) & classes)
        case ast.Compare(left=ast.Call(func=ast.Name("type")), comparators=asked):
            return bool(names_in(*asked) & classes)
    return False


def is_attribute(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in names


def tables_in(function: ast.AST) -> set[str]:
    """Return the names that a function gives to what is None for one kind of task."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            pairs = [pair for target in targets for pair in assigned(target, node.value)]
            found |= {to.id for to, value in pairs if isinstance(to, ast.Name) and is_table(value, set())}
    return found


def assigned(target: ast.expr, value: ast.expr | None) -> list[tuple[ast.expr, ast.expr | None]]:
    """Return what is assigned to what."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def is_table(node: ast.AST | None, named: set[str]) -> bool:
    """Return whether an expression is None for one kind of task, and something for the other."""
    match node:
        case ast.Name(id=name):
            return name in named
        case ast.NamedExpr(value=value):
            return is_table(value, named)
        case ast.Call(func=function):
            return bool(names_in(function) & TASK_CALLS)
    return is_attribute(node, TASK_ATTRIBUTES) if node is not None else False


def truths_in(node: ast.AST) -> list[ast.expr]:
    """Return the expressions whose truth a node asks for."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return [test]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [operand]
        case ast.BoolOp(values=values):
            return values
    return []


def asks_for_task(node: ast.AST, classes: set[str], named: set[str]) -> bool:
    """Return whether a node is a branch on the kind of task."""
    match node:
        case ast.Attribute():
            return is_attribute(node, TASK_FLAGS)
        case ast.Name(id=name, ctx=ast.Load()):
            return name in TASK_FLAGS
        case ast.Compare(left=left, comparators=[ast.Constant(None)]):
            return is_table(left, named)
        case ast.If() | ast.IfExp() | ast.While() | ast.Assert() | ast.UnaryOp() | ast.BoolOp():
            return any(is_table(test, named) for test in truths_in(node))
        case ast.Compare(left=ast.Attribute(value=value, attr="kind")):
            return "task" in names_in(value)
    return is_class_test(node, classes)


def is_kind(node: ast.AST) -> bool:
    """Return whether an expression is the `kind` of a ruleset."""
    return is_attribute(node, {"kind"}) and not names_in(node) & OTHERS_WITH_A_KIND


def asks_for_ruleset(node: ast.AST, classes: set[str], named: set[str]) -> bool:
    """Return whether a node is a branch on the kind of ruleset: a test, or a look-up by kind."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            if any(is_kind(side) for side in (left, *comparators)):
                return True
        case ast.Subscript(slice=key) | ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]):
            return is_kind(key)
        case ast.Match(subject=subject):
            return is_kind(subject)
    return is_class_test(node, classes)


def branches(tree: ast.Module, asks: str, classes: set[str]) -> Iterator[str]:
    """Yield the function of each branch in a module, as often as it branches."""
    known = aliases(tree, classes)

    def walk(node: ast.AST, within: str, named: set[str]) -> Iterator[str]:
        if {"tasks": asks_for_task, "rulesets": asks_for_ruleset}[asks](node, known, named):
            yield within or "module"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            within = f"{within}.{node.name}".strip(".")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            named = named | tables_in(node)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, within, named)

    yield from walk(tree, "", set())


def counted(asks: str, classes: set[str], owners: tuple[str, ...]) -> Counter[str]:
    """Return the number of branches of every function outside the owners' folders."""
    return Counter(
        f"{name}:{function}"
        for name, tree in sorted(modules().items())
        if name.split(".")[0] not in owners
        for function in branches(tree, asks, classes)
    )


@functools.cache
def on_tasks() -> Counter[str]:
    """Return today's branches on the kind of task."""
    return counted("tasks", subclasses_of(TASK_CLASSES | SIMULATOR_CLASSES), OWNERS_OF_TASKS)


@functools.cache
def on_rulesets() -> Counter[str]:
    """Return today's branches on the kind of ruleset."""
    return counted("rulesets", subclasses_of(RULESET_CLASSES), OWNERS_OF_RULESETS)


def in_pages() -> Counter[str]:
    """Return how often pages' scripts and templates use the kind of a ruleset."""
    files = [path for pattern in ("*.js", "*.j2") for path in SOURCE.rglob(pattern)]
    found = {p.relative_to(SOURCE).as_posix(): len(re.findall(r"\.kind\b", p.read_text())) for p in files}
    return Counter({name: number for name, number in sorted(found.items()) if number})


def more_than(allowed: dict[str, int], found: Counter[str]) -> dict[str, int]:
    """Return what is found more often than it is allowed."""
    return {name: number for name, number in found.items() if number > allowed.get(name, 0)}


def test_no_branch_on_the_kind_of_task_is_new() -> None:
    assert more_than(ON_TASKS, on_tasks()) == {}


def test_no_branch_on_the_kind_of_ruleset_is_new() -> None:
    assert more_than(ON_RULESETS, on_rulesets()) == {}


def test_branches_on_the_kind_of_task_are_few() -> None:
    assert on_tasks().total() <= MOST_ON_TASKS


def test_branches_on_the_kind_of_ruleset_are_few() -> None:
    assert on_rulesets().total() <= MOST_ON_RULESETS


def test_no_branch_in_a_page_is_new() -> None:
    assert more_than(IN_PAGES, in_pages()) == {}


def test_contributing_says_how_many_branches_are_left() -> None:
    text = (TESTS.parent / "CONTRIBUTING.md").read_text()
    assert f"{on_tasks().total()} and {on_rulesets().total()} today" in text


def test_no_branch_is_listed_that_is_gone() -> None:
    for allowed, found in ((ON_TASKS, on_tasks()), (ON_RULESETS, on_rulesets()), (IN_PAGES, in_pages())):
        assert more_than(found, Counter(allowed)) == {}


@pytest.mark.parametrize(
    ("text", "tasks", "rulesets"),
    [
        ("isinstance(t, EnvTask)", 1, 0),
        ("isinstance(t, int | EnvTask)", 1, 0),
        ("isinstance(t, Task)", 0, 0),
        ("KINDS = (EnvTask, int)\nisinstance(t, KINDS)", 1, 0),
        ("from ifthen import EnvTask as E\nisinstance(t, (E, str))", 1, 0),
        ("match t:\n case EnvTask(): pass\n case tasks.TabularTask(): pass", 2, 0),
        ("type(t) is TabularTask", 1, 0),
        ("task.mdp is None", 1, 0),
        ("1 if task.mdp else 2", 1, 0),
        ("task.mdp.states", 0, 0),
        ("case.table is None", 1, 0),
        ("table_of(ruleset, task) is not None or other", 1, 0),
        ("if not table_of(ruleset, task): pass", 1, 0),
        ("def f():\n table, where = table_of(r, t), 1\n if table is None or len(table): pass", 1, 0),
        ("def f():\n if (table := table_of(r, t)): pass", 1, 0),
        ("table_of(ruleset, task)", 0, 0),
        ("def f(table):\n if table is None: pass", 0, 0),
        ("in_environment = 1\nif in_environment: pass", 1, 0),
        ("isinstance(simulator, TableSimulator)", 1, 0),
        ("isinstance(simulator, Simulator)", 0, 0),
        ("task.kind == 'table'", 1, 0),
        ("1 if self.task.has_states else 2", 1, 0),
        ("isinstance(r, (DecisionList, StrengthRules))", 0, 1),
        ("ruleset.kind == 'strength'", 0, 1),
        ("'strength' != self.ruleset.kind", 0, 1),
        ("HOW[ruleset.kind]", 0, 1),
        ("HOW.get(ruleset.kind, 0)", 0, 1),
        ("a.dtype.kind == 'f' or feature.kind == 'real'", 0, 0),
        ("print(ruleset.kind)", 0, 0),
    ],
)
def test_the_count_sees_every_way_to_branch(text: str, tasks: int, rulesets: int) -> None:
    tree = ast.parse(text)
    assert len(list(branches(tree, "tasks", TASK_CLASSES | SIMULATOR_CLASSES))) == tasks
    assert len(list(branches(tree, "rulesets", RULESET_CLASSES))) == rulesets


def test_branches_are_named_by_module_class_and_function() -> None:
    tree = ast.parse("class A:\n def f(self):\n  isinstance(t, EnvTask)\nisinstance(t, EnvTask)")
    assert list(branches(tree, "tasks", TASK_CLASSES)) == ["A.f", "module"]


if __name__ == "__main__":
    for title, numbers in (
        ("ON_TASKS", on_tasks()),
        ("ON_RULESETS", on_rulesets()),
        ("IN_PAGES", in_pages()),
    ):
        print(f"{title}: dict[str, int] = {{  # {numbers.total()} in all")
        print("".join(f'    "{name}": {number},\n' for name, number in numbers.items()) + "}")
