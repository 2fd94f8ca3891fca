"""Plain oracles of what explains a policy: they know nothing of ifthen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

# Boxes in bounded spaces. An axis is (kind, low, high); a box is one (low, high) per axis, both included.

Axis = tuple[str, float, float]
Interval = tuple[float, float]


def segments(axis: Axis, intervals: Sequence[Interval]) -> list[tuple[float, Fraction]]:
    """Return a value of every stretch of an axis in which no interval begins or ends, and its measure."""
    kind, low, high = axis
    if kind == "integer":
        return [(value, Fraction(1)) for value in range(int(low), int(high) + 1)]
    inside = {edge for interval in intervals for edge in interval if low <= edge <= high}
    edges = sorted(inside | {low, high})
    found = [(edge, Fraction(0)) for edge in edges]
    for before, after in itertools.pairwise(edges):
        value = math.nextafter(before, math.inf)
        if value < after:
            found.append((value, Fraction(after) - Fraction(before)))
    if not any(measure for _, measure in found):
        return [(value, Fraction(1)) for value, _ in found]
    return found


def all_cells(
    axes: Sequence[Axis], boxes: Sequence[Sequence[Interval]]
) -> list[tuple[tuple[float, ...], Fraction]]:
    """Return a point of every cell into which boxes cut a space, and the cell's share of the space."""
    sides = [segments(axis, [box[d] for box in boxes]) for d, axis in enumerate(axes)]
    one = Fraction(1)
    whole = math.prod((sum((measure for _, measure in side), Fraction(0)) for side in sides), start=one)
    return [
        (tuple(value for value, _ in cell), math.prod((measure for _, measure in cell), start=one) / whole)
        for cell in itertools.product(*sides)
    ]


def first_box_at(point: Sequence[float], boxes: Sequence[Sequence[Interval]]) -> int:
    """Return the number of the first box around a point, −1 where there is none."""
    for number, box in enumerate(boxes):
        if all(low <= value <= high for value, (low, high) in zip(point, box, strict=True)):
            return number
    return -1


def decided_shares(
    axes: Sequence[Axis], boxes: Sequence[Sequence[Interval]]
) -> dict[int, tuple[int, Fraction]]:
    """Return for every box that is first somewhere, and −1, how many cells that are and their share."""
    found: dict[int, tuple[int, Fraction]] = {}
    for point, share in all_cells(axes, boxes):
        number = first_box_at(point, boxes)
        cells, before = found.get(number, (0, Fraction(0)))
        found[number] = cells + 1, before + share
    return found


def same_everywhere(
    axes: Sequence[Axis],
    boxes_a: Sequence[Sequence[Interval]],
    actions_a: Sequence[int],
    boxes_b: Sequence[Sequence[Interval]],
    actions_b: Sequence[int],
) -> bool:
    """Return whether two decision lists give the same action at every point, −1 where no rule matches."""
    for point, _ in all_cells(axes, [*boxes_a, *boxes_b]):
        a, b = first_box_at(point, boxes_a), first_box_at(point, boxes_b)
        if (actions_a[a] if a >= 0 else -1) != (actions_b[b] if b >= 0 else -1):
            return False
    return True


# Verification. A task is anything with TabularTask's arrays; a policy is every state's action, −1 for none.


def beaten_rules(
    match_sets: Sequence[Sequence[int]], goes_first: Sequence[dict[int, tuple[float, ...]]]
) -> dict[int, list[set[int]]]:
    """Return for every rule which rules go before it, at each of the points that it matches, in their order.

    `goes_first` holds a key of every matching rule at each point; the smallest key decides there.
    """
    rules = {r for match_set in match_sets for r in match_set}
    return {
        r: [
            {q for q in match_set if keys[q] < keys[r]}
            for match_set, keys in zip(match_sets, goes_first, strict=True)
            if r in match_set
        ]
        for r in rules
    }


def needed_alone(
    n_rules: int, points: Sequence[Sequence[float]], choose: Callable[[list[int], Sequence[float]], int]
) -> set[int]:
    """Return the rules without which the rest would choose another action at some point."""
    everything = list(range(n_rules))
    return {
        r
        for r in everything
        if any(choose([q for q in everything if q != r], p) != choose(everything, p) for p in points)
    }


def follow(task: Any, state: int, action: int) -> tuple[set[int], set[float]]:
    """Return the states that can follow, and the rewards of the endings that can."""
    outcomes = range(len(task.probability))
    ends = [k for k in outcomes if task.done[state, action, k]]
    goes_on = {int(task.next_state[state, action, k]) for k in outcomes if k not in ends}
    return goes_on, {float(task.reward[state, action, k]) for k in ends}


