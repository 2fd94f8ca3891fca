"""PPL-X where few observations are distinct: what is counted, what lists are worth on it, and who decides."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import PPLX, DecisionList, env_task, evaluate, load
from ifthen.errors import ModelFileError
from ifthen.systems.pplx import count_learning
from ifthen.systems.pplx import value_learning as values
from ifthen.systems.pplx.counted_table import CountModel, count_model, distinct, expected_return
from ifthen.systems.pplx.drafts import actions_at
from ifthen.systems.pplx.env_plan import EPOCHS, SCRATCH, VALUES
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.memory import CUT, TERMINAL, Memory
from ifthen.systems.pplx.pplx_on_env import OnEnvironment
from ifthen.systems.pplx.table_lists import rules_over
from ifthen.tasks.gym_task import EPISODE_LIMIT, EnvTask
from tests import naive_pplx
from tests.archives import poke, with_array
from tests.envs import COMBINATION, YARD, Yard
from tests.systems.contract import saved_bytes
from tests.systems.pplx.lists import haystack
from tests.systems.pplx.tables import ACTIONS, HEIGHT, WIDTH, table

STEPS = 20_000
PLAN = sum(EPOCHS.values())
COUNTING = EPOCHS[SCRATCH] + EPOCHS[VALUES]

pytestmark = pytest.mark.usefixtures("few_updates")


@functools.cache
def yard() -> EnvTask:
    return env_task(YARD, episodes=20)


def learner(task: EnvTask, **given: Any) -> PPLX:
    return PPLX(task, **{"seed": 1, "threads": 1, "steps": STEPS, "candidates": 500, **given})


@functools.cache
def learnt() -> PPLX:
    """Return a system after its whole plan; not to be changed."""
    system = learner(yard()).learn()
    assert isinstance(system, PPLX)
    return system


def known_by(system: PPLX) -> Knowledge:
    assert isinstance(system.learner, OnEnvironment)
    known: Knowledge = system.now.population
    return known


def a_memory(seed: int, episodes: int = 6) -> Memory:
    """Return random steps in a yard, some episodes cut."""
    draws = np.random.default_rng(seed)
    points, moves, rewards = [], [], []
    for _ in range(episodes):
        steps = int(draws.integers(1, 8))
        points.append(draws.integers(0, 3, (steps + 1, 2)))
        moves.append(np.append(draws.integers(0, 4, steps), draws.choice([TERMINAL, CUT])))
        rewards.append(np.append(draws.integers(-3, 3, steps), 0))
    return Memory(
        np.concatenate(points).astype(np.float32),
        np.concatenate(moves).astype(np.int16),
        np.concatenate(rewards).astype(np.float32),
    )


def best_return() -> float:
    """Return the mean return of the best policy in the yard, by value iteration on its rules."""
    moves, ends = ((-1, 0), (1, 0), (0, -1), (0, 1)), ((2, 1), (3, 3))
    values = dict.fromkeys([(x, y) for x in range(4) for y in range(4)], 0.0)
    for _ in range(500):
        for at in [cell for cell in values if cell not in ends]:
            after = [(min(max(at[0] + x, 0), 3), min(max(at[1] + y, 0), 3)) for x, y in moves]
            worth = [(-20.0 if cell == ends[0] else -1.0) + values[cell] for cell in after]
            values[at] = max(0.9 * own for own in worth) + 0.1 * sum(worth) / 4
    return sum(values[0, y] for y in range(4)) / 4


def counts_of(memory: Memory, terms: Any = None) -> CountModel:
    found = count_model(yard(), memory, np.zeros((0, 2)) if terms is None else terms, 2000)
    assert found is not None
    return found


@pytest.mark.oracle
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.5, 0.9, 1.0]))
def test_expected_return_is_that_of_episodes_valued_backwards(seed: int, t_max: int, gamma: float) -> None:
    own = table(seed)
    policy = np.random.default_rng(seed).integers(0, ACTIONS, WIDTH * HEIGHT)
    found = expected_return(own, policy, t_max, gamma)
    assert found == pytest.approx(naive_pplx.expected_return(own, policy.tolist(), t_max, gamma), abs=1e-12)


@given(st.integers(0, 10**6))
def test_counts_are_those_of_a_plain_count(seed: int) -> None:
    memory = a_memory(seed)
    points = [tuple(point) for point in memory.points.tolist()]
    expected = naive_pplx.outcomes(memory.moves.tolist(), points, memory.rewards.tolist())
    own = counts_of(memory).outcomes
    states = [tuple(point) for point in own.points.tolist()]
    found = {
        (states[s], int(a), None if own.next_state[s, a, k] < 0 else states[own.next_state[s, a, k]]): (
            int(own.times[s, a, k]),
            float(own.reward[s, a, k]),
        )
        for s, a, k in np.argwhere(own.times > 0)
    }
    assert found.keys() == expected.keys()
    assert all(found[key] == pytest.approx(expected[key]) for key in expected)


@given(st.integers(0, 10**6))
def test_shares_of_outcomes_and_starts_add_up_to_one(seed: int) -> None:
    own = counts_of(a_memory(seed))
    assert own.solved.table.probability.sum(axis=2) == pytest.approx(1.0)
    assert own.solved.table.starts.sum() == pytest.approx(1.0)


@given(st.integers(0, 10**6))
def test_equal_points_have_equal_numbers_and_others_have_not(seed: int) -> None:
    points = np.random.default_rng(seed).integers(-2, 2, (40, 3)).astype(np.float32)
    numbers = distinct(points, 2000)
    assert numbers is not None
    same = (points[:, None] == points[None]).all(axis=2)
    assert ((numbers[:, None] == numbers[None]) == same).all()


def test_nothing_is_counted_beyond_the_most_or_between_whole_numbers() -> None:
    points = np.arange(10, dtype=np.float32)[:, None]
    assert distinct(points, 10) is not None
    assert distinct(points, 9) is None
    assert distinct(points + np.float32(0.5), 10) is None


def test_an_untried_action_is_the_worst_to_search_with_and_the_best_to_explore_with() -> None:
    own = counts_of(a_memory(3))
    s, a = np.argwhere((own.tries == 0) & (own.tries.max(axis=1, keepdims=True) > 0))[0]
    tried = own.tries[s] > 0
    assert own.solved.q[s, a] < own.solved.q[s, tried].min()
    assert own.optimistic.q[s, a] > own.optimistic.q[s, tried].max()


@given(st.integers(0, 10**6))
def test_a_list_over_states_acts_the_same_as_a_draft(seed: int) -> None:
    own = counts_of(a_memory(seed), np.array([[1.0, -2.0]]))
    draws, most = np.random.default_rng(seed), own.solved.table.highs
    ends = np.sort(draws.integers(0, most[None, :, None] + 1, (4, len(most), 2)), axis=2)
    ends[-1, :, 0], ends[-1, :, 1] = 0, most
    rules = rules_over(own.solved.table.points, ends[..., 0], ends[..., 1], draws.integers(0, 4, 4))
    plain = [(low, high, a) for low, high, a in zip(*(p.tolist() for p in rules[:3]), strict=True)]
    expected = naive_pplx.policy_of(plain, own.solved.table.points)
    assert actions_at(own.draft(rules), own.points).tolist() == expected


def test_counts_find_a_short_list_that_plays_as_well_as_the_best_policy() -> None:
    system = learnt()
    assert known_by(system).by_counts
    assert len(system.ruleset) <= 4
    found = evaluate(system.ruleset, yard(), seeds=yard().test_seeds(2000)).performance
    assert found > best_return() - 0.3


def test_what_counts_promise_is_what_lists_get() -> None:
    system = learner(yard()).learn(epochs=PLAN - 1)
    known = known_by(system)
    rules = system.front.best.ruleset
    played = evaluate(rules, yard(), seeds=yard().test_seeds(2000)).performance
    assert known.best_score == pytest.approx(played, abs=0.4)


class Stay(Yard):
    """A yard without an end, where each step gets 1, that its environment cuts after 10 steps."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        self.time = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        place, *_, info = super().step(action)
        self.time += 1
        return place, 1.0, False, self.time == 10, info


