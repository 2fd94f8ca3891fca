"""The mazes of learning classifier systems: an animat sees its eight neighbours and looks for food.

It stands in an empty cell and moves to one of the eight neighbours. A move into a wall leaves it where it is
and takes a step. Food pays 1000 and ends the episode, which may begin in any empty cell. The woods numbered
1, 2 and 7 go on beyond their edges: what leaves the map on one side comes in on the other. All other maps
have walls around them. The maps are published data; docs/family.md says where each one was read.

The table is of cells, and rules see what an animat sees. Where two cells look the same, rules do the same in
both: such a maze is aliased. Values, and the optimum beside a performance, are those of a policy that knows
the cell. Rules without memory may not reach them in an aliased maze.

With memory, rules also see the last move, so that cells that look alike may differ by how they were entered.
The table is then of pairs of a cell and a last move, of which there is none at the start. No map is drawn
then, because a cell has several states.

Letters of maps: O and Q obstacles, F and G food, . empty. Only Woods2 has two kinds of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import gymnasium
import numpy as np
from gymnasium import spaces

from ifthen.checks import one_of, real_number, whole_number
from ifthen.environments.from_table import table_task
from ifthen.environments.known_environments import KnownEnvironment
from ifthen.errors import TaskError, nearest
from ifthen.rules.arrays import Ints
from ifthen.rules.feature import Feature
from ifthen.tasks.table_checks import T_MAX_LIMIT
from ifthen.tasks.tabular_task import TabularTask

Coding = Literal["neighbours", "bits"]
Transitions = dict[int, dict[int, list[tuple[float, int, float, bool]]]]
NEIGHBOURS: dict[str, tuple[int, int]] = {
    "north": (0, -1),
    "northeast": (1, -1),
    "east": (1, 0),
    "southeast": (1, 1),
    "south": (0, 1),
    "southwest": (-1, 1),
    "west": (-1, 0),
    "northwest": (-1, -1),
}
"""How far to the right and down each neighbour is, clockwise from north."""
FOOD = "FG"
"""The letters of food in maps."""
EMPTY = "."
"""The letter of an empty cell in maps."""
REWARD = 1000.0
"""The default reward of food."""
GAMMA = 0.9
"""The default discount factor."""
STEPS = 50
"""Episodes are truncated after this many steps, unless a maze says otherwise."""
BITS_SUFFIX = "-bits"
"""Ends the names of mazes whose neighbours are observed as bits."""
MEMORY_SUFFIX = "-memory"
"""Ends the names of mazes in which the last move is observed."""
LAST_MOVE = "last move"
"""The name of the feature that memory adds."""
LAST_MOVES = ("none", *NEIGHBOURS)
"""The values of that feature: no move yet, or the direction of the last move."""


class Sight(NamedTuple):
    """What an animat tells apart: a letter, a word and the field's bits for each value, in this order."""

    letters: str
    words: tuple[str, ...]
    bits: tuple[tuple[int, ...], ...]
    bit_names: tuple[str, ...]


SIGHT = Sight(".OF", ("empty", "a wall", "food"), ((0, 0), (1, 0), (1, 1)), ("something", "food"))
SIGHT_OF_WOODS2 = Sight(
    ".OQFG",
    ("empty", "an O wall", "a Q wall", "F food", "G food"),
    ((0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1)),
    ("food", "something", "second kind"),
)


class Maze(NamedTuple):
    """A map, one text per row, and what else makes a maze."""

    rows: tuple[str, ...]
    endless: bool = False
    """Whether what leaves the map on one side comes in on the other."""
    t_max: int = STEPS
    sight: Sight = SIGHT


def _rows(text: str) -> tuple[str, ...]:
    return tuple(text.split("/"))


