"""The shortest decision list for a table of allowed actions, and whether a shorter one exists."""

from ifthen.explain.shortest.lists import (
    Effort,
    ShortestList,
    prove_minimum,
    shortest_decision_list,
    shortest_list,
)
from ifthen.explain.shortest.program import list_exists

__all__ = [
    "Effort",
    "ShortestList",
    "list_exists",
    "prove_minimum",
    "shortest_decision_list",
    "shortest_list",
]
