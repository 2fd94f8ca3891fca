"""The shortest decision list for a table of allowed actions, and whether a shorter one exists."""

from ifthen.explain.shortest.lists import (
    Effort,
    ShortestList,
    prove_minimum,
    shortest_decision_list,
    shortest_list,
)

__all__ = ["Effort", "ShortestList", "prove_minimum", "shortest_decision_list", "shortest_list"]