def _woods2() -> tuple[str, ...]:
    """Return Woods2: three bands of six blocks, with empty rows around them."""
    empty = EMPTY * 30
    bands = (
        ".QQF..QQF..OQF..QQG..OQG..OQF./.OOO..QOO..OQO..OOQ..QQO..QQQ./.OOQ..OQQ..OQQ..QQO..OOO..QQO.",
        ".QOF..QOG..QOF..OOF..OOG..QOG./.QQO..QOO..OOO..OQO..QQO..QOO./.QQQ..OOO..OQO..QOQ..QOQ..OQO.",
        ".QOG..QOF..OOG..OQF..OOG..OOF./.OOQ..OQQ..QQO..OQQ..QQO..OQQ./.QQO..OOO..OQO..OOQ..OQQ..QQQ.",
    )
    return tuple(row for band in bands for row in (empty, *_rows(band), empty))


WOODS7 = (
    "...........O.........................OO.........O.........",
    ".OFO.......F........F.........O.......F.........FO........",
    "...........O........OO.......F............................",
    "............................O......O.........F......O.....",
    "...F.......OFO........OFO..........F.........OO......F....",
    "...OO..............................O..................O...",
    "..........OO.......O........OO....................O.......",
    ".OFO.......F.......OF........F.........OFO........F.......",
    "..................................................O.......",
    "...OO.......O.................O........OO.......O.........",
    "...F.......F.......O.........FO........F........OF....OFO.",
    "...........O.......OF.....................................",
    "..O......................O............O......O.......O....",
    "..F.......F...............F..........FO.......F......OF...",
    "..O.......OO...............O...................O..........",
    ".....................O.....................O..............",
    "...F........OFO......F..........F.........F......OF.......",
    "...OO................O..........OO.......O.......O........",
)
MAZES: dict[str, Maze] = {
    "Woods1": Maze(_rows("...../.OOF./.OOO./.OOO./....."), endless=True),
    "Woods2": Maze(_woods2(), endless=True, sight=SIGHT_OF_WOODS2),
    "Woods7": Maze(WOODS7, endless=True),
    "Woods14": Maze(
        _rows(
            "OOOOOOOOOOOOOO/OO...OOOO.OO.O/O.OOO.OO.O.O.O/O.OOO.O.OOO.OO/"
            "OFOOO.OO.OOOOO/OOOOOO..OOOOOO/OOOOOOOOOOOOOO"
        )
    ),
    "Woods100": Maze(_rows("OOOOOOOOO/O...F...O/OOOOOOOOO"), t_max=500),
    "Woods101": Maze(_rows("OOOOOOO/O.....O/O.O.O.O/O.OFO.O/OOOOOOO")),
    "Woods101.5": Maze(
        _rows("OOOOOOO/O.OFO.O/O.O.O.O/OO.O.OO/O.O.O.O/OOOOOOO/O.O.O.O/OO.O.OO/O.O.O.O/O.OFO.O/OOOOOOO")
    ),
    "Woods102": Maze(
        _rows("OOOOOOO/O.OFO.O/O.O.O.O/O.....O/O.O.O.O/OOOOOOO/O.O.O.O/O.....O/O.O.O.O/O.OFO.O/OOOOOOO")
    ),
    "Maze4": Maze(_rows("OOOOOOOO/O..O..FO/OO..O..O/OO.O..OO/O......O/OO.O...O/O....O.O/OOOOOOOO")),
    "Maze5": Maze(
        _rows("OOOOOOOOO/O......FO/O..O.OO.O/O.O.....O/O...OO..O/O.O.O..OO/O.O..O..O/O.....O.O/OOOOOOOOO")
    ),
    "Maze6": Maze(
        _rows("OOOOOOOOO/O.....OFO/O..O.OO.O/O.O.....O/O...OO..O/O.O.O..OO/O.O.....O/O.....O.O/OOOOOOOOO")
    ),
    "Maze7-small": Maze(_rows("OOOOO/O...O/O.O.O/O.O.O/O.O.O/OFOOO/OOOOO")),
    "Maze7-large": Maze(
        _rows("OOOOOOOOO/O.....OFO/O..O.OO.O/O.O..O..O/O...OO..O/O.O.O..OO/O.O.....O/O.....O.O/OOOOOOOOO")
    ),
    "Maze10": Maze(_rows("OOOOOOOOO/O.......O/O.O.O.O.O/O.O.O.O.O/O.O.OFO.O/OOOOOOOOO")),
    "MazeF1": Maze(_rows("OOOO/O.FO/O.OO/O..O/O.OO/OOOO")),
    "MazeF2": Maze(_rows("OOOOO/O..FO/O.OOO/O..OO/O.OOO/OOOOO")),
    "MazeF3": Maze(_rows("OOOOOO/O...FO/O.OOOO/O...OO/O.OOOO/OOOOOO")),
    "MazeF4": Maze(_rows("OOOOOOO/O....FO/O.OOOOO/O....OO/O.OOOOO/OOOOOOO")),
}
"""All mazes by name. The literature calls two mazes Maze7: here they are Maze7-small and Maze7-large."""


