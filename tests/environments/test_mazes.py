from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ifthen import (
    PPLDL,
    DecisionList,
    TabularTask,
    evaluate,
    explain,
    explain_page,
    load,
    maze,
    parse_rules,
    shortest_decision_list,
    task_by_name,
    trace,
    verify,
)
from ifthen.cli.tasks import maze_table
from ifthen.environments.mazes import MAZES, NEIGHBOURS, MazeEnv, steps_to_food
from ifthen.errors import RuleError, TaskError
from ifthen.explanation.pictures.policy_grid import cells, policy_text
from ifthen.explanation.pictures.write_pictures import policy_picture
from ifthen.runs.task_settings import EnvironmentSettings, made_task, with_settings
from ifthen.tasks.solve import value_iteration
from tests.browser import needs_browser, opened

# Cells, mean fewest steps, most, and the mean of a random walk: worked out independently of this package.
KNOWN = {
    "Woods1": (16, 1.6875, 2, 29.1),
    "Woods2": (288, 1.6875, 2, 29.1),
    "Woods7": (933, 2.1844, 4, 43.7),
    "Woods14": (18, 9.5, 18, 937),
    "Woods100": (6, 2.0, 3, 37.3),
    "Woods101": (10, 2.7, 4, 112),
    "Woods101.5": (20, 2.8, 4, 122),
    "Woods102": (26, 2.769, 4, 143),
    "Maze4": (26, 3.5, 5, 137),
    "Maze5": (36, 4.611, 8, 305),
    "Maze6": (36, 5.194, 8, 551),
    "Maze7-large": (35, 6.543, 10, 668),
    "Maze7-small": (9, 4.111, 7, 203),
    "Maze10": (18, 4.556, 8, 354),
    "MazeF1": (5, 1.8, 3, 30.4),
    "MazeF2": (6, 2.5, 4, 73.3),
    "MazeF3": (8, 3.375, 5, 143),
    "MazeF4": (10, 4.3, 7, 234),
}
MARKOV = {"Woods1", "Woods14", "Maze4", "Maze5", "Maze6", "Maze7-large", "MazeF1", "MazeF2", "MazeF3"}
every_maze = pytest.mark.parametrize("name", MAZES)


def random_walk(task: TabularTask) -> float:
    """Return the expected steps to food of one who chooses every move by chance."""
    follows = task.dynamics.next_state[:, :, 0]
    system = np.eye(len(follows))
    for state, move in np.argwhere(follows >= 0):
        system[state, follows[state, move]] -= 1 / follows.shape[1]
    return float(np.linalg.solve(system, np.ones(len(follows)))[task.dynamics.starts].mean())


@every_maze
def test_optima_and_random_walks_are_those_known(name: str) -> None:
    task = maze(name)
    steps = steps_to_food(task)
    cells, mean, most, chance = KNOWN[name]
    assert (len(steps), steps.max()) == (cells, most)
    assert steps.mean() == pytest.approx(mean, abs=5e-4)
    assert random_walk(task) == pytest.approx(chance, rel=5e-3)
    assert task.aliased == (name not in MARKOV)


def test_every_maze_is_known() -> None:
    assert set(KNOWN) == set(MAZES)


def test_the_field_sees_two_bits_for_each_neighbour_and_people_see_one_of_three_things() -> None:
    words, bits = maze("Maze4"), maze("Maze4", coding="bits")
    assert words.features[0].labels == ("empty", "a wall", "food")
    assert [feature.name for feature in words.features] == list(NEIGHBOURS)
    assert [feature.name for feature in bits.features][:3] == [
        "something north",
        "food north",
        "something northeast",
    ]
    codes = np.array([[0, 0], [1, 0], [1, 1]])
    assert (bits.state_features == codes[words.state_features].reshape(len(words.state_features), 16)).all()
    assert np.unique(maze("Woods2", coding="bits").state_features[:, :3], axis=0).shape == (5, 3)


def test_below_the_food_of_maze4_is_a_wall_to_the_east() -> None:
    task = task_by_name("Maze4")
    assert isinstance(task, TabularTask)
    seen = task.state_features[2 * 8 + 6]  # column 6, row 2
    assert seen.tolist() == [2, 1, 1, 1, 1, 0, 0, 0]


def test_woods1_goes_on_beyond_its_edge() -> None:
    task = maze("Woods1")
    assert task.next_state[0, list(NEIGHBOURS).index("northwest"), 0] == 24
    assert task.next_state[5, list(NEIGHBOURS).index("east"), 0] == 5  # a wall


