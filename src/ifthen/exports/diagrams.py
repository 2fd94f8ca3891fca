"""The equivalent decision tree drawn by Graphviz (DOT) or Mermaid: "yes" to the left, "no" to the right."""

from __future__ import annotations

from collections.abc import Callable

from ifthen.digits import counted
from ifthen.exports.parts import equivalent, rendered, title
from ifthen.exports.tree import Leaf, Node, decision_tree
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import AnyTask


def to_dot(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the tree for Graphviz: `dot -Tsvg`."""
    return _drawn("policy.dot.j2", ruleset, task, lambda text: text.replace("\\", "\\\\").replace('"', '\\"'))


def to_mermaid(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the tree as a Mermaid flow chart, which many pages draw by themselves."""
    return _drawn("policy.mmd.j2", ruleset, task, _mermaid_text)


def _mermaid_text(text: str) -> str:
    """Return text for a quoted label: all but plain characters by their numbers, so that none is a mark."""
    return "".join(c if c.isalnum() or c in " .,-+=≤" else f"#{ord(c)};" for c in text)


def _drawn(template: str, ruleset: RuleSet, task: AnyTask | None, label: Callable[[str], str]) -> str:
    """Return the tree, all nodes numbered, a question before what follows it; labels stand in one line."""
    tree = decision_tree(ruleset, task)
    nodes: list[tuple[str, bool]] = []
    edges: list[tuple[int, int, str]] = []
    pending: list[tuple[Node, int, str]] = [(tree.root, -1, "")]
    while pending:
        node, parent, word = pending.pop()
        number, leaf = len(nodes), isinstance(node, Leaf)
        text = tree.answer(node) if isinstance(node, Leaf) else tree.question(node)
        nodes.append((label(" ".join(text.splitlines())), leaf))
        if parent >= 0:
            edges.append((parent, number, word))
        if not isinstance(node, Leaf):
            pending += [(node.no, number, "no"), (node.yes, number, "yes")]
    form = f"decision tree of {counted(len(edges) // 2, 'question')}"
    about = title(ruleset, task), equivalent(form, ruleset, task)
    return rendered(template, about=about, nodes=nodes, edges=edges)
