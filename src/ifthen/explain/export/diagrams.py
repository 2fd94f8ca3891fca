"""The equivalent decision tree drawn by Graphviz (DOT) or Mermaid: "yes" to the left, "no" to the right."""

from __future__ import annotations

from ifthen.explain.domain import AnyTask
from ifthen.explain.export.parts import counted, equivalent, title
from ifthen.explain.export.tree import decision_tree
from ifthen.explain.export.tree_nodes import DecisionTree, Leaf, Node
from ifthen.rules.ruleset import RuleSet


def to_dot(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the tree for Graphviz: `dot -Tsvg`."""
    tree = decision_tree(ruleset, task)
    lines = [
        *(f"// {line}" for line in _about(tree, ruleset, task)),
        "digraph policy {",
        "  node [shape=box];",
    ]
    nodes, edges = _numbered(tree.root)
    for number, node in enumerate(nodes):
        shape = ", style=rounded" if isinstance(node, Leaf) else ""
        lines.append(f'  n{number} [label="{_dot_text(_words(tree, node))}"{shape}];')
    lines += [f'  n{start} -> n{end} [label="{word}"];' for start, end, word in edges]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the tree as a Mermaid flow chart, which many pages draw by themselves."""
    tree = decision_tree(ruleset, task)
    about = (line.replace("{", "(").replace("}", ")") for line in _about(tree, ruleset, task))
    lines = [*(f"%% {line}" for line in about), "flowchart TD"]
    nodes, edges = _numbered(tree.root)
    for number, node in enumerate(nodes):
        left, right = ("(", ")") if isinstance(node, Leaf) else ("[", "]")
        lines.append(f'  n{number}{left}"{_mermaid_text(_words(tree, node))}"{right}')
    lines += [f"  n{start} -->|{word}| n{end}" for start, end, word in edges]
    return "\n".join(lines) + "\n"


def _about(tree: DecisionTree, ruleset: RuleSet, task: AnyTask | None) -> tuple[str, str]:
    """Return what is drawn, and where it chooses as the rules do."""
    questions = counted(sum(1 for _ in tree.boxes()) - 1, "question")
    return title(ruleset, task), equivalent(f"decision tree of {questions}", ruleset, task)


def _numbered(root: Node) -> tuple[list[Node], list[tuple[int, int, str]]]:
    """Return all nodes, a question before what follows it, and the edges between their numbers."""
    nodes: list[Node] = []
    edges: list[tuple[int, int, str]] = []
    pending: list[tuple[Node, int, str]] = [(root, -1, "")]
    while pending:
        node, parent, word = pending.pop()
        number = len(nodes)
        nodes.append(node)
        if parent >= 0:
            edges.append((parent, number, word))
        if not isinstance(node, Leaf):
            pending += [(node.no, number, "no"), (node.yes, number, "yes")]
    return nodes, edges


def _words(tree: DecisionTree, node: Node) -> str:
    return tree.answer(node) if isinstance(node, Leaf) else tree.question(node)


def _dot_text(text: str) -> str:
    """Return text for a quoted label; its line ends become spaces."""
    return " ".join(text.splitlines()).replace("\\", "\\\\").replace('"', '\\"')


def _mermaid_text(text: str) -> str:
    """Return text for a quoted label: all but plain characters by their numbers, so that none is a mark."""
    plain = " ".join(text.splitlines())
    return "".join(c if c.isalnum() or c in " .,-+=≤" else f"#{ord(c)};" for c in plain)
