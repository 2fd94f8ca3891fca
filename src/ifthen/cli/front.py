"""The command `front`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ifthen.checks import one_of, whole_number
from ifthen.cli.model import JsonFile, Policy, TaskChanges, TaskName, Threads, read_policy
from ifthen.cli.task_names import typed_options, typed_task
from ifthen.cli.terminal import check_plot, err, out, print_table, write_json, write_plot
from ifthen.cli.train import default_folder, train
from ifthen.errors import ParameterError

if TYPE_CHECKING:
    from ifthen.systems.front import Front

MOST_EPISODES = 100_000
FILES = (".json", ".txt", ".md", ".zip")


def front(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|TASK",
            help="The folder of a finished run, a model file, or rules in a .json, .txt or .md file. For a "
            "task, PPL-X is trained on it first.",
        ),
    ],
    plot: Annotated[
        Path | None, typer.Option(help="Draw return against size to this .png, .pdf or .svg file.")
    ] = None,
    by: Annotated[
        str, typer.Option(help="What the drawing counts as size: rules, tests or nodes (of a tree).")
    ] = "rules",
    folder: Annotated[
        Path | None, typer.Option("--out", help="Write every policy, the table and the drawing here.")
    ] = None,
    episodes: Annotated[
        int, typer.Option(help="In an environment: how many test seeds to play each policy from.")
    ] = 100,
    polish: Annotated[
        bool, typer.Option("--polish", help="On a table: shorten the rules anew, and tune what is left.")
    ] = False,
    task: TaskName = None,
    task_assignments: TaskChanges = None,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Show the best policy found for each size, from one rule to all, and what each is worth.

    A run of PPL-X has such policies. Other rules are shortened: exactly on a table, by playing the pruning
    seeds in an environment. Each policy is then measured: exactly, or on test seeds, which nothing was chosen
    on. A test is a one-sided comparison. Tree nodes are questions and leaves of a tree that does the same.
    `ifthen prune MODEL --rules N` takes one of them. For example:

    - `ifthen front runs/pole --plot front.png`
    - `ifthen front MountainCar-v0`, which trains first
    - `ifthen front mine.txt --task CartPole-v1 --out fronts`
    """
    from ifthen.pages.explain_folder import check_folder
    from ifthen.runs.measured_front import front_to
    from ifthen.systems.front import SIZES

    check_plot(plot)
    one_of("--by", by, tuple(SIZES))
    whole_number("--episodes", episodes, 2, MOST_EPISODES)
    if folder is not None:
        check_folder(folder)
    path, task_options = _model_at(model, task, task_assignments, threads)
    policy = read_policy(path, task_options, task_assignments, pruned=False)
    policy_front = find_front(policy, episodes, polish, threads)
    print_front(policy, policy_front, plot, by)
    policy_name = f"{path}{typed_options(task_options, task_assignments)}"
    out.print(f"'ifthen prune {policy_name} --rules N' takes one of them; so does --tests N")
    write_json(json_file, {"task": policy.known_task().name, **policy_front.to_dict()})
    if folder is not None:
        front_to(folder, policy_front, policy.known_task())
        out.print(f"written to {folder}")


def _model_at(
    name: str, task: list[str] | None, changes: list[str] | None, threads: int | None
) -> tuple[Path, list[str] | None]:
    """Return the model to look at, and what --task says; a task is trained on, unless it was before."""
    from ifthen.environments.known_environments import known_names
    from ifthen.runs.run_folder import MODEL

    path = Path(name)
    if path.suffix.lower() in FILES or (path.exists() and name not in known_names()):
        return path, task
    if task is not None or changes is not None:
        raise ParameterError(
            f"{name} is a task, and --task and --task-set go with a model: train first, with 'ifthen train "
            f"PPL-X {name} --task-set …', then give the folder of the run."
        )
    folder = default_folder("PPL-X", typed_task(name).name, 0)
    if (folder / MODEL).exists():
        out.print(f"there is a run in {folder} already: this is its front")
    else:
        train("PPL-X", name, threads=threads)
        out.print()
    return folder, [name] if ":" in name else None


def find_front(
    policy: Policy, episodes: int = 100, polish: bool = False, threads: int | None = None
) -> Front:
    """Return the measured front of a policy, and say meanwhile how far that is."""
    from ifthen.runs.measured_front import front as front_of

    task = policy.known_task()
    with err.status("looking for the best policy of each size") as status:
        return front_of(
            policy,
            task,
            episodes=episodes,
            polish=polish,
            threads=threads,
            progress=lambda left: status.update(f"looking for fewer rules: {left} left"),
        )


def print_front(policy: Policy, policy_front: Front, plot: Path | None = None, by: Any = "rules") -> None:
    """Print a front as a table, and draw it where a file is given."""
    title = f"{policy.title} on {policy.known_task().name}"
    print_table(policy_front.text_table(f"The best policy found for each size: {title}"))
    write_plot(plot, lambda: policy_front.figure(by, title))