def test_counts_promise_no_more_than_an_episode_that_the_environment_cuts() -> None:
    task = env_task(Stay)
    known = known_by(learner(task, steps=2_000).learn(epochs=COUNTING + 1))
    assert known.by_counts
    assert task.t_max > 10
    assert known.best_score == pytest.approx(10)


def test_counts_are_tested_once_at_least_where_episodes_are_long() -> None:
    system = learner(env_task(Stay), steps=1_500).learn(epochs=COUNTING)
    errors = system.history["value_error"].to_list()
    assert errors[-1] is not None
    assert errors[-2] is None


def test_the_front_is_scored_by_playing_in_the_end() -> None:
    points = learnt().front.points
    assert all(point.episodes is not None and point.episodes >= 80 for point in points)
    assert not len(known_by(learnt()).moves)


@pytest.mark.parametrize("epochs", [PLAN, PLAN + 1])
def test_scores_in_the_end_are_what_lists_got_in_as_many_episodes_as_they_say(epochs: int) -> None:
    system = learnt() if epochs == PLAN else learner(yard()).learn(epochs=epochs)
    assert system.front.scored == "return on the seeds for choosing"
    for point in system.front.points:
        assert point.episodes is not None
        played = evaluate(point.ruleset, yard(), seeds=yard().choosing(point.episodes))
        assert point.score == pytest.approx(played.performance)


