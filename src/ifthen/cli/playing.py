"""Policies in environments, for the commands prune and evaluate: fewer rules, and scores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ifthen.cli.finished import z_and_unseen
from ifthen.cli.models import Policy
from ifthen.cli.terminal import err, out, scores_table
from ifthen.digits import in_units
from ifthen.errors import ParameterError

if TYPE_CHECKING:
    from ifthen.explain.fewer.played import Played
    from ifthen.rollout.score import Score
    from ifthen.rules.ruleset import RuleSet
    from ifthen.tasks.env_task import EnvTask

UNSEEN = 100
MOST_EPISODES = 100_000


def refuse_options(policy: Policy, tabular: Mapping[str, bool], played: Mapping[str, bool]) -> bool:
    """Return whether a policy is one of an environment, or raise where an option makes no sense for it.

    Args:
        policy: what is to be pruned.
        tabular: whether options were given that need states that can be listed.
        played: whether options were given that need an environment.
    """
    from ifthen.tasks.env_task import EnvTask

    in_env = isinstance(policy.task, EnvTask)
    for name in (name for name, given in (tabular if in_env else played).items() if given):
        if not in_env:
            raise ParameterError(
                f"{name} is for environments, which are played; {policy.name} is none: its performance is "
                "exact, and --rules, --performance and --ladder trade it for fewer rules."
            )
        raise ParameterError(
            f"{name} needs states that can be listed, which an environment has not: {policy.name} is pruned "
            "by playing. Give --loss, how much less the mean return may be, and --episodes."
        )
    return in_env


def prune_by_playing(
    policy: Policy, loss: float | None, episodes: int | None, threads: int | None
) -> RuleSet:
    """Return fewer rules that play as well, and print what they were and what they are."""
    import numpy as np

    from ifthen.explain.fewer.played import prune_by_playing as pruned
    from ifthen.tasks.env_task import EnvTask

    task = policy.known_task()
    assert isinstance(task, EnvTask)
    seeds = np.concatenate([task.z, task.pruning(100 if episodes is None else episodes)])
    with err.status("playing") as status:
        found = pruned(
            policy.ruleset,
            task,
            loss=0.0 if loss is None else loss,
            seeds=seeds,
            threads=threads,
            progress=lambda rules: status.update(f"playing: {len(rules)} rules left"),
        )
        table = before_and_after(found, task)
    out.print(table)
    out.print(str(found))
    out.print()
    return found.ruleset


def before_and_after(found: Played, task: EnvTask) -> Table:
    """Return how many rules there were and are, and how well they do, as a table."""
    from ifthen.explain.fewer.contest import size_of
    from ifthen.rollout.score import score

    both = (found.given, found.ruleset)
    lists = {
        f"mean return on z ({len(task.z):,} episodes)": task.z,
        f"… on the {len(found.seeds):,} episodes pruned on": found.seeds,
        f"… on {UNSEEN:,} unseen episodes": task.unseen(UNSEEN),
    }
    table = Table("", title=Text(f"Pruned by playing {task.name}"), title_justify="left")
    for heading in ("before", "after"):
        table.add_column(heading, justify="right")
    for place, name in enumerate(("rules", "conditions")):
        table.add_row(name, *(f"{size_of(rules)[place]:,}" for rules in both))
    for name, seeds in lists.items():
        table.add_row(name, *(mean_in_words(score(rules, task, seeds)) for rules in both))
    return table


def mean_in_words(own: Score) -> str:
    """Return the mean return of rules, or in how many episodes they met a state without one."""
    if not own.failed:
        return in_units(own.performance)
    failed = round(own.failed_share * own.episodes)
    return f"a state without a rule in {failed:,} of {own.episodes:,} episodes"


def evaluate_env(
    policy: Policy, task: EnvTask, episodes: int | None, seeds: str | None, threads: int | None
) -> None:
    """Print the scores of rules in an environment, on z and on other reset seeds."""
    from ifthen.rollout.score import score
    from ifthen.systems.base import checked_threads

    title, workers = f"{policy.title} on {task.name}", checked_threads(threads)
    if seeds is None:
        out.print(z_and_unseen(title, policy.ruleset, task, workers, episodes or 100))
        return
    if episodes is not None:
        raise ParameterError("--seeds says which episodes are played: leave --episodes out.")
    first, last = _ends(seeds)
    scores = {
        "on z": score(policy.ruleset, task, threads=workers),
        f"on seeds {seeds}": score(policy.ruleset, task, range(first, last + 1), workers),
    }
    out.print(scores_table(title, scores))


def _ends(seeds: str) -> tuple[int, int]:
    """Return the first and the last of `5000-5099`."""
    found = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", seeds.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if not first <= last < first + MOST_EPISODES:
        raise ParameterError(
            f"--seeds takes the first and the last reset seed, such as 5000-5099, not {seeds!r}."
        )
    return first, last
