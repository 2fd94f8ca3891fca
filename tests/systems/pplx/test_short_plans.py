"""PPL-X with few steps: several networks, more points to fit lists at, and a choice that rests on values."""

from __future__ import annotations

import functools
import itertools
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from ifthen import PPLX, DecisionList, env_task, evaluate, load
from ifthen.errors import ModelFileError
from ifthen.runs.pruned_policy import pruned_policy
from ifthen.systems.learning import Goal
from ifthen.systems.pplx import first_steps, scratch
from ifthen.systems.pplx import value_learning as values
from ifthen.systems.pplx.distil_values import SIZES, drafts_from_trees, imitated_states
from ifthen.systems.pplx.drafts import actions_at
from ifthen.systems.pplx.env_plan import (
    ENOUGH_STEPS,
    EPOCHS,
    MOST_NETWORKS,
    ORDINARY,
    ROUNDS,
    SHORT,
    settings_for,
)
from ifthen.systems.pplx.fit import regret
from ifthen.systems.pplx.knowledge import UNPLAYED, Knowledge
from ifthen.systems.pplx.last_choice import CHEAPER, MOST_BY_VALUES, choose_by_values, pared
from ifthen.systems.pplx.memory import CUT, TERMINAL, longest_cut
from ifthen.systems.pplx.policy_search import POLISHED_ON
from ifthen.systems.pplx.pplx_on_env import OnEnvironment
from ifthen.systems.pplx.q_network import weights_of
from ifthen.systems.pplx.scoring import FEWEST_PLAYED, FIRST_PLAYED, fitness_of, fitness_on_same_seeds
from ifthen.systems.pplx.scratch import single, with_rule
from ifthen.tasks.gym_task import EnvTask
from tests.archives import with_array
from tests.envs import YARD, Walk
from tests.systems.pplx.lists import haystack

PLAN = 1 + sum(EPOCHS.values())
STEPS = 4_000

pytestmark = pytest.mark.usefixtures("few_updates", "all_networks")


def seeker(**given: Any) -> PPLX:
    return PPLX(haystack(), **{"seed": 1, "threads": 1, "steps": STEPS, **given})


@functools.cache
def learnt() -> PPLX:
    """Return a system after its whole plan; not to be changed."""
    system = seeker().learn()
    assert isinstance(system, PPLX)
    return system


def learner_of(system: PPLX) -> OnEnvironment:
    assert isinstance(system.learner, OnEnvironment)
    return system.learner


@functools.cache
def before_the_choice() -> Knowledge:
    """Return what is known before the last epoch of the plan."""
    known: Knowledge = seeker().learn(epochs=PLAN - 2).now.population
    return known


def networks_in(system: PPLX) -> int:
    known: Knowledge = system.now.population
    weights: int = weights_of(len(system.task.features), system.task.n_actions)
    return int(known.nets.shape[1]) // weights


def test_few_steps_find_the_features_that_matter() -> None:
    system = learnt()
    best = max(evaluate(list_, system.task).performance for list_ in [p.ruleset for p in system.front.points])
    assert evaluate(system.ruleset, system.task).performance >= 0.9 * best
    constants = learner_of(system).constants(system.now.population)
    assert best > 1.5 * max(evaluate(p.ruleset, system.task).performance for p in constants)


@given(st.floats(1e3, 1e9))
def test_the_fewer_steps_the_more_networks(budget: float) -> None:
    learner = learner_of(seeker())
    own = learner.plan.networks(budget)
    assert 1 <= own <= MOST_NETWORKS
    assert own >= learner.plan.networks(2 * budget)
    assert learner.plan.networks(1e3) == MOST_NETWORKS
    assert learner.plan.networks(400_000) == 1


def test_networks_differ_and_are_saved_and_loaded(tmp_path: Path) -> None:
    system = seeker().learn(epochs=3)
    assert isinstance(system, PPLX)
    assert networks_in(system) == MOST_NETWORKS
    known: Knowledge = system.now.population
    apart = known.nets[0].reshape(MOST_NETWORKS, -1)
    assert len(np.unique(apart, axis=0)) == MOST_NETWORKS
    system.save(tmp_path / "m.zip")
    assert load(tmp_path / "m.zip").now.population.nets.tobytes() == known.nets.tobytes()
    for kept in (slice(0, -1), slice(0, 0)):
        bad = with_array(tmp_path / "m.zip", tmp_path, "population/nets", itemgetter((slice(None), kept)))
        with pytest.raises(ModelFileError, match="nets must be float32 of shape"):
            load(bad)