def test_a_list_with_requirements_plays_the_same_seeds_however_many_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, asked = learner(yard(), require="never 0 when f0 >= 2"), list[Any]()
    point = replace(learnt().front.best, episodes=2 * EPISODE_LIMIT)

    def play(rules: Any, seeds: Any) -> Any:
        asked.append(seeds)
        return SimpleNamespace(returns=np.zeros((1, 1)))

    monkeypatch.setattr(system.learner.simulator, "play_ruleset", play)  # type: ignore[attr-defined]
    system.learner.scored_again(point, learnt().ruleset, learnt().now.population)
    assert (asked[0] == yard().choosing(2 * EPISODE_LIMIT)).all()


def test_learning_goes_on_after_the_plan_by_more_episodes() -> None:
    system = learner(yard()).learn(epochs=PLAN + 1)
    before, after = learnt().front.best.episodes, system.front.best.episodes
    assert before is not None
    assert after is not None
    assert after > before


def test_the_network_learns_where_observations_hide_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_PER_STEP", 0.1)
    task = env_task(COMBINATION, episodes=20)
    first, known = (known_by(learner(task).learn(epochs=epochs)) for epochs in (0, COUNTING))
    assert not known.by_counts
    assert (known.nets[0] != first.nets[0]).any()


def test_the_network_learns_where_observations_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_PER_STEP", 0.1)
    # 16 observations would take more than half of the plan.
    monkeypatch.setattr(count_learning, "FEWEST_TRIES", 300)
    assert not known_by(learner(yard()).learn(epochs=COUNTING)).by_counts


def test_numbers_with_fractions_are_not_counted() -> None:
    system = learner(haystack(), steps=2_000).learn(epochs=EPOCHS[SCRATCH] + 1)
    assert not known_by(system).by_counts


def test_given_terms_are_compared_where_steps_are_counted() -> None:
    system = learner(yard(), given_terms=["way = f0 + f1"], terms=False).learn()
    assert known_by(system).by_counts
    columns = {feature.name for point in system.front.points for feature in point.ruleset.terms}
    assert columns <= {"way"}


@pytest.mark.parametrize("epoch", [EPOCHS[SCRATCH] + 3, COUNTING + 1, PLAN - 1])
def test_a_file_goes_on_to_the_same_bytes(epoch: int, tmp_path: Path) -> None:
    system = learner(yard()).learn(epochs=epoch)
    system.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert isinstance(again, PPLX)
    assert saved_bytes(again.learn(epochs=PLAN - epoch), tmp_path) == saved_bytes(learnt(), tmp_path)


def test_threads_do_not_change_the_lists(tmp_path: Path) -> None:
    assert saved_bytes(learner(yard(), threads=2).learn(), tmp_path) == saved_bytes(learnt(), tmp_path)


def test_files_from_before_counting_are_read(tmp_path: Path) -> None:
    learnt().save(tmp_path / "model.zip")
    older = with_array(tmp_path / "model.zip", tmp_path, "population/clock", lambda clock: clock[:3])
    again = load(older)
    assert isinstance(again, PPLX)
    assert isinstance(again.ruleset, DecisionList)
    assert not known_by(again).by_counts


def test_a_file_must_say_whether_steps_are_counted(tmp_path: Path) -> None:
    learnt().save(tmp_path / "model.zip")
    wrong = with_array(tmp_path / "model.zip", tmp_path, "population/clock", lambda c: poke(c, 0.5, 3))
    with pytest.raises(ModelFileError, match="whether steps are counted"):
        load(wrong)