def reachable(task: Any, policy: Sequence[int], starts: Iterable[int]) -> set[int]:
    """Return every state that the policy can visit from the starts."""
    seen, waiting = set(), list(starts)
    while waiting:
        state = waiting.pop()
        if state not in seen:
            seen.add(state)
            waiting += follow(task, state, policy[state])[0] if policy[state] >= 0 else []
    return seen


def steps_to(task: Any, policy: Sequence[int], starts: Iterable[int], wanted: set[int]) -> int:
    """Return the fewest steps from a start to a wanted state, −1 where there is no way."""
    steps, now, seen = 0, set(starts), set(starts)
    while now:
        if now & wanted:
            return steps
        now = {n for s in now if policy[s] >= 0 for n in follow(task, s, policy[s])[0]} - seen
        seen, steps = seen | now, steps + 1
    return -1


def best_ending(task: Any, states: Iterable[int]) -> float | None:
    """Return the highest reward of an ending in some states, whatever is done in them."""
    actions = range(task.next_state.shape[1])
    return max((r for s in states for a in actions for r in follow(task, s, a)[1]), default=None)


def endings_met(task: Any, policy: Sequence[int], start: int) -> set[float]:
    """Return the rewards of all endings that the policy can meet from a start."""
    visited = [s for s in reachable(task, policy, [start]) if policy[s] >= 0]
    return {reward for s in visited for reward in follow(task, s, policy[s])[1]}


def costly_reward(task: Any, states: Sequence[int]) -> float | None:
    """Return the lowest reward if it is negative and below that of more than half of all steps."""
    shares: dict[float, float] = {}
    for state, action in itertools.product(states, range(task.next_state.shape[1])):
        for reward, p in zip(task.reward[state, action].tolist(), task.probability.tolist(), strict=True):
            shares[reward] = shares.get(reward, 0.0) + p
    most = [reward for reward, share in shares.items() if share > sum(shares.values()) / 2 + 1e-9]
    return min(shares) if most and min(shares) < min(0, most[0]) else None


def outcomes_met(task: Any, policy: Sequence[int], start: int) -> set[tuple[float, bool]]:
    """Return (reward, done) of all outcomes that the policy can meet from a start."""
    return {
        (float(reward), bool(done))
        for s in reachable(task, policy, [start])
        if policy[s] >= 0
        for reward, done in zip(task.reward[s, policy[s]], task.done[s, policy[s]], strict=True)
    }


def ending_chance(task: Any, policy: Sequence[int], wanted: Callable[[float], bool]) -> list[float]:
    """Return how likely it is to end with a wanted reward, from every state."""
    return outcome_chance(task, policy, lambda reward, done: done and wanted(reward))


def outcome_chance(task: Any, policy: Sequence[int], wanted: Callable[[float, bool], bool]) -> list[float]:
    """Return how likely a wanted outcome is ever met, from every state, by repeated substitution."""
    n, change = len(task.next_state), 1.0
    chance = [0.0] * n
    while change > 1e-13:
        after = [
            sum(
                p * (1.0 if wanted(float(r), bool(done)) else 0.0 if done else chance[s])
                for p, r, done, s in zip(
                    task.probability,
                    task.reward[state, policy[state]],
                    task.done[state, policy[state]],
                    task.next_state[state, policy[state]],
                    strict=True,
                )
            )
            if policy[state] >= 0
            else 0.0
            for state in range(n)
        ]
        change = max(abs(a - b) for a, b in zip(after, chance, strict=True))
        chance = after
    return chance


def likeliest_steps(task: Any, state: int, action: int) -> set[tuple[int, float, bool]]:
    """Return (next state, reward, done) of the outcomes that no other is likelier than."""
    chance: dict[tuple[int, float, bool], float] = {}
    for k, p in enumerate(task.probability.tolist()):
        at = (state, action, k)
        step = int(task.next_state[at]), float(task.reward[at]), bool(task.done[at])
        chance[step] = chance.get(step, 0.0) + p
    return {step for step, p in chance.items() if p > max(chance.values()) - 1e-9}


def endless_sets(task: Any, policy: Sequence[int], states: Iterable[int]) -> set[frozenset[int]]:
    """Return the sets of states that, once entered, are never left, and in which nothing ends."""
    found = set()
    for state in states:
        around = reachable(task, policy, [state])
        stops = any(policy[s] < 0 or follow(task, s, policy[s])[1] for s in around)
        if not stops and all(state in reachable(task, policy, [s]) for s in around):
            found.add(frozenset(around))
    return found


def all_policies(task: Any, states: Sequence[int]) -> Iterable[list[int]]:
    """Yield every policy over some states."""
    for choice in itertools.product(range(task.next_state.shape[1]), repeat=len(states)):
        policy = [-1] * len(task.next_state)
        for state, action in zip(states, choice, strict=True):
            policy[state] = action
        yield policy


