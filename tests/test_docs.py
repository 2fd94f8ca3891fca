"""What the README, the guide and the page on explaining show can be run as it stands."""

from __future__ import annotations

import importlib
import re
import runpy
import tomllib
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ifthen
from ifthen import cli
from ifthen.runs.settings import checked_settings
from ifthen.study.study_plan import checked_plan
from ifthen.systems.pplx import offline_learning

ROOT = Path(__file__).parents[1]


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of one language in a document."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_the_python_code_of_the_documents_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(tmp_path)
    pages = ("guide", "explain", "twins", "start", "howto")
    documents = ("README.md", *(f"docs/{page}.md" for page in pages))
    code = [block for document in documents for block in blocks(document, "python")]
    if find_spec("sklearn") is None:  # not an extra of ours
        code = [block for block in code if "sklearn" not in block]
    assert len(code) >= 4
    names: dict[str, object] = {}
    for block in code:
        exec(block, names)
    assert (tmp_path / "model.zip").exists()


def shortened(code: str) -> str:
    """Return code that learns for two epochs, or from a few steps, where it says more."""
    code = re.sub(r"epochs=\d+", "epochs=2", code)
    code = re.sub(r"pop_size=\d+", "pop_size=20", code).replace("every=5,", "every=1,")
    code = re.sub(r"(teacher=model\))\.learn\(\)", r"\1.learn(total_timesteps=2000)", code)
    return code.replace("ifthen.distil(model, ", "ifthen.distil(model, steps=2000, task=")


@pytest.mark.parametrize("page", ["defend", "ecosystem", "family", "gpu", "pplx"])
def test_the_python_code_of_pages_that_train_runs_in_short(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = [block for block in blocks(f"docs/{page}.md", "python") if "stable_baselines3" not in block]
    assert code
    names: dict[str, object] = {"ifthen": ifthen}
    if page == "pplx":  # it learns from a log that an example writes
        monkeypatch.syspath_prepend(str(ROOT / "examples"))
        runpy.run_path(str(ROOT / "examples" / "heating_log.py"), run_name="__main__")
        monkeypatch.setattr(offline_learning, "UPDATES", 500)
        monkeypatch.setattr(offline_learning, "ESTIMATE_UPDATES", 500)
    if page in ("defend", "pplx"):  # they go on with a system, or with a model, that the reader has
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it learns too little
            own = ifthen.PPLDL("CartPole-v1", seed=0, pop_size=20).learn(epochs=1)
        names |= {"system": own, "model": own}
    for block in code:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ifthen.IfthenWarning)
            exec(shortened(block), names)


def test_the_configuration_in_the_guide_is_valid() -> None:
    text, study = blocks("docs/guide.md", "toml")
    checked_settings(tomllib.loads(text)).make_system()
    for plan in (study, *blocks("docs/howto.md", "toml")):
        assert checked_plan(tomllib.loads(plan)).systems


def test_every_command_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    for command in cli.app.registered_commands:
        assert command.callback is not None
        assert f"`ifthen {command.callback.__name__}" in text


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/faq.md"])
def test_who_promises_the_same_bytes_says_when_pplx_needs_steps(name: str) -> None:
    text = (ROOT / name).read_text().lower()
    promises = re.findall("same seed(?:, same| gives the same) bytes.{,350}", text, re.DOTALL)
    assert any("ppl-x" in each and "steps" in each and "compiled twin" in each for each in promises)


def test_training_in_the_readme_can_be_repeated_in_an_environment_of_ones_own() -> None:
    commands = "".join(blocks("README.md", "sh")).replace("\\\n", "").splitlines()
    (training,) = [command for command in commands if command.startswith("ifthen train PPL-X heating:")]
    assert "--set steps=" in training


