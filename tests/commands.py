"""Helpers to run the command `ifthen`: in this process, or as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ifthen import cli
from ifthen.cli import terminal


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Runner:
    """Runs `ifthen` in this process and captures what it prints."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: str | Path) -> Finished:
        self._monkeypatch.setattr(sys, "argv", ["ifthen", *map(str, arguments)])
        for console in (terminal.out, terminal.err):
            self._monkeypatch.setattr(console, "width", 200)
        code = 0
        try:
            cli.run()
        except SystemExit as left:
            code = int(left.code or 0)
        captured = self._capsys.readouterr()
        return Finished(code, captured.out, captured.err)


def start_command(*arguments: str | Path, own_group: bool = False) -> subprocess.Popen[str]:
    """Start `ifthen` as a process of its own, also in a group of its own where that is to be signalled."""
    return subprocess.Popen(
        [sys.executable, "-m", "ifthen.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        start_new_session=own_group,
    )
