"""The entry point `verify`, and its report: plain data, a short text for the terminal, and Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ifthen.checks import whole_number
from ifthen.digits import plural
from ifthen.environments.make import TaskLike
from ifthen.notebook import Part, Shown
from ifthen.rules.ruleset import PolicyLike
from ifthen.rules.text.constraint_text import requirements_in
from ifthen.simulate.scope import policy_and_task, where_in_words
from ifthen.text_table import TextTable
from ifthen.verification.case import Case
from ifthen.verification.findings import SHOWN, Decided, Finding, Requirement, Result, Value
from ifthen.verification.properties import NOTES, PROPERTIES, judge, parse
from ifthen.verification.requirements import plain_ones, worded_ones

NARROWEST = 40
"""Reports are at least this many characters wide."""
MOST_EPISODES = 100_000
MOST_FINDINGS = 20
"""A notebook shows at most this many findings."""
LEGEND = ("✓ holds", "✗ does not", "– does not, which need not be a fault", "? not decided")


def verify(
    policy: PolicyLike, task: TaskLike | None = None, require: str | Sequence[str] = (), episodes: int = 100
) -> Verification:
    """Check a ruleset: is every state covered, every rule used, the goal reached, every action optimal?

    Every claim holds in the decision states of the task or, without a task, for every observation that the
    features allow, and comes with a witness: a state, a path through the task, or rules. In an environment,
    which has no table of states, rules are checked for every observation, and performance is measured by
    playing.

    Args:
        policy: a RuleSet or a trained system.
        task: the task; where None, that of a trained system, and for a ruleset every observation that the
            features allow.
        require: what must hold: properties, such as "complete,goal-reachable,performance>=0.95" (see
            `ifthen.verification.PROPERTIES` for all), and requirements in words, such as "never heat when
            room >= 24" or "never reaches x >= 2.4". What could not be decided is not met.
        episodes: how many test seeds to play in an environment.
    """
    ruleset, task = policy_and_task(policy, task)
    case = Case(ruleset, task, episodes=whole_number("episodes", episodes, 1, MOST_EPISODES))
    available = case.grounds
    demands = parse(plain_ones(require), available)
    worded = worded_ones(require, ruleset, task is not None)
    results: dict[str, Result] = {}
    findings: list[Finding] = []
    for entry in PROPERTIES.values():
        if entry.needs in available:
            result = results[entry.name] = entry.check_on(available)(case)
            findings += [
                replace(finding, about=finding.about or (entry.name,)) for finding in result.findings
            ]
    for needs, note in NOTES:
        findings += note(case) if needs in available else ()
    judged = {demand.text: Decided(judge(demand, results)) for demand in demands}
    judged |= {text: decide(case) for text, decide in worded.items()}
    in_order = [judged[text] for text in requirements_in(require)]
    findings += [finding for decision in in_order for finding in decision.findings]
    return Verification(
        f"{plural(len(case.ruleset), 'rule')} ({case.ruleset.kind})",
        where_in_words(case.ruleset, task),
        tuple(findings),
        {name: result.value for name, result in results.items()},
        {name: result.why for name, result in results.items()},
        tuple(decision.requirement for decision in in_order),
    )


@dataclass(frozen=True, repr=False)
class Verification(Shown):
    """A machine-checked report about a ruleset.

    It counts as true where every requirement is met: `assert ifthen.verify(rules, task, "complete,safe")`
    does as it reads. Without requirements it is always true: then look at `properties`.

    Args:
        subject: the rules, such as "42 rules (strength)".
        scope: where every claim holds, such as "the 53 decision states of FrozenLake-8-0".
        findings: everything that was found.
        properties: the value of every property that was checked, by name; None where it was not decided.
        reasons: the reason for each value, in words, by the same names.
        requirements: the requirements, whether each is met, and why.
    """

    subject: str
    scope: str
    findings: tuple[Finding, ...]
    properties: Mapping[str, Value]
    reasons: Mapping[str, str]
    requirements: tuple[Requirement, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every requirement is met."""
        return all(requirement.passed for requirement in self.requirements)

    def __bool__(self) -> bool:
        return self.passed

    def sign(self, name: str) -> str:
        """Return ✓, ? where it was not decided, ✗, or – where that need not be a fault; "" for a number."""
        value = self.properties[name]
        if PROPERTIES[name].is_number:
            return ""
        if value is None or value:
            return "?" if value is None else "✓"
        return "✗" if any(f.severity == "problem" and name in f.about for f in self.findings) else "–"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data that JSON understands."""
        return {
            "subject": self.subject,
            "scope": self.scope,
            "properties": dict(self.properties),
            "reasons": dict(self.reasons),
            "requirements": [requirement._asdict() for requirement in self.requirements],
            "passed": self.passed,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def shown_parts(self) -> list[Part]:
        """Return every property with its value and reason, what was found, and the requirements."""
        rows = tuple((self.sign(name), name, self.reasons[name]) for name in self.properties)
        texts = tuple(finding.text for finding in self.findings)
        met = [
            f"{'✓' if requirement.passed else '✗'} {requirement.text}: {requirement.why}"
            for requirement in self.requirements
        ]
        head = f"{self.subject} on {self.scope}"
        return [TextTable(head, ("", "property", "why"), rows, texts[:MOST_FINDINGS]), *met]

    def to_text(self, width: int = 100) -> str:
        """Return the report for a terminal.

        Args:
            width: the longest line, in characters; at least 40.
        """
        width = max(width, NARROWEST)
        lines = [*_wrapped(f"{self.subject} on {self.scope}", "", width), ""]
        column = max(len(name) for name in self.properties) + 1
        for name in filter(self.sign, self.properties):
            head = f"{self.sign(name)} {name:<{column}} "
            lines += _wrapped(self.reasons[name], head, width)
            findings = [finding for finding in self.findings if finding.about[:1] == (name,)]
            for finding in findings[:SHOWN]:
                lines += _wrapped(finding.text, " " * len(head), width)
            if len(findings) > SHOWN:
                lines.append(f"{' ' * len(head)}… and {len(findings) - SHOWN:,} more like these.")
        lines += ["", *_wrapped("   ".join(LEGEND), "", width), ""]
        for kind, text in self._numbers_and_notes():
            lines += _wrapped(text, f"  {kind:<{column}} ", width)
        if self.requirements:
            lines += ["", self._required]
            for mark, required in self._marked:
                lines += _wrapped(f"{required.text}: {required.why}", f"{mark} ", width)
        return "\n".join(lines)

    def _numbers_and_notes(self) -> list[tuple[str, str]]:
        """Return the properties that are numbers, then the findings that bear on no property, with texts."""
        rows = []
        for name in (name for name in self.properties if not self.sign(name)):
            findings = [finding for finding in self.findings if name in finding.about]
            if (
                not findings or findings[0].about[0] == name
            ):  # the text of another number may tell this one too
                rows.append((name, findings[0].text.rstrip(".") if findings else self.reasons[name]))
        return rows + [
            (finding.kind, finding.text.rstrip(".")) for finding in self.findings if not finding.about
        ]

    @property
    def _required(self) -> str:
        n_met = sum(requirement.passed for requirement in self.requirements)
        return f"Required: {n_met} of {len(self.requirements)} met"

    @property
    def _marked(self) -> list[tuple[str, Requirement]]:
        return [("✓" if required.passed else "✗", required) for required in self.requirements]

    def summary(self) -> str:
        """Return which requirements are met or, without requirements, which properties do not hold."""
        head = f"{self.subject} on {self.scope}"
        if self.requirements:
            marks = [f"{mark} {required.text}" for mark, required in self._marked]
            return f"{head}\n{self._required}: {'  '.join(marks)}"
        signs = {name: self.sign(name) for name in filter(self.sign, self.properties)}
        lines = [f"{sign} {name}: {self.reasons[name]}" for name, sign in signs.items() if sign != "✓"]
        return "\n".join([head, *(lines or [f"✓ {', '.join(signs)}"])])

    def to_markdown(self) -> str:
        """Return the report as Markdown: the properties in a table, then every finding."""
        checked = f"What was checked, in {self.scope}: {', '.join(LEGEND)}."
        lines = [f"# {self.subject}", "", checked, "", "| | property | |", "|---|---|---|"]
        for name, reason in self.reasons.items():
            cell = reason.replace("|", "\\|")
            lines.append(f"| {self.sign(name)} | {name} | {cell} |")
        if self.requirements:
            lines += ["", "## Required", ""]
            lines += [f"- {mark} `{required.text}`: {required.why}" for mark, required in self._marked]
        for title, severity in (("Problems", "problem"), ("Notes", "note")):
            findings = [finding for finding in self.findings if finding.severity == severity]
            lines += ["", f"## {title}", ""] if findings else []
            lines += [f"- **{finding.kind}** {finding.text}" for finding in findings]
        return "\n".join(lines) + "\n"


def _wrapped(text: str, head: str, width: int) -> list[str]:
    """Return indented lines of at most `width` characters; "x = 3" is never broken."""
    wrapper = textwrap.TextWrapper(width, head, " " * len(head))
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    lines = wrapper.wrap(text.replace(" = ", "\u00a0=\u00a0"))
    return [line.replace("\u00a0", " ") for line in lines]
