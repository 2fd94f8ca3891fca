"""An episode as an animated picture, with the rule that decides as a caption.

A table with a grid is shown on its board. Any other task is shown as its environment renders itself.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image, ImageDraw, ImageFont

from ifthen.errors import IfthenError, TaskError
from ifthen.explanation.pictures.grid_figures import policy_figure
from ifthen.explanation.pictures.policy_grid import places
from ifthen.explanation.trace import trace
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import tabular
from ifthen.store import atomic_file
from ifthen.tasks.disturbance import commanded, first_memory, sense
from ifthen.tasks.env_like import AnyEnv
from ifthen.tasks.task import Task
from ifthen.text_table import wrapped

MOST_FRAMES = 500
"""A film has at most this many frames. Of a longer episode, steps are left out evenly."""
WIDEST = 600
"""A frame is at most this wide, in pixels."""
NARROWEST = 360
"""A frame is at least this wide, in pixels."""
LETTERS = 13
"""The size of the caption's letters, in pixels."""
LINES = 3
"""The caption has room for this many lines."""
EDGE = 6
"""The margin around the caption, in pixels."""
USUAL_RATE = 20
"""Frames a second, where an environment does not say."""
BOARD_RATE = 3
"""Frames a second on a board."""
LAST_SECONDS = 2.0
"""The last frame stands this long."""
DPI = 150
INK, DOT = "#222222", "#CC79A7"


class Frame(NamedTuple):
    """A picture and what is said of it."""

    picture: Image.Image
    caption: str


class NoPictureError(TaskError):
    """A task that cannot be rendered here, for the reason given."""


def film(ruleset: RuleSet, task: Task, seed: int) -> tuple[list[Frame], float]:
    """Play an episode and return its frames, and how many of them a second are to be shown.

    Args:
        ruleset: the policy.
        task: the task.
        seed: of the episode; in an environment the reset seed.
    """
    if task.on_grid:
        return list(_on_board(ruleset, task, seed)), BOARD_RATE
    env = rendering(task, "rgb_array")
    try:
        rate = float(env.metadata.get("render_fps") or USUAL_RATE)
        frames: list[Frame] = []
        play(ruleset, task, env, seed, lambda caption: frames.append(Frame(_picture(env, task), caption)))
        return frames, rate
    finally:
        env.close()


def rendering(task: Task, mode: str) -> AnyEnv:
    """Return a fresh environment that renders itself in a mode, or raise saying why it does not."""
    env: AnyEnv
    try:
        env = task.make(render_mode=mode)
    except TaskError:
        env = task.make()  # raises if it cannot be made at all
        if mode not in (env.metadata.get("render_modes") or []):
            raise NoPictureError(f"{task.name} does not render itself.") from None
        raise
    if env.render_mode != mode and mode in (env.metadata.get("render_modes") or []):
        env.unwrapped.render_mode = mode  # of a class or function of the user's, which is not told the mode
    if env.render_mode != mode:
        raise NoPictureError(f"{task.name} does not render itself as {mode!r}.")
    return env


def play(ruleset: RuleSet, task: Task, env: AnyEnv, seed: int, show: Callable[[str], None]) -> None:
    """Play an episode in an environment; `show` is called before each step, and at the end, with words."""
    try:
        _play(ruleset, task, env, seed, show)
    except IfthenError:
        raise
    except Exception as problem:  # whatever somebody's environment raises
        raise NoPictureError(f"{task.name} cannot be watched: {str(problem) or repr(problem)}.") from problem


def _play(ruleset: RuleSet, task: Task, env: AnyEnv, seed: int, show: Callable[[str], None]) -> None:
    observation, _ = env.reset(seed=seed)
    total, discount = 0.0, 1.0
    memory = first_memory(task.disturbances, task.features, seed) if task.disturbances else None
    for step in range(task.t_max):
        point = task.features_of(observation)
        if memory is not None:
            point = np.array(task.points_of(observation), dtype=np.float64)
            sense(memory, point)
        (action,), (rule,) = (chosen.tolist() for chosen in ruleset.choose(point))
        if rule < 0:
            show(f"step {step + 1}: no rule matches; return {total:.4g}")
            return
        show(f"step {step + 1}, rule {rule + 1}: {ruleset.rule_in_words(rule)}")
        executed = action if memory is None else commanded(memory, action)
        observation, reward, terminated, truncated, _ = env.step(task.numbered(executed))
        total, discount = total + discount * float(reward), discount * task.gamma
        if terminated or truncated:
            show(f"{'ended' if terminated else 'truncated'} after {step + 1:,} steps: return {total:.4g}")
            return
    show(f"truncated after {task.t_max:,} steps: return {total:.4g}")


