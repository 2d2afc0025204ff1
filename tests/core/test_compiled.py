"""Compiled functions whose files cannot be read or written are compiled without them, and the answers are the same."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from spotbag.core import processes
from spotbag.core.compiled import is_ready
from spotbag.core.limits import LimitReached, within
from tests.helpers.stops import StopAt

_MODULE = """
from spotbag.core.compiled import compiled

@compiled
def twice(number):
    return 2 * number
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[], Any]:
    """Load a module with a compiled function anew, as another process does."""
    path = tmp_path / "doubling.py"
    path.write_text(_MODULE)

    def load() -> Any:
        spec = importlib.util.spec_from_file_location("doubling", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice  # type: ignore[attr-defined]

    return load


def cached(folder: Path) -> list[Path]:
    """Files of the cache."""
    return sorted((folder / "__pycache__").glob("*.nb?"))


def test_what_was_compiled_is_found(load: Callable[[], Any], tmp_path: Path) -> None:
    assert load()(21) == 42
    again = load()
    assert is_ready(again)
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1
    assert [path.suffix for path in cached(tmp_path)] == [".nbc", ".nbi"]


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("kept", [0, 0.5])
def test_a_truncated_cache_is_made_anew(load: Callable[[], Any], tmp_path: Path, ending: str, kept: float) -> None:
    assert load()(21) == 42
    [file] = [path for path in cached(tmp_path) if path.suffix == ending]
    whole = file.read_bytes()
    file.write_bytes(whole[: int(kept * len(whole))])
    damaged = load()
    assert is_ready(damaged) is (ending == ".nbc")
    assert damaged(21) == 42
    mended = load()
    assert mended(21) == 42
    assert sum(mended.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("name", ["_save_index", "_save_data"])
def test_a_full_disk_does_without_a_cache(
    load: Callable[[], Any], tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, name, fail)
    assert load()(21) == 42
    assert cached(tmp_path) == []  # an index would name data that is not there, or that of an older version


def test_who_stops_work_does_not_wait_until_it_is_compiled(
    load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = load()
    begun, ended = processes.threading.Event(), processes.threading.Event()
    compile_all = twice.compile

    def compile_slowly(signature: Any) -> Any:
        begun.set()
        assert ended.wait(60)
        return compile_all(signature)

    monkeypatch.setattr(twice, "compile", compile_slowly)
    with within(stop=StopAt(2)), pytest.raises(LimitReached):
        twice(21)
    assert begun.is_set()
    assert processes.left_behind() == {processes.COMPILING}
    ended.set()
    processes.wait_for_left_behind()
    assert twice(21) == 42
