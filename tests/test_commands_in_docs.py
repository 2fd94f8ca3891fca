"""What the documents type at a shell exists, and what the pages for beginners type runs as it stands."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ifthen import cli
from tests.commands import Runner

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
LONG = (
    {"train"},
    {"distil"},
    {"offline"},
    {"resume"},
    {"study", "run"},
    {"tune"},
    {"--dossier"},
    {"--install-completion"},
)
"""Commands that train, play for long, or change the user's shell: other tests run them, or none should."""


def typed(document: Path) -> list[list[str]]:
    """Return the words of every command `ifthen …` in the shell blocks of a document."""
    blocks = re.findall(r"```sh\n(.*?)```", document.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("ifthen ")]


def options() -> dict[str, set[str]]:
    """Return the options of every command, as its page lists them."""
    page = runpy.run_path(str(ROOT / "docs" / "reference.py"))["commands_page"]()
    sections = re.findall(r"^## ifthen (.+?)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    return {name: set(re.findall(r"`(--[\w-]+)`", text)) for name, text in sections}


def test_commands_and_options_in_the_documents_exist() -> None:
    known = {**options(), **{name: {name} for name in ("--install-completion", "--version")}}
    seen = 0
    for document in DOCUMENTS:
        for words in typed(document):
            name = " ".join(words[:2]) if words[0] == "study" else words[0]
            assert name in known, f"{document.name}: ifthen {name}"
            used = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert used <= known[name], f"{document.name}: ifthen {shlex.join(words)}"
            seen += 1
    assert seen > 80


@pytest.mark.parametrize("name", ["train", "explain", "study run"])
def test_the_page_of_a_command_lists_the_options_of_its_help(name: str) -> None:
    said = CliRunner().invoke(cli.app, [*name.split(), "--help"]).output
    listed = set(re.findall(r"^. (--[\w-]+)", said, re.MULTILINE)) - {"--help"}
    assert listed <= options()[name] <= set(re.findall(r"--[\w-]+", said))


NEEDS_MORE = ("mypackage:", "heating:", "battery:", "--config", "--start", "--tensorboard", "LunarLander-v3")
"""Trainings that need a file, a class or a package that the document tells of, or an extra."""


def test_trainings_in_the_documents_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything happens as for a user, up to the first episode that would be learnt from."""
    monkeypatch.chdir(tmp_path)
    begun, train = list[str](), sys.modules["ifthen.cli.train"]
    monkeypatch.setattr(train, "learn_and_report", lambda folder, *_: begun.append(str(folder.path)))
    monkeypatch.setattr(train, "run_seeds", lambda settings, seeds, *_: begun.append(f"{seeds} seeds"))
    ifthen, asked = Runner(monkeypatch, capsys), set[str]()
    for document in DOCUMENTS:
        for words in typed(document):
            asked |= {shlex.join(words)} if words[0] == "train" else set()
    tried = [command for command in sorted(asked) if not any(part in command for part in NEEDS_MORE)]
    for command in tried:
        done = ifthen(*shlex.split(command), *([] if "--seeds" in command else ["--overwrite"]))
        assert done.code == 0, f"ifthen {command}: {done.err}"
    assert len(begun) == len(tried) >= 20


@pytest.mark.parametrize(
    ("page", "training", "least"),
    [
        ("howto", ("CartPole-v1", "--set", "steps=1000", "--out", "runs/pole"), 10),
        ("start", ("FrozenLake-8-0.3", "--set", "collect=2000", "--out", "runs/first"), 7),
    ],
)
def test_commands_of_pages_for_beginners_run(
    page: str,
    training: tuple[str, ...],
    least: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All but those that train or need a file of the reader, with a run that was trained for less long."""
    monkeypatch.chdir(tmp_path)
    ifthen = Runner(monkeypatch, capsys)
    assert ifthen("train", "PPL-X", *training).code == 0
    shutil.copytree(training[-1], "runs/three")
    ran = 0
    for words in typed(ROOT / "docs" / f"{page}.md"):
        needs_more = any(part in shlex.join(words) for part in NEEDS_MORE)
        if needs_more or any(set(words) >= long for long in LONG):
            continue
        done = ifthen(*words)
        assert done.code in (0, 1), done.err  # 1: a requirement is not met
        assert done.out
        ran += 1
    assert ran >= least
