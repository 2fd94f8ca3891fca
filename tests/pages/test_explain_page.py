"""The explain page: its data are right, and in a real browser it shows what the rules do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ifthen import (
    DecisionList,
    Feature,
    PredictionArrayRules,
    RuleSet,
    StrengthRules,
    TabularTask,
    evaluate,
    frozen_lake,
)
from ifthen.errors import ParameterError, TaskError
from ifthen.explanation.trace import trace
from ifthen.explanation.why import explain
from ifthen.pages.explain_page import explain_page
from ifthen.verification import verify
from ifthen.verification.properties import PROPERTIES
from tests.browser import needs_browser, opened
from tests.tables import table_named
from tests.worlds import chain, small_lake

if TYPE_CHECKING:
    from playwright.sync_api import Page

TASK, LARGE = small_lake(), frozen_lake(12, 0.1)
KINDS = ("decision-list", "strength", "prediction-array")


def some_rules(kind: str, task: TabularTask, n: int = 9, seed: int = 0) -> RuleSet:
    """Return n rules of a kind over a task, drawn anyhow; the last matches everything."""
    rng = np.random.default_rng(seed)
    features, actions = task.features, task.action_names
    bounds = np.stack([rng.integers(f.low, f.high + 1, (n, 2)) for f in features], axis=1)
    bounds[-1] = [[f.low, f.high] for f in features]
    chosen, learnt = rng.integers(0, len(actions), n), np.round(rng.normal(size=(n, len(features) + 1)), 2)
    if kind == "decision-list":
        return DecisionList(bounds, chosen, features, actions)
    if kind == "strength":
        return StrengthRules(bounds, chosen, features, actions, learnt, np.round(rng.random(n), 2))
    fitness, errors = rng.random(n) + 0.1, rng.random(n)
    counts = rng.integers(1, 9, (2, n))
    return PredictionArrayRules(bounds, chosen, features, actions, learnt, fitness, errors, *counts)


@pytest.fixture(scope="module")
def large() -> tuple[RuleSet, str]:
    """Return 1,500 rules that vote, and their page."""
    rules = some_rules("prediction-array", LARGE, 1500)
    return rules, explain_page(rules, LARGE)


def many_states(n: int) -> TabularTask:
    """Return a chain of n states."""
    states = np.arange(n, dtype=np.int32)
    following = np.minimum(states + 1, n - 1)[:, None, None].repeat(2, axis=1).repeat(2, axis=2)
    arrays = {"reward": np.zeros((n, 2, 2)), "done": np.zeros((n, 2, 2), dtype=np.bool_)}
    return chain(
        features=(Feature("place", 0, n - 1),), state_features=states[:, None], next_state=following, **arrays
    )


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def written(folder: Path, page: str) -> Path:
    path = folder / "explain.html"
    path.write_text(page, encoding="utf-8")
    return path


def chances(task: TabularTask, actions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the policy's transition matrix over decision states, and its expected rewards."""
    model, n = task.dynamics, len(task.decision_states)
    matrix, reward = np.zeros((n, n)), np.zeros(n)
    for s in range(n):
        for k, p in enumerate(model.probability):
            follows = model.next_state[s, actions[s], k]
            reward[s] += p * model.reward[s, actions[s], k]
            if follows >= 0:
                matrix[s, follows] += p
    return matrix, reward


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_are_what_brute_force_finds(kind: str) -> None:
    rules = some_rules(kind, TASK)
    data = data_of(explain_page(rules, TASK))
    task, policy = data["task"], data["policies"][0]
    points = TASK.dynamics.points
    assert task["points"][: task["decisions"]] == points.tolist()
    assert len(task["points"]) == TASK.n_states
    chosen = [rules.choose(point[None]) for point in points]
    actions = np.array([int(action[0]) for action, _ in chosen])
    assert policy["chosen"] == actions.tolist()
    assert policy["decider"] == [int(rule[0]) for _, rule in chosen]
    assert policy["bounds"] == rules.bounds.tolist()
    assert [rule["words"] for rule in policy["rules"]] == [rules.rule_in_words(r) for r in range(len(rules))]
    shares = [policy["decider"].count(r) / len(points) for r in range(len(rules))]
    assert [rule["share"] for rule in policy["rules"]] == pytest.approx(shares, rel=1e-5)
    agree = [
        int((rules.matches(p) & (rules.actions == a)).sum()) for p, a in zip(points, actions, strict=True)
    ]
    assert policy["density"] == agree


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_in_the_cells_are_those_of_the_model(kind: str) -> None:
    rules = some_rules(kind, TASK)
    data = data_of(explain_page(rules, TASK))
    policy, best = data["policies"][0], np.array(data["task"]["best"])
    actions = np.array(policy["chosen"])
    matrix, reward = chances(TASK, actions)
    values = np.linalg.solve(np.eye(len(matrix)) - TASK.gamma * matrix, reward)
    assert policy["value"] == pytest.approx(values, rel=1e-5, abs=1e-9)
    own = [chances(TASK, np.full(len(actions), a)) for a in range(TASK.n_actions)]
    worth = np.stack([gain + TASK.gamma * follow @ best for follow, gain in own], axis=1)
    assert best == pytest.approx(worth.max(axis=1), rel=1e-4)
    cost = best - worth[np.arange(len(actions)), actions]
    assert policy["cost"] == pytest.approx(cost, abs=1e-5)
    assert min(policy["cost"]) >= 0
    now = np.full(len(matrix), 1 / len(matrix))
    total = np.zeros(len(matrix))
    for _ in range(TASK.t_max):
        total, now = total + now, now @ matrix
    assert policy["visits"] == pytest.approx(total, rel=1e-5, abs=1e-9)
    steps = [total[np.array(policy["decider"]) == r].sum() / total.sum() for r in range(len(rules))]
    for rule, share in zip(policy["rules"], steps, strict=True):
        assert rule["said"].endswith(f" of the states, {share:.0%} of the steps.")


