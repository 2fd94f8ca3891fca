"""Rules from a log: lists that are learnt from recorded steps alone, and what can be said of them.

Nothing is played, so returns are estimated. Episodes are parted: 60 % to learn from, 20 % to choose the list
on, and 20 % for the estimates, which nothing was learnt or chosen on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ifthen.checks import real_number, whole_number
from ifthen.digits import in_units, percent, plural
from ifthen.environments.make import TaskLike, as_task
from ifthen.errors import ParameterError
from ifthen.notebook import Part, Shown
from ifthen.parallel import checked_threads
from ifthen.rules.ruleset import RuleSet
from ifthen.runs.step_log import StepLog, in_pieces, read_log
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.front import MOST, Front, Point
from ifthen.systems.pplx import offline_learning as learning
from ifthen.systems.pplx.action_costs import ActionCosts
from ifthen.systems.pplx.drafts import ruleset
from ifthen.text_table import TextTable

LEARNING, CHOOSING = 0.6, 0.2
"""The shares of the log to learn from, and to choose the list on. Estimates are learnt from the rest."""
FEWEST_EPISODES = 10
"""Where there are fewer episodes, they are cut into about PIECES pieces."""
PIECES = 50
"""See FEWEST_EPISODES."""
FEW_STARTS = 30
"""A note says where estimates are means over fewer starts than this."""
FEWEST_STEPS = 500
"""Shorter logs are refused."""
GIVEN_UP = 0.02
"""The list that is handed out gives up at most this share of the best one's lead."""
MOST_RULES = 10
"""A longer list is handed out only if it gains 2.5 % of the lead."""
RARE = 0.01
"""A note names actions that the log takes in a smaller share of its steps."""
SCORED = "share of the possible cost that is avoided"
"""The name of a list's score."""


class Estimate(NamedTuple):
    """What a list of the front may be worth."""

    point: Point
    """The list, with its score on the steps to choose on."""
    expected: float
    """Its estimated mean discounted return."""
    same: float
    """The share of the logged steps in which it takes the logged action."""


