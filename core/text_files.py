"""Reading and writing whole text files: clear errors, never half a file."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tomllib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO

from .errors import SpotbagError, input_error

MAX_FILE_BYTES = 1_000_000_000
_FIRST_BYTES = 4_096
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that has been read, in the place of its path."""

    path: str
    text: str

    def __fspath__(self) -> str:
        return self.path


def read_once(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Read standard input or a pipe, which can be read only once, for several to look at; other paths stay as they are.

    Raises
    ------
    InputError
        See `read_text`.
    """
    text = os.fspath(path)
    again = os.path.isfile(text) or os.path.isdir(text) or not os.path.exists(text)
    if isinstance(path, ReadFile) or (again and text != STANDARD_INPUT):
        return path
    return ReadFile(text, read_text(path))


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a UTF-8 text file, or standard input for ``-``.

    Raises
    ------
    InputError
        If the file is missing, a folder, unreadable, too large or not UTF-8 text.
    """
    if isinstance(path, ReadFile):
        return path.text
    source = source_name(path)
    with readable(source):
        if os.fspath(path) == STANDARD_INPUT:
            if sys.stdin is None:
                raise ValueError("standard input is closed")
            data = _read_bytes(sys.stdin.buffer, source)
        else:
            with open(path, "rb") as file:
                data = _read_bytes(file, source)
    if len(data) > MAX_FILE_BYTES:
        raise input_error(source, f"is larger than {MAX_FILE_BYTES // 10**6} MB")
    # Every reader would say something else of an empty file, so it is refused here.
    if not data.strip():
        raise input_error(source, "is empty")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise input_error(source, f"is not UTF-8 text (byte {error.start})") from None


@contextlib.contextmanager
def readable(source: str) -> Iterator[None]:
    """Turn the errors of reading a file into bad input, in the words that all readers have for it."""
    try:
        yield
    except FileNotFoundError:
        raise input_error(source, "no such file") from None
    except IsADirectoryError:
        raise input_error(source, "is a folder, not a file") from None
    except PermissionError:
        raise input_error(source, "cannot be read: permission denied") from None
    except (OSError, ValueError) as error:
        raise input_error(source, f"cannot be read: {_reason(error)}") from None


def _read_bytes(file: BinaryIO, source: str) -> bytes:
    """Read the bytes of a file up to the limit; refuse a device without an end at its first bytes."""
    first = file.peek(1) if isinstance(file, io.BufferedReader) else b""
    if len(first) >= _FIRST_BYTES and b"\0" in first:
        raise input_error(source, f"is no text file (byte {first.index(0)} is zero)")
    # One byte beyond the limit tells that there are more, without reading them.
    return file.read(MAX_FILE_BYTES + 1)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file at once: to a temporary file beside it, then rename.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise SpotbagError(f"{path}: cannot be written: the text is not valid Unicode") from None
    write_bytes(path, data)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file at once: to a temporary file beside it, then rename.

    Special files (``/dev/stdout``, a pipe) are written to as they are.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)
            return
        if target.is_dir():
            raise IsADirectoryError(0, "is a folder, not a file")
        target = target.resolve()  # a link stays a link to the file that is replaced
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        temporary = part_of(target)
        # A new file has the rights that the system gives to new files here; one that replaces another is nobody
        # else's until it is whole.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)  # or a power failure may leave an empty file behind the new name
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
        temporary = None
        _sync_folder(target.parent)
    except (OSError, ValueError, RuntimeError) as error:
        raise SpotbagError(f"{path}: cannot be written: {_reason(error)}") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def part_of(target: Path) -> Path:
    """Return a path beside a file or folder, where nothing is, for what is to get its name when it is whole."""
    # Cut: a name may be as long as the file system allows, and this one is longer.
    return target.with_name(f".{target.name[:40]}.{uuid.uuid4().hex}.part")


def _sync_folder(folder: Path) -> None:
    """Have a new name of a folder last through a power failure, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_readable_file(path: str | os.PathLike[str]) -> bool:
    """True if a path leads to a file or a pipe that can be read; never raises."""
    try:
        return Path(path).exists() and not Path(path).is_dir()
    except (OSError, ValueError):
        return False


def source_name(path: str | os.PathLike[str]) -> str:
    """Name of an input in messages."""
    text = os.fspath(path)
    return "standard input" if text == STANDARD_INPUT else text


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "the folder does not exist"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)


def packaged_toml(package: str | None, name: str) -> dict[str, Any]:
    """Return the values of a TOML file in a package."""
    return tomllib.loads(resources.files(package or "").joinpath(name).read_text(encoding="utf-8"))