@pytest.mark.parametrize("kind", KINDS)
def test_every_state_is_explained_as_it_is_elsewhere(kind: str) -> None:
    rules = some_rules(kind, TASK, 14)
    policy = data_of(explain_page(rules, TASK))["policies"][0]
    for shown, point in zip(policy["why"], TASK.dynamics.points, strict=True):
        why = explain(rules, point, TASK)
        assert shown["reason"] == why.reason
        assert shown["others"] == [[lost.rule, lost.why] for lost in why.others[:8]]
        assert shown["more"] == max(0, len(why.others) - 8)
        if why.counterfactual:
            assert shown["change"].startswith("If ")
            assert all(
                f"{name} were {after}" in shown["change"]
                for name, (_, after) in why.counterfactual.changes.items()
            )


def test_episodes_are_those_of_the_trace_from_every_initial_state() -> None:
    rules = some_rules("strength", TASK, seed=3)
    data = data_of(explain_page(rules, TASK))
    points, episodes = data["task"]["points"], data["policies"][0]["episodes"]
    assert len(episodes) == len(TASK.z)
    for number, episode in enumerate(episodes):
        played = trace(rules, TASK, episode=number)
        way = [played.start, *(step.next_features for step in played.steps)]
        assert [points[place] for place in episode["path"]] == [list(place.values()) for place in way]
        assert episode["slips"] == [step.step for step in played.steps if step.slipped]
        rewards = [episode["rewards"].get(str(t), episode["usual"]) for t in range(len(played.steps))]
        assert rewards == [step.reward for step in played.steps]
    assert any(episode["slips"] for episode in episodes)


def test_the_seed_chooses_the_enumeration_that_comes_first() -> None:
    rules, starts = some_rules("decision-list", TASK), len(TASK.initial_states)
    first, second = (data_of(explain_page(rules, TASK, seed=s))["policies"][0]["episodes"] for s in (0, 1))
    assert first != second
    assert first[starts:] == second[:starts]


def test_the_same_input_gives_the_same_bytes() -> None:
    def page() -> str:
        rules = some_rules("prediction-array", TASK)
        return explain_page(rules, TASK, some_rules("strength", TASK), verification=verify(rules, TASK))

    assert page() == page()


def test_the_page_loads_nothing_and_allows_no_script_but_its_own() -> None:
    page = explain_page(some_rules("strength", TASK), TASK)
    assert not re.search(r'\s(src|href|style|on\w+)\s*=\s*"', page.partition("<script")[0])
    assert "@import" not in page
    assert "url(" not in page
    assert "default-src 'none'; style-src 'sha256-" in page
    assert "unsafe" not in page


class Texts(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)


