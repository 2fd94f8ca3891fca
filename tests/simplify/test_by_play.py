"""Pruning by playing: what may be lost, what must stay, and that nothing depends on how it is played."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ifthen import (
    PPLDL,
    DecisionList,
    Feature,
    PredictionArrayRules,
    RuleSet,
    StrengthRules,
    evaluate,
    parse_rules,
    prune,
    verify,
)
from ifthen.environments.make import env_task
from ifthen.errors import ParameterError, RuleError, TaskError
from ifthen.rules.batch import stacked
from ifthen.rules.boxes.list_analysis import _precedence
from ifthen.rules.feature import lows_and_highs, number_in_words
from ifthen.runs import pruned_policy as pruning
from ifthen.runs.pruned_policy import pruned_policy
from ifthen.simplify import by_play, compact
from ifthen.simplify.by_play import MOST_STEPS, Contest, a_rule_less, fair_steps, roundings, size_of
from ifthen.simplify.lossless import list_by_score
from ifthen.simplify.shortening import one_condition_less
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.scope import visited_states
from ifthen.tasks.gym_task import EnvTask
from tests.envs import WALK
from tests.explanation.policies import telling_points
from tests.worlds import small_lake

SEEDS = np.arange(8)


@functools.cache
def cart_pole() -> EnvTask:
    return env_task("CartPole-v1", t_max=80, episodes=4)


@functools.cache
def walk() -> EnvTask:
    return env_task(WALK, ranges={"f0": (-5.0, 5.0), "f1": (0.0, 2.0)}, episodes=4)


@functools.cache
def blackjack() -> EnvTask:
    return env_task("Blackjack-v1", episodes=5)


def random_list(task: EnvTask, seed: int, n: int = 6) -> DecisionList:
    """Return a random list with a rule for the rest; many of its bounds are edges."""
    rng, (lows, highs) = np.random.default_rng(seed), task.ranges
    bounds = rng.uniform(lows[:, None], highs[:, None], (n, len(lows), 2))
    whole = [feature.is_integer for feature in task.features]
    bounds[:, whole] = np.rint(bounds[:, whole])
    wide = rng.random(bounds.shape[:2]) < 0.5
    bounds[wide] = np.broadcast_to(np.stack([lows, highs], axis=1), bounds.shape)[wide]
    bounds[-1] = np.stack([lows, highs], axis=1)
    return DecisionList(bounds, rng.integers(0, task.n_actions, n), task.features, task.action_names)


def random_strengths(task: EnvTask, seed: int, n: int = 6, slope: float = 1.0) -> StrengthRules:
    rules, rng = random_list(task, seed, n), np.random.default_rng(seed + 1)
    weights = rng.normal(size=(n, len(task.features) + 1)) * ([1.0] + [slope] * len(task.features))
    head = rules.bounds, rules.actions, rules.features, rules.action_names
    return StrengthRules(*head, weights, rng.uniform(0, 1, n), 1.0)


def votes(task: EnvTask, seed: int, n: int = 30) -> PredictionArrayRules:
    rules, rng = random_strengths(task, seed, n), np.random.default_rng(seed)
    head = rules.bounds, rules.actions, rules.features, rules.action_names
    fitness, errors = rng.uniform(0.1, 1, (2, n))
    return PredictionArrayRules(*head, rules.weights, fitness, errors, np.ones(n), np.ones(n))


def everything(rules: RuleSet) -> Any:
    return np.stack(lows_and_highs(rules.features), axis=1)


@pytest.mark.parametrize("task", [cart_pole, walk, blackjack])
@pytest.mark.parametrize("loss", [0.0, 3.0])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=6)
def test_no_more_is_lost_than_may_be_and_nothing_grows(task: Any, loss: float, seed: int) -> None:
    rules = random_list(task(), seed)
    found = prune(rules, task(), loss=loss, seeds=SEEDS, threads=1)
    before, after = (evaluate(each, task(), seeds=SEEDS).performance for each in (rules, found.ruleset))
    assert (found.performance_given, found.performance) == (before, after)
    assert after >= before - loss - 1e-9 * max(1.0, abs(before - loss))
    assert size_of(found.ruleset) <= size_of(rules)
    assert isinstance(found.ruleset, DecisionList)
    assert (found.ruleset.bounds[-1] == everything(rules)).all()  # OTHERWISE
    assert prune(rules, task(), loss=loss, seeds=SEEDS, threads=2).ruleset == found.ruleset


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_no_step_down_is_left_that_would_play_as_well(seed: int) -> None:
    rules = random_list(cart_pole(), seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_play, "rounded_bounds", lambda rules, _: rules)  # it comes after all steps down
        found = prune(rules, cart_pole(), seeds=SEEDS, threads=1)
    for shorter in itertools.chain(a_rule_less(found.ruleset), one_condition_less(found.ruleset)):
        assert found.performance_given is not None
        assert evaluate(shorter, cart_pole(), seeds=SEEDS).performance < found.performance_given


@given(st.integers(0, 10_000))
@settings(max_examples=8)
def test_strengths_that_have_no_order_stay_strengths(seed: int) -> None:
    rules = random_strengths(cart_pole(), seed)
    found = prune(rules, cart_pole(), seeds=SEEDS, threads=1)
    assert isinstance(found.ruleset, StrengthRules if list_by_score(rules) is None else DecisionList)
    assert found.performance is not None
    assert found.performance_given is not None
    assert found.performance >= found.performance_given - 1e-6
    assert len(found.ruleset) <= len(rules)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.02, 1.0]))
@settings(max_examples=60)
def test_a_list_by_score_chooses_the_same_everywhere(seed: int, slope: float) -> None:
    rules = random_strengths(walk(), seed, 4, slope)
    found = list_by_score(rules)
    if slope == 0:
        assert found is not None
    assume(found is not None)
    assert found is not None
    points = telling_points(rules, 2_000)
    assert found.predict(points).tolist() == rules.predict(points).tolist()


def test_strengths_that_cross_or_go_round_in_a_circle_have_no_order() -> None:
    x = [Feature("x", -1.0, 1.0, "real")]
    crossing = StrengthRules([[[-1, 1]]] * 2, [0, 1], x, "ab", [[0, 1], [0, -1]], [0, 0])
    assert list_by_score(crossing) is None
    apart = StrengthRules(np.array([[[0.1, 1]], [[-1, 1]]]), [0, 1], x, "ab", [[0, 1], [0, -1]], [0, 0])
    assert list_by_score(apart) is not None  # where they meet, the first is stronger throughout
    xy = [Feature(name, 0.0, 3.0, "real") for name in "xy"]
    ring = [[[0, 3], [2, 3]], [[2, 3], [0, 3]], [[0, 3], [0, 1]], [[0, 1], [0, 3]]]
    weights = np.array(
        [[0, 1, 0], [1.5, 0, 0], [3, -1, 0], [1.5, 0, 0]]
    )  # each is stronger where it meets the next
    circle = StrengthRules(ring, [0, 1, 0, 1], xy, "ab", weights, [0] * 4, 1.0)
    assert _precedence(circle) is not None
    assert list_by_score(circle) is None
    assert list_by_score(circle.subset([0, 1, 2])) is not None


@given(st.integers(0, 10_000))
@settings(max_examples=8)
def test_votes_lose_rules_and_choose_the_same_in_all_states_met(seed: int) -> None:
    rules, task = votes(cart_pole(), seed), cart_pole()
    found = prune(rules, task, seeds=SEEDS, threads=1)
    points = visited_states(rules, task, SEEDS).points
    assert found.changed == 0
    assert found.ruleset.best_actions(points).tolist() == rules.predict(points).tolist()
    assert found.performance == found.performance_given
    assert 1 <= len(found.ruleset) < len(rules)
    assert f"the same action in the {len(points):,} visited states of 8 episodes" in str(found)


def test_compaction_looks_at_points_that_it_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = votes(cart_pole(), 3, 60)
    points = visited_states(rules, cart_pole(), np.arange(30)).points
    monkeypatch.setattr(compact, "MOST_MATCHES", 60 * 3)
    found = compact.compact_at(rules, points)
    assert len(found) < len(rules)
    assert found.predict(points).tolist() == rules.predict(points).tolist()


@pytest.mark.parametrize("task", [cart_pole, walk])
def test_what_is_the_same_in_all_states_met_plays_the_same_episodes(task: Any) -> None:
    rules = random_list(task(), 5)
    met = visited_states(rules, task(), SEEDS)
    assert len(met.points) == environment_simulator(task()).play_ruleset(rules, SEEDS).steps.sum()
    lows, highs = task().ranges
    assert ((met.points >= lows) & (met.points <= highs)).all()


def test_the_last_state_met_is_the_one_without_a_rule() -> None:
    half = parse_rules("IF f0 >= 0 THEN action 0", task=walk())
    met = visited_states(half, walk(), SEEDS)
    played = environment_simulator(walk()).play_ruleset(half, SEEDS)
    assert len(met.points) == played.steps.sum() + (played.endings == 2).sum()
    assert (half.predict(met.points) < 0).sum() == (played.endings == 2).sum()


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_rules_that_match_nothing_change_nothing(seed: int) -> None:
    rulesets = [random_list(cart_pole(), seed + i, n) for i, n in enumerate((5, 1, 3))]
    together = environment_simulator(cart_pole()).play(stacked(rulesets), SEEDS)
    for i, rules in enumerate(rulesets):
        alone = environment_simulator(cart_pole()).play_ruleset(rules, SEEDS)
        assert alone.returns[0].tolist() == together.returns[i].tolist()


def test_of_lists_that_play_alike_the_shortest_is_best() -> None:
    task = cart_pole()
    text = "1. IF pole angle >= 0 THEN push right\n2. OTHERWISE push left"
    same = text.replace("1. ", "1. IF pole angle in [0.05, 0.1] THEN push right\n")
    long, short = parse_rules(same, task=task), parse_rules(text, task=task)
    points = visited_states(long, task, SEEDS).points
    assert Contest(task, SEEDS, 1).best([long, short], long, points) == short
    assert Contest(task, SEEDS, 1, least=1e6).best([long, short], long, points) is None
    assert Contest(task, SEEDS, 1).best([], long, points) is None


def test_without_a_twin_those_near_and_good_on_a_few_seeds_are_played_from_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("NEAREST", 4), ("FINALISTS", 2), ("FEW_SEEDS", 3)):
        monkeypatch.setattr(f"ifthen.simplify.by_play.{name}", value)
    rules, *candidates = (random_list(walk(), seed) for seed in range(9))
    points = visited_states(rules, walk(), SEEDS).points
    changed = [int((each.predict(points) != rules.predict(points)).sum()) for each in candidates]
    near = [candidates[i] for i in np.argsort(changed, kind="stable")[:4]]
    few = [evaluate(each, walk(), seeds=SEEDS[:3]).performance for each in near]
    finalists = [near[i] for i in np.argsort(-np.array(few), kind="stable")[:2]]
    every = [evaluate(each, walk(), seeds=SEEDS).performance for each in finalists]
    assert Contest(walk(), SEEDS, 1).best(candidates, rules, points) == finalists[int(np.argmax(every))]


@given(st.floats(-4.8, 4.8), st.sampled_from([(-4.8, 4.8), (-0.42, 0.42), (-300.0, 900.0)]))
@settings(max_examples=200)
def test_roundings_get_finer_and_are_shorter_and_inside(share: float, ends: tuple[float, float]) -> None:
    feature = Feature("x", *ends, "real")
    value = ends[0] + (share + 4.8) / 9.6 * (ends[1] - ends[0])
    found = roundings(feature, value)
    distances = [abs(number - value) for number in found]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in itertools.pairwise(distances))
    assert all(feature.low < number < feature.high for number in found)
    assert all(len(number_in_words(number)) < len(number_in_words(value)) for number in found)


def test_bounds_are_rounded_where_nothing_is_lost() -> None:
    task = cart_pole()
    text = "1. IF pole angle + 0 THEN push right\n2. OTHERWISE push left".replace("+ 0", ">= 0.012345678")
    text = "1. IF pole velocity <= -0.3141592 THEN push left\n" + text
    rules = parse_rules("1. IF cart position >= 2.3 THEN push left\n" + text, task=task)  # the first can go
    found = prune(rules, task, loss=1.0, seeds=SEEDS)
    digits = [len(number_in_words(end)) for end in found.ruleset.bounds.ravel()]
    assert sum(digits) < sum(len(number_in_words(end)) for end in rules.bounds.ravel())
    assert not np.isin([0.012345678, -0.3141592], found.ruleset.bounds).any()


@pytest.mark.parametrize("loss", [None, 1.0])
def test_rules_of_which_nothing_can_go_stay_as_they_are(loss: float | None) -> None:
    task = cart_pole()
    text = "1. IF pole angle >= 0.012345678 THEN push right\n2. OTHERWISE push left"
    rules = parse_rules(text, task=task)
    found = prune(rules, task, loss=loss, seeds=SEEDS)
    assert found.ruleset == rules
    assert found.changed == 0
    assert str(found).startswith("Nothing can be left out: 2 rules with 1 condition stay as they are")


def test_a_rule_that_rounding_makes_needless_goes() -> None:
    task = env_task("MountainCar-v0", episodes=4)
    text = """1. IF velocity ≥ 0.0004 THEN push right