class KnownMaze(KnownEnvironment):
    """Mazes, observed as the eight neighbours."""

    of_class = "ifthen.environments.mazes:MazeEnv"
    task_names = tuple(MAZES)
    is_table = True
    actions = tuple(f"go {name}" for name in NEIGHBOURS)

    @staticmethod
    def decode(env: Any, state: int) -> Sequence[int]:
        """Return what is seen in a state: a cell or, with memory, a cell and the last move."""
        percept: list[int] = env.percepts[state].tolist()
        return percept

    @staticmethod
    def table_features(env: Any) -> tuple[Feature, ...]:
        """Return the neighbours, or their bits."""
        return features_of(env.maze.sight, env.coding, env.memory)

    @staticmethod
    def layout(env: Any) -> tuple[str, ...] | None:
        """Return the map in the letters that maps are drawn by: F ground, O wall, G goal."""
        if env.memory:
            return None
        drawing = str.maketrans({EMPTY: "F", "Q": "O", **dict.fromkeys(FOOD, "G")})
        return tuple(row.translate(drawing) for row in env.maze.rows)

    @staticmethod
    def table_origin(env: Any) -> dict[str, Any]:
        """Return what makes the same environment again."""
        options = {"maze": env.name, "coding": env.coding, "reward": env.reward}
        return options | ({"memory": True} if env.memory else {})

    @staticmethod
    def settings_named(name: str) -> dict[str, Any] | None:
        """Return the settings of the task called Maze4, Maze4-bits, Maze4-memory or Maze4-bits-memory."""
        base_name, memory = name.removesuffix(MEMORY_SUFFIX), name.endswith(MEMORY_SUFFIX)
        maze_name, bits = base_name.removesuffix(BITS_SUFFIX), base_name.endswith(BITS_SUFFIX)
        if maze_name not in MAZES:
            return None
        options: dict[str, Any] = {"maze": maze_name, "coding": "bits" if bits else "neighbours"}
        options |= {"memory": True} if memory else {}
        return {"environment": "ifthen/Maze-v0", "name": name, "gamma": GAMMA, "options": options}

    @staticmethod
    def task_named(name: str) -> TabularTask | None:
        """Return the task of a name; see `settings_named`."""
        settings = KnownMaze.settings_named(name)
        return None if settings is None else maze(**settings["options"])


