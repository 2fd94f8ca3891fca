"""A plain-Python XCSF: rules as objects, sets as lists, every match set searched for, whole matrices.

Written like `tests/naive.py`, from the paper's description of XCS, importing nothing of ifthen. It draws the
same random numbers as the compiled XCSF, so that the two can be compared after every single step.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests import naive, naive_envs, naive_evolve

LEAST_ACCURACY = 1e-100

Matrix = list[list[float]]


@dataclass(eq=False)
class Rule:
    """A macroclassifier; two of them are the same only if they are one object."""

    bounds: list[list[Any]]
    action: int
    weights: list[float]
    covariance: Matrix
    fitness: float
    error: float
    niche_error: float
    stamp: int
    set_size: float = 1.0
    numerosity: int = 1
    experience: int = 0

    @property
    def micro_fitness(self) -> float:
        return self.fitness / self.numerosity


# What a single rule learns.


def rates(beta: float, experience: int) -> float:
    """MAM: the mean of the first 1/β values, then a moving average."""
    return 1 / experience if experience < 1 / beta else beta


def unit_matrix(size: int, factor: float) -> Matrix:
    return [[factor if i == j else 0.0 for j in range(size)] for i in range(size)]


def learn_rls(rule: Rule, x: Sequence[float], error: float, forgetting: float, limit: float) -> None:
    """Recursive least squares; where the trace is at its limit, forgetting is in the direction of x only."""
    at = range(len(x))
    gains = [sum(rule.covariance[i][j] * x[j] for j in at) for i in at]
    spread = sum(gains[i] * x[i] for i in at)
    if sum(rule.covariance[i][i] for i in at) / forgetting <= limit:
        size = forgetting + spread
        rule.weights = [rule.weights[i] + gains[i] / size * error for i in at]
        rule.covariance = [
            [(rule.covariance[i][j] - gains[i] * gains[j] / size) / forgetting for j in at] for i in at
        ]
        return
    rule.weights = [rule.weights[i] + gains[i] / (1 + spread) * error for i in at]
    b = forgetting - (1 - forgetting) / spread
    if b != 0:
        rule.covariance = [
            [rule.covariance[i][j] - gains[i] * gains[j] / (1 / b + spread) for j in at] for i in at
        ]


def learn_nlms(rule: Rule, x: Sequence[float], error: float, eta: float) -> None:
    norm = sum(value * value for value in x)
    rule.weights = [w + eta * error / norm * value for w, value in zip(rule.weights, x, strict=True)]


def accuracy(error: float, p: Any) -> float:
    if error < p.epsilon_0:
        return 1.0
    return float(max(p.alpha * math.pow(p.epsilon_0 / error, p.nu), LEAST_ACCURACY))


# What an action set learns.


def update_set(rules: Sequence[Rule], state: naive.State, payoff: float, p: Any) -> None:
    x = [p.x0, *state]
    micros = sum(rule.numerosity for rule in rules)
    least = min(rule.error for rule in rules)
    fitness = sum(rule.fitness for rule in rules)
    for rule in rules:
        error = payoff - naive.prediction(rule.weights, p.x0, state)
        rule.experience += 1
        distance = abs(error)
        if p.niche_error:
            rule.niche_error += rates(p.beta_epsilon, rule.experience) * (least - rule.niche_error)
            distance = abs(error) - rule.niche_error if abs(error) >= rule.niche_error else p.epsilon_0
        rate = rates(p.beta, rule.experience)
        rule.error = distance if rate == 1 else rule.error + rate * (distance - rule.error)
        if p.prediction == "rls":
            learn_rls(rule, x, error, p.lambda_rls, p.rls_limit)
        elif p.prediction == "nlms":
            learn_nlms(rule, x, error, p.eta)
        else:
            by_gradient = p.gradient and rule.experience >= 1 / p.beta
            rule.weights[0] += rate * error / p.x0 * (rule.fitness / fitness if by_gradient else 1)
        rule.set_size += rates(p.beta, rule.experience) * (micros - rule.set_size)
    accuracies = [accuracy(rule.error, p) * rule.numerosity for rule in rules]
    for rule, own in zip(rules, accuracies, strict=True):
        rule.fitness = (1 - p.beta) * rule.fitness + p.beta * (own / sum(accuracies))


# Parents, equality, subsumption, deletion.


def none_enters(tau: float, micros: int) -> float:
    share = 1.0
    for _ in range(micros):
        share *= 1 - tau
    return share


def set_tournament(key: int, rules: Sequence[Rule], tau: float) -> Rule:
    asked = 0
    while True:
        entered = [
            rule
            for i, rule in enumerate(rules)
            if naive.uniform(key, asked + i) >= none_enters(tau, rule.numerosity)
        ]
        if entered:
            return max(entered, key=lambda rule: rule.micro_fitness)  # max keeps the first of equals
        asked += len(rules)


def roulette(u: float, shares: Sequence[float]) -> int:
    """The first whose running sum exceeds a share u of the whole."""
    point = u * sum(shares)
    return next((i for i in range(len(shares)) if sum(shares[: i + 1]) > point), len(shares) - 1)


def set_roulette(key: int, rules: Sequence[Rule]) -> Rule:
    return rules[roulette(naive.uniform(key, 0), [rule.fitness for rule in rules])]


def equal(one: Rule, other: Rule, equality: str) -> bool:
    def look(rule: Rule) -> list[list[Any]]:
        return [sorted(pair) if equality == "box" else list(pair) for pair in rule.bounds]

    return one.action == other.action and look(one) == look(other)


def can_subsume(rule: Rule, p: Any) -> bool:
    return bool(rule.experience > p.theta_sub and rule.error < p.epsilon_0)


def is_due(rules: Sequence[Rule], now: int, theta: int) -> bool:
    micros = sum(rule.numerosity for rule in rules)
    return sum((now - rule.stamp) * rule.numerosity for rule in rules) > theta * micros


def votes(rules: Sequence[Rule], p: Any) -> list[float]:
    """How strongly each rule is to be deleted."""
    mean = sum(rule.fitness for rule in rules) / sum(rule.numerosity for rule in rules)
    out = []
    for rule in rules:
        vote = rule.set_size * rule.numerosity
        if rule.experience > p.theta_del and rule.micro_fitness < p.delta * mean:
            vote *= mean / rule.micro_fitness
        out.append(vote)
    return out


def subsume_set(rules: Sequence[Rule], p: Any) -> tuple[Rule | None, list[Rule]]:
    """Return the widest rule that may subsume, and those inside it."""
    widest: Rule | None = None
    for rule in rules:
        if can_subsume(rule, p) and (widest is None or naive.contains(rule.bounds, widest.bounds)):
            widest = rule
    if widest is None:
        return None, []
    return widest, [r for r in rules if r is not widest and naive.contains(widest.bounds, r.bounds)]


# The system.


class NaiveXCSF:
    """XCSF over the states of a task; `slots` holds the rules, None where a slot is free."""

    def __init__(self, task: Any, parameters: Any, seed: int) -> None:
        self.task, self.p = task, parameters
        self.key = naive.stream(seed, "xcsf")
        self.ranges = [(f.low, f.high) for f in task.features]
        self.n_actions = len(task.action_names)
        self.gamma = task.gamma if parameters.gamma is None else parameters.gamma
        self.states: list[Any] = []
        self.read_task()
        self.slots: list[Rule | None] = []
        self.counts: Counter[str] = Counter()
        self.steps = self.episodes = self.time = 0
        self.explore = False
        self.state = self.before = -1
        self.held: list[Rule] = []
        self.acting: list[Rule] = []
        self.pending = 0.0

    def read_task(self) -> None:
        self.probability = self.task.probability.tolist()
        self.states = self.task.state_features.tolist()
        teletransport, initial = self.p.teletransport, self.task.initial_states.tolist()
        self.starts = decision_states(self.task) if teletransport else initial

    def run(self, steps: int) -> None:
        for _ in range(steps):
            if self.state < 0:
                self.begin_episode()
            self.step()

    @property
    def rules(self) -> list[Rule]:
        return [rule for rule in self.slots if rule is not None]

    @property
    def micros(self) -> int:
        return sum(rule.numerosity for rule in self.rules)

    def reach(self, given: int | None, share: int, least: int) -> list[int]:
        """Return how far a bound moves at most, per feature: as given, or a share of the feature's values."""
        widths = [high - low + 1 for low, high in self.ranges]
        return [max(least, w // share) if given is None else min(given, w) for w in widths]

    def begin_episode(self) -> None:
        own = naive.fold(naive.fold(self.key, 0), self.episodes)
        self.explore = naive.uniform(own, 0) < self.p.p_explore
        self.state = self.start(self.starts[naive.below(own, 1, len(self.starts))])
        self.before, self.time = -1, 0
        self.episodes += 1

    def start(self, which: int) -> int:
        """Return the state that an episode begins in."""
        return which

    def transition(self, own: int, s: int, action: int) -> tuple[int, float, bool, bool]:
        """Return what follows an action: state, reward, whether the task ended, whether it was cut."""
        k = naive.outcome(own, self.probability, 2)
        reward, done = float(self.task.reward[s, action, k]), bool(self.task.done[s, action, k])
        return int(self.task.next_state[s, action, k]), reward, done, False

    def point(self, s: int) -> list[float]:
        """Return what predictions in state s are made from."""
        point: list[float] = self.states[s]
        return point

    def step(self) -> None:
        own, s = naive.fold(naive.fold(self.key, 1), self.steps), self.state
        self.steps += 1
        self.time += 1
        array = self.prediction_array(naive.fold(own, 0), s)
        action = array.index(max(array))
        if self.explore and naive.uniform(own, 0) < self.p.epsilon:
            action = naive.below(own, 1, self.n_actions)
        self.acting = [rule for rule in self.match_set(s) if rule.action == action]
        follows, reward, done, cut = self.transition(own, s, action)
        if self.before >= 0:
            payoff = self.pending + self.gamma * max(array)
            self.credit(naive.fold(own, 1), self.held, self.before, payoff)
        if done or cut or self.time == self.task.t_max:
            self.counts["truncations"] += not done
            if not done and self.p.truncation == "bootstrap":
                reward += self.gamma * max(self.prediction_array(naive.fold(own, 3), follows))
            self.credit(naive.fold(own, 2), self.acting, s, reward)
            self.held, self.pending = [], 0.0
            self.before = self.state = -1
        else:
            self.held, self.pending = self.acting, reward
            self.before, self.state = s, follows
        self.acting = []

    # Matching, covering and prediction.

    def match_set(self, s: int) -> list[Rule]:
        return [rule for rule in self.rules if naive.matches(rule.bounds, self.states[s])]

    def prediction_array(self, key: int, s: int) -> list[float]:
        """Return the prediction of every action in state s, after covering those without a rule."""
        tries = 0
        while True:
            matching = self.match_set(s)
            missing = sorted(set(range(self.n_actions)) - {rule.action for rule in matching})
            if not missing:
                return [self.predicted(a, matching, s) for a in range(self.n_actions)]
            self.cover(naive.fold(key, tries), s, missing)
            tries += 1

    def predicted(self, action: int, matching: Sequence[Rule], s: int) -> float:
        voters = [rule for rule in matching if rule.action == action]
        weighted = [
            rule.fitness * naive.prediction(rule.weights, self.p.x0, self.point(s)) for rule in voters
        ]
        return sum(weighted) / sum(rule.fitness for rule in voters)

    def cover(self, key: int, s: int, missing: Sequence[int]) -> None:
        action = missing[naive.below(key, 0, len(missing))]
        bounds = [self.cover_feature(key, d, value) for d, value in enumerate(self.states[s])]
        weights = [0.0] * (len(self.ranges) + 1)
        self.insert(
            Rule(bounds, action, weights, [], self.p.f_i, self.p.epsilon_i, self.p.epsilon_i, self.steps)
        )
        self.counts["coverings"] += 1
        self.delete(naive.fold(key, 0))

    def cover_feature(self, key: int, d: int, value: float) -> list[float]:
        if self.p.p_hash is not None:
            return list(self.ranges[d]) if naive.uniform(key, 1 + 2 * d) < self.p.p_hash else [value, value]
        (lowest, highest), reach = self.ranges[d], self.reach(self.p.r0, 2, 0)[d]
        low = value - naive.below(key, 1 + 2 * d, reach + 1)
        high = value + naive.below(key, 2 + 2 * d, reach + 1)
        return [max(low, lowest), min(high, highest)]

    # The population.

    def insert(self, rule: Rule) -> None:
        rule.covariance = unit_matrix(len(rule.weights), self.p.delta_rls)
        if None not in self.slots:
            self.slots.append(None)
        self.slots[self.slots.index(None)] = rule

    def remove(self, rule: Rule) -> None:
        self.slots[self.slots.index(rule)] = None
        self.held = [other for other in self.held if other is not rule]
        self.acting = [other for other in self.acting if other is not rule]

    def delete(self, key: int) -> None:
        if self.micros > self.p.pop_limit:
            rule = self.rules[roulette(naive.uniform(key, 0), votes(self.rules, self.p))]
            rule.numerosity -= 1
            self.counts["deletions"] += 1
            if rule.numerosity == 0:
                self.remove(rule)

    # Learning.

    def credit(self, key: int, rules: list[Rule], s: int, payoff: float) -> None:
        if not rules:
            return
        update_set(rules, self.point(s), payoff, self.p)
        if self.p.set_subsumption:
            widest, inside = subsume_set(rules, self.p)
            for rule in inside:
                assert widest is not None
                widest.numerosity += rule.numerosity
                self.counts["set_subsumptions"] += rule.numerosity
                self.remove(rule)
            rules = [rule for rule in rules if rule not in inside]
        if self.explore and self.p.specify:
            self.specify(naive.fold(key, 8), rules, s)
            rules = [rule for rule in rules if rule in self.slots]
        if self.explore and rules and is_due(rules, self.steps, self.p.theta_ga):
            self.run_ga(key, rules, s)

    def is_whole(self, bounds: Sequence[Any], d: int) -> bool:
        return tuple(sorted(bounds[d])) == tuple(self.ranges[d])

    def mutate_in_niche(self, key: int, mu: float, bounds: list[list[Any]], s: int) -> None:
        for d, value in enumerate(self.states[s]):
            if naive.uniform(key, d) < mu:
                bounds[d] = [value, value] if self.is_whole(bounds, d) else list(self.ranges[d])

    def specify(self, key: int, rules: Sequence[Rule], s: int) -> None:
        """Make a rule of a set more specific, if the set errs twice as much as all rules do."""

        def mean(rules: Sequence[Rule], name: str) -> float:
            total = sum(getattr(rule, name) * rule.numerosity for rule in rules)
            return float(total / sum(rule.numerosity for rule in rules))

        error, every = mean(rules, "error"), mean(self.rules, "error")
        if error <= 0 or error < 2 * every or mean(rules, "experience") < self.p.n_specify:
            return
        shares = [rule.error * rule.numerosity for rule in rules]
        child = copy.deepcopy(rules[roulette(naive.uniform(naive.fold(key, 0), 0), shares)])
        before = copy.deepcopy(child.bounds)
        for d, value in enumerate(self.states[s]):
            low, high = self.ranges[d]
            specific = naive.uniform(naive.fold(key, 1), d) < self.p.p_specify
            if low < high and self.is_whole(child.bounds, d) and specific:
                child.bounds[d] = [value, value]
        if child.bounds == before:
            return
        self.counts["specified"] += 1
        self.inherit(child)
        self.add(child, [])
        self.delete(naive.fold(key, 2))

    def inherit(self, child: Rule) -> None:
        child.error *= self.p.error_share
        child.niche_error *= self.p.error_share
        child.fitness *= self.p.fitness_share
        child.numerosity, child.experience, child.stamp = 1, 0, self.steps

    def run_ga(self, key: int, rules: Sequence[Rule], s: int) -> None:
        self.counts["ga_invocations"] += 1
        for rule in rules:
            rule.stamp = self.steps
        parents = [self.select(naive.fold(key, i), rules) for i in range(2)]
        children = [copy.deepcopy(parent) for parent in parents]
        if naive.uniform(naive.fold(key, 2), 0) < self.p.chi:
            cross(naive.fold(key, 3), self.p.p_swap, *children)
        for i, child in enumerate(children):
            self.inherit(child)
            own, mu = naive.fold(key, 4 + i), self.p.mu
            if self.p.mutation == "niche":
                self.mutate_in_niche(own, mu, child.bounds, s)
            else:
                self.shift(own, mu, child.bounds)
            at = 3 * 2 * len(self.ranges)  # after three draws for each bound
            child.action = naive_evolve.mutate_action(own, at, mu, child.action, self.n_actions)
        for i, child in enumerate(children):
            self.add(child, parents)
            self.delete(naive.fold(key, 6 + i))

    def shift(self, key: int, mu: float, bounds: list[list[Any]]) -> None:
        naive_evolve.shift_bounds(key, mu, bounds, self.ranges, self.reach(self.p.m0, 4, 1))

    def select(self, key: int, rules: Sequence[Rule]) -> Rule:
        if self.p.selection == "tournament":
            return set_tournament(key, rules, self.p.tau)
        return set_roulette(key, rules)

    def add(self, child: Rule, parents: Sequence[Rule]) -> None:
        if self.p.ga_subsumption:
            for parent in parents:
                if (
                    parent in self.slots
                    and can_subsume(parent, self.p)
                    and parent.action == child.action
                    and naive.contains(parent.bounds, child.bounds)
                ):
                    parent.numerosity += 1
                    self.counts["ga_subsumptions"] += 1
                    return
        for rule in self.rules:
            if equal(rule, child, self.p.equality):
                rule.numerosity += 1
                self.counts["absorptions"] += 1
                return
        self.insert(child)
        self.counts["insertions"] += 1


class NaiveEnvXCSF(NaiveXCSF):
    """XCSF in an environment: states are numbered as they are met; `starts` are reset seeds."""

    def read_task(self) -> None:
        self.starts = self.task.pool.tolist()
        self.real = [feature.kind == "real" for feature in self.task.features]
        self.env = self.task.make()

    def run_episodes(self, episodes: int) -> None:
        for _ in range(episodes):
            self.begin_episode()
            while self.state >= 0:
                self.step()

    def meet(self, observation: Any) -> int:
        """Number a state; values beyond a feature's range count as its edge."""
        row = naive_envs.flatten(self.env.observation_space, observation)
        self.states.append([max(low, min(high, v)) for v, (low, high) in zip(row, self.ranges, strict=True)])
        return len(self.states) - 1

    def start(self, which: int) -> int:
        return self.meet(self.env.reset(seed=which)[0])

    def transition(self, own: int, s: int, action: int) -> tuple[int, float, bool, bool]:
        first = int(self.env.action_space.start)
        observation, reward, done, cut, _ = self.env.step(action + first)
        return self.meet(observation), float(reward), bool(done), bool(cut)

    def point(self, s: int) -> list[float]:
        """Return the state with every feature scaled from its range to [-1, 1]."""
        scaled = []
        for value, (low, high) in zip(self.states[s], self.ranges, strict=True):
            scaled.append((value - (low + high) / 2) / ((high - low) / 2 if high > low else 1))
        return scaled

    def cover_feature(self, key: int, d: int, value: float) -> list[float]:
        if not self.real[d]:
            return super().cover_feature(key, d, value)
        reach = self.p.r0_share * (self.ranges[d][1] - self.ranges[d][0])
        return cover_real(key, d, value, self.ranges[d], reach)

    def shift(self, key: int, mu: float, bounds: list[list[Any]]) -> None:
        whole = self.reach(self.p.m0, 4, 1)
        shares = [self.p.m0_share * (high - low) for low, high in self.ranges]
        reach = [share if real else far for share, far, real in zip(shares, whole, self.real, strict=True)]
        shift_mixed(key, mu, bounds, self.ranges, reach, self.real)

    def reach(self, given: int | None, share: int, least: int) -> list[int]:
        widths = [int(high - low) + 1 for low, high in self.ranges]
        return [max(least, w // share) if given is None else min(given, w) for w in widths]


def cover_real(key: int, d: int, value: float, range_: Any, reach: float) -> list[float]:
    """Bounds of a real feature around a value, rounded; never so that the value is left out."""
    scale = naive_evolve.decimal_scale(*range_)
    low = naive_evolve.rounded(value - naive.uniform(key, 1 + 2 * d) * reach, scale)
    high = naive_evolve.rounded(value + naive.uniform(key, 2 + 2 * d) * reach, scale)
    while low > value:
        low = naive_evolve.rounded(low - 1 / scale, scale)
    while high < value:
        high = naive_evolve.rounded(high + 1 / scale, scale)
    return [max(low, range_[0]), min(high, range_[1])]


def shift_mixed(
    key: int,
    p_mut: float,
    bounds: list[list[float]],
    ranges: Sequence[Any],
    reach: Sequence[float],
    real: Sequence[bool],
) -> None:
    """Move bounds evenly: of real features by (0, reach], rounded; of integer ones by 1 to reach."""
    for d, pair in enumerate(bounds):
        low, high = ranges[d]
        for end in range(2):
            at = 3 * (2 * d + end)
            if naive.uniform(key, at) >= p_mut:
                continue
            if real[d]:
                far = (1 - naive.uniform(key, at + 2)) * reach[d]
                value = naive_evolve.moved(key, at, pair[end], far, low, high)
                value = naive_evolve.rounded(value, naive_evolve.decimal_scale(low, high))
                pair[end] = max(low, min(high, value))
            else:
                far = 1 + naive.below(key, at + 2, int(reach[d]))
                pair[end] = naive_evolve.moved(key, at, pair[end], far, low, high)


def cross(key: int, p_swap: float, one: Rule, other: Rule) -> None:
    """Swap bounds between two children of one action set; both get the mean of what their parents had."""
    naive_evolve.swap_bounds(key, p_swap, one.bounds, other.bounds)
    one.error = other.error = (one.error + other.error) / 2
    one.niche_error = other.niche_error = (one.niche_error + other.niche_error) / 2
    one.fitness = other.fitness = (one.fitness + other.fitness) / 2


def decision_states(task: Any) -> list[int]:
    """Return the states in which an action can be asked for, in increasing order."""
    found = pending = set(task.initial_states.tolist())
    while pending:
        follows = {
            int(task.next_state[s, a, k])
            for s in pending
            for a in range(len(task.action_names))
            for k in range(len(task.probability))
            if not task.done[s, a, k]
        }
        pending = follows - found
        found = found | pending
    return sorted(found)
