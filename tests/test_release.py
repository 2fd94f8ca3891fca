"""What a release holds: everything that the package needs, and one version."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import ifthen

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Return the wheel, built without a network."""
    folder = str(tmp_path_factory.mktemp("wheel"))
    return zipfile.ZipFile(next(WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])))


def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    package = ROOT / "src" / "ifthen"
    files = {
        str(path.relative_to(package.parent).as_posix()) for path in package.rglob("*") if path.is_file()
    }
    wanted = {name for name in files if "__pycache__" not in name}
    held = {
        name for name in wheel.namelist() if not name.startswith(f"ifthen-{ifthen.__version__}.dist-info/")
    }
    assert held == wanted
    for kind in (".j2", ".js", ".css", ".csv", ".json", ".pyi", "py.typed"):
        assert any(name.endswith(kind) for name in held), f"no file {kind} in the wheel"


def test_the_wheel_has_the_version_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    about = f"ifthen-{ifthen.__version__}.dist-info"
    assert f"\nVersion: {ifthen.__version__}\n" in wheel.read(f"{about}/METADATA").decode()
    assert "ifthen = ifthen.cli:run" in wheel.read(f"{about}/entry_points.txt").decode()
    assert f"{about}/licenses/LICENSE" in wheel.namelist()


def test_the_changelog_and_the_citation_tell_of_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = next(line for line in changes.splitlines() if line.startswith("## "))
    version, date = first.removeprefix("## ").rstrip(")").split(" (")
    assert version == ifthen.__version__
    assert f"date-released: {date}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{version}}}" in (ROOT / "docs" / "howto.md").read_text(encoding="utf-8")
