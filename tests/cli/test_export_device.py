"""The command `export --numbers`."""

from __future__ import annotations

from pathlib import Path

from tests.commands import Runner


def test_the_command_writes_all_files_and_prints_the_bands(ifthen: Runner, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("IF pole angle <= -0.1 THEN push left\nOTHERWISE push right\n")
    command = ("export", tmp_path / "rules.txt", "--task", "CartPole-v1", "--to", "c", "--numbers", "int16")
    done = ifthen(*command, "--out", tmp_path / "pole.c")
    assert done.code == 0, done.err
    assert "pole angle ≤ -0.1 rad  never" in done.out
    assert {path.name for path in tmp_path.iterdir()} == {"rules.txt", "pole.c", "pole.h", "pole_test.c"}
    assert '#include "pole.h"' in (tmp_path / "pole.c").read_text()
    refused = ifthen(*command)
    assert refused.code != 0
    assert "give --out FILE.c" in refused.err
    for to, numbers, words in (
        ("sql", "int16", "chosen for c and st"),
        ("c", "int8", "numbers 'int8'"),
    ):
        wrong = ifthen("export", tmp_path / "rules.txt", "--to", to, "--numbers", numbers)
        assert wrong.code != 0
        assert words in wrong.err
