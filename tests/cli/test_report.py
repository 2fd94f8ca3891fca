"""The command `report`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ifthen.pages import pdf
from tests.commands import Runner

QUESTIONS = (
    "What does it do?",
    "What can it never do?",
    "How good is it?",
    "How sure is that?",
    "What breaks it?",
)


def test_report_answers_five_questions_and_writes_a_dossier(
    ifthen: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "NAMES", ("no-such-browser",))
    rules, page = tmp_path / "rules.txt", tmp_path / "rules.html"
    rules.write_text("IF x <= 1 THEN Down\nOTHERWISE Right\n")
    command = ("report", rules, "--task", "FrozenLake-4-0.1", "--quick", "--require", "rules<=2")
    done = ifthen(*command)
    assert done.code == 0, done.err
    assert all(question in done.out for question in QUESTIONS)
    assert not page.exists()
    done = ifthen(*command, "--dossier", "--purpose", "Crosses the lake.", "--out", page)
    assert done.code == 0, done.err
    assert "No PDF: Chromium is not installed" in done.out
    assert "Crosses the lake." in page.read_text()
    assert f"ifthen evaluate {rules} --task FrozenLake-4-0.1<" in page.read_text()


def test_report_exits_with_1_where_a_requirement_is_not_met(ifthen: Runner, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("IF x <= 1 THEN Down\nOTHERWISE Right\n")
    command = ("report", rules, "--task", "FrozenLake-4-0.1", "--quick")
    assert ifthen(*command, "--require", "never Down when x <= 0").code == 1
    assert ifthen(*command, "--require", "never Dwn when x <= 0").code == 2


def test_what_requires_nothing_is_refused_and_a_byte_order_mark_is_no_name(
    ifthen: Runner, tmp_path: Path
) -> None:
    rules, file = tmp_path / "rules.txt", tmp_path / "required.txt"
    rules.write_text("IF x <= 1 THEN Down\nOTHERWISE Right\n")
    own = (rules, "--task", "FrozenLake-4-0.1")
    for text in ("", "# nothing yet\n\n"):
        file.write_text(text)
        done = ifthen("verify", *own, "--require-file", file)
        assert (done.code, "requires nothing" in done.err) == (2, True)
    done = ifthen("stress", *own, "--require", "")
    assert (done.code, "--require is empty" in done.err) == (2, True)
    file.write_bytes("\ufeffrules<=2\n".encode())
    assert ifthen("verify", *own, "--require-file", file, "--quiet").code == 0


def test_a_dossier_is_written_to_a_page_only(ifthen: Runner, tmp_path: Path) -> None:
    done = ifthen("report", tmp_path / "rules.txt", "--dossier", "--out", tmp_path / "folder")
    assert done.code == 2
    assert "give FILE.html, not folder" in done.err