@pytest.mark.parametrize("name", ["Maze4", "Maze4-bits", "MazeF1-bits-memory"])
def test_the_environment_does_what_the_table_says(name: str) -> None:
    task = task_by_name(name)
    assert isinstance(task, TabularTask)
    env = task.make()
    check_env(env.unwrapped, skip_render_check=True)
    for seed in range(5):
        seen, _ = env.reset(seed=seed)
        state, over, steps = env.unwrapped._state, False, 0
        while not over:
            assert seen.tolist() == task.state_features[state].tolist()
            move = (seed + 3 * steps) % 8
            seen, reward, terminated, truncated, _ = env.step(move)
            assert reward == task.reward[state, move, 0]
            assert terminated == task.done[state, move, 0]
            state, steps, over = int(task.next_state[state, move, 0]), steps + 1, terminated or truncated
        assert steps <= task.t_max
        assert terminated or steps == task.t_max


def test_a_move_that_is_none_and_a_maze_that_is_none_are_refused() -> None:
    env = MazeEnv()
    env.reset(seed=0)
    with pytest.raises(TaskError, match="clockwise from north"):
        env.step(-1)
    with pytest.raises(TaskError, match=r"unknown maze 'Maze44'\..*Maze4"):
        MazeEnv("Maze44")


def test_the_environment_draws_itself_as_text() -> None:
    env = gymnasium.make("ifthen/Maze-v0", maze="MazeF1", render_mode="ansi")
    env.reset(seed=0)
    drawn: object = env.render()
    assert str(drawn).count("*") == 1


@pytest.mark.parametrize("name", ["Maze4", "Woods101.5-bits", "MazeF1-memory"])
def test_settings_make_the_same_task_again_and_can_be_changed(name: str) -> None:
    task = task_by_name(name)
    again = EnvironmentSettings(**task.settings).make_task()
    assert again.identity() == task.identity()
    assert again.settings == task.settings
    changed = made_task(EnvironmentSettings(**with_settings(name, {"gamma": 0.5})))
    assert changed.identity() == task.replaced(gamma=0.5).identity()


def test_with_memory_the_last_move_is_seen_and_every_cell_is_as_far_from_food_as_before() -> None:
    task, plain = maze("Woods101", memory=True), maze("Woods101")
    assert task.name == "Woods101-memory"
    assert task.features[:-1] == plain.features
    assert task.features[-1].labels == ("none", *NEIGHBOURS)
    assert (steps_to_food(task) == steps_to_food(plain)).all()
    assert (task.state_features[task.initial_states, -1] == 0).all()
    east = list(NEIGHBOURS).index("east")
    after = task.next_state[task.initial_states, east, 0]
    assert (task.state_features[after, -1] == east + 1).all()
    assert (after % plain.n_states == plain.next_state[plain.initial_states, east, 0]).all()
    with pytest.raises(TaskError, match="memory must be true or false"):
        MazeEnv(memory=1)  # type: ignore[arg-type]  # not a truth value


def test_a_model_of_a_maze_with_memory_is_read_again(tmp_path: Path) -> None:
    task = task_by_name("MazeF1-memory")
    PPLDL(task, pop_size=4, idv_size=4).learn(epochs=1).save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip").task
    assert again.identity() == task.identity()
    assert again.settings["options"] == task.settings["options"]
    assert again.make().unwrapped.memory is True


# The mean steps of the best use of all that was seen, from an unknown start: worked out independently.
KNOWN_WITH_MEMORY = {"Woods100": 14 / 6, "Woods101": 2.9, "Maze7-small": 39 / 9, "MazeF4": 4.5}


def fewest_steps_by_sight(task: TabularTask) -> float:
    """Return the mean steps of the best rules over what is seen, by branch and bound; inf if all fail."""
    follows, starts = task.dynamics.next_state[:, :, 0].tolist(), task.dynamics.starts.tolist()
    percepts = np.unique(task.dynamics.states, axis=0, return_inverse=True)[1].ravel().tolist()
    everywhere = replace(task, initial_states=task.decision_states.astype(np.int32))
    distance = steps_to_food(everywhere).tolist()
    moves = [
        sorted(range(8), key=lambda move: distance[after[move]] * (after[move] >= 0)) for after in follows
    ]
    policy: dict[int, int] = {}
    far = len(starts) * task.n_states

    def fewest(number: int, state: int, taken: int, path: frozenset[int], bound: int) -> int:
        """Return the fewest steps in all, or the bound; `taken` were made before `state`."""
        if state < 0:
            number, path = number + 1, frozenset()
            if number == len(starts):
                return min(bound, taken)
            state = starts[number]
        ahead = distance[state] + sum(distance[start] for start in starts[number + 1 :])
        if state in path or taken + ahead >= bound:
            return bound
        sight = percepts[state]
        known = sight in policy
        for move in [policy[sight]] if known else moves[state]:
            policy[sight] = move
            bound = fewest(number, follows[state][move], taken + 1, path | {state}, bound)
        if not known:
            del policy[sight]
        return bound

    found = fewest(0, starts[0], 0, frozenset(), far)
    return found / len(starts) if found < far else np.inf


