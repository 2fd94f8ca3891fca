"""Exact reasoning about boxes: how long it takes to decide coverage, dead rules and equivalence.

    python benchmarks/boxes.py
    python benchmarks/boxes.py --quick

Rulesets over real features from 0 to 1: "random" boxes of a mean width; "halfspaces", which restrict some
features on one side; a "partition" of the space by random cuts, each part widened a little, as it is and with
one part missing. One thread. Where a search gives up, the share of the space that it had decided is below 1;
"no share" counts the rules of which it is not known how much they decide. Last, a small case is compared with
compiled code that looks at every cell between edges.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from timing import best_interleaved, machine, timed

from ifthen import DecisionList, Feature
from ifthen.rules.box import matches
from ifthen.rules.boxes.cover import coverage
from ifthen.rules.boxes.list_analysis import compare, first_match

ACTIONS = ("a", "b", "c")
SIZES = ((50, 4), (50, 8), (200, 8), (1000, 8), (50, 16))
Bounds = NDArray[np.float64]


class Case(NamedTuple):
    """One ruleset to look at."""

    name: str
    bounds: Bounds


def random_boxes(n: int, features: int, width: float, rng: np.random.Generator) -> Bounds:
    """Return boxes of a mean width around random centres, cut off at 0 and 1."""
    centres, halves = rng.random((n, features)), width * (0.5 + rng.random((n, features))) / 2
    return np.clip(np.stack([centres - halves, centres + halves], axis=-1), 0, 1)


def halfspaces(n: int, features: int, restricted: int, rng: np.random.Generator) -> Bounds:
    """Return boxes that restrict a few features each, on one side."""
    bounds = np.tile([0.0, 1.0], (n, features, 1))
    for box in bounds:
        for d in rng.choice(features, restricted, replace=False):
            box[d] = [0, rng.uniform(0.3, 0.9)] if rng.random() < 0.5 else [rng.uniform(0.1, 0.7), 1]
    return bounds


def partition(n: int, features: int, widen: float, rng: np.random.Generator) -> Bounds:
    """Return the parts of a space cut at random until there are n, each widened a little, in random order."""
    boxes = [np.tile([0.0, 1.0], (features, 1))]
    while len(boxes) < n:
        sizes = np.array([np.prod(box[:, 1] - box[:, 0]) for box in boxes])
        box, d = boxes.pop(int(rng.choice(len(boxes), p=sizes / sizes.sum()))), int(rng.integers(features))
        below, above = box.copy(), box.copy()
        below[d, 1] = above[d, 0] = box[d, 0] + (box[d, 1] - box[d, 0]) * rng.uniform(0.3, 0.7)
        boxes += [below, above]
    bounds = np.array(boxes)[rng.permutation(n)]
    bounds[..., 0] -= widen * rng.random(bounds.shape[:2])
    bounds[..., 1] += widen * rng.random(bounds.shape[:2])
    return np.asarray(np.clip(bounds, 0, 1))


def cases(n: int, features: int) -> Iterator[Case]:
    """Return rulesets of n rules, the same ones at every call."""
    rng = np.random.default_rng(100 * n + features)
    for width in (0.5, 0.9, 1.3):
        yield Case(f"random, {width} wide", random_boxes(n, features, width, rng))
    for restricted in (2, 3, 4):
        yield Case(f"halfspaces in {restricted}", halfspaces(n, features, restricted, rng))
    for widen in (0.0, 0.02, 0.1):
        yield Case(f"partition + {widen}", partition(n, features, widen, rng))
    yield Case("partition + 0.02 − 1", partition(n + 1, features, 0.02, rng)[1:])


def real_features(n: int) -> tuple[Feature, ...]:
    """Return n real features from 0 to 1."""
    return tuple(Feature(f"x{d}", 0, 1, "real") for d in range(n))


def row(case: Case, n: int, features: tuple[Feature, ...]) -> list[str]:
    """Answer all questions about a ruleset; return a row of the table."""
    clock = [time.perf_counter()]
    cover = coverage(case.bounds, features)
    clock.append(time.perf_counter())
    rules = DecisionList(case.bounds, np.arange(n) % len(ACTIONS), features, ACTIONS)
    reaches = first_match(rules)
    clock.append(time.perf_counter())
    equivalence = compare(rules, rules.subset([r.rule for r in reaches if r.decides is not False]))
    clock.append(time.perf_counter())
    seconds = [f"{after - before:.3f}" for before, after in itertools.pairwise(clock)]
    dead, unknown = (sum(reach.decides is answer for reach in reaches) for answer in (False, None))
    answer = {True: "complete", False: "holes", None: "gave up"}[cover.complete]
    return [
        *(str(n), str(len(features)), case.name),
        *(answer, f"{cover.uncovered_share:.2g}", f"{cover.decided_share:.3g}"),
        *(f"{cover.nodes:,}", seconds[0], f"{dead} / {unknown}"),
        *(str(sum(reach.share is None for reach in reaches)), seconds[1]),
        *(
            {True: "equal", False: "differ", None: "gave up"}[equivalence.equal],
            f"{equivalence.nodes:,}",
            seconds[2],
        ),
    ]


def plain_coverage(bounds: Bounds) -> float:
    """Return the share that boxes leave uncovered, by looking at every cell between edges."""
    sides = [np.unique(np.concatenate([[0, 1], bounds[:, d].ravel()])) for d in range(bounds.shape[1])]
    grid = np.meshgrid(*((side[:-1] + side[1:]) / 2 for side in sides), indexing="ij")
    volumes = np.meshgrid(*(np.diff(side) for side in sides), indexing="ij")
    points = np.stack(grid, axis=-1).reshape(-1, bounds.shape[1])
    inside = np.empty((len(points), len(bounds)), dtype=np.bool_)
    matches(bounds, points, inside)
    return float((np.prod(volumes, axis=0).ravel() * ~inside.any(axis=1)).sum())


def against_all_cells(console: Console) -> None:
    """Print how much faster the search is than looking at all cells, where there are few enough of them."""
    features, bounds = real_features(3), random_boxes(30, 3, 0.9, np.random.default_rng(0))
    shares: dict[str, float] = {}
    ours, plain = best_interleaved(
        3,
        timed(lambda: shares.update(ours=coverage(bounds, features).uncovered_share)),
        timed(lambda: shares.update(plain=plain_coverage(bounds))),
    )
    if abs(shares["ours"] - shares["plain"]) > 1e-9:
        raise SystemExit(f"The two do not agree: {shares}.")
    console.print(
        f"30 random boxes in 3 features: {ours * 1e3:.2f} ms, all cells one by one {plain * 1e3:.2f} ms: "
        f"×{plain / ours:.0f}; both leave {shares['ours']:.6f} uncovered.",
        highlight=False,
    )


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the small sizes only: a smoke test")
    options = parser.parse_args()
    console = Console(width=150)
    console.print(machine(), highlight=False)
    row(Case("compiles", random_boxes(5, 2, 0.9, np.random.default_rng(0))), 5, real_features(2))
    table = Table(
        title="coverage | first_match | compare", title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1)
    )
    headings = (
        *("rules", "features", "ruleset", "coverage", "uncovered", "decided", "nodes", "s"),
        *("dead / unknown", "no\nshare", "s", "without\ndead", "nodes", "s"),
    )
    for heading in headings:
        table.add_column(heading, justify="right", vertical="bottom")
    for n, features in SIZES[:1] if options.quick else SIZES:
        for case in cases(n, features):
            table.add_row(*row(case, n, real_features(features)))
    console.print(table)
    against_all_cells(console)


if __name__ == "__main__":
    main()
