"""The front on the explain page: its data are right, and in a browser a policy can be seen and taken."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

import pytest

from ifthen import explain_page, front, parse_rules, read_ruleset
from ifthen.pages.front_panel import front_data
from ifthen.pages.report_page import front_drawn
from ifthen.results import Front
from tests.browser import needs_browser, opened
from tests.simplify.test_by_play import cart_pole
from tests.simplify.test_shortened import good


@cache
def found() -> Front:
    return front(good(), cart_pole(), episodes=12, threads=1)


def test_the_panel_has_sizes_intervals_rules_and_commands_of_every_policy(tmp_path: Path) -> None:
    data = front_data(found(), cart_pole(), good(), "'runs/my pole' --task my:Pole")
    assert [point["rules"] for point in data["points"]] == [own.rules for own in found().points]
    assert sum(point["knee"] for point in data["points"]) == 1
    for point, own in zip(data["points"], found().points, strict=True):
        (tmp_path / "rules.txt").write_text(point["text"])
        assert read_ruleset(tmp_path / "rules.txt", cart_pole())[0] == own.ruleset
        assert point["ends"] == pytest.approx(own.interval, rel=1e-5)
        words = shlex.split(point["command"])
        assert words[:5] == ["ifthen", "prune", "runs/my pole", "--task", "my:Pole"]
        assert found().at(rules=int(words[6]), tests=int(words[8])) is own


def test_many_rules_are_left_out_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ifthen.pages.front_panel.MOST_RULES", 1)
    texts = [point["text"] for point in front_data(found(), cart_pole(), good(), "m")["points"]]
    assert texts[0]
    assert not any(texts[1:])


def test_a_front_of_one_policy_is_not_drawn_on_pages_and_has_one_size_elsewhere() -> None:
    one = Front(found().points[:1], "score")
    assert front_drawn(None) is front_drawn(one) is None
    assert "<svg" in (front_drawn(found()) or "")
    assert [tick for tick in one.figure().axes[0].get_xticks() if tick >= 0] == [1]


@needs_browser
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_policy_of_the_front_is_seen_and_taken_by_mouse_and_keys(width: int, tmp_path: Path) -> None:
    path = tmp_path / "explain.html"
    path.write_text(explain_page(good(), cart_pole(), front=found(), model="runs/pole"), encoding="utf-8")
    with opened(path, width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        points = found().points
        assert page.locator("#front .point").count() == len(points)
        assert page.locator("#front .point.kept.knee").count() == 1
        page.focus("#front .point.kept")
        page.keyboard.press("Home")
        assert page.inner_text("#front-rules") == f"1. {points[0].ruleset.rule_in_words(0)}"
        assert page.inner_text("#live").startswith("1 rule, 0 tests: ")
        page.keyboard.press("ArrowRight")
        assert page.locator("#front .point:focus").get_attribute("data-point") == "1"
        page.hover(f"#front [data-point='{len(points) - 1}'] .dot")
        assert page.inner_text("#front-point h3").startswith(f"{points[-1].rules} rules")
        page.hover("#front-title")
        assert page.inner_text("#front-point h3").startswith(f"{points[1].rules} rules")
        command = page.inner_text("#front-command")
        assert command.startswith(f"ifthen prune runs/pole --rules {points[1].rules} --tests ")
        page.check("#front input[value=nodes]")
        assert "nodes of a tree" in (page.text_content(".front-picture") or "")
        page.click("#front-point >> text=Copy the rules")
        page.wait_for_selector("#front-point button:has-text('Copied')")
        shown = [line.partition(". ")[2] for line in page.inner_text("#front-rules").splitlines()]
        assert shown == [points[1].ruleset.rule_in_words(r) for r in range(points[1].rules)]
        assert parse_rules("\n".join(shown), task=cart_pole()) == points[1].ruleset
