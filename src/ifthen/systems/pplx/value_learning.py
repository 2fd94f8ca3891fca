"""Learning what actions are worth in an environment: a network, from all steps that were taken.

Episodes are played by the network and, while they do better, by the best lists: what they see is remembered.

A teacher that says what actions are worth needs no learning. Of one that only acts, the values are learnt:
it plays with random actions mixed in, and in what follows its own action is taken, not the best one. So the
values are those of the teacher's policy (expected SARSA on n steps).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.env_plan import UPDATES, PlanSettings
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.q_network import NO_ADVICE, longest_cut, train
from ifthen.systems.pplx.spreads import centres_and_spreads
from ifthen.systems.pplx.teacher import Teacher
from ifthen.tasks.gym_task import EnvTask

MOST_PER_STEP = 8.0
"""The network gets at most this many updates per environment step."""
FIRST_RATE = 7e-4
"""The learning rate at the beginning of the phase."""
LAST_RATE = 1e-4
"""The learning rate at the end of the phase, and after it."""
FIRST_RANDOM = 0.5
"""The probability that a random action begins, at the beginning of the phase."""
LAST_RANDOM = 0.03
"""The least probability that a random action begins."""
RANDOM_UNTIL = 0.4
"""The probability of random actions falls during this share of the phase."""
BY_LISTS = 0.6
"""The best list plays this share of the episodes at first, if it does better than the network."""
LESS_BY_LISTS = 0.5
"""The list's share of the episodes falls by this much in the phase."""
RANDOM_IN_LISTS = 0.1
"""The probability that a random action begins while a list plays."""
FEW_UPDATES = 4000
"""The network gets this many updates after each round of lists."""
RANDOM_IN_TEACHING = (0.05, 0.15, 0.4)
"""The probabilities that a random action begins while a teacher plays, in turn. The costs of mistakes are
learnt from mistakes."""
TOGETHER = 8
"""This many episodes are played between two updates of the network."""
TESTED_ON = 10
"""After an epoch, the network plays at most this many greedy episodes."""
FEWEST_TESTED_ON = 4
"""Where the steps allow fewer greedy episodes, the last network counts as the best one."""
TESTING_TAKES = 0.2
"""Greedy episodes take at most this share of an epoch's steps."""
TESTED_FROM = 0.25
"""The best network is kept from this share of the phase on."""
MOST_DISCOUNT = 0.99
"""The largest discount factor of action values."""
CONSTANT = 1e-8
"""A feature that varies by at most this share of its size counts as constant."""


def discount(task: EnvTask, settings: PlanSettings, longest_episode: float) -> float:
    """Return the discount factor of values: they look ahead about an episode, or a part of one.

    Args:
        task: the task.
        settings: of the plan.
        longest_episode: the steps of the longest episode that was cut, infinity if none was. An environment
            may cut episodes long before the task's `t_max`.
    """
    steps_ahead = float(task.t_max)
    if settings.sight is not None:
        steps_ahead = settings.sight * min(task.t_max, longest_episode)
    return min(task.gamma, MOST_DISCOUNT, max(settings.least_discount, 1 - 1 / steps_ahead))


def discount_of(bench: Bench, known: Knowledge) -> float:
    """Return the discount factor of values for what is known."""
    return discount(bench.task, bench.settings(known), longest_cut(known.moves))


def decay_of(bench: Bench, known: Knowledge) -> float:
    """Return how fast weights shrink for what is known.

    Before steps tell actions apart, nothing can be learnt by heart, and flat values would explore less.
    """
    return bench.settings(known).decay if known.has_informative_steps else 0.0


