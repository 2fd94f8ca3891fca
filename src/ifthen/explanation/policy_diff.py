"""How two policies differ, for reading: as text, a table and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ifthen.digits import NOTHING, worth_showing
from ifthen.notebook import Shown
from ifthen.rules.feature import number_in_words
from ifthen.simulate.scope import Number, column_of
from ifthen.text_table import GAP, fitting_rows, folded, least_widths, prose

if TYPE_CHECKING:
    import polars

SHOWN = 20
"""The text shows this many states, and this many rules of each policy."""
SHORT = 12  # characters of a name that has room in every row
ROUNDING = 1e-12  # relative: performances that differ by less are taken as equal
Both = tuple[float, float]
OWN_COLUMNS = (
    *(f"{name}_{label}" for name in ("action", "rule", "words", "q") for label in ("a", "b")),
    *("better", "visits", "carries"),
)


@dataclass(frozen=True)
class Deed:
    """What one policy does in a state.

    Args:
        action: None where no rule matches.
        rule: the rule that decides, from 0; None for a policy without rules too.
        words: that rule in words.
        value: Q*, the value of the action if all else is optimal; None without a task.
    """

    action: str | None
    rule: int | None
    words: str
    value: float | None

    @property
    def short(self) -> str:
        """The action and the number of its rule, from 1."""
        return (self.action or "nothing") + ("" if self.rule is None else f" (rule {self.rule + 1})")


@dataclass(frozen=True)
class DifferentState:
    """A state in which two policies do different things.

    Args:
        features: the state's features.
        state: its number in the task; None without one.
        a: what the first policy does.
        b: what the second does.
        better: the name of the policy whose action has the higher Q*; "" where they are equal or not known.
        visits: how often the second policy is expected to visit the state in an episode, discounted.
        carries: how much of the difference in performance is due to this state.
    """

    features: dict[str, Number]
    state: int | None
    a: Deed
    b: Deed
    better: str
    visits: float | None
    carries: float | None


@dataclass(frozen=True, repr=False)
class PolicyDiff(Shown):
    """How two policies differ. Fields that do not apply are None, and are not printed.

    Args:
        names: of the two policies.
        where: the points that were compared, in words.
        equal: whether both choose the same action at all of them; None where the search gave up.
        states: where they differ. In a table the states that carry most come first.
        listed: whether `states` are all states in which they differ; otherwise they are examples.
        performances: of both: exact in a table, the mean return over test seeds in an environment; None
            without a task.
        failed: which of the two reaches a state without a rule, so that its performance is the task's floor.
        optimum: the performance of an optimal policy, in a table.
        note: what is left out, and why; "" where nothing is.
        only_a: the rules, in words, that only the first has.
        only_b: the rules, in words, that only the second has.
        rules_note: why the text does not list these rules; "" where it does.
        episodes: how many episodes were played from test seeds, in an environment.
        visited: how many states each of the two visited there.
        differ: in how many of these the other chooses another action.
        training_episodes: how many episodes were played from training seeds.
        training_performances: the mean return of both over these.
        tested: the features that rules of either test: of many features, these are shown.
    """

    names: tuple[str, str]
    where: str
    equal: bool | None
    states: tuple[DifferentState, ...]
    listed: bool
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    performances: Both | None = None
    failed: tuple[bool, bool] = (False, False)
    optimum: float | None = None
    note: str = ""
    rules_note: str = ""
    episodes: int | None = None
    visited: tuple[int, int] | None = None
    differ: tuple[int, int] | None = None
    training_episodes: int | None = None
    training_performances: Both | None = None
    tested: tuple[str, ...] = ()

    @property
    def difference(self) -> float | None:
        """The second performance less the first."""
        return None if self.performances is None else self.performances[1] - self.performances[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the differences as plain data; rules are numbered from 0."""
        return {**asdict(self), "difference": self.difference}

    def to_table(self) -> polars.DataFrame:
        """Return one row per state in which the policies differ; rules are numbered from 1."""
        import polars

        names = list(self.states[0].features) if self.states else []
        columns: dict[str, Any] = {
            column_of(name, OWN_COLUMNS): [s.features[name] for s in self.states] for name in names
        }
        for label in ("a", "b"):
            deeds: list[Deed] = [getattr(state, label) for state in self.states]
            columns[f"action_{label}"] = [deed.action for deed in deeds]
            columns[f"rule_{label}"] = [None if deed.rule is None else deed.rule + 1 for deed in deeds]
            columns[f"words_{label}"] = [deed.words for deed in deeds]
            columns[f"q_{label}"] = [deed.value for deed in deeds]
        for name in ("better", "visits", "carries"):
            columns[name] = [getattr(state, name) for state in self.states]
        kinds = {"rule": polars.Int64, **dict.fromkeys(("q", "visits", "carries"), polars.Float64)}
        types = {name: kinds.get(name.split("_")[0], polars.String) for name in OWN_COLUMNS}
        return polars.DataFrame(columns, schema_overrides=types)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """Return the differences for a terminal of `width` characters; no line is longer."""
        parts = [prose(self.heading, width)]
        if self.states:
            parts.append("\n".join(self._state_lines(width)))
        if self.rules_note:
            parts.append(prose(self.rules_note, width))
        for name, rules in zip(self.names, (self.only_a, self.only_b), strict=True):
            if rules and not self.rules_note:
                more = [f"  and {len(rules) - SHOWN:,} more"] if len(rules) > SHOWN else []
                lines = [prose(f"Rules that only {name} has:", width)]
                for rule in rules[:SHOWN]:
                    first, *rest = folded(rule, width - 5)
                    lines += [f"  {first}", *(f"     {line}" for line in rest)]
                parts.append("\n".join([*lines, *more]))
        return "\n\n".join(parts)

    @property
    def heading(self) -> str:
        """Whether and where the policies differ, and how well they do."""
        first, second = self.names
        if self.equal:
            said = f"{first} and {second} do the same in {self.where}."
        elif self.equal is None:
            said = f"Whether {first} and {second} differ in {self.where} is not known: {self.note}."
        elif self.listed:
            said = f"{first} and {second} differ in {len(self.states):,} of {self.where}."
        else:
            said = f"{first} and {second} differ."
        lines = [said]
        if self.visited is not None and self.differ is not None:
            (n_a, n_b), (k_a, k_b) = self.visited, self.differ
            lines.append(
                f"Of the {n_a:,} states that {first} visits in training episodes they differ in {k_a:,} "
                f"({k_a / n_a:.1%}), of the {n_b:,} that {second} visits in {k_b:,} ({k_b / n_b:.1%})."
            )
        examples = ["For instance here:"] if self.states and not self.listed else []
        return "\n".join([*lines, *self._performance_lines(), *examples])

    def _performance_lines(self) -> list[str]:
        lines, (first, second) = [], self.names
        measured = (
            (self.episodes, "test seeds", self.performances),
            (self.training_episodes, "training seeds", self.training_performances),
        )
        for episodes, seeds, performances in measured:
            if performances is None:
                continue
            a, b = performances
            equal = abs(b - a) <= ROUNDING * max(abs(a), abs(b))
            said = "no difference" if equal else f"{second if b > a else first} is better by {abs(b - a):.4g}"
            if self.optimum is not None:
                both = f"{first} {a:.4f}, {second} {b:.4f}"
                lines.append(f"Exact performance: {both}: {said}; optimum {self.optimum:.4f}.")
            else:
                over = f"Mean return over {episodes:,} episodes from {seeds}"
                lines.append(f"{over}: {first} {a:g}, {second} {b:g}: {said}.")
        lines += [
            f"{name} reaches a state in which none of its rules matches: it has the task's floor."
            for name, failed in zip(self.names, self.failed, strict=True)
            if failed
        ]
        return lines

    def _state_lines(self, width: int) -> list[str]:
        values, carries = self.optimum is not None, self.states[0].carries is not None
        features = worth_showing(self.states[0].features, self.tested)
        some = [
            replace(state, features={name: state.features[name] for name in features})
            for state in self.states[:SHOWN]
        ]
        names, lines = state_table(some, self.names, values, carries, width)
        if names != self.names:
            called = (f"{short} is {name}" for short, name in zip(names, self.names, strict=True))
            lines.insert(0, prose(f"{', '.join(called)}.", width))
        more = len(self.states) - SHOWN
        lines += [f"and {more:,} more"] if more > 0 else []
        said = [columns_in_words(names, values, carries), f"({self.note})" if self.note else ""]
        return [*lines, *(prose(text, width) for text in said if text)]