2. IF velocity ≤ 0.0003 THEN push left
3. IF position ≤ 0 THEN push right
4. OTHERWISE push left
"""
    found = prune(parse_rules(text, task=task), task, loss=10.0)
    assert len(found.ruleset) == 2
    assert verify(found.ruleset, require="no-dead-rules")


def test_a_list_that_fails_gets_the_best_rule_for_the_rest() -> None:
    task = cart_pole()
    rules = parse_rules("IF pole angle >= 0 THEN push right", task=task)
    assert evaluate(rules, task, seeds=SEEDS).failed
    found = prune(rules, task, seeds=SEEDS)
    assert (found.performance_given, found.failed_given) == (task.floor, True)
    assert "a state without a rule before" in str(found)
    assert [str(found.ruleset.rule_in_words(r)) for r in range(2)] == [
        "IF pole angle ≥ 0 rad THEN push right",
        "OTHERWISE push left",
    ]
    strengths = StrengthRules(rules.bounds, [1], task.features, task.action_names, [[1, 0, 0, 0, 0]], [0])
    with pytest.raises(RuleError, match="no rule matches"):
        prune(strengths, task, seeds=SEEDS)


def test_seeds_to_prune_on_are_no_other_seeds() -> None:
    task = walk()
    lists = [task.z, task.pool, task.validation, task.test_seeds(100), task.pruning(100)]
    assert len(np.unique(np.concatenate(lists))) == sum(map(len, lists))
    found = prune(random_list(task, 1, 2), task)
    assert found.seeds is not None
    assert found.seeds.tolist() == [*task.z.tolist(), *task.pruning(100).tolist()]


def test_what_cannot_be_pruned_by_playing_is_refused() -> None:
    rules = random_list(walk(), 1)
    always = DecisionList([[[0, 3], [0, 3]]], [0], small_lake().features, small_lake().action_names)
    for options in ({"loss": 1.0}, {"seeds": SEEDS}, {"episodes": 3}):
        with pytest.raises(ParameterError, match=f"{next(iter(options))} belongs to .*in an environment"):
            prune(always, small_lake(), **options)
    with pytest.raises(ParameterError, match="loss"):
        prune(rules, walk(), loss=-1.0)
    with pytest.raises(TaskError, match="the ruleset speaks of f0"):
        prune(rules, cart_pole())
    with pytest.raises(TaskError, match="seeds"):
        prune(rules, walk(), seeds=[])


@pytest.mark.parametrize(
    "options",
    [
        {"to": "list", "loss": 1.0},
        {"to": "list", "steps": 5},
        {"to": "list", "seeds": np.arange(3)},
        {"to": "list", "episodes": 3},
        {"intervals": "keep"},
        {"effort": "thorough"},
        {"rho": 0.2},
        {"rules": 2, "steps": 5},
    ],
)
def test_in_an_environment_no_option_goes_unread(options: dict[str, Any]) -> None:
    name = list(options)[-1]
    with pytest.raises(ParameterError, match=f"{name} belongs to .*: leave {name} out"):
        prune(random_list(walk(), 1), walk(), **options)


def test_pruning_stops_after_its_steps_with_what_it_has_then() -> None:
    task = env_task("MountainCar-v0", episodes=5)
    given = random_list(task, 3)
    whole = prune(given, task, episodes=5)
    sizes = []
    for steps in (0, 20_000, 10**9):
        found = prune(given, task, episodes=5, steps=steps)
        assert found.performance is not None
        assert found.performance_given is not None
        assert found.performance >= found.performance_given
        assert found.ruleset == prune(given, task, episodes=5, steps=steps, threads=1).ruleset
        sizes.append(size_of(found.ruleset))
    assert sizes == sorted(sizes, reverse=True)
    assert found.ruleset == whole.ruleset
    with pytest.raises(ParameterError, match="steps must be"):
        prune(given, task, steps=-1)


def test_training_pays_for_pruning_with_a_quarter_of_its_steps() -> None:
    cart, lake = env_task("CartPole-v1", episodes=3), small_lake()
    assert fair_steps(cart, 4000) == 1000
    assert fair_steps(cart, 10**12) == MOST_STEPS[True]
    assert fair_steps(walk(), 10**12) == MOST_STEPS[False]
    assert fair_steps(lake, 4000) is None


def test_how_candidates_are_chosen_does_not_depend_on_the_player(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("NEAREST", 4), ("FINALISTS", 2), ("FEW_SEEDS", 1), ("FEW_DIGITS", 1)):
        monkeypatch.setattr(f"ifthen.simplify.by_play.{name}", value)
    found = list[Any]()
    for player in ("twin", "auto", "sync"):
        task = replace(cart_pole(), player=player)
        contest, (rules, *candidates) = Contest(task, SEEDS[:3], 1), (random_list(task, s) for s in range(9))
        points = visited_states(rules, task, SEEDS[:3]).points
        best = contest.best(candidates, rules, points)
        assert fair_steps(task, 10**12) == MOST_STEPS[True]
        found.append((best, by_play.rounded_bounds(rules, contest), contest.steps, len(contest._known)))
    assert found[0] == found[1] == found[2]
    assert found[0][-1] > len(candidates)


def test_pruned_rules_that_do_clearly_worse_on_validation_seeds_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = PPLDL(env_task("CartPole-v1", episodes=10), seed=0, threads=1, pop_size=40).learn(epochs=5)
    good = pruned_policy(system)
    assert good is not None
    task = system.task
    worst = DecisionList([[[f.low, f.high] for f in task.features]], [0], task.features, task.action_names)
    bad = replace(good, ruleset=worst)
    monkeypatch.setattr(pruning, "prune", lambda *_, **__: bad)
    assert evaluate(system).performance > 50
    assert pruned_policy(system) is None
