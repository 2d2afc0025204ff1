"""Text files: read with errors for people, written whole or not at all."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest

from spotbag.core import text_files
from spotbag.core.errors import InputError, SpotbagError
from spotbag.core.text_files import is_readable_file, read_text, source_name, write_bytes, write_text


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "größe\n")
    assert path.read_bytes() == "größe\n".encode()
    assert read_text(path) == "größe\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfa")
    assert read_text(path) == "a"


@pytest.mark.parametrize(
    ("data", "said"), [(b"", "is empty"), (b" \n", "is empty"), (b"ab\xff", r"is not UTF-8 text \(byte 2\)")]
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        read_text(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_text(tmp_path / "a.txt")
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_text(tmp_path)
    with pytest.raises(InputError, match="cannot be read: embedded null byte"):
        read_text("a\0b")


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MAX_FILE_BYTES", 3)
    path = tmp_path / "a.txt"
    path.write_text("abc")
    assert read_text(path) == "abc"
    path.write_text("abcd")
    with pytest.raises(InputError, match="is larger than 0 MB"):
        read_text(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device here")
def test_a_device_without_an_end_is_not_read() -> None:
    with pytest.raises(InputError, match=r"is no text file \(byte 0 is zero\)"):
        text_files.read_text("/dev/zero")


def test_a_minus_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"abc")))
    assert read_text("-") == "abc"
    assert (source_name("-"), source_name(Path("a.txt"))) == ("standard input", "a.txt")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="standard input: cannot be read: standard input is closed"):
        read_text("-")


def test_a_file_is_replaced_with_its_rights_and_links_stay_links(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o640)
    assert link.is_symlink()


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_mask_of_new_files_holds_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mask: int, mode: int
) -> None:
    """To read the mask of a process is to set it, for all its threads: nobody may."""
    before = os.umask(mask)
    with monkeypatch.context() as patched:
        patched.setattr(os, "umask", None)
        patched.setattr(os, "fsync", lambda descriptor: modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode)))
        modes: list[int] = []
        try:
            write_text(tmp_path / "a.txt", "new")
        finally:
            patched.undo()
            os.umask(before)
    assert modes[0] == stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_what_replaces_a_file_is_nobody_elses_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, modes = tmp_path / "a.txt", list[int]()
    path.touch()
    path.chmod(0o604)
    monkeypatch.setattr(os, "fsync", lambda descriptor: modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode)))
    write_text(path, "new")
    assert (modes[0], stat.S_IMODE(path.stat().st_mode)) == (0o600, 0o604)


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(SpotbagError, match="the text is not valid Unicode"):
        write_text(path, "\ud800")
    with pytest.raises(SpotbagError, match="the folder does not exist"):
        write_text(tmp_path / "none" / "a.txt", "new")
    with pytest.raises(SpotbagError, match="is a folder, not a file"):
        write_bytes(tmp_path, b"new")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(SpotbagError, match="cannot be written: no space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    assert not is_readable_file(path)
    path.touch()
    assert is_readable_file(path)
    assert not is_readable_file(tmp_path)
    assert not is_readable_file("a\0b")


def test_a_file_is_synced_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, done = tmp_path / "a.txt", []
    replace, sync = os.replace, os.fsync

    def seen_sync(descriptor: int) -> None:
        kind = (
            "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else f"file of {os.fstat(descriptor).st_size} bytes"
        )
        done.append(f"sync {kind}")
        sync(descriptor)

    def seen_replace(source: str, target: Path) -> None:
        done.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", seen_sync)
    monkeypatch.setattr(os, "replace", seen_replace)
    write_text(path, "largo")
    assert done == ["sync file of 5 bytes", "rename", "sync folder"]
    assert path.read_text() == "largo"


def test_a_folder_that_cannot_be_synced_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def refuse_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    write_text(tmp_path / "a.txt", "a")
    assert os.listdir(tmp_path) == ["a.txt"]
