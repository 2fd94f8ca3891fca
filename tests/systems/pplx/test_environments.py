"""PPL-X in environments: what it learns, its plan, what it keeps, and files in every phase of it."""

from __future__ import annotations

import functools
import io
import itertools
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import PPLX, DecisionList, System, evaluate, load
from ifthen.environments.make import env_task
from ifthen.errors import IfthenWarning, ModelFileError, ParameterError
from ifthen.runs.pruned_policy import pruned_policy
from ifthen.simulate.trajectories import Trajectory
from ifthen.simulate.workers import WorkerSimulator
from ifthen.systems.learning import Goal
from ifthen.systems.pplx import env_plan, pplx_on_env
from ifthen.systems.pplx import value_learning as values
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.drafts import Draft
from ifthen.systems.pplx.env_plan import (
    ALWAYS_PLAYED,
    CHEAP_PLAN,
    CHEAP_SCRATCH,
    DISTIL,
    DISTILLING,
    EPOCHS,
    LEAST_SHARE,
    ORDINARY,
    PLANS,
    ROUNDS,
    SCRATCH,
    SEARCH,
    SHARES,
    VALUES,
    Plan,
    suited_plan,
)
from ifthen.systems.pplx.first_steps import measured_speed
from ifthen.systems.pplx.knowledge import HUGE, UNPLAYED, Clock, Knowledge
from ifthen.systems.pplx.last_choice import CANDIDATES
from ifthen.systems.pplx.memory import Memory, remembered
from ifthen.systems.pplx.network_learning import distilling_epoch
from ifthen.systems.pplx.pplx_on_env import OnEnvironment
from ifthen.systems.pplx.scoring import KEPT, fitness_of, pooled, trimmed
from ifthen.systems.pplx.scratch import seek, single
from ifthen.tasks.gym_task import BLOCK, EPISODE_LIMIT
from tests.archives import members, npy, poke, with_array, with_manifest, write
from tests.envs import Walk, task_of
from tests.systems.contract import saved_bytes
from tests.systems.pplx.lists import FEATURES, haystack, some_draft

PLAN = 1 + sum(EPOCHS.values())
STEPS = 10_000


pytestmark = pytest.mark.usefixtures("few_updates", "long_plans")


def seeker(**given: Any) -> PPLX:
    """Return a small PPL-X that has 25 features to choose from."""
    return PPLX(haystack(), **{"seed": 1, "threads": 1, "steps": STEPS, **given})


