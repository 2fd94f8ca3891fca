"""Files on disk: archives that cannot execute anything, and writes that are never half done.

An archive is a zip with `manifest.json` and `.npy` members. Reading never unpickles, allocates only what
the file really holds and at most what the limits below allow.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import io
import json
import math
import os
import re
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]  # checked before use

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import IfthenError, ModelFileError, OutputError

MANIFEST = "manifest.json"
MEMBER_LIMIT = 64
SIZE_LIMIT = 2**30
JSON_LIMIT = 64 * 2**20
MEMORY_LIMIT = 2**29
"""Reading a JSON text uses at most about this many bytes of memory."""
WEIGHTS = {",": 36, "[": 100, "{": 240, '"': 30}
"""The bytes of memory, about, that these characters of JSON stand for: a number, a list, an object, half a
text."""
PIECE = 2**20
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those that unpack by bounded pieces


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes its name only once it is complete and on disk."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise where a file cannot be written, before the work whose results go there; its folder is made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}."):
            pass
    except OSError as problem:
        raise _unwritable(path, problem) from problem


def _unwritable(path: Path, problem: OSError) -> OutputError:
    """Return the error that says why a file cannot be written."""
    return OutputError(
        f"cannot write {path}: {problem.strerror or problem}. "
        "Nothing that was there before has changed; check the folder, its permissions and the disk."
    )


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with atomic_file(path) as file:
        file.write(text.encode())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_text(text: str) -> str:
    """Return the SHA-256 of a text as files hold it."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_text(path: Path, limit: int) -> str:
    """Return the text in a file, or raise OSError or ValueError; never read more bytes than the limit."""
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it is larger than {limit:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None


def text_of_user(path: Path, limit: int, error: type[IfthenError]) -> str:
    """Return the text in a file that people may have written, or raise an error of some class.

    Editors on Windows may put a mark before the first character: it is left out.
    """
    try:
        return read_text(path, limit).removeprefix("\ufeff")
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror or problem}.") from None
    except ValueError as problem:
        raise error(f"cannot read {path}: {problem}.") from None


