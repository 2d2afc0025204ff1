"""Limits by iterations: the same call makes the same plan, whatever the clock of the machine says."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

import spotbag
from spotbag import InputError, Instance, Result, Schedule, State
from spotbag.core.errors import ModelRefusal
from spotbag.core.limits import (
    ITERATIONS,
    LimitReached,
    Stopwatch,
    checkpoint,
    clock_s,
    count_work,
    out_of_time,
    own_work,
    seconds_left,
    within,
    work_clock,
)
from spotbag.instances.library import library_instance
from spotbag.schedules.method import Outcome, Run
from spotbag.schedules.schedule_files import format_schedule
from spotbag.solvers.bags.methods import METHODS
from tests.helpers.fake_time import Clock
from tests.helpers.soaks import some

BAGS = ("burst-hads/J60", "hads/J100", "memory-bound/60", "memory-bound/60-of-8", "distinct/200", "bursting/60")
BAGS += ("memory/m30", "memory/two-sizes", "tiny/credits", "tiny/checkpoints")


class _Wild(Clock):
    """A clock of which nobody knows how far it has gone at the next look: on a machine that others use as well."""

    def __init__(self, seed: int) -> None:
        super().__init__(0.0)
        self._random = random.Random(seed)

    def __call__(self) -> float:
        self.look_s = self._random.choice([0.0, 1e-6, 1e-3, 0.5])
        return super().__call__()


def document_of(result: Result) -> tuple[Any, ...]:
    """Return all of a result but the times that it took."""
    told = result.to_dict()
    told["steps"] = [{key: step[key] for key in step if key not in ("began_s", "took_s")} for step in told["steps"]]
    plan = result.schedule
    return {**told, "runtime_s": 0}, None if plan is None else format_schedule(plan, result.method, result.survival)


def documents(ask: Callable[[], Result], times: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what the same call comes to, each time on a machine of another speed."""
    found = []
    for seed in range(times):
        monkeypatch.setattr("time.perf_counter", _Wild(seed))
        found.append(document_of(ask()))
    return found


def half_done(plan: Schedule) -> State:
    """Return the state at which two fifths of the time of a plan are over, and its first VM is lost."""
    bag, now_s = plan.instance, 2 * plan.makespan_s // 5
    rows = list(zip(bag.task_ids, plan.task_vm, plan.task_core, plan.task_start_s, plan.task_end_s, strict=True))
    vms = []
    for vm, (name, offer, end_s) in enumerate(zip(plan.vm_ids, plan.vm_offer, plan.vm_end_s, strict=True)):
        if vm and end_s > now_s:
            kind = bag.offers[offer]
            running = tuple(
                spotbag.TaskOnVm(task=task, core=int(core), start_s=float(start_s))
                for task, on, core, start_s, task_end_s in rows
                if on == vm and start_s <= now_s < task_end_s
            )
            ready_s = float(plan.vm_ready_s[vm])
            types = {"type": kind.vm_type.name, "market": kind.market}
            vms.append(spotbag.VmState(id=name, status="running", ready_s=ready_s, running=running, **types))
    done = tuple(task for task, _, _, _, end_s in rows if end_s <= now_s)
    return State(instance=bag.name, time_s=float(now_s), done=done, vms=tuple(vms), gone=(plan.vm_ids[0],))


def test_the_clock_of_work_goes_on_by_what_is_counted_alone() -> None:
    with work_clock() as work:
        watch = Stopwatch()
        assert (clock_s(), seconds_left()) == (0.0, None)
        count_work(2 * ITERATIONS.second)
        assert clock_s() == watch.seconds() == 2.0
        with Stopwatch.stopped():  # while loops are compiled, no work is done
            assert watch.seconds() == 2.0
        with within(1.0), within(0.5, begin=2.0):
            assert seconds_left() == 0.5
            count_work(0.4 * ITERATIONS.second)
            assert not out_of_time()
            with suppress(LimitReached):
                while True:
                    checkpoint()
            assert out_of_time()
        assert work.iterations == pytest.approx(2.5 * ITERATIONS.second, rel=1e-5)
    assert clock_s() != 2.5


