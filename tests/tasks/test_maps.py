from __future__ import annotations

from typing import Any

import pytest

from ifthen import TaskError, frozen_lake
from ifthen.tasks.maps import PAPER_MAPS, checked_map

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
