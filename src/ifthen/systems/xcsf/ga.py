"""The genetic algorithm in an action set (Butz and Wilson 2002; tournaments as in Butz 2003).

Random numbers of one invocation come from its stream `key`: sub-streams 0 and 1 select the parents, 2 says
whether they are crossed, 3 how, 4 and 5 mutate the children, 6 and 7 delete. Specify (Lanzi 1997) has a
stream of its own: 0 selects the rule, 1 says what becomes specific, 2 deletes.
"""

from __future__ import annotations

import numpy as np

from ifthen.evolve.alleles import DRAWS
from ifthen.evolve.operators import mutate_action, shift_bounds, swap_bounds
from ifthen.jit import lean_kernel
from ifthen.randomness import fold, uniform
from ifthen.rules.arrays import Floats, Ints
from ifthen.systems.xcsf.index import Learning
from ifthen.systems.xcsf.turnover import add_child, add_rule, copy_rule, delete_one
from ifthen.systems.xcsf.update import LEAST
from ifthen.systems.xcsf.xcsf_parameters import Reach
from ifthen.systems.xcsf.xcsf_population import NURSERY, Bounds, Records


@lean_kernel
def is_due(members: Ints, n: int, rules: Records, now: int, theta: int) -> bool:
    """Return whether the last GA invocations in the set are on average more than θ_GA steps ago."""
    micros, ages = 0, 0
    for i in range(n):
        rule = rules[members[i]]
        micros += rule.numerosity
        ages += (now - rule.stamp) * rule.numerosity
    return ages > theta * micros


@lean_kernel
def set_tournament(key: np.uint64, members: Ints, n: int, rules: Records, absent: Floats) -> int:
    """Return the slot of the rule with most fitness per microclassifier among those that enter.

    Every microclassifier of the set enters with probability τ; where none does, all are asked again.
    """
    winner, top_fitness, n_drawn = -1, -1.0, 0
    while winner < 0:
        for i in range(n):
            rule = rules[members[i]]
            fitness = rule.fitness / rule.numerosity
            if fitness > top_fitness and uniform(key, n_drawn + i) >= absent[rule.numerosity]:
                winner, top_fitness = members[i], fitness
        n_drawn += n
    return winner


@lean_kernel
def set_roulette(key: np.uint64, members: Ints, n: int, rules: Records) -> int:
    """Return the slot of a rule drawn with probability proportional to its fitness."""
    total = 0.0
    for i in range(n):
        total += rules[members[i]].fitness
    point, so_far, i = uniform(key, 0) * total, 0.0, -1
    while i < n - 1 and so_far <= point:
        i += 1
        so_far += rules[members[i]].fitness
    return int(members[i])


@lean_kernel
def is_whole(bounds: Bounds, r: int, d: int, reach: Reach) -> bool:
    """Return whether rule r takes any value of feature d: # in ternary conditions."""
    low, high = bounds[r, d, 0], bounds[r, d, 1]
    return bool(min(low, high) <= reach.lows[d] and max(low, high) >= reach.highs[d])


@lean_kernel
def mutate_in_niche(key: np.uint64, mu: float, child: int, s: int, learning: Learning) -> None:
    """Turn whole ranges into the value in state s, and other intervals into whole ranges."""
    bounds, reach, states = learning.classifiers.bounds, learning.reach, learning.model.states
    for d in range(bounds.shape[1]):
        if uniform(key, d) >= mu:
            continue
        is_open = is_whole(bounds, child, d, reach)
        bounds[child, d, 0] = states[s, d] if is_open else reach.lows[d]
        bounds[child, d, 1] = states[s, d] if is_open else reach.highs[d]


