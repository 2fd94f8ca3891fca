"""Plans that bid for actions, as in SAMUEL: matching, bidding, and credit after every episode.

At a step, the rules that match most conditions are the match set: all full matches or, where there are none,
the best partial ones. A condition that leaves its feature open always matches. An action's bid is the
greatest strength of the match set's rules that propose it; bids to a power are the odds of being chosen. The
rules of the match set that proposed the chosen action become active. When the episode has ended, every active
rule moves once towards its payoff P, with rate a:

    v = (1 − a)·v + a·(μ − P)²;   μ = (1 − a)·μ + a·P;   strength = μ − b·√v

μ on the right is the mean before the episode (Grefenstette 1992 and 1997). Payoffs are scaled before rules
learn from them, so that strengths lie between 0 and 1.

All plans of a population meet the same starts and, on tables, the same noise; their draws of actions differ.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.batch import Intervals
from ifthen.simulate.table_noise import outcome
from ifthen.simulate.twin_play import Starts, is_finite
from ifthen.tasks.tabular_task import Dynamics
from ifthen.tasks.twin import call_step

MEAN, VARIANCE, STRENGTH = 0, 1, 2
"""The columns of `RuleBatch.learnt` that playing reads and writes; a system may have others behind them."""
TOP_ONLY = 10.0
"""From this power on, only the highest bids count."""
AHEAD = 16
"""The outcomes of this number of steps of a table are drawn at a time."""
REMEMBERED = 4_000_000
"""At most this number of outcomes, which are those of all plans, are remembered while plans play."""
MIDDLE = 0.5
"""Every payoff counts this much as long as all payoffs are the same."""


class Bidding(NamedTuple):
    """How plans play, and what they learn from it."""

    key: np.uint64
    """The stream that starts, noise and choices are drawn from."""
    episodes: int
    """Episodes per plan, each acted by what was learnt from those before."""
    power: float
    """Bids are raised to this power: 0 for equal odds, 1 for odds by strength."""
    greedy: bool
    """Whether the highest bid always wins, of equals the lowest action; `power` is not used then."""
    rate: float
    """The learning rate a; 0 leaves all rules as they are."""
    caution: float
    """b: how many standard deviations a strength lies below the mean."""
    discount: float
    """What the next reward counts beside the present one, in an episode's payoff; 1 for all alike."""
    low: float
    """A payoff P counts (P − low)·scale, from 0 to 1. This is the lowest payoff so far."""
    scale: float
    """The inverse of the range of payoffs; 0 where there is no range yet."""
    trace: int
    """How many steps of an episode are kept, spread evenly over it."""


class Bids(NamedTuple):
    """What n plans did in E episodes."""

    payoffs: Floats
    """`(n, E)`: the sum of rewards, as they are or discounted; not scaled."""
    steps: Ints
    """`(n, E)`."""
    active: Mask
    """`(n, E, rules)`: the rules that proposed what was done at some step."""
    readings: Floats
    """`(n, E, trace, features)`: the points of the steps kept."""
    taken: Ints
    """`(n, E, trace)`: the actions taken there; −1 where fewer steps were made."""

    @classmethod
    def empty(cls, plans: int, rules: int, features: int, lesson: Bidding) -> Self:
        """Return room for the episodes of a lesson."""
        n, episodes, trace = plans, lesson.episodes, lesson.trace
        return cls(
            np.zeros((n, episodes)),
            np.zeros((n, episodes), dtype=np.int64),
            np.zeros((n, episodes, rules), dtype=np.bool_),
            np.zeros((n, episodes, trace, features)),
            np.full((n, episodes, trace), -1, dtype=np.int64),
        )


@kernel
def find_match_set(rules: Intervals, i: int, points: Floats, lane: int, out: Ints) -> int:
    """Write the rules of plan i that match most conditions at the point; return how many they are."""
    best_score, count = -1, 0
    for r in range(rules.lengths[i]):
        score = 0
        for d in range(len(rules.floors)):
            value, low, high = points[lane, d], rules.lows[i, r, d], rules.highs[i, r, d]
            if low > high:
                score += value >= low or value <= high
            else:
                score += low <= value <= high
        if score > best_score:
            best_score, count = score, 0
        if score == best_score:
            out[count] = r
            count += 1
    return count


@kernel
def put_odds(rules: Intervals, i: int, members: Ints, count: int, lesson: Bidding, out: Floats) -> None:
    """Write the odds of all actions `(actions,)` that follow from the bids of plan i's first `count` members.

    Bids below 0 count as 0; where no bid is above 0, all have equal odds.
    """
    out[:] = -math.inf
    highest = -math.inf
    for j in range(count):
        a, strength = rules.actions[i, members[j]], rules.learnt[i, members[j], STRENGTH]
        out[a] = max(out[a], strength)
        highest = max(highest, strength)
    has_winner = False
    for a in range(len(out)):
        if lesson.greedy:
            wins = out[a] == highest and not has_winner
            out[a], has_winner = 1.0 if wins else 0.0, has_winner or wins
        elif out[a] == -math.inf:
            out[a] = 0.0
        elif lesson.power >= TOP_ONLY:
            out[a] = 1.0 if out[a] == highest else 0.0
        else:
            share = max(out[a], 0.0) / highest if highest > 0.0 else 1.0
            out[a] = share if lesson.power == 1.0 else share**lesson.power  # powers take long


