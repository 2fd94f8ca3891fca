"""Pruning: one function for every way to make a policy shorter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, get_args

from numpy.typing import ArrayLike

from ifthen.checks import one_of, real_number, whole_number
from ifthen.digits import in_units, plural
from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.rules.arrays import Ints
from ifthen.rules.constraint import shielded
from ifthen.rules.decision_list import constant_lists
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.rules.text.constraint_text import constraints_in
from ifthen.simplify.by_play import pruned_by_play, size_of
from ifthen.simplify.compact import Compaction, compact
from ifthen.simplify.lossless import Intervals, decision_list_of, lossless
from ifthen.simplify.shortened import shortened
from ifthen.simplify.shortening import Progress
from ifthen.simplify.shortest.shortest_list import Effort
from ifthen.simulate.env_simulator import checked_seeds
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.scope import (
    check_fits,
    environment,
    policy_and_task,
    scope_of,
    tabular,
    visited_states,
    where_in_words,
)
from ifthen.systems.front import MOST, Front, Point
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.task import Task

Form = Literal["list"]
STEP_LIMIT = 10**12
Way = Literal["lossless", "play", "list", "greedy", "gnmc", "few", "few by play"]
WAYS: dict[Way, str] = {
    "lossless": "pruning that changes no action, on a table or without a task",
    "play": "pruning by play as far as loss allows, in an environment",
    "list": "making a decision list (to='list')",
    "greedy": "method='greedy'",
    "gnmc": "method='gnmc'",
    "few": "rules, tests or performance on a table",
    "few by play": "rules, tests or performance in an environment",
}
"""The ways to prune, in words."""
BELONGS: dict[str, tuple[Way, ...]] = {
    "intervals": ("lossless",),
    "rho": ("gnmc",),
    "polish": ("few",),
    "effort": ("list",),
    "loss": ("play",),
    "episodes": ("play", "few by play"),
    "seeds": ("play", "few by play"),
    "steps": ("play",),
}
"""The ways to prune that an option belongs to; elsewhere only its default may be given."""


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
    policy: PolicyLike,
    task: TaskLike | None = None,
    *,
    to: Form | None = None,
    intervals: Intervals = "short",
    method: Compaction | None = None,
    rho: float = 0.1,
    rules: int | None = None,
    tests: int | None = None,
    performance: float | None = None,
    polish: bool = False,
    effort: Effort = "quick",
    loss: float | None = None,
    episodes: int | None = None,
    seeds: ArrayLike | None = None,
    steps: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    require: str | list[str] | None = None,
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
        rho: with "gnmc", ρ, the share of each niche's fitness that may be dropped.
        rules: the largest number of rules: the best policy of the front with at most so many (see `front`).
        tests: the largest number of comparisons in all rules, likewise; both may be given.
        performance: the least performance: exact, or in an environment the mean return on the seeds that
            the front was chosen on; the shortest policy that reaches it.
        polish: on a table, with one of these, also tune the rules that are left.
        effort: with to="list", how long to search: "quick", "normal" or "thorough".
        loss: in an environment, how much the mean return may fall, in its own units.
        episodes: in an environment, the number of pruning seeds to play beside the training seeds; 100
            where None.
        seeds: in an environment, all reset seeds to play from, in place of these.
        steps: in an environment, about how many steps to play at most; the result is what was found by then.
        threads: threads or worker processes; all cores where None. Results do not depend on it.
        progress: called with the number of rules that are left after every step.
        require: what the rules must always or never do, such as "never heat when room >= 24": rules that keep
            it are put on top of the pruned list where it is needed. Those of a trained system where None.
    """
    ruleset, task = policy_and_task(policy, task)
    keep = _keeper(policy, ruleset, task, require)
    check_fits(ruleset, task)
    scope_words = where_in_words(ruleset, task)
    for name, value, choices in (
        ("intervals", intervals, Intervals),
        ("effort", effort, Effort),
        ("method", "greedy" if method is None else method, Compaction),
        ("to", "list" if to is None else to, Form),
    ):
        one_of(name, value, get_args(choices))
    sizes = rules, tests, performance
    real_number("rho", rho, 0, 1)
    _check_ways(to, method, *sizes)
    way = _way(task, to, method, any(size is not None for size in sizes))
    options = {"intervals": intervals, "rho": rho, "polish": polish, "effort": effort, "loss": loss}
    _check_options(way, options | {"episodes": episodes, "seeds": seeds, "steps": steps})
    play_seeds = (
        pruning_seeds(task, episodes, seeds) if task is not None and way in BELONGS["seeds"] else None
    )
    if to == "list":
        shortest, known_length = decision_list_of(ruleset, task, effort)
        converted, note = keep(shortest)
        size = f"{len(ruleset)} rules became a decision list of {len(converted)}"
        words = f"{size} that does the same at {scope_words}. "
        return PruneResult(
            converted, ruleset, scope_words, words + known_length + note, changed=None if note else 0
        )
    if method is not None:
        table = tabular(task, "compaction", ": leave method out")
        fewer, points = keep(compact(ruleset, table, method, rho))[0], table.dynamics.points
        changed = int((fewer.choose(points)[0] != ruleset.choose(points)[0]).sum())
        words = (
            f"{len(ruleset)} rules became {len(fewer)}; the action changed in {changed:,} of {scope_words}."
        )
        return PruneResult(fewer, ruleset, scope_words, words, len(ruleset) - len(fewer), changed=changed)
    if any(size is not None for size in sizes):
        if task is None:
            raise ParameterError("how well fewer rules do depends on the task: give it, too.")
        ready_front = None if polish else getattr(policy, "front", None)
        front = _front(ready_front, ruleset, task, play_seeds, polish, threads, progress, keep)
        point = front.at(rules, tests) if performance is None else front.reaching(performance)
        return _taken(point, ruleset, task, play_seeds, threads)
    if play_seeds is not None:
        env = environment(task, "pruning by play")
        max_loss = real_number("loss", 0.0 if loss is None else loss, 0, 1e300)
        report = progress or (lambda _: None)
        max_steps = None if steps is None else whole_number("steps", steps, 0, STEP_LIMIT)
        return _by_play(ruleset, env, max_loss, play_seeds, checked_threads(threads), report, max_steps, keep)
    pruned, removed, merged, proof = lossless(ruleset, task, intervals)
    pruned, note = keep(pruned)
    size = plural(len(ruleset), "rule")
    change = f"{size} became {len(pruned)}: {removed} removed, {merged} merged."
    if len(pruned) == len(ruleset):
        change = f"{size}: none can be left out or merged, only conditions changed."
    words = f"{change} The same is done at {scope_words} ({proof}).{note}"
    if pruned == ruleset:
        words = f"Nothing can be left out: {size} {'stays' if len(ruleset) == 1 else 'stay'} as before."
    n_changed = None if note else 0
    return PruneResult(pruned, ruleset, scope_words, words, removed, merged, proof, changed=n_changed)


