"""Two policies in an environment: where they differ, by reasoning about boxes; how often, by playing.

There are no states to list and no values. What is compared is every observation, where both are decision
lists, and the states that the two meet when they are played from z.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.boxes import compare
from ifthen.explain.diff.states import Deed, DifferentState
from ifthen.explain.domain import all_vectors
from ifthen.explain.met import states_met
from ifthen.explain.points import choose_at, values_by_name
from ifthen.explain.words import rule_for_reading
from ifthen.inference.decision_list import DecisionList
from ifthen.rollout.score import score
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

UNSEEN = 100
SHOWN = 8
DIGITS = (2, 3, 4, 6)
"""Significant digits that are tried for numbers to show."""


@dataclass(frozen=True)
class PlayedDiff:
    """How two policies differ when they are played.

    Args:
        episodes: how many reset seeds of z were played.
        states: how many states each of the two met there.
        differ: in how many of these the other does something else.
        performances: the mean return of both over z.
        unseen_episodes: how many other reset seeds were played.
        unseen_performances: the mean return of both over these.
        failed: which of the two met a state without a rule, so that a performance is the task's floor.
    """

    episodes: int
    states: tuple[int, int]
    differ: tuple[int, int]
    performances: tuple[float, float]
    unseen_episodes: int
    unseen_performances: tuple[float, float]
    failed: tuple[bool, bool]

    def lines(self, names: tuple[str, str]) -> list[str]:
        """Return the same in words, given what the two are called."""
        (n_a, n_b), (k_a, k_b) = self.states, self.differ
        said = [
            f"Of the {n_a:,} states that {names[0]} meets on z they differ in {k_a:,} ({k_a / n_a:.1%}), "
            f"of the {n_b:,} that {names[1]} meets in {k_b:,} ({k_b / n_b:.1%})."
        ]
        for what, episodes, (a, b) in (
            ("z", self.episodes, self.performances),
            ("unseen reset seeds", self.unseen_episodes, self.unseen_performances),
        ):
            said.append(
                f"Mean return over {episodes:,} episodes from {what}: {names[0]} {a:g}, {names[1]} {b:g}."
            )
        said += [
            f"{name} met a state in which none of its rules matches: it has the task's floor."
            for name, failed in zip(names, self.failed, strict=True)
            if failed
        ]
        return said


def play_both(a: RuleSet, b: RuleSet, task: EnvTask) -> tuple[PlayedDiff, NDArray[np.float64]]:
    """Play two rulesets; return how they differ, and the states met in which they do, `(n, features)`."""
    states, differ, places = [], [], []
    for rules in (a, b):
        points = states_met(rules, task, task.z).points
        other = choose_at(a, points)[0] != choose_at(b, points)[0]
        states.append(len(points))
        differ.append(int(other.sum()))
        places.append(points[other])
    on_z = [score(rules, task) for rules in (a, b)]
    unseen = [score(rules, task, task.unseen(UNSEEN)) for rules in (a, b)]
    found = PlayedDiff(
        len(task.z),
        (states[0], states[1]),
        (differ[0], differ[1]),
        (on_z[0].performance, on_z[1].performance),
        UNSEEN,
        (unseen[0].performance, unseen[1].performance),
        (on_z[0].failed or unseen[0].failed, on_z[1].failed or unseen[1].failed),
    )
    return found, np.unique(np.concatenate(places), axis=0)


def differing_points(
    a: RuleSet, b: RuleSet, met: NDArray[np.float64]
) -> tuple[bool | None, NDArray[np.float64], bool, str]:
    """Return whether two rulesets do the same everywhere, where not, whether that is all, and a note.

    Args:
        a: a ruleset.
        b: another one over the same features and actions.
        met: states met in which they differ, `(n, features)`.
    """
    vectors = all_vectors(a.features)
    if vectors is not None:
        points = vectors[choose_at(a, vectors)[0] != choose_at(b, vectors)[0]]
        return not len(points), points, True, ""
    some = shorter(a, b, met[:: len(met) // SHOWN + 1])
    if isinstance(a, DecisionList) and isinstance(b, DecisionList):
        found = compare(a, b)
        witness = np.empty((0, len(a.features))) if found.witness is None else np.array([found.witness])
        note = f"the search gave up after {found.nodes:,} cells" if found.equal is None else ""
        equal = False if len(met) else found.equal
        return equal, some if len(some) else witness, False, "" if equal is False else note
    note = (
        ""
        if len(met)
        else "only decision lists can be compared everywhere, and no state met tells them apart"
    )
    return (False if len(met) else None), some, False, note


def shorter(a: RuleSet, b: RuleSet, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points `(n, features)` in fewer digits, as near as it takes for both to do the same there."""
    out = points.copy()
    left = np.ones(len(points), dtype=np.bool_)
    whole = [rules.choose(points) for rules in (a, b)] if len(points) else []
    for digits in DIGITS:
        near = np.array(
            [[float(f"{value:.{digits}g}") + 0.0 for value in point] for point in points.tolist()]
        )
        near = near.reshape(points.shape)
        rounded = [rules.choose(near) for rules in (a, b)] if len(points) else []
        same = left.copy()
        for before, after in zip(whole, rounded, strict=True):
            same &= (before[0] == after[0]) & (before[1] == after[1])
        out[same], left = near[same], left & ~same
    return out


def states_at(a: RuleSet, b: RuleSet, points: NDArray[np.float64]) -> tuple[DifferentState, ...]:
    """Return what two rulesets do at points `(n, features)`."""
    both = zip(points.tolist(), deeds_at(a, points), deeds_at(b, points), strict=True)
    return tuple(
        DifferentState(values_by_name(a.features, point), None, ours, theirs, "", None, None)
        for point, ours, theirs in both
    )


def deeds_at(rules: RuleSet, points: NDArray[np.float64]) -> list[Deed]:
    """Return what a ruleset does at points `(n, features)`."""
    if not len(points):
        return []
    actions, deciders = choose_at(rules, points)
    words = [rule_for_reading(rules, r) for r in range(len(rules))]
    return [
        Deed(None, None, "", None) if action < 0 else Deed(rules.action_names[action], r, words[r], None)
        for action, r in zip(actions.tolist(), deciders.tolist(), strict=True)
    ]
