"""The report of a finished run: rules, pictures, learning curve and page, beside its model and history."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ifthen.explanation.pictures.write_pictures import policy_picture
from ifthen.exports.data import to_json, to_text
from ifthen.figure_style import BLUE, GREEN, GREY, ORANGE, write_png
from ifthen.pages.explain_page import explain_page, part_of
from ifthen.pages.report_page import report_page
from ifthen.runs import run_folder as files
from ifthen.runs.measured_front import EPISODES
from ifthen.runs.measured_front import front as measured_front
from ifthen.runs.run_folder import RunFolder
from ifthen.runs.settings import RunSettings, toml_value
from ifthen.runs.task_settings import FrozenLakeSettings, assignments_of
from ifthen.simplify.prune import PruneResult
from ifthen.simulate.evaluate import evaluations, is_cheap
from ifthen.simulate.simulator import Evaluation
from ifthen.store import write_text
from ifthen.systems.front import Front
from ifthen.systems.system import System
from ifthen.text_table import TextTable, csv_of

OPTIMAL = "optimal policy"
SHARE = 0.1
"""Where steps are expensive, measuring a front for a report takes at most this share of those of training."""
FEWEST = 20
"""And at least this many episodes of each list."""
LABELS = {"exact_performance": "ruleset, exact", "unseen_performance": "ruleset on validation seeds"}


def learning_curve(system: System, measurements: Mapping[str, Evaluation]) -> Figure:
    """Draw performance against epochs, as a fraction of the optimum where there is such a fraction.

    Args:
        system: a trained system.
        measurements: how well it does.
    """
    task, records = system.task, system.now.records
    (_, held_out), (trained_on, trained) = measurements.items()
    fractions = trained.fraction is not None and held_out.fraction is not None
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    fitness = held_out if system.watched_column == "exact_performance" else trained
    for column, evaluation, label, colour, style in (
        ("mean_fitness", fitness, "mean fitness of the population", GREY, "-"),
        ("performance", trained, f"ruleset {trained_on}", BLUE, "-"),
        (task.held_out_column, held_out, LABELS[task.held_out_column], ORANGE, "--"),
    ):
        if column in records[0]:
            unit = evaluation.optimum or 1.0 if fractions else 1.0
            values = (record[column] for record in records)  # a gap where a state with no rule was reached
            heights = [value / unit if fractions or value > task.floor else math.nan for value in values]
            epochs, marker = [record["epoch"] for record in records], "o" if len(records) == 1 else None
            axes.plot(epochs, heights, style, color=colour, label=label, linewidth=1.8, marker=marker)
    if held_out.optimum is not None:
        axes.axhline(1.0 if fractions else held_out.optimum, color=GREEN, linewidth=1, label=OPTIMAL)
    if not fractions:
        performances = [record[name] for record in records for name in ("performance", task.held_out_column)]
        axes.set_ylim(
            *_limits(performances, task.floor, [] if held_out.optimum is None else [held_out.optimum])
        )
    returns = "mean return" if task.gamma == 1 else f"mean discounted return, γ = {task.gamma:g}"
    axes.set_ylabel("performance / optimum" if fractions else returns)
    axes.set_xlabel("epoch")
    axes.set_title(f"{system.name} on {task.name}, seed {system.seed}", loc="left", parse_math=False)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _limits(performances: list[float], floor: float, references: list[float]) -> tuple[float, float]:
    """Return limits that hold all but the floor.

    A population's mean can be hundreds of times worse than its best, which is what matters, and so is the
    floor, the performance of rulesets that have no rule for some state.
    """
    above_floor = [value for value in performances if value > floor] or [0.0]
    lowest, span = min(above_floor), max([*above_floor, *references]) - min(above_floor)
    span = max(span, 1.0 if references else 0.1 * abs(lowest) or 1.0)
    return (
        (lowest - span / 2, lowest + 1.2 * span) if references else (lowest - span / 4, lowest + 1.1 * span)
    )


def write_finished(
    folder: RunFolder, system: System, command: str, option: str = "", taught: Sequence[TextTable] = ()
) -> dict[str, Evaluation]:
    """Write all files of a run that is finished and was not pruned; return how well its policy does."""
    write_text(folder / files.HISTORY, csv_of(system.history))
    system.save(folder / files.MODEL)
    return write_report(folder, command, system, None, option, taught)


def write_report(
    folder: RunFolder,
    command: str,
    system: System,
    pruned: PruneResult | None,
    option: str = "",
    taught: Sequence[TextTable] = (),
) -> dict[str, Evaluation]:
    """Write the rules, the pictures and the pages of a finished run; return how well its policy does.

    The policy is that of the pruned rules, where there are any.

    Args:
        folder: where to.
        command: the command that repeats the run.
        system: what has learnt.
        pruned: the pruned rules.
        option: " --task …" where commands need it to play the task again.
        taught: tables that compare the rules with their teacher, where they had one.
    """
    learnt, task = system.ruleset, system.task
    policy = learnt if pruned is None else pruned.ruleset
    ruleset_files = [(learnt, files.RULES, files.RULESET)]
    if pruned is not None:
        ruleset_files.append((policy, files.PRUNED, files.PRUNED_RULESET))
    for name in (files.PRUNED, files.PRUNED_RULESET, files.EXPLAINED):
        (folder / name).unlink(missing_ok=True)  # those of an earlier report
    for rules, text_file, data_file in ruleset_files:
        write_text(folder / text_file, to_text(rules, task))
        write_text(folder / data_file, to_json(rules, task))
    learnt_measurements = evaluations(learnt, task, system.parameters.noise, system.threads)
    curve = learning_curve(system, learnt_measurements)
    write_png(folder / files.CURVE, curve)
    title = f"{system.name} on {task.name}"
    if (picture := policy_picture(policy, task)) is not None:
        write_png(folder / files.POLICY, picture)
    front = None if system.front is None else front_for_report(system, learnt_measurements)
    explains, model = part_of(task).fits, f"{shlex.quote(str(folder.path))}{option}"
    if explains:
        page_options: Any = {"title": title, "front": front, "model": model}
        write_text(folder / files.EXPLAINED, explain_page(policy, task, **page_options))
    measurements = evaluations(policy, task, system.parameters.noise, system.threads)
    link = files.EXPLAINED if explains else ""
    page = report_page(
        system, pruned, measurements, learnt_measurements, curve, picture, command, link, front, model, taught
    )
    write_text(folder / files.REPORT, page)
    return measurements


def front_for_report(system: System, measurements: Mapping[str, Evaluation]) -> Front:
    """Return the front of a system, each list played from as many test seeds as a report can afford."""
    evaluation, steps = next(iter(measurements.values())), int(system.now.records[-1]["steps"])
    episodes = EPISODES
    if not is_cheap(system.task) and evaluation.mean_steps is not None and system.front is not None:
        episodes = affordable(steps, evaluation.mean_steps * len(system.front))
    return measured_front(system, episodes=episodes, threads=system.threads)


def affordable(training: int, length: float) -> int:
    """Return how many episodes of each list may be played for a report after some steps of training.

    Args:
        training: the steps of training.
        length: the steps of one episode of each list.
    """
    return max(FEWEST, min(EPISODES, int(SHARE * training / length)))


def command_of(settings: RunSettings, started: bool = False) -> str:
    """Return the command that repeats a run, which may have started with given rules."""
    start = f" --start {files.START}" if started else ""
    if isinstance(settings.task, FrozenLakeSettings):
        return f"ifthen train --config {files.SETTINGS}{start}"
    task = settings.task if isinstance(settings.task, str) else settings.task.environment
    changes = {} if isinstance(settings.task, str) else assignments_of(settings.task)
    start += "".join(f" --task-set {shlex.quote(f'{key}={value}')}" for key, value in changes.items())
    parameters = "".join(
        f" --set {shlex.quote(f'{key}={toml_value(value)}')}" for key, value in settings.parameters.items()
    )
    goal = settings.goal
    length = f"--{goal.unit} {goal.target}"
    length += "" if settings.stop_at is None else f" --stop-at {settings.stop_at:g}"
    start += "" if settings.prune else " --no-prune"
    start += "".join(f" --require {shlex.quote(requirement)}" for requirement in settings.require)
    name = shlex.quote(task)
    return f"ifthen train {settings.system} {name} {length} --seed {settings.seed}{parameters}{start}"