Keep = Callable[[RuleSet], tuple[RuleSet, str]]
"""Returns rules that satisfy the requirements, and a sentence about what was changed."""


def _keeper(policy: PolicyLike, ruleset: RuleSet, task: Task | None, require: str | list[str] | None) -> Keep:
    """Return a function that adds the rules needed to satisfy the requirements."""
    texts = getattr(policy, "require", []) if require is None else require
    constraints = constraints_in(texts, ruleset.observed_features, ruleset.action_names)
    if not constraints:
        return lambda rules: (rules, "")

    def keep(rules: RuleSet) -> tuple[RuleSet, str]:
        if not rules.ordered:
            raise ParameterError(
                "requirements are kept by rules on top of a decision list: give to='list' with them."
            )
        result = shielded(rules, constraints, getattr(task, "default_action", None))
        if result.ruleset == rules:
            return rules, ""
        top = f", {plural(result.added, 'rule')} on top" if result.added else ""
        return result.ruleset, f" Actions were changed to keep what is required{top}."

    return keep


def _check_ways(
    to: str | None, method: str | None, rules: int | None, tests: int | None, performance: float | None
) -> None:
    """Raise where options exclude each other, or are no numbers."""
    by_size = ("tests", tests) if rules is None else ("rules", rules)
    ways = [("to", to), ("method", method), by_size, ("performance", performance)]
    chosen = [name for name, value in ways if value is not None]
    if len(chosen) > 1:
        raise ParameterError(f"{' and '.join(chosen)} are different ways to prune: give one of them.")
    if rules is not None:
        whole_number("rules", rules, 1, MOST)
    if tests is not None:
        whole_number("tests", tests, 0, MOST)
    if performance is not None:
        real_number("performance", performance, -1e300, 1e300)


def _way(task: Task | None, to: Form | None, method: Compaction | None, by_size: bool) -> Way:
    """Return the way to prune that was asked for."""
    if to is not None:
        return to
    if method is not None:
        return method
    plays = task is not None and task.pruning_seeds() is not None
    if by_size:
        return "few by play" if plays else "few"
    return "play" if plays else "lossless"