def test_a_goal_in_steps_gets_the_networks_of_its_plan() -> None:
    system = seeker(steps=None)
    system.learn(epochs=0)
    system.learn(total_timesteps=2_000)
    assert networks_in(system) == MOST_NETWORKS
    assert learner_of(system).settings(system.now.population) == SHORT


def test_a_teachers_values_take_one_network() -> None:
    system = PPLX(haystack(), seed=1, threads=1, steps=STEPS, teacher=lambda observation: 0)
    plan, own_plan = learner_of(system).plan, learner_of(seeker()).plan
    assert plan.networks(STEPS) == 1
    assert plan.settings(STEPS).rounds == ROUNDS != own_plan.settings(STEPS).rounds


def test_with_a_teacher_a_short_plan_differs_in_what_takes_time_alone() -> None:
    taught, shared = settings_for(STEPS, True), ("latest_weight", "long_episode", "shortens", "counts_steps")
    assert taught != ORDINARY
    assert taught._replace(**{name: getattr(ORDINARY, name) for name in shared}) == ORDINARY
    assert all(getattr(taught, name) == getattr(SHORT, name) for name in shared)
    assert settings_for(ENOUGH_STEPS, True) == ORDINARY


@given(st.floats(1e3, ENOUGH_STEPS - 1))
def test_the_phases_of_a_short_plan_share_all_of_its_steps(budget: float) -> None:
    learner = learner_of(seeker())
    assert learner.plan.settings(budget) == SHORT
    quotas = [learner.plan.quota(epoch, budget) for epoch in range(1, PLAN)]
    assert sum(quotas) == pytest.approx(budget)
    assert quotas[-1] == max(quotas[-EPOCHS[4] :])  # most of the search is the last choice
    assert learner.plan.settings(ENOUGH_STEPS) == ORDINARY


def test_lists_are_fitted_where_values_were_learnt_too() -> None:
    system = seeker().learn(epochs=EPOCHS[1] + EPOCHS[2])
    known: Knowledge = system.now.population
    bench = learner_of(system).bench(99, 100.0)
    states = imitated_states(bench, known).states
    taken = known.points[known.moves >= 0]
    assert len(states) > len(taken) / 2
    assert {row.tobytes() for row in taken[-100:]} <= {row.tobytes() for row in states}


def test_values_choose_the_lists_that_play_in_the_end_on_the_same_seeds() -> None:
    known, learner = before_the_choice(), learner_of(seeker())
    bench = learner.bench(99, 2_000.0)
    new = drafts_from_trees(bench, known, True, SIZES)
    found = choose_by_values(bench, known, new)
    points, costs = bench.labelled(known, known.states)
    longer = [i for i in range(len(found.drafts)) if len(found.drafts[i].actions) > 1]
    longer.sort(key=lambda i: found.drafts[i].size)
    assert 0 < len(longer) <= MOST_BY_VALUES + 2  # the best so far and a shorter one play, too
    keys = {draft.key() for draft in [*known.drafts, *new]}
    assert known.best_draft.key() in {draft.key() for draft in found.drafts}
    assert sum(draft.key() not in keys for draft in found.drafts) <= 1
    chosen = [i for i in longer if found.drafts[i].key() in keys - {known.best_draft.key()}]
    own = [regret(found.drafts[i], points, costs) for i in chosen]
    assert all(b < (1 - CHEAPER) * a for a, b in itertools.pairwise(own))
    least = min(regret(draft, points, costs) for draft in [*known.drafts, *new])
    assert min(regret(found.drafts[i], points, costs) for i in longer) <= least / (1 - CHEAPER)
    numbers = found.fitness[longer, 2]
    assert numbers.min() >= FEWEST_PLAYED
    seeds = learner.task.choosing(int(numbers.max()))
    for i in longer:  # the scores are those of the first seeds for choosing, whoever played them before
        returns = learner.bench(99, 0.0).play([found.drafts[i]], seeds[: int(found.fitness[i, 2])])
        assert found.fitness[i] == pytest.approx(fitness_of(returns)[0])