@pytest.mark.parametrize("name", KNOWN_WITH_MEMORY)
def test_the_last_move_is_memory_enough_for_the_known_optimum_and_without_it_no_rules_find_food(
    name: str,
) -> None:
    assert fewest_steps_by_sight(maze(name)) == np.inf
    assert fewest_steps_by_sight(maze(name, memory=True)) == pytest.approx(KNOWN_WITH_MEMORY[name])


RULES = """
1. IF north is food THEN go north
2. IF northeast is food THEN go northeast
3. IF east is not empty AND south = a wall THEN go north
4. OTHERWISE go northeast
"""


def policy(name: str = "Maze4") -> DecisionList:
    found = parse_rules(RULES, task=task_by_name(name))
    assert isinstance(found, DecisionList)
    return found


def test_rules_are_read_and_written_in_words() -> None:
    rules = policy()
    assert rules.rule_in_words(0) == "IF north is food THEN go north"
    assert rules.rule_in_words(2) == "IF east is not empty AND south is a wall THEN go north"
    assert rules.bounds[2, 2].tolist() == [1, 2]


def test_evaluation_gives_the_mean_steps_to_food() -> None:
    task = maze("Maze4")
    best = value_iteration(task).policy
    found = evaluate(best, task)
    assert found.mean_steps == 3.5
    assert "steps per episode 3.5" in str(found)
    assert found.to_dict()["mean_steps"] == 3.5
    assert evaluate(best, task, "exact").mean_steps is None
    assert found.fraction == 1


def test_a_policy_is_drawn_in_its_maze() -> None:
    grid = cells(policy(), maze("Maze4"))
    assert grid[2][6].action == "go north"
    assert grid[2][6].optimal
    assert (grid[0][0].letter, grid[1][6].letter, grid[0][0].asked) == ("O", "G", False)
    text = policy_text(policy(), maze("Maze4")).plain
    assert text.splitlines()[1].count("█") == 3
    assert "wall" in text
    assert policy_picture(policy(), maze("Maze4")) is not None


def test_verification_names_cells_and_says_that_the_optimum_is_that_of_a_policy_that_knows_them() -> None:
    assert "x = " in str(verify(policy(), maze("Maze4")))
    aliased = str(verify(policy("Woods101"), maze("Woods101")))
    assert "have the features of another" in aliased
    assert "A policy that knows the state" in " ".join(aliased.split())
    assert "knows the state" not in str(verify(policy(), maze("Maze4")))


def test_explanations_and_episodes_call_values_by_name() -> None:
    task = maze("Maze4")
    assert "north = food" in str(explain(policy(), task.state_features[2 * 8 + 6], task))
    assert "northeast = a wall" in trace(policy(), task, episode=0).to_text(80)


def test_no_list_is_optimal_where_cells_that_look_alike_need_different_moves() -> None:
    with pytest.raises(RuleError, match="no rules over these features"):
        shortest_decision_list(maze("Woods101"))


def test_mazes_are_listed_with_their_optima() -> None:
    table = maze_table()
    assert ("Maze4", "26", "50", "3.500", "5", "no") in table.rows
    assert len(table.rows) == len(MAZES)


@needs_browser
def test_a_page_draws_the_maze_and_follows_the_episode_through_cells_that_look_alike(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(explain_page(policy("Woods101"), maze("Woods101")))
    with opened(path) as page:
        assert page.locator(".cell").count() == 35
        assert page.locator(".cell.O").count() == 24
        page.locator("#forward").click()
        assert page.locator(".cell.agent").count() == 1
        page.locator(".cell:not(.end)").last.click()
        assert "x = 5, y = 3" in page.locator("#why h2").inner_text()
        assert "It sees: north = " in page.locator("#why").inner_text()
