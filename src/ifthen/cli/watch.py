"""The command `watch`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ifthen.cli.model import NamedPolicy, of_policy
from ifthen.cli.terminal import err, out
from ifthen.errors import ParameterError

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.tasks.task import Task


@of_policy
def watch(
    model: NamedPolicy,
    file: Annotated[
        Path | None,
        typer.Option("--out", help="Write an animated picture to this .gif file, in place of a window."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the episode; by default the first test seed.", show_default=False),
    ] = None,
) -> None:
    """Watch a policy play an episode: in a window, or as an animated picture with the rule that decides.

    A window needs a display and an environment that renders itself for people. An environment that draws no
    pictures is played step by step in words. For example:

    - `ifthen watch runs/first --out episode.gif`
    - `ifthen watch runs/cartpole --seed 7`
    """
    from ifthen.explanation.pictures.film import NoPictureError, film, write_gif
    from ifthen.explanation.trace import trace
    from ifthen.randomness import check_seed

    if file is not None and file.suffix.lower() != ".gif":
        raise ParameterError(f"--out writes an animated picture: give a name that ends in .gif, not {file}.")
    policy = model.read()
    task = policy.known_task()
    seed = task.first_test_seed if seed is None else check_seed(seed)
    if file is None and _in_window(policy.ruleset, task, seed):
        return
    try:
        with err.status("playing"):
            frames, rate = film(policy.ruleset, task, seed)
            model_path = model.path
            path = file or (
                model_path / "episode.gif" if model_path.is_dir() else model_path.with_suffix(".gif")
            )
            write_gif(path, frames, rate)
    except NoPictureError as problem:
        if file is not None:
            raise ParameterError(
                f"{problem} {file} was not written. Give the environment render_mode='rgb_array' (a keyword "
                "argument, in metadata['render_modes'] too) and a render() that returns a picture. Without "
                "--out the episode is told in words."
            ) from None
        err.print(f"{problem} The episode in words:", soft_wrap=True)
        out.print(trace(policy.ruleset, task, seed=seed).to_text(out.width))
        return
    out.print(frames[-1].caption)
    out.print(f"written to {path}")


def _in_window(ruleset: RuleSet, task: Task, seed: int) -> bool:
    """Play in a window and return True, where there is a display and the environment opens a window."""
    from ifthen.explanation.pictures.film import NoPictureError, play, rendering

    if sys.platform not in ("darwin", "win32") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return False
    captions: list[str] = []
    try:
        env = rendering(task, "human")
        try:
            play(ruleset, task, env, seed, captions.append)
        finally:
            env.close()
    except NoPictureError:
        return False
    out.print(captions[-1])
    return True