def write_archive(path: Path, manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an archive; the same contents give the same bytes. What is too large to read is not written."""
    text = json.dumps(manifest, allow_nan=False, indent=1, ensure_ascii=False)
    ordered = {f"{name}.npy": np.asarray(array, order="C") for name, array in arrays.items()}
    data = text.encode()
    _check_limits(path, {MANIFEST: len(data)} | {n: _npy_size(a) for n, a in ordered.items()}, OutputError)
    if problem := _too_heavy(text):
        raise OutputError(f"{path}: {MANIFEST} could not be read back: {problem}.")
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_member(MANIFEST), data)
        for name, array in ordered.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
            archive.writestr(_member(name), buffer.getvalue())


def read_archive(
    path: Path, array_names: Collection[str] | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read an archive's manifest and arrays, or raise ModelFileError saying what is wrong with it.

    Args:
        path: the file.
        array_names: the names that arrays may have; nothing is unpacked of a file with others. None for any.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_members(path, members, array_names)
            with archive.open(MANIFEST) as file:
                manifest = _read_json(path, file.read(JSON_LIMIT))
            arrays = {
                member.filename.removesuffix(".npy"): _read_array(path, archive, member)
                for member in members
                if member.filename != MANIFEST
            }
    except FileNotFoundError:
        trials = sorted(path.parent.glob("trials/*/*/*.zip"))
        advice = f"of a trial, such as {trials[0]}" if trials else "of a model, such as DIR/model.zip"
        raise ModelFileError(f"there is no file {path}. Give the path {advice}.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a folder, not a model file.") from None
    except OSError as problem:
        raise ModelFileError(f"cannot read {path}: {problem.strerror or problem}.") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError) as problem:
        raise ModelFileError(
            f"{path} is not a model, or is damaged or cut short ({problem}). "
            "Models are the .zip files that 'ifthen train' and save() write."
        ) from None
    except Exception as problem:  # zlib.error and what else a hostile file may provoke in the decoder
        raise (
            problem
            if isinstance(problem, ModelFileError)
            else ModelFileError(f"{path} is damaged ({problem}).")
        ) from None
    return manifest, arrays


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member's header with nothing in it that changes from day to day."""
    info = zipfile.ZipInfo(name, FIXED_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _check_members(path: Path, members: list[zipfile.ZipInfo], array_names: Collection[str] | None) -> None:
    """Raise unless the members are the ones an archive of ours may have, each of bounded size."""
    names = [member.filename for member in members]
    if MANIFEST not in names:
        raise ModelFileError(f"{path} is a zip file but not a model: it has no {MANIFEST}.")
    sizes = {member.filename: member.file_size for member in members}
    if len(names) != len(sizes):
        raise ModelFileError(f"{path} is not a model: its members repeat.")
    _check_limits(path, sizes, ModelFileError)
    unexpected = [name for name in names if name != MANIFEST and not _may_be_there(name, array_names)]
    if unexpected:
        raise ModelFileError(f"{path} is not a model: {unexpected[0]!r} does not belong in one.")
    if any(member.compress_type not in COMPRESSION for member in members):
        raise ModelFileError(f"{path} is not a model: its members are not stored or deflated.")


def _check_limits(path: Path, sizes: Mapping[str, int], error: type[IfthenError]) -> None:
    """Raise an error of some class unless members of these sizes, unpacked, can be read."""
    total = sum(sizes.values())
    if len(sizes) > MEMBER_LIMIT:
        raise error(f"{path} would hold {len(sizes):,} members, more than {MEMBER_LIMIT}.")
    if sizes[MANIFEST] > JSON_LIMIT:
        raise error(
            f"{path}: settings and history, in {MANIFEST}, would unpack to {sizes[MANIFEST]:,} bytes; "
            f"at most {JSON_LIMIT:,} are read."
        )
    if total > SIZE_LIMIT:
        raise error(f"{path} would unpack to {total:,} bytes; at most {SIZE_LIMIT:,} are read.")


def _npy_size(array: NDArray[Any]) -> int:
    """Return how many bytes an array takes as a member."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return len(header.getvalue()) + array.nbytes


def _may_be_there(name: str, array_names: Collection[str] | None) -> bool:
    """Return whether a file of this name may be in an archive."""
    return name.endswith(".npy") and (array_names is None or name.removesuffix(".npy") in array_names)


def _read_json(path: Path, data: bytes) -> dict[str, Any]:
    """Return the manifest, or raise if it is not a JSON object of finite numbers."""
    try:
        manifest = parse_json(data.decode())
    except ValueError as problem:
        raise ModelFileError(f"{path}: {MANIFEST} is not valid JSON ({problem}).") from None
    if not isinstance(manifest, dict):
        raise ModelFileError(f"{path}: {MANIFEST} must hold an object.")
    return manifest


def parse_json(text: str) -> Any:
    """Return what a JSON text says, or raise ValueError.

    What could not be written again (NaN, 1e999, half a surrogate pair) is not read, and neither is what would
    take too much memory.
    """
    if problem := _too_heavy(text):
        raise ValueError(problem)
    try:
        data = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if re.search(r"\\u[dD][89a-fA-F]", text):
        for name in _texts(data):
            name.encode()
    return data


def _too_heavy(text: str) -> str | None:
    """Return why reading a JSON text would take too much memory, if it would."""
    weight = sum(size * text.count(mark) for mark, size in WEIGHTS.items())
    if weight <= MEMORY_LIMIT:
        return None
    return f"it would take about {weight >> 20:,} MiB, at most {MEMORY_LIMIT >> 20:,} are used"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not allowed")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:40]} is too large a number")
    return value


def _texts(data: Any) -> Iterator[str]:
    """Yield all texts in plain data."""
    remaining = [data]
    while remaining:
        item = remaining.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            remaining += item
        elif isinstance(item, dict):
            remaining += [*item, *item.values()]


def _read_array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Return an array, or raise if its header promises anything but the plain numbers that follow it.

    Its numbers are in memory once only, and never more of them than the size that was checked.
    """
    name = member.filename
    with archive.open(member) as file:
        try:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("not version 1.0 of the .npy format")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
            size = math.prod(shape) * dtype.itemsize
        except (ValueError, RecursionError, MemoryError, SyntaxError, TypeError) as problem:
            raise ModelFileError(f"{path}: {name} is not an array ({problem}).") from None
        n_bytes = member.file_size - file.tell()
        if dtype.kind not in "biuf" or fortran or size != n_bytes or any(length < 0 for length in shape):
            raise ModelFileError(
                f"{path}: {name} promises {shape} of {dtype}, which its {n_bytes:,} bytes do not hold."
            )
        array = np.empty(shape, dtype)
        byte_view = array.reshape(-1).view(np.uint8) if size else np.empty(0, np.uint8)
        for start in range(0, size, PIECE):
            chunk = file.read(min(PIECE, size - start))
            byte_view[start : start + len(chunk)] = np.frombuffer(chunk, np.uint8)
        file.read(1)  # the end, where the checksum is looked at
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelFileError(f"{path}: {name} holds NaN or infinite numbers.")
    return array


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes from working in a folder, by a lock on it where there are locks.

    The lock is on the folder itself: all of its files can be replaced while it is held.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise OutputError(f"another process is training in {folder}: wait for it, or end it.") from None
    except OSError:
        pass  # of a disk that has no locks
    try:
        yield
    finally:
        os.close(handle)


def remove_half_written(folder: Path, *names: str) -> None:
    """Remove what processes that were killed have left of files; to be called while nobody else writes."""
    for name in names:
        for path in folder.glob(f".{glob.escape(name)}.*"):
            path.unlink(missing_ok=True)


def _umask() -> int:
    """Return the process's file mode mask (which can only be read by setting it)."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make sure a rename in `folder` is on disk, where the system can do that to folders."""
    with contextlib.suppress(OSError):  # the file itself is complete and has its name
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
