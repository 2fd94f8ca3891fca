"""A reading shows every rule once, in the order of its meaning, with the share of states that it decides."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules
from ifthen.digits import percent
from ifthen.errors import TaskError
from ifthen.explanation.reading import latex_interval, read_rules
from ifthen.rules.boxes.list_analysis import first_match
from ifthen.simulate import scope
from ifthen.text_table import fitting_rows, folded, latex_text
from tests.rulesets import ACTIONS, FEATURES, all_states, rulesets, voting_rules
from tests.worlds import small_lake

WHOLE = [[-3, 4], [0, 6]]
THREE = DecisionList([[[-3, 0], [0, 6]], [[2, 2], [1, 3]], WHOLE], [1, 1, 0], FEATURES, ACTIONS)


def numbers(lines: list[str], pattern: str) -> list[int]:
    """Return the rule numbers that lines begin with, as data counts them."""
    found = [re.match(pattern, line) for line in lines]
    return [int(match[1]) - 1 for match in found if match]


@given(rulesets())
def test_every_rule_is_printed_once_in_every_output(ruleset: RuleSet) -> None:
    reading = read_rules(ruleset)
    order = [rule.rule for rule in reading.rules]
    assert sorted(order) == list(range(len(ruleset)))
    assert numbers(reading.to_text().splitlines(), r" *(\d+)  (?:IF|OTHERWISE|ALWAYS)") == order
    assert numbers(reading.to_markdown().splitlines(), r"\| (\d+) \|") == order
    assert numbers(reading.to_latex().splitlines(), r"(\d+) & ") == order
    assert (reading.to_table()["rule"] - 1).to_list() == order


@given(st.one_of(rulesets(), voting_rules()))
def test_shares_are_those_of_all_states_and_what_is_missing_has_no_rule(ruleset: RuleSet) -> None:
    reading = read_rules(ruleset)
    _, deciders = ruleset.choose(all_states().astype(np.float64))
    for rule in reading.rules:
        assert rule.decides == (deciders == rule.rule).sum()
        assert rule.share == (deciders == rule.rule).mean()
    assert (reading.states, reading.uncovered) == (56, (deciders < 0).sum())
    assert ("No rule matches in" in reading.heading) == bool((deciders < 0).any())


@given(st.one_of(rulesets(), voting_rules()))
def test_a_list_keeps_its_order_and_other_rules_are_grouped_by_action(ruleset: RuleSet) -> None:
    rules = read_rules(ruleset).rules
    if isinstance(ruleset, DecisionList):
        assert [rule.rule for rule in rules] == list(range(len(ruleset)))
    else:
        assert len({rule.group for rule in rules}) == len({rule.action for rule in rules})
        sums = [sum(r.decides or 0 for r in rules if r.group == g) for g in range(rules[-1].group + 1)]
        assert sums == sorted(sums, reverse=True)
    for before, after in itertools.pairwise(rules):
        assert (before.action == after.action) == (before.group == after.group)
        if not isinstance(ruleset, DecisionList) and before.group == after.group:
            assert before.weight is not None
            assert after.weight is not None
            assert (before.decides, before.weight) >= (after.decides, after.weight)


def test_the_last_rule_of_a_list_reads_otherwise() -> None:
    assert [rule.words for rule in read_rules(THREE).rules] == [
        "IF u ≤ 0 THEN Down",
        "IF u = 2 AND v in [1, 3] THEN Down",
        "OTHERWISE Left",
    ]
    first = DecisionList([WHOLE], [1], FEATURES, ACTIONS)
    assert read_rules(first).rules[0].words == "ALWAYS Down"


def test_a_list_is_printed_in_columns() -> None:
    assert read_rules(THREE).to_text().split("\n\n")[1].splitlines() == [
        "#                                       decides",
        "1  IF u ≤ 0                  THEN Down      50%",
        "2  IF u = 2 AND v in [1, 3]  THEN Down       5%",
        "3  OTHERWISE                      Left      45%",
    ]


def test_markdown_and_latex_align_numbers_to_the_right() -> None:
    reading = read_rules(THREE)
    assert "|--:|:--|:--|--:|\n| 1 | u ≤ 0 | Down | 50% |" in reading.to_markdown()
    assert "| 3 | OTHERWISE | Left | 45% |" in reading.to_markdown()
    assert reading.to_latex().splitlines() == [
        r"\begin{tabular}{rllr}",
        r"\toprule",
        r"\# & if & then & decides \\",
        r"\midrule",
        r"1 & $u \le 0$ & Down & 50\% \\",
        r"2 & $u = 2$ and $v \in [1, 3]$ & Down & 5\% \\",
        r"3 & otherwise & Left & 45\% \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_rules_that_decide_nothing_say_so_at_the_end_of_their_group() -> None:
    weights = [[0.1, 0, 0], [0.3, 0, 0], [0.2, 0, 0]]
    ruleset = StrengthRules([WHOLE] * 3, [0, 0, 0], FEATURES, ACTIONS, weights, [0.04, 0, 0], 1.0)
    reading = read_rules(ruleset)
    assert [rule.rule for rule in reading.rules] == [1, 2, 0]
    assert [rule.decides_in_words for rule in reading.rules] == ["100%", "never decides", "never decides"]
    text = reading.to_text()
    assert "Left: 3 rules, decided in 100% of the states" in text
    assert re.search(r"1  ALWAYS +never decides +0\.10 ± 0\.20 +-0\.1", text)
    assert r"0.10 $\pm$ 0.20 & $-$0.1 \\" in reading.to_latex()
    assert reading.to_table()["strength"].to_list() == pytest.approx([0.3, 0.2, -0.1])


def test_with_a_task_shares_are_of_its_decision_states() -> None:
    task = small_lake()
    ruleset = DecisionList([[[0, 3], [0, 0]]], [2], task.features, task.action_names)
    reading = read_rules(ruleset, task)
    assert reading.states == 11
    assert reading.rules[0].share == 4 / 11
    assert "No rule matches in 7 of them (64%)." in reading.heading
    assert "the 11 decision states of" in reading.heading
    with pytest.raises(TaskError, match="the ruleset speaks of"):
        read_rules(THREE, task)


SPEEDS = tuple(Feature(f"speed_{i}", -1, 1, kind="real", unit="m/s") for i in range(6))


def test_where_states_cannot_be_listed_shares_are_left_out() -> None:
    bounds: Any = [[[-0.25, 0.125]] * 6, [[-1, 1]] * 6]
    zeros = np.zeros((2, 7))
    reading = read_rules(StrengthRules(bounds, [0, 1], SPEEDS, ("Go", "Stop"), zeros, [0, 0]))
    assert (reading.states, reading.rules[0].share, reading.rules[0].never) == (None, None, False)
    assert "%" not in reading.to_text() + reading.to_markdown()
    assert "?" not in reading.to_text()
    assert reading.to_table()["share"].to_list() == [None, None]
    assert all(len(line) <= 100 for line in reading.to_text().splitlines())


def test_lists_over_real_features_have_exact_shares() -> None:
    bounds: Any = [[[-0.25, 0.125]] * 6, [[-0.2, 0.1]] * 6, [[-1, 1]] * 6]
    reading = read_rules(DecisionList(bounds, [0, 0, 1], SPEEDS, ("Go", "Stop")))
    assert reading.states is None
    assert [rule.share for rule in reading.rules] == pytest.approx([0.1875**6, 0, 1 - 0.1875**6], abs=1e-15)
    assert [rule.decides_in_words for rule in reading.rules] == ["<1%", "never decides", ">99%"]
    assert "Shares are of every observation with speed_0 from -1" in reading.heading
    assert "No rule matches" not in reading.heading
    assert reading.to_table()["decides"].to_list() == [None] * 3
    assert all(len(line) <= 100 for line in reading.to_text().splitlines())
    assert "| OTHERWISE | Stop | >99% |" in reading.to_markdown().replace("&gt;", ">")
    assert r"\begin{tabular}{rp{0.6\linewidth}lr}" in reading.to_latex()
    assert r"$\text{speed\_0} \in [-0.25, 0.125]$\,m/s and " in reading.to_latex()


def test_a_rule_for_a_single_real_value_decides_though_it_has_no_share_and_so_does_a_flat_hole() -> None:
    height = (Feature("h", 0, 1, kind="real"),)
    flat: Any = [[[0.5, 0.5]], [[0.0, 0.75]]]
    reading = read_rules(DecisionList(flat, [0, 1], height, ("Go", "Stop")))
    assert [rule.share for rule in reading.rules] == [0.0, 0.75]
    assert [rule.decides_in_words for rule in reading.rules] == ["<1%", "75%"]
    assert "No rule matches in 25% of them." in reading.heading
    but_one: Any = [[[0.0, float(np.nextafter(0.5, 0))]], [[float(np.nextafter(0.5, 1)), 1.0]]]
    holed = read_rules(DecisionList(but_one, [0, 1], height, ("Go", "Stop")))
    assert "No rule matches in <1% of them." in holed.heading


def test_what_a_search_gave_up_on_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    from ifthen.explanation import reading as module

    monkeypatch.setattr(module, "first_match", lambda rules: first_match(rules, budget=1))
    bounds: Any = [[[-0.25, 0.125]] * 6, [[-0.5, 0.5]] * 6, [[-1, 1]] * 6]
    reading = read_rules(DecisionList(bounds, [0, 0, 1], SPEEDS, ("Go", "Stop")))
    assert [rule.decides_in_words for rule in reading.rules].count("?") > 0
    assert "the search for the share of a rule gave up" in reading.heading


def test_many_rules_that_never_decide_are_counted_and_keep_their_numbers() -> None:
    n = 45
    weights = [[10.0 - r, 0, 0] for r in range(n)]
    actions = [0] * 30 + [1] * 14 + [2]
    ruleset = PredictionArrayRules(
        [WHOLE] * n, actions, FEATURES, ACTIONS, weights, [1.0] * n, [0.0] * n, [1] * n, [1] * n, 1.0
    )
    text = read_rules(ruleset).to_text()
    assert numbers(text.splitlines(), r" *(\d+)  (?:IF|ALWAYS)") == [0]
    assert "and 29 rules that never decide (but may vote)" in text
    assert "and 14 rules that never decide (but may vote)" in text
    assert "and 1 rule that never decides (but may vote)" in text
    everything = read_rules(ruleset).to_text(everything=True)
    assert sorted(numbers(everything.splitlines(), r" *(\d+)  (?:IF|ALWAYS)")) == list(range(n))
    few = read_rules(ruleset.subset(range(21))).to_text()
    assert len(numbers(few.splitlines(), r" *(\d+)  (?:IF|ALWAYS)")) == 21
    ordered = DecisionList([WHOLE] * n, actions, FEATURES, ACTIONS)
    assert read_rules(ordered).to_text().count("never decides") == n - 1


@given(rulesets())
def test_rules_read_the_same_wherever_they_are_shown(ruleset: RuleSet) -> None:
    for rule in read_rules(ruleset).rules:
        assert ruleset.rule_in_words(rule.rule) == rule.words


@given(st.lists(st.text("ab ≤,[]", min_size=1, max_size=30), min_size=6, max_size=6), st.integers(20, 60))
def test_tables_that_must_fit_do(cells: list[str], width: int) -> None:
    rows = [[cell.strip() or "-" for cell in cells[:3]], [cell.strip() or "-" for cell in cells[3:]]]
    lines = "\n".join(fitting_rows(rows, "rll", width)).splitlines()
    assert max(map(len, lines)) <= width
    for sign in "ab≤":
        assert "".join(lines).count(sign) == sum(cell.count(sign) for row in rows for cell in row)


def test_counting_in_blocks_is_counting_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [rule.decides for rule in read_rules(THREE).rules]
    monkeypatch.setattr(scope, "BLOCK", 30)
    assert [rule.decides for rule in read_rules(THREE).rules] == whole == [28, 3, 25]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (0.001, "<1%"), (0.005, "<1%"), (0.27, "27%"), (0.995, ">99%"), (1.0, "100%")],
)
def test_only_nothing_is_0_and_only_all_is_100_per_cent(share: float, text: str) -> None:
    assert percent(share) == text


@given(
    st.lists(st.sampled_from(["x ≤ 3", "speed in [-0.25, 0.125] m/s", "y = 1"]), min_size=1),
    st.integers(30, 90),
)
def test_wrapped_conditions_fit_and_lose_nothing(terms: list[str], width: int) -> None:
    lines = folded(" AND ".join(terms), width)
    assert " ".join(lines).split(" AND ") == terms
    assert all(len(line) <= max(width, 1) for line in lines)


def test_latex_is_escaped() -> None:
    assert latex_text(r"50% of a_b & {c} \ ~^ #$") == (
        r"50\% of a\_b \& \{c\} \textbackslash{} \textasciitilde{}\textasciicircum{} \#\$"
    )
    assert latex_interval(Feature("x", 0, 9), 0, 9) == ""
    assert latex_interval(Feature("x", 0, 9), 3, 9) == r"$x \ge 3$"
    assert latex_interval(Feature("x", 0, 9), 9, 9) == r"$x = 9$"
    assert latex_interval(Feature("x", 0, 9, clips=True), 9, 9) == r"$x \ge 9$"
    assert latex_interval(Feature("x", 0, 9, clips=True), 0, 0) == r"$x \le 0$"
    assert latex_interval(Feature("t%", 0, 1, kind="real", unit="°"), 1e-7, 0.5) == (
        r"$\text{t\%} \in [1 \cdot 10^{-7}, 0.5]$\,°"
    )
