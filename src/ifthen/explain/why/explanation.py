"""Why: what a ruleset does in one state, which rule made it so, which lost, and what would change it.

The answer is made of what the rules themselves compare (`why.reasons`), of the nearest state in which another
action is chosen (`why.counterfactual`) and, with a task, of what the state is in it (`why.standing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import RuleError, nearest
from ifthen.explain.domain import AnyTask, ruleset_of, table_of
from ifthen.explain.points import Number, values_by_name
from ifthen.explain.why.counterfactual import Counterfactual, counterfactual, domain_of
from ifthen.explain.why.reasons import Lost, judge_of
from ifthen.explain.why.standing import Ground, Standing
from ifthen.explain.why.values import changed_value, shown_values
from ifthen.explain.words import rule_for_reading
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet

SHOWN = 5
"""How many of the rules that lost are shown in the text."""


@dataclass(frozen=True)
class Explanation:
    """Why a ruleset does what it does in one state.

    Args:
        observation: the value of every feature, as it counts: beyond a range that clips it is the edge.
        action: what is done; None where no rule matches.
        rule: the rule that decides, from 0.
        words: that rule in words; "" where there is none.
        reason: why it decides.
        others: every other rule that matches, the nearest rival first, and why it lost.
        scores: what each action had for it: its strongest rule's strength, or its predicted payoff; nothing
            in a decision list.
        counterfactual: the nearest state with another action.
        counterfactual_note: why there is none, or why there may be a nearer one.
        features: the features, for their units.
        counterfactual_words: the words of the rule that decides there.
        standing: whether the policy is ever asked there, and whether its action is optimal; see `Standing`.
        shown: the value of every feature as it is printed, such as "2.5 (counts as 2.4)".
    """

    observation: dict[str, Number]
    action: str | None
    rule: int | None
    words: str
    reason: str
    others: tuple[Lost, ...]
    scores: dict[str, float]
    counterfactual: Counterfactual | None
    counterfactual_note: str
    features: tuple[Feature, ...]
    counterfactual_words: str
    standing: Standing
    shown: dict[str, str]

    @property
    def asked(self) -> bool:
        """Whether the policy is ever asked there; taken as so without a task."""
        return self.standing.asked

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data that JSON understands; rules are numbered from 0."""
        changed = self.counterfactual
        return {
            "observation": dict(self.observation),
            "action": self.action,
            "rule": self.rule,
            "words": self.words,
            "reason": self.reason,
            "others": [lost.to_dict() for lost in self.others],
            "scores": dict(self.scores),
            "counterfactual": {**changed.to_dict(), "words": self.counterfactual_words} if changed else None,
            "counterfactual_note": self.counterfactual_note,
            "asked": self.asked,
            "place": self.standing.place,
            "best": list(self.standing.best),
            "optimal": self.standing.optimal,
            "loss": self.standing.loss,
        }

    def __str__(self) -> str:
        at = ", ".join(f"{f.name} = {self.shown[f.name]}" for f in self.features)
        if not self.asked:
            lines = [f"At {at} is {self.standing.place}: the policy is never asked there."]
            done = "do nothing" if self.rule is None else f"say {self.action}"
            lines.append(f"Its rules would {done}: {self.reason}.")
        elif self.rule is None:
            lines = [f"At {at} nothing is done: {self.reason}."]
        else:
            lines = [f"At {at} the action is {self.action}: {self.reason}."]
        lines += [] if self.rule is None else [f"  {_numbered(self)}"]
        lines += [self.standing.words] if self.standing.words else []
        if self.others:
            lines.append("Other rules that match:")
            lines += [f"  {_numbered(lost)}  ({lost.why})" for lost in self.others[:SHOWN]]
        if len(self.others) > SHOWN:
            lines.append(f"  and {len(self.others) - SHOWN} more")
        return "\n".join([*lines, *self._counterfactual_lines()])

    def _counterfactual_lines(self) -> list[str]:
        there = self.counterfactual
        if there is None:
            return [f"What would change it: {self.counterfactual_note}."]
        changes = " and ".join(
            f"{f.name} = {changed_value(f, *there.changes[f.name])} instead of {self.shown[f.name]}"
            for f in self.features
            if f.name in there.changes
        )
        then = "no rule would match" if there.rule is None else f"the action would be {there.action}"
        near = f"distance {there.distance:.3g}"
        near += f"; {self.counterfactual_note}" if self.counterfactual_note else ""
        lines = [f"What would change it: with {changes}, {then} ({near})."]
        if there.rule is not None:
            lines.append(f"  {there.rule + 1}. {self.counterfactual_words}")
        return lines


