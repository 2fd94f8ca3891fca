"""A verification for people: a short text for the terminal, and Markdown."""

from __future__ import annotations

import textwrap

from ifthen.explain.verify.findings import SHOWN, Finding, Verification
from ifthen.explain.verify.requirements import HOLDS, MEASURES

NARROWEST = 40
LEGEND = ("✓ holds", "✗ does not", "– does not, which need not be a fault", "? not decided")
BELOW = {
    "uncovered": "complete",
    "dead-rule": "no-dead-rules",
    "never-on-the-winning-side": "no-dead-rules",
    "conflicts": "no-conflicts",
    "redundant": "no-redundant-rules",
    "goal-unreachable": "goal-reachable",
    "loop": "goal-reachable",
    "bad-ending": "safe",
    "costly-step": "safe",
    "not-optimal": "optimal",
}
"""The property below which a finding is told, by its kind."""
CONCERNS = {**BELOW, "goal-probability": "goal-certain"}
"""The property with which something is wrong where such a finding is a problem."""


def sign(report: Verification, name: str) -> str:
    """Return ✓, ✗, ? where it was not decided, or – where it does not hold but nothing is wrong with that."""
    value = report.properties[name]
    if value is not None and not value:
        grave = any(f.severity == "problem" for f in report.findings if CONCERNS.get(f.kind) == name)
        return "✗" if grave else "–"
    return "?" if value is None else "✓"


def plain_text(report: Verification, width: int) -> str:
    """Return the report for a terminal of some width."""
    width = max(width, NARROWEST)
    lines = [*_wrapped(f"{report.subject} on {report.domain}", "", width), ""]
    column = max(len(name) for name in report.properties) + 1
    for name in (name for name in HOLDS if name in report.properties):
        head = f"{sign(report, name)} {name:<{column}} "
        lines += _wrapped(report.reasons[name], head, width)
        lines += _below(report, name, " " * len(head), width)
    lines += ["", *_wrapped("   ".join(LEGEND), "", width), ""]
    for name in (name for name in MEASURES if name in report.properties and name != "fraction"):
        told = [finding.text.rstrip(".") for finding in report.findings if finding.kind == name]
        lines += _wrapped((told or [report.reasons[name]])[0], f"  {name:<{column}} ", width)
    for finding in (finding for finding in report.findings if finding.kind not in {*BELOW, *MEASURES}):
        lines += _wrapped(finding.text.rstrip("."), f"  {finding.kind:<{column}} ", width)
    if report.requirements:
        lines += ["", _required(report)]
        for requirement in report.requirements:
            mark = "✓ " if requirement.passed else "✗ "
            lines += _wrapped(f"{requirement.text}: {requirement.why}", mark, width)
    return "\n".join(lines)


def summary(report: Verification) -> str:
    """Return a line about what was looked at, then all requirements, or what does not hold, in short."""
    head = f"{report.subject} on {report.domain}"
    if report.requirements:
        marks = [f"{'✓' if required.passed else '✗'} {required.text}" for required in report.requirements]
        return f"{head}\n{_required(report)}: {'  '.join(marks)}"
    names = [name for name in HOLDS if name in report.properties]
    lines = [f"{sign(report, name)} {name}: {report.reasons[name]}" for name in names]
    open_ = [line for line in lines if not line.startswith("✓")]
    return "\n".join([head, *(open_ or [f"✓ {', '.join(names)}"])])


def _required(report: Verification) -> str:
    met = sum(requirement.passed for requirement in report.requirements)
    return f"Required: {met} of {len(report.requirements)} met"


def _below(report: Verification, name: str, indent: str, width: int) -> list[str]:
    """Return the first findings that are told below a property, and how many more there are."""
    found = [finding for finding in report.findings if BELOW.get(finding.kind) == name]
    lines = [line for finding in found[:SHOWN] for line in _wrapped(finding.text, indent, width)]
    return lines + ([f"{indent}… and {len(found) - SHOWN:,} more like these."] if len(found) > SHOWN else [])


def _wrapped(text: str, head: str, width: int) -> list[str]:
    """Return lines of at most some width that begin below each other; "x = 3" is kept in one."""
    kept = text.replace(" = ", "\u00a0=\u00a0")
    lines = textwrap.wrap(
        kept,
        width,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines]


def markdown(report: Verification) -> str:
    """Return the report as Markdown: the properties in a table, then every finding."""
    checked = f"What was checked, in {report.domain}: {', '.join(LEGEND)}."
    lines = [f"# {report.subject}", "", checked, ""]
    lines += ["| | property | |", "|---|---|---|"]
    lines += [
        f"| {sign(report, name) if name in HOLDS else ''} | {name} | {_cell(report.reasons[name])} |"
        for name in (*HOLDS, *MEASURES)
        if name in report.properties
    ]
    if report.requirements:
        lines += ["", "## Required", ""]
        lines += [f"- {'✓' if r.passed else '✗'} `{r.text}`: {r.why}" for r in report.requirements]
    for title, severity in (("Problems", "problem"), ("Notes", "note")):
        found = [finding for finding in report.findings if finding.severity == severity]
        lines += ["", f"## {title}", ""] if found else []
        lines += [_item(finding) for finding in found]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _item(finding: Finding) -> str:
    return f"- **{finding.kind}** {finding.text}"
