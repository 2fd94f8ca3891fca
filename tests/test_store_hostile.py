from __future__ import annotations

import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from ifthen import store
from ifthen.errors import ModelFileError
from ifthen.store import read_archive, write_archive
from tests.archives import MANIFEST, npy, npy_promising, write


class Bomb:
    """Creates a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def refused(path: Path, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        read_archive(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "none.zip", "there is no file .*none.zip")


def test_a_folder_is_no_archive(tmp_path: Path) -> None:
    refused(tmp_path, "is a folder")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"PK\x05\x06" + b"\xff" * 18])
def test_a_file_that_is_no_zip_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    refused(tmp_path / "a.zip", "not a model, or is damaged|damaged|no manifest")


def test_an_archive_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    write_archive(tmp_path / "whole.zip", {"n": 1}, {"x": np.arange(100)})
    whole = (tmp_path / "whole.zip").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "cut.zip").write_bytes(whole[:length])
        refused(tmp_path / "cut.zip", "cut.zip")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({}, "no manifest.json"),
        ({"x.npy": npy(np.zeros(3))}, "no manifest.json"),
        ({MANIFEST: "{}", "readme.txt": "x"}, "'readme.txt' does not belong"),
        ({MANIFEST: "{}", "../../evil.sh": "x"}, "'../../evil.sh' does not belong"),
        ({MANIFEST: "{}", "/etc/evil": "x"}, "does not belong"),
        ({MANIFEST: "{}", "x.pkl": pickle.dumps(1)}, "does not belong"),
        ({MANIFEST: "{}", **{f"{i}.npy": npy(np.zeros(1)) for i in range(70)}}, "more than 64"),
        ({MANIFEST: ""}, "not valid JSON"),
        ({MANIFEST: "[1]"}, "must hold an object"),
        ({MANIFEST: "null"}, "must hold an object"),
        ({MANIFEST: '{"a": NaN}'}, "NaN is not allowed"),
        ({MANIFEST: '{"a": -Infinity}'}, "-Infinity is not allowed"),
        ({MANIFEST: '{"a": 1e999}'}, "not valid JSON"),
        ({MANIFEST: '{"a": "\\ud800"}'}, "not valid JSON"),
        ({MANIFEST: b'{"a": "\xff"}'}, "not valid JSON"),
        ({MANIFEST: '{"a": ' + "[" * 200_000}, "not valid JSON"),
        ({MANIFEST: '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}"}, "not valid JSON"),
        ({MANIFEST: '{"a": ' + "9" * 5000 + "}"}, "not valid JSON"),
        ({MANIFEST: "{}", "x.npy": b""}, "x.npy is not an array"),
        ({MANIFEST: "{}", "x.npy": b"\x93NUMPY\x01\x00\xff\xff{"}, "x.npy is not an array"),
        ({MANIFEST: "{}", "x.npy": npy(np.zeros(3)) + b"more"}, "do not hold"),
        ({MANIFEST: "{}", "x.npy": npy(np.zeros(3))[:-1]}, "do not hold"),
        ({MANIFEST: "{}", "x.npy": npy(np.asfortranarray(np.zeros((2, 3))))}, "do not hold"),
        ({MANIFEST: "{}", "x.npy": npy(np.zeros(3, dtype=complex))}, "promises"),
        ({MANIFEST: "{}", "x.npy": npy(np.zeros(3, dtype="i4,f8"))}, "promises"),
        ({MANIFEST: "{}", "x.npy": npy(np.array(["text"]))}, "promises"),
        ({MANIFEST: "{}", "x.npy": npy(np.array([1.0, np.nan]))}, "NaN or infinite"),
        ({MANIFEST: "{}", "x.npy": npy(np.array([np.inf]))}, "NaN or infinite"),
    ],
)
def test_archives_with_anything_odd_inside_are_refused(
    contents: dict[str, bytes | str], message: str, tmp_path: Path
) -> None:
    refused(write(tmp_path / "a.zip", contents), message)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
        "__import__('os').mkdir('evil')",
        "(" * 90,
        "",
    ],
)
def test_arrays_that_promise_what_they_do_not_hold_are_refused(header: str, tmp_path: Path) -> None:
    content = npy_promising(header, b"\x00" * 8)
    refused(write(tmp_path / "a.zip", {MANIFEST: "{}", "x.npy": content}), "x.npy|damaged")


def test_a_later_version_of_the_array_format_is_refused(tmp_path: Path) -> None:
    content = bytearray(npy(np.zeros(3)))
    content[6] = 2
    refused(write(tmp_path / "a.zip", {MANIFEST: "{}", "x.npy": bytes(content)}), "version 1.0")


def test_nothing_in_an_archive_is_ever_unpickled(tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    pickled = npy(np.array([Bomb(evil)], dtype=object), allow_pickle=True)
    refused(write(tmp_path / "a.zip", {MANIFEST: "{}", "x.npy": pickled}), "promises")
    refused(write(tmp_path / "b.zip", {MANIFEST: "{}", "x.npy": pickle.dumps(Bomb(evil))}), "not an array")
    assert not evil.exists()
    pickle.loads(pickle.dumps(Bomb(evil)))
    assert evil.exists()  # or the bomb was a dud and this test proved nothing


def test_a_member_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(MANIFEST, "{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(MANIFEST, '{"other": 1}')
    refused(tmp_path / "a.zip", "repeat")


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_unpacks_without_bound_is_refused(compression: int, tmp_path: Path) -> None:
    refused(write(tmp_path / "a.zip", {MANIFEST: "{}"}, compression), "not stored or deflated")


def test_stored_members_are_as_good_as_deflated_ones(tmp_path: Path) -> None:
    contents = {MANIFEST: b"{}", "x.npy": npy(np.arange(3))}
    _, arrays = read_archive(write(tmp_path / "a.zip", contents, zipfile.ZIP_STORED))
    assert arrays["x"].tolist() == [0, 1, 2]


def test_members_of_more_than_the_size_limit_are_not_unpacked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", {MANIFEST: "{}", "x.npy": b"\x00" * 10_000})
    with mock.patch.object(store, "SIZE_LIMIT", 9_999):
        refused(path, r"would unpack to 10,002 bytes; at most 9,999")
    with mock.patch.object(store, "JSON_LIMIT", 1):
        refused(path, "would unpack")


def test_a_member_that_unpacks_to_more_than_it_declares_takes_no_more_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", {MANIFEST: "{}", "x.npy": b"\x00" * 100_000_000})
    content = path.read_bytes()
    true, false = (size.to_bytes(4, "little") for size in (100_000_000, 128))
    assert content.count(true) == 2  # in the member's own header and in the directory
    path.write_bytes(content.replace(true, false))
    tracemalloc.start()
    try:
        refused(path, "a.zip")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", {MANIFEST: "{}"})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(content))
    refused(path, "encrypted")