def test_names_cannot_break_out_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>"
    task = chain(features=(Feature(evil, 0, 2),), action_names=("<img src=x>", evil), name=evil)
    rules = DecisionList([[[0, 2]]], [1], task.features, task.action_names)
    page = explain_page(rules, task, rules, title=evil, names=(evil, "<b>"))
    tags = Texts(page).tags
    assert tags.count("script") == 2
    assert "img" not in tags
    assert data_of(page)["policies"][0]["name"] == evil


def test_a_page_of_1500_rules_on_the_largest_lake_is_small(large: tuple[RuleSet, str]) -> None:
    _, page = large
    assert len(page.encode()) < 1_500_000  # so that two policies stay below 3 MB
    shown = [len(why["others"]) for why in data_of(page)["policies"][0]["why"]]
    assert max(shown) == 8


def test_what_cannot_be_shown_is_refused_with_a_reason() -> None:
    rules = some_rules("decision-list", TASK)
    with pytest.raises(TaskError, match="speaks of"):
        explain_page(rules, chain())
    with pytest.raises(TaskError, match="at most 5,000"):
        explain_page(rules, many_states(5_001))
    with pytest.raises(TaskError, match="task"):
        explain_page(rules, "lake")
    with pytest.raises(ParameterError, match="differ"):
        explain_page(rules, TASK, rules, names=("same", "same"))
    with pytest.raises(ParameterError, match="differ"):
        explain_page(rules, TASK, rules, names=("one", ""))
    with pytest.raises(ParameterError, match="seed"):
        explain_page(rules, TASK, seed=-1)


def test_a_single_policy_needs_no_second_name() -> None:
    rules = some_rules("decision-list", TASK)
    assert data_of(explain_page(rules, TASK, names=("mine", "")))["policies"][0]["name"] == "mine"
    assert data_of(explain_page(rules, TASK))["policies"][0]["name"] == "this policy"


def test_without_a_front_none_is_drawn() -> None:
    page = explain_page(some_rules("decision-list", TASK), TASK)
    assert 'id="front"' not in page
    assert "front" not in data_of(page)


def test_both_policies_and_their_difference_are_measured_exactly() -> None:
    one, two = some_rules("decision-list", TASK), some_rules("strength", TASK, seed=5)
    page = explain_page(one, TASK, two, names=("one", "two"))
    first, second = (evaluate(rules, TASK, "exact").performance for rules in (one, two))
    assert f"{first:.4f}" in page
    assert f"{second:.4f}" in page
    assert f"{second - first:+.4f}" in page
    assert '<th scope="row">difference</th>' in page
    assert "The difference is two less one." in page


def rows_of(page: str) -> dict[str, str]:
    """Return the marks of the table of properties by name."""
    found = re.findall(r'<tr><td class="\w+">(.?)</td><th scope="row">([\w-]+)</th><td>(.+)</td></tr>', page)
    return {name: mark for mark, name, _ in found}


@pytest.mark.parametrize("require", ["", "optimal"])
def test_every_property_has_its_mark_whether_requirements_are_met_or_not(require: str) -> None:
    rules = some_rules("strength", TASK, seed=2)
    report = verify(rules, TASK, require)
    assert report.passed == (not require)
    marks = rows_of(explain_page(rules, TASK, verification=report))
    assert marks == {
        name: "" if PROPERTIES[name].is_number else report.sign(name) for name in report.properties
    }
    assert marks["complete"] == "✓"
    assert marks["optimal"] in "✗–"


def test_problems_come_first_and_rules_that_never_decide_are_in_one_fold() -> None:
    rules = some_rules("strength", TASK, seed=2)
    report = verify(rules, TASK)
    page = explain_page(rules, TASK, verification=report)
    told = [int(number) for number in re.findall(r'data-finding="(\d+)"', page)]
    assert sorted(told) == list(range(len(report.findings)))
    found = [report.findings[number] for number in told]
    assert [f.severity for f in found] == sorted((f.severity for f in found), reverse=True)
    folded = re.findall(r"<details><summary>.*?</details>", page, re.DOTALL)
    dead = [number for number, f in enumerate(report.findings) if f.kind == "dead-rule"]
    assert len(dead) > 1
    assert len(folded) == 1
    assert f"{len(dead)} rules never decide" in folded[0]
    assert [int(number) for number in re.findall(r'data-finding="(\d+)"', folded[0])] == dead
    kinds = [f.kind for f in found if f.severity == "problem"]
    assert kinds.index("goal-unreachable") < kinds.index("dead-rule")