@functools.cache
def learnt(terms: bool = True) -> PPLX:
    """Return a system after its whole plan; not to be changed."""
    system = seeker(terms=terms).learn()
    assert isinstance(system, PPLX)
    return system


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the files of a system after each epoch of its plan."""
    folder, found = tmp_path_factory.mktemp("epochs"), []

    def keep(system: System) -> None:
        found.append(folder / f"{system.epoch}.zip")
        system.save(found[-1])

    system = seeker().learn(epochs=0)
    keep(system)
    system.learn(epochs=PLAN - 1, callback=keep)
    return found


# Learning


def test_two_features_of_25_are_found_and_added_up() -> None:
    system = learnt()
    assert evaluate(system, haystack(), seeds=haystack().test_seeds()).performance > 1.85
    assert {"f3", "f17"} in [{name for name, _ in term.of} for term in system.ruleset.terms]
    assert len(system.ruleset) <= 3


def test_without_terms_rules_compare_single_features() -> None:
    system = learnt(terms=False)
    assert not any(point.ruleset.terms for point in system.front.points)
    assert evaluate(system, haystack(), seeds=haystack().test_seeds()).performance > 1.6


@pytest.mark.parametrize(
    "given", [{"rules": 1}, {"rules": 3}, {"tests": 1}, {"rules": 3, "tests": 2}, {"knee": 0.0}]
)
def test_rules_and_tests_choose_a_point_of_the_front(given: dict[str, Any]) -> None:
    whole, other = learnt(terms=False), seeker(terms=False, **given)
    other._now = whole._now
    limits = {name: given.get(name) for name in ("rules", "tests")}
    front = whole.front
    chosen = front.best if "knee" in given else front.at(**limits)
    assert other.ruleset == chosen.ruleset
    assert all(
        have <= most
        for have, most in ((chosen.rules, limits["rules"]), (chosen.tests, limits["tests"]))
        if most
    )


@pytest.mark.parametrize("epoch", [-2, -1])
def test_the_front_has_what_its_lists_get_on_the_seeds_for_choosing(after: list[Path], epoch: int) -> None:
    system = load(after[epoch])  # in the last epoch, good lists play more
    bench = system.learner.bench(0, 0.0)  # type: ignore[attr-defined]  # of PPL-X in environments
    assert not set(haystack().choosing(1000)) & set(bench.seeds(900))
    assert system.front is not None
    for point in system.front.points:
        assert point.episodes is not None
        score = evaluate(point.ruleset, haystack(), seeds=haystack().choosing(point.episodes))
        assert point.score == pytest.approx(score.performance)
        assert score.returns is not None
        assert point.deviation == pytest.approx(np.std(score.returns))


def test_seeds_for_choosing_are_no_test_seeds_however_many_they_are() -> None:
    task = haystack()
    many = task.choosing(2 * BLOCK)
    assert len(np.unique(many)) == BLOCK
    others = [task.z, task.pool, task.validation]
    blocks = [task.test_seeds, task.pruning, task.learning, task.searching, task.comparing_seeds]
    for seeds in [*others, *(block(EPISODE_LIMIT) for block in blocks)]:
        assert not np.intersect1d(many, seeds).size
    assert (task.choosing(5, first=3) == many[3:8]).all()


def test_in_the_end_good_lists_play_more_and_scores_are_of_all_episodes(after: list[Path]) -> None:
    before, now = (load(path).now.population for path in after[-2:])
    assert [draft.key() for draft in before.drafts] == [draft.key() for draft in now.drafts]
    again = np.flatnonzero(~np.isclose(before.scores, now.scores, rtol=0, atol=0, equal_nan=True))
    good = np.flatnonzero(before.scores >= before.near_best_score)
    assert 0 < len(again) <= min(len(good), max(CANDIDATES))
    assert set(again) <= set(good)


@given(st.integers(0, 1000), st.integers(1, 9), st.integers(1, 9))
def test_pooled_scores_are_those_of_all_returns(seed: int, played: int, more: int) -> None:
    returns = np.random.default_rng(seed).normal(size=(3, played + more))
    first, second = fitness_of(returns[:, :played]), fitness_of(returns[:, played:])
    assert pooled(first, second) == pytest.approx(fitness_of(returns))


def test_once_values_are_learnt_the_best_list_is_never_lost() -> None:
    history = learnt(terms=False).history
    assert history.filter(history["phase"] >= VALUES)["best_value"][:-1].is_sorted()
    assert history["steps"].is_sorted()
    population = learnt(terms=False).now.population
    assert len(population.lengths) <= KEPT
    assert len(population.moves) == 0  # steps are forgotten once the network is learnt


def test_lists_are_sought_that_get_anything_else_where_all_get_the_same() -> None:
    car = PPLX(env_task("MountainCar-v0"), seed=0, threads=1, steps=2_000_000).learn(epochs=0)
    assert isinstance(car, PPLX)
    assert isinstance(car.learner, OnEnvironment)
    known: Knowledge = car.now.population
    assert not known.returns_differ  # the top is never reached by doing always the same
    bench = car.learner.bench(1, 50_000.0)
    seed = bench.seeds(1)
    found = seek(bench, known, seed[0])
    assert found
    assert (bench.play(found, seed) > -200).all()
    assert seek(bench, known.with_clock(budget=2000.0), seed[0]) == []  # too few steps to find one
    assert learnt().now.population.returns_differ


class CostlyCar(gymnasium.Wrapper[Any, Any, Any, Any]):
    """MountainCar whose engine costs a little: doing nothing is then the best of single actions."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) - 0.1 * (action != 1), terminated, truncated, info


