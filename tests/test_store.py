from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ifthen import store
from ifthen.errors import ModelFileError, OutputError
from ifthen.store import alone, atomic_file, check_writable, read_archive, write_archive, write_text
from tests.archives import MANIFEST, members

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FLOATS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
ARRAYS = hnp.arrays(
    st.sampled_from(["bool", "int16", "int32", "int64", "uint8", "float64"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3), st.lists(ARRAYS, max_size=3))
def test_archives_come_back_as_they_were_written(contents: dict[str, Any], arrays: list[Any]) -> None:
    finite = {f"part/{i}": np.nan_to_num(a) if a.dtype.kind == "f" else a for i, a in enumerate(arrays)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.zip"
        write_archive(path, contents, finite)
        manifest, found = read_archive(path)
    assert manifest == contents
    assert list(found) == list(finite)
    for name, array in finite.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


def test_the_same_contents_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_archive(tmp_path / name, {"n": 1}, {"x": np.arange(5)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "newer" / "note.txt", "äöü")
    assert (tmp_path / "new" / "newer" / "note.txt").read_bytes() == "äöü".encode()


def test_files_have_the_rights_that_the_user_gives_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "note.txt", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "note.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_a_disk_that_fails_leaves_the_old_file_and_no_other(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OutputError, match=r"cannot write .*No space left on device.*has changed"):
            write_text(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["note.txt"]
    assert path.read_text() == "old"


def test_a_write_that_fails_half_way_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old")

    def write_half() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("note.txt", "old")]


def test_numbers_that_json_cannot_hold_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_archive(tmp_path / "a.zip", {"n": float("nan")}, {})
    assert list(tmp_path.iterdir()) == []


def test_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Object arrays"):
        write_archive(tmp_path / "a.zip", {}, {"x": np.array([{}])})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", ["SIZE_LIMIT", "JSON_LIMIT", "MEMBER_LIMIT", "MEMORY_LIMIT"])
def test_what_is_too_large_to_be_read_is_not_written(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, contents, arrays = (
        tmp_path / "a.zip",
        {"name": "ä" * 100},
        {"x": np.arange(5), "y": np.zeros((2, 3))},
    )
    write_archive(path, contents, arrays)
    sizes = {name: len(content) for name, content in members(path).items()}
    most = {
        "SIZE_LIMIT": sum(sizes.values()),
        "JSON_LIMIT": sizes[MANIFEST],
        "MEMBER_LIMIT": 3,
        "MEMORY_LIMIT": 240 + 4 * 30,
    }[limit]
    path.unlink()
    monkeypatch.setattr(store, limit, most)
    write_archive(path, contents, arrays)
    assert read_archive(path)[0] == contents
    monkeypatch.setattr(store, limit, most - 1)
    with pytest.raises(ModelFileError) as reading:
        read_archive(path)
    path.unlink()
    with pytest.raises(OutputError) as writing:
        write_archive(path, contents, arrays)
    assert list(tmp_path.iterdir()) == []
    if limit != "MEMORY_LIMIT":
        assert str(writing.value) == str(reading.value)
        assert f"{most - 1:,}" in str(writing.value)


def test_a_file_in_the_place_of_a_folder_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(OutputError, match="cannot write"):
        write_text(tmp_path / "file" / "note.txt", "x")
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_in_the_place_of_the_file_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "note.txt").mkdir()
    with pytest.raises(OutputError, match="cannot write"):
        write_text(tmp_path / "note.txt", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_one_may_not_write_to_is_an_output_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="Permission denied"):
            write_text(tmp_path / "note.txt", "x")
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_refuses_temporary_files_is_an_output_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    with pytest.raises(OutputError, match="Permission denied"):
        write_text(tmp_path / "note.txt", "x")
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_is_readable_text(tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", {"name": "ä"}, {})
    assert json.loads(members(tmp_path / "a.zip")[MANIFEST].decode()) == {"name": "ä"}


def test_a_lock_outlives_every_file_of_its_folder(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / "plan.json"
    path.write_text("old")
    with alone(tmp_path):
        path.unlink()
        write_text(path, "new")
        with pytest.raises(OutputError, match="another process is training in"), alone(tmp_path):
            pytest.fail("two have the lock")
    with alone(tmp_path):
        pass


def test_a_disk_without_locks_is_used_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with alone(tmp_path):
        pass


def test_what_cannot_be_written_is_found_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("a")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "m.zip", tmp_path / "folder"):
        with pytest.raises(OutputError, match="cannot write"):
            check_writable(path)
    check_writable(tmp_path / "file")
    check_writable(tmp_path / "new" / "m.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "new"]
    assert (tmp_path / "file").read_text() == "a"
    assert not list((tmp_path / "new").iterdir())
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    with pytest.raises(OutputError, match="No space left"):
        check_writable(tmp_path / "m.zip")