def learn_values(bench: Bench, known: Knowledge, phase_epoch: int, n_epochs: int) -> tuple[Knowledge, float]:
    """Play an epoch of the phase and learn from all steps so far; return the mean error of the values too.

    Args:
        bench: plays.
        known: what is known.
        phase_epoch: the number of the epoch in the phase.
        n_epochs: how many the phase has.
    """
    nets, errors, teacher = known.nets.copy(), list[float](), bench.teacher
    gamma, decay = discount_of(bench, known), decay_of(bench, known)
    if phase_epoch == 0 and teacher is None:
        known = known._replace(scale=scale_of(known, gamma))
    updates_per_step = min(MOST_PER_STEP, max(1.0, UPDATES / (bench.quota * n_epochs)))
    has_unlearnt = phase_epoch == 0 or not known.has_informative_steps
    n_unlearnt = len(known.moves) if bench.settings(known).learns_from_earlier and has_unlearnt else 0
    while bench.steps_left > 0 or not errors:
        progress, steps_before = (phase_epoch + bench.n_steps / bench.quota) / n_epochs, bench.n_steps
        if teacher is None:
            known = bench.with_episodes(known, practise(bench, known, nets[0], progress))
        else:
            known = bench.with_episodes(
                known, teacher_episodes(bench, known, teacher, phase_epoch + len(errors))
            )
            if phase_epoch == 0 and not errors:
                known = known._replace(scale=scale_of(known, gamma))
        learning_rate = FIRST_RATE + (LAST_RATE - FIRST_RATE) * min(1.0, progress)
        n_due = n_unlearnt if known.has_informative_steps else 0
        n_updates = int(updates_per_step * (bench.n_steps - steps_before + n_due))
        key = bench.key("train", steps_before)
        replay, advice = (known.memory, len(known.moves), known.scaling), advice_of(teacher, known)
        error = train(
            key, *replay, gamma, learning_rate, decay, n_updates, bench.task.n_actions, nets[:4], advice
        )
        errors.append(float(error))
        n_unlearnt -= n_due
    if teacher is not None:
        nets[-1] = nets[1]
        return known._replace(nets=nets), float(np.mean(errors))
    known = known._replace(nets=nets)
    if phase_epoch >= TESTED_FROM * n_epochs:
        known = keep_if_best(bench, known)
    if phase_epoch == n_epochs - 1:  # from now on the best one learns
        nets = np.zeros_like(known.nets)
        nets[0] = nets[1] = nets[-1] = known.nets[-1]
        known = known._replace(nets=nets)
    return known, float(np.mean(errors))


def catch_up(bench: Bench, known: Knowledge, progress: float) -> Knowledge:
    """Return what is known once the network has learnt from all steps so far, as it takes the counts' place.

    Args:
        bench: plays.
        known: what is known.
        progress: the share of the phase that is over. The network gets this share of its updates.
    """
    gamma, decay, nets = discount_of(bench, known), decay_of(bench, known), known.nets.copy()
    known = known._replace(scale=scale_of(known, gamma))
    n_updates = int(min(progress * UPDATES, MOST_PER_STEP * len(known.moves)))
    key, replay = bench.key("catch up"), (known.memory, len(known.moves), known.scaling)
    train(key, *replay, gamma, FIRST_RATE, decay, n_updates, bench.task.n_actions, nets[:4], NO_ADVICE)
    known = known._replace(nets=nets).with_clock(by_counts=0.0, network_return=-np.inf)
    return keep_if_best(bench, known)


def learn_on(bench: Bench, known: Knowledge, episodes: list[Trajectory]) -> Knowledge:
    """Return what is known after episodes of lists, whose steps are remembered and learnt from."""
    plan_is_over, teacher = not len(known.moves), bench.teacher
    known, nets = bench.with_episodes(known, episodes), known.nets.copy()
    if plan_is_over or (teacher is not None and teacher.has_values):
        return known.without_memory()  # the plan is over, or there is nothing to learn
    key, replay = bench.key("learn on"), (known.memory, len(known.moves), known.scaling)
    gamma, decay, n_updates = discount_of(bench, known), decay_of(bench, known), FEW_UPDATES
    if bench.settings(known).saves_steps:
        n_updates = min(n_updates, int(MOST_PER_STEP * sum(len(episode.actions) for episode in episodes)))
    advice = advice_of(teacher, known)
    train(key, *replay, gamma, LAST_RATE, decay, n_updates, bench.task.n_actions, nets[:4], advice)
    nets[-1] = nets[1]
    return known._replace(nets=nets)


