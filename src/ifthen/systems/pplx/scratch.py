"""Lists from scratch: random short lists and small changes of them, with no idea of what actions are worth.

A test separates two visited points: its threshold lies between their values.
"""

from __future__ import annotations

import numpy as np

from ifthen.rules.arrays import Floats, Ints
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.drafts import Draft, actions_at, deciders, tidy, without_rule
from ifthen.systems.pplx.knowledge import UNPLAYED, Knowledge
from ifthen.systems.pplx.scoring import unplayed, with_scores

TESTS_OF_A_RULE = (1, 1, 2, 2, 3)
"""The number of tests of a new rule is drawn from these."""
LONGEST = 12
"""Evolved lists have at most this many rules."""
MOVE_THRESHOLD = 0.30
"""A change is drawn as a number from 0 to 1. Below this one, it moves a threshold."""
NEW_RULE = 0.58
"""From MOVE_THRESHOLD up to this number, a rule is added."""
OTHER_END = 0.68
"""From NEW_RULE up to this number, the last rules are those of another list."""
NEW_TEST = 0.77
"""From OTHER_END up to this number, a rule gets one more test."""
DROP_TEST = 0.85
"""From NEW_TEST up to this number, a test is dropped."""
OTHER_ACTION = 0.92
"""From DROP_TEST up to this number, a rule takes another action."""
DROP_RULE = 0.97
"""From OTHER_ACTION up to this number, a rule is dropped. Larger ones swap two rules."""
MOVES = (0.03, 0.1, 0.3)
"""A threshold moves by a normal deviate times one of these, in units of its feature's spread."""
PARENTS = 20
"""The population has this many lists."""
CHILDREN = 16
"""A generation has this many children."""
FEW_SEEDS = 3
"""New lists first play this many episodes."""
MORE_SEEDS = 8
"""Lists that look good play this many episodes in all."""
BEHAVIOUR = 150
"""A child is not played if it acts like another list at this many points."""
DRAWING_TAKES = 0.3
"""Random lists take this share of an epoch's steps, before any is changed."""
SEEKING_TAKES = 0.15
"""While all lists get the same return, random lists take up to this share of the plan's steps."""
SCORED = 2
"""This many of the best lists are scored after an epoch."""
WATCHED = 2
"""The steps of this many episodes of the best list are kept after an epoch."""


def evolve(bench: Bench, known: Knowledge, last: bool) -> Knowledge:
    """Draw lists at random and change the better ones, as far as the steps go.

    Args:
        bench: plays.
        known: what is known.
        last: whether this is the last epoch of the phase. Lists without a score are then dropped.
    """
    factor = bench.episode_factor
    n_first, seeds = factor * FEW_SEEDS, bench.seeds(factor * MORE_SEEDS)
    sought = [] if known.returns_differ and not known.learnt_nothing else seek(bench, known, seeds[0])
    if bench.quota < PARENTS * n_first * known.episode_length and not sought:
        return known.only_played() if last else known  # too few steps to compare anything
    points, n_actions, drafts = bench.clipped(known.states), bench.task.n_actions, known.drafts + sought
    returns = bench.play(drafts, seeds[:n_first])
    while bench.n_steps < DRAWING_TAKES * bench.quota:
        children = [random_draft(bench.rng, points, n_actions) for _ in range(CHILDREN)]
        children = [bench.readable(child, known) for child in children]
        drafts = drafts + children
        returns = np.vstack([returns, bench.play(children, seeds[:n_first])])
    best_indices = np.argsort(-returns.mean(axis=1), kind="stable")[:PARENTS]
    drafts = [drafts[i] for i in best_indices]
    returns = np.hstack([returns[best_indices], bench.play(drafts, seeds[n_first:])])
    probes = points[bench.rng.integers(len(points), size=BEHAVIOUR)]
    behaviours = {actions_at(draft, probes).tobytes() for draft in drafts}
    while bench.steps_left > 0 and (children := bred(bench, known, drafts, points, probes, behaviours)):
        drafts, returns = survivors(bench, drafts, returns, children, seeds)
    known = kept_lists(bench, known, drafts, last)
    return bench.with_episodes(known, bench.record(known.best_draft, bench.seeds(WATCHED)))


