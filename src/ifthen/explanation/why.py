"""Why a policy does what it does in one state: which rule decides, which lost, and what would change it.

The ruleset says how its rules compared, and `counterfactual` finds the nearest state with another action.
Rules answer everywhere, in holes too. What they say matters only in decision states, and there an exact
solution of the task tells whether it is optimal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.digits import values_in_words
from ifthen.environments.make import TaskLike
from ifthen.errors import RuleError, nearest
from ifthen.explanation.counterfactual import LISTED, Counterfactual, counterfactual
from ifthen.explanation.pictures.policy_grid import letters, places
from ifthen.notebook import Part, Shown
from ifthen.rules.arrays import Floats
from ifthen.rules.comparison import Lost
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.ruleset import NULL_ACTION, PolicyLike, RuleSet
from ifthen.rules.term import formula, has_own_name, sum_in_words
from ifthen.simulate.scope import Number, listed, policy_and_task, ruleset_of, table_of, values_by_name
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task
from ifthen.text_table import TextTable

LETTERS = {"G": "a goal", "H": "a hole", "O": "a wall"}
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Standing:
    """What a task says of an observation and of what is done there.

    Args:
        asked: whether the policy is ever asked there; taken as so without a task.
        place: what the observation is where it is not, such as "a hole of FrozenLake-8-0.3".
        best: the names of the optimal actions; nothing where they are not known, or differ between states
            that look the same.
        optimal: whether the action is one of them; None where it is not known.
        loss: how much less than an optimal action it is worth if all goes optimally afterwards.
        words: the same as a sentence; "" where there is nothing to say.
    """

    asked: bool = True
    place: str = ""
    best: tuple[str, ...] = ()
    optimal: bool | None = None
    loss: float | None = None
    words: str = ""


class StatesByFeatures:
    """The states of a task by their features.

    Args:
        task: the task.
    """

    def __init__(self, task: TabularTask) -> None:
        self.task = task
        self.decision: dict[Vector, list[int]] = defaultdict(list)
        for state, vector in zip(task.decision_states.tolist(), task.dynamics.points.tolist(), strict=True):
            self.decision[tuple(vector)].append(state)

    def standing(self, point: Vector, action: int) -> Standing:
        """Return what the task says of a point `(features,)` and the action there, −1 for none."""
        states = self.decision.get(point, [])
        if not states:
            return Standing(asked=False, place=self.place(point))
        solution = value_iteration(self.task)
        optimal = solution.optimal_actions[states]
        shared = [self.task.action_names[a] for a in np.flatnonzero(optimal.all(axis=0)).tolist()]
        names = tuple(shared) if (optimal == optimal[0]).all() else ()
        if action < 0:
            words = f"Optimal would be {_either(names)}{self._steps_left}." if names else ""
            return Standing(best=names, words=words)
        is_optimal = optimal[:, action]
        if len(states) > 1:  # they look the same, but their values can differ
            alike = f"{is_optimal.sum()} of the {len(states)} states that look like this"
            words = f"It is optimal in {alike}{self._steps_left}."
            return Standing(best=names, optimal=bool(is_optimal.all()), words=words)
        if is_optimal[0]:
            return Standing(best=names, optimal=True, loss=0.0, words=f"It is optimal{self._steps_left}.")
        (state,) = states
        loss = float(solution.values[state] - solution.action_values[state, action])
        words = f"It is not optimal: {_either(names)} would be worth {loss:.3g} more{self._steps_left}."
        return Standing(best=names, optimal=False, loss=loss, words=words)

    @property
    def _steps_left(self) -> str:
        """What values are of where they depend on the steps that are left."""
        return f" with all {self.task.t_max:,} steps left" if self.task.gamma == 1 else ""

    def place(self, point: Vector) -> str:
        """Return what a point is that is no decision state."""
        task, letter = self.task, ""
        states = np.flatnonzero((task.state_features == point).all(axis=1))
        if not len(states):
            return f"no state of {task.name}"
        if task.on_grid:
            (row, *_), (column, *_) = places(task, states)
            letter = letters(task)[row][column]
        if letter in ("G", "O") or (letter == "H" and task.layout):
            return f"{LETTERS[letter]} of {task.name}"
        ends = task.next_state[task.decision_states][task.done[task.decision_states]]
        ending = np.isin(states, ends).any()
        return f"an ending of {task.name}" if ending else f"a state of {task.name} that is never reached"


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


SHOWN = 5
"""The text shows at most this many of the rules that lost."""
EDGE = 1e-9
"""States nearer than this differ by rounding alone."""
FEWEST_DIGITS = 4
NEAR = 1e-11
LONG = 12  # characters of a number that is better said as a neighbour of a shorter one


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """Why a ruleset does what it does in one state.

    Args:
        ruleset: the rules.
        observation: the value of every feature, as it counts: beyond a range that clips it is the edge.
        rule: the rule that decides, from 0; None where no rule matches.
        reason: why that rule decides.
        others: every other rule that matches, the nearest rival first, and why it lost.
        scores: the number behind each action: its strongest rule's strength, or its predicted payoff.
        counterfactual: the nearest state with another action.
        counterfactual_note: why there is none, or why there may be a nearer one.
        standing: whether the policy is ever asked there, and whether its action is optimal; see `Standing`.
        shown: the value of every feature as it is printed, such as "2.5 (counts as 2.4)".
    """

    ruleset: RuleSet
    observation: dict[str, Number]
    rule: int | None
    reason: str
    others: tuple[Lost, ...]
    scores: dict[str, float]
    counterfactual: Counterfactual | None
    counterfactual_note: str
    standing: Standing
    shown: dict[str, str]

    @property
    def action(self) -> str | None:
        """The action taken; None where no rule matches."""
        return None if self.rule is None else self.ruleset.action_of(self.rule)

    @property
    def words(self) -> str:
        """The rule that decides in words; "" where there is none."""
        return "" if self.rule is None else self.ruleset.rule_in_words(self.rule)

    @property
    def terms(self) -> dict[str, float]:
        """The value of every term, by name."""
        point = self.ruleset.with_terms(np.array([list(self.observation.values())], dtype=np.float64))[0]
        values = point[len(self.observation) :].tolist()
        return {term.name: value for term, value in zip(self.ruleset.terms, values, strict=True)}

    @property
    def terms_in_words(self) -> list[str]:
        """How the value of every term comes about: "tilt error = 0.5·x − angle = 0.5·0.2 − 0.1 = 0"."""
        words = []
        for term in self.ruleset.terms:
            name = f"{term.name} = " if has_own_name(term) else ""
            words.append(f"{name}{formula(term)} = {sum_in_words(term, self.observation)}")
        return words

    @property
    def asked(self) -> bool:
        """Whether the policy is ever asked there; taken as so without a task."""
        return self.standing.asked

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data that JSON understands; rules are numbered from 0."""
        changed, standing = self.counterfactual, self.standing
        return {
            "observation": dict(self.observation),
            **({"terms": self.terms} if self.ruleset.terms else {}),
            **{name: getattr(self, name) for name in ("action", "rule", "words", "reason")},
            "others": [lost.to_dict() for lost in self.others],
            "scores": dict(self.scores),
            "counterfactual": changed.to_dict() if changed else None,
            "counterfactual_note": self.counterfactual_note,
            "asked": standing.asked,
            "place": standing.place,
            "best": list(standing.best),
            "optimal": standing.optimal,
            "loss": standing.loss,
        }

    def __str__(self) -> str:
        state_words = values_in_words(self.shown, self.ruleset.tested)
        if not self.asked:
            lines = [f"At {state_words} is {self.standing.place}: the policy is never asked there."]
            would_do = "do nothing" if self.rule is None else f"say {self.action}"
            lines.append(f"Its rules would {would_do}: {self.reason}.")
        elif self.rule is None:
            lines = [f"At {state_words} nothing is done: {self.reason}."]
        else:
            lines = [f"At {state_words} the action is {self.action}: {self.reason}."]
        lines += [] if self.rule is None else [f"  {_numbered(self)}"]
        lines += [f"  {words}" for words in self.terms_in_words]
        lines += [self.standing.words] if self.standing.words else []
        if self.others:
            lines.append("Other rules that match:")
            lines += [f"  {_numbered(lost)}  ({lost.why})" for lost in self.others[:SHOWN]]
        if len(self.others) > SHOWN:
            lines.append(f"  and {len(self.others) - SHOWN} more")
        return "\n".join([*lines, *self._counterfactual_lines()])

    def shown_parts(self) -> list[Part]:
        """Return what is done and why, the rules that match, and what would change it."""
        headline, *_ = str(self).splitlines()
        not_asked = [] if self.asked else [str(self).splitlines()[1]]
        decides = [] if self.rule is None else [(str(self.rule + 1), self.words, "decides")]
        lost = [(str(lost.rule + 1), lost.words, lost.why) for lost in self.others]
        rules = TextTable("", ("#", "rule that matches", ""), (*decides, *lost))
        words = [self.standing.words] if self.standing.words else []
        change = " ".join(line.strip() for line in self._counterfactual_lines())
        return [headline, *not_asked, *([rules] if rules.rows else []), *words, change]

    def _counterfactual_lines(self) -> list[str]:
        changed = self.counterfactual
        if changed is None:
            return [f"What would change it: {self.counterfactual_note}."]
        changes = " and ".join(
            f"{set_to(f, *changed.changes[f.name])} instead of {self.shown[f.name]}"
            for f in self.ruleset.observed_features
            if f.name in changed.changes
        )
        outcome = "no rule would match" if changed.rule is None else f"the action would be {changed.action}"
        distance_words = (
            "right at the edge" if changed.distance < EDGE else f"distance {changed.distance:.3g}"
        )
        distance_words += f"; {self.counterfactual_note}" if self.counterfactual_note else ""
        lines = [f"What would change it: with {changes}, {outcome} ({distance_words})."]
        if changed.rule is not None:
            lines.append(f"  {changed.rule + 1}. {changed.words}")
        return lines


