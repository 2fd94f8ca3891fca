"""The gallery says of its policies what they get when they are played again."""

from __future__ import annotations

from pathlib import Path

import pytest

from ifthen import env_task, evaluate, read_ruleset
from ifthen.digits import in_units

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "rules", "least"),
    [
        ("CartPole-v1", 10, 500.0),
        ("MountainCar-v0", 10, -110.0),
        ("Acrobot-v1", 12, -90.0),
        ("LunarLander-v3", 10, 250.0),
    ],
)
def test_the_gallery_says_what_its_policies_get(name: str, rules: int, least: float) -> None:
    if name == "LunarLander-v3":
        pytest.importorskip("Box2D")
    task, (ruleset, written) = env_task(name), read_ruleset(ROOT / "results" / "gallery" / f"{name}.json")
    score = evaluate(ruleset, task, seeds=task.test_seeds(100))
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert written == name
    said = f"{len(ruleset)} rules. Mean return {in_units(score.performance)} over 100 test seeds"
    assert f"pruned.** {said}" in page
    assert len(ruleset) <= rules
    assert score.performance >= least
    for r in range(len(ruleset) - 1):
        assert f"{r + 1}. {ruleset.rule_in_words(r)}\n" in page