def test_a_verification_says_whose_it_is() -> None:
    one, two = some_rules("decision-list", TASK), some_rules("strength", TASK, seed=5)
    page = explain_page(one, TASK, two, names=("one", "two"), verification=verify(one, TASK))
    assert "Verified: one</h2>" in page
    assert "two was not verified here" in page
    assert "Verified</h2>" in explain_page(one, TASK, verification=verify(one, TASK))


def test_a_task_without_a_map_has_a_start_a_goal_and_a_cliff() -> None:
    task = table_named("CliffWalking-v1")
    data = data_of(explain_page(some_rules("decision-list", task), task))["task"]
    letters = {tuple(point): letter for point, letter in zip(data["points"], data["letters"], strict=True)}
    assert letters[0, 3] == "S"
    assert letters[11, 3] == "G"
    cliff = {tuple(data["points"][int(place)]): text for place, text in data["never"].items()}
    text = "never entered: a step onto it brings −100 and leads to x = 0, y = 3"
    assert cliff == {(x, 3): text for x in range(1, 11)}
    assert data_of(explain_page(some_rules("decision-list", TASK), TASK))["task"]["never"] == {}


def test_where_steps_onto_a_cell_differ_nothing_is_said_of_them() -> None:
    task = table_named("CliffWalking-v1")
    reward = task.reward.copy()
    reward[25, 2] = -50.0  # from (1, 2) down
    never = data_of(explain_page(some_rules("decision-list", task), replace(task, reward=reward)))["task"][
        "never"
    ]
    assert sorted(set(never.values())) == [
        "never entered",
        "never entered: a step onto it brings −100 and leads to x = 0, y = 3",
    ]


def test_episodes_are_numbered_as_on_the_command_line() -> None:
    size = len(TASK.initial_states)
    for seed in (0, 1):
        episodes = data_of(explain_page(some_rules("strength", TASK), TASK, seed=seed))["policies"][0][
            "episodes"
        ]
        assert [e["number"] for e in episodes[:size]] == [seed * size + i + 1 for i in range(size)]


# In a browser.


def lit(page: Page, name: str, of: str = ".cell") -> set[int]:
    return set(page.eval_on_selector_all(f"{of}.{name}", "all => all.map(e => Number(e.dataset.place))"))


def numbers_in(page: Page) -> dict[int, str]:
    found = "all => all.map(e => [Number(e.parentElement.dataset.place), e.textContent])"
    return {int(place): text for place, text in page.eval_on_selector_all(".cell .number", found)}


def cell(place: int) -> str:
    return f".cell[data-place='{place}']"


@needs_browser
@pytest.mark.browser
def test_pointing_at_a_rule_lights_exactly_the_cells_it_matches_and_decides(tmp_path: Path) -> None:
    policies = [some_rules(kind, TASK, seed=2) for kind in ("strength", "prediction-array")]
    with opened(written(tmp_path, explain_page(policies[0], TASK, policies[1]))) as page:
        for i, rules in enumerate(policies):
            matching = rules.matches(TASK.dynamics.points)
            _, deciders = rules.choose(TASK.dynamics.points)
            for rule in range(len(rules)):
                page.hover(f"[data-policy='{i}'] [data-rule='{rule}']")
                decided = set(np.flatnonzero(deciders == rule).tolist())
                assert lit(page, "decided") == decided
                assert lit(page, "match") == set(np.flatnonzero(matching[:, rule]).tolist()) - decided
                assert f"decides {len(decided)}" in page.inner_text("#why")