def explain(
    policy: PolicyLike, observation: ArrayLike | Mapping[str, Any], task: TaskLike | None = None
) -> Explanation:
    """Say why a policy does what it does at an observation, and which nearest state would change it.

    Args:
        policy: a RuleSet, or a trained system.
        observation: the features, `(features,)` or by name; for a system also what its environment gives, as
            `predict` takes it.
        task: says whether the policy is ever asked there and whether its action is optimal; a system's own
            task where None. The nearest change is looked for among its decision states; without a task, and
            in an environment, in the whole space.
    """
    rules, task = policy_and_task(policy, task)
    if policy is not rules:
        system: Any = policy
        system_task: Task = system.task
        if not (isinstance(observation, Mapping) and system_task.takes_names(observation)):
            observation = system_task.points_of(observation)
    if isinstance(observation, Mapping):
        names = [f.name for f in rules.observed_features]
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


def explain_all(policy: PolicyLike, points: ArrayLike, task: Task | None = None) -> list[Explanation]:
    """Say of many states at once why a policy does what it does there.

    Args:
        policy: a RuleSet, or a trained system.
        points: the states' features, `(n, features)`, such as `task.dynamics.points`.
        task: as for `explain`.
    """
    rules = ruleset_of(policy)
    batch = checked_points(rules, points)
    unclipped = np.atleast_2d(np.asarray(points, dtype=np.float64)) + 0.0
    table, states = table_of(rules, task), listed(rules, task, LISTED)
    states_by_features = None if table is None else StatesByFeatures(table)
    name = "states" if states_by_features is None else f"decision states of {states_by_features.task.name}"
    explanations = []
    for point, unclipped_point in zip(batch, unclipped.tolist(), strict=True):
        comparison, values = rules.comparison(point), point.tolist()
        action = NULL_ACTION if comparison is None else int(rules.actions[comparison.rule])
        changed, note = counterfactual(rules, values, action, states, name)
        explanations.append(
            Explanation(
                ruleset=rules,
                observation=values_by_name(rules.observed_features, values),
                rule=None if comparison is None else comparison.rule,
                reason="no rule matches" if comparison is None else comparison.reason,
                others=() if comparison is None else comparison.others,
                scores={} if comparison is None else comparison.scores,
                counterfactual=changed,
                counterfactual_note=note,
                standing=Standing()
                if states_by_features is None
                else states_by_features.standing(tuple(values), action),
                shown=shown_values(rules, values, unclipped_point),
            )
        )
    return explanations