def explain(
    ruleset: Any, observation: ArrayLike | Mapping[str, float], task: AnyTask | None = None
) -> Explanation:
    """Say why a ruleset does what it does in a state, and which nearest state would change it.

    Args:
        ruleset: a RuleSet, or a trained system.
        observation: the state's features, `(features,)`, or by name.
        task: say whether the policy is ever asked there and whether its action is optimal, and look for the
            nearest change among the task's decision states only, which are those that can happen; otherwise,
            and in an environment, whose values are not known, in the whole space.
    """
    rules = ruleset_of(ruleset)
    if isinstance(observation, Mapping):
        names = [f.name for f in rules.features]
        for name in observation:
            if name not in names:
                raise RuleError(f"the rules know no feature {name!r}.{nearest(str(name), names)}")
        missing = [name for name in names if name not in observation]
        if missing:
            raise RuleError(f"the observation must give every feature; it leaves out {', '.join(missing)}.")
        observation = [observation[name] for name in names]
    if np.ndim(observation) != 1:
        raise RuleError("explain takes one observation; explain_all takes many.")
    return explain_all(rules, np.asarray(observation)[None], task)[0]


def explain_all(ruleset: Any, points: ArrayLike, task: AnyTask | None = None) -> list[Explanation]:
    """Say of many states at once why a ruleset does what it does there.

    Args:
        ruleset: a RuleSet, or a trained system.
        points: the states' features, `(n, features)`, such as `task.dynamics.points`.
        task: as for `explain`.
    """
    rules = ruleset_of(ruleset)
    batch = checked_points(rules, points)
    given = np.atleast_2d(np.asarray(points, dtype=np.float64)) + 0.0
    table = table_of(rules, task)
    domain, words = domain_of(rules, table), cache(partial(rule_for_reading, rules))
    ground = None if table is None else Ground(table)
    matching = rules.matches(batch)
    actions, deciders = rules.decide(matching, batch)
    judge, explanations = judge_of(rules, matching, batch, words), []
    for i, (action, decider) in enumerate(zip(actions.tolist(), deciders.tolist(), strict=True)):
        point = batch[i].tolist()
        contest = judge(i, decider) if decider >= 0 else None
        other, note = counterfactual(rules, point, action, domain)
        explanations.append(
            Explanation(
                observation=values_by_name(rules.features, point),
                action=rules.action_names[action] if contest else None,
                rule=decider if contest else None,
                words=words(decider) if contest else "",
                reason=contest.reason if contest else "no rule matches",
                others=contest.others if contest else (),
                scores=contest.scores if contest else {},
                counterfactual=other,
                counterfactual_note=note,
                features=rules.features,
                counterfactual_words=words(other.rule) if other and other.rule is not None else "",
                standing=Standing() if ground is None else ground.standing(tuple(point), action),
                shown=shown_values(rules, point, given[i].tolist()),
            )
        )
    return explanations


def checked_points(ruleset: RuleSet, points: ArrayLike) -> NDArray[np.float64]:
    """Return observations `(n, features)`, or raise where one is outside the space or not whole."""
    batch = ruleset.checked_observations(points) + 0.0  # no -0.0
    for d, feature in enumerate(ruleset.features):
        broken = batch[:, d] != np.rint(batch[:, d])
        if feature.is_integer and broken.any():
            raise RuleError(
                f"{feature.name} is an integer feature: its value must be whole, not {batch[broken, d][0]:g}."
            )
    return batch


def _numbered(rule: Explanation | Lost) -> str:
    return f"{(rule.rule or 0) + 1}. {rule.words}"