def test_works_side_by_side_take_as_long_as_the_longer() -> None:
    with work_clock() as work:
        count_work(100)
        for iterations in (50, 30):
            with own_work():
                count_work(iterations)
        assert work.iterations == 150 + 30  # one after the other: the second begins where the first has ended
    with own_work():
        count_work(1)  # without the clock, nothing is counted


@pytest.mark.parametrize("method", METHODS)
def test_a_method_makes_the_same_plan_on_a_machine_of_another_speed(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bags = {"interval": "tiny/credits", "time-indexed": "tiny/boot"}
    bag = library_instance(bags.get(method, "tiny/checkpoints"))
    ask = partial(spotbag.solve, bag, method, iterations=20_000, seed=1)
    first, second = documents(ask, 2, monkeypatch)
    assert first == second
    assert first[0]["stats"]["counted_iterations"] > 0


@pytest.mark.parametrize("goal", some(["balanced", "fastest"], fast=1))
def test_auto_makes_the_same_plan_where_it_is_cut_short(goal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = partial(spotbag.solve, library_instance("burst-hads/J60"), iterations=30_000, seed=1, goal=goal)
    first, second = documents(ask, 2, monkeypatch)
    assert first == second
    assert first[0]["status"] == "feasible"
    assert first[0]["stats"]["counted_iterations"] < 40_000


def test_replan_makes_the_same_plan_whatever_was_planned_before(monkeypatch: pytest.MonkeyPatch) -> None:
    bag = library_instance("burst-hads/J60")
    plan = spotbag.solve(bag, iterations=50_000).schedule
    assert plan is not None
    state = half_done(plan)
    ask = partial(spotbag.replan, bag, state, start=plan, iterations=30_000, seed=1)
    found = documents(ask, 1, monkeypatch)
    spotbag.replan(bag, state, start=plan)  # what it has learnt of the bag is not for those that are to be the same
    assert documents(ask, 2, monkeypatch) == 2 * found
    assert found[0][1] is not None


def test_more_iterations_find_more() -> None:
    bag = library_instance("burst-hads/J60")
    short, long = (spotbag.solve(bag, "search", iterations=number).objective for number in (5_000, 60_000))
    assert short is not None
    assert long is not None
    assert long < short


def _own(instance: Instance, run: Run) -> Outcome:
    return Outcome(None)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"iterations": 0}, "iterations: 0 must be a positive whole number"),
        ({"iterations": 1.5}, "iterations: 1.5 must be a positive whole number"),
        ({"iterations": True}, "iterations: true must be a positive whole number"),
        ({"iterations": 10, "time_limit_s": 1.0}, "iterations: are a limit in place of one of time"),
        ({"iterations": 10, "threads": 2}, "iterations: are counted in one thread"),
        ({"iterations": 10, "method": _own}, "iterations: are counted by methods that are built in"),
    ],
)
def test_what_cannot_be_promised_is_refused(given: dict[str, Any], place: str) -> None:
    bag = library_instance("tiny/one-task")
    with pytest.raises(InputError, match=place):
        spotbag.solve(bag, **given)
    if not callable(given.get("method")):
        with pytest.raises(InputError, match=place):
            spotbag.replan(bag, State(instance=bag.name, time_s=0.0), **given)


@pytest.mark.parametrize(
    ("name", "times"),
    [
        *(pytest.param(name, 3, marks=pytest.mark.slow) for name in BAGS if name.startswith(("tiny/", "hads/"))),
        *(pytest.param(name, 30, marks=pytest.mark.soak) for name in BAGS),
    ],
)
def test_equal_calls_make_the_same_plan(name: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bag = library_instance(name)
    for method in METHODS:
        ask = partial(spotbag.solve, bag, method, iterations=100_000, seed=2)
        try:
            found = documents(ask, 2 if method != "auto" else times, monkeypatch)
        except ModelRefusal:
            continue
        assert all(one == found[0] for one in found), method
    plan = spotbag.solve(bag, iterations=100_000).schedule
    assert plan is not None
    ask = partial(spotbag.replan, bag, half_done(plan), start=plan, iterations=50_000, survive="one-type")
    found = documents(ask, times, monkeypatch)
    assert all(one == found[0] for one in found)
