"""The explain page of an environment in a real browser: it does what the rules do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ifthen import DecisionList, RuleSet, explain_page, parse_rules, trace
from ifthen.pages.explain_page import part_of, policy_data
from ifthen.verification import verify
from tests.browser import needs_browser, opened
from tests.envs import task_of
from tests.explanation.env_policies import KINDS, a_policy, a_task, holey, some_rules

if TYPE_CHECKING:
    from playwright.sync_api import Page, Position

CANVAS = "#plane"


def written(folder: Path, page: str) -> Path:
    path = folder / "explain.html"
    path.write_text(page, encoding="utf-8")
    return path


def lit(page: Page, name: str) -> list[int]:
    return sorted(page.eval_on_selector_all(f".rules .{name}", "all => all.map(e => Number(e.dataset.rule))"))


@needs_browser
@pytest.mark.browser
def test_the_page_decides_as_the_rules_do(tmp_path: Path) -> None:
    cases = [(name, kind) for name in ("CartPole-v1", "Blackjack-v1") for kind in KINDS]
    with opened(written(tmp_path, explain_page(*a_policy("MountainCar-v0")))) as page:
        for name, kind in cases:
            task = a_task(name)
            rules, lows, highs = some_rules(kind, task, 14, seed=3), *task.ranges
            points = lows + np.random.default_rng(4).random((400, len(lows))) * (highs - lows)
            points = np.where([f.is_integer for f in task.features], np.rint(points), points)
            points = np.vstack([points, rules.bounds[:, :, 0], rules.bounds[:, :, 1]])
            found = page.evaluate(
                "([policy, points]) => points.map(point => decider(policy, point))",
                [policy_data(rules, name, part_of(task)), points.tolist()],
            )
            assert found == rules.choose(points)[1].tolist()


@needs_browser
@pytest.mark.browser
def test_pointing_at_the_picture_says_who_decides_there_and_what_would_change_it(tmp_path: Path) -> None:
    ruleset, task = a_policy("CartPole-v1")
    with opened(written(tmp_path, explain_page(ruleset, task))) as page:
        start = [trace(ruleset, task, episode=0).steps[0].rule]
        assert lit(page, "decided") == start  # where the episode starts is explained first
        box = page.locator(CANVAS).bounding_box()
        assert box is not None
        centre: Position = {"x": 58 + (box["width"] - 70) / 2, "y": 40.0}
        page.hover(CANVAS, position=centre)
        assert lit(page, "decided") == [3]
        assert lit(page, "match") == [4]
        said = page.inner_text("#why")
        assert "Push right, by rule 4. It is the first that matches." in said
        assert "pole velocity < 0 rad/s: push left, by rule 5" in said
        assert "pole angle = −0.03 rad: push left, by rule 3" in said
        page.hover("h1")
        assert lit(page, "decided") == start
        page.click(CANVAS, position=centre)
        page.hover("h1")
        assert lit(page, "decided") == [3]
        page.keyboard.press("Escape")
        assert lit(page, "decided") == start


@needs_browser
@pytest.mark.browser
def test_pointing_at_a_rule_lights_its_region(tmp_path: Path) -> None:
    ruleset, task = a_policy("MountainCar-v0")
    with opened(written(tmp_path, explain_page(ruleset, task))) as page:
        page.uncheck("#dots", force=True)
        opacity = """async ([x, y]) => {
          for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
          const canvas = byId("plane"), ratio = devicePixelRatio, wide = canvas.width / ratio;
          const tall = canvas.height / ratio;
          const across = (58 + x * (wide - 70)) * ratio, down = (tall - 44 - y * (tall - 52)) * ratio;
          const spot = make("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
          spot.drawImage(canvas, -Math.round(across), -Math.round(down));
          return spot.getImageData(0, 0, 1, 1).data[3]; }"""
        places = {1: [0.8, 0.8], 2: [0.8, 0.2]}
        before = {rule: page.evaluate(opacity, place) for rule, place in places.items()}
        page.hover("[data-rule='1']")
        assert page.evaluate(opacity, places[1]) > before[1]
        assert page.evaluate(opacity, places[2]) < before[2]
        assert "Rule 2" in page.inner_text("#why")
        assert lit(page, "decided") == [1]


@needs_browser
@pytest.mark.browser
def test_a_rule_that_the_picture_does_not_reach_can_be_gone_to(tmp_path: Path) -> None:
    ruleset, task = a_policy("CartPole-v1")
    with opened(written(tmp_path, explain_page(ruleset, task))) as page:
        page.click("[data-rule='0']")
        assert "The picture does not reach it: cart position is" in page.inner_text("#why")
        page.click("#why button:has-text('Move there')")
        assert float(page.input_value("#fixed [data-feature='0']")) == pytest.approx(1.7)
        assert "does not reach" not in page.inner_text("#why")
        page.click("#middle")
        assert float(page.input_value("#fixed [data-feature='0']")) < 1


@needs_browser
@pytest.mark.browser
def test_any_two_features_can_be_drawn_and_the_others_moved(tmp_path: Path) -> None:
    ruleset, task = a_policy("Blackjack-v1", 20)
    with opened(written(tmp_path, explain_page(ruleset, task))) as page:
        page.select_option("#axis-0", label="own sum")
        page.select_option("#axis-1", label="usable ace")
        assert page.locator("#fixed input").count() == 1
        page.fill("#fixed [data-feature='1']", "5")
        assert page.inner_text("#fixed output") == "5"
        page.focus(CANVAS)
        for key in ("ArrowLeft", "ArrowLeft", "ArrowDown"):
            page.keyboard.press(key)
        said = page.inner_text("#why h2")
        values = dict(part.split(" = ") for part in said.split(", "))
        assert values["dealer shows"] == "5"
        point = [int(values[feature.name]) for feature in task.features]
        assert lit(page, "decided") == ruleset.choose(np.array([point], dtype=float))[1].tolist()
        page.select_option("#axis-0", label="usable ace")  # they change places
        assert page.input_value("#axis-1") == "0"


@needs_browser
@pytest.mark.browser
def test_an_episode_can_be_stepped_through(tmp_path: Path) -> None:
    ruleset, task = a_policy("MountainCar-v0")
    found = trace(ruleset, task, episode=1)
    with opened(written(tmp_path, explain_page(ruleset, task))) as page:
        page.select_option("#episode", "1")
        for at in (1, 2):
            page.click("#forward")
            step = found.steps[at]
            said = page.inner_text("#said")
            rule = f"Rule {(step.rule or 0) + 1} says {step.action}, which brings −1."
            assert said.startswith(f"Step {at} of {len(found.steps)}. {rule}")
            assert lit(page, "decided") == [step.rule]
        page.fill("#time", str(len(found.steps)))
        assert "The environment has ended the episode." in page.inner_text("#said")
        assert f"Return so far {found.total:g}".replace("-", "−") in page.inner_text("#said")
        assert page.is_disabled("#forward")
        page.click("#reset")
        assert page.inner_text("#said").startswith("Step 0 of")
        page.focus("#time")
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#said").startswith("Step 1 of")
        page.click("#play")
        page.wait_for_timeout(500)
        page.click("#play")
        assert int(page.input_value("#time")) > 2
        assert page.locator("#series .track").count() == len(task.features)
        assert page.locator("#series .strip").count() == 2


@needs_browser
@pytest.mark.browser
def test_no_action_is_asked_where_an_episode_has_ended(tmp_path: Path) -> None:
    for t_max, why in ((None, "terminated"), (20, "truncated")):
        ruleset, task = a_policy("MountainCar-v0", 4, t_max)
        with opened(written(tmp_path, explain_page(ruleset, task))) as page:
            page.fill("#time", str(len(trace(ruleset, task, episode=0).steps)))
            said = page.inner_text("#why")
            assert f"The episode has ended; no action is asked here ({why})." in said
            assert "no rule matches" not in said.lower()
            assert "Other rules that match" not in said
            assert lit(page, "decided") == lit(page, "match") == []
            page.click("#back")
            assert "by rule" in page.inner_text("#why")


@needs_browser
@pytest.mark.browser
def test_an_episode_that_meets_a_state_without_a_rule_says_so_at_its_end(tmp_path: Path) -> None:
    ruleset, task = holey()
    found = trace(ruleset, task, episode=0)
    assert found.ending == "no rule"
    with opened(written(tmp_path, explain_page(ruleset, task))) as page:
        page.fill("#time", str(len(found.steps)))
        said = page.inner_text("#why")
        assert "No action: no rule matches." in said
        assert "has ended" not in said
        assert "Other rules that match" not in said


@needs_browser
@pytest.mark.browser
def test_the_picture_follows_the_episode_where_it_is_asked_to(tmp_path: Path) -> None:
    ruleset, task = a_policy("CartPole-v1")
    found = trace(ruleset, task, episode=0)
    with opened(written(tmp_path, explain_page(ruleset, task))) as page:
        page.fill("#time", "50")
        position = found.steps[50].features["cart position"]
        assert float(page.input_value("#fixed [data-feature='0']")) == pytest.approx(position, rel=1e-4)
        page.uncheck("#follow")
        page.fill("#time", "400")
        assert float(page.input_value("#fixed [data-feature='0']")) == pytest.approx(position, rel=1e-4)


@needs_browser
@pytest.mark.browser
def test_two_policies_their_findings_and_narrow_screens_work(tmp_path: Path) -> None:
    ruleset, task = holey()
    other: RuleSet = a_policy("CartPole-v1")[0]
    page_text = explain_page(
        ruleset, task, other, names=("holey", "whole"), verification=verify(ruleset, task)
    )
    for width in (1280, 390):
        with opened(written(tmp_path, page_text), width) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.check("input[name=view][value=both]", force=True)
            assert page.locator(".rules").count() == 2
            assert "different actions" in page.inner_text("#legend")
            page.check("input[name=view][value='1']", force=True)
            assert "An episode of whole" in page.inner_text("#player-title")
            page.check("input[name=colours][value=rule]", force=True)
            page.check("#zoom", force=True)
            page.check("input[name=view][value='0']", force=True)
            page.locator("[data-finding]").first.click()
            assert page.locator(".findings .here").count() == 1
            assert page.inner_text("#why h2 >> nth=0") == "Verified"


@needs_browser
@pytest.mark.browser
def test_a_single_feature_is_drawn_as_a_strip(tmp_path: Path) -> None:
    task = task_of(kind="state")
    rules = some_rules("decision-list", task, 5)
    with opened(written(tmp_path, explain_page(rules, task))) as page:
        assert page.is_hidden("#slice")
        page.hover(CANVAS, position={"x": 200, "y": 60})
        (point,) = (int(part) for part in page.inner_text("#why h2").replace("−", "-").split(" = ")[1:])
        assert lit(page, "decided") == rules.choose(np.array([[float(point)]]))[1].tolist()


@needs_browser
@pytest.mark.browser
def test_rules_are_walked_through_with_keys(tmp_path: Path) -> None:
    with opened(written(tmp_path, explain_page(*a_policy("MountainCar-v0")))) as page:
        page.focus("[data-rule='0']")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.rule") == "1"
        assert page.inner_text("#live").startswith("Rule 2")
        page.keyboard.press("Enter")
        page.hover(CANVAS, position={"x": 100, "y": 100})
        assert lit(page, "decided") == [1]
        page.keyboard.press("Escape")
        page.keyboard.press("End")
        assert lit(page, "decided") == [3]


@needs_browser
@pytest.mark.browser
def test_the_page_works_terms_out_as_the_rules_do(tmp_path: Path) -> None:
    task = a_task("CartPole-v1")
    text = """LET tilt = pole angle + 0.1*pole velocity
    IF tilt >= 0.1 THEN push right
    IF cart position - 0.3*cart velocity + 0.7*pole angle <= -0.2 AND cart velocity <= 1 THEN push left
    IF tilt >= 0 THEN push right
    OTHERWISE push left"""
    rules, (lows, highs) = parse_rules(text, task=task), task.ranges
    points = lows + np.random.default_rng(4).random((2000, len(lows))) * (highs - lows)
    points[::2, 2] = np.clip(0.1 - 0.1 * points[::2, 3], lows[2], highs[2])  # at the edge of a term
    with opened(written(tmp_path, explain_page(rules, task))) as page:
        found = page.evaluate(
            "([policy, points]) => points.map(point => decider(policy, point))",
            [policy_data(rules, "", part_of(task)), points.tolist()],
        )
        assert found == rules.choose(points)[1].tolist()
        said = page.inner_text("#why")
        assert "tilt = pole angle + 0.1·pole velocity = " in said
        assert "LET tilt = pole angle + 0.1·pole velocity." in page.inner_text("body")
        changes = page.evaluate(
            """([policy, features, points]) => points.map(point => features.map((_, d) => {
                const change = nearestChange(policy, features, point, d);
                return change && point.map((value, e) => e === d ? change.value : value);
            }))""",
            [
                policy_data(rules, "", part_of(task)),
                [{"low": f.low, "high": f.high, "whole": f.is_integer} for f in task.features],
                points[:200].tolist(),
            ],
        )
        for point, moved in zip(points, changes, strict=False):
            for changed in filter(None, moved):
                assert rules.predict(changed) != rules.predict(point)
        assert any(any(moved) for moved in changes)
        page.hover(".rules > :nth-child(2)")
        assert lit(page, "decided") == [1]


@needs_browser
@pytest.mark.browser
def test_the_page_goes_round_the_end_of_a_cyclic_feature_as_the_rules_do(tmp_path: Path) -> None:
    task = a_task("ifthen/Evasion-v0")
    random, (lows, highs) = np.random.default_rng(5), (ends.astype(np.int64) for ends in task.ranges)
    drawn = random.integers(lows, highs + 1, (2, 14, 6)).transpose(1, 2, 0)
    bounds = np.where(random.random((14, 6, 1)) < 0.5, np.stack([lows, highs], axis=1), drawn).astype(int)
    rules = DecisionList(bounds, random.integers(0, 9, 14), task.features, task.action_names)
    assert (rules.bounds[..., 0] > rules.bounds[..., 1]).sum() > 3
    points = np.vstack([random.integers(lows, highs + 1, (400, 6)), *rules.bounds.transpose(2, 0, 1)])
    with opened(written(tmp_path, explain_page(rules, task))) as page:
        found = page.evaluate(
            "([policy, points]) => points.map(point => decider(policy, point))",
            [policy_data(rules, "rules", part_of(task)), points.tolist()],
        )
        assert found == rules.choose(points)[1].tolist()
        for rule in range(14):
            page.hover(f"[data-rule='{rule}']")
