"""A run's folder loses nothing that a user wrote, and a new run inherits no requirements of an older one."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ifthen.errors import OutputError
from ifthen.runs import run_folder as files
from ifthen.runs.run_folder import RunFolder
from ifthen.runs.settings import RunSettings
from ifthen.verification.requirements import requirements_text

SAFE = "never Right when x >= 1"
OTHER = "return >= 2"


def begin(folder: Path, *require: str, overwrite: bool = False, resumable: bool = True) -> None:
    """Begin a run in a folder, with requirements."""
    settings = RunSettings(system="PPL-DL", task="FrozenLake-4-0", require=list(require))
    with RunFolder(folder).claimed(settings if resumable else None, overwrite, require=require):
        pass


def text_in(folder: Path) -> str:
    """Return the text of the requirements in a folder."""
    return (folder / files.REQUIREMENTS).read_text()


@pytest.mark.parametrize("text", [f"{OTHER}\n", f"{OTHER}\n{SAFE}\n", "", b"\xff"])
@pytest.mark.parametrize("resumable", [True, False])
def test_other_requirements_of_a_user_are_not_replaced_unless_a_user_says_so(
    text: str | bytes, resumable: bool, tmp_path: Path
) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    path = tmp_path / files.REQUIREMENTS
    path.write_bytes(data)
    for attempt in (
        lambda: begin(tmp_path, SAFE, resumable=resumable),
        lambda: RunFolder(tmp_path).check_free(False, [SAFE]),
    ):
        with pytest.raises(OutputError, match=r"other requirements than the new run.*--overwrite") as problem:
            attempt()
        assert f"--require-file {shlex.quote(str(path))}" in str(problem.value)
    assert path.read_bytes() == data
    assert not (tmp_path / files.SETTINGS).exists()
    begin(tmp_path, SAFE, overwrite=True, resumable=resumable)
    assert text_in(tmp_path) == requirements_text([SAFE])


@pytest.mark.parametrize("overwrite", [True, False])
def test_the_same_requirements_of_a_user_stay_with_their_comments(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / files.REQUIREMENTS).write_text(f"# of the board\n{SAFE}  # always\n")
    begin(tmp_path, SAFE, overwrite=overwrite)
    assert text_in(tmp_path) == f"# of the board\n{SAFE}  # always\n"


def test_requirements_of_an_older_run_go_with_it(tmp_path: Path) -> None:
    begin(tmp_path, SAFE, OTHER)
    begin(tmp_path, OTHER, overwrite=True)
    assert text_in(tmp_path) == requirements_text([OTHER])
    begin(tmp_path, overwrite=True)
    assert not (tmp_path / files.REQUIREMENTS).exists()


def test_requirements_that_a_user_changed_stay_where_an_older_run_goes(tmp_path: Path) -> None:
    begin(tmp_path, SAFE)
    changed = text_in(tmp_path) + f"{OTHER}\n"
    (tmp_path / files.REQUIREMENTS).write_text(changed)
    begin(tmp_path, overwrite=True)
    assert text_in(tmp_path) == changed


def test_a_run_that_was_killed_while_it_began_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: RunSettings) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(RunSettings, "to_toml", killed)
        with pytest.raises(KeyboardInterrupt):
            begin(tmp_path, SAFE)
    begin(tmp_path, SAFE)
    assert text_in(tmp_path) == requirements_text([SAFE])
