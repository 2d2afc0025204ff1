"""What stopwatches count of the time of work."""

from __future__ import annotations

import pytest

from spotbag.core.compiled import _compile
from spotbag.core.limits import Stopwatch


def test_a_watch_leaves_out_what_is_done_while_all_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    # Begun at 10 s, stopped from 13 to 33 s: at 34 s it shows 3 + 1 s.
    now_s = [10.0]
    monkeypatch.setattr("time.perf_counter", lambda: now_s[0])
    watch = Stopwatch()
    now_s[0] = 13.0
    with Stopwatch.stopped():
        now_s[0] = 33.0
    now_s[0] = 34.0
    assert watch.seconds() == pytest.approx(4.0)
    assert Stopwatch().seconds() == pytest.approx(0.0)


def test_a_watch_leaves_out_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    # Compiling for 20 s made the second quantity of a plan search for 10 s more on a fresh machine.
    now_s = [10.0]
    monkeypatch.setattr("time.perf_counter", lambda: now_s[0])

    def compile_for(number: int) -> int:
        now_s[0] += 20.0
        return number

    watch = Stopwatch()
    assert _compile(compile_for, 3) == 3
    assert watch.seconds() == pytest.approx(0.0)