def test_where_nothing_was_learnt_lists_are_drawn_until_one_gets_more() -> None:
    task = env_task(lambda: CostlyCar(gymnasium.make("MountainCar-v0")))
    system = PPLX(task, seed=0, threads=1, steps=200_000).learn(epochs=0)
    known: Knowledge = system.now.population
    assert known.returns_differ  # by what engines cost
    assert not known.learnt_nothing  # there is no network yet
    known = known.with_clock(network_return=known.best_score)
    assert known.learnt_nothing
    assert not known.with_clock(network_return=known.best_score + 1).learnt_nothing
    bench = OnEnvironment(system).bench(sum(EPOCHS[phase] for phase in (SCRATCH, VALUES)) + 1, 3_000.0)
    seed = bench.seeds(1)
    found = seek(bench, known, seed[0])
    assert found
    assert bench.play(found, seed).min() > bench.play(known.drafts, seed).max()
    work = env_plan.Work(env_plan.DISTIL, 0, ())
    after = distilling_epoch(bench, known, work, True, [])
    assert after.gain > 0
    assert not after.learnt_nothing


# The plan


def test_the_plan_goes_through_its_phases_and_searches_on() -> None:
    phases = [Plan().phase(epoch) for epoch in range(PLAN + 5)]
    expected = [(env_plan.BEGINNING, 0)]
    expected += [(phase, i) for phase in (SCRATCH, VALUES, DISTIL, SEARCH) for i in range(EPOCHS[phase])]
    assert phases == expected + [(SEARCH, EPOCHS[SEARCH] + i) for i in range(5)]
    history = learnt().history
    assert history["phase"].to_list() == [phase for phase, _ in expected]
    ends = [sum(EPOCHS[own] for own in range(SCRATCH, phase + 1)) for phase in range(SEARCH + 1)]
    assert (np.diff(history["steps"].to_numpy()[ends]) > 0).all()  # each phase takes steps


def test_an_epoch_says_what_it_does_and_the_search_begins_anew_after_its_last_round() -> None:
    works = [Plan().work(epoch, 1e6) for epoch in range(1, PLAN + 2)]
    assert [work.phase for work in works if work.begins_phase] == [SCRATCH, VALUES, DISTIL, SEARCH]
    assert [work.phase for work in works if work.ends_phase] == [SCRATCH, VALUES, DISTIL, SEARCH]
    search = [work for work in works if work.phase == SEARCH]
    assert tuple(work.activity for work in search) == (*ROUNDS, *ROUNDS[:2])
    assert [len(work.before) for work in search] == [*range(len(ROUNDS)), 0, 1]
    last_distilling = max(i for i, activity in enumerate(ROUNDS) if activity == DISTILLING)
    assert [work.needs_steps for work in search] == [i <= last_distilling for i in range(len(ROUNDS))] + [
        True
    ] * 2
    assert all(work.needs_steps for work in works if work.phase != SEARCH)


@given(st.floats(1e3, 1e9), st.booleans())
def test_the_phases_share_all_of_the_plans_steps(budget: float, cheap: bool) -> None:
    learner = PPLX("CartPole-v1").learner if cheap else seeker().learner
    assert isinstance(learner, OnEnvironment)
    quotas = [learner.plan.quota(epoch, budget) for epoch in range(1, PLAN)]
    assert sum(quotas) == pytest.approx(budget)
    assert min(quotas) > 0
    assert sum(quotas[:2]) == pytest.approx((CHEAP_SCRATCH if cheap else SHARES[SCRATCH]) * budget)


@given(st.floats(1e4, 1e7), st.integers(1, PLAN - 1), st.floats(0, 2))
def test_an_epoch_may_take_less_where_others_took_more(budget: float, epoch: int, taken: float) -> None:
    learner = seeker().learner
    assert isinstance(learner, OnEnvironment)
    phase, place = Plan().phase(epoch)
    planned = learner.plan.quota(epoch, budget)
    allowed = learner.plan.allowed(epoch, budget, int(taken * budget))
    assert LEAST_SHARE * planned <= allowed <= planned or (allowed == 0 and place not in ALWAYS_PLAYED[phase])
    later = sum(learner.plan.quota(e, budget) for e in range(epoch, PLAN))
    assert allowed > 0 or budget - int(taken * budget) < LEAST_SHARE * later
    assert learner.plan.allowed(1, budget, 0) == pytest.approx(learner.plan.quota(1, budget))
    last = learner.plan.quota(PLAN - 1, budget)
    assert learner.plan.allowed(PLAN - 1, budget, int(budget - 0.75 * last)) == pytest.approx(
        0.75 * last, rel=0.01
    )
    assert learner.plan.allowed(PLAN + 3, budget, int(2 * budget)) > 0