@needs_browser
@pytest.mark.browser
def test_keys_move_between_cells_and_say_who_decides_and_why(tmp_path: Path) -> None:
    rules = some_rules("strength", TASK, seed=2)
    points = {tuple(point): s for s, point in enumerate(TASK.dynamics.states.tolist())}
    _, deciders = rules.choose(TASK.dynamics.points)
    with opened(written(tmp_path, explain_page(rules, TASK))) as page:
        page.focus(cell(0))
        at = [0, 0]
        for key, dx, dy in [
            ("ArrowRight", 1, 0),
            ("ArrowRight", 1, 0),
            ("ArrowDown", 0, 1),
            ("ArrowDown", 0, 1),
        ]:
            page.keyboard.press(key)
            at = [at[0] + dx, at[1] + dy]
            s = points[tuple(at)]
            said = page.inner_text("#live")
            assert f"x = {at[0]}, y = {at[1]}" in said
            assert explain(rules, TASK.dynamics.points[s], TASK).reason[1:] in said
            winners = page.eval_on_selector_all(".rules .decided", "all => all.map(e => e.dataset.rule)")
            assert winners == [str(deciders[s])]
            matching = np.flatnonzero(rules.matches(TASK.dynamics.points[s])).tolist()
            others = page.eval_on_selector_all(".rules .match", "all => all.map(e => Number(e.dataset.rule))")
            assert sorted([*others, int(deciders[s])]) == matching
            assert page.evaluate("document.activeElement.tabIndex") == 0
            assert page.locator(".cell[tabindex='0']").count() == 1
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("document.activeElement.dataset.place") == str(points[0, 2])
        page.keyboard.press("Escape")
        assert lit(page, "here") == {0}  # where the episode starts
        page.focus("[data-rule][tabindex='0']")
        page.keyboard.press("ArrowDown")
        assert page.inner_text("#live").startswith("Rule ")


@needs_browser
@pytest.mark.browser
def test_stepping_through_an_episode_follows_the_trace(tmp_path: Path) -> None:
    rules = some_rules("decision-list", TASK, seed=3)
    number = next(
        i for i in range(len(TASK.z)) if any(s.slipped for s in trace(rules, TASK, episode=i).steps[:8])
    )
    played = trace(rules, TASK, episode=number)
    data = data_of(explain_page(rules, TASK))
    with opened(written(tmp_path, explain_page(rules, TASK))) as page:
        page.select_option("#episode", str(number))
        for step in played.steps[:8]:
            said = page.inner_text("#said")
            assert f"Rule {(step.rule or 0) + 1} says {step.action}" in said
            assert ("it slips" in said) == step.slipped
            page.click("#forward")
            here = page.eval_on_selector(".agent", "e => Number(e.dataset.place)")
            assert data["task"]["points"][here] == list(step.next_features.values())
            assert f"Return so far {step.return_so_far:g}" in page.inner_text("#said")
        page.click("#back")
        at = min(8, len(played.steps)) - 1
        assert page.inner_text("#said").startswith(f"Step {at} of {len(played.steps)}.")
        page.click("#reset")
        assert page.locator("#back").is_disabled()
        page.click("#play")
        page.wait_for_selector("#said >> text=Step 1 of")
        page.click("#play")
        assert page.get_attribute("#play", "aria-label") == "Play"


@needs_browser
@pytest.mark.browser
def test_layers_show_their_numbers_and_borders_stand_between_rules(tmp_path: Path) -> None:
    rules = some_rules("strength", TASK, seed=2)
    text = explain_page(rules, TASK)
    data = data_of(text)
    policy = data["policies"][0]
    with opened(written(tmp_path, text)) as page:
        layers = {"value": policy["value"], "best": data["task"]["best"], "cost": policy["cost"]}
        layers |= {"density": policy["density"], "visits": policy["visits"]}
        for name, values in layers.items():
            page.check(f"input[name=layer][value={name}]", force=True)
            shown = numbers_in(page)
            assert sorted(shown) == list(range(len(values)))
            for place, value in enumerate(values):
                near = 0.0 if shown[place] == "≈0" else float(shown[place])
                assert near == pytest.approx(value, abs=0.0051 if value < 0.995 else 0.051)
        page.check("input[name=layer][value=decider]", force=True)
        owners = [int(text) - 1 for _, text in sorted(numbers_in(page).items())]
        assert owners == policy["decider"]
        points = {tuple(point): s for s, point in enumerate(TASK.dynamics.states.tolist())}
        for (x, y), s in points.items():
            beside = points.get((x + 1, y))
            apart = beside is not None and policy["decider"][s] != policy["decider"][beside]
            assert ("er" in (page.get_attribute(cell(s), "class") or "").split()) == apart
        page.uncheck("#arrows", force=True)
        page.uncheck("#borders", force=True)
        assert page.locator(".cell .arrow, .cell.er").count() == 0


