from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from ifthen.cli.screen import StudyScreen
from ifthen.study.plan import Trial
from ifthen.study.run import claim
from ifthen.study.trial import Ended, TrialFiles
from tests.study.studies import small_plan

CELLS = [("PPL-DL", "calm"), ("XCSF", "calm"), ("PPL-DL", "slippery"), ("XCSF", "slippery")]


def picture(screen: StudyScreen) -> str:
    """Return what a terminal would show."""
    console = Console(width=90, file=io.StringIO(), force_terminal=False)
    with console.capture() as capture:
        console.print(screen.render())
    return capture.get()


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyScreen:
    """Return the screen of a study of twelve trials, two of which were finished before, a minute ago."""
    plan = small_plan()
    claim(tmp_path / "study", plan)
    console = Console(width=90, file=io.StringIO(), force_terminal=False)
    monkeypatch.setattr("ifthen.cli.screen.time.monotonic", lambda: 1000.0)
    screen = StudyScreen(console, tmp_path / "study", plan, plan.trials_to_run()[2:])
    monkeypatch.setattr("ifthen.cli.screen.time.monotonic", lambda: 1060.0)
    return screen


def test_the_screen_counts_the_trials_of_every_system_on_every_task(screen: StudyScreen) -> None:
    for seed in (1, 2):
        screen.told(Trial("PPL-DL", "calm", seed), Ended("finished", ""))
    screen.told(Trial("XCSF", "slippery", 0), Ended("failed", "it did not work"))
    screen.told(Trial("XCSF", "slippery", 1), Ended("stopped", "at epoch 3"))
    rows = [line.replace("│", " ").split() for line in picture(screen).splitlines()]
    assert ["calm", "3/3", "1/3"] in rows
    assert ["slippery", "0/3", "0/3,", "1", "failed"] in rows


def test_the_time_that_is_left_is_told_from_what_was_done_in_this_run(screen: StudyScreen) -> None:
    assert "2/12 trials, 1:00" in picture(screen)
    for number, (system, task) in enumerate(CELLS):
        assert "left" not in picture(screen)  # some kinds of trials have not been seen yet
        screen.told(Trial(system, task, 1), Ended("finished", "", seconds=10.0 + number))
    # Of the calm lake's two systems a third trial is left, of the slippery one's a second and a third.
    assert "6/12 trials, 1:00, about 1:11 left" in picture(screen)
    for trial in (Trial("XCSF", "calm", 2), Trial("XCSF", "slippery", 2)):
        TrialFiles(screen.folder, trial).begin()
    screen.watch([Trial("XCSF", "calm", 2), Trial("XCSF", "slippery", 2)])
    assert "about 0:36 left" in picture(screen)  # two at a time


def test_running_trials_are_shown_with_their_epoch(screen: StudyScreen) -> None:
    begun, waiting = Trial("XCSF", "calm", 1), Trial("XCSF", "calm", 2)
    TrialFiles(screen.folder, begun).begin()
    screen.watch([begun, waiting])
    assert "XCSF on calm, seed 1" in picture(screen)
    assert "seed 2" not in picture(screen)
    TrialFiles(screen.folder, begun).progress.write_text("4")
    assert "XCSF on calm, seed 1: epoch 4" in picture(screen)
    TrialFiles(screen.folder, begun).progress.write_text("half wri")
    assert "epoch" not in picture(screen)


def test_hours_are_shown_where_there_are_any(screen: StudyScreen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ifthen.cli.screen.time.monotonic", lambda: 1000.0 + 3725)
    assert "2/12 trials, 1:02:05" in picture(screen)
