"""A signal at the very end of long work is not lost: the answer tells of it, or it is a KeyboardInterrupt."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from spotbag.core import processes
from spotbag.core.limits import within
from spotbag.core.processes import Signalled, interruptible
from spotbag.experiments.bags.plan_choice import choose_plan
from spotbag.experiments.bags.run import run_experiment
from spotbag.experiments.bags.specification import Specification
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.library import library_instance
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.bags.runs import replay_days
from spotbag.replay.platforms.runs import PlatformRuns, bounds_of_runs, replay_platform
from spotbag.replay.streams.runs import replay_stream
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags import solve as solving
from spotbag.solvers.bags.pareto import pareto_front
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.bags.warm_up import warm_up
from spotbag.solvers.platforms.bound import frontier, platform_bound
from spotbag_papers.streams.least_makespan import least_makespan_within

BAG = library_instance("tiny/boot")
SCENARIO = find_scenario("hads/sc4")
PLATFORM = library_platform("tiny/hybrid")


@functools.cache
def plan() -> Schedule:
    """A plan of the bag."""
    found = solve(BAG, "greedy", survive="none").schedule
    assert found is not None
    return found


@functools.cache
def state() -> State:
    """The bag ten seconds after its beginning."""
    return State.planned(plan(), 10)


@functools.cache
def runs() -> PlatformRuns:
    """A run of the platform."""
    return replay_platform(PLATFORM, ["round-robin"], 1)


TELLING: dict[str, Callable[[], Any]] = {
    "solve": lambda: solve(BAG, "greedy"),
    "replan": lambda: replan(BAG, state(), survive="none"),
    "replan with more time": lambda: replan(BAG, state(), time_limit_s=0.5, method="search", survive="none"),
    "pareto_front": lambda: pareto_front(BAG),
    "choose_plan": lambda: choose_plan(BAG, SCENARIO, "on-time", 1, method="greedy").result,
    "replay_days": lambda: replay_days(plan(), ["hads"], SCENARIO, 1),
    "replay_stream": lambda: replay_stream(library_stream("tiny/two-jobs"), ["known"], 1),
    "replay_platform": lambda: replay_platform(PLATFORM, ["round-robin"], 1),
    "run_experiment": lambda: run_experiment(Specification(instances=["tiny/boot"], methods=["lpt"]), None),
}
SILENT: dict[str, Callable[[], Any]] = {
    "warm_up": lambda: warm_up(["lpt"]),
    "platform_bound": lambda: platform_bound(PLATFORM, "cost"),
    "frontier": lambda: frontier(PLATFORM, points=2),
    "bounds_of_runs": lambda: bounds_of_runs(PLATFORM, runs()),
    "least_makespan_within": lambda: least_makespan_within([10, 20], 60, 5, 1),
}


@pytest.fixture
def at_the_end(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have a signal come at the last moment in which long work answers it: just before it is handled as before.

    Its handler runs when the interpreter looks at signals, which is before Python's own function returns.
    """
    state(), runs()  # what others need first is not interrupted
    sent: list[int] = []
    real = signal.signal

    def restore(number: int, handler: Any) -> Any:
        if number == signal.SIGINT and handler is signal.default_int_handler:
            sent.append(number)
            signal.raise_signal(signal.SIGINT)
        return real(number, handler)

    monkeypatch.setattr(processes.signal, "signal", restore)
    return sent


@pytest.mark.parametrize("name", TELLING)
def test_a_signal_at_the_end_of_work_is_told(name: str, at_the_end: list[int]) -> None:
    assert TELLING[name]().interrupted
    assert at_the_end


@pytest.mark.parametrize("name", SILENT)
def test_a_signal_that_an_answer_has_no_word_for_is_raised(name: str, at_the_end: list[int]) -> None:
    with pytest.raises(KeyboardInterrupt):
        SILENT[name]()
    assert at_the_end


def test_a_signal_while_it_is_looked_at_what_a_plan_survives_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = solving._survival

    def survival(*given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return real(*given)

    monkeypatch.setattr(solving, "_survival", survival)
    assert solve(library_instance("hads/J60"), "greedy", survive="one-type").interrupted


def test_what_swallows_an_interrupt_does_not_make_a_command_go_on() -> None:
    usual = signal.default_int_handler
    with processes.signals_to(processes.interrupt, lambda handler: handler is usual), within(stop=Signalled()):
        with suppress(KeyboardInterrupt):  # as an import or a destructor may
            signal.raise_signal(signal.SIGINT)
        assert pareto_front(BAG).interrupted


def test_a_signal_amid_a_picture_ends_the_picture_alone() -> None:
    with interruptible() as limit:
        with pytest.raises(KeyboardInterrupt), processes.ended_at_once():
            signal.raise_signal(signal.SIGINT)
        assert limit.stopped()  # and the answer, which follows, is told to be cut short
