"""Settings survive being written to TOML and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from ifthen.errors import ParameterError
from ifthen.runs.settings import RunSettings, checked_settings, parse_assignment, read_settings, toml_value


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