def test_a_slow_environment_gets_a_short_plan() -> None:
    learner = seeker(steps=None).learner
    assert isinstance(learner, OnEnvironment)
    plans = [suited_plan(speed, 20.0) for speed in (1.0, 500.0, 1e4, 1e9)]
    assert plans == sorted(plans)
    assert plans[0] == PLANS[0]
    assert set(plans) <= set(PLANS)
    assert suited_plan(100.0, 500.0) == 100_000  # long episodes: enough steps for two hundred of them
    assert suited_plan(10.0, 500.0) == 10_000  # but no more than twenty minutes of them, or the least plan
    assert learner.planned(learner.bench(0, 0.0), 20.0, Goal("epochs", 55)) in PLANS
    cheap = PPLX(env_task("CartPole-v1")).learner
    assert isinstance(cheap, OnEnvironment)
    assert cheap.planned(cheap.bench(0, 0.0), 20.0, Goal("epochs", 55)) == CHEAP_PLAN


@pytest.mark.parametrize("goal", ["steps", "total_timesteps"])
def test_steps_that_are_asked_for_are_the_plan_from_the_beginning_to_its_end(
    goal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "MOST_PER_STEP", 0.5)
    system = seeker(steps=None).learn(**{goal: 4_000})  # type: ignore[arg-type]  # mypy cannot know which one
    assert system.history["plan_steps"].unique().to_list() == [4_000]
    assert system.history["steps"][0] < 1_000
    assert system.epoch == system.default_epochs
    assert 3_000 < system.num_timesteps < 6_000


def test_a_plan_that_is_not_for_the_steps_asked_for_ends_with_these(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_PER_STEP", 0.5)
    system = seeker().learn(steps=1_000)
    assert system.history["plan_steps"].unique().to_list() == [STEPS]
    assert system.epoch < system.default_epochs
    with pytest.warns(IfthenWarning, match="nothing was learnt"):
        few = seeker(steps=None).learn(steps=200)  # too few for a plan
    assert few.history["plan_steps"][0] in PLANS


def test_the_machines_speed_is_measured_only_where_nothing_else_says_how_long_the_plan_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = list[Bench]()

    def speed(bench: Bench) -> float:
        measured.append(bench)
        return 1.0

    monkeypatch.setattr(pplx_on_env, "measured_speed", speed)
    seeker(steps=STEPS).learn(epochs=0)
    PPLX(env_task("CartPole-v1", episodes=4), seed=1, threads=1).learn(epochs=0)
    assert not measured
    seeker(steps=None).learn(epochs=0)
    assert len(measured) == 1


def test_steps_too_few_for_a_plan_do_not_replace_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pplx_on_env, "suited_plan", lambda speed, length: STEPS)
    system = seeker(steps=None).learn(steps=800)
    assert system.epoch > 0
    assert system.history["plan_steps"].unique().to_list() == [STEPS]
    again = seeker(steps=None).learn(epochs=0).learn(steps=100)  # also once the beginning is over
    assert again.history["plan_steps"].unique().to_list() == [STEPS]


