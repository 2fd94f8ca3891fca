from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ifthen
from ifthen import errors, results, tables, twins

NAMES: list[str] = vars(ifthen)["__all__"]
LAZY = (ifthen, results, tables, twins)
MOVED = {name: module for module in (errors, results, tables, twins) for name in vars(module)["__all__"]}


def stub_of(module: ModuleType) -> dict[str, str]:
    """Return the home of every name that a stub lists."""
    stub = Path(str(module.__file__)).with_suffix(".pyi").read_text()
    listed = re.findall(r"^from (ifthen\.\S+) import (\w+) as (\w+)$", stub, re.MULTILINE)
    assert [name for _, name, _ in listed] == [alias for _, _, alias in listed]
    assert len(listed) == len({name for _, name, _ in listed})
    return {name: home for home, name, _ in listed}


@pytest.mark.parametrize("module", LAZY)
def test_a_public_module_gives_what_its_stub_lists_and_nothing_else(module: ModuleType) -> None:
    listed = stub_of(module)
    assert vars(module)["__all__"] == sorted(listed)
    assert set(listed) <= set(dir(module))
    for name, home in listed.items():
        assert getattr(module, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="no attribute 'PPLXX'"):
        getattr(module, "PPLXX")  # noqa: B009  # type checkers know that there is none


def test_no_name_is_in_two_public_modules_except_the_bases_of_errors() -> None:
    assert set(NAMES) & set(MOVED) == {"IfthenError", "IfthenWarning"}
    assert len(MOVED) == sum(len(vars(module)["__all__"]) for module in (errors, results, tables, twins))


def test_the_front_door_stays_small() -> None:
    assert len(NAMES) <= 60


@pytest.mark.parametrize("name", sorted(set(MOVED) - set(NAMES)))
def test_a_name_that_moved_still_works_and_says_where_it_is_now(name: str) -> None:
    place = MOVED[name].__name__
    with pytest.warns(DeprecationWarning, match=rf"ifthen\.{name} is {place}\.{name} now") as told:
        assert getattr(ifthen, name) is getattr(MOVED[name], name)
    assert told[0].filename == __file__


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


def test_types_are_shipped_with_the_package() -> None:
    assert (Path(ifthen.__file__).parent / "py.typed").exists()
