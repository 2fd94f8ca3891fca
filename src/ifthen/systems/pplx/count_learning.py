"""Learning from counts in an environment with few distinct observations: epochs in place of the network's.

Episodes are played by the counts' own optimal policy, with random actions mixed in. In every third round an
action that was never tried counts as the best one, so that no state is left out. Lists are annealed and
shortened by their expected return on the counts. In the end the best of them play.

If observations do not tell all that matters, the counts promise more than their policy gets when it plays.
Then the network learns instead, from the same steps.
"""

from __future__ import annotations

import math

import numpy as np

from ifthen.systems.pplx.bench import LEARNT_ON, Bench
from ifthen.systems.pplx.counted_table import CountModel, count_model
from ifthen.systems.pplx.distil_values import SHORT_SIZES, SIZES, drafts_from_trees
from ifthen.systems.pplx.drafts import Draft, shorter_by_one, tidy
from ifthen.systems.pplx.env_plan import (
    CHOOSING,
    EPOCHS,
    MOST_VALUE_STEPS,
    SEARCH,
    SHARES,
    SHORTENING,
    VALUES,
    Work,
)
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.last_choice import choose_by_counts
from ifthen.systems.pplx.pplx_parameters import PPLXParameters
from ifthen.systems.pplx.scoring import trimmed
from ifthen.systems.pplx.table_search import (
    candidates_for,
    first_lists,
    random_rules,
    rules_for,
    search_length,
)
from ifthen.systems.pplx.value_learning import FEWEST_TESTED_ON, TESTED_FROM, TESTING_TAKES, catch_up

MOST_WORK = 16_000
"""The longest list has at most this many rules, divided by the number of observations. More take too long."""
QUICK = 5
"""The first search for lists tries a fifth of the last one's candidates."""
ENOUGH = 0.001
"""The last search needs no list that is much longer than one that loses only this share of the lead."""
MORE_RULES = 4
"""The last search begins with this many rules more than such a list has."""
TERMS_EVERY = 4
"""Lists with terms are grown in every fourth round."""
GROWN_ON = 6000
"""They are fitted at the points of this many of the latest steps."""
FEWEST_TRIES = 10
"""Counting needs this many steps of the plan for each observation and action."""
ROUNDS_IN_EPOCH = 3
"""An epoch plays this many rounds of episodes, each by the counts so far."""
RANDOM = (0.2, 0.5, 0.2)
"""The probability that a random action begins, in the rounds of an epoch. The first one is optimistic."""
FEWEST_AT_THE_END = 2
"""After the phase, the counts are tested on at least this many episodes, where a plan has few."""
LAST_TEST_TAKES = 0.05
"""More episodes of the last test may take this share of the plan's steps."""
SHORTFALL = 0.25
"""The counts are not believed if their policy gets this share less than they promise. The share is of the
lead over the best single rule."""
ERRORS = 2.0
"""The played return may be too low by this many standard errors."""
RETURN_ROUNDING = 1e-6
"""A return that is too low by no more than this share of the promise differs by rounding."""


def model_for_epoch(bench: Bench, known: Knowledge, work: Work) -> tuple[Knowledge, CountModel | None]:
    """Return what was counted, where that takes the place of the network; None where a network learns.

    Args:
        bench: plays.
        known: what is known.
        work: what the epoch does.
    """
    begins = work.phase == VALUES and work.begins_phase and bench.teacher is None
    if not (begins or known.by_counts) or not len(known.moves):
        return known, None
    model = model_of(bench, known)
    if model is None and not begins:
        progress = work.phase_epoch / EPOCHS[VALUES] if work.phase == VALUES else 1.0
        return catch_up(bench, known, progress), None
    return known.with_clock(by_counts=float(model is not None)), model


def counted_epoch(
    bench: Bench,
    known: Knowledge,
    model: CountModel,
    parameters: PPLXParameters,
    work: Work,
    plan_steps_left: float,
) -> tuple[Knowledge, float | None]:
    """Go one epoch on where steps are counted; return the error of what counts promise, too.

    Args:
        bench: plays.
        known: what is known.
        model: what was counted.
        parameters: of the system.
        work: what the epoch does.
        plan_steps_left: the steps of the plan that were not taken; the choice in the end takes all of them.
    """
    if work.activity == CHOOSING:
        bench.quota = max(bench.quota, plan_steps_left)
        return choose_by_counts(bench, compared(known, model, [])).without_memory(), None
    if work.phase == SEARCH:
        new_drafts = shorter_lists(bench, known) if work.activity == SHORTENING else []
        return compared(known, model, new_drafts), None
    known = explore_counts(bench, known, model)
    model = model_of(bench, known) or model
    if work.phase == VALUES:
        if work.phase_epoch < TESTED_FROM * EPOCHS[VALUES]:
            return known, None
        known, error, overpromises = tested(bench, known, model, is_last=work.ends_phase)
        progress = (work.phase_epoch + 1) / EPOCHS[VALUES]
        return (catch_up(bench, known, progress) if overpromises else known), error
    new_drafts = list[Draft]()
    if work.begins_phase or work.ends_phase:
        new_drafts = annealed(bench, known, model, parameters, is_last=work.ends_phase)
    elif work.phase_epoch % TERMS_EVERY == 0 and parameters.terms:
        new_drafts = grown_lists(bench, known, model)
    return compared(known, model, [*new_drafts, *shorter_lists(bench, known)]), None