def test_steps_that_are_asked_for_give_the_same_bytes_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "MOST_PER_STEP", 0.5)
    whole = seeker(steps=None).learn(steps=2_000)
    given = seeker(steps=2_000).learn()  # the same plan as a parameter
    assert whole.history.equals(given.history)
    part = seeker(steps=None).learn(steps=2_000, callback=lambda system: system.epoch < 5)
    part.save(tmp_path / "part.zip")
    again = load(tmp_path / "part.zip")
    again.learn(steps=2_000 - again.num_timesteps).save(tmp_path / "again.zip")
    whole.save(tmp_path / "whole.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "whole.zip").read_bytes()


def test_a_list_to_start_from_is_among_the_first_and_never_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_PER_STEP", 0.5)
    task, bounds = haystack(), np.tile([-1.0, 1.0], (3, 25, 1))
    bounds[0, 3, 1], bounds[1, 17, 0] = -0.4, -0.2
    start = DecisionList(bounds, [0, 1, 0], task.features, task.action_names)
    system = seeker(start=start, rules=3).learn(epochs=0)
    assert system.ruleset == start
    score = system.front.at(rules=3).score
    system.learn(epochs=EPOCHS[SCRATCH] + 1)
    assert system.front.at(rules=3).score >= score
    with pytest.raises(ParameterError, match="starts from rules over single features"):
        seeker(start=learnt().ruleset)


def test_rules_that_need_each_other_are_not_called_pruned_after_a_long_plan() -> None:
    system = seeker(steps=200_000, rules=1).learn(epochs=0)
    assert len(system.ruleset) == 1
    assert pruned_policy(system) is None


def test_numbers_beyond_single_precision_are_refused_or_limited() -> None:
    ranges = {f"f{i}": (-1.0, 1.0) for i in range(2)}
    with pytest.raises(ParameterError, match=r"PPL-X works in single precision.*use PPL-DL"):
        PPLX(env_task(Walk, t_max=5, ranges={**ranges, "f0": (0.0, 1e40)}))
    far = Trajectory(np.full((2, 3), 1e300), np.zeros(2, np.int64), np.array([1.0, -1e90]), 0, np.ones(3))
    memory = remembered(Memory(*(np.zeros((0, 3)[:n], np.float32) for n in (2, 1, 1))), [far])  # type: ignore[arg-type]  # no moves
    assert np.abs(memory.points).max() == memory.points[0, 0] == np.float32(1e38)
    assert memory.rewards.tolist() == [1.0, float(np.float32(-1e38)), 0.0]


def test_a_default_action_is_refused() -> None:
    with pytest.raises(ParameterError, match="leave default_action out"):
        PPLX(env_task("CartPole-v1", default_action=1))


def test_discounted_returns_are_compared_with_discounted_ones() -> None:
    pole = PPLX(env_task("CartPole-v1", gamma=0.9), seed=1, threads=1, steps=10_000).learn(epochs=0)
    assert isinstance(pole, PPLX)
    assert isinstance(pole.learner, OnEnvironment)
    bench, known = pole.learner.bench(1, 1000.0), pole.now.population
    seeds = bench.seeds(5)
    episodes = bench.record(known.best_draft, seeds)
    assert bench.mean_return(episodes) == pytest.approx(bench.play([known.best_draft], seeds).mean())
    assert bench.mean_return(episodes) < 10


def test_speed_is_that_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = WorkerSimulator(task_of(), 2)
    monkeypatch.setattr(simulator, "_pays", lambda seconds: True)
    monkeypatch.setattr(simulator, "_spread", lambda *job: pytest.fail("a worker was asked"))
    bench = Bench(simulator, 0, 0, 0.0)
    assert measured_speed(bench) > 0
    assert (bench.n_steps, bench.n_episodes) == (0, 0)


def test_after_the_plan_steps_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_PER_STEP", 0.5)
    system = seeker(steps=1_000).learn()
    taken = system.num_timesteps
    assert system.learn(steps=100).num_timesteps >= taken + 100


def test_of_too_many_lists_the_best_are_kept() -> None:
    draft, n = some_draft(1, 3), 3 * KEPT
    drafts = [draft._replace(lows=draft.lows + i) for i in range(n)]
    known = trimmed(known_of(drafts, [float(i) for i in range(n)]))
    assert len(known.drafts) == KEPT
    assert known.best_score == n - 1
    singles = [single(action, FEATURES) for action in range(3)]
    known = trimmed(known_of([*drafts, *singles], [*map(float, range(n)), -7.0, -5.0, -6.0]))
    assert sorted(known.scores[known.lengths == 1]) == [-7.0, -6.0, -5.0]  # shields may need any of them
    assert known.scores[known.front_indices[0]] == -5.0


# What is known


def known_of(drafts: list[Draft], scores: list[float]) -> Knowledge:
    """Return what is known of lists with these scores; NaN where they have not played."""
    nothing: Any = np.zeros((0, FEATURES), np.float32)
    empty: dict[str, Any] = dict.fromkeys(Knowledge._fields, nothing)
    memory = {"moves": np.zeros(0, np.int16), "rewards": np.zeros(0, np.float32)}
    known = Knowledge(**{**empty, **memory, "clock": Clock(budget=1e4, episode_length=10.0).array()})
    return known.with_drafts(
        drafts, [[score, 1.0, 5.0] if np.isfinite(score) else UNPLAYED for score in scores]
    )


lists = st.lists(
    st.tuples(st.integers(0, 500), st.integers(1, 6), st.sampled_from([np.nan, 0.0, 1.0, 2.0, 3.5])),
    min_size=1,
    max_size=12,
)


@given(st.integers(0, 10_000), st.floats(0.5, 1.0))
def test_scaled_features_vary_by_1_and_scaled_returns_about_as_much(seed: int, gamma: float) -> None:
    draws, played = np.random.default_rng(seed), []
    for _ in range(5):
        n = int(draws.integers(1, 8))
        points = np.column_stack([draws.normal(3, 2, n + 1), np.full(n + 1, 7.0), 1e-3 * draws.random(n + 1)])
        played.append(Trajectory(points[:-1], np.zeros(n, np.int64), draws.normal(size=n), 0, points[-1]))
    known = known_of([single(0, FEATURES)], [0.0]).with_episodes(played, 0.1)
    every = np.vstack([np.vstack([e.points, e.last]) for e in played])
    returns = [
        sum(gamma**k * r for k, r in enumerate(e.rewards[t:])) for e in played for t in range(len(e.rewards))
    ]
    scale = values.scale_of(known, gamma)
    assert scale[:3] == pytest.approx(every.mean(axis=0), rel=1e-5)
    assert scale[3:6] == pytest.approx([every[:, 0].std(), 1.0, every[:, 2].std()], rel=1e-4)
    assert scale[6] == pytest.approx(1 / max(np.std(returns), abs(np.mean(returns)) / 3), rel=1e-4)


@pytest.mark.parametrize(
    ("gamma", "t_max", "expected"), [(1.0, 500, 0.99), (1.0, 50, 0.98), (1.0, 2, 0.9), (0.5, 50, 0.5)]
)
def test_values_look_about_as_far_ahead_as_an_episode_lasts(
    gamma: float, t_max: int, expected: float
) -> None:
    task = env_task("CartPole-v1", gamma=gamma, t_max=t_max)
    assert values.discount(task, ORDINARY, np.inf) == pytest.approx(expected)


@given(lists)
def test_the_front_is_monotone_and_nothing_beats_it(shapes: list[tuple[int, int, float]]) -> None:
    drafts = [some_draft(seed, rules) for seed, rules, _ in shapes]
    known = known_of(drafts, [score for _, _, score in shapes])
    front = known.front_indices
    sizes, scores = [drafts[i].size for i in front], [known.scores[i] for i in front]
    assert sizes == sorted(sizes)
    assert all(a < b for a, b in itertools.pairwise(scores))
    for i, draft in enumerate(drafts):
        if np.isfinite(known.scores[i]):
            assert any(known.scores[k] >= known.scores[i] and drafts[k].size <= draft.size for k in front)
    if front:
        assert known.best_draft.key() == drafts[int(np.nanargmax(known.scores))].key()
        assert known.gain >= 0


@given(lists, st.integers(0, 11))
def test_a_list_that_is_put_first_loses_no_list_that_has_played(
    shapes: list[tuple[int, int, float]], place: int
) -> None:
    drafts = list({d.key(): d for d in (some_draft(seed, rules) for seed, rules, _ in shapes)}.values())
    known = known_of(drafts, [score for _, _, score in shapes][: len(drafts)])
    for draft in (drafts[place % len(drafts)], single(1, FEATURES)):
        moved = known.with_first(draft)
        assert moved.drafts[0].key() == draft.key()
        before = {d.key(): s for d, s in zip(drafts, known.scores, strict=True) if np.isfinite(s)}
        kept = {d.key(): s for d, s in zip(moved.drafts, moved.scores, strict=True) if np.isfinite(s)}
        assert kept == before


# Files


def test_learning_resumes_to_the_same_bytes_after_every_epoch_of_every_phase(
    after: list[Path], tmp_path: Path
) -> None:
    assert len(after) == PLAN
    for path, following in itertools.pairwise(after):
        system = load(path, threads=1)
        assert saved_bytes(system, tmp_path) == path.read_bytes()
        assert saved_bytes(system.learn(epochs=1), tmp_path) == following.read_bytes()


def test_threads_change_nothing_in_any_phase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ifthen.simulate.twin_simulator.STEPS_PER_SLICE", 1)
    monkeypatch.setattr(values, "MOST_PER_STEP", 0.1)
    task = env_task("CartPole-v1", episodes=6, t_max=4)
    one, two = (PPLX(task, seed=3, threads=n, steps=25_000).learn() for n in (1, 2))
    assert one.history["steps"][1] > one.history["steps"][0] + 300  # so many are enough to begin from scratch
    assert saved_bytes(one, tmp_path) == saved_bytes(two, tmp_path)


IN_VALUES, AT_THE_END = EPOCHS[SCRATCH] + 3, PLAN - 1
DAMAGE: list[tuple[str, Any, str]] = [
    ("points", lambda a: a[:-1], "points must be float32 of shape"),
    ("points", lambda a: poke(a, np.nan), "NaN"),
    ("points", lambda a: a.astype(np.float64), "points must be float32"),
    ("moves", lambda a: poke(a, 2), "moves must be actions from 0 to 1"),
    ("moves", lambda a: poke(a, -3, 2), "moves must be actions"),
    ("moves", lambda a: poke(a, -1), "moves must be actions"),
    ("moves", lambda a: poke(a, 0, -1), "moves must be actions"),
    ("moves", lambda a: poke(a, -1, 1), "every episode needs a step"),
    ("moves", lambda a: a[:-1], "must be float32 of shape"),
    ("rewards", lambda a: poke(a, np.inf), "infinite"),
    ("states", lambda a: a[:0], "there must be states"),
    ("states", lambda a: a[:, :-1], "states must be float32 of shape"),
    ("scale", lambda a: poke(a, 0.0, 25), "features must vary"),
    ("scale", lambda a: poke(a, -1.0, 30), "features must vary"),
    ("scale", lambda a: poke(a, 1e-300, 30), "features must vary"),
    ("scale", lambda a: poke(a, 1e300, 30), "features must vary"),
    ("scale", lambda a: a[:-1], "scale must be float64 of shape"),
    ("nets", lambda a: a[:4], "nets must be float32 of shape"),
    ("nets", lambda a: poke(a, np.nan), "NaN"),
    ("bounds", lambda a: poke(a, np.nan), "NaN"),
    ("bounds", lambda a: a * 0, "the last rule of every list must hold everywhere"),
    ("bounds", lambda a: a[..., ::-1], "open outwards or end at a number"),
    ("bounds", lambda a: a[:, :, :-1], "bounds must be float64 of shape"),
    ("actions", lambda a: poke(a, 2), "some actions do not exist"),
    ("actions", lambda a: poke(a, -1), "some actions do not exist"),
    ("lengths", lambda a: poke(a, 0), "each as long as it says"),
    ("lengths", lambda a: poke(a, 2**62), "each as long as it says"),
    ("lengths", lambda a: a[:0], "must be float64 of shape"),
    ("terms", lambda a: a[..., :-1], "terms must be float64 of shape"),
    ("terms", lambda a: a * 0 + 1, "a list makes no sense"),
    ("terms", lambda a: np.sign(a) * 1e308, "a list makes no sense"),
    ("useful", lambda a: np.ones((1001, 25)), "at most 1000"),
    ("useful", lambda a: a[:, :-1], "useful must be float64 of shape"),
    ("fitness", lambda a: a * 0 - HUGE, "some list must have a score"),
    ("fitness", lambda a: a[:-1], "fitness must be float64 of shape"),
    ("clock", lambda a: poke(a, 0.0), "the plan's steps"),
    ("clock", lambda a: poke(a, HUGE), "the plan's steps"),
    ("clock", lambda a: poke(a, 1e-300, 1), "the length of episodes"),
    ("clock", lambda a: a[:2], "clock must be float64 of shape"),
]


@pytest.mark.parametrize(("name", "change", "message"), DAMAGE)
def test_a_file_with_one_thing_wrong_is_refused_in_words(
    name: str, change: Any, message: str, after: list[Path], tmp_path: Path
) -> None:
    path = after[AT_THE_END if name in ("bounds", "terms", "useful") else IN_VALUES]
    with pytest.raises(ModelFileError, match=message):
        load(with_array(path, tmp_path, f"population/{name}", change))


def arrays_of(path: Path) -> dict[str, Any]:
    """Return the arrays of a population in a file."""
    found = members(path)
    own = [name for name in found if name.startswith("population/")]
    return {name: np.load(io.BytesIO(found[name])) for name in own}


def test_lists_in_a_file_need_whole_ends_terms_first_and_no_crowd(after: list[Path], tmp_path: Path) -> None:
    task = env_task("Blackjack-v1", episodes=4)
    PPLX(task, seed=1, threads=1, steps=1_000).learn(epochs=0).save(tmp_path / "cards.zip")

    def refused(path: Path, message: str, **changes: Any) -> None:
        contents = {f"population/{name}.npy": npy(array) for name, array in changes.items()}
        changed = write(tmp_path / "changed.zip", {**members(path), **contents})
        with pytest.raises(ModelFileError, match=message):
            load(changed)

    own = arrays_of(tmp_path / "cards.zip")
    bounds = np.concatenate([own["population/bounds.npy"]] * 2, axis=1)
    bounds[0, 0, 0] = 4.5, 10.0
    actions = np.concatenate([own["population/actions.npy"]] * 2, axis=1)
    lengths = own["population/lengths.npy"] + 1
    refused(tmp_path / "cards.zip", "whole", bounds=bounds, actions=actions, lengths=lengths)
    n = 3_000
    crowd = {
        name.removeprefix("population/").removesuffix(".npy"): np.concatenate([array[:1]] * n)
        for name, array in own.items()
        if name.endswith(("bounds.npy", "actions.npy", "lengths.npy", "terms.npy", "fitness.npy"))
    }
    refused(tmp_path / "cards.zip", "at most 1000 lists", **crowd)
    terms = arrays_of(after[AT_THE_END])["population/terms.npy"]
    late = np.concatenate([terms * 0, terms], axis=1)
    bounds = arrays_of(after[AT_THE_END])["population/bounds.npy"]
    wide = np.concatenate([bounds, np.tile([-HUGE, HUGE], (*bounds.shape[:2], terms.shape[1], 1))], axis=2)
    refused(after[AT_THE_END], "terms of a list must come first", terms=late, bounds=wide)


def test_a_manifest_with_a_wrong_parameter_or_history_is_refused(after: list[Path], tmp_path: Path) -> None:
    for change, message in (
        (lambda m: m["parameters"].update(steps=5), "steps"),
        (lambda m: m["parameters"].update(terms="yes"), "terms"),
        (lambda m: m["history"].pop("steps"), "must have numbers in columns"),
    ):
        with pytest.raises(ModelFileError, match=message):
            load(with_manifest(after[3], tmp_path, change))


def test_the_clock_in_a_file_keeps_its_order() -> None:
    """Files hold four numbers without names."""
    known = known_of([single(0, FEATURES)], [0.0])
    changed = known.with_clock(by_counts=1.0, network_return=3.0, episode_length=2.0, budget=5.0)
    assert changed.clock.tolist() == [5.0, 2.0, 3.0, 1.0]
    assert (changed.budget, changed.episode_length, changed.network_return) == (5.0, 2.0, 3.0)
    assert changed.by_counts
    assert known.clock.tolist() == [1e4, 10.0, -np.inf, 0.0]


def test_what_was_not_played_and_open_ends_come_back_from_files(after: list[Path]) -> None:
    first: Knowledge = load(after[1], threads=1).now.population
    assert np.isneginf(first.network_return)
    last: Knowledge = load(after[-1], threads=1).now.population
    assert np.isfinite(last.network_return)
    assert all(not draft.limits[-1].any() for draft in last.drafts)


# Many features
