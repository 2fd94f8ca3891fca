from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import ifthen

TREE = ast.parse(Path(ifthen.__file__).read_text())


def typed_names() -> dict[str, str]:
    """Return the module of every name that is imported for type checkers."""
    block = next(n for n in TREE.body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test))
    return {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_public_names_their_homes_and_their_types_agree() -> None:
    assert set(ifthen.__all__) == set(ifthen._HOME) == set(typed_names())
    assert len(set(ifthen.__all__)) == len(ifthen.__all__)
    assert typed_names() == ifthen._HOME


@pytest.mark.parametrize("name", ifthen.__all__)
def test_every_public_name_is_what_its_home_holds(name: str) -> None:
    home = importlib.import_module(ifthen._HOME[name])
    assert getattr(ifthen, name) is getattr(home, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'PPLXX'"):
        ifthen.PPLXX  # noqa: B018  # the access is what is tested


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
    assert set(ifthen.__all__) <= set(dir(ifthen))


def test_types_are_shipped_with_the_package() -> None:
    assert (Path(ifthen.__file__).parent / "py.typed").exists()