def seek(bench: Bench, known: Knowledge, seed: np.int64) -> list[Draft]:
    """Draw lists at random until one gets more than all others so far, in one episode each.

    As long as all lists get the same, less will do, too.
    """
    points, n_actions = bench.clipped(known.states), bench.task.n_actions
    if n_actions < 2 or not np.ptp(points, axis=0).any():
        return []
    max_steps = bench.n_steps + SEEKING_TAKES * known.budget
    known_returns = bench.play(known.drafts, np.array([seed]))
    while bench.n_steps < max_steps:
        n_drafts = bench.affordable_episodes(max_steps - bench.n_steps, known.episode_length, 1, CHILDREN)
        drafts = [random_draft(bench.rng, points, n_actions) for _ in range(n_drafts)]
        drafts = [bench.readable(draft, known) for draft in drafts]
        returns = bench.play(drafts, np.array([seed]))[:, 0]
        differs = returns > known_returns.max() if known.returns_differ else returns != known_returns[0, 0]
        if differs.any():
            return [drafts[i] for i in np.flatnonzero(differs)]
    return []


def bred(
    bench: Bench,
    known: Knowledge,
    drafts: list[Draft],
    points: Floats,
    probes: Floats,
    behaviours: set[bytes],
) -> list[Draft]:
    """Return children of the better lists that do what no list has done; `behaviours` takes them in."""
    children: list[Draft] = []
    for _ in range(10 * CHILDREN):
        first, second = (drafts[bench.rng.integers(len(drafts), size=3).min()] for _ in range(2))
        child = changed(bench.rng, first, second, points, bench.task.n_actions)
        child = bench.readable(child, known)
        behaviour = actions_at(child, probes).tobytes()
        if behaviour not in behaviours:
            behaviours.add(behaviour)
            children.append(child)
        if len(children) == CHILDREN:
            break
    return children


def survivors(
    bench: Bench, drafts: list[Draft], returns: Floats, children: list[Draft], seeds: Ints
) -> tuple[list[Draft], Floats]:
    """Return the better ones of lists and children, with their returns; hopeless children stop early."""
    n_first = bench.episode_factor * FEW_SEEDS
    child_returns = bench.play(children, seeds[:n_first])
    median_return = np.median(returns[:, :n_first].mean(axis=1))
    optimistic_means = child_returns.mean(axis=1) + child_returns.std(axis=1) / np.sqrt(n_first)
    hopeful = np.flatnonzero(optimistic_means >= median_return)
    if len(hopeful):
        hopeful_children = [children[i] for i in hopeful]
        drafts = drafts + hopeful_children
        later_returns = bench.play(hopeful_children, seeds[n_first:])
        returns = np.vstack([returns, np.hstack([child_returns[hopeful], later_returns])])
    best_indices = sorted(range(len(drafts)), key=lambda i: (-returns[i].mean(), drafts[i].size))[:PARENTS]
    return [drafts[i] for i in best_indices], returns[best_indices]


def kept_lists(bench: Bench, known: Knowledge, drafts: list[Draft], last: bool) -> Knowledge:
    """Return what is known with the best lists and those of a single rule scored, and the others behind."""
    scores = {draft.key(): fitness for draft, fitness in zip(known.drafts, known.fitness, strict=True)}
    singles = [draft for draft in known.only_played().drafts if len(draft.actions) == 1]
    chosen = list({draft.key(): draft for draft in [*drafts[:SCORED], known.best_draft, *singles]}.values())
    known = known.with_drafts(chosen, [scores.get(draft.key(), UNPLAYED) for draft in chosen])
    known = with_scores(bench, known)
    keys = {draft.key() for draft in chosen}
    others = [] if last else [draft for draft in drafts[SCORED:] if draft.key() not in keys]
    return known.with_drafts([*chosen, *others], [*known.fitness, *unplayed(others)])


def single(action: int, features: int) -> Draft:
    """Return the list that always does the same."""
    everywhere = np.full((1, features), np.inf)
    return Draft(-everywhere, everywhere, np.array([action], np.int32), np.zeros((0, features)))


def add_test(rng: np.random.Generator, points: Floats, point: Floats, low: Floats, high: Floats) -> None:
    """Add a test to a condition, given by its ends `(columns,)`, that holds at a point and not at another."""
    for _ in range(10):
        other, d = points[rng.integers(len(points))], int(rng.integers(len(point)))
        if other[d] != point[d]:
            threshold = point[d] + (other[d] - point[d]) * rng.uniform(0.1, 0.9)
            if other[d] > point[d]:
                high[d] = threshold
            else:
                low[d] = threshold
            return