def checked_points(ruleset: RuleSet, points: ArrayLike) -> Floats:
    """Return observations `(n, features)`, or raise where one is outside the space or not whole."""
    batch = ruleset.checked_observations(points) + 0.0  # no -0.0
    for d, feature in enumerate(ruleset.observed_features):
        broken = batch[:, d] != np.rint(batch[:, d])
        if feature.is_integer and broken.any():
            raise RuleError(
                f"{feature.name} is an integer feature: its value must be whole, not {batch[broken, d][0]:g}."
            )
    return batch


def _numbered(rule: Explanation | Lost) -> str:
    return f"{(rule.rule or 0) + 1}. {rule.words}"


def shown_values(ruleset: RuleSet, point: Sequence[float], unclipped: Sequence[float]) -> dict[str, str]:
    """Return an observation as it is printed, with as few digits as no rule can tell from it.

    Args:
        ruleset: the rules.
        point: the observation as it counts, `(features,)`.
        unclipped: the same before it was clipped to the features' ranges.
    """
    shown = {}
    for d, (feature, value, raw) in enumerate(zip(ruleset.observed_features, point, unclipped, strict=True)):
        ends = np.append(np.unique(ruleset.bounds[:, d]), [feature.low, feature.high])
        counts = "" if raw == value else f" (counts as {feature.value_in_words(value)})"
        number = (
            feature.value_in_words(raw) if feature.labels else _with_unit(feature, short_number(raw, ends))
        )
        shown[feature.name] = number + counts
    return shown