@lean_kernel
def specify(key: np.uint64, n: int, s: int, learning: Learning) -> None:
    """Add a rule that says more about state s, if the action set in `space.members` errs much.

    It errs much if its mean error is at least twice that of the population, and its rules are experienced.
    """
    classifiers, settings, members = learning.classifiers, learning.settings[0], learning.space.members
    rules, bounds, reach = classifiers.rules, classifiers.bounds, learning.reach
    set_error, set_experience, set_micros, total_error, total_micros = 0.0, 0, 0, 0.0, 0
    for i in range(n):
        rule = rules[members[i]]
        set_error += rule.error * rule.numerosity
        set_experience += rule.experience * rule.numerosity
        set_micros += rule.numerosity
    for r in range(len(rules) - NURSERY):
        total_error += rules[r].error * rules[r].numerosity
        total_micros += rules[r].numerosity
    if (
        set_experience < settings.n_specify * set_micros
        or set_error * total_micros < 2.0 * total_error * set_micros
        or set_error <= 0.0
    ):
        return
    point, so_far, i = uniform(fold(key, 0), 0) * set_error, 0.0, -1
    while i < n - 1 and so_far <= point:
        i += 1
        so_far += rules[members[i]].error * rules[members[i]].numerosity
    parent, child, is_changed = members[i], len(rules) - 1, False
    copy_rule(parent, child, classifiers)
    for d in range(bounds.shape[1]):
        is_open = not reach.real[d] and reach.lows[d] < reach.highs[d] and is_whole(bounds, child, d, reach)
        if is_open and uniform(fold(key, 1), d) < settings.p_specify:
            bounds[child, d, 0] = bounds[child, d, 1] = learning.model.states[s, d]
            is_changed = True
    if not is_changed:
        return
    inherit(child, learning)
    add_rule(child, learning)
    delete_one(fold(key, 2), learning)


@lean_kernel
def inherit(child: int, learning: Learning) -> None:
    """Give a child its share of what it copied from its parents."""
    rules, settings = learning.classifiers.rules, learning.settings[0]
    rules[child].error *= settings.error_share
    rules[child].niche_error *= settings.error_share
    rules[child].fitness = max(rules[child].fitness * settings.fitness_share, LEAST)


@lean_kernel
def run_ga(key: np.uint64, n: int, s: int, learning: Learning) -> None:
    """Breed two children from the action set in the first `n` of `space.members`, met in state s."""
    classifiers, space, settings, reach = (
        learning.classifiers,
        learning.space,
        learning.settings[0],
        learning.reach,
    )
    rules, bounds, clock = classifiers.rules, classifiers.bounds, classifiers.clock[0]
    members = space.members
    clock.ga_invocations += 1
    for i in range(n):
        rules[members[i]].stamp = clock.steps
    if settings.by_tournament:
        mother = set_tournament(fold(key, 0), members, n, rules, reach.absent)
        father = set_tournament(fold(key, 1), members, n, rules, reach.absent)
    else:
        mother = set_roulette(fold(key, 0), members, n, rules)
        father = set_roulette(fold(key, 1), members, n, rules)
    first_child, second_child = len(rules) - 2, len(rules) - 1
    copy_rule(mother, first_child, classifiers)
    copy_rule(father, second_child, classifiers)
    if uniform(fold(key, 2), 0) < settings.chi:
        swap_bounds(fold(key, 3), settings.p_swap, bounds, first_child, second_child)
        rules[first_child].error = rules[second_child].error = (
            rules[first_child].error + rules[second_child].error
        ) / 2
        rules[first_child].fitness = rules[second_child].fitness = (
            rules[first_child].fitness + rules[second_child].fitness
        ) / 2
        mean_niche_error = (rules[first_child].niche_error + rules[second_child].niche_error) / 2
        rules[first_child].niche_error = rules[second_child].niche_error = mean_niche_error
    for child in range(first_child, second_child + 1):
        inherit(child, learning)
        child_key, n_actions = fold(key, 4 + child - first_child), space.masks.shape[1]
        lows, highs, m0, mu = reach.lows, reach.highs, reach.m0, settings.mu
        if settings.in_niche:
            mutate_in_niche(child_key, mu, child, s, learning)
        else:
            shift_bounds(child_key, mu, bounds, child, lows, highs, m0, reach.real, reach.scales)
        at = 2 * DRAWS * bounds.shape[1]
        rules[child].action = mutate_action(child_key, at, mu, rules[child].action, n_actions)
    for child in range(first_child, second_child + 1):
        add_child(child, mother, father, learning)
        delete_one(fold(key, 6 + child - first_child), learning)