def _picture(env: AnyEnv, task: Task) -> Image.Image:
    """Return what an environment renders now."""
    try:
        pixels = np.asarray(env.render())
    except Exception as problem:  # a package that is missing, for example
        raise NoPictureError(f"{task.name} cannot render itself: {problem}.") from problem
    if pixels.ndim != 3 or pixels.shape[2] not in (3, 4):
        raise NoPictureError(f"{task.name} renders no picture of pixels.")
    return Image.fromarray(pixels[..., :3].astype(np.uint8))


def _on_board(ruleset: RuleSet, task: Task, seed: int) -> Iterator[Frame]:
    """Yield the board of a task, with a dot where the episode is."""
    table = tabular(task, "the board")
    figure = policy_figure(ruleset, table)
    figure.set_dpi(DPI)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    empty = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    to_pixels = figure.axes[0].transData.transform
    cell_side = abs(to_pixels((1, 0))[0] - to_pixels((0, 0))[0])

    def board_with_dot(state: int) -> Image.Image:
        (row,), (column,) = places(table, np.array([state]))
        x, y = to_pixels((column, row))
        picture = empty.copy()
        box = [
            x - 0.3 * cell_side,
            empty.height - y - 0.3 * cell_side,
            x + 0.3 * cell_side,
            empty.height - y + 0.3 * cell_side,
        ]
        ImageDraw.Draw(picture).ellipse(box, fill=DOT, outline="white", width=2)
        return picture

    episode = trace(ruleset, table, seed=seed)
    for step in episode.steps:
        number = "" if step.rule is None else f", rule {step.rule + 1}"
        slipped = f" ({episode.slip_word})" if step.slipped else ""
        yield Frame(board_with_dot(step.state or 0), f"step {step.step + 1}{number}: {step.words}{slipped}")
    same_features = np.flatnonzero((table.state_features == list(episode.last.values())).all(axis=1))
    last = episode.steps[-1].next_state if episode.steps else None
    yield Frame(board_with_dot(int(same_features[0]) if last is None else last), episode.ending_in_words)


def write_gif(path: Path, frames: list[Frame], rate: float) -> None:
    """Write frames with their captions as an animated GIF, whole or not at all."""
    stride = -(-len(frames) // MOST_FRAMES)
    chosen_frames = [*frames[:-1:stride], frames[-1]]
    pictures = [_captioned(frame) for frame in chosen_frames]
    frame_ms = max(20, round(1000 / rate))  # viewers slow down what is faster
    durations = [frame_ms] * (len(pictures) - 1) + [round(1000 * LAST_SECONDS)]
    gif = io.BytesIO()
    first, *more = pictures
    first.save(gif, "GIF", save_all=True, append_images=more, duration=durations, loop=0)
    with atomic_file(path) as file:
        file.write(gif.getvalue())


def _captioned(frame: Frame) -> Image.Image:
    """Return a frame of a handy width with its caption below."""
    picture = frame.picture
    width = min(max(picture.width, NARROWEST), WIDEST)
    picture = picture.resize((width, max(1, round(picture.height * width / picture.width))))
    font = ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"), LETTERS)
    lines = wrapped(frame.caption, lambda text: font.getlength(text) <= width - 2 * EDGE)
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], f"{lines[LINES - 1]} …"]
    canvas = Image.new("RGB", (width, picture.height + 2 * EDGE + LINES * (LETTERS + 4)), "white")
    canvas.paste(picture, (0, 0))
    pen = ImageDraw.Draw(canvas)
    for i, line in enumerate(lines):
        pen.text((EDGE, picture.height + EDGE + i * (LETTERS + 4)), line, font=font, fill=INK)
    return canvas
