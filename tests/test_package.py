from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ifthen

NAMES: list[str] = vars(ifthen)["__all__"]
HOMES: dict[str, str] = vars(ifthen)["_HOME"]


def test_public_names_are_listed_once() -> None:
    stub = Path(ifthen.__file__).with_suffix(".pyi").read_text()
    listed = re.findall(r"^from (\S+) import (\w+) as (\w+)$", stub, re.MULTILINE)
    assert [name for _, name, _ in listed] == [alias for _, _, alias in listed]
    assert len(listed) == len(set(listed)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_what_its_home_holds(name: str) -> None:
    home = importlib.import_module(HOMES[name])
    assert getattr(ifthen, name) is getattr(home, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'PPLXX'"):
        getattr(ifthen, "PPLXX")  # noqa: B009  # type checkers know that there is none


def test_importing_ifthen_does_not_wait_for_the_compiler() -> None:
    script = (
        "import sys, ifthen\n"
        "slow = {'numba', 'polars', 'matplotlib', 'scipy', 'pydantic', 'rich', 'jinja2'} & set(sys.modules)\n"
        "assert not slow, slow\n"
        "from ifthen.rules.ruleset import RuleSet\n"
        "feature = {'name': 'x', 'kind': 'integer', 'low': 0, 'high': 1}\n"
        "rules = [{'if': {}, 'then': 'a'}]\n"
        "data = {'format': 'ifthen-ruleset', 'version': 1, 'kind': 'decision-list'}\n"
        "RuleSet.from_dict({**data, 'features': [feature], 'actions': ['a'], 'rules': rules})\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_dir_lists_the_public_names() -> None:
    assert set(NAMES) <= set(dir(ifthen))


def test_types_are_shipped_with_the_package() -> None:
    assert (Path(ifthen.__file__).parent / "py.typed").exists()
