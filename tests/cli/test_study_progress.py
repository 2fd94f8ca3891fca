from __future__ import annotations

from pathlib import Path

import pytest
from rich.progress import Task

from ifthen.cli.study import _Progress
from ifthen.study.study_folder import claim
from ifthen.study.study_plan import Trial
from ifthen.study.trial import Ended, TrialFiles
from tests.study.studies import small_plan


@pytest.fixture
def progress(tmp_path: Path) -> _Progress:
    """Return the progress of a study of twelve trials, two of which were finished before."""
    plan = small_plan()
    claim(tmp_path / "study", plan)
    return _Progress(tmp_path / "study", plan, plan.trials_to_run()[2:])


def bars(progress: _Progress) -> dict[str, Task]:
    return {bar.description: bar for bar in progress.bars.tasks}


def test_the_trials_of_every_system_on_every_task_are_counted(progress: _Progress) -> None:
    for seed in (1, 2):
        progress.on_end(Trial("PPL-DL", "calm", seed), Ended("finished", ""))
    progress.on_end(Trial("XCSF", "slippery", 0), Ended("failed", "it did not work"))
    progress.on_end(Trial("XCSF", "slippery", 1), Ended("stopped", "at epoch 3"))
    done = {name: (bar.completed, bar.total) for name, bar in bars(progress).items()}
    assert done["all trials"] == (4, 12)
    assert done["PPL-DL on calm"] == (3, 3)
    assert done["XCSF on calm"] == (1, 3)
    assert done["XCSF on slippery"] == (0, 3)


def test_running_trials_are_shown_with_their_epoch(progress: _Progress) -> None:
    begun, waiting = Trial("XCSF", "calm", 1), Trial("XCSF", "calm", 2)
    TrialFiles(progress.folder, begun).begin()
    for written, note in (("", "seed 1"), ("4", "seed 1: epoch 4"), ("half wri", "seed 1")):
        TrialFiles(progress.folder, begun).progress.write_text(written)
        progress.watch([begun, waiting])
        assert bars(progress)["XCSF on calm"].fields["note"] == note
    progress.watch([])
    assert bars(progress)["XCSF on calm"].fields["note"] == ""