class MazeEnv(gymnasium.Env[Any, Any]):
    """A maze as a Gymnasium environment.

    Args:
        maze: its name, such as "Maze4"; see `MAZES`.
        coding: how the neighbours are observed. "neighbours": one number each, 0 empty, 1 a wall, 2 food.
            "bits": the field's bits, empty 00, a wall 10, food 11. Woods2 has five values, or three bits.
        t_max: steps until truncation; 50, and 500 in Woods100, where none is given.
        reward: the reward of food.
        render_mode: "ansi", or None.
        memory: whether the last move is observed behind the neighbours: 0 before the first, then 1 to 8.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012  # Gymnasium's

    def __init__(
        self,
        maze: str = "Maze4",
        coding: Coding = "neighbours",
        t_max: int | None = None,
        reward: float = REWARD,
        render_mode: str | None = None,
        memory: bool = False,
    ) -> None:
        if maze not in MAZES:
            raise TaskError(f"unknown maze {maze!r}.{nearest(str(maze), MAZES)}")
        self.name, self.maze, self.render_mode = maze, MAZES[maze], render_mode
        one_of("coding", coding, get_args(Coding))
        if not isinstance(memory, bool):
            raise TaskError(f"memory must be true or false, not {memory!r}.")
        self.coding, self.memory = coding, memory
        if t_max is not None:
            t_max = whole_number("t_max", t_max, 1, T_MAX_LIMIT, TaskError)
        self.t_max = self.maze.t_max if t_max is None else t_max
        self.reward = real_number("reward", reward, 1e-6, 1e9, TaskError)
        letters = "".join(self.maze.rows)
        self.empty_cells = np.flatnonzero(np.array(list(letters)) == EMPTY)
        self.percepts = _percepts(self.maze, self.coding)
        self.P = _transitions(self.maze, self.reward)
        if memory:
            self.percepts, self.P = _remembering(self.percepts, self.P)
        self.initial_state_distrib = np.zeros(len(self.P))
        self.initial_state_distrib[self.empty_cells] = 1 / len(self.empty_cells)
        widths = [feature.width for feature in features_of(self.maze.sight, self.coding, memory)]
        self.observation_space = spaces.MultiDiscrete(widths)
        self.action_space = spaces.Discrete(len(NEIGHBOURS))
        self._state = self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Ints, dict[str, Any]]:
        """Start in a random empty cell; return what is seen there."""
        super().reset(seed=seed)
        self._state, self._steps = int(self.np_random.choice(self.empty_cells)), 0
        return self.percepts[self._state].copy(), {}

    def step(self, action: int) -> tuple[Ints, float, bool, bool, dict[str, Any]]:
        """Move; return what is seen, the reward, and whether food was found or the time is over."""
        if not 0 <= int(action) < len(NEIGHBOURS):
            raise TaskError(
                f"the actions are 0 to {len(NEIGHBOURS) - 1}, clockwise from north, not {action!r}. "
                "A ruleset answers -1 where none of its rules matches."
            )
        ((_, self._state, reward, terminated),) = self.P[self._state][int(action)]
        self._steps += 1
        truncated = not terminated and self._steps >= self.t_max
        return self.percepts[self._state].copy(), reward, terminated, truncated, {}

    def render(self) -> Any:
        """Return the map, with * where the animat is."""
        letters, width = list("".join(self.maze.rows)), len(self.maze.rows[0])
        letters[self._state % len(letters)] = "*"
        return "\n".join("".join(letters[i : i + width]) for i in range(0, len(letters), width))


def maze(
    maze: str,
    *,
    coding: Coding = "neighbours",
    gamma: float = GAMMA,
    t_max: int | None = None,
    reward: float = REWARD,
    name: str | None = None,
    memory: bool = False,
) -> TabularTask:
    """Build the task of a maze: find food from every empty cell.

    Args:
        maze: its name, such as "Maze4"; `ifthen tasks` lists them.
        coding: "neighbours", eight features that are empty, a wall or food; or "bits", the field's bits.
        gamma: the discount factor; 0.9 is what later studies of these mazes use (recalled, not checked).
        t_max: steps until truncation; 50, and 500 in Woods100, where none is given.
        reward: the reward of food.
        name: the task's name; if not given the maze's, with "-bits" and "-memory" behind where these are on.
        memory: whether rules see the last move, too. States are then pairs of a cell and a last move.
    """
    env = MazeEnv(maze, coding, t_max, reward, memory=memory)
    suffixes = (BITS_SUFFIX if coding == "bits" else "") + (MEMORY_SUFFIX if memory else "")
    label = name or maze + suffixes
    task = table_task(env, name=label, gamma=gamma, t_max=env.t_max)
    return replace(task, origin={**task.origin, "environment": "ifthen/Maze-v0"})


def features_of(sight: Sight, coding: Coding, memory: bool) -> tuple[Feature, ...]:
    """Return what rules see: eight neighbours with named values, or the bits of each; and the last move."""
    if coding == "neighbours":
        neighbours = [Feature(name, 0, len(sight.words) - 1, labels=sight.words) for name in NEIGHBOURS]
    else:
        neighbours = [Feature(f"{bit} {name}", 0, 1) for name in NEIGHBOURS for bit in sight.bit_names]
    remembered = [Feature(LAST_MOVE, 0, len(LAST_MOVES) - 1, labels=LAST_MOVES)] if memory else []
    return (*neighbours, *remembered)


def steps_to_food(task: TabularTask) -> Ints:
    """Return the fewest steps from every initial state of a task without chance to its end, `(|S_I|,)`."""
    steps = np.where(task.done[:, :, 0], 1, task.n_states + 1).min(axis=1)
    for _ in range(task.n_states):
        steps_after = np.where(task.done[:, :, 0], 0, steps[task.next_state[:, :, 0]]).min(axis=1)
        previous, steps = steps, np.minimum(steps, 1 + steps_after)
        if (steps == previous).all():
            break
    fewest: Ints = steps[task.initial_states]
    return fewest


def _neighbour(maze: Maze, x: int, y: int, offset: tuple[int, int]) -> tuple[int, int] | None:
    """Return the cell beside a cell; None where the map ends."""
    width, height = len(maze.rows[0]), len(maze.rows)
    x, y = x + offset[0], y + offset[1]
    if maze.endless:
        return x % width, y % height
    return (x, y) if 0 <= x < width and 0 <= y < height else None


def _cells(maze: Maze) -> list[tuple[int, int]]:
    """Return all cells, row by row."""
    return [(x, y) for y, row in enumerate(maze.rows) for x in range(len(row))]


def _percepts(maze: Maze, coding: Coding) -> Ints:
    """Return what is seen in every cell, `(cells, features)`; beyond a map there are walls."""
    percepts = []
    for x, y in _cells(maze):
        neighbours = [_neighbour(maze, x, y, offset) for offset in NEIGHBOURS.values()]
        letters = ["O" if cell is None else maze.rows[cell[1]][cell[0]] for cell in neighbours]
        values = [maze.sight.letters.index(letter) for letter in letters]
        bits = [bit for value in values for bit in maze.sight.bits[value]]
        percepts.append(values if coding == "neighbours" else bits)
    return np.array(percepts, dtype=np.int64)


def _transitions(maze: Maze, reward: float) -> Transitions:
    """Return the table P: a move into a wall stays, one onto food ends. Only empty cells are ever left."""
    table: Transitions = {}
    width = len(maze.rows[0])
    for state, (x, y) in enumerate(_cells(maze)):
        table[state] = {}
        for action, offset in enumerate(NEIGHBOURS.values()):
            cell = _neighbour(maze, x, y, offset) if maze.rows[y][x] == EMPTY else None
            letter = "O" if cell is None else maze.rows[cell[1]][cell[0]]
            target = state if cell is None or letter in "OQ" else cell[1] * width + cell[0]
            food = letter in FOOD
            table[state][action] = [(1.0, target, reward if food else 0.0, food)]
    return table


def _remembering(percepts: Ints, table: Transitions) -> tuple[Ints, Transitions]:
    """Return percepts and table of states that are a cell and a last move: those without one come first.

    Moves into walls count, too. The state of cell c after move m is c + (m + 1) · cells.
    """
    cells, n_last_moves = len(percepts), len(LAST_MOVES)
    last_moves = np.repeat(np.arange(n_last_moves), cells)[:, None]
    remembered: Transitions = {}
    for state in range(cells * n_last_moves):
        remembered[state] = {
            move: [
                (chance, target + (move + 1) * cells, reward, terminated)
                for chance, target, reward, terminated in outcomes
            ]
            for move, outcomes in table[state % cells].items()
        }
    return np.concatenate([np.tile(percepts, (n_last_moves, 1)), last_moves], axis=1), remembered
