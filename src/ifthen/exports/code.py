"""A ruleset as code: a Python module that needs nothing but Python, one self-contained C99 file, or SQL.

A language says how it writes a number, a test and the few lines that a choice is made of. Sums are taken in
the order of `ifthen.rules`, so that code which reads back every number exactly makes the same choices.

In Python, `action` returns an action's number, `policy` its name; both return None where no rule matches and
where a value lies outside its feature's range, unless the feature clips. In C, numbers are hexadecimal
floats, which are exact. Choices are equal to the last bit, in C as long as the compiler does not fuse
products and sums: GCC does not with `-std=c99`, Clang is told so in the file.

In SQL one expression gives the action's name, NULL where no rule matches. Databases cannot be trusted to add
strengths in our order, so rules with strengths become an equivalent decision list first. Terms are added in
doubles, in parentheses that leave no other order. Databases also differ in how well they read long decimals
(SQLite 3.40 gets one in ten thousand wrong by a bit): a bound with many digits is written as a whole number
and powers of two.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from typing import ClassVar, NamedTuple

from ifthen.exports.parts import (
    EXACT,
    decision_list,
    identifiers,
    idle_features,
    one_line,
    ranges_in_words,
    rendered,
    title,
)
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.term import formula
from ifthen.tasks.task import Task

RESERVED = "FEATURES ACTIONS action policy best top score sums totals number len range"
"""Names that the module itself uses."""
FEW_DIGITS = 9
"""A decimal number of this many digits or fewer is easier to read than a hexadecimal one."""
SAFE_DIGITS, SAFE_EXPONENT = 15, 22  # decimals within these are read exactly by the simplest correct means
LARGEST_POWER = 52  # powers of two up to this one are short whole numbers


class Way(NamedTuple):
    """The lines of a choice: before the rules, for a rule that matches, and after the rules.

    A rule's lines may hold `{action}`, `{name}`, `{score}` and `{vote}`.
    """

    before: tuple[str, ...]
    rule: tuple[str, ...]
    after: tuple[str, ...]


class Language:
    """Writes the conditions and the choice of a ruleset.

    Args:
        ruleset: the rules.
        values: what stands for the value of each feature, of terms too.
        actions: what stands for each action.
    """

    conjunction: ClassVar[str]
    """Stands between two tests that must both hold."""
    disjunction: ClassVar[str]
    """Stands between two tests one of which must hold."""
    equal: ClassVar[str]
    """A test, of `{value}` and `{low}`."""
    between: ClassVar[str]
    """A test, of `{value}`, `{low}` and `{high}`."""
    counted: ClassVar[str]
    """Of a rule whose vote is added to others: that its action has votes."""
    comment: ClassVar[str] = ""
    first: ClassVar[Way]
    """The first rule that matches decides."""
    highest: ClassVar[Way]
    """The matching rule with the highest score decides, the lowest action among equals."""
    voted: ClassVar[Way]
    """The action with the highest mean score, weighted by votes, is taken."""

    def __init__(self, ruleset: RuleSet, values: Sequence[str], actions: Sequence[str]) -> None:
        self.ruleset, self.values, self.actions = ruleset, values, actions
        self.idle = idle_features(ruleset)

    def number(self, number: float, feature: int | None = None) -> str:
        """Return a number, that of a feature where one is given, so that it reads back exactly."""
        return repr(number)

    def block(self, condition: str, lines: list[str]) -> list[str]:
        """Return lines that are run where the condition holds; "" holds always."""
        raise NotImplementedError

    def test(self, d: int, low: float | None, high: float | None) -> str:
        """Return the test that feature d lies between two ends; None for an end that is not tested."""
        form = self.equal if low == high else self.between
        if low is None or high is None:
            form = "{value} <= {high}" if low is None else "{value} >= {low}"
        ends = ["" if end is None else self.number(end, d) for end in (low, high)]
        return form.format(value=self.values[d], low=ends[0], high=ends[1])

    def in_ranges(self) -> str:
        """Return the test that every observed value lies in its feature's range."""
        return self.conjunction.join(map(self.in_range, range(len(self.ruleset.observed_features))))

    def sum(self, term: Feature) -> str:
        """Return what a term adds up, in our order."""
        value_of = {f.name: value for f, value in zip(self.ruleset.features, self.values, strict=False)}
        return formula(term, " * ", "-", value_of.__getitem__, self.number)

    def in_range(self, d: int) -> str:
        """Return the test that feature d lies in its range."""
        if d in self.idle:
            return f"{self.values[d]} == {self.values[d]}"  # a number, not NaN
        feature = self.ruleset.features[d]
        low, high = self.number(feature.low, d), self.number(feature.high, d)
        return self.between.format(value=self.values[d], low=low, high=high)

    def condition(self, rule: int) -> str:
        """Return the tests of a rule; "" where they hold everywhere in the ranges."""
        tests = []
        for d, feature in enumerate(self.ruleset.features):
            low, high = (int(n) if feature.is_integer else n for n in self.ruleset.bounds[rule, d].tolist())
            if low > high:
                tests.append(f"({self.test(d, low, None)}{self.disjunction}{self.test(d, None, high)})")
            elif low > feature.low or high < feature.high:
                ends = (low if low > feature.low else None, high if high < feature.high else None)
                exact = low == high and (not feature.clips or None not in ends)  # beyond an end is as at it
                tests.append(self.test(d, low, high) if exact else self.test(d, *ends))
        return self.conjunction.join(tests)

    def choice(self) -> list[str]:
        """Return the lines that choose an action."""
        scoring = self.ruleset.scoring
        way = self.first if scoring is None else self.highest if scoring.votes is None else self.voted
        if scoring is not None and scoring.adds:  # divided by 1, sums stay sums
            way = way._replace(rule=(way.rule[0], self.counted))
        lines = list(way.before)
        for r, action in enumerate(self.ruleset.actions.tolist()):
            fields = {"action": self.actions[action], "name": one_line(self.ruleset.action_names[action])}
            if scoring is not None:
                fields["score"] = self._score(r)
                fields["vote"] = "" if scoring.votes is None else self.number(float(scoring.votes[r]))
            rule_lines, condition = [line.format(**fields) for line in way.rule], self.condition(r)
            words = f"{r + 1}. {self.ruleset.rule_in_words(r)}".replace("≤", "<=").replace("≥", ">=")
            lines.append(self.comment.format(one_line(words)))
            if not condition and scoring is None and r == len(self.ruleset) - 1:
                return [*lines, *rule_lines]
            lines += self.block(condition, rule_lines)
        return [*lines, *way.after]

    def _score(self, rule: int) -> str:
        """Return the score of a rule, its products added from left to right."""
        scoring = self.ruleset.scoring
        assert scoring is not None
        slopes = zip(scoring.slopes[rule].tolist() if not scoring.adds else (), self.values, strict=False)
        terms = [self.number(float(scoring.constants[rule]))]
        terms += [f"{self.number(slope)} * {value}" for slope, value in slopes]
        deduction = float(scoring.deductions[rule])
        return " + ".join(terms) + (f" - {self.number(deduction)}" if deduction else "")


