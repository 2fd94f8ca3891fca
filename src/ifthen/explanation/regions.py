"""When a policy takes each action: the part of its inputs that leads there, in words and as a share.

In a decision list an action is taken where one of its rules matches and no earlier rule for another action
does. The words name only those earlier rules that overlap. Shares are of all inputs in the features' ranges,
or of a table's decision states. They are exact on tables and for lists without sums of features, and come
from points drawn at random elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import NOTHING, percent
from ifthen.environments.make import TaskLike
from ifthen.notebook import Part, Shown
from ifthen.randomness import stream, uniform
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.box import is_box, shared
from ifthen.rules.boxes.list_analysis import first_match
from ifthen.rules.feature import number_in_words
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.simulate.scope import choose_at, policy_and_task, scope_of
from ifthen.tasks.task import Task
from ifthen.text_table import TextTable

DRAWN = 20_000
"""Inputs that are drawn where shares are not exact."""
NO_ACTION = "no action: no rule matches"


@dataclass(frozen=True)
class ActionRegion:
    """When one action is taken.

    Args:
        action: its name.
        when: what leads to it, one text for each rule that can; none for rules without order.
        share: of all inputs, or of a table's decision states.
        steps: of the steps of episodes; None where none were played.
    """

    action: str
    when: tuple[str, ...]
    share: float
    steps: float | None = None

    @property
    def words(self) -> str:
        """What leads to it."""
        return "; or ".join(self.when) if self.when else "where its rules outweigh the others"


@dataclass(frozen=True, eq=False, repr=False)
class ActionRegions(Shown):
    """When a policy takes each action.

    Args:
        actions: every action that is taken somewhere, the most frequent first.
        never: the names of actions that are proven to be taken nowhere.
        exact: whether shares are exact.
        of: what shares are of, in words.
    """

    actions: tuple[ActionRegion, ...]
    never: tuple[str, ...]
    exact: bool
    of: str

    def text_table(self) -> TextTable:
        """Return one row per action."""
        about = "" if self.exact else "about "
        rows = tuple(
            (region.action, region.words, about + percent(region.share), steps)
            for region in self.actions
            for steps in [NOTHING if region.steps is None else percent(region.steps)]
        )
        heads = "action", "taken when", f"of all {self.of}", "of the steps played"
        return TextTable("When each action is taken", heads, rows, tuple(self.notes())).without_empty(
            [NOTHING]
        )

    def notes(self) -> list[str]:
        """Return what shares rest on, and which actions are never taken."""
        notes = [f"Never taken: {', '.join(self.never)}."] if self.never else []
        if not self.exact:
            notes.append(f"Shares of inputs come from {DRAWN:,} of them, drawn uniformly from the ranges.")
        return notes

    def shown_parts(self) -> list[Part]:
        """Return the table."""
        return [self.text_table()]


def action_regions(
    policy: PolicyLike, task: TaskLike | None = None, steps: Sequence[float] | None = None
) -> ActionRegions:
    """Return when a policy takes each action.

    Args:
        policy: a RuleSet, or a trained system.
        task: its task; a system's own where None.
        steps: the share of steps that each rule decides, if episodes were played.
    """
    ruleset, task = policy_and_task(policy, task)
    shares, exact, of = _shares(ruleset, task)
    decides = _deciding(ruleset)
    step_shares = None if steps is None else _by_action(ruleset, np.asarray(steps, dtype=np.float64))
    regions, never = [], []
    for action, name in enumerate(ruleset.action_names):
        rules = np.flatnonzero(decides & (ruleset.actions == action))
        if not len(rules):
            never.append(name)
            continue
        when = tuple(_when(ruleset, int(rule), decides) for rule in rules) if ruleset.ordered else ()
        step_share = None if step_shares is None else float(step_shares[action])
        regions.append(ActionRegion(name, when, float(shares[action]), step_share))
    regions.sort(key=lambda region: -region.share)
    if shares[-1] > 0:
        regions.append(ActionRegion(NO_ACTION, ("no rule matches",), float(shares[-1])))
    return ActionRegions(tuple(regions), tuple(never), exact, of)


def _when(ruleset: RuleSet, rule: int, decides: Mask) -> str:
    """Return the condition of a rule, and the earlier rules for other actions that come before it."""
    earlier = [
        e + 1
        for e in np.flatnonzero(decides[:rule] & (ruleset.actions[:rule] != ruleset.actions[rule])).tolist()
        if _overlap(ruleset, e, rule)
    ]
    condition = ruleset.condition_in_words(rule)
    if not condition:
        negated = _outside(ruleset, earlier[0] - 1) if len(earlier) == 1 and rule == earlier[0] else ""
        return f"{negated or ('everywhere else' if rule else 'always')} (rule {rule + 1})"
    numbers = " or ".join(filter(None, [", ".join(map(str, earlier[:-1])), *map(str, earlier[-1:])]))
    unless = f", unless rule {numbers} matches" if earlier else ""
    return f"{condition}{unless} (rule {rule + 1})"


def _outside(ruleset: RuleSet, rule: int) -> str:
    """Return where a rule does not match, such as "x > 3 OR y < 2"; "" where that has no short words."""
    alternatives = []
    for feature, (low, high) in zip(ruleset.features, ruleset.bounds[rule].tolist(), strict=True):
        if low <= feature.low and high >= feature.high:
            continue
        if feature.cyclic or feature.labels:
            return ""
        unit = f" {feature.unit}" if feature.unit else ""
        if low > feature.low:
            alternatives.append(f"{feature.name} < {number_in_words(low)}{unit}")
        if high < feature.high:
            alternatives.append(f"{feature.name} > {number_in_words(high)}{unit}")
    return " OR ".join(alternatives)


def _overlap(ruleset: RuleSet, first: int, second: int) -> bool:
    """Return whether two boxes may have a point in common; sums count as features of their own."""
    boxes, origins = ruleset.subset([first, second]).unwrapped()
    return bool(is_box(shared(boxes.bounds[origins == 0][:, None], boxes.bounds[origins == 1])).any())


def _deciding(ruleset: RuleSet) -> Mask:
    """Return which rules can decide; of rules without order, all."""
    if not ruleset.ordered:
        return np.ones(len(ruleset), dtype=np.bool_)
    return np.array([reach.decides is not False for reach in first_match(ruleset)])


def _shares(ruleset: RuleSet, task: Task | None) -> tuple[Floats, bool, str]:
    """Return the share of each action and, last, of no action; whether it is exact; and what it is of."""
    scope = None if task is None else scope_of(ruleset, task)
    if scope is not None and scope.complete:
        return _counted(ruleset, ruleset.choose(scope.points)[0]), True, "decision states"
    if ruleset.ordered and not ruleset.terms:
        rule_shares = [reach.share for reach in first_match(ruleset)]
        known_shares = [share for share in rule_shares if share is not None]
        if len(known_shares) == len(rule_shares):
            shares = _by_action(ruleset, np.array(known_shares))
            return np.append(shares, max(0.0, 1.0 - float(shares.sum()))), True, "inputs"
    points = np.array([[float(f.low)] * DRAWN for f in ruleset.observed_features]).T
    for d, feature in enumerate(ruleset.observed_features):
        if feature.name in ruleset.tested:  # others make no difference
            key, width = stream(0, "regions of actions", d), float(feature.high) - float(feature.low)
            shares = np.array([uniform(key, i) for i in range(DRAWN)])
            points[:, d] += np.floor(shares * (width + 1)) if feature.is_integer else shares * width
    return _counted(ruleset, choose_at(ruleset, points)[0]), False, "inputs"


def _counted(ruleset: RuleSet, actions: NDArray[np.integer]) -> Floats:
    """Return the share of each action, and of none, among actions that were chosen."""
    places = np.where(actions < 0, len(ruleset.action_names), actions)
    shares: Floats = np.bincount(places, minlength=len(ruleset.action_names) + 1) / len(places)
    return shares


def _by_action(ruleset: RuleSet, shares: Floats) -> Floats:
    """Return shares of rules, added up by action."""
    added: Floats = np.bincount(ruleset.actions, shares, len(ruleset.action_names)).astype(np.float64)
    return added
