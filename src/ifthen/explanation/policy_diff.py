"""How two policies differ, for reading: as text, a table and plain data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ifthen.digits import NOTHING, values_in_words
from ifthen.notebook import Part, Shown
from ifthen.rules.feature import number_in_words
from ifthen.simulate.scope import Number, column_of
from ifthen.text_table import TextTable

if TYPE_CHECKING:
    import polars

SHOWN = 20
"""The text shows this many states, and this many rules of each policy."""
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

    def shown_parts(self) -> list[Part]:
        """Return whether they differ, a table of states, and the rules that only one of them has."""
        parts: list[Part] = [self.heading]
        parts += [self._state_table()] if self.states else []
        parts += [self.rules_note] if self.rules_note else []
        for name, rules in zip(self.names, (self.only_a, self.only_b), strict=True):
            if rules and not self.rules_note:
                cells = (rule.partition(". ") for rule in rules[:SHOWN])
                rows = tuple((number, words) for number, _, words in cells)
                parts.append(TextTable(f"Rules that only {name} has:", ("#", "rule"), rows, _more(rules)))
        return parts

    @property
    def heading(self) -> str:
        """Whether and where the policies differ, and how well they do."""
        name_a, name_b = self.names
        if self.equal:
            verdict = f"{name_a} and {name_b} do the same in {self.where}."
        elif self.equal is None:
            verdict = f"Whether {name_a} and {name_b} differ in {self.where} is not known: {self.note}."
        elif self.listed:
            verdict = f"{name_a} and {name_b} differ in {len(self.states):,} of {self.where}."
        else:
            verdict = f"{name_a} and {name_b} differ."
        lines = [verdict]
        if self.visited is not None and self.differ is not None:
            (n_a, n_b), (k_a, k_b) = self.visited, self.differ
            lines.append(
                f"Of the {n_a:,} states that {name_a} visits in training episodes they differ in {k_a:,} "
                f"({k_a / n_a:.1%}), of the {n_b:,} that {name_b} visits in {k_b:,} ({k_b / n_b:.1%})."
            )
        examples = ["For instance here:"] if self.states and not self.listed else []
        return "\n".join([*lines, *self._performance_lines(), *examples])

    def _performance_lines(self) -> list[str]:
        lines, (name_a, name_b) = [], self.names
        measured = (
            (self.episodes, "test seeds", self.performances),
            (self.training_episodes, "training seeds", self.training_performances),
        )
        for episodes, seeds, performances in measured:
            if performances is None:
                continue
            a, b = performances
            equal = abs(b - a) <= ROUNDING * max(abs(a), abs(b))
            verdict = (
                "no difference" if equal else f"{name_b if b > a else name_a} is better by {abs(b - a):.4g}"
            )
            if self.optimum is not None:
                values = f"{name_a} {a:.4f}, {name_b} {b:.4f}"
                lines.append(f"Exact performance: {values}: {verdict}; optimum {self.optimum:.4f}.")
            else:
                basis = f"Mean return over {episodes:,} episodes from {seeds}"
                lines.append(f"{basis}: {name_a} {a:g}, {name_b} {b:g}: {verdict}.")
        lines += [
            f"{name} reaches a state in which none of its rules matches: it has the task's floor."
            for name, failed in zip(self.names, self.failed, strict=True)
            if failed
        ]
        return lines

    def _state_table(self) -> TextTable:
        """Return a row per state, without what is not known, and sentences on what the columns say."""
        (name_a, name_b), notes = self.names, [*_more(self.states)]
        rows = tuple(_row(state, self.tested) for state in self.states[:SHOWN])
        if self.optimum is not None:
            notes.append("Q*: what both actions are worth if all went optimally afterwards.")
        if self.states[0].carries is not None:
            notes.append(
                f"carries: the part of the difference that is due to this state: how often {name_b} visits "
                f"it, times the gain or loss of its action there when {name_a} goes on. All parts add up to "
                "the difference. So an action with a higher Q* can be a loss."
            )
        notes += [f"({self.note})"] if self.note else []
        table = TextTable("", ("state", name_a, name_b, "Q*", "carries"), rows, tuple(notes))
        return table.without_empty([NOTHING])


def _more(entries: Sequence[object]) -> tuple[str, ...]:
    """Return how many are not shown, where some are not."""
    return (f"and {len(entries) - SHOWN:,} more",) if len(entries) > SHOWN else ()


def _row(state: DifferentState, tested: Collection[str]) -> tuple[str, ...]:
    """Return the row of one state: its features, what both do, Q* of both, and what it carries."""
    state_words = values_in_words(
        {name: number_in_words(value) for name, value in state.features.items()}, tested
    )
    q_values = [NOTHING if value is None else f"{value:.4f}" for value in (state.a.value, state.b.value)]
    worth = NOTHING if set(q_values) == {NOTHING} else " / ".join(q_values)
    gain = "0" if state.carries == 0 else NOTHING
    if state.carries:
        gain = f"{state.carries:+.2g} {'gain' if state.carries > 0 else 'loss'}"
    return state_words, state.a.short, state.b.short, worth, gain
