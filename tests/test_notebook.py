"""Results in notebooks: HTML in which every text is escaped, lines that people read, bars, pictures."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from types import ModuleType
from typing import Any

import pytest
from matplotlib.figure import Figure

import ifthen
from ifthen import frozen_lake, parse_rules
from ifthen.errors import ParameterError
from ifthen.notebook import MOST_ROWS, table_html
from ifthen.rules.feature import Feature
from ifthen.systems import progress
from ifthen.text_table import TextTable
from tests.systems.contract import every_system, make, meadow

NASTY = "<script>alert('&')</script>"
CART = "IF pole angle <= 0.017 AND pole velocity <= 0.4 THEN push left\nOTHERWISE push right\n"


class Tags(HTMLParser):
    """Collects tags, and raises where they are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def results() -> dict[str, Any]:
    """Return one of everything that people look at."""
    task = meadow()
    rules = make("PPL-DL", task=task).learn(epochs=5).ruleset
    cart = ifthen.env_task("CartPole-v1", episodes=3)
    two = parse_rules(CART, task=cart)
    return {
        "rules": rules,
        "reading": ifthen.read_rules(rules, task),
        "explanation": ifthen.explain(rules, [0, 0], task),
        "exact": ifthen.evaluate(rules, task, method="exact"),
        "played": ifthen.evaluate(two, cart),
        "trace": ifthen.trace(two, cart, seed=3),
        "verification": ifthen.verify(two, cart, "complete"),
        "pruned": ifthen.prune(rules, task),
        "front": ifthen.front(rules, task),
        "diff": ifthen.diff(rules, rules, task),
        "task": cart,
        "states": task,
        "shortest": ifthen.shortest_decision_list(task, "quick"),
    }


def test_everything_that_people_look_at_is_html_in_notebooks_and_no_dump_at_a_prompt() -> None:
    for name, result in results().items():
        tags = Tags(result._repr_html_()).seen
        assert "table" in tags or "pre" in tags or "p" in tags, name
        assert "(" not in repr(result).split(" ")[0], repr(result)
        assert "array(" not in repr(result), name
        if name != "rules":
            assert repr(result) == str(result)


def test_an_explanation_is_sentences_and_a_table_of_the_rules_that_match() -> None:
    rules = parse_rules("IF x <= 3 THEN Down\nIF y <= 3 THEN Right\nOTHERWISE Up", task=ifthen.frozen_lake(8))
    html = ifthen.explain(rules, [1, 2])._repr_html_()
    seen = Tags(html).seen
    assert "table" in seen
    assert "pre" not in seen
    assert seen.count("tr") == 4  # the head, the rule that decides, and two that lose
    assert "What would change it" in html
    nothing = parse_rules("IF x <= 3 THEN Down", task=ifthen.frozen_lake(8))
    assert "table" not in Tags(ifthen.explain(nothing, [7, 2])._repr_html_()).seen


def test_a_task_shows_what_rules_see_and_can_do() -> None:
    html = ifthen.env_task("CartPole-v1")._repr_html_()
    assert "table" in Tags(html).seen
    for part in ("CartPole-v1", "pole angle", "rad", "push left", "500 steps"):
        assert part in html


@every_system
def test_a_system_shows_its_rules_once_it_has_learnt(name: str) -> None:
    system = make(name)
    assert Tags(system._repr_html_()).seen == ["p"]
    system.learn(epochs=2)
    assert "table" in Tags(system._repr_html_()).seen


def test_an_evaluation_is_one_line() -> None:
    found = results()
    assert repr(found["exact"]).startswith("performance ")
    assert repr(found["exact"]).endswith("exact")
    line = repr(found["played"])
    assert "\n" not in line
    assert "episodes 100, " in line
    assert "standard deviation" in line


def test_names_are_escaped() -> None:
    features = (Feature(NASTY, 0, 3), Feature("y", 0, 3))
    rules = ifthen.DecisionList([[[0, 1], [0, 3]]], [0], features, (NASTY, "b"))
    for shown in (rules, ifthen.read_rules(rules), ifthen.explain(rules, [0, 0]), ifthen.verify(rules)):
        text = shown._repr_html_()
        assert "<script" not in text
        assert "&lt;script&gt;" in text
        Tags(text)
    assert "<script" not in table_html(TextTable(NASTY, (NASTY,), ((NASTY,),), (NASTY,)))


def test_long_tables_are_cut() -> None:
    text = table_html(TextTable("", ("n",), tuple((str(n),) for n in range(MOST_ROWS + 5))))
    assert Tags(text).seen.count("td") == MOST_ROWS
    assert "5 more" in text


def test_a_notebook_gets_a_bar_without_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, text: str) -> None:
            shown.append(text)

    def display(text: str, display_id: bool) -> Handle:
        assert display_id
        shown.append(text)
        return Handle()

    fake: Any = ModuleType("IPython.display")
    fake.HTML, fake.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    make("PPL-DL").learn(epochs=3, progress_bar=True)
    assert 'value="3" max="3"' in shown[-1]
    assert "performance" in shown[-1]
    make("PPL-DL").learn(epochs=1)


def test_pictures_are_figures() -> None:
    system = make("PPL-DL").learn(epochs=2)
    for what in (None, "learning", "policy", "usage", "visits"):
        assert isinstance(ifthen.plot(system, what), Figure)
    assert isinstance(ifthen.plot(system.ruleset, task=system.task), Figure)
    assert isinstance(ifthen.plot(ifthen.front(system)), Figure)
    assert isinstance(ifthen.plot(parse_rules(CART, task=ifthen.env_task("CartPole-v1"))), Figure)
    assert isinstance(ifthen.plot(make("PPL-DL", task=frozen_lake(4)).learn(epochs=1), "policy"), Figure)
    with pytest.raises(ParameterError, match=r"no picture 'polcy'.*Did you mean 'policy'"):
        ifthen.plot(system, "polcy")
    with pytest.raises(ParameterError, match="not list"):
        ifthen.plot([1, 2])
