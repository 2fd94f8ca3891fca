"""XCSF as a system: presets, what its history says, where learning stops, and what it refuses."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import XCSF, TabularTask, frozen_lake, load
from ifthen.errors import ParameterError, RuleError
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.systems.xcsf.xcsf_on_table import TableLearner
from ifthen.systems.xcsf.xcsf_parameters import kernel_reach
from ifthen.systems.xcsf.xcsf_population import clock_of
from ifthen.tasks.solve import value_iteration
from tests import naive
from tests.systems.contract import make, meadow, saved_bytes
from tests.systems.xcsf.populations import COUNTS
from tests.worlds import chain

HISTORY = ("epoch", *TableLearner.measured, *COUNTS)
ADDED = ("insertions", "coverings", "absorptions", "ga_subsumptions")


def rows(system: Any) -> list[dict[str, Any]]:
    """Return the history as dictionaries."""
    return list(system.history.iter_rows(named=True))


# Parameters.


@pytest.mark.parametrize(
    ("size", "limit", "invocations", "r0", "m0"),
    [(4, 700, 56, 2, 1), (8, 2100, 168, 4, 2), (12, 4200, 336, 6, 3)],
)
def test_presets_are_the_papers_for_every_size_of_the_lake(
    size: int, limit: int, invocations: int, r0: int, m0: int
) -> None:
    for p_slip in (0.0, 0.1):
        task = frozen_lake(size, p_slip)
        parameters: Any = XCSF(task).parameters
        assert (parameters.pop_limit, parameters.ga_per_epoch) == (limit, invocations)
        assert parameters.niche_error == (p_slip > 0)  # errors of stochastic payoffs are not the rule's fault
        reach = kernel_reach(parameters, task, np.int32)
        assert reach.r0.tolist() == [r0, r0]
        assert reach.m0.tolist() == [m0, m0]


def test_presets_yield_to_what_is_given() -> None:
    given_: dict[str, Any] = {"pop_limit": 90, "ga_per_epoch": 3, "niche_error": False, "r0": 0, "m0": 50}
    system = XCSF(frozen_lake(8, 0.1), **given_)
    assert {name: getattr(system.parameters, name) for name in given_} == given_
    reach = kernel_reach(system.parameters, system.task, np.int32)
    assert (reach.r0.tolist(), reach.m0.tolist()) == ([0, 0], [8, 8])  # no further than the lake is wide


@pytest.mark.parametrize("limit", [1, 3])
def test_fewer_microclassifiers_than_actions_are_refused_by_name(limit: int) -> None:
    with pytest.raises(
        ParameterError, match=rf"pop_limit must be at least the number of actions \(4.*{limit}"
    ):
        XCSF(meadow(), pop_limit=limit)


def test_as_many_microclassifiers_as_actions_are_enough() -> None:
    system = XCSF(meadow(), pop_limit=4, theta_ga=5, threads=1).learn(steps=2000)
    assert rows(system)[-1]["micros"] == 4


def test_a_population_too_large_to_index_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ifthen.systems.xcsf.xcsf_on_table.SIZE_LIMIT", 2**20)
    with pytest.raises(ParameterError, match=r"pop_limit=1,000,000 on 7 states .*would take .* GiB"):
        XCSF(meadow(), pop_limit=1_000_000)
    assert XCSF(meadow(), pop_limit=4_000).parameters.pop_limit == 4_000


# History.


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({}, id="small"),
        pytest.param({"theta_ga": 0, "mu": 0.3}, id="busy"),
        pytest.param({"pop_limit": 700, "epsilon_0": 0.2, "theta_sub": 5}, id="many subsumptions"),
        pytest.param({"equality": "alleles", "ga_subsumption": False, "prediction": "nlms"}, id="nlms"),
        pytest.param(
            {"set_subsumption": True, "epsilon_0": 0.5, "theta_sub": 2, "niche_error": False},
            id="set subsumption",
        ),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_row_of_the_history_adds_up(seed: int, parameters: dict[str, Any]) -> None:
    system: Any = make("XCSF", seed=seed, **parameters).learn(epochs=25)
    first, *others = found = rows(system)
    assert tuple(first) == HISTORY
    assert all(first[name] == 0 for name in HISTORY if name != "q_error")
    for epoch, row in enumerate(others, start=1):
        assert row["epoch"] == epoch
        # An episode's end may run the GA twice in one step.
        assert row["ga_invocations"] - epoch * system.parameters.ga_per_epoch in (0, 1)
        assert 0 < row["macros"] <= row["micros"] <= system.parameters.pop_limit
        assert sum(row[name] for name in ADDED) - row["deletions"] == row["micros"]
        assert 0 < row["mean_generality"] <= 1
        assert row["mean_error"] >= 0
        assert row["steps"] >= row["episodes"]
    for name in ("episodes", "steps", "ga_invocations", "set_subsumptions", "deletions", *ADDED):
        assert [row[name] for row in found] == sorted(row[name] for row in found)
    last, population = found[-1], system.now.population
    assert last["macros"] == len(system.ruleset) == (population.numerosity > 0).sum()
    assert last["micros"] == population.numerosity.sum() == system.ruleset.numerosity.sum()
    assert (last["set_subsumptions"] > 0) == system.parameters.set_subsumption
    assert (last["ga_subsumptions"] > 0) <= system.parameters.ga_subsumption


def test_means_in_the_history_are_those_of_a_microclassifier() -> None:
    system: Any = make("XCSF").learn(epochs=8)
    last, ruleset = rows(system)[-1], system.ruleset
    shares = [np.prod([(high - low + 1) / 3 for low, high in box]) for box in ruleset.bounds.tolist()]
    assert last["mean_generality"] == pytest.approx(np.average(shares, weights=ruleset.numerosity))
    assert last["mean_error"] == pytest.approx(np.average(ruleset.errors, weights=ruleset.numerosity))


@pytest.mark.parametrize("p_slip", [0.0, 0.3])
def test_the_q_error_is_the_mean_distance_to_the_optimal_values(p_slip: float) -> None:
    task = frozen_lake(4, p_slip)
    _, values = naive.value_iteration(task)
    best = np.array(values)[task.decision_states]
    system: Any = XCSF(task, seed=2, threads=1)
    # After 3 steps some states are without a rule still: these count as predicting 0.
    for learn, some_are_missing in (({"steps": 3}, True), ({"epochs": 10}, False)):
        arrays = system.learn(**learn).ruleset.prediction_array(task.state_features[task.decision_states])
        assert np.isnan(arrays).any() == some_are_missing
        expected = np.abs(np.nan_to_num(arrays) - best).mean()
        assert rows(system)[-1]["q_error"] == pytest.approx(expected, rel=1e-9)
    assert rows(system)[0]["q_error"] == pytest.approx(np.abs(best).mean())
    np.testing.assert_allclose(best, value_iteration(task).action_values[task.decision_states], atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_it_learns_the_small_lake_to_the_optimum_and_its_values_too(seed: int) -> None:
    task = frozen_lake(4, 0.0)
    system = XCSF(task, seed=seed, threads=1).learn(epochs=60)
    optimum = optimal_performance(task, "exact")
    performance, errors = (
        np.array([row[name] for row in rows(system)]) for name in ("exact_performance", "q_error")
    )
    assert performance.max() == pytest.approx(optimum, rel=1e-9)
    assert np.median(performance[-20:]) == pytest.approx(optimum, rel=1e-9)
    assert errors[-1] < 0.05 < 0.5 < errors[0]
    assert errors[-10:].mean() < errors[10:20].mean() < errors[1:5].mean()


# Where learning stops.


@pytest.mark.parametrize("parts", [(1,), (1, 1, 5), (300, 0, 2, 41)])
def test_steps_and_episodes_are_counted_exactly(parts: tuple[int, ...]) -> None:
    for unit in ("steps", "episodes"):
        system: Any = make("XCSF")
        done = 0
        for more in parts:
            system.learn(**{unit: more})
            done += more
            assert rows(system)[-1][unit] == done == system.now.records[-1][unit]
    assert clock_of(system.now.population)["state"] == -1  # episodes end between two of them


def test_episodes_after_steps_finish_the_one_that_was_begun() -> None:
    system = make("XCSF")
    while clock_of(system.learn(steps=1).now.population)["state"] < 0:
        pass
    finished = rows(system)[-1]["episodes"]
    assert clock_of(system.now.population)["episodes"] == finished + 1  # the one begun does not count yet
    system.learn(episodes=1)
    assert rows(system)[-1]["episodes"] == finished + 1
    assert clock_of(system.now.population)["episodes"] == finished + 1


@functools.cache
def after(steps: int) -> bytes:
    """Return the file of a small XCSF that learnt so many steps in one go."""
    with tempfile.TemporaryDirectory() as folder:
        return saved_bytes(make("XCSF").learn(steps=steps), Path(folder))


PARTS = st.one_of(
    st.tuples(st.just("steps"), st.integers(0, 150)),
    st.tuples(st.just("episodes"), st.integers(0, 20)),
    st.tuples(st.just("epochs"), st.integers(0, 2)),
)


@settings(max_examples=20)
@given(st.lists(PARTS, min_size=1, max_size=6), st.booleans())
def test_learning_in_any_parts_gives_the_bytes_of_one_go(
    parts: list[tuple[str, int]], across_files: bool
) -> None:
    system: Any = make("XCSF")
    with tempfile.TemporaryDirectory() as folder:
        for unit, more in parts:
            before = rows(system)[-1] if system.started else dict.fromkeys(HISTORY, 0)
            system.learn(**{unit: more})
            name = {"epochs": "epoch"}.get(unit, unit)
            assert rows(system)[-1][name] == before[name] + more
            content = saved_bytes(system, Path(folder))
            if across_files:
                system = load(Path(folder) / "saved.zip", threads=1)
    assert content == after(rows(system)[-1]["steps"])


def test_a_row_inside_an_epoch_gives_way_to_the_next() -> None:
    system = make("XCSF").learn(epochs=2)
    at_2 = rows(system)
    system.learn(steps=3)
    assert [row["epoch"] for row in rows(system)] == [0, 1, 2, 2]
    assert rows(system)[-1]["steps"] == at_2[-1]["steps"] + 3
    system.learn(steps=3)
    assert [row["epoch"] for row in rows(system)] == [0, 1, 2, 2]
    assert rows(system)[-1]["steps"] == at_2[-1]["steps"] + 6
    system.learn(epochs=1)
    assert [row["epoch"] for row in rows(system)] == [0, 1, 2, 3]
    assert rows(system)[:3] == at_2


def test_epochs_so_short_that_a_step_could_skip_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="ga_per_epoch"):
        XCSF(meadow(), ga_per_epoch=1)
    system = XCSF(frozen_lake(4, 0.3), seed=4, threads=1, ga_per_epoch=2, theta_ga=1, p_explore=1.0).learn(
        epochs=99
    )
    assert [row["epoch"] for row in rows(system)] == list(range(100))
    assert any(row["ga_invocations"] % 2 for row in rows(system))  # the last step of an epoch ran two
    assert load_saved(system, tmp_path).ruleset == system.ruleset


def load_saved(system: Any, folder: Path) -> Any:
    """Return the system that comes back from a file."""
    system.save(folder / "model.zip")
    return load(folder / "model.zip", threads=1)


# What has no answer.


def test_an_xcsf_that_has_learnt_nothing_says_so() -> None:
    system = make("XCSF")
    with pytest.raises(ParameterError, match="has learnt nothing yet"):
        _ = system.ruleset
    system.learn(epochs=0)
    for ask in (lambda: system.ruleset, lambda: system.predict([0, 0])):
        with pytest.raises(ParameterError, match=r"no rules yet.*learn\(epochs=1\)"):
            ask()
    assert len(system.learn(steps=1).ruleset) >= 4


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("prediction", ["rls", "nlms"])
def test_payoffs_too_large_for_numbers_end_in_a_clear_error_not_in_nan(prediction: Any) -> None:
    system = XCSF(with_rewards(1.7e308), seed=0, threads=1, prediction=prediction)
    with pytest.raises(ParameterError, match=r"predictions grew beyond all measure by step .* of chain"):
        system.learn(epochs=30)
    assert system.epoch == 0  # as it was before


def with_rewards(size: float, **options: Any) -> TabularTask:
    """Return the chain with a large reward at its end and as large a cost of every step before."""
    reward = np.array(chain().reward)
    reward[0], reward[1, 0, 0] = -size, size
    return chain(reward=reward, **options)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_predictions_that_become_infinite_with_the_last_step_are_told_as_well() -> None:
    system = XCSF(with_rewards(1.7e308), seed=0, threads=1)
    told = False
    while not told:
        try:
            system.learn(steps=1)
        except ParameterError:
            told = True
        else:
            assert np.isfinite(system.now.population.weights).all()


def test_fitness_stays_positive_however_small_the_share_that_children_get() -> None:
    with pytest.raises(ParameterError, match="fitness_share"):
        XCSF(meadow(), fitness_share=1e-300)
    extremes: dict[str, Any] = {"fitness_share": 1e-6, "nu": 50, "tau": 0.1, "chi": 0.0}
    system = XCSF(frozen_lake(4, 0.0), seed=4, threads=1, theta_ga=0, mu=0.5, **extremes).learn(epochs=40)
    assert 0 < system.ruleset.fitness.min() < 1e-12  # very small ones do happen


def test_large_payoffs_are_learnt_and_saved_where_numbers_reach(tmp_path: Path) -> None:
    reward = np.array(chain().reward) * 1e90
    system = XCSF(chain(reward=reward), seed=0, threads=1).learn(epochs=60)
    small = XCSF(chain(), seed=0, threads=1, niche_error=True).learn(epochs=60)
    for own, factor in ((system, 1e90), (small, 1.0)):
        values = own.ruleset.prediction_array([[0], [1]]) / factor
        np.testing.assert_allclose(values[:, 0], [2 / 9, 2 / 3], atol=0.1)
        assert load_saved(own, tmp_path).ruleset == own.ruleset


@pytest.mark.parametrize(
    "observation", [[np.nan, 0], [0, np.inf], [0], [0, 0, 0], 0, [[0, 0, 0]], [[[0, 0]]], "here", None]
)
def test_observations_that_are_not_are_refused(observation: Any) -> None:
    system: Any = make("XCSF").learn(epochs=1)
    with pytest.raises(RuleError, match=r"observations? .*must"):
        system.predict(observation)
