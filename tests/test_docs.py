"""What the README, the guide and the page on explaining show can be run as it stands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ifthen import cli
from ifthen.study.settings import checked_settings

ROOT = Path(__file__).parents[1]


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of one language in a document."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_the_python_code_of_the_documents_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(tmp_path)
    documents = ("README.md", "docs/guide.md", "docs/explain.md", "docs/twins.md")
    code = [block for document in documents for block in blocks(document, "python")]
    assert len(code) >= 4
    names: dict[str, object] = {}
    for block in code:
        exec(block, names)
    assert (tmp_path / "model.zip").exists()


def test_the_configuration_in_the_readme_is_valid() -> None:
    (text,) = blocks("README.md", "toml")
    checked_settings(tomllib.loads(text)).make_system()


def test_every_command_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    for command in cli.app.registered_commands:
        assert command.callback is not None
        assert f"`ifthen {command.callback.__name__}" in text


def test_every_relative_link_leads_somewhere() -> None:
    for document in ROOT.glob("**/*.md"):
        if ".venv" in document.parts:
            continue
        for target in re.findall(
            r"\]\((?!https?:)([^)#]+)\)|src=\"(?!https?:)([^\"]+)\"", document.read_text()
        ):
            path = document.parent / (target[0] or target[1])
            assert path.exists(), f"{document.name}: {path}"
