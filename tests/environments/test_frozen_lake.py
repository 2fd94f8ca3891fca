from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ifthen import frozen_lake
from ifthen.environments.frozen_lake import PAPER_MAPS, checked_map
from ifthen.errors import TaskError
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.tables import paper_suite
from tests import naive

MOVES = {0: (-1, 0), 1: (0, 1), 2: (1, 0), 3: (0, -1)}  # Left, Down, Right, Up as (x, y)


def after(layout: tuple[str, ...], cell: tuple[int, int], action: int) -> tuple[int, int]:
    size = len(layout)
    x, y = (min(max(at + move, 0), size - 1) for at, move in zip(cell, MOVES[action], strict=True))
    return x, y


@pytest.mark.parametrize("size", [4, 8, 12])
@pytest.mark.parametrize("p_slip", [0.0, 0.1, 0.5, 1.0])
def test_moves_slip_to_each_perpendicular_side_with_half_of_p(size: int, p_slip: float) -> None:
    task = frozen_lake(size, p_slip)
    layout = task.layout or ()
    for s in task.decision_states:
        cell = (int(s % size), int(s // size))
        for a in range(4):
            expected: list[tuple[float, int, float, bool]] = []
            for turned, p in ((a, 1 - p_slip), ((a + 1) % 4, p_slip / 2), ((a - 1) % 4, p_slip / 2)):
                x, y = after(layout, cell, turned)
                letter = layout[y][x]
                expected.append((p, y * size + x, float(letter == "G"), letter in "GH"))
            arrays = (task.probability, task.next_state[s, a], task.reward[s, a], task.done[s, a])
            found = naive.marginals(list(zip(*arrays, strict=True)))
            assert found == pytest.approx(naive.marginals(expected), abs=1e-9)


@pytest.mark.parametrize("size", [4, 8])
def test_transitions_are_those_of_gymnasiums_own_table(size: int) -> None:
    task = frozen_lake(size, 0.3)
    env: Any = gymnasium.make("FrozenLake-v1", map_name=f"{size}x{size}", success_rate=0.7).unwrapped
    for s, actions in env.P.items():
        for a, outcomes in actions.items():
            arrays = (task.probability, task.next_state[s, a], task.reward[s, a], task.done[s, a])
            found = naive.marginals(list(zip(*arrays, strict=True)))
            assert found == pytest.approx(naive.marginals(outcomes), abs=1e-9)


def test_features_are_column_and_row_from_the_top_left() -> None:
    task = frozen_lake(4)
    assert [f.name for f in task.features] == ["x", "y"]
    assert task.state_features[6].tolist() == [2, 1]
    assert task.action_names == ("Left", "Down", "Right", "Up")


def test_the_suite_has_the_papers_sizes() -> None:
    suite = paper_suite()
    assert [task.name for task in suite] == [
        f"FrozenLake-{size}-{slip}" for size in (4, 8, 12) for slip in ("0", "0.1", "0.3", "0.5")
    ]
    starts = {4: 11, 8: 53, 12: 114}
    for task in suite:
        size = task.features[0].width
        assert len(task.initial_states) == starts[size]
        assert len(task.z) == starts[size] * (1 if task.deterministic else 30)
        assert task.t_max == {4: 150, 8: 300, 12: 450}[size]
        assert task.preset == {"idv_size": {4: 7, 8: 21, 12: 42}[size]}
        assert task.gamma == 0.95


@pytest.mark.parametrize(
    ("size", "optimum"), [(4, 0.8760954261363636), (8, 0.7114328737769366), (12, 0.582859497255123)]
)
def test_the_optimum_without_slipping_is_the_known_one_sampled_and_exact(size: int, optimum: float) -> None:
    task = frozen_lake(size)
    assert optimal_performance(task, "exact") == pytest.approx(optimum, abs=1e-12)
    assert optimal_performance(task, "sampled", "aligned") == pytest.approx(optimum, abs=1e-12)
    assert optimal_performance(task, "sampled", "stream") == pytest.approx(optimum, abs=1e-12)


@pytest.mark.parametrize("p_slip", [-0.1, 1.1, float("nan"), float("inf"), "0.1", None, True])
def test_slips_that_are_no_probability_are_refused(p_slip: Any) -> None:
    with pytest.raises(TaskError, match="p_slip must be a number from 0 to 1"):
        frozen_lake(4, p_slip)


@pytest.mark.parametrize("t_max", [0, -3, 2.5])
def test_a_time_limit_that_allows_no_step_is_refused(t_max: Any) -> None:
    with pytest.raises(TaskError, match="t_max"):
        frozen_lake(4, t_max=t_max)


def test_a_map_of_ones_own_may_be_any_rectangle() -> None:
    task = frozen_lake(desc=["SFF", "HFG"])
    assert task.n_states == 6
    assert [f.high for f in task.features] == [2, 1]
    assert task.name == "FrozenLake-3-0-own"
    # The values are γ² and γ from the row's two starts, 1 beside the goal and above it.
    assert optimal_performance(task) == pytest.approx((0.95**2 + 0.95 + 1 + 1) / 4, abs=1e-12)


def test_the_environment_passes_gymnasiums_own_checks() -> None:
    env = gymnasium.make("ifthen/FrozenLake-v0", size=8, p_slip=0.3)
    check_env(env.unwrapped, skip_render_check=True)


def test_steps_of_the_environment_are_transitions_of_the_task_with_their_frequencies() -> None:
    task = frozen_lake(4, 0.3)
    env = gymnasium.make("ifthen/FrozenLake-v0", size=4, p_slip=0.3, random_start=True)
    rng, seen = np.random.default_rng(0), Counter[tuple[int, int]]()
    happened = Counter[tuple[int, int, int, float, bool]]()
    observation, _ = env.reset(seed=0)
    for _ in range(6000):
        s, a = int(observation[1]) * 4 + int(observation[0]), int(rng.integers(4))
        observation, reward, terminated, truncated, _ = env.step(a)
        n = int(observation[1]) * 4 + int(observation[0])
        seen[s, a] += 1
        happened[s, a, n, float(reward), terminated] += 1
        if terminated or truncated:
            observation, _ = env.reset()
    for (s, a, *what), times in happened.items():
        arrays = (task.probability, task.next_state[s, a], task.reward[s, a], task.done[s, a])
        p = naive.marginals(list(zip(*arrays, strict=True)))[tuple(what)]  # type: ignore[index]  # three of them
        deviation = (p * (1 - p) / seen[s, a]) ** 0.5
        assert abs(times / seen[s, a] - p) <= 5 * deviation + 1e-9


def test_the_environment_is_truncated_at_its_time_limit_and_not_before() -> None:
    env = gymnasium.make("ifthen/FrozenLake-v0", size=4, t_max=3)
    env.reset(seed=0)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    env.reset()
    assert env.step(0)[3] is False


def test_random_start_begins_in_every_frozen_cell() -> None:
    env = gymnasium.make("ifthen/FrozenLake-v0", size=4, random_start=True)
    starts = {tuple(env.reset(seed=seed)[0].tolist()) for seed in range(200)}
    task = frozen_lake(4)
    assert starts == {tuple(task.state_features[s].tolist()) for s in task.initial_states}


# Maps

# The appendix of the paper, row after row.
TWELVE = """
SFFHFFFFFHFF HFFFHHFFFHFF FFHFHFFFFFFF FFFHFHFFHFFF FHFFFFHFHFFF FFFFFFFFFHFF
FHFFFHFFFHFF FFFFFFFFFFHF FHFFFHFFFFFF FFFFFHFFFHFF FFFFHHFFHHFF FFFHFFFFHFFG
"""


def test_the_paper_maps_have_11_53_and_114_frozen_cells() -> None:
    frozen = {size: sum(letter in "SF" for letter in "".join(rows)) for size, rows in PAPER_MAPS.items()}
    assert frozen == {4: 11, 8: 53, 12: 114}


def test_the_12x12_map_is_the_papers() -> None:
    assert list(PAPER_MAPS[12]) == TWELVE.split()


@pytest.mark.parametrize(
    ("desc", "message"),
    [
        (["SF", "G"], "same length"),
        ([], "at least one row"),
        ([""], "at least one row"),
        (["SF", "FF"], "no goal"),
        (["FF", "FG"], "no start"),
        (["SX", "yG"], "'X', 'y'"),
        (["SH", "HG"], "no path from the start at x = 0, y = 0"),
        (["SGHS"], "no path from the start at x = 3, y = 0"),
        ("SFFG", "list of texts"),
        ([1, 2], "list of texts"),
        (["S" + "F" * 1000 + "G"], "at most 256"),
    ],
)
def test_maps_no_one_can_play_on_are_refused(desc: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        frozen_lake(desc=desc)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 5}, "built-in map for sizes 4, 8, 12"),
        ({"size": 1}, "whole number from 2"),
        ({"size": 4.0}, "whole number from 2"),
        ({"size": True}, "whole number from 2"),
        ({"size": "4"}, "whole number from 2"),
        ({"size": 1001, "map_seed": 0}, "whole number from 2"),
        ({"size": 4, "map_seed": -1}, "map_seed"),
        ({"size": 4, "map_seed": 0.5}, "map_seed"),
        ({"desc": ["SG"], "map_seed": 1}, "not both"),
        ({"desc": ["SG"], "size": 3}, "1 rows of 2"),
    ],
)
def test_impossible_choices_of_a_map_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        frozen_lake(**options)


def test_a_random_map_is_the_same_for_the_same_seed_and_playable() -> None:
    first, again, other = (frozen_lake(6, map_seed=seed) for seed in (3, 3, 4))
    assert first.layout == again.layout != other.layout
    assert checked_map(first.layout or ()) == first.layout
    assert first.name == "FrozenLake-6-0-map3"