@needs_browser
@pytest.mark.browser
def test_comparing_marks_exactly_the_states_in_which_the_policies_differ(tmp_path: Path) -> None:
    one, two = some_rules("decision-list", TASK), some_rules("strength", TASK, seed=5)
    points = TASK.dynamics.points
    differing = set(np.flatnonzero(one.predict(points) != two.predict(points)).tolist())
    assert 0 < len(differing) < len(points)
    with opened(written(tmp_path, explain_page(one, TASK, two, names=("one", "two")))) as page:
        assert lit(page, "differs") == differing
        assert page.locator(".cell .two").count() == len(differing)
        assert f"{len(differing)} of {len(points)} states" in page.inner_text("#differing")
        assert page.locator(".rules").count() == 2
        page.hover(cell(min(differing)))
        assert [page.locator(f".rules[data-policy='{i}'] .decided").count() for i in (0, 1)] == [1, 1]
        page.click("#states summary")
        page.wait_for_selector("#table tbody tr")
        assert lit(page, "differs", "#table tr") == differing
        page.check("#filters input")
        assert page.locator("#table tbody tr").count() == len(differing)
        page.check("input[name=view][value='1']", force=True)
        assert page.locator(".differs.cell, .two").count() == 0
        page.hover(cell(2))
        decider = int(two.choose(points[2][None])[1][0])
        assert page.get_attribute(".rules .decided", "data-rule") == str(decider)


@needs_browser
@pytest.mark.browser
def test_a_task_without_a_grid_has_slices_and_a_table(tmp_path: Path) -> None:
    task = replace(table_named("Taxi-v4"), t_max=20)
    rules = some_rules("decision-list", task, 12)
    _, deciders = rules.choose(task.dynamics.points)
    text = explain_page(rules, task)
    with opened(written(tmp_path, text)) as page:
        assert page.locator("#table tbody tr").count() == len(task.decision_states)
        page.hover("#table tbody tr[data-place='7']")
        assert page.get_attribute(".rules .decided", "data-rule") == str(deciders[7])
        page.hover("[data-rule='11']")
        assert lit(page, "decided", "#table tr") == set(np.flatnonzero(deciders == 11).tolist())
        page.select_option("#filters select >> nth=2", "4")
        shown = page.eval_on_selector_all("#table tbody tr", "all => all.map(e => Number(e.dataset.place))")
        assert shown == np.flatnonzero(task.dynamics.states[:, 2] == 4).tolist()
        page.click("#table th button >> text=visits")
        page.click("#table th button >> text=visits")
        order = page.eval_on_selector_all("#table tbody tr", "all => all.map(e => Number(e.dataset.place))")
        visits = data_of(text)["policies"][0]["visits"]
        assert [visits[s] for s in order] == sorted((visits[s] for s in shown), reverse=True)
        page.fill("#fixed [data-feature='2']", "3")
        places = page.eval_on_selector_all(
            ".cell[data-place]", "all => all.map(e => Number(e.dataset.place))"
        )
        points = data_of(text)["task"]["points"]
        assert {points[place][2] for place in places} == {3}
        for _ in range(3):
            page.click("#forward")
        assert page.locator(".agent").count() == 1


@needs_browser
@pytest.mark.browser
def test_a_long_chain_of_states_is_one_row_and_a_table_in_pages(tmp_path: Path) -> None:
    task = many_states(1200)
    rules = DecisionList([[[0, 0]]], [0], task.features, task.action_names)
    with opened(written(tmp_path, explain_page(rules, task))) as page:
        assert page.locator(".cell").count() == 1200
        assert page.inner_text(cell(1)) == "∅"
        page.focus(cell(0))
        page.keyboard.press("ArrowRight")
        assert "No rule matches" in page.inner_text("#live")
        assert page.locator("#table tbody tr").count() == 500
        page.click("#next")
        page.click("#next")
        assert page.locator("#table tbody tr").count() == 200
        assert page.inner_text("#page") == "1200 states, page 3 of 3"
        assert page.locator("#next").is_disabled()


