"""Work in a thread that Ctrl-C ends."""

from __future__ import annotations

import threading

import pytest

from spotbag.core.processes import run_interruptibly


def test_a_solver_that_has_not_begun_when_it_is_stopped_is_stopped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, interrupts = threading.Event(), [KeyboardInterrupt]
    stops: list[str] = []

    def work() -> None:
        stopped.wait(20)  # not for ever, if nothing stops it

    def stop() -> None:
        stops.append("stop")
        if len(stops) > 1:
            stopped.set()

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if timeout is not None and interrupts:
                raise interrupts.pop()
            return super().wait(timeout)

    monkeypatch.setattr(threading, "Event", Interrupted)
    assert run_interruptibly(work, stop)
    assert stopped.is_set()