@given(st.integers(0, 300), st.lists(st.integers(0, 40), min_size=1, max_size=4))
def test_lists_play_as_many_seeds_as_the_steps_pay_for(quota: int, played: list[int]) -> None:
    task = env_task("CartPole-v1")
    learner = learner_of(PPLX(task, seed=1, threads=1, steps=STEPS))
    bench, drafts = learner.bench(99, float(quota)), [single(0, 4)] * len(played)
    returns = learner.bench(99, 0.0).play(drafts[:1], task.choosing(40))
    before = np.vstack([fitness_of(returns[:, :n])[0] if n else UNPLAYED for n in played])
    fitness = fitness_on_same_seeds(bench, drafts, before, 9.0)  # episodes take 8 to 10 steps
    numbers = fitness[:, 2]
    assert (numbers >= np.maximum(played, FEWEST_PLAYED)).all()
    assert len({n for n, had in zip(numbers, played, strict=True) if n > had}) <= 1
    needed = sum(max(0, FEWEST_PLAYED - n) for n in played)
    assert bench.n_episodes == sum(numbers) - sum(played)
    if bench.n_episodes > needed:  # what is beyond the few first episodes is paid for, but for their spread
        assert bench.n_steps <= 1.2 * quota + 10


def test_lists_beyond_those_needed_do_not_play_once_no_steps_are_left() -> None:
    learner = learner_of(PPLX(env_task("CartPole-v1"), seed=1, threads=1, steps=STEPS))
    bench, drafts, unknown = learner.bench(99, 0.0), [single(0, 4)] * 4, np.vstack([UNPLAYED] * 4)
    fitness = fitness_on_same_seeds(bench, drafts, unknown, 9.0, n_needed=2)
    assert np.isfinite(fitness[:2]).all()
    assert np.isnan(fitness[2:]).all()
    assert bench.n_episodes == 2 * FIRST_PLAYED < 2 * FEWEST_PLAYED
    bench = learner.bench(99, 1e6)
    assert np.isfinite(fitness_on_same_seeds(bench, drafts, unknown, 9.0, max_episodes=10, n_needed=2)).all()


def test_the_steps_of_scored_lists_are_kept_and_returns_are_the_same() -> None:
    system, task = seeker(), haystack()
    learner = learner_of(system)
    plain, keeping = learner.bench(99, 0.0), learner.bench(99, 0.0)
    keeping.keeps_episodes, drafts, seeds = True, before_the_choice().drafts[:5], task.choosing(7)
    assert keeping.play(drafts, seeds) == pytest.approx(plain.play(drafts, seeds))
    assert (keeping.n_steps, keeping.n_episodes) == (plain.n_steps, plain.n_episodes)
    assert not plain.kept_episodes
    assert sum(len(episode.actions) for episode in keeping.kept_episodes) == keeping.n_steps
    for draft, episode in zip(np.repeat(np.arange(len(drafts)), 7), keeping.kept_episodes, strict=True):
        inside = keeping.clipped(episode.points)
        assert (actions_at(drafts[draft], inside) == episode.actions).all()


def test_short_plans_learn_from_every_step_and_long_ones_from_those_of_learning() -> None:
    for steps, every in ((STEPS, True), (200_000, False)):
        system = PPLX(env_task(ShortWalk), seed=1, threads=1, steps=steps).learn(epochs=EPOCHS[1])
        taken = int((system.now.population.moves >= 0).sum())
        assert (taken == system.num_timesteps) is every


def test_steps_of_scored_lists_are_left_out_where_steps_may_be_counted() -> None:
    system = PPLX(env_task(YARD, episodes=20), seed=1, threads=1, steps=20_000).learn(epochs=EPOCHS[1])
    assert (system.now.population.moves >= 0).sum() < system.num_timesteps


def test_steps_inform_once_rewards_differ_or_an_episode_terminates() -> None:
    known: Knowledge = seeker().learn(epochs=0).now.population
    for rewards, end, expected in (([1, 1], CUT, False), ([1, 2], CUT, True), ([1, 1], TERMINAL, True)):
        moves = np.array([0, 0, end], np.int16)
        own = known._replace(moves=moves, rewards=np.array([*rewards, 0], np.float32))
        assert own.has_informative_steps is expected
        bench = learner_of(seeker()).bench(99, 0.0)
        assert (values.decay_of(bench, own) > 0) is expected
        assert values.decay_of(bench, own.with_clock(budget=1e6)) == 0
    assert not known.without_memory().has_informative_steps


def test_a_progress_bar_counts_the_steps_of_a_short_plan_where_they_take_the_time() -> None:
    whole, part = Goal("epochs", PLAN - 1), Goal("epochs", 5)
    slow = PPLX(haystack(), seed=1, threads=1, steps=STEPS).learn(epochs=0)
    long = PPLX(haystack(), seed=1, threads=1, steps=200_000).learn(epochs=0)
    twin = PPLX("CartPole-v1", seed=1, threads=1, steps=STEPS).learn(epochs=0)
    assert slow._gauge(whole) == Goal("steps", STEPS)
    assert [each._gauge(whole) for each in (long, twin)] == [whole, whole]
    assert slow._gauge(part) == part


