"""Writing every picture of a policy that can be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from matplotlib.figure import Figure

from ifthen.errors import ParameterError
from ifthen.explain.pictures.deciders import who_decides_figure
from ifthen.explain.pictures.grid import has_grid
from ifthen.explain.pictures.heat import advantage_figure, density_figure, value_figure, visitation_figure
from ifthen.explain.pictures.policy import policy_figure
from ifthen.explain.pictures.slices import slice_figure
from ifthen.explain.pictures.usage import usage_figure
from ifthen.figure_style import Form, write_as
from ifthen.rollout.evaluate import policy_table
from ifthen.rollout.score import checked_ruleset
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

OF_GRIDS = {
    "policy": policy_figure,
    "who-decides": who_decides_figure,
    "density": density_figure,
    "values": value_figure,
    "advantages": advantage_figure,
    "visits": visitation_figure,
}


def write_pictures(
    folder: Path,
    ruleset: RuleSet,
    task: TabularTask | EnvTask | None = None,
    formats: Sequence[Form] = ("png", "pdf", "svg"),
) -> list[Path]:
    """Write all pictures that apply; the same policy gives the same bytes.

    Tasks with features x and y get `policy`, `who-decides`, `density`, `values`, `advantages`, `visits` and
    `usage`; other tables get `usage` and `slices`; environments get `policy`, `slices` where they have three
    features or more, `usage` and `episode`; without a task, `slices` are all there is.

    Args:
        folder: where to; it is made if need be.
        ruleset: the policy.
        task: its task, if there is one.
        formats: of the files.

    Returns:
        The paths of the files, picture by picture.
    """
    for form in formats:
        if form not in get_args(Form):
            raise ParameterError(f"pictures are written as {', '.join(get_args(Form))}, not {form!r}.")
    if isinstance(task, EnvTask):
        checked_ruleset(ruleset, task)  # raises where they do not belong together
    elif task is not None:
        policy_table(ruleset, task)  # likewise
    written = []
    for name, figure in pictures(ruleset, task):
        written += [write_as(Path(folder) / name, figure, form) for form in formats]
    return written


def pictures(ruleset: RuleSet, task: TabularTask | EnvTask | None = None) -> Iterator[tuple[str, Figure]]:
    """Yield the pictures that can be drawn, each with its name; see `write_pictures`."""
    if isinstance(task, EnvTask):
        yield from of_environment(ruleset, task)
        return
    if task is not None and has_grid(task):
        yield from ((name, draw(ruleset, task)) for name, draw in OF_GRIDS.items())
    if task is not None:
        yield "usage", usage_figure(ruleset, task)
    if task is None or not has_grid(task):
        yield "slices", slice_figure(ruleset, task)


def of_environment(ruleset: RuleSet, task: EnvTask) -> Iterator[tuple[str, Figure]]:
    """Yield the pictures of a policy in an environment, each with its name."""
    from ifthen.explain.pictures.env_episode import episode_figure
    from ifthen.explain.pictures.env_slices import env_policy_figure, env_slices_figure

    yield "policy", env_policy_figure(ruleset, task)
    if len(task.features) > 2:
        yield "slices", env_slices_figure(ruleset, task)
    yield "usage", usage_figure(ruleset, task)
    yield "episode", episode_figure(ruleset, task)
