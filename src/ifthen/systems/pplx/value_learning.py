"""Learning what actions are worth in an environment: a network, from all steps that were taken.

Episodes are played by the network and, while they do better, by the best lists: what they see is remembered.

A teacher that says what actions are worth needs no learning. Of one that only acts, the values are learnt:
it plays with random actions mixed in, and in what follows its own action is taken, not the best one. So the
values are those of the teacher's policy (expected SARSA on n steps).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.env_plan import UPDATES, PlanSettings
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.memory import longest_cut
from ifthen.systems.pplx.q_training import NO_ADVICE, train
from ifthen.systems.pplx.spreads import centres_and_spreads
from ifthen.systems.pplx.teacher import Teacher
from ifthen.tasks.gym_task import EnvTask

Nets = NDArray[np.float32]
"""Networks as `Knowledge.nets` has them, or some of its rows."""
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
"""Where the steps allow fewer greedy episodes, the last network counts as the best one. Counts are then not
tested before the end of the phase."""
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


class Lessons(NamedTuple):
    """How networks learn in an epoch of the phase, whoever plays."""

    phase_epoch: int
    """The number of the epoch in the phase."""
    n_epochs: int
    """How many epochs the phase has."""
    gamma: float
    """The discount factor."""
    decay: float
    """How fast weights shrink."""
    updates_per_step: float
    """How many updates a network gets for each step."""

    def progress(self, bench: Bench, steps_taken: int) -> float:
        """Return the share of the phase that is over after some steps of the epoch."""
        return (self.phase_epoch + steps_taken / bench.quota) / self.n_epochs

    def improve(self, bench: Bench, known: Knowledge, nets: Nets, first_step: int, n_due: int = 0) -> float:
        """Improve networks in place after new steps; return the mean error.

        Args:
            bench: played the steps.
            known: what is known, with the new steps.
            nets: the networks, as `Knowledge.nets`.
            first_step: how many steps of the epoch were taken before the new ones.
            n_due: this many earlier steps get their updates now.
        """
        rate = FIRST_RATE + (LAST_RATE - FIRST_RATE) * min(1.0, self.progress(bench, first_step))
        n_updates = int(self.updates_per_step * (bench.n_steps - first_step + n_due))
        key = bench.key("train", first_step)
        return update_networks(bench, known, nets, key, self.gamma, rate, self.decay, n_updates)


def learn_values(bench: Bench, known: Knowledge, phase_epoch: int, n_epochs: int) -> tuple[Knowledge, float]:
    """Play an epoch of the phase and learn from all steps so far; return the mean error of the values too.

    Args:
        bench: plays.
        known: what is known.
        phase_epoch: the number of the epoch in the phase.
        n_epochs: how many the phase has.
    """
    updates_per_step = min(MOST_PER_STEP, max(1.0, UPDATES / (bench.quota * n_epochs)))
    gamma, decay = discount_of(bench, known), decay_of(bench, known)
    lessons = Lessons(phase_epoch, n_epochs, gamma, decay, updates_per_step)
    if bench.teacher is not None:
        return learn_from_teacher(bench, known, bench.teacher, lessons)
    return learn_by_practice(bench, known, lessons)


def learn_by_practice(bench: Bench, known: Knowledge, lessons: Lessons) -> tuple[Knowledge, float]:
    """Learn from episodes that the network and the best list play; keep the network that does best."""
    phase_epoch, n_epochs = lessons.phase_epoch, lessons.n_epochs
    if phase_epoch == 0:
        known = known._replace(scale=scale_of(known, lessons.gamma))
    has_unlearnt = phase_epoch == 0 or not known.has_informative_steps
    n_unlearnt = len(known.moves) if bench.settings(known).learns_from_earlier and has_unlearnt else 0
    nets, errors = known.nets.copy(), list[float]()
    while bench.steps_left > 0 or not errors:
        first_step = bench.n_steps
        episodes = practise(bench, known, nets[0], lessons.progress(bench, first_step))
        known = bench.with_episodes(known, episodes)
        n_due = n_unlearnt if known.has_informative_steps else 0
        errors.append(lessons.improve(bench, known, nets, first_step, n_due))
        n_unlearnt -= n_due
    known = known._replace(nets=nets)
    if phase_epoch >= TESTED_FROM * n_epochs:
        known = keep_if_best(bench, known)
    if phase_epoch == n_epochs - 1:  # from now on the best one learns
        nets = np.zeros_like(known.nets)
        nets[0] = nets[1] = nets[-1] = known.nets[-1]
        known = known._replace(nets=nets)
    return known, float(np.mean(errors))


def learn_from_teacher(
    bench: Bench, known: Knowledge, teacher: Teacher, lessons: Lessons
) -> tuple[Knowledge, float]:
    """Learn what a teacher's actions are worth, from episodes that it plays; the last network counts."""
    nets, errors = known.nets.copy(), list[float]()
    while bench.steps_left > 0 or not errors:
        first_step, turn = bench.n_steps, lessons.phase_epoch + len(errors)
        known = bench.with_episodes(known, teacher_episodes(bench, known, teacher, turn))
        if turn == 0:
            known = known._replace(scale=scale_of(known, lessons.gamma))
        errors.append(lessons.improve(bench, known, nets, first_step))
    nets[-1] = nets[1]
    return known._replace(nets=nets), float(np.mean(errors))


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
    update_networks(bench, known, nets, bench.key("catch up"), gamma, FIRST_RATE, decay, n_updates)
    known = known._replace(nets=nets).with_clock(by_counts=0.0, network_return=-np.inf)
    return keep_if_best(bench, known)


