"""Work in threads and processes that ends when its limit is over."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from spotbag.core.limits import LimitReached, checkpoint, current_limit, stopped, within
from spotbag.core.processes import Processes, interruptible, run_compiled, run_in_thread
from spotbag.core.wording import PrintableStream
from spotbag.core.workers import by_workers, each
from tests.helpers.stops import StopAt
from tests.helpers.worker_tasks import interrupt_handler, say_raw, slowly, twice


def test_a_solver_that_has_not_begun_when_it_is_stopped_is_stopped_again() -> None:
    ended = threading.Event()
    stops: list[str] = []

    def end() -> None:
        stops.append("stop")
        if len(stops) > 1:
            ended.set()

    with within(0.0):
        run_in_thread(lambda: assert_(ended.wait(20)), end)
    assert len(stops) >= 2


def test_compiled_work_without_a_limit_gives_signs_of_life() -> None:
    lives: list[int] = []
    with within(on_life=lambda: lives.append(1)):
        assert run_compiled(lambda: time.sleep(0.2) or 7, np.zeros(1, dtype=np.int64)) == 7
    assert lives


def assert_(condition: bool) -> None:
    assert condition


def test_an_exception_in_a_callback_ends_the_work_and_is_raised_in_the_thread_of_the_call() -> None:
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def fail() -> None:
        threads.append(threading.current_thread())
        raise RuntimeError("of the callback")

    for kind in ("watch", "on_life"):
        ended.clear()
        with pytest.raises(RuntimeError, match="of the callback"), within(on_life=fail if kind == "on_life" else None):
            run_in_thread(lambda: assert_(ended.wait(20)), ended.set, fail if kind == "watch" else None)
        assert ended.is_set()
    assert set(threads) == {threading.current_thread()}
    assert current_limit().on_life is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_request_to_stop_and_a_second_one_does_not_wait(number: signal.Signals) -> None:
    before = signal.signal(number, signal.default_int_handler)
    try:
        with interruptible():
            assert not stopped()
            os.kill(os.getpid(), number)
            assert stopped()
            with pytest.raises(LimitReached):
                checkpoint()
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
        assert signal.getsignal(number) is signal.default_int_handler
        assert not stopped()
    finally:
        signal.signal(number, before)


def test_signals_that_a_program_handles_itself_are_left_to_it() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGTERM)
            assert not stopped()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_processes_end_when_they_are_asked_to_stop() -> None:
    done: list[int] = []
    with within(stop=StopAt(4)), suppress(LimitReached):
        for number in by_workers(slowly, range(10_000), workers=2):
            done.append(number)
    assert done == list(range(len(done)))
    assert len(done) < 10_000
    assert list(each(twice, range(5), workers=2)) == [0, 2, 4, 6, 8]
    assert sorted(by_workers(twice, range(5), workers=2, in_order=False)) == [0, 2, 4, 6, 8]


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_no_thread_hands_work_over_when_its_processes_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ended then, while the thread removed a semaphore, was told of one that was left behind."""
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.backend.queues import Queue

    feed = Queue._feed
    ended = threading.Event()

    def ends_late(*given: Any) -> None:
        feed(*given)
        time.sleep(0.5)
        ended.set()

    monkeypatch.setattr(Queue, "_feed", staticmethod(ends_late))
    get_reusable_executor().shutdown(wait=True, kill_workers=True)  # what other tests have left has its thread
    pool = Processes(twice, 2)
    job = pool.submit(1)
    while not pool.wait([job]):
        pass
    pool.end()
    assert ended.is_set()


@pytest.mark.xdist_group("processes")
@pytest.mark.parametrize(
    "warning",
    [
        "Failed to kill subprocesses on this platform. Please install psutil",
        "A worker stopped while some jobs were given to the executor. This can be caused by a too short timeout",
    ],
)
def test_a_warning_of_the_executor_does_not_end_its_thread_where_warnings_are_errors(warning: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(by_workers(twice, range(2), workers=2)) == [0, 2]
        warnings.warn(warning, UserWarning, stacklevel=1)


@pytest.mark.xdist_group("processes")
@pytest.mark.slow
def test_workers_of_a_command_print_what_commands_a_terminal_as_escapes(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", PrintableStream(sys.stderr))
    assert list(each(say_raw, range(2), workers=2)) == [0, 1]
    said = capfd.readouterr().err
    for text in ("printed \\u001b]0;all is well\\u0007", "written \\u009b31m", "warned \\u202e"):
        assert text in said
    assert not re.search("[\x07\x1b\u009b\u202e]", said)


def test_workers_leave_interrupts_to_their_parent() -> None:
    assert set(each(interrupt_handler, range(4), workers=2)) == {signal.SIG_IGN}


def test_limits_nest() -> None:
    with within(1000.0) as outer, within(5000.0) as inner:
        assert inner.deadline == outer.deadline
        with within(stop=StopAt(1)):
            assert stopped()
        assert not stopped()
    assert current_limit().deadline == float("inf")


def _interrupted_work(interrupt: Callable[[], object], ends: list[str]) -> None:
    """Work amid which a signal comes; it says how it has ended."""
    with interruptible() as limit, suppress(LimitReached), within(60):
        interrupt()
        while True:
            time.sleep(0.001)
            checkpoint()
    ends.append("stopped" if limit.stopped() else "time")


def _ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_under_asyncio_ends_work_in_a_thread_and_cancels_its_task() -> None:
    ends: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(_interrupted_work, lambda: loop.call_soon_threadsafe(_ctrl_c), ends)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert ends == ["stopped"]


def test_ctrl_c_under_asyncio_ends_work_in_the_main_thread_and_then_cancels_its_task() -> None:
    ends: list[str] = []

    async def main() -> None:
        _interrupted_work(_ctrl_c, ends)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(60)
        ends.append(await asyncio.to_thread(lambda: "tidied up"))

    asyncio.run(main())
    assert ends == ["stopped", "tidied up"]


def test_ctrl_c_under_asyncio_before_the_work_does_not_end_it() -> None:
    async def main() -> None:
        _ctrl_c()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(60)
        with interruptible() as limit:
            assert not limit.stopped()

    asyncio.run(main())
