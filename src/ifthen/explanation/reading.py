"""A reading: rules in words, in the order in which they are best read, as text, Markdown, LaTeX and a table.

The order of a decision list is its meaning and is kept. Rules without order are grouped by action, the action
that decides most first, and in a group by the share of states that they decide, then by strength or fitness.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from ifthen.digits import percent, plural
from ifthen.environments.make import TaskLike
from ifthen.notebook import Part, Shown
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.boxes.cover import coverage
from ifthen.rules.boxes.list_analysis import first_match
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.simplify.compact import compact_at
from ifthen.simulate.scope import Scope, policy_and_task, scope_of, where_in_words
from ifthen.tasks.task import Task
from ifthen.text_table import TextTable, fitting_rows, latex_table, latex_text, markdown_table

if TYPE_CHECKING:
    import polars

MANY_TERMS = 4
MANY_IDLE = 20
"""Of more rules that decide nothing than this, only the number is shown."""


@dataclass(frozen=True)
class ShownRule:
    """One rule of a reading.

    Args:
        rule: its number, from 0.
        head: "IF x ≤ 3", "OTHERWISE" or "ALWAYS".
        action: what it proposes.
        notes: the payoff it predicts, in words; "" in a decision list.
        weight: its strength at its centre, or its fitness; None in a decision list.
        decides: how many states it decides; None where they cannot be listed.
        share: the same as a share of all states, or of the whole space where these cannot be listed; None
            where it is not known.
        group: number of the group that it is read in, from 0: neighbours with the same action.
        never: whether it is proven to decide nowhere; False where it is not known, as of a rule that decides
            none of the states visited in an environment. A rule that decides only where a real feature has a
            single value has no share of the space, but decides.
    """

    rule: int
    head: str
    action: str
    notes: str
    weight: float | None
    decides: int | None
    share: float | None
    group: int
    never: bool

    @property
    def number(self) -> int:
        """Its number, from 1."""
        return self.rule + 1

    @property
    def words(self) -> str:
        """The rule: IF … THEN …, OTHERWISE … or ALWAYS … ."""
        return " ".join([self.head, *(["THEN"] if self.head.startswith("IF ") else []), self.action])

    @property
    def idle(self) -> bool:
        """Whether it decides nowhere, or in none of the visited states."""
        return self.never or self.decides == 0

    @property
    def decides_in_words(self) -> str:
        """The share of states it decides: "never decides" for none, "not visited" for none of those visited.

        It is "?" where the share is not known.
        """
        if self.idle:
            return "never decides" if self.never else "not visited"
        return "?" if self.share is None else percent(self.share) if self.share else "<1%"


@dataclass(frozen=True, repr=False)
class Reading(Shown):
    """A ruleset in the order in which it is read.

    Args:
        ruleset: what is read.
        rules: every rule once.
        states: how many states the shares are of; None where they cannot be listed.
        uncovered: in how many of them no rule matches.
        where: the states in words.
        uncovered_share: in what share of them no rule matches; None where it is not known.
    """

    ruleset: RuleSet
    rules: tuple[ShownRule, ...]
    states: int | None
    uncovered: int | None
    where: str
    uncovered_share: float | None = None

    @cached_property
    def has_shares(self) -> bool:
        """Whether it is known of any rule what it decides."""
        return any(rule.never or rule.share is not None for rule in self.rules)

    @property
    def in_order(self) -> tuple[ShownRule, ...]:
        """The rules in their own order."""
        return tuple(sorted(self.rules, key=lambda rule: rule.rule))

    @property
    def heading(self) -> str:
        """How the rules choose, and which states the shares are of."""
        lines = [f"{plural(len(self.rules), 'rule')}. {self.ruleset.how}"]
        lines += [f"{words}." for words in self.ruleset.terms_in_words()]
        if self.has_shares:
            lines.append(f"Shares are of {self.where}.")
        if self.states and self.uncovered:
            lines.append(
                f"No rule matches in {self.uncovered:,} of them ({percent(self.uncovered / self.states)})."
            )
        elif self.uncovered_share:
            lines.append(f"No rule matches in {percent(self.uncovered_share)} of them.")
        if self.has_shares and any(rule.decides_in_words == "?" for rule in self.rules):
            lines.append("A question mark stands where the search for the share of a rule gave up.")
        return " ".join(lines)

    def to_text(self, width: int = 100, everything: bool = False) -> str:
        """Return the reading for a terminal of `width` characters; rules are numbered from 1.

        Args:
            width: of the terminal.
            everything: show rules that decide nothing even where they are many and the order of rules means
                nothing; otherwise they are counted.
        """
        ordered = self.ruleset.ordered
        rules = self.rules if everything or ordered else self._worth_showing
        then_cells = {True: "THEN ", False: "     "}
        cells = [
            [
                str(rule.number),
                rule.head,
                *[then_cells[rule.head.startswith("IF ")] + rule.action] * ordered,
                *self._measures(rule).values(),
            ]
            for rule in rules
        ]
        measures = self._headers[3:]
        headers, align = ["#", "", *[""] * ordered, *measures], "rl" + "l" * ordered + "r" * len(measures)
        header, *rows = fitting_rows([headers, *cells], align, width)
        lines = [fill(self.heading, width), "", *[header] * bool(measures)]
        if ordered:
            return "\n".join([*lines, *rows])
        for group in range(self.rules[-1].group + 1):
            lines += ["", self._about_group(group)]
            lines += [row for rule, row in zip(rules, rows, strict=True) if rule.group == group]
            hidden = [rule for rule in self.rules if rule.group == group and rule not in rules]
            lines += [self._about_hidden(hidden)] if hidden else []
        return "\n".join(lines)

    @property
    def _worth_showing(self) -> tuple[ShownRule, ...]:
        """All rules; without those that decide nothing if there are many of them."""
        deciding = tuple(rule for rule in self.rules if not rule.idle)
        return self.rules if len(self.rules) - len(deciding) <= MANY_IDLE else deciding

    def _about_group(self, group: int) -> str:
        rules = [rule for rule in self.rules if rule.group == group]
        decided = [rule.decides for rule in rules if rule.decides is not None]
        share = f", decided in {percent(sum(decided) / self.states)} of the states" if self.states else ""
        return f"{rules[0].action}: {plural(len(rules), 'rule')}{share}"

    def _about_hidden(self, hidden: list[ShownRule]) -> str:
        votes, s = " (but may vote)" if self.ruleset.votes else "", "s" * (len(hidden) == 1)
        proven = all(rule.never for rule in hidden)
        phrase = f"never decide{s}" if proven else f"decide{s} in none of the visited states"
        return f"and {plural(len(hidden), 'rule')} that {phrase}{votes}"

    def shown_parts(self) -> list[Part]:
        """Return how the rules choose, and a table of them."""
        rows = [(str(rule.number), rule.words, *self._measures(rule).values()) for rule in self.rules]
        return [self.heading, TextTable("", ("#", "rule", *self._headers[3:]), tuple(rows))]

    def to_markdown(self) -> str:
        """Return the reading as Markdown: a sentence and a table."""
        rows = [
            [str(rule.number), rule.head.removeprefix("IF "), rule.action, *self._measures(rule).values()]
            for rule in self.rules
        ]
        return f"{self.heading}\n\n{markdown_table(self._headers, rows, self._align)}\n"

    def to_latex(self) -> str:
        """Return the rules as a LaTeX table; it needs the packages booktabs and amsmath."""
        rows = [
            [
                str(rule.number),
                latex_condition(self.ruleset, rule.rule) or rule.head.lower(),
                latex_text(rule.action),
                *(latex_text(re.sub(r"-(?=\d)", "−", cell)) for cell in self._measures(rule).values()),
            ]
            for rule in self.rules
        ]
        headers, align = [latex_text(name.lower()) for name in self._headers], self._align
        if any(rule.head.count(" AND ") >= MANY_TERMS for rule in self.rules):
            align = align.replace("l", r"p{0.6\linewidth}", 1)  # a paragraph, which can be broken
        return latex_table(headers, rows, align) + "\n"

    def to_table(self) -> polars.DataFrame:
        """Return one row per rule, in the order of the reading; rules are numbered from 1."""
        import polars

        names = {"rule": "number", **{name: name for name in ("words", "action", "decides", "share")}}
        columns = {
            name: [getattr(rule, attribute) for rule in self.rules] for name, attribute in names.items()
        }
        columns["group"] = [rule.group + 1 for rule in self.rules]
        if self.ruleset.weight_name:
            columns["payoff"] = [rule.notes for rule in self.rules]
            columns[self.ruleset.weight_name] = [rule.weight for rule in self.rules]
        types = {"decides": polars.Int64, "share": polars.Float64}
        return polars.DataFrame(columns, schema_overrides=types)

    def _measures(self, rule: ShownRule) -> dict[str, str]:
        """Return what stands beside a rule, by the heading of its column."""
        measures = {"decides": rule.decides_in_words} if self.has_shares else {}
        if self.ruleset.weight_name and rule.weight is not None:
            measures |= {"payoff": rule.notes, self.ruleset.weight_name: f"{rule.weight:.3g}"}
        return measures

    @property
    def _headers(self) -> list[str]:
        return ["#", "IF", "THEN", *self._measures(self.rules[0])]

    @property
    def _align(self) -> str:
        return "rll" + "r" * (len(self._headers) - 3)


def latex_condition(ruleset: RuleSet, rule: int) -> str:
    r"""Return the condition of a rule, such as `$x \le 3$ and $y \in [2, 5]$`; "" where it always matches."""
    intervals = zip(ruleset.features, ruleset.bounds[rule].tolist(), strict=True)
    terms = (latex_interval(feature, low, high) for feature, (low, high) in intervals)
    return " and ".join(filter(None, terms))


def latex_interval(feature: Feature, low: float, high: float) -> str:
    """Return one interval as mathematics with its unit; "" where it leaves nothing out."""
    if not feature.interval_in_words(low, high):
        return ""
    unit = rf"\,{latex_text(feature.unit)}" if feature.unit else ""
    least, most = latex_number(low), latex_number(high)
    if low > high:
        least_of_all, most_of_all = latex_number(feature.low), latex_number(feature.high)
        relation = rf"\in [{least}, {most_of_all}] \cup [{least_of_all}, {most}]"
    elif feature.is_one_value(low, high):
        relation = f"= {least}"
    elif low <= feature.low:
        relation = rf"\le {most}"
    elif high >= feature.high:
        relation = rf"\ge {least}"
    else:
        relation = rf"\in [{least}, {most}]"
    plain = len(feature.name) == 1 and feature.name.isascii() and feature.name.isalpha()
    name = feature.name if plain else rf"\text{{{latex_text(feature.name)}}}"  # more letters stand upright
    return f"${name} {relation}${unit}"


def latex_number(value: float) -> str:
    """Return a number for mathematics; 1e-07 as a power of ten."""
    mantissa, _, exponent = number_in_words(value).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


LONGEST_READING = 60
"""Of longer rulesets that vote, only the rules that make a difference are read."""


def readable(ruleset: RuleSet, task: Task) -> RuleSet:
    """Return the ruleset or, where it is long and votes, those of its rules that choose the same.

    In an environment they choose the same in the states visited from the training seeds.
    """
    if len(ruleset) <= LONGEST_READING or not ruleset.votes:
        return ruleset
    scope = scope_of(ruleset, task)
    return ruleset if scope is None else compact_at(ruleset, scope.points)


def read_rules(policy: PolicyLike, task: TaskLike | None = None) -> Reading:
    """Put a policy into words: return its rules, ordered for reading, with the share of states each decides.

    Args:
        policy: a RuleSet, or a trained system.
        task: shares are of its decision states or, in an environment, of the states visited from the training
            seeds; a system's own task where None. Without a task they are of the whole space; where its
            vectors cannot be listed, shares are known for decision lists only.
    """
    ruleset, task = policy_and_task(policy, task)
    scope = scope_of(ruleset, task)
    where = where_in_words(ruleset, task) if scope is None else scope.words
    if task is not None and scope is not None and not scope.complete:
        where = f"{where} of {task.name}"
    (shares, never, uncovered_share), weights = _decided(ruleset, scope), ruleset.rule_weights()
    order = reading_order(ruleset, scope, weights)
    groups = np.cumsum(np.diff(ruleset.actions[order], prepend=ruleset.actions[order[0]]) != 0)
    rules = tuple(
        ShownRule(
            rule=r,
            head=ruleset.head_in_words(r),
            action=ruleset.action_of(r),
            notes=ruleset.rule_notes(r),
            weight=None if weights is None else float(weights[r]),
            decides=None if scope is None else int(scope.counts[r]),
            share=shares[r],
            group=int(group),
            never=never[r],
        )
        for r, group in zip(order.tolist(), groups, strict=True)
    )
    total = None if scope is None else len(scope)
    uncovered = None if scope is None else len(scope) - int(scope.counts.sum())
    return Reading(ruleset, rules, total, uncovered, where, uncovered_share)


def _decided(ruleset: RuleSet, scope: Scope | None) -> tuple[list[float | None], list[bool], float | None]:
    """Return each rule's share of a scope or of the whole space, which never decide, and the uncovered share.

    States that were not visited, and spaces that cannot be listed, are reasoned about box by box where the
    first rule decides. What is not known is None, and a rule only never decides where that is proven.
    """
    shares: list[float | None] = [None] * len(ruleset)
    never, uncovered = [False] * len(ruleset), None
    if scope is not None:
        idle = scope.counts == 0
        shares, uncovered = scope.shares.tolist(), 1 - int(scope.counts.sum()) / len(scope)
        if scope.complete or not idle.any():
            return shares, idle.tolist(), uncovered
    if ruleset.ordered:
        reaches = first_match(ruleset)
        never = [reach.decides is False for reach in reaches]
        if scope is None:
            cover = coverage(ruleset.bounds, ruleset.features)
            shares = [reach.share for reach in reaches]
            uncovered = None if cover.gave_up else cover.uncovered_share
            if cover.complete is False and uncovered == 0:
                uncovered = sys.float_info.min  # a gap that is flat along a real feature has no share
    return shares, never, uncovered


def reading_order(ruleset: RuleSet, scope: Scope | None, weights: Floats | None) -> Ints:
    """Return the rules' numbers: actions that decide most first, in each the rules that decide most first."""
    if ruleset.ordered:
        return np.arange(len(ruleset))
    counts = np.zeros(len(ruleset)) if scope is None else scope.counts
    of_action = np.bincount(ruleset.actions, counts, minlength=len(ruleset.action_names))
    worth = np.zeros(len(ruleset)) if weights is None else weights
    return np.lexsort((-worth, -counts, ruleset.actions, -of_action[ruleset.actions]))