@kernel
def drawn_action(odds: Floats, u: float) -> int:
    """Return the action that u in [0, 1) draws by odds `(actions,)`; −1 where all of them are 0."""
    total, last = 0.0, -1
    for a in range(len(odds)):
        if odds[a] > 0.0:
            total += odds[a]
            last = a
    remaining = u * total
    for a in range(last):
        remaining -= odds[a]
        if remaining < 0.0:
            return a
    return last


@kernel
def mark_active(rules: Intervals, i: int, members: Ints, count: int, action: int, active: Mask) -> None:
    """Mark in `active` the rules of a match set of plan i that proposed an action."""
    for j in range(count):
        if rules.actions[i, members[j]] == action:
            active[members[j]] = True


@kernel
def act(
    rules: Intervals, i: int, members: Ints, count: int, lesson: Bidding, u: float, odds: Floats, active: Mask
) -> int:
    """Return the action that a match set of plan i chooses, and mark in `active` the rules that proposed it.

    −1 stands for a plan without any rule. `odds` is scratch, `(actions,)`.
    """
    put_odds(rules, i, members, count, lesson, odds)
    a = drawn_action(odds, u)
    mark_active(rules, i, members, count, a, active)
    return a


@kernel
def credit(rules: Intervals, i: int, active: Mask, payoff: float, lesson: Bidding) -> None:
    """Move the active rules of plan i towards the payoff of an episode."""
    if lesson.rate == 0.0:
        return
    target = (payoff - lesson.low) * lesson.scale if lesson.scale > 0.0 else MIDDLE
    learnt, rate = rules.learnt[i], lesson.rate
    for r in range(rules.lengths[i]):
        if active[r]:
            error = learnt[r, MEAN] - target
            learnt[r, VARIANCE] = (1 - rate) * learnt[r, VARIANCE] + rate * error * error
            learnt[r, MEAN] = (1 - rate) * learnt[r, MEAN] + rate * target
            learnt[r, STRENGTH] = learnt[r, MEAN] - lesson.caution * math.sqrt(learnt[r, VARIANCE])


@kernel
def finish(
    rules: Intervals,
    i: int,
    episode: int,
    length: int,
    points: Floats,
    actions: Ints,
    rewards: Floats,
    lesson: Bidding,
    out: Bids,
) -> None:
    """Write down an episode of plan i, keep some of its steps, and let the active rules learn."""
    payoff, factor = 0.0, 1.0
    for t in range(length):
        payoff += factor * rewards[t]
        factor *= lesson.discount
    out.payoffs[i, episode], out.steps[i, episode] = payoff, length
    n_kept = min(length, lesson.trace)
    for j in range(n_kept):
        t = j * length // n_kept
        out.readings[i, episode, j] = points[t]
        out.taken[i, episode, j] = actions[t]
    credit(rules, i, out.active[i, episode], payoff, lesson)


@kernel
def only_action(odds: Floats) -> int:
    """Return the one action with odds above 0, `(actions,)`; −1 where there are several or none."""
    only = -1
    for a in range(len(odds)):
        if odds[a] > 0.0:
            if only >= 0:
                return -1
            only = a
    return only


@kernel
def put_outcomes(noise: np.uint64, cuts: Floats, first: int, last: int, out: NDArray[np.int32]) -> None:
    """Write the outcomes of steps `first` to `last − 1` of an episode."""
    for t in range(first, last):
        out[t] = outcome(noise, cuts, t + 1)


