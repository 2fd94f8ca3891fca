"""Where does no rule match? Holes are told as boxes, each with a point in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.boxes import BUDGET, Coverage, box_in_words, coverage
from ifthen.explain.points import values_by_name
from ifthen.explain.verify.domain import Domain
from ifthen.explain.verify.findings import (
    Checked,
    Finding,
    Property,
    plural,
    share_in_words,
    some_of,
    vector_in_words,
)
from ifthen.explain.verify.model import Model
from ifthen.rules.ruleset import RuleSet

HOLES = 20
"""Most holes that are described one by one."""


def uncovered(domain: Domain, model: Model | None = None) -> Checked:
    """Look for points of a domain at which no rule matches.

    Args:
        domain: the points.
        model: where the ruleset leads, if the points are those of a task.
    """
    missing = np.flatnonzero(domain.choice[1] < 0)
    if not len(missing):
        each = "every point of" if domain.task is None else "every one of" if len(domain.points) > 1 else ""
        each = f"{each} {domain.name}".lstrip()
        return Checked(properties={"complete": Property(True, f"{each} has a rule")})
    amount = domain.amount(domain.weights[missing].sum())
    why = f"{domain.part_in_words(amount)} {'have' if domain.unit and amount != 1 else 'has'} no rule"
    data: dict[str, Any] = {"amount": amount, "total": domain.total}
    if model is None:
        data["holes"] = described(
            domain.ruleset, coverage(domain.ruleset.bounds, domain.ruleset.features, limit=HOLES)
        )
        count = len(data["holes"])
        return Checked([_finding(domain.ruleset, data, count)], {"complete": Property(False, why)})
    data["states"] = model.numbers(missing)
    data["holes"], count = _of_task(domain, missing)
    nearest = model.reach.nearest(domain.choice[1] < 0)
    path = model.reach.path(nearest) if nearest >= 0 else []
    data |= {"visited": model.numbers(missing[model.reach.reached[missing]]), "path": model.path(path)}
    way = f" A shortest way there: {model.way(path)}." if len(path) > 1 else ""
    finding = _finding(domain.ruleset, data, count, way)
    return Checked([finding], {"complete": Property(False, why + _met(model, path, len(missing)))})


def _met(model: Model, path: list[int], missing: int) -> str:
    """Return whether an episode can meet a state without a rule, given a shortest path to one."""
    one = "it" if missing == 1 else "one of them"
    if not path:
        return f"; no episode can meet {one}"
    if len(path) == 1:
        return f"; an episode can begin in {one}"
    return f"; the policy can meet {one} from ({model.state(path[0])})"


def uncovered_space(ruleset: RuleSet, budget: int = BUDGET) -> Checked:
    """Look for points at which no rule matches, in a space that cannot be looked at point by point."""
    found = coverage(ruleset.bounds, ruleset.features, budget=budget, limit=HOLES)
    undecided = share_in_words(1 - found.decided_share)
    rest = f"; the search gave up with {undecided} of the space not looked at" if found.gave_up else ""
    if not found.holes:
        why = f"no point without a rule was found{rest}" if rest else "every point of the space has a rule"
        return Checked(properties={"complete": Property(found.complete, why)})
    data = {
        "holes": described(ruleset, found),
        "uncovered_share": found.uncovered_share,
        "decided_share": found.decided_share,
    }
    least = "at least " if found.gave_up else ""
    why = f"{least}{share_in_words(found.uncovered_share)} of the space has no rule{rest}"
    return Checked([_finding(ruleset, data, len(found.holes))], {"complete": Property(False, why)})


def described(ruleset: RuleSet, found: Coverage) -> list[dict[str, Any]]:
    """Return the largest boxes that no rule meets as plain data."""
    return [
        {
            "box": box_in_words(hole.box, ruleset.features),
            "witness": values_by_name(ruleset.features, hole.witness),
            "share": hole.share,
        }
        for hole in found.holes
    ]


def _finding(ruleset: RuleSet, data: dict[str, Any], count: int, way: str = "") -> Finding:
    """Return the finding of `count` holes, the first of them described in the data, and a way to one."""
    texts = [_in_words(ruleset, hole) for hole in data["holes"]]
    text = f"No rule matches where {some_of(texts, count, ', or ')}.{way}"
    return Finding("uncovered", "problem", text, witness=data["holes"][0]["witness"], data=data)


def _in_words(ruleset: RuleSet, hole: dict[str, Any]) -> str:
    witness = vector_in_words(hole["witness"], ruleset.features)
    if hole["box"] == witness.replace(", ", " AND "):
        return str(hole["box"])
    count = f"{plural(hole['states'], 'state')}, " if "states" in hole else ""
    return f"{hole['box']} ({count}such as {witness})"


def _of_task(domain: Domain, missing: NDArray[np.int64]) -> tuple[list[dict[str, Any]], int]:
    """Return boxes that no rule meets and in which the states without a rule lie, and how many there are.

    A state is counted in the first of them that it lies in.
    """
    holes: list[dict[str, Any]] = []
    left, count = missing, 0
    while len(left):
        box = widened(domain.ruleset, domain.points[left[0]])
        inside = ((domain.points[left] >= box[:, 0]) & (domain.points[left] <= box[:, 1])).all(axis=1)
        sides = zip(domain.ruleset.features, box.tolist(), strict=True)
        words = " AND ".join(filter(None, (feature.interval_in_words(*side) for feature, side in sides)))
        hole = {
            "box": words or "everywhere",
            "witness": domain.vector(int(left[0])),
            "states": int(inside.sum()),
        }
        holes += [hole] if len(holes) < HOLES else []
        left, count = left[~inside], count + 1
    return holes, count


def widened(ruleset: RuleSet, point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a box `(features, 2)` of integers around a point that meets no rule and can be no longer."""
    box, bounds = np.stack([point, point], axis=-1), ruleset.bounds
    for d, feature in enumerate(ruleset.features):
        meets = (bounds[:, :, 0] <= box[:, 1]) & (bounds[:, :, 1] >= box[:, 0])
        meets[:, d] = True
        low, high = bounds[meets.all(axis=1), d].T
        box[d, 0] = max([feature.low, *(high[high < point[d]] + 1)])
        box[d, 1] = min([feature.high, *(low[low > point[d]] - 1)])
    return box
