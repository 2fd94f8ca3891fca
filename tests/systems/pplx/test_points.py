"""Points beyond the ranges of features: lists see the edge, values see the points themselves."""

from __future__ import annotations

import numpy as np
import pytest

from ifthen import PPLX, env_task
from ifthen.rules.arrays import Floats
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.distil_values import imitated_states, visit
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.policy_search import shortened
from ifthen.systems.pplx.pplx_on_env import OnEnvironment
from ifthen.systems.pplx.scratch import single, with_rule
from tests.envs import Walk

NARROW = (-1.0, 1.0)

pytestmark = pytest.mark.usefixtures("few_updates")


def narrow(steps: int) -> tuple[Bench, Knowledge]:
    """Return what an epoch works with, and what is known of a walk that goes far beyond its range."""
    task = env_task(Walk, ranges={"f0": NARROW, "f1": (0, 2)}, t_max=50)
    system = PPLX(task, seed=1, threads=1, steps=steps).learn(epochs=0)
    learner = system.learner
    assert isinstance(learner, OnEnvironment)
    return learner.bench(99, 1_000.0), system.now.population


def test_values_are_asked_at_visited_points_and_lists_at_the_edge() -> None:
    bench, known = narrow(4_000)
    asked = list[Floats]()

    def costs(known: Knowledge, points: Floats) -> Floats:
        asked.append(points)
        return np.abs(points[:, :1]) + np.arange(3)

    bench.costs = costs  # type: ignore[method-assign]  # what is asked is what the test is about
    points = np.array([[-7.0, 0.0], [0.5, 1.0], [3.0, 2.0]])
    seen, labels = bench.labelled(known, points)
    assert seen[:, 0].tolist() == [-1.0, 0.5, 1.0]
    assert labels[:, 0].tolist() == [7.0, 0.5, 3.0]
    draft = with_rule(bench.rng, single(0, 2), seen, seen[0], 0, 1)
    _, _, visited = shortened(bench, known, with_rule(bench.rng, draft, seen, seen[1], 0, 2))
    assert np.abs(visited[:, 0]).max() > 2
    assert np.abs(asked[-1][:, 0]).max() > 2


@pytest.mark.parametrize("steps", [4_000, 200_000])
def test_visited_points_are_kept_as_they_are(steps: int) -> None:
    bench, known = narrow(steps)
    assert np.abs(known.states[:, 0]).max() > 2
    assert np.abs(imitated_states(bench, known).states[:, 0]).max() > 2
    few = known._replace(states=np.zeros((1, 2), np.float32))
    assert np.abs(visit(bench, few, [single(0, 2)]).states[:, 0]).max() > 2


def test_points_within_the_ranges_are_the_same_in_single_precision() -> None:
    bench, _ = narrow(4_000)
    rows = np.array([[0.07, 1.0], [1.0, 2.0], [1.0 + 1e-6, 2.0]], np.float32)
    assert bench.clipped(rows)[:2].tolist() == rows[:2].tolist()
    assert bench.clipped(rows)[2, 0] == 1.0