def advice_of(teacher: Teacher | None, known: Knowledge) -> NDArray[np.int16]:
    """Return the actions of a teacher in all rows of the memory; none without one."""
    return NO_ADVICE if teacher is None else teacher.advice(known.points)


def teacher_episodes(bench: Bench, known: Knowledge, teacher: Teacher, turn: int) -> list[Trajectory]:
    """Let a teacher play a few episodes, with more and fewer random actions in turn."""
    n_episodes = bench.affordable_episodes(bench.steps_left / 2, known.episode_length, 1, TOGETHER)
    key = bench.key("explore", bench.n_steps)
    epsilon = RANDOM_IN_TEACHING[turn % len(RANDOM_IN_TEACHING)]
    return bench.explore(teacher, epsilon, bench.seeds(n_episodes), key)


def practise(bench: Bench, known: Knowledge, net: NDArray[np.float32], progress: float) -> list[Trajectory]:
    """Play a few episodes by the network, and by the best list while it does better."""
    n_episodes = bench.affordable_episodes(
        bench.steps_left / 2, known.episode_length, 1, bench.episode_factor * TOGETHER
    )
    list_leads = np.nanmax([-np.inf, *known.scores]) > known.network_return
    n_by_list = round(n_episodes * (BY_LISTS - LESS_BY_LISTS * progress)) if list_leads else 0
    epsilon = max(LAST_RANDOM, FIRST_RANDOM * (1 - progress / RANDOM_UNTIL))
    seeds, steps_before = bench.seeds(n_episodes), bench.n_steps
    key, list_key = bench.key("explore", steps_before), bench.key("explore by list", steps_before)
    episodes = bench.explore(net, epsilon, seeds[n_by_list:], key, known.scaling)
    return episodes + bench.explore(known.best_draft, RANDOM_IN_LISTS, seeds[:n_by_list], list_key)


def keep_if_best(bench: Bench, known: Knowledge) -> Knowledge:
    """Play greedy episodes by the target network, which is the steadier one, and keep it if it is best."""
    n_episodes = bench.affordable_episodes(
        TESTING_TAKES * bench.quota, known.episode_length, 1, bench.episode_factor * TESTED_ON
    )
    nets, score = known.nets.copy(), known.network_return
    if n_episodes >= FEWEST_TESTED_ON:
        episodes = bench.explore(known.nets[1], 0.0, bench.seeds(n_episodes), np.uint64(0), known.scaling)
        known, score = bench.with_episodes(known, episodes), bench.mean_return(episodes)
        if score < known.network_return:
            return known
    nets[-1] = nets[1]
    return known._replace(nets=nets).with_clock(network_return=score)


def scale_of(known: Knowledge, gamma: float) -> Floats:
    """Return centre and spread of the features, and what rewards are multiplied by, from all steps so far."""
    points = known.points.astype(np.float64)
    centre, spread = centres_and_spreads(points)
    least_spread = np.maximum(CONSTANT * np.abs(points).max(axis=0), np.finfo(np.float32).tiny)
    spread = np.where(spread > least_spread, spread, 1.0)
    returns, discounted = np.zeros(len(known.moves)), 0.0
    for i in range(len(known.moves) - 1, -1, -1):
        discounted = 0.0 if known.moves[i] < 0 else float(known.rewards[i]) + gamma * discounted
        returns[i] = discounted
    step_returns = returns[known.moves >= 0]
    return_size = max(float(step_returns.std()), abs(float(step_returns.mean())) / 3)
    return np.concatenate([centre, spread, [1 / return_size if return_size > 0 else 1.0]])
