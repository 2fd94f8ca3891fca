"""Plain-Python oracles of PPL-X: lists as tuples, values by sweeps, every state searched for.

They draw the same random numbers as the kernels. A rule is (lows, highs, action); a table is anything with
the fields of a learnt table, read number by number.
"""

from __future__ import annotations

import math
from typing import Any

from tests import naive

Rule = tuple[list[int], list[int], int]
SWEEPS = 5_000

# The table


def action_value(table: Any, values: list[float], s: int, a: int) -> float:
    """The mean of reward and discounted value of what follows."""
    total = 0.0
    for k in range(table.probability.shape[2]):
        after = int(table.next_state[s, a, k])
        follows = table.gamma * values[after] if after >= 0 else 0.0
        total += float(table.probability[s, a, k]) * (float(table.reward[s, a, k]) + follows)
    return total


def optimal_values(table: Any) -> list[float]:
    """Value iteration, from one table of values to the next."""
    states, actions, _ = table.next_state.shape
    values = [0.0] * states
    for _ in range(SWEEPS):
        values = [max(action_value(table, values, s, a) for a in range(actions)) for s in range(states)]
    return values


def policy_values(table: Any, policy: list[int]) -> list[float]:
    """Policy evaluation, from one table of values to the next."""
    values = [0.0] * len(policy)
    for _ in range(SWEEPS):
        after = [action_value(table, values, s, a) for s, a in enumerate(policy)]
        if max(abs(x - y) for x, y in zip(values, after, strict=True)) < 1e-15:
            break
        values = after
    return values


def occupancy(table: Any, policy: list[int]) -> list[float]:
    """Discounted visits from the starts, step by step."""
    here, total = [float(p) for p in table.starts], [0.0] * len(policy)
    for _ in range(SWEEPS):
        following = [0.0] * len(policy)
        for s, a in enumerate(policy):
            total[s] += here[s]
            for k in range(table.probability.shape[2]):
                after = int(table.next_state[s, a, k])
                if after >= 0:
                    following[after] += table.gamma * float(table.probability[s, a, k]) * here[s]
        here = following
    return total


def start_value(table: Any, policy: list[int]) -> float:
    """The mean value of the starts."""
    return sum(float(p) * v for p, v in zip(table.starts, policy_values(table, policy), strict=True))


def expected_return(table: Any, policy: list[int], t_max: int, gamma: float) -> float:
    """The mean return of episodes of at most t_max steps, from the last step back to the first."""
    values = [0.0] * len(policy)
    for _ in range(t_max):
        after = []
        for s, a in enumerate(policy):
            total = 0.0
            for k in range(table.probability.shape[2]):
                following = int(table.next_state[s, a, k])
                worth = float(table.reward[s, a, k]) + (gamma * values[following] if following >= 0 else 0.0)
                total += float(table.probability[s, a, k]) * worth
            after.append(total)
        values = after
    return sum(float(p) * v for p, v in zip(table.starts, values, strict=True))


def outcomes(moves: list[int], points: list[Any], rewards: list[float]) -> dict[Any, tuple[int, float]]:
    """How often each point follows an action at a point, None for an end, and the mean reward."""
    found: dict[Any, list[float]] = {}
    for i, move in enumerate(moves):
        if move >= 0:
            after = None if moves[i + 1] == -1 else points[i + 1]
            found.setdefault((points[i], move, after), []).append(rewards[i])
    return {key: (len(own), sum(own) / len(own)) for key, own in found.items()}


def least_tried(counts: Any, s: int) -> int:
    """The first of the actions with the smallest count."""
    tried = [sum(int(n) for n in outcomes) for outcomes in counts[s]]
    return tried.index(min(tried))