@kernel
def bid_on_table(
    first: int,
    last: int,
    rules: Intervals,
    lesson: Bidding,
    model: Dynamics,
    cuts: Floats,
    t_max: int,
    out: Bids,
) -> None:
    """Play the episodes of plans `first` to `last − 1` in a table.

    Match sets are found once per state. Rules learn between episodes, so that odds follow once per state and
    episode, and only once per state where they do not learn. Rules become active once per state and action.
    Nothing is drawn where only one action has odds.
    """
    n_states, n_actions, _ = model.next_state.shape
    members, odds = (
        np.empty((n_states, rules.actions.shape[1]), dtype=np.int64),
        np.empty((n_states, n_actions)),
    )
    counts, valid_in = np.empty(n_states, dtype=np.int64), np.empty(n_states, dtype=np.int64)
    only, marked_in = np.empty(n_states, dtype=np.int64), np.empty((n_states, n_actions), dtype=np.int64)
    states, actions = np.empty(t_max, dtype=np.int64), np.empty(t_max, dtype=np.int64)
    row = min(t_max, REMEMBERED // max(1, lesson.episodes))
    outcomes = np.empty((lesson.episodes, row), dtype=np.int32)
    n_outcomes = np.zeros(lesson.episodes, dtype=np.int64)
    for i in range(first, last):
        counts[:], valid_in[:], marked_in[:] = -1, -1, -1
        for episode in range(lesson.episodes):
            noise, active = fold(lesson.key, episode), out.active[i, episode]
            choices = fold(noise, i)
            s = model.starts[below(noise, 0, len(model.starts))]
            t, payoff, factor = 0, 0.0, 1.0
            while t < t_max and s >= 0:
                if counts[s] < 0:
                    counts[s] = find_match_set(rules, i, model.points, s, members[s])
                if valid_in[s] < 0 or (lesson.rate > 0.0 and valid_in[s] != episode):
                    put_odds(rules, i, members[s], counts[s], lesson, odds[s])
                    only[s] = only_action(odds[s])
                    valid_in[s] = episode
                a = only[s]
                if a < 0:
                    a = drawn_action(odds[s], uniform(choices, t))
                if a < 0:
                    break
                if marked_in[s, a] != episode:
                    mark_active(rules, i, members[s], counts[s], a, active)
                    marked_in[s, a] = episode
                if t == n_outcomes[episode] and t < row:
                    n_outcomes[episode] = min(t + AHEAD, row)
                    put_outcomes(noise, cuts, t, n_outcomes[episode], outcomes[episode])
                k = outcomes[episode, t] if t < row else outcome(noise, cuts, t + 1)
                states[t], actions[t] = s, a
                payoff += factor * model.reward[s, a, k]
                factor *= lesson.discount
                s = model.next_state[s, a, k]
                t += 1
            out.payoffs[i, episode], out.steps[i, episode] = payoff, t
            kept = min(t, lesson.trace)
            for j in range(kept):
                step = j * t // kept
                out.readings[i, episode, j] = model.points[states[step]]
                out.taken[i, episode, j] = actions[step]
            credit(rules, i, active, payoff, lesson)


@kernel
def bid_on_twin(
    first: int,
    last: int,
    rules: Intervals,
    lesson: Bidding,
    address: int,
    starts: Starts,
    n_actions: int,
    out: Bids,
    out_bad: Ints,
    out_last: Floats,
) -> None:
    """Play the episodes of plans `first` to `last − 1` in a twin.

    Where a number is not finite, `out_bad` gets the start and the step, and `out_last` what was observed.
    """
    features = starts.points.shape[1]
    state, observed = np.empty((1, starts.states.shape[1])), np.empty((1, features))
    reward, members = np.empty(1), np.empty(rules.actions.shape[1], dtype=np.int64)
    points, actions = np.empty((starts.t_max, features)), np.empty(starts.t_max, dtype=np.int64)
    rewards, odds = np.empty(starts.t_max), np.empty(n_actions)
    for i in range(first, last):
        for episode in range(lesson.episodes):
            noise, active = fold(lesson.key, episode), out.active[i, episode]
            choices = fold(noise, i)
            start = below(noise, 0, len(starts.states))
            state[0], observed[0] = starts.states[start], starts.points[start]
            t, ended = 0, False
            while t < starts.t_max and not ended:
                count = find_match_set(rules, i, observed, 0, members)
                a = act(rules, i, members, count, lesson, uniform(choices, t), odds, active)
                if a < 0:
                    break
                points[t], actions[t] = observed[0], a
                ended = call_step(address, state, 0, a, observed, reward)
                rewards[t] = reward[0]
                t += 1
                if not is_finite(observed, 0) or not math.isfinite(reward[0]):
                    out_bad[i, 0], out_bad[i, 1] = start, t
                    out_last[i, :features] = observed[0]
                    out_last[i, features] = reward[0]
                    return
            finish(rules, i, episode, t, points, actions, rewards, lesson, out)


@kernel
def bid_lanes(
    rules: Intervals,
    lesson: Bidding,
    episode: int,
    plans: Ints,
    points: Floats,
    steps: Ints,
    n_actions: int,
    active: Mask,
    out: Ints,
) -> None:
    """Write the action of every lane `(m,)`: that of its plan at its point `(m, features)`; 0 for plan −1.

    `steps`, `(n,)`, counts the steps that each plan has made in this episode, whose rules are marked in
    `active`, `(n, episodes, rules)`.
    """
    members, odds = np.empty(rules.actions.shape[1], dtype=np.int64), np.empty(n_actions)
    noise = fold(lesson.key, episode)
    for lane in range(len(plans)):
        i = plans[lane]
        out[lane] = 0
        if i >= 0:
            u = uniform(fold(noise, i), steps[i])
            count = find_match_set(rules, i, points, lane, members)
            out[lane] = act(rules, i, members, count, lesson, u, odds, active[i, episode])
            steps[i] += 1