def with_rule(
    rng: np.random.Generator, draft: Draft, points: Floats, point: Floats, position: int, action: int
) -> Draft:
    """Return a list with a new rule that holds at a point."""
    low, high = np.full(draft.lows.shape[1], -np.inf), np.full(draft.lows.shape[1], np.inf)
    for _ in range(rng.choice(TESTS_OF_A_RULE)):
        add_test(rng, points, point, low, high)
    lows, highs = np.insert(draft.lows, position, low, axis=0), np.insert(draft.highs, position, high, axis=0)
    return tidy(Draft(lows, highs, np.insert(draft.actions, position, action), draft.terms))


def random_draft(rng: np.random.Generator, points: Floats, n_actions: int) -> Draft:
    """Return a list of one to three rules and a last one."""
    draft = single(int(rng.integers(n_actions)), points.shape[1])
    for _ in range(rng.integers(1, 4)):
        point = points[rng.integers(len(points))]
        draft = with_rule(rng, draft, points, point, 0, int(rng.integers(n_actions)))
    return draft


def changed(rng: np.random.Generator, parent: Draft, other: Draft, points: Floats, n_actions: int) -> Draft:
    """Return a child of a list without terms: it differs in one thing, or ends as another list does.

    Where a list has no room for a kind of change, the next kind takes its place.
    """
    draw, n_rules = rng.random(), len(parent.actions)
    lows, highs, new_actions = parent.lows.copy(), parent.highs.copy(), parent.actions.copy()
    thresholds = [(ends, r, c) for ends in (lows, highs) for r, c in np.argwhere(np.isfinite(ends))]
    point = points[rng.integers(len(points))]
    if draw < MOVE_THRESHOLD and thresholds:
        ends, r, c = thresholds[rng.integers(len(thresholds))]
        ends[r, c] += rng.standard_normal() * rng.choice(MOVES) * points[:, c].std()
        return parent._replace(lows=lows, highs=highs)
    if draw < NEW_RULE and n_rules < LONGEST:
        rule_index = int(deciders(parent, point[None])[0])
        shift = rng.integers(1, n_actions) if n_actions > 1 else 0
        action = int((new_actions[rule_index] + shift) % n_actions)
        return with_rule(rng, parent, points, point, rule_index, action)
    if draw < OTHER_END and n_rules > 1:
        k, m = int(rng.integers(1, n_rules)), int(rng.integers(len(other.actions)))
        mixed = joined(parent, k, other, m)
        return mixed if len(mixed.actions) <= LONGEST else parent
    if draw < NEW_TEST and n_rules > 1:
        r = int(rng.integers(n_rules - 1))
        add_test(rng, points, point, lows[r], highs[r])
        return tidy(parent._replace(lows=lows, highs=highs))
    if draw < DROP_TEST and thresholds:
        ends, r, c = thresholds[rng.integers(len(thresholds))]
        ends[r, c] = -np.inf if ends is lows else np.inf
        return tidy(parent._replace(lows=lows, highs=highs))
    if draw < OTHER_ACTION and n_actions > 1:
        r = int(rng.integers(n_rules))
        new_actions[r] = (new_actions[r] + rng.integers(1, n_actions)) % n_actions
        return tidy(parent._replace(actions=new_actions))
    if draw < DROP_RULE and n_rules > 1:
        return without_rule(parent, int(rng.integers(n_rules - 1)))
    if n_rules > 2:
        i, j = rng.choice(n_rules - 1, 2, replace=False)
        return swapped(parent, i, j)
    return random_draft(rng, points, n_actions)


def joined(first: Draft, k: int, second: Draft, m: int) -> Draft:
    """Return the first k rules of a list without terms, and those of another from number m on."""
    lows = np.concatenate([first.lows[:k], second.lows[m:]])
    highs = np.concatenate([first.highs[:k], second.highs[m:]])
    actions = np.concatenate([first.actions[:k], second.actions[m:]])
    return tidy(Draft(lows, highs, actions, first.terms))


def swapped(draft: Draft, i: int, j: int) -> Draft:
    """Return a list in which rules i and j have changed places."""
    order = np.arange(len(draft.actions))
    order[i], order[j] = j, i
    return tidy(
        draft._replace(lows=draft.lows[order], highs=draft.highs[order], actions=draft.actions[order])
    )
