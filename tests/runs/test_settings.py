"""Settings survive being written to TOML and read back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ifthen.errors import ParameterError
from ifthen.runs.settings import (
    RunSettings,
    checked_settings,
    parse_assignment,
    read_settings,
    toml_text,
    toml_value,
)

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('\x00\x1f\x7f\x80"\\\n'), max_size=4
)
VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
@example({"name": "a\x7fb", "task": {"options": {"a\x7fb": [{"deep key": float("inf")}]}}})
def test_what_toml_can_say_is_read_back_as_it_was_written(plain: dict[str, Any]) -> None:
    read = tomllib.loads(toml_text(plain))
    assert read == plain
    assert repr(sorted(read.items())) == repr(sorted(plain.items()))  # 1 stays 1, 1.0 stays 1.0


@pytest.mark.parametrize(
    "given",
    [
        {"system": "PPL-ST", "task": "FrozenLake-4-0"},
        {
            "system": "PPL-DL",
            "task": {"desc": ["SF", "FG"], "p_slip": 0.25, "name": 'a "quoted" näme'},
            "epochs": 3,
            "seed": 2**62,
            "parameters": {"p_mut": 0.5, "fitness": "exact", "idv_size": 4},
        },
        {"system": "PPL-DL", "task": {"environment": "CartPole-v1", "name": "a\x7fb"}},
    ],
)
def test_settings_read_back_are_the_settings_written(given: dict[str, object], tmp_path: Path) -> None:
    settings = checked_settings(given)
    (tmp_path / "run.toml").write_text(settings.to_toml(), encoding="utf-8")
    assert checked_settings(read_settings(tmp_path / "run.toml")) == settings


@pytest.mark.parametrize(
    ("text", "value"),
    [("a=1", 1), ("a=0.5", 0.5), ("a=true", True), ("a=exact", "exact"), ('a="exact"', "exact"), ("a=", "")],
)
def test_an_assignment_is_read_as_toml_or_as_text(text: str, value: object) -> None:
    assert parse_assignment(text) == ("a", value)


def test_numbers_of_epochs_below_one_are_refused() -> None:
    with pytest.raises(ParameterError, match="epochs"):
        checked_settings({"system": "PPL-ST", "task": "FrozenLake-4-0", "epochs": 0})
    assert RunSettings(system="PPL-ST", task="FrozenLake-4-0").epochs == 250


@pytest.mark.parametrize(
    ("text", "value"), [("True", True), ("true", True), ("False", False), (" false", False)]
)
def test_booleans_are_taken_as_python_and_as_toml_write_them(text: str, value: bool) -> None:
    assert parse_assignment(f"flag={text}") == ("flag", value)


@pytest.mark.parametrize("value", [True, False, 0.25, 3, "stream", "two words", 1e-9])
def test_what_a_report_prints_for_set_is_what_set_takes(value: object) -> None:
    assert parse_assignment(f"name={toml_value(value)}") == ("name", value)


def test_a_file_from_an_editor_of_windows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes('\ufeffsystem = "PPL-X"\r\ntask = "CartPole-v1"\r\n'.encode())
    assert read_settings(path) == {"system": "PPL-X", "task": "CartPole-v1"}
