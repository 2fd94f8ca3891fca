from __future__ import annotations

import pytest

from tests.commands import Runner


@pytest.fixture
def ifthen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    """Return what runs the command `ifthen` in this process."""
    return Runner(monkeypatch, capsys)