@dataclass(frozen=True, eq=False, repr=False)
class OfflineResult(Shown):
    """Lists that were learnt from a log.

    Args:
        log: the log.
        gamma: the discount factor of returns.
        chosen: the list that was asked for.
        estimates: the best list of each length.
        logged: the estimated mean discounted return of what acted in the log.
        n_starts: how many starts the estimates are means over.
    """

    log: StepLog
    gamma: float
    chosen: Estimate
    estimates: tuple[Estimate, ...]
    logged: float
    n_starts: int

    @property
    def ruleset(self) -> RuleSet:
        """The list that was asked for."""
        return self.chosen.point.ruleset

    @property
    def front(self) -> Front:
        """The best list of each length."""
        points = tuple(estimate.point for estimate in self.estimates)
        return Front(points, SCORED, marked=self.chosen.point, mark="chosen")

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about the estimates."""
        numbers = ", ".join(f"{a} {name}" for a, name in enumerate(self.log.action_names))
        notes = [
            "Same action: as in the log. By cost: 100 % is no loss, 0 % the worst action everywhere, by "
            "the values that were learnt.",
            "Returns are estimated from a fifth of the log, which nothing else was learnt from, and go on "
            "past time limits. Where a list does what the log hardly shows, they can be far off: test it "
            "before use.",
            f"Actions by number: {numbers}.",
        ]
        if self.chosen.expected <= self.logged:
            notes.append("The chosen list is not estimated to be better than what acted in the log.")
        if self.n_starts < FEW_STARTS:
            notes.append(f"Estimates are means over {plural(self.n_starts, 'start')} only.")
        names = zip(self.log.action_names, self.log.action_shares.tolist(), strict=True)
        if rare := [f"{name} ({percent(share)})" for name, share in names if share < RARE]:
            notes.append(
                f"The log hardly ever takes {', '.join(rare)}: little is known of what that leads to."
            )
        return tuple(notes)

    def tables(self) -> list[TextTable]:
        """Return the estimates and the front."""
        rows = tuple(
            (
                "as logged" if estimate is None else plural(estimate.point.rules, "rule"),
                "" if estimate is None else str(estimate.point.tests),
                in_units(self.logged if estimate is None else estimate.expected, self.logged),
                "" if estimate is None else f"{estimate.same:.1%}",
                "" if estimate is None else f"{estimate.point.score:.1%}",
                "chosen" if estimate is self.chosen else "",
            )
            for estimate in (None, *self.estimates)
        )
        steps, episodes = plural(self.log.n_steps, "step"), plural(len(self.log.episodes), "episode")
        title = f"Rules from {steps} in {episodes}: estimated discounted return (γ = {self.gamma:g})"
        headings = "", "tests", f"from {plural(self.n_starts, 'start')}", "same action", "by cost", ""
        return [TextTable(title, headings, rows, self.notes)]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""

        def plain(estimate: Estimate) -> dict[str, Any]:
            numbers = {"estimated return": estimate.expected, "same action": estimate.same}
            return {**estimate.point.to_dict(), **numbers}

        return {
            "steps": self.log.n_steps,
            "episodes": len(self.log.episodes),
            "gamma": self.gamma,
            "estimated return as logged": self.logged,
            "starts": self.n_starts,
            "chosen": plain(self.chosen),
            "front": [plain(estimate) for estimate in self.estimates],
        }

    def shown_parts(self) -> list[Part]:
        """Return the table and the rules."""
        return [*self.tables(), *self.ruleset.shown_parts()]


def learn_offline(
    log: object,
    task: TaskLike | None = None,
    *,
    rules: int | None = None,
    tests: int | None = None,
    terms: bool = True,
    action_names: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    gamma: float = 0.99,
    caution: float = learning.CAUTION,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[str], object] | None = None,
) -> OfflineResult:
    """Learn a short list of rules from recorded steps alone, and estimate what it is worth.

    Args:
        log: the path of a CSV or Parquet file with a row for each step: the columns `action` and `reward`,
            `terminated` (nothing comes after the step), `truncated` (somebody stopped there) or `episode`
            if there is more than one episode, and a column for each feature. Or a mapping of arrays:
            `observations`, `actions`, `rewards`, `terminations`, and `truncations` and
            `next_observations` if they are known. Or a dataset of Minari.
        task: gives features and actions their names, ranges and units. It is not played.
        rules: the most rules of the list; the shortest list that is nearly the best where None.
        tests: the most comparisons of the list, in the same way.
        terms: whether rules may compare sums of two features.
        action_names: names of the actions in the order of their numbers. Where the log has names itself,
            their order; the alphabetical one where None.
        leave_out: the names of columns that are no features, such as times.
        gamma: the discount factor.
        caution: how strongly actions that the log does not take are made to look worse: 0 trusts all
            values, 1 and more keep close to what the log does.
        seed: seed of everything random.
        threads: threads; all cores where None. The result does not depend on it.
        progress: called with a few words on what is being done.
    """
    if rules is not None:
        whole_number("rules", rules, 1, MOST)
    if tests is not None:
        whole_number("tests", tests, 0, MOST)
    gamma, caution = real_number("gamma", gamma, 0, 0.9999), real_number("caution", caution, 0, 1000)
    seed = whole_number("seed", seed, 0, 2**63 - 1)
    tell = progress or (lambda _: None)
    tell("reading the log")
    steps = read_log(log, None if task is None else as_task(task), action_names, leave_out)
    if steps.n_steps < FEWEST_STEPS:
        raise ParameterError(
            f"{plural(steps.n_steps, 'step')} are too few to learn from: give at least {FEWEST_STEPS}."
        )
    costing = ActionCosts(steps.features, len(steps.action_names), seed, 0, checked_threads(threads))
    learnt, choosing, held_out = parted(steps, costing)
    tell("learning what actions are worth")
    known = learning.learn_values(costing, learnt, gamma, caution)
    tell("drawing up lists")
    drafts = learning.lists_from_values(costing, known, terms)
    points, costs = costing.labelled(known, np.vstack([episode.points for episode in choosing]))
    scores = [learning.share_of_costs(points, costs, draft) for draft in drafts]
    rulesets = [ruleset(draft, steps) for draft in drafts]
    front = Front.of(map(Point, rulesets, scores), SCORED)
    logged = np.concatenate([episode.actions for episode in steps.episodes])
    logged_points = np.vstack([episode.points for episode in steps.episodes])
    draft_of = {id(rules_of): draft for rules_of, draft in zip(rulesets, drafts, strict=True)}
    estimates = []
    for point in front.points:
        tell(f"estimating what lists are worth: {plural(point.rules, 'rule')}")
        draft = draft_of[id(point.ruleset)]
        same = float((learning.list_actions(costing, draft, logged_points) == logged).mean())
        estimates.append(Estimate(point, learning.estimated_return(costing, held_out, gamma, draft), same))
    tell("estimating what the log is worth")
    chosen = (
        front.knee(GIVEN_UP, soft_limit=MOST_RULES)
        if rules is None and tests is None
        else front.at(rules, tests)
    )
    return OfflineResult(
        steps,
        gamma,
        estimates[front.points.index(chosen)],
        tuple(estimates),
        learning.estimated_return(costing, held_out, gamma, None),
        len(held_out),
    )


def parted(log: StepLog, costing: ActionCosts) -> tuple[list[Trajectory], ...]:
    """Return the episodes to learn from, to choose on and to estimate from, drawn at random."""
    pieces, n_steps = list(log.episodes), log.n_steps
    if len(pieces) < FEWEST_EPISODES:
        pieces = [piece for episode in pieces for piece in in_pieces(episode, -(-n_steps // PIECES))]
    order = costing.rng.permutation(len(pieces))
    shares = np.cumsum([len(pieces[i].actions) for i in order]) / n_steps
    ends = np.searchsorted(shares, (LEARNING, LEARNING + CHOOSING))
    first = int(np.clip(ends[0] + 1, 1, len(pieces) - 2))
    second = int(np.clip(ends[1] + 1, first + 1, len(pieces) - 1))
    return tuple([pieces[i] for i in sorted(part)] for part in np.split(order, (first, second)))