def short_number(value: float, ends: NDArray[Any]) -> str:
    """Return a number in so few digits, four at least, that it stays on the same side of all ends `(n,)`."""
    for digits in range(FEWEST_DIGITS, LONG):
        short = float(f"{value:.{digits}g}")
        if (np.sign(short - ends) == np.sign(value - ends)).all():
            return number_in_words(short + 0.0)
    return number_in_words(value)


def changed_value(feature: Feature, before: float, after: float) -> str:
    """Return the value after a change; "just above 0.3" where it is the next number after a short one."""
    neighbour = float(np.nextafter(after, before))
    if abs(after - (short := float(f"{after:.{LONG - 3}g}"))) < NEAR * abs(after):
        neighbour = short  # where a term crosses the end of an interval, it need not be the next number
    if not feature.is_integer and len(number_in_words(after)) > LONG > len(number_in_words(neighbour)):
        side = "just above" if after > before else "just below"
        return f"{side} {_with_unit(feature, number_in_words(neighbour))}"
    return feature.value_in_words(after)


def set_to(feature: Feature, before: float, after: float) -> str:
    """Return a change of a feature, such as "x = 3" or "x just above 0.3"."""
    value = changed_value(feature, before, after)
    return f"{feature.name} {value}" if value.startswith("just ") else f"{feature.name} = {value}"


def _with_unit(feature: Feature, number: str) -> str:
    return f"{number} {feature.unit}" if feature.unit else number