def test_the_environment_of_the_guide_is_the_file_to_copy() -> None:
    (written,) = (block for block in blocks("docs/guide.md", "python") if "class Thermostat" in block)
    names: dict[str, Any] = {}
    exec(written.partition("room = ifthen")[0], names)
    copied = runpy.run_path(str(ROOT / "examples" / "heating.py"))["Thermostat"]
    played = []
    for made in (names["Thermostat"](), copied()):
        seen = [made.reset(seed=7)[0].tolist()]
        for step in range(50):
            observation, *rest = made.step(step % 3 // 2)
            seen.append([observation.tolist(), *rest])
        played.append(seen)
    assert played[0] == played[1]
    for page in ("README.md", "docs/guide.md", "docs/howto.md"):
        assert "examples/heating.py" in (ROOT / page).read_text()


MOST_CHARACTERS = 300
"""A longer row of a table is a paragraph."""


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/**/*.md")), ids=lambda path: path.stem)
def test_rows_of_tables_are_short(path: Path) -> None:
    rows = [line for line in path.read_text().splitlines() if line.startswith("|")]
    assert [row[:60] for row in rows if len(row) > MOST_CHARACTERS] == []


def test_every_command_is_in_a_file_of_its_name() -> None:
    for command in cli.COMMANDS:
        assert command.__module__ == f"ifthen.cli.{command.__name__}"


def test_the_reference_lists_the_public_names_as_they_are() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "api.py"))["page"]()
    assert (ROOT / "docs" / "api.md").read_text() == written, "run 'python docs/api.py'"


@pytest.mark.parametrize("name", ["commands.md", "parameters.md"])
def test_the_pages_of_commands_and_parameters_say_what_the_code_says(name: str) -> None:
    page = runpy.run_path(str(ROOT / "docs" / "reference.py"))["PAGES"][name]
    assert (ROOT / "docs" / name).read_text() == page(), "run 'python docs/reference.py'"


def test_the_citation_names_the_version() -> None:
    assert f"version: {ifthen.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_relative_link_leads_somewhere() -> None:
    for document in ROOT.glob("**/*.md"):
        if any(part.startswith(".venv") for part in document.relative_to(ROOT).parts):
            continue
        for target in re.findall(
            r"\]\((?!https?:)([^)#]+)\)|src=\"(?!https?:)([^\"]+)\"", document.read_text()
        ):
            path = document.parent / (target[0] or target[1])
            assert path.exists(), f"{document.name}: {path}"


DOCUMENTS = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]


def exists(dotted: str) -> bool:
    """Return whether a dotted name such as `ifthen.study.read_results` is a module, or a name in one."""
    parts = dotted.split(".")
    found: object = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:i]))
            except ImportError:
                return False
    return True


def test_every_dotted_name_in_the_documents_exists() -> None:
    names = {
        name for document in DOCUMENTS for name in re.findall(r"\bifthen(?:\.\w+)+", document.read_text())
    }
    assert len(names) > 20
    assert [name for name in sorted(names) if not exists(name)] == []


def test_every_source_file_in_the_documents_exists() -> None:
    pattern = r"`([\w/.-]+\.(?:py|pyi|js|css|j2|html\.j2))`"
    paths = {path for document in DOCUMENTS for path in re.findall(pattern, document.read_text())}
    examples = {
        "rules/my_kind.py",
        "systems/my_system.py",
        "environments/my_env.py",
        "simulate/gpu_table.py",
        "exports/my_format.py",
        "heating.py",
        "battery.py",
        "policy.py",
    }
    assert len(paths) > 30
    roots = (ROOT, ROOT / "src" / "ifthen")
    missing = [path for path in sorted(paths - examples) if not any((root / path).exists() for root in roots)]
    assert missing == []


def test_every_picture_is_shown_by_a_document() -> None:
    text = "".join(document.read_text() for document in DOCUMENTS)
    pictures = [path.name for path in ROOT.glob("docs/**/images/*")]
    assert [name for name in pictures if f"images/{name}" not in text] == []


@pytest.mark.parametrize(
    "name",
    [
        *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"),
        *(
            f"docs/{page}.md"
            for page in ("guide", "explain", "defend", "index", "start", "howto", "systems", "faq")
        ),
        *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/tutorials/*.md")),
    ],
)
def test_prose_is_wrapped(name: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / name).read_text(), flags=re.DOTALL)
    prose = [line for line in text.splitlines() if not line.startswith(("|", "<", "    rules →"))]
    assert [line for line in prose if len(line) > 122] == []


def test_the_rows_of_the_readme_are_short() -> None:
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `")]
    assert [row for row in rows if len(re.sub(r"\]\([^)]*\)", "]", row)) > 140] == []
