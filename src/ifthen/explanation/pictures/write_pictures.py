"""Writing every picture of a policy that its task offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from matplotlib.figure import Figure

from ifthen.errors import ParameterError
from ifthen.explanation.pictures.charts import episode_figure, usage_figure, visits_figure
from ifthen.explanation.pictures.grid_figures import HEATS, heat_figure, policy_figure, who_decides_figure
from ifthen.explanation.pictures.slices import slice_figure
from ifthen.figure_style import Form, write_as
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import check_fits, tabular
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.task import Task


def write_pictures(
    folder: Path,
    ruleset: RuleSet,
    task: Task | None = None,
    formats: Sequence[Form] = ("png", "pdf", "svg"),
) -> list[Path]:
    """Write all pictures that apply; the same policy gives the same bytes.

    Tasks with features x and y get `policy`, `who-decides`, `density`, `values`, `advantages`, `visits` and
    `usage`; other tables get `usage` and `slices`; environments get `policy`, `slices` where they have three
    features or more, `usage` and `episode`; without a task there are only `slices`.

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
    check_fits(ruleset, task)
    written = []
    for name, draw in drawings(ruleset, task).items():
        figure = draw()
        written += [write_as(Path(folder) / name, figure, form) for form in formats]
    return written


def drawings(ruleset: RuleSet, task: Task | None = None) -> dict[str, Callable[[], Figure]]:
    """Return what draws each picture, by its name; see `write_pictures`."""
    check_fits(ruleset, task)
    by_name: dict[str, Callable[[], Figure]] = {}
    slices = partial(slice_figure, ruleset, task)
    if task is None:
        return {"slices": slices}
    if isinstance(task, EnvTask):
        by_name["policy"] = partial(slice_figure, ruleset, task, features=2)
        if len(ruleset.observed_features) > 2:
            by_name["slices"] = slices
        by_name["usage"] = partial(visits_figure, ruleset, task)
        by_name["episode"] = partial(episode_figure, ruleset, task)
        return by_name
    table = tabular(task, "a picture of states")
    usage_picture: dict[str, Callable[[], Figure]] = {"usage": partial(usage_figure, ruleset, table)}
    if not table.on_grid:
        return usage_picture | {"slices": slices}
    by_name["policy"] = partial(policy_figure, ruleset, table)
    by_name["who-decides"] = partial(who_decides_figure, ruleset, table)
    by_name |= {kind: partial(heat_figure, kind, ruleset, table) for kind in HEATS}
    return by_name | usage_picture


def policy_picture(ruleset: RuleSet, task: Task) -> Figure | None:
    """Return the picture called `policy`; None where a task does not offer it."""
    draw = drawings(ruleset, task).get("policy")
    return None if draw is None else draw()