def learn_on(bench: Bench, known: Knowledge, episodes: list[Trajectory]) -> Knowledge:
    """Return what is known after episodes of lists, whose steps are remembered and learnt from."""
    plan_is_over, teacher = not len(known.moves), bench.teacher
    known, nets = bench.with_episodes(known, episodes), known.nets.copy()
    if plan_is_over or (teacher is not None and teacher.has_values):
        return known.without_memory()  # the plan is over, or there is nothing to learn
    gamma, decay, n_updates = discount_of(bench, known), decay_of(bench, known), FEW_UPDATES
    if bench.settings(known).saves_steps:
        n_updates = min(n_updates, int(MOST_PER_STEP * sum(len(episode.actions) for episode in episodes)))
    update_networks(bench, known, nets, bench.key("learn on"), gamma, LAST_RATE, decay, n_updates)
    nets[-1] = nets[1]
    return known._replace(nets=nets)


def update_networks(
    bench: Bench,
    known: Knowledge,
    nets: Nets,
    key: np.uint64,
    gamma: float,
    learning_rate: float,
    decay: float,
    n_updates: int,
) -> float:
    """Improve networks in place by updates on all steps so far; return the mean error, see `train`."""
    advice = NO_ADVICE if bench.teacher is None else bench.teacher.advice(known.points)
    replay, n_actions = (known.memory, len(known.moves), known.scaling), bench.task.n_actions
    return float(
        train(key, *replay, gamma, learning_rate, decay, n_updates, n_actions, nets[:4], advice, 0.0)
    )


def teacher_episodes(bench: Bench, known: Knowledge, teacher: Teacher, turn: int) -> list[Trajectory]:
    """Let a teacher play a few episodes, with more and fewer random actions in turn."""
    n_episodes = bench.affordable_episodes(bench.steps_left / 2, known.episode_length, 1, TOGETHER)
    key = bench.key("explore", bench.n_steps)
    epsilon = RANDOM_IN_TEACHING[turn % len(RANDOM_IN_TEACHING)]
    return bench.explore(teacher, epsilon, bench.seeds(n_episodes), key)


def practise(bench: Bench, known: Knowledge, net: Nets, progress: float) -> list[Trajectory]:
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
