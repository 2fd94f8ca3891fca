"""What the formats share: names that other languages take, conditions as tests, text for comments."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from ifthen.digits import plural, worth_showing
from ifthen.errors import RuleError
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.lossless import decision_list_of
from ifthen.simulate.scope import where_in_words
from ifthen.tasks.task import Task

EXACT = "exactly these rules, for every observation in the features' ranges"
COMMENT_MARK = re.compile(r"\*(?=[/)])|[/(](?=\*)|-(?=-)|\?(?=\?)")
"""What is parted from the character after it: comment marks of C and of Structured Text, C's trigraphs, and
dashes of SQL."""
PLAIN = str.maketrans({"≤": "<=", "≥": ">=", "·": "*", "−": "-", "–": "-", "…": "...", "²": "^2"})


def identifiers(names: Sequence[str], fallback: str, reserved: Collection[str] = ()) -> list[str]:
    """Return identifiers for names: valid in most languages, all different, similar to the names."""
    chosen: list[str] = []
    for number, name in enumerate(names, start=1):
        ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        base = re.sub(r"\W+", "_", ascii_name, flags=re.ASCII).strip("_")[:60]
        if not base or base[0].isdigit():
            base = f"{fallback}_{base or number}"
        candidate, suffix = base, 1
        while candidate in chosen or candidate in reserved:
            suffix += 1
            candidate = f"{base}_{suffix}"
        chosen.append(candidate)
    return chosen


def one_line(text: str) -> str:
    """Return text for a comment: nothing in it can end the line or the comment, or begin another one."""
    printable = "".join(c if c.isprintable() else " " for c in text).replace("\\", "/")
    return COMMENT_MARK.sub(r"\g<0> ", printable)


def ascii_text(text: str) -> str:
    """Return text for compilers that read nothing but ASCII; other characters become question marks."""
    return text.translate(PLAIN).encode("ascii", "replace").decode()


def ascii_line(text: str) -> str:
    """Return text for a comment, in ASCII."""
    return one_line(ascii_text(text))


def title(ruleset: RuleSet, task: Task | None) -> str:
    """Return one line on what is written."""
    of_task = f" for {task.name}" if task is not None else ""
    return one_line(f"{plural(len(ruleset), 'rule')} ({ruleset.kind}){of_task}, written by ifthen")


def equivalent(form: str, ruleset: RuleSet, task: Task | None) -> str:
    """Return one line on what the rules were turned into, and where that chooses as they do."""
    domain = where_in_words(ruleset, task)
    return one_line(f"the equivalent {form}; the same {'for' if task is None else 'in'} {domain}")


def ranges_in_words(ruleset: RuleSet, place: str = "") -> list[str]:
    """Return a line for each observed feature: its name, its range and its unit.

    Of many features, those that rules test have a line, and the others are counted.

    Args:
        ruleset: the rules.
        place: what stands before each line, with {} for the feature's number.
    """
    observed = ruleset.observed_features
    shown = set(worth_showing((f.name for f in observed), ruleset.tested))
    lines = [place.format(d) + range_in_words(f) for d, f in enumerate(observed) if f.name in shown]
    n_untested = len(observed) - len(lines)
    return [*lines, f"and {plural(n_untested, 'other feature')} that no rule tests"] if n_untested else lines


def range_in_words(f: Feature) -> str:
    """Return one line on a feature: its name, its range and its unit. `ifthen.read_ruleset` reads it back."""
    return one_line(
        f"{f.name}: {number_in_words(f.low)} to {number_in_words(f.high)}"
        + ("" if f.is_integer else ", real")
        + (f", {f.unit}" if f.unit else "")
        + (", cyclic" if f.cyclic else "")
        + ("; beyond, as at the nearer end" if f.clips else "")
    )


def shown_columns(ruleset: RuleSet) -> list[int]:
    """Return the features and terms that get a column, by number: of many, those that rules test."""
    shown = set(worth_showing((f.name for f in ruleset.observed_features), ruleset.tested))
    return [d for d, f in enumerate(ruleset.features) if f.is_term or f.name in shown]


def idle_features(ruleset: RuleSet) -> set[int]:
    """Return the features, by number, that need no clipping: of many, those that clip and no rule tests."""
    shown = shown_columns(ruleset)
    return {d for d, f in enumerate(ruleset.observed_features) if f.clips and d not in shown}


def decision_list(ruleset: RuleSet, task: Task | None) -> tuple[RuleSet, str]:
    """Return the ruleset as a decision list, for formats without numbers of rules, and one line on it."""
    if ruleset.ordered:
        return ruleset, EXACT
    if not all(feature.is_integer for feature in ruleset.features):
        raise RuleError(
            f"it holds decision lists only, and {ruleset.kind!r} rules over real features have no equal one. "
            "Use 'python' or 'c', which compute the strengths, or 'json'."
        )
    rules, _ = decision_list_of(ruleset, task)
    return rules, equivalent(f"decision list of {plural(len(rules), 'rule')}", ruleset, task)


def rendered(template: str, folder: str = "exports", **values: Any) -> str:
    """Return a file from a template of one of our folders; what is put into DMN and HTML is escaped.

    Templates may include the files of `pages`, too.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("ifthen", folder), PackageLoader("ifthen", "pages")]),
        autoescape=template.endswith((".dmn.j2", ".html.j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**values)