def test_lists_play_one_episode_first_where_episodes_are_very_long() -> None:
    task = env_task(ShortWalk, ranges={"f0": (-6.0, 6.0), "f1": (0.0, 2.0)})
    few, many = (PPLX(task, seed=1, threads=1, steps=n).learn(epochs=0) for n in (1_000, 20_000))
    assert few.now.population.fitness[:, 2].max() < FEWEST_PLAYED
    assert many.now.population.fitness[:, 2].min() >= FEWEST_PLAYED


class ManyActions(Walk):
    """A walk without an end, with fifty actions."""

    def __init__(self) -> None:
        super().__init__(endless=True)
        self.action_space = spaces.Discrete(50)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return super().step(int(action) % 3)


def many_actions(t_max: int) -> EnvTask:
    return env_task(ManyActions, t_max=t_max, ranges={"f0": (-6.0, 6.0), "f1": (0.0, 2.0)})


@pytest.mark.parametrize(("steps", "n_scored"), [(1_000, 3), (200_000, 50)])
def test_scoring_single_actions_takes_a_small_share_of_the_plan(steps: int, n_scored: int) -> None:
    system = PPLX(many_actions(100), seed=1, threads=1, steps=steps).learn(epochs=0)
    known: Knowledge = system.now.population
    assert len(known.drafts) == n_scored
    assert np.isfinite(known.scores).all()
    assert system.num_timesteps <= 4 * 100 + max(0.15 * steps, 3 * 100)


def test_random_lists_are_sought_within_their_share_of_the_plan() -> None:
    system = PPLX(many_actions(100), seed=1, threads=1, steps=4_000).learn(epochs=0)
    bench, known = learner_of(system).bench(1, 100.0), system.now.population
    known = known._replace(fitness=np.tile([7.0, 0.0, 1.0], (len(known.fitness), 1)))
    scratch.seek(bench, known, bench.seeds(1)[0])
    assert bench.n_steps <= scratch.SEEKING_TAKES * 4_000 + 100


def test_long_episodes_are_measured_at_the_beginning_and_the_end_of_a_short_plan() -> None:
    system = PPLX(many_actions(100), seed=1, threads=1, steps=1_000).learn(epochs=0)
    learner, known, bench = learner_of(system), system.now.population, learner_of(system).bench(1, 0.0)
    chosen, column = system.front.best, system.task.held_out_column
    before = {"epoch": 3, "performance": -1.0, column: -2.0}
    assert learner.measures(chosen, known, bench, before) == {"performance": -1.0, column: -2.0}
    last = learner.measures(chosen, known, bench, {**before, "epoch": learner.epochs - 1})
    training = learner.task.z[:1]
    assert last["performance"] == evaluate(chosen.ruleset, learner.task, seeds=training).performance
    long_plan = known.with_clock(budget=1e6)
    assert learner.measures(chosen, long_plan, bench, before)["performance"] != -1.0


def test_the_speed_is_that_of_one_episode_if_it_takes_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_steps, "TIMED", 0.0)
    system = PPLX(many_actions(100), seed=1, threads=1, steps=1_000).learn(epochs=0)
    bench, played = learner_of(system).bench(0, 0.0), list[int]()
    explore = bench.explore

    def counted(policy: Any, epsilon: float, seeds: Any, *rest: Any, **named: Any) -> Any:
        played.append(len(seeds))
        return explore(policy, epsilon, seeds, *rest, **named)

    monkeypatch.setattr(bench, "explore", counted)
    assert first_steps.measured_speed(bench) > 0
    assert played == [1, 1]