def model_of(bench: Bench, known: Knowledge) -> CountModel | None:
    """Return what was counted; None where there are too many observations to try all actions."""
    steps = min(SHARES[VALUES] * known.budget, MOST_VALUE_STEPS)
    max_observations = steps / (FEWEST_TRIES * bench.task.n_actions)
    return count_model(bench.task, known.memory, bench.given_terms, max_observations)


def explore_counts(bench: Bench, known: Knowledge, model: CountModel) -> Knowledge:
    """Play the epoch's episodes by the counts, which are counted again after each round."""
    turn, quota, current = 0, (1 - TESTING_TAKES) * bench.quota, model
    while turn == 0 or bench.n_steps < quota:
        steps = min(quota / ROUNDS_IN_EPOCH, quota - bench.n_steps)
        n_episodes = bench.affordable_episodes(
            steps, known.episode_length, 1, bench.episode_factor * LEARNT_ON
        )
        policy = current.lookup(current.solved if turn % ROUNDS_IN_EPOCH else current.optimistic)
        key = bench.key("explore", bench.n_steps)
        episodes = bench.explore(policy, RANDOM[turn % ROUNDS_IN_EPOCH], bench.fresh_seeds(n_episodes), key)
        known = bench.with_episodes(known, episodes)
        turn, recounted = turn + 1, model_of(bench, known)
        if recounted is None:
            break
        current = recounted
    return known


def tested(
    bench: Bench, known: Knowledge, model: CountModel, is_last: bool
) -> tuple[Knowledge, float | None, bool]:
    """Play by the counts alone; return the error of what they promise, and whether they promise too much.

    There is no error where the steps allow too few episodes. The last test needs fewer.

    Args:
        bench: plays.
        known: what is known.
        model: what was counted.
        is_last: whether this is the last test.
    """
    length, max_episodes = known.episode_length, bench.episode_factor * LEARNT_ON
    n_episodes = bench.affordable_episodes(bench.steps_left, length, 0, max_episodes)
    if is_last and n_episodes < FEWEST_TESTED_ON:
        steps = LAST_TEST_TAKES * known.budget
        n_episodes = bench.affordable_episodes(steps, length, FEWEST_AT_THE_END, FEWEST_TESTED_ON)
    elif n_episodes < FEWEST_TESTED_ON:
        return known, None, False
    episodes = bench.explore(model.lookup(model.solved), 0.0, bench.fresh_seeds(n_episodes), np.uint64(0))
    returns = [episode.discounted(bench.task.gamma) for episode in episodes]
    mean_return, standard_error = float(np.mean(returns)), float(np.std(returns)) / math.sqrt(n_episodes)
    promise = model.promise(model.solved.q.argmax(axis=1))
    lead = promise - float(np.nanmax(known.scores[known.lengths == 1]))
    known = bench.with_episodes(known, episodes).with_clock(network_return=mean_return)
    shortfall = promise - mean_return
    allowed = SHORTFALL * max(0.0, lead) + ERRORS * standard_error + RETURN_ROUNDING * abs(promise)
    return known, abs(shortfall), shortfall > allowed


def annealed(
    bench: Bench, known: Knowledge, model: CountModel, parameters: PPLXParameters, is_last: bool
) -> list[Draft]:
    """Return the best list of each length on the counts: from the longest down to one rule.

    Args:
        bench: random numbers.
        known: what is known.
        model: the counts.
        parameters: how many rules and candidates, if the user says so.
        is_last: whether this is the last search, and not a quick one with fewer candidates.
    """
    table = model.solved.table
    n_states, n_actions, _ = table.next_state.shape
    longest = parameters.most_rules or min(rules_for(n_states, n_actions), max(1, MOST_WORK // n_states))
    longest = min(longest, enough_rules(known)) if is_last else longest
    candidates = max(1, (parameters.candidates or candidates_for(n_states)) // (1 if is_last else QUICK))
    first = random_rules([int(bench.key("first list", r)) for r in range(longest)], table)
    lists = first_lists(model.solved, np.zeros((0, 0, 0), np.int64), first)
    for n_rules in range(longest, 0, -1):
        search_length(bench.key("anneal", n_rules), n_rules, model.solved, lists, candidates)
    drafts = [tidy(model.draft(lists.rules(n_rules + 1, table.points))) for n_rules in range(longest)]
    return [bench.readable(draft, known) for draft in drafts]


def enough_rules(known: Knowledge) -> int:
    """Return the rules of the longest list to search for, once the quick search has shown what they bring."""
    good = known.scores >= known.best_score - ENOUGH * known.gain
    return int(known.lengths[good].min()) + MORE_RULES


def grown_lists(bench: Bench, known: Knowledge, model: CountModel) -> list[Draft]:
    """Return lists with terms, read off trees and fitted to the counts' action values."""
    bench.count_model = model
    known = known._replace(states=known.points[known.moves >= 0][-GROWN_ON:])
    return drafts_from_trees(bench, known, True, SHORT_SIZES + SIZES)


def shorter_lists(bench: Bench, known: Knowledge) -> list[Draft]:
    """Return the lists of the front with one rule or one test less."""
    drafts = known.drafts
    shorter = [draft for i in known.front_indices for draft in shorter_by_one(drafts[i])]
    return [bench.readable(draft, known) for draft in shorter]


def compared(known: Knowledge, model: CountModel, new_drafts: list[Draft]) -> Knowledge:
    """Return what is known with more lists, all of them scored by the counts, and the best of them kept."""
    drafts = list({draft.key(): draft for draft in [*known.drafts, *new_drafts]}.values())
    scores = model.worth(drafts)
    return trimmed(known.with_drafts(drafts, [[score, 0.0, 1.0] for score in scores]))