@needs_browser
@pytest.mark.browser
def test_findings_light_their_rules_and_witness(tmp_path: Path) -> None:
    rules = some_rules("strength", TASK, seed=2)
    verification = verify(rules, TASK, "complete,optimal")
    number, finding = next(
        (i, f) for i, f in enumerate(verification.findings) if f.rules and f.witness is not None
    )
    text = explain_page(rules, TASK, verification=verification, title="</script><b>bold</b>")
    with opened(written(tmp_path, text)) as page:
        assert page.inner_text("h1") == "</script><b>bold</b>"
        assert page.locator("h1 b").count() == 0
        page.click("#findings summary")
        assert inside(page, "#findings summary")  # unfolding is no choice: the page stays where it is
        page.focus(f"[data-finding='{number}']")
        assert finding.text in page.inner_text("#live")
        winners = page.eval_on_selector_all(".rules .decided", "all => all.map(e => Number(e.dataset.rule))")
        assert sorted(winners) == sorted(set(finding.rules))
        points = TASK.dynamics.states.tolist()
        assert lit(page, "here") == {points.index(list((finding.witness or {}).values()))}
        assert page.locator(".requirements li").count() == 2


@needs_browser
@pytest.mark.browser
def test_a_narrow_page_with_1500_rules_fits_and_answers_at_once(
    large: tuple[RuleSet, str], tmp_path: Path
) -> None:
    rules, text = large
    with opened(written(tmp_path, text), width=400) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        decide = len(np.unique(rules.choose(LARGE.dynamics.points)[1]))
        assert page.locator("[data-rule]").count() == decide
        page.click("text=only rules that decide")
        assert page.locator("[data-rule]").count() == 1500
        slowest = page.evaluate(
            """() => {
              const times = [...document.querySelectorAll(".cell[data-place]")].slice(0, 40).map(cell => {
                const begin = performance.now();
                cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
                document.body.getBoundingClientRect();
                return performance.now() - begin;
              });
              return times.sort((a, b) => a - b)[20];
            }"""
        )
        assert slowest < 100


def inside(page: Page, selector: str) -> bool:
    """Return whether an element is wholly in sight."""
    script = "e => { const b = e.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight; }"
    return bool(page.eval_on_selector(selector, script))


@needs_browser
@pytest.mark.browser
def test_what_is_clicked_or_entered_stays_until_it_is_let_go(tmp_path: Path) -> None:
    rules = some_rules("strength", TASK, seed=2)
    with opened(written(tmp_path, explain_page(rules, TASK))) as page:
        assert "Escape lets go" in page.inner_text("#why")
        page.hover(cell(0))
        first = page.inner_text("#why h2")
        page.click(cell(0))
        page.hover(cell(5))
        page.hover("[data-rule='3']")
        assert page.inner_text("#why h2") == first
        assert lit(page, "here") == {0}
        assert "Pinned" in page.inner_text("#live")
        page.keyboard.press("Escape")
        assert page.locator(".pinned").count() == 0
        page.hover(cell(5))
        assert page.inner_text("#why h2") != first
        page.focus(cell(0))
        page.keyboard.press("Enter")
        page.hover(cell(5))
        assert page.inner_text("#why h2") == first
        page.click("#why .pinned button")
        page.hover(cell(5))
        assert lit(page, "here") == {5}
        page.click(cell(5))
        page.click(cell(5))
        page.hover(cell(0))
        assert lit(page, "here") == {0}


@needs_browser
@pytest.mark.browser
def test_more_text_than_fits_is_announced_until_its_end_is_reached(tmp_path: Path) -> None:
    rules = some_rules("strength", TASK, 40)
    with opened(written(tmp_path, explain_page(rules, TASK))) as page:
        page.hover(cell(5))
        assert page.eval_on_selector("#why", "e => e.scrollHeight - e.clientHeight") > 8
        assert page.locator("#why.cut").count() == 1
        page.eval_on_selector("#why", "e => e.scrollTo(0, e.scrollHeight)")
        page.wait_for_selector("#why:not(.cut)")
        page.click(cell(5))
        page.eval_on_selector("#why", "e => e.scrollTo(0, 20)")
        page.hover(cell(2))
        assert page.eval_on_selector("#why", "e => e.scrollTop") == 20  # on the way to it nothing moves