def state_table(
    states: Sequence[DifferentState], names: tuple[str, str], values: bool, carries: bool, width: int
) -> tuple[tuple[str, str], list[str]]:
    """Return the policies' names in the table, and its rows, none longer than `width`.

    Long names become A and B. Where the table is too wide, features are named in the header only, and then Q*
    is left out.

    Args:
        states: the states to show, one at least.
        names: of the policies.
        values: whether Q* is known.
        carries: whether the part of the difference that states carry is known.
        width: of the terminal, in characters.
    """
    called = names if max(map(len, names)) <= SHORT and names[0] != names[1] else ("A", "B")
    for spelt, q in ((True, values), (False, values), (False, False)):
        rows = [
            ["state" if spelt else ", ".join(states[0].features), *called]
            + [f"Q* {called[0]}", f"Q* {called[1]}"] * q
            + ["better"] * values
            + [f"carries for {called[1]}"] * carries
        ]
        rows += [_row(state, called, spelt, q, values, carries) for state in states]
        if sum(least_widths(rows)) + len(GAP) * (len(rows[0]) - 1) <= width:
            break
    return called, fitting_rows(rows, "lll" + "rr" * q + "l" * (values + carries), width)


def _row(
    state: DifferentState, names: tuple[str, str], spelt: bool, q: bool, values: bool, carries: bool
) -> list[str]:
    """Return the row of one state; see `state_table`."""
    named = (
        f"{name} = {number_in_words(value)}" if spelt else number_in_words(value)
        for name, value in state.features.items()
    )
    a, b = state.a.value, state.b.value
    better = names[a < b] if state.better and a is not None and b is not None else NOTHING
    gain = ""
    if state.carries is not None:
        gain = f"{state.carries:+.2g} {'gain' if state.carries > 0 else 'loss'}" if state.carries else "0"
    worth = [NOTHING if value is None else f"{value:.4f}" for value in (a, b)]
    cells = [", ".join(named), state.a.short, state.b.short, *worth * q]
    return cells + [better] * values + [gain] * carries


def columns_in_words(names: tuple[str, str], values: bool, carries: bool) -> str:
    """Return what the columns say, and why they can disagree."""
    first, second = names
    said = ["Q*, and better by it: what the action is worth if all went optimally afterwards."] * values
    if carries:
        said.append(
            f"carries: the part of the difference that is due to this state: how often {second} visits it, "
            f"times the gain or loss of its action there when {first} goes on. All parts add up to the "
            "difference."
        )
    if values and carries:
        said.append("So the better action can be a loss.")
    return " ".join(said)
