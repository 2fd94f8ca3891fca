"""Take archives apart and put hostile ones together, with nothing of ifthen in between."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MANIFEST = "manifest.json"


def npy(array: NDArray[Any], allow_pickle: bool = False) -> bytes:
    """Return an array as the bytes of a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def npy_promising(header: str, content: bytes = b"") -> bytes:
    """Return a .npy file (version 1.0) with any header."""
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def members(path: Path) -> dict[str, bytes]:
    """Return the members of a zip file by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, contents: Mapping[str, bytes | str], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write a zip file with the given members."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def manifest(contents: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the manifest among the members of an archive."""
    result: dict[str, Any] = json.loads(contents[MANIFEST])
    return result


def with_manifest(path: Path, folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """Write an archive again, to `folder`, with its manifest changed."""
    contents = members(path)
    about = manifest(contents)
    change(about)
    return write(folder / "changed.zip", {**contents, MANIFEST: json.dumps(about)})


def with_array(path: Path, folder: Path, name: str, change: Callable[[Any], Any]) -> Path:
    """Write an archive again, to `folder`, with one of its arrays changed."""
    contents = members(path)
    array = np.load(io.BytesIO(contents[f"{name}.npy"]))
    contents[f"{name}.npy"] = npy(np.asarray(change(array)))
    return write(folder / "changed.zip", contents)


def poke(array: Any, value: Any, at: int = 0) -> Any:
    """Return the array with one number replaced, the first if not said otherwise."""
    array.flat[at] = value
    return array