@needs_browser
@pytest.mark.browser
def test_of_two_policies_the_grid_stays_in_sight_of_their_rules(tmp_path: Path) -> None:
    lake = frozen_lake(8, 0.1, enumerations=2, t_max=30)
    one, two = some_rules("decision-list", lake, 40), some_rules("strength", lake, 40, seed=5)
    with opened(written(tmp_path, explain_page(one, lake, two, names=("one", "two")))) as page:
        for width, height in ((1280, 720), (1000, 720), (1280, 900)):
            page.set_viewport_size({"width": width, "height": height})
            for i in (0, 1):
                page.eval_on_selector(f"[data-policy='{i}']", "e => e.scrollIntoView({ block: 'center' })")
                page.hover(f"[data-policy='{i}'] [data-rule='3']")
                assert inside(page, ".grid")
        page.hover(cell(3))
        order = page.eval_on_selector_all(
            "#why .sides > div",
            "all => all.map(e => [...e.children].map(part => part.className || part.tagName))",
        )
        assert all(parts.index("numbers") < parts.index("UL") for parts in order)
        assert len(order) == 2


@needs_browser
@pytest.mark.browser
def test_a_rule_tapped_far_from_the_grid_says_what_it_does_and_leads_there(tmp_path: Path) -> None:
    rules = some_rules("strength", LARGE, 30, seed=2)
    matching = int(rules.matches(LARGE.dynamics.points)[:, 29].sum())
    decided = int((rules.choose(LARGE.dynamics.points)[1] == 29).sum())
    with opened(written(tmp_path, explain_page(rules, LARGE)), width=420) as page:
        page.focus(cell(0))
        assert page.locator("#away").is_hidden()
        page.click("[data-rule='29']")
        page.wait_for_selector("#away:not([hidden])")
        said = f"Rule 30: It matches {matching} of {len(LARGE.decision_states)} states and decides {decided}:"
        assert said in page.inner_text("#away")
        page.click("#away button")
        page.wait_for_selector("#away", state="hidden")
        assert inside(page, ".grid")
        assert len(lit(page, "decided")) == decided
        sizes = page.eval_on_selector_all(
            ".number", "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 11


@needs_browser
@pytest.mark.browser
def test_the_difference_greys_what_it_cannot_show_and_each_view_keeps_its_layer(tmp_path: Path) -> None:
    one, two = some_rules("decision-list", TASK), some_rules("strength", TASK, seed=5)
    grey = ("input[name=layer][value=decider]", "#borders")

    def view(which: str) -> None:
        page.check(f"input[name=view][value='{which}']", force=True)

    def layer() -> str:
        return page.locator("input[name=layer]:checked").get_attribute("value") or ""

    with opened(written(tmp_path, explain_page(one, TASK, two, names=("one", "two")))) as page:
        for control in grey:
            assert page.locator(control).is_disabled()
            assert "one policy" in (page.get_attribute(control, "title") or "")
        view("0")
        assert layer() == "decider"
        assert not any(
            page.locator(control).is_disabled() or page.get_attribute(control, "title") for control in grey
        )
        page.check("input[name=layer][value=cost]", force=True)
        view("both")
        assert layer() == "plain"
        page.check("input[name=layer][value=value]", force=True)
        view("1")
        assert layer() == "cost"
        page.click("#states summary")
        page.wait_for_selector("#table tbody tr")
        assert page.locator("#sideways").is_hidden()
        view("both")
        assert layer() == "value"
        assert page.locator("#sideways").is_visible()
        groups = page.locator("#episode optgroup")
        assert groups.count() == len(TASK.initial_states)
        names = [text.split(":")[0] for text in groups.first.locator("option").all_inner_texts()]
        assert names == [f"training episode {k * len(TASK.initial_states) + 1}" for k in range(2)]


@needs_browser
@pytest.mark.browser
def test_a_cliff_is_drawn_and_explained_and_a_wide_table_says_that_it_scrolls(tmp_path: Path) -> None:
    task = table_named("CliffWalking-v1")
    rules = some_rules("decision-list", task)
    with opened(written(tmp_path, explain_page(rules, task)), width=420) as page:
        assert page.locator(".cell.never").count() == 10
        assert page.locator(".cell.G").count() == 1
        assert page.locator(".cell .start").is_visible()
        assert "a step onto it brings −100 and leads to x = 0, y = 3" in page.inner_text("#legend")
        assert "S start" in page.inner_text("#legend")
        page.click("#states summary")
        page.wait_for_selector("#sideways:not([hidden])")
        assert page.locator("#table.cut").count() == 1
        page.eval_on_selector("#table", "e => e.scrollTo(e.scrollWidth, 0)")
        page.wait_for_selector("#table:not(.cut)")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.wait_for_selector("#sideways", state="hidden")
