"""Replays that are asked to stop hand back the runs so far; what a callback raises ends them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from spotbag.core.limits import LimitReached, within
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.library import library_instance
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.bags.runs import replay_day, replay_days
from spotbag.replay.engines import Runs
from spotbag.replay.platforms.runs import bounds_of_runs, replay_platform
from spotbag.replay.streams.runs import replay_stream
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.platforms.bound import frontier
from tests.helpers.stops import StopAt

N_RUNS = 9
JOBS = JobSet("small", 5)


def days(on_run: Callable[[int], None] | None = None, **how: Any) -> Runs[Any]:
    """Days of a plan."""
    schedule = solve(library_instance("burst-hads/J60"), "lpt").schedule
    assert schedule is not None
    scenario = find_scenario("burst-hads/sc4")
    return replay_days(schedule, ["hads", "burst-hads"], scenario, N_RUNS, on_day=on_run, **how)


def streams(on_run: Callable[[int], None] | None = None, **how: Any) -> Runs[Any]:
    """Runs of a stream."""
    return replay_stream(library_stream("tiny/two-jobs"), ["known", "unknown"], N_RUNS, on_run=on_run, **how)


def platforms(on_run: Callable[[int], None] | None = None, **how: Any) -> Runs[Any]:
    """Runs of a platform."""
    policies = ["money-saving", "round-robin"]
    return replay_platform(library_platform("caron/hybrid"), policies, N_RUNS, job_set=JOBS, on_run=on_run, **how)


@pytest.fixture(params=[days, streams, platforms])
def replay(request: pytest.FixtureRequest) -> Callable[..., Runs[Any]]:
    """A replay of each system."""
    made: Callable[..., Runs[Any]] = request.param
    return made


def test_a_stopped_replay_has_all_runs_that_were_reported(replay: Callable[..., Runs[Any]]) -> None:
    stop, reported = threading.Event(), []

    def report(done: int) -> None:
        reported.append(done)
        if len(reported) == 4:
            stop.set()

    whole, cut = replay(), replay(report, stop=stop)
    assert (whole.n_runs, whole.interrupted) == (N_RUNS, False)
    assert (cut.n_runs, cut.interrupted) == (4, True)
    assert sum(reported) == cut.n_runs
    assert cut.outcomes == tuple(outcomes[:4] for outcomes in whole.outcomes)
    assert [summary.policy for summary in cut.summaries()] == list(cut.policies)  # type: ignore[attr-defined]


def test_a_replay_that_is_stopped_after_its_last_run_is_whole(replay: Callable[..., Runs[Any]]) -> None:
    stop, reported = threading.Event(), []

    def report(done: int) -> None:
        reported.append(done)
        if len(reported) == N_RUNS:
            stop.set()

    assert replay(report, stop=stop).interrupted is False


@pytest.mark.xdist_group("processes")
def test_a_replay_that_is_stopped_at_once_has_no_runs(replay: Callable[..., Runs[Any]]) -> None:
    stop = threading.Event()
    stop.set()
    found = replay(stop=stop, workers=2)
    assert (found.n_runs, found.interrupted) == (0, True)
    assert found.outcomes == ((), ())
    assert found.summaries() == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_exception_in_a_callback_is_raised_and_a_second_call_works(
    replay: Callable[..., Runs[Any]], workers: int
) -> None:
    def fail(done: int) -> None:
        raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        replay(fail, workers=workers)
    assert replay(workers=workers).outcomes == replay().outcomes


def test_a_replay_looks_at_its_stop_between_events() -> None:
    schedule = solve(library_instance("burst-hads/ED200"), "lpt").schedule
    assert schedule is not None
    stop = StopAt(1)
    with within(stop=stop), pytest.raises(LimitReached):
        replay_day(schedule)
    assert stop.asked == 1


def test_bounds_of_runs_are_those_that_were_not_cut_short() -> None:
    platform, stop = library_platform("caron/hybrid"), threading.Event()
    runs = replay_platform(platform, ["money-saving", "round-robin"], 4, job_set=JOBS)
    reported = []

    def report(done: int) -> None:
        reported.append(done)
        if len(reported) == 2:
            stop.set()

    whole = bounds_of_runs(platform, runs, job_set=JOBS)
    cut = bounds_of_runs(platform, runs, job_set=JOBS, on_run=report, stop=stop)
    assert cut == tuple(bounds[:2] for bounds in whole)
    stop.set()
    assert bounds_of_runs(platform, runs, job_set=JOBS, stop=stop) == ((), ())


def test_a_stopped_frontier_is_below_the_whole() -> None:
    platform = library_platform("tiny/hybrid")
    stop = threading.Event()
    stop.set()
    whole, cut = frontier(platform, points=4), frontier(platform, points=4, stop=stop)
    assert [cap for cap, _ in cut] == sorted(cap for cap, _ in cut)
    for cap, bound in cut:
        assert bound <= min((value for limit, value in whole if limit <= cap), default=float("inf"))