def _check_options(way: Way, options: Mapping[str, Any]) -> None:
    """Raise where an option was given that does not belong to the way to prune."""
    for name, value in options.items():
        default = signature(prune).parameters[name].default
        was_given = value is not None if default is None else value != default
        if was_given and way not in BELONGS[name]:
            ways = ", and to ".join(WAYS[owner] for owner in BELONGS[name])
            raise ParameterError(
                f"{name} belongs to {ways}. This is {WAYS[way]}, which does not use it: leave {name} out."
            )


def _front(
    ready_front: Front | None,
    ruleset: RuleSet,
    task: Task,
    seeds: Ints | None,
    polish: bool,
    threads: int | None,
    progress: Progress | None,
    keep: Keep,
) -> Front:
    """Return the front to take a policy from: a system's own, or that of shortening; all keep what must be.

    Scores are exact on a table. In an environment they are returns on the seeds that a policy is chosen on.
    """
    if ready_front is None:
        ready_front = shortened(
            ruleset, task, seeds, polish, checked_threads(threads), progress or (lambda _: None)
        )
    points, exact = [], task.best_method == "exact"

    def scored(rules: RuleSet) -> Point:
        evaluation = evaluate(rules, task, task.best_method, threads=threads, seeds=seeds)
        return Point(rules, evaluation.performance, evaluation.deviation, evaluation.episodes or None)

    for point in ready_front.points:
        satisfying, changed = keep(point.ruleset)
        points.append(scored(satisfying) if exact or changed else point)
    if all(point.rules > 1 for point in points):  # what must be kept has made the shortest list longer
        constant = constant_lists(task.features, task.action_names)
        points += [scored(rules) for rules in constant if not keep(rules)[1]]
    return Front.of(points, "exact performance" if exact else ready_front.scored, ready_front.optimum)


def _taken(
    point: Point, original: RuleSet, task: Task, seeds: Ints | None, threads: int | None
) -> PruneResult:
    """Return a policy of a front as a result."""
    before, after = (
        evaluate(rules, task, task.best_method, threads=threads, seeds=seeds)
        for rules in (original, point.ruleset)
    )
    scope = scope_of(original, task, seeds)
    assert scope is not None
    changed = int((scope.actions != point.ruleset.best_actions(scope.points)).sum())
    share = "" if after.fraction is None else f" ({after.fraction:.1%} of the optimum)"
    measure_words = "exact performance" if seeds is None else f"mean return over {len(seeds):,} episodes"
    words = (
        f"{plural(point.rules, 'rule')} with {plural(point.tests, 'test')}: {measure_words} "
        f"{in_units(after.performance)}{share}, another action in {changed:,} of {scope.words}. "
        f"The {plural(len(original), 'rule')} given have {in_units(before.performance)}."
    )
    return PruneResult(
        point.ruleset,
        original,
        scope.words,
        words,
        changed=changed,
        performance=after.performance,
        performance_given=before.performance,
        failed_given=before.failed,
        seeds=seeds,
    )


def pruning_seeds(task: Task, episodes: int | None, seeds: ArrayLike | None) -> Ints | None:
    """Return the reset seeds to prune on; None where nothing is played."""
    task_seeds = task.pruning_seeds(100 if episodes is None else episodes)
    if task_seeds is None or seeds is None:
        return task_seeds
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
    keep: Keep,
) -> PruneResult:
    """Prune by playing, and measure both rulesets on the same seeds."""
    rules, note = keep(pruned_by_play(ruleset, task, seeds, threads, loss, progress, steps))
    before, after = (evaluate(policy, task, threads=threads, seeds=seeds) for policy in (ruleset, rules))
    scope = visited_states(ruleset, task, seeds)
    changed = int((scope.actions != rules.best_actions(scope.points)).sum())
    action_words = "the same action in" if not changed else f"another action in {changed:,} of"
    before_words = (
        "a state without a rule" if before.failed else f"mean return {in_units(before.performance)}"
    )
    sizes = [size_of(policy) for policy in (ruleset, rules)]
    size_before, size_after = (
        f"{plural(n, 'rule')} with {plural(ends, 'condition')}" for n, ends, *_ in sizes
    )
    words = (
        f"{size_before} became {size_after}: {before_words} before, mean return "
        f"{in_units(after.performance)} now over {len(seeds):,} episodes; {action_words} {scope.words}. "
        f"Nothing is guaranteed for other states or seeds.{note}"
    )
    if rules == ruleset:
        words = (
            f"Nothing can be left out: {size_before} stay as they are, with a mean return of "
            f"{in_units(after.performance)} over {len(seeds):,} episodes."
        )
    return PruneResult(
        rules,
        ruleset,
        scope.words,
        words,
        changed=changed,
        performance=after.performance,
        performance_given=before.performance,
        failed_given=before.failed,
        seeds=seeds,
    )
