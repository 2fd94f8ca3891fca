"""A reading: rules in words, in the order in which they are read, as text, Markdown, LaTeX and a table."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

from ifthen.explain.words.typeset import (
    latex_condition,
    latex_measure,
    latex_table,
    latex_text,
    markdown_table,
    percent,
    text_rows,
)
from ifthen.inference.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet

if TYPE_CHECKING:
    import polars

MANY_TERMS = 4
MANY_IDLE = 20
"""Of more rules that decide nothing than this, only the number is shown."""
HOW = {
    "decision-list": "the first that matches decides",
    "strength": "the strongest that matches decides",
    "prediction-array": "the action that matching rules predict to pay most is taken, "
    "and the fittest that speaks for it decides",
}


@dataclass(frozen=True)
class ShownRule:
    """One rule of a reading.

    Args:
        rule: its number, from 0.
        head: "IF x ≤ 3", "OTHERWISE" or "ALWAYS".
        action: what it proposes.
        payoff: the payoff it predicts, in words; "" in a decision list.
        weight: its strength at its centre, or its fitness; None in a decision list.
        decides: how many states it decides; None where they cannot be listed.
        share: the same as a share of all states, or of the whole space where these cannot be listed; None
            where it is not known.
        group: number of the group that it is read in, from 0: neighbours with the same action.
        never: whether it decides nowhere at all; False where it is not known, as in an environment of a rule
            that decides none of the states met. One that decides only where a real feature has a single value
            has no share of the space, but decides.
    """

    rule: int
    head: str
    action: str
    payoff: str
    weight: float | None
    decides: int | None
    share: float | None
    group: int
    never: bool

    @property
    def words(self) -> str:
        """The rule: IF … THEN …, OTHERWISE … or ALWAYS … ."""
        return " ".join([self.head, *(["THEN"] if self.head.startswith("IF ") else []), self.action])

    @property
    def idle(self) -> bool:
        """Whether it decides nowhere, or in none of the states met."""
        return self.never or self.decides == 0

    @property
    def decides_in_words(self) -> str:
        """The share of states it decides; "never decides" for none, "not met" for none of those met.

        "?" is said where it is not known.
        """
        if self.idle:
            return "never decides" if self.never else "not met"
        return "?" if self.share is None else percent(self.share) if self.share else "<1%"


@dataclass(frozen=True)
class Reading:
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

    @property
    def has_shares(self) -> bool:
        """Whether it is known of any rule what it decides."""
        return any(rule.never or rule.share is not None for rule in self.rules)

    @property
    def weight_name(self) -> str:
        """What `weight` of the rules is: "strength", "fitness" or, in a decision list, ""."""
        return {"strength": "strength", "prediction-array": "fitness"}.get(self.ruleset.kind, "")

    @property
    def heading(self) -> str:
        """How the rules choose, and what the shares are of, in one or two sentences."""
        lines = [f"{_counted(len(self.rules))}: {HOW[self.ruleset.kind]}."]
        if self.has_shares:
            lines.append(f"Shares are of {self.where}.")
        if self.states and self.uncovered:
            lines.append(
                f"No rule matches in {self.uncovered:,} of them ({percent(self.uncovered / self.states)})."
            )
        elif self.uncovered_share:
            lines.append(f"No rule matches in {percent(self.uncovered_share)} of them.")
        if self.has_shares and any(rule.decides_in_words == "?" for rule in self.rules):
            lines.append("Where a question mark stands, the search for what a rule decides gave up.")
        return " ".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100, everything: bool = False) -> str:
        """Return the reading for a terminal of `width` characters; rules are numbered from 1.

        Args:
            width: of the terminal.
            everything: show rules that decide nothing even where they are many and the order of rules means
                nothing; otherwise they are counted.
        """
        ordered = isinstance(self.ruleset, DecisionList)
        rules = self.rules if everything or ordered else self._worth_showing
        cells = [
            [str(rule.rule + 1), rule.head, *([_then(rule)] if ordered else []), *self._measures(rule)]
            for rule in rules
        ]
        headers = ["#", "", *([""] if ordered else []), *self._headers[3:]]
        align = self._align if ordered else "rl" + self._align[3:]
        header, *rows = text_rows([headers, *cells], align, width, flexible=1)
        lines = [fill(self.heading, width), *(["", header] if self._headers[3:] else [""])]
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
        """The rules less those that decide nothing where these are many."""
        deciding = tuple(rule for rule in self.rules if not rule.idle)
        return self.rules if len(self.rules) - len(deciding) <= MANY_IDLE else deciding

    def _about_group(self, group: int) -> str:
        rules = [rule for rule in self.rules if rule.group == group]
        decided = [rule.decides for rule in rules if rule.decides is not None]
        share = f", decided in {percent(sum(decided) / self.states)} of the states" if self.states else ""
        return f"{rules[0].action}: {_counted(len(rules))}{share}"

    def _about_hidden(self, hidden: list[ShownRule]) -> str:
        votes, s = (
            " (but may vote)" if self.ruleset.kind == "prediction-array" else "",
            "s" * (len(hidden) == 1),
        )
        proven = all(rule.never for rule in hidden)
        what = f"never decide{s}" if proven else f"decide{s} in none of the states met"
        return f"and {_counted(len(hidden))} that {what}{votes}"

    def to_markdown(self) -> str:
        """Return the reading as Markdown: a sentence and a table."""
        rows = [
            [str(rule.rule + 1), rule.head.removeprefix("IF "), rule.action, *self._measures(rule)]
            for rule in self.rules
        ]
        return f"{self.heading}\n\n{markdown_table(self._headers, rows, self._align)}\n"

    def to_latex(self) -> str:
        """Return the rules as a LaTeX table; it needs the packages booktabs and amsmath."""
        rows = [
            [
                str(rule.rule + 1),
                latex_condition(self.ruleset, rule.rule) or rule.head.lower(),
                latex_text(rule.action),
                *(latex_measure(cell) for cell in self._measures(rule)),
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

        columns: dict[str, Any] = {
            "rule": [rule.rule + 1 for rule in self.rules],
            "words": [rule.words for rule in self.rules],
            "action": [rule.action for rule in self.rules],
            "decides": polars.Series([rule.decides for rule in self.rules], dtype=polars.Int64),
            "share": polars.Series([rule.share for rule in self.rules], dtype=polars.Float64),
            "group": [rule.group + 1 for rule in self.rules],
        }
        if self.weight_name:
            columns["payoff"] = [rule.payoff for rule in self.rules]
            columns[self.weight_name] = [rule.weight for rule in self.rules]
        return polars.DataFrame(columns)

    @property
    def _headers(self) -> list[str]:
        shares = ["decides"] if self.has_shares else []
        return ["#", "IF", "THEN", *shares, *(["payoff", self.weight_name] if self.weight_name else [])]

    @property
    def _align(self) -> str:
        return "rll" + "r" * (len(self._headers) - 3)

    def _measures(self, rule: ShownRule) -> list[str]:
        shares = [rule.decides_in_words] if self.has_shares else []
        return [*shares, *([] if rule.weight is None else [rule.payoff, f"{rule.weight:.3g}"])]


def _counted(n: int) -> str:
    return f"{n:,} rule{'s' if n > 1 else ''}"


def _then(rule: ShownRule) -> str:
    return f"THEN {rule.action}" if rule.head.startswith("IF ") else f"     {rule.action}"
