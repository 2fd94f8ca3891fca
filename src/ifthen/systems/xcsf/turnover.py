"""How rules come into the population and leave it: covering, subsumption, absorption, insertion, deletion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.evolve.alleles import rounded
from ifthen.jit import lean_kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats
from ifthen.rules.box import WORD, ZERO, contains
from ifthen.systems.xcsf.index import Learning, enter, equal_rule, free_slot, remove
from ifthen.systems.xcsf.update import reset_covariance
from ifthen.systems.xcsf.xcsf_parameters import Reach, Settings
from ifthen.systems.xcsf.xcsf_population import Bounds, Classifiers, Records


@lean_kernel
def insert(r: int, learning: Learning) -> None:
    """Let the rule in slot r begin: one microclassifier without experience, and a fresh covariance."""
    classifiers, settings = learning.classifiers, learning.settings[0]
    rules = classifiers.rules
    rules[r].numerosity = 1
    rules[r].experience = 0
    rules[r].stamp = classifiers.clock[0].steps
    if settings.rls:
        reset_covariance(classifiers.covariance, r, classifiers.weights.shape[1], settings.delta_rls)
    enter(r, classifiers, learning.space, settings.by_box, learning.reach.lows)


@lean_kernel
def has_rule(masks: NDArray[np.uint64], s: int, a: int) -> bool:
    """Return whether any rule that matches state s advocates action a."""
    any_rule = ZERO
    for word in range(masks.shape[2]):
        any_rule |= masks[s, a, word]
    return bool(any_rule != ZERO)


@lean_kernel
def cover_real(key: np.uint64, value: float, bounds: Bounds, r: int, d: int, reach: Reach) -> None:
    """Draw both bounds of real feature d of rule r around a value, as far as covering reaches.

    Rounding could leave the value out: then the bound is the next step away from it.
    """
    scale, step = reach.scales[d], 1.0 / reach.scales[d]
    low = rounded(value - uniform(key, 1 + 2 * d) * reach.r0[d], scale)
    if low > value:
        low = rounded(low - step, scale)
    high = rounded(value + uniform(key, 2 + 2 * d) * reach.r0[d], scale)
    if high < value:
        high = rounded(high + step, scale)
    bounds[r, d, 0] = max(low, reach.lows[d])
    bounds[r, d, 1] = min(high, reach.highs[d])


@lean_kernel
def cover(key: np.uint64, s: int, n_missing: int, learning: Learning) -> None:
    """Insert a rule that matches state s, for one of its `n_missing` actions without a rule; delete one."""
    states, classifiers, space, settings = (
        learning.model.states,
        learning.classifiers,
        learning.space,
        learning.settings[0],
    )
    rules, bounds, clock, reach = classifiers.rules, classifiers.bounds, classifiers.clock[0], learning.reach
    action, to_skip = 0, below(key, 0, n_missing)
    for a in range(space.masks.shape[1]):
        if not has_rule(space.masks, s, a):
            if to_skip == 0:
                action = a
            to_skip -= 1
    r = free_slot(space.used)
    for d in range(states.shape[1]):
        if reach.real[d]:
            cover_real(key, states[s, d], bounds, r, d, reach)
            continue
        if settings.p_hash >= 0.0:
            is_open = uniform(key, 1 + 2 * d) < settings.p_hash
            bounds[r, d, 0] = reach.lows[d] if is_open else states[s, d]
            bounds[r, d, 1] = reach.highs[d] if is_open else states[s, d]
            continue
        bounds[r, d, 0] = max(states[s, d] - below(key, 1 + 2 * d, reach.r0[d] + 1), reach.lows[d])
        bounds[r, d, 1] = min(states[s, d] + below(key, 2 + 2 * d, reach.r0[d] + 1), reach.highs[d])
    rules[r].action = action
    rules[r].fitness = settings.f_i
    rules[r].error = settings.epsilon_i
    rules[r].niche_error = settings.epsilon_i
    rules[r].set_size = 1.0
    for i in range(classifiers.weights.shape[1]):
        classifiers.weights[r, i] = 0.0
    insert(r, learning)
    clock.micros += 1
    clock.coverings += 1
    delete_one(fold(key, 0), learning)


@lean_kernel
def can_subsume(r: int, rules: Records, settings: Settings) -> bool:
    """Return whether rule r is there, experienced and accurate."""
    rule = rules[r]
    return bool(
        rule.numerosity > 0 and rule.experience > settings.theta_sub and rule.error < settings.epsilon_0
    )


@lean_kernel
def subsume_set(n: int, learning: Learning) -> int:
    """Let the widest accurate rule of the action set in `space.members` take in those inside it.

    The widest is the one whose box contains the one found before it, in the order of slots. Return how many
    members are left.
    """
    classifiers, space, settings = learning.classifiers, learning.space, learning.settings[0]
    rules, bounds, members = classifiers.rules, classifiers.bounds, space.members
    widest = -1
    for i in range(n):
        r = members[i]
        if can_subsume(r, rules, settings) and (widest < 0 or contains(bounds, r, widest)):
            widest = r
    if widest < 0:
        return n
    n_kept = 0
    for i in range(n):
        r = members[i]
        if r != widest and contains(bounds, widest, r):
            rules[widest].numerosity += rules[r].numerosity
            classifiers.clock[0].set_subsumptions += rules[r].numerosity
            remove(r, classifiers, space, learning.reach.lows)
        else:
            members[n_kept] = r
            n_kept += 1
    return n_kept


@lean_kernel
def copy_rule(source: int, target: int, classifiers: Classifiers) -> None:
    """Copy what children inherit from one slot to another."""
    rules, bounds, weights = classifiers.rules, classifiers.bounds, classifiers.weights
    rules[target].action = rules[source].action
    rules[target].error = rules[source].error
    rules[target].niche_error = rules[source].niche_error
    rules[target].fitness = rules[source].fitness
    rules[target].set_size = rules[source].set_size
    for d in range(bounds.shape[1]):
        bounds[target, d, 0] = bounds[source, d, 0]
        bounds[target, d, 1] = bounds[source, d, 1]
    for i in range(weights.shape[1]):
        weights[target, i] = weights[source, i]


@lean_kernel
def add_child(child: int, mother: int, father: int, learning: Learning) -> None:
    """Let a parent subsume the child in the nursery, or an equal rule absorb it, or insert it."""
    classifiers, settings = learning.classifiers, learning.settings[0]
    rules, bounds, clock = classifiers.rules, classifiers.bounds, classifiers.clock[0]
    if settings.ga_subsumption:
        for parent in (mother, father):
            if (
                can_subsume(parent, rules, settings)
                and rules[parent].action == rules[child].action
                and contains(bounds, parent, child)
            ):
                rules[parent].numerosity += 1
                clock.micros += 1
                clock.ga_subsumptions += 1
                return
    add_rule(child, learning)


@lean_kernel
def add_rule(child: int, learning: Learning) -> None:
    """Let an equal rule absorb the one in the nursery, or insert it."""
    classifiers, space, settings = learning.classifiers, learning.space, learning.settings[0]
    rules, clock = classifiers.rules, classifiers.clock[0]
    clock.micros += 1
    equal_slot = equal_rule(child, classifiers, space, settings.by_box, learning.reach.lows)
    if equal_slot >= 0:
        rules[equal_slot].numerosity += 1
        clock.absorptions += 1
        return
    r = free_slot(space.used)
    copy_rule(child, r, classifiers)
    insert(r, learning)
    clock.insertions += 1


@lean_kernel
def vote(rule: Records, mean: float, settings: Settings) -> float:
    """Return how much a rule votes for its deletion: more in large action sets, and where it is unfit.

    Fitness per microclassifier is compared with the mean without dividing, so that free slots vote 0.
    """
    size: float = rule.set_size * rule.numerosity
    if rule.experience > settings.theta_del and rule.fitness < settings.delta * mean * rule.numerosity:
        size *= mean * rule.numerosity / rule.fitness
    return size


@lean_kernel
def mean_fitness(rules: Records, n_slots: int, micros: int) -> float:
    """Return the mean fitness of a microclassifier; in free slots it is 0."""
    # Four sums side by side: a single one would wait for each addition before the next.
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for r in range(0, n_slots, 4):
        first += rules[r].fitness
        second += rules[r + 1].fitness
        third += rules[r + 2].fitness
        fourth += rules[r + 3].fitness
    return (first + second + third + fourth) / micros


@lean_kernel
def draw_by_votes(
    u: float, rules: Records, n_words: int, mean: float, settings: Settings, votes: Floats
) -> int:
    """Return the slot that the number u in [0, 1) falls on when votes are laid side by side in slot order."""
    total = 0.0
    for word in range(n_words):
        even, odd = 0.0, 0.0
        for r in range(word * WORD, (word + 1) * WORD, 2):
            even += vote(rules[r], mean, settings)
            odd += vote(rules[r + 1], mean, settings)
        votes[word] = even + odd
        total += votes[word]
    point, word = u * total, 0
    while word < n_words - 1 and point >= votes[word]:
        point -= votes[word]
        word += 1
    drawn = -1
    for r in range(word * WORD, (word + 1) * WORD):
        if rules[r].numerosity > 0:
            drawn = r
            point -= vote(rules[r], mean, settings)
            if point < 0:
                break
    return drawn


@lean_kernel
def delete_one(key: np.uint64, learning: Learning) -> None:
    """Delete one microclassifier by roulette, if there are more than the population may have."""
    classifiers, space, settings = learning.classifiers, learning.space, learning.settings[0]
    rules, clock = classifiers.rules, classifiers.clock[0]
    if clock.micros <= settings.pop_limit:
        return
    n_words = len(space.used)
    while space.used[n_words - 1] == ZERO:
        n_words -= 1
    mean = mean_fitness(rules, n_words * WORD, clock.micros)
    r = draw_by_votes(uniform(key, 0), rules, n_words, mean, settings, space.numbers)
    clock.deletions += 1
    clock.micros -= 1
    rules[r].numerosity -= 1
    if rules[r].numerosity == 0:
        remove(r, classifiers, space, learning.reach.lows)
