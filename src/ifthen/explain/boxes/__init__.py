"""Exact answers about boxes in bounded spaces, of integer and real features alike, without sampling.

`coverage`: does some rule match everywhere? `first_match`: where does each rule of a decision list decide?
`compare`: do two decision lists do the same everywhere? `overlaps`: which rules contradict each other?
Every answer holds for all points of the space, and comes with a point that shows it where there is one to
show. A search that gives up says so.
"""

from ifthen.explain.boxes.compare import Difference, compare
from ifthen.explain.boxes.cover import Coverage, Hole, coverage
from ifthen.explain.boxes.holes import BUDGET
from ifthen.explain.boxes.lists import Overlap, Reach, first_match, overlaps
from ifthen.explain.boxes.space import Box, Interval, Point, RankSpace, box_in_words

__all__ = [
    "BUDGET",
    "Box",
    "Coverage",
    "Difference",
    "Hole",
    "Interval",
    "Overlap",
    "Point",
    "RankSpace",
    "Reach",
    "box_in_words",
    "compare",
    "coverage",
    "first_match",
    "overlaps",
]
