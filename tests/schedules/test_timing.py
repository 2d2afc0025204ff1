"""List scheduling on one VM against a timetable kept second by second."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.schedules.timing import VmTimeline

TASKS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 9)), min_size=1, max_size=25)


def naive_start(
    placed: list[tuple[int, int, int, int]], vcpus: int, room: int, ready: int, need: int, takes: int
) -> int:
    """First second from which a core is free for good and the memory suffices."""
    start = ready
    while True:
        free = [all(end <= start for other, _, end, _ in placed if other == core) for core in range(vcpus)]
        used = [
            sum(kb for _, begin, end, kb in placed if begin <= second < end) for second in range(start, start + takes)
        ]
        if any(free) and max(used) + need <= room:
            return start
        start += 1


@given(TASKS, st.integers(1, 4), st.integers(9, 20), st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_tasks_start_as_early_as_cores_and_memory_allow(
    tasks: list[tuple[int, int]], vcpus: int, memory: int, ready: int
) -> None:
    timeline = VmTimeline(vcpus, memory, ready)
    placed: list[tuple[int, int, int, int]] = []
    for takes, need in tasks:
        start = timeline.earliest_start_s(need, takes)
        assert start == naive_start(placed, vcpus, memory, ready, need, takes)
        assert start is not None
        core = timeline.append(start, need, takes)
        assert all(end <= start for other, _, end, _ in placed if other == core)
        placed.append((core, start, start + takes, need))
    assert timeline.end_s == max(end for _, _, end, _ in placed)


@given(TASKS, st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_memory_that_never_binds_changes_nothing(tasks: list[tuple[int, int]], vcpus: int) -> None:
    free, ample = VmTimeline(vcpus, None), VmTimeline(vcpus, 9 * vcpus)
    for takes, need in tasks:
        starts = [timeline.earliest_start_s(need, takes) for timeline in (free, ample)]
        assert starts[0] == starts[1]
        cores = [timeline.append(start, need, takes) for timeline, start in zip((free, ample), starts, strict=True)]  # type: ignore[arg-type]
        assert cores[0] == cores[1]


def test_a_task_too_large_for_the_vm_never_starts() -> None:
    assert VmTimeline(2, 10).earliest_start_s(11, 5) is None


def test_a_start_at_which_no_core_is_free_is_refused() -> None:
    timeline = VmTimeline(1, None)
    timeline.append(0, 1, 10)
    with pytest.raises(ValueError, match="no core is free at 5 s"):
        timeline.append(5, 1, 1)


def test_memory_delays_a_task_as_in_hads_figure_1a() -> None:
    # Task 5 waits for task 1 to free its memory and leaves a gap behind task 4 on its core.
    timeline = VmTimeline(2, 10)
    assert timeline.append(0, 6, 20) == 0
    assert timeline.append(0, 3, 8) == 1
    start = timeline.earliest_start_s(7, 5)
    assert start == 20
    assert timeline.append(start, 7, 5) == 0
    assert timeline.earliest_start_s(3, 4) == 8