class Python(Language):
    """Python, with one argument for each feature."""

    counted = "totals[{action}] = 1.0"
    conjunction, disjunction = " and ", " or "
    equal, between = "{value} == {low}", "{low} <= {value} <= {high}"
    comment = "# {}"
    first = Way((), ("return {action}  # {name}",), ("return None",))
    highest = Way(
        ("best, top = None, 0.0",),
        (
            "score = {score}",
            "if best is None or score > top or (score == top and {action} < best):",
            "    best, top = {action}, score",
        ),
        ("return best",),
    )
    voted = Way(
        ("sums, totals = [0.0] * len(ACTIONS), [0.0] * len(ACTIONS)",),
        ("sums[{action}] += {vote} * ({score})", "totals[{action}] += {vote}"),
        (
            "best, top = None, 0.0",
            "for number in range(len(ACTIONS)):",
            "    if totals[number] > 0 and (best is None or sums[number] / totals[number] > top):",
            "        best, top = number, sums[number] / totals[number]",
            "return best",
        ),
    )

    def block(self, condition: str, lines: list[str]) -> list[str]:
        """Return the lines below an `if`."""
        return [f"if {condition or 'True'}:", *(f"    {line}" for line in lines)]


def to_python(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return the module's source."""
    names = identifiers([f.name for f in ruleset.features], "feature", (*RESERVED.split(), *keyword.kwlist))
    observed = names[: len(ruleset.observed_features)]
    code = Python(ruleset, names, [str(a) for a in range(len(ruleset.action_names))])
    clipped = [
        f"{n} = {f.low!r} if {n} < {f.low!r} else {f.high!r} if {n} > {f.high!r} else {n}"
        for d, (f, n) in enumerate(zip(ruleset.observed_features, observed, strict=True))
        if f.clips and d not in code.idle
    ]
    sums = [
        f"{n} = {code.sum(term)}  # {one_line(term.name)}"
        for n, term in zip(names[len(observed) :], ruleset.terms, strict=True)
    ]
    return rendered(
        "policy.py.j2",
        about=(title(ruleset, task), EXACT, *ranges_in_words(ruleset)),
        features=repr(tuple(feature.name for feature in ruleset.observed_features)),
        actions=repr(ruleset.action_names),
        arguments=", ".join(observed),
        body=[*clipped, f"if not ({code.in_ranges()}):", "    return None", *sums, *code.choice()],
    )


class C(Language):
    """C99, with an array of doubles for the features and an enum for the actions."""

    counted = "totals[{action}] = 1.0;"
    conjunction, disjunction = " && ", " || "
    equal, between = "{value} == {low}", "{value} >= {low} && {value} <= {high}"
    comment = "/* {} */"
    first = Way((), ("return {action};",), ("return IFTHEN_NONE;",))
    highest = Way(
        ("int best = IFTHEN_NONE;", "double top = 0.0, score;"),
        (
            "score = {score};",
            "if (best < 0 || score > top || (score == top && {action} < best)) {{",
            "    best = {action};",
            "    top = score;",
            "}}",
        ),
        ("return best;",),
    )
    voted = Way(
        (
            "int best = IFTHEN_NONE, a;",
            "double top = 0.0, sums[IFTHEN_ACTIONS] = {0.0}, totals[IFTHEN_ACTIONS] = {0.0};",
        ),
        ("sums[{action}] += {vote} * ({score});", "totals[{action}] += {vote};"),
        (
            "for (a = 0; a < IFTHEN_ACTIONS; a++)",
            "    if (totals[a] > 0.0 && (best < 0 || sums[a] / totals[a] > top)) {",
            "        best = a;",
            "        top = sums[a] / totals[a];",
            "    }",
            "return best;",
        ),
    )

    def number(self, number: float, feature: int | None = None) -> str:
        """Return a C constant: decimal where a few digits are exact, hexadecimal otherwise."""
        value = float(number)
        return repr(value) if len(Decimal(value).as_tuple().digits) <= FEW_DIGITS else value.hex()

    def block(self, condition: str, lines: list[str]) -> list[str]:
        """Return the lines below an `if`, in braces where they are several."""
        opened, closed = (" {", ["}"]) if len(lines) > 1 else ("", [])
        return [f"if ({condition or '1'}){opened}", *(f"    {line}" for line in lines), *closed]


def to_c(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return the file's text."""
    capitals = [name.upper() for name in ruleset.action_names]
    identifiers_of_actions = identifiers(
        capitals, "ACTION", ("NONE", "FEATURES", "ACTIONS")
    )  # different also in capitals
    enum = [f"IFTHEN_{name}" for name in identifiers_of_actions]
    observed = ruleset.observed_features
    idle = idle_features(ruleset)
    values = [f"given[{d}]" if d in idle else f"s[{d}]" for d in range(len(observed))]
    values += [f"t[{t}]" for t in range(len(ruleset.terms))]
    code = C(ruleset, values, enum)
    clips = any(feature.clips for feature in observed)
    outside = "a value is NaN" if all(f.clips for f in observed) else "a value lies outside its range"
    return rendered(
        "policy.c.j2",
        about=title(ruleset, task),
        exact=EXACT,
        ranges=ranges_in_words(ruleset, "s[{}]: "),
        features=len(observed),
        outside=outside,
        actions=[(name, one_line(label)) for name, label in zip(enum, ruleset.action_names, strict=True)],
        argument="given" if clips else "s",
        body=[
            *(_clipped(code) if clips else []),
            *([f"double t[{len(ruleset.terms)}];"] if ruleset.terms else []),
            f"if (!({code.in_ranges()}))",
            "    return IFTHEN_NONE;",
            *(
                f"t[{t}] = {code.sum(term)}; /* {one_line(term.name)} */"
                for t, term in enumerate(ruleset.terms)
            ),
            *code.choice(),
        ],
    )


def _clipped(code: C) -> list[str]:
    """Return lines that move values beyond the range of a feature that clips to its nearer end."""
    lines = ["double s[IFTHEN_FEATURES];"]
    for d, feature in enumerate(code.ruleset.observed_features):
        if d in code.idle:
            continue
        low, high, raw = code.number(feature.low), code.number(feature.high), f"given[{d}]"
        value = f"{raw} < {low} ? {low} : {raw} > {high} ? {high} : {raw}" if feature.clips else raw
        lines.append(f"s[{d}] = {value};")
    return lines


class SQL(Language):
    """Standard SQL, with one column for each feature."""

    conjunction, disjunction = " AND ", " OR "
    equal, between = "{value} = {low}", "{value} BETWEEN {low} AND {high}"

    def number(self, number: float, feature: int | None = None) -> str:
        """Return a number of a feature as an expression that every database computes exactly."""
        is_integer = feature is not None and self.ruleset.features[feature].is_integer
        return number_in_words(number) if is_integer else number_literal(float(number))

    def in_range(self, d: int) -> str:
        """Return the test that feature d lies in its range; any value passes where the feature clips."""
        clips = self.ruleset.features[d].clips
        return f"{self.values[d]} IS NOT NULL" if clips else super().in_range(d)

    def sum(self, term: Feature) -> str:
        """Return what a term adds up, in doubles, with parentheses that leave no other order."""
        products, coefficients = [], dict(term.of)
        for d, feature in enumerate(self.ruleset.observed_features):
            if feature.name in coefficients:
                value, low, high = self.values[d], self.number(feature.low, d), self.number(feature.high, d)
                if feature.clips:
                    ends = f"WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high}"
                    value = f"CASE {ends} ELSE {value} END"
                coefficient = self.number(coefficients[feature.name])
                products.append(
                    f"CAST({coefficient} AS DOUBLE PRECISION) * CAST({value} AS DOUBLE PRECISION)"
                )
        return reduce(lambda total, product: f"({total}) + ({product})", products)


def to_sql(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return the expression, after comments on the columns it reads."""
    rules, exact = decision_list(ruleset, task)
    terms = map(one_line, rules.terms_in_words())
    about = (title(ruleset, task), exact, *ranges_in_words(ruleset), *terms)
    columns = [identifier(f.name) for f in rules.observed_features]
    code = SQL(rules, columns, [text_literal(n) for n in rules.action_names])
    code = SQL(rules, [*columns, *(f"({code.sum(term)})" for term in rules.terms)], code.actions)
    lines = [*(f"-- {line}" for line in about), f"CASE WHEN {code.in_ranges()} THEN CASE"]
    for r, action in enumerate(rules.actions.tolist()):
        tests, answer = code.condition(r), code.actions[action]
        last = 0 < r == len(rules) - 1 and not tests  # a CASE needs one WHEN
        lines.append(f"  ELSE {answer}" if last else f"  WHEN {tests or '1 = 1'} THEN {answer}")
    return "\n".join([*lines, "END END"]) + "\n"


def identifier(name: str) -> str:
    """Return a column's name, quoted as the standard says."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def number_literal(number: float) -> str:
    """Return a real number as an expression that every database computes exactly."""
    shortest = repr(number)
    _, digits, exponent = Decimal(shortest).normalize().as_tuple()
    if len(digits) <= SAFE_DIGITS and abs(int(exponent)) <= SAFE_EXPONENT:
        return shortest
    # A whole number times or by powers of two, one after the other.
    fraction, exponent = math.frexp(number)
    mantissa, power = int(fraction * 2**53), exponent - 53
    while mantissa % 2 == 0:
        mantissa, power = mantissa // 2, power + 1
    steps, sign = [], "/" if power < 0 else "*"
    while power:
        step = min(abs(power), LARGEST_POWER)
        steps.append(f" {sign} {2**step}.0")
        power += step if power < 0 else -step
    return f"(CAST({mantissa} AS DOUBLE PRECISION){''.join(steps)})"