@pytest.mark.parametrize(("seconds", "measured"), [((1.0, 0.01), 0.01), ((0.5, 0.6), 0.5), ((9.0, 0.1), 9.0)])
def test_a_pause_does_not_make_the_speed_small(
    monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, ...], measured: float
) -> None:
    system = PPLX("CartPole-v1", seed=1, threads=1, steps=1_000).learn(epochs=0)
    bench, clock, taken, played = learner_of(system).bench(0, 0.0), [0.0], list(seconds), list[int]()
    explore = bench.explore

    def slow(*arguments: Any, **named: Any) -> Any:
        steps_before = bench.n_steps
        episodes = explore(*arguments, **named)
        clock[0] += taken.pop(0)
        played.append(bench.n_steps - steps_before)
        return episodes

    monkeypatch.setattr(bench, "explore", slow)
    monkeypatch.setattr(first_steps, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert first_steps.measured_speed(bench) == pytest.approx(played[0] / measured)
    assert len(set(played)) == 1


def test_parts_that_values_do_not_miss_are_dropped() -> None:
    known, learner = before_the_choice(), learner_of(seeker())
    bench = learner.bench(99, 0.0)
    known = known._replace(states=known.states[:POLISHED_ON])  # so that all points count
    points, costs = bench.labelled(known, known.states)
    longest = max(drafts_from_trees(bench, known, True, SIZES), key=lambda draft: draft.size)
    useless = with_rule(bench.rng, longest, points, points[0], 0, int(costs[0].argmin()))
    whole = [regret(draft, points, costs) for draft in (longest, useless)]
    for most in (0.0, 0.1 * costs.mean(), 10.0 * costs.max()):
        found = pared(bench, known, useless, most)
        assert found.size <= useless.size
        assert found.key() == useless.key() or regret(found, points, costs) <= whole[1] + most
    assert len(found.actions) <= 2
    assert bench.n_steps == 0


def test_a_short_plan_takes_about_the_steps_that_it_says() -> None:
    taken = learnt().num_timesteps
    assert 0.8 * STEPS <= taken <= 1.3 * STEPS


@pytest.mark.parametrize(
    ("t_max", "longest", "expected"),
    [(500, np.inf, 0.99), (500, 30.0, 0.9), (500, 100.0, 0.97), (60, 60.0, 0.95), (500, 3.0, 0.8)],
)
def test_values_look_ahead_a_part_of_an_episode_in_short_plans(
    t_max: int, longest: float, expected: float
) -> None:
    task = env_task("CartPole-v1", t_max=t_max)
    assert values.discount(task, SHORT, longest) == pytest.approx(expected)
    assert values.discount(env_task("CartPole-v1", gamma=0.5, t_max=t_max), SHORT, longest) == 0.5


@given(st.lists(st.tuples(st.integers(1, 50), st.booleans()), max_size=8))
def test_the_longest_cut_episode_is_found(episodes: list[tuple[int, bool]]) -> None:
    moves = [move for steps, cut in episodes for move in [0] * steps + [CUT if cut else TERMINAL]]
    expected = max((steps for steps, cut in episodes if cut), default=np.inf)
    assert longest_cut(np.array(moves, np.int16)) == expected


class ShortWalk(Walk):
    """A walk that its environment cuts after 20 steps, without saying so."""

    def __init__(self) -> None:
        super().__init__(endless=True)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, over, _, info = super().step(action)
        return observation, reward, over, self.time == 20, info


def test_an_environments_own_limit_shortens_the_sight_of_short_plans_alone() -> None:
    task = env_task(ShortWalk, ranges={"f0": (-6.0, 6.0), "f1": (0.0, 2.0)})
    system = PPLX(task, seed=1, threads=1, steps=STEPS).learn(epochs=EPOCHS[1] + 1)
    known, learner = system.now.population, learner_of(system)
    assert longest_cut(known.moves) == 20 < task.t_max
    assert values.discount_of(learner.bench(99, 0.0), known) == pytest.approx(0.85)
    longer = known.with_clock(budget=1e6)
    assert values.discount_of(learner.bench(99, 0.0), longer) == values.discount(task, ORDINARY, 20) > 0.85


@pytest.mark.parametrize(("steps", "plays"), [(STEPS, True), (200_000, False)])
def test_rules_are_pruned_by_play_after_short_plans_and_dead_rules_always_go(steps: int, plays: bool) -> None:
    task, bounds = haystack(), np.tile([-1.0, 1.0], (4, 25, 1))
    bounds[:3, 3] = [-1.0, 0.0], [0.0, 0.5], [-0.5, 0.3]  # the first two leave nothing to the third
    start = DecisionList(bounds, [0, 1, 0, 1], task.features, task.action_names)
    system = seeker(start=start, rules=4, steps=steps).learn(epochs=0)
    assert isinstance(system, PPLX)
    assert system.shortens is not plays
    assert system.ruleset == start
    found = pruned_policy(system)
    assert found is not None
    assert len(found.ruleset) == 2
    assert (found.seeds is not None) is plays
