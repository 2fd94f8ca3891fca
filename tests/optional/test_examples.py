"""The examples run as they stand, where their packages are installed. `make test-optional` runs these."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LAKE = ("--env", "ifthen/FrozenLake-v0")
NEEDS = {
    "record_video.py": ("pygame", "moviepy"),
    "sb3_evaluate.py": ("stable_baselines3",),
    "tensorboard.py": ("tensorboardX",),
}


def run(name: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an example in an empty folder, without a display."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "SDL_VIDEODRIVER": "dummy"},
    )


def test_every_example_is_tested() -> None:
    needs_nothing = {"heating.py", "heating_log.py"}  # tests/test_docs.py plays them
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(NEEDS) | needs_nothing


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_says_what_it_is_and_what_it_needs(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert text.startswith('"""')
    assert "pip install" in text


def test_a_video_of_an_episode_is_recorded(tmp_path: Path) -> None:
    for package in NEEDS["record_video.py"]:
        pytest.importorskip(package, reason="needs pip install '.[video]'", exc_type=ImportError)
    done = run("record_video.py", tmp_path, "--epochs", "2", "--episodes", "1", *LAKE)
    assert done.returncode == 0, done.stderr
    (video,) = tmp_path.glob("videos/*.mp4")
    assert video.stat().st_size > 1000


def test_stable_baselines_measures_a_system(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="needs stable-baselines3", exc_type=ImportError)
    done = run("sb3_evaluate.py", tmp_path, "--epochs", "20", *LAKE)
    assert done.returncode == 0, done.stderr
    assert "mean reward" in done.stdout


def test_curves_are_written_for_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="needs pip install '.[track]'")
    done = run("tensorboard.py", tmp_path, "--epochs", "4", *LAKE)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("curves/**/events.out.tfevents.*"))
    assert (tmp_path / "best.zip").exists()
