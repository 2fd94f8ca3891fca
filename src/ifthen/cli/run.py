"""What the commands `train` and `resume` share: a run is learnt, pruned, reported and printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ifthen.cli.task_names import task_option
from ifthen.cli.terminal import Stop, after_epoch, err, out, print_evaluations, print_rules
from ifthen.errors import TaskError

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.runs.run_folder import RunFolder
    from ifthen.runs.settings import RunSettings
    from ifthen.simplify.prune import PruneResult
    from ifthen.systems.learning import Callback
    from ifthen.systems.system import System
    from ifthen.tasks.task import Task

Curves = Annotated[
    Path | None,
    typer.Option("--tensorboard", metavar="FOLDER", help="Also write curves for TensorBoard here."),
]


def curves_in(folder: Path | None) -> list[Callback]:
    """Return what writes curves to a folder, where one is given."""
    from ifthen.systems.callbacks import TensorBoard

    return [] if folder is None else [TensorBoard(folder)]


def learn_and_report(
    run_folder: RunFolder, settings: RunSettings, learner: System, curves: list[Callback]
) -> None:
    """Learn, then write and print everything that a finished run has."""
    from ifthen.jit import telling_of_compiling

    resume = f"'ifthen resume {run_folder.path}{task_option(settings.task)}'"
    compiling = "compiling what this training needs: some seconds, and next time it is there"
    with Stop() as stop, telling_of_compiling(lambda: err.print(compiling)):
        try:
            callbacks = [*curves, after_epoch(settings.goal, stop)]
            finished = run_folder.learn(learner, settings, out.is_terminal, callbacks)
        except KeyboardInterrupt:
            finished = False
        except TaskError:
            if learner.started:
                err.print(f"saved at epoch {learner.epoch}: once the environment is mended, {resume} goes on")
            raise
    if not finished:
        if learner.started:
            err.print(f"stopped and saved at epoch {learner.epoch}; {resume} goes on from there")
        else:
            err.print(f"stopped before epoch 0: there is nothing to save yet, and {resume} begins anew")
        raise typer.Exit(130)
    _report(run_folder, _chosen(run_folder, settings, learner), learner)


def _chosen(run_folder: RunFolder, settings: RunSettings, learner: System) -> RunSettings:
    """Take another list of the front where the usual one does not meet a requirement."""
    from ifthen.digits import in_units, plural
    from ifthen.runs.choice import choose_list

    with err.status("looking at requirements"):
        point = choose_list(learner, settings.require) if settings.require else None
    if point is None:
        return settings
    usual_list = learner.ruleset
    out.print(
        f"The list of {plural(point.rules, 'rule')} and {plural(point.tests, 'test')} is taken, with a score "
        f"of {in_units(point.score)}: it is the best of the front that meets the requirements on the pruning "
        f"seeds. The usual choice, {plural(len(usual_list), 'rule')} and "
        f"{plural(usual_list.tests, 'test')}, does not."
    )
    return run_folder.take(point, learner, settings)


def _report(run_folder: RunFolder, settings: RunSettings, learner: System) -> None:
    """Prune the policy of a finished run, write its report, and print its rules and how well they do."""
    from ifthen.explanation.reading import readable
    from ifthen.runs.run_folder import PRUNED, REPORT, RULES
    from ifthen.runs.run_report import command_of, write_report

    pruned = _pruned(learner, settings.require) if settings.prune else None
    if pruned is not None:
        out.print(str(pruned))
        if pruned.ruleset == learner.ruleset:
            pruned = None
    command = command_of(settings, learner.start is not None)
    task, option = learner.task, task_option(settings.task)
    measurements = write_report(run_folder, command, learner, pruned, option)
    ruleset = learner.ruleset if pruned is None else pruned.ruleset
    shown = readable(ruleset, task)
    hint = f"'ifthen show {run_folder.path}{option} --all' shows them"
    name = learner.name if pruned is None else f"{learner.name}, pruned,"
    print_rules(name, shown, task, len(ruleset), hint)
    if len(shown) < len(ruleset):
        out.print(f"(these choose the same as all {len(ruleset)} in {RULES if pruned is None else PRUNED})")
    print_evaluations(f"{name} on {task.name}", measurements)
    if shield_note := learner.shield_in_words(ruleset):
        out.print(shield_note)
    unmet = print_required(ruleset, task, settings.require) if settings.require else []
    print_older_requirements(run_folder, settings.require)
    out.print(f"'ifthen verify {run_folder.path}{option}' checks these rules")
    out.print(f"written to {run_folder.path}; open {run_folder / REPORT}")
    if unmet:
        front_hint = (
            "" if learner.front is None else f", or look at its other lists: 'ifthen front {run_folder.path}'"
        )
        err.print(
            f"error: the policy does not meet {', '.join(map(repr, unmet))}. The run is kept in "
            f"{run_folder.path}. Train longer, ask for less{front_hint}"
        )
        raise typer.Exit(1)


def print_required(ruleset: RuleSet, task: Task, require: list[str]) -> list[str]:
    """Print which requirements are met, and why; return those that are not."""
    from ifthen.verification import verify

    requirements = verify(ruleset, task, require).requirements
    for requirement in requirements:
        out.print(f"{'✓' if requirement.passed else '✗'} {requirement.text}: {requirement.why}")
    return [requirement.text for requirement in requirements if not requirement.passed]


def print_older_requirements(run_folder: RunFolder, require: list[str]) -> None:
    """Say so where a run was given no requirements, but finds some in its folder, which hold for it, too."""
    from ifthen.runs.run_folder import REQUIREMENTS

    if not require and (run_folder / REQUIREMENTS).exists():
        out.print(
            f"{run_folder / REQUIREMENTS} is not from this run: 'ifthen verify', 'prune' and 'export' use it "
            "all the same. Delete it if it is not about these rules."
        )


def _pruned(learner: System, require: list[str]) -> PruneResult | None:
    """Return the pruned rules of a trained system; None where they are not to be used, and say so."""
    from ifthen.runs.pruned_policy import pruned_policy

    reason = "fewer rules would do worse" + (" or break a requirement" if require else "")
    with err.status("looking for fewer rules") as status:
        try:
            result = pruned_policy(
                learner, lambda left: status.update(f"looking for fewer rules: {left} left"), require
            )
        except KeyboardInterrupt:
            result, reason = None, "pruning was stopped"
    if result is None and not learner.shortens:
        out.print(f"{reason}: these are the rules as they were learnt")
    return result