def collect(key: int, episodes: int, model: Any, t_max: int, explore: float, q: Any, counts: Any) -> int:
    """Play episodes, count what follows; return the steps."""
    steps = 0
    for e in range(episodes):
        own = naive.fold(key, e)
        s, t = int(model.starts[naive.below(own, 0, len(model.starts))]), 0
        while s >= 0 and t < t_max:
            if t == 0 or naive.uniform(own, 2 * t + 1) < explore:
                a = least_tried(counts, s)
            else:
                a = [float(x) for x in q[s]].index(max(float(x) for x in q[s]))
            k, left = 0, naive.uniform(own, 2 * t + 2) - float(model.probability[0])
            while left >= 0 and k + 1 < len(model.probability):
                k += 1
                left -= float(model.probability[k])
            counts[s, a, k] += 1
            s, t = int(model.next_state[s, a, k]), t + 1
        steps += t
    return steps


# Lists


def holds(rule: Rule, point: Any) -> bool:
    """Whether a point is inside a rule's box."""
    return all(low <= x <= high for low, x, high in zip(rule[0], point, rule[1], strict=True))


def decider(rules: list[Rule], point: Any) -> int:
    """The first rule that holds."""
    return next(r for r, rule in enumerate(rules) if holds(rule, point))


def policy_of(rules: list[Rule], points: Any) -> list[int]:
    """The action in every state."""
    return [rules[decider(rules, point)][2] for point in points]


def widened(rules: list[Rule], points: Any, lows: Any, highs: Any) -> list[Rule]:
    """Open ends that make no difference, from the last rule but one to the first."""
    rules = [(list(low), list(high), action) for low, high, action in rules]
    before = policy_of(rules, points)
    for r in range(len(rules) - 2, -1, -1):
        for d in range(len(lows)):
            for side, end in ((0, int(lows[d])), (1, int(highs[d]))):
                ends: Any = rules[r][side]
                present, ends[d] = ends[d], end
                if policy_of(rules, points) != before:
                    ends[d] = present
    return rules


# Changes


def grown(key: int, table: Any, good: list[list[bool]], s: int, a: int, haste: float) -> Rule:
    """A box around a state that grows while an action is good inside."""
    lows, highs = [int(x) for x in table.points[s]], [int(x) for x in table.points[s]]
    sides, number = [True] * (2 * len(lows)), 0
    while any(sides):
        side, number = naive.below(key, 2 * number, len(sides)), number + 1
        if not sides[side]:
            continue
        d, up = side // 2, side % 2
        wider = [list(lows), list(highs)]
        wider[up][d] += 1 if up else -1
        edge = wider[up][d]
        stops = naive.uniform(key, 2 * number + 1) < haste
        stops = stops or edge > table.highs[d] or edge < table.lows[d]
        box: Rule = (wider[0], wider[1], a)
        if not stops and all(
            good[t][a] for t, p in enumerate(table.points) if p[d] == edge and holds(box, p)
        ):
            lows, highs = wider
        else:
            sides[side] = False
    return lows, highs, a


def guide(table: Any, policy: list[int], share: float) -> tuple[list[float], list[list[bool]], list[int]]:
    """Losses, good actions and best actions, by a policy's own values."""
    values, visits = policy_values(table, policy), occupancy(table, policy)
    actions = range(table.next_state.shape[1])
    q = [[action_value(table, values, s, a) for a in actions] for s in range(len(policy))]
    losses = [max(0.0, visits[s] * (max(q[s]) - q[s][a])) for s, a in enumerate(policy)]
    good = [[x >= max(row) - share * tolerance(row) for x in row] for row in q]
    return losses, good, [row.index(max(row)) for row in q]


def tolerance(row: list[float]) -> float:
    """The size of the best action value."""
    return abs(max(row))


def place_to_mend(key: int, losses: list[float], at_a_loss: float) -> int:
    """A state, mostly by how much is lost there."""
    total = sum(losses)
    if total <= 0 or naive.uniform(key, 0) >= at_a_loss:
        return naive.below(key, 1, len(losses))
    left = naive.uniform(key, 2) * total
    for s, loss in enumerate(losses[:-1]):
        if left < loss:
            return s
        left -= loss
    return len(losses) - 1


