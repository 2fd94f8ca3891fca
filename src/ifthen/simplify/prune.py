"""Pruning: one function for every way to make a policy shorter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from ifthen.checks import one_of, real_number, whole_number
from ifthen.digits import in_units, plural
from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.rules.arrays import Ints
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.by_play import Progress, pruned_by_play, size_of
from ifthen.simplify.compact import Compaction, compact
from ifthen.simplify.ladder import ladder
from ifthen.simplify.lossless import Intervals, decision_list_of, lossless
from ifthen.simplify.shortest.lists import Effort
from ifthen.simulate.environment import checked_seeds
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.scope import policy_and_task, table_of, tabular, visited_states, where_in_words
from ifthen.tasks.gym_task import EnvTask

Form = Literal["list"]
STEP_LIMIT = 10**12


@dataclass(frozen=True, eq=False, repr=False)
class PruneResult(Shown):
    """A pruned policy. Fields that do not apply are None.

    Args:
        ruleset: the rules that are left.
        given: the rules before.
        where: the scope that the result rests on, such as "the 53 decision states of FrozenLake-8-0.3".
        words: the result in words.
        removed: how many rules were dropped.
        merged: how many rules became one with another.
        proof: how it is known that no action has changed.
        changed: in how many states of the scope another action is chosen now; 0 where none is.
        performance: the performance of the pruned rules: exact, or the mean return over the seeds.
        performance_given: that of the given rules.
        failed_given: whether the given rules visited a state without a rule.
        seeds: the reset seeds that were played from, `(k,)`.
    """

    ruleset: RuleSet
    given: RuleSet
    where: str
    words: str
    removed: int | None = None
    merged: int | None = None
    proof: str | None = None
    changed: int | None = None
    performance: float | None = None
    performance_given: float | None = None
    failed_given: bool | None = None
    seeds: Ints | None = None

    def __str__(self) -> str:
        return self.words

    def shown_parts(self) -> list[Part]:
        """Return the result in words, and the rules that are left."""
        return [self.words, *self.ruleset.shown_parts()]


def prune(
    policy: Any,
    task: TaskLike | None = None,
    *,
    to: Form | None = None,
    intervals: Intervals = "short",
    method: Compaction | None = None,
    rho: float = 0.1,
    rules: int | None = None,
    performance: float | None = None,
    polish: bool = False,
    effort: Effort = "quick",
    loss: float | None = None,
    episodes: int | None = None,
    seeds: ArrayLike | None = None,
    steps: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PruneResult:
    """Make a policy shorter, by default without changing any action.

    In a task with a table of states every action stays the same in every decision state; without a task,
    for every observation that the features allow. Both are proved. In an environment rules are pruned by
    playing: the mean return over the pruning seeds does not fall.

    Args:
        policy: a ruleset of any kind, or a trained system.
        task: the task; where None, that of a trained system, or none for a ruleset.
        to: "list" converts the rules to a decision list that chooses the same, as short as can be found.
        intervals: "short" gives the shortest words, "tight" the smallest boxes, "keep" leaves conditions as
            they are.
        method: how to compact the rules of an XCSF, which stay as they are: "greedy" keeps the action in
            every state, "gnmc" (greedy niche mass compaction) nearly keeps the predictions.
        rho: ρ, the share of each niche's fitness that "gnmc" may drop.
        rules: the largest number of rules, at the least cost of exact performance (see `ladder`).
        performance: the least exact performance, with as few rules as possible (see `ladder`).
        polish: with `rules` or `performance`, also tune the rules that are left.
        effort: how long to search for a decision list: "quick", "normal" or "thorough".
        loss: in an environment, how much the mean return may fall, in its own units.
        episodes: in an environment, the number of pruning seeds to play beside the training seeds; 100
            where None.
        seeds: in an environment, all reset seeds to play from, in place of these.
        steps: in an environment, about how many steps to play at most; the result is what was found by then.
        threads: threads or worker processes; all cores where None. Results do not depend on it.
        progress: called with the number of rules that are left after every step.
    """
    ruleset, task = policy_and_task(policy, task)
    table, where = table_of(ruleset, task), where_in_words(ruleset, task)
    for name, value, known in (
        ("intervals", intervals, Intervals),
        ("effort", effort, Effort),
        ("method", "greedy" if method is None else method, Compaction),
        ("to", "list" if to is None else to, Form),
    ):
        one_of(name, value, get_args(known))
    _check_options(to, method, rules, performance, polish)
    in_environment = task is not None and table is None
    if not in_environment and not loss is episodes is seeds is steps is None:
        raise ParameterError(
            "loss, episodes, seeds and steps are for environments, where pruning means playing."
        )
    if to == "list":
        found, known_length = decision_list_of(ruleset, task, effort)
        words = f"{len(ruleset)} rules became a decision list of {len(found)} that does the same at {where}. "
        return PruneResult(found, ruleset, where, words + known_length, changed=0)
    if method is not None:
        table = tabular(task, "compaction", ": leave method out")
        fewer, points = compact(ruleset, table, method, rho), table.dynamics.points
        changed = int((fewer.choose(points)[0] != ruleset.choose(points)[0]).sum())
        words = f"{len(ruleset)} rules became {len(fewer)}; the action changed in {changed:,} of {where}."
        return PruneResult(fewer, ruleset, where, words, len(ruleset) - len(fewer), changed=changed)
    if rules is not None or performance is not None:
        rungs = ladder(ruleset, task, polish, threads, progress)
        rung = rungs.with_rules(rules) if rules is not None else rungs.with_performance(performance or 0.0)
        numbers = rung.changed, rung.performance, rungs.performance
        return PruneResult(rung.ruleset, ruleset, where, str(rung), None, None, None, *numbers)
    if in_environment:
        environment = cast(EnvTask, task)
        chosen = _pruning_seeds(environment, episodes, seeds)
        most = real_number("loss", 0.0 if loss is None else loss, 0, 1e300)
        tell = progress or (lambda _: None)
        last = None if steps is None else whole_number("steps", steps, 0, STEP_LIMIT)
        return _by_play(ruleset, environment, most, chosen, checked_threads(threads), tell, last)
    left, removed, merged, proof = lossless(ruleset, task, intervals)
    words = (
        f"{len(ruleset)} rules became {len(left)}: {removed} removed, {merged} merged. "
        f"The same is done at {where} ({proof})."
    )
    return PruneResult(left, ruleset, where, words, removed, merged, proof, changed=0)


def _check_options(
    to: str | None, method: str | None, rules: int | None, performance: float | None, polish: bool
) -> None:
    """Raise where options exclude each other, or are no numbers."""
    given = {"to": to, "method": method, "rules": rules, "performance": performance}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ParameterError(f"{' and '.join(named)} are different ways to prune: give one of them.")
    if rules is not None:
        whole_number("rules", rules, 1, 2**31)
    if performance is not None:
        real_number("performance", performance, -1e300, 1e300)
    if polish and rules is None and performance is None:
        raise ParameterError("polish tunes the rules of the ladder: give rules or performance with it.")


def _pruning_seeds(task: EnvTask, episodes: int | None, seeds: ArrayLike | None) -> Ints:
    """Return the reset seeds to prune on."""
    if seeds is None:
        return np.concatenate([task.z, task.pruning(100 if episodes is None else episodes)])
    if episodes is not None:
        raise ParameterError("seeds says which episodes are played: leave episodes out.")
    return checked_seeds(seeds)


def _by_play(
    ruleset: RuleSet,
    task: EnvTask,
    loss: float,
    seeds: Ints,
    threads: int,
    progress: Progress,
    steps: int | None,
) -> PruneResult:
    """Prune by playing, and measure both rulesets on the same seeds."""
    rules = pruned_by_play(ruleset, task, seeds, threads, loss, progress, steps)
    before, after = (evaluate(each, task, threads=threads, seeds=seeds) for each in (ruleset, rules))
    scope = visited_states(ruleset, task, seeds)
    changed = int((scope.actions != rules.best_actions(scope.points)).sum())
    same = "the same action in" if not changed else f"another action in {changed:,} of"
    first = "a state without a rule" if before.failed else f"mean return {in_units(before.performance)}"
    sizes = [size_of(each) for each in (ruleset, rules)]
    given, left = (f"{plural(n, 'rule')} with {plural(ends, 'condition')}" for n, ends, *_ in sizes)
    words = (
        f"{given} became {left}: {first} before, mean return {in_units(after.performance)} "
        f"now over {len(seeds):,} episodes; {same} {scope.words}. Nothing is guaranteed for other states or "
        "seeds."
    )
    numbers = after.performance, before.performance, before.failed
    return PruneResult(rules, ruleset, scope.words, words, None, None, None, changed, *numbers, seeds)
