"""`ifthen watch`: an episode in a window, as an animated picture, or in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from ifthen import parse_rules, task_by_name
from ifthen.explanation.trace import trace
from tests.cli.test_environments import refused
from tests.commands import Runner

MODULE = """
import gymnasium
import numpy as np
from tests.envs import Walk


class Drawn(Walk):
    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 25}
    shown = 0
    render_mode = None

    def step(self, action):
        Drawn.shown += self.render_mode == "human"
        return super().step(action)

    def render(self):
        return np.full((20, 40, 3), 99, dtype=np.uint8)


class Broken(Drawn):
    def render(self):
        raise ImportError("a package is missing")


def blind():
    return Walk()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current folder, with environments and rules for them, on a machine without a display."""
    (tmp_path / "drawings.py").write_text(MODULE)
    (tmp_path / "walk.txt").write_text("IF f0 <= 0 THEN action 2\nOTHERWISE action 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    sys.modules.pop("drawings", None)


def test_a_lake_is_watched_on_its_board(ifthen: Runner, here: Path) -> None:
    text = "task: FrozenLake-4-0.1\nIF x <= 2 THEN Right\nOTHERWISE Down\n"
    (here / "lake.txt").write_text(text)
    done = ifthen("watch", "lake.txt", "--seed", "3")
    assert done.code == 0, done.err
    assert "written to lake.gif" in done.out
    episode = trace(parse_rules(text), task_by_name("FrozenLake-4-0.1"), seed=3)
    assert episode.ending_in_words in done.out
    with Image.open(here / "lake.gif") as picture:
        assert getattr(picture, "n_frames", 1) == len(episode.steps) + 1


def test_an_environment_is_watched_as_it_renders_itself(ifthen: Runner, here: Path) -> None:
    done = ifthen("watch", "walk.txt", "--task", "drawings:Drawn", "--out", "walk.gif", "--seed", "5")
    assert done.code == 0, done.err
    assert "written to walk.gif" in done.out
    with Image.open(here / "walk.gif") as picture:
        assert picture.info["duration"] == 40
    assert sys.modules["drawings"].Drawn.shown == 0


def test_a_display_shows_a_window(ifthen: Runner, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    done = ifthen("watch", "walk.txt", "--task", "drawings:Drawn", "--seed", "5")
    assert done.code == 0, done.err
    assert sys.modules["drawings"].Drawn.shown > 0
    assert not list(here.glob("*.gif"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("blind", "does not render itself"),
        ("Broken", "cannot render itself: a package is missing."),
    ],
)
@pytest.mark.parametrize("display", ["", ":0"])
def test_what_cannot_be_drawn_is_told_in_words(
    ifthen: Runner, here: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str, display: str
) -> None:
    monkeypatch.setenv("DISPLAY", display)
    wanted = ifthen("watch", "walk.txt", "--task", f"drawings:{name}", "--out", "walk.gif")
    refused(wanted, told, "walk.gif was not written")
    monkeypatch.setenv("DISPLAY", "")
    done = ifthen("watch", "walk.txt", "--task", f"drawings:{name}")
    assert done.code == 0, done.err
    assert told in " ".join(done.err.split())
    assert "reset seed 2000000" in done.out
    assert not (here / "walk.gif").exists()


def test_a_picture_is_a_gif(ifthen: Runner, here: Path) -> None:
    refused(ifthen("watch", "walk.txt", "--out", "walk.mp4"), "ends in .gif")
    refused(ifthen("watch", "walk.txt", "--seed", "-1", "--task", "drawings:Drawn"), "seed")