def replaced(key: int, table: Any, hints: Any, rules: list[Rule], settings: Any) -> list[Rule]:
    """A list without a rule, and with another one that is grown where it loses."""
    losses, good, best = hints
    s, n = place_to_mend(naive.fold(key, 1), losses, settings.AT_A_LOSS), len(rules)
    gone, at = naive.below(key, 3, n - 1), decider(rules, table.points[s])
    rest = rules[:gone] + rules[gone + 1 :]
    at -= gone < at
    place = at if naive.uniform(key, 4) < settings.AT_THE_DECIDER else naive.below(key, 5, at + 1)
    haste = settings.HASTE + settings.MORE_HASTE * naive.uniform(key, 6)
    new = grown(naive.fold(key, 0), table, good, s, best[s], haste)
    place = min(place, n - 2)
    return [*rest[:place], new, *rest[place:]]


def moved(key: int, table: Any, rules: list[Rule], settings: Any) -> list[Rule]:
    """A list with one end of an interval moved, or both."""
    r, d, step = naive.below(key, 0, len(rules) - 1), naive.below(key, 1, len(table.lows)), 1
    while step < settings.LONGEST_STEP and naive.uniform(key, 4 + step) < settings.LONGER_STEP:
        step += 1
    step *= -1 if naive.uniform(key, 2) < 0.5 else 1
    lows, highs = list(rules[r][0]), list(rules[r][1])
    which = naive.below(key, 3, 3)
    if which == 0:
        lows[d] = min(max(lows[d] + step, int(table.lows[d])), highs[d])
    elif which == 1:
        highs[d] = max(min(highs[d] + step, int(table.highs[d])), lows[d])
    elif lows[d] + step >= table.lows[d] and highs[d] + step <= table.highs[d]:
        lows[d], highs[d] = lows[d] + step, highs[d] + step
    return [*rules[:r], (lows, highs, rules[r][2]), *rules[r + 1 :]]


def changed(key: int, table: Any, hints: Any, rules: list[Rule], kind: float, settings: Any) -> list[Rule]:
    """A list that is changed a little."""
    n, actions = len(rules), table.next_state.shape[1]
    if n > 1 and kind < settings.REPLACE:
        return replaced(key, table, hints, rules, settings)
    rules = list(rules)
    if n > 2 and kind < settings.REORDER:
        i, j = naive.below(key, 0, n - 1), naive.below(key, 1, n - 1)
        rules[i], rules[j] = rules[j], rules[i]
    elif n == 1 or kind < settings.ACTION:
        r = naive.below(key, 0, n)
        action = (rules[r][2] + 1 + naive.below(key, 1, actions - 1)) % actions
        rules[r] = rules[r][0], rules[r][1], action
    else:
        return moved(key, table, rules, settings)
    return rules


def annealed(
    key: int, table: Any, candidates: int, hot: float, cold: float, rules: list[Rule], settings: Any
) -> tuple[list[Rule], float]:
    """The list that annealing ends with, and the value of the best one it met."""
    score = top = start_value(table, policy_of(rules, table.points))
    for c in range(candidates):
        own = naive.fold(key, c)
        kind = naive.uniform(own, 0)
        hints = (
            guide(table, policy_of(rules, table.points), settings.GOOD) if kind < settings.REPLACE else None
        )
        trial = changed(naive.fold(own, 0), table, hints, rules, kind, settings)
        new = start_value(table, policy_of(trial, table.points))
        temperature = hot * (cold / hot) ** (c / candidates)
        if new >= score or naive.uniform(own, 1) < math.exp((new - score) / temperature):
            rules, score = trial, new
        top = max(top, score)
    return rules, top


def values_without(table: Any, rules: list[Rule]) -> list[float]:
    """The value of a list without each of its rules but the last."""
    return [
        start_value(table, policy_of(rules[:r] + rules[r + 1 :], table.points)) for r in range(len(rules) - 1)
    ]
