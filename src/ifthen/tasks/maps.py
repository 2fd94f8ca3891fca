"""FrozenLake maps: the paper's three, random ones by seed, and checks for any other.

S start, F frozen, H hole, G goal.
"""

from __future__ import annotations

from collections.abc import Sequence

from gymnasium.envs.toy_text.frozen_lake import MAPS, generate_random_map

from ifthen.checks import whole_number
from ifthen.errors import TaskError

MAP_12 = (
    "SFFHFFFFFHFF",
    "HFFFHHFFFHFF",
    "FFHFHFFFFFFF",
    "FFFHFHFFHFFF",
    "FHFFFFHFHFFF",
    "FFFFFFFFFHFF",
    "FHFFFHFFFHFF",
    "FFFFFFFFFFHF",
    "FHFFFHFFFFFF",
    "FFFFFHFFFHFF",
    "FFFFHHFFHHFF",
    "FFFHFFFFHFFG",
)
PAPER_MAPS = {4: tuple(MAPS["4x4"]), 8: tuple(MAPS["8x8"]), 12: MAP_12}
SIZE_LIMIT = 256


def choose_map(size: int | None, desc: Sequence[str] | None, map_seed: int | None) -> tuple[str, ...]:
    """Return the map the user asked for: their own, a random one, or the paper's of that size."""
    if desc is not None:
        if map_seed is not None:
            raise TaskError("give desc= or map_seed=, not both.")
        rows = checked_map(desc)
        if size is not None and size not in (len(rows), len(rows[0])):
            raise TaskError(f"size is {size}, but the map has {len(rows)} rows of {len(rows[0])}.")
        return rows
    size = whole_number("size", size, 2, SIZE_LIMIT, TaskError)
    if map_seed is not None:
        seed = whole_number("map_seed", map_seed, 0, 2**63 - 1, TaskError)
        return checked_map(generate_random_map(size, seed=seed))
    if size not in PAPER_MAPS:
        raise TaskError(
            f"there is a built-in map for sizes {', '.join(map(str, PAPER_MAPS))}, not for {size}. "
            f"Give map_seed=0 (on the command line FrozenLake-{size}-SLIP-map0) for a random map, "
            "or desc=[…] for your own."
        )
    return PAPER_MAPS[size]


def checked_map(desc: Sequence[str]) -> tuple[str, ...]:
    """Return a map as a tuple of rows, or raise if no one could play on it."""
    if not isinstance(desc, (list, tuple)) or not all(isinstance(row, str) for row in desc):
        raise TaskError("a map must be a list of texts, one per row, such as ['SF', 'FG'].")
    rows = tuple(desc)
    if not rows or not rows[0]:
        raise TaskError("a map must have at least one row and one column.")
    if len({len(row) for row in rows}) != 1:
        raise TaskError(f"all rows of a map must have the same length, not {[len(row) for row in rows]}.")
    if len(rows) > SIZE_LIMIT or len(rows[0]) > SIZE_LIMIT:
        raise TaskError(f"a map may have at most {SIZE_LIMIT} rows and columns.")
    letters = set("".join(rows))
    if letters - set("SFHG"):
        raise TaskError(
            f"a map may hold S (start), F (frozen), H (hole) and G (goal), "
            f"not {', '.join(repr(letter) for letter in sorted(letters - set('SFHG')))}."
        )
    for letter, what in (("S", "start"), ("G", "goal")):
        if letter not in letters:
            raise TaskError(f"the map has no {what}: put {letter!r} in one cell.")
    _check_paths(rows)
    return rows


def _check_paths(rows: tuple[str, ...]) -> None:
    """Raise if from some start no goal can be reached."""
    cells = {(x, y): letter for y, row in enumerate(rows) for x, letter in enumerate(row)}
    reaching = {cell for cell, letter in cells.items() if letter == "G"}
    frontier = list(reaching)
    while frontier:
        x, y = frontier.pop()
        for cell in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)):
            if cells.get(cell, "H") in "SF" and cell not in reaching:
                reaching.add(cell)
                frontier.append(cell)
    for cell, letter in cells.items():
        if letter == "S" and cell not in reaching:
            raise TaskError(
                f"there is no path from the start at x = {cell[0]}, y = {cell[1]} to a goal: "
                "turn some holes (H) into frozen cells (F)."
            )
