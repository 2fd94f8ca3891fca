"""Requirements that no shield keeps are met by choosing, on other seeds than those of the test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ifthen import env_task, parse_rules
from ifthen.runs.choice import choose_list
from ifthen.systems.front import Front, Point

POLE = env_task("CartPole-v1", episodes=5, t_max=60)
LISTS = (
    "OTHERWISE push left",
    "IF pole angle <= 0 THEN push left\nOTHERWISE push right",
    "IF pole angle + 0.2*pole velocity <= 0 THEN push left\nIF cart position >= 2 THEN push left\n"
    "OTHERWISE push right",
)


def learnt(**limits: int) -> Any:
    """Return something with a front whose best list switches most often, and which would choose that."""
    points = [Point(parse_rules(rules, task=POLE), float(score)) for score, rules in enumerate(LISTS)]
    front = Front.of(points, "scores")
    sizes = SimpleNamespace(**{"rules": None, "tests": None, **limits})
    return SimpleNamespace(
        front=front,
        chosen=lambda found: found.best,
        ruleset=front.best.ruleset,
        task=POLE,
        parameters=sizes,
    )


@pytest.mark.parametrize(
    ("require", "limits", "rules"),
    [
        (["never push left when pole angle >= 0.1"], {}, None),  # a shield keeps it
        (["return >= 40 at 95 %"], {}, None),  # the list that would be handed out meets it
        (["rules<=2", "complete"], {}, 2),
        (["switches at most 0 per 100 steps"], {}, 1),
        (["return >= 20"], {"rules": 1}, None),  # the best meets it, so that nothing else is looked for
        (["rules<=2"], {"rules": 1}, 1),
        (["return >= 61"], {}, None),  # none meets it
    ],
)
def test_the_best_list_that_meets_what_is_required_is_taken(
    require: list[str], limits: dict[str, int], rules: int | None
) -> None:
    found = choose_list(learnt(**limits), require)
    assert (None if found is None else found.rules) == rules


def test_choosing_does_not_look_at_test_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the test seeds are for the end")

    monkeypatch.setattr(type(POLE), "test_seeds", refuse)
    found = choose_list(learnt(), ["switches at most 0 per 100 steps", "return >= 5", "performance>=5"])
    assert found is not None