def sure_of_goal(
    task: Any, states: Sequence[int], goal: float, never: Callable[[float, bool], bool] = lambda *_: False
) -> set[int]:
    """Return the states from which some policy is sure to end with the goal, having tried all policies.

    No outcome on the way may be one that is `never` to be met.
    """
    sure = set()
    for policy in all_policies(task, states):
        for state in states:
            around = reachable(task, policy, [state])
            ends = all(endings_met(task, policy, s) == {goal} for s in around)
            if ends and not any(never(*outcome) for outcome in outcomes_met(task, policy, state)):
                sure.add(state)
    return sure


def never_harmed(task: Any, states: Sequence[int], harm: Callable[[float, bool], bool]) -> set[int]:
    """Return the states from which some policy never meets a harm, having tried all policies."""
    return {
        state
        for policy in all_policies(task, states)
        for state in states
        if not any(harm(*outcome) for outcome in outcomes_met(task, policy, state))
    }


# What a policy does in a task.


def expected_visits(task: Any, policy: Sequence[int], steps: int, discount: float) -> list[float]:
    """Return how often every state is visited in `steps` steps from S_I; at step t it counts discount^t."""
    now = [0.0] * len(task.next_state)
    for start in task.initial_states.tolist():
        now[start] += 1 / len(task.initial_states)
    total = [0.0] * len(now)
    for t in range(steps):
        after = [0.0] * len(now)
        for s, mass in enumerate(now):
            total[s] += discount**t * mass
            for k, p in enumerate(task.probability.tolist()):
                if policy[s] >= 0 and not task.done[s, policy[s], k]:
                    after[task.next_state[s, policy[s], k]] += p * mass
        now = after
    return total


# Shortest decision lists. Sets of states are frozensets of numbers, boxes are pairs (low, high) of ranks.


def states_in(box: Sequence[Sequence[int]], ranks: Sequence[Sequence[int]]) -> frozenset[int]:
    """Return the states inside a box."""
    return frozenset(
        s
        for s, state in enumerate(ranks)
        if all(low <= rank <= high for rank, (low, high) in zip(state, box, strict=True))
    )


def fewest_wrong(allowed: Sequence[Sequence[bool]], states: Iterable[int]) -> tuple[int, int]:
    """Return in how many of some states the best action is not allowed, and that action."""
    chosen = list(states)
    return min((sum(not allowed[s][a] for s in chosen), a) for a in range(len(allowed[0])))


def list_cost(
    boxes: Sequence[Sequence[Sequence[int]]],
    ranks: Sequence[Sequence[int]],
    allowed: Sequence[Sequence[bool]],
) -> int:
    """Return how many states a list decides wrongly; a rule for all stands behind if all have an action."""
    left, cost = set(range(len(ranks))), 0
    silent = {s for s in left if not any(allowed[s])}
    for box in boxes:
        decided = states_in(box, ranks) & left
        cost += fewest_wrong(allowed, decided)[0]
        left -= decided
    return cost + (len(left - silent) if silent else fewest_wrong(allowed, left)[0])


def all_boxes(ranks: Sequence[Sequence[int]]) -> Iterable[tuple[tuple[int, int], ...]]:
    """Yield every box of ranks."""
    sizes = [max(column) + 1 for column in zip(*ranks, strict=True)]
    intervals = [[(low, high) for low in range(n) for high in range(low, n)] for n in sizes]
    return itertools.product(*intervals)


def next_steps(
    ranks: Sequence[Sequence[int]], allowed: Sequence[Sequence[bool]], left: frozenset[int]
) -> set[frozenset[int]]:
    """Return the sets of undecided states that one rule can decide rightly and that lie in no other."""
    every = {states_in(box, ranks) & left for box in all_boxes(ranks)}
    right = {step for step in every if step and fewest_wrong(allowed, step)[0] == 0}
    return {step for step in right if not any(step < other for other in right)}


def fewest_rules(
    ranks: Sequence[Sequence[int]], allowed: Sequence[Sequence[bool]], left: Iterable[int] | None = None
) -> int:
    """Return the length of the shortest list for some states, by trying every list of every length.

    States with no allowed action must stay unmatched. Every rule is written, one for all that is left too.
    """
    silent = frozenset(s for s in range(len(ranks)) if not any(allowed[s]))
    boxes = {states_in(box, ranks) for box in all_boxes(ranks)}
    reached = {frozenset(range(len(ranks)) if left is None else left)}
    rules = 0
    while not any(each <= silent for each in reached):
        steps = {(each, inside & each) for each in reached for inside in boxes}
        reached = {each - new for each, new in steps if new and fewest_wrong(allowed, new)[0] == 0}
        rules += 1
    return rules
