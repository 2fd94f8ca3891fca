"""The dossier: five answers and all that was found, on one page."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from ifthen import (
    PPLDL,
    DecisionList,
    Feature,
    dossier,
    env_task,
    frozen_lake,
    parse_rules,
    verify,
    worst_starts,
)
from ifthen.pages import pdf
from ifthen.pages.answers import answers
from ifthen.pages.dossier import Dossier, least_return
from ifthen.pages.in_print import neat, printed_exactly
from tests.browser import needs_browser, opened
from tests.explanation.test_env_policies import GOOD, rules_of

PARTS = (
    *("Purpose and task", "The rules", "The front", "Requirements", "Performance", "How it behaves"),
    *("Robustness", "Worst starts", "How it was found", "Words"),
)
NEVER = "never push left when pole angle >= 0.1"


@cache
def on_cart_pole() -> Dossier:
    task = env_task("CartPole-v1", t_max=60)
    rules = rules_of(GOOD)
    return dossier(
        rules, task, "Keeps <it> up.", [NEVER, "return >= 50 at 95 %"], quick=True, model="runs/pole"
    )


@cache
def on_a_lake() -> Dossier:
    task = frozen_lake(4, p_slip=0.1)
    learner = PPLDL(task, seed=0, pop_size=20).learn(epochs=2)
    return dossier(learner, require="complete")


def text_of(page: str) -> str:
    """Return what a reader sees of a page."""
    plain = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<[^>]+>", " ", page, flags=re.S)
    return " ".join(unescape(plain).split())


@pytest.mark.parametrize("of", [on_cart_pole, on_a_lake])
def test_a_page_begins_with_five_answers_and_has_all_parts(of: object) -> None:
    found: Dossier = of()  # type: ignore[operator]  # one of the two functions
    seen = text_of(found.to_html())
    places = [seen.index(own.question) for own in found.answers]
    assert places == sorted(places)
    assert len(places) == 5
    assert all(own.said for own in found.answers)
    assert places[-1] < min(seen.index(f"{n}. {part}") for n, part in enumerate(PARTS, start=1))


@pytest.mark.parametrize("of", [on_cart_pole, on_a_lake])
def test_a_page_needs_nothing_else(of: object) -> None:
    page = of().to_html()  # type: ignore[operator]  # one of the two functions
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\((?!#)", page)


def test_the_page_says_what_the_commands_say() -> None:
    found = on_cart_pole()
    seen = text_of(found.to_html())
    assert found.stress is not None
    for required in verify(found.ruleset, found.task, [NEVER]).requirements:
        assert neat(required.why) in seen
    for sweep in found.stress.sweeps:
        for level in sweep.levels:
            assert f"{sweep.title} {level.shown}" in seen
    assert "ifthen verify runs/pole --require" in seen
    assert "ifthen stress runs/pole --episodes 20 --require 'performance>=50'" in seen
    assert "Keeps <it> up." in seen
    assert "Left out, because --quick was asked for." in seen


def test_requirements_that_are_not_met_are_in_the_first_answers() -> None:
    found = on_cart_pole()
    (broken,) = [each for each in found.verification.requirements if not each.passed]
    assert broken.text == NEVER
    said = found.answers[1].said
    assert said[0].startswith(f"✗ NOT MET: {NEVER}: broken: at ")


def test_a_table_has_exact_numbers_and_its_worst_start() -> None:
    found = on_a_lake()
    assert found.worst is not None
    assert "Nothing was sampled." in found.answers[3].said[0]
    assert any(found.worst.worst.name in said for said in found.answers[4].said)


def test_without_a_task_nothing_is_played_and_that_is_said() -> None:
    rules = DecisionList([[[0, 3]], [[0, 7]]], [0, 1], [Feature("x", 0, 7)], ["a", "b"])
    found = dossier(rules, require="never a when x >= 4")
    seen = text_of(found.to_html())
    assert seen.count("No task was given, so nothing was played.") == 4
    assert neat(f"✓ never a when x >= 4: {found.verification.requirements[0].why}") in seen
    assert found.answers[2].said == ("Nothing was played, so this is not known.",)


def test_what_is_required_of_returns_is_required_under_disturbances() -> None:
    rules = rules_of(GOOD)
    assert least_return(["complete", "return >= 400 at 99 %"], rules) == "performance>=400"
    assert least_return(["performance >= 40"], rules) == "performance>=40"
    assert least_return([NEVER, "return <= 4"], rules) == ""


def test_without_chromium_there_is_no_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "NAMES", ("no-such-browser",))
    assert not pdf.print_pdf(tmp_path / "page.html", tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()


@needs_browser
def test_the_page_fits_narrow_screens_and_prints(tmp_path: Path) -> None:
    page = tmp_path / "dossier.html"
    page.write_text(on_cart_pole().to_html(), encoding="utf-8")
    with opened(page, width=390) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert pdf.print_pdf(page, tmp_path / "dossier.pdf")
    assert (tmp_path / "dossier.pdf").read_bytes().startswith(b"%PDF")


def test_rules_that_come_from_requirements_are_marked() -> None:
    system = PPLDL(env_task("CartPole-v1", t_max=60), require=NEVER, seed=0, pop_size=4).learn(epochs=0)
    rules = system.ruleset
    shield = system.shield_of(rules)
    found = answers("", rules.subset(range(5)), None, verify(rules), {}, None, None, shield)
    marked = [said for said in found[0].said if said.endswith("(from the requirements given to training)")]
    assert 0 < shield <= 5
    assert len(marked) == shield
    page = dossier(rules, None, learner=system)
    assert neat(system.shield_in_words(rules)) in text_of(page.to_html())


def test_what_was_not_required_says_where_it_comes_from() -> None:
    asked = on_cart_pole()
    assert asked.stress is not None
    plain = replace(asked, stress=replace(asked.stress, asked=False))
    told = [" ".join(each.answers[-1].said) for each in (plain, asked)]
    assert ["halfway between random actions" in each for each in told] == [True, False]


def test_numbers_are_said_to_be_printed_in_full_only_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, task = rules_of(GOOD), env_task("CartPole-v1", t_max=60)
    assert printed_exactly(rules, task)
    assert "The numbers are printed in full" in text_of(on_cart_pole().to_html())
    monkeypatch.setattr(DecisionList, "rule_in_words", lambda *_: "OTHERWISE push left")
    assert not printed_exactly(rules, task)
    assert not printed_exactly(rules, None)


def test_signs_are_those_of_print() -> None:
    assert neat("x >= -0.5 or y<=-3, 2-3, a -b, -7 to -1") == "x ≥ −0.5 or y≤−3, 2-3, a -b, −7 to −1"


def test_a_rule_that_decided_in_no_test_step_is_called_untested() -> None:
    task = env_task("CartPole-v1", t_max=60)
    far = parse_rules(
        "IF cart position >= 2.3 THEN push left\nIF pole angle >= 0 THEN push right\nOTHERWISE push left",
        task=task,
    )
    found = dossier(far, task, quick=True)
    told = "Rule 1 decided in no test step: its action is untested."
    assert told in found.answers[3].said
    assert text_of(found.to_html()).count(told) == 3
    assert (
        "over all inputs, every one of the 3 rules decides somewhere" in found.verification.reasons.values()
    )


def test_equal_returns_bound_the_share_that_gets_less_with_all_episodes_that_were_played() -> None:
    asked, pole = on_cart_pole(), env_task("CartPole-v1", t_max=60)
    steady = dict(asked.measured)
    name, one = next(iter(steady.items()))
    steady[name] = replace(one, returns=np.full(20, 60.0), performance=60.0, least=60.0, most=60.0)
    worst = worst_starts(asked.ruleset, pole, 1000)
    alike = replace(worst, played=(1000, 60.0, 60.0))
    told = [" ".join(replace(asked, measured=steady, worst=own).answers[3].said) for own in (None, alike)]
    assert "All 20 got 60: with 95 % confidence at most 14 % of episodes get less." in told[0]
    assert "and so did 1,000 further ones from other seeds (section 8): with 95 %" in told[1]
    assert "at most 0.3 % of episodes" in told[1]
    other = replace(worst, played=(1000, 59.0, 60.0))
    assert "further ones" not in " ".join(replace(asked, measured=steady, worst=other).answers[3].said)


def test_a_dossier_says_how_the_policy_was_found() -> None:
    learner = PPLDL(env_task("CartPole-v1", t_max=60, episodes=5), seed=3, pop_size=6).learn(epochs=1)
    settings = 'system = "PPL-DL"\n'
    seen = text_of(dossier(learner, quick=True, settings=settings).to_html())
    assert "PPL-DL: evolves decision lists" in seen
    assert "This is one run, with seed 3: 1 epoch, " in seen
    assert "Reset seeds: training 0 to 4, pruning 0 to 4 and from 5,000,000 on" in seen
    assert "pop_size = 6 : " in seen
    defaults = {f"{name} = {default}" for name, default, _ in learner.list_parameters()}
    assert not [own for own in defaults if f" {own} :" in seen]
    assert settings.strip() in seen
    assert "No purpose" not in seen
