"""What a parameter does: final performance against its values, in studies that vary one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ifthen.figure_style import Look, look
from ifthen.rules.arrays import Floats
from ifthen.study.figures.panels import TaskPanels, draw_optima, optima, say_how_many
from ifthen.study.study_plan import StudyPlan, SystemPlan
from ifthen.study.study_results import MEASURES, Measure, Results
from ifthen.study.verdicts import measures, samples_of

GOLDEN = 0.6180339887498949
SPREAD = 0.5
"""All series around a value together take up this share of the smallest distance between two values."""


class Series(NamedTuple):
    """Systems that differ in the varied parameter only, and what is shown of them."""

    label: str
    measure: Measure
    values: dict[str, float]
    """The parameter's value of each system, by its name in the study, from small to large."""


def influence_figure(results: Results) -> Figure | None:
    """Draw final performance against the varied parameter: trials as dots, mean ± sd on top.

    None where the plan varies nothing.
    """
    plan = results.plan
    if plan.varies is None:
        return None
    grid = TaskPanels(results)
    series = varied(plan, measures(results))
    drawn: dict[str, Any] = {}
    for task, axes in grid.panels.items():
        drawn |= _draw_panel(axes, results, task, series)
    begun = set(results.finals["task"])
    bounds = [bound for task in grid.relative & begun for bound in grid.panels[task].get_ylim()]
    limits = min(bounds, default=0.0), max(bounds, default=1.0)
    return grid.finish(limits, plan.varies, drawn, "trials, and mean ± sd")


def varied(plan: StudyPlan, words: dict[Measure, str]) -> list[Series]:
    """Return what is shown of a plan that varies a parameter, both measures of each family of systems."""
    families: dict[str, list[SystemPlan]] = {}
    for system in plan.systems:
        families.setdefault(_identity_without(system, plan.varies), []).append(system)
    names = _family_names([members[0] for members in families.values()], plan.varies)
    series = []
    for name, members in zip(names, families.values(), strict=True):
        values = {system.name: float(system.parameters[plan.varies or ""]) for system in members}
        ordered = dict(sorted(values.items(), key=lambda item: item[1]))
        for measure in MEASURES.values():
            label = words[measure]
            series.append(Series(f"{name}, {label}" if name else label, measure, ordered))
    return series


def _family_names(first_members: list[SystemPlan], parameter: str | None) -> list[str]:
    """Return names for families, given the first of each: empty for an only one, else what tells it apart."""
    base_names = [first_member.system or first_member.name for first_member in first_members]
    names = []
    for first_member, base_name in zip(first_members, base_names, strict=True):
        alike = [
            other.parameters
            for other, other_name in zip(first_members, base_names, strict=True)
            if other_name == base_name
        ]
        differ = [
            f"{name} = {value}"
            for name, value in first_member.parameters.items()
            if name != parameter and any(other.get(name) != value for other in alike)
        ]
        names.append(f"{base_name} ({', '.join(differ)})" if differ else base_name)
    return names if len(first_members) > 1 else [""]


def _identity_without(system: SystemPlan, parameter: str | None) -> str:
    """Return what a system is, but for one parameter, as a text to compare."""
    remaining = {name: value for name, value in system.parameters.items() if name != parameter}
    return json.dumps([system.system or system.name, remaining], sort_keys=True, default=str)


def _draw_panel(axes: Axes, results: Results, task: str, series: Sequence[Series]) -> dict[str, Any]:
    """Draw one task's panel; return what stands for each series in the legend."""
    parameter_values = sorted({value for entry in series for value in entry.values.values()})
    log = parameter_values[0] > 0 and parameter_values[-1] / parameter_values[0] > 10
    x_positions = np.log10(parameter_values) if log else np.array(parameter_values)
    gap = float(np.diff(x_positions).min()) if len(x_positions) > 1 else 1.0
    samples = {
        measure: {
            name: results.counted(task, sample) for name, sample in samples_of(results, task, measure).items()
        }
        for measure in MEASURES.values()
    }
    axes.set_xscale("log" if log else "linear")
    handles: dict[str, Any] = {}
    for position, entry in enumerate(series):
        width = SPREAD * gap / len(series)
        shift = (position - (len(series) - 1) / 2) * width
        handles[entry.label] = _draw_series(
            axes, samples[entry.measure], entry, look(position), log, shift, width
        )
    heights = {height for measure in MEASURES.values() for height in optima(results, task, measure)}
    handles["optimal policy"] = draw_optima(axes, sorted(heights))
    ends = np.array([x_positions[0] - 0.6 * gap, x_positions[-1] + 0.6 * gap])
    axes.set_xlim(*(10**ends if log else ends))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(parameter_values, [f"{value:g}" for value in parameter_values])
    finished = [len(results.trials(system.name, task)) for system in results.plan.systems]
    no_rule = max(sum(finished) - sum(map(len, by_system.values())) for by_system in samples.values())
    say_how_many(axes, finished, results.plan.trials, no_rule)
    return {label: handle for label, handle in handles.items() if handle is not None}


def _draw_series(
    axes: Axes,
    samples: dict[str, list[float]],
    series: Series,
    style: Look,
    log: bool,
    shift: float,
    width: float,
) -> Any:
    """Draw the trials of a series and their mean ± sd, moved by `shift`; return the line of means."""
    means: list[tuple[float, float, float]] = []
    for system, value in series.values.items():
        sample = np.array(samples[system])
        if not len(sample):
            continue
        centre = (np.log10(value) if log else value) + shift
        jittered = centre + width * 0.7 * _jitter(len(sample))
        axes.plot(
            10**jittered if log else jittered,
            sample,
            linestyle="none",
            marker=style.marker,
            color=style.colour,
            markersize=2.2,
            markeredgewidth=0,
            alpha=0.3,
        )
        sd = float(sample.std(ddof=1)) if len(sample) > 1 else math.nan  # no bar
        means.append((10**centre if log else centre, float(sample.mean()), sd))
    if not means:
        return None
    x, y, bars = zip(*means, strict=True)
    return axes.errorbar(
        x, y, bars, color=style.colour, linestyle=style.line, marker=style.marker, markersize=4, linewidth=1,
        elinewidth=1, capsize=2, markeredgecolor="white", markeredgewidth=0.5, zorder=3,
    )  # fmt: skip


def _jitter(number: int) -> Floats:
    """Return places between −½ and ½ that spread evenly for any number of them, and are always the same."""
    return np.arange(1, number + 1, dtype=np.float64) * GOLDEN % 1 - 0.5
