"""The compiled XCSF against the plain-Python one, step for step."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from ifthen import XCSF, TabularTask, frozen_lake
from ifthen.environments.from_table import table_task
from ifthen.systems.xcsf.xcsf_population import CLOCK, Population
from tests.naive_xcsf import NaiveXCSF
from tests.systems.contract import meadow
from tests.worlds import random_task

# Small and busy, so that all that can happen happens in few steps.
BUSY: dict[str, Any] = {"pop_limit": 40, "theta_ga": 8, "theta_del": 10, "theta_sub": 10, "mu": 0.1}
# Accurate where payoffs are large, or where luck is part of them.
LAX = {**BUSY, "epsilon_0": 0.2}
CLIFF = {**BUSY, "pop_limit": 60, "epsilon_0": 2.0}
TERNARY = {"prediction": "constant", "p_hash": 0.4, "mutation": "niche", "selection": "roulette"}
PAUSES = [1] * 60 + [7, 13, 50, 120, 250, 500, 1000, 1000]
ALWAYS = {"ga_invocations", "coverings", "insertions", "absorptions", "deletions"}


def lake(p_slip: float) -> TabularTask:
    return frozen_lake(4, p_slip)


def cliff(**options: Any) -> TabularTask:
    env = gymnasium.make("CliffWalking-v1")
    return table_task(env, **{"decode": lambda s: divmod(s, 12), "t_max": 100, **options})


def assert_same(population: Population, naive: NaiveXCSF) -> None:
    """Fail where a compiled population is not the oracle's: whole numbers exactly, others nearly."""
    states = [-1, *(naive.task.decision_states.tolist() if isinstance(naive.task, TabularTask) else [])]
    counted = ("ga_invocations", "coverings", "insertions", "absorptions", "ga_subsumptions")
    clock = dict(zip(CLOCK.names or (), population.clock.tolist(), strict=False))
    assert clock == {
        "steps": naive.steps,
        "episodes": naive.episodes,
        "state": states.index(naive.state) - 1,
        "time": naive.time,
        "explore": naive.explore,
        "before": states.index(naive.before) - 1,
        "micros": naive.micros,
        **{name: naive.counts[name] for name in (*counted, "set_subsumptions", "deletions")},
    }
    rules = [r for r, rule in enumerate(naive.slots) if rule is not None]
    assert np.flatnonzero(population.numerosity).tolist() == rules
    for name in ("bounds", "action", "numerosity", "experience", "stamp"):
        assert getattr(population, name)[rules].tolist() == [getattr(r, name) for r in naive.rules], name
    assert population.held[rules].tolist() == [r in naive.held for r in naive.rules]
    for name in ("fitness", "error", "niche_error", "set_size", "weights"):
        found, expected = getattr(population, name)[rules], [getattr(r, name) for r in naive.rules]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(population.pending, naive.pending, rtol=1e-9)
    if naive.p.prediction == "rls":
        upper = np.triu_indices(len(naive.ranges) + 1)
        whole = np.array([r.covariance for r in naive.rules])
        np.testing.assert_allclose(whole, whole.swapaxes(1, 2), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(population.covariance[rules], whole[:, *upper], rtol=1e-9, atol=1e-12)
    else:
        assert population.covariance.shape[1] == 0


def follow(task: TabularTask, seed: int, pauses: list[int], **parameters: Any) -> NaiveXCSF:
    """Compare compiled and plain XCSF after each pause; return the plain one."""
    system = XCSF(task, seed=seed, threads=1, **parameters)
    naive = NaiveXCSF(task, system.parameters, seed)
    for pause in pauses:
        system.learn(steps=pause)
        naive.run(pause)
        assert_same(system.now.population, naive)
    return naive


@pytest.mark.parametrize(
    ("task", "parameters", "happens"),
    [
        pytest.param(meadow(), LAX, {"ga_subsumptions"}, id="meadow"),
        pytest.param(lake(0.0), BUSY, {"ga_subsumptions"}, id="lake", marks=pytest.mark.oracle),
        pytest.param(lake(0.3), LAX, {"ga_subsumptions"}, id="slippery lake"),
        pytest.param(cliff(), CLIFF, {"ga_subsumptions"}, id="cliff"),
        pytest.param(meadow(), {"pop_limit": 40}, set(), id="defaults"),
        pytest.param(meadow(), {**LAX, "equality": "alleles"}, set(), id="equal alleles"),
        pytest.param(lake(0.0), {**BUSY, "prediction": "nlms"}, set(), id="NLMS", marks=pytest.mark.oracle),
        pytest.param(
            lake(0.0), {**BUSY, "selection": "roulette"}, set(), id="roulette", marks=pytest.mark.oracle
        ),
        pytest.param(
            meadow(),
            {**LAX, "set_subsumption": True, "tau": 0.2},
            {"set_subsumptions"},
            id="set subsumption",
            marks=pytest.mark.oracle,
        ),
        pytest.param(
            lake(0.3),
            {**LAX, "set_subsumption": True, "equality": "alleles", "ga_subsumption": False},
            {"set_subsumptions"},
            id="set subsumption of alleles",
        ),
        pytest.param(cliff(t_max=6), {**CLIFF, "truncation": "bootstrap"}, {"truncations"}, id="bootstrap"),
        pytest.param(
            meadow(t_max=3), {**LAX, "truncation": "bootstrap"}, {"truncations"}, id="bootstrap meadow"
        ),
        pytest.param(cliff(), {**CLIFF, "teletransport": True}, set(), id="teletransport"),
        pytest.param(lake(0.0), {**BUSY, "niche_error": True}, set(), id="niche error"),
        pytest.param(lake(0.3), {**BUSY, "niche_error": False}, set(), id="no niche error"),
        pytest.param(meadow(), {**LAX, "ga_subsumption": False}, set(), id="no GA subsumption"),
        pytest.param(lake(0.0), {**BUSY, "lambda_rls": 0.9, "rls_limit": 50.0}, set(), id="RLS at its limit"),
        pytest.param(
            frozen_lake(12, 0.1), {**BUSY, "pop_limit": 150, "mu": 0.3}, set(), id="more than 64 of each"
        ),
        pytest.param(lake(0.3), {**LAX, "r0": 0, "m0": 99, "chi": 0.3}, set(), id="other reaches"),
        pytest.param(lake(0.0), {**BUSY, **TERNARY}, set(), id="ternary", marks=pytest.mark.oracle),
        pytest.param(lake(0.0), {**BUSY, **TERNARY, "gradient": True, "chi": 0.3}, set(), id="gradient"),
        pytest.param(
            meadow(),
            {**BUSY, **TERNARY, "specify": True, "n_specify": 2},
            {"specified"},
            id="Specify",
            marks=pytest.mark.oracle,
        ),
    ],
)
def test_the_compiled_xcsf_follows_the_plain_one_step_for_step(
    task: TabularTask, parameters: dict[str, Any], happens: set[str]
) -> None:
    naive = follow(task, 3, PAUSES, **parameters)
    assert naive.steps == sum(PAUSES) == 3000
    for name in ALWAYS | happens:
        assert naive.counts[name] > 0, name
    if not naive.p.ga_subsumption:
        assert naive.counts["ga_subsumptions"] == 0
    if not naive.p.set_subsumption:
        assert naive.counts["set_subsumptions"] == 0


# Not seed 1: there a child's action mutates, two actions have the same prediction but for rounding, and the
# greedy choice between them is rounding's.
@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_it_follows_on_tasks_with_states_alike_and_rewards_everywhere(seed: int) -> None:
    # Negative features, states that look the same, three actions; N just above the number of actions.
    follow(random_task(seed), seed, [1] * 20 + [100, 300], **{**LAX, "pop_limit": 3 + 7 * seed})
